//! The cap on the power of the flash, and suspension windows of programs.

use super::loads::check_random_loads;
use super::*;
use crate::engine::control::Control;
use crate::power::{CapOrder, Constant, IdleScope, PowerConfig, Step, Steps, SuspendWindows, Waveform, Waveforms};
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
    vec![SuspendWindows {
        page_types: vec![0],
        at: at.to_vec(),
        length: Nanos(7),
        overhead: Nanos(4),
        overhead_current: None,
        idle_chips_wait,
        idle_scope: IdleScope::Drive,
    }]
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

/// With the scope of a channel only the idle dies of that channel wait. Dies 0 and 1 are on one channel, 2 and 3 on the
/// other; die 0 has a window from 20 to 31, die 2, whose program begins at 5, one from 25 to 36.
#[test]
fn idle_dies_wait_for_the_windows_of_their_channel() {
    let config = FlashConfig { channels: 2, ..small(2, "read_first") };
    for (idle_scope, until) in [(IdleScope::Drive, [36, 36, 36]), (IdleScope::Channel, [31, 31, 36])] {
        let mut suspend = windows(&[0.4], true);
        suspend[0].idle_scope = idle_scope;
        let mut rig = rig(&config, &PowerConfig { suspend, ..power(None, 4) });
        let programs = [rig.program(0, 0), rig.program(2, 5)];
        let early = rig.read(3, 22);
        let same = rig.read(1, 22);
        let late = rig.read(1, 27);
        let other = rig.read(3, 48);
        rig.run_until(23);
        let waits = [1, 3].map(|die| rig.flash.dies[die].clock.work() == Work::PowerWait);
        assert_eq!(waits, [true, idle_scope == IdleScope::Drive]);
        assert!(!rig.flash.power_rests());
        rig.run();
        assert_eq!(programs.map(|slot| rig.end(slot)), [LOAD + PROGRAM + 11, 5 + LOAD + PROGRAM + 11]);
        assert_eq!(rig.charged(same, Cause::PowerWait), until[0] - 22, "{idle_scope:?}");
        assert_eq!(rig.charged(late, Cause::PowerWait), until[1] - 27, "{idle_scope:?}");
        // A read of the other channel goes on if it is in progress when the window of that channel opens.
        let begins = if idle_scope == IdleScope::Drive { until[2] } else { 22 };
        assert_eq!((rig.charged(early, Cause::PowerWait), rig.end(early)), (begins - 22, begins + READ), "{idle_scope:?}");
        assert_eq!(rig.charged(other, Cause::PowerWait), 0);
        assert!(rig.flash.power_rests());
    }
    // Windows of one page type hold the channel back, those of the other the drive.
    let mut suspend = [windows(&[0.4], true), windows(&[0.4], true)].concat();
    (suspend[0].idle_scope, suspend[1].page_types) = (IdleScope::Channel, vec![1]);
    let mut control = Control::of(&PowerConfig { suspend, ..power(None, 4) }, None, 4, 2).expect("windows");
    let open = |control: &Control| [0, 1].map(|channel| control.is_open(channel));
    control.count_window(0, 1);
    assert_eq!(open(&control), [false, true]);
    control.count_window(1, 0);
    assert_eq!(open(&control), [true, true]);
    assert!(control.count_end(1, 0));
    assert_eq!(open(&control), [false, true]);
    assert!(control.count_end(0, 1));
    assert_eq!(open(&control), [false, false]);
}

