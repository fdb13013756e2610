//! The cap on the power of the flash, and suspension windows of programs: against the integrator of
//! [`crate::power_model`], which sees nothing but the timeline, and closed forms.

use crate::common::{session, session_with_history, with};
use crate::power_model::{IDLE, POWER, Piece, SUPPLY, integrate, measured, number, pieces};
use drive::options::Setup;
use drive::session::{Files, RunRequest};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use workload::Input;

/// The least cap of `tiny` with [`POWER`] \[nW\]: one program, and three dies at rest.
const LEAST: u64 = (3 * IDLE + 21_500) * SUPPLY;

const SUSPENSION: &str =
    "flash.suspension={program=true,erase=true,most=3,suspend_time=\"20us\",resume_time=\"10us\",least_remaining=\"1us\"}";
const MIXED: &str = "[m]\nrw=randrw\nrwmixread=60\nbs=4k\niodepth=16\nnorandommap=1\nio_size=1g\nnumber_ios=6000\n";
/// Fills a drive whose blocks are few, so that it collects.
const WRITES: &str = "[w]\nrw=randwrite\nbs=4k\niodepth=16\nnorandommap=1\nio_size=1g\nnumber_ios=3000\n";
const STEADY: &str = "state.precondition=steady";

/// Returns the greatest current at any instant \[uA\], from the pieces of all array phases.
fn greatest(pieces: &[Piece], dies: u64) -> u64 {
    let change = |&(begin, end, current): &Piece| [(begin, (current - IDLE) as i64), (end, -((current - IDLE) as i64))];
    let mut changes: Vec<(u64, i64)> = pieces.iter().flat_map(change).collect();
    changes.sort_unstable();
    let levels = changes.iter().scan((IDLE * dies) as i64, |level, (_, change)| {
        *level += change;
        Some(*level)
    });
    levels.max().unwrap_or_default() as u64
}

/// Runs with caps from the least to one that hardly binds: the integrator finds the energy to the last digit, the
/// current of no instant above the cap, and the peak of the windows under it.
#[test]
fn no_instant_exceeds_the_cap() {
    let suspends = "power.cap_suspends=2";
    let cases: [(&[&str], &str, u64); 11] = [
        (&["state.precondition=fill"], MIXED, 600_000),
        (&["state.precondition=fill", SUSPENSION, suspends], MIXED, 600_000),
        (&["state.precondition=fill", SUSPENSION, suspends, "power.cap_order=reads_first"], MIXED, 600_000),
        (
            &["state.precondition=fill", SUSPENSION, suspends, "flash.scheduler=fifo", "power.cap_order=reads_first"],
            MIXED,
            600_000,
        ),
        (&[STEADY, SUSPENSION, suspends, "flash.program_time=300us"], WRITES, 300_000),
        (&["state.precondition=fill", SUSPENSION], MIXED, 600_000),
        (&["state.precondition=fill", SUSPENSION, "power.cap_order=reads_first"], MIXED, 600_000),
        (&[STEADY, "flash.copyback=true"], WRITES, 600_000),
        (&[STEADY, SUSPENSION, "flash.program_time=300us"], WRITES, 300_000),
        (&["state.precondition=fill", "controller.page_buffers={count=1}", SUSPENSION], MIXED, 600_000),
        (
            &[
                "state.precondition=fill",
                SUSPENSION,
                "power.suspend=[{page_types=[0],at=[0.17,0.41],length=\"100us\",overhead=\"33us\"}]",
            ],
            MIXED,
            600_000,
        ),
    ];
    let mut most = 0.0;
    for (sets, job, program) in cases {
        for (index, cap) in [LEAST, 115_000_000, 150_000_000, 250_000_000].into_iter().enumerate() {
            let text = format!("power.cap={cap}nW");
            let (summary, spans) = measured(&with(sets, &[&text]), job);
            let energy = &summary["energy"];
            let (width, span) = (number(&energy["window_ns"]) as u64, number(&summary["simulated_ns"]) as u64);
            let found = pieces(&spans, program);
            // A drive that collects has operations in progress when the workload ends, which the timeline lacks.
            if job == MIXED {
                let (charge, peak) = integrate(&found, 4, 0, span, width);
                assert_eq!(energy["flash_aj"], charge.to_string(), "{sets:?} {cap}");
                let peak_w = peak as f64 * SUPPLY as f64 / width as f64 / 1e9;
                assert!((number(&energy["peak_w"]) / peak_w - 1.0).abs() < 1e-12, "{sets:?} {cap}");
            }
            assert!(greatest(&found, 4) * SUPPLY <= cap, "{sets:?}: {} uA under {cap} nW", greatest(&found, 4));
            assert!(number(&energy["peak_w"]) <= cap as f64 / 1e9 * (1.0 + 1e-12));
            assert_eq!(energy["cap"]["cap_w"], cap as f64 / 1e9);
            assert_eq!(energy["cap"]["least_w"], LEAST as f64 / 1e9);
            assert!(number(&energy["cap"]["waits"]) > if index < 2 { 500.0 } else { 0.0 }, "{sets:?} {cap}: {}", energy["cap"]);
            most = f64::max(most, number(&energy["peak_w"]) / (cap as f64 / 1e9));
        }
    }
    assert!(most > 0.95, "some run uses what the cap leaves: {most}");
}

