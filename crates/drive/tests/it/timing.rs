//! Timing gates: an event happens at its instant and not one nanosecond earlier, seen through the drive's public
//! interface (`submit`, `next_event`, `advance`).

use crate::common::{FEW_BLOCKS, ONE_DIE, Rig, assert_parts, with};
use kit::{Cause, Nanos, Op, SimTime};

const READ: u64 = 50_000;
const DATA: u64 = 3414;
const ONE_READ: u64 = 290 + READ + DATA;
const ONE_PROGRAM: u64 = 361 + DATA + 600_000;

/// Asserts that a command has not completed at `at` - 1 and has completed at `at`.
#[track_caller]
fn assert_done_at(rig: &mut Rig, tag: u32, at: u64) {
    rig.run_until(SimTime(at - 1));
    assert!(!rig.is_done(tag), "done at {} or before, {} ns early", at - 1, at - rig.row(tag).completed.0);
    assert_eq!(rig.drive.now(), SimTime(at - 1));
    rig.run_until(SimTime(at));
    assert!(rig.is_done(tag), "not done at {at}");
}

#[test]
fn reads_and_programs_are_done_on_time() {
    let mut rig = Rig::new(ONE_DIE);
    let write = rig.submit(Op::Write, 0, 1, SimTime(0));
    assert_eq!(rig.drive.next_event(), Some(SimTime(0)), "a command submitted for now is handled before any later event");
    assert_done_at(&mut rig, write, ONE_PROGRAM);
    let read = rig.submit(Op::Read, 0, 1, SimTime(1_000_000));
    assert_eq!(rig.drive.next_event(), Some(SimTime(1_000_000)));
    assert_done_at(&mut rig, read, 1_000_000 + ONE_READ);
    let retention = SimTime(300 * 24 * 3600 * 1_000_000_000);
    assert!(rig.drive.next_event().is_none_or(|at| at > retention), "nothing is left to happen but the end of retention");
}

#[test]
fn advance_stops_at_the_first_completion_or_at_its_end() {
    let mut rig = Rig::new(&[]);
    let (first, second) = (rig.submit(Op::Write, 0, 1, SimTime(0)), rig.submit(Op::Write, 1, 1, SimTime(500)));
    assert!(rig.drive.advance(SimTime(100)).is_empty());
    assert_eq!(rig.drive.now(), SimTime(100));
    let done: Vec<u32> = rig.drive.advance(SimTime(10_000_000)).iter().map(|completion| completion.tag).collect();
    assert_eq!((done, rig.drive.now()), (vec![first], SimTime(ONE_PROGRAM)));
    let done: Vec<u32> = rig.drive.advance(SimTime::FOREVER).iter().map(|completion| completion.tag).collect();
    assert_eq!((done, rig.drive.now()), (vec![second], SimTime(500 + ONE_PROGRAM)));
    assert!(rig.drive.advance(SimTime(20_000_000)).is_empty());
    assert_eq!(rig.drive.now(), SimTime(20_000_000));
}

#[test]
#[should_panic(expected = "in the past")]
fn a_command_cannot_arrive_in_the_past() {
    let mut rig = Rig::new(&[]);
    rig.run_until(SimTime(10));
    rig.submit(Op::Write, 0, 1, SimTime(9));
}

#[test]
#[should_panic(expected = "is not in a drive")]
fn a_command_past_the_end_is_refused() {
    let mut rig = Rig::new(&[]);
    let end = rig.drive.user_bytes();
    rig.submit_bytes(Op::Read, end - 512, 1024, SimTime(0));
}

