//! The drive: its stages, and the router between them.

mod power;
mod save;

use crate::description::Description;
use crate::statistics::Statistics;
use flash::{Dispatch, Flash};
use ftl::{Ftl, HostUnit};
use host::{Buffer, HostInterface};
use kit::history::Entry;
use kit::queue::Class;
use kit::{
    Bytes, Cause, CommandId, Completion, Event, HostCommand, Ledger, Lpn, Nanos, Op, Outbox, Owner, Part, SimTime, Slab,
    UNIT_BYTES,
};
use std::collections::VecDeque;

pub use power::PowerFailure;
pub use save::{Identity, Resumed};

/// Instants without a completion after which [`Drive::advance_into`] returns.
const QUIET_INSTANTS: u32 = 100_000;

/// A host command in the drive.
#[derive(Clone, Debug)]
struct Command {
    command: HostCommand,
    submitted: SimTime,
    /// Time before the command's parts were issued: `queued` waiting for a queue slot, `linked` crossing the link.
    queued: Nanos,
    linked: Nanos,
    remaining: u32,
    recorded: bool,
}

impl Command {
    /// Counts one part as done; returns true if it was the last one.
    #[inline]
    fn ends_with_this_part(&mut self) -> bool {
        self.remaining -= 1;
        self.remaining == 0
    }

    #[inline]
    fn completion(&self, now: SimTime) -> Completion {
        let HostCommand { op, tag, length, .. } = self.command;
        Completion { tag, op, submitted: self.submitted, completed: now, length }
    }
}

/// Records the latency of a completed command and its causes, if recording was on at its submission.
#[inline]
fn record(statistics: &mut Statistics, state: &Command, now: SimTime, ledger: &Ledger) {
    if state.recorded {
        statistics.record(&state.completion(now), state.command.offset, ledger);
    }
}

impl Default for Command {
    fn default() -> Self {
        let command = HostCommand { op: Op::Flush, tag: 0, offset: Bytes(0), length: Bytes(0) };
        Command { command, submitted: SimTime::ZERO, queued: Nanos::ZERO, linked: Nanos::ZERO, remaining: 0, recorded: false }
    }
}

/// Mapping units that a range of bytes touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Units {
    first: u32,
    count: u32,
    /// True if the range covers all of its first unit (`whole_first`) or of its last unit (`whole_last`).
    whole_first: bool,
    whole_last: bool,
}

impl Units {
    fn of(command: &HostCommand) -> Units {
        let (start, end) = (command.offset.0, command.offset.0 + command.length.0);
        let first = start / UNIT_BYTES;
        let last = end.div_ceil(UNIT_BYTES);
        let aligned = (start % UNIT_BYTES == 0, end % UNIT_BYTES == 0);
        let single = last - first == 1;
        Units {
            first: u32::try_from(first).expect("validated: an address in the drive"),
            count: u32::try_from(last - first).expect("validated: a length in the drive"),
            whole_first: aligned.0 && (!single || aligned.1),
            whole_last: aligned.1 && (!single || aligned.0),
        }
    }

    fn is_whole(&self, index: u32) -> bool {
        (index > 0 || self.whole_first) && (index + 1 < self.count || self.whole_last)
    }

    fn host_unit(&self, command: CommandId, index: u32, buffered: bool) -> HostUnit {
        let (whole, last) = (self.is_whole(index), index + 1 == self.count);
        HostUnit { command, lpn: Lpn(self.first + index), whole, last, buffered }
    }

    /// Returns first unit and count of the units that are covered completely: those that a trim deallocates.
    fn inner(&self) -> (u32, u32) {
        if self.count == 0 || self.count == 1 && !self.whole_first {
            return (self.first, 0);
        }
        let skip = u32::from(!self.whole_first);
        (self.first + skip, self.count - skip - u32::from(!self.whole_last))
    }
}

/// A drive. It is a plain value: two drives in one process share no state.
pub struct Drive {
    now: SimTime,
    out: Outbox,
    flash: Flash,
    ftl: Ftl,
    link: Box<dyn HostInterface>,
    link_is_ideal: bool,
    buffer: Buffer,
    commands: Slab<Command>,
    delivering: Slab<Part>,
    arrivals: VecDeque<CommandId>,
    waiting_for_slot: VecDeque<CommandId>,
    completions: Vec<Completion>,
    user_bytes: u64,
    pulling: bool,
    recording: bool,
    spare_parts: Vec<Part>,
    /// For each die with an urgent move: true if the last turn went to reads, so that the next one goes to the move.
    last_turn_was_read: Vec<bool>,
    /// Measurements so far.
    pub statistics: Statistics,
}

