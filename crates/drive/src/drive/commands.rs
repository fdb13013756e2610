//! Commands between application and device, where the host interface takes time: submission queues, the link, and the
//! host's processor. On a drive with an ideal interface nothing of this is called.

use super::Drive;
use controller::route::Route;
use controller::transaction::{Continuation, Place, Transfer};
use ftl::Asks;
use host::{Host, Piece, Posted, UnitRange};
use kit::queue::Class;
use kit::{AccountId, Bytes, Cause, CommandId, Event, HostCommand, Ledger, Lpn, Nanos, Op, Translated};

impl Drive {
    /// Sends a command, or its completion, along a route, which is charged to the command's account.
    #[inline]
    fn send_command(&mut self, route: Route, command: CommandId, data: Bytes, continuation: Continuation) {
        // Without the place of the command, which costs a look at it.
        if !self.controller.takes_time(route) {
            return self.follow_step(continuation);
        }
        let account = self.host.command(command).account().map(AccountId::Host);
        self.send(route, Transfer { data, place: place_of(&self.host, command), continuation, account });
    }

    /// Handles the arrival of a command in the device: the firmware decodes it before it is served.
    pub(super) fn admit(&mut self, command: CommandId) {
        let state = self.host.command(command).command();
        if self.controller.takes_time(Route::Admit(state.op)) {
            return self.send_command(Route::Admit(state.op), command, state.length, Continuation::Decoded(command));
        }
        self.follow(Continuation::Decoded(command));
    }

    /// Looks up the pages of the map for the units of a command from `from` on. Returns true if all are in memory;
    /// otherwise the command goes on once they are.
    #[inline(never)]
    pub(super) fn look_up(&mut self, command: CommandId, from: Lpn) -> bool {
        let HostCommand { op, queue, .. } = *self.host.command(command).command();
        if op == Op::Flush {
            return true;
        }
        let range = self.host.units_of(command);
        // Firmware deallocates what it is asked for: not the units of which a trim covers a part.
        let is_executed_trim = op == Op::Trim && self.ftl.takes_time();
        let (first, count) = if is_executed_trim { range.inner() } else { (range.first, range.count) };
        let units = first.0.max(from.0)..first.0 + count;
        units.is_empty() || self.ftl.translate(Asks { command, op, queue }, units, self.now, &mut self.out)
    }

    /// Lets the commands go on that waited for pages of the map which are in memory now.
    #[inline(never)]
    pub(super) fn go_on_looking_up(&mut self) {
        let cause = if self.ftl.takes_time() { Cause::Firmware } else { Cause::Map };
        let mut waited = std::mem::take(&mut self.out.handoff.translated);
        for Translated { command, from } in waited.drain(..) {
            if let Some(account) = self.host.command(command).account() {
                self.out.accounts[account].charge_up_to(cause, self.now);
            }
            if self.look_up(command, from) {
                self.serve_decoded(command);
            }
        }
        if self.out.handoff.translated.is_empty() {
            self.out.handoff.translated = waited;
        }
    }

    /// Enters a command that arrives into its submission queue.
    #[inline(never)]
    pub(super) fn enter_queue(&mut self, command: CommandId) {
        if self.host.enter_queue(command, self.now, &mut self.out) {
            self.submit_to_device(command);
        }
        if self.hangs.is_some() {
            self.expect_timeout();
        }
    }

    /// Submits a command that has a place in its queue.
    #[inline]
    pub(super) fn submit_to_device(&mut self, command: CommandId) {
        if self.fetches_at_once {
            if self.is_hung() {
                return self.wait_at_host(command);
            }
            self.host.fetched_at_once();
            let route = Route::Command(self.host.command(command).command().op);
            let data = self.host.bytes_to_device(command, 1);
            return self.send_command(route, command, data, Continuation::Admitted(command));
        }
        self.send_command(Route::Submit, command, Bytes(0), Continuation::Submitted(command));
    }

    /// Handles the announcement of a command to the device.
    pub(super) fn submitted(&mut self, command: CommandId) {
        if self.power_states.is_some() && self.waits_for_wake(command) {
            return;
        }
        let blocked = self.time_blocked();
        self.host.announce(command, blocked, &mut self.out);
        self.fetch();
    }

    /// Fetches commands, as far as the device may.
    pub(super) fn fetch(&mut self) {
        while !self.is_hung() && self.host.may_fetch() {
            let room = self.controller.targets().map_or(u32::MAX, |targets| targets.room());
            if room == 0 {
                return;
            }
            let limits = (room, self.time_blocked());
            let Some((first, count)) = self.host.fetch(limits, self.now, &mut self.out) else { return };
            if let Some(targets) = self.controller.targets() {
                targets.fetched(count, self.now);
            }
            let route = Route::Command(self.host.command(first).command().op);
            let data = self.host.bytes_to_device(first, count);
            self.send_command(route, first, data, Continuation::Fetched { first, count });
        }
    }

    /// Returns the time for which the queues of the targets have held up commands.
    fn time_blocked(&mut self) -> Nanos {
        self.controller.targets().map_or(Nanos::ZERO, |targets| targets.blocked(self.now))
    }

