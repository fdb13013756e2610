//! Cost regulation, rule by rule: AGCR and the competing schemes (POLICIES 4; sections 2 and 3 of the paper).

use crate::common::{ONE_DIE, Rig, UNIT, assert_parts, read, session, with};
use drive::CommandRow;
use ftl::policy::{Dispatch, ModePolicy, Moving, Needs, ReadAnswer, UnitRead, View, WriteAnswer};
use kit::{Cause, DieId, Lpn, ModeId, Nanos, Op, Reason, Record, SimTime};

const MS: u64 = 1_000_000;
/// Times of sensing and transfers of a unit with 1, 3 and 7 references at 50 us and 1200 MT/s: one, two and three
/// transfers.
const QUICK: (u64, u64) = (50_000, 3_414);
const MEDIUM: (u64, u64) = (150_000, 6_827);
const SLOW: (u64, u64) = (350_000, 10_240);
const COMMAND: u64 = 290;
/// Program times at low, medium and high cost.
const LOW: u64 = 450_000;
const MIDDLE: u64 = 600_000;
const HIGH: u64 = 800_000;
/// Write modes by their index in the table.
const NORMAL: ModeId = ModeId(0);
const FAST: ModeId = ModeId(1);
const FINE: ModeId = ModeId(2);

/// Overrides of `tiny`: three write modes, and the read modes that their data needs.
const MODES: &[&str] = &[
    "flash.write_mode=[{ name = 'normal', read_mode = 'medium' }, { name = 'fast', program_scale = 0.75, read_mode = 'slow' }, \
     { name = 'fine', program_scale = 1.3333333333, read_mode = 'quick' }]",
    "flash.read_mode=[{ name = 'quick' }, { name = 'medium', sense_scale = 3.0, transfers = 2 }, { name = 'slow', sense_scale = 7.0, \
     transfers = 3 }]",
];
const AGCR: &[&str] = &["policy.kind=agcr"];
/// Two channels with one die each; programs alternate between them.
const TWO_CHANNELS: &[&str] = &["flash.channels=2", "flash.chips_per_channel=1"];
/// Blocks of four pages, collected when their die has been idle for a second.
const SMALL: &[&str] = &[
    "flash.pages_per_block=4",
    "flash.blocks_per_plane=12",
    "ftl.overprovisioning=1.0",
    "ftl.user_capacity=64KiB",
    "ftl.gc_low_blocks=2",
    "ftl.gc_idle_after=1s",
    "ftl.gc_idle_target_blocks=12",
];

fn rig(kind: &str, sets: &[&str]) -> Rig {
    let kind = format!("policy.kind={kind}");
    Rig::watched(&with(&with(&with(ONE_DIE, MODES), &[&kind]), sets))
}

fn agcr(sets: &[&str]) -> Rig {
    rig("agcr", sets)
}

fn write(rig: &mut Rig, unit: u64) -> u64 {
    rig.one(Op::Write, unit, 1).causes.get(Cause::Program).0
}

/// Reads a unit and asserts that only command, sensing and transfers take time. Returns the times of sensing and
/// transfers, which identify the read mode.
#[track_caller]
fn read_one(rig: &mut Rig, unit: u64) -> (u64, u64) {
    let row = rig.one(Op::Read, unit, 1);
    let (sense, transfer) = (row.causes.get(Cause::Sense).0, row.causes.get(Cause::Transfer).0);
    assert_parts("read", &row, &[(Cause::BusCommand, COMMAND), (Cause::Sense, sense), (Cause::Transfer, transfer)]);
    (sense, transfer)
}

/// Writes (`W`) and reads (`R`) one unit. Returns the program times of the writes.
fn programs(rig: &mut Rig, unit: u64, accesses: &str) -> Vec<u64> {
    let mut programs = Vec::new();
    for access in accesses.chars() {
        match access {
            'W' => programs.push(write(rig, unit)),
            _ => drop(rig.one(Op::Read, unit, 1)),
        }
    }
    programs
}

/// Submits commands on single units, all at the present instant.
fn together(rig: &mut Rig, op: Op, units: &[u64]) {
    let now = rig.drive.now();
    for &unit in units {
        rig.submit(op, unit, 1, now);
    }
}

/// Returns the die of a unit's place.
fn die_of(rig: &Rig, unit: u32) -> DieId {
    let store = &rig.drive.ftl().store;
    store.geometry.die_of(store.geometry.block_of(store.place_of(Lpn(unit)).expect("mapped")))
}

