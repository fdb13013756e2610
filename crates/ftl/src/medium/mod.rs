//! The medium: the flash as a translation layer sees it. Blocks and their states, wear, pins, and which of their units
//! are valid.
//!
//! A layer decides; the medium keeps account of what has been programmed, erased and read, and refuses what flash
//! cannot do. All layers stand on it.

mod bad;
mod block;
mod closed;
pub(crate) mod counts;
pub(crate) mod integrity;
pub(crate) mod operations;
pub(crate) mod pages;
mod power;
pub(crate) mod program;
pub(crate) mod rain;
mod save;
mod sets;
pub(crate) mod space;
mod wear;
mod whole;

pub use block::{BlockRecord, BlockState};

use crate::queue::WriteQueue;
use block::BlockTable;
use closed::LeastValid;
use integrity::{BlockFacts, Integrity};
use kit::{
    BlockId, Cause, DieId, Ended, Geometry, ModeId, Nanos, Operation, Outbox, Outcome, Ppn, ReadyDies, Record, SimTime, Stored,
    Table,
};
use pages::PageWrites;
use program::{NO_PLACE, ProgramUnit};
use sets::BlockSets;
use std::collections::BTreeSet;

const NONE: u32 = u32::MAX;

/// State of the flash. Tables are allocated once; memory is committed only where the workload touches them.
pub struct Medium {
    /// Geometry of the flash.
    pub geometry: Geometry,
    /// One bit for each unit: it holds the current copy of its data.
    pub(crate) valid: Table<u64>,
    pub(crate) blocks: BlockTable,
    /// Erase count of each block.
    pub(crate) erase_counts: Vec<u32>,
    /// Effective wear of each block, in thousandths of a nominal erase.
    pub(crate) wear: Vec<u32>,
    /// Mode of the last erase of each block.
    pub(crate) erase_modes: Vec<u8>,
    /// Mapping units that a block can hold, by the write mode of its data.
    mode_units: Vec<u32>,
    /// Total number of erases of all blocks.
    pub(crate) erase_total: u64,
    /// Sum and maximum of the blocks' effective wear, in thousandths of a nominal erase.
    pub(crate) wear_total: u64,
    pub(crate) wear_most: u32,
    /// Number of retired blocks of each die.
    pub(crate) retired: Vec<u32>,
    /// Blocks that have failed and still hold data.
    bad: BTreeSet<u32>,
    /// Blocks that were bad from the beginning.
    factory_bad: Vec<BlockId>,
    /// Instant at which each block was opened for its first program \[ns; negative: before the run\].
    pub(crate) first_program: Vec<i64>,
    /// Closed blocks of each die as a doubly linked list in the order of closing: the neighbours of each block, and the
    /// two ends and the length for each die.
    older: Vec<u32>,
    newer: Vec<u32>,
    oldest: Vec<u32>,
    newest: Vec<u32>,
    closed_count: Vec<u32>,
    pub(crate) index: LeastValid,
    /// Number of valid units in blocks of each write mode.
    pub(crate) valid_by_mode: [u64; 16],
    /// The program that each die executes.
    pub(crate) programs: Vec<ProgramUnit>,
    /// Integrity of the data; `None` where reads cannot fail.
    pub(crate) integrity: Option<Box<Integrity>>,
    /// Writes of single pages, where these are written in place.
    pages: Option<Box<PageWrites>>,
    /// Sets of blocks with parity; `None` where there are none.
    pub(crate) sets: Option<Box<BlockSets>>,
}

impl Medium {
    /// Creates an empty medium: all blocks are free. `mode_units`: mapping units that a block can hold, by the write
    /// mode of its data.
    pub fn new(geometry: Geometry, mode_units: Vec<u32>) -> std::io::Result<Medium> {
        let units = usize::try_from(geometry.unit_count()).expect("validated: fewer than 2^32 units");
        let (blocks, dies) = (geometry.block_count as usize, geometry.die_count as usize);
        Ok(Medium {
            valid: Table::zeroed(units.div_ceil(64))?,
            blocks: BlockTable::new(blocks)?,
            erase_counts: vec![0; blocks],
            wear: vec![0; blocks],
            erase_modes: vec![0; blocks],
            erase_total: 0,
            wear_total: 0,
            wear_most: 0,
            retired: vec![0; dies],
            factory_bad: Vec::new(),
            bad: BTreeSet::new(),
            first_program: vec![0; blocks],
            older: vec![NONE; blocks],
            newer: vec![NONE; blocks],
            oldest: vec![NONE; dies],
            newest: vec![NONE; dies],
            closed_count: vec![0; dies],
            index: LeastValid::new(dies, geometry.blocks_per_die, mode_units.len()),
            mode_units,
            valid_by_mode: [0; 16],
            programs: (0..dies).map(|_| ProgramUnit::new(geometry.units_per_program)).collect(),
            integrity: None,
            pages: None,
            sets: None,
            geometry,
        })
    }

