//! Dies and channels by themselves, event by event.

use super::*;
use crate::config::tests::example;
use crate::counters::Utilisation;
use crate::interface::Phases;
use crate::per_page_type::PerPageType;
use crate::scheduler::SchedulerConfig;
use kit::{CommandId, TransactionId, TransferRate, UNIT_BYTES};
use std::collections::VecDeque;

mod cache;
mod control;
mod loads;
mod making_room;
mod page_buffers;
mod retry;
mod suspension;

// Times of the phases \[ns\], in which an operation is short enough to try every instant.
const SENSE: u64 = 10;
const READ: u64 = 6 + SENSE + 2;
const LOAD: u64 = 6 + 2;
const PROGRAM: u64 = 30;
const SUSPEND: u64 = 3 + 2;
const RESUME: u64 = 3 + 4;
// Time that data is on its way before its program can start, where it is encoded.
const ENCODE: u64 = 12;

/// Returns a flash of dies on one channel. A cycle takes 1 ns, a unit 2 ns on the channel; the interface has no
/// other times.
fn small(dies: u32, scheduler: &str) -> FlashConfig {
    let none = Nanos::ZERO;
    let mut config = example();
    config.chips_per_channel = dies;
    config.scheduler = SchedulerConfig::named(scheduler).expect("listed");
    config.phases = Some(Phases {
        t_cycle: Nanos(1),
        t_cs: none,
        t_adl: none,
        t_wb: none,
        t_rr: none,
        t_ccs: none,
        t_wpst: none,
        t_dbsy: none,
    });
    config.transfer_rate = TransferRate(UNIT_BYTES * 500_000_000);
    config.read_time = PerPageType::One(Nanos(SENSE));
    config.program_time = PerPageType::One(Nanos(PROGRAM));
    config.erase_time = Nanos(40);
    config.write_modes[1].program_scale = 1.0;
    config
}

fn suspension(least_remaining: u64, most: u32) -> Option<Suspension> {
    Some(Suspension {
        program: true,
        erase: true,
        suspend_time: Nanos(2),
        resume_time: Nanos(4),
        least_remaining: Nanos(least_remaining),
        most,
        buffer_below: None,
    })
}

/// A flash, and what a drive's router does for it.
struct Rig {
    flash: Flash,
    out: Outbox,
    now: u64,
    /// Operations that each die can pull, oldest first.
    offered: Vec<VecDeque<u32>>,
    urgent_move: bool,
    /// Operations that have ended, with the instants.
    ended: Vec<(u32, u64)>,
    /// Time from the end of a read to the arrival of its data in the controller's memory.
    return_time: u64,
    /// True if the programs of a load are encoded.
    encodes: bool,
    /// Parts of array phases in the loads so far, where power is measured: start, end, die and kind.
    array_spans: Vec<(u64, u64, DieId, OperationKind)>,
}

/// Added to the slot of a read in the event of that arrival.
const RETURNS: u32 = 1 << 20;

impl Rig {
    fn new(config: &FlashConfig) -> Rig {
        let geometry = config.geometry(1, kit::UnitSize::default());
        let (dies, channels) = (geometry.die_count as usize, geometry.shape.channels as usize);
        Rig {
            flash: Flash::new(config, &[], &geometry, 1),
            out: Outbox::new(dies, channels),
            now: 0,
            offered: vec![VecDeque::new(); dies],
            urgent_move: false,
            ended: Vec::new(),
            return_time: 0,
            encodes: false,
            array_spans: Vec::new(),
        }
    }

    /// Returns a rig whose channels have `count` page buffers each, and whose reads are in the controller's memory
    /// `return_time` after their end.
    fn with_buffers(config: &FlashConfig, count: u32, return_time: u64) -> Rig {
        let mut rig = Rig { return_time, ..Rig::new(config) };
        rig.flash.use_page_buffers(count);
        rig
    }

    /// Adds an operation on one unit that arrives at an instant. Returns its slot.
    fn arrive(&mut self, kind: OperationKind, reason: Reason, die: u32, at: u64) -> u32 {
        let units = u32::from(matches!(kind, OperationKind::Read | OperationKind::Program));
        let slot = self.out.operations.add(Operation { kind, reason, die: DieId(die), units, pages: 1, ..Operation::default() });
        self.out.events.push(SimTime(at), Class::Arrival, Event::Arrival(CommandId(slot)));
        slot
    }

