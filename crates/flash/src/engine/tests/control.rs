//! The cap on the power of the flash, and suspension windows of programs.

use super::loads::check_random_loads;
use super::*;
use crate::power::{CapOrder, Constant, PowerConfig, Step, Steps, SuspendWindows, Waveform, Waveforms};
use kit::{Current, Power};

pub(super) const IDLE: u64 = 10;
/// Currents of a read, an erase, and a program: the first 10 and the last 20 of its 30 ns.
const SENSING: u64 = 8_010;
const ERASING: u64 = 4_010;
const PROGRAMMING: [u64; 2] = [20_010, 5_010];

/// Returns currents with a cap of `room` uA above that of `dies` dies at rest.
pub(super) fn power(room: Option<u64>, dies: u64) -> PowerConfig {
    let constant = |current: u64| Waveform::Constant(Constant { current: Current(current) });
    let step = |at: u64, current: u64| Step { at: Nanos(at), current: Current(current) };
    let steps = vec![step(0, PROGRAMMING[0]), step(10, PROGRAMMING[1])];
    PowerConfig {
        program: Waveforms::One(Waveform::Steps(Steps { steps, length: Nanos(30) })),
        erase: constant(ERASING),
        window: Nanos(100),
        cap: room.map(|room| Power((room + IDLE * dies) * 1_000)),
        cap_overtakes: 2,
        ..PowerConfig::constant(Current(IDLE), Current(SENSING))
    }
}

fn windows(at: &[f64], idle_chips_wait: bool) -> Vec<SuspendWindows> {
    vec![SuspendWindows { page_types: vec![0], at: at.to_vec(), length: Nanos(7), overhead: Nanos(4), idle_chips_wait }]
}

pub(super) fn rig(config: &FlashConfig, power: &PowerConfig) -> Rig {
    let mut rig = Rig::new(config);
    rig.flash.measure_power(power);
    rig
}

/// Two programs and room for one: the second has its data on its die at 16, and programs from 38 on, when the first
/// ends. A read of its die waits for both.
#[test]
fn an_array_phase_begins_when_there_is_room_and_not_before() {
    for suspends in [false, true] {
        let config = FlashConfig { suspension: suspension(40, 1).filter(|_| suspends), ..small(3, "read_first") };
        let mut rig = rig(&config, &power(Some(20_000), 3));
        let programs = [rig.program(0, 0), rig.program(1, 0)];
        let read = rig.read(1, 20);
        let free = rig.read(2, 40);
        for at in [16, 37] {
            rig.run_until(at);
            assert_eq!((rig.flash.dies[1].phase, rig.flash.dies[1].clock.work()), (Phase::PowerWait, Work::PowerWait));
            assert_eq!(rig.out.signals.clock.work(), kit::DriveWork::PowerWait);
        }
        rig.run_until(38);
        assert_eq!((rig.flash.dies[1].phase, rig.flash.dies[1].clock.work()), (Phase::Array, Work::HostProgram));
        rig.run();
        assert_eq!(programs.map(|slot| rig.end(slot)), [38, 68]);
        let causes = [Cause::BusWait, Cause::BusCommand, Cause::Transfer, Cause::PowerWait, Cause::Program];
        assert_eq!(causes.map(|cause| rig.charged(programs[1], cause)), [8, 6, 2, 22, 30]);
        assert_eq!([Cause::PowerWait, Cause::DieHostProgram].map(|cause| rig.charged(read, cause)), [18, 30]);
        assert_eq!(rig.end(read), 68 + READ);
        // The read of the third die asks at 46, and has room at 68.
        assert_eq!((rig.charged(free, Cause::PowerWait), rig.end(free)), (22, 68 + 10 + 2));
        let cap = rig.flash.power(SimTime(200)).and_then(|report| report.cap).expect("a cap");
        // The read of die 1 asks after that of die 2, and senses beside it: two reads need 16 mA.
        assert_eq!((cap.waits, cap.wait_ns), (2, 22 + 22));
    }
}

/// The least cap has room for one program, and not 1 uA less.
#[test]
fn the_least_cap_has_room_for_each_operation_alone() {
    let least = power(None, 4).min_cap(4);
    assert_eq!(least, Power((3 * IDLE + PROGRAMMING[0]) * 1_000));
    for (cap, is_refused) in [(least, false), (Power(least.0 - 1), true)] {
        let mut problems = kit::Problems::default();
        PowerConfig { cap: Some(cap), ..power(None, 4) }.problems(1, 4, &mut problems);
        assert_eq!(problems.to_string().contains("power.cap"), is_refused, "{problems}");
    }
}

