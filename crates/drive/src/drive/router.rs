//! The router: passes events and the output of each stage on to the stage they are meant for.

use super::Drive;
use controller::route::Route;
use controller::transaction::{Continuation, Place, Transfer};
use flash::Dispatch;
use ftl::{Drain, Pulled, Translator};
use host::{Piece, Request, UnitRange};
use kit::queue::Class;
use kit::{
    Account, AccountId, Cause, CommandId, Demand, DieId, Encoding, Ended, Event, Ledger, Lpn, Op, Operation, OperationKind,
    Owner, Reason, SimTime, Status, Timer, TransactionId, UNIT_BYTES,
};

impl Drive {
    /// Handles everything that happens at one instant: completed operations, then arrivals, then the choices of idle
    /// dies, then timers.
    // Out of line: the event loop has an instance of its own.
    #[inline(never)]
    pub(super) fn run_instant(&mut self, at: SimTime) {
        self.handle_instant(at);
    }

    /// Handles an instant like [`Drive::run_instant`].
    #[inline(always)]
    pub(super) fn handle_instant(&mut self, at: SimTime) {
        self.now = at;
        loop {
            while let Some(event) = self.out.events.pop_at(at, Class::Arrival) {
                self.handle(event);
            }
            while let Some(command) = self.host.next_arrival() {
                self.arrive(command);
            }
            // An operation that a die starts takes time: only a timer or an event of zero duration can add work at this
            // instant.
            if !self.out.ready.is_empty() {
                self.dispatch_ready();
                if self.out.events.next_time() != Some(at) && !self.host.has_arrivals() {
                    break;
                }
            } else if let Some(event) = self.out.events.pop_at(at, Class::Timer) {
                self.handle(event);
            } else {
                break;
            }
        }
    }

    /// Handles the next step of an instant, in the order of [`Drive::run_instant`]: an event, or the arrivals and the
    /// choices of idle dies. Returns true if the instant is not over.
    pub(super) fn handle_step(&mut self, at: SimTime) -> bool {
        self.now = at;
        if let Some(event) = self.out.events.pop_at(at, Class::Arrival) {
            self.handle(event);
            return true;
        }
        while let Some(command) = self.host.next_arrival() {
            self.arrive(command);
        }
        if !self.out.ready.is_empty() {
            self.dispatch_ready();
            return self.out.events.next_time() == Some(at) || self.host.has_arrivals();
        }
        let timer = self.out.events.pop_at(at, Class::Timer);
        timer.into_iter().for_each(|event| self.handle(event));
        timer.is_some()
    }

    // Inlined into the event loop; the time without power is the only other caller.
    #[inline(always)]
    pub(super) fn handle(&mut self, event: Event) {
        match event {
            Event::Die { die, generation } => {
                if let Some(ended) = self.flash.die_event(die, generation, self.now, &mut self.out) {
                    self.ended(ended);
                }
            }
            Event::CacheRegister(die) => self.cache_event(die),
            Event::Step(transaction) => self.step_done(transaction),
            Event::ArrayDue { die, generation } => self.flash.array_due(die, generation, self.now, &mut self.out),
            Event::TransferBegins(slot) => self.transfer_begins(slot),
            Event::PageBufferFree(channel) => self.flash.page_buffer_free(channel, self.now, &mut self.out),
            Event::ChannelFree(channel) => self.flash.bus_event(channel, self.now, &mut self.out),
            Event::Arrival(command) => self.arrive(command),
            Event::Memory(channel) => self.controller.memory_grants(channel, self.now, &mut self.out),
            Event::Server(server) => self.controller.server_grants(server, self.now, &mut self.out),
            Event::Interrupt { queue, number } => self.interrupt_due(queue, number),
            Event::Timer(timer) => self.timer(timer),
        }
        self.route();
    }

    /// Handles the end of a flash operation.
    #[inline(always)]
    fn ended(&mut self, ended: Ended) {
        let ended = if self.judges { self.judge(ended) } else { ended };
        if self.controller.receives_reads() {
            self.die_done(ended);
        } else if self.judges {
            self.done_with_faults(ended);
        } else {
            self.operation_done(ended);
        }
    }

