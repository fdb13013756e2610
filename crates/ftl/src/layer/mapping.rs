//! The contract of a layer that keeps a map, for those who only look at it: results, lifetimes, power failures, saving
//! and checks.

use crate::map_cache::MapCounters;
use crate::policy::{ModePolicy, Needs};
use kit::{BlockId, DieId, Lpn, ModeId, Ppn, SimTime};

/// Read access to a layer that keeps a map of mapping units. Blocks, wear and lost data are those of its
/// [`Medium`](crate::Medium).
pub trait Mapping {
    /// Returns the number of mapping units of the user capacity.
    fn user_units(&self) -> u64;

    /// Returns the number of mapping units in all: those of the user, and those of the map itself.
    fn all_units(&self) -> u64;

    /// Returns the place of the current copy of a unit, if that is on flash and not in the write buffer.
    fn place_of(&self, lpn: Lpn) -> Option<Ppn>;

    /// Returns the number of units mapped to flash.
    fn mapped_units(&self) -> u64;

    /// Returns the number of free blocks in the drive.
    fn free_blocks(&self) -> u64;

    /// Returns the mapping cache, for reports; `None` if the whole map is in memory.
    fn map_cache(&self) -> Option<MapCacheReport<'_>>;

    /// Returns the number of map pages; 0 if the whole map is in memory.
    fn map_pages(&self) -> u32;

    /// Returns true if the content of a map page on flash is out of date, as the cache knows it. For checks.
    fn map_page_is_changed(&self, page: u32) -> bool;

    /// Returns true if the changes of the map survive a loss of power because they are in a journal.
    fn journals_map(&self) -> bool;

    /// Returns the write mode of data older than the run.
    fn mode_of_old_data(&self) -> ModeId;

    /// Returns true if any write mode has a retention limit.
    fn has_retention_limits(&self) -> bool;

    /// Returns the number of retention limits missed, and the shortest margin \[ns; negative: missed\] if data of a
    /// block with a limit has been moved.
    fn retention_report(&self) -> (u64, Option<i64>);

    /// Returns the blocks with data that has been kept beyond its retention limit.
    fn blocks_past_limit(&self, now: SimTime) -> Vec<BlockId>;

    /// Returns the number of valid units in those blocks.
    fn units_past_limit(&self, now: SimTime) -> u64;

    /// Returns the first die that could not do without a worn-out block, if any. The drive continues to work and to use
    /// that block; the caller decides that this is the end of its life.
    fn worn_out_die(&self) -> Option<DieId>;

    /// Returns the policy.
    fn policy(&self) -> &dyn ModePolicy;

    /// Returns what the policy needs from the engine.
    fn needs(&self) -> &Needs;

    /// Returns the bits that the policy has set for a unit.
    fn declared_state(&self, lpn: Lpn) -> u8;

    /// Returns a line for each inconsistency in the state of the data; empty in a sound drive. `at_rest`: no flash
    /// operation is in flight, so no block may be pinned unless page moves are waiting.
    fn audit(&self, at_rest: bool) -> Vec<String>;

    /// Returns the position of a die in its cycle of host writes and collections.
    fn die_state(&self, die: DieId) -> DieState;

    /// Describes waiting work for the report of a stall: page moves, write queues, and the free blocks, collection,
    /// frontiers and block fill of each die.
    fn stall_report(&self) -> String;
}

/// State of the mapping cache, for results.
#[derive(Clone, Copy, Debug)]
pub struct MapCacheReport<'a> {
    /// Counts.
    pub counters: &'a MapCounters,
    /// Largest number of pages held: a change of an entry cannot wait for space.
    pub max_pages: u32,
    /// Pages that there is memory for.
    pub capacity_pages: u32,
}

/// Position of a die in its cycle of host writes and collections.
#[derive(Clone, Debug, PartialEq)]
pub struct DieState {
    /// Number of free blocks.
    pub free_blocks: u32,
    /// Number of valid units.
    pub valid: u64,
    /// Stream of each open block, and the share of the block that is written.
    pub open: Vec<(usize, f64)>,
    /// Valid units that the victim of the collection under way still has, and those that it had; `None` without one.
    pub victim: Option<(u32, u32)>,
}
