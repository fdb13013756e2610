//! Parameters that the translation layers take from other parts of the description.

use crate::policy::Facts;
use crate::queue::Buffering;
use kit::{Geometry, Nanos};

/// The load whose steady state `steady` makes, and what it meets beside the flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Mapping units of host writes outstanding: one for each command, and those that the write buffer holds.
    pub outstanding_units: u64,
    /// True if the load leaves the dies idle, so that they have the free blocks that collection gains while no write
    /// waits.
    pub is_light: bool,
    /// True if it leaves them idle for `ftl.gc_idle_after` time and again, so that they have the free blocks of
    /// background collection.
    pub has_pauses: bool,
    /// Array time of a read.
    pub read_time: Nanos,
    /// Time that the data of one program takes on the channel.
    pub transfer: Nanos,
    /// True if what is read is decoded, and that takes time: the die is free meanwhile.
    pub decodes: bool,
    /// Time that the data of one program takes through the controller, to its memory and back.
    pub way: Nanos,
    /// Part of it for which the data occupies what all dies share.
    pub shared: Nanos,
}

impl Default for Load {
    fn default() -> Load {
        Load {
            outstanding_units: 32,
            is_light: false,
            has_pauses: false,
            read_time: Nanos(50_000),
            transfer: Nanos::ZERO,
            decodes: false,
            way: Nanos::ZERO,
            shared: Nanos::ZERO,
        }
    }
}

/// Parameters that the FTL takes from other parts of the description.
#[derive(Clone, Debug)]
pub struct Parameters {
    /// Geometry of the flash.
    pub geometry: Geometry,
    /// Name of the policy.
    pub policy: String,
    /// Facts for the policy.
    pub facts: Facts,
    /// Wear of one erase, by erase mode and wear class, in thousandths of a nominal erase.
    pub erase_wear: Vec<Vec<u32>>,
    /// Program and erase cycles for which a block is rated.
    pub rated_pe_cycles: u32,
    /// Effective wear from which a block is retired when it is erased, in thousandths of a nominal erase; `None`:
    /// blocks are never retired.
    pub retire_at: Option<u32>,
    /// True if relocations may use copyback.
    pub copyback: bool,
    /// Treatment of the units of host writes until they are programmed.
    pub buffering: Buffering,
    /// True if stored data has errors, so that reads can fail.
    pub has_errors: bool,
    /// Blocks that are bad from the factory.
    pub bad_blocks: Vec<kit::BlockId>,
    /// Blocks of each die that are kept to replace those that fail.
    pub spare_blocks: u32,
    /// The load whose steady state `steady` makes.
    pub load: Load,
    /// Seed of the run.
    pub seed: u64,
}