    fn read(&mut self, die: u32, at: u64) -> u32 {
        self.arrive(OperationKind::Read, Reason::Host, die, at)
    }

    fn program(&mut self, die: u32, at: u64) -> u32 {
        self.arrive(OperationKind::Program, Reason::Host, die, at)
    }

    fn handle(&mut self, event: Event) {
        let now = SimTime(self.now);
        match event {
            Event::Die { die, generation } => {
                let done = self.flash.die_event(die, generation, now, &mut self.out).map(|ended| ended.slot);
                self.ended.extend(done.map(|slot| (slot, now.0)));
                let read = done.filter(|slot| self.out.operations[*slot].kind == OperationKind::Read);
                if let Some(slot) = read.filter(|_| self.flash.has_page_buffers()) {
                    let returns = Event::Step(TransactionId(RETURNS + slot));
                    self.out.events.push(now + Nanos(self.return_time), Class::Done, returns);
                }
            }
            Event::CacheRegister(die) => {
                let done = self.flash.cache_event(die, now, &mut self.out);
                self.ended.extend(done.map(|ended| (ended.slot, now.0)));
            }
            Event::PageBufferFree(channel) => self.flash.page_buffer_free(channel, now, &mut self.out),
            Event::Step(TransactionId(id)) if id >= RETURNS => {
                let die = self.out.operations[id - RETURNS].die;
                self.flash.read_received(die, None, now, &mut self.out);
            }
            Event::ChannelFree(channel) => self.flash.bus_event(channel, now, &mut self.out),
            Event::ArrayDue { die, generation } => self.flash.array_due(die, generation, now, &mut self.out),
            Event::Step(TransactionId(die)) => {
                let pending = self.flash.dies[die as usize].pending_program;
                self.out.operations.account_mut(pending).charge_to(Cause::EccWait, now);
                self.flash.staged(DieId(die), now, &mut self.out);
            }
            Event::Arrival(CommandId(slot)) => {
                let Operation { kind, die, .. } = self.out.operations[slot];
                if kind == OperationKind::Read {
                    self.flash.push_read(slot, now, &mut self.out);
                } else {
                    self.offered[die.index()].push_back(slot);
                    if self.flash.dies[die.index()].is_free() {
                        self.out.ready.mark(die);
                    }
                }
            }
            other => unreachable!("{other:?}"),
        }
    }

    /// Pulls an operation for a die, unless the die must wait for a page buffer. Returns false if there is none.
    fn pull(&mut self, die: DieId) -> bool {
        let now = SimTime(self.now);
        let first = self.offered[die.index()].front();
        let programs = first.is_some_and(|slot| self.out.operations[*slot].kind == OperationKind::Program);
        if programs && !self.flash.may_program(die) {
            self.flash.starve(die, self.urgent_move, now, &mut self.out);
            return true;
        }
        let slot = self.offered[die.index()].pop_front();
        if let Some(slot) = slot {
            if self.out.operations[slot].encode > 0 {
                self.flash.stage(slot, now, &mut self.out);
                self.out.events.push(now + Nanos(ENCODE), Class::Done, Event::Step(TransactionId(die.0)));
            } else {
                self.flash.start(slot, now, &mut self.out);
            }
        }
        slot.is_some()
    }

    fn dispatch(&mut self, die: DieId) {
        let now = SimTime(self.now);
        let mut demand = Demand { urgent_move: self.urgent_move, oldest_write: None };
        loop {
            match self.flash.dispatch(die, &demand, now, &mut self.out) {
                Dispatch::Busy | Dispatch::Started => return,
                Dispatch::PullUrgent if !self.pull(die) => demand.urgent_move = false,
                Dispatch::PullUrgent => return,
                Dispatch::Pull { reads_wait } => {
                    let starts = self.pull(die) || reads_wait && self.flash.dispatch_waiting_read(die, false, now, &mut self.out);
                    if !starts {
                        self.flash.relieve(die, now, &mut self.out);
                    }
                    return;
                }
            }
        }
    }

