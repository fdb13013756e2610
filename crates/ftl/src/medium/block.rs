//! The record of a block: its state, its write mode, its pins, and its counts.

use bytemuck::{Pod, Zeroable};
use kit::{BlockId, Table};

/// State of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockState {
    /// Erased, waiting to be used.
    Free = 0,
    /// A write frontier.
    Open = 1,
    /// Full, or given up as a frontier; may be collected.
    Closed = 2,
    /// Being collected or moved.
    Victim = 3,
    /// Being erased.
    Erasing = 4,
    /// Out of use: worn out, or bad.
    Retired = 5,
    /// Erased, and kept to replace a block that fails.
    Spare = 6,
    /// A program of it has failed, and the data of that program is not bound to another place yet.
    Failed = 7,
    /// Written, and a member of a set of blocks with parity that is not whole, or holds the parity of one.
    Sealed = 8,
    /// Of the area for the journal of the map and its checkpoint.
    Area = 9,
}

impl BlockState {
    /// Returns true if a block in this state holds no data of the user, and nothing is being done with it.
    pub fn is_unused(self) -> bool {
        matches!(self, BlockState::Free | BlockState::Retired | BlockState::Spare | BlockState::Area)
    }
}

/// Record of a block: the fields that the hot path needs, in eight bytes.
#[derive(Clone, Copy, Default, Pod, Zeroable)]
#[repr(C)]
pub struct BlockRecord {
    /// Units whose data is current.
    pub valid: u16,
    /// Program units whose program has completed.
    pub programmed: u16,
    /// The state in bits 0 to 3, the write mode in bits 4 to 7, and the number of pins above them.
    packed: u32,
}

const STATE: u32 = 0x0f;
const MODE_SHIFT: u32 = 4;
const PIN: u32 = 1 << 8;

impl BlockRecord {
    pub(crate) fn new(state: BlockState, mode: u8) -> BlockRecord {
        BlockRecord { packed: u32::from(mode & 15) << MODE_SHIFT | state as u32, ..BlockRecord::default() }
    }

    /// Returns the state of the block.
    #[inline]
    pub fn state(&self) -> BlockState {
        match self.packed & STATE {
            0 => BlockState::Free,
            1 => BlockState::Open,
            2 => BlockState::Closed,
            3 => BlockState::Victim,
            4 => BlockState::Erasing,
            5 => BlockState::Retired,
            6 => BlockState::Spare,
            7 => BlockState::Failed,
            8 => BlockState::Sealed,
            _ => BlockState::Area,
        }
    }

    /// Returns the write mode of its data.
    #[inline]
    pub fn mode(&self) -> u8 {
        (self.packed >> MODE_SHIFT) as u8 & 15
    }

    /// Returns the number of pins: reads queued or in flight, single-page moves that are not yet bound, and units
    /// superseded by a program that has not completed. The block may be erased only when there are none.
    #[inline]
    pub fn pins(&self) -> u32 {
        self.packed / PIN
    }

    /// Returns true if the record is one of a drive at rest: its state is known, and is not that of an erase.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.packed & STATE <= BlockState::Area as u32 && !matches!(self.state(), BlockState::Erasing | BlockState::Failed)
    }

    /// Returns true if the record has nothing but its state, as that of a block without data.
    pub(crate) fn is_blank(&self) -> bool {
        self.valid == 0 && self.programmed == 0 && self.packed & !STATE == 0
    }

    #[inline]
    pub(crate) fn is(&self, state: BlockState) -> bool {
        self.packed & STATE == state as u32
    }

    #[inline]
    pub(crate) fn set_state(&mut self, state: BlockState) {
        self.packed = self.packed & !STATE | state as u32;
    }

    /// Adds a pin: a reason not to erase the block yet. At 2^24 pins the count would wrap and permit the erase.
    #[inline]
    pub(crate) fn pin(&mut self) {
        let (packed, wraps) = self.packed.overflowing_add(PIN);
        assert!(!wraps, "more than 16,777,215 operations wait for one block: the host keeps too many commands in flight");
        self.packed = packed;
    }

    /// Removes a pin.
    #[inline]
    pub(crate) fn unpin(&mut self) {
        assert!(self.packed >= PIN, "a block is unpinned more often than pinned");
        self.packed -= PIN;
    }

    #[inline]
    pub(crate) fn clear_pins(&mut self) {
        self.packed &= PIN - 1;
    }
}

/// The records of all blocks. A record is loaded and stored whole, in one word: loading in a wide word what has just
/// been stored in narrow ones stalls.
pub(crate) struct BlockTable(Table<u64>);

impl BlockTable {
    /// Returns the records of `count` free blocks.
    pub fn new(count: usize) -> std::io::Result<BlockTable> {
        Ok(BlockTable(Table::zeroed(count)?))
    }

    /// Requests huge pages ([`Table::expect_dense_use`]).
    pub fn expect_dense_use(&mut self) {
        self.0.expect_dense_use();
    }

    /// Copies all records into a new table of the same length ([`Table::copy_to`]).
    pub fn copy_to(&self, new: &mut BlockTable) {
        self.0.copy_to(&mut new.0);
    }

    /// Returns the size of the table in bytes.
    pub fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// Returns the record of a block.
    #[inline]
    pub fn get(&self, block: BlockId) -> BlockRecord {
        bytemuck::cast(self.0.get(block.index()))
    }

    /// Changes the record of a block. Returns the result of `change`.
    #[inline]
    pub fn update<T>(&mut self, block: BlockId, change: impl FnOnce(&mut BlockRecord) -> T) -> T {
        let mut record = self.get(block);
        let result = change(&mut record);
        self.0.set(block.index(), bytemuck::cast(record));
        result
    }

    /// Returns all records.
    pub fn as_slice(&self) -> &[BlockRecord] {
        bytemuck::cast_slice(self.0.as_slice())
    }

    /// Returns all records for modification.
    pub fn as_mut_slice(&mut self) -> &mut [BlockRecord] {
        bytemuck::cast_slice_mut(self.0.as_mut_slice())
    }
}

impl std::fmt::Debug for BlockRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (state, mode, pins) = (self.state(), self.mode(), self.pins());
        write!(f, "{state:?} in mode {mode}, {} valid, {} programmed, {pins} pins", self.valid, self.programmed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_record_keeps_its_parts_apart() {
        let mut record = BlockRecord { valid: 7, programmed: 9, ..BlockRecord::new(BlockState::Open, 13) };
        // More than 65,536 operations may wait for one block: the count of its pins must not wrap.
        (0..70_000).for_each(|_| record.pin());
        assert_eq!((record.state(), record.mode(), record.pins()), (BlockState::Open, 13, 70_000));
        use BlockState::{Area, Closed, Erasing, Failed, Free, Retired, Sealed, Spare, Victim};
        for state in [Closed, Victim, Erasing, Retired, Spare, Failed, Sealed, Area, Free] {
            record.set_state(state);
            assert_eq!((record.state(), record.mode(), record.pins()), (state, 13, 70_000));
        }
        (0..70_000).for_each(|_| record.unpin());
        assert_eq!((record.pins(), record.valid, record.programmed), (0, 7, 9));
    }

    #[test]
    #[should_panic(expected = "too many commands in flight")]
    fn pins_do_not_wrap_silently() {
        let mut record = BlockRecord { packed: u32::MAX, ..BlockRecord::default() };
        record.pin();
    }

    #[test]
    #[should_panic(expected = "more often than pinned")]
    fn a_block_without_pins_is_not_unpinned() {
        BlockRecord::new(BlockState::Retired, 15).unpin();
    }
}
