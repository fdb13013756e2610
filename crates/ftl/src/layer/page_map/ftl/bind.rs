//! Host programs: binding waiting units to a die, a place and a mode.

use super::*;

/// Returns a place that may be none.
#[inline]
fn place(ppn: u32) -> Option<Ppn> {
    (ppn != NO_PLACE).then_some(Ppn(ppn))
}

impl Ftl {
    /// Binds the oldest waiting units to one program on this die. Returns the program, or the lazy erase of a block
    /// that must precede it, by its operation slot; `None` if nothing can be programmed now.
    pub(super) fn program_host(&mut self, die: DieId, list: usize, now: SimTime, out: &mut Outbox) -> Option<u32> {
        // The policy may choose any of the host frontiers: if one of them cannot take the units, it is not asked, and
        // the write stays in the queue.
        if !self.state.space.has_space(die) {
            self.update_no_space(now, out);
            return None;
        }
        let units_per_program = self.state.store.medium.geometry.units_per_program as usize;
        self.list_waiting(list, units_per_program);
        if self.scratch.units.is_empty() {
            self.drop_trimmed(list, now, out);
            return None;
        }
        // Where no block may be opened for the host, the open ones may be in other modes than the policy chooses.
        let may_lack_place = self.scratch.binding != Binding::Allowed && !self.state.space.may_open_for_host(die);
        if !may_lack_place && !self.may_bind() {
            return None;
        }
        let units = std::mem::take(&mut self.scratch.units);
        let waiting = self.state.writes.queue.len(list) - units.len() as u64;
        let dispatch = Dispatch { die, units: &units, waiting, others_idle: self.others_idle(&out.signals) };
        let mut answer = self.call_policy(now, &out.signals, |policy, view| policy.write(&dispatch, view));
        self.scratch.units = units;
        let mode = answer.mode.index();
        let is_refused = self.state.store.medium.valid_by_mode[mode] >= self.state.retention.max_limited_units[mode];
        if is_refused {
            (answer.mode, answer.stream) = (self.derived.parameters.facts.normal_mode(), 0);
        }
        let plane = self.state.writes.queue.head(list).and_then(|slot| self.state.writes.queue.units[slot].plane);
        let mode = self.block_mode(answer.mode);
        let mut target = Target { die, stream: usize::from(answer.stream), mode, class: AllocationClass::Host, plane, level: 0 };
        if may_lack_place {
            self.wants_buffer_at(&target, now, out);
            return None;
        }
        if let Some(operation) = self.before_program(&mut target, answer.mode, now, out) {
            return operation;
        }
        let Some(place) = self.state.space.advance(&mut self.state.store.medium, &target, units_per_program as u32, now) else {
            self.update_no_space(now, out);
            return None;
        };
        self.begin_program(die, place, answer.mode, Reason::Host);
        self.state.store.medium.programs[die.index()].stream = Some(answer.stream);
        self.state.collectors[die.index()].in_background = false;
        let mut bound = 0;
        while bound < units_per_program as u32 {
            let Some(slot) = self.state.writes.queue.pop(list) else { break };
            out.signals.queued_write_pages -= 1;
            out.signals.queued_write_requests -= u64::from(self.state.writes.queue.units[slot].last);
            if self.state.writes.queue.units[slot].dropped {
                self.release_dropped(slot, now, out);
                continue;
            }
            self.bind_host(die, slot, Ppn(place.0 + bound), now, out);
            bound += 1;
        }
        self.state.counters.host_units_by_mode[answer.mode.index()] += u64::from(bound);
        // Counted here because a program may be put off, and the policy asked again.
        self.state.counters.retention_refusals += if is_refused { u64::from(bound) } else { 0 };
        self.state.counters.units_apart += if answer.stream > 0 { u64::from(bound) } else { 0 };
        Some(self.finish_program(die, target.stream, bound, now, out))
    }

    /// Lists the oldest waiting units of a list, `most` of them, without those that were trimmed.
    #[inline(always)]
    fn list_waiting(&mut self, list: usize, most: usize) {
        self.scratch.units.clear();
        let mut next = self.state.writes.queue.head(list);
        while let Some(slot) = next {
            if self.scratch.units.len() == most {
                break;
            }
            let unit = &self.state.writes.queue.units[slot];
            if !unit.dropped {
                self.scratch.units.push(unit.lpn);
            }
            next = self.state.writes.queue.after(slot);
        }
    }