    /// Handles all events of an instant, in the order of a drive: completions, arrivals, dispatches, channels.
    fn instant(&mut self, at: u64) {
        self.now = at;
        loop {
            while let Some(event) = self.out.events.pop_at(SimTime(at), Class::Arrival) {
                self.handle(event);
            }
            if !self.out.ready.is_empty() {
                let mut index = 0;
                while let Some(die) = self.out.ready.take(index) {
                    index += 1;
                    self.dispatch(die);
                }
                self.out.ready.clear();
            } else if let Some(event) = self.out.events.pop_at(SimTime(at), Class::Timer) {
                self.handle(event);
            } else {
                break;
            }
        }
        self.check_nothing_idles();
        let has_outgoing = |index: &u32| self.flash.has_outgoing(DieId(*index));
        let works = |(index, die): &(u32, &Die)| die.running != NONE || die.suspended.is_some() || has_outgoing(index);
        assert_eq!(self.out.signals.busy_dies as usize, (0..).zip(&self.flash.dies).filter(works).count());
    }

    /// Asserts that no channel is idle while a die waits for it, and no die while an operation waits for it.
    fn check_nothing_idles(&self) {
        for channel in &self.flash.channels {
            assert!(!channel.has_waiting() || channel.free_at().0 > self.now, "a channel idles at {}", self.now);
        }
        let signals = &self.out.signals;
        for buffers in self.flash.page_buffers.iter().flatten() {
            let is_held_back = |die: DieId| self.flash.control.as_ref().is_some_and(|control| control.is_held_back(die));
            let next = buffers.next().filter(|waiting| !is_held_back(waiting.die));
            assert_eq!(next, None, "a page buffer idles at {}", self.now);
        }
        let is_free = |die: &Die| die.is_free() && !matches!(die.clock.work(), Work::Starved | Work::PowerWait);
        for (index, die) in self.flash.dies.iter().enumerate().filter(|(_, die)| is_free(die)) {
            // Beside data in the cache register only reads begin, and the turn may be that of another operation.
            let has_outgoing = self.flash.has_outgoing(DieId(index as u32));
            if has_outgoing && self.urgent_move {
                continue;
            }
            let pulled = if has_outgoing { 0 } else { self.offered[index].len() as u32 };
            let waiting = pulled + die_reads(die, signals.hold, signals.die_reads[index]);
            assert_eq!(waiting, 0, "die {index} idles at {}", self.now);
        }
    }

    /// Handles all events up to and including an instant.
    fn run_until(&mut self, end: u64) {
        while let Some(at) = self.out.events.next_time().filter(|at| at.0 <= end) {
            self.instant(at.0);
        }
        self.now = end;
    }

    /// Handles all events. Afterwards the flash is at rest.
    fn run(&mut self) {
        while let Some(at) = self.out.events.next_time() {
            self.instant(at.0);
        }
        let signals = &self.out.signals;
        assert_eq!((signals.busy_dies, signals.channel_busy_dies.iter().sum::<u32>()), (0, 0));
        assert!(signals.die_reads.iter().all(|&reads| reads == 0) && !self.flash.has_armed_channel());
        assert!(self.flash.page_buffers_rest(), "all page buffers are free");
        assert!(self.flash.cache_registers_rest(), "all cache registers are empty");
        assert!(self.flash.power_rests(), "nobody waits for power or has any");
        assert!(self.flash.dies.iter().all(|die| die.phase == Phase::Rest && die.is_free()));
    }

    /// Handles the events up to an instant.
    fn run_to(&mut self, last: u64) {
        while let Some(at) = self.out.events.next_time().filter(|at| at.0 <= last) {
            self.instant(at.0);
        }
    }

    /// Returns the instant at which an operation has ended.
    fn end(&self, slot: u32) -> u64 {
        self.ended.iter().find(|(ended, _)| *ended == slot).expect("it has ended").1
    }

    fn charged(&self, slot: u32, cause: Cause) -> u64 {
        self.out.operations.account(slot).ledger().get(cause).0
    }
}

/// Returns the number of reads that a free die would start: host reads are held back while a policy holds other work.
fn die_reads(die: &Die, hold: bool, reads: u32) -> u32 {
    if hold { u32::from(die.relocation_reads.head != NONE) } else { reads }
}

