//! Reads that repeat another one: their place among the waiting reads, and the phases of soft attempts.

use super::*;
use ecc::Plan;
use ecc::plan::{ReadRetry, Soft};
use kit::{ModeId, Owner};

/// Returns a rig whose flash knows the attempts of a plan.
fn with_plan(config: &FlashConfig, plan: &Plan) -> Rig {
    let geometry = config.geometry(1, kit::UnitSize::default());
    Rig { flash: Flash::new(config, &plan.attempts(), &geometry, 1), ..Rig::new(config) }
}

/// Queues a read at die 0 that repeats one which was queued at `since`. Returns its slot.
fn repeat(rig: &mut Rig, reason: Reason, mode: u8, since: u64) -> u32 {
    let read = Operation { kind: OperationKind::Read, reason, units: 1, pages: 1, ..Operation::default() };
    let slot = rig.out.operations.add(Operation { mode: ModeId(mode), owner: Owner::Retry(0), ..read });
    rig.flash.push_retry(slot, SimTime(since), SimTime(rig.now), &mut rig.out);
    rig.instant(rig.now);
    slot
}

/// Four reads wait for the die, and two attempts come back: each goes behind the reads that are older than its first
/// attempt, and before all younger ones. With `fifo`, host reads and relocation reads are one order.
#[test]
fn a_retry_takes_its_place_by_the_age_of_the_first_attempt() {
    for (first, second) in (0..6).flat_map(|first| (0..6).map(move |second| (first, second))) {
        for reason in [Reason::Host, Reason::Gc, Reason::Rmw] {
            let mut rig = Rig::new(&small(1, "fifo"));
            let reads: Vec<(u64, u32)> =
                [0, 1, 2, 3, 4].map(|at| (10 * at, rig.arrive(OperationKind::Read, reason, 0, at))).to_vec();
            rig.run_until(5);
            let retries = [first, second].map(|since| repeat(&mut rig, reason, 0, since));
            rig.run();
            // The first read is under way. Equal ages are served in the order of queueing.
            let mut expected = reads;
            expected.extend([(10 * first + 1, retries[0]), (10 * second + 2, retries[1])]);
            expected[1..].sort_unstable();
            let order: Vec<u32> = rig.ended.iter().map(|&(slot, _)| slot).collect();
            let slots: Vec<u32> = expected.iter().map(|&(_, slot)| slot).collect();
            assert_eq!(order, slots, "{reason:?}, since {first} and {second}");
            // Each is charged from the instant at which it was queued.
            for retry in retries {
                assert_eq!(rig.out.operations.account(retry).ledger().total().0, rig.end(retry) - 5);
                assert_eq!(rig.charged(retry, Cause::Sense), SENSE);
            }
        }
    }
}

/// A host read that comes back suspends a program, as a new one does.
#[test]
fn a_retry_suspends_a_program() {
    for (reason, suspends) in [(Reason::Host, true), (Reason::Rmw, true), (Reason::Gc, false)] {
        let mut rig = Rig::new(&FlashConfig { suspension: suspension(2, 1), ..small(1, "read_first") });
        let program = rig.program(0, 0);
        rig.run_until(LOAD + 5);
        let retry = repeat(&mut rig, reason, 0, 0);
        rig.run();
        let begin = if suspends { LOAD + 5 + SUSPEND } else { LOAD + PROGRAM };
        assert_eq!(rig.end(retry), begin + READ, "{reason:?}");
        let end = LOAD + PROGRAM + if suspends { SUSPEND + READ + RESUME } else { 0 };
        assert_eq!(rig.end(program), end, "{reason:?}");
    }
}

