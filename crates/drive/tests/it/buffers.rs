//! The data buffer: when a write is acknowledged, the order in which units are programmed, and watermarks.

use crate::common::{ONE_DIE, PROGRAM, READ, Rig, assert_parts, summary, with};
use drive::CommandRow;
use drive::options::RunOptions;
use drive::session::{Files, RunRequest};
use drive::streams::Outputs;
use kit::{Cause, Nanos, Op, Record, SimTime};
use workload::{Input, Options};

/// A buffer of eight units that programs nothing by itself for a second.
const HELD: &[&str] = &["buffer.policy=write_back", "buffer.capacity=32KiB", "buffer.flush_after=1s"];

const READ_TIME: u64 = 290 + 50_000 + 3414;
const PROGRAM_TIME: u64 = 361 + 3414 + 600_000;

/// Returns a drive with one die and a buffer of eight units, whose units are programmed from a share on.
fn held(above: &str, sets: &[&str]) -> Rig {
    let above = format!("buffer.flush_above={above}");
    let buffer = with(HELD, &[&above]);
    Rig::watched(&with(&with(ONE_DIE, &buffer), sets))
}

/// Returns the units in the order in which they were bound.
fn bound(rig: &mut Rig) -> Vec<u32> {
    let lpn = |record: Record| match record {
        Record::BoundFromBuffer { lpn, .. } => Some(lpn.0),
        _ => None,
    };
    rig.records().into_iter().filter_map(lpn).collect()
}

/// With write-through, a write takes as long as without a buffer; until then its data is read from the buffer.
#[test]
fn a_write_through_is_acknowledged_when_it_is_programmed() {
    let through = ["buffer.policy=write_through", "buffer.capacity=8KiB"];
    let mut rig = Rig::new(&with(ONE_DIE, &through));
    let writes = [0, 1, 2].map(|unit| rig.submit(Op::Write, unit, 1, SimTime(0)));
    let read = rig.submit(Op::Read, 0, 1, SimTime(1000));
    rig.drain();
    assert_parts("first", &rig.row(writes[0]), &PROGRAM);
    let waits = [&PROGRAM[..], &[(Cause::DieHostProgram, PROGRAM_TIME)]].concat();
    assert_parts("second", &rig.row(writes[1]), &waits);
    // The third has no space until the first is programmed.
    let waits = [&PROGRAM[..], &[(Cause::DieHostProgram, PROGRAM_TIME), (Cause::BufferFull, PROGRAM_TIME)]].concat();
    assert_parts("third", &rig.row(writes[2]), &waits);
    assert_parts("read", &rig.row(read), &[]);
}

/// A unit that is written again while it waits is programmed once, for both writes.
#[test]
fn writes_of_a_waiting_unit_share_its_program() {
    let through = ["buffer.policy=write_through", "buffer.capacity=32KiB"];
    let mut rig = Rig::new(&with(ONE_DIE, &through));
    let first = rig.submit(Op::Write, 0, 1, SimTime(0));
    let shared = [1000, 2000].map(|at| rig.submit(Op::Write, 1, 1, SimTime(at)));
    rig.drain();
    assert_parts("first", &rig.row(first), &PROGRAM);
    for (tag, waited) in shared.into_iter().zip([PROGRAM_TIME - 1000, PROGRAM_TIME - 2000]) {
        assert_parts("shared", &rig.row(tag), &[&PROGRAM[..], &[(Cause::DieHostProgram, waited)]].concat());
    }
    assert_eq!(rig.operations()[1], 2);
}

/// A trim of a unit for which a write waits: the write is done, and nothing is programmed for it.
#[test]
fn a_trim_ends_the_wait_of_a_write() {
    let mut rig = Rig::new(&with(ONE_DIE, &["buffer.policy=write_through", "buffer.capacity=32KiB"]));
    rig.submit(Op::Write, 0, 1, SimTime(0));
    let write = rig.submit(Op::Write, 1, 1, SimTime(1000));
    rig.submit(Op::Trim, 1, 1, SimTime(5000));
    rig.drain();
    assert_parts("write", &rig.row(write), &[(Cause::DieHostProgram, PROGRAM_TIME - 1000)]);
    assert_eq!(rig.operations()[1], 1);
}