/// A cap that leaves room for all dies changes nothing, neither an event nor a digit, whatever the drive has.
#[test]
fn a_cap_that_never_binds_changes_nothing() {
    let cases: [(&str, &[&str]); 7] = [
        ("tiny", &["state.precondition=fill"]),
        ("tiny", &["state.precondition=fill", SUSPENSION]),
        ("tiny", &[STEADY, "flash.copyback=true", "controller.page_buffers={count=1}"]),
        ("tiny", &[STEADY, SUSPENSION, "flash.time_distribution=exponential"]),
        (
            "tiny",
            &["state.precondition=fill", "flash.scheduler=fifo", "ecc.retries_hold=channel", ERRORS[0], ERRORS[1], ERRORS[2]],
        ),
        ("tiny", &["state.precondition=fill", "flash.program_time=50us", "flash.read_time=50us", "flash.channels=4"]),
        ("tiny", &["state.precondition=fill", "power.suspend=[{page_types=[0],at=[],length=\"1ms\"}]"]),
    ];
    for (base, sets) in cases {
        let base = format!("base = \"{base}\"");
        let run = |more: &[&str]| {
            let outcome = session_with_history(&base, &with(&with(POWER, sets), more), MIXED).unwrap_or_else(|p| panic!("{p}"));
            let history = outcome.history.expect("it was asked for");
            let mut summary = outcome.summary;
            let cap = std::mem::take(&mut summary["energy"]["cap"]);
            summary["wall_s"] = Value::Null;
            ((summary, history.hash), cap)
        };
        let (plain, none) = run(&[]);
        let (capped, cap) = run(&["power.cap=10W"]);
        assert_eq!(
            (none, &cap["waits"], &cap["wait_ns"], &cap["counts"]),
            (Value::Null, &json!(0), &json!(0), &json!(["flash"]))
        );
        assert_eq!(plain, capped, "{sets:?}");
    }
}

/// Reads of which most are repeated.
const ERRORS: [&str; 3] = [
    "flash.code={kind=\"bch\",data=\"1KiB\",t=20}",
    "ecc.errors={kind=\"constant\",rates=[3e-3],read_noise=0.1}",
    "ecc.plan={kind=\"read_retry\",steps=3,reduction=0.2}",
];