#[test]
fn a_die_takes_its_next_operation_when_it_is_free() {
    // An operation begins when the operation before ends; this shows in the count of operations started.
    let mut rig = Rig::new(ONE_DIE);
    rig.submit(Op::Write, 0, 1, SimTime(0));
    rig.submit(Op::Write, 1, 1, SimTime(0));
    rig.run_until(SimTime(ONE_PROGRAM - 1));
    assert_eq!(rig.operations(), [0, 1, 0, 0]);
    rig.run_until(SimTime(ONE_PROGRAM));
    assert_eq!(rig.operations(), [0, 2, 0, 0]);
    rig.drain();
    let start = rig.drive.now().0;
    rig.submit(Op::Read, 0, 1, SimTime(start));
    rig.submit(Op::Read, 1, 1, SimTime(start));
    rig.run_until(SimTime(start + ONE_READ - 1));
    assert_eq!(rig.operations(), [1, 2, 0, 0]);
    rig.run_until(SimTime(start + ONE_READ));
    assert_eq!(rig.operations(), [2, 2, 0, 0]);
}

#[test]
fn an_erase_holds_its_die_to_the_nanosecond() {
    let small = ["flash.blocks_per_plane=8", "flash.pages_per_block=8", "ftl.overprovisioning=1.0", "ftl.user_capacity=32KiB"];
    let mut rig = Rig::new(&with(ONE_DIE, &small));
    while rig.operations()[2] == 0 {
        if rig.drive.commands_in_flight() == 0 {
            rig.submit(Op::Write, 0, 1, rig.drive.now());
        }
        rig.step();
    }
    let end = rig.drive.now() + Nanos(220 + 3_000_000);
    let started = rig.operations();
    rig.submit(Op::Write, 1, 1, rig.drive.now());
    rig.run_until(SimTime(end.0 - 1));
    assert_eq!(rig.operations(), started);
    rig.run_until(end);
    assert_eq!(rig.operations(), [started[0], started[1] + 1, started[2], started[3]]);
}

/// Returns a drive with two dies on one channel, each with one written unit: unit `n` on die `n`.
fn two_dies(sets: &[&str]) -> Rig {
    let mut rig = Rig::new(&with(&["flash.channels=1", "flash.chips_per_channel=2"], sets));
    for unit in 0..2 {
        rig.one(Op::Write, unit, 1);
    }
    rig
}

#[test]
fn a_channel_goes_over_to_the_next_die_when_it_is_free() {
    let mut rig = two_dies(&[]);
    let start = rig.drive.now().0;
    let (first, second) = (rig.submit(Op::Read, 0, 1, SimTime(start)), rig.submit(Op::Read, 1, 1, SimTime(start)));
    // On the channel, the second command follows the first command, and its data follows the data of the first.
    assert_done_at(&mut rig, first, start + ONE_READ);
    assert_done_at(&mut rig, second, start + ONE_READ + DATA);
    let wait = 290 + (ONE_READ - (2 * 290 + READ));
    let parts = [(Cause::BusWait, wait), (Cause::BusCommand, 290), (Cause::Sense, READ), (Cause::Transfer, DATA)];
    assert_parts("second", &rig.row(second), &parts);
}

#[test]
fn a_channel_is_free_for_another_die_while_an_array_works() {
    let mut rig = two_dies(&[]);
    let start = rig.drive.now().0;
    let first = rig.submit(Op::Read, 0, 1, SimTime(start));
    // One nanosecond before the end of the first command.
    let early = rig.submit(Op::Read, 1, 1, SimTime(start + 289));
    rig.drain();
    assert_eq!(rig.row(first).causes.get(Cause::BusWait), Nanos(0));
    assert_eq!(rig.row(early).causes.get(Cause::BusWait), Nanos(1 + DATA - 290));
    let mut rig = two_dies(&[]);
    let start = rig.drive.now().0;
    rig.submit(Op::Read, 0, 1, SimTime(start));
    let timely = rig.submit(Op::Read, 1, 1, SimTime(start + 290 + DATA));
    rig.drain();
    assert_eq!(rig.row(timely).causes.get(Cause::BusWait), Nanos(0));
}

const SUSPENSION: &str = "flash.suspension={ program = true, erase = true, suspend_time = \"20us\", resume_time = \"30us\", least_remaining = \"100us\", most = 2 }";
/// Times of the suspend command and of suspending, and of the resume command and of resuming.
const SUSPEND: u64 = 95 + 20_000;
const RESUME: u64 = 95 + 30_000;