impl Drive {
    /// Creates the drive of a validated description, empty and at rest.
    pub fn new(description: &Description, seed: u64) -> std::io::Result<Drive> {
        Ok(Drive::with_ftl(description, description.build_ftl(seed)?, seed))
    }

    /// Creates a drive like [`Drive::new`], but with a given flash translation layer, which was built for the same
    /// description ([`Description::build_ftl_with`]).
    pub fn with_ftl(description: &Description, ftl: Ftl, seed: u64) -> Drive {
        let geometry = description.geometry();
        let mut out = Outbox::new(geometry.die_count as usize, geometry.shape.channels as usize);
        let buffer = Buffer::new(&description.buffer);
        out.signals.buffer_capacity_pages = buffer.capacity();
        Drive {
            now: SimTime::ZERO,
            flash: Flash::new(&description.flash, &geometry, seed),
            user_bytes: ftl.store.user_units * UNIT_BYTES,
            ftl,
            link: description.host.interface.build(()),
            link_is_ideal: description.host.interface.name() == "ideal",
            buffer,
            commands: Slab::with_capacity(1024),
            delivering: Slab::with_capacity(1024),
            arrivals: VecDeque::with_capacity(64),
            waiting_for_slot: VecDeque::with_capacity(64),
            completions: Vec::with_capacity(64),
            pulling: true,
            recording: true,
            spare_parts: Vec::with_capacity(64),
            last_turn_was_read: vec![false; geometry.die_count as usize],
            statistics: Statistics::default(),
            out,
        }
    }

    /// Returns the user capacity in bytes.
    pub fn user_bytes(&self) -> u64 {
        self.user_bytes
    }

    /// Returns the simulated time.
    #[inline]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// Returns the flash translation layer, for preconditioning, saving and reports.
    pub fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    /// Returns the flash, for reports.
    pub fn flash(&self) -> &Flash {
        &self.flash
    }

    /// Returns the flash translation layer of a drive at rest for modification, to bring it to a starting state.
    pub fn ftl_mut(&mut self) -> &mut Ftl {
        assert!(self.flash_is_at_rest(), "the state of a drive is changed from outside only while it is at rest");
        &mut self.ftl
    }

    /// Returns true if no flash operation is waiting or running.
    fn flash_is_at_rest(&self) -> bool {
        self.out.operations.in_use() == 0
    }

    /// Returns the journal: records of internal events, if enabled. The observer that enabled it drains it.
    pub fn journal(&mut self) -> &mut kit::Journal {
        &mut self.out.journal
    }

    /// Returns the physical history, if enabled: for comparing runs.
    pub fn history(&mut self) -> &mut kit::History {
        &mut self.out.history
    }

    /// Lets the policy learn the state of the drive, once the drive has its starting state, and starts the measurement.
    pub fn adopt(&mut self) {
        self.ftl.adopt(self.now, &mut self.out);
        self.statistics.restart(self.now, &self.flash, &self.ftl);
    }

    /// Gives the policy the future accesses of the workload that begins now.
    pub fn set_future(&mut self, future: &std::sync::Arc<ftl::policy::future::Future>) {
        self.ftl.set_future(future, self.now);
    }

    /// Sets whether commands submitted from now on are counted in the statistics. Switching recording on restarts the
    /// measurement.
    pub fn record(&mut self, recording: bool) {
        if recording && !self.recording {
            self.statistics.restart(self.now, &self.flash, &self.ftl);
        }
        self.recording = recording;
    }

    /// Discards all measurements so far, except the log of commands, and begins a new measurement.
    pub fn restart_measurement(&mut self) {
        self.statistics.restart(self.now, &self.flash, &self.ftl);
    }

    /// Returns the number of pending events: ends of operations in progress, arrivals, and timers.
    pub fn pending_events(&self) -> usize {
        self.out.events.len()
    }

    /// Returns the number of commands submitted and not completed.
    pub fn commands_in_flight(&self) -> u64 {
        self.out.signals.commands_in_flight
    }

    /// Returns true if commands wait because the device's queue or its write buffer is full.
    pub fn is_full(&self) -> bool {
        !self.waiting_for_slot.is_empty() || self.buffer.has_waiting()
    }

