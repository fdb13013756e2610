//! Blocks that are programmed from their first page to their last and then erased as a whole, under layers without a
//! map.

use super::{BlockState, Medium};
use crate::queue::WriteQueue;
use kit::{BlockId, Ended, ModeId, Nanos, Operation, Outbox, Ppn, SimTime};

impl Medium {
    /// Takes all blocks as erased `cycles` times, the last time `age` ago.
    pub(crate) fn begin_worn(&mut self, cycles: u32, age: Nanos) {
        self.erase_counts.fill(cycles);
        self.wear.fill(cycles.saturating_mul(1000));
        self.first_program.fill(-(age.0 as i64));
        self.recount_wear();
    }

    /// Takes a free block as programmed in a mode up to a program.
    pub(crate) fn begin_open(&mut self, block: BlockId, mode: ModeId, programs: u32) {
        self.open(block, mode);
        self.blocks.update(block, |record| record.programmed = programs as u16);
    }

    /// Takes a free block as programmed to its end in a mode.
    pub(crate) fn begin_full(&mut self, block: BlockId, mode: ModeId) {
        self.begin_open(block, mode, self.geometry.programs_per_block);
        self.close(block);
    }

    /// Prepares a block for its next program in a mode: a free one is opened.
    pub(crate) fn begin_program_of(&mut self, block: BlockId, mode: ModeId) {
        if self.block(block).state() == BlockState::Free {
            self.open(block, mode);
        }
    }

    /// Handles the end of a program like [`Medium::program_done`]; the last one of its block closes it.
    pub(crate) fn whole_program_done(&mut self, ended: Ended, operation: &Operation, writes: &mut WriteQueue, out: &mut Outbox) {
        self.program_done(ended, operation, writes, out);
        let block = self.geometry.block_of(operation.first);
        let record = self.block(block);
        if record.is(BlockState::Open) && u32::from(record.programmed) == self.geometry.programs_per_block {
            self.close(block);
        }
    }

    /// Returns the number of programs of a block that are done; 0 if it waits for its erase.
    pub(crate) fn programs_done(&self, block: BlockId) -> u32 {
        let record = self.block(block);
        if self.holds_data(block) { record.programmed.into() } else { 0 }
    }

    /// Returns true if a program of the block has begun since its last erase, and it does not wait for the next one.
    pub(crate) fn holds_data(&self, block: BlockId) -> bool {
        matches!(self.block(block).state(), BlockState::Open | BlockState::Closed)
    }

    /// Gives up what a block holds: it waits for its erase. One that waits already, or is being erased, stays so.
    pub(crate) fn give_up(&mut self, block: BlockId) {
        match self.block(block).state() {
            BlockState::Closed => self.take_victim(block),
            BlockState::Free | BlockState::Open => self.blocks.update(block, |record| record.set_state(BlockState::Victim)),
            BlockState::Victim | BlockState::Erasing => {}
            BlockState::Retired | BlockState::Spare | BlockState::Failed | BlockState::Sealed | BlockState::Area => {
                unreachable!("{block:?} is out of use")
            }
        }
    }

    /// Marks a block as being erased, and gives up what it holds: a block that was erased may be erased again.
    pub(crate) fn begin_whole_erase(&mut self, block: BlockId) {
        self.give_up(block);
        self.begin_erase(block);
    }

    /// Handles the end of a read, whose units were pinned. Returns the pins that are left of the block.
    pub(crate) fn read_done(&mut self, operation: &Operation) -> u32 {
        for ppn in (operation.first.0..operation.first.0 + operation.units).map(Ppn) {
            self.unpin(ppn);
        }
        self.block(self.geometry.block_of(operation.first)).pins()
    }

    /// Handles the end of an erase like [`Medium::erase_done`]. The age of the block's data counts from now on.
    pub(crate) fn erased(&mut self, ended: Ended, operation: &Operation, wear: u32, now: SimTime, out: &mut Outbox) {
        ended.expect_done(operation);
        self.erase_done(ended, operation, wear, out);
        self.note_first_program(self.geometry.block_of(operation.first), now);
    }

    /// Returns the most erases of a block.
    pub(crate) fn max_erases(&self) -> u32 {
        self.erase_counts.iter().copied().max().unwrap_or(0)
    }
}