    /// Notes that a program comes next, for which the die has no page buffer; or, if the target has no place, that no
    /// buffer is of use.
    #[cold]
    fn wants_buffer_at(&mut self, target: &Target, now: SimTime, out: &mut Outbox) {
        if self.state.space.has_place(&self.state.store.medium, target) {
            self.scratch.binding = Binding::Refused;
        } else {
            self.update_no_space(now, out);
        }
    }

    /// Returns the operation that must precede a program in `mode`: a lazy erase, or that for a copy of paired pages.
    #[inline]
    fn before_program(&mut self, target: &mut Target, mode: ModeId, now: SimTime, out: &mut Outbox) -> Option<Option<u32>> {
        if self.state.space.levels() > 1
            && let Some(lazy_erase) = self.choose_level(target, mode, now, out)
        {
            return Some(Some(lazy_erase));
        }
        self.copy_first(target, now, out)
    }

    /// Returns the number of dies that could take the next write now, without the one that takes this one.
    fn others_idle(&self, signals: &Signals) -> u32 {
        match self.derived.config.write_allocation {
            WriteAllocation::Pull => self.state.store.medium.geometry.die_count.saturating_sub(signals.busy_dies + 1),
            WriteAllocation::Static | WriteAllocation::RoundRobin => 0,
        }
    }

    /// Removes units from the head of the queue that were trimmed while they waited; they are not programmed.
    pub(in crate::layer::page_map) fn drop_trimmed(&mut self, list: usize, now: SimTime, out: &mut Outbox) {
        while let Some(slot) = self.state.writes.queue.head(list) {
            if !self.state.writes.queue.units[slot].dropped {
                break;
            }
            self.state.writes.queue.pop(list);
            out.signals.queued_write_pages -= 1;
            out.signals.queued_write_requests -= u64::from(self.state.writes.queue.units[slot].last);
            self.release_dropped(slot, now, out);
        }
    }

    pub(in crate::layer::page_map) fn release_dropped(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        if self.state.journal.as_mut().is_some_and(|journal| journal.keep_dropped(slot)) {
            return self.wake_for_journal(&mut out.ready);
        }
        self.leave_buffer(slot, now, out);
    }

    /// Lets a unit leave the write buffer that was trimmed there, and reports to the commands that wait for it.
    pub(super) fn leave_buffer(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        out.handoff.released.push(self.state.writes.queue.units[slot].number);
        let waiters = self.state.writes.queue.end_wait(slot, now, &out.signals.clock);
        self.state.writes.queue.units.release(slot);
        self.state.writes.queue.report(waiters, &Ledger::default(), &mut out.handoff);
    }

    /// Binds a unit of host data to its place: the map points there, and the old copy becomes invalid. The old copy's
    /// block stays pinned until the program completes.
    #[inline]
    pub(in crate::layer::page_map) fn bind_host(&mut self, die: DieId, slot: u32, ppn: Ppn, now: SimTime, out: &mut Outbox) {
        let (mode, stream) =
            (self.state.store.medium.programs[die.index()].mode, self.state.store.medium.programs[die.index()].stream);
        let unit = &self.state.writes.queue.units[slot];
        let (lpn, writer) = (unit.lpn, unit.writer);
        if unit.obsolete {
            return self.bind_obsolete(die, slot, ppn, now, out);
        }
        let old = if writer == Writer::Buffer { unit.prior } else { self.state.store.code_of(lpn) };
        let superseded = match decode(old) {
            Mapped::At(old) => {
                self.state.store.medium.supersede(old);
                old.0
            }
            Mapped::Nowhere | Mapped::Slot(_) => NO_PLACE,
        };
        self.state.store.set_code(lpn, encode(ppn));
        self.state.store.place(lpn, ppn);
        if let Some(metadata) = &mut self.state.metadata {
            metadata.bound_from_buffer(lpn, self.state.writes.queue.units[slot].number);
        }
        if let Some(cache) = &mut self.state.cache {
            cache.forget(lpn);
        }
        if self.state.writes.queue.units[slot].is_lost() {
            self.bound_lost(ppn);
        }
        self.state.store.medium.programs[die.index()].bind(superseded).take(
            slot,
            &mut self.state.writes.queue,
            now,
            &out.signals.clock,
        );
        match writer {
            Writer::Command(command) => out.journal.note(|| Record::Bound { lpn, ppn, command, mode }),
            Writer::Buffer => out.journal.note(|| Record::BoundFromBuffer { slot, lpn, ppn, mode }),
        }
        self.state.writes.queue.units.release(slot);
        self.current_copy_changed(
            &Placed { lpn, ppn, mode, reason: Reason::Host, stream, superseded: place(superseded) },
            now,
            out,
        );
    }

