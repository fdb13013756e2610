//! Suspension of operations for the power of reads on other dies.

use super::control::{greatest, power, rig};
use super::loads::check_random_loads;
use super::*;
use crate::power::{CapOrder, Constant, PowerConfig, Waveform, Waveforms};
use kit::Current;

/// Dies on a channel each.
fn apart(dies: u32, scheduler: &str, rule: Option<Suspension>) -> FlashConfig {
    FlashConfig { channels: dies, suspension: rule, ..small(1, scheduler) }
}

fn suspending(room: u64, dies: u64, cap_suspends: u32) -> PowerConfig {
    PowerConfig { cap_suspends, cap_order: CapOrder::ReadsFirst, ..power(Some(room), dies) }
}

/// Returns the number of suspensions for power, and their time.
fn suspensions(rig: &Rig) -> (u64, u64) {
    let cap = rig.flash.power(SimTime(rig.now)).and_then(|report| report.cap).expect("a cap");
    cap.suspensions.map(|all| (all.count, all.time_ns)).expect("they are on")
}

/// Two programs and a read with room for one program: the first programs from 8 on. The read asks at 16; the suspend
/// command takes until 19, the suspension until 21. The read senses until 31; then the program sends its resume
/// command, and goes on at 38 with 22 ns left, ahead of the other program, which asked at 9.
#[test]
fn a_program_gives_its_power_to_a_read_and_has_it_back_first() {
    // Whether host reads suspend operations on their own dies, and how the start of an array phase is an event, makes
    // no difference.
    for scheduler in ["read_first", "fifo"] {
        let mut rig = rig(&apart(3, scheduler, suspension(22, 1)), &suspending(20_000, 3, 1));
        let program = rig.program(0, 0);
        let other = rig.program(2, 1);
        let read = rig.read(1, 10);
        for (at, phase, read_phase) in [
            (15, Phase::Array, Phase::Array),
            (16, Phase::Suspending, Phase::PowerWait),
            (20, Phase::Suspending, Phase::PowerWait),
            (21, Phase::Rest, Phase::Array),
            (30, Phase::Rest, Phase::Array),
            (31, Phase::Resuming, Phase::Data),
            (37, Phase::Resuming, Phase::Rest),
            (38, Phase::Array, Phase::Rest),
            (59, Phase::Array, Phase::Rest),
        ] {
            rig.run_until(at);
            assert_eq!([0, 1, 2].map(|die| rig.flash.dies[die].phase), [phase, read_phase, Phase::PowerWait], "at {at}");
        }
        rig.run();
        assert_eq!([program, other, read].map(|slot| rig.end(slot)), [60, 90, 33]);
        let charged = |slot: u32| [Cause::PowerWait, Cause::Program, Cause::Sense].map(|cause| rig.charged(slot, cause));
        assert_eq!(charged(program), [38 - 16, PROGRAM, 0], "the whole suspension is the price of the cap");
        assert_eq!(charged(other), [60 - 9, PROGRAM, 0]);
        assert_eq!(charged(read), [21 - 16, 0, SENSE]);
        for slot in [program, read] {
            let arrived = if slot == read { 10 } else { 0 };
            assert_eq!(rig.out.operations.account(slot).ledger().total().0, rig.end(slot) - arrived);
        }
        assert_eq!((suspensions(&rig), rig.flash.counters.suspensions), ((1, 38 - 16), 1));
        let report = rig.flash.power(SimTime(200)).expect("a meter");
        let charge = 20_010 * 10 + 5_010 * 20;
        assert_eq!(report.by_die, [charge, 8_010 * 10, charge].map(|charge| charge * 1_000));
    }
}