/// A write with FUA has itself and the units before it programmed; the others stay in the buffer.
#[test]
fn a_write_with_fua_is_programmed_at_once() {
    let mut rig = held("1.0", &[]);
    for unit in 0..3 {
        assert_parts("buffered", &rig.one(Op::Write, unit, 1), &[]);
    }
    let fua = rig.submit_fua(5, 1, rig.drive.now());
    let later = rig.submit(Op::Write, 6, 1, rig.drive.now() + Nanos(10));
    rig.drain();
    assert_parts("fua", &rig.row(fua), &[&PROGRAM[..], &[(Cause::DieHostProgram, 3 * PROGRAM_TIME)]].concat());
    assert_parts("later", &rig.row(later), &[]);
    assert_eq!(bound(&mut rig), [0, 1, 2, 5]);
    // Without a buffer every write is durable anyway.
    let mut rig = Rig::new(ONE_DIE);
    let fua = rig.submit_fua(5, 1, SimTime(0));
    rig.drain();
    assert_parts("unbuffered", &rig.row(fua), &PROGRAM);
}

/// Eight units in an order with repetitions: `fifo` programs them as they first came, `lru` as they last came.
#[test]
fn the_least_recently_written_unit_is_programmed_first() {
    for (order, expected) in [("fifo", [3, 1, 4, 5, 9, 2, 6, 8]), ("lru", [3, 4, 1, 9, 2, 6, 5, 8])] {
        let mut rig = held("1.0", &[&format!("buffer.flush_order={order}")]);
        for unit in [3, 1, 4, 1, 5, 9, 2, 6, 5] {
            rig.one(Op::Write, unit, 1);
        }
        assert_eq!(rig.operations()[1], 0, "seven of eight units");
        rig.one(Op::Write, 8, 1);
        rig.run_until(SimTime(100_000_000));
        assert_eq!(bound(&mut rig), expected, "{order}");
    }
}

/// In a circular buffer a unit that is written again takes space of its own: both are programmed, and the later one is
/// the data.
#[test]
fn writes_of_a_waiting_unit_are_appended_to_a_circular_buffer() {
    let mut rig = held("1.0", &["buffer.rewritten=appended"]);
    for unit in [3, 1, 3, 3, 4, 5, 6] {
        rig.one(Op::Write, unit, 1);
    }
    assert_eq!(rig.operations()[1], 0, "seven of eight units");
    let read = rig.one(Op::Read, 3, 1);
    assert_parts("in the buffer", &read, &[]);
    rig.one(Op::Write, 8, 1);
    rig.run_until(SimTime(100_000_000));
    let records = rig.records();
    let places = records.iter().filter_map(|record| match *record {
        Record::BoundFromBuffer { lpn, .. } => Some((lpn.0, true)),
        Record::ObsoleteBound { lpn, .. } => Some((lpn.0, false)),
        _ => None,
    });
    let expected = [(3, false), (1, true), (3, false), (3, true), (4, true), (5, true), (6, true), (8, true)];
    assert_eq!(places.collect::<Vec<_>>(), expected);
    assert_eq!(rig.operations()[1], 8);
}

/// A unit that a flush waits for keeps its place, however often it is written.
#[test]
fn a_unit_that_is_flushed_keeps_its_place() {
    let mut rig = held("1.0", &["buffer.flush_order=lru"]);
    for unit in 0..3 {
        rig.one(Op::Write, unit, 1);
    }
    let flush = rig.submit_bytes(Op::Flush, 0, 0, rig.drive.now());
    let again = rig.submit(Op::Write, 2, 1, rig.drive.now() + Nanos(10));
    rig.drain();
    assert_parts("flush", &rig.row(flush), &[(Cause::Order, 3 * PROGRAM_TIME)]);
    assert_parts("again", &rig.row(again), &[]);
    assert_eq!((bound(&mut rig), rig.operations()[1]), (vec![0, 1, 2], 3));
}