    /// Binds a unit of the write buffer that was written again since. The newer data waits in another slot, or has been
    /// bound before. Where power may be lost, this copy is the current one on flash until the newer one is bound: a
    /// flush may have promised it.
    fn bind_obsolete(&mut self, die: DieId, slot: u32, ppn: Ppn, now: SimTime, out: &mut Outbox) {
        let unit = &self.state.writes.queue.units[slot];
        let (lpn, number, is_lost) = (unit.lpn, unit.number, unit.is_lost());
        let is_newest = self.state.metadata.as_mut().is_some_and(|metadata| metadata.obsolete_bound(lpn, number));
        let newer = match decode(self.state.store.code_of(lpn)) {
            Mapped::Slot(newer) if is_newest => Some(newer),
            _ => None,
        };
        let mut superseded = NO_PLACE;
        if let Some(newer) = newer {
            let prior = std::mem::replace(&mut self.state.writes.queue.units[newer].prior, encode(ppn));
            if let Mapped::At(old) = decode(prior) {
                self.state.store.medium.supersede(old);
                superseded = old.0;
            }
            self.state.store.place(lpn, ppn);
            if is_lost {
                self.bound_lost(ppn);
            }
        } else {
            self.state.store.pad(ppn, 1);
        }
        let program = &mut self.state.store.medium.programs[die.index()];
        let (mode, stream) = (program.mode, program.stream);
        program.bind(superseded).take(slot, &mut self.state.writes.queue, now, &out.signals.clock);
        out.journal.note(|| Record::ObsoleteBound { slot, lpn, ppn, is_current: newer.is_some() });
        self.state.writes.queue.units.release(slot);
        if newer.is_some() {
            self.current_copy_changed(
                &Placed { lpn, ppn, mode, reason: Reason::Host, stream, superseded: place(superseded) },
                now,
                out,
            );
        }
    }

    /// Tells the mapping cache and the policy that a unit has a new current copy on flash.
    #[inline(always)]
    fn current_copy_changed(&mut self, placed: &Placed, now: SimTime, out: &mut Outbox) {
        if self.state.map_cache.is_some() {
            self.map_changed(placed.lpn, out);
        }
        if self.derived.needs.placed {
            self.call_policy(now, &out.signals, |policy, view| policy.placed(placed, view));
        }
    }

    #[inline(always)]
    pub(in crate::layer::page_map) fn begin_program(&mut self, die: DieId, first: Ppn, mode: ModeId, reason: Reason) {
        let program = &mut self.state.store.medium.programs[die.index()];
        debug_assert!(program.bound == 0, "a die programs one unit at a time");
        program.first = first;
        program.mode = mode;
        program.reason = reason;
        program.stream = None;
        program.encode = 0;
        if let Some(metadata) = &mut self.state.metadata {
            metadata.bound(first);
        }
    }

    /// Returns the write mode recorded for a block that takes data of `mode`.
    #[inline]
    pub(super) fn block_mode(&self, mode: ModeId) -> ModeId {
        if self.derived.needs.page_scope { self.derived.old_mode } else { mode }
    }

    /// If a program in `mode` is about to open a block, has the policy choose the erase level of that block and stores
    /// it in `target`. If the chosen level is too shallow for `mode`, returns the slot of a lazy erase that must come
    /// first.
    pub(super) fn choose_level(&mut self, target: &mut Target, mode: ModeId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        if !self.state.space.would_open(&self.state.store.medium, target) {
            return None;
        }
        let wanted = self.derived.parameters.facts.write_levels[mode.index()];
        let lists = self.state.space.free_by_level(target.die);
        let level = self.call_policy(now, &out.signals, |policy, view| policy.free_list(wanted, &lists, view));
        assert!(
            lists.get(usize::from(level)).is_some_and(|&blocks| blocks > 0),
            "a policy takes a block of level {level}: {lists:?}"
        );
        if level <= wanted {
            target.level = level;
            return None;
        }
        let block = self.state.space.take_for_lazy_erase(target.die, level)?;
        let mode = self.call_policy(now, &out.signals, |policy, view| policy.lazy_erase(block, wanted, view));
        let shape = &self.state.store.medium.geometry.shape;
        Some(out.operations.add(Operation {
            kind: OperationKind::LazyErase,
            reason: Reason::Host,
            die: target.die,
            first: self.state.store.medium.geometry.first_of(block),
            pages: shape.planes_per_program * shape.superblock,
            mode,
            owner: Owner::FreeBlock,
            ..Operation::default()
        }))
    }