/// Runs for `ms` milliseconds.
fn rest(rig: &mut Rig, ms: u64) {
    rig.run_until(rig.drive.now() + Nanos(ms * MS));
}

/// Returns the units moved since the last call, with the reason and the write mode of each move.
fn moved(rig: &mut Rig) -> Vec<(Reason, u32, ModeId)> {
    let records = rig.records().into_iter();
    records
        .filter_map(|record| match record {
            Record::Relocated { lpn, reason, mode, .. } => Some((reason, lpn.0, mode)),
            _ => None,
        })
        .collect()
}

/// Returns the times for which reads of a given reason occupied their dies.
fn die_reads(rig: &mut Rig, wanted: Reason) -> Vec<u64> {
    let records = rig.records().into_iter();
    records
        .filter_map(|record| match record {
            Record::DieSpan { name: "read", reason, begin, end, .. } if reason == wanted => Some(end.since(begin).0),
            _ => None,
        })
        .collect()
}

fn total((sense, transfer): (u64, u64)) -> u64 {
    COMMAND + sense + transfer
}

/// Returns the numbers of rewrites that entered the queue, were started, and were dropped.
fn rewrites(rig: &Rig) -> (u64, u64, u64) {
    (rig.stat("rewrites_entered"), rig.stat("rewrites_started"), rig.stat("rewrites_dropped"))
}

// Cost of a write (section 3.3).

#[test]
fn the_first_write_of_a_page_is_at_high_cost() {
    let mut rig = agcr(&[]);
    assert_eq!([0, 1, 7].map(|unit| write(&mut rig, unit)), [HIGH; 3]);
    // Data older than the run has no history either.
    let mut rig = agcr(&["state.precondition=fill"]);
    assert_eq!(write(&mut rig, 0), HIGH);
    // Nor has a trimmed page.
    assert_eq!(programs(&mut rig, 0, "WW"), [LOW; 2]);
    rig.one(Op::Trim, 0, 1);
    assert_eq!(write(&mut rig, 0), HIGH);
}

#[test]
fn a_page_that_is_only_written_is_written_at_low_cost() {
    let mut rig = agcr(&[]);
    assert_eq!(programs(&mut rig, 0, "WWWW"), [HIGH, LOW, LOW, LOW]);
    // Each page has a history of its own.
    assert_eq!(write(&mut rig, 1), HIGH);
}

#[test]
fn a_page_that_is_read_in_between_is_written_at_medium_cost() {
    let mut rig = agcr(&[]);
    assert_eq!(programs(&mut rig, 0, "WRWRW"), [HIGH, MIDDLE, MIDDLE]);
    // The window holds the last access and the upcoming one: two writes in a row are write-only again.
    assert_eq!(programs(&mut rig, 0, "W"), [LOW]);
    // A page that was read before it was ever written in the run has a history.
    let mut rig = agcr(&["state.precondition=fill"]);
    assert_eq!(programs(&mut rig, 0, "RW"), [MIDDLE]);
}

#[test]
fn a_longer_window_looks_further_back() {
    let of = |window: u32, accesses: &str| programs(&mut agcr(&[&format!("policy.agcr.window={window}")]), 0, accesses);
    //                              W     W    R W       W       W       W       W
    assert_eq!(of(2, "WWRWWWWW"), [HIGH, LOW, MIDDLE, LOW, LOW, LOW, LOW]);
    assert_eq!(of(3, "WWRWWWWW"), [HIGH, LOW, MIDDLE, MIDDLE, LOW, LOW, LOW]);
    assert_eq!(of(4, "WWRWWWWW"), [HIGH, LOW, MIDDLE, MIDDLE, MIDDLE, LOW, LOW]);
}

#[test]
fn a_window_outside_its_range_is_refused() {
    for window in ["1", "5"] {
        let set = format!("policy.agcr.window={window}");
        let problems = read(&with(&with(MODES, AGCR), &[&set])).expect_err("out of range").to_string();
        assert!(problems.contains("policy.agcr.window") && problems.contains('2') && problems.contains('4'), "{problems}");
    }
}

// Cost of a read.

#[test]
fn a_read_takes_sensing_and_transfers_of_the_mode_that_its_page_was_written_in() {
    let mut rig = agcr(&["state.precondition=fill"]);
    assert_eq!(read_one(&mut rig, 5), QUICK, "what is older than the run was written at high cost");
    write(&mut rig, 0);
    assert_eq!(read_one(&mut rig, 0), QUICK);
    write(&mut rig, 0);
    assert_eq!(read_one(&mut rig, 0), MEDIUM);
    assert_eq!(programs(&mut rig, 0, "WW"), [MIDDLE, LOW]);
    assert_eq!(read_one(&mut rig, 0), SLOW);
    assert_eq!(total(SLOW), 360_530, "to the nanosecond");
}