/// From six of eight units on the drive programs, until two wait.
#[test]
fn the_buffer_fills_up_to_a_watermark_and_is_emptied_to_another() {
    let mut rig = held("0.75", &["buffer.flush_below=0.25"]);
    for unit in 0..5 {
        rig.one(Op::Write, unit, 1);
    }
    rig.run_until(SimTime(1_000_000));
    assert_eq!(rig.operations()[1], 0);
    rig.one(Op::Write, 5, 1);
    rig.run_until(SimTime(100_000_000));
    assert_eq!((bound(&mut rig), rig.drive.commands_in_flight()), (vec![0, 1, 2, 3], 0));
    // The timer empties it.
    rig.run_until(SimTime(2_000_000_000));
    assert_eq!(bound(&mut rig), [4, 5]);
}

/// Two dies, by address. The one for which more units wait is first; then they take turns.
#[test]
fn the_die_with_most_units_is_programmed_first() {
    let dies = ["flash.channels=1", "flash.chips_per_channel=2", "ftl.write_allocation=static", "buffer.flush_order=by_die"];
    let above = ["buffer.flush_above=1.0", "buffer.flush_below=0.0"];
    let mut rig = Rig::watched(&with(&dies, &with(HELD, &above)));
    // Even units belong to one die, odd ones to the other.
    for unit in [1, 3, 0, 2, 4, 6, 8, 10] {
        rig.one(Op::Write, unit, 1);
    }
    rig.run_until(SimTime(100_000_000));
    let order = bound(&mut rig);
    assert_eq!(&order[..4], [0, 2, 4, 6], "six units wait for one die, two for the other");
    assert_eq!(order.len(), 8);
}

/// A closed loop of random writes through the buffer runs at the rate of the flash: each of four dies needs its program
/// and, on its channel, the transfers of two.
#[test]
fn the_rate_of_the_buffer_is_the_rate_of_the_flash() {
    for policy in [&["buffer.policy=write_back", "buffer.flush_after=1ms"][..], &["buffer.policy=write_through"]] {
        let sets = with(&with(policy, &["buffer.capacity=256KiB"]), &["flash.blocks_per_plane=512"]);
        let summary = summary(&sets, "rw=randwrite\nbs=4k\niodepth=64\nsize=64m\nnumber_ios=20000");
        let iops = summary["throughput"]["iops"].as_f64().expect("a rate");
        let expected = 4.0 / (PROGRAM_TIME as f64 * 1e-9);
        assert!((iops / expected - 1.0).abs() < 0.01, "{policy:?}: {iops}, expected {expected}");
    }
}

/// A job with FUA: its writes take a program, those of the other job nothing.
#[test]
fn a_job_may_write_with_fua() {
    let buffer = with(HELD, ONE_DIE);
    let fua = summary(&buffer, "rw=randwrite\nbs=4k\nsize=1m\nnumber_ios=100\nwritefua=1");
    assert_eq!(fua["latency"]["write"]["min_ns"].as_u64(), Some(PROGRAM_TIME));
    let plain = summary(&buffer, "rw=randwrite\nbs=4k\nsize=1m\nnumber_ios=100");
    assert_eq!(plain["latency"]["write"]["min_ns"].as_u64(), Some(0));
}

/// Of several buffers, each takes the units of its own addresses.
#[test]
fn a_full_buffer_holds_up_what_comes_after() {
    let two = ["buffer.policy=write_through", "buffer.capacity=16KiB", "buffer.buffers=2"];
    let mut rig = Rig::new(&with(&["flash.channels=2", "flash.chips_per_channel=1"], &two));
    // Units 0, 2 and 4 belong to the first buffer, which holds two; unit 1 to the second.
    let tags = [0, 2, 4, 1].map(|unit| rig.submit(Op::Write, unit, 1, SimTime(0)));
    rig.drain();
    let stalled = tags.map(|tag| rig.row(tag).causes.get(Cause::BufferFull).0);
    assert_eq!(stalled, [0, 0, PROGRAM_TIME, PROGRAM_TIME], "the writes are taken in order");
}

