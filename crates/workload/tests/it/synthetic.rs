//! Synthetic workloads: the meaning of every field, every message with its line, and the arrival processes from end to
//! end.

use kit::{Bytes, Nanos, Op, Problems};
use proptest::prelude::*;
use workload::{Pacing, Request, Workload, synthetic};

const MIB: u64 = 1 << 20;
const HEAD: &str = "kind = \"synthetic\"\n[[job]]\nname = \"j\"\n";

fn open(text: &str) -> Workload {
    synthetic::open("w.toml", text, 64 * MIB, 1).unwrap_or_else(|problems| panic!("{problems}"))
}

fn refused(text: &str) -> Problems {
    synthetic::open("w.toml", text, 64 * MIB, 1).err().unwrap_or_else(|| panic!("accepted: {text}"))
}

fn requests(body: &str, count: usize) -> Vec<Request> {
    let mut out = Vec::new();
    open(&format!("{HEAD}{body}")).jobs[0].source.fill(&mut out, count).expect("generated");
    out
}

#[test]
fn everything_wrong_is_reported_at_once_with_its_line() {
    let text = "kind = \"synthetic\"\n[[job]]\nname = 3\npatern = \"random\"\nread_share = 1.5\n\
        sizes = [{ size = \"4KB\", wieght = 2 }, { size = 4096 }]\n\
                [[job]]\nname = \"b\"\npattern = \"rnadom\"\nread_share = 0\narrival = { kind = \"poison\" }\n[[job]]\n\
                    name = \"c\"\npattern = { kind = \"zipf\" }\nread_share = 0\nrequests = 1\n\
                arrival = { kind = \"poisson\", mean_gap = \"5 parsecs\" }\nregion = -4\n";
    let message = refused(text).to_string();
    for part in [
        "w.toml:3: job[0].name: found integer: expected string",
        "w.toml:4: job[0]: unknown field `patern`",
        "did you mean `pattern`?",
        "w.toml:5: job[0].read_share: 1.5 is out of range: expected 0..=1",
        "w.toml:6: job[0].sizes[0]: unknown field `wieght`: expected one of size, weight (did you mean `weight`?)",
        "w.toml:6: job[0].sizes[1].size: found integer: expected a size such as \"16KiB\"",
        "w.toml:2: job[0]: the field `pattern` is missing",
        "w.toml:9: job[1].pattern: unknown name `rnadom`",
        "did you mean `random`?",
        "w.toml:11: job[1].arrival: unknown name `poison`",
        "did you mean `poisson`?",
        "w.toml:14: job[2].pattern: the field `theta` is missing",
        "w.toml:17: job[2].arrival.mean_gap: unknown unit `parsecs`",
        "w.toml:18: job[2].region: found integer: expected a size",
    ] {
        assert!(message.contains(part), "`{part}` missing in:\n{message}");
    }
    assert!(refused("kind = \"synthetic\"\njob = [\n").to_string().contains("w.toml:"), "syntax errors have a line as well");
}

#[test]
fn what_the_schema_cannot_say_is_checked_too() {
    let body = |body: &str| refused(&format!("{HEAD}pattern = \"random\"\nread_share = 0.6\n{body}")).to_string();
    let message = body(
        "trim_share = 0.6\nsizes = [{ size = \"1KiB\" }, { size = \"100B\" }]\noffset = \"60MiB\"\nregion = \"8MiB\"\n\
            depth = 4\narrival = \"poisson\"\n",
    );
    for part in [
        "exceed 1 together",
        "w.toml:7: job[0].sizes: 100B: expected a multiple of 256",
        "no limit",
        "end within the drive's 64MiB",
        "w.toml:10: job[0].depth: given together",
    ] {
        assert!(message.contains(part), "`{part}` missing in:\n{message}");
    }
    assert!(body("requests = 1\nsizes = [{ size = \"4KiB\", weight = 0 }]\n").contains("all weights are zero"));
}