/// The limits of an operation: one nanosecond less of its array phase, another kind, a suspension before, or none
/// allowed, and the read waits until it ends.
#[test]
fn only_what_the_flash_suspends_makes_room() {
    let base = suspension(22, 1);
    let with = |change: fn(&mut Suspension)| {
        base.clone().map(|mut rule| {
            change(&mut rule);
            rule
        })
    };
    let cases = [
        (base.clone(), OperationKind::Program, 1, true),
        (base.clone(), OperationKind::Program, 0, false),
        (with(|rule| rule.least_remaining = Nanos(23)), OperationKind::Program, 1, false),
        (with(|rule| rule.program = false), OperationKind::Program, 1, false),
        (with(|rule| rule.erase = false), OperationKind::Program, 1, true),
        (with(|rule| rule.most = 0), OperationKind::Program, 1, false),
        // The suspension would end with the program.
        (with(|rule| (rule.suspend_time, rule.least_remaining) = (Nanos(19), Nanos(1))), OperationKind::Program, 1, false),
        (with(|rule| (rule.suspend_time, rule.least_remaining) = (Nanos(18), Nanos(1))), OperationKind::Program, 1, true),
        (None, OperationKind::Program, 1, false),
        (base.clone(), OperationKind::Erase, 1, true),
        (with(|rule| rule.erase = false), OperationKind::Erase, 1, false),
        (base, OperationKind::Copyback, 1, false),
    ];
    for (rule, kind, most, expected) in cases {
        let case = format!("{rule:?}, {kind:?}, {most}");
        let erase = Waveform::Constant(Constant { current: Current(15_010) });
        let mut rig = rig(&apart(2, "read_first", rule), &PowerConfig { erase, ..suspending(20_000, 2, most) });
        rig.arrive(kind, Reason::Host, 0, 0);
        let read = rig.read(1, 10);
        let relocation = rig.arrive(OperationKind::Read, Reason::Gc, 1, 10);
        rig.run();
        assert_eq!(rig.flash.counters.suspensions, u64::from(expected), "{case}");
        assert!(rig.end(read) < rig.end(relocation));
    }
}

/// Three reads on another die, each of which would suspend the program: as many do as `power.cap_suspends` and
/// `flash.suspension` allow, and each takes 22 ns: 5 to suspend, 10 of sensing, 7 to resume.
#[test]
fn an_operation_is_suspended_for_power_at_most_as_often_as_allowed() {
    for (most, of_flash) in (0..5).flat_map(|most| (0..5).map(move |of_flash| (most, of_flash))) {
        let program = Waveforms::One(Waveform::Constant(Constant { current: Current(20_010) }));
        let power = PowerConfig { program, ..suspending(20_000, 2, most) };
        let mut rig = rig(&apart(2, "read_first", suspension(1, of_flash)), &power);
        let program = rig.program(0, 0);
        [10, 40, 64].into_iter().for_each(|at| _ = rig.read(1, at));
        rig.run();
        let expected = u64::from(most.min(of_flash).min(3));
        assert_eq!(rig.flash.counters.suspensions, expected, "{most}, {of_flash}");
        assert_eq!(rig.end(program), LOAD + PROGRAM + 22 * expected, "{most}, {of_flash}");
    }
}

/// Reads of relocations wait as without suspensions, and so do host reads behind a program whose turn it is.
#[test]
fn only_host_reads_whose_turn_it_is_suspend() {
    for (order, waits, reason, expected) in [
        (CapOrder::ReadsFirst, false, Reason::Host, 1),
        (CapOrder::ReadsFirst, false, Reason::Rmw, 1),
        (CapOrder::ReadsFirst, false, Reason::Gc, 0),
        (CapOrder::ReadsFirst, true, Reason::Host, 1),
        (CapOrder::Fifo, false, Reason::Host, 1),
        (CapOrder::Fifo, true, Reason::Host, 0),
    ] {
        let power = PowerConfig { cap_order: order, ..suspending(20_000, 3, 1) };
        let mut rig = rig(&apart(3, "read_first", suspension(1, 1)), &power);
        rig.program(0, 0);
        if waits {
            rig.program(2, 1);
        }
        rig.arrive(OperationKind::Read, reason, 1, 10);
        rig.run();
        assert_eq!(suspensions(&rig).0, expected, "{order:?}, {waits}, {reason:?}");
    }
}

