//! Trace files: the conformance suite of the format family, and every option on small hand-written traces.

use kit::{Op, Problems};
use proptest::prelude::*;
use workload::trace::format::{self, Format, Writer};
use workload::{Input, Options, Pacing, Request, Workload, open, trace};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn all(workload: &mut Workload) -> Vec<Request> {
    let mut out = Vec::new();
    workload.jobs[0].source.fill(&mut out, usize::MAX).expect("a scanned trace replays");
    out
}

fn replay(text: &str, options: &Options) -> Result<Vec<Request>, Problems> {
    open(&Input::text("t", text), 8 * GIB, options).map(|mut workload| all(&mut workload))
}

/// Returns the requests as (time \[ns\], operation, offset, length).
fn shape(requests: &[Request]) -> Vec<(u64, Op, u64, u64)> {
    requests.iter().map(|request| (request.at.0, request.op, request.offset.0, request.length.0)).collect()
}

fn complaint<T>(result: Result<T, Problems>) -> String {
    result.map(drop).expect_err("must be refused").to_string()
}

fn overlaid() -> Options {
    Options { layout: "overlay".into(), address: "error".into(), ..Options::default() }
}

// Conformance tests, over every member of the family.

#[test]
fn every_sample_is_recognised_and_read() {
    for member in format::all() {
        let input = Input::text("sample", member.sample());
        let info = trace::info(&input, &Options::default()).unwrap_or_else(|problems| panic!("{}: {problems}", member.name()));
        assert_eq!(info.format, member.name(), "candidates {:?}", info.format_candidates);
        assert!(!info.format_candidates.contains(&info.format));
        let mut workload = open(&input, 1 << 50, &overlaid()).unwrap_or_else(|problems| panic!("{}: {problems}", member.name()));
        let requests = all(&mut workload);
        let found: Vec<_> = requests
            .iter()
            .map(|r| (r.at.0, r.op, r.offset.0, r.length.0, info.by_stream[usize::from(r.stream)].stream.as_str()))
            .collect();
        assert_eq!(found, member.expected(), "{}", member.name());
        let counted = info.requests + info.trims + info.flushes;
        assert_eq!(counted, requests.len() as u64, "{}", member.name());
    }
}

#[test]
fn every_member_is_found_by_its_names() {
    let mut names = Vec::new();
    for member in format::all() {
        names.extend(std::iter::once(member.name()).chain(member.aliases().iter().copied()));
        assert!(format::named(&member.name().to_uppercase()).is_some_and(|found| found.name() == member.name()));
        assert!(member.about().ends_with('.') && member.name().to_lowercase() == member.name());
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "two formats share a name: {names:?}");
    let options = Options { format: Some("mrs".into()), ..Options::default() };
    assert!(complaint(trace::info(&Input::text("t", "1"), &options)).contains("did you mean `msr`?"));
}

#[test]
fn every_member_names_the_line_that_is_wrong() {
    for member in format::all() {
        let lines: Vec<&str> = member.sample().lines().collect();
        let good = member.sample().trim_end_matches(['\r', '\n']).to_owned() + "\n";
        for bad in ["\u{1}\u{2}\u{3}", "no such line, 1 2 3 at all; not here", "9"] {
            let options = Options { format: Some(member.name().into()), ..Options::default() };
            let text = complaint(trace::info(&Input::text("dir/f.txt", format!("{good}{bad}\n{good}")), &options));
            let place = format!("dir/f.txt:{}: ", lines.len() + 1);
            assert!(text.starts_with(&place), "{}: {bad:?}: {text}", member.name());
            assert!(text.contains("found ") && text.contains("expected "), "{}: {text}", member.name());
        }
        // A format is recognised although one of its lines is wrong, and the message names that line.
        let text = complaint(trace::info(&Input::text("f", format!("{good}{bad}\n", bad = "9")), &Options::default()));
        assert!(text.starts_with(&format!("f:{}: ", lines.len() + 1)), "{}: {text}", member.name());
    }
}