    /// Keeps what matters only where reads can fail. `by_program`: a block holds data of several write modes.
    pub(crate) fn keep_integrity(&mut self, by_program: bool) {
        self.integrity = Some(Box::new(Integrity::new(&self.geometry, by_program)));
    }

    /// Advises the system that most of the tables will be used (see [`Table::expect_dense_use`]).
    pub(crate) fn expect_dense_use(&mut self) {
        self.valid.expect_dense_use();
        self.blocks.expect_dense_use();
    }

    /// Copies the state into that of a new medium of the same geometry, whose tables are all still zero.
    pub(crate) fn copy_to(&self, new: &mut Medium) {
        let Medium {
            valid,
            blocks,
            erase_counts,
            wear,
            erase_modes,
            erase_total,
            wear_total,
            wear_most,
            retired,
            bad,
            factory_bad,
            first_program,
            older,
            newer,
            oldest,
            newest,
            closed_count,
            index,
            valid_by_mode,
            // As in a new drive: nothing has been programmed or read in simulated time.
            programs: _,
            integrity: _,
            pages: _,
            // Formed as the drive is adopted.
            sets: _,
            // Follow from the description.
            geometry: _,
            mode_units: _,
        } = self;
        valid.copy_to(&mut new.valid);
        blocks.copy_to(&mut new.blocks);
        new.erase_counts.copy_from_slice(erase_counts);
        new.wear.copy_from_slice(wear);
        new.erase_modes.copy_from_slice(erase_modes);
        (new.erase_total, new.wear_total, new.wear_most) = (*erase_total, *wear_total, *wear_most);
        new.retired.copy_from_slice(retired);
        new.bad.clone_from(bad);
        new.factory_bad.clone_from(factory_bad);
        new.first_program.copy_from_slice(first_program);
        new.older.copy_from_slice(older);
        new.newer.copy_from_slice(newer);
        new.oldest.copy_from_slice(oldest);
        new.newest.copy_from_slice(newest);
        new.closed_count.copy_from_slice(closed_count);
        new.index.clone_from(index);
        new.valid_by_mode = *valid_by_mode;
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let words = [&self.erase_counts, &self.wear, &self.older, &self.newer].map(|list| size_of_val(list.as_slice()) as u64);
        let tables = [self.valid.bytes(), self.blocks.bytes(), self.index.bytes()];
        let others = (self.erase_modes.len() + size_of_val(self.first_program.as_slice())) as u64;
        words.iter().chain(&tables).sum::<u64>() + others
    }

    /// Returns the record of a block.
    #[inline]
    pub fn block(&self, block: BlockId) -> BlockRecord {
        self.blocks.get(block)
    }

    /// Returns the erase count of a block.
    pub fn erase_count(&self, block: BlockId) -> u32 {
        self.erase_counts[block.index()]
    }

    /// Returns the effective wear of a block, in thousandths of a nominal erase.
    #[inline]
    pub fn wear_thousandths(&self, block: BlockId) -> u32 {
        self.wear[block.index()]
    }

    /// Returns the effective wear of a block, in nominal erases.
    pub fn effective_wear(&self, block: BlockId) -> f64 {
        f64::from(self.wear[block.index()]) / 1000.0
    }

    /// Returns the instant at which a block was opened for its first program \[ns; negative: before the run\].
    pub fn first_program(&self, block: BlockId) -> i64 {
        self.first_program[block.index()]
    }

    /// Returns the mode of the last erase of a block, or mode 0 if it has not been erased in the run.
    pub fn erase_mode(&self, block: BlockId) -> ModeId {
        ModeId(self.erase_modes[block.index()])
    }

    /// Returns the number of mapping units that a block can hold in a write mode.
    #[inline]
    pub fn units_in(&self, mode: ModeId) -> u32 {
        self.mode_units[mode.index()]
    }