    // Out of line: few drives use the cache registers of their dies.
    #[inline(never)]
    fn cache_event(&mut self, die: DieId) {
        if let Some(ended) = self.flash.cache_event(die, self.now, &mut self.out) {
            self.ended(ended);
        }
    }

    // Out of line: timers are rare.
    #[inline(never)]
    fn timer(&mut self, timer: Timer) {
        if timer == Timer::PowerState {
            self.power_state_due();
        } else if let Timer::DieFails(die) = timer {
            self.lose_die(die);
        } else if timer == Timer::Hang {
            self.hang_due();
        } else if timer != Timer::Flush {
            self.ftl.timer(timer, self.now, &mut self.out);
        } else if let Some(until) = self.host.flush_timer_fired(self.now, &mut self.out) {
            self.ftl.drain(Drain::Flush(until), &mut self.out.ready);
        }
    }

    /// Dispatches every die that is marked as ready: each may have work.
    fn dispatch_ready(&mut self) {
        let mut index = 0;
        while let Some(die) = self.out.ready.take(index) {
            index += 1;
            self.dispatch(die);
            self.route();
        }
        self.out.ready.clear();
    }

    /// Starts the next operation of a die: one that waits for it, or one that it pulls from the FTL.
    #[inline]
    fn dispatch(&mut self, die: DieId) {
        let mut demand = self.ftl.demand(die);
        let reads_wait = loop {
            match self.flash.dispatch(die, &demand, self.now, &mut self.out) {
                Dispatch::Busy => return,
                Dispatch::Started => return self.ftl.die_started(die, self.now, &mut self.out),
                Dispatch::Pull { reads_wait } => break reads_wait,
                Dispatch::PullUrgent => {
                    if self.pull(die, true) {
                        return;
                    }
                    demand = Demand { urgent_move: false, ..self.ftl.demand(die) };
                }
            }
        };
        if self.pull(die, false) {
            return;
        }
        // A drive that comes to rest pulls no moves: reads that a policy holds back for its moves must not wait.
        let despite_hold = reads_wait && (!self.pulling || self.ftl.waits_for_reads(die));
        if reads_wait && self.flash.dispatch_waiting_read(die, despite_hold, self.now, &mut self.out)
            || self.out.signals.hold && self.starts_held_read(die)
        {
            self.ftl.die_started(die, self.now, &mut self.out);
        } else {
            if self.flash.has_page_buffers() {
                self.flash.relieve(die, self.now, &mut self.out);
            }
            self.ftl.set_idle(die, self.now, &mut self.out);
        }
    }

    /// Starts an operation of the FTL on a free die, or lets the die wait for the page buffer that its next program
    /// needs; `urgent`: on the turn of its urgent move. Returns false if there is no operation, or the drive comes to
    /// rest.
    #[inline]
    fn pull(&mut self, die: DieId, urgent: bool) -> bool {
        let pulled = if !self.pulling && !self.must_repeat() {
            None
        } else if self.flash.may_program(die) {
            self.ftl.next(die, self.now, &mut self.out)
        } else {
            match self.pull_without_buffer(die, urgent) {
                Pulled::Operation(slot) => Some(slot),
                Pulled::NeedsBuffer => return true,
                Pulled::Nothing => None,
            }
        };
        // Units that were trimmed while they waited have left the buffer.
        self.host.settle_buffer(self.now, &mut self.out.handoff);
        self.check_watermarks();
        if let Some(slot) = pulled {
            self.start(slot);
            if self.looks_up_pages {
                self.charge_delay(die, slot);
            }
        }
        pulled.is_some()
    }

    /// Charges the time between the choice of an operation by executed firmware and its start: the die had begun a host
    /// read while the firmware was at work.
    #[inline(never)]
    fn charge_delay(&mut self, die: DieId, slot: u32) {
        let delay = self.ftl.delay(die);
        self.out.operations.account_mut(slot).charge(Cause::DieHostRead, delay);
    }