#[test]
fn a_partly_written_page_is_filled_in_by_a_read_of_its_mode() {
    let mut rig = agcr(&[]);
    for (accesses, mode) in [("W", QUICK), ("W", SLOW), ("RW", MEDIUM)] {
        programs(&mut rig, 0, accesses);
        let row = rig.one_bytes(Op::Write, 512, 512);
        // The read is not an access of the host, so the page counts as only written.
        let parts = [(Cause::Rmw, total(mode)), (Cause::BusCommand, 361), (Cause::Transfer, 3_414), (Cause::Program, LOW)];
        assert_parts(accesses, &row, &parts);
    }
}

/// Returns a drive that is about to collect a block of units 0 (trimmed), 1 (high cost), 2 (low) and 3 (medium).
fn about_to_be_collected(sets: &[&str]) -> Rig {
    let mut rig = agcr(&with(SMALL, sets));
    for (unit, accesses) in [(2, "W"), (3, "WR"), (8, "W"), (9, "W"), (0, "W"), (1, "W"), (2, "W"), (3, "W")] {
        programs(&mut rig, unit, accesses);
    }
    for unit in [8, 9, 0] {
        rig.one(Op::Trim, unit, 1);
    }
    rig.records();
    rig
}

#[test]
fn what_a_collection_reads_takes_the_mode_of_each_page() {
    let mut rig = about_to_be_collected(&[]);
    rest(&mut rig, 1_200);
    assert_eq!(die_reads(&mut rig, Reason::Gc), [total(QUICK), total(SLOW), total(MEDIUM)]);
}

/// Policy that reads each unit in the read mode whose index is the unit's number modulo 3.
struct ReadAsNumbered;

impl ModePolicy for ReadAsNumbered {
    fn needs(&self) -> Needs {
        Needs { host_streams: 1, reads: true, page_scope: true, ..Needs::default() }
    }

    fn state(&mut self, _: &mut kit::Archive<'_>) -> kit::Archived {
        Ok(())
    }

    fn write(&mut self, _: &Dispatch<'_>, _: &mut View<'_>) -> WriteAnswer {
        WriteAnswer::default()
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        NORMAL
    }

    fn read_issued(&mut self, read: &UnitRead, _: &mut View<'_>) -> ReadAnswer {
        ReadAnswer { mode: Some(ModeId(read.lpn.0 as u8 % 3)) }
    }

    fn mode_of_old_data(&self) -> ModeId {
        NORMAL
    }
}

#[test]
fn pages_of_different_modes_in_one_read_take_the_slower_mode() {
    let planes = ["flash.planes_per_die=2", "flash.multi_plane=true", "ftl.overprovisioning=0.9"];
    let mut rig = Rig::run_by(Box::new(ReadAsNumbered), &with(&with(ONE_DIE, MODES), &planes));
    rig.one(Op::Write, 0, 4);
    // Units 0 and 1 are in one row, units 2 and 3 in another.
    for (first, sense, transfers) in [(0, MEDIUM.0, 2), (2, SLOW.0, 3)] {
        let row = rig.one(Op::Read, first, 2);
        let further_plane = (500 + 150, 300);
        let data = (2 * UNIT * transfers * 1000).div_ceil(1200) + further_plane.1;
        let parts = [(Cause::BusCommand, COMMAND + further_plane.0), (Cause::Sense, sense), (Cause::Transfer, data)];
        assert_parts("two planes", &row, &parts);
    }
}

#[test]
fn pages_written_together_are_written_for_the_one_that_is_read_most() {
    let planes = ["flash.planes_per_die=2", "flash.multi_plane=true", "ftl.overprovisioning=0.9"];
    let mut rig = agcr(&planes);
    let program = |row: &CommandRow| row.causes.get(Cause::Program).0;
    let both = |rig: &mut Rig| program(&rig.one(Op::Write, 0, 2));
    assert_eq!(both(&mut rig), HIGH);
    assert_eq!(both(&mut rig), LOW);
    rig.one(Op::Read, 1, 1);
    assert_eq!(both(&mut rig), MIDDLE, "unit 0 could be written at low cost, unit 1 not");
    assert_eq!([0, 1].map(|unit| read_one(&mut rig, unit).0), [MEDIUM.0; 2]);
}

// Rewrites.