/// A program is suspended for a read at 12. A program of another die takes the power, for which the read waits; then a
/// second one takes it, for which the suspended program waits after its resume command.
#[test]
fn a_suspended_program_asks_again_after_its_resume_command() {
    let config = FlashConfig { suspension: suspension(1, 9), ..small(2, "read_first") };
    let mut rig = rig(&config, &power(Some(20_000), 2));
    let program = rig.program(0, 0);
    let read = rig.read(0, 12);
    let other = rig.program(1, 9);
    rig.run_until(12);
    // The other program has the channel from 9 to 17, the suspend command from 17 to 20.
    rig.run_until(17);
    assert_eq!((rig.flash.dies[0].phase, rig.flash.dies[1].phase), (Phase::Suspending, Phase::Array));
    rig.run_until(22);
    // The read has its command on the channel from 22 to 28, and no room for sensing until 47.
    rig.run_until(46);
    assert_eq!(rig.flash.dies[0].phase, Phase::PowerWait);
    rig.run();
    assert_eq!((rig.end(other), rig.end(read)), (47, 47 + 10 + 2));
    assert_eq!(rig.charged(read, Cause::PowerWait), 47 - 28);
    // The resumption begins at 59.
    assert_eq!(rig.end(program), 59 + RESUME + (PROGRAM - 9));
    rig.ended.clear();
    // The same, with a second program that has power when the read has sensed.
    let start = rig.now + 1;
    let program = rig.program(0, start);
    let first = rig.read(0, start + 12);
    let second = rig.read(0, start + 60);
    let programs = [rig.program(1, start + 9), rig.program(1, start + 10)];
    rig.run();
    // The second program of die 1 asks at 47 + 8 = 55, has power when the read has sensed at 57, and ends at 87.
    assert_eq!(rig.end(programs[0]) - start, 47);
    assert_eq!(rig.end(first) - start, 59);
    assert_eq!(rig.end(programs[1]) - start, 57 + 30);
    // Its resume command begins at 59, and it waits from 66 to 87. The read at 60 suspends it again at once.
    let again = 87 + SUSPEND;
    assert_eq!(rig.end(second) - start, again + READ);
    assert_eq!(rig.end(program) - start, again + READ + RESUME + (PROGRAM - 9));
    // While it is suspended, the read of its die waits for power, too.
    assert_eq!(rig.charged(program, Cause::PowerWait), (47 - 28) + (87 - 66));
    assert_eq!(rig.charged(second, Cause::PowerWait), 87 - 66);
    assert_eq!(rig.out.operations.account(program).ledger().total().0, rig.end(program) - start);
}

/// A program with windows takes its time and that of the windows, to the nanosecond, and draws no more in total.
#[test]
fn a_program_with_windows_takes_their_time_exactly() {
    let lists: [&[f64]; 6] = [&[], &[0.4], &[0.01], &[0.2, 0.7], &[0.5, 0.51], &[0.1, 0.2, 0.3, 0.4, 0.99]];
    for (at, suspends) in lists.into_iter().flat_map(|at| [(at, false), (at, true)]) {
        let config = FlashConfig { suspension: suspension(1, 1).filter(|_| suspends), ..small(1, "read_first") };
        let mut rig = rig(&config, &PowerConfig { suspend: windows(at, true), ..power(None, 1) });
        rig.out.journal.enable(true);
        let program = rig.program(0, 100);
        rig.run();
        let rests = at.len() as u64 * (7 + 4);
        assert_eq!(rig.end(program), 100 + LOAD + PROGRAM + rests, "{at:?}");
        assert_eq!((rig.charged(program, Cause::PowerWait), rig.charged(program, Cause::Program)), (rests, PROGRAM));
        let report = rig.flash.power(SimTime(1_000)).expect("a meter");
        let charge = PROGRAMMING[0] * 10 + PROGRAMMING[1] * 20;
        assert_eq!(report.by_die, [u128::from(charge) * 1_000], "{at:?}");
        // The parts in the timeline, and the instants of their starts.
        let parts: Vec<(u64, u64)> = rig.out.journal.records.drain(..).filter_map(array_span).map(|(b, e, ..)| (b, e)).collect();
        let mut expected = Vec::new();
        let (mut from, mut now) = (0, 100 + LOAD);
        for until in at.iter().map(|at| (at * PROGRAM as f64) as u64).chain([PROGRAM]) {
            expected.push((now, now + until - from));
            now += until - from + 11;
            from = until;
        }
        assert_eq!(parts, expected, "{at:?}");
    }
}

fn array_span(record: Record) -> Option<(u64, u64, DieId, OperationKind)> {
    match record {
        Record::ArraySpan { die, kind, begin, end, .. } => Some((begin.0, end.0, die, kind)),
        _ => None,
    }
}

