//! The host stage: the path of a command to the device and of its data and its completion back.

use crate::buffer::{Buffer, BufferConfig, BufferImage, Piece, TakenUnit};
use crate::commands::{Command, Commands, UnitRange};
use crate::interrupts::{Interrupts, Posted};
use crate::queues::{ArbitrationImage, QueueConfig, Queues};
use kit::history::Entry;
use kit::queue::Class;
use kit::{
    Bytes, Cause, CommandFlags, CommandId, Completion, Event, Events, Handoff, HostCommand, HostUnit, Ledger, Lpn, Nanos, Op,
    Outbox, Protocol, Record, Signals, SimTime, Status, UNIT_BYTES, UnitSize,
};
use std::collections::VecDeque;

/// A command in the device, as the FTL is to serve it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Look up these units. The FTL states the number of parts ([`Host::expect_parts`]).
    Read(UnitRange),
    /// Program these units; each is a part.
    Write(UnitRange),
    /// The units go through the write buffer ([`Host::take_buffer_unit`]).
    BufferedWrite,
    /// Deallocate the units that the range covers completely; then the command is done.
    Trim(UnitRange),
    /// Program the units in the write buffer up to this number; then the command's part is done.
    Flush(u64),
    /// Nothing: the command is a flush, and every acknowledged write is durable.
    Nothing,
}

/// Commands between host and FTL: their table, the device queue and the write buffer.
pub struct Host {
    commands: Commands,
    /// Commands that arrive now.
    arrivals: VecDeque<CommandId>,
    /// The submission queues; `None` if a command is in the device at once, and complete as soon as its last part is.
    queues: Option<Box<QueueSide>>,
    protocol: Protocol,
    unit: UnitSize,
    buffer: Buffer,
    completions: Vec<Completion>,
}

/// The queues between host and device.
struct QueueSide {
    submission: Queues,
    batch: Vec<CommandId>,
    /// Completions that are announced together; `None` if each is announced at once.
    interrupts: Option<Interrupts>,
}

impl Host {
    /// Returns the host stage of a drive with these submission queues, mapping units and logical blocks, without
    /// commands. The link is the controller's.
    pub fn new(
        queues: Option<&QueueConfig>,
        protocol: Protocol,
        buffer: &BufferConfig,
        unit: UnitSize,
        logical_block: Bytes,
    ) -> Host {
        let side = |config: &QueueConfig| {
            Box::new(QueueSide {
                submission: Queues::new(config),
                batch: Vec::with_capacity(config.batch as usize),
                interrupts: config.coalescing.map(|(threshold, time)| Interrupts::new(config.count, threshold, time)),
            })
        };
        Host {
            commands: Commands::new(unit, logical_block),
            unit,
            arrivals: VecDeque::with_capacity(64),
            queues: queues.map(side),
            protocol,
            buffer: Buffer::new(buffer, unit),
            completions: Vec::with_capacity(64),
        }
    }

    /// Enters a command that arrives `at`. It is counted in the statistics if `recorded` is true.
    #[inline(always)]
    pub fn submit(&mut self, command: HostCommand, at: SimTime, recorded: bool, now: SimTime, events: &mut Events) -> CommandId {
        let id = self.commands.submit(command, at, recorded);
        if at == now {
            self.arrivals.push_back(id);
        } else {
            events.push(at, Class::Arrival, Event::Arrival(id));
        }
        id
    }

    /// Returns the commands that were submitted and have not completed.
    pub fn outstanding(&self) -> Vec<(CommandId, HostCommand)> {
        self.commands.outstanding()
    }

    /// Returns true if commands arrive now.
    #[inline]
    pub fn has_arrivals(&self) -> bool {
        !self.arrivals.is_empty()
    }

    /// Takes the next of the commands that arrive now.
    #[inline]
    pub fn next_arrival(&mut self) -> Option<CommandId> {
        self.arrivals.pop_front()
    }

    /// Handles the arrival of a command. Returns true if it is in the device at once, since there are no queues.
    #[inline]
    pub fn arrive(&mut self, now: SimTime, signals: &mut Signals) -> bool {
        signals.commands_in_flight += 1;
        signals.last_host_activity = now;
        self.queues.is_none()
    }

