//! Stored data, as far as its errors depend on it.

use crate::ids::{BlockId, ModeId};
use crate::units::Nanos;

/// The condition of the data in a block at one instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The block.
    pub block: BlockId,
    /// Write mode of the data.
    pub mode: ModeId,
    /// Effective wear of the block, in thousandths of a nominal erase.
    pub wear_thousandths: u32,
    /// Number of erases of the block, which tells its contents at different times apart.
    pub erase_count: u32,
    /// Time since the first program of the block.
    pub age: Nanos,
    /// Reads of the block since its last erase.
    pub reads: u32,
}
