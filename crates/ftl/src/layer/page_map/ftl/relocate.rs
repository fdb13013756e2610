//! Relocation: choosing victim blocks, reading and moving their data, and erasing them.

use super::parity::Taking;
use super::*;
use crate::policy::WriteAnswer;

impl Ftl {
    /// Returns the first stream of data relocated in a mode: the first host stream if that is shared with relocations.
    #[inline]
    pub(crate) fn relocation_stream(&self, mode: ModeId) -> usize {
        let apart = self.derived.needs.keeps_relocations_apart(self.derived.config.separate_relocations) || mode.0 != 0;
        let own = mode.index() * self.derived.needs.relocation_frontiers();
        if apart { usize::from(self.derived.needs.host_streams) + own } else { 0 }
    }

    /// Returns the stream of a unit that is relocated in a mode, of which the policy has chosen stream `chosen`: map
    /// data stays in blocks of its own.
    #[inline]
    fn stream_of_moved(&self, from: Ppn, mode: ModeId, chosen: u8) -> usize {
        if self.is_of_map(self.state.store.lpn_at(from)) {
            self.map_stream()
        } else {
            self.relocation_stream(mode) + usize::from(chosen)
        }
    }

    /// Returns how many of the leading gathered units are to be programmed together: all of them, or, where the policy
    /// splits relocated data, those of one answer, which are brought to the front. `exhausted`: no more will be
    /// gathered.
    #[inline]
    fn together(&mut self, die: DieId, exhausted: bool) -> usize {
        let collector = &mut self.state.collectors[die.index()];
        if !self.derived.needs.splits_relocations() {
            return collector.gathered.len();
        }
        collector.group(self.state.store.medium.geometry.units_per_program as usize, exhausted)
    }

    /// Asks the policy for the mode and the stream of each unit that was gathered last, where it splits relocated data.
    pub(super) fn split_gathered(&mut self, die: DieId, now: SimTime, signals: &Signals) {
        for index in self.state.collectors[die.index()].answers.len()..self.state.collectors[die.index()].gathered.len() {
            let from = self.state.collectors[die.index()].gathered[index];
            let careful = WriteAnswer { mode: self.derived.old_mode, stream: 0 };
            let answer = self.relocation_answer(die, &[from], now, signals).unwrap_or(careful);
            self.state.collectors[die.index()].answers.push(answer);
        }
    }

    /// Returns the slot of the next operation of this die's collection. `for_space`: if no block is being emptied, a
    /// victim may be chosen to gain space.
    pub(super) fn collect(&mut self, die: DieId, for_space: bool, now: SimTime, out: &mut Outbox) -> Option<u32> {
        if self.state.rain.is_some()
            && let Some(erase) = self.erase_member(die, now, out)
        {
            return Some(erase);
        }
        if self.state.collectors[die.index()].victim.is_none() {
            let has_begun = self.begin_collection(die, for_space, now, &out.signals);
            self.wake_for_sets(out);
            // It may have closed open blocks.
            self.update_no_space(now, out);
            if !has_begun {
                return self.program_parity(die, now, out);
            }
        }
        let units_per_program = self.state.store.medium.geometry.units_per_program as usize;
        let victim = self.state.collectors[die.index()].victim?;
        // Units that are being encoded, or corrected after a read: the die is free meanwhile.
        if self.state.collectors[die.index()].encoding.is_some() || self.state.collectors[die.index()].reading {
            return None;
        }
        let end = Ppn(self.state.store.medium.geometry.first_of(victim).0 + self.state.store.medium.geometry.units_per_block);
        loop {
            let next = self.state.store.medium.next_valid(self.state.collectors[die.index()].cursor, end);
            let exhausted = next.is_none();
            let together = self.together(die, exhausted);
            if together >= units_per_program || exhausted && together > 0 {
                self.drop_overwritten(die);
                let together = self.together(die, exhausted);
                if together >= units_per_program || exhausted && together > 0 {
                    return self.program_gathered(die, together.min(units_per_program), now, out);
                }
                continue;
            }
            if let Some(first) = next {
                return Some(self.read_row(die, first, end, now, out));
            }
            let erase = self.erase_if_ready(die, victim, now, out);
            if erase.is_some() || self.state.rain.is_none() || self.state.collectors[die.index()].victim.is_some() {
                return erase;
            }
            // A block of a set has been emptied, and is not erased yet: the die may empty the next.
            return self.collect(die, for_space, now, out);
        }
    }

