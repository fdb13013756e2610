//! Host commands: looking up reads, accepting writes, trims and flushes, and waking dies for waiting work.

use super::*;

impl Ftl {
    /// Looks up the units of a host read, and places the flash reads that they need in the outbox. Returns the number
    /// of parts that will report: one for each flash read, and one for all units answered at once.
    #[inline]
    pub fn read(&mut self, command: CommandId, first: Lpn, count: u32, now: SimTime, out: &mut Outbox) -> u32 {
        if self.state.cache.is_some() {
            return self.read_through_cache(command, first, count, now, out);
        }
        if count == 1
            && let Mapped::At(ppn) = decode(self.state.store.code_of(first))
            && self.single_read(command, first, ppn, now, out)
        {
            return 1;
        }
        self.read_range(command, first, count, now, out)
    }

    pub(super) fn read_range(&mut self, command: CommandId, first: Lpn, count: u32, now: SimTime, out: &mut Outbox) -> u32 {
        let geometry = self.state.store.medium.geometry;
        let (mut parts, mut at_once, mut is_lost) = (0, 0, false);
        let mut open: Option<Operation> = None;
        let mut planes_seen = 0u64;
        for lpn in (first.0..first.0 + count).map(Lpn) {
            let source = self.resolve(lpn);
            out.journal.note(|| Record::ReadResolved { command, lpn, source });
            let ReadSource::Flash(ppn) = source else {
                if source == ReadSource::Unmapped && self.derived.config.unmapped_read == UnmappedRead::Flash {
                    parts += 1;
                    out.read(self.unmapped_operation(command, lpn));
                } else {
                    at_once += 1;
                    is_lost |= self.holds_lost(source);
                }
                continue;
            };
            if self.state.cache.is_some() && self.wait_for_ahead(command, lpn, ppn, now) {
                parts += 1;
                continue;
            }
            self.state.store.medium.pin(ppn);
            let mode = self.read_mode(&UnitRead { lpn, ppn, reason: Reason::Host }, now, &out.signals);
            let (block, unit) = geometry.split(ppn);
            let row = geometry.row_of(unit);
            if let Some(operation) = &mut open {
                // Neighbouring units of one row are sensed together; each further plane of the row adds a page.
                let (open_block, open_unit) = geometry.split(operation.first);
                if open_block == block && geometry.row_of(open_unit) == row && ppn.0 == operation.first.0 + operation.units {
                    operation.units += 1;
                    let page = 1u64 << (geometry.page_of(unit) % geometry.shape.planes_per_program);
                    operation.pages += u32::from(planes_seen & page == 0);
                    planes_seen |= page;
                    operation.mode = self.slower(operation.mode, mode);
                    continue;
                }
                out.read(*operation);
            }
            planes_seen = 1 << (geometry.page_of(unit) % geometry.shape.planes_per_program);
            parts += 1;
            open = Some(Operation {
                kind: OperationKind::Read,
                reason: Reason::Host,
                die: geometry.die_of(block),
                first: ppn,
                units: 1,
                pages: 1,
                page_type: geometry.page_type_of(unit),
                mode,
                encode: 0,
                skipped: 0,
                owner: Owner::Command(command),
            });
        }
        if let Some(operation) = open {
            out.read(operation);
        }
        if at_once > 0 {
            parts += 1;
            out.handoff.parts.push(Part { command, ledger: Ledger::default(), units: at_once, is_lost });
        }
        parts
    }