#[test]
fn a_page_written_at_low_cost_and_then_only_read_is_rewritten_once() {
    let mut rig = agcr(&[]);
    programs(&mut rig, 0, "WW");
    assert_eq!(read_one(&mut rig, 0), SLOW);
    rest(&mut rig, 10);
    assert_eq!(rewrites(&rig), (0, 0, 0), "the window holds a write and a read");
    assert_eq!(read_one(&mut rig, 0), SLOW, "the read that enters the rewrite is still at high cost");
    rest(&mut rig, 10);
    assert_eq!(rewrites(&rig), (1, 1, 0));
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 0, FINE)]);
    assert_eq!(read_one(&mut rig, 0), QUICK);
    read_one(&mut rig, 0);
    rest(&mut rig, 10);
    assert_eq!(rewrites(&rig), (1, 1, 0), "once");
    // A rewrite is not an access of the host: for the next write, the last access is a read.
    assert_eq!(write(&mut rig, 0), MIDDLE);
}

#[test]
fn a_rewrite_reads_its_page_in_the_slow_mode() {
    let mut rig = agcr(&[]);
    programs(&mut rig, 0, "WWRR");
    rig.records();
    rest(&mut rig, 10);
    assert_eq!(die_reads(&mut rig, Reason::Rewrite), [total(SLOW)]);
}

#[test]
fn many_reads_enter_one_rewrite() {
    let mut rig = agcr(&[]);
    programs(&mut rig, 0, "WW");
    together(&mut rig, Op::Read, &[0; 20]);
    rig.drain();
    rest(&mut rig, 10);
    assert_eq!((rewrites(&rig), moved(&mut rig)), ((1, 1, 0), vec![(Reason::Rewrite, 0, FINE)]));
    // Nor do reads enter another rewrite while it is in progress.
    programs(&mut rig, 1, "WWRRRRR");
    rest(&mut rig, 10);
    assert_eq!((rewrites(&rig), moved(&mut rig)), ((2, 2, 0), vec![(Reason::Rewrite, 1, FINE)]));
}

#[test]
fn pages_of_high_and_medium_cost_are_not_rewritten() {
    let run = |sets: &[&str]| {
        let mut rig = agcr(sets);
        programs(&mut rig, 0, "WRRRR");
        assert_eq!(programs(&mut rig, 1, "WRWRRRR"), [HIGH, MIDDLE]);
        rest(&mut rig, 10);
        (rewrites(&rig), moved(&mut rig))
    };
    assert_eq!(run(&[]), ((0, 0, 0), vec![]));
    assert_eq!(run(&["policy.agcr.rewrite_medium=true"]), ((1, 1, 0), vec![(Reason::Rewrite, 1, FINE)]));
}

#[test]
fn a_longer_window_wants_more_reads_before_a_rewrite() {
    for (window, reads) in [(2, 2), (3, 3), (4, 4)] {
        let mut rig = agcr(&[&format!("policy.agcr.window={window}")]);
        programs(&mut rig, 0, "WWWWW");
        for read in 1..=reads {
            assert_eq!(rig.stat("rewrites_entered"), 0, "window {window}, before read {read}");
            rig.one(Op::Read, 0, 1);
        }
        assert_eq!(rig.stat("rewrites_entered"), 1, "window {window}");
    }
}

#[test]
fn rewrites_wait_for_idle_time() {
    let mut rig = agcr(&[]);
    programs(&mut rig, 0, "WWR");
    together(&mut rig, Op::Read, &[0]);
    together(&mut rig, Op::Write, &[1, 2, 3, 4, 5]);
    rig.drain();
    let order: Vec<u32> = rig
        .records()
        .into_iter()
        .filter_map(|record| match record {
            Record::Bound { lpn, .. } | Record::Relocated { lpn, .. } => Some(lpn.0),
            _ => None,
        })
        .collect();
    assert_eq!(order[2..], [1, 2, 3, 4, 5], "no rewrite while writes wait");
    assert_eq!(rewrites(&rig), (1, 1, 0), "as soon as none does");
    rest(&mut rig, 10);
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 0, FINE)]);
}

