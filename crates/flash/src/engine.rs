//! The flash as a state machine of operations on dies and channels.

mod buffering;
mod cache;
mod control;
mod interruption;
mod making_room;
mod power;
mod retry;
mod saving;
mod staging;
mod suspension;
mod utilisation;

use crate::channel::{Channel, Waiting};
use crate::config::{FlashConfig, Suspension, TimeDistribution};
use crate::counters::Counters;
use crate::die::{Die, NONE, Phase};
use crate::page_buffers::PageBuffers;
use crate::power::Meter;
use crate::scheduler::{BusPhase, Choice, Next, Scheduler};
use crate::slow::SlowOperations;
use crate::timing::Timing;
use cache::Caches;
use control::Control;
use ecc::{Attempt, Hold, RetryPlace};
use kit::clock::Reading;
use kit::history::{Entry, EntryKind};
use kit::queue::Class;
use kit::{
    Cause, ChannelId, Demand, DieId, Ended, Event, Events, Geometry, Journal, Ledger, Nanos, Operation, OperationKind,
    Operations, Outbox, Outcome, Owner, Reason, Record, Rng, Signals, SimTime, Work,
};

pub use utilisation::Snapshot;

/// State of an operation within the flash.
#[derive(Clone, Debug)]
struct Progress {
    enqueued: SimTime,
    reading: Reading,
    next: u32,
    suspensions: u32,
    /// Data phases that follow the current one; only for reads with several.
    further_data_phases: u8,
}

impl Default for Progress {
    fn default() -> Self {
        Progress { enqueued: SimTime::ZERO, reading: Reading::default(), next: NONE, suspensions: 0, further_data_phases: 0 }
    }
}

/// Result of dispatching to a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// The die is busy.
    Busy,
    /// The die started an operation that waited for it, or waits for the page buffer that it needs to start it.
    Started,
    /// The die prefers an operation pulled from the FTL, or has none of its own.
    Pull {
        /// True if reads wait for the die, one of which starts if nothing is pulled.
        reads_wait: bool,
    },
    /// It is the turn of the urgent move of the die.
    PullUrgent,
}

/// All dies of the drive and their channels.
pub struct Flash {
    timing: Timing,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    /// State of each operation, by its slot in the outbox.
    progress: Vec<Progress>,
    scheduler: Box<dyn Scheduler>,
    bus_ranks: [u8; 4],
    /// Suspension for host reads; `None` if the flash has none, or the scheduler does not use it.
    suspension: Option<Suspension>,
    /// Suspension that the flash has, whoever uses it.
    medium: Option<Suspension>,
    random_times: Option<Rng>,
    /// Operations that take longer; `None` if none does.
    slow: Option<Box<SlowOperations>>,
    /// Summaries of blocks; `None` if blocks have none.
    summary: Option<Summary>,
    /// True if the last data phase of each read is announced as it begins ([`Event::TransferBegins`]).
    announces_transfers: bool,
    /// Parts of the flash that a repeated read holds.
    retries_hold: Hold,
    retry_place: RetryPlace,
    /// Cache registers of the dies; `None` if they are not used.
    caches: Option<Box<Caches>>,
    /// Page buffers of each channel; `None` if there are always enough.
    page_buffers: Option<Vec<PageBuffers>>,
    /// Meter of the currents; `None` if power is not computed.
    meter: Option<Box<Meter>>,
    /// Control of the power by a cap or suspension windows; `None` if there is neither. Never without a meter.
    control: Option<Box<Control>>,
    /// Counts of the operations done.
    pub counters: Counters,
}