    /// Begins to empty a block: one whose relocation was requested, or, for space, the choice of the victim rule or the
    /// policy. Returns false if there is none.
    pub(super) fn begin_collection(&mut self, die: DieId, for_space: bool, now: SimTime, signals: &Signals) -> bool {
        let mut later = Vec::new();
        let mut found = None;
        while let Some(request) = self.state.collectors[die.index()].next_request() {
            let block = request.block;
            if self.state.store.medium.erase_count(block) != request.erase_count {
                continue;
            }
            if self.state.store.medium.block(block).state() == BlockState::Open && !self.holds_parity(block) {
                self.state.space.close(&mut self.state.store.medium, die, block);
            }
            match self.take_of_set(die, &request) {
                Taking::Later => later.push(request),
                Taking::Now
                    if matches!(self.state.store.medium.block(block).state(), BlockState::Closed | BlockState::Sealed) =>
                {
                    found = Some(request);
                    break;
                }
                Taking::Now | Taking::Never => {}
            }
        }
        self.state.collectors[die.index()].urgent = false;
        later.into_iter().for_each(|request| self.state.collectors[die.index()].want(request));
        if let Some(RelocationRequest { block, reason, urgent, .. }) = found {
            self.begin_taken(die, &self.collection_of(block, reason, false), urgent, now, signals);
            return true;
        }
        if !for_space || self.empties_set(die) {
            return false;
        }
        let Some(block) = self.choose_victim(die, now, signals) else {
            if self.collect_lost(die) {
                return self.begin_collection(die, false, now, signals);
            }
            self.hurry_group(die);
            return false;
        };
        let Some(block) = self.begin_set(die, block) else {
            // Its own part may be among the requests now.
            return self.begin_collection(die, false, now, signals);
        };
        self.state.counters.collections += 1;
        let background = self.state.collectors[die.index()].in_background && signals.queued_write_pages == 0;
        self.begin_taken(die, &self.collection_of(block, Reason::Gc, background), false, now, signals);
        true
    }

    /// Describes a block that is about to be emptied.
    pub(crate) fn collection_of(&self, block: BlockId, reason: Reason, background: bool) -> Collection {
        Collection { block, reason, background, valid: u32::from(self.state.store.medium.block(block).valid) }
    }

    fn begin_taken(&mut self, die: DieId, taken: &Collection, urgent: bool, now: SimTime, signals: &Signals) {
        self.take_victim(die, taken, urgent);
        self.call_policy(now, signals, |policy, view| policy.collecting(taken, view));
    }

    pub(crate) fn take_victim(&mut self, die: DieId, taken: &Collection, urgent: bool) {
        self.state.store.medium.take_victim(taken.block);
        self.state.collectors[die.index()].begin(taken, self.state.store.medium.geometry.first_of(taken.block), urgent);
    }

    pub(super) fn choose_victim(&mut self, die: DieId, now: SimTime, signals: &Signals) -> Option<BlockId> {
        let mode_count = self.derived.parameters.facts.write_modes.len() as u8;
        let rated_pe_cycles = self.derived.parameters.rated_pe_cycles;
        if !self.derived.needs.scores {
            let rain = self.state.rain.as_deref();
            let mut candidates = Candidates {
                medium: &self.state.store.medium,
                die,
                now,
                mode_count,
                rated_pe_cycles,
                rng: &mut self.state.rng,
                rain,
            };
            return self.derived.victim.choose(&mut candidates);
        }
        let best = (0..mode_count).map(ModeId).filter_map(|mode| {
            self.state.store.medium.min_valid(die, mode).map(|(block, valid)| (block, u32::from(valid), mode))
        });
        let candidates: Vec<Candidate> = best
            .filter(|(_, valid, _)| *valid <= self.state.store.medium.max_valid_to_collect())
            .map(|(block, valid, mode)| Candidate { block, valid, invalid: self.state.store.medium.units_in(mode) - valid, mode })
            .collect();
        let mut scored: Vec<(f64, BlockId)> = candidates
            .iter()
            .map(|candidate| (self.call_policy(now, signals, |policy, view| policy.score(candidate, view)), candidate.block))
            .collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let rain = self.state.rain.as_deref();
        let mut candidates = Candidates {
            medium: &self.state.store.medium,
            die,
            now,
            mode_count,
            rated_pe_cycles,
            rng: &mut self.state.rng,
            rain,
        };
        let victim = &mut self.derived.victim;
        let taken = scored.iter().find(|(_, block)| !victim.is_passed_over(*block, &mut candidates)).or(scored.first());
        taken.map(|(_, block)| *block)
    }