#[test]
fn every_member_refuses_its_sample_cut_off_within_a_line_or_reads_less() {
    for member in format::all() {
        let options = Options { format: Some(member.name().into()), ..Options::default() };
        for end in 0..member.sample().len() {
            let result = trace::info(&Input::text("f", &member.sample()[..end]), &options);
            if let Ok(info) = result {
                assert!(
                    (info.requests + info.trims + info.flushes) as usize <= member.expected().len(),
                    "{} at {end}",
                    member.name()
                );
            }
        }
    }
}

#[test]
fn every_member_reads_blank_lines_and_either_line_end() {
    for member in format::all() {
        let options = Options { format: Some(member.name().into()), ..overlaid() };
        let plain = member.sample().replace("\r\n", "\n");
        let read = |text: String| replay_far(&text, &options);
        let expected = read(plain.clone());
        assert_eq!(read(plain.replace('\n', "\r\n")), expected, "{}", member.name());
        assert_eq!(read(format!("{plain}\n  \n\n")), expected, "{}", member.name());
        assert_eq!(read(plain.trim_end_matches('\n').to_owned()), expected, "{}", member.name());
    }
}

fn replay_far(text: &str, options: &Options) -> Vec<Request> {
    let mut workload = open(&Input::text("t", text), 1 << 50, options).unwrap_or_else(|problems| panic!("{problems}"));
    all(&mut workload)
}

#[test]
fn every_writer_is_read_back() {
    // Times that the clocks of all formats can represent; sectors that are not whole pages.
    let text = "0 0 8 16 1\n1000000 1 20 1 0\n5000000000 0 7 9 1\n";
    let options = Options { format: Some("ssdsim".into()), ..Options::default() };
    let input = Input::text("t", text);
    let mut written = 0;
    for member in format::all() {
        let mut out = Vec::new();
        if matches!(member.writer(), Writer::No) {
            let message = complaint(trace::convert(&input, &options, member.name(), &mut out));
            assert!(message.contains("can be read but not written") && out.is_empty(), "{message}");
            continue;
        }
        written += 1;
        trace::convert(&input, &options, member.name(), &mut out)
            .unwrap_or_else(|problems| panic!("{}: {problems}", member.name()));
        let back = Options { format: Some(member.name().into()), ..overlaid() };
        let requests = replay_far(std::str::from_utf8(&out).expect("text"), &back);
        let mut expected = replay_far(text, &Options { format: Some("ssdsim".into()), ..overlaid() });
        if !member.timed() {
            expected.iter_mut().for_each(|request| request.at = kit::SimTime::ZERO);
        }
        assert_eq!(requests, expected, "{}", member.name());
    }
    assert!(written >= 8, "{written}");
}

// Tests of faulty files.

#[test]
fn junk_and_nothing_are_refused_by_name() {
    for (bytes, reason) in [
        (&b""[..], "f: empty"),
        (b"\n\n", "f: empty"),
        (b"\x7fELF\0\0\0\x01\x02", "f:1: binary data"),
        (b"hello world\nhow are you\n", "f:1: the format is not recognised: found `hello world`"),
        (b"version,time,op,size,lbn\n", "f: the trace has no requests"),
        (b"\x1f\x8b\x08", "the gzip data end too early"),
        (b"\x28\xb5\x2f\xfd", "the Zstandard data end too early"),
        (b"\xff\xfe1\0,\0", "f:1: binary data"),
    ] {
        let text = complaint(trace::info(&Input::text("f", bytes), &Options::default()));
        assert!(text.contains(reason), "{text}");
        assert!(open(&Input::text("f", bytes), GIB, &Options::default()).is_err());
    }
}

#[test]
fn a_workload_of_another_kind_is_no_trace() {
    for (text, reason) in [
        ("[global]\nbs=4k\n[a]\nrw=read\n", "f:1: a fio job file: expected a trace"),
        ("kind = \"synthetic\"\n[[job]]\n", "f:1: a workload description: expected a trace"),
    ] {
        let found = complaint(trace::info(&Input::text("f", text), &Options::default()));
        assert!(found.contains(reason), "{found}");
    }
}

