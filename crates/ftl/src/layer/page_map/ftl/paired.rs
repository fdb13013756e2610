//! Paired pages: copies of earlier pages of a wordline before a later one is programmed.

use super::*;
use crate::paired::Copied;

/// Next operation in the blocks of a die that hold copies.
enum Step {
    /// A copy of the program at the first place, to the second.
    Copy(Ppn, Ppn),
    Erase(BlockId),
    /// None: the blocks hold data that is moved.
    Wait,
}

impl Ftl {
    /// Takes the blocks for copies out of the free ones of an empty drive, in the mode of the copies: one with one bit
    /// for each cell, if there is one.
    pub(super) fn withhold_copies(&mut self) {
        let State { paired: Some(paired), store, space, .. } = &mut self.state else { return };
        let geometry = store.medium.geometry;
        let least = geometry.units_per_block / geometry.shape.bits_per_cell;
        let mut modes = (0..self.derived.parameters.facts.write_modes.len() as u8).map(ModeId);
        let mode = modes.find(|mode| store.medium.units_in(*mode) == least).unwrap_or(self.derived.old_mode);
        for &block in paired.rings.iter().flat_map(|ring| &ring.blocks) {
            store.medium.begin_area(block);
            store.medium.blocks.update(block, |record| *record = BlockRecord::new(BlockState::Area, mode.0));
        }
        space.withhold(&store.medium, &*self.derived.wear_rule);
    }

    /// Returns the operation that must precede the next program of a target, if it would endanger current data of
    /// earlier pages that has no copy; inside it, `None` if that operation has to wait.
    #[inline]
    pub(super) fn copy_first(&mut self, target: &Target, now: SimTime, out: &mut Outbox) -> Option<Option<u32>> {
        let copies = self.state.paired.as_ref().is_some_and(|paired| paired.kind == PairedPages::Backup && !paired.is_skipped);
        if copies { self.copy_earlier(target, now, out) } else { None }
    }

    #[cold]
    fn copy_earlier(&mut self, target: &Target, now: SimTime, out: &mut Outbox) -> Option<Option<u32>> {
        let first = self.state.space.next_place(&self.state.store.medium, target)?;
        let State { paired: Some(paired), store: Store { medium, .. }, .. } = &mut self.state else { return None };
        let copies = &mut paired.rings[target.die.index()].copies;
        let is_needed = |copy: &Copied| {
            medium.erase_count(medium.geometry.block_of(copy.source)) == copy.erases && medium.is_endangered(copy.source)
        };
        copies.retain(is_needed);
        let lacks_copy = |source: &Ppn| copies.iter().all(|copy| copy.source != *source);
        let earlier: Vec<Ppn> = medium.earlier_on_wordline(first).filter(lacks_copy).collect();
        let source = earlier.into_iter().find(|source| !self.current_of(*source).is_empty())?;
        if !self.may_bind() {
            return Some(None);
        }
        match self.step_of_copies(target.die, source) {
            Step::Copy(source, to) => Some(Some(self.program_copy(target.die, source, to, now, out))),
            Step::Erase(block) => {
                let erase = self.state.store.medium.erase_of(block, Reason::Backup);
                Some(Some(out.operations.add(Operation { owner: Owner::Journal, ..erase })))
            }
            Step::Wait => Some(None),
        }
    }

    /// Returns the places of a completed program whose data is the newest on flash of its units, with these.
    fn current_of(&self, first: Ppn) -> Vec<(Lpn, Ppn)> {
        let units = self.state.store.medium.geometry.units_per_program;
        let of = |ppn: Ppn| (self.state.store.lpn_at(ppn), ppn);
        let held = (first.0..first.0 + units).map(|ppn| of(Ppn(ppn))).filter(|(lpn, _)| lpn.0 != PADDING);
        held.filter(|&(lpn, ppn)| self.durable_code(self.state.store.code_of(lpn)) == encode(ppn)).collect()
    }