/// Writes on four dies of which the cap lets `k` program at once: `k` programs in each tPROG. The data of the next one
/// is on its die when one ends.
#[test]
fn writes_under_a_cap_have_the_throughput_of_the_programs_that_fit() {
    let currents = ["power.program={kind=\"constant\",current=\"10010uA\"}", "power.read={kind=\"constant\",current=\"1mA\"}"];
    let writes = 4000;
    let job = format!("[w]\nrw=write\nbs=4k\niodepth=32\nnumber_ios={writes}\n");
    for k in 1..=3u64 {
        let cap = format!("power.cap={}nW", (4 * IDLE + k * 10_000) * SUPPLY);
        let (summary, _) = measured(&with(&currents, &[&cap]), &job);
        let expected = writes as f64 / k as f64 * 600_000.0;
        let found = number(&summary["simulated_ns"]);
        assert!((found / expected - 1.0).abs() < 0.01, "{k} at once: {found} ns instead of {expected}");
        // One uA less, and one program less fits; with k = 1 the cap would be refused.
        if k > 1 {
            let less = format!("power.cap={}nW", (4 * IDLE + k * 10_000) * SUPPLY - 1);
            let (summary, _) = measured(&with(&currents, &[&less]), &job);
            let expected = writes as f64 / (k - 1) as f64 * 600_000.0;
            assert!((number(&summary["simulated_ns"]) / expected - 1.0).abs() < 0.01);
        }
        // Depth 32: by Little's law the wait is what the queue has beyond tPROG; all of it is for power.
        let (wait, mean) = (number(&summary["causes"]["write"]["power_wait"]), number(&summary["latency"]["write"]["mean_ns"]));
        assert!(wait > 0.9 * (mean - 600_000.0) && wait < mean - 600_000.0, "{k}: {wait} of {mean}");
    }
}

/// The parts of the mean latency add up under a cap and with windows.
#[test]
fn the_causes_add_up_to_the_latency() {
    let windows = "power.suspend=[{page_types=[0],at=[0.5],length=\"70us\"}]";
    for sets in [&["power.cap=100mW"][..], &["power.cap=100mW", windows, SUSPENSION], &[windows]] {
        let (summary, _) = measured(&with(&["state.precondition=fill"], sets), MIXED);
        for op in ["read", "write"] {
            let sum: f64 = summary["causes"][op].as_object().expect("causes").values().map(number).sum();
            assert!((sum / number(&summary["latency"][op]["mean_ns"]) - 1.0).abs() < 1e-9, "{op} {sets:?}");
        }
    }
}

/// Reads that go first wait less; with a bound of no overtaking the order is that of asking.
#[test]
fn reads_first_shortens_the_wait_of_reads_and_a_bound_of_none_is_fifo() {
    let run = |sets: &[&str]| {
        let (mut summary, _) = measured(&with(&["state.precondition=fill", "power.cap=100mW"], sets), MIXED);
        summary["wall_s"] = Value::Null;
        summary
    };
    let fifo = run(&[]);
    let first = run(&["power.cap_order=reads_first"]);
    let wait = |summary: &Value| number(&summary["causes"]["read"]["power_wait"]);
    assert!(wait(&first) < 0.9 * wait(&fifo), "{} {}", wait(&first), wait(&fifo));
    assert_eq!(run(&["power.cap_order=reads_first", "power.cap_overtakes=0"]), fifo);
}

/// A single write takes the time of its windows longer, and no other.
#[test]
fn a_write_takes_the_time_of_its_windows_longer() {
    let write = |suspend: &str| {
        let (summary, _) = measured(&with(&[], &[suspend]), "[w]\nrw=write\nbs=4k\niodepth=1\nnumber_ios=1\n");
        let wait = summary["causes"]["write"].get("power_wait").map_or(0.0, number);
        (number(&summary["latency"]["write"]["mean_ns"]), wait)
    };
    let plain = write("power.window=1us").0;
    for (at, count) in [("[]", 0), ("[0.4]", 1), ("[0.3,0.9]", 2), ("[0.1,0.2,0.25]", 3)] {
        for (length, overhead) in [("200us", 200_000), ("1ns", 1)] {
            let set = format!("power.suspend=[{{page_types=[0],at={at},length=\"{length}\",overhead=\"438us\"}}]");
            let rests = f64::from(count * (overhead + 438_000));
            assert_eq!(write(&set), (plain + rests, rests), "{set}");
        }
    }
    let without = "power.suspend=[{page_types=[0],at=[0.5],length=\"200us\"}]";
    assert_eq!(write(without), (plain + 200_000.0, 200_000.0));
}