    /// Pulls an operation for a die whose channel has no free page buffer, or lets the die wait for one.
    #[inline(never)]
    fn pull_without_buffer(&mut self, die: DieId, urgent: bool) -> Pulled {
        let pulled = self.ftl.next_without_buffer(die, self.now, &mut self.out);
        if pulled == Pulled::NeedsBuffer {
            self.host.settle_buffer(self.now, &mut self.out.handoff);
            self.check_watermarks();
            self.flash.starve(die, urgent, self.now, &mut self.out);
            self.ftl.die_starved(die, self.now, &mut self.out);
        }
        pulled
    }

    /// Starts an operation that was pulled for a free die. The firmware issues it, and the data of a program goes
    /// through the controller first.
    #[inline]
    fn start(&mut self, slot: u32) {
        let Operation { kind, reason, mode, encode, .. } = self.out.operations[slot];
        let encodes = encode > 0 && self.controller.takes_time(Route::Written(mode));
        let route = match (kind, reason) {
            (OperationKind::Program, Reason::Map | Reason::Journal) => Route::MapOut,
            (OperationKind::Program, _) => Route::Out,
            _ => Route::Issue,
        };
        if encodes || self.controller.takes_time(route) {
            self.stage(slot, route);
        } else {
            self.flash.start(slot, self.now, &mut self.out);
        }
    }

    // Out of line: ideal controllers take no time.
    #[inline(never)]
    fn stage(&mut self, slot: u32, route: Route) {
        self.flash.stage(slot, self.now, &mut self.out);
        let unit = self.unit_of(slot);
        let operation = &self.out.operations[slot];
        let (die, data) = (operation.die, operation.data(self.unit));
        let place = self.controller.place_of(operation, unit);
        let continuation = if route == Route::Issue { Continuation::Staged(die) } else { Continuation::AtEncoder(slot) };
        self.send(route, Transfer { data, place, continuation, account: Some(AccountId::Operation(slot)) });
    }

    /// Returns the first mapping unit of an operation's data, if it matters to the controller; otherwise 0.
    #[inline]
    pub(super) fn unit_of(&self, slot: u32) -> u32 {
        if !self.controller.chooses_by_unit() {
            return 0;
        }
        let operation = &self.out.operations[slot];
        // Most commands read one unit: it is known without a look at the map. Physical addresses may stand for others.
        if let Owner::Command(command) = operation.owner
            && self.ftl.map().is_some()
        {
            let units = self.host.units_of(command);
            if units.count == 1 {
                return units.first.0;
            }
        }
        self.ftl.unit_at(operation.first)
    }

    /// Handles the arrival of a program's data at the encoder.
    fn encode_program(&mut self, slot: u32) {
        let operation = &self.out.operations[slot];
        let Operation { die, mode, encode, .. } = *operation;
        if encode == 0 {
            return self.follow(Continuation::Staged(die));
        }
        let place = self.controller.place_of(operation, 0);
        let account = Some(AccountId::Operation(slot));
        self.send(
            Route::Written(mode),
            Transfer { data: self.unit.data(encode), place, continuation: Continuation::Staged(die), account },
        );
    }

    /// Sends a command or data along a route through the controller.
    #[inline(always)]
    pub(super) fn send(&mut self, route: Route, transfer: Transfer) {
        if let Some(continuation) = self.controller.send(route, transfer, self.now, &mut self.out) {
            self.follow(continuation);
        }
    }

    #[inline(always)]
    fn step_done(&mut self, transaction: TransactionId) {
        if let Some(continuation) = self.controller.step_done(transaction, self.now, &mut self.out) {
            self.follow_step(continuation);
        }
    }

    // Out of line: the event loop stays small.
    #[inline(never)]
    pub(super) fn follow_step(&mut self, continuation: Continuation) {
        self.follow(continuation);
    }

