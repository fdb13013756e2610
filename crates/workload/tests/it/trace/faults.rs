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