    /// Returns the slot of a read of all valid units in the row of `first`, the next valid unit of the victim, whose
    /// places end at `end`; or of the copyback of one page within its plane.
    #[inline(always)]
    pub(super) fn read_row(&mut self, die: DieId, first: Ppn, end: Ppn, now: SimTime, out: &mut Outbox) -> u32 {
        let geometry = self.state.store.medium.geometry;
        if first >= self.state.collectors[die.index()].prefetched_until {
            let (until, loaded) = self.state.store.look_ahead_moves(&self.state.bits, first, end);
            self.state.collectors[die.index()].prefetched_until = until;
            self.scratch.sink ^= loaded;
        }
        let (block, unit) = geometry.split(first);
        let row_units = geometry.units_per_page * geometry.shape.planes_per_program;
        let row_end = Ppn(geometry.first_of(block).0 + (geometry.row_of(unit) + 1) * row_units);
        if self.derived.parameters.copyback
            && row_units == 1
            && geometry.units_per_program == 1
            && let Some(operation) = self.copy_back(die, first, now, out)
        {
            return operation;
        }
        let (mut units, mut planes) = (0, 0u64);
        let mut mode = self.derived.read_modes[usize::from(self.state.store.medium.block(block).mode())];
        let mut next = Some(first);
        let reason = self.state.collectors[die.index()].reason;
        while let Some(ppn) = next {
            let (_, unit) = geometry.split(ppn);
            planes |= 1 << (geometry.page_of(unit) % geometry.shape.planes_per_program);
            units += 1;
            self.state.store.medium.pin(ppn);
            self.state.collectors[die.index()].in_read.push(ppn);
            if self.derived.needs.page_scope {
                let of_page = self.read_mode(&UnitRead { lpn: self.state.store.lpn_at(ppn), ppn, reason }, now, &out.signals);
                mode = self.slower(mode, of_page);
            }
            next = self.state.store.medium.next_valid(Ppn(ppn.0 + 1), row_end);
        }
        let collector = &mut self.state.collectors[die.index()];
        collector.cursor = row_end;
        collector.reading = true;
        out.operations.add(Operation {
            kind: OperationKind::Read,
            reason,
            die,
            first,
            units,
            pages: planes.count_ones(),
            page_type: geometry.page_type_of(unit),
            mode,
            encode: 0,
            skipped: 0,
            owner: Owner::Collector,
        })
    }

    /// Returns the slot of the copyback of one page, if the relocation frontier is in the same plane and the data needs
    /// no new code.
    pub(super) fn copy_back(&mut self, die: DieId, from: Ppn, now: SimTime, out: &mut Outbox) -> Option<u32> {
        let reason = self.state.collectors[die.index()].reason;
        let answer = self.relocation_answer(die, &[from], now, &out.signals)?;
        let written_in = self.granted(answer.mode);
        let geometry = self.state.store.medium.geometry;
        let group = geometry.group_of(geometry.block_of(from));
        if self.lacks_code(geometry.block_of(from), written_in) {
            return None;
        }
        let mode = self.block_mode(written_in);
        let stream = self.stream_of_moved(from, mode, answer.stream);
        let target = Target { die, stream, mode, class: AllocationClass::Relocation, plane: Some(group), level: 0 };
        let frontier = self
            .state
            .space
            .frontier(die, target.stream, group)
            .filter(|&block| self.state.store.medium.block(block).mode() == mode.0)?;
        if geometry.group_of(frontier) != group {
            return None;
        }
        if let Some(copy) = self.copy_first(&target, now, out) {
            return copy;
        }
        let place = self.state.space.advance(&mut self.state.store.medium, &target, 1, now)?;
        self.state.collectors[die.index()].cursor = Ppn(from.0 + 1);
        self.begin_program(die, place, written_in, reason);
        self.state.retention.note_moved(&self.state.store.medium, geometry.block_of(from), now);
        self.bind_moved(die, from, place, now, out);
        self.state.counters.retention_refusals += u64::from(written_in != answer.mode);
        let slot = self.finish_program(die, target.stream, 1, now, out);
        let (_, unit) = geometry.split(from);
        let operation = &mut out.operations[slot];
        operation.kind = OperationKind::Copyback;
        operation.page_type = geometry.page_type_of(unit);
        Some(slot)
    }

