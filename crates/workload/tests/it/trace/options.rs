//! Options.

use super::*;
use workload::{Pacing, trace};

const TEN: &str = "0 0 0 8 0\n1000000 0 8 8 0\n2000000 0 16 8 1\n3000000 0 24 8 0\n4000000 0 32 8 0\n\
                   5000000 0 40 8 0\n6000000 0 48 8 1\n7000000 0 56 8 0\n8000000 0 64 8 0\n9000000 0 72 8 0\n";

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

/// Twenty files of 1 EiB each, one after the other, end beyond 64 bits: their addresses would fall together.
#[test]
fn streams_beyond_the_last_address_are_refused() {
    let trims: String = (0..20).map(|file| format!("f{file} trim 0 {}\n", 1u64 << 60)).collect();
    let text = format!("fio version 2 iolog\n{trims}");
    for address in ["wrap", "scale", "compact"] {
        let stacked = with(|options| (options.address, options.format) = (address.into(), None));
        let why = complaint(replay(&text, &stacked));
        assert!(why.contains("the 20 streams, one after the other, have more than 16 EiB"), "{address}: {why}");
    }
    let wrapped = Options { format: None, address: "wrap".into(), ..overlaid() };
    assert_eq!(times_and_units(&text, &wrapped).len(), 20);
    for (address, layout, is_fine) in [("compact", "stack", false), ("error", "stack", true), ("compact", "overlay", true)] {
        let options = Options { address: address.into(), layout: layout.into(), ..Options::default() };
        let done = trace::convert(&Input::text("f", text.clone()), &options, "iolog3", &mut Vec::new());
        assert_eq!(done.is_ok(), is_fine, "{address}, {layout}: {:?}", done.err());
    }
    // Beyond 1 EiB no trace is read, so that none is written.
    let two = format!("fio version 2 iolog\nf0 trim 0 {0}\nf1 trim 0 {0}\n", 1u64 << 60);
    let compact = Options { address: "compact".into(), ..Options::default() };
    let why = complaint(trace::convert(&Input::text("f", two), &compact, "iolog3", &mut Vec::new()));
    assert!(why.contains("the 2 streams, one after the other, have more than 1 EiB"), "{why}");
}

/// The address of a flush means nothing: it neither counts nor must lie within those of the requests.
#[test]
fn flushes_have_no_address() {
    let columns = "time=1:us,op=2,offset=3:B,size=4:B";
    let options = with(|options| (options.columns, options.format) = (Some(columns.into()), None));
    let requests = replay("0,R,0,4096\n1,flush,1048576,4096\n", &options).expect("a table");
    assert_eq!((requests[1].offset.0, requests[1].length.0), (0, 0));
    let far = replay(&format!("0,R,0,4096\n1,flush,{},0\n", u64::MAX), &options);
    assert_eq!(far.map(|requests| requests.len()), Ok(2));
}

#[test]
fn headers_of_biosnoop_have_a_bounded_number_of_columns() {
    let header = format!("TIME(s) COMM {} DISK T SECTOR BYTES LAT(ms)\n", "X ".repeat(20));
    let why = complaint(replay(&format!("{header}0.1 a 1 sda R 8 512 0.1\n"), &with(|o| o.format = Some("biosnoop".into()))));
    assert!(why.contains("at most 16 columns"), "{why}");
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
        surroundings: None,
    };
    let mut workload = open(&input, GIB, &Options::default()).expect("scans");
    assert_eq!(opened.load(Ordering::Relaxed), 3, "kind, format, scan");
    let message = complaint(workload.jobs[0].source.fill(&mut Vec::new(), 100));
    assert!(message.starts_with("f:10: the file has changed"), "{message}");
}

#[test]
fn a_table_with_a_header_is_read_by_its_names() {
    let text = "Timestamp,Type,Offset,Size\n2024-05-01T12:00:00Z,Read,0,4KiB\n2024-05-01T12:00:01Z,WRITE,8,512\n";
    let columns = |spec: &str| Options { columns: Some(spec.into()), ..Options::default() };
    let options = columns("time=timestamp:iso,op=Type,offset=Offset:sector,size=Size:B");
    let requests = replay(text, &options).expect("reads");
    assert_eq!(shape(&requests), [(0, Op::Read, 0, 4096), (1_000_000_000, Op::Write, 4096, 512)]);
    let message = complaint(replay(text, &columns("time=Time:iso,op=Type,offset=Offset:B,size=Size:B")));
    assert!(message.starts_with("t:1: header: ") && message.contains("a column called `Time`"), "{message}");
    let message = complaint(replay(text, &columns("time=1:iso,op=2,offset=3:B,size=4:B")));
    assert!(message.starts_with("t:1: ") && message.contains("add header=yes"), "{message}");
    let message = complaint(replay(&text.replace("512", "4parsec"), &options));
    assert!(message.starts_with("t:3: size: found `4parsec`"), "{message}");
    let message = complaint(replay(text, &Options::default()));
    assert!(message.contains("its first line looks like a header: name its columns, such as `--columns"), "{message}");
}

#[test]
fn completions_of_array_traces_are_skipped_and_counted() {
    let text = "#ELAPSED_USECS.D,CMD.S,LUN_SSID.I,OP.I,PHASE.I,LBA.I,NBLKS.I\n1.0,WR_IN,1,1,0,8,8\n2.0,WR_OUT,1,2,1,8,8\n\
        3.0,RD_IN,1,2,0,8,8\n4.0,RD_IN,1,0,1,8,8\n5.0,RD_IN,1,0,0,8,8\n";
    let info = trace::info(&Input::text("t", text), &Options::default()).expect("an array trace");
    assert_eq!((info.format.as_str(), info.requests, info.skipped.other_action), ("hf", 2, 3));
    let message = complaint(trace::info(&Input::text("t", text.replace("OUT,1,2", "OUT,1,3")), &Options::default()));
    assert!(message.starts_with("t:3: operation: found `3`"), "{message}");
}