#[test]
fn closed_loops_limits_and_waves() {
    let text = format!(
        "{HEAD}pattern = \"sequential\"\nread_share = 1\nbytes = \"1MiB\"\ndepth = 8\n[[job]]\nname = \"k\"\n\
            pattern = \"random\"\nread_share = 0\nruntime = \"2s\"\nafter_previous = true\nstart_delay = \"1ms\"\n\
            ramp_time = \"3ms\"\n"
    );
    let mut workload = open(&text);
    let (first, second) = (&workload.jobs[0], &workload.jobs[1]);
    assert_eq!((first.pacing, first.wave, first.limits.bytes), (Pacing::Closed { depth: 8 }, 0, Some(MIB)));
    assert_eq!((second.pacing, second.wave, second.limits.runtime), (Pacing::Closed { depth: 1 }, 1, Some(Nanos(2_000_000_000))));
    assert_eq!((second.start_delay, second.ramp_time), (Nanos(1_000_000), Nanos(3_000_000)));
    let mut out = Vec::new();
    workload.jobs[0].source.fill(&mut out, 1000).expect("generated");
    assert_eq!(out.len(), 256, "1 MiB in 4 KiB requests");
    assert!(out.iter().enumerate().all(|(i, r)| r.op == Op::Read && r.offset.0 == i as u64 * 4096));
}

#[test]
fn mixes_sizes_and_regions() {
    let out = requests(
        "pattern = \"random\"\nread_share = 0.5\ntrim_share = 0.1\n\
            sizes = [{ size = \"4KiB\", weight = 3 }, { size = \"8KiB\" }]\nwrite_sizes = [{ size = \"16KiB\" }]\n\
            offset = \"8MiB\"\nregion = \"16MiB\"\nrequests = 40_000\n",
        100_000,
    );
    assert_eq!(out.len(), 40_000);
    let share = |test: &dyn Fn(&&Request) -> bool| out.iter().filter(test).count() as f64 / 40_000.0;
    assert!((share(&|r| r.op == Op::Read) - 0.5).abs() < 0.01);
    assert!((share(&|r| r.op == Op::Trim) - 0.1).abs() < 0.01);
    assert!((share(&|r| r.op == Op::Read && r.length == Bytes(4096)) - 0.375).abs() < 0.01);
    assert!(out.iter().all(|r| r.offset.0 >= 8 * MIB && r.offset.0 + r.length.0 <= 24 * MIB));
    assert!(out.iter().all(|r| r.op != Op::Write || r.length.0 == 16_384 || r.offset.0 + r.length.0 == 24 * MIB));
}

#[test]
fn patterns_have_their_shapes() {
    let once = requests("pattern = \"random_no_repeat\"\nread_share = 0\nrequests = 16384\n", 20_000);
    let mut blocks: Vec<u64> = once.iter().map(|r| r.offset.0 / 4096).collect();
    blocks.sort_unstable();
    assert!(blocks.iter().enumerate().all(|(i, &block)| block == i as u64));
    let hot = requests(
        "pattern = { kind = \"hot_cold\", hot_fraction = 0.2, hot_share = 0.9 }\nread_share = 0\nrequests = 50000\n",
        50_000,
    );
    let inside = hot.iter().filter(|r| r.offset.0 < 64 * MIB / 5).count() as f64 / 50_000.0;
    assert!((inside - 0.9).abs() < 0.01, "{inside}");
    let zipf = requests("pattern = { kind = \"zipf\", theta = 1.0 }\nread_share = 0\nrequests = 200000\n", 200_000);
    let mut hits = vec![0u32; 16_384];
    zipf.iter().for_each(|r| hits[(r.offset.0 / 4096) as usize] += 1);
    let top = f64::from(*hits.iter().max().expect("blocks")) / 200_000.0;
    let expected = 1.0 / (1..=16_384).map(|k| 1.0 / f64::from(k)).sum::<f64>();
    assert!((top / expected - 1.0).abs() < 0.03, "{top} against {expected}");
}

