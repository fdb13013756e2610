//! Failures of the flash: what the FTL does when a program or an erase fails, or a die is lost.
//!
//! **A program fails.** Its data is still in the controller. It is bound at once to another block of the die, and
//! programmed there in the die's next turn; if the die has no room for it, the next die that has takes it. The block is
//! *bad*: it is closed, a spare block of the die takes its place, what is left in it is moved for the reason
//! `evacuate`, and it is retired without an erase.
//!
//! **An erase fails.** The block holds nothing any more. It is retired, and a spare block takes its place.
//!
//! **A die is lost.** Every operation on it fails. Nothing new is put there; what it held is lost.
//!
//! **The drive becomes read-only** once the blocks that are left do not suffice for the user's data, the blocks that
//! are kept free and the write frontiers. What it has accepted by then it still writes.

mod defect;

use super::*;
use crate::layer::page_map::endurance::max_streams_per_die;
use crate::medium::program::ProgramUnit;
use kit::Outcome;
use kit::archive::{Archived, MAX_COUNTED, require};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

pub use defect::Defect;

/// Failures that the drive has seen, and what became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// Programs that have failed.
    pub program_failures: u64,
    /// Erases that have failed.
    pub erase_failures: u64,
    /// Blocks that were bad from the factory.
    pub factory_bad: u64,
    /// Spare blocks that have replaced others.
    pub spares_used: u64,
    /// Spare blocks that the drive began with.
    pub spares: u64,
    /// Dies that are lost.
    pub dies_lost: u64,
    /// Units whose current copy was on a die when it was lost.
    pub units_lost: u64,
    /// Reads whose data could not be corrected, and was restored by parity.
    pub reads_restored: u64,
    /// Flash reads that this took.
    pub restoring_reads: u64,
    /// True once the drive refuses writes.
    pub is_read_only: bool,
}

impl Health {
    /// Checks the counts of a saved drive.
    pub(crate) fn check(&self) -> Archived {
        let Health { program_failures, erase_failures, factory_bad, spares_used, spares, dies_lost, units_lost, .. } = *self;
        let counts = [program_failures, erase_failures, factory_bad, spares_used, spares, dies_lost, units_lost];
        let most = counts.into_iter().chain([self.reads_restored, self.restoring_reads]).max().unwrap_or(0);
        require(most <= MAX_COUNTED, || format!("a count of its failures stands at {most}, more than can be counted"))
    }
}

/// Program that is to be repeated in the next turn of its die.
#[derive(Clone, Copy, Debug)]
struct Repeat {
    slot: u32,
    /// Instant at which its units were first bound.
    since: SimTime,
}

/// Programs that have failed, and what the drive has lost.
pub(crate) struct Repairs {
    /// Program that each die is to repeat.
    repeats: Vec<Option<Repeat>>,
    /// Programs that have failed and that no die has had room for, each with the instant at which its units were first
    /// bound. Their blocks are in the state [`BlockState::Failed`].
    unplaced: VecDeque<(ProgramUnit, SimTime)>,
    /// Number of both, and of the lost dies: while it is 0, dies choose freely.
    count: usize,
    lost: Vec<bool>,
    pub health: Health,
    /// Defect that a test has planted.
    defect: Option<Defect>,
}

impl Repairs {
    pub fn new(dies: usize) -> Repairs {
        Repairs {
            repeats: vec![None; dies],
            unplaced: VecDeque::new(),
            count: 0,
            lost: vec![false; dies],
            health: Health::default(),
            defect: None,
        }
    }

    /// Returns the defect that a test has planted.
    pub fn defect(&self) -> Option<Defect> {
        self.defect
    }

    /// Returns true if a defect is planted.
    pub fn has(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }

    /// Returns true if there is nothing to repeat, and no die is lost.
    #[inline]
    pub fn are_none(&self) -> bool {
        self.count == 0
    }

    /// Returns true if a program or an erase has failed.
    pub fn has_failures(&self) -> bool {
        self.health.program_failures + self.health.erase_failures > 0
    }

    /// Returns true if no program waits to be repeated.
    pub fn are_done(&self) -> bool {
        self.unplaced.is_empty() && self.repeats.iter().all(Option::is_none)
    }

    /// Returns true if a die is lost.
    pub fn is_lost(&self, die: DieId) -> bool {
        self.lost[die.index()]
    }

    /// Returns the lost dies and the failures, for saving.
    pub fn image(&self) -> (Vec<bool>, Health) {
        (self.lost.clone(), self.health.clone())
    }