/// A read cache of two units, by hand: a read and a programmed write leave a copy, the least recently used one goes,
/// and a write or a trim takes the copy away.
#[test]
fn copies_in_the_read_cache_need_no_flash() {
    let mut rig = Rig::new(&with(ONE_DIE, &["buffer.read_cache=8KiB"]));
    for unit in 0..3 {
        rig.one(Op::Write, unit, 1);
    }
    let flash_reads = |rig: &mut Rig, unit: u64| {
        let before = rig.operations()[0];
        let row = rig.one(Op::Read, unit, 1);
        let reads = rig.operations()[0] - before;
        assert_parts("read", &row, if reads == 0 { &[] } else { &READ });
        reads
    };
    // Units 1 and 2 were programmed last.
    assert_eq!([1, 2, 0, 2, 1, 0].map(|unit| flash_reads(&mut rig, unit)), [0, 0, 1, 0, 1, 1]);
    rig.one(Op::Trim, 1, 1);
    rig.one(Op::Trim, 0, 1);
    assert_eq!([0, 1, 2].map(|unit| flash_reads(&mut rig, unit)), [0, 0, 1], "units that were trimmed hold nothing");
    rig.one(Op::Write, 2, 1);
    assert_eq!(flash_reads(&mut rig, 2), 0, "the copy is that of the write");
    assert_eq!(rig.drive.translator().report().counters.cache_hits, 4);
}

/// Uniform reads of 1,024 units with a cache of 256: a quarter hits.
#[test]
fn the_hit_rate_of_uniform_reads_is_the_share_that_the_cache_holds() {
    let sets = ["buffer.read_cache=1MiB", "state.precondition=fill"];
    let summary = summary(&sets, "rw=randread\nnorandommap=1\nbs=4k\nsize=4m\nio_size=1g\nnumber_ios=50000");
    let hits = summary["read_cache"]["hit_units"].as_f64().expect("a count") / 50_000.0;
    // The first 256 misses fill it; the spread over the draws is 0.2 %.
    assert!((hits - 0.25).abs() < 0.008, "{hits}");
}

/// A sequential stream of single units: the third read waits for a unit that is being read ahead, for as long as that
/// still takes, and later ones find theirs.
#[test]
fn a_sequential_stream_is_read_ahead() {
    let mut rig = Rig::new(&with(ONE_DIE, &["buffer.read_cache=256KiB", "buffer.read_ahead=32KiB", "state.precondition=fill"]));
    assert_parts("first", &rig.one(Op::Read, 100, 1), &READ);
    // The second begins the stream; the units after it are read once it has been.
    assert_parts("second", &rig.one(Op::Read, 101, 1), &READ);
    assert_eq!(rig.drive.translator().report().counters.read_ahead, 8);
    let third = rig.one(Op::Read, 102, 1);
    assert_eq!(third.causes.get(Cause::Map), third.completed.since(third.submitted));
    assert!((1..=READ_TIME).contains(&third.causes.get(Cause::Map).0), "{third:?}");
    rig.run_until(SimTime(10_000_000));
    for unit in 103..107 {
        assert_parts("later", &rig.one(Op::Read, unit, 1), &[]);
    }
    let counters = &rig.drive.translator().report().counters;
    assert_eq!((counters.read_ahead_waits, counters.cache_hits), (1, 4));
    // Three units are left before the one up to which it is read ahead: less than half of the distance.
    assert_eq!(counters.read_ahead, 8 + 5);
}