    /// Prefetches the tables that commands on these units will read. Does not affect the simulation.
    #[inline]
    pub fn hint(&mut self, units: &[Lpn], writes: bool) {
        self.ftl.hint(units, writes);
    }

    /// Submits a command that arrives at instant `at`, which must not be in the past. A command that arrives now is
    /// handled before any later event. Returns the id by which the journal's records identify the command until it
    /// completes.
    ///
    /// # Panics
    /// If the range is not in the drive, or empty where the command needs one.
    #[inline]
    pub fn submit(&mut self, command: HostCommand, at: SimTime) -> CommandId {
        assert!(at >= self.now, "a command cannot arrive in the past");
        let in_range = command.offset.0 + command.length.0 <= self.user_bytes && command.length.0 > 0;
        assert!(command.op == Op::Flush || in_range, "{command:?} is not in a drive of {} bytes", self.user_bytes);
        let slot = self.commands.take();
        // Copied field by field: a copy of the whole struct would load wide words from narrow fields that were just
        // stored, which stalls.
        let HostCommand { op, tag, offset, length } = command;
        let state = &mut self.commands[slot];
        state.command.op = op;
        state.command.tag = tag;
        state.command.offset = offset;
        state.command.length = length;
        state.submitted = at;
        state.queued = Nanos::ZERO;
        state.linked = Nanos::ZERO;
        state.recorded = self.recording;
        if at == self.now {
            self.arrivals.push_back(CommandId(slot));
        } else {
            self.out.events.push(at, Class::Arrival, Event::Arrival(CommandId(slot)));
        }
        CommandId(slot)
    }

    /// Returns the instant of the next event: now, if a command was submitted for now or a die is ready.
    #[inline]
    pub fn next_event(&self) -> Option<SimTime> {
        if !self.arrivals.is_empty() || !self.out.ready.is_empty() {
            return Some(self.now);
        }
        self.out.events.next_time()
    }

    /// Handles all events up to and including `until`, one whole instant after another. Returns after the first instant
    /// that produced a completion, or at `until`.
    pub fn advance(&mut self, until: SimTime) -> &[Completion] {
        self.run_until(until, u32::MAX);
        &self.completions
    }

    /// Advances like [`Drive::advance`], but swaps the completions into `done`, whose previous content is discarded.
    /// After many instants without a completion it returns early, with none, so that the caller can end the run: a
    /// worn-out drive may have too few free blocks to serve anything but its own relocations.
    pub fn advance_into(&mut self, until: SimTime, done: &mut Vec<Completion>) {
        self.run_until(until, QUIET_INSTANTS);
        std::mem::swap(&mut self.completions, done);
    }

    fn run_until(&mut self, until: SimTime, instants: u32) {
        self.completions.clear();
        for _ in 0..instants {
            match self.next_event() {
                Some(at) if at <= until => self.run_instant(at),
                Some(_) => {
                    self.now = until;
                    break;
                }
                None => {
                    if until < SimTime::FOREVER {
                        self.now = until;
                    }
                    break;
                }
            }
            if !self.completions.is_empty() {
                break;
            }
        }
    }

    /// Brings the drive to rest: starts no new programs, collections or rewrites, and finishes the operations in
    /// flight.
    pub fn quiesce(&mut self) {
        self.pulling = false;
        while !self.flash_is_at_rest() || !self.arrivals.is_empty() {
            let Some(at) = self.next_event() else { break };
            self.run_instant(at);
        }
        self.pulling = true;
    }

    /// Programs all data in the write buffer, as a flush command of the host would, and waits until it is done.
    /// Recording is switched off, and stays off.
    pub fn program_buffer(&mut self) {
        if self.buffer.used() == 0 {
            return;
        }
        self.record(false);
        self.submit(HostCommand { op: Op::Flush, tag: u32::MAX, offset: Bytes(0), length: Bytes(0) }, self.now);
        loop {
            let done = self.advance(SimTime::FOREVER);
            if done.is_empty() || done.iter().any(|completion| completion.op == Op::Flush && completion.tag == u32::MAX) {
                return;
            }
        }
    }