/// Lines of blkparse: queued, issued and completed, with different times.
const EVENTS: &str = "8,0 0 1 0.000000000 1 Q W 8 + 8 [x]\n8,0 0 2 0.000100000 1 D W 8 + 8 [x]\n8,0 0 3 0.001000000 1 C W 8 + 8 [0]\n\
    8,0 0 4 0.002000000 1 Q R 8 + 8 [x]\n8,0 0 5 0.002700000 1 D R 8 + 8 [x]\n";

#[test]
fn the_event_that_is_the_arrival_is_a_choice() {
    let arrivals = |arrival: Option<&str>| {
        let options = Options { arrival: arrival.map(str::to_owned), ..Options::default() };
        replay(EVENTS, &options).map(|requests| requests.iter().map(|request| request.at.0 / 1000).collect::<Vec<_>>())
    };
    assert_eq!(arrivals(None).expect("reads"), [0, 2000]);
    assert_eq!(arrivals(Some("queued")).expect("reads"), [0, 2000]);
    assert_eq!(arrivals(Some("issued")).expect("reads"), [0, 2600]);
    let message = complaint(arrivals(Some("isued")));
    assert!(message.contains("did you mean `issued`?"), "{message}");
    let options = Options { arrival: Some("queued".into()), ..Options::default() };
    let message = complaint(replay(TEN, &options));
    assert!(message.contains("arrival: ssdsim records one time for each request") && message.contains("blkparse"), "{message}");
    // The option `--arrival` also holds for a trace without any arrival of the chosen kind.
    let only_d: String = EVENTS.lines().filter(|line| line.contains(" D ")).map(|line| format!("{line}\n")).collect();
    let message = complaint(replay(&only_d, &options));
    assert!(message.contains("the trace has no requests"), "{message}");
}

#[test]
fn requests_that_a_volume_passes_on_are_noted_with_their_numbers() {
    let line = |device: &str, action: &str, rest: &str| format!("{device} 0 1 0.000000000 1 {action} W {rest}\n");
    let text = [
        line("253,0", "Q", "8 + 8 [x]"),
        line("8,0", "A", "2056 + 8 <- (253,0) 8"),
        line("8,0", "Q", "2056 + 8 [x]"),
        line("8,0", "A", "4104 + 8 <- (8,2) 8"),
        line("8,0", "Q", "4104 + 8 [y]"),
    ]
    .concat();
    let info = |streams: &[&str]| {
        let streams = streams.iter().map(|stream| (*stream).to_owned()).collect();
        workload::trace::info(&Input::text("f", &*text), &Options { streams, ..Options::default() }).expect("reads")
    };
    let note = info(&[]).notes.into_iter().find(|note| note.contains("counted twice")).expect("a note");
    assert!(note.contains("1 of the 2 requests of 8.0 are those of 253.0"), "{note}");
    assert!(note.contains("--streams 8.0,") && note.contains("--streams 253.0"), "{note}");
    assert!(info(&["8.0"]).notes.is_empty() && info(&["253.0"]).notes.is_empty());
}

#[test]
fn a_table_may_have_rwbs_words_and_comments() {
    let text = "# a comment\n0,WS,8,8\n# another\n1,FWFS,16,8\n2,FWS,0,0\n3,RA,8,8\n4,D,8,8\n5,FF,0,0\n6,N,8,8\n";
    let options = Options { columns: Some("time=1:us,op=2,offset=3:sector,size=4:sector".into()), ..Options::default() };
    let requests = replay(text, &options).expect("reads");
    let (w, f, r, d) = (Op::Write, Op::Flush, Op::Read, Op::Trim);
    assert_eq!(requests.iter().map(|request| request.op).collect::<Vec<_>>(), [w, w, f, r, d, f]);
    let flags = |index: usize| requests[index].flags;
    assert_eq!(flags(0), workload::Flags::SYNC);
    assert!(flags(1).contains(workload::Flags::FUA.with(workload::Flags::FLUSH_BEFORE)));
    assert_eq!((flags(2), flags(4)), (workload::Flags::NONE, workload::Flags::NONE));
    let message = complaint(replay("0,RD,8,8\n", &options));
    assert!(message.contains("found `RD`") && message.contains("op=COL:RD=read/WR=write"), "{message}");
    let named = Options { columns: Some("time=t:us,op=o,offset=a:sector,size=n:sector".into()), ..Options::default() };
    assert_eq!(
        replay("# made by x\n# t,o,a,n\n", &named).map(drop).expect_err("no requests").to_string(),
        "t: the trace has no requests: expected at least one"
    );
    assert_eq!(replay("# made by x\n#t,o,a,n\n0,W,8,8\n# end\n", &named).expect("reads").len(), 1);
}

#[test]
fn a_unit_of_time_that_cannot_be_is_noted() {
    let text: String = (0..1000u64).map(|index| format!("{},W,{},4096\n", index * 100, index * 4096)).collect();
    let notes = |unit: &str| {
        let options = Options { columns: Some(format!("time=1:{unit},op=2,offset=3:B,size=4:B")), ..Options::default() };
        workload::trace::info(&Input::text("f", &*text), &options).expect("reads").notes
    };
    let note = notes("ns").into_iter().find(|note| note.contains("unit of time")).expect("a note");
    assert!(note.contains("times in ns; in us they would be"), "{note}");
    assert!(notes("us").is_empty(), "{:?}", notes("us"));
}