impl Flash {
    /// Returns the flash of a validated description, at rest. `attempts` are those of the plan by which a read that
    /// cannot be corrected is repeated; the first is the read itself.
    pub fn new(config: &FlashConfig, attempts: &[Attempt], geometry: &Geometry, seed: u64) -> Flash {
        let scheduler = config.scheduler.build(());
        let phases = [BusPhase::ReadCommand, BusPhase::ReadData, BusPhase::ProgramData, BusPhase::Command];
        let dies_per_channel = geometry.die_count / geometry.shape.channels;
        let die = |index: u32| Die {
            channel: geometry.channel_of(DieId(index)).0,
            running: NONE,
            pending_program: NONE,
            ..Die::default()
        };
        Flash {
            timing: Timing::with_attempts(config, attempts, geometry.unit, geometry.units_per_program),
            dies: (0..geometry.die_count).map(die).collect(),
            channels: vec![Channel::with_capacity(dies_per_channel as usize); geometry.shape.channels as usize],
            progress: Vec::with_capacity(1024),
            bus_ranks: phases.map(|phase| scheduler.bus_rank(phase)),
            suspension: config.suspension.clone().filter(|_| scheduler.suspends()),
            medium: config.suspension.clone(),
            scheduler,
            random_times: (config.time_distribution == TimeDistribution::Exponential).then(|| Rng::stream(seed, "flash.times")),
            slow: None,
            summary: config.summary_time.map(|time| Summary { time, units_per_block: geometry.units_per_block }),
            announces_transfers: false,
            retries_hold: Hold::Nothing,
            retry_place: RetryPlace::Age,
            caches: Caches::of(config, geometry.die_count).map(Box::new),
            page_buffers: None,
            meter: None,
            control: None,
            counters: Counters {
                erase_modes: vec![0; config.erase_modes.len().max(1)],
                read_modes: vec![0; config.read_modes.len().max(1) * attempts.len().max(1)],
                write_modes: vec![0; config.write_modes.len()],
                ..Counters::default()
            },
        }
    }

    /// Returns the times of the phases, for bounds and reports.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Queues a read at its die.
    #[inline(always)]
    pub fn push_read(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        let Operation { die: die_id, kind, reason, .. } = out.operations[slot];
        debug_assert_eq!(kind, OperationKind::Read);
        let die = &mut self.dies[die_id.index()];
        let progress = enter(&mut self.progress, &mut out.operations, slot, now);
        die.clock.read_into(&mut progress.reading, now);
        let for_host = matches!(reason, Reason::Host | Reason::Rmw | Reason::Map);
        let list = if for_host { &mut die.host_reads } else { &mut die.relocation_reads };
        if list.head == NONE {
            list.head = slot;
        } else {
            self.progress[list.tail as usize].next = slot;
        }
        list.tail = slot;
        out.signals.die_reads[die_id.index()] += 1;
        if die.running == NONE {
            out.ready.mark(die_id);
        } else if for_host && self.suspension.is_some() {
            self.request_suspension(die_id, now, out);
        }
    }

    /// Starts the next operation of a free die, unless one is to be pulled from the FTL: a pending program that is
    /// encoded, a waiting read, or the resumption of a suspended operation. While a block of the die must be moved
    /// before its retention limit, reads and the move take turns, so that unbroken reads cannot keep the block from
    /// being moved.
    #[inline]
    pub fn dispatch(&mut self, die_id: DieId, demand: &Demand, now: SimTime, out: &mut Outbox) -> Dispatch {
        if self.control.is_some() && self.holds_back(die_id, now, out) {
            return Dispatch::Busy;
        }
        if self.caches.is_some() && self.has_outgoing(die_id) {
            return self.dispatch_beside(die_id, demand, now, out);
        }
        let die = &mut self.dies[die_id.index()];
        // A busy die gives no turn away.
        if demand.urgent_move && die.is_free() {
            die.last_turn_was_read = !die.last_turn_was_read;
            if !die.last_turn_was_read {
                return Dispatch::PullUrgent;
            }
        }
        if die.running != NONE {
            return Dispatch::Busy;
        }
        if die.pending_program != NONE {
            return self.dispatch_pending(die_id, now, out);
        }
        let host = if out.signals.hold { NONE } else { die.host_reads.head };
        if die.suspended.is_some() {
            if self.control.is_some() && self.yields(die_id) && self.waits_to_go_on(die_id, host != NONE, now, out) {
                return Dispatch::Busy;
            }
            let is_overruled = self.suspension.as_ref().is_some_and(|rule| rule.is_overruled(&out.signals));
            if host == NONE || is_overruled {
                self.resume(die_id, now, out);
            } else {
                self.start_waiting_read(die_id, true, now, out);
            }
            return Dispatch::Started;
        }
        let relocation = die.relocation_reads.head;
        if host == NONE && relocation == NONE {
            return Dispatch::Pull { reads_wait: die.host_reads.head != NONE };
        }
        let since = |slot: u32| (slot != NONE).then(|| self.progress[slot as usize].enqueued);
        let choice = Choice {
            now,
            oldest_host_read: since(host),
            oldest_relocation_read: since(relocation),
            oldest_write: demand.oldest_write,
        };
        match self.scheduler.choose(&choice) {
            Next::HostRead => self.start_waiting_read(die_id, true, now, out),
            Next::RelocationRead => self.start_waiting_read(die_id, false, now, out),
            Next::Pull => return Dispatch::Pull { reads_wait: true },
        }
        Dispatch::Started
    }