    /// Enters a command that arrives into its queue. Returns true if it has a place at once; otherwise it waits for
    /// one.
    #[inline]
    pub fn enter_queue(&mut self, command: CommandId, now: SimTime, out: &mut Outbox) -> bool {
        let account = out.accounts.take();
        out.accounts[account].open(now);
        self.commands.set_account(command, account);
        let queue = self.queue_of(command);
        self.queues.as_mut().is_none_or(|queues| queues.submission.try_acquire(command, queue))
    }

    fn queue_of(&self, command: CommandId) -> u16 {
        self.commands[command].command().queue
    }

    /// Returns the number of submission queues; 1 if commands have no queue.
    pub fn queue_count(&self) -> u32 {
        self.queues.as_ref().map_or(1, |queues| queues.submission.count())
    }

    /// Returns true if commands have queues.
    pub fn has_queues(&self) -> bool {
        self.queues.is_some()
    }

    /// Returns true if the device fetches each command as soon as it is announced, and has all of it then.
    pub fn fetches_at_once(&self) -> bool {
        let has_lists = self.protocol.page_list + self.protocol.trim_list > 0;
        !has_lists && self.queues.as_ref().is_some_and(|queues| queues.submission.fetch_at_once())
    }

    /// Counts a command that the device fetches as soon as it is announced ([`Host::fetches_at_once`]).
    #[inline]
    pub fn fetched_at_once(&mut self) {
        if let Some(queues) = &mut self.queues {
            queues.submission.fetched_at_once();
        }
    }

    /// Handles the announcement of a command: the device may fetch it.
    ///
    /// `blocked` is the time for which fetching was held up so far.
    pub fn announce(&mut self, command: CommandId, blocked: Nanos, out: &mut Outbox) {
        if let Some(account) = self.commands[command].account() {
            out.accounts[account].begin_part(Cause::QueueBlocked, blocked);
        }
        let HostCommand { op, queue, .. } = *self.commands[command].command();
        if let Some(queues) = &mut self.queues {
            queues.submission.announce(command, queue, op);
        }
    }

    /// Returns true if the device may fetch commands.
    #[inline]
    pub fn may_fetch(&self) -> bool {
        self.queues.as_ref().is_some_and(|queues| queues.submission.may_fetch())
    }

    /// Chooses the commands that are fetched next, at most `room`, by one request. Their waits are charged. Returns the
    /// first of them ([`Command::next_fetched`]) and their number; `None` if there are none.
    ///
    /// Of their waits, the time since `blocked` read as it did at their announcement has the cause `queue_blocked`.
    pub fn fetch(&mut self, (room, blocked): (u32, Nanos), now: SimTime, out: &mut Outbox) -> Option<(CommandId, u32)> {
        let queues = self.queues.as_mut()?;
        queues.submission.fetch(room, &mut queues.batch);
        for &command in &queues.batch {
            if let Some(account) = self.commands[command].account() {
                out.accounts[account].end_part(Cause::QueueBlocked, Cause::HostQueue, blocked, now);
            }
        }
        self.commands.link(&queues.batch);
        queues.batch.first().map(|&first| (first, queues.batch.len() as u32))
    }

    /// Handles the end of a request for commands.
    pub fn fetch_done(&mut self) {
        if let Some(queues) = &mut self.queues {
            queues.submission.fetch_done();
        }
    }

    /// Returns true if an interrupt announces several completions.
    #[inline]
    pub fn gathers_completions(&self) -> bool {
        self.queues.as_ref().is_some_and(|queues| queues.interrupts.is_some())
    }

    /// Adds a completion to those that an interrupt announces. Returns the queue and the action that follows.
    pub fn post(&mut self, command: CommandId, now: SimTime) -> (u32, Posted) {
        let queue = self.queue_of(command);
        let queues = self.queues.as_mut().expect("completions have queues");
        let queue = queues.submission.index(queue) as u32;
        let interrupts = queues.interrupts.as_mut().expect("an interrupt announces several completions");
        (queue, interrupts.post(command, queue, now))
    }

    /// Handles the instant at which an interrupt is due ([`kit::Event::Interrupt`]). Returns the number of completions
    /// that it announces; `None` if it came before.
    pub fn interrupt_due(&mut self, queue: u32, number: u32) -> Option<u32> {
        self.queues.as_mut().and_then(|queues| queues.interrupts.as_mut()).and_then(|all| all.due(queue, number))
    }

    /// Takes the oldest of the completions of a queue that the host has noticed.
    pub fn next_notified(&mut self, queue: u32) -> CommandId {
        let interrupts = self.queues.as_mut().and_then(|queues| queues.interrupts.as_mut());
        interrupts.expect("an interrupt announces completions").take(queue)
    }