    /// Shuts down gracefully: programs the data in the write buffer, lets the policy move the pages it must, and brings
    /// the drive to rest. `go_on` is asked every 65,536 steps; if it returns false, the shutdown is cut short.
    pub fn shut_down(&mut self, go_on: &mut dyn FnMut(SimTime) -> bool) {
        self.ftl.begin_shutdown(&mut self.out);
        let mut steps = 0u64;
        while let Some(at) = self.next_event() {
            if self.ftl.has_shut_down(self.now, &mut self.out) {
                break;
            }
            self.route();
            self.run_instant(at.min(self.next_event().unwrap_or(at)));
            steps += 1;
            if steps.is_multiple_of(65_536) && !go_on(self.now) {
                break;
            }
        }
        self.ftl.end_shutdown();
        self.quiesce();
    }

    /// Handles everything that happens at one instant: completed operations, then arrivals, then the choices of idle
    /// dies, then timers.
    fn run_instant(&mut self, at: SimTime) {
        self.now = at;
        loop {
            while let Some(event) = self.out.events.pop_at(at, Class::Arrival) {
                self.handle(event);
            }
            while let Some(command) = self.arrivals.pop_front() {
                self.arrive(command);
            }
            // An operation that a die starts takes time: only a timer or an event of zero duration can add work at this
            // instant.
            if !self.out.ready.is_empty() {
                self.dispatch_ready();
                if self.out.events.next_time() != Some(at) && self.arrivals.is_empty() {
                    break;
                }
            } else if let Some(event) = self.out.events.pop_at(at, Class::Timer) {
                self.handle(event);
            } else {
                break;
            }
        }
    }

    #[inline]
    fn handle(&mut self, event: Event) {
        match event {
            Event::Die { die, generation } => self.flash.die_event(die, generation, self.now, &mut self.out),
            Event::Encoded(die) => self.flash.encoded(die, self.now, &mut self.out),
            Event::CollectionEncoded(die) => self.ftl.collection_encoded(die, &mut self.out),
            Event::ChannelFree(channel) => self.flash.bus_event(channel, self.now, &mut self.out),
            Event::Arrival(command) => self.arrive(command),
            Event::Admitted(command) => self.process(command),
            Event::Delivered(slot) => {
                let part = self.delivering[slot];
                self.delivering.release(slot);
                self.part_delivered(part.command, &part.ledger);
            }
            Event::Timer(timer) => self.ftl.timer(timer, self.now, &mut self.out),
        }
        self.route();
    }

    /// Dispatches every die that is marked as ready: each may have work.
    fn dispatch_ready(&mut self) {
        let mut index = 0;
        while index < self.out.ready.len() {
            let die = self.out.ready[index];
            index += 1;
            self.out.unmark_ready(die);
            self.dispatch(die);
            self.route();
        }
        self.out.ready.clear();
    }

    #[inline]
    fn dispatch(&mut self, die: kit::DieId) {
        let now = self.now;
        if self.ftl.has_urgent_move(die) && self.dispatch_urgent_move(die) {
            return;
        }
        match self.flash.dispatch(die, now, self.ftl.oldest_write(die), &mut self.out) {
            Dispatch::Busy => {}
            Dispatch::Started => {
                self.ftl.set_busy(die);
                self.ftl.wake_next_idle(now, &mut self.out);
            }
            Dispatch::Pull => {
                let pulled = if self.pulling { self.ftl.next(die, now, &mut self.out) } else { None };
                if let Some(slot) = pulled {
                    self.ftl.set_busy(die);
                    self.flash.start(slot, now, &mut self.out);
                } else if self.flash.has_waiting_reads(die)
                    && self.flash.dispatch_waiting_read(die, self.ftl.waits_for_reads(die), now, &mut self.out)
                {
                    self.ftl.set_busy(die);
                    self.ftl.wake_next_idle(now, &mut self.out);
                } else {
                    self.ftl.set_idle(die, now, &mut self.out);
                }
            }
        }
    }

    /// Starts the next pulled operation on a die with an urgent move, a block that must be moved before its retention
    /// limit. Reads get every other turn; otherwise a steady stream of them could hold up the move. Returns true if an
    /// operation was started.
    fn dispatch_urgent_move(&mut self, die: kit::DieId) -> bool {
        let turn = &mut self.last_turn_was_read[die.index()];
        *turn = !*turn;
        if *turn || !self.pulling || !self.flash.is_free(die) {
            return false;
        }
        let Some(slot) = self.ftl.next(die, self.now, &mut self.out) else { return false };
        self.ftl.set_busy(die);
        self.flash.start(slot, self.now, &mut self.out);
        true
    }