    /// Drops gathered units that the host has overwritten or trimmed since they were read.
    pub(super) fn drop_overwritten(&mut self, die: DieId) {
        let store = &self.state.store;
        let Collector { gathered, encoded, answers, .. } = &mut self.state.collectors[die.index()];
        let before = gathered.len();
        *encoded = gathered[..*encoded].iter().filter(|ppn| store.medium.is_valid(**ppn)).count();
        if !answers.is_empty() {
            let mut known = gathered.iter();
            answers.retain(|_| known.next().is_some_and(|ppn| store.medium.is_valid(*ppn)));
        }
        gathered.retain(|ppn| store.medium.is_valid(*ppn));
        self.state.counters.relocation_skipped += (before - gathered.len()) as u64;
    }

    /// Binds the first `count` gathered units to one program on this die. Returns its slot, or that of a lazy erase
    /// that must precede it; `None` while the units have to be encoded first.
    pub(super) fn program_gathered(&mut self, die: DieId, count: usize, now: SimTime, out: &mut Outbox) -> Option<u32> {
        if !self.may_bind_gathered(die) {
            return None;
        }
        let reason = self.state.collectors[die.index()].reason;
        let units_per_program = self.state.store.medium.geometry.units_per_program;
        let answer = self.answer_of_gathered(die, count, now, &out.signals)?;
        let (wanted, count) = (self.granted(answer.mode), count as u32);
        if self.submit_for_encoding(die, wanted, count, &mut out.handoff) {
            return None;
        }
        let mode = self.block_mode(wanted);
        // If planes take turns, data stays in the planes of its victim, as copyback requires.
        let plane = self.state.collectors[die.index()].victim.map(|victim| self.state.store.medium.geometry.group_of(victim));
        let stream = self.stream_of_moved(self.state.collectors[die.index()].gathered[0], mode, answer.stream);
        let mut target = Target { die, stream, mode, class: self.class_of_moved(die), plane, level: 0 };
        if self.state.space.levels() > 1
            && let Some(lazy_erase) = self.choose_level(&mut target, wanted, now, out)
        {
            return Some(lazy_erase);
        }
        if let Some(copy) = self.copy_first(&target, now, out) {
            return copy;
        }
        let (place, written_in) = match self.state.space.advance(&mut self.state.store.medium, &target, units_per_program, now) {
            Some(place) => (place, wanted),
            // The last free block was opened in another mode, or by another stream: the space left in it holds
            // everything that this collection moves.
            None => {
                let first = self.relocation_stream(mode);
                let open = self.state.space.any_open(die, first..first + self.derived.needs.relocation_frontiers());
                let Some((stream, block)) = open else { return self.move_later(die, out) };
                let mode = ModeId(self.state.store.medium.block(block).mode());
                let plane = Some(self.state.store.medium.geometry.group_of(block));
                target = Target { stream, mode, plane, ..target };
                if let Some(copy) = self.copy_first(&target, now, out) {
                    return copy;
                }
                let place = self.state.space.advance(&mut self.state.store.medium, &target, units_per_program, now);
                let Some(place) = place else { return self.move_later(die, out) };
                (place, if self.derived.needs.page_scope { wanted } else { mode })
            }
        };
        self.begin_program(die, place, written_in, reason);
        if let Some(victim) = self.state.collectors[die.index()].victim {
            self.state.retention.note_moved(&self.state.store.medium, victim, now);
        }
        for index in 0..count {
            let from = self.state.collectors[die.index()].gathered[index as usize];
            self.bind_moved(die, from, Ppn(place.0 + index), now, out);
        }
        self.state.collectors[die.index()].programs(count as usize);
        // Counted here because the program may have been put off before.
        self.state.counters.retention_refusals += if wanted != answer.mode { u64::from(count) } else { 0 };
        self.state.counters.units_apart += if answer.stream > 0 { u64::from(count) } else { 0 };
        // The units have been encoded for `wanted` if that was necessary. If the block has a mode with another code,
        // the die waits for the encoder.
        let code = |mode: ModeId| self.derived.parameters.facts.codes[mode.index()];
        if code(written_in) == code(wanted) {
            self.state.store.medium.programs[die.index()].encode = 0;
        }
        Some(self.finish_program(die, target.stream, count, now, out))
    }

    /// Handles a lack of room for what a collection has gathered.
    #[cold]
    fn move_later(&mut self, die: DieId, out: &mut Outbox) -> Option<u32> {
        if self.give_up_alone(die) { None } else { self.leave_to_others(die, out) }
    }