    /// Starts the oldest waiting read of a free die for which nothing could be pulled, host reads first; where the read
    /// must have a page buffer before it begins, the die may wait for one instead. Returns false if there is none. With
    /// `despite_hold`, a host read starts even while a policy holds back other work: the read pins a block whose erase
    /// must make the space that the policy's moves need. So may a read on another die that a part of its data awaits:
    /// what goes on with a read that has begun is never held back.
    pub fn dispatch_waiting_read(&mut self, die_id: DieId, despite_hold: bool, now: SimTime, out: &mut Outbox) -> bool {
        let is_held = out.signals.hold && !despite_hold;
        let has_host_read = self.dies[die_id.index()].host_reads.head != NONE;
        if has_host_read && (!is_held || self.bring_begun_forward(die_id, out)) {
            self.start_waiting_read(die_id, true, now, out);
        } else if self.dies[die_id.index()].relocation_reads.head != NONE {
            self.start_waiting_read(die_id, false, now, out);
        } else {
            return false;
        }
        true
    }

    /// Starts an operation that was pulled for a free die.
    #[inline]
    pub fn start(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        enter(&mut self.progress, &mut out.operations, slot, now);
        if self.page_buffers.is_some() {
            self.take_for_pulled(slot, now, out);
        }
        self.begin(slot, now, out);
    }

    /// Handles the end of a phase of a die's operation. Returns the slot of the operation if that was its last phase.
    /// An event with an old `generation` is ignored.
    pub fn die_event(&mut self, die_id: DieId, generation: u32, now: SimTime, out: &mut Outbox) -> Option<Ended> {
        let die = &mut self.dies[die_id.index()];
        if die.generation != generation {
            return None;
        }
        let slot = die.running;
        match die.phase {
            Phase::Array if out.operations[slot].kind == OperationKind::Read => {
                if self.meter.is_some() {
                    self.array_rests(die_id, now, out);
                }
                if self.page_buffers.is_some() {
                    self.request_buffer(die_id, now, out);
                } else if self.caches.is_some() {
                    self.sensed(die_id, now, out);
                } else {
                    self.begin_data(die_id, now, out);
                }
            }
            Phase::DataPart => self.next_data_part(die_id, now, out),
            Phase::SuspendRequested => {
                // The array finished before its suspend command got the channel.
                self.channels[die.channel as usize].withdraw(die_id);
                if self.control.is_some() && self.window_opens(die_id, now, out) {
                    return None;
                }
                return Some(self.operation_done(die_id, now, out));
            }
            Phase::Loading if self.control.is_some() => self.ask_for_array(die_id, now, out),
            Phase::Loading => self.array_begins(die_id, now, out),
            Phase::Array | Phase::Data => {
                if self.control.is_some() && self.window_opens(die_id, now, out) {
                    return None;
                }
                return Some(self.operation_done(die_id, now, out));
            }
            Phase::Window => self.window_closes(die_id, now, out),
            Phase::Suspending => {
                die.running = NONE;
                die.phase = Phase::Rest;
                out.ready.mark(die_id);
                if self.control.is_some() && self.yields(die_id) {
                    self.suspended_for_power(die_id, now, out);
                }
            }
            Phase::Resuming => self.resumed(die_id, now, out),
            Phase::ToCache => self.moved_to_cache(die_id, now, out),
            Phase::Rest | Phase::Command | Phase::Buffer | Phase::PowerWait | Phase::PageRegister | Phase::Held => {
                unreachable!("a die in {:?} expects no event", die.phase)
            }
        }
        None
    }