#[test]
fn a_coarse_clock_is_noted() {
    let lines = |seconds: u64, each: u64| -> String {
        let line = |at: u64, n: u64| format!("{},web,0,Write,{},4096,1\n", 128_166_372_000_000_000 + at * 10_000_000, n * 4096);
        (0..seconds).flat_map(|at| (0..each).map(move |n| line(at, n))).collect()
    };
    let coarse = |text: String| {
        let info = trace::info(&Input::text("f", text), &Options::default()).expect("a trace");
        info.notes.iter().any(|note| note.contains("the trace's clock is coarse"))
    };
    assert!(coarse(lines(3, 40)) && !coarse(lines(3, 20)) && !coarse(lines(1, 100)), "bursts of one instant are no clock");
}

#[test]
fn numbers_that_cannot_be_are_refused() {
    for (line, reason) in [
        ("128166372000000000,web,0,Read,18446744073709551615,8192,1", "f:2: a read of 8192 bytes at byte 18446744073709551615"),
        ("128166372000000000,web,0,Read,99999999999999999999,8192,1", "f:2: offset: found `99999999999999999999`"),
        ("128166372000000000,web,0,Write,0,8589934592,1", "lengths up to 4 GiB"),
        ("999999999999999999,web,0,Read,0,512,1", "f:2: time: found `999999999999999999`"),
        ("128166372000000000,web,0,Read,-4096,8192,1", "f:2: offset: found `-4096`, expected an unsigned integer"),
        ("128166372000000000,web,0,Erase,0,8192,1", "f:2: operation: found `Erase`, expected `Write` or `Read`"),
        ("128166372000000000,web,0,Read,0", "f:2: line: found"),
        ("128166372000000000,web,0,Read,0,8192,1,2", "expected 7 columns instead of 8"),
        ("128166372000000000,web,0,Read,0,8192 ,1.5.2\u{7}", ""),
    ] {
        let text = format!("128166372000000000,web,0,Read,4096,8192,1\n{line}\n128166372000000000,web,0,Read,4096,8192,1\n");
        let result = trace::info(&Input::text("f", text), &Options::default());
        match reason {
            "" => assert!(result.is_ok(), "a column without a role is not looked at"),
            _ => assert!(complaint(result.clone()).contains(reason), "{}", complaint(result)),
        }
    }
}

#[test]
fn requests_are_widened_to_sectors_and_those_of_no_bytes_left_out() {
    let text = "0,R,100,100,0\n0,R,1000,100,1\n0,W,512,0,2\n0,W,513,511,3\n";
    let input = Input::text("f", text);
    let info = trace::info(&input, &Options::default()).expect("reads");
    assert_eq!((info.format.as_str(), info.requests, info.skipped.zero_length, info.widened), ("alibaba", 3, 1, 3));
    let requests = replay(text, &Options::default()).expect("reads");
    assert_eq!(shape(&requests), [(0, Op::Read, 0, 512), (1000, Op::Read, 512, 1024), (3000, Op::Write, 512, 512)]);
    assert!(info.notes.iter().any(|note| note.contains("widened")), "{:?}", info.notes);
}

#[test]
fn arrivals_are_d_lines_only_where_the_whole_trace_has_no_q() {
    let line = |seq: u64, action: &str| format!("  8,0 0 {seq} {seq}.000000000 1 {action} W {} + 8 [x]\n", seq * 8);
    let issued: String = (0..2000).map(|seq| line(seq, "D")).collect();
    let info = |text: String| trace::info(&Input::text("f", text), &Options::default()).expect("reads");
    let only = info(issued.clone());
    assert_eq!((only.requests, only.skipped.other_action), (2000, 0));
    assert!(only.notes.iter().any(|note| note.contains("no Q lines")), "{:?}", only.notes);
    // The first 64 KiB show only D; a single Q far behind them changes the choice.
    let late = info(issued.clone() + &line(2000, "Q"));
    assert_eq!((late.requests, late.skipped.other_action), (1, 2000));
    let replayed = replay(&(issued + &line(2000, "Q")), &Options::default()).expect("reads");
    assert_eq!(shape(&replayed), [(0, Op::Write, 2000 * 4096, 4096)]);
}

