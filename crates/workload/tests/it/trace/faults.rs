//! Faulty files.

use super::*;
use workload::trace;

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

#[test]
fn a_first_line_that_names_the_format_settles_it() {
    for (text, found) in [
        ("fio version 2 iolog\n/d wait\n", "f:2: wait: found nothing, expected microseconds, as in FILE wait MICROSECONDS"),
        ("fio version 2 iolog\nx\ny\nz\n", "f:2: line: found `x`, expected FILE ACTION OFFSET LENGTH"),
        ("fio version 3 iolog\n0 /d flush 0 0\n0 /d x\n", "f:2: action: found `flush`"),
        ("fio version 3 iolog\n0 /d wait 5\n", "expected add, open, close, read, write, trim, sync or datasync"),
        ("fio version 4 iolog\n/d add\n", "f:1: header: found `fio version 4 iolog`, expected `fio version 2 iolog` or"),
        ("device_id,opcode,offset,length,timestamp\n1,R,0\n1,W,x,y,z\n", "f:2: line: found `1,R,0`"),
        ("BeginHeader\nEndHeader\nDiskRead, 1\n", "f:3: line: found `DiskRead, 1`"),
    ] {
        let message = complaint(trace::info(&Input::text("f", text), &Options::default()));
        assert!(message.contains(found), "{text:?}: {message}");
    }
}

/// Appends a record of a binary blktrace, in little-endian order, with its payload.
fn binary_record(out: &mut Vec<u8>, at_ns: u64, action: u32, sector: u64, bytes: u32, payload: &[u8]) {
    out.extend(0x6561_7407u32.to_le_bytes());
    out.extend(1u32.to_le_bytes());
    out.extend(at_ns.to_le_bytes());
    out.extend(sector.to_le_bytes());
    for number in [bytes, action, 99, 8 << 20, 0] {
        out.extend(number.to_le_bytes());
    }
    out.extend(0u16.to_le_bytes());
    out.extend((payload.len() as u16).to_le_bytes());
    out.extend(payload);
}

/// Returns a binary blktrace of random queued and issued requests.
fn binary_trace(seed: u64) -> Vec<u8> {
    let mut rng = kit::Rng::stream(seed, "blktrace");
    let mut out = Vec::new();
    binary_record(&mut out, 0, 1 << 26, 0, 0, b"fio\0");
    for index in 0..500u64 {
        // Write, flush, sync, ahead, metadata, discard, FUA: the categories of `blktrace_api.h`.
        let bits: u32 = [17, 18, 19, 27, 28, 29, 31].iter().filter(|_| rng.chance(0.3)).map(|bit| 1u32 << bit).sum();
        let bits = if bits & 1 << 29 != 0 { bits | 1 << 17 } else { bits };
        let bytes = if bits & 1 << 18 != 0 && rng.chance(0.3) { 0 } else { 512 * (1 + rng.below(64) as u32) };
        let stage = if rng.chance(0.5) { 1 | 1 << 20 } else { 7 | 1 << 22 };
        binary_record(&mut out, 1000 * (index + 1), stage | bits | 1 << 24, 8 * rng.below(1000), bytes, &[]);
    }
    out
}

/// Where blkparse is installed, its text of a binary trace is read as the trace itself is.
#[test]
fn a_binary_blktrace_is_read_as_blkparse_prints_it() {
    let folder = std::env::temp_dir().join(format!("ssdlab-blktrace-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for a file");
    for seed in 0..3 {
        let bytes = binary_trace(seed);
        std::fs::write(folder.join("t.blktrace.0"), &bytes).expect("room for a file");
        let printed = std::process::Command::new("blkparse").current_dir(&folder).args(["-q", "-i", "t"]).output();
        let Ok(printed) = printed else { break };
        let text = String::from_utf8(printed.stdout).expect("text");
        for arrival in ["queued", "issued"] {
            let options = Options { arrival: Some(arrival.into()), ..Options::default() };
            let requests = |bytes: Vec<u8>| {
                let mut workload = open(&Input::text("t", bytes), GIB, &options).unwrap_or_else(|why| panic!("{why}\n{text}"));
                all(&mut workload)
            };
            let (found, expected) = (requests(bytes.clone()), requests(text.clone().into_bytes()));
            assert!(found.len() > 150 && found == expected, "seed {seed}, {arrival}");
        }
    }
    std::fs::remove_dir_all(&folder).expect("the folder is ours");
}

#[test]
fn a_damaged_binary_blktrace_is_refused_with_its_record() {
    let bytes = binary_trace(7);
    let whole = trace::info(&Input::text("f", bytes.clone()), &Options::default()).expect("reads");
    assert_eq!(whole.format, "blkparse");
    for packed in compressed(&bytes) {
        assert_eq!(trace::info(&Input::text("f", packed), &Options::default()).as_ref(), Ok(&whole));
    }
    let message = complaint(trace::info(&Input::text("f", &bytes[..bytes.len() - 5]), &Options::default()));
    assert!(message.contains("record 501 of the binary blktrace: cut off"), "{message}");
    let mut rng = kit::Rng::stream(1, "damage");
    for _ in 0..300 {
        let mut damaged = bytes[..52 + 48 * 20].to_vec();
        for _ in 0..1 + rng.below(4) {
            let at = rng.below(damaged.len() as u64) as usize;
            damaged[at] = rng.below(256) as u8;
        }
        let _ = open(&Input::text("f", damaged), GIB, &Options { address: "wrap".into(), ..Options::default() });
    }
}
