//! The journal of the map and its checkpoint: what is recorded, and the programs and erases of their area.

use super::*;
use crate::layer::page_map::ftl::repair::Defect;
use crate::layer::page_map::metadata::Metadata;
use crate::map::Store;
use crate::map_journal::{Change, Content, Header, Step, Wanted};
use crate::medium::program::ProgramUnit;
use crate::medium::{BlockRecord, Medium};

/// Returns the number of a block.
fn block_of(medium: &Medium) -> impl Fn(Ppn) -> u32 {
    let geometry = medium.geometry;
    move |ppn| geometry.block_of(ppn).0
}

/// Returns the open blocks, and those of programs under way, but for those of the area.
fn blocks_in_use(space: &Space, medium: &Medium) -> Vec<u32> {
    let open = space.open_blocks().map(|open| open.block);
    let programs = medium.programs.iter().filter(|program| !program.is_empty());
    let written = programs.map(|program| medium.geometry.block_of(program.first));
    open.chain(written).filter(|block| !medium.block(*block).is(BlockState::Area)).map(|block| block.0).collect()
}

impl Ftl {
    /// Takes the blocks of the journal's area out of the free ones of an empty drive.
    pub(super) fn withhold_area(&mut self) {
        let State { journal: Some(journal), store, space, .. } = &mut self.state else { return };
        journal.area_blocks().for_each(|block| store.medium.begin_area(block));
        space.withhold(&store.medium, &*self.derived.wear_rule);
    }

    /// Lays the checkpoint down with which a drive begins, and keeps what is written from then on if power may be lost
    /// without warning.
    pub(super) fn begin_journal(&mut self) -> std::io::Result<()> {
        let State { journal: Some(journal), store, space, metadata, .. } = &mut self.state else { return Ok(()) };
        journal.lay_down(&mut store.medium, self.derived.old_mode);
        if let (Some(metadata), None) = (metadata, &journal.content) {
            let programmed = |block: u32| (block, u32::from(store.medium.block(BlockId(block)).programmed));
            let recorded = blocks_in_use(space, &store.medium).into_iter().map(programmed).collect();
            let header = Header { last: metadata.last(), recorded };
            let dies = store.medium.geometry.die_count as usize;
            let content = Content::new(store.places.entries(), journal.page_entries, dies, header)?;
            journal.content = Some(Box::new(content));
        }
        Ok(())
    }

    /// Returns true if a program of the journal's area can be made now.
    #[inline]
    pub(super) fn may_write_journal(&self) -> bool {
        self.state.journal.as_ref().is_some_and(|journal| journal.is_due())
    }

    /// Wakes an idle die for a program of the journal's area.
    pub(super) fn wake_for_journal(&mut self, ready: &mut ReadyDies) {
        let (State { journal, writes, store, space, .. }, critical) = (&mut self.state, self.derived.critical);
        if let Some(journal) = journal.as_ref().filter(|journal| journal.is_due()) {
            let medium = &store.medium;
            let has_block = |die: DieId| space.free_blocks(die) > critical || medium.spare_blocks(die) > 0;
            let may_take = |die: DieId| journal.missing(die) > 0 && has_block(die);
            writes.idle.wake_fitting(|die| journal.step(die, medium).is_some() || may_take(die), ready);
        }
    }

    /// Takes blocks of the area that have failed and hold nothing that is needed out of use, and gives it others in
    /// their place: spare blocks of the die, or free ones that the die does not need for its collection.
    #[cold]
    fn mend_area(&mut self, die: DieId, now: SimTime, out: &mut Outbox) {
        while let Some(block) = self.state.journal.as_mut().and_then(|journal| journal.drop_bad(die)) {
            self.state.store.medium.retire_area(block);
            out.journal.note(|| Record::Retired { block });
        }
        while self.state.journal.as_ref().is_some_and(|journal| journal.missing(die) > 0) {
            let spare = self.state.store.medium.take_spare(die);
            self.state.repairs.health.spares_used += u64::from(spare.is_some());
            let Some(block) = spare.or_else(|| self.free_for_area(die)) else { break };
            let State { journal: Some(journal), store, .. } = &mut self.state else { return };
            store.medium.begin_area(block);
            store.medium.blocks.update(block, |record| *record = BlockRecord::new(BlockState::Area, self.derived.old_mode.0));
            journal.take(die, block);
            self.update_no_space(now, out);
        }
    }

    /// Returns true if a die has a block that the area may take.
    fn has_block_for_area(&self, die: DieId) -> bool {
        self.state.space.free_blocks(die) > self.derived.critical || self.state.store.medium.spare_blocks(die) > 0
    }