    /// Completes a lazy erase: the free block joins the list of its new level.
    pub(super) fn lazy_erase_done(&mut self, operation: &Operation) {
        let block = self.state.store.medium.geometry.block_of(operation.first);
        let worn = self.state.store.medium.wear_thousandths(block);
        let wear = |mode: ModeId| self.derived.parameters.wear_of_erase(mode, worn);
        let more = wear(operation.mode).saturating_sub(wear(self.state.store.medium.erase_mode(block)));
        self.state.store.medium.lazy_erase(block, operation.mode, more);
        self.state.space.insert_free(&self.state.store.medium, block, &*self.derived.wear_rule);
        self.state.counters.lazy_erases += 1;
    }

    /// Completes the binding of a program unit: fills it up with padding, enters deadlines of newly opened blocks,
    /// closes the frontier if it is full, and returns the slot of the program.
    pub(in crate::layer::page_map) fn finish_program(
        &mut self,
        die: DieId,
        stream: usize,
        bound: u32,
        now: SimTime,
        out: &mut Outbox,
    ) -> u32 {
        let geometry = self.state.store.medium.geometry;
        let program = &mut self.state.store.medium.programs[die.index()];
        program.frontier = stream;
        let (first, mode, reason) = (program.first, program.mode, program.reason);
        let encode = match reason {
            Reason::Host if self.derived.parameters.facts.codes[mode.index()] != 0 => bound,
            Reason::Host => 0,
            _ => program.encode,
        };
        if self.state.store.medium.integrity.is_some() {
            self.note_mode(first, mode);
        }
        self.state.store.pad(Ppn(first.0 + bound), geometry.units_per_program - bound);
        self.state.counters.units_programmed[reason as usize] += u64::from(bound);
        self.state.counters.units_programmed[Reason::Padding as usize] += u64::from(geometry.units_per_program - bound);
        self.state.counters.units_by_mode[mode.index()] += u64::from(bound);
        self.issue_program(die, stream, encode, now, out)
    }

    /// Enters deadlines of newly opened blocks, closes the frontier of a program if it is full, and returns the slot of
    /// the program, of which `encode` units are encoded first.
    #[inline(always)]
    pub(super) fn issue_program(&mut self, die: DieId, stream: usize, encode: u32, now: SimTime, out: &mut Outbox) -> u32 {
        let geometry = self.state.store.medium.geometry;
        let program = &self.state.store.medium.programs[die.index()];
        let (first, mode, reason) = (program.first, program.mode, program.reason);
        while let Some(block) = self.state.space.opened.pop() {
            let holds_parity = self.state.rain.is_some() && self.join_set(die, stream, block, out);
            self.state.retention.opened(&self.state.store.medium, block);
            if self.derived.needs.blocks && !holds_parity {
                self.call_policy(now, &out.signals, |policy, view| policy.opened(block, view));
            }
            self.arm_retention(now, &mut out.events);
        }
        self.state.space.close_full(&mut self.state.store.medium, die, stream);
        self.settle_sets(None, out);
        self.update_no_space(now, out);
        let (_, unit) = geometry.split(first);
        out.operations.add(Operation {
            kind: OperationKind::Program,
            reason,
            die,
            first,
            units: geometry.units_per_program,
            pages: geometry.shape.planes_per_program * geometry.shape.pages_per_program,
            page_type: geometry.page_type_of(unit),
            mode,
            encode,
            skipped: 0,
            owner: Owner::ProgramUnit,
        })
    }

    /// Updates the drive-wide clock if dies with space for host data have appeared, or none is left.
    #[inline]
    pub(in crate::layer::page_map) fn update_no_space(&mut self, now: SimTime, out: &mut Outbox) {
        let none = self.state.space.dies_with_space() == 0;
        if none != out.signals.no_space {
            out.signals.no_space = none;
            out.signals.update_work(now);
        }
        if !none && self.state.writes.are_stranded {
            self.state.writes.wake_stranded(&mut out.ready);
        }
    }
}