    /// Passes what each stage left in the outbox on to the stage it is meant for, until nothing is left to pass on.
    #[inline]
    fn route(&mut self) {
        loop {
            if !self.out.done.is_empty() {
                self.route_done();
            } else if !self.out.reads.is_empty() {
                self.route_reads();
            } else if !self.out.parts.is_empty() {
                self.route_parts();
            } else if let Some(encoding) = self.out.encodings.pop() {
                self.flash.encode(&encoding, self.now, &mut self.out);
            } else if self.out.buffer_released > 0 {
                let units = std::mem::take(&mut self.out.buffer_released);
                self.buffer.release(units);
                self.fill_buffer();
            } else {
                return;
            }
        }
    }

    #[inline]
    fn route_reads(&mut self) {
        let mut index = 0;
        while index < self.out.reads.len() {
            let slot = self.out.reads[index];
            self.flash.push_read(slot, self.now, &mut self.out);
            index += 1;
        }
        self.out.reads.clear();
    }

    #[inline]
    fn route_done(&mut self) {
        let mut index = 0;
        while index < self.out.done.len() {
            let slot = self.out.done[index];
            index += 1;
            let operation = self.out.operations[slot];
            let ledger = self.flash.ledger(slot);
            self.ftl.operation_done(&operation, ledger, self.now, &mut self.out);
            self.out.operations.release(slot);
            let Owner::Command(command) = operation.owner else { continue };
            if !self.link_is_ideal {
                let ledger = *ledger;
                self.deliver(command, &ledger, operation.units);
            } else if self.commands[command.0].ends_with_this_part() {
                // The ledger is used in place: copying it costs as much as adding it up.
                record(&mut self.statistics, &self.commands[command.0], self.now, ledger);
                self.complete(command);
            }
        }
        self.out.done.clear();
    }

    #[inline]
    fn route_parts(&mut self) {
        let mut parts = std::mem::replace(&mut self.out.parts, std::mem::take(&mut self.spare_parts));
        for part in &parts {
            self.deliver(part.command, &part.ledger, part.units);
        }
        parts.clear();
        self.spare_parts = parts;
    }

    /// Sends the data of a completed part over the link to the host. A part without data, or over an ideal link, is
    /// delivered at once.
    #[inline]
    fn deliver(&mut self, command: CommandId, ledger: &Ledger, units: u32) {
        if units == 0 || self.link_is_ideal {
            self.part_delivered(command, ledger);
            return;
        }
        let at = self.link.deliver(Bytes(u64::from(units) * UNIT_BYTES), self.now);
        let slot = self.delivering.put(Part { command, ledger: *ledger, units });
        self.delivering[slot].ledger.charge(Cause::Link, at.since(self.now));
        self.out.events.push(at, Class::Done, Event::Delivered(slot));
    }

    /// Handles the arrival of a command at the device: the command takes a queue slot, or waits for one.
    #[inline]
    fn arrive(&mut self, command: CommandId) {
        self.out.signals.commands_in_flight += 1;
        self.out.signals.last_host_activity = self.now;
        if self.waiting_for_slot.is_empty() && self.link.try_acquire_slot() {
            self.admit(command);
        } else {
            self.waiting_for_slot.push_back(command);
        }
    }

    /// Sends a command that has a queue slot over the link.
    #[inline]
    fn admit(&mut self, command: CommandId) {
        if self.link_is_ideal {
            self.process(command);
            self.route();
            return;
        }
        let state = &mut self.commands[command.0];
        state.queued = self.now.since(state.submitted);
        let brings = if state.command.op == Op::Write { state.command.length } else { Bytes(0) };
        let at = self.link.admit(brings, self.now);
        state.linked = at.since(self.now);
        if at == self.now {
            self.process(command);
            self.route();
        } else {
            self.out.events.push(at, Class::Arrival, Event::Admitted(command));
        }
    }