/// During a window from 20 to 31 an idle die begins nothing, unless the description lets it; one that is at work goes
/// on.
#[test]
fn idle_dies_wait_for_the_end_of_a_window() {
    let config = FlashConfig { channels: 3, ..small(1, "read_first") };
    for idle_chips_wait in [true, false] {
        let mut rig = rig(&config, &PowerConfig { suspend: windows(&[0.4], idle_chips_wait), ..power(None, 3) });
        rig.program(0, 0);
        let at_work = rig.read(1, 11);
        let held_back = [rig.read(2, 22), rig.read(2, 24)];
        let program = rig.program(1, 30);
        rig.run_until(25);
        assert_eq!(rig.flash.dies[0].phase, Phase::Window);
        assert_eq!(rig.flash.dies[2].clock.work() == Work::PowerWait, idle_chips_wait);
        rig.run();
        assert_eq!(rig.end(at_work), 11 + READ, "a read in progress goes on");
        let waits = if idle_chips_wait { [31 - 22, 31 - 24] } else { [0, 0] };
        assert_eq!(held_back.map(|slot| rig.charged(slot, Cause::PowerWait)), waits);
        assert_eq!(held_back.map(|slot| rig.end(slot)), [22 + waits[0] + READ, 22 + waits[0] + 2 * READ]);
        // The program of die 1 is pulled when the window has ended.
        assert_eq!(rig.end(program), if idle_chips_wait { 31 } else { 30 } + LOAD + PROGRAM + 11);
    }
}

/// Random loads with every combination of cap, order, windows, suspension and page buffers: everything ends, every
/// nanosecond has a cause, and the currents never exceed the cap at any instant.
#[test]
fn random_loads_stay_under_the_cap_and_end() {
    let mut rng = Rng::stream(3, "flash.control");
    let mut seen = [0u64; 3];
    for round in 0..240u32 {
        let suspension = suspension(2, 3).filter(|_| round % 2 == 0);
        let config = FlashConfig { suspension, channels: 2, ..small(2, ["read_first", "fifo"][(round as usize / 2) % 2]) };
        let room = [20_000, 28_000, 40_000, 200_000][rng.below(4) as usize];
        let mut power = power(Some(room).filter(|_| round % 5 != 0), 4);
        power.cap_order = [CapOrder::Fifo, CapOrder::ReadsFirst][rng.below(2) as usize];
        if round % 3 > 0 {
            power.suspend = windows([&[0.4][..], &[0.3, 0.31, 0.8]][rng.below(2) as usize], rng.chance(0.5));
        }
        let mut rig = rig(&config, &power);
        check_random_loads(&mut rig, round, &mut rng);
        let spans = std::mem::take(&mut rig.array_spans);
        if power.cap.is_some() {
            seen[0] += rig.flash.power(SimTime(rig.now)).and_then(|report| report.cap).expect("a cap").waits;
            assert!(greatest(&spans) <= room, "round {round}: {} of {room}", greatest(&spans));
        }
        seen[1] += u64::from(rig.flash.counters.suspensions > 0 && !power.suspend.is_empty());
        seen[2] += spans.len() as u64;
    }
    assert!(seen.iter().all(|count| *count > 30), "{seen:?}");
}

/// Returns the greatest current above that of dies at rest at any instant, from the parts of array phases in the order
/// of their ends.
pub(super) fn greatest(spans: &[(u64, u64, DieId, OperationKind)]) -> u64 {
    let mut changes: Vec<(u64, i64)> = Vec::new();
    let mut programmed = [0; 4];
    for &(begin, end, die, kind) in spans {
        let mut draw = |begin: u64, end: u64, current: u64| {
            if begin < end {
                changes.push((begin, (current - IDLE) as i64));
                changes.push((end, -((current - IDLE) as i64)));
            }
        };
        match kind {
            OperationKind::Read => draw(begin, end, SENSING),
            OperationKind::Program => {
                let from = std::mem::take(&mut programmed[die.index()]);
                let first = (begin + 10u64.saturating_sub(from)).min(end);
                draw(begin, first, PROGRAMMING[0]);
                draw(first, end, PROGRAMMING[1]);
                if from + (end - begin) < PROGRAM {
                    programmed[die.index()] = from + (end - begin);
                }
            }
            _ => draw(begin, end, ERASING),
        }
    }
    // At one instant, those who end come before those who begin.
    changes.sort_unstable();
    let (mut level, mut most) = (0, 0);
    for (_, change) in changes {
        level += change;
        most = most.max(level);
    }
    most as u64
}