// Tests of recorded times.

/// Returns lines of the `ssdsim` format: writes of 8 sectors at `times` \[ns\], at consecutive addresses.
fn at_times(times: &[u64]) -> String {
    times.iter().enumerate().map(|(index, time)| format!("{time} 0 {} 8 0\n", index * 8)).collect()
}

#[test]
fn late_records_are_put_in_order_and_counted() {
    let text = at_times(&[1_000_000, 3_000_000, 2_000_000, 2_000_000, 500_000, 4_000_000]);
    let info = trace::info(&Input::text("f", text.clone()), &Options::default()).expect("reads");
    assert_eq!((info.reordered, info.span_ns, info.longest_gap_ns), (3, 3_500_000, 1_000_000));
    let requests = replay(&text, &Options::default()).expect("reads");
    let found: Vec<(u64, u64)> = requests.iter().map(|request| (request.at.0, request.offset.0 / 4096)).collect();
    assert_eq!(found, [(0, 4), (500_000, 0), (1_500_000, 2), (1_500_000, 3), (2_500_000, 1), (3_500_000, 5)]);
    let strict = Options { strict_time: true, ..Options::default() };
    let message = complaint(replay(&text, &strict));
    assert_eq!(message, "t:3: time goes back by 0.001000000 s: refused by `strict_time`");
}

#[test]
fn the_window_holds_65536_records_and_not_one_more() {
    let late_after = |count: u64| {
        let times: Vec<u64> = (1..=count).map(|n| n * 1_000_000).chain([500_000]).collect();
        trace::info(&Input::text("f", at_times(&times)), &Options::default())
    };
    assert_eq!(late_after(65_536).expect("within the window").reordered, 1);
    let message = complaint(late_after(65_537));
    assert!(
        message.starts_with("f:65538: time goes back by 65.536500000 s, further than the reorder window of 65536 records"),
        "{message}"
    );
}

#[test]
fn a_clock_that_is_set_goes_on_from_where_it_was() {
    let line = |time: &str| format!("0\t\t8\t\t4096\t\t1\t\t{time}\t\t0.0\t\t0.0\t\t0.0\n");
    let text: String = ["1.5", "2.0", "1398396748.5", "1398396748.7", "2.1", "1398396749.5"].map(line).concat();
    let info = trace::info(&Input::text("f", text.clone()), &Options::default()).expect("reads");
    assert_eq!((info.format.as_str(), info.clock_sets, info.span_ns), ("bio", 1, 1_500_000_000));
    let times: Vec<u64> =
        replay(&text, &Options::default()).expect("reads").iter().map(|request| request.at.0 / 1_000_000).collect();
    assert_eq!(times, [0, 500, 500, 600, 700, 1500]);
    let strict = Options { strict_time: true, ..Options::default() };
    assert!(complaint(replay(&text, &strict)).starts_with("t:3: the recording clock jumps here, to 1398396748.500000000 s"));
}

// Tests of the options.

const TEN: &str = "0 0 0 8 0\n1000000 0 8 8 0\n2000000 0 16 8 1\n3000000 0 24 8 0\n4000000 0 32 8 0\n\
                   5000000 0 40 8 0\n6000000 0 48 8 1\n7000000 0 56 8 0\n8000000 0 64 8 0\n9000000 0 72 8 0\n";

fn with(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options { format: Some("ssdsim".into()), ..Options::default() };
    change(&mut options);
    options
}

fn times_and_units(text: &str, options: &Options) -> Vec<(u64, u64)> {
    let requests = replay(text, options).unwrap_or_else(|problems| panic!("{problems}"));
    requests.iter().map(|request| (request.at.0 / 1000, request.offset.0 / 4096)).collect()
}

