//! The flash as a state machine of operations on dies and channels.

use crate::channel::Channel;
use crate::config::{FlashConfig, Suspension, TimeDistribution};
use crate::counters::{Counters, Utilisation};
use crate::die::{Die, NONE, Phase, Suspended};
use crate::encoder::Encoders;
use crate::scheduler::{BusPhase, Choice, Next, Scheduler};
use crate::timing::Timing;
use kit::clock::Reading;
use kit::history::{Entry, EntryKind};
use kit::queue::Class;
use kit::{
    Cause, ChannelId, Demand, DieId, Encoding, Event, Geometry, Ledger, Nanos, Operation, OperationKind, Outbox, Reason, Record,
    Rng, SimTime, Work,
};

/// State of an operation within the flash.
#[derive(Clone, Debug)]
struct Progress {
    /// Time of the operation by cause, since it was pushed or pulled.
    ledger: Ledger,
    enqueued: SimTime,
    reading: Reading,
    next: u32,
    suspensions: u32,
}

impl Default for Progress {
    fn default() -> Self {
        Progress { ledger: Ledger::default(), enqueued: SimTime::ZERO, reading: Reading::default(), next: NONE, suspensions: 0 }
    }
}

/// Result of dispatching to a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// The die is busy.
    Busy,
    /// The die started an operation that waited for it.
    Started,
    /// The die prefers an operation pulled from the FTL, or has none of its own.
    Pull {
        /// True if reads wait for the die, one of which starts if nothing is pulled.
        reads_wait: bool,
    },
    /// It is the turn of the urgent move of the die.
    PullUrgent,
}

/// All dies of the drive, their channels and the controller's encoders.
pub struct Flash {
    timing: Timing,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    encoders: Encoders,
    /// State of each operation, by its slot in the outbox.
    progress: Vec<Progress>,
    scheduler: Box<dyn Scheduler>,
    bus_ranks: [u8; 4],
    suspension: Option<Suspension>,
    random_times: Option<Rng>,
    /// Counts of the operations done.
    pub counters: Counters,
}