    /// Returns true if an event for an interrupt is pending, also one for an interrupt that came before.
    pub fn awaits_interrupts(&self) -> bool {
        let interrupts = self.queues.as_ref().and_then(|queues| queues.interrupts.as_ref());
        interrupts.is_some_and(Interrupts::has_pending)
    }

    /// Returns the request of a command that is in the device.
    #[inline]
    pub fn request(&mut self, command: CommandId, now: SimTime) -> Request {
        let units = self.units_of(command);
        match self.commands[command].command().op {
            Op::Read => {
                // Held back until all parts are known.
                self.commands.expect_parts(command, u32::MAX);
                self.commands.set_unasked(command, &units);
                Request::Read(units)
            }
            Op::Write | Op::Append if self.buffer.is_present() => {
                self.commands.expect_parts(command, units.count);
                self.buffer.arrive(command, units.first, units.count, now);
                Request::BufferedWrite
            }
            Op::Write | Op::Append => {
                self.commands.expect_parts(command, units.count);
                Request::Write(units)
            }
            Op::Trim => Request::Trim(units),
            Op::Flush => match self.buffer.flush(command, now) {
                Some(until) => {
                    self.commands.expect_parts(command, 1);
                    Request::Flush(until)
                }
                None => Request::Nothing,
            },
            Op::Zone => Request::Nothing,
        }
    }

    /// Returns the mapping units that a command touches.
    #[inline]
    pub fn units_of(&self, command: CommandId) -> UnitRange {
        UnitRange::of(self.commands[command].command(), self.unit)
    }

    /// Returns the most mapping units of a write that cross the link in one piece. The protocol counts in 4 KiB.
    fn piece_units(&self) -> u32 {
        self.unit.begun(u64::from(self.protocol.take_units.max(1)) * UNIT_BYTES) as u32
    }

    /// Sets the number of parts of a read.
    #[inline]
    pub fn expect_parts(&mut self, command: CommandId, parts: u32) {
        self.commands.expect_parts(command, parts);
    }

    /// Takes the next unit that a write command brings into the buffer, if there is one and it has space.
    #[inline]
    pub fn take_buffer_unit(&mut self, now: SimTime) -> Option<HostUnit> {
        let TakenUnit { command, index, number, stalled } = self.buffer.take_unit(now)?;
        let durable = self.is_durable(command);
        let unit = self.units_of(command).unit(command, index, Some(number));
        Some(HostUnit { durable, stalled, ..unit })
    }

    /// Returns true if a write completes once its data is programmed.
    #[inline]
    pub fn is_durable(&self, command: CommandId) -> bool {
        !self.buffer.is_protected()
            && (!self.buffer.acknowledges() || self.commands[command].command().flags.contains(CommandFlags::FUA))
    }

    /// Reserves space for a piece of the data of a write, if there is any. The wait for it is charged.
    pub fn reserve_buffer(&mut self, now: SimTime, out: &mut Outbox) -> Option<Piece> {
        let piece = self.buffer.reserve(self.piece_units())?;
        if let Some(account) = self.commands[piece.command].account() {
            out.accounts[account].charge_up_to(Cause::BufferFull, now);
        }
        out.signals.buffered_pages = self.buffer.used();
        Some(piece)
    }

    /// Returns the pieces in which the data of a write without buffer crosses the link.
    pub fn pieces(&self, command: CommandId, units: &UnitRange) -> impl Iterator<Item = Piece> + use<> {
        let (most, total) = (self.piece_units(), units.count);
        let piece = move |index: u32| Piece { command, index, count: most.min(total - index) };
        (0..total).step_by(most as usize).map(piece)
    }

    /// Returns the bytes of a piece of the data of a write.
    pub fn bytes_of(&self, piece: &Piece) -> Bytes {
        UnitRange::bytes(self.commands[piece.command].command(), self.unit, piece.index, piece.count)
    }

    /// Returns a unit of a piece whose data has arrived in the write buffer, with its number there.
    pub fn unit_arrived(&mut self, piece: &Piece, index: u32, now: SimTime) -> HostUnit {
        let unit = self.units_of(piece.command).unit(piece.command, index, None);
        let buffered = Some(self.buffer.unit_arrived(unit.lpn, now));
        HostUnit { buffered, durable: self.is_durable(piece.command), ..unit }
    }