#[test]
fn slices_and_limits_start_at_zero() {
    let slice = |text: &str| with(|options| options.slice = Some(text.into()));
    assert_eq!(times_and_units(TEN, &slice("3..5")), [(0, 3), (1000, 4)]);
    assert_eq!(times_and_units(TEN, &slice("2ms..4ms")), [(0, 2), (1000, 3)]);
    assert_eq!(times_and_units(TEN, &slice("8..")), [(0, 8), (1000, 9)]);
    let both = with(|options| (options.slice, options.max_requests) = (Some("4ms..".into()), Some(2)));
    assert_eq!(times_and_units(TEN, &both), [(0, 4), (1000, 5)]);
    assert!(complaint(replay(TEN, &slice("10..20"))).contains("the slice selects no requests"));
    let info = trace::info(&Input::text("f", TEN), &slice("5..8")).expect("reads");
    assert_eq!((info.requests, info.reads, info.span_ns, info.lines), (3, 1, 2_000_000, 10));
    let bad = format!("{TEN}junk\n");
    assert!(complaint(replay(&bad, &slice("0..2"))).starts_with("t:11: "), "lines outside the slice are checked too");
}

#[test]
fn repetitions_follow_after_one_mean_gap_and_time_scales_afterwards() {
    let options = with(|options| (options.slice, options.repeat) = (Some("0..2".into()), 3));
    assert_eq!(times_and_units(TEN, &options), [(0, 0), (1000, 1), (2000, 0), (3000, 1), (4000, 0), (5000, 1)]);
    let fast = Options { time_scale: 2.0, ..options };
    assert_eq!(times_and_units(TEN, &fast), [(0, 0), (500, 1), (1000, 0), (1500, 1), (2000, 0), (2500, 1)]);
    let long = with(|options| (options.repeat, options.time_scale) = (u32::MAX, 1e-9));
    assert!(complaint(replay(TEN, &long)).contains("do not fit"));
}

const STREAMS: &str = "0 3 0 8 0\n1000000 7 2048 8 0\n2000000 3 8 8 0\n3000000 9 0 8 1\n";

#[test]
fn streams_are_stacked_overlaid_or_filtered() {
    let stack = with(|_| ());
    // Stream 3 ends at 8 KiB, stream 7 at 1 MiB + 4 KiB: each starts at the next multiple of 1 MiB.
    assert_eq!(times_and_units(STREAMS, &stack), [(0, 0), (1000, 512), (2000, 1), (3000, 768)]);
    assert_eq!(times_and_units(STREAMS, &with(|o| o.layout = "overlay".into())), [(0, 0), (1000, 256), (2000, 1), (3000, 0)]);
    let only = with(|options| options.streams = vec!["7".into(), "9".into()]);
    assert_eq!(times_and_units(STREAMS, &only), [(0, 256), (2000, 512)]);
    let info = trace::info(&Input::text("f", STREAMS), &stack).expect("reads");
    assert_eq!((info.streams, info.max_address_bytes, info.extent_bytes), (3, MIB + 4096, 3 * MIB + 4096));
    assert_eq!(info.by_stream[1].stream, "7");
    let unknown = with(|options| options.streams = vec!["8".into()]);
    assert!(complaint(replay(STREAMS, &unknown)).contains("unknown stream `8`: expected one of 3, 7, 9"));
}