/// Each attempt on an idle flash: its phases with their ends, and its time by cause. A cycle takes 1 ns: a command
/// takes six, SET FEATURES six more.
#[test]
fn every_attempt_passes_its_phases_on_time() {
    use Phase::{Array, Data, DataPart};
    let retry = Plan::ReadRetry(ReadRetry { steps: 1, step_time: Nanos(7), sense_scale: 1.5, ..ReadRetry::default() });
    type Case = (Plan, &'static [(u64, Phase)], [u64; 3]);
    let cases: [Case; 3] = [
        (retry, &[(34, Array), (36, Data)], [12, 22, 2]),
        (Plan::Soft(Soft { levels: 1 }), &[(32, Array), (34, DataPart), (36, Data)], [12, 20, 4]),
        (Plan::Nasd(Soft { levels: 1 }), &[(32, Array), (34, Data)], [12, 20, 2]),
    ];
    for (plan, phases, [command, sense, transfer]) in cases {
        let mut rig = with_plan(&small(1, "read_first"), &plan);
        rig.run_until(100);
        let slot = repeat(&mut rig, Reason::Host, 1, 0);
        let mut begin = 0;
        for &(end, phase) in phases {
            for at in begin..end {
                rig.run_until(100 + at);
                assert_eq!((rig.flash.dies[0].phase, rig.ended.len()), (phase, 0), "{plan:?} after {at}");
            }
            begin = end;
        }
        rig.run_until(100 + begin);
        assert_eq!(rig.end(slot), 100 + begin, "{plan:?}");
        let mut ledger = Ledger::default();
        for (cause, span) in [(Cause::BusCommand, command), (Cause::Sense, sense), (Cause::Transfer, transfer)] {
            ledger.charge(cause, Nanos(span));
        }
        assert_eq!(*rig.out.operations.account(slot).ledger(), ledger, "{plan:?}");
    }
}

/// A read of another die that requests the channel during the first transfer of a soft attempt has it before the
/// second. At every instant of its arrival, no time is lost and none counted twice.
#[test]
fn transfers_of_another_die_come_between_those_of_a_soft_attempt() {
    for (plan, end) in [(Plan::Soft(Soft { levels: 1 }), 36), (Plan::Nasd(Soft { levels: 1 }), 34)] {
        for arrival in 0..50 {
            let mut rig = with_plan(&small(2, "read_first"), &plan);
            rig.out.journal.enable(true);
            let soft = repeat(&mut rig, Reason::Host, 1, 0);
            let other = rig.read(1, arrival);
            rig.run();
            let waited = |slot| rig.charged(slot, Cause::BusWait);
            assert_eq!(rig.end(soft), end + waited(soft), "{plan:?}, {arrival}");
            assert_eq!(rig.end(other), arrival + READ + waited(other), "{plan:?}, {arrival}");
            if arrival == 17 {
                // It requests the channel at 33, one nanosecond after the soft attempt has begun its first transfer.
                let expected = if end == 36 { (36, 38) } else { (36, 34) };
                assert_eq!((rig.end(other), rig.end(soft)), expected, "{plan:?}");
            }
            let spans = rig.out.journal.records.iter().filter_map(|record| match record {
                Record::BusSpan { begin, end, .. } => Some((begin.0, end.0)),
                _ => None,
            });
            let mut free_at = 0;
            for (begin, end) in spans {
                assert!(free_at <= begin, "{plan:?}, {arrival}: two transfers at once");
                free_at = end;
            }
            // Commands of 12 and 6 ns, and a transfer of 2 ns for each data phase.
            let transfers = if end == 36 { 3 } else { 2 };
            assert_eq!(rig.flash.channels[0].busy(SimTime::LAST), Nanos(18 + 2 * transfers), "{plan:?}, {arrival}");
        }
    }
}

/// While a die is held, a dispatch does not use up a turn of an urgent move: the reads have the next one, then the
/// move.
#[test]
fn a_die_that_is_held_keeps_the_turns_of_reads_and_urgent_moves() {
    for dispatches in 0..3 {
        let mut rig = Rig::new(&small(1, "read_first"));
        let (die, now) = (DieId(0), SimTime(0));
        let demand = Demand { urgent_move: true, oldest_write: None };
        rig.flash.set_retries(ecc::Hold::Die, ecc::RetryPlace::Age);
        rig.flash.hold(die, 7, now, &mut rig.out);
        for _ in 0..dispatches {
            assert!(matches!(rig.flash.dispatch(die, &demand, now, &mut rig.out), Dispatch::Busy));
        }
        rig.flash.release(die, 8, now, &mut rig.out);
        assert!(!rig.flash.dies[0].is_free(), "another recovery releases nothing");
        rig.flash.release(die, 7, now, &mut rig.out);
        assert!(matches!(rig.flash.dispatch(die, &demand, now, &mut rig.out), Dispatch::Pull { reads_wait: false }));
        assert!(matches!(rig.flash.dispatch(die, &demand, now, &mut rig.out), Dispatch::PullUrgent));
    }
}

/// All data phases of a soft attempt go to one page buffer. The data of another die, sensed between two of them, waits
/// for the only one until the last has arrived; with two, it crosses the channel in between.
#[test]
fn the_transfers_of_a_soft_attempt_go_to_one_page_buffer() {
    for (count, waits, end) in [(1, 3, 38), (2, 0, 36)] {
        let mut rig = with_plan(&small(2, "read_first"), &Plan::Soft(Soft { levels: 1 }));
        rig.flash.use_page_buffers(count);
        let soft = repeat(&mut rig, Reason::Host, 1, 0);
        // It requests the buffer at 33, one nanosecond after the soft attempt has begun its first transfer.
        let other = rig.read(1, 17);
        rig.run();
        assert_eq!((rig.charged(other, Cause::PageBuffer), rig.end(other)), (waits, end), "{count}");
        assert_eq!(rig.end(soft), if count == 1 { 36 } else { 38 }, "{count}");
    }
}