    /// Takes a free block of a die that it does not need for its collection, and that is erased deeply enough.
    fn free_for_area(&mut self, die: DieId) -> Option<BlockId> {
        let State { space, .. } = &mut self.state;
        if space.free_blocks(die) <= self.derived.critical {
            return None;
        }
        let deepest = self.derived.parameters.facts.write_levels[self.derived.old_mode.index()];
        let block = (0..=deepest).find_map(|level| space.take_for_lazy_erase(die, level))?;
        space.count_out(die);
        Some(block)
    }

    /// Handles the failure of a program of the area: it is repeated, and its block takes nothing more.
    #[cold]
    pub(super) fn area_program_failed(&mut self, operation: &Operation, out: &mut Outbox) {
        let (die, geometry) = (operation.die, self.state.store.medium.geometry);
        let block = geometry.block_of(operation.first);
        self.state.store.medium.programs[die.index()] = ProgramUnit::new(geometry.units_per_program);
        let is_lost = self.is_lost(die);
        let State { journal: Some(journal), store, repairs, .. } = &mut self.state else { return };
        if !is_lost {
            store.medium.mark_bad(block);
        }
        let is_journal = journal.program_failed(die);
        if let (false, Some(content)) = (is_journal, &mut journal.content) {
            content.pages_failed(die.index());
        }
        if repairs.has(Defect::AreaProgramForgotten) {
            journal.forget_repeat();
        }
        self.note_too_small();
        out.ready.mark(die);
        self.wake_for_journal(&mut out.ready);
    }

    /// Lets the journal go on without a die that is lost.
    pub(super) fn journal_loses_die(&mut self, die: DieId, ready: &mut ReadyDies) {
        if let Some(journal) = &mut self.state.journal {
            journal.lose_die(die);
            self.wake_for_journal(ready);
        }
    }

    /// Returns the slot of a die's next operation in the journal's area, if one is due and the die has room for it.
    #[inline(never)]
    pub(super) fn write_journal(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        if self.state.journal.as_ref().is_some_and(|journal| journal.is_to_be_mended(die)) {
            self.mend_area(die, now, out);
        }
        let State { journal, store, .. } = &mut self.state;
        let journal = journal.as_mut().filter(|journal| journal.is_due())?;
        let place = match journal.step(die, &store.medium)? {
            Step::Program(place) => place,
            Step::Erase(block) => {
                journal.erase_begins(die);
                let erase = store.medium.erase_of(block, Reason::Journal);
                return Some(out.operations.add(Operation { owner: Owner::Journal, ..erase }));
            }
        };
        if !self.may_bind() {
            return None;
        }
        let mode = self.derived.old_mode;
        self.begin_program(die, place, mode, Reason::Journal);
        let Wanted { units, pages, is_repeated } = self.state.journal.as_mut()?.begin(die);
        // A program of the journal is repeated with what it has.
        if pages.is_some() || !is_repeated {
            self.fill_journal(die, pages);
        }
        let per_program = self.state.store.medium.geometry.units_per_program;
        self.state.store.pad(place, per_program);
        let program = &mut self.state.store.medium.programs[die.index()];
        program.bind_moved(units);
        program.encode = if self.derived.parameters.facts.codes[mode.index()] != 0 { units } else { 0 };
        out.journal.note(|| Record::JournalBound { first: place, units });
        let slot = self.finish_program(die, 0, units, now, out);
        self.wake_for_journal(&mut out.ready);
        Some(slot)
    }

    /// Takes note of what a program of the journal's area holds; `pages`: those of the map.
    fn fill_journal(&mut self, die: DieId, pages: Option<(u32, u32)>) {
        let State { journal: Some(journal), store: Store { medium, .. }, space, metadata, .. } = &mut self.state else { return };
        let (number, taken) = (journal.journals() + 1, journal.taken());
        let (Some(content), Some(metadata)) = (&mut journal.content, metadata) else { return };
        match pages {
            Some(pages) => content.begin_pages(die.index(), pages, number - 1),
            None => {
                let open = blocks_in_use(space, medium).into_iter();
                let programmed = |block: u32| u32::from(medium.block(BlockId(block)).programmed);
                content.begin_journal((number, taken, metadata.last()), open, programmed, block_of(medium));
            }
        }
    }

    /// Handles the end of a program of `bound` units: one of the journal's area, or one of data, which is recorded.
    pub(super) fn note_programmed(&mut self, operation: &Operation, bound: usize, now: SimTime, out: &mut Outbox) {
        let die = operation.die;
        let Some(journal) = &mut self.state.journal else { return };
        match journal.is_done(die) {
            Some(true) => self.journal_done(now, out),
            Some(false) => {
                if let Some(content) = &mut journal.content {
                    content.pages_done(die.index());
                }
                journal.pages_done();
            }
            None => {
                // Parity changes nothing in the map: it needs no entry.
                journal.append(if operation.reason == Reason::Parity { 0 } else { bound as u64 });
                self.record_program(operation.first);
            }
        }
        self.wake_for_journal(&mut out.ready);
    }