/// Two programs in progress and three reads, two of which the room of one program is enough for: two programs are
/// suspended, the one with the longer rest first, and at the next reads the one that was not suspended before.
#[test]
fn as_many_operations_are_suspended_as_reads_need() {
    let mut rig = rig(&apart(6, "read_first", suspension(1, 9)), &suspending(40_000, 6, 9));
    let programs = [rig.program(0, 2), rig.program(1, 0)];
    // They ask at 10 and 8. The reads ask at 16: two need 16 of the 20 mA that a program frees.
    rig.read(2, 10);
    rig.read(3, 10);
    rig.run_until(16);
    assert_eq!([0, 1].map(|die| rig.flash.dies[die].phase), [Phase::Suspending, Phase::Array]);
    // A third one asks before the first suspension ends, and has the rest of the room and another one.
    rig.read(4, 12);
    rig.run_until(18);
    assert_eq!([0, 1].map(|die| rig.flash.dies[die].phase), [Phase::Suspending, Phase::Suspending]);
    rig.run_until(21);
    assert_eq!([2, 3, 4].map(|die| rig.flash.dies[die].phase), [Phase::Array, Phase::Array, Phase::PowerWait]);
    rig.run_until(23);
    assert_eq!(rig.flash.dies[4].phase, Phase::Array);
    rig.run();
    assert_eq!(suspensions(&rig).0, 2);
    // Die 0 was suspended at 16 with 24 ns left, die 1 at 18 with 20. Both have power at 31, when the first reads end
    // (7 + 20 + 8 mA: the rest of die 0 includes its peak, that of die 1 only 5 mA).
    assert_eq!(programs.map(|slot| rig.end(slot)), [38 + 24, 38 + 20]);
}

/// A die whose program is suspended for the read of another die serves a read of its own. The program goes on after it.
#[test]
fn a_suspended_die_serves_its_own_reads() {
    let mut rig = rig(&apart(2, "read_first", suspension(1, 9)), &suspending(20_000, 2, 9));
    let program = rig.program(0, 0);
    let read = rig.read(1, 10);
    let own = rig.read(0, 23);
    rig.run_until(23);
    assert_eq!(rig.flash.dies[0].phase, Phase::Array, "the command of its read begins at once");
    rig.run();
    assert_eq!((rig.end(read), rig.end(own)), (33, 23 + READ));
    assert_eq!(rig.end(program), 23 + READ + RESUME + 22);
    assert_eq!(rig.charged(program, Cause::DieHostRead), READ);
    assert_eq!(rig.charged(program, Cause::PowerWait), (23 - 16) + RESUME);
    assert_eq!(rig.out.operations.account(program).ledger().total().0, rig.end(program));
    assert_eq!(suspensions(&rig), (1, 23 - 16 + READ + RESUME));
}

/// Reads that never cease, on other dies and on its own: a program is suspended at most as often as allowed, lets at
/// most the stated number of reads pass each time, and ends.
#[test]
fn a_program_ends_although_reads_never_cease() {
    for (most, order, own) in (0..6).flat_map(|most| {
        [(CapOrder::Fifo, false), (CapOrder::ReadsFirst, false), (CapOrder::Fifo, true), (CapOrder::ReadsFirst, true)]
            .map(|(order, own)| (most, order, own))
    }) {
        let power = PowerConfig { cap_order: order, ..suspending(20_000, 4, most) };
        // Host reads do not suspend operations of their own dies with this scheduler.
        let mut rig = rig(&apart(4, "fifo", suspension(1, 100)), &power);
        let program = rig.program(0, 0);
        let reads: Vec<u32> = (0..1_500).map(|index| rig.read(1 + index % 3, 10 + 2 * u64::from(index))).collect();
        if own {
            for index in 0..300 {
                rig.read(0, 10 + 10 * index);
            }
        }
        rig.run_until(2_000);
        let (end, case) = (rig.end(program), format!("{most} of {order:?}, {own}"));
        // Each suspension lets at most two reads pass that are not there yet, and those that wait: one for each die.
        let longest = LOAD + PROGRAM + u64::from(most) * (SUSPEND + 5 * (READ + 2) + RESUME);
        assert!(end <= longest, "{case}: {end} ns, expected {longest} at most");
        let count = suspensions_or_none(&rig);
        assert!(count <= u64::from(most) && count >= u64::from(most.min(1)), "{case}: {count} suspensions");
        assert_eq!(rig.flash.counters.suspensions, count);
        assert!(reads.iter().any(|read| rig.ended.iter().any(|(ended, at)| ended == read && *at < end)) == (most > 0), "{case}");
        rig.run();
    }
}

fn suspensions_or_none(rig: &Rig) -> u64 {
    let cap = rig.flash.power(SimTime(rig.now)).and_then(|report| report.cap).expect("a cap");
    cap.suspensions.map_or(0, |all| all.count)
}