/// Units that do not fill a program of four wait for further ones: the timer programs none of them, a later write fills
/// the program, a flush programs the rest, and a write that lacks space makes the timer do so.
#[test]
fn units_that_do_not_fill_a_program_may_wait() {
    let sets = with(ONE_DIE, &["flash.page_size=16KiB", "buffer.policy=write_back", "buffer.capacity=24KiB"]);
    let sets = with(&sets, &["buffer.flush_after=1ms", "buffer.partial_flush=wait"]);
    let programs = |units: &[(u64, u64)], flush_at: Option<u64>| {
        let mut rig = Rig::new(&sets);
        for &(unit, at) in units {
            rig.submit(Op::Write, unit, 1, SimTime(at));
        }
        if let Some(at) = flush_at {
            rig.submit(Op::Flush, 0, 0, SimTime(at));
        }
        rig.submit(Op::Read, 9, 1, SimTime(50_000_000));
        rig.drain();
        rig.operations()[1]
    };
    assert_eq!(programs(&[(0, 0), (1, 10)], None), 0);
    assert_eq!(programs(&[(0, 0), (1, 10), (2, 20), (3, 9_000_000)], None), 1);
    assert_eq!(programs(&[(0, 0), (1, 10)], Some(5_000_000)), 1);
    // With allocation per die, three units on each of two dies fill the buffer.
    let two_dies = with(&sets, &["flash.channels=2", "ftl.write_allocation=static"]);
    let mut rig = Rig::new(&two_dies);
    let tags: Vec<u32> = [0, 1, 2, 3, 4, 5].iter().map(|&unit| rig.submit(Op::Write, unit, 1, SimTime(unit))).collect();
    let large = rig.submit(Op::Write, 10, 2, SimTime(5_000_000));
    rig.drain();
    assert!(tags.iter().all(|&tag| rig.row(tag).completed.0 < 5_000_000));
    let waited = rig.row(large).completed.0;
    assert!((6_000_000..8_000_000).contains(&waited) && rig.operations()[1] >= 2, "{waited}");
}

/// Returns the log of a trace on a drive, in the order of submission: operation, modifiers, request, times.
fn log_of(sets: &[&str], trace: &str, replay: Option<&str>, cut: Option<&str>) -> Vec<CommandRow> {
    let options = Options { replay: replay.map(str::to_owned), address: "wrap".into(), ..Options::default() };
    let power = RunOptions {
        power_cut: cut.map(|cut| format!("{cut},graceful")),
        power_down: cut.map(|_| "1s".into()),
        ..RunOptions::default()
    };
    let request = RunRequest::new("tiny.toml", "base = \"tiny\"").sets(sets).workload(options).run(power);
    let mut rows = Vec::new();
    let mut take = |batch: &[CommandRow], _: &[String]| rows.extend_from_slice(batch);
    let files = Files { outputs: Outputs { commands: Some(&mut take), ..Outputs::default() }, ..Files::default() };
    drive::session::run(&request, &Input::text("trace", trace), files, &mut |_| true).unwrap_or_else(|why| panic!("{why}"));
    rows.sort_by_key(|row| (row.submitted, row.origin.request, row.op != Op::Flush));
    rows
}