    /// Handles the end of a program of the journal: what waited for it goes on.
    fn journal_done(&mut self, now: SimTime, out: &mut Outbox) {
        let Some(journal) = &mut self.state.journal else { return };
        if let Some(content) = &mut journal.content {
            content.journal_done();
        }
        let released = journal.journal_done();
        released.pins.into_iter().for_each(|ppn| self.unpin(ppn, &mut out.ready));
        released.slots.into_iter().for_each(|slot| self.leave_buffer(slot, now, out));
        for (command, since) in released.flushes {
            let mut ledger = Ledger::default();
            ledger.charge(Cause::Order, now.since(since));
            out.handoff.parts.push(Part { command, ledger, units: 0, is_lost: false });
        }
    }

    /// Records a program of data that has completed, if power may be lost without warning.
    fn record_program(&mut self, first: Ppn) {
        let State { journal, store, metadata, .. } = &mut self.state;
        let (Some(journal), Some(metadata)) = (journal, metadata) else { return };
        let end = journal.appended();
        let Some(content) = &mut journal.content else { return };
        let number = metadata.number(first);
        let places = (first.0..first.0 + store.medium.geometry.units_per_program).map(Ppn);
        let units = places.filter_map(|ppn| Some((store.places.entered_unit(ppn)?, encode(ppn), number)));
        let units = units.filter(|&(lpn, _, number)| is_current(content, metadata, lpn, number)).collect();
        content.append(Change::Programmed(first, units), end, metadata.last());
    }

    /// Records a trim of units, all of which were mapped.
    pub(super) fn record_trim(&mut self, units: Vec<Lpn>, out: &mut Outbox) {
        let State { journal: Some(journal), metadata, .. } = &mut self.state else { return };
        journal.append_trim();
        let end = journal.appended();
        if let (Some(content), Some(metadata)) = (&mut journal.content, metadata) {
            content.append(Change::Trimmed(metadata.last() + 1, units), end, metadata.last());
        }
        self.wake_for_journal(&mut out.ready);
    }

    /// Has the entries of all trims so far written: a block that holds trimmed data is to be erased.
    #[cold]
    pub(super) fn hurry_journal(&mut self, ready: &mut ReadyDies) {
        let Some(journal) = &mut self.state.journal else { return };
        if let Some(last) = journal.pinned_until() {
            journal.ask(last);
            self.wake_for_journal(ready);
        }
    }

    /// Lets a flush wait until all trims so far are recorded on flash; its part is in the handoff then. Returns false
    /// if it need not wait.
    pub fn flush_journal(&mut self, command: CommandId, now: SimTime, ready: &mut ReadyDies) -> bool {
        let waits = self.state.journal.as_mut().is_some_and(|journal| journal.flush(command, now));
        if waits {
            self.wake_for_journal(ready);
        }
        waits
    }

    /// Returns true if the drive has a journal of its map.
    #[inline]
    pub fn has_journal(&self) -> bool {
        self.state.journal.is_some()
    }

    /// Handles the end of the erase of a block of the journal's area: it is written next, or taken out of use if the
    /// erase has failed, or if it is worn out and the die has another one in its place.
    pub(super) fn area_erased(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        let medium = &mut self.state.store.medium;
        let worn = medium.wear_thousandths(medium.geometry.block_of(operation.first));
        let wear = self.derived.parameters.wear_of_erase(operation.mode, worn);
        medium.area_erased(ended, operation, wear, out);
        let (die, block, has_failed) = (operation.die, medium.geometry.block_of(operation.first), Ftl::has_failed(ended));
        let is_retired = has_failed || self.is_worn_out(block) && self.has_block_for_area(die) && self.can_spare(die);
        if is_retired {
            self.state.store.medium.retire_area(block);
            self.state.repairs.health.erase_failures += u64::from(has_failed);
        }
        if let Some(journal) = &mut self.state.journal {
            if is_retired { journal.drop_erased(die) } else { journal.erased(die) }
        }
        if has_failed {
            self.note_too_small();
        }
        if is_retired {
            self.update_no_space(now, out);
            out.ready.mark(die);
        }
        self.wake_for_journal(&mut out.ready);
    }
}

/// Returns true if data of a unit that a program with this number wrote is newer than what is recorded of the unit.
/// Programs may end in another order than they began.
pub(crate) fn is_current(content: &Content, metadata: &Metadata, lpn: Lpn, number: u64) -> bool {
    let known = match content.entry(lpn) {
        0 | crate::map::UNMAPPED => 0,
        code => metadata.number(Ppn(code - 1)),
    };
    number >= known && metadata.is_kept(lpn, number)
}