#[test]
fn addresses_past_the_end_are_refused_or_cured() {
    // The trace ends at 100 MiB, the drive has 10 MiB.
    let text = "0 0 0 8 0\n1000000 0 204792 8 0\n2000000 0 20476 8 1\n3000000 0 102400 16 0\n";
    let on = |address: &str, user_bytes: u64| {
        let options = with(|options| options.address = address.into());
        open(&Input::text("f", text), user_bytes, &options)
            .map(|mut workload| (shape(&all(&mut workload)), workload.notes.clone()))
    };
    let message = complaint(on("error", 10 * MIB));
    for part in ["largest address is byte 104857599", "--address wrap", "--address scale", "--address compact", "10485760"] {
        assert!(message.contains(part), "{part}: {message}");
    }
    assert_eq!(on("error", 100 * MIB).expect("fits exactly").0[1].2, 100 * MIB - 4096);
    let (wrapped, notes) = on("wrap", 10 * MIB).expect("wraps");
    let places: Vec<_> = wrapped.iter().map(|request| (request.0 / 1_000_000, request.2, request.3)).collect();
    assert_eq!(places, [(0, 0, 4096), (1, 10 * MIB - 4096, 4096), (2, 10 * MIB - 6144, 4096), (3, 0, 8192)]);
    assert!(notes.iter().any(|note| note.contains("wrap")), "{notes:?}");
    let (scaled, _) = on("scale", 10 * MIB).expect("scales");
    let places: Vec<_> = scaled.iter().map(|request| (request.2, request.3)).collect();
    assert_eq!(places, [(0, 4096), (10 * MIB - 4096, 4096), (MIB - 4096 + 2048, 4096), (5 * MIB, 8192)]);
    let (compacted, _) = on("compact", 10 * MIB).expect("compacts");
    let places: Vec<_> = compacted.iter().map(|request| (request.2, request.3)).collect();
    assert_eq!(places, [(0, 4096), (2 * MIB - 4096, 4096), (3 * MIB - 2048, 4096), (4 * MIB, 8192)], "a request stays whole");
    let message = complaint(on("compact", 4 * MIB));
    assert!(message.contains("5 regions of 1 MiB"), "{message}");
}

#[test]
fn traces_without_times_run_closed() {
    let text = "fio version 2 iolog\n/dev/sda add\n/dev/sda write 0 4096\n/dev/sda sync 0 0\n/dev/sda close\n";
    let workload = open(&Input::text("f", text), GIB, &Options::default()).expect("reads");
    assert_eq!(workload.jobs[0].pacing, Pacing::Closed { depth: 1 });
    assert!(workload.notes.iter().any(|note| note.contains("closed:1")), "{:?}", workload.notes);
    let pacing = |replay: &str, text: &str| {
        let options = Options { replay: Some(replay.into()), ..Options::default() };
        open(&Input::text("f", text), GIB, &options).map(|workload| workload.jobs[0].pacing)
    };
    assert_eq!(pacing("closed:32", text), Ok(Pacing::Closed { depth: 32 }));
    assert!(complaint(pacing("open", text)).contains("no times"));
    assert_eq!(pacing("gaps", TEN), Ok(Pacing::Gaps));
    assert_eq!(pacing("open", TEN), Ok(Pacing::Open));
}

#[test]
fn a_described_table_is_a_trace() {
    let text = "when;what;where;how much\n1.5;put;10;1\n2.5;get;11;2\n";
    let columns = "sep=;,header=yes,time=1:ms,op=2:get=read,put=write,offset=3:page,size=4:page";
    let options = Options { columns: Some(columns.into()), ..Options::default() };
    let requests = replay(text, &options).expect("reads");
    assert_eq!(shape(&requests), [(0, Op::Write, 40_960, 4096), (1_000_000, Op::Read, 45_056, 8192)]);
}

#[test]
fn the_resolved_text_is_toml_and_always_the_same() {
    let resolved = || open(&Input::text("dir/f", STREAMS), GIB, &with(|options| options.repeat = 2)).expect("reads").resolved;
    let text = resolved();
    assert_eq!(text, resolved());
    let table: toml::Table = toml::from_str(&text).expect("TOML");
    assert_eq!(table["kind"].as_str(), Some("trace"));
    assert_eq!(table["repeat"].as_integer(), Some(2));
    assert_eq!(table["scan"]["requests"].as_integer(), Some(4));
    assert_eq!(table["streams"].as_array().map(Vec::len), Some(3));
}

