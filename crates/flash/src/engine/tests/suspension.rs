//! Suspension of programs and erases.

use super::*;

/// Returns the end of a program that starts at 0 and the ends of the reads that arrive meanwhile, and the number of
/// suspensions. `may_suspend`: least remaining array time and largest number of suspensions; `None`: none at all.
fn program_and_reads(arrivals: &[u64], may_suspend: Option<(u64, u32)>) -> (u64, Vec<u64>, u32) {
    let (least, most) = may_suspend.unwrap_or((u64::MAX, 0));
    let (mut begin, mut remaining, mut suspensions, mut ends) = (LOAD, PROGRAM, 0, Vec::new());
    let program_end = loop {
        let end = begin + remaining;
        let request = arrivals.get(ends.len()).map(|&arrival| arrival.max(begin));
        let Some(at) = request.filter(|&at| at < end && end - at >= least && suspensions < most) else { break end };
        suspensions += 1;
        remaining = end - at;
        let mut now = at + SUSPEND;
        while arrivals.get(ends.len()).is_some_and(|&arrival| arrival <= now) {
            now += READ;
            ends.push(now);
        }
        begin = now + RESUME;
    };
    let mut now = program_end;
    for &arrival in &arrivals[ends.len()..] {
        now = now.max(arrival) + READ;
        ends.push(now);
    }
    (program_end, ends, suspensions)
}

/// Runs a program and reads on a die, from an instant at which it is at rest, and compares with the model.
fn check_program_and_reads(rig: &mut Rig, arrivals: &[u64], may_suspend: Option<(u64, u32)>) {
    let (start, suspended_before) = (rig.now + 1, rig.flash.counters.suspensions);
    rig.ended.clear();
    let program = rig.program(0, start);
    let reads: Vec<u32> = arrivals.iter().map(|&arrival| rig.read(0, start + arrival)).collect();
    rig.run();
    let (end, ends, suspensions) = program_and_reads(arrivals, may_suspend);
    let case = format!("reads at {arrivals:?}, {may_suspend:?}");
    assert_eq!(rig.flash.counters.suspensions - suspended_before, u64::from(suspensions), "{case}");
    assert_eq!(rig.end(program) - start, end, "{case}");
    assert_eq!(reads.iter().map(|&read| rig.end(read) - start).collect::<Vec<_>>(), ends, "{case}");
    // Every nanosecond is charged once, and only the time in the array as programming.
    assert_eq!(
        (rig.out.operations.account(program).ledger().total().0, rig.charged(program, Cause::Program)),
        (end, PROGRAM),
        "{case}"
    );
    assert_eq!(rig.charged(program, Cause::DieHeld), u64::from(suspensions) * (SUSPEND + RESUME), "{case}");
    for ((&read, arrival), end) in reads.iter().zip(arrivals).zip(ends) {
        assert_eq!(rig.out.operations.account(read).ledger().total().0, end - arrival, "{case}");
    }
    [&reads[..], &[program]].concat().into_iter().for_each(|slot| rig.out.operations.release(slot));
}

/// A program and up to three reads at every later instant, against the model: the program is suspended at once if at
/// least
/// `least_remaining` of its array phase is left, and not one nanosecond later, and at most so many times; reads that
/// arrive until the die would resume are served in the same suspension.
#[test]
fn a_program_is_suspended_exactly_while_that_is_allowed() {
    let all = |rig: &mut Rig, last: u64, step: usize, may_suspend: Option<(u64, u32)>| {
        for first in 1..=last {
            check_program_and_reads(rig, &[first], may_suspend);
            for second in (first..=last).step_by(step) {
                check_program_and_reads(rig, &[first, second], may_suspend);
                for third in (second..=last).step_by(step) {
                    check_program_and_reads(rig, &[first, second, third], may_suspend);
                }
            }
        }
    };
    let mut config = small(1, "read_first");
    config.suspension = suspension(5, 2);
    all(&mut Rig::new(&config), 60, 1, Some((5, 2)));
    for (least, most) in [(0, 1), (1, 3), (PROGRAM, 2), (PROGRAM + 1, 2), (5, 0)] {
        config.suspension = suspension(least, most);
        all(&mut Rig::new(&config), 60, 7, Some((least, most)));
    }
    // Neither without the configuration nor under a scheduler that suspends nothing.
    config.suspension = None;
    all(&mut Rig::new(&config), 60, 7, None);
    config = FlashConfig { suspension: suspension(5, 2), ..small(1, "fifo") };
    all(&mut Rig::new(&config), 60, 7, None);
}