    /// Does what follows the last step of a transaction.
    #[inline(always)]
    pub(super) fn follow(&mut self, continuation: Continuation) {
        match continuation {
            Continuation::Submitted(command) => self.submitted(command),
            Continuation::Fetched { first, count } => self.fetched(first, count),
            Continuation::Admitted(command) => self.admit(command),
            Continuation::Decoded(command) => {
                if !self.looks_up_pages || self.look_up(command, Lpn(0)) {
                    self.serve_decoded(command);
                } else {
                    self.route();
                }
            }
            Continuation::Taken { command, index, count } => {
                self.taken(&Piece { command, index, count });
                self.route();
            }
            Continuation::CompletionPosted(command) => self.completion_posted(command),
            Continuation::HostInterrupted { queue, count } => self.host_interrupted(queue, count),
            Continuation::HostNotified(command) => self.host_notified(command),
            Continuation::AtEncoder(slot) => self.encode_program(slot),
            Continuation::AtDie(slot) => self.read_at_die(slot),
            Continuation::AgainAtDie { operation, retry } => self.read_again_at_die(operation, retry),
            Continuation::Nothing => {}
            Continuation::Staged(die) => self.flash.staged(die, self.now, &mut self.out),
            Continuation::CollectionEncoded(die) => self.ftl.collection_encoded(die, self.now, &mut self.out.ready),
            Continuation::Codeword { .. } => unreachable!("the controller handles the arrival of a codeword"),
            Continuation::TransferDone { slot, recovery } => self.transfer_done(slot, recovery),
            Continuation::PartDelivered { command, account } => self.part_delivered(command, account),
        }
    }

    /// Serves a command that the firmware has decoded.
    #[inline]
    pub(super) fn serve_decoded(&mut self, command: CommandId) {
        self.serve(command);
        self.route();
        if let Some(targets) = self.controller.targets() {
            targets.placed(self.now);
            self.fetch();
        }
    }

    /// Passes what each stage left in the outbox on to the stage it is meant for, until nothing is left to pass on.
    // Most calls find nothing. One test for all of them is inlined; the loop is a function of its own.
    #[inline(always)]
    pub(super) fn route(&mut self) {
        if !self.out.handoff.is_empty() | self.host.buffer().has_left() {
            self.route_output();
        }
    }

    fn route_output(&mut self) {
        loop {
            if !self.out.handoff.reads.is_empty() {
                self.route_reads();
            } else if !self.out.handoff.parts.is_empty() {
                self.route_parts();
            } else if let Some(encoding) = self.out.handoff.encodings.pop() {
                self.encode(encoding);
            } else if !self.out.handoff.translated.is_empty() {
                self.go_on_looking_up();
            } else if self.host.buffer().has_left() {
                self.host.free_buffer_space(&mut self.out.signals);
                self.fill_buffer();
            } else {
                return;
            }
        }
    }

    // Out of line: only encoders that take time have anything to encode.
    #[inline(never)]
    fn encode(&mut self, Encoding { die, mode, units }: Encoding) {
        let (data, continuation) = (self.unit.data(units), Continuation::CollectionEncoded(die));
        self.send(Route::Written(mode), Transfer { data, place: Place::default(), continuation, account: None });
    }

    #[inline]
    fn route_reads(&mut self) {
        if self.controller.counts_reads() | self.controller.takes_time(Route::ToDie) {
            return self.route_counted_reads();
        }
        let mut index = 0;
        while index < self.out.handoff.reads.len() {
            let slot = self.out.handoff.reads[index];
            if self.controller.chooses_levels() {
                self.choose_levels(slot);
            }
            self.flash.push_read(slot, self.now, &mut self.out);
            index += 1;
        }
        self.out.handoff.reads.clear();
    }

    /// Passes a completed flash operation on to the FTL and, if it is a part of a command, to the host stage.
    // Always inline: a call costs a read about twenty instructions.
    #[inline(always)]
    pub(super) fn operation_done(&mut self, ended: Ended) {
        let slot = ended.slot;
        let operation = self.out.operations[slot];
        self.ftl.operation_done(ended, &operation, self.now, &mut self.out);
        if let Owner::Command(command) = operation.owner {
            if self.controller.counts_reads() {
                self.read_left(operation.die);
            }
            return self.part_ready(slot, command, operation.units);
        }
        self.out.operations.release(slot);
        if self.host.buffer().is_present() {
            self.tell_buffer(operation.owner);
        }
    }