/// Unit 0 waits to be rewritten, while a long program of unit 2 occupies the channel of unit 0 or the other channel.
#[test]
fn the_channel_of_the_page_or_the_drive_must_be_idle() {
    let run = |idle: &str, busy_unit: u64| {
        let idle = format!("policy.agcr.idle={idle}");
        let slow = "flash.write_mode[2].program_scale=100.0";
        let mut rig = Rig::watched(&with(&with(&with(TWO_CHANNELS, MODES), AGCR), &[&idle, slow]));
        // Units 0 (low cost) and 1 (high cost) are placed on different channels.
        together(&mut rig, Op::Write, &[0, 1]);
        rig.drain();
        rig.one(Op::Write, 0, 1);
        rig.one(Op::Read, 0, 1);
        assert_ne!(die_of(&rig, 0), die_of(&rig, 1));
        // The first write of unit 2, a program of 60 ms, goes to the channel of unit `busy_unit`, because the other die
        // is busy with a read at that instant.
        let now = rig.drive.now();
        rig.submit(Op::Read, 1 - busy_unit, 1, now);
        rig.submit(Op::Write, 2, 1, now + Nanos(1));
        rig.run_until(now + Nanos(5 * MS));
        // The read of unit 0 enters the rewrite when it is issued, not when it is served. After the read of unit 1 a
        // die looks for its next operation.
        together(&mut rig, Op::Read, &[0, 1]);
        rig.run_until(now + Nanos(50 * MS));
        let early = rig.stat("rewrites_started");
        rig.run_until(now + Nanos(200 * MS));
        (early, rig.stat("rewrites_started"))
    };
    assert_eq!(run("channel", 1), (1, 1), "the page's channel is idle");
    assert_eq!(run("channel", 0), (0, 1), "it is not, and the idle neighbour does not fetch the page");
    assert_eq!(run("drive", 1), (0, 1), "the drive is not idle");
}

#[test]
fn a_rewrite_is_dropped_if_its_page_is_written_first() {
    let mut rig = agcr(&[]);
    programs(&mut rig, 0, "WWR");
    let now = rig.drive.now();
    rig.submit(Op::Read, 0, 1, now);
    rig.submit(Op::Write, 0, 1, now);
    rig.drain();
    rest(&mut rig, 10);
    assert_eq!((rewrites(&rig), moved(&mut rig)), ((1, 0, 1), vec![]));
    // Two more reads: the page was written at medium cost and is not rewritten.
    programs(&mut rig, 0, "RR");
    rest(&mut rig, 10);
    assert_eq!(rewrites(&rig), (1, 0, 1));
    // A rewrite is also dropped if its page is trimmed.
    programs(&mut rig, 1, "WWR");
    let now = rig.drive.now();
    rig.submit(Op::Read, 1, 1, now);
    rig.submit(Op::Trim, 1, 1, now + Nanos(1));
    rig.drain();
    rest(&mut rig, 10);
    assert_eq!((rewrites(&rig), moved(&mut rig)), ((2, 0, 2), vec![]));
}

#[test]
fn a_full_rewrite_queue_leaves_reads_at_high_cost() {
    let mut rig = agcr(&["policy.agcr.queue_depth=1"]);
    programs(&mut rig, 0, "WWR");
    programs(&mut rig, 1, "WWR");
    together(&mut rig, Op::Read, &[0, 1, 1, 0]);
    rig.drain();
    assert_eq!((rewrites(&rig), rig.stat("reads_on_full_queue")), ((1, 1, 0), 2));
    rest(&mut rig, 10);
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 0, FINE)]);
    // The queue has space again.
    rig.one(Op::Read, 1, 1);
    rest(&mut rig, 10);
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 1, FINE)]);
}

// Data moved by collections.

#[test]
fn collection_keeps_the_class_or_writes_at_high_cost() {
    let collected = |sets: &[&str]| {
        let mut rig = about_to_be_collected(sets);
        rest(&mut rig, 1_200);
        let moved = moved(&mut rig);
        (rig, moved)
    };
    let (mut rig, moved) = collected(&[]);
    assert_eq!(moved, [(Reason::Gc, 1, FINE), (Reason::Gc, 2, FAST), (Reason::Gc, 3, NORMAL)]);
    assert_eq!([1, 2, 3].map(|unit| read_one(&mut rig, unit)), [QUICK, SLOW, MEDIUM]);
    // A move is not an access of the host: unit 2 was written twice and has now been read.
    assert_eq!(write(&mut rig, 2), MIDDLE);
    let (mut rig, moved) = collected(&["policy.agcr.keep_class=false"]);
    assert_eq!(moved, [1, 2, 3].map(|unit| (Reason::Gc, unit, FINE)));
    assert_eq!([1, 2, 3].map(|unit| read_one(&mut rig, unit)), [QUICK; 3]);
}

