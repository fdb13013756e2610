//! Binary traces of libCacheSim: oracleGeneral and vSCSI.

use super::*;
use workload::{lookalike, trace};

/// Returns a record of oracleGeneral.
fn oracle(time: u32, object: u64, size: u32, next: i64) -> Vec<u8> {
    [&time.to_le_bytes()[..], &object.to_le_bytes(), &size.to_le_bytes(), &next.to_le_bytes()].concat()
}

/// Returns a record of vSCSI, version 1 or 2.
fn vscsi(version: u8, code: u16, bytes: u32, block: u64, time: u64) -> Vec<u8> {
    let (code, number, version_field) = (code.to_le_bytes(), 7u32.to_le_bytes(), [3, version]);
    let (length, lists, block, time) = (bytes.to_le_bytes(), 1u32.to_le_bytes(), block.to_le_bytes(), time.to_le_bytes());
    match version {
        1 => [&number[..], &length, &lists, &code, &version_field, &block, &time].concat(),
        _ => [&code[..], &version_field, &number, &length, &lists, &block, &time, &99u64.to_le_bytes()].concat(),
    }
}

fn read(bytes: Vec<u8>, options: &Options) -> Result<Vec<(u64, Op, u64, u64)>, Problems> {
    open(&Input::text("t", bytes), GIB, options).map(|mut workload| shape(&all(&mut workload)))
}