#[test]
fn a_file_that_changes_after_the_scan_is_noticed() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    let opened = std::sync::Arc::new(AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&opened);
    let input = Input {
        name: "f".into(),
        open: std::sync::Arc::new(move || {
            let text = if count.fetch_add(1, Ordering::Relaxed) < 3 { TEN.to_owned() } else { TEN.replace("72 8 0", "720 8 0") };
            Ok(Box::new(std::io::Cursor::new(text)))
        }),
    };
    let mut workload = open(&input, GIB, &Options::default()).expect("scans");
    assert_eq!(opened.load(Ordering::Relaxed), 3, "kind, format, scan");
    let message = complaint(workload.jobs[0].source.fill(&mut Vec::new(), 100));
    assert!(message.starts_with("f:10: the file has changed"), "{message}");
}

// Property tests.

/// Generates samples with bytes changed, inserted, removed and repeated.
fn mutated() -> impl Strategy<Value = (usize, Vec<u8>)> {
    let members = format::all().count();
    (0..members, proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4u8), 0..12)).prop_map(
        |(member, edits)| {
            let sample = format::all().nth(member).map_or("", Format::sample);
            let mut bytes = sample.as_bytes().to_vec();
            for (at, byte, kind) in edits {
                if bytes.is_empty() {
                    break;
                }
                let at = at.index(bytes.len());
                match kind {
                    0 => bytes[at] = byte,
                    1 => bytes.insert(at, byte),
                    2 => drop(bytes.remove(at)),
                    _ => bytes.extend_from_within(at..),
                }
            }
            (member, bytes)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let input = Input::text("f", bytes);
        let _ = open(&input, GIB, &Options::default());
        for member in format::all() {
            let _ = trace::info(&input, &Options { format: Some(member.name().into()), ..Options::default() });
        }
    }

    #[test]
    fn no_mutation_makes_it_panic((member, bytes) in mutated()) {
        let name = format::all().nth(member).map(|format| format.name().to_owned());
        let input = Input::text("f", bytes);
        for (format, address) in [(name, "compact"), (None, "wrap")] {
            let options = Options { format, address: address.into(), ..Options::default() };
            if let Ok(mut workload) = open(&input, GIB, &options) {
                for job in &mut workload.jobs {
                    let mut out = Vec::new();
                    prop_assert!(job.source.fill(&mut out, 10_000).is_ok());
                    prop_assert!(out.iter().all(|request| request.offset.0 + request.length.0 <= GIB));
                    prop_assert!(out.iter().all(|request| (request.offset.0 | request.length.0) % 512 == 0));
                }
            }
        }
    }

    #[test]
    fn no_description_of_columns_makes_it_panic(text in "[a-z0-9=:,/;]{0,40}") {
        let _ = trace::info(&Input::text("f", "1,2,3,4\n"), &Options { columns: Some(text), ..Options::default() });
    }

    #[test]
    fn the_stream_does_not_depend_on_how_it_is_cut(
        times in proptest::collection::vec(0..50_000u64, 1..60),
        cuts in proptest::collection::vec(1..7usize, 1..40),
        address in prop::sample::select(vec!["wrap", "scale", "compact"]),
        repeat in 1..4u32,
    ) {
        let line = |(index, time): (usize, &u64)| {
            let (stream, sector, sectors, read) = (index % 3, (time * 7919) % 40_000, 1 + time % 99, index % 2);
            format!("{} {stream} {sector} {sectors} {read}\n", time * 1000)
        };
        let text: String = times.iter().enumerate().map(line).collect();
        let options = with(|options| (options.address, options.repeat) = (address.into(), repeat));
        let input = Input::text("f", text);
        let whole = all(&mut open(&input, 50 * MIB, &options).expect("a valid trace"));
        let mut workload = open(&input, 50 * MIB, &options).expect("a valid trace");
        let (mut cut, mut sizes) = (Vec::new(), cuts.iter().cycle());
        loop {
            let (before, size) = (cut.len(), *sizes.next().expect("a cycle has no end"));
            workload.jobs[0].source.fill(&mut cut, size).expect("a valid trace");
            prop_assert!(cut.len() - before <= size);
            if cut.len() == before {
                break;
            }
        }
        prop_assert!(whole.windows(2).all(|pair| pair[0].at <= pair[1].at));
        prop_assert_eq!(cut, whole);
    }
}
