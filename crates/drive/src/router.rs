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

/// A command in the drive.
#[derive(Clone, Debug)]
struct Command {
    command: HostCommand,
    submitted: SimTime,
    /// Where its time went before its parts were issued: waiting for a place in the device, and crossing the link.
    queued: Nanos,
    linked: Nanos,
    remaining: u32,
    recorded: bool,
}

impl Command {
    /// Counts a part that is done; whether it was the last.
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

/// Records where the time of a command went that is done.
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

/// The mapping units that a range of bytes touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Units {
    first: u32,
    count: u32,
    /// The first and the last unit are covered whole.
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

    /// The units that are covered whole: what a trim deallocates.
    fn inner(&self) -> (u32, u32) {
        if self.count == 0 || self.count == 1 && !self.whole_first {
            return (self.first, 0);
        }
        let skip = u32::from(!self.whole_first);
        (self.first + skip, self.count - skip - u32::from(!self.whole_last))
    }
}

/// A drive. A plain value: two drives in one process share nothing.
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
    /// Whose turn it is on each die that is pressed to move a block: a read's, or the move's.
    reads_turn: Vec<bool>,
    /// What has been measured.
    pub statistics: Statistics,
}

impl Drive {
    /// The drive of a validated description, empty and at rest.
    pub fn new(description: &Description, seed: u64) -> std::io::Result<Drive> {
        Ok(Drive::with_ftl(description, description.build_ftl(seed)?, seed))
    }