/// The energy of one write: each overhead adds its current above that of a die at rest, times the supply and the time.
/// The least cap is that of an overhead if that draws most.
#[test]
fn the_overheads_of_windows_take_their_energy() {
    let windows = |current: &str| {
        format!("power.suspend=[{{page_types=[0],at=[0.3,0.5,0.9],length=\"200us\",overhead=\"438us\"{current}}}]")
    };
    let job = "[w]\nrw=write\nbs=4k\niodepth=1\nnumber_ios=1\n";
    let energy = |current: &str| {
        let (summary, _) = measured(&with(&[], &[&windows(current)]), job);
        let program = number(&summary["energy"]["by_operation"]["program"]);
        (summary["energy"]["flash_aj"].as_str().map(|digits| digits.parse::<u128>().expect("digits")), program)
    };
    let (without, of_programs) = energy("");
    for current in [0, IDLE, 5_000, 30_000] {
        let (with, more) = energy(&format!(",overhead_current=\"{current}uA\""));
        let own = u128::from(3 * 438_000 * current * SUPPLY);
        assert_eq!(with.zip(without).map(|(with, without)| with + u128::from(3 * 438_000 * IDLE * SUPPLY) - without), Some(own));
        assert!((more - of_programs - own as f64 * 1e-18).abs() < 1e-15, "{current} uA: {more} J, {of_programs} J");
    }
    let windows = windows(",overhead_current=\"30mA\"");
    let sets = with(POWER, &["power.cap=99mW", &windows]);
    let refusal = session("base = \"tiny\"", &sets, None, job).map(|_| ()).expect_err("less than the overhead").to_string();
    assert!(refusal.contains("power.cap: 99mW: expected at least 0.099099 W"), "{refusal}");
}

/// Energy with windows, also under a cap and with suspensions by reads, and the effect of letting idle dies wait: fewer
/// operations at once.
#[test]
fn an_integrator_of_its_own_finds_the_energy_with_windows() {
    let mut means = Vec::new();
    for idle in [true, false] {
        for sets in [&["state.precondition=fill"][..], &["state.precondition=fill", SUSPENSION]] {
            let windows = format!("power.suspend=[{{page_types=[0],at=[0.2,0.6],length=\"150us\",idle_chips_wait={idle}}}]");
            let (summary, spans) = measured(&with(sets, &[&windows]), MIXED);
            let energy = &summary["energy"];
            let (width, span) = (number(&energy["window_ns"]) as u64, number(&summary["simulated_ns"]) as u64);
            let found = pieces(&spans, 600_000);
            let (charge, peak) = integrate(&found, 4, 0, span, width);
            assert_eq!(energy["flash_aj"], charge.to_string(), "{sets:?}");
            let peak_w = peak as f64 * SUPPLY as f64 / width as f64 / 1e9;
            assert!((number(&energy["peak_w"]) / peak_w - 1.0).abs() < 1e-12, "{sets:?}");
            assert_eq!(energy["cap"], Value::Null);
            means.push(number(&energy["mean_w"]));
        }
    }
    assert!(means[0] < means[2] && means[1] < means[3], "{means:?}");
}