/// Each kind of operation on an idle flash: its phases with their ends, and its time by cause.
#[test]
fn every_operation_passes_its_phases_on_time() {
    use Cause::{BusCommand, Sense, Transfer};
    use OperationKind::{Copyback, Erase, LazyErase, Program, Read};
    type Case = (OperationKind, bool, &'static [(u64, Phase)], &'static [(Cause, u64)]);
    let cases: [Case; 8] = [
        (Read, false, &[(16, Phase::Array), (18, Phase::Data)], &[(BusCommand, 6), (Sense, 10), (Transfer, 2)]),
        (Program, false, &[(38, Phase::Array)], &[(BusCommand, 6), (Transfer, 2), (Cause::Program, 30)]),
        (Erase, false, &[(44, Phase::Array)], &[(BusCommand, 4), (Cause::DieErase, 40)]),
        (LazyErase, false, &[(12, Phase::Array)], &[(BusCommand, 4), (Cause::DieErase, 8)]),
        (Copyback, false, &[(52, Phase::Array)], &[(BusCommand, 12), (Sense, 10), (Cause::Program, 30)]),
        // Where suspension is possible, the start of the array phase is an event, except for reads.
        (Read, true, &[(16, Phase::Array), (18, Phase::Data)], &[(BusCommand, 6), (Sense, 10), (Transfer, 2)]),
        (Program, true, &[(8, Phase::Loading), (38, Phase::Array)], &[(BusCommand, 6), (Transfer, 2), (Cause::Program, 30)]),
        (Erase, true, &[(4, Phase::Loading), (44, Phase::Array)], &[(BusCommand, 4), (Cause::DieErase, 40)]),
    ];
    for (kind, suspends, phases, parts) in cases {
        let mut config = small(1, "read_first");
        config.suspension = suspension(5, 1).filter(|_| suspends);
        let mut rig = Rig::new(&config);
        let slot = rig.arrive(kind, Reason::Host, 0, 100);
        rig.run_until(100);
        let mut begin = 0;
        for &(end, phase) in phases {
            for at in begin..end {
                rig.run_until(100 + at);
                assert_eq!((rig.flash.dies[0].phase, rig.ended.len()), (phase, 0), "{kind:?} after {at}");
            }
            begin = end;
        }
        rig.run_until(100 + begin);
        assert_eq!((rig.flash.dies[0].phase, rig.end(slot)), (Phase::Rest, 100 + begin), "{kind:?}");
        let mut ledger = Ledger::default();
        parts.iter().for_each(|&(cause, span)| ledger.charge(cause, Nanos(span)));
        assert_eq!(*rig.out.operations.account(slot).ledger(), ledger, "{kind:?}");
    }
}

/// A program whose data takes 12 ns to encode, and two reads at every instant: the die serves reads until the data is
/// encoded, and then the program goes before any read.
#[test]
fn a_die_serves_reads_until_its_program_is_encoded() {
    let mut rig = Rig::new(&small(1, "read_first"));
    for (first, second) in (1..60).flat_map(|first| (first..60).map(move |second| (first, second))) {
        let start = rig.now + 1;
        rig.ended.clear();
        let program = rig.program(0, start);
        (rig.out.operations[program].mode, rig.out.operations[program].encode) = (kit::ModeId(1), 1);
        let reads = [first, second].map(|at| rig.read(0, start + at));
        rig.run();
        let (mut now, mut ends, mut program_end) = (0, Vec::new(), None);
        for arrival in [first, second] {
            if program_end.is_none() && now.max(arrival) >= ENCODE {
                now = now.max(ENCODE) + LOAD + PROGRAM;
                program_end = Some(now);
            }
            now = now.max(arrival) + READ;
            ends.push(now);
        }
        let program_end = program_end.unwrap_or(now.max(ENCODE) + LOAD + PROGRAM);
        let case = format!("reads at {first} and {second}");
        assert_eq!(reads.map(|read| rig.end(read) - start).to_vec(), ends, "{case}");
        assert_eq!(rig.end(program) - start, program_end, "{case}");
        assert_eq!(rig.charged(program, Cause::EccWait), ENCODE, "{case}");
        assert_eq!(rig.charged(program, Cause::DieHostRead), program_end - ENCODE - LOAD - PROGRAM, "{case}");
        assert_eq!(rig.out.operations.account(program).ledger().total().0, program_end, "{case}");
    }
}