    /// Goes on with the lost dies and the failures of a saved drive at rest.
    pub fn restore(&mut self, (lost, health): (Vec<bool>, Health)) {
        self.count = lost.iter().filter(|lost| **lost).count();
        (self.lost, self.health) = (lost, health);
    }

    /// Returns the failed programs that no die has had room for.
    pub fn unplaced(&self) -> impl Iterator<Item = &ProgramUnit> {
        self.unplaced.iter().map(|(program, _)| program)
    }
}

impl Ftl {
    /// Takes bad blocks of an empty drive out of use, and keeps `spares` blocks of each die to replace others, as far
    /// as they are not needed to replace bad ones.
    pub(crate) fn begin_with_bad_blocks(&mut self, bad: &[BlockId], spares: u32) {
        let medium = &mut self.state.store.medium;
        bad.iter().for_each(|&block| medium.begin_bad(block));
        let mut kept = 0;
        for die in (0..medium.geometry.die_count).map(DieId) {
            let left = spares.saturating_sub(medium.retired_blocks(die));
            let free = |block: &BlockId| medium.block(*block).state() == BlockState::Free;
            let last = medium.geometry.blocks_of(die).rev().map(BlockId).filter(free).take(left as usize);
            let last: Vec<BlockId> = last.collect();
            last.iter().for_each(|&block| medium.begin_spare(block));
            kept += last.len() as u64;
        }
        self.state.space.withhold(medium, &*self.derived.wear_rule);
        let health = &mut self.state.repairs.health;
        (health.factory_bad, health.spares) = (bad.len() as u64, kept);
    }

    /// Plants a defect in the handling of faults, for tests.
    #[doc(hidden)]
    pub fn plant(&mut self, defect: Defect) {
        self.state.repairs.defect = Some(defect);
    }

    /// Returns the failures that the drive has seen.
    pub fn health(&self) -> &Health {
        &self.state.repairs.health
    }

    /// Refuses writes from now on.
    pub fn become_read_only(&mut self) {
        self.state.repairs.health.is_read_only = true;
    }

    /// Returns true if a die is lost.
    pub fn is_lost(&self, die: DieId) -> bool {
        self.state.repairs.is_lost(die)
    }

    /// Handles the failure of a program: its units are bound to other places, and its block is bad.
    #[cold]
    pub(super) fn program_failed(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        let die = operation.die;
        let geometry = self.state.store.medium.geometry;
        let block = geometry.block_of(operation.first);
        self.state.repairs.health.program_failures += 1;
        out.journal.note(|| Record::ProgramFailed { block, first: operation.first, count: geometry.units_per_program });
        if self.state.store.medium.block(block).is(BlockState::Area) {
            return self.area_program_failed(operation, out);
        }
        if self.state.store.medium.block(block).state() == BlockState::Open {
            self.state.space.abandon(die, block);
        }
        self.state.store.medium.fail(block);
        self.replace_block(die);
        let program = &mut self.state.store.medium.programs[die.index()];
        let mut program = std::mem::replace(program, ProgramUnit::new(geometry.units_per_program));
        if let Some(set) = self.state.store.medium.set_of(block) {
            self.hurry(set);
            if self.state.space.is_parity(program.frontier) {
                return self.parity_failed(set, block, now, out);
            }
        }
        let spent = out.operations.account(ended.slot).ledger().total() + std::mem::take(&mut program.failed_for);
        let since = SimTime(now.0 - spent.0);
        self.state.repairs.unplaced.push_back((program, since));
        self.state.repairs.count += 1;
        let is_taken = self.take_in(die, now, out);
        if !is_taken && self.state.repairs.has(Defect::ProgramForgotten) {
            self.state.repairs.unplaced.pop_back();
            self.state.repairs.count -= 1;
        }
        if is_taken {
            out.ready.mark(die);
        } else {
            out.ready.mark_all();
        }
        self.wake_for_sets(out);
        self.update_no_space(now, out);
    }

    /// Replaces a block that has failed, and refuses writes from now on if the blocks that are left do not suffice.
    fn replace_block(&mut self, die: DieId) {
        self.take_spare_block(die);
        self.note_too_small();
    }

    /// Gives a die a spare block for one that it has lost, if it has one.
    pub(in crate::layer::page_map) fn take_spare_block(&mut self, die: DieId) {
        if !self.is_lost(die)
            && let Some(spare) = self.state.store.medium.take_spare(die)
        {
            self.state.repairs.health.spares_used += 1;
            self.state.space.put_free(&self.state.store.medium, spare, &*self.derived.wear_rule);
        }
    }