#[test]
fn the_option_replaces_the_cap_of_the_drive() {
    let run = |drive: &str, sets: &[&str], cap: &str| {
        let request = RunRequest::new("test.toml", drive).sets(sets);
        let request = RunRequest { setup: Setup { power_cap: Some(cap.to_owned()), ..request.setup.clone() }, ..request };
        let job = "[j]\nrw=randwrite\nnumber_ios=50\niodepth=4\n";
        let outcome = drive::session::run(&request, &Input::text("workload", job), Files::default(), &mut |_| true);
        outcome.map(|outcome| outcome.summary["energy"]["cap"]["cap_w"].clone()).map_err(|problems| problems.to_string())
    };
    let drive = |more: &str| {
        let currents = "supply = \"3.3V\"\nidle = \"10uA\"\nread = { kind = \"constant\", current = \"12mA\" }\n\
                        program = { kind = \"constant\", current = \"21.5mA\" }\nerase = { kind = \"constant\", current = \"9mA\" }";
        format!("base = \"tiny\"\n[power]\n{currents}\n{more}")
    };
    assert_eq!(run(&drive(""), &[], "100mW"), Ok(json!(0.1)));
    assert_eq!(run(&drive("cap = \"90mW\""), &[], "100mW"), Ok(json!(0.1)));
    assert_eq!(run(&drive("cap = \"1mW\""), &[], "0.1W"), Ok(json!(0.1)), "a cap that is replaced may be too low");
    for (drive, sets, cap, told) in [
        (drive(""), &[][..], "70mW", "--power-cap: 70mW: expected at least 0.071049 W"),
        (drive(""), &[], "3", "--power-cap: `3`: a number without a unit"),
        (drive(""), &[], "-3W", "negative"),
        (drive(""), &[], "3A", "unknown unit `A`"),
        (drive(""), &["power.cap=1W"], "2W", "also set by `power.cap`"),
        ("base = \"tiny\"".to_owned(), &[], "3W", "--power-cap: the drive describes no currents"),
    ] {
        let refusal = run(&drive, sets, cap).expect_err(told);
        assert!(refusal.contains(told), "{refusal}");
    }
}

#[test]
fn caps_and_windows_that_cannot_be_are_refused() {
    let window = |fields: &str| format!("power.suspend=[{{{fields}}}]");
    for (set, told) in [
        ("power.cap=70mW".to_owned(), "expected at least 0.071049 W, for one operation while all 4 dies rest (0.000132 W)"),
        ("power.cap=0W".to_owned(), "expected at least"),
        ("power.cap_order=lifo".to_owned(), "fifo"),
        ("power.cap_overtakes=-1".to_owned(), "0"),
        ("power.cap_suspends=-1".to_owned(), "0"),
        (
            "power.cap_suspends=2".to_owned(),
            "power.cap_suspends: 2: the flash suspends no operation, expected 0, or flash.suspension",
        ),
        (window("page_types=[],at=[0.5],length=\"1us\""), "page_types"),
        (window("page_types=[1],at=[0.5],length=\"1us\""), "1: expected 0..=0"),
        (window("page_types=[0,0],at=[0.5],length=\"1us\""), "a second time"),
        (window("page_types=[0],at=[0.0],length=\"1us\""), "between 0 and 1"),
        (window("page_types=[0],at=[0.5,1.0],length=\"1us\""), "between 0 and 1"),
        (window("page_types=[0],at=[nan],length=\"1us\""), "at"),
        (window("page_types=[0],at=[0.5,0.5],length=\"1us\""), "0.5 follows 0.5"),
        (window("page_types=[0],at=[0.5],length=\"0us\""), "more than 0"),
        (window("page_types=[0],at=[0.5],length=\"2s\""), "at most 1s"),
        (window("page_types=[0],at=[0.5],length=\"1us\",overhead=\"2s\""), "at most 1s"),
        (
            window("page_types=[0],at=[0.5],length=\"1us\",overhead_current=\"11A\""),
            "power.suspend[0].overhead_current: 11A: expected at most 10A",
        ),
        (window("page_types=[0],at=[0.5],length=\"1us\",overhead_current=5"), "overhead_current"),
        (window("page_types=[0],at=[0.5],length=\"1us\",idle_scope=\"chip\""), "expected one of"),
        (window("page_types=[0],at=[0.5]"), "length"),
        (window("page_types=[0],at=0.5,length=\"1us\""), "at"),
    ] {
        let sets = with(POWER, &[&set]);
        let refusal = session("base = \"tiny\"", &sets, None, "[j]\nrw=read\nnumber_ios=1\n").map(|_| ()).expect_err(&set);
        assert!(refusal.to_string().contains(told), "{set}: {refusal}");
    }
    let windows = window("page_types=[0],at=[0.5],length=\"1us\"");
    let neither = SUSPENSION.replace("true", "false");
    for (sets, told) in [
        (vec![SUSPENSION, &windows], Some("expected 0 where programs have suspension windows (power.suspend)")),
        (vec![&neither], Some("suspends no operation")),
        (vec![SUSPENSION, ERRORS[0], ERRORS[1], ERRORS[2], "ecc.retries_hold=channel"], Some("expected 0 with ecc.retries_hold")),
        (vec![SUSPENSION, ERRORS[0], ERRORS[1], ERRORS[2], "ecc.retries_hold=die"], None),
    ] {
        let sets = with(&with(POWER, &["power.cap=1W", "power.cap_suspends=2"]), &sets);
        let run = session("base = \"tiny\"", &sets, None, "[j]\nrw=read\nnumber_ios=1\n").map(|_| ());
        match told {
            None => run.unwrap_or_else(|problems| panic!("{problems}")),
            Some(told) => {
                let refusal = run.expect_err(told).to_string();
                assert!(refusal.contains("power.cap_suspends: 2: ") && refusal.contains(told), "{refusal}");
            }
        }
    }
}

