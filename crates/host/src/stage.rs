//! The host stage: the path of a command to the device and of its data and its completion back.

use crate::buffer::{Buffer, BufferConfig, BufferImage, TakenUnit};
use crate::commands::{Command, Commands, UnitRange};
use crate::interface::HostInterface;
use crate::queue::DeviceQueue;
use kit::history::Entry;
use kit::queue::Class;
use kit::{
    Bytes, Cause, CommandId, Completion, Event, Events, HostCommand, HostUnit, Ledger, Lpn, Op, Outbox, Protocol, Signals,
    SimTime, Tray,
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
    /// The device queue; `None` if it is not limited.
    queue: Option<DeviceQueue>,
    /// True if commands have accounts, since they spend time on their way to the device.
    keeps_accounts: bool,
    buffer: Buffer,
    completions: Vec<Completion>,
}

impl Host {
    /// Returns the host stage of a drive with this interface, without commands. The link is the controller's.
    pub fn new(interface: &dyn HostInterface, buffer: &BufferConfig) -> Host {
        let queue = interface.queue_depth().map(DeviceQueue::new);
        Host {
            commands: Commands::default(),
            arrivals: VecDeque::with_capacity(64),
            keeps_accounts: queue.is_some() || interface.protocol() != Protocol::default(),
            queue,
            buffer: Buffer::new(buffer),
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

    /// Handles the arrival of a command: it takes a queue slot, or waits for one. Returns true if it has one at once.
    #[inline]
    pub fn arrive(&mut self, command: CommandId, now: SimTime, out: &mut Outbox) -> bool {
        out.signals.commands_in_flight += 1;
        out.signals.last_host_activity = now;
        if self.keeps_accounts {
            let account = out.accounts.take();
            out.accounts[account].open(now);
            self.commands.set_account(command, account);
        }
        self.queue.as_mut().is_none_or(|queue| queue.try_acquire(command))
    }

    /// Returns the data that crosses the link with a command.
    pub fn data_to_device(&self, command: CommandId) -> Bytes {
        let HostCommand { op, length, .. } = *self.commands[command].command();
        if op == Op::Write { length } else { Bytes(0) }
    }

    /// Returns the request of a command that is in the device.
    #[inline]
    pub fn request(&mut self, command: CommandId, now: SimTime) -> Request {
        let units = UnitRange::of(self.commands[command].command());
        match self.commands[command].command().op {
            Op::Read => {
                // Held back until all parts are known.
                self.commands.expect_parts(command, u32::MAX);
                Request::Read(units)
            }
            Op::Write if self.buffer.is_present() => {
                self.buffer.arrive(command, now);
                Request::BufferedWrite
            }
            Op::Write => {
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
        }
    }

    /// Sets the number of parts of a read.
    #[inline]
    pub fn expect_parts(&mut self, command: CommandId, parts: u32) {
        self.commands.expect_parts(command, parts);
    }

    /// Takes the next unit that a write command brings into the buffer, if there is one and it has space.
    #[inline]
    pub fn take_buffer_unit(&mut self, now: SimTime) -> Option<HostUnit> {
        let TakenUnit { command, index, number } = self.buffer.take_unit(now)?;
        Some(UnitRange::of(self.commands[command].command()).unit(command, index, Some(number)))
    }

    /// Handles the acceptance of a unit by the FTL; a unit that replaced a buffered one in place leaves the buffer at
    /// once. If it was the last unit of its command, the command is done: returns its ledger, the time since it came to
    /// the buffer.
    pub fn unit_buffered(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> Option<Ledger> {
        self.settle_buffer(now, &mut out.tray);
        self.free_buffer_space(&mut out.signals);
        unit.last.then(|| {
            let mut ledger = Ledger::default();
            ledger.charge(Cause::BufferFull, now.since(self.buffer.front_done()));
            ledger
        })
    }

    /// Handles the instant at which a complete unit of a write begins to wait for a die.
    #[inline]
    pub fn unit_waits(&mut self, now: SimTime, events: &mut Events) {
        self.buffer.arm_timer(now, events);
    }

    /// Handles the flush timer ([`kit::Timer::Flush`]). Returns the number up to which units are to be programmed, if
    /// the flush delay has passed without a write.
    pub fn flush_timer_fired(&mut self, now: SimTime, out: &mut Outbox) -> Option<u64> {
        self.buffer.timer_fired(out.signals.queued_write_pages, now, &mut out.events)
    }

    /// Takes the numbers of the units that left the write buffer out of the tray, and leaves there the parts of the
    /// flushes that are done.
    #[inline]
    pub fn settle_buffer(&mut self, now: SimTime, tray: &mut Tray) {
        if !tray.released.is_empty() {
            self.buffer.settle(now, tray);
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
        self.commands.fail(command) && self.commands[command].is_recorded()
    }

    /// Returns a command between its submission and its completion.
    #[inline]
    pub fn command(&self, command: CommandId) -> &Command {
        &self.commands[command]
    }

    /// Completes a command. Returns the command that takes its queue slot, if one waits.
    #[inline(always)]
    pub fn complete(&mut self, command: CommandId, now: SimTime, out: &mut Outbox) -> Option<CommandId> {
        let state = &self.commands[command];
        let HostCommand { op, tag, offset, .. } = *state.command();
        out.history.note(|| Entry::completed(now, op, offset.0, tag));
        self.completions.push(state.completion(now));
        if let Some(account) = state.account() {
            out.accounts.release(account);
        }
        self.commands.release(command);
        out.signals.commands_in_flight -= 1;
        out.signals.last_host_activity = now;
        let next = self.queue.as_mut().and_then(DeviceQueue::release);
        if let Some(account) = next.and_then(|next| self.commands[next].account()) {
            out.accounts[account].charge_to(Cause::HostQueue, now);
        }
        next
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

    /// Restores the state of a saved drive's write buffer. Returns false if this drive's buffer is smaller.
    pub fn restore_buffer(&mut self, image: &BufferImage) -> bool {
        self.buffer.restore(image)
    }

    /// Takes the units that waited in the write buffer of another drive into this one, as if they were written at
    /// `now`. No command waits for them.
    pub fn adopt_buffer_units(&mut self, units: &[Lpn], now: SimTime, signals: &mut Signals) -> Vec<HostUnit> {
        let adopt = |lpn: &Lpn| {
            let buffered = Some(self.buffer.adopt_unit(now));
            HostUnit { command: CommandId(0), lpn: *lpn, whole: true, last: true, buffered }
        };
        let adopted = units.iter().map(adopt).collect();
        signals.buffered_pages = self.buffer.used();
        adopted
    }

    /// Returns true if commands wait at the host, because the device queue or the write buffer is full.
    pub fn is_full(&self) -> bool {
        self.queue.as_ref().is_some_and(DeviceQueue::has_waiting) || self.buffer.has_waiting()
    }
}