    /// Sends the data of a host read, with which the FTL is done, to the host.
    #[inline(always)]
    pub(super) fn part_ready(&mut self, slot: u32, command: CommandId, units: u32) {
        if self.controller.takes_time(Route::ToHost) {
            return self.deliver(command, units, AccountId::Operation(slot));
        }
        self.out.operations.release(slot);
        if self.host.part_done(command) {
            self.last_part_done(command, AccountId::Operation(slot));
        }
    }

    /// Sends the data of a part that is ready to the host. The part keeps its account.
    // Out of line: an ideal link takes no time.
    #[inline(never)]
    fn deliver(&mut self, command: CommandId, units: u32, account: AccountId) {
        if self.reassembles {
            return self.reassemble(command, account);
        }
        let data = self.host.data_to_host(command, units);
        let mut place = super::commands::place_of(&self.host, command);
        if let (true, AccountId::Operation(slot)) = (self.controller.chooses_by_unit(), account) {
            place.unit = self.unit_of(slot);
        }
        self.send(
            Route::ToHost,
            Transfer { data, place, continuation: Continuation::PartDelivered { command, account }, account: Some(account) },
        );
    }

    /// Keeps the data of a part that has arrived in the controller's memory. With the last part, all of it is sent to
    /// the host as one; that transfer is the part that the command still waits for.
    #[inline(never)]
    fn reassemble(&mut self, command: CommandId, account: AccountId) {
        if !self.host.part_done(command) {
            return self.out.close(account);
        }
        self.host.expect_parts(command, 1);
        let data = self.host.command(command).command().length;
        let place = super::commands::place_of(&self.host, command);
        self.send(
            Route::ToHost,
            Transfer { data, place, continuation: Continuation::PartDelivered { command, account }, account: Some(account) },
        );
    }

    /// Handles the arrival of a part's data at the host.
    #[inline(always)]
    fn part_delivered(&mut self, command: CommandId, account: AccountId) {
        self.out.close(account);
        if self.host.part_done(command) {
            self.last_part_done(command, account);
        }
    }

    /// Tells the write buffer that an operation of the FTL is done.
    // Out of line: it keeps the path of a read short.
    #[inline(never)]
    fn tell_buffer(&mut self, owner: Owner) {
        match owner {
            Owner::ProgramUnit => self.host.settle_buffer(self.now, &mut self.out.handoff),
            Owner::PartialRead(_) => self.host.unit_waits(self.now, &mut self.out.events),
            Owner::Command(_)
            | Owner::Collector
            | Owner::Page(_)
            | Owner::FreeBlock
            | Owner::Scan
            | Owner::Restoration(_)
            | Owner::Journal
            | Owner::ReadAhead(_)
            | Owner::MapPage(_)
            | Owner::Retry(_) => {}
        }
    }

    #[inline]
    fn route_parts(&mut self) {
        let mut parts = std::mem::replace(&mut self.out.handoff.parts, std::mem::take(&mut self.spare_parts));
        for part in &parts {
            if part.is_lost {
                self.media_error(part.command);
            }
            if part.units > 0 && self.controller.takes_time(Route::ToHost) {
                let account = self.out.accounts.put(Account::from_ledger(part.ledger, self.now));
                self.deliver(part.command, part.units, AccountId::Host(account));
            } else if self.host.part_done(part.command) {
                self.command_done(part.command, &part.ledger);
            }
        }
        parts.clear();
        self.spare_parts = parts;
    }

    #[inline]
    fn arrive(&mut self, command: CommandId) {
        if self.host.arrive(self.now, &mut self.out.signals) {
            self.serve(command);
            self.route();
        } else {
            self.enter_queue(command);
        }
    }