    /// Handles the wake-up of a channel: grants the channel to the next die that waits for it.
    pub fn bus_event(&mut self, channel_id: ChannelId, now: SimTime, out: &mut Outbox) {
        let channel = &mut self.channels[channel_id.index()];
        channel.armed = false;
        if channel.free_at() > now {
            // Either the channel is held for a repeated read, and its release wakes it up. Or the dies that waited have
            // withdrawn, and another die took the channel at this instant before new ones queued: the wake-up moves to
            // the end of that transfer.
            self.arm(channel_id, &mut out.events);
            return;
        }
        let mut power_is_missing = false;
        while let Some(waiting) = self.channels[channel_id.index()].next() {
            if self.is_too_late_to_suspend(waiting.die, now) {
                power_is_missing |= self.withdraw_suspension(waiting.die);
                continue;
            }
            self.channels[channel_id.index()].take(now, waiting.hold);
            self.arm(channel_id, &mut out.events);
            if waiting.for_cache {
                self.outgoing_granted(waiting.die, waiting.since, waiting.hold, now, out);
            } else {
                self.granted(waiting.die, waiting.since, waiting.hold, now, out);
            }
            break;
        }
        if power_is_missing {
            self.make_room(now, out);
        }
    }

    /// Takes the oldest read from one of a die's lists and starts it. Where the read must have a page buffer before it
    /// begins, and none is free, the die waits for one instead.
    fn start_waiting_read(&mut self, die_id: DieId, for_host: bool, now: SimTime, out: &mut Outbox) {
        if self.page_buffers.is_some() {
            return self.start_read_with_buffer(die_id, for_host, now, out);
        }
        self.start_read(die_id, for_host, now, out);
    }

    #[inline(always)]
    fn start_read(&mut self, die_id: DieId, for_host: bool, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        let list = if for_host { &mut die.host_reads } else { &mut die.relocation_reads };
        let slot = list.head;
        let progress = &mut self.progress[slot as usize];
        list.head = progress.next;
        out.signals.die_reads[die_id.index()] -= 1;
        if progress.enqueued < now {
            die.clock.charge_since(&progress.reading, now, out.operations.account_mut(slot).ledger_mut());
        }
        self.begin(slot, now, out);
    }

    /// Starts an operation: it occupies its die and requests the channel.
    #[inline]
    fn begin(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        let operation = &out.operations[slot];
        let die_id = operation.die;
        let has_outgoing = self.caches.is_some() && self.has_outgoing(die_id);
        let die = &mut self.dies[die_id.index()];
        debug_assert_eq!(die.running, NONE, "a die does one thing at a time");
        debug_assert!(!has_outgoing || operation.kind == OperationKind::Read, "a read alone begins beside cached data");
        if die.suspended.is_none() && !has_outgoing {
            out.signals.busy_dies += 1;
            out.signals.channel_busy_dies[die.channel as usize] += 1;
        }
        die.running = slot;
        die.phase = Phase::Command;
        die.started = now;
        out.history.note(|| Entry::operation(now, EntryKind::Started(operation.kind), operation));
        self.counters.count(operation);
        let command = self.timing.command(operation);
        let (phase, hold) = match operation.kind {
            OperationKind::Read => (BusPhase::ReadCommand, command),
            OperationKind::Program => (BusPhase::ProgramData, command + self.timing.data(operation)),
            OperationKind::Erase | OperationKind::LazyErase | OperationKind::Copyback => (BusPhase::Command, command),
        };
        let work = operation.work();
        turn(die, work, now, &mut out.signals);
        if self.acquire_channel(die_id, phase, hold, now, &mut out.events) {
            self.command_granted(die_id, now, hold, now, out);
        }
    }

    /// Requests the channel for a die. Returns true if the die has it from now on; otherwise the die waits for it.
    #[inline(always)]
    fn acquire_channel(&mut self, die_id: DieId, phase: BusPhase, hold: Nanos, now: SimTime, events: &mut Events) -> bool {
        let channel_id = ChannelId(self.dies[die_id.index()].channel);
        let channel = &mut self.channels[channel_id.index()];
        let is_free = channel.is_free(now);
        if is_free {
            channel.take(now, hold);
        } else if channel.is_held_for(die_id) {
            channel.take_held(now, hold);
            return true;
        } else {
            let rank = self.bus_ranks[phase as usize];
            let waiting = Waiting { die: die_id, since: now, hold, rank, for_cache: false };
            self.wait_for_channel(channel_id, waiting, events);
        }
        is_free
    }

    fn wait_for_channel(&mut self, channel_id: ChannelId, waiting: Waiting, events: &mut Events) {
        self.channels[channel_id.index()].wait(waiting);
        self.arm(channel_id, events);
    }