    /// Returns the number of closed blocks of a die.
    pub fn closed_count(&self, die: DieId) -> u32 {
        self.closed_count[die.index()]
    }

    /// Returns the closed blocks of a die in the order of closing, oldest first.
    pub fn closed_blocks(&self, die: DieId) -> impl Iterator<Item = BlockId> + '_ {
        let mut next = self.oldest[die.index()];
        std::iter::from_fn(move || {
            (next != NONE).then(|| {
                let block = BlockId(next);
                next = self.newer[next as usize];
                block
            })
        })
    }

    /// Returns the closed block of `die` with the fewest valid units among those written in `mode`, and their number.
    pub fn min_valid(&self, die: DieId, mode: ModeId) -> Option<(BlockId, u16)> {
        self.index.least(&self.geometry, self.blocks.as_slice(), die, mode)
    }

    /// Returns the number of retired blocks of a die.
    pub fn retired_blocks(&self, die: DieId) -> u32 {
        self.retired[die.index()]
    }

    /// Returns true if the data at a place is lost. For checks.
    pub fn is_lost_at(&self, ppn: Ppn) -> bool {
        self.integrity.as_ref().is_some_and(|integrity| integrity.is_lost(ppn))
    }

    /// Returns the number of places whose data is lost; `None` where reads cannot fail.
    pub fn lost_places(&self) -> Option<usize> {
        self.integrity.as_ref().map(|integrity| integrity.lost_places())
    }

    /// Returns true if the place holds current data.
    #[inline]
    pub fn is_valid(&self, ppn: Ppn) -> bool {
        self.valid.get(ppn.index() / 64) >> (ppn.0 % 64) & 1 == 1
    }

    /// Returns the largest number of valid units with which collecting a block still frees space: the last program of a
    /// collection is padded, so at least one program's worth of units must be invalid.
    #[inline]
    pub fn max_valid_to_collect(&self) -> u32 {
        self.geometry.units_per_block - self.geometry.units_per_program
    }

    /// Returns the first valid place in `from..end`.
    #[inline]
    pub(crate) fn next_valid(&self, from: Ppn, end: Ppn) -> Option<Ppn> {
        if from >= end {
            return None;
        }
        let mut word = from.index() / 64;
        let mut bits = self.valid.get(word) & (u64::MAX << (from.0 % 64));
        loop {
            if bits != 0 {
                let found = word as u32 * 64 + bits.trailing_zeros();
                return (found < end.0).then_some(Ppn(found));
            }
            word += 1;
            if word * 64 >= end.index() {
                return None;
            }
            bits = self.valid.get(word);
        }
    }

    /// Marks the data at a place as no longer current.
    #[inline]
    pub(crate) fn invalidate(&mut self, ppn: Ppn) {
        self.invalidate_and(ppn, |_| {});
    }

    /// Marks the data at a place as no longer current, and pins its block.
    #[inline]
    pub(crate) fn supersede(&mut self, ppn: Ppn) {
        self.invalidate_and(ppn, BlockRecord::pin);
    }

    #[inline(always)]
    fn invalidate_and(&mut self, ppn: Ppn, change: impl FnOnce(&mut BlockRecord)) {
        let bit = 1u64 << (ppn.0 % 64);
        let word = self.valid.get(ppn.index() / 64);
        debug_assert!(word & bit != 0, "{ppn:?} is not valid");
        self.valid.set(ppn.index() / 64, word & !bit);
        self.count_superseded(self.geometry.block_of(ppn), 1, change);
    }

    /// Counts `units` of a block as no longer current, and makes another change to its record.
    #[inline(always)]
    pub(crate) fn count_superseded(&mut self, block: BlockId, units: u16, change: impl FnOnce(&mut BlockRecord)) {
        let record = self.blocks.update(block, |record| {
            record.valid -= units;
            change(record);
            *record
        });
        self.valid_by_mode[record.mode() as usize] -= u64::from(units);
        if record.is(BlockState::Closed) {
            self.index.lower(block, record.mode(), record.valid);
        }
    }

    /// Counts `units` as written to a block.
    #[inline]
    pub(crate) fn count_written(&mut self, block: BlockId, units: u16) {
        let mode = self.blocks.update(block, |record| {
            record.valid += units;
            record.mode()
        });
        self.valid_by_mode[mode as usize] += u64::from(units);
    }

    /// Pins the block of a place: a reason not to erase it yet.
    #[inline]
    pub(crate) fn pin(&mut self, ppn: Ppn) {
        self.blocks.update(self.geometry.block_of(ppn), BlockRecord::pin);
    }

    /// Unpins the block of a place. Returns the block if it is a victim without pins, which may now be ready to be
    /// erased.
    #[inline]
    pub(crate) fn unpin(&mut self, ppn: Ppn) -> Option<BlockId> {
        let block = self.geometry.block_of(ppn);
        let is_free_of_pins = self.blocks.update(block, |record| {
            record.unpin();
            record.pins() == 0 && record.is(BlockState::Victim)
        });
        is_free_of_pins.then_some(block)
    }

    /// Turns a free block into a write frontier.
    pub(crate) fn open(&mut self, block: BlockId, mode: ModeId) {
        self.blocks.update(block, |record| {
            assert!(record.is(BlockState::Free) && record.valid == 0, "{block:?} is not free");
            *record = BlockRecord::new(BlockState::Open, mode.0);
        });
    }

    /// Closes a write frontier, full or given up early, or a block whose program has failed: it may now be collected.
    pub(crate) fn close(&mut self, block: BlockId) {
        let is_member = self.set_of(block).is_some();
        self.blocks.update(block, |record| {
            assert!(record.is(BlockState::Open) || record.is(BlockState::Failed), "{block:?} is not open");
            record.set_state(if is_member { BlockState::Sealed } else { BlockState::Closed });
        });
        if is_member {
            self.note_sealed(block);
        } else {
            self.list_closed(block);
        }
    }

    /// Appends a closed block to the list of its die, as the newest.
    pub(crate) fn list_closed(&mut self, block: BlockId) {
        let record = self.block(block);
        self.index.lower(block, record.mode(), record.valid);
        let die = self.geometry.die_of(block).index();
        let last = self.newest[die];
        self.older[block.index()] = last;
        self.newer[block.index()] = NONE;
        if last == NONE {
            self.oldest[die] = block.0;
        } else {
            self.newer[last as usize] = block.0;
        }
        self.newest[die] = block.0;
        self.closed_count[die] += 1;
    }

    /// Takes a closed block out of the list of its die, as a victim.
    pub(crate) fn take_victim(&mut self, block: BlockId) {
        if self.block(block).is(BlockState::Sealed) {
            return self.take_sealed(block);
        }
        let mode = self.blocks.update(block, |record| {
            assert!(record.is(BlockState::Closed), "{block:?} is not closed");
            record.set_state(BlockState::Victim);
            ModeId(record.mode())
        });
        let die = self.geometry.die_of(block);
        let (older, newer) = (self.older[block.index()], self.newer[block.index()]);
        *(if older == NONE { &mut self.oldest[die.index()] } else { &mut self.newer[older as usize] }) = newer;
        *(if newer == NONE { &mut self.newest[die.index()] } else { &mut self.older[newer as usize] }) = older;
        self.closed_count[die.index()] -= 1;
        self.index.rescan(self.blocks.as_slice(), block, mode);
    }

    /// Marks a victim as being erased.
    pub(crate) fn begin_erase(&mut self, block: BlockId) {
        self.blocks.update(block, |record| {
            let is_ready = record.is(BlockState::Victim) && record.valid == 0 && record.pins() == 0;
            assert!(is_ready, "{block:?} is not ready to be erased: {record:?}");
            record.set_state(BlockState::Erasing);
        });
    }

    /// Records a lazy erase of a free block, which now counts as erased in `mode`.
    pub(crate) fn lazy_erase(&mut self, block: BlockId, mode: ModeId, more_wear_thousandths: u32) {
        assert!(self.block(block).state() == BlockState::Free, "{block:?} is not free");
        self.erase_modes[block.index()] = mode.0;
        self.add_wear(block, more_wear_thousandths);
    }

    /// Handles the end of an erase: the block is free, and `wear_thousandths` are added to its effective wear. A block
    /// whose erase has failed holds nothing, either; the caller takes it out of use ([`Medium::retire`]).
    pub(crate) fn erase_done(&mut self, ended: Ended, operation: &Operation, wear_thousandths: u32, out: &mut Outbox) {
        let block = self.geometry.block_of(operation.first);
        match ended.outcome {
            Outcome::EraseFailed => out.journal.note(|| Record::EraseFailed { block }),
            _ => ended.expect_done(operation),
        }
        self.end_erase(block, operation.mode, wear_thousandths);
        out.journal.note(|| Record::Erased { block });
    }

    /// Completes the erase of a victim, or the attempt, which adds `wear_thousandths` to its effective wear.
    pub(crate) fn end_erase(&mut self, block: BlockId, mode: ModeId, wear_thousandths: u32) {
        self.blocks.update(block, |record| {
            assert!(record.is(BlockState::Erasing), "{block:?} is not being erased");
            *record = BlockRecord::default();
        });
        if let Some(integrity) = &mut self.integrity {
            integrity.erased(block, &self.geometry);
        }
        self.erase_counts[block.index()] += 1;
        self.erase_modes[block.index()] = mode.0;
        self.erase_total += 1;
        self.add_wear(block, wear_thousandths);
    }

    /// Records `now` as the instant at which a block was opened for its first program.
    pub(crate) fn note_first_program(&mut self, block: BlockId, now: SimTime) {
        self.first_program[block.index()] = i64::try_from(now.0).unwrap_or(i64::MAX);
    }

    /// Sets the states of the blocks after loading: those in `closed` (oldest first) are closed, those in `open` are
    /// open, and all others must be empty and are free or retired. Returns false if the lists do not agree with the
    /// records.
    pub(crate) fn restore_blocks(&mut self, closed: &[u32], open: &[u32]) -> bool {
        self.retired.fill(0);
        for (block, record) in (0..).map(BlockId).zip(self.blocks.as_mut_slice()) {
            record.clear_pins();
            if record.is(BlockState::Area) {
                // Copies of paired pages that a recovery has taken.
                self.valid_by_mode[record.mode() as usize] += u64::from(record.valid);
                continue;
            }
            if let state @ (BlockState::Retired | BlockState::Spare) = record.state() {
                self.retired[self.geometry.die_of(block).index()] += u32::from(state == BlockState::Retired);
                let valid = std::mem::replace(record, BlockRecord::new(state, 0)).valid;
                record.valid = valid;
            } else {
                record.set_state(BlockState::Free);
            }
        }
        for (index, &block) in closed.iter().chain(open).enumerate() {
            let block = BlockId(block);
            let record = self.block(block);
            if !record.is(BlockState::Free) {
                return false;
            }
            self.blocks.update(block, |record| record.set_state(BlockState::Open));
            self.valid_by_mode[record.mode() as usize % 16] += u64::from(record.valid);
            if index < closed.len() {
                self.close(block);
            }
        }
        let unused = [BlockState::Free, BlockState::Retired, BlockState::Spare];
        self.blocks.as_mut_slice().iter_mut().filter(|record| unused.contains(&record.state())).all(|record| {
            let empty = record.valid == 0;
            *record = BlockRecord::new(record.state(), 0);
            empty
        })
    }

    /// Takes an erased block out of use.
    pub(crate) fn retire(&mut self, block: BlockId) {
        self.blocks.update(block, |record| {
            assert!(record.is(BlockState::Free) && record.valid == 0, "{block:?} is retired with data: {record:?}");
            record.set_state(BlockState::Retired);
        });
        self.retired[self.geometry.die_of(block).index()] += 1;
    }

    /// Releases a pin of a place like [`Medium::unpin`], and wakes the die of the victim.
    #[inline(always)]
    pub(crate) fn unpin_and_wake(&mut self, ppn: Ppn, ready: &mut ReadyDies) {
        if let Some(block) = self.unpin(ppn) {
            ready.mark(self.geometry.die_of(block));
        }
    }

    /// Handles the end of a program: its units are durable, and the blocks of the copies that they supersede
    /// are unpinned. Returns the number of its units, which remain in `programs` until the next program of the die.
    pub(crate) fn program_done(
        &mut self,
        ended: Ended,
        operation: &Operation,
        writes: &mut WriteQueue,
        out: &mut Outbox,
    ) -> usize {
        ended.expect_done(operation);
        let (block, unit) = self.geometry.split(operation.first);
        let (program, units_per_program) = (self.geometry.program_of(unit), self.geometry.units_per_program);
        self.blocks.update(block, |record| {
            assert_eq!(u32::from(record.programmed), program, "{block:?} is programmed out of order");
            record.programmed += 1;
        });
        out.journal.note(|| Record::Programmed { block, first: operation.first, count: units_per_program });
        self.report_units(ended, operation.die, writes, out)
    }

    /// Reports the units of an operation of a die, which has ended, to those who wait for them, and unpins the blocks
    /// of the copies that they supersede. Returns their number.
    #[inline]
    pub(crate) fn report_units(&mut self, ended: Ended, die: DieId, writes: &mut WriteQueue, out: &mut Outbox) -> usize {
        let done = &mut self.programs[die.index()];
        let (units, bound) = (std::mem::take(&mut done.units), std::mem::take(&mut done.bound));
        if done.failed_for != Nanos::ZERO {
            let failed_for = std::mem::take(&mut done.failed_for);
            out.operations.account_mut(ended.slot).charge(Cause::Retry, failed_for);
        }
        for unit in &units[..bound] {
            if unit.superseded != NO_PLACE {
                self.unpin_and_wake(Ppn(unit.superseded), &mut out.ready);
            }
            unit.programmed(ended.slot, writes, out);
        }
        self.programs[die.index()].units = units;
        bound
    }

    /// Returns the condition of the data at a place, and counts a read of its block. Only where reads can fail.
    #[inline]
    pub fn stored(&mut self, ppn: Ppn, now: SimTime) -> Stored {
        if self.integrity.is_none() {
            return self.stored_page(ppn, now);
        }
        let block = self.geometry.block_of(ppn);
        let Medium { integrity, geometry, blocks, first_program, wear, erase_counts, .. } = self;
        let integrity = integrity.as_mut().expect("it was tested");
        let facts = || facts_of(block, blocks, first_program, (wear, erase_counts));
        let (reads, facts) = integrity.count_read(block, facts);
        let mode = integrity.mode(ppn, geometry).unwrap_or(facts.mode);
        stored(block, &facts, mode, reads, now)
    }

    /// Returns the condition of the data at a place, without a read. Only where reads can fail.
    pub fn stored_unread(&self, ppn: Ppn, now: SimTime) -> Stored {
        let Some(integrity) = &self.integrity else { return self.stored_page(ppn, now) };
        let block = self.geometry.block_of(ppn);
        let facts = facts_of(block, &self.blocks, &self.first_program, (&self.wear, &self.erase_counts));
        let mode = integrity.mode(ppn, &self.geometry).unwrap_or(facts.mode);
        stored(block, &facts, mode, integrity.reads(block), now)
    }

    /// Returns true if no die programs.
    pub fn is_at_rest(&self) -> bool {
        self.programs.iter().all(ProgramUnit::is_empty)
    }

    /// Records that a place holds the current copy of its data.
    #[inline]
    pub(crate) fn written(&mut self, ppn: Ppn) {
        let word = self.valid.get(ppn.index() / 64);
        self.valid.set(ppn.index() / 64, word | 1 << (ppn.0 % 64));
        self.count_written(self.geometry.block_of(ppn), 1);
    }

    /// Takes the blocks of a saved drive in the states that their records have; `closed` lists the closed blocks of
    /// each die, oldest first.
    pub(crate) fn restore_as_it_was(&mut self, closed: &[Vec<u32>]) {
        self.valid_by_mode = [0; 16];
        self.retired.fill(0);
        for (block, record) in (0..).map(BlockId).zip(self.blocks.as_slice()) {
            self.valid_by_mode[usize::from(record.mode())] += u64::from(record.valid);
            self.retired[self.geometry.die_of(block).index()] += u32::from(record.state() == BlockState::Retired);
        }
        closed.iter().flatten().for_each(|&block| self.list_closed(BlockId(block)));
        self.recount_wear();
    }
}

#[cold]
fn facts_of(block: BlockId, blocks: &BlockTable, first_program: &[i64], (wear, erase_counts): (&[u32], &[u32])) -> BlockFacts {
    BlockFacts {
        since: first_program[block.index()],
        wear_thousandths: wear[block.index()],
        erase_count: erase_counts[block.index()],
        mode: ModeId(blocks.get(block).mode()),
    }
}

#[inline]
fn stored(block: BlockId, facts: &BlockFacts, mode: ModeId, reads: u32, now: SimTime) -> Stored {
    let &BlockFacts { since, wear_thousandths, erase_count, .. } = facts;
    let age = Nanos((now.0 as i64).saturating_sub(since).max(0) as u64);
    Stored { block, mode, wear_thousandths, erase_count, age, reads }
}

#[cfg(test)]
pub(crate) mod tests;