    /// Issues the read of a single unit if it is durable. This is the common case, without the work of joining
    /// neighbours.
    #[inline]
    pub(super) fn single_read(&mut self, command: CommandId, lpn: Lpn, ppn: Ppn, now: SimTime, out: &mut Outbox) -> bool {
        let geometry = &self.state.store.medium.geometry;
        let (block, unit) = geometry.split(ppn);
        let (die, page_type, program) = (geometry.die_of(block), geometry.page_type_of(unit), geometry.program_of(unit));
        let record = self.state.store.medium.block(block);
        if program >= u32::from(record.programmed) {
            return false;
        }
        self.state.store.medium.blocks.update(block, |record| record.pin());
        let mut mode = self.derived.read_modes[usize::from(record.mode()) % 16];
        out.journal.note(|| Record::ReadResolved { command, lpn, source: ReadSource::Flash(ppn) });
        if self.derived.needs.reads {
            mode = self.read_mode(&UnitRead { lpn, ppn, reason: Reason::Host }, now, &out.signals);
        }
        let owner = Owner::Command(command);
        out.read(Operation {
            kind: OperationKind::Read,
            reason: Reason::Host,
            die,
            first: ppn,
            units: 1,
            pages: 1,
            page_type,
            mode,
            encode: 0,
            skipped: 0,
            owner,
        });
        true
    }

    /// Returns the mode in which a unit on flash is read: the policy's answer, or the one that the block's write mode
    /// requires.
    #[inline]
    pub(super) fn read_mode(&mut self, read: &UnitRead, now: SimTime, signals: &Signals) -> ModeId {
        let answer = if self.derived.needs.reads && !self.is_of_map(read.lpn) {
            self.call_policy(now, signals, |policy, view| policy.read_issued(read, view)).mode
        } else {
            None
        };
        answer.unwrap_or_else(|| {
            self.derived.read_modes
                [usize::from(self.state.store.medium.block(self.state.store.medium.geometry.block_of(read.ppn)).mode()) % 16]
        })
    }

    /// Returns the slower of two read modes, which a read that covers pages of both requires.
    #[inline]
    pub(super) fn slower(&self, one: ModeId, other: ModeId) -> ModeId {
        let times = &self.derived.parameters.facts.read_times;
        if one == other || times[one.index()] >= times[other.index()] { one } else { other }
    }

    /// Returns the source of a unit's data: unmapped, the write buffer, the controller's memory or flash.
    #[inline]
    pub(super) fn resolve(&mut self, lpn: Lpn) -> ReadSource {
        match decode(self.state.store.code_of(lpn)) {
            Mapped::Nowhere => {
                self.state.counters.unmapped_reads += 1;
                ReadSource::Unmapped
            }
            Mapped::Slot(slot) => {
                self.state.counters.buffer_hits += 1;
                ReadSource::Buffer(slot)
            }
            Mapped::At(ppn) => {
                let (block, unit) = self.state.store.medium.geometry.split(ppn);
                let durable = self.state.store.medium.geometry.program_of(unit)
                    < u32::from(self.state.store.medium.block(block).programmed);
                if durable && self.state.cache.as_mut().is_some_and(|cache| cache.hit(lpn)) {
                    self.state.counters.cache_hits += 1;
                    return ReadSource::Cache(ppn);
                }
                if durable || self.derived.config.read_in_flight == ReadInFlight::Wait {
                    return ReadSource::Flash(ppn);
                }
                self.state.counters.reads_in_flight += 1;
                ReadSource::Controller(ppn)
            }
        }
    }

    pub(super) fn unmapped_operation(&self, command: CommandId, lpn: Lpn) -> Operation {
        let die = self.state.writes.die_of(lpn);
        Operation {
            kind: OperationKind::Read,
            reason: Reason::Host,
            die,
            first: Ppn(NO_PLACE),
            units: 1,
            pages: 1,
            page_type: 0,
            // Such data counts as older than the run.
            mode: self.derived.read_modes[self.derived.old_mode.index()],
            encode: 0,
            skipped: 0,
            owner: Owner::Command(command),
        }
    }

    /// Accepts a unit of a host write whose data is in the controller. Returns true if it waits for a die now, and
    /// false if it replaced a buffered unit, or its other sectors or those of a write before it must be read first.
    pub fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool {
        let waits = self.accept(unit, now, out);
        if unit.last && self.derived.needs.requests {
            self.call_policy(now, &out.signals, |policy, view| policy.requested(view));
        }
        waits
    }