/// Reads and steps of an urgent move, all waiting from the start, in every number up to five: the die takes them in
/// turns, beginning with a read, for as long as both wait. Without urgency, or when all moves have been taken, the
/// scheduler decides.
#[test]
fn reads_and_an_urgent_move_take_turns() {
    for (reads, steps) in (0..=5usize).flat_map(|reads| (0..=5usize).map(move |steps| (reads, steps))) {
        for (urgent, reason) in [(false, Reason::Host), (true, Reason::Host), (true, Reason::Gc)] {
            let mut rig = Rig::new(&small(1, "read_first"));
            rig.urgent_move = urgent;
            for number in 0..reads + steps {
                let kind = if number < reads { OperationKind::Read } else { OperationKind::Program };
                rig.arrive(kind, reason, 0, 0);
            }
            rig.run();
            let order: String = rig.ended.iter().map(|&(slot, _)| if (slot as usize) < reads { 'r' } else { 'm' }).collect();
            let turns = if urgent { reads.min(steps) } else { 0 };
            let expected = "rm".repeat(turns) + &"r".repeat(reads - turns) + &"m".repeat(steps - turns);
            assert_eq!(order, expected, "{reads} reads, {steps} steps, urgent: {urgent}, {reason:?}");
        }
    }
}

/// A die with a program in progress, one whose data is being encoded, or one that is suspended for a read, and that is
/// dispatched to up to three times: the turn stays where it was.
#[test]
fn a_busy_die_gives_no_turn_away() {
    for (state, dispatches) in (0..3).flat_map(|state| (0..4).map(move |dispatches| (state, dispatches))) {
        let mut config = small(1, "read_first");
        config.suspension = suspension(1, 1).filter(|_| state == 2);
        let mut rig = Rig::new(&config);
        let program = rig.program(0, 0);
        if state == 1 {
            (rig.out.operations[program].mode, rig.out.operations[program].encode) = (kit::ModeId(1), 1);
        }
        rig.read(0, LOAD + 1);
        rig.run_until(LOAD + 1 + SUSPEND);
        assert!(!rig.flash.dies[0].is_free());
        let demand = Demand { urgent_move: true, oldest_write: None };
        for _ in 0..dispatches {
            assert_eq!(rig.flash.dispatch(DieId(0), &demand, SimTime(rig.now), &mut rig.out), Dispatch::Busy, "{state}");
        }
        assert_eq!(rig.flash.turns().collect::<Vec<_>>(), [false], "{state}, {dispatches}");
        rig.run();
    }
}

#[test]
fn a_saved_drive_keeps_the_turn() {
    for last_turn_was_read in [false, true] {
        let mut rig = Rig::new(&small(2, "read_first"));
        rig.urgent_move = true;
        rig.flash.restore_turns(&[last_turn_was_read, !last_turn_was_read]);
        assert_eq!(rig.flash.turns().collect::<Vec<_>>(), [last_turn_was_read, !last_turn_was_read]);
        let read = rig.read(0, 0);
        let step = rig.program(0, 0);
        rig.run();
        let first = if last_turn_was_read { step } else { read };
        assert_eq!(rig.ended[0].0, first);
    }
}

/// While a policy holds other work back, relocations go on, and a host read starts only for the sake of a block that
/// must be erased.
#[test]
fn host_reads_wait_while_a_policy_holds_them() {
    let mut config = small(1, "read_first");
    config.suspension = suspension(1, 9);
    let mut rig = Rig::new(&config);
    rig.out.signals.hold = true;
    let host = [0, 0].map(|at| rig.read(0, at));
    let relocation = rig.arrive(OperationKind::Read, Reason::Gc, 0, 0);
    rig.program(0, 0);
    rig.read(0, READ + LOAD + 5);
    rig.run_until(READ + LOAD + PROGRAM);
    assert_eq!((rig.ended.len(), rig.end(relocation)), (2, READ));
    assert_eq!(rig.flash.counters.suspensions, 0, "a held read suspends nothing");
    let now = SimTime(rig.now);
    assert!(!rig.flash.dispatch_waiting_read(DieId(0), false, now, &mut rig.out));
    assert!(rig.flash.dispatch_waiting_read(DieId(0), true, now, &mut rig.out));
    rig.run_until(now.0 + READ);
    assert_eq!((rig.ended.len(), rig.end(host[0])), (3, now.0 + READ));
    rig.out.signals.hold = false;
    rig.out.ready.mark(DieId(0));
    rig.instant(rig.now);
    rig.run();
    assert_eq!((rig.ended.len(), rig.end(host[1])), (5, now.0 + 2 * READ));
}