impl Flash {
    /// Returns the flash of a validated description, at rest.
    pub fn new(config: &FlashConfig, geometry: &Geometry, seed: u64) -> Flash {
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
            timing: Timing::new(config, geometry.units_per_program),
            dies: (0..geometry.die_count).map(die).collect(),
            channels: vec![Channel::with_capacity(dies_per_channel as usize); geometry.shape.channels as usize],
            encoders: Encoders::new(config, geometry.units_per_program),
            progress: Vec::with_capacity(1024),
            bus_ranks: phases.map(|phase| scheduler.bus_rank(phase)),
            suspension: config.suspension.clone().filter(|_| scheduler.suspends()),
            scheduler,
            random_times: (config.time_distribution == TimeDistribution::Exponential).then(|| Rng::stream(seed, "flash.times")),
            counters: Counters {
                erase_modes: vec![0; config.erase_modes.len().max(1)],
                read_modes: vec![0; config.read_modes.len().max(1)],
                write_modes: vec![0; config.write_modes.len()],
                ..Counters::default()
            },
        }
    }

    /// Returns true if a wake-up event of some channel is pending, even if all dies that waited for it have withdrawn.
    pub fn has_armed_channel(&self) -> bool {
        self.channels.iter().any(|channel| channel.armed)
    }

    /// Returns the stream of random array times, if array times are random. It is the only state of a flash at rest
    /// that a saved drive needs.
    pub fn random_times(&self) -> Option<&Rng> {
        self.random_times.as_ref()
    }

    /// Continues a saved stream of random array times. Without a saved stream the flash keeps its own; if array times
    /// are constant, the saved stream is dropped.
    pub fn restore_random_times(&mut self, stream: Option<Rng>) {
        self.random_times = self.random_times.take().map(|own| stream.unwrap_or(own));
    }

    /// Returns, for each die, true if its last turn went to reads while it had an urgent move.
    pub fn turns(&self) -> impl Iterator<Item = bool> + '_ {
        self.dies.iter().map(|die| die.last_turn_was_read)
    }

    /// Restores the turns of a saved drive.
    pub fn restore_turns(&mut self, turns: &[bool]) {
        self.dies.iter_mut().zip(turns).for_each(|(die, &turn)| die.last_turn_was_read = turn);
    }

    /// Returns the time of an operation by cause, since it was pushed or pulled.
    #[inline]
    pub fn ledger(&self, slot: u32) -> &Ledger {
        &self.progress[slot as usize].ledger
    }

    /// Returns the times of the phases, for bounds and reports.
    pub fn timing(&self) -> &Timing {
        &self.timing
    }

    /// Queues a read at its die.
    pub fn push_read(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        let Operation { die: die_id, kind, reason, .. } = out.operations[slot];
        debug_assert_eq!(kind, OperationKind::Read);
        let die = &mut self.dies[die_id.index()];
        let progress = enter(&mut self.progress, slot, now);
        die.clock.read_into(&mut progress.reading, now);
        let for_host = matches!(reason, Reason::Host | Reason::Rmw);
        let list = if for_host { &mut die.host_reads } else { &mut die.relocation_reads };
        if list.head == NONE {
            list.head = slot;
        } else {
            self.progress[list.tail as usize].next = slot;
        }
        list.tail = slot;
        out.signals.die_reads[die_id.index()] += 1;
        if die.running == NONE {
            out.mark_ready(die_id);
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
        let die = &mut self.dies[die_id.index()];
        if demand.urgent_move {
            die.last_turn_was_read = !die.last_turn_was_read;
            if !die.last_turn_was_read && die.is_free() {
                return Dispatch::PullUrgent;
            }
        }
        if die.running != NONE {
            return Dispatch::Busy;
        }
        if die.pending_program != NONE {
            return self.dispatch_awaited(die_id, now, out);
        }
        let host = if out.signals.hold { NONE } else { die.host_reads.head };
        if die.suspended.is_some() {
            if host == NONE {
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

    /// Starts the oldest waiting read of a free die for which nothing could be pulled, host reads first. Returns false
    /// if there is none. With `despite_hold`, a host read starts even while a policy holds back other work: the read
    /// pins a block whose erase must make the space that the policy's moves need.
    pub fn dispatch_waiting_read(&mut self, die_id: DieId, despite_hold: bool, now: SimTime, out: &mut Outbox) -> bool {
        let die = &self.dies[die_id.index()];
        if die.host_reads.head != NONE && (!out.signals.hold || despite_hold) {
            self.start_waiting_read(die_id, true, now, out);
        } else if die.relocation_reads.head != NONE {
            self.start_waiting_read(die_id, false, now, out);
        } else {
            return false;
        }
        true
    }

    /// Starts an operation that was pulled for a free die. A program whose data takes time to encode goes to the
    /// encoder first.
    #[inline]
    pub fn start(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        enter(&mut self.progress, slot, now);
        let Operation { die: die_id, mode, encode, .. } = out.operations[slot];
        if encode > 0
            && let Some(at) = self.encoders.accept(mode, encode, now)
        {
            let die = &mut self.dies[die_id.index()];
            die.pending_program = slot;
            die.encoded = false;
            out.events.push(at, Class::Done, Event::Encoded(die_id));
            return;
        }
        self.begin(slot, now, out);
    }

    /// Sends units of a collection to the encoder and schedules [`Event::CollectionEncoded`] for the end of the
    /// encoding. The die is free meanwhile.
    pub fn encode(&mut self, encoding: &Encoding, now: SimTime, out: &mut Outbox) {
        let at = self.encoders.accept(encoding.mode, encoding.units, now).unwrap_or(now);
        out.events.push(at, Class::Done, Event::CollectionEncoded(encoding.die));
    }

    /// Handles the end of the encoding of the program that was pulled for a die.
    pub fn encoded(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        let progress = &mut self.progress[die.pending_program as usize];
        progress.ledger.charge(Cause::EccWait, now.since(progress.enqueued));
        die.clock.read_into(&mut progress.reading, now);
        die.encoded = true;
        out.mark_ready(die_id);
    }

    /// Dispatches to a free die with a pending program. The die serves reads while the program is being encoded; an
    /// encoded program starts before any read.
    fn dispatch_awaited(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) -> Dispatch {
        let die = &mut self.dies[die_id.index()];
        if die.encoded {
            let slot = std::mem::replace(&mut die.pending_program, NONE);
            let progress = &mut self.progress[slot as usize];
            die.clock.charge_since(&progress.reading, now, &mut progress.ledger);
            self.begin(slot, now, out);
            return Dispatch::Started;
        }
        if self.dispatch_waiting_read(die_id, false, now, out) { Dispatch::Started } else { Dispatch::Busy }
    }

    /// Handles the end of a phase of a die's operation. An event with an old `generation` is ignored.
    pub fn die_event(&mut self, die_id: DieId, generation: u32, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        if die.generation != generation {
            return;
        }
        let slot = die.running;
        match die.phase {
            Phase::Array if out.operations[slot].kind == OperationKind::Read => {
                die.phase = Phase::Data;
                let hold = self.timing.data(&out.operations[slot]);
                self.request_channel(die_id, BusPhase::ReadData, hold, now, out);
            }
            Phase::SuspendRequested => {
                // The array finished before its suspend command got the channel.
                self.channels[die.channel as usize].withdraw(die_id);
                self.finish(die_id, now, out);
            }
            Phase::Loading => self.array_begins(die_id, now, out),
            Phase::Array | Phase::Data => self.finish(die_id, now, out),
            Phase::Suspending => {
                die.running = NONE;
                die.phase = Phase::Rest;
                out.mark_ready(die_id);
            }
            Phase::Resuming => self.resumed(die_id, now, out),
            Phase::Rest | Phase::Command => unreachable!("a die in {:?} expects no event", die.phase),
        }
    }

    /// Handles the wake-up of a channel: grants the channel to the next die that waits for it.
    pub fn bus_event(&mut self, channel_id: ChannelId, now: SimTime, out: &mut Outbox) {
        let channel = &mut self.channels[channel_id.index()];
        channel.armed = false;
        if channel.free_at() > now {
            // The dies that waited have withdrawn, and another die took the channel at this instant before new ones
            // queued: the wake-up moves to the end of that transfer.
            self.arm(channel_id, out);
            return;
        }
        let Some(waiting) = channel.next() else { return };
        channel.take(now, waiting.hold);
        self.arm(channel_id, out);
        let asked = waiting.since;
        self.granted(waiting.die, asked, waiting.hold, now, out);
    }

    /// Returns the shares of the time from `since` to `now` during which dies, channels and encoders were busy.
    pub fn utilisation(&self, now: SimTime, since: &Snapshot) -> Utilisation {
        let span = now.since(since.at).0.max(1) as f64;
        let writing = |reading: &Reading| {
            reading[Work::HostProgram as usize] + reading[Work::RelocationProgram as usize] + reading[Work::Erase as usize]
        };
        let dies: Vec<Reading> = self.dies.iter().map(|die| die.clock.read(now)).collect();
        let busy = |reading: &Reading| reading[1..].iter().sum::<u64>();
        Utilisation {
            channels: self.channels.iter().zip(&since.channels).map(|(c, before)| (c.busy.0 - before) as f64 / span).collect(),
            dies: dies.iter().zip(&since.dies).map(|(now, before)| (busy(now) - busy(before)) as f64 / span).collect(),
            writing: dies.iter().zip(&since.dies).map(|(now, before)| (writing(now) - writing(before)) as f64 / span).collect(),
            encoders: self
                .encoders
                .busy(now)
                .iter()
                .zip(&since.encoders)
                .map(|(now, before)| (now - before) as f64 / span)
                .collect(),
        }
    }

    /// Returns the busy clocks at the instant `at`, as the start of a measurement of utilisation.
    pub fn snapshot(&self, at: SimTime) -> Snapshot {
        Snapshot {
            at,
            channels: self.channels.iter().map(|channel| channel.busy.0).collect(),
            dies: self.dies.iter().map(|die| die.clock.read(at)).collect(),
            encoders: self.encoders.busy(at),
        }
    }

    /// Takes the oldest read from one of a die's lists and starts it.
    fn start_waiting_read(&mut self, die_id: DieId, for_host: bool, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        let list = if for_host { &mut die.host_reads } else { &mut die.relocation_reads };
        let slot = list.head;
        let progress = &mut self.progress[slot as usize];
        list.head = progress.next;
        out.signals.die_reads[die_id.index()] -= 1;
        if progress.enqueued < now {
            die.clock.charge_since(&progress.reading, now, &mut progress.ledger);
        }
        self.begin(slot, now, out);
    }

    /// Starts an operation: it occupies its die and requests the channel.
    #[inline]
    fn begin(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        let operation = &out.operations[slot];
        let die_id = operation.die;
        let die = &mut self.dies[die_id.index()];
        debug_assert_eq!(die.running, NONE, "a die does one thing at a time");
        if die.suspended.is_none() {
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
        turn(die, work, now, out);
        self.request_channel(die_id, phase, hold, now, out);
    }

    /// Requests the channel for a die: takes it if it is free, and queues otherwise.
    #[inline]
    fn request_channel(&mut self, die_id: DieId, phase: BusPhase, hold: Nanos, now: SimTime, out: &mut Outbox) {
        let channel_index = self.dies[die_id.index()].channel;
        let channel = &mut self.channels[channel_index as usize];
        if channel.is_free(now) {
            channel.take(now, hold);
            self.granted(die_id, now, hold, now, out);
            return;
        }
        channel.wait(die_id, now, hold, self.bus_ranks[phase as usize]);
        self.arm(ChannelId(channel_index), out);
    }

    /// Schedules the wake-up of a channel for which dies wait, at the instant it becomes free. The wake-up comes after
    /// the completions, arrivals and dispatches of that instant, so that a die that becomes free at the same instant
    /// can queue its next command before the channel chooses. Otherwise that command would wait for a neighbour's data
    /// while its array is idle; the dies would fall into step, and sharing the channel would cost up to a third of the
    /// throughput.
    #[inline]
    fn arm(&mut self, channel_id: ChannelId, out: &mut Outbox) {
        let channel = &mut self.channels[channel_id.index()];
        if channel.has_waiting() && !channel.armed {
            channel.armed = true;
            out.events.push(channel.free_at(), Class::Dispatch, Event::ChannelFree(channel_id));
        }
    }

    /// Continues the operation of a die that has the channel from `now` for `hold`: sets the next phase and schedules
    /// its end. `asked` is the instant of the request.
    #[inline]
    fn granted(&mut self, die_id: DieId, asked: SimTime, hold: Nanos, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        let end = now + hold;
        let slot = die.running;
        let until = match die.phase {
            Phase::Command => {
                let operation = &out.operations[slot];
                let ledger = &mut self.progress[slot as usize].ledger;
                ledger.charge(Cause::BusWait, now.since(asked));
                let data = if operation.kind == OperationKind::Program { self.timing.data(operation) } else { Nanos::ZERO };
                ledger.charge(Cause::BusCommand, hold - data);
                ledger.charge(Cause::Transfer, data);
                let array = array_time(&self.timing, &mut self.random_times, operation);
                charge_array(ledger, &self.timing, operation, array);
                die.array_end = end + array;
                // The start of an array phase is an event of its own only where a read may already be waiting to
                // suspend it.
                let is_read = operation.kind == OperationKind::Read;
                let may_give_way = self.suspension.is_some() && !is_read;
                die.phase = if may_give_way { Phase::Loading } else { Phase::Array };
                if may_give_way { end } else { die.array_end }
            }
            Phase::Data => {
                let ledger = &mut self.progress[slot as usize].ledger;
                ledger.charge(Cause::BusWait, now.since(asked));
                ledger.charge(Cause::Transfer, hold);
                end
            }
            Phase::SuspendRequested => {
                let remaining = die.array_end.since(now);
                die.suspended = Some(Suspended { op: slot, remaining, since: die.clock.read(now) });
                die.phase = Phase::Suspending;
                turn(die, Work::Held, now, out);
                self.counters.suspensions += 1;
                end + self.suspension.as_ref().map_or(Nanos::ZERO, |s| s.suspend_time)
            }
            Phase::Resuming => end + self.suspension.as_ref().map_or(Nanos::ZERO, |s| s.resume_time),
            Phase::Rest | Phase::Loading | Phase::Array | Phase::Suspending => {
                unreachable!("a die in {:?} asks for no channel", die.phase)
            }
        };
        schedule(die, die_id, until, out);
        let (channel, name) = (ChannelId(die.channel), bus_name(die.phase));
        out.journal.note(|| Record::BusSpan { channel, die: die_id, name, begin: now, end });
    }

    /// Completes the operation on a die.
    #[inline]
    fn finish(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
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
        turn(die, if die.suspended.is_some() { Work::Held } else { Work::Idle }, now, out);
        let operation = &out.operations[slot];
        out.history.note(|| Entry::operation(now, EntryKind::Ended(operation.kind), operation));
        let (name, reason) = (operation.kind.name(), operation.reason);
        out.journal.note(|| Record::DieSpan { die: die_id, name, reason, begin, end: now });
        out.done.push(slot);
        out.mark_ready(die_id);
    }

    /// Requests suspension of the operation in progress on a die for which a host read waits, if the configuration
    /// allows it.
    fn request_suspension(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let Some(rule) = &self.suspension else { return };
        let die = &mut self.dies[die_id.index()];
        if die.phase != Phase::Array || die.suspended.is_some() || out.signals.hold {
            return;
        }
        let progress = &mut self.progress[die.running as usize];
        let allowed = match out.operations[die.running].kind {
            OperationKind::Program => rule.program,
            OperationKind::Erase | OperationKind::LazyErase => rule.erase,
            OperationKind::Read | OperationKind::Copyback => false,
        };
        if !allowed || progress.suspensions >= rule.most || die.array_end.since(now) < rule.least_remaining {
            return;
        }
        progress.suspensions += 1;
        die.phase = Phase::SuspendRequested;
        let hold = self.timing.suspend_command();
        self.request_channel(die_id, BusPhase::Command, hold, now, out);
    }

    /// Resumes the suspended operation of a die for which no host read waits any more.
    fn resume(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let hold = self.timing.suspend_command();
        let die = &mut self.dies[die_id.index()];
        die.running = die.suspended.as_ref().expect("only a suspended die resumes").op;
        die.phase = Phase::Resuming;
        turn(die, Work::Held, now, out);
        self.request_channel(die_id, BusPhase::Command, hold, now, out);
    }

    fn resumed(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        let suspended = die.suspended.take().expect("only a suspended die resumes");
        let ledger = &mut self.progress[suspended.op as usize].ledger;
        die.clock.charge_since(&suspended.since, now, ledger);
        die.array_end = now + suspended.remaining;
        let work = out.operations[suspended.op].work();
        turn(die, work, now, out);
        self.array_begins(die_id, now, out);
    }

    /// Starts or continues the array phase. A host read that arrived before it may suspend it now.
    fn array_begins(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let die = &mut self.dies[die_id.index()];
        die.phase = Phase::Array;
        schedule(die, die_id, die.array_end, out);
        if die.host_reads.head != NONE {
            self.request_suspension(die_id, now, out);
        }
    }
}

/// Busy clocks of dies, channels and encoders at one instant.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    at: SimTime,
    channels: Vec<u64>,
    dies: Vec<Reading>,
    encoders: Vec<u64>,
}

impl Snapshot {
    /// Excludes a span of length `off`, in which nothing was busy, from the measurement that starts at this snapshot.
    pub fn exclude(&mut self, off: Nanos) {
        self.at = self.at + off;
    }
}

/// Resets and returns the state of an operation that enters the flash at `now`.
#[inline]
fn enter(all: &mut Vec<Progress>, slot: u32, now: SimTime) -> &mut Progress {
    if slot as usize >= all.len() {
        all.resize(slot as usize + 1, Progress::default());
    }
    let progress = &mut all[slot as usize];
    progress.ledger = Ledger::default();
    progress.enqueued = now;
    progress.next = NONE;
    progress.suspensions = 0;
    progress
}

/// Switches a die to another kind of work, and updates the drive-wide clock.
#[inline]
fn turn(die: &mut Die, work: Work, now: SimTime, out: &mut Outbox) {
    out.signals.turn(die.clock.work(), work, now);
    die.clock.set(work, now);
}

/// Schedules the end of a die's phase; events scheduled for the die before become stale.
#[inline]
fn schedule(die: &mut Die, die_id: DieId, at: SimTime, out: &mut Outbox) {
    die.generation = die.generation.wrapping_add(1);
    out.events.push(at, Class::Done, Event::Die { die: die_id, generation: die.generation });
}

#[inline]
fn array_time(timing: &Timing, random: &mut Option<Rng>, operation: &Operation) -> Nanos {
    let mean = timing.array(operation);
    match random {
        None => mean,
        Some(rng) => Nanos(rng.exponential(mean.0 as f64).round() as u64),
    }
}

/// Charges the array phase: sensing, programming, or both for a copyback. An erase charges nothing, because it is part
/// of no command; waits for an erasing die are charged by the die's clock.
#[inline]
fn charge_array(ledger: &mut Ledger, timing: &Timing, operation: &Operation, array: Nanos) {
    match operation.kind {
        OperationKind::Read => ledger.charge(Cause::Sense, array),
        OperationKind::Program => ledger.charge(Cause::Program, array),
        OperationKind::Erase | OperationKind::LazyErase => {}
        OperationKind::Copyback => {
            let sense = timing.array(&Operation { kind: OperationKind::Read, mode: kit::ModeId(0), ..*operation });
            ledger.charge(Cause::Sense, sense.min(array));
            ledger.charge(Cause::Program, array - sense);
        }
    }
}

fn bus_name(phase: Phase) -> &'static str {
    match phase {
        Phase::Array | Phase::Loading => "command",
        Phase::Data => "data out",
        Phase::Suspending => "suspend",
        Phase::Resuming => "resume",
        Phase::Rest | Phase::Command | Phase::SuspendRequested => "channel",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::PerPageType;
    use crate::config::tests::example;
    use crate::modes::EncoderConfig;
    use crate::scheduler::SchedulerConfig;
    use crate::timing::Phases;
    use kit::{CommandId, Rate, TransferRate, UNIT_BYTES};
    use std::collections::VecDeque;

    // Times of the phases \[ns\], in which an operation is short enough to try every instant.
    const SENSE: u64 = 10;
    const READ: u64 = 6 + SENSE + 2;
    const LOAD: u64 = 6 + 2;
    const PROGRAM: u64 = 30;
    const SUSPEND: u64 = 3 + 2;
    const RESUME: u64 = 3 + 4;

    /// Returns a flash of dies on one channel. A cycle takes 1 ns, a unit 2 ns on the channel and 12 ns in the encoder
    /// of write mode 1; the interface has no other times.
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
        config.write_modes[1].code = Some("slow".to_owned());
        let throughput = Some(Rate(UNIT_BYTES * 1_000_000_000 / 12 + 1));
        config.encoders = vec![EncoderConfig { code: "slow".to_owned(), throughput }];
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
    }

    impl Rig {
        fn new(config: &FlashConfig) -> Rig {
            let geometry = config.geometry(1);
            let (dies, channels) = (geometry.die_count as usize, geometry.shape.channels as usize);
            Rig {
                flash: Flash::new(config, &geometry, 1),
                out: Outbox::new(dies, channels),
                now: 0,
                offered: vec![VecDeque::new(); dies],
                urgent_move: false,
                ended: Vec::new(),
            }
        }

        /// Adds an operation on one unit that arrives at an instant. Returns its slot.
        fn arrive(&mut self, kind: OperationKind, reason: Reason, die: u32, at: u64) -> u32 {
            let units = u32::from(matches!(kind, OperationKind::Read | OperationKind::Program));
            let slot = self.out.add(Operation { kind, reason, die: DieId(die), units, pages: 1, ..Operation::default() });
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
                Event::Die { die, generation } => self.flash.die_event(die, generation, now, &mut self.out),
                Event::ChannelFree(channel) => self.flash.bus_event(channel, now, &mut self.out),
                Event::Encoded(die) => self.flash.encoded(die, now, &mut self.out),
                Event::Arrival(CommandId(slot)) => {
                    let Operation { kind, die, .. } = self.out.operations[slot];
                    if kind == OperationKind::Read {
                        self.flash.push_read(slot, now, &mut self.out);
                    } else {
                        self.offered[die.index()].push_back(slot);
                        if self.flash.dies[die.index()].is_free() {
                            self.out.mark_ready(die);
                        }
                    }
                }
                other => unreachable!("{other:?}"),
            }
            self.ended.extend(self.out.done.drain(..).map(|slot| (slot, now.0)));
        }

        fn pull(&mut self, die: DieId) -> bool {
            let slot = self.offered[die.index()].pop_front();
            slot.map(|slot| self.flash.start(slot, SimTime(self.now), &mut self.out)).is_some()
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
                        if !self.pull(die) && reads_wait {
                            self.flash.dispatch_waiting_read(die, false, now, &mut self.out);
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
                    let die = self.out.ready.remove(0);
                    self.out.unmark_ready(die);
                    self.dispatch(die);
                } else if let Some(event) = self.out.events.pop_at(SimTime(at), Class::Timer) {
                    self.handle(event);
                } else {
                    break;
                }
            }
            self.check_nothing_idles();
            let busy = self.flash.dies.iter().filter(|die| die.running != NONE || die.suspended.is_some());
            assert_eq!(self.out.signals.busy_dies as usize, busy.count());
        }

        /// Asserts that no channel is idle while a die waits for it, and no die while an operation waits for it.
        fn check_nothing_idles(&self) {
            for channel in &self.flash.channels {
                assert!(!channel.has_waiting() || channel.free_at().0 > self.now, "a channel idles at {}", self.now);
            }
            let signals = &self.out.signals;
            for (index, die) in self.flash.dies.iter().enumerate().filter(|(_, die)| die.is_free()) {
                let waiting = self.offered[index].len() as u32 + die_reads(die, signals.hold, signals.die_reads[index]);
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
            assert!(self.flash.dies.iter().all(|die| die.phase == Phase::Rest && die.is_free()));
        }

        /// Returns the instant at which an operation has ended.
        fn end(&self, slot: u32) -> u64 {
            self.ended.iter().find(|(ended, _)| *ended == slot).expect("it has ended").1
        }

        fn charged(&self, slot: u32, cause: Cause) -> u64 {
            self.flash.ledger(slot).get(cause).0
        }
    }

    /// Returns the number of reads that a free die would start: host reads are held back while a policy holds other
    /// work.
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
            (Erase, false, &[(44, Phase::Array)], &[(BusCommand, 4)]),
            (LazyErase, false, &[(12, Phase::Array)], &[(BusCommand, 4)]),
            (Copyback, false, &[(52, Phase::Array)], &[(BusCommand, 12), (Sense, 10), (Cause::Program, 30)]),
            // Where suspension is possible, the start of the array phase is an event, except for reads.
            (Read, true, &[(16, Phase::Array), (18, Phase::Data)], &[(BusCommand, 6), (Sense, 10), (Transfer, 2)]),
            (Program, true, &[(8, Phase::Loading), (38, Phase::Array)], &[(BusCommand, 6), (Transfer, 2), (Cause::Program, 30)]),
            (Erase, true, &[(4, Phase::Loading), (44, Phase::Array)], &[(BusCommand, 4)]),
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
            assert_eq!(*rig.flash.ledger(slot), ledger, "{kind:?}");
        }
    }

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
        assert_eq!((rig.flash.ledger(program).total().0, rig.charged(program, Cause::Program)), (end, PROGRAM), "{case}");
        assert_eq!(rig.charged(program, Cause::DieHeld), u64::from(suspensions) * (SUSPEND + RESUME), "{case}");
        for ((&read, arrival), end) in reads.iter().zip(arrivals).zip(ends) {
            assert_eq!(rig.flash.ledger(read).total().0, end - arrival, "{case}");
        }
        [&reads[..], &[program]].concat().into_iter().for_each(|slot| rig.out.operations.release(slot));
    }

    /// A program and up to three reads at every later instant, against the model: the program is suspended at once if
    /// at least `least_remaining` of its array phase is left, and not one nanosecond later, and at most `most` times;
    /// reads that arrive until the die would resume are served in the same suspension.
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

    /// What may be suspended follows the configuration and the kind of the operation.
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

    /// A program on die 0 at 0, a read for it at every instant, and a program on die 1 whose transfer occupies the
    /// channel from every instant on: the suspend command waits for the channel, and is withdrawn if the array phase
    /// ends first, even at the very instant at which the channel becomes free.
    #[test]
    fn a_suspend_command_that_gets_the_channel_too_late_is_withdrawn() {
        let mut config = small(3, "read_first");
        config.suspension = suspension(1, 1);
        let array_end = LOAD + PROGRAM;
        for (read_at, other_at) in (LOAD..array_end).flat_map(|read| (0..=array_end).map(move |other| (read, other))) {
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
            let suspended = granted < array_end;
            assert_eq!(rig.flash.counters.suspensions, u64::from(suspended), "read at {read_at}, program at {other_at}");
            assert!(suspended || rig.end(program) == array_end, "read at {read_at}, program at {other_at}");
            assert_eq!(rig.flash.ledger(program).total().0, rig.end(program));
            assert_eq!(rig.charged(program, Cause::Program), PROGRAM);
            assert_eq!(rig.flash.ledger(read).total().0, rig.end(read) - read_at);
        }
    }

    /// A program whose data takes 12 ns to encode, and two reads at every instant: the die serves reads until the data
    /// is encoded, and then the program goes before any read.
    #[test]
    fn a_die_serves_reads_until_its_program_is_encoded() {
        const ENCODE: u64 = 12;
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
            assert_eq!(rig.flash.ledger(program).total().0, program_end, "{case}");
        }
    }

    /// Units of a collection pass the encoder one after another while their die may start other work. Write mode 0 has
    /// no code.
    #[test]
    fn units_of_a_collection_are_encoded_while_their_die_is_free() {
        let mut rig = Rig::new(&small(1, "read_first"));
        for (mode, encoded_at) in [(1, 112), (1, 124), (0, 100)] {
            let encoding = Encoding { die: DieId(0), mode: kit::ModeId(mode), units: 1 };
            rig.flash.encode(&encoding, SimTime(100), &mut rig.out);
            assert!(rig.flash.dies[0].is_free());
            let pending = rig.out.events.in_order();
            assert!(pending.contains(&(SimTime(encoded_at), Class::Done, Event::CollectionEncoded(DieId(0)))), "{pending:?}");
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

    /// While a policy holds other work back, relocations go on, and a host read starts only for the sake of a block
    /// that must be erased.
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
        rig.out.mark_ready(DieId(0));
        rig.instant(rig.now);
        rig.run();
        assert_eq!((rig.ended.len(), rig.end(host[1])), (5, now.0 + 2 * READ));
    }

    /// An operation of a load: kind, reason, die, and time since the operation before.
    type Arrival = (OperationKind, Reason, u32, u64);

    /// Runs operations on a flash at rest, whose dies and channels must never idle while something waits for them
    /// ([`Rig::check_nothing_idles`]). Asserts that every operation ends, with every nanosecond charged to a cause;
    /// that each channel carries one transfer at a time; and that a die serves its host reads, and its relocation
    /// reads, in the order of their arrival.
    fn check_load(rig: &mut Rig, load: &[Arrival]) {
        rig.ended.clear();
        rig.out.journal.enable(true);
        let mut at = rig.now;
        let mut arrivals = Vec::new();
        for &(kind, reason, die, gap) in load {
            at += gap;
            arrivals.push((rig.arrive(kind, reason, die, at), at));
        }
        rig.run();
        assert_eq!(rig.ended.len(), load.len(), "{load:?}");
        let mut last_end = [[0; 2]; 4];
        for (&(slot, arrived), &(kind, reason, die, _)) in arrivals.iter().zip(load) {
            let end = rig.end(slot);
            // Operations that are pulled wait in the FTL, which charges that wait; the ledger of an erase is not used.
            if kind == OperationKind::Read {
                assert_eq!(rig.flash.ledger(slot).total().0, end - arrived, "{load:?}");
                let last = &mut last_end[die as usize][usize::from(reason == Reason::Host)];
                assert!(end > std::mem::replace(last, end), "reads overtake: {load:?}");
            }
            rig.out.operations.release(slot);
        }
        let mut free_at = [SimTime::ZERO; 2];
        for record in rig.out.journal.records.drain(..) {
            if let Record::BusSpan { channel, begin, end, .. } = record {
                assert!(free_at[channel.index()] <= begin && begin < end, "two transfers at once: {load:?}");
                free_at[channel.index()] = end;
            }
        }
    }

    const KINDS: [(OperationKind, Reason); 4] = [
        (OperationKind::Read, Reason::Host),
        (OperationKind::Read, Reason::Gc),
        (OperationKind::Program, Reason::Host),
        (OperationKind::Erase, Reason::Gc),
    ];

    /// Conformance of the schedulers within the flash: every load of three operations on two dies of one channel.
    #[test]
    fn every_scheduler_serves_every_small_load() {
        let choices: Vec<Arrival> = KINDS
            .iter()
            .flat_map(|&(kind, reason)| [0, 1].map(move |die| (kind, reason, die)))
            .flat_map(|(kind, reason, die)| [0, 3, 17].map(move |gap| (kind, reason, die, gap)))
            .collect();
        for (name, suspension) in SchedulerConfig::NAMES.iter().flat_map(|name| [(name, None), (name, suspension(2, 1))]) {
            let mut rig = Rig::new(&FlashConfig { suspension, ..small(2, name) });
            for number in 0..choices.len().pow(3) {
                let load = [0, 1, 2].map(|place| choices[number / choices.len().pow(place) % choices.len()]);
                check_load(&mut rig, &load);
            }
        }
    }

    /// Long loads on four dies of two channels, from calm to more than the flash can serve at once.
    #[test]
    fn every_scheduler_serves_long_loads() {
        let mut rng = Rng::stream(1, "flash.loads");
        for (name, suspension) in SchedulerConfig::NAMES.iter().flat_map(|name| [(name, None), (name, suspension(2, 2))]) {
            let mut rig = Rig::new(&FlashConfig { suspension, channels: 2, ..small(2, name) });
            for most_gap in [1, 5, 10, 20, 40] {
                let mut arrival = || {
                    let (kind, reason) = KINDS[rng.below(4) as usize];
                    (kind, reason, rng.below(4) as u32, rng.below(most_gap))
                };
                check_load(&mut rig, &(0..300).map(|_| arrival()).collect::<Vec<_>>());
            }
        }
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

    /// Two reads on die 0 and one on die 1, whose data waits for the data of the first. When the first ends, the
    /// command of the next read on its die is there before the channel is granted again, and goes first if the
    /// scheduler ranks it higher.
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
        assert_eq!((half.dies[0], half.encoders[0]), (16.0 / 26.0, 6.0 / 26.0));
        rig.run();
        // Power was off for half of the time.
        start.exclude(Nanos(100));
        let Utilisation { channels, dies, writing, encoders } = rig.flash.utilisation(SimTime(250), &start);
        assert_eq!((channels, dies), (vec![(8.0 + 8.0) / 100.0], vec![18.0 / 100.0, 38.0 / 100.0]));
        assert_eq!((writing, encoders), (vec![0.0, 38.0 / 100.0], vec![12.0 / 100.0]));
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
}