    /// Counts mapping units of a command. Returns true if they were the last ones.
    pub fn parts_done(&mut self, command: CommandId, count: u32) -> bool {
        self.commands.parts_done(command, count)
    }

    /// Returns the bytes that cross the link with `count` commands that are fetched together, the first of which is
    /// `first`.
    #[inline]
    pub fn bytes_to_device(&self, first: CommandId, count: u32) -> Bytes {
        let HostCommand { op, length, .. } = *self.commands[first].command();
        let data = if op.writes() && self.protocol.data_comes_with_command() { length.0 } else { 0 };
        Bytes(data + u64::from(count) * self.protocol.command_bytes)
    }

    /// Returns the bytes of the list of addresses of a command; 0 if it has none.
    pub fn list_bytes(&self, command: CommandId) -> Bytes {
        self.protocol.list_bytes(self.commands[command].command())
    }

    /// Returns the data of a part of a read that crosses the link.
    #[inline]
    pub fn data_to_host(&mut self, command: CommandId, units: u32) -> Bytes {
        self.commands.data_to_host(command, units)
    }

    /// Handles the acceptance of a unit by the FTL; a unit that replaced a buffered one in place leaves the buffer at
    /// once. If it was the last unit of a command that the buffer acknowledges, the command is done: returns its
    /// ledger, the time since it came to the buffer.
    pub fn unit_buffered(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> Option<Ledger> {
        self.settle_buffer(now, &mut out.handoff);
        self.free_buffer_space(&mut out.signals);
        let since = unit.last.then(|| self.buffer.front_done())?;
        let mut ledger = Ledger::default();
        ledger.charge(Cause::BufferFull, now.since(since));
        (!unit.durable).then_some(ledger)
    }

    /// Returns true if the units of the write buffer are to be programmed, while `queued` of them wait for a die.
    pub fn is_flushing(&mut self, queued: u64) -> bool {
        self.buffer.is_flushing(queued)
    }

    /// Handles the instant at which a complete unit of a write begins to wait for a die.
    #[inline]
    pub fn unit_waits(&mut self, now: SimTime, events: &mut Events) {
        self.buffer.arm_timer(now, events);
    }

    /// Handles the arrival of a write that may wait for space in the write buffer.
    #[inline]
    pub fn write_waits(&mut self, now: SimTime, events: &mut Events) {
        self.buffer.arm_timer_for_space(now, events);
    }

    /// Handles the flush timer ([`kit::Timer::Flush`]). Returns the number up to which units are to be programmed, if
    /// the flush delay has passed without a write.
    pub fn flush_timer_fired(&mut self, now: SimTime, out: &mut Outbox) -> Option<u64> {
        self.buffer.timer_fired(out.signals.queued_write_pages, now, &mut out.events)
    }

    /// Takes the numbers of the units that left the write buffer out of the handoff, and leaves there the parts of the
    /// flushes that are done.
    #[inline]
    pub fn settle_buffer(&mut self, now: SimTime, handoff: &mut Handoff) {
        if !handoff.released.is_empty() {
            self.buffer.settle(now, handoff);
        }
    }

    /// Frees the space of the units that left the write buffer.
    #[inline]
    pub fn free_buffer_space(&mut self, signals: &mut Signals) {
        self.buffer.free_space();
        signals.buffered_pages = self.buffer.used();
    }

    /// Counts a part of a command that is done, and whose data is with the host. Returns true if it was the last one.
    #[inline]
    pub fn part_done(&mut self, command: CommandId) -> bool {
        self.commands.part_done(command)
    }

    /// Records that some of the data that a command reads is lost: it completes with a media error. Returns true if
    /// that is to be counted: the first time, if the command is counted in the statistics.
    pub fn media_error(&mut self, command: CommandId) -> bool {
        self.commands.set_status(command, Status::MediaError) && self.commands[command].is_recorded()
    }

    /// Makes the write buffer keep its data when power fails: flushes and writes with FUA do not wait for the medium.
    pub fn protect_buffer(&mut self) {
        self.buffer.protect();
    }

    /// Sets the status with which a command completes.
    pub fn set_status(&mut self, command: CommandId, status: Status) {
        self.commands.set_status(command, status);
    }

    /// Sets the place of the data of an append.
    pub fn place(&mut self, command: CommandId, offset: Bytes) {
        self.commands.place(command, offset);
    }

    /// Returns a command between its submission and its completion.
    #[inline]
    pub fn command(&self, command: CommandId) -> &Command {
        &self.commands[command]
    }

    /// Completes a command. Returns the command that takes its place in the queue, if one waits.
    #[inline(always)]
    pub fn retire_command(&mut self, command: CommandId, now: SimTime, out: &mut Outbox) -> Option<CommandId> {
        let state = &self.commands[command];
        let HostCommand { op, tag, offset, queue, .. } = *state.command();
        out.history.note(|| Entry::completed(now, op, offset.0, tag));
        self.completions.push(state.completion(command, now));
        if let Some(account) = state.account() {
            out.accounts.release(account);
        }
        self.commands.release(command);
        out.signals.commands_in_flight -= 1;
        out.signals.last_host_activity = now;
        let next = self.queues.as_mut().and_then(|queues| queues.submission.retire(queue));
        if let Some(account) = next.and_then(|next| self.commands[next].account()) {
            out.accounts[account].charge_to(Cause::HostQueue, now);
        }
        next
    }

    /// Ends a command that has left the device without a completion, and is to be submitted again: the time since it
    /// was in the device is charged to the host.
    pub fn end_for_resubmission(&mut self, command: CommandId, now: SimTime, out: &mut Outbox) {
        self.commands.set_status(command, Status::Success);
        if let Some(account) = self.commands[command].account() {
            let account = &mut out.accounts[account];
            account.move_charge(Cause::QueueBlocked, Cause::HostQueue);
            account.charge_up_to(Cause::Host, now);
        }
        if let Some(queues) = &mut self.queues {
            queues.submission.leave_device();
        }
        out.journal.note(|| Record::SubmittedAgain { command });
    }

    /// Returns the number of commands that the device has fetched and not completed.
    pub fn in_device(&self) -> u32 {
        self.queues.as_ref().map_or(0, |queues| queues.submission.in_device())
    }

    /// Returns the instant of the oldest submission among the commands that have arrived and not completed.
    pub fn oldest_submission(&self, now: SimTime) -> Option<SimTime> {
        let submitted = self.commands.outstanding().into_iter().map(|(id, _)| self.commands[id].submitted());
        submitted.filter(|at| *at <= now).min()
    }

    /// Returns the completions since they were last cleared.
    #[inline]
    pub fn completions(&self) -> &[Completion] {
        &self.completions
    }

    /// Forgets the completions so far.
    #[inline]
    pub fn clear_completions(&mut self) {
        self.completions.clear();
    }

    /// Swaps the completions into `done`, whose previous content is discarded.
    #[inline]
    pub fn swap_completions(&mut self, done: &mut Vec<Completion>) {
        done.clear();
        std::mem::swap(&mut self.completions, done);
    }

    /// Returns the write buffer.
    #[inline]
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// Returns the state of the arbitration between the submission queues of a drive at rest, if it has any.
    pub fn arbitration_image(&self) -> Option<ArbitrationImage> {
        self.queues.as_ref().map(|queues| queues.submission.image())
    }

    /// Restores the state of the arbitration of a saved drive. Returns false if it has other queues.
    pub fn restore_arbitration(&mut self, image: Option<&ArbitrationImage>) -> bool {
        match (&mut self.queues, image) {
            (Some(queues), Some(image)) => queues.submission.restore(image),
            (queues, image) => queues.is_none() && image.is_none(),
        }
    }

    /// Restores the state of a saved drive's write buffer. Returns false if this drive's buffer is smaller.
    pub fn restore_buffer(&mut self, image: &BufferImage) -> bool {
        self.buffer.restore(image)
    }

    /// Takes the units that waited in the write buffer of another drive into this one, as if they were written at
    /// `now`. No command waits for them.
    pub fn adopt_buffer_units(&mut self, units: &[Lpn], now: SimTime, signals: &mut Signals) -> Vec<HostUnit> {
        let adopt = |lpn: &Lpn| {
            let buffered = Some(self.buffer.adopt_unit(*lpn, now));
            let (command, durable, stalled) = (CommandId(0), false, Nanos::ZERO);
            HostUnit { command, lpn: *lpn, whole: true, last: true, buffered, durable, stalled }
        };
        let adopted = units.iter().map(adopt).collect();
        signals.buffered_pages = self.buffer.used();
        adopted
    }

    /// Returns true if commands wait at the host, because the device queue or the write buffer is full.
    pub fn is_full(&self) -> bool {
        self.queues.as_ref().is_some_and(|queues| queues.submission.has_waiting()) || self.buffer.has_waiting()
    }
}