/// Returns a drive of one die with unit 0 written, the instant at which a program of unit 1 begins, and the tag of that
/// write.
fn programming(sets: &[&str]) -> (Rig, u64, u32) {
    let mut rig = Rig::new(&with(ONE_DIE, sets));
    rig.one(Op::Write, 0, 1);
    let start = rig.drive.now().0;
    let write = rig.submit(Op::Write, 1, 1, SimTime(start));
    (rig, start, write)
}

#[test]
fn a_program_gives_way_to_a_read_and_goes_on() {
    let (mut rig, start, write) = programming(&[SUSPENSION]);
    let arrival = start + 200_000;
    let read = rig.submit(Op::Read, 0, 1, SimTime(arrival));
    assert_done_at(&mut rig, read, arrival + SUSPEND + ONE_READ);
    let parts = [(Cause::DieHeld, SUSPEND), (Cause::BusCommand, 290), (Cause::Sense, READ), (Cause::Transfer, DATA)];
    assert_parts("read", &rig.row(read), &parts);
    assert_done_at(&mut rig, write, start + ONE_PROGRAM + SUSPEND + ONE_READ + RESUME);
    let parts = [
        (Cause::DieHeld, SUSPEND + RESUME),
        (Cause::DieHostRead, ONE_READ),
        (Cause::BusCommand, 361),
        (Cause::Transfer, DATA),
        (Cause::Program, 600_000),
    ];
    assert_parts("write", &rig.row(write), &parts);
}

#[test]
fn reads_that_wait_are_all_served_in_one_suspension() {
    let (mut rig, start, write) = programming(&[SUSPENSION]);
    let arrival = start + 200_000;
    let reads = [0, 1000, 40_000].map(|after| rig.submit(Op::Read, 0, 1, SimTime(arrival + after)));
    for (index, read) in reads.into_iter().enumerate() {
        assert_done_at(&mut rig, read, arrival + SUSPEND + (index as u64 + 1) * ONE_READ);
    }
    assert_done_at(&mut rig, write, start + ONE_PROGRAM + SUSPEND + 3 * ONE_READ + RESUME);
    assert_eq!(rig.drive.flash().counters.suspensions, 1);
}

#[test]
fn only_an_array_phase_with_enough_left_is_suspended() {
    let begin = 361 + DATA;
    let suspended = |after: u64| {
        let (mut rig, start, _) = programming(&[SUSPENSION]);
        rig.submit(Op::Read, 0, 1, SimTime(start + after));
        rig.drain();
        rig.drive.flash().counters.suspensions == 1
    };
    assert!(suspended(begin), "the array phase begins");
    assert!(suspended(begin + 500_000), "least_remaining is left");
    assert!(!suspended(begin + 500_001), "one nanosecond less");
}

#[test]
fn a_read_that_came_too_early_to_suspend_does_so_when_the_array_works() {
    let begin = 361 + DATA;
    // The read arrives during the command and data cycles of the program.
    let (mut rig, start, write) = programming(&[SUSPENSION]);
    let read = rig.submit(Op::Read, 0, 1, SimTime(start + begin - 1));
    assert_done_at(&mut rig, read, start + begin + SUSPEND + ONE_READ);
    assert_done_at(&mut rig, write, start + ONE_PROGRAM + SUSPEND + ONE_READ + RESUME);
    // The read arrives while the program resumes.
    let (mut rig, start, write) = programming(&[SUSPENSION]);
    let arrival = start + 200_000;
    rig.submit(Op::Read, 0, 1, SimTime(arrival));
    let resuming = arrival + SUSPEND + ONE_READ;
    let read = rig.submit(Op::Read, 0, 1, SimTime(resuming + 1));
    assert_done_at(&mut rig, read, resuming + RESUME + SUSPEND + ONE_READ);
    assert_done_at(&mut rig, write, start + ONE_PROGRAM + 2 * (SUSPEND + ONE_READ + RESUME));
}