    /// Returns the next operation in the blocks of a die that hold copies, of which one of `source` is needed. One of
    /// the blocks beside the current one is kept empty: copies in use that stand in the way are made again.
    fn step_of_copies(&mut self, die: DieId, source: Ppn) -> Step {
        let State { paired: Some(paired), store: Store { medium, .. }, .. } = &mut self.state else { return Step::Wait };
        let geometry = &medium.geometry;
        let most = geometry.programs_per_block / geometry.shape.bits_per_cell;
        let Ring { blocks, current: index, copies } = &mut paired.rings[die.index()];
        let programmed = |block: BlockId| u32::from(medium.block(block).programmed);
        let empty = |current: BlockId| blocks.iter().position(|&block| block != current && programmed(block) == 0);
        let mut current = blocks[*index];
        if programmed(current) >= most
            && let Some(next) = empty(current)
        {
            *index = next;
            current = blocks[next];
        }
        let may_erase = |block: &&BlockId| {
            let record = medium.block(**block);
            **block != current && record.valid == 0 && record.pins() == 0
        };
        let held = |block: BlockId| copies.iter().filter(|copy| copy.block == block).count();
        let is_room = programmed(current) < most;
        let place = Ppn(geometry.first_of(current).0 + programmed(current) * geometry.units_per_program);
        if empty(current).is_none()
            && let Some(&victim) = blocks.iter().filter(may_erase).min_by_key(|&&block| held(block))
        {
            let Some(in_use) = copies.iter().position(|copy| copy.block == victim) else { return Step::Erase(victim) };
            if is_room {
                return Step::Copy(copies.remove(in_use).source, place);
            }
        }
        if is_room { Step::Copy(source, place) } else { Step::Wait }
    }

    /// Binds the copies of the current data of a program, and returns the slot of their program. The controller has
    /// kept the data \[A\]: nothing is read.
    fn program_copy(&mut self, die: DieId, source: Ppn, to: Ppn, now: SimTime, out: &mut Outbox) -> u32 {
        let units = self.current_of(source);
        let geometry = self.state.store.medium.geometry;
        let (block, unit) = geometry.split(to);
        let mode = ModeId(self.state.store.medium.block(block).mode());
        if unit == 0 {
            self.state.store.medium.note_first_program(block, now);
        }
        self.begin_program(die, to, mode, Reason::Backup);
        if let Some(metadata) = &mut self.state.metadata {
            metadata.copied(source, to);
        }
        let count = units.len() as u32;
        for (place, (lpn, from)) in (to.0..).map(Ppn).zip(units) {
            self.state.store.places.set_unit(place, lpn.0);
            if let Some(metadata) = &mut self.state.metadata {
                metadata.moved(from, place);
            }
            if self.state.store.medium.integrity.is_some() {
                self.note_move(from, place);
            }
            out.journal.note(|| Record::BackedUp { lpn, from, to: place });
        }
        let State { paired: Some(paired), store: Store { medium, .. }, .. } = &mut self.state else { unreachable!("it copies") };
        medium.programs[die.index()].bind_moved(count);
        let copy = Copied { source, erases: medium.erase_count(geometry.block_of(source)), block };
        paired.rings[die.index()].copies.push(copy);
        let slot = self.finish_program(die, 0, count, now, out);
        out.operations[slot].page_type = 0;
        slot
    }

    /// Begins to move data that a recovery has taken from a copy.
    pub(crate) fn begin_copy_move(&mut self, lpn: Lpn, from: Ppn, mode: ModeId, now: SimTime, out: &mut Outbox) {
        let page_move = PageMove { lpn, from, reason: Reason::Backup, mode, deadline: Some(now) };
        self.begin_move(page_move, false, now, out);
    }

    /// Returns true if a loss of power may destroy earlier pages of a wordline.
    pub fn protects_pairs(&self) -> bool {
        self.state.paired.is_some()
    }

    /// Leaves copies of paired pages out, for tests.
    #[doc(hidden)]
    pub fn skip_paired(&mut self) {
        if let Some(paired) = &mut self.state.paired {
            paired.is_skipped = true;
        }
    }
}
