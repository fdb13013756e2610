//! Sets of blocks with parity: the set of each block, and members that are full before their set is whole.

use super::{BlockState, Medium, NONE};
use kit::BlockId;

/// The sets that blocks belong to.
#[derive(Clone)]
pub(crate) struct BlockSets {
    /// Set of each block; [`NONE`]: none.
    set_of: Vec<u32>,
    /// Blocks that have been sealed and not yet been reported.
    sealed: Vec<BlockId>,
}

impl Medium {
    /// Keeps account of the sets that blocks belong to.
    pub(crate) fn keep_sets(&mut self) {
        let set_of = vec![NONE; self.geometry.block_count as usize];
        self.sets = Some(Box::new(BlockSets { set_of, sealed: Vec::new() }));
    }

    /// Returns the set that a block belongs to.
    #[inline]
    pub(crate) fn set_of(&self, block: BlockId) -> Option<u32> {
        let sets = self.sets.as_ref()?;
        Some(sets.set_of[block.index()]).filter(|&set| set != NONE)
    }

    /// Makes a block a member of a set, or of none.
    pub(crate) fn set_member(&mut self, block: BlockId, set: Option<u32>) {
        let sets = self.sets.as_mut().expect("sets are kept");
        sets.set_of[block.index()] = set.unwrap_or(NONE);
    }

    pub(super) fn note_sealed(&mut self, block: BlockId) {
        self.sets.as_mut().expect("sets are kept").sealed.push(block);
    }

    /// Returns the next block that has been sealed.
    #[inline]
    pub(crate) fn next_sealed(&mut self) -> Option<BlockId> {
        self.sets.as_mut()?.sealed.pop()
    }

    /// Lets a sealed block be collected: its set is whole.
    pub(crate) fn unseal(&mut self, block: BlockId) {
        self.blocks.update(block, |record| {
            assert!(record.is(BlockState::Sealed), "{block:?} is not sealed");
            record.set_state(BlockState::Closed);
        });
        self.list_closed(block);
    }

    /// Seals a block of which `programs` programs hold parity, and which was kept for it.
    pub(crate) fn seal_kept(&mut self, block: BlockId, programs: u16, mode: u8) {
        self.blocks.update(block, |record| {
            assert!(record.is(BlockState::Spare), "{block:?} was kept for parity: {record:?}");
            *record = super::BlockRecord::new(BlockState::Sealed, mode);
            record.programmed = programs;
        });
    }

    /// Frees a block that was kept for parity.
    pub(crate) fn release_kept(&mut self, block: BlockId) {
        self.blocks.update(block, |record| record.set_state(BlockState::Free));
    }

    /// Takes a sealed block as a victim: its data is to be moved, or it holds parity of data that has been moved.
    pub(crate) fn take_sealed(&mut self, block: BlockId) {
        self.blocks.update(block, |record| {
            assert!(record.is(BlockState::Sealed), "{block:?} is not sealed: {record:?}");
            record.set_state(BlockState::Victim);
        });
    }

    /// Puts a victim back among the sealed blocks, or the closed ones.
    pub(crate) fn put_back(&mut self, block: BlockId, state: BlockState) {
        self.blocks.update(block, |record| {
            assert!(record.is(BlockState::Victim), "{block:?} is no victim: {record:?}");
            record.set_state(state);
        });
        if state == BlockState::Closed {
            self.list_closed(block);
        }
    }

    /// Returns true if a die programs a block.
    #[inline]
    pub(crate) fn is_programming(&self, block: BlockId) -> bool {
        let program = &self.programs[self.geometry.die_of(block).index()];
        !program.is_empty() && self.geometry.block_of(program.first) == block
    }
}