#[test]
fn phases_have_the_ranks_of_their_scheduler() {
    for name in SchedulerConfig::NAMES {
        let flash = Rig::new(&small(1, name)).flash;
        for phase in crate::scheduler::tests::PHASES {
            assert_eq!(flash.bus_ranks[phase as usize], flash.scheduler.bus_rank(phase), "{name}: {phase:?}");
        }
    }
}

/// Two reads on die 0 and one on die 1, whose data waits for the data of the first. When the first ends, the command
/// of the next read on its die is there before the channel is granted again, and goes first if the scheduler ranks it
/// higher.
#[test]
fn a_channel_is_granted_after_the_dispatches_of_its_instant() {
    for (scheduler, waits_until) in [("read_first", 36 + 6), ("fifo", 36)] {
        let mut config = small(2, scheduler);
        // 20 ns for a unit: die 0 transfers from 16 to 36, and die 1 has sensed at 22.
        config.transfer_rate = TransferRate(UNIT_BYTES * 50_000_000);
        let mut rig = Rig::new(&config);
        rig.read(0, 0);
        let neighbour = rig.read(1, 0);
        rig.read(0, 0);
        rig.run();
        assert_eq!((rig.ended[0].1, rig.end(neighbour)), (36, waits_until + 20), "{scheduler}");
        assert_eq!(rig.charged(neighbour, Cause::BusWait), 6 + (waits_until - 22), "{scheduler}");
    }
}

/// A read takes its die 18 ns and the channel 8 ns; a program 38 ns and 8 ns; encoding 12 ns.
#[test]
fn utilisation_is_the_share_of_time_that_a_resource_is_busy() {
    let mut rig = Rig::new(&small(2, "read_first"));
    rig.read(0, 0);
    rig.run();
    let mut start = rig.flash.snapshot(SimTime(50));
    rig.read(0, 60);
    let program = rig.program(1, 70);
    (rig.out.operations[program].mode, rig.out.operations[program].encode) = (kit::ModeId(1), 1);
    rig.run_until(76);
    let half = rig.flash.utilisation(SimTime(76), &start);
    assert_eq!(half.dies[0], 16.0 / 26.0);
    rig.run();
    // Power was off for half of the time.
    start.exclude(Nanos(100));
    let Utilisation { channels, dies, writing, page_buffers } = rig.flash.utilisation(SimTime(250), &start);
    assert_eq!((channels, dies), (vec![(8.0 + 8.0) / 100.0], vec![18.0 / 100.0, 38.0 / 100.0]));
    assert_eq!((writing, page_buffers), (vec![0.0, 38.0 / 100.0], Vec::new()));
}

/// Random array times come from a stream of their own, which a saved drive continues.
#[test]
fn random_array_times_continue_after_a_restart() {
    let config = FlashConfig { time_distribution: TimeDistribution::Exponential, ..small(1, "read_first") };
    let spans = |rig: &mut Rig, count: usize| -> Vec<u64> {
        let span = |rig: &mut Rig| {
            let begin = rig.now + 1;
            let read = rig.read(0, begin);
            rig.run();
            rig.end(read) - begin
        };
        (0..count).map(|_| span(rig)).collect()
    };
    let mut rig = Rig::new(&config);
    let all = spans(&mut rig, 2000);
    let mean = all.iter().sum::<u64>() as f64 / all.len() as f64 - (READ - SENSE) as f64;
    assert!((mean - SENSE as f64).abs() < 1.0, "{mean}");
    let (mut saved, mut loaded) = (Rig::new(&config), Rig::new(&config));
    assert_eq!(spans(&mut saved, 1000), all[..1000], "one seed, one history");
    loaded.flash.restore_random_times(saved.flash.random_times().cloned());
    assert_eq!(spans(&mut loaded, 1000), all[1000..]);
    // A drive with constant times has no stream, and takes none over.
    let mut constant = Rig::new(&small(1, "read_first"));
    constant.flash.restore_random_times(saved.flash.random_times().cloned());
    assert_eq!(spans(&mut constant, 3), [READ; 3]);
    loaded.flash.restore_random_times(None);
    assert!(loaded.flash.random_times().is_some(), "it keeps its own");
}