fn as_objects(object_id: &str) -> Options {
    Options { object_id: Some(object_id.into()), ..Options::default() }
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn oracle_general_is_recognised_and_its_objects_are_places_by_choice() {
    let bytes =
        [oracle(10, 16, 4096, 3), oracle(10, 3, 9000, -1), oracle(12, 40, 0, i64::MAX), oracle(13, 16, 5000, -1)].concat();
    for packed in compressed(&bytes) {
        let sectors = [(0, Op::Read, 8192, 4096), (0, Op::Read, 1536, 9216), (3 * SECOND, Op::Read, 8192, 5120)];
        assert_eq!(read(packed.clone(), &Options::default()), Ok(sectors.to_vec()));
        let starts = |object_id: &str| {
            let requests = read(packed.clone(), &as_objects(object_id)).unwrap_or_else(|why| panic!("{why}"));
            requests.iter().map(|request| request.2).collect::<Vec<u64>>()
        };
        assert_eq!((starts("page"), starts("byte")), (vec![65_536, 12_288, 65_536], vec![0, 0, 0]));
        // An object that has grown has a new place.
        assert_eq!(starts("name"), [0, 4096, 16_384]);
        let info = trace::info(&Input::text("t", packed), &Options::default()).expect("reads");
        assert_eq!((info.format.as_str(), info.reads, info.skipped.zero_length), ("oraclegeneral", 3, 1));
        let notes = info.notes.join("\n");
        assert!(notes.contains("all requests are reads") && notes.contains("units of 512 B"), "{notes}");
    }
}

#[test]
fn vscsi_of_both_versions_is_what_its_table_says() {
    for version in [1, 2] {
        let records = [
            vscsi(version, 0x2a, 4096, 100, 5_000),
            vscsi(version, 0x88, 512, 7, 5_250),
            vscsi(version, 0x00, 0, 0, 5_300),
            vscsi(version, 0x35, 0, 0, 6_000),
        ];
        for packed in compressed(&records.concat()) {
            let expected = [(0, Op::Write, 51_200, 4096), (250_000, Op::Read, 3584, 512), (SECOND / 1000, Op::Flush, 0, 0)];
            assert_eq!(read(packed.clone(), &Options::default()), Ok(expected.to_vec()), "version {version}");
            let info = trace::info(&Input::text("t", packed), &Options::default()).expect("reads");
            assert_eq!((info.format.as_str(), info.skipped.other_action, info.lines), ("vscsi", 1, 4));
        }
        let mut other = records.concat();
        other.extend(vscsi(3 - version, 0x2a, 4096, 1, 1));
        let message = complaint(trace::info(&Input::text("t", other), &Options::default()));
        assert!(message.contains(&format!("record 5 of the vSCSI trace of version {version}: ")), "{message}");
        assert!(message.contains("found ") || message.contains("cut off"), "{message}");
    }
}

#[test]
fn a_binary_trace_is_fitted_and_converted() {
    let mut rng = kit::Rng::stream(3, "objects");
    let bytes: Vec<u8> = (0..400).flat_map(|index| oracle(index / 8, 8 * rng.below(5000), 4096, -1)).collect();
    let (input, options) = (Input::text("t", bytes), Options::default());
    let mut out = Vec::new();
    let info = trace::convert(&input, &options, "msr", &mut out).expect("converts");
    let back = trace::info(&Input::text("m", out), &options).expect("reads");
    assert_eq!((back.reads, back.read_bytes, back.span_ns), (info.reads, info.read_bytes, info.span_ns));
    assert_eq!((info.reads, info.span_ns), (400, 49 * SECOND));
    let mut whole = trace::open(&input, u64::MAX, &options).expect("opens");
    let (text, _) = lookalike::fit(&mut *whole.jobs[0].source, lookalike::FitInput { name: "t".into() }).expect("fits");
    assert!(text.contains("kind = \"lookalike\""), "{text}");
}

#[test]
fn a_binary_trace_that_is_none_is_refused_with_its_record() {
    let two = [oracle(1, 1, 4096, -1), oracle(2, 2, 4096, -1)].concat();
    let cut = complaint(trace::info(&Input::text("f", &two[..40]), &with(|options| options.format = Some("oracle".into()))));
    assert!(cut.contains("record 2 of the oracleGeneral trace: cut off after 16 of 24 bytes, expected 24 bytes"), "{cut}");
    let far = [oracle(1, 1 << 60, 4096, -1), oracle(2, 2, 4096, -1)].concat();
    let message = complaint(trace::info(&Input::text("f", far.clone()), &Options::default()));
    assert!(message.starts_with("f:1: object: found `1152921504606846976`") && message.contains("--object-id name"), "{message}");
    assert!(trace::info(&Input::text("f", far), &as_objects("name")).is_ok());
    // Times out of order hide what the trace is, until it is named.
    let unsorted = [oracle(9, 1, 4096, -1), oracle(2, 2, 4096, -1)].concat();
    let message = complaint(trace::info(&Input::text("f", unsorted.clone()), &Options::default()));
    assert!(message.contains("binary data: expected text, or a binary trace of"), "{message}");
    let named = Options { format: Some("oracleGeneral".into()), ..Options::default() };
    assert_eq!(trace::info(&Input::text("f", unsorted), &named).map(|info| (info.reads, info.reordered)), Ok((2, 1)));
    let message = complaint(trace::info(&Input::text("f", "0 0 100 8 1\n"), &as_objects("name")));
    assert!(message.contains("object_id: ssdsim records addresses") && message.contains("oraclegeneral"), "{message}");
    let message = complaint(trace::info(&Input::text("f", two), &as_objects("nam")));
    assert!(message.contains("did you mean `name`?"), "{message}");
}

#[test]
fn no_change_of_a_binary_trace_makes_it_panic() {
    let whole: Vec<u8> = (0..30).flat_map(|index| oracle(index, u64::from(index), 4096, -1)).collect();
    let other: Vec<u8> = (0..30).flat_map(|index| vscsi(2, 0x28, 4096, index, index)).collect();
    let mut rng = kit::Rng::stream(1, "changes");
    for round in 0..600 {
        let mut bytes = if round % 2 == 0 { whole.clone() } else { other.clone() };
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] = rng.below(256) as u8;
        }
        bytes.truncate(rng.below(bytes.len() as u64) as usize);
        let _ = open(&Input::text("f", bytes), GIB, &Options { address: "wrap".into(), ..Options::default() });
    }
}