/// Suspensions shorten the wait of reads, at a price for writes that is charged to the cap; the time in the results is
/// that of the timeline. Without them the keys are `null`.
#[test]
fn suspensions_for_power_shorten_the_wait_of_reads() {
    // Reads do not suspend what their own dies do.
    let rule = SUSPENSION.replace("erase=true", "erase=false");
    let sets = ["state.precondition=fill", "power.cap=100mW", "power.cap_order=reads_first", &rule, "flash.scheduler=fifo"];
    let wait = |summary: &Value, op: &str| number(&summary["causes"][op]["power_wait"]);
    let (plain, _) = measured(&with(&sets, &[]), MIXED);
    assert_eq!((&plain["energy"]["cap"]["suspensions"], &plain["energy"]["cap"]["suspended_ns"]), (&Value::Null, &Value::Null));
    for most in [1, 3] {
        let (summary, spans) = measured(&with(&sets, &[&format!("power.cap_suspends={most}")]), MIXED);
        let cap = &summary["energy"]["cap"];
        assert!(wait(&summary, "read") < 0.9 * wait(&plain, "read"), "{most}: {} {}", summary["causes"], plain["causes"]);
        assert_eq!(cap["suspensions"], summary["flash"]["suspensions"], "all of them are for power");
        assert!(number(&cap["suspensions"]) > 300.0, "{cap}");
        // Each part of a program but its last one ends with a suspension.
        let (mut parts, mut gaps, mut count) = (BTreeMap::new(), 0, 0);
        for span in spans.iter().filter(|span| span.name == "program 0") {
            let (done, since) = parts.remove(&span.track).unwrap_or((0, span.begin));
            (gaps, count) = (gaps + span.begin.since(since).0, count + u64::from(done > 0));
            let done = done + span.end.since(span.begin).0;
            if done < 600_000 {
                parts.insert(span.track, (done, span.end));
            }
        }
        assert_eq!((&cap["suspensions"], &cap["suspended_ns"]), (&json!(count), &json!(gaps)));
    }
}