/// Which operations may be suspended follows the configuration and the kind of the operation.
#[test]
fn only_the_configured_kinds_of_operation_are_suspended() {
    for (program, erase) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut config = small(1, "read_first");
        config.suspension = suspension(1, 9).map(|rule| Suspension { program, erase, ..rule });
        for kind in OperationKind::ALL {
            // Both a read for the host and a relocation's read arrive while the array works.
            for (reason, gives_way) in [(Reason::Host, true), (Reason::Rmw, true), (Reason::Gc, false)] {
                let mut rig = Rig::new(&config);
                rig.arrive(kind, Reason::Gc, 0, 0);
                rig.arrive(OperationKind::Read, reason, 0, 11);
                rig.run();
                let allowed = match kind {
                    OperationKind::Program => program,
                    OperationKind::Erase | OperationKind::LazyErase => erase,
                    OperationKind::Read | OperationKind::Copyback => false,
                };
                let expected = u64::from(allowed && gives_way);
                assert_eq!(rig.flash.counters.suspensions, expected, "{kind:?} for {reason:?}, {:?}", config.suspension);
            }
        }
    }
}

/// From the fill of the write buffer that the configuration names, and from no lower one, a program goes before reads:
/// it is not suspended, and one that is suspended resumes before the read that waits.
#[test]
fn a_full_write_buffer_overrules_suspension() {
    let capacity = 8;
    for (below, fill) in [0.0, 0.5, 0.6, 1.0].into_iter().flat_map(|below| (0..=capacity).map(move |fill| (below, fill))) {
        let is_full = fill as f64 / capacity as f64 >= below;
        let mut config = small(1, "read_first");
        config.suspension = suspension(1, 9).map(|rule| Suspension { buffer_below: Some(below), ..rule });
        let case = format!("{fill} of {capacity} units, below {below}");
        let begin = LOAD + 2;
        // The buffer has the fill when the read comes.
        let mut rig = Rig::new(&config);
        (rig.out.signals.buffer_capacity_pages, rig.out.signals.buffered_pages) = (capacity, fill);
        let program = rig.program(0, 0);
        let read = rig.read(0, begin);
        rig.run();
        assert_eq!(rig.flash.counters.suspensions, u64::from(!is_full), "{case}");
        assert_eq!(rig.end(program) < rig.end(read), is_full, "{case}");
        // It has it from the suspension on: of two reads the second waits for the program.
        let mut rig = Rig::new(&config);
        rig.out.signals.buffer_capacity_pages = capacity;
        let program = rig.program(0, 0);
        let reads = [begin, begin + 1].map(|at| rig.read(0, at));
        rig.run_to(begin + 1);
        let was_suspended = below > 0.0;
        assert_eq!(rig.flash.counters.suspensions, u64::from(was_suspended), "{case}");
        rig.out.signals.buffered_pages = fill;
        rig.run();
        assert_eq!(rig.end(program) < rig.end(reads[0]), is_full || !was_suspended, "{case}: the first read");
        assert_eq!(rig.end(program) < rig.end(reads[1]), is_full || !was_suspended, "{case}: the second read");
    }
    // A drive without a write buffer has no fill.
    let mut config = small(1, "read_first");
    config.suspension = suspension(1, 9).map(|rule| Suspension { buffer_below: Some(0.0), ..rule });
    let mut rig = Rig::new(&config);
    rig.program(0, 0);
    rig.read(0, LOAD + 2);
    rig.run();
    assert_eq!(rig.flash.counters.suspensions, 1);
}

/// A program on die 0 at 0, a read for it at every instant, and a program on die 1 whose transfer occupies the channel
/// from every instant on: the suspend command waits for the channel, and is withdrawn if the array phase ends first,
/// even at the very instant at which the channel becomes free, or if less than `least_remaining` is left of it.
#[test]
fn a_suspend_command_that_gets_the_channel_too_late_is_withdrawn() {
    let mut config = small(3, "read_first");
    let array_end = LOAD + PROGRAM;
    let instants = (LOAD..array_end).flat_map(|read| (0..=array_end).map(move |other| (read, other)));
    for (least, (read_at, other_at)) in [0, 1, 4, 20].into_iter().flat_map(|least| instants.clone().map(move |at| (least, at))) {
        config.suspension = suspension(least, 1);
        let mut rig = Rig::new(&config);
        let program = rig.program(0, 0);
        rig.program(1, other_at);
        let read = rig.read(0, read_at);
        // A third die, which asks for the channel at the instant at which the array phase ends.
        rig.read(2, array_end);
        rig.run();
        // The other transfer may itself wait for the transfer of the first program. At one instant, the read asks
        // for the channel on its arrival and the other program when it is dispatched.
        let transfer = other_at.max(LOAD)..other_at.max(LOAD) + LOAD;
        let behind = other_at < read_at && transfer.contains(&read_at);
        let granted = if behind { transfer.end } else { read_at };
        let suspended = granted < array_end && array_end - granted >= least;
        let case = format!("read at {read_at}, program at {other_at}, {least} left");
        assert_eq!(rig.flash.counters.suspensions, u64::from(suspended), "{case}");
        assert!(suspended || rig.end(program) == array_end, "{case}");
        assert_eq!(rig.out.operations.account(program).ledger().total().0, rig.end(program));
        assert_eq!(rig.charged(program, Cause::Program), PROGRAM);
        assert_eq!(rig.out.operations.account(read).ledger().total().0, rig.end(read) - read_at);
    }
}