#[test]
fn open_loops_arrive_as_the_process_says() {
    for (arrival, mean_us) in [
        ("{ kind = \"constant\", gap = \"20us\" }", 20.0),
        ("{ kind = \"poisson\", mean_gap = \"50us\" }", 50.0),
        ("{ kind = \"lognormal\", mean_gap = \"30us\", sigma = 0.8 }", 30.0),
        ("{ kind = \"on_off\", on_time = \"1ms\", off_time = \"4ms\", on_gap = \"10us\" }", 50.0),
    ] {
        let body = format!("pattern = \"random\"\nread_share = 1\nruntime = \"1h\"\narrival = {arrival}\n");
        assert_eq!(open(&format!("{HEAD}{body}")).jobs[0].pacing, Pacing::Open);
        let out = requests(&body, 200_000);
        assert!(out.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let mean = out[199_999].at.0 as f64 / 200_000.0 / 1000.0;
        assert!((mean / mean_us - 1.0).abs() < 0.05, "{arrival}: {mean} us");
    }
}

#[test]
fn seeds_decide_and_batches_do_not() {
    let text =
        format!("{HEAD}pattern = {{ kind = \"zipf\", theta = 0.9 }}\nread_share = 0.5\nruntime = \"1s\"\narrival = \"on_off\"\n");
    let draw = |seed: u64, limit: usize| {
        let mut workload = synthetic::open("w", &text, 64 * MIB, seed).expect("valid");
        let mut out = Vec::new();
        while out.len() < 1000 {
            let left = 1000 - out.len();
            workload.jobs[0].source.fill(&mut out, limit.min(left)).expect("generated");
        }
        out
    };
    assert_eq!(draw(1, 1000), draw(1, 7));
    assert_ne!(draw(1, 1000), draw(2, 1000));
}

#[test]
fn the_record_opens_again_as_the_same_workload() {
    let text = format!(
        "{HEAD}pattern = {{ kind = \"hot_cold\", hot_fraction = 0.1, hot_share = 0.7 }}\nread_share = 0.5\n\
            requests = 500\narrival = \"lognormal\"\n"
    );
    let (mut one, mut two) = (open(&text), open(&open(&text).resolved));
    let (mut left, mut right) = (Vec::new(), Vec::new());
    one.jobs[0].source.fill(&mut left, 1000).expect("generated");
    two.jobs[0].source.fill(&mut right, 1000).expect("generated");
    assert_eq!(left, right);
    assert_eq!(one.resolved, two.resolved);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_text_is_answered(text in "\\PC{0,200}", user in 0u64..1 << 40) {
        let _ = synthetic::open("x", &text, user, 1);
        let _ = synthetic::open("x", &format!("{HEAD}{text}"), user, 1);
    }

    #[test]
    fn any_values_are_answered(
        pattern in prop_oneof![
            Just("\"random\"".to_owned()),
            Just("\"random_no_repeat\"".to_owned()),
            (0.0f64..3.0).prop_map(|t| format!("{{ kind = \"zipf\", theta = {t:?} }}")),
            (0.0f64..1.2, 0.0f64..1.2)
                .prop_map(|(f, s)| format!("{{ kind = \"hot_cold\", hot_fraction = {f:?}, hot_share = {s:?} }}")),
        ],
        (read, trim) in (0.0f64..1.0, 0.0f64..0.5),
        size in 1u64..200, offset in 0u64..100, region in 0u64..100,
    ) {
        let text = format!(
            "{HEAD}pattern = {pattern}\nread_share = {read:?}\ntrim_share = {trim:?}\nsizes = [{{ size = \"{}B\" }}]\n\
                offset = \"{}B\"\nregion = \"{}B\"\nrequests = 50\n",
            size * 256, offset * 512, region * 1024,
        );
        if let Ok(mut workload) = synthetic::open("x", &text, 60_000, 1) {
            let mut out = Vec::new();
            workload.jobs[0].source.fill(&mut out, 100).expect("generated");
            prop_assert_eq!(out.len(), 50);
            prop_assert!(out.iter().all(|r| r.offset.0 + r.length.0 <= 60_000 && r.length.0 > 0));
        }
    }
}