/// The queue of the paper holds logical addresses: a page that is collected before its rewrite is still rewritten.
#[test]
fn a_rewrite_outlives_a_collection_of_its_page() {
    let sets = ["policy.agcr.idle=drive", "flash.write_mode[2].program_scale=1000.0", "flash.program_time=10ms"];
    let mut rig = Rig::watched(&with(&with(&with(&with(TWO_CHANNELS, MODES), AGCR), SMALL), &sets));
    for _ in 0..2 {
        together(&mut rig, Op::Write, &[0, 1, 2, 3, 4, 5, 6, 7]);
        rig.drain();
    }
    rig.one(Op::Read, 0, 1);
    // A first write, a program of 10 s, keeps the drive from being idle. Unit 0 is on the die that collects meanwhile.
    let now = rig.drive.now();
    rig.submit(Op::Read, 0, 1, now);
    rig.submit(Op::Write, 9, 1, now + Nanos(1));
    rig.run_until(now + Nanos(2 * MS));
    let places = |rig: &Rig| rig.drive.ftl().store.place_of(Lpn(0)).expect("mapped");
    let before = places(&rig);
    assert_eq!(rewrites(&rig), (1, 0, 0));
    let beside: Vec<u64> = (1..8).filter(|&unit| die_of(&rig, unit) == die_of(&rig, 0)).map(u64::from).take(2).collect();
    together(&mut rig, Op::Trim, &beside);
    rig.run_until(now + Nanos(4_000 * MS));
    assert_ne!(places(&rig), before, "collected");
    assert_eq!(rewrites(&rig), (1, 0, 0));
    rig.run_until(now + Nanos(60_000 * MS));
    assert_eq!(rewrites(&rig), (1, 1, 0));
}

/// A rewrite that waits for host writes becomes void if a collection moves its page meanwhile. The next read enters a
/// new one.
#[test]
fn a_rewrite_whose_page_was_moved_is_entered_again() {
    for (window, accesses) in [(2, "WWR"), (3, "WWRR")] {
        let window = format!("policy.agcr.window={window}");
        let mut rig = agcr(&with(&SMALL[..5], &[&window, "ftl.victim=fifo"]));
        programs(&mut rig, 0, accesses);
        programs(&mut rig, 1, "W");
        together(&mut rig, Op::Read, &[0, 0]);
        while rig.stat("rewrites_started") == 0 {
            rig.step();
        }
        let before = rig.drive.ftl().store.place_of(Lpn(0));
        for _ in 0..20 {
            together(&mut rig, Op::Write, &[1, 2, 3, 4, 5, 6, 7]);
        }
        rig.drain();
        rest(&mut rig, 50);
        assert_ne!(rig.drive.ftl().store.place_of(Lpn(0)), before, "moved");
        assert_eq!(rig.programmed(Reason::Rewrite), 0, "{window}: the rewrite was void");
        let entered = rig.stat("rewrites_entered");
        rig.one(Op::Read, 0, 1);
        assert_eq!(rig.stat("rewrites_entered"), entered + 1, "{window}");
        rest(&mut rig, 50);
        assert_eq!(rig.programmed(Reason::Rewrite), 1, "{window}");
        assert_eq!(read_one(&mut rig, 0), QUICK);
    }
}

// Competing schemes.

fn burst(rig: &mut Rig, count: u64) -> Vec<u64> {
    let now = rig.drive.now();
    let tags: Vec<u32> = (0..count).map(|unit| rig.submit(Op::Write, unit, 1, now)).collect();
    rig.drain();
    tags.into_iter().map(|tag| rig.row(tag).causes.get(Cause::Program).0).collect()
}

#[test]
fn queue_driven_writes_at_low_cost_while_something_waits_for_the_die() {
    let mut rig = rig("queue_driven", &[]);
    assert_eq!(burst(&mut rig, 1), [HIGH]);
    assert_eq!(burst(&mut rig, 1), [HIGH], "whatever the page's history");
    assert_eq!(burst(&mut rig, 3), [LOW, LOW, HIGH]);
    assert_eq!([0, 1, 2].map(|unit| read_one(&mut rig, unit)), [SLOW, SLOW, QUICK]);
    assert_eq!(rig.stat("medium_cost_writes"), 0);
}

#[test]
fn what_the_rival_finds_on_the_drive_is_a_parameter() {
    for (old, mode) in [("fine", QUICK), ("normal", MEDIUM), ("fast", SLOW)] {
        let old = format!("policy.queue_driven.old_data={old}");
        let mut rig = rig("queue_driven", &["state.precondition=fill", &old]);
        assert_eq!(read_one(&mut rig, 5), mode, "{old}");
        assert_eq!(burst(&mut rig, 2), [LOW, HIGH]);
        assert_eq!([0, 1, 5].map(|unit| read_one(&mut rig, unit)), [SLOW, QUICK, mode], "{old}");
    }
}