#[test]
fn suspensions_of_one_operation_are_bounded() {
    let (mut rig, start, write) = programming(&[SUSPENSION]);
    let spacing = 200_000;
    let reads: Vec<u32> = (0..3).map(|index| rig.submit(Op::Read, 0, 1, SimTime(start + 10_000 + index * spacing))).collect();
    let end = start + ONE_PROGRAM + 2 * (SUSPEND + ONE_READ + RESUME);
    assert_done_at(&mut rig, write, end);
    assert_done_at(&mut rig, reads[2], end + ONE_READ);
    assert_eq!(rig.drive.flash().counters.suspensions, 2, "`most` = 2");
}

#[test]
fn a_scheduler_or_a_drive_without_suspension_never_suspends() {
    for sets in [&[][..], &[SUSPENSION, "flash.scheduler=fifo"]] {
        let (mut rig, start, write) = programming(sets);
        let read = rig.submit(Op::Read, 0, 1, SimTime(start + 200_000));
        assert_done_at(&mut rig, write, start + ONE_PROGRAM);
        assert_done_at(&mut rig, read, start + ONE_PROGRAM + ONE_READ);
    }
}

#[test]
fn an_erase_gives_way_to_a_read() {
    let small = [
        "flash.blocks_per_plane=8",
        "flash.pages_per_block=8",
        "ftl.overprovisioning=1.0",
        "ftl.user_capacity=32KiB",
        SUSPENSION,
    ];
    let mut rig = Rig::new(&with(ONE_DIE, &small));
    rig.one(Op::Write, 5, 1);
    while rig.operations()[2] == 0 {
        if rig.drive.commands_in_flight() == 0 {
            rig.submit(Op::Write, 0, 1, rig.drive.now());
        }
        rig.step();
    }
    let begin = rig.drive.now().0;
    let read = rig.submit(Op::Read, 5, 1, SimTime(begin + 1_000_000));
    assert_done_at(&mut rig, read, begin + 1_000_000 + SUSPEND + ONE_READ);
    // The next operation begins when the erase ends, which the suspension has prolonged.
    let started = rig.operations();
    rig.submit(Op::Write, 1, 1, rig.drive.now());
    let end = begin + 220 + 3_000_000 + SUSPEND + ONE_READ + RESUME;
    rig.run_until(SimTime(end - 1));
    assert_eq!(rig.operations(), started);
    rig.run_until(SimTime(end));
    assert_eq!(rig.operations()[1], started[1] + 1);
}

#[test]
fn a_copyback_moves_a_page_without_the_channel_carrying_it() {
    // Two of four units of the first block are overwritten. The collection moves the other two by copyback.
    let small = with(
        FEW_BLOCKS,
        &[
            "flash.copyback=true",
            "ftl.gc_idle_after=1s",
            "ftl.gc_idle_target_blocks=9",
            // A copyback needs an open block on the plane. Here relocations share that of the host.
            "ftl.separate_relocations=false",
        ],
    );
    let mut rig = Rig::watched(&with(ONE_DIE, &small));
    for unit in [0, 1, 2, 3, 0, 1] {
        rig.one(Op::Write, unit, 1);
    }
    let idle = rig.drive.now().0;
    rig.records();
    // Time of a copyback: 2 x tCS + 12 cycles + 2 x tWB on the channel, then tR + tPROG.
    let copyback = 540 + READ + 600_000;
    rig.run_until(SimTime(idle + 1_000_000_000));
    assert_eq!(rig.operations(), [0, 6, 0, 1]);
    rig.run_until(SimTime(idle + 1_000_000_000 + copyback - 1));
    assert_eq!(rig.operations(), [0, 6, 0, 1]);
    rig.run_until(SimTime(idle + 1_000_000_000 + copyback));
    assert_eq!(rig.operations(), [0, 6, 0, 2]);
    rig.run_until(SimTime(idle + 1_000_000_000 + 2 * copyback));
    assert_eq!(rig.operations(), [0, 6, 1, 2]);
    assert_eq!(rig.programmed(kit::Reason::Gc), 2);
}