/// A current of the overhead is drawn for the overhead of each window, 4 ns, and for no longer: its energy is that of
/// the program. Without one, and without an overhead, it is that of a die at rest.
#[test]
fn the_overhead_of_a_window_draws_its_current() {
    const OVERHEAD: u64 = 3_010;
    for (at, overhead, current) in [
        (&[0.4][..], 4, Some(OVERHEAD)),
        (&[0.2, 0.7], 4, Some(OVERHEAD)),
        (&[0.1, 0.2, 0.3, 0.4, 0.99], 4, Some(OVERHEAD)),
        (&[0.2, 0.7], 4, Some(0)),
        (&[0.2, 0.7], 0, Some(OVERHEAD)),
        (&[0.2, 0.7], 4, None),
    ] {
        let mut suspend = windows(at, true);
        (suspend[0].overhead, suspend[0].overhead_current) = (Nanos(overhead), current.map(Current));
        let config = small(1, "read_first");
        let mut rig = rig(&config, &PowerConfig { suspend, window: Nanos(2), ..power(None, 1) });
        rig.out.journal.enable(true);
        let program = rig.program(0, 100);
        let count = at.len() as u64;
        let end = 100 + LOAD + PROGRAM + count * (7 + overhead);
        // In the middle of the first overhead, half of it has been drawn.
        let first = (at[0] * PROGRAM as f64) as u64;
        let middle = 100 + LOAD + first + 7 + overhead / 2;
        rig.run_until(middle);
        let array = PROGRAMMING[0] * first.min(10) + PROGRAMMING[1] * first.saturating_sub(10);
        let drawn = current.filter(|_| overhead > 0).map_or(0, |current| current * (overhead / 2));
        let report = rig.flash.power(SimTime(middle)).expect("a meter");
        assert_eq!(report.by_die, [u128::from(array + drawn) * 1_000], "{at:?}, {overhead} ns, {current:?}");
        rig.run();
        assert_eq!(rig.end(program), end);
        let report = rig.flash.power(SimTime(1_000)).expect("a meter");
        let (charge, active) = (PROGRAMMING[0] * 10 + PROGRAMMING[1] * 20, PROGRAM);
        let own = current.map_or((0, 0), |current| (current * overhead * count, overhead * count));
        assert_eq!(report.by_die, [u128::from(charge + own.0) * 1_000], "{at:?}, {overhead} ns, {current:?}");
        assert_eq!(report.energy[OperationKind::Program as usize].iter().sum::<u128>(), report.by_die[0]);
        assert_eq!(report.idle, u128::from(IDLE * (1_000 - active - own.1)) * 1_000);
        // It is no part of the array phase in the timeline.
        let parts = rig.out.journal.records.drain(..).filter_map(array_span).map(|(begin, end, ..)| end - begin);
        assert_eq!(parts.sum::<u64>(), PROGRAM);
    }
}

/// Under a cap a die keeps the power of its overhead from the part before the window on. Room for 20 mA: a read of
/// another die, which needs 8 mA, asks at 27, in the window from 20 to 31. It has room beside an overhead that needs
/// 12 mA, and waits for the end of the window beside one that needs 1 uA more.
#[test]
fn the_overhead_of_a_window_counts_under_a_cap() {
    let config = FlashConfig { channels: 2, ..small(1, "read_first") };
    for (current, waits) in [(None, 0), (Some(12_000 + IDLE), 0), (Some(12_001 + IDLE), 4), (Some(20_000 + IDLE), 4)] {
        let mut suspend = windows(&[0.4], false);
        suspend[0].overhead_current = current.map(Current);
        let mut rig = rig(&config, &PowerConfig { suspend, ..power(Some(20_000), 2) });
        let program = rig.program(0, 0);
        let read = rig.read(1, 21);
        rig.run();
        assert_eq!((rig.charged(read, Cause::PowerWait), rig.end(read)), (waits, 21 + READ + waits), "{current:?}");
        assert_eq!(rig.end(program), LOAD + PROGRAM + 11, "{current:?}");
        assert!(rig.flash.power_rests());
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

/// The same with a current of the overhead and both scopes: the mean power of 2 ns never exceeds the cap.
#[test]
fn random_loads_with_overheads_stay_under_the_cap_and_end() {
    let mut rng = Rng::stream(4, "flash.control.overhead");
    let mut seen = [0u64; 2];
    for round in 0..120u32 {
        let suspension = suspension(2, 3).filter(|_| round % 2 == 0);
        let config = FlashConfig { suspension, channels: 2, ..small(2, ["read_first", "fifo"][(round as usize / 2) % 2]) };
        let room = [20_000, 28_000, 40_000, 200_000][rng.below(4) as usize];
        let mut power = PowerConfig { window: Nanos(2), ..power(Some(room).filter(|_| round % 5 != 0), 4) };
        power.cap_order = [CapOrder::Fifo, CapOrder::ReadsFirst][rng.below(2) as usize];
        power.suspend = windows([&[0.4][..], &[0.3, 0.31, 0.8]][rng.below(2) as usize], rng.chance(0.5));
        power.suspend[0].overhead_current = Some(Current([0, 700, 9_010, 20_010][rng.below(4) as usize]));
        power.suspend[0].idle_scope = [IdleScope::Drive, IdleScope::Channel][rng.below(2) as usize];
        let mut rig = rig(&config, &power);
        check_random_loads(&mut rig, round, &mut rng);
        let report = rig.flash.power(SimTime(rig.now)).expect("a meter");
        if let Some(cap) = report.cap {
            let most = cap.cap.0 as f64 / 1e9;
            assert!(report.windows.peak_w <= most * (1.0 + 1e-12), "round {round}: {} of {most} W", report.windows.peak_w);
            seen[0] += cap.waits;
        }
        seen[1] += rig.flash.counters.suspensions;
        assert!(rig.flash.power_rests());
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