    /// Schedules the wake-up of a channel for which dies wait, at the instant it becomes free. The wake-up comes after
    /// the completions, arrivals and dispatches of that instant, so that a die that becomes free at the same instant
    /// can queue its next command before the channel chooses. Otherwise that command would wait for a neighbour's data
    /// while its array is idle; the dies would fall into step, and sharing the channel would cost up to a third of the
    /// throughput.
    #[inline]
    fn arm(&mut self, channel_id: ChannelId, events: &mut Events) {
        let channel = &mut self.channels[channel_id.index()];
        if channel.has_waiting() && !channel.armed && !channel.is_held() {
            channel.armed = true;
            events.push(channel.free_at(), Class::Dispatch, Event::ChannelFree(channel_id));
        }
    }

    /// Continues the operation of a die that waited for the channel since `asked` and has it from `now` for `hold`.
    fn granted(&mut self, die_id: DieId, asked: SimTime, hold: Nanos, now: SimTime, out: &mut Outbox) {
        match self.dies[die_id.index()].phase {
            Phase::Command => self.command_granted(die_id, asked, hold, now, out),
            Phase::Data | Phase::DataPart => self.data_granted(die_id, asked, hold, now, out),
            Phase::SuspendRequested => self.suspend_granted(die_id, hold, now, out),
            Phase::Resuming => self.resume_granted(die_id, hold, now, out),
            Phase::Rest
            | Phase::Held
            | Phase::Loading
            | Phase::Array
            | Phase::Buffer
            | Phase::Suspending
            | Phase::PowerWait
            | Phase::PageRegister
            | Phase::ToCache
            | Phase::Window => unreachable!("a die in {:?} asks for no channel", self.dies[die_id.index()].phase),
        }
    }

    /// Transfers the command of an operation, and a program's data; the array phase follows.
    #[inline]
    fn command_granted(&mut self, die_id: DieId, asked: SimTime, hold: Nanos, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        let (operation, account) = out.operations.with_account(die.running);
        let ledger = account.ledger_mut();
        ledger.charge(Cause::BusWait, now.since(asked));
        let end = now + hold;
        let mut array = array_time(&self.timing, &mut self.random_times, operation);
        if let Some(summary) = &self.summary {
            array += summary.time(operation);
        }
        if let Some(slow) = &mut self.slow {
            array = slow.time(operation, array);
        }
        die.array_end = end + array;
        if let Some(meter) = &mut self.meter
            && self.control.is_none()
        {
            meter.array_begins(&self.timing, operation, end, array);
        }
        // The start of an array phase is an event of its own only where a read may already be waiting to suspend it.
        let mut gives_way = false;
        if operation.kind == OperationKind::Read {
            ledger.charge(Cause::BusCommand, hold);
            ledger.charge(Cause::Sense, array);
            if self.retries_hold == Hold::Channel && matches!(operation.owner, Owner::Retry(_)) {
                self.channels[die.channel as usize].hold(die_id);
            }
        } else {
            let data = if operation.kind == OperationKind::Program { self.timing.data(operation) } else { Nanos::ZERO };
            ledger.charge(Cause::BusCommand, hold - data);
            ledger.charge(Cause::Transfer, data);
            charge_array(ledger, &self.timing, operation, array);
            if self.page_buffers.is_some() && operation.kind == OperationKind::Program {
                out.events.push(end, Class::Done, Event::PageBufferFree(ChannelId(die.channel)));
            }
            gives_way = self.suspension.is_some();
        }
        die.phase = if gives_way { Phase::Loading } else { Phase::Array };
        schedule(die, die_id, if gives_way { end } else { die.array_end }, &mut out.events);
        // A phase that need not wait ends by the event that it has without any control, so that equal instants keep
        // their order.
        if self.control.is_some() && !gives_way {
            out.events.push(end, Class::Done, Event::ArrayDue { die: die_id, generation: die.generation });
        }
        note_transfer(die, die_id, "command", now, end, &mut out.journal);
    }

    /// Transfers the data of a read, or a part of it; the read ends with the last part.
    #[inline]
    fn data_granted(&mut self, die_id: DieId, asked: SimTime, hold: Nanos, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        let account = out.operations.account_mut(die.running);
        account.charge(Cause::BusWait, now.since(asked));
        account.charge(Cause::Transfer, hold);
        schedule(die, die_id, now + hold, &mut out.events);
        note_transfer(die, die_id, "data out", now, now + hold, &mut out.journal);
        if self.announces_transfers && die.phase == Phase::Data {
            out.events.push(now, Class::Done, Event::TransferBegins(die.running));
        }
    }