#[test]
fn a_die_that_turns_idle_often_has_one_timer_for_it() {
    // Background collection begins after 100 ms of idle time, and there is a write about every millisecond: each die
    // becomes idle many times before a timer is due.
    let sets = ["ftl.gc_idle_after=100ms", "ftl.gc_idle_target_blocks=64", "state.precondition=steady"];
    let mut rig = Rig::new(&sets);
    let dies = u64::from(rig.drive.medium().geometry.die_count);
    for write in 0..2_000 {
        rig.one(Op::Write, write * 37 % 20_000, 1);
        // At most a timer and a running operation for each die, a retention timer, and a few wake-ups of channels.
        let most = 2 * dies + 8;
        let pending = rig.drive.pending_events() as u64;
        assert!(pending <= most, "{pending} events are pending after {write} writes, {dies} dies");
    }
    // The timer still starts the background collection.
    let before = rig.drive.translator().report().counters.collections;
    let until = rig.drive.now() + Nanos(300_000_000);
    rig.run_until(until);
    assert!(rig.drive.translator().report().counters.collections > before + dies, "idle dies collect in the background");
}

/// Sixteen dies, and a write to one of them every 2 ms: the others are idle for longer than the delay of 5 ms, the
/// drive is not. With `drive` no more blocks are erased than without background collection until the host is silent for
/// 5 ms.
#[test]
fn background_collection_counts_the_idle_time_of_the_die_or_of_the_drive() {
    const TARGET: &str = "ftl.gc_idle_target_blocks=64";
    let busy = |sets: &[&str]| {
        let mut rig = Rig::new(&with(&["flash.chips_per_channel=8", "state.precondition=steady", TARGET], sets));
        for write in 0..200 {
            let done = rig.one(Op::Write, write * 37 % 20_000, 1).completed;
            rig.run_until(done + Nanos(2_000_000));
        }
        (rig.operations()[2], rig)
    };
    let (without, _) = busy(&[]);
    let (of_die, _) = busy(&["ftl.gc_idle_after=5ms"]);
    let (of_drive, mut rig) = busy(&["ftl.gc_idle_after=5ms", "ftl.gc_idle_of=drive"]);
    assert_eq!(of_drive, without);
    assert!(of_die > without + 20, "{of_die} and {without} erases");
    let last = rig.one(Op::Write, 1, 1).completed;
    rig.run_until(last + Nanos(4_999_999));
    let before = rig.operations();
    rig.run_until(last + Nanos(5_000_000));
    let begun = rig.operations();
    rig.run_until(last + Nanos(100_000_000));
    assert!(rig.operations()[2] > begun[2] + 10, "{:?}, {begun:?}, {before:?}", rig.operations());
    // Between requests: once a command has come, the dies end what they empty, and no more.
    let first = rig.one(Op::Write, 2, 1).completed;
    let collections = rig.drive.translator().report().counters.collections;
    for write in 0..20 {
        let done = rig.one(Op::Write, 3 + write, 1).completed;
        rig.run_until(done + Nanos(2_000_000));
    }
    assert!(rig.drive.now() > first + Nanos(40_000_000));
    assert_eq!(rig.drive.translator().report().counters.collections, collections);
}

#[test]
fn background_collection_begins_when_the_idle_time_is_over_and_not_before() {
    let sets = with(ONE_DIE, &["ftl.gc_idle_after=100ms", "ftl.gc_idle_target_blocks=64", "state.precondition=steady"]);
    let mut rig = Rig::new(&sets);
    rig.drive.journal().enable(true);
    // Two writes, so that the timer of the first idle time fires in the second one and must be set again.
    let first = rig.one(Op::Write, 0, 1);
    rig.run_until(first.completed + Nanos(60_000_000));
    rig.one(Op::Write, 1, 1);
    while rig.drive.next_event().is_some_and(|at| at < rig.drive.now() + Nanos(50_000_000)) {
        rig.step();
    }
    let idle_since = rig.drive.now();
    let before = rig.drive.flash().counters.operations;
    rig.run_until(idle_since + Nanos(100_000_000 - 1));
    assert_eq!(rig.drive.flash().counters.operations, before, "not one nanosecond early");
    rig.run_until(idle_since + Nanos(100_000_000));
    assert_ne!(rig.drive.flash().counters.operations, before, "on time");
}