    #[inline(always)]
    pub(super) fn accept(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool {
        let HostUnit { lpn, whole, buffered, .. } = *unit;
        self.state.counters.host_units += 1;
        let mut code = self.state.store.code_of(lpn);
        let (mut whole, mut lost) = (whole, false);
        if self.derived.parameters.buffering.appends
            && let Mapped::Slot(slot) = decode(code)
            && let Some(prior) = self.state.writes.queue.overtake(slot)
        {
            // The rest of a partial write is in the buffer, or lost.
            lost = !whole && self.state.writes.queue.units[slot].is_lost();
            (code, whole) = (prior, true);
            if let Some(metadata) = &mut self.state.metadata {
                metadata.overtaken(lpn);
            }
        }
        if let (Some(number), Mapped::Slot(slot)) = (buffered, decode(code)) {
            self.state.counters.absorbed += 1;
            self.state.writes.absorb(slot, (unit, number), now, out);
            self.program_soon(slot, unit, &mut out.ready);
            return false;
        }
        let slot = self.state.writes.accept(unit, now, out);
        if buffered.is_some() {
            assert!(slot < u32::MAX - SLOT_BASE, "the write buffer has more units than the map can name");
            self.state.writes.queue.units[slot].prior = code;
            if lost {
                self.state.writes.queue.units[slot].lose();
            }
            self.state.store.set_code(lpn, SLOT_BASE + slot);
        }
        if buffered.is_none() && self.state.writes.queue.follows(slot, whole, now) {
            return false;
        }
        if let (false, Mapped::At(ppn)) = (whole || self.derived.config.partial_write == PartialWrite::Whole, decode(code)) {
            let (block, at) = self.state.store.medium.geometry.split(ppn);
            if self.state.store.medium.geometry.program_of(at) < u32::from(self.state.store.medium.block(block).programmed) {
                self.state.writes.queue.begin_fill(slot, now);
                self.push_fill(slot, ppn, now, out);
                self.program_soon(slot, unit, &mut out.ready);
                return false;
            }
        }
        self.enqueue(slot, now, out);
        self.program_soon(slot, unit, &mut out.ready);
        true
    }

    /// Has a unit of the write buffer programmed for which its command waits, with the units before it.
    #[inline]
    fn program_soon(&mut self, slot: u32, unit: &HostUnit, ready: &mut ReadyDies) {
        let State { writes, space, .. } = &mut self.state;
        writes.program_soon(slot, unit, |die| space.has_space(die), ready);
    }

    /// Issues the read that supplies the part of a unit that the host did not write.
    pub(super) fn push_fill(&mut self, slot: u32, ppn: Ppn, now: SimTime, out: &mut Outbox) {
        self.state.store.medium.pin(ppn);
        let operation = self.read_operation(ppn, Reason::Rmw, Owner::PartialRead(slot), now, &out.signals);
        out.read(operation);
    }

    pub(super) fn read_operation(
        &mut self,
        ppn: Ppn,
        reason: Reason,
        owner: Owner,
        now: SimTime,
        signals: &Signals,
    ) -> Operation {
        let mode = self.read_mode(&UnitRead { lpn: self.state.store.lpn_at(ppn), ppn, reason }, now, signals);
        self.state.store.medium.read_at(ppn, mode, reason, owner)
    }

    /// Adds a complete unit to the write queue, and wakes a die for it.
    #[inline]
    pub(super) fn enqueue(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        let State { writes, space, .. } = &mut self.state;
        let list = writes.push(slot, None, now, out);
        writes.wake_for(list, |die| space.has_space(die), &mut out.ready);
    }

    /// Marks as ready the next idle die that could take host data. If there are idle dies, but none has space, marks
    /// all of them, so that they gain some.
    #[inline]
    pub(super) fn wake_one(&mut self, ready: &mut ReadyDies) {
        let State { writes, space, .. } = &mut self.state;
        writes.idle.wake_one(|die| space.has_space(die), ready);
    }

    /// Handles the start of an operation that was not pulled: the die is busy, and another idle die is woken for the
    /// waiting writes that this one may have been woken for.
    #[inline]
    pub fn die_started(&mut self, die: DieId, ready: &mut ReadyDies) {
        self.state.writes.idle.remove(die);
        if self.state.writes.are_pulled() && self.state.writes.may_pull_from(0) {
            self.wake_one(ready);
        }
    }

    /// Handles a die that waits for a page buffer before its next program: it is busy, and another idle die, whose
    /// channel may have a free one, is woken for the writes and page moves that this one may have been woken for.
    pub fn die_starved(&mut self, die: DieId, ready: &mut ReadyDies) {
        self.state.writes.idle.remove(die);
        let writes_wait = self.state.writes.are_pulled() && self.state.writes.may_pull_from(0);
        if writes_wait || !self.state.moves.ready.is_empty() {
            self.wake_one(ready);
        }
    }

    /// Marks a die as idle: it may be woken for the next write, and for background work later.
    #[inline]
    pub fn set_idle(&mut self, die: DieId, now: SimTime, events: &mut Events) {
        if !self.state.writes.idle.insert(die) {
            return;
        }
        self.state.idle_since[die.index()] = now;
        if self.derived.config.gc_idle_after.is_some() || self.derived.needs.moves {
            IdleDelay::ALL.into_iter().for_each(|delay| self.arm_idle(die, delay, now, events));
        }
    }

    /// Returns the idle time after which a die is asked for background work; `None` if it need not be asked.
    fn idle_delay(&self, die: DieId, delay: IdleDelay) -> Option<Nanos> {
        match delay {
            IdleDelay::Collection => {
                let wanted = self.state.space.free_blocks(die) < self.derived.config.gc_idle_target_blocks;
                self.derived.config.gc_idle_after.filter(|_| wanted)
            }
            IdleDelay::Policy => {
                Some(self.derived.needs.idle_after).filter(|&after| self.derived.needs.moves && after > Nanos::ZERO)
            }
        }
    }

    /// Returns the instant from which the idle time of a delay counts; `None` while that does not go on.
    fn idle_from(&self, die: DieId, delay: IdleDelay, signals: &Signals) -> Option<SimTime> {
        let since = self.state.idle_since[die.index()];
        match (delay, self.derived.config.gc_idle_of) {
            (IdleDelay::Collection, IdlePart::Drive) if signals.commands_in_flight > 0 => None,
            (IdleDelay::Collection, IdlePart::Drive) => Some(since.max(signals.last_host_activity)),
            _ => Some(since),
        }
    }

    /// Returns true if background collection waits for the host to be silent for longer.
    pub(super) fn host_is_active(&self, now: SimTime, signals: &Signals) -> bool {
        let is_active = |after: Nanos| signals.commands_in_flight > 0 || now.since(signals.last_host_activity) < after;
        self.derived.config.gc_idle_of == IdlePart::Drive && self.derived.config.gc_idle_after.is_some_and(is_active)
    }

    /// Handles the completion of the last command in flight: the idle time of the drive begins.
    #[inline]
    pub fn host_is_silent(&mut self, now: SimTime, events: &mut Events) {
        if self.derived.config.gc_idle_of == IdlePart::Drive {
            self.begin_idle_time(now, events);
        }
    }

    #[inline(never)]
    fn begin_idle_time(&mut self, now: SimTime, events: &mut Events) {
        for die in (0..self.state.store.medium.geometry.die_count).map(DieId) {
            if self.state.writes.idle.contains(die) {
                self.arm_idle(die, IdleDelay::Collection, now, events);
            }
        }
    }

    /// Ensures that a timer is pending for the end of an idle die's delay, counted from `since`, or for an earlier
    /// instant; an early timer arms the next one. A die has at most one timer for each delay, however often it becomes
    /// idle.
    fn arm_idle(&mut self, die: DieId, delay: IdleDelay, since: SimTime, events: &mut Events) {
        if self.state.idle_armed[delay as usize][die.index()] {
            return;
        }
        let Some(after) = self.idle_delay(die, delay) else { return };
        self.state.idle_armed[delay as usize][die.index()] = true;
        events.push(since + after, Class::Timer, Event::Timer(Timer::Idle { die, delay }));
    }

    /// Handles the idle timer of a die: if its delay is over, the die is asked for work.
    pub(super) fn idle_timer_fired(&mut self, die: DieId, delay: IdleDelay, now: SimTime, out: &mut Outbox) {
        self.state.idle_armed[delay as usize][die.index()] = false;
        let Some(after) = self.idle_delay(die, delay).filter(|_| self.state.writes.idle.contains(die)) else { return };
        let Some(since) = self.idle_from(die, delay, &out.signals) else { return };
        if now.since(since) < after {
            self.arm_idle(die, delay, since, &mut out.events);
            return;
        }
        let since = self.idle_from(die, IdleDelay::Collection, &out.signals);
        let is_over = |after: Nanos| since.is_some_and(|since| now.since(since) >= after);
        self.state.collectors[die.index()].in_background |= self.derived.config.gc_idle_after.is_some_and(is_over);
        out.ready.mark(die);
    }

    /// Deallocates whole units.
    pub fn trim(&mut self, first: Lpn, count: u32, now: SimTime, out: &mut Outbox) {
        let mut recorded = Vec::new();
        for lpn in (first.0..first.0 + count).map(Lpn) {
            self.state.counters.trimmed_units += 1;
            let code = self.state.store.code_of(lpn);
            self.state.store.set_code(lpn, 0);
            if let Some(cache) = &mut self.state.cache {
                cache.forget(lpn);
            }
            let place = match decode(code) {
                Mapped::Nowhere => continue,
                Mapped::At(ppn) => Some(ppn),
                Mapped::Slot(slot) => {
                    let unit = &mut self.state.writes.queue.units[slot];
                    unit.dropped = true;
                    match decode(std::mem::replace(&mut unit.prior, 0)) {
                        Mapped::At(ppn) => Some(ppn),
                        Mapped::Nowhere | Mapped::Slot(_) => None,
                    }
                }
            };
            if let Some(ppn) = place {
                self.state.store.medium.invalidate(ppn);
                if let Some(journal) = &mut self.state.journal {
                    self.state.store.medium.pin(ppn);
                    journal.keep_until(journal.appended() + 1, ppn);
                }
                if self.state.map_cache.is_some() {
                    self.map_changed(lpn, out);
                }
                self.wake_if_emptied(ppn, &mut out.ready);
            }
            if let Some(metadata) = &mut self.state.metadata {
                metadata.trimmed(lpn);
            }
            if self.state.journal.is_some() {
                recorded.push(lpn);
            }
            out.journal.note(|| Record::Trimmed { lpn });
            if self.derived.needs.dropped {
                self.call_policy(now, &out.signals, |policy, view| policy.dropped(lpn, view));
            }
        }
        if !recorded.is_empty() {
            self.record_trim(recorded, out);
        }
    }

    /// Wakes the die of a victim that has lost a valid unit: it may be ready to be erased.
    pub(super) fn wake_if_emptied(&mut self, ppn: Ppn, ready: &mut ReadyDies) {
        let block = self.state.store.medium.geometry.block_of(ppn);
        if self.state.store.medium.block(block).state() == BlockState::Victim {
            ready.mark(self.state.store.medium.geometry.die_of(block));
        }
    }

    /// Changes the conditions under which waiting writes are programmed. In a shutdown, the policy may have its pages
    /// moved, too.
    pub fn drain(&mut self, what: Drain, ready: &mut ReadyDies) {
        if let Drain::All(_) = what {
            self.begin_to_save_map(ready);
        }
        let State { writes, space, .. } = &mut self.state;
        writes.drain(what, |die| space.has_space(die), ready);
    }

    /// Wakes dies for waiting units.
    pub(super) fn wake_for_writes(&mut self, ready: &mut ReadyDies) {
        let State { writes, space, .. } = &mut self.state;
        writes.wake_for_all(|die| space.has_space(die), ready);
    }
}

#[cfg(test)]
mod tests;