/// The modifiers of a trace reach the drive: FUA is a program, and a flush before a write is a command of its own, for
/// which the write waits.
#[test]
fn a_trace_brings_fua_and_flushes_to_the_drive() {
    let line = |at: u64, rwbs: &str, rest: &str| format!("8,0 0 1 {at}.000000000 1 Q {rwbs} {rest}[x]\n");
    let lines = [("W", "8 + 8 "), ("WFS", "16 + 8 "), ("W", "24 + 8 "), ("FWFS", "32 + 8 "), ("W", "40 + 8 "), ("FWS", "")];
    let trace: String = lines.iter().zip(0..).map(|((rwbs, rest), at)| line(at, rwbs, rest)).collect();
    for replay in [None, Some("closed:1"), Some("closed:4"), Some("gaps")] {
        let timed = replay.is_none_or(|replay| replay == "gaps");
        // A buffer that programs nothing before it is nearly full.
        let buffer = with(
            &["buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=3600s", "buffer.flush_above=0.9"],
            ONE_DIE,
        );
        let rows = log_of(&buffer, &trace, replay, None);
        let found: Vec<(Op, u8, Option<u64>)> = rows.iter().map(|row| (row.op, row.flags.bits(), row.origin.request)).collect();
        let (write, flush) = (Op::Write, Op::Flush);
        let mut expected = vec![
            (write, 0, Some(0)),
            (write, 1, Some(1)),
            (write, 0, Some(2)),
            (flush, 0, Some(3)),
            (write, 1, Some(3)),
            (write, 0, Some(4)),
            (flush, 0, Some(5)),
        ];
        let mut sorted = found.clone();
        if replay == Some("closed:4") {
            sorted.sort_by_key(|row| (row.2, row.0 != Op::Flush));
            expected.sort_by_key(|row| (row.2, row.0 != Op::Flush));
        }
        assert_eq!(sorted, expected, "{replay:?}");
        let of = |request: u64, op: Op| {
            let row = rows.iter().find(|row| row.origin.request == Some(request) && row.op == op).expect("it is in the log");
            (row.submitted, row.completed, row.completed.since(row.submitted).0)
        };
        assert_eq!(of(3, flush).1, of(3, write).0, "{replay:?}: the write waits for its flush, and for nothing else");
        assert!(of(1, write).2 >= 600_000 && of(3, write).2 >= 600_000, "{replay:?}: FUA is a program");
        assert_eq!((of(0, write).2, of(2, write).2, of(4, write).2), (0, 0, 0), "{replay:?}: the buffer takes the others");
        if timed {
            assert_eq!(of(3, flush).0, SimTime(3_000_000_000));
            assert!(of(3, flush).2 >= 600_000, "the flush programs what the buffer held");
        }
    }
}

/// A write that waits for its flush when the power fails is submitted once the power is back.
#[test]
fn a_write_that_waits_for_its_flush_survives_a_power_cut() {
    let buffer = with(
        &["buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=3600s", "buffer.flush_above=0.9"],
        ONE_DIE,
    );
    let trace = "8,0 0 1 0.000000000 1 Q W 8 + 8 [x]\n8,0 0 1 0.001000000 1 Q FWFS 32 + 8 [x]\n8,0 0 1 2.001 1 Q R 32 + 8 [x]\n";
    let rows = log_of(&buffer, trace, None, Some("1100us"));
    let ops: Vec<(Op, Option<u64>)> = rows.iter().map(|row| (row.op, row.origin.request)).collect();
    assert_eq!(ops, [(Op::Write, Some(0)), (Op::Flush, Some(1)), (Op::Write, Some(1)), (Op::Read, Some(2))]);
    assert!(rows[1].submitted < SimTime(1_100_000) && rows[2].submitted > SimTime(1_000_000_000), "{rows:?}");
}

/// On a drive with zones, whose host turns writes into appends, a write waits for its flush as well.
#[test]
fn a_write_waits_for_its_flush_on_a_drive_with_zones() {
    let trace = "8,0 0 1 0.000000000 1 Q W 8 + 8 [x]\n8,0 0 1 0.001000000 1 Q FWFS 32 + 8 [x]\n";
    let options = Options { address: "wrap".into(), ..Options::default() };
    let request = RunRequest::new("zoned.toml", "base = \"zns-1tb\"").workload(options);
    let mut rows = Vec::new();
    let mut take = |batch: &[CommandRow], _: &[String]| rows.extend_from_slice(batch);
    let files = Files { outputs: Outputs { commands: Some(&mut take), ..Outputs::default() }, ..Files::default() };
    drive::session::run(&request, &Input::text("trace", trace), files, &mut |_| true).unwrap_or_else(|why| panic!("{why}"));
    let flush = rows.iter().find(|row| row.op == Op::Flush).expect("a flush");
    let write = rows.iter().find(|row| row.op == Op::Append && row.flags.bits() == 1).expect("a write with FUA");
    assert!(write.submitted >= flush.completed && write.origin == flush.origin, "{rows:?}");
    assert_eq!(write.origin.trace_offset, Some(32 * 512));
}