#[test]
fn a_read_that_waits_makes_a_write_cheap() {
    let mut rig = rig("queue_driven", &["flash.scheduler=fifo"]);
    burst(&mut rig, 1);
    let now = rig.drive.now();
    // The first write occupies the die; the second waits, with a read behind it.
    rig.submit(Op::Write, 1, 1, now);
    let second = rig.submit(Op::Write, 2, 1, now + Nanos(1));
    rig.submit(Op::Read, 0, 1, now + Nanos(2));
    rig.drain();
    assert_eq!(rig.row(second).causes.get(Cause::Program), Nanos(LOW));
}

#[test]
fn idle_dies_take_what_waits_before_it_counts_as_waiting() {
    let of = |allocation: &str, count: u64| {
        let sets = [&format!("ftl.write_allocation={allocation}"), "policy.kind=queue_driven"];
        burst(&mut Rig::watched(&with(MODES, &sets)), count)
    };
    // Each of the four dies takes one.
    assert_eq!(of("pull", 4), [HIGH; 4]);
    assert_eq!(of("pull", 6), [LOW, LOW, LOW, LOW, HIGH, HIGH], "two of six are left when every die has one");
    // Each die has a queue of its own: units 0 and 4 belong to one die, units 1 and 5 to another.
    assert_eq!(of("static", 4), [HIGH; 4]);
    assert_eq!(of("static", 6), [LOW, LOW, HIGH, HIGH, HIGH, HIGH]);
}

#[test]
fn fixed_schemes_write_and_read_at_one_cost() {
    for (kind, program, mode) in [("traditional", MIDDLE, MEDIUM), ("hcw_lcr", HIGH, QUICK), ("lcw_hcr", LOW, SLOW)] {
        let mut rig = rig(kind, &["state.precondition=fill"]);
        assert_eq!(read_one(&mut rig, 9), mode, "{kind}: what is older than the run");
        assert_eq!(programs(&mut rig, 0, "WWRWRRW"), [program; 4], "{kind}");
        assert_eq!(read_one(&mut rig, 0), mode, "{kind}");
        let fill = rig.one_bytes(Op::Write, 512, 512).causes.get(Cause::Rmw);
        assert_eq!(fill, Nanos(total(mode)), "{kind}: a read that fills in");
    }
}

// Declared state.

#[test]
fn metadata_is_reported_as_the_paper_counts_it_and_as_it_is() {
    for (window, paper, needed, declared) in [(2, 2, 4, 4), (3, 3, 6, 8), (4, 4, 8, 8)] {
        let rig = agcr(&[&format!("policy.agcr.window={window}")]);
        assert_eq!(
            (rig.stat("metadata_bits_of_the_paper"), rig.stat("metadata_bits_needed")),
            (paper, needed),
            "window {window}"
        );
        assert_eq!(rig.drive.ftl().declared_bits(), declared, "window {window}");
    }
}

/// Returns a drive under the policy `kind` that has adopted the state of `from`, a drive under the policy `was`.
fn adopted(from: &mut Rig, was: &str, kind: &str) -> Rig {
    assert!(from.drive.complete_commands());
    let of = |kind: &str| {
        let kind = format!("policy.kind={kind}");
        crate::common::description(&with(&with(ONE_DIE, MODES), &[&kind]))
    };
    let file = crate::common::saved(&mut from.drive, &of(was));
    let mut next = rig(kind, &[]);
    crate::common::adopt(&mut next.drive, &of(kind), &file);
    next
}

#[test]
fn histories_classes_and_queued_rewrites_are_saved_with_the_drive() {
    let mut before = agcr(&[]);
    for (unit, accesses) in [(0, "W"), (1, "WW"), (2, "WR"), (3, "WWR"), (4, "WRW"), (5, "WWR")] {
        programs(&mut before, unit, accesses);
    }
    // A program keeps the drive busy when these reads complete.
    together(&mut before, Op::Read, &[3, 5, 5]);
    let last = before.submit(Op::Write, 6, 1, before.drive.now());
    while before.drive.ftl().counters.host_units_by_mode[FINE.index()] < 7 {
        before.step();
    }
    assert!(!before.is_done(last));
    assert_eq!(rewrites(&before), (2, 0, 0));
    let mut rig = adopted(&mut before, "agcr", "agcr");
    assert_eq!(programs(&mut rig, 0, "W"), [LOW]);
    assert_eq!(moved(&mut rig), [], "the die had no idle time yet");
    rest(&mut rig, 10);
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 3, FINE), (Reason::Rewrite, 5, FINE)]);
    assert_eq!([1, 2, 3, 4, 5].map(|unit| read_one(&mut rig, unit)), [SLOW, QUICK, QUICK, MEDIUM, QUICK]);
    assert_eq!(programs(&mut rig, 2, "W"), [MIDDLE]);
}