    /// Returns true if data of a block has to be encoded before it is written in a mode, because that mode has another
    /// code.
    fn lacks_code(&self, block: BlockId, mode: ModeId) -> bool {
        let code = |mode: ModeId| self.derived.parameters.facts.codes[mode.index()];
        code(mode) != 0 && code(mode) != code(ModeId(self.state.store.medium.block(block).mode()))
    }

    /// Returns true if the first `count` gathered units must pass an encoder before they can be programmed in a mode,
    /// and submits to it those that it has not encoded yet. The die remains free for other work: a code that takes time
    /// does not delay host writes (slide *Retention-Aware Architecture*).
    fn submit_for_encoding(&mut self, die: DieId, mode: ModeId, count: u32, handoff: &mut Handoff) -> bool {
        let Some(victim) = self.state.collectors[die.index()].victim else { return false };
        if self.derived.parameters.facts.encode_times[mode.index()] == Nanos::ZERO || !self.lacks_code(victim, mode) {
            return false;
        }
        let missing =
            self.state.collectors[die.index()].encode(self.derived.parameters.facts.codes[mode.index()], count as usize);
        if missing > 0 {
            handoff.encodings.push(Encoding { die, mode, units: missing as u32 });
        }
        missing > 0
    }

    /// Returns the policy's answer for the first `count` gathered units: the one that it gave as they were gathered, or
    /// the one that it gives now.
    fn answer_of_gathered(&mut self, die: DieId, count: usize, now: SimTime, signals: &Signals) -> Option<WriteAnswer> {
        if self.derived.needs.splits_relocations() {
            return self.state.collectors[die.index()].answers.first().copied();
        }
        let gathered = std::mem::take(&mut self.state.collectors[die.index()].gathered);
        let answer = self.relocation_answer(die, &gathered[..count], now, signals);
        self.state.collectors[die.index()].gathered = gathered;
        answer
    }

    /// Asks the policy for the mode and the stream in which gathered units are moved. Policies know the data of the
    /// user alone: map data is moved in the mode of old data.
    fn relocation_answer(&mut self, die: DieId, gathered: &[Ppn], now: SimTime, signals: &Signals) -> Option<WriteAnswer> {
        let collection = self.state.collectors[die.index()].collection()?;
        if self.state.map_cache.is_some() && gathered.iter().all(|&ppn| self.is_of_map(self.state.store.lpn_at(ppn))) {
            return Some(WriteAnswer { mode: self.derived.old_mode, stream: 0 });
        }
        let splits = self.derived.needs.splits_relocations();
        let mut units = std::mem::take(&mut self.scratch.units);
        units.clear();
        if self.derived.needs.moving || splits {
            units.extend(gathered.iter().map(|&ppn| self.state.store.lpn_at(ppn)).filter(|&lpn| !self.is_of_map(lpn)));
        }
        let moving = Moving { collection, units: &units };
        let answer = self.call_policy(now, signals, |policy, view| match splits {
            true => policy.relocate_to(&moving, view),
            false => WriteAnswer { mode: policy.relocate(&moving, view), stream: 0 },
        });
        self.scratch.units = units;
        Some(answer)
    }

    /// Returns `mode` if data may be moved in it, and the mode of old data otherwise. Data moved must not become due
    /// faster than it can be moved, nor take more blocks than it leaves.
    pub(super) fn granted(&self, mode: ModeId) -> ModeId {
        let most =
            self.state.retention.max_limited_units[mode.index()].min(self.state.retention.max_background_units[mode.index()]);
        let is_owed = self.state.store.medium.valid_by_mode[mode.index()] >= most;
        let refused = is_owed || self.state.store.medium.units_in(mode) < self.state.store.medium.geometry.units_per_block;
        if refused { self.derived.old_mode } else { mode }
    }