    /// Completes the operation on a die.
    #[inline(always)]
    fn operation_done(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) -> Ended {
        // That of a read has come to rest before its data was transferred.
        if self.meter.is_some() && out.operations[self.dies[die_id.index()].running].kind != OperationKind::Read {
            self.array_rests(die_id, now, out);
        }
        let die = &mut self.dies[die_id.index()];
        let slot = die.running;
        die.running = NONE;
        die.phase = Phase::Rest;
        die.generation = die.generation.wrapping_add(1);
        if die.suspended.is_none() {
            out.signals.busy_dies -= 1;
            out.signals.idle_since = now;
            out.signals.channel_busy_dies[die.channel as usize] -= 1;
            out.signals.channel_idle_since[die.channel as usize] = now;
        }
        let begin = die.started;
        turn(die, if die.suspended.is_some() { Work::Held } else { Work::Idle }, now, &mut out.signals);
        let (operation, account) = out.operations.with_account(slot);
        account.settle(now);
        out.history.note(|| Entry::operation(now, EntryKind::Ended(operation.kind), operation));
        let (name, reason) = (operation.kind.name(), operation.reason);
        out.journal.note(|| Record::DieSpan { die: die_id, name, reason, begin, end: now });
        out.ready.mark(die_id);
        Ended { slot, outcome: Outcome::Done }
    }
}

/// Resets and returns the state of an operation that enters the flash at `now`, and opens its account.
#[inline]
fn enter<'a>(all: &'a mut Vec<Progress>, operations: &mut Operations, slot: u32, now: SimTime) -> &'a mut Progress {
    operations.account_mut(slot).open(now);
    if slot as usize >= all.len() {
        all.resize(slot as usize + 1, Progress::default());
    }
    let progress = &mut all[slot as usize];
    progress.enqueued = now;
    progress.next = NONE;
    progress.suspensions = 0;
    progress
}

/// Switches a die to another kind of work, and updates the drive-wide clock.
#[inline]
fn turn(die: &mut Die, work: Work, now: SimTime, signals: &mut Signals) {
    signals.turn(die.clock.work(), work, now);
    die.clock.set(work, now);
}

/// Schedules the end of a die's phase; events scheduled for the die before become stale.
#[inline]
fn schedule(die: &mut Die, die_id: DieId, at: SimTime, events: &mut Events) {
    die.generation = die.generation.wrapping_add(1);
    events.push(at, Class::Done, Event::Die { die: die_id, generation: die.generation });
}

/// Summaries that are written with the last pages of blocks.
struct Summary {
    time: Nanos,
    units_per_block: u32,
}

impl Summary {
    /// Returns the time that an operation takes for it.
    fn time(&self, operation: &Operation) -> Nanos {
        let is_program = matches!(operation.kind, OperationKind::Program | OperationKind::Copyback);
        let is_last = || (operation.first.0 + operation.units).is_multiple_of(self.units_per_block);
        if is_program && is_last() { self.time } else { Nanos::ZERO }
    }
}

#[inline]
fn array_time(timing: &Timing, random: &mut Option<Rng>, operation: &Operation) -> Nanos {
    let mean = timing.array(operation);
    match random {
        None => mean,
        Some(rng) => Nanos(rng.exponential(mean.0 as f64).round() as u64),
    }
}

/// Charges the array phase: sensing, programming, or both for a copyback. An erase is part of a command only where the
/// host resets blocks itself; other commands' waits for an erasing die are charged by the die's clock.
#[inline]
fn charge_array(ledger: &mut Ledger, timing: &Timing, operation: &Operation, array: Nanos) {
    match operation.kind {
        OperationKind::Read => ledger.charge(Cause::Sense, array),
        OperationKind::Program => ledger.charge(Cause::Program, array),
        OperationKind::Erase | OperationKind::LazyErase => ledger.charge(Cause::DieErase, array),
        OperationKind::Copyback => {
            let sense = timing.copyback_sense(operation.page_type);
            ledger.charge(Cause::Sense, sense.min(array));
            ledger.charge(Cause::Program, array - sense);
        }
    }
}

/// Records a transfer of a die on its channel in the journal.
#[inline]
fn note_transfer(die: &Die, die_id: DieId, name: &'static str, begin: SimTime, end: SimTime, journal: &mut Journal) {
    journal.note(|| Record::BusSpan { channel: ChannelId(die.channel), die: die_id, name, begin, end });
}

#[cfg(test)]
mod tests;
