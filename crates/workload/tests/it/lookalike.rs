//! Look-alikes: fitted to sources with known statistics, they must reproduce these statistics.

use kit::{Bytes, Op, Problems, SimTime};
use proptest::prelude::*;
use workload::lookalike::{Comparison, FitInput, compare, fit, open};
use workload::{Request, Source, synthetic};

const GIB: u64 = 1 << 30;

/// Source of requests held in memory.
struct Recorded(Vec<Request>, usize);

impl Source for Recorded {
    fn fill(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<(), Problems> {
        let end = (self.1 + limit).min(self.0.len());
        out.extend_from_slice(&self.0[self.1..end]);
        self.1 = end;
        Ok(())
    }
}

fn input() -> FitInput {
    FitInput { name: "known".to_owned() }
}

fn synthetic(body: &str, count: usize) -> Vec<Request> {
    let text = format!("kind = \"synthetic\"\n[[job]]\nname = \"known\"\nrequests = {count}\n{body}");
    let mut workload = synthetic::open("known", &text, 4 * GIB, 7).unwrap_or_else(|problems| panic!("{problems}"));
    let mut out = Vec::new();
    workload.jobs[0].source.fill(&mut out, count).expect("generated");
    out
}

fn text_of(requests: &[Request]) -> String {
    fit(&mut Recorded(requests.to_vec(), 0), input()).unwrap_or_else(|problems| panic!("{problems}")).0
}

fn side_by_side(requests: &[Request]) -> Comparison {
    let mut workload = open("w", &text_of(requests), 8 * GIB, 1).unwrap_or_else(|problems| panic!("{problems}"));
    let count = requests.len() as u64;
    compare(&mut Recorded(requests.to_vec(), 0), &mut *workload.jobs[0].source, count).expect("measured")
}

fn close(found: f64, expected: f64, tolerance: f64, what: &str) {
    assert!((found - expected).abs() <= tolerance * expected.abs(), "{what}: {found} against {expected}");
}

#[test]
fn bursts_mixes_and_sizes_come_back() {
    let requests = synthetic(
        "pattern = { kind = \"zipf\", theta = 0.9 }\nread_share = 0.3\ntrim_share = 0.02\nregion = \"256MiB\"\n\
         sizes = [{ size = \"4KiB\", weight = 3 }, { size = \"16KiB\", weight = 1 }]\nwrite_sizes = [{ size = \"8KiB\" }]\n\
         arrival = { kind = \"on_off\", on_time = \"50ms\", off_time = \"150ms\", on_gap = \"200us\" }\n",
        60_000,
    );
    let Comparison { a, b } = side_by_side(&requests);
    close(b.rate.expect("timed"), a.rate.expect("timed"), 0.02, "rate");
    close(b.read_share, a.read_share, 0.03, "reads");
    close(b.trim_share, a.trim_share, 0.15, "trims");
    close(b.read_bytes as f64, a.read_bytes as f64, 0.04, "bytes read");
    close(b.write_bytes as f64, a.write_bytes as f64, 0.04, "bytes written");
    assert_eq!(b.size_quantiles, a.size_quantiles);
    for (index, (found, expected)) in b.dispersion.iter().zip(a.dispersion).enumerate().take(3) {
        close(found.expect("measured"), expected.expect("measured"), 0.2, &format!("dispersion {index}"));
    }
    assert!(a.dispersion[1].expect("measured") > 20.0, "the known source is bursty");
    close(b.overwrite_share, a.overwrite_share, 0.15, "overwrites");
    close(b.footprint_bytes[3] as f64, a.footprint_bytes[3] as f64, 0.2, "footprint");
    assert!(b.footprint_bytes.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn even_arrivals_stay_even_and_poisson_stays_poisson() {
    for (arrival, low, high) in
        [("{ kind = \"constant\", gap = \"1ms\" }", 0.0, 0.3), ("{ kind = \"poisson\", mean_gap = \"1ms\" }", 0.85, 1.2)]
    {
        let requests =
            synthetic(&format!("pattern = \"random\"\nread_share = 0\nregion = \"64MiB\"\narrival = {arrival}\n"), 40_000);
        let Comparison { b, .. } = side_by_side(&requests);
        for dispersion in b.dispersion.iter().take(2) {
            let found = dispersion.expect("measured");
            assert!((low..high).contains(&found), "{arrival}: {found}");
        }
    }
}

#[test]
fn sequential_stays_sequential_and_random_random() {
    let arrival = "read_share = 0\narrival = \"poisson\"\nregion = \"512MiB\"\n";
    let sequential = side_by_side(&synthetic(&format!("pattern = \"sequential\"\n{arrival}"), 30_000));
    assert!(sequential.a.sequential_share > 0.99 && sequential.b.sequential_share > 0.95, "{}", sequential.b.sequential_share);
    assert!(sequential.b.overwrite_share < 0.02);
    let random = side_by_side(&synthetic(&format!("pattern = \"random\"\n{arrival}"), 30_000));
    assert!(random.b.sequential_share < 0.01);
    close(random.b.overwrite_share, random.a.overwrite_share, 0.15, "overwrites");
}

#[test]
fn distances_of_returns_come_back() {
    // A loop over 500 addresses: every return has a stack distance of 499.
    let requests: Vec<Request> = (0..20_000u64)
        .map(|i| Request::new(SimTime(i * 100_000), Op::Write, Bytes((i % 500 * 7919 % 500) * 65_536), Bytes(4096)))
        .collect();
    let Comparison { a, b } = side_by_side(&requests);
    assert_eq!(a.write_reuse, Some([499; 5]));
    // A trim is no write: each of these writes still has 499 other addresses written before it.
    let trimmed: Vec<Request> = requests.iter().flat_map(|write| [*write, Request { op: Op::Trim, ..*write }]).collect();
    assert_eq!(side_by_side(&trimmed).a.write_reuse, Some([499; 5]));
    let found = b.write_reuse.expect("returns");
    assert!(found.iter().all(|distance| (450..=510).contains(distance)), "{found:?}");
    close(b.overwrite_share, a.overwrite_share, 0.02, "overwrites");
}

#[test]
fn it_is_small_endless_deterministic_and_does_not_depend_on_batches() {
    let requests = synthetic(
        "pattern = { kind = \"hot_cold\", hot_fraction = 0.1, hot_share = 0.8 }\nread_share = 0.5\n\
            arrival = \"on_off\"\nregion = \"64MiB\"\n",
        5000,
    );
    let text = text_of(&requests);
    assert!(text.len() < 8192, "{} bytes", text.len());
    let draw = |seed: u64, limit: usize| {
        let mut workload = open("w", &text, 8 * GIB, seed).expect("valid");
        let mut out = Vec::new();
        while out.len() < 20_000 {
            let left = 20_000 - out.len();
            workload.jobs[0].source.fill(&mut out, limit.min(left)).expect("endless");
        }
        out
    };
    let whole = draw(1, 20_000);
    assert_eq!(whole, draw(1, 37));
    assert_ne!(whole, draw(2, 20_000));
    assert!(whole.windows(2).all(|pair| pair[0].at <= pair[1].at), "arrivals never step back");
    let resolved = open("w", &text, 8 * GIB, 1).expect("valid").resolved;
    assert_eq!(open("w", &resolved, 8 * GIB, 1).expect("the record opens").jobs[0].limits.requests, Some(5000));
}

#[test]
fn speed_and_offset_do_what_they_say() {
    let requests = synthetic("pattern = \"random\"\nread_share = 0.5\narrival = \"poisson\"\nregion = \"64MiB\"\n", 2000);
    let text = text_of(&requests);
    let first_on = |text: &str, user: u64| {
        let mut out = Vec::new();
        open("w", text, user, 1).unwrap_or_else(|p| panic!("{p}")).jobs[0].source.fill(&mut out, 2000).expect("endless");
        out
    };
    let first = |text: &str| first_on(text, 8 * GIB);
    let plain = first(&text);
    let moved = first(&text.replace("speed = 1.0", "speed = 2.0").replace("offset = \"0B\"", "offset = \"1GiB\""));
    for (one, two) in plain.iter().zip(&moved) {
        assert_eq!(two.offset.0, one.offset.0 + GIB);
        assert!(two.at.0.abs_diff(one.at.0 / 2) <= 1);
    }
    // A region larger than the drive can be wrapped onto it.
    let wrapped = first_on(&text.replace("extent =", "address = \"wrap\"\nextent ="), 4 << 20);
    let inside = |request: &Request| request.offset.0 + request.length.0 <= 4 << 20;
    assert!(wrapped.iter().all(inside) && !plain.iter().all(inside));
    for (one, two) in plain.iter().zip(&wrapped).filter(|(one, _)| one.offset.0 % (4 << 20) + one.length.0 <= 4 << 20) {
        assert_eq!((two.offset.0, two.length), (one.offset.0 % (4 << 20), one.length));
    }
    let pacing = |text: &str| open("w", text, 8 * GIB, 1).unwrap_or_else(|p| panic!("{p}")).jobs[0].pacing;
    assert_eq!(pacing(&text), workload::Pacing::Open);
    assert_eq!(pacing(&text.replace("speed = 1.0", "speed = 1.0\nreplay = \"gaps\"")), workload::Pacing::Gaps);
}

#[test]
fn complaints_name_line_and_cure() {
    let requests = synthetic("pattern = \"random\"\nread_share = 0.5\narrival = \"poisson\"\nregion = \"64MiB\"\n", 2000);
    let text = text_of(&requests);
    let message = |text: &str, user: u64| open("w.toml", text, user, 1).map(drop).expect_err("must be refused").to_string();
    assert!(message(&text, 1 << 20).contains("do not fit the drive's 1048576 bytes"));
    let misspelt = message(&text.replace("phases", "fases"), 8 * GIB);
    assert!(misspelt.contains("unknown field `fases`") && misspelt.contains("did you mean `phases`?"), "{misspelt}");
    let broken = message(
        &text.replace("extent = \"4KiB\"", "extent = \"5KiB\"").replace("windows = [", "windows = []\nother = ["),
        8 * GIB,
    );
    assert!(broken.contains("unknown field `other`"), "{broken}");
    let broken = message(&text.replace("extent = \"4KiB\"", "extent = \"5KiB\""), 8 * GIB);
    assert!(broken.contains("w.toml:6: extent: expected a power of two"), "{broken}");
}

#[test]
fn traces_without_times_or_requests() {
    let mut requests = synthetic("pattern = \"random\"\nread_share = 0.5\narrival = \"poisson\"\nregion = \"64MiB\"\n", 500);
    requests.iter_mut().for_each(|request| request.at = SimTime::ZERO);
    let (_, fitted) = fit(&mut Recorded(requests.clone(), 0), input()).expect("fits");
    assert!(fitted.notes[0].contains("no times"), "{:?}", fitted.notes);
    close(side_by_side(&requests).b.rate.expect("timed"), 10_000.0, 0.1, "rate");
    assert!(fit(&mut Recorded(Vec::new(), 0), input()).is_err());
    let flushes = vec![Request::new(SimTime(5), Op::Flush, Bytes(0), Bytes(0)); 3];
    assert!(fit(&mut Recorded(flushes, 0), input()).is_err());
}

fn any_request() -> impl Strategy<Value = (u64, usize, u64, u64)> {
    (prop_oneof![Just(0u64), 0u64..1_000_000, 0u64..1 << 40], 0usize..4, 0u64..1 << 22, 0u64..300)
}

fn numbers() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec!["-1", "0", "1e300", "9223372036854775807", "0.5", "nan", "\"\""])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_trace_is_fitted_and_its_look_alike_stays_inside(gaps in proptest::collection::vec(any_request(), 1..60)) {
        let mut now = 0;
        let requests: Vec<Request> = gaps.iter().map(|&(gap, op, sector, sectors)| {
            now += gap;
            let length = if op == 3 { 0 } else { sectors * 512 };
            Request::new(SimTime(now), Op::ALL[op], Bytes(sector * 512), Bytes(length))
        }).collect();
        if let Ok((text, fitted)) = fit(&mut Recorded(requests, 0), input()) {
            let region = fitted.description.region.0;
            let mut workload = open("w", &text, region, 3).map_err(|p| TestCaseError::fail(format!("{p}\n{text}")))?;
            let mut out = Vec::new();
            workload.jobs[0].source.fill(&mut out, 300).expect("endless");
            prop_assert_eq!(out.len(), 300);
            prop_assert!(out.iter().all(|r| r.offset.0 + r.length.0 <= region && r.offset.0 % 512 == 0 && r.length.0 % 512 == 0));
            prop_assert!(out.iter().all(|r| r.op == Op::Flush || r.length.0 > 0));
        }
    }

    #[test]
    fn a_mangled_description_is_answered(which in 0usize..400, number in numbers()) {
        let requests = synthetic("pattern = \"random\"\nread_share = 0.5\narrival = \"poisson\"\nregion = \"1MiB\"\n", 300);
        let text = text_of(&requests);
        let mut fields: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let at = which % fields.len();
        let tail: String = fields[at].chars().skip_while(|c| c.is_ascii_digit() || *c == '.').collect();
        fields[at] = format!("{number}{tail}");
        if let Ok(mut workload) = open("w", &fields.join(" "), 8 * GIB, 1) {
            workload.jobs[0].source.fill(&mut Vec::new(), 200).expect("endless");
        }
    }
}

#[test]
fn the_examples_open_and_keep_their_promises() {
    let examples = [
        (include_str!("../../../../examples/prxy-like.toml"), 0.02, 21.3),
        (include_str!("../../../../examples/iozone-like.toml"), 0.0, 106.8),
        (include_str!("../../../../examples/financial-like.toml"), 0.41, 38.5),
        (include_str!("../../../../examples/telegram-like.toml"), 0.09, 33.7),
    ];
    for (text, reads, rate) in examples {
        assert!(text.len() < 8192);
        let mut one = open("example", text, 8 * GIB, 5).unwrap_or_else(|problems| panic!("{problems}"));
        let mut two = open("example", text, 8 * GIB, 6).unwrap_or_else(|problems| panic!("{problems}"));
        let requests = one.jobs[0].limits.requests.expect("a limit");
        let Comparison { a, b } = compare(&mut *one.jobs[0].source, &mut *two.jobs[0].source, requests).expect("measured");
        for found in [a, b] {
            assert!((found.read_share - reads).abs() < 0.02, "{}: reads {}", one.jobs[0].name, found.read_share);
            close(found.rate.expect("timed"), rate, 0.05, &one.jobs[0].name);
        }
    }
}

/// Time and memory follow the number of requests: a trim of 1.6 PB, and one touch in each of many far regions.
#[test]
fn a_fit_does_not_follow_the_lengths_of_trims() {
    let trace =
        "fio version 2 iolog\n/d add\n/d write 0 4096\n/d trim 4096 1600000000000000\n/d write 8192 4096\n/d read 0 4096\n";
    let open =
        || workload::trace::open(&workload::Input::text("t", trace), u64::MAX, &workload::Options::default()).expect("reads");
    let (_, fitted) = fit(&mut *open().jobs[0].source, input()).expect("fits");
    assert!(fitted.description.region.0 < 8 << 30, "{}", fitted.description.region.0);
    assert!(fitted.notes.iter().any(|note| note.contains("1 trims of more than 4 GiB")), "{:?}", fitted.notes);
    let compared = compare(&mut *open().jobs[0].source, &mut *open().jobs[0].source, 4).expect("compares");
    assert_eq!(compared.a.footprint_bytes[3], (4 << 30) + 4096);
    // 4 GiB each, 16 GiB apart: more than a look-alike has.
    let far = (0..4000u64).map(|index| Request::new(SimTime(index), Op::Write, Bytes(index << 34), Bytes(4 << 30))).collect();
    let message = fit(&mut Recorded(far, 0), input()).expect_err("too large").to_string();
    assert!(message.contains("17179869184000 bytes") && message.contains("below 16 TiB"), "{message}");
}