    /// Passes a command that is in the device to the FTL, or to the write buffer.
    fn serve(&mut self, command: CommandId) {
        if self.checks_commands && !self.check_command(command) {
            return;
        }
        match self.host.request(command, self.now) {
            Request::Read(units) => {
                let parts = self.ftl.read(command, units.first, units.count, self.now, &mut self.out);
                self.host.expect_parts(command, parts);
                if self.reads_in_part {
                    self.leave_out_unasked(command);
                }
            }
            Request::BufferedWrite => {
                self.announce(command);
                self.fill_buffer();
                self.host.write_waits(self.now, &mut self.out.events);
            }
            Request::Write(_) if self.ftl.recordable().is_some() => self.announced_write(command),
            Request::Write(units) if self.controller.takes_time(Route::Take) => self.take_all(command, &units),
            Request::Write(units) => self.write_units(command, &units),
            Request::Trim(units) if self.checks_commands && self.resets(command, units.first) => {}
            Request::Trim(units) => {
                let (first, count) = units.inner();
                self.ftl.trim(first, count, self.now, &mut self.out);
                self.command_done(command, &Ledger::default());
            }
            Request::Flush(until) => {
                if self.waits_for_journal(command) {
                    self.host.expect_parts(command, 2);
                }
                self.ftl.drain(Drain::Flush(until), &mut self.out.ready);
            }
            Request::Nothing if self.waits_for_journal(command) => self.host.expect_parts(command, 1),
            Request::Nothing => self.command_done(command, &Ledger::default()),
        }
    }

    /// Lets a flush wait until the trims before it are recorded in the journal of the map. Returns false if they are,
    /// or the command is no flush.
    fn waits_for_journal(&mut self, command: CommandId) -> bool {
        let is_flush = self.host.command(command).command().op == Op::Flush;
        let Translator::PageMap(map) = &mut self.ftl else { return false };
        is_flush && map.has_journal() && map.flush_journal(command, self.now, &mut self.out.ready)
    }

    /// Leaves out what the host does not ask for of the first and the last mapping unit of a command, in 4 KiB, from
    /// the data of the command's flash reads.
    #[inline(never)]
    fn leave_out_unasked(&mut self, command: CommandId) {
        let asked = self.host.command(command).command();
        let asked = asked.offset.0 / UNIT_BYTES..(asked.offset.0 + asked.length.0).div_ceil(UNIT_BYTES);
        for &slot in &self.out.handoff.reads {
            let operation = &mut self.out.operations[slot];
            if operation.owner != Owner::Command(command) || !operation.reads_data() {
                continue;
            }
            let first = u64::from(self.ftl.unit_at(operation.first));
            let [from, to] = [first, first + u64::from(operation.units)].map(|unit| self.unit.offset(unit) / UNIT_BYTES);
            let moved = to.min(asked.end) - from.max(asked.start);
            operation.skipped = (to - from - moved) as u8;
        }
    }

    /// Lets a command take effect on the zones or chunks of the drive. Returns false if it has failed, and is complete.
    #[inline(never)]
    fn check_command(&mut self, command: CommandId) -> bool {
        if self.is_held_up {
            return false;
        }
        let host = *self.host.command(command).command();
        if self.is_read_only && matches!(host.op, Op::Write | Op::Trim) {
            self.statistics.refused_writes += 1;
            self.host.set_status(command, Status::WriteProtected);
            self.command_done(command, &Ledger::default());
            return false;
        }
        let checked = self.ftl.check(command, &host, self.now, &mut self.out);
        // A reset discards units of the write buffer.
        self.host.settle_buffer(self.now, &mut self.out.handoff);
        match checked {
            Ok(place) => {
                if let Some(first) = place {
                    self.host.place(command, self.unit.data(first.0));
                }
                true
            }
            Err(status) => {
                self.host.set_status(command, status);
                self.command_done(command, &Ledger::default());
                false
            }
        }
    }

    /// Lets a trim begin the resets that it stands for. Returns false if there are none.
    #[inline(never)]
    fn resets(&mut self, command: CommandId, first: Lpn) -> bool {
        let Some(layer) = self.ftl.physical() else { return false };
        let parts = layer.reset(command, first, self.now, &mut self.out);
        self.host.expect_parts(command, parts);
        true
    }