/// A read at every instant of a program, and a transfer on the program's channel from every instant on: the suspend
/// command waits for the channel, and is withdrawn where the array phase ends before, or less than `least_remaining` is
/// left of it; the read has its power in either case.
#[test]
fn a_suspend_command_waits_for_its_channel() {
    const LEAST: u64 = 8;
    let config = FlashConfig { channels: 2, suspension: suspension(LEAST, 1), ..small(2, "read_first") };
    let (mut seen, mut withdrawn) = ([0, 0], 0);
    for (read_at, other_at) in (1..40).flat_map(|read| (0..40).map(move |other| (read, other))) {
        // Dies 0 and 1 share a channel, and so do 2 and 3.
        let mut rig = rig(&config, &suspending(20_000, 4, 1));
        let program = rig.program(0, 0);
        let other = rig.program(1, other_at);
        let read = rig.read(2, read_at);
        let case = format!("read at {read_at}, program at {other_at}");
        let mut is_requested = false;
        for at in 0..80 {
            rig.run_until(at);
            let die = &rig.flash.dies[0];
            let left = die.suspended.as_ref().map(|suspended| suspended.remaining.0);
            assert!(left.is_none_or(|left| left >= LEAST), "{case}: {left:?} ns left");
            if is_requested && die.phase == Phase::Array {
                assert!(!rig.flash.yields(DieId(0)), "{case}: it keeps its power");
                withdrawn += 1;
            }
            is_requested = die.phase == Phase::SuspendRequested;
        }
        rig.run();
        for (slot, arrived) in [(program, 0), (other, other_at), (read, read_at)] {
            assert_eq!(rig.out.operations.account(slot).ledger().total().0, rig.end(slot) - arrived, "{case}");
        }
        let (count, time) = suspensions(&rig);
        assert_eq!(rig.flash.counters.suspensions, count, "{case}");
        assert!(rig.charged(program, Cause::PowerWait) + rig.charged(other, Cause::PowerWait) >= time, "{case}");
        seen[usize::from(count > 0)] += 1;
    }
    assert!(seen.iter().all(|count| *count > 100) && withdrawn > 20, "{seen:?}, {withdrawn} withdrawn");
}

/// A measurement that begins during a suspension has the rest of it.
#[test]
fn a_measurement_that_begins_during_a_suspension_counts_it() {
    let mut rig = rig(&apart(2, "read_first", suspension(1, 1)), &suspending(20_000, 2, 1));
    rig.program(0, 0);
    rig.read(1, 10);
    rig.run_until(20);
    assert_eq!(suspensions(&rig), (1, 20 - 16));
    rig.flash.restart_power(SimTime(20));
    assert_eq!(suspensions(&rig), (1, 0));
    rig.run();
    assert_eq!(suspensions(&rig), (1, 38 - 20));
}

/// Random loads under tight caps, with every limit, order, scheduler and set of page buffers: everything ends, every
/// nanosecond has a cause, and the currents never exceed the cap at any instant.
#[test]
fn random_loads_with_suspensions_stay_under_the_cap_and_end() {
    let mut rng = Rng::stream(5, "flash.making_room");
    let mut seen = [0u64; 2];
    for round in 0..400u32 {
        let rule =
            suspension(1 + rng.below(8), 1 + rng.below(5) as u32).map(|rule| Suspension { erase: rng.chance(0.5), ..rule });
        let name = SchedulerConfig::NAMES[rng.below(SchedulerConfig::NAMES.len() as u64) as usize];
        let config = FlashConfig { suspension: rule, channels: 2, ..small(2, name) };
        let room = [20_000, 24_000, 28_000, 40_000, 48_000][rng.below(5) as usize];
        let mut power = suspending(room, 4, 1 + rng.below(4) as u32);
        power.cap_order = [CapOrder::Fifo, CapOrder::ReadsFirst][rng.below(2) as usize];
        power.cap_overtakes = rng.below(4) as u32;
        let mut rig = rig(&config, &power);
        rig.urgent_move = rng.chance(0.2);
        check_random_loads(&mut rig, round, &mut rng);
        let spans = std::mem::take(&mut rig.array_spans);
        assert!(greatest(&spans) <= room, "round {round}: {} of {room}", greatest(&spans));
        let count = suspensions(&rig).0;
        assert!(count <= rig.flash.counters.suspensions);
        seen[0] += count;
        seen[1] += u64::from(rig.flash.counters.suspensions > count && count > 0);
    }
    assert!(seen[0] > 2_000 && seen[1] > 50, "{seen:?}");
}
