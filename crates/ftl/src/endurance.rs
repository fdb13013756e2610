//! What erases cost, what blocks have behind them, and how worn-out blocks leave.

use crate::ftl::{Ftl, Parameters};
use crate::map::Store;
use kit::{BlockId, DieId, ModeId, effective_wear_class};

/// The most write frontiers that a policy and its relocations open on a die: of a table with so many write modes, beside the policy's own for host data.
pub fn most_streams(write_modes: usize, host_streams: u8) -> u32 {
    write_modes as u32 + u32::from(host_streams.max(2))
}

impl Parameters {
    /// The wear of an erase in `mode` of a block that is so worn, both in thousandths of a nominal erase.
    pub fn wear_of_erase(&self, mode: ModeId, thousandths: u32) -> u32 {
        let classes = &self.erase_wear[mode.index()];
        classes[effective_wear_class(thousandths, self.rated_pe_cycles, classes.len())]
    }
}

impl Store {
    /// Erases of all blocks.
    pub fn erase_total(&self) -> u64 {
        self.erase_total
    }

    /// The sum of the blocks' effective wear, in thousandths of a nominal erase.
    pub fn wear_total(&self) -> u64 {
        self.wear_total
    }

    /// The effective wear of the most worn block, in thousandths of a nominal erase.
    pub fn wear_most(&self) -> u32 {
        self.wear_most
    }

    /// A block has become more worn.
    pub(crate) fn add_wear(&mut self, block: BlockId, thousandths: u32) {
        let wear = &mut self.wear[block.index()];
        let before = *wear;
        // Four million cycles fill it; nothing is rated for as many.
        *wear = before.saturating_add(thousandths);
        self.wear_total += u64::from(*wear - before);
        self.wear_most = self.wear_most.max(*wear);
    }

    /// Sums up again what was set block by block.
    pub(crate) fn recount_wear(&mut self) {
        self.erase_total = self.erase_counts.iter().map(|count| u64::from(*count)).sum();
        self.wear_total = self.wear.iter().map(|wear| u64::from(*wear)).sum();
        self.wear_most = self.wear.iter().copied().max().unwrap_or(0);
    }
}

impl Ftl {
    /// Retired blocks of a die.
    pub fn retired_blocks(&self, die: DieId) -> u32 {
        self.store.retired[die.index()]
    }

    /// The first die that could not spare a worn-out block, if there was one. The drive works on, and goes on using that block; whoever runs it
    /// decides that this is its end.
    pub fn worn_out_die(&self) -> Option<DieId> {
        self.worn_out
    }

    /// Moves the wear of all blocks of a drive at rest by as much as brings its mean to `wear`, and the erases to a mean of `cycles`: what their wear differs
    /// by stays. Before the drive is adopted, because what waits for a block to be emptied knows the block by its erases.
    pub fn shift_wear(&mut self, wear: f64, cycles: f64) {
        let blocks = self.store.wear.len() as f64;
        let shift = |values: &mut [u32], mean: f64| {
            let known = values.iter().map(|value| f64::from(*value)).sum::<f64>() / blocks;
            let by = (mean - known).round() as i64;
            values.iter_mut().for_each(|value| *value = u32::try_from((i64::from(*value) + by).max(0)).unwrap_or(u32::MAX));
        };
        shift(&mut self.store.wear, wear * 1000.0);
        shift(&mut self.store.erase_counts, cycles);
        self.store.recount_wear();
    }

    /// An erase outside time is done: the block is free.
    pub(crate) fn end_erase(&mut self, block: BlockId, mode: ModeId) {
        self.retention.erased(&self.store, block);
        let wear = self.parameters.wear_of_erase(mode, self.store.wear_thousandths(block));
        self.store.end_erase(block, mode, wear);
        self.space.put_free(&self.store, block, &*self.wear_rule);
    }

    /// An erase is done: the block is free, or, if it is worn out, retired.
    pub(crate) fn end_timed_erase(&mut self, block: BlockId, mode: ModeId) {
        self.retention.erased(&self.store, block);
        let worn_before = self.store.wear_thousandths(block);
        self.store.end_erase(block, mode, self.parameters.wear_of_erase(mode, worn_before));
        let is_worn_out = self.parameters.retire_at.is_some_and(|limit| self.store.wear_thousandths(block) >= limit);
        if is_worn_out && self.can_spare(self.store.geometry.die_of(block)) {
            self.store.retire(block);
        } else {
            self.space.put_free(&self.store, block, &*self.wear_rule);
        }
    }

    /// Whether a die can do without the block that was just erased. Not if too few were left for its share of the data, its write frontiers and its reserve: then
    /// it is worn out. And not while it has no other free block, since a collection begins with one: then the block is used once more.
    fn can_spare(&mut self, die: DieId) -> bool {
        let geometry = &self.store.geometry;
        let streams = most_streams(self.parameters.facts.write_modes.len(), self.needs.host_streams);
        let [.., needed] = self.config.blocks_needed(geometry, streams);
        let left = u64::from(geometry.blocks_per_die - self.retired_blocks(die));
        if left <= needed {
            self.worn_out = self.worn_out.or(Some(die));
            return false;
        }
        self.space.free_blocks(die) > 0
    }
}