    /// Refuses writes from now on if the blocks that are left do not suffice.
    pub(super) fn note_too_small(&mut self) {
        self.state.repairs.health.is_read_only |= self.is_too_small(0);
    }

    /// Returns true if the blocks that are left without `fewer` of them do not suffice: those of all dies for the data,
    /// or those of a die for the blocks that it keeps free, its frontiers and its part of the journal's area.
    pub(in crate::layer::page_map) fn is_too_small(&self, fewer: u64) -> bool {
        let medium = &self.state.store.medium;
        let geometry = &medium.geometry;
        let streams = max_streams_per_die(self.derived.parameters.facts.write_modes.len(), &self.derived.needs);
        let [user, kept, streams, _] = self.derived.config.blocks_needed(geometry, self.state.store.user_units, streams);
        let bad = |die: DieId| medium.bad_blocks().filter(|&block| geometry.die_of(block) == die).count() as u64;
        let area = self.state.journal.as_ref().map_or(0, |journal| u64::from(journal.blocks_of_die()));
        let dies = (0..geometry.die_count).map(DieId).filter(|&die| !self.is_lost(die));
        let left = dies.map(|die| {
            let gone = u64::from(medium.retired_blocks(die)) + bad(die);
            u64::from(geometry.blocks_per_die).saturating_sub(gone).checked_sub(kept + streams + area)
        });
        let left: Option<Vec<u64>> = left.collect();
        left.is_none_or(|left| left.iter().sum::<u64>() < user * u64::from(geometry.die_count) + fewer)
    }

    /// Returns true if programs that have failed are to be repeated, also by a drive that comes to rest.
    pub fn must_repeat(&self) -> bool {
        !self.state.repairs.are_none() && !self.state.repairs.are_done()
    }

    /// Sets whether the drive comes to rest: its dies take nothing but programs that they repeat.
    pub fn come_to_rest(&mut self, rests: bool) {
        self.scratch.rests = rests;
    }