#[test]
fn what_another_policy_wrote_keeps_its_class_until_it_is_written_again() {
    let mut before = rig("traditional", &[]);
    for unit in [0, 1, 2] {
        write(&mut before, unit);
    }
    let mut rig = adopted(&mut before, "traditional", "agcr");
    assert_eq!([0, 1, 1].map(|unit| read_one(&mut rig, unit)), [MEDIUM; 3]);
    assert_eq!(programs(&mut rig, 2, "WW"), [HIGH, LOW], "without history");
    let mut rig = adopted(&mut before, "traditional", "queue_driven");
    assert_eq!(read_one(&mut rig, 0), MEDIUM);
    let mut rig = adopted(&mut before, "traditional", "lcw_hcr");
    assert_eq!(read_one(&mut rig, 0), MEDIUM, "its block's");
}

// The preset.

#[test]
fn the_preset_has_the_times_of_the_regulator() {
    let run = |policy: &str, rw: &str| {
        let job = format!("[job]\nrw={rw}\nbs=4k\niodepth=1\nnumber_ios=50\nnorandommap=1\n");
        let sets = ["flash.blocks_per_plane=64"];
        let summary =
            session("base = \"agcr-64g\"", &sets, Some(policy), &job).unwrap_or_else(|problems| panic!("{problems}")).summary;
        let latency = &summary["latency"][if rw == "randread" { "read" } else { "write" }];
        assert_eq!(latency["stddev_ns"].as_f64(), Some(0.0), "{policy} {rw}: at depth 1 all are alike");
        latency["mean_ns"].as_f64().expect("there are some")
    };
    // Reads take RC(1), RC(3) or RC(7) and 410 ns of command cycles. Writes take the program time, 49,000 ns of data
    // and 810 ns of command cycles.
    for (policy, read, program) in
        [("hcw_lcr", 72_300.0, 800_000.0), ("traditional", 167_900.0, 600_000.0), ("lcw_hcr", 310_100.0, 450_000.0)]
    {
        assert_eq!(run(policy, "randread"), read + 410.0, "{policy}");
        assert_eq!(run(policy, "randwrite"), program + 49_000.0 + 810.0, "{policy}");
    }
    assert_eq!(run("agcr", "randread"), 72_710.0, "what is older than the run is read at low cost");
}

#[test]
fn the_presets_regulator_is_the_fitted_one() {
    let preset = drive::presets::find("agcr-64g").expect("a preset");
    let description = drive::Description::read(preset.name, preset.text, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let regulator = ecc::Regulator::default();
    let rate = description.flash.transfer_rate;
    assert_eq!(rate.time_for(kit::Bytes(4096)), regulator.beta);
    for (mode, references) in description.flash.read_modes.iter().zip([1, 3, 7]) {
        let sensed = description.flash.read_time.of(0).0 as f64 * mode.sense_scale;
        assert_eq!(sensed.round() as u64, regulator.sensing(references).0, "{}", mode.name);
        assert_eq!(mode.transfers, ecc::regulator::transfers(references), "{}", mode.name);
    }
    for (mode, step) in description.flash.write_modes.iter().zip([1.0, 4.0 / 3.0, 0.75]) {
        let program = description.flash.program_time.of(0).0 as f64 * mode.program_scale;
        assert!((program - regulator.write_cost(step).0 as f64).abs() < 1.0, "{}: {program}", mode.name);
    }
    assert!((description.user_bytes() as f64 * 1.11 / f64::from(1 << 30) - 64.0).abs() < 0.01, "64 GiB of flash");
    // Metadata according to the paper: 2 bits for each of 16 million pages.
    let pages = description.geometry().unit_count();
    assert_eq!(pages * 2 / 8, 4 << 20);
}

/// The total time of a write, on which other tests are based.
#[test]
fn programs_of_the_three_costs_take_their_times() {
    let mut rig = rig("lcw_hcr", &[]);
    let row = rig.one(Op::Write, 0, 1);
    assert_parts("write", &row, &[(Cause::BusCommand, 361), (Cause::Transfer, 3_414), (Cause::Program, LOW)]);
    assert_eq!(rig.drive.now(), SimTime(361 + 3_414 + LOW));
}