    /// Handles the arrival of commands that were fetched together.
    pub(super) fn fetched(&mut self, first: CommandId, count: u32) {
        self.host.fetch_done();
        let mut next = first;
        for _ in 0..count {
            // Read before the command goes on: it may complete at once, and its slot be used again.
            let command = next;
            next = self.host.command(command).next_fetched();
            if let Some(account) = self.host.command(command).account() {
                self.out.accounts[account].charge_up_to(Cause::Link, self.now);
            }
            let list = self.host.list_bytes(command);
            if list.0 > 0 {
                self.send_command(Route::List, command, list, Continuation::Admitted(command));
            } else {
                self.follow(Continuation::Admitted(command));
            }
        }
        self.fetch();
    }

    /// Lets the data of waiting writes cross the link while the write buffer has space for it.
    pub(super) fn fill_buffer_piecewise(&mut self) {
        while let Some(piece) = self.host.reserve_buffer(self.now, &mut self.out) {
            self.take(&piece);
        }
    }

    /// Lets the data of a write without buffer cross the link.
    pub(super) fn take_all(&mut self, command: CommandId, units: &UnitRange) {
        for piece in self.host.pieces(command, units) {
            self.take(&piece);
        }
    }

    fn take(&mut self, piece: &Piece) {
        let Piece { command, index, count } = *piece;
        let route = if index == 0 { Route::Take } else { Route::TakeMore };
        let (account, mut place) = (self.host.command(command).account().map(AccountId::Host), place_of(&self.host, command));
        place.unit += index;
        self.send(
            route,
            Transfer {
                data: self.host.bytes_of(piece),
                place,
                continuation: Continuation::Taken { command, index, count },
                account,
            },
        );
    }

    /// Handles the arrival of a piece of the data of a write. With a write buffer its units are accepted at once;
    /// without, the write waits for all its data, so that its parts begin at one instant.
    pub(super) fn taken(&mut self, piece: &Piece) {
        let Piece { command, index, count } = *piece;
        if self.host.buffer().is_present() {
            for index in index..index + count {
                let unit = self.host.unit_arrived(piece, index, self.now);
                if self.ftl.write(&unit, self.now, &mut self.out) {
                    self.host.unit_waits(self.now, &mut self.out.events);
                }
                self.host.settle_buffer(self.now, &mut self.out.handoff);
                self.host.free_buffer_space(&mut self.out.signals);
            }
            if self.checks_commands {
                // Units of a zone that was reset meanwhile have left the buffer, perhaps as the last ones.
                self.fill_buffer_piecewise();
            }
            self.check_watermarks();
            if !self.host.is_durable(command) && self.host.parts_done(command, count) {
                self.command_done(command, &Ledger::default());
            }
        } else if self.host.parts_done(command, count) {
            let units = self.host.units_of(command);
            self.host.expect_parts(command, units.count);
            self.write_units(command, &units);
        }
    }

    /// Sends the completion of a command to the host; `ledger` covers the time since the command was in the device.
    #[inline(never)]
    pub(super) fn post_completion(&mut self, command: CommandId, ledger: &Ledger) {
        let state = self.host.command(command);
        let (op, account) = (state.command().op, state.account().expect("a command of a queue has an account"));
        self.out.accounts[account].join(ledger, self.now);
        let continuation = if self.host.gathers_completions() {
            Continuation::CompletionPosted(command)
        } else {
            Continuation::HostNotified(command)
        };
        self.send_command(Route::Complete(op), command, Bytes(0), continuation);
    }

    /// Handles the arrival of a completion in the completion queue, where an interrupt announces several.
    pub(super) fn completion_posted(&mut self, command: CommandId) {
        match self.host.post(command, self.now) {
            (queue, Posted::Interrupt(count)) => self.interrupt(queue, count),
            (queue, Posted::DueAt { at, number }) => {
                self.out.events.push(at, Class::Timer, Event::Interrupt { queue, number });
            }
            (_, Posted::Nothing) => {}
        }
    }

    /// Sends an interrupt that announces `count` completions of a queue.
    fn interrupt(&mut self, queue: u32, count: u32) {
        let (continuation, place) = (Continuation::HostInterrupted { queue, count }, Place::default());
        self.send(Route::Interrupt, Transfer { data: Bytes(0), place, continuation, account: None });
    }

    /// Handles the instant at which an interrupt is due.
    #[inline(never)]
    pub(super) fn interrupt_due(&mut self, queue: u32, number: u32) {
        if let Some(count) = self.host.interrupt_due(queue, number) {
            self.interrupt(queue, count);
        }
    }

    /// Handles an interrupt at the host.
    pub(super) fn host_interrupted(&mut self, queue: u32, count: u32) {
        for _ in 0..count {
            let command = self.host.next_notified(queue);
            if let Some(account) = self.host.command(command).account() {
                self.out.accounts[account].charge_up_to(Cause::Host, self.now);
            }
            self.send_command(Route::Reap, command, Bytes(0), Continuation::HostNotified(command));
        }
    }

    /// Handles the arrival of a completion at the application.
    pub(super) fn host_notified(&mut self, command: CommandId) {
        if self.is_held_up {
            return;
        }
        self.controller.occupy(Route::Acknowledge, self.now);
        let state = self.host.command(command);
        let account = state.account().expect("a command of a queue has an account");
        self.statistics.record(command, state, self.now, self.out.accounts[account].ledger());
        self.retire_command(command);
        if self.hangs.is_some() {
            self.go_on_resetting();
        }
    }
}

/// Returns the place of a command's data.
#[inline]
pub(super) fn place_of(host: &Host, command: CommandId) -> Place {
    let unit = host.units_of(command).first.0;
    let command = host.command(command).command();
    Place { unit, queue: command.queue, channel: 0 }
}