    /// Binds a unit that is moved to its new place: the map points there, or, if a newer copy waits in the write
    /// buffer, that copy's reference to the older one. The old place stays pinned until the program completes.
    #[inline]
    pub(in crate::layer::page_map) fn bind_moved(&mut self, die: DieId, from: Ppn, to: Ppn, now: SimTime, out: &mut Outbox) {
        let lpn = self.state.store.lpn_at(from);
        self.state.store.medium.supersede(from);
        self.refer(lpn, from, to);
        if let Some(metadata) = &mut self.state.metadata {
            metadata.moved(from, to);
            if u64::from(lpn.0) >= self.state.store.user_units {
                metadata.page_moved(from, to);
            }
        }
        if self.state.store.medium.integrity.is_some() {
            self.note_move(from, to);
        }
        let (mode, reason) =
            (self.state.store.medium.programs[die.index()].mode, self.state.store.medium.programs[die.index()].reason);
        self.state.store.medium.programs[die.index()].encode +=
            u32::from(self.lacks_code(self.state.store.medium.geometry.block_of(from), mode));
        self.state.store.medium.programs[die.index()].bind(from.0).kind = UnitKind::Moved;
        out.journal.note(|| Record::Relocated { lpn, from, to, reason, mode });
        if self.state.map_cache.is_some() {
            if self.is_of_map(lpn) {
                return;
            }
            self.map_changed(lpn, out);
        }
        if self.derived.needs.placed {
            let placed = Placed { lpn, ppn: to, mode, reason, stream: None, superseded: Some(from) };
            self.call_policy(now, &out.signals, |policy, view| policy.placed(&placed, view));
        }
    }

    /// Lets the map, or, if a newer copy waits in the write buffer, that copy's reference to the older one, name the
    /// place `to` of a unit instead of `from`.
    #[inline(always)]
    pub(super) fn refer(&mut self, lpn: Lpn, from: Ppn, to: Ppn) {
        match decode(self.state.store.code_of(lpn)) {
            Mapped::Slot(slot) => {
                debug_assert_eq!(self.state.writes.queue.units[slot].prior, encode(from));
                self.state.writes.queue.units[slot].prior = encode(to);
            }
            _ => {
                debug_assert_eq!(self.state.store.code_of(lpn), encode(from), "a valid place is the one the map names");
                self.state.store.set_code(lpn, encode(to));
            }
        }
        self.state.store.place(lpn, to);
    }

    /// Returns the slot of the victim's erase once nothing in it is valid or pinned.
    pub(super) fn erase_if_ready(&mut self, die: DieId, victim: BlockId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        let record = self.state.store.medium.block(victim);
        if self.state.collectors[die.index()].reading || record.valid > 0 || record.pins() > 0 {
            if record.pins() > 0 && self.state.journal.is_some() {
                self.hurry_journal(&mut out.ready);
            }
            return None;
        }
        if let Some(set) = self.state.store.medium.set_of(victim) {
            self.member_emptied(set, die, now, out);
            return self.erase_member(die, now, out);
        }
        if self.must_retire(victim) {
            self.retire_bad(die, victim, now, out);
            return None;
        }
        let collection = self.state.collectors[die.index()].collection()?;
        Some(self.erase_victim(&collection, die, now, out))
    }

    /// Returns the slot of the erase of a victim in which nothing is valid or pinned.
    pub(super) fn erase_victim(&mut self, collection: &Collection, die: DieId, now: SimTime, out: &mut Outbox) -> u32 {
        let mode = self.call_policy(now, &out.signals, |policy, view| policy.erase(collection, view));
        let victim = collection.block;
        self.state.store.medium.begin_erase(victim);
        let shape = &self.state.store.medium.geometry.shape;
        out.operations.add(Operation {
            kind: OperationKind::Erase,
            reason: collection.reason,
            die,
            first: self.state.store.medium.geometry.first_of(victim),
            units: 0,
            pages: shape.planes_per_program * shape.superblock,
            page_type: 0,
            mode,
            encode: 0,
            skipped: 0,
            owner: Owner::Collector,
        })
    }

    /// Returns true if the die's victim holds no valid unit, but cannot be erased because it is pinned, usually by host
    /// reads.
    pub fn waits_for_reads(&self, die: DieId) -> bool {
        self.state.collectors[die.index()].victim.is_some_and(|victim| {
            let record = self.state.store.medium.block(victim);
            record.state() == BlockState::Victim && record.valid == 0 && record.pins() > 0
        })
    }

    /// Continues background collection on a die that has been idle long enough, until it has `gc_idle_target_blocks`
    /// free blocks or the host writes to it again.
    pub(super) fn background(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        if !self.state.collectors[die.index()].in_background {
            return None;
        }
        if self.host_is_active(now, &out.signals)
            || self.state.space.free_blocks(die) >= self.derived.config.gc_idle_target_blocks
        {
            self.state.collectors[die.index()].in_background = false;
            return None;
        }
        self.collect(die, true, now, out)
    }
}
