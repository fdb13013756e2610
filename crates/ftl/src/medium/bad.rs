//! Bad blocks: blocks that have failed, and the spare ones that replace them.

use super::{BlockRecord, BlockState, Medium};
use kit::{BlockId, DieId};

impl Medium {
    /// Takes a block that was never used out of use, as bad from the factory.
    pub(crate) fn begin_bad(&mut self, block: BlockId) {
        self.retire(block);
        self.factory_bad.push(block);
    }

    /// Returns the blocks that were bad from the beginning, and are never used.
    pub fn factory_bad(&self) -> &[BlockId] {
        &self.factory_bad
    }

    /// Keeps a free block to replace one that fails.
    pub(crate) fn begin_spare(&mut self, block: BlockId) {
        self.blocks.update(block, |record| {
            assert!(record.is(BlockState::Free) && record.is_blank(), "{block:?} is kept as a spare: {record:?}");
            record.set_state(BlockState::Spare);
        });
    }

    /// Makes a spare block of a die a free one, and returns it; `None` if the die has none.
    pub(crate) fn take_spare(&mut self, die: DieId) -> Option<BlockId> {
        let mut blocks = self.geometry.blocks_of(die).map(BlockId);
        let spare = blocks.find(|&block| self.block(block).is(BlockState::Spare))?;
        self.blocks.update(spare, |record| record.set_state(BlockState::Free));
        Some(spare)
    }

    /// Returns the number of spare blocks of a die.
    pub fn spare_blocks(&self, die: DieId) -> u32 {
        let blocks = self.geometry.blocks_of(die).map(BlockId);
        blocks.filter(|&block| self.block(block).is(BlockState::Spare)).count() as u32
    }

    /// Returns true if a program of a block has failed since its last erase: it is not erased again.
    pub(crate) fn is_bad(&self, block: BlockId) -> bool {
        !self.bad.is_empty() && self.bad.contains(&block.0)
    }

    /// Returns the blocks that have failed and still hold data.
    pub(crate) fn bad_blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.bad.iter().map(|&block| BlockId(block))
    }

    /// Takes blocks as those that have failed and still hold data, for loading.
    pub(crate) fn set_bad_blocks(&mut self, blocks: &[u32]) {
        self.bad = blocks.iter().copied().collect();
    }

    /// Takes a block whose program has failed out of the closed ones, if it is among them, until the data of the
    /// program is bound to another place. An open one must be no frontier any more.
    pub(crate) fn fail(&mut self, block: BlockId) {
        if self.block(block).is(BlockState::Closed) {
            self.take_victim(block);
        }
        self.blocks.update(block, |record| record.set_state(BlockState::Failed));
        self.bad.insert(block.0);
    }

    /// Notes that a program of a block of the journal's area has failed.
    pub(crate) fn mark_bad(&mut self, block: BlockId) {
        self.bad.insert(block.0);
    }

    /// Takes a block of the journal's area out of use that holds nothing that is needed.
    pub(crate) fn retire_area(&mut self, block: BlockId) {
        self.blocks.update(block, |record| {
            assert!(record.is(BlockState::Area) && record.valid == 0, "{block:?} is none of the journal: {record:?}");
            *record = BlockRecord::new(BlockState::Retired, 0);
        });
        if let Some(integrity) = &mut self.integrity {
            integrity.erased(block, &self.geometry);
        }
        self.bad.remove(&block.0);
        self.retired[self.geometry.die_of(block).index()] += 1;
    }

    /// Takes a bad block, from which all data has been moved, out of use without an erase.
    pub(crate) fn retire_bad(&mut self, block: BlockId) {
        self.blocks.update(block, |record| {
            let is_empty = record.is(BlockState::Victim) && record.valid == 0 && record.pins() == 0;
            assert!(is_empty, "{block:?} is retired with data or pins: {record:?}");
            *record = BlockRecord::new(BlockState::Retired, 0);
        });
        if let Some(integrity) = &mut self.integrity {
            integrity.erased(block, &self.geometry);
        }
        self.bad.remove(&block.0);
        self.retired[self.geometry.die_of(block).index()] += 1;
    }

    /// Takes the free and the spare blocks of a lost die out of use. Blocks with data stay as they are.
    pub(crate) fn lose_free_blocks(&mut self, die: DieId) {
        for block in self.geometry.blocks_of(die).map(BlockId) {
            if matches!(self.block(block).state(), BlockState::Free | BlockState::Spare) {
                self.blocks.update(block, |record| record.set_state(BlockState::Retired));
                self.retired[die.index()] += 1;
            }
        }
    }
}