    /// The same, with a flash translation layer that was made for it ([`Description::build_ftl_with`]).
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
            reads_turn: vec![false; geometry.die_count as usize],
            statistics: Statistics::default(),
            out,
        }
    }

    /// Bytes that the host sees.
    pub fn user_bytes(&self) -> u64 {
        self.user_bytes
    }

    /// The simulated time.
    #[inline]
    pub fn now(&self) -> SimTime {
        self.now
    }

    /// The flash translation layer, for preconditioning, saving and reports.
    pub fn ftl(&self) -> &Ftl {
        &self.ftl
    }

    /// The flash, for reports.
    pub fn flash(&self) -> &Flash {
        &self.flash
    }

    /// The flash translation layer of a drive at rest, to bring it to a starting state.
    pub fn ftl_mut(&mut self) -> &mut Ftl {
        assert!(self.flash_is_at_rest(), "the state of a drive is changed from outside only while it is at rest");
        &mut self.ftl
    }

    /// Whether no flash operation is waiting or running.
    fn flash_is_at_rest(&self) -> bool {
        self.out.operations.in_use() == 0
    }

    /// Records of what happens inside, if enabled; drained by whoever watches.
    pub fn journal(&mut self) -> &mut kit::Journal {
        &mut self.out.journal
    }

    /// The physical history, if enabled: for comparing runs.
    pub fn history(&mut self) -> &mut kit::History {
        &mut self.out.history
    }

    /// Lets the policy see the drive as it is, once it has its starting state.
    pub fn adopt(&mut self) {
        self.ftl.adopt(self.now, &mut self.out);
        self.statistics.restart(self.now, &self.flash, &self.ftl);
    }

    /// Tells the policy what is to come of the workload that begins now.
    pub fn foresee(&mut self, future: &std::sync::Arc<ftl::policy::future::Future>) {
        self.ftl.foresee(future, self.now);
    }

    /// Whether commands submitted from now on are counted in the statistics.
    pub fn record(&mut self, recording: bool) {
        if recording && !self.recording {
            self.statistics.restart(self.now, &self.flash, &self.ftl);
        }
        self.recording = recording;
    }

    /// Forgets what was measured so far.
    pub fn restart_measurement(&mut self) {
        self.statistics.restart(self.now, &self.flash, &self.ftl);
    }

    /// Events that are still to happen: what runs, and timers.
    pub fn pending_events(&self) -> usize {
        self.out.events.len()
    }

    /// Commands submitted and not completed.
    pub fn commands_in_flight(&self) -> u64 {
        self.out.signals.commands_in_flight
    }

    /// Whether commands wait at the host because the device's queue or its write buffer is full.
    pub fn is_full(&self) -> bool {
        !self.waiting_for_slot.is_empty() || self.buffer.has_waiting()
    }

    /// Loads ahead what commands on these units will need. Changes nothing.
    #[inline]
    pub fn hint(&mut self, units: &[Lpn], writes: bool) {
        self.ftl.hint(units, writes);
    }

    /// Submits a command that arrives `at`, which must not be in the past. One that arrives now is handled before any later event. Returns the number
    /// by which the journal's records name the command until it is done.
    ///
    /// # Panics
    /// If the range is not in the drive, or empty where the command needs one.
    #[inline]
    pub fn submit(&mut self, command: HostCommand, at: SimTime) -> CommandId {
        assert!(at >= self.now, "a command cannot arrive in the past");
        let in_range = command.offset.0 + command.length.0 <= self.user_bytes && command.length.0 > 0;
        assert!(command.op == Op::Flush || in_range, "{command:?} is not in a drive of {} bytes", self.user_bytes);
        let slot = self.commands.take();
        // Field by field: copied as a whole it would be read in wide words before its narrow fields have been stored.
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

    /// When something happens next: now, if a command was submitted for now.
    #[inline]
    pub fn next_event(&self) -> Option<SimTime> {
        if !self.arrivals.is_empty() || !self.out.ready.is_empty() {
            return Some(self.now);
        }
        self.out.events.next_time()
    }

    /// Handles whole instants, up to and including `until`, and returns at the first one that produced a completion, or at `until`.
    pub fn advance(&mut self, until: SimTime) -> &[Completion] {
        self.run_until(until, u32::MAX);
        &self.completions
    }

    /// The same; the completions are exchanged for those in `done`, which are forgotten. After many instants in which nothing is completed it
    /// returns earlier, with none, so that whoever runs the drive can end it: a worn-out one may have no more room than its own moves need.
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

    /// From now on no new programs, collections or rewrites start; what runs is finished. The drive comes to rest.
    pub fn quiesce(&mut self) {
        self.pulling = false;
        while !self.flash_is_at_rest() || !self.arrivals.is_empty() {
            let Some(at) = self.next_event() else { break };
            self.run_instant(at);
        }
        self.pulling = true;
    }

    /// Has everything programmed that the write buffer holds, as a flush of the host would, and waits for it. Nothing of it is measured.
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

    /// Shuts down gracefully: programs what the buffer holds and lets the policy move what it must, then comes to rest. `go_on` is asked now and then.
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

    /// Handles everything that happens at one instant: what is done, then what arrives, then what idle resources choose, then timers.
    fn run_instant(&mut self, at: SimTime) {
        self.now = at;
        loop {
            while let Some(event) = self.out.events.pop_at(at, Class::Arrival) {
                self.handle(event);
            }
            while let Some(command) = self.arrivals.pop_front() {
                self.arrive(command);
            }
            // What dies start takes time: only a timer or an event of no duration can bring this instant anything more.
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
            Event::Bus(channel) => self.flash.bus_event(channel, self.now, &mut self.out),
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

    /// Asks every die that may have something to do.
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
                self.ftl.offer_again(now, &mut self.out);
            }
            Dispatch::Pull => {
                let pulled = if self.pulling { self.ftl.next(die, now, &mut self.out) } else { None };
                if let Some(slot) = pulled {
                    self.ftl.set_busy(die);
                    self.flash.start(slot, now, &mut self.out);
                } else if self.flash.has_waiting_reads(die)
                    && self.flash.dispatch_any_read(die, self.ftl.waits_for_reads(die), now, &mut self.out)
                {
                    self.ftl.set_busy(die);
                    self.ftl.offer_again(now, &mut self.out);
                } else {
                    self.ftl.set_idle(die, now, &mut self.out);
                }
            }
        }
    }

    /// A die with a block that must be moved before its retention limit: reads that keep coming get every other turn, or they could keep it from being moved.
    fn dispatch_urgent_move(&mut self, die: kit::DieId) -> bool {
        let turn = &mut self.reads_turn[die.index()];
        *turn = !*turn;
        if *turn || !self.pulling || !self.flash.is_free(die) {
            return false;
        }
        let Some(slot) = self.ftl.next(die, self.now, &mut self.out) else { return false };
        self.ftl.set_busy(die);
        self.flash.start(slot, self.now, &mut self.out);
        true
    }

    /// Turns one stage's output into another's input, until nothing is left.
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
                // The ledger stays where it is: copying it costs as much as adding it up.
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

    /// A part's data, if it has any, crosses the link to the host.
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

    /// A command reaches the device: it takes a place there, or waits for one.
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

    /// A command crosses the link.
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

    /// A command is in the device: its units go to the FTL.
    fn process(&mut self, command: CommandId) {
        let state = &mut self.commands[command.0];
        let units = Units::of(&state.command);
        match state.command.op {
            Op::Read => {
                // Held back until all parts are known.
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

    /// The buffer takes units, oldest command first, while it has space.
    fn fill_buffer(&mut self) {
        while let Some((command, index)) = self.buffer.take_unit() {
            let state = &mut self.commands[command.0];
            let units = Units::of(&state.command);
            state.remaining -= 1;
            let accepted = state.remaining == 0;
            self.ftl.write(&units.host_unit(command, index, true), self.now, &mut self.out);
            // A unit that replaced another in place gave its space back at once.
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

    /// A part of a command is done, its data with the host. The part that is last is the critical one: its ledger is the command's.
    #[inline]
    fn part_delivered(&mut self, command: CommandId, ledger: &Ledger) {
        if self.commands[command.0].ends_with_this_part() {
            self.complete_with(command, ledger);
        }
    }

    /// A command is done; `ledger` is where its time went since it was in the device.
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

    /// A command is done, and its time is recorded.
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