    /// Announces a write to a layer that numbers the commands, before its units come.
    #[inline]
    fn announce(&mut self, command: CommandId) {
        if let Some(layer) = self.ftl.recordable() {
            let UnitRange { first, count, .. } = self.host.units_of(command);
            layer.announce(command, first.0..first.0 + count, self.now);
        }
    }

    /// Serves a write without buffer under a layer that numbers the commands.
    #[inline(never)]
    fn announced_write(&mut self, command: CommandId) {
        self.announce(command);
        let units = self.host.units_of(command);
        if self.controller.takes_time(Route::Take) {
            self.take_all(command, &units);
        } else {
            self.write_units(command, &units);
        }
    }

    /// Passes the units of a write without buffer on to the FTL.
    #[inline]
    pub(super) fn write_units(&mut self, command: CommandId, units: &UnitRange) {
        for index in 0..units.count {
            self.ftl.write(&units.unit(command, index, None), self.now, &mut self.out);
        }
    }

    /// Passes units of waiting writes on to the FTL while the write buffer has space for them. A write is acknowledged
    /// with its last unit.
    fn fill_buffer(&mut self) {
        if self.controller.takes_time(Route::Take) {
            self.fill_buffer_piecewise();
            return self.check_watermarks();
        }
        while let Some(unit) = self.host.take_buffer_unit(self.now) {
            if self.ftl.write(&unit, self.now, &mut self.out) {
                self.host.unit_waits(self.now, &mut self.out.events);
            }
            if let Some(ledger) = self.host.unit_buffered(&unit, self.now, &mut self.out) {
                self.command_done(unit.command, &ledger);
            }
        }
        self.check_watermarks();
    }

    /// Lets the FTL program the units of the write buffer, or not, by the watermarks of the buffer.
    #[inline]
    pub(super) fn check_watermarks(&mut self) {
        if self.host.buffer().has_watermarks() {
            let is_flushing = self.host.is_flushing(self.out.signals.queued_write_pages);
            self.ftl.drain(Drain::Hold(!is_flushing), &mut self.out.ready);
        }
    }

    /// Completes a command whose last part has this account.
    // The ledger is used in place: copying it costs as much as adding it up.
    #[inline(always)]
    fn last_part_done(&mut self, command: CommandId, account: AccountId) {
        if self.withholds {
            let ledger = *self.out.account(account).ledger();
            return self.withhold(command, &ledger);
        }
        let state = self.host.command(command);
        if let Some(arrival) = state.account() {
            if self.posts_completions {
                let ledger = *self.out.account(account).ledger();
                return self.post_completion(command, &ledger);
            }
            self.out.add_account(arrival, account);
        }
        self.statistics.record(command, state, self.now, self.out.account(account).ledger());
        self.retire_command(command);
    }

    /// Completes a command; `ledger` covers the time since it was in the device.
    pub(super) fn command_done(&mut self, command: CommandId, ledger: &Ledger) {
        if self.withholds {
            return self.withhold(command, ledger);
        }
        let state = self.host.command(command);
        if let Some(arrival) = state.account() {
            if self.posts_completions {
                return self.post_completion(command, ledger);
            }
            let mut whole = *ledger;
            whole.add(self.out.accounts[arrival].ledger());
            self.statistics.record(command, state, self.now, &whole);
        } else {
            self.statistics.record(command, state, self.now, ledger);
        }
        self.retire_command(command);
    }

    /// Ends a command whose latency is recorded. Its place in the queue goes to the next waiting command.
    #[inline(always)]
    pub(super) fn retire_command(&mut self, command: CommandId) {
        if self.statistics.sample_due() {
            self.statistics.sample(self.now, self.out.signals.queued_write_pages, &self.ftl);
        }
        if let Some(next) = self.host.retire_command(command, self.now, &mut self.out) {
            self.submit_to_device(next);
        }
        if self.host.may_fetch() {
            self.fetch();
        }
        if self.out.signals.commands_in_flight == 0 {
            self.ftl.host_is_silent(self.now, &mut self.out.events);
        }
        if self.power_states.is_some() {
            self.may_be_idle();
        }
    }
}