    /// Returns what a die does while there is something to repeat, or a die is lost: it repeats a program that has
    /// failed, or does nothing; `None` if it chooses freely.
    #[cold]
    pub(super) fn repeat_first(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<Option<u32>> {
        let program = self.repeat(die, now, out);
        if program.is_some() || self.scratch.binding == Binding::Refused || self.scratch.rests {
            return Some(program);
        }
        if !self.is_lost(die) {
            return None;
        }
        self.leave_lost_die(die, &mut out.ready);
        Some(self.empty_lost_die(die, now, out))
    }

    /// Returns the operation with which a die repeats a program that has failed, if it has to and can.
    fn repeat(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        if self.state.repairs.repeats[die.index()].is_none() && !self.take_in(die, now, out) {
            return None;
        }
        if !self.may_bind() {
            return None;
        }
        let Repeat { slot, since } = self.state.repairs.repeats[die.index()].take()?;
        self.state.repairs.count -= 1;
        self.state.store.medium.programs[die.index()].failed_for = now.since(since);
        Some(slot)
    }

    /// Binds the oldest program that has failed to a place of a die. Returns false if there is none, or the die has no
    /// room.
    fn take_in(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> bool {
        if self.is_lost(die) || !self.state.store.medium.programs[die.index()].is_empty() {
            return false;
        }
        let Some((program, since)) = self.state.repairs.unplaced.pop_front() else { return false };
        let Some((place, stream, mode)) = self.place_again(die, &program, now) else {
            self.state.repairs.unplaced.push_front((program, since));
            return false;
        };
        let failed = self.state.store.medium.geometry.block_of(program.first);
        let slot = self.bind_again(die, program, (place, stream, mode), now, out);
        self.state.repairs.repeats[die.index()] = Some(Repeat { slot, since });
        let medium = &mut self.state.store.medium;
        medium.close(failed);
        let of = medium.geometry.die_of(failed);
        if !self.is_lost(of) {
            self.want_evacuated(failed);
            out.ready.mark(of);
        }
        self.settle_sets(None, out);
        true
    }

    /// Returns a place of a die for the units of a program that has failed, its stream and the mode in which they are
    /// written there: in a block of the same stream and mode, or else in another open block.
    fn place_again(&mut self, die: DieId, program: &ProgramUnit, now: SimTime) -> Option<(Ppn, usize, ModeId)> {
        let (stream, mode) = (program.frontier, self.block_mode(program.mode));
        let units = self.state.store.medium.geometry.units_per_program;
        let wanted = self.derived.parameters.facts.write_levels[program.mode.index()];
        let lists = self.state.space.free_by_level(die);
        let level = (0..=wanted).rev().find(|&level| lists.get(usize::from(level)).is_some_and(|&blocks| blocks > 0));
        let (class, level) = (AllocationClass::Relocation, level.unwrap_or(0));
        let own = Target { die, stream, mode, class, plane: None, level };
        let State { store, space, map_cache, .. } = &mut self.state;
        if let Some(place) = space.advance(&mut store.medium, &own, units, now) {
            return Some((place, stream, program.mode));
        }
        if map_cache.is_some() && stream == self.map_stream() {
            return None;
        }
        let State { store, space, .. } = &mut self.state;
        let (stream, block) = space.any_open(die, stream..stream + 1)?;
        let (mode, plane) = (ModeId(store.medium.block(block).mode()), Some(store.medium.geometry.group_of(block)));
        let place = space.advance(&mut store.medium, &Target { stream, mode, plane, ..own }, units, now)?;
        Some((place, stream, if self.derived.needs.page_scope { program.mode } else { mode }))
    }

    /// Binds the units of a program that has failed to another place, with the number that the program had. Units that
    /// were written again since go there, too: older copies of them may be erased once the new program is done, and the
    /// newer copy may not be on flash by then. Returns the slot of the new program.
    fn bind_again(
        &mut self,
        die: DieId,
        failed: ProgramUnit,
        (place, stream, mode): (Ppn, usize, ModeId),
        now: SimTime,
        out: &mut Outbox,
    ) -> u32 {
        self.begin_program(die, place, mode, failed.reason);
        let ProgramUnit { first, units, bound, stream: of_host, .. } = failed;
        let program = &mut self.state.store.medium.programs[die.index()];
        (program.units, program.bound, program.stream, program.frontier) = (units, bound, of_host, stream);
        if let Some(metadata) = &mut self.state.metadata
            && !self.state.repairs.has(Defect::NewNumber)
        {
            metadata.bound_again(first, place);
        }
        let units = self.state.store.medium.geometry.units_per_program;
        for index in 0..bound as u32 {
            self.bind_unit_again(die, Ppn(first.0 + index), Ppn(place.0 + index), now, out);
        }
        self.state.store.pad(first, units);
        self.state.store.pad(Ppn(place.0 + bound as u32), units - bound as u32);
        self.state.counters.count_program(Reason::Evacuate, mode, bound as u32, units);
        self.issue_program(die, stream, 0, now, out)
    }

    /// Lets the map, or the reference of newer data in the write buffer to the older copy, name another place of a unit
    /// whose program has failed.
    fn bind_unit_again(&mut self, die: DieId, from: Ppn, to: Ppn, now: SimTime, out: &mut Outbox) {
        let lpn = self.state.store.lpn_at(from);
        if let Some(integrity) = &mut self.state.store.medium.integrity
            && !self.state.repairs.has(Defect::LossForgotten)
        {
            integrity.gone_to(from, to);
        }
        let program = &self.state.store.medium.programs[die.index()];
        let (mode, stream) = (program.mode, program.stream);
        out.journal.note(|| Record::BoundAgain { lpn, from, to, mode });
        if !self.state.store.medium.is_valid(from) {
            self.state.store.places.set_unit(to, lpn.0);
            self.keep_instead(from, to, out);
            if !self.state.repairs.has(Defect::OldCopySuperseded) {
                self.supersede_instead(from, to, out);
            }
            return;
        }
        let is_buffered = matches!(decode(self.state.store.code_of(lpn)), Mapped::Slot(_));
        if self.state.repairs.has(if is_buffered { Defect::OldPriorKept } else { Defect::OldPlaceKept }) {
            return;
        }
        self.state.store.medium.invalidate(from);
        self.refer(lpn, from, to);
        if self.is_of_map(lpn) {
            return;
        }
        if self.state.map_cache.is_some() {
            self.map_changed(lpn, out);
        }
        if self.derived.needs.placed {
            let placed = Placed { lpn, ppn: to, mode, reason: Reason::Evacuate, stream, superseded: Some(from) };
            self.call_policy(now, &out.signals, |policy, view| policy.placed(&placed, view));
        }
    }

    /// Lets a unit, bound and not on flash yet, that supersedes the place `from` of a failed program supersede the
    /// place `to` instead.
    fn supersede_instead(&mut self, from: Ppn, to: Ppn, out: &mut Outbox) {
        let State { store, repairs, .. } = &mut self.state;
        let failed = repairs.unplaced.iter_mut().map(|(program, _)| program);
        let mut units = store.medium.programs.iter_mut().chain(failed).flat_map(|program| &mut program.units[..program.bound]);
        if let Some(unit) = units.find(|unit| unit.superseded == from.0) {
            unit.superseded = to.0;
            store.medium.pin(to);
            self.unpin(from, &mut out.ready);
        }
    }

    /// Keeps the place `to` of a unit that was trimmed until the journal has the trim, instead of the place `from` of a
    /// failed program: an older copy could be taken for the current one if this one was erased before.
    fn keep_instead(&mut self, from: Ppn, to: Ppn, out: &mut Outbox) {
        let State { journal: Some(journal), store, .. } = &mut self.state else { return };
        for _ in 0..journal.move_pins(from, to) {
            store.medium.pin(to);
            store.medium.unpin_and_wake(from, &mut out.ready);
        }
    }

    /// Leaves what a collection has gathered, and has no room for on its die because a block has failed there, to the
    /// other dies: as moves of pages that have been read. Pages of the map wait for room on their die.
    #[cold]
    pub(super) fn leave_to_others(&mut self, die: DieId, out: &mut Outbox) -> Option<u32> {
        let Health { program_failures, erase_failures, dies_lost, .. } = self.state.repairs.health;
        let gathered = std::mem::take(&mut self.state.collectors[die.index()].gathered);
        let is_of_user = !gathered.iter().any(|&ppn| self.is_of_map(self.state.store.lpn_at(ppn)));
        if program_failures + erase_failures + dies_lost == 0 || !is_of_user {
            self.state.collectors[die.index()].gathered = gathered;
            return None;
        }
        let (mode, reason) = (self.derived.old_mode, self.state.collectors[die.index()].reason);
        for &from in &gathered {
            let lpn = self.state.store.lpn_at(from);
            let slot = self.state.moves.begin(PageMove { lpn, from, mode, reason, deadline: None }, false);
            self.state.store.medium.pin(from);
            self.state.moves.is_read(slot);
        }
        let count = gathered.len();
        self.state.collectors[die.index()].gathered = gathered;
        self.state.collectors[die.index()].programs(count);
        out.ready.mark_all();
        None
    }

    /// Requests that the blocks that have failed and still hold data be emptied.
    pub(crate) fn want_bad_blocks(&mut self) {
        let medium = &self.state.store.medium;
        let is_full = |block: BlockId| matches!(medium.block(block).state(), BlockState::Closed | BlockState::Sealed);
        let closed = medium.bad_blocks().filter(|&block| is_full(block));
        closed.collect::<Vec<_>>().into_iter().for_each(|block| self.want_evacuated(block));
    }

    /// Requests that a block that has failed be emptied; if it holds parity, that its set be.
    pub(super) fn want_evacuated(&mut self, block: BlockId) {
        let block = self.instead_of_parity(block);
        let medium = &self.state.store.medium;
        let (die, erase_count, reason) = (medium.geometry.die_of(block), medium.erase_count(block), Reason::Evacuate);
        self.state.collectors[die.index()].want(RelocationRequest { block, erase_count, reason, urgent: false });
    }

    /// Requests that the data of a block be moved if as many of its reads as `ftl.scrub_reads`, or a multiple of them,
    /// are complete with one that follows `before` others.
    #[inline]
    pub(crate) fn count_read(&mut self, ppn: Ppn, before: u32, ready: &mut ReadyDies) {
        if let Some(reads) = self.derived.config.scrub_reads
            && before.wrapping_add(1).is_multiple_of(reads)
        {
            self.want_scrubbed(self.state.store.medium.geometry.block_of(ppn), ready);
        }
    }

    #[cold]
    fn want_scrubbed(&mut self, block: BlockId, ready: &mut ReadyDies) {
        let block = self.instead_of_parity(block);
        let medium = &self.state.store.medium;
        let record = medium.block(block);
        if record.valid > 0 && matches!(record.state(), BlockState::Open | BlockState::Closed | BlockState::Sealed) {
            let (die, erase_count) = (medium.geometry.die_of(block), medium.erase_count(block));
            let request = RelocationRequest { block, erase_count, reason: Reason::Scrub, urgent: false };
            self.state.collectors[die.index()].want(request);
            ready.mark(die);
        }
    }

    /// Takes a block whose erase has failed out of use.
    #[cold]
    pub(crate) fn erase_failed(&mut self, block: BlockId) {
        self.state.repairs.health.erase_failures += 1;
        if self.state.repairs.has(Defect::FailedEraseReused) {
            return self.state.space.put_free(&self.state.store.medium, block, &*self.derived.wear_rule);
        }
        self.state.store.medium.retire(block);
        self.replace_block(self.state.store.medium.geometry.die_of(block));
    }

    /// Takes a free block whose lazy erase has failed out of use. With its die, it was taken out of use already.
    #[cold]
    pub(super) fn lazy_erase_failed(&mut self, operation: &Operation, now: SimTime, out: &mut Outbox) {
        if self.is_lost(operation.die) {
            self.state.repairs.health.erase_failures += 1;
        } else {
            self.state.space.count_out(operation.die);
            self.erase_failed(self.state.store.medium.geometry.block_of(operation.first));
        }
        self.update_no_space(now, out);
    }

    /// Returns true if a block is to be retired instead of being erased.
    pub(super) fn must_retire(&self, block: BlockId) -> bool {
        self.state.store.medium.is_bad(block) && !self.state.repairs.has(Defect::BadBlockReused)
    }

    /// Returns the blocks that have failed and still hold data, for saving.
    pub(super) fn bad_to_save(&self) -> Vec<u32> {
        let blocks = self.state.store.medium.bad_blocks().map(|block| block.0);
        blocks.filter(|_| !self.state.repairs.has(Defect::BadBlocksNotSaved)).collect()
    }

    /// Takes a bad block out of use, from which everything has been moved.
    #[cold]
    pub(super) fn retire_bad(&mut self, die: DieId, block: BlockId, now: SimTime, out: &mut Outbox) {
        self.state.retention.erased(&self.state.store.medium, block);
        self.state.store.medium.retire_bad(block);
        if let Some(metadata) = &mut self.state.metadata {
            metadata.erased(block);
        }
        out.journal.note(|| Record::Retired { block });
        self.collection_done(die, block, now, out);
        out.ready.mark(die);
    }

    /// Loses a die: all operations on it fail from now on.
    pub fn lose_die(&mut self, die: DieId, now: SimTime, out: &mut Outbox) {
        if std::mem::replace(&mut self.state.repairs.lost[die.index()], true) {
            return;
        }
        let units_lost = self.units_lost_with(die);
        let medium = &mut self.state.store.medium;
        self.state.space.lose_die(medium, die);
        medium.lose_free_blocks(die);
        self.state.collectors[die.index()].urgent = false;
        self.journal_loses_die(die, &mut out.ready);
        let is_too_small = self.is_too_small(0);
        let repairs = &mut self.state.repairs;
        repairs.count += 1;
        repairs.health.dies_lost += 1;
        repairs.health.units_lost += units_lost;
        repairs.health.is_read_only |= is_too_small;
        out.journal.note(|| Record::DieLost { die });
        self.lose_members(die, out);
        self.update_no_space(now, out);
        out.ready.mark_all();
    }

    /// Returns the number of units that are lost with a die: those of which neither the controller holds the data nor
    /// parity can restore it.
    fn units_lost_with(&self, die: DieId) -> u64 {
        let medium = &self.state.store.medium;
        let geometry = &medium.geometry;
        let program = &medium.programs[die.index()];
        // The data of the die's program in progress is still in the controller.
        let in_controller = program.first.0..program.first.0 + program.bound as u32;
        let of_block = |block: BlockId| {
            let first = geometry.first_of(block).0;
            let places = (first..first + geometry.units_per_block).map(Ppn);
            places.filter(|&ppn| medium.is_valid(ppn) && !in_controller.contains(&ppn.0) && !self.can_restore(ppn)).count()
        };
        geometry.blocks_of(die).map(BlockId).filter(|&block| medium.block(block).valid > 0).map(of_block).sum::<usize>() as u64
    }

    /// Hands the writes that wait for a lost die over to another one.
    fn leave_lost_die(&mut self, die: DieId, ready: &mut ReadyDies) {
        let list = self.state.writes.list_of(die);
        if !self.state.writes.are_pulled() && self.state.writes.queue.len(list) > 0 {
            self.hand_over(list, ready);
        }
    }

    /// Returns true if an outcome is a failure that the FTL handles.
    #[inline]
    pub(super) fn has_failed(ended: Ended) -> bool {
        ended.outcome != Outcome::Done
    }
}