    /// Processes a command that has crossed the link: passes its units to the FTL or to the write buffer.
    fn process(&mut self, command: CommandId) {
        let state = &mut self.commands[command.0];
        let units = Units::of(&state.command);
        match state.command.op {
            Op::Read => {
                // Keeps the command from completing before the number of its parts is known.
                state.remaining = u32::MAX;
                let parts = self.ftl.read(command, Lpn(units.first), units.count, self.now, &mut self.out);
                self.commands[command.0].remaining = parts;
            }
            Op::Write if self.buffer.is_present() => {
                state.remaining = units.count;
                self.buffer.arrive(command, self.now);
                self.fill_buffer();
            }
            Op::Write => {
                state.remaining = units.count;
                for index in 0..units.count {
                    self.ftl.write(&units.host_unit(command, index, false), self.now, &mut self.out);
                }
            }
            Op::Trim => {
                let (first, count) = units.inner();
                self.ftl.trim(Lpn(first), count, self.now, &mut self.out);
                self.complete_with(command, &Ledger::default());
            }
            Op::Flush => {
                state.remaining = 1;
                self.ftl.flush(command, self.now, &mut self.out);
            }
        }
    }

    /// Moves units of waiting writes into the buffer while it has space, oldest command first. A write is acknowledged
    /// with its last unit.
    fn fill_buffer(&mut self) {
        while let Some((command, index)) = self.buffer.take_unit() {
            let state = &mut self.commands[command.0];
            let units = Units::of(&state.command);
            state.remaining -= 1;
            let accepted = state.remaining == 0;
            self.ftl.write(&units.host_unit(command, index, true), self.now, &mut self.out);
            // A unit that replaced a buffered one in place has released its space at once.
            let released = std::mem::take(&mut self.out.buffer_released);
            self.buffer.release(released);
            self.out.signals.buffered_pages = self.buffer.used();
            if accepted {
                let since = self.buffer.front_done();
                let mut ledger = Ledger::default();
                ledger.charge(Cause::BufferFull, self.now.since(since));
                self.complete_with(command, &ledger);
            }
        }
        self.out.signals.buffered_pages = self.buffer.used();
    }

    /// Counts a part whose data has reached the host. The last part is the critical one: its ledger becomes the
    /// command's.
    #[inline]
    fn part_delivered(&mut self, command: CommandId, ledger: &Ledger) {
        if self.commands[command.0].ends_with_this_part() {
            self.complete_with(command, ledger);
        }
    }

    /// Records the latency of a command and completes it; `ledger` covers the time since the command reached the
    /// device.
    fn complete_with(&mut self, command: CommandId, ledger: &Ledger) {
        let state = &self.commands[command.0];
        if self.link_is_ideal {
            record(&mut self.statistics, state, self.now, ledger);
        } else {
            let mut ledger = *ledger;
            ledger.charge(Cause::HostQueue, state.queued);
            ledger.charge(Cause::Link, state.linked);
            record(&mut self.statistics, state, self.now, &ledger);
        }
        self.complete(command);
    }

    /// Completes a command whose latency is recorded, and passes its queue slot to the next waiting command.
    #[inline]
    fn complete(&mut self, command: CommandId) {
        if self.statistics.sample_due() {
            self.statistics.sample(self.now, self.out.signals.queued_write_pages, &self.ftl);
        }
        let HostCommand { op, tag, offset, .. } = self.commands[command.0].command;
        self.out.history.note(|| Entry::completed(self.now, op, offset.0, tag));
        self.completions.push(self.commands[command.0].completion(self.now));
        self.commands.release(command.0);
        self.out.signals.commands_in_flight -= 1;
        self.out.signals.last_host_activity = self.now;
        if !self.link_is_ideal {
            self.link.release_slot();
            if let Some(next) = self.waiting_for_slot.pop_front() {
                if self.link.try_acquire_slot() {
                    self.admit(next);
                } else {
                    self.waiting_for_slot.push_front(next);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn units(offset: u64, length: u64) -> Units {
        Units::of(&HostCommand { op: Op::Write, tag: 0, offset: Bytes(offset), length: Bytes(length) })
    }

    #[test]
    fn ranges_touch_the_right_units() {
        let u = units(4096, 8192);
        assert_eq!((u.first, u.count, u.inner()), (1, 2, (1, 2)));
        let u = units(512, 4096);
        assert_eq!((u.first, u.count, u.is_whole(0), u.is_whole(1), u.inner().1), (0, 2, false, false, 0));
        let u = units(4096, 512);
        assert_eq!((u.first, u.count, u.is_whole(0), u.inner().1), (1, 1, false, 0));
        let u = units(2048, 4096 * 2 + 2048);
        assert_eq!((u.count, u.is_whole(0), u.is_whole(1), u.is_whole(2), u.inner()), (3, false, true, true, (1, 2)));
    }
}
