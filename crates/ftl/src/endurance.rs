//! Wear and end of life: wear of an erase, wear totals, and retirement of worn-out blocks.

use crate::ftl::{Ftl, Parameters};
use crate::map::Store;
use kit::{BlockId, DieId, ModeId, effective_wear_class};

/// Returns the largest number of write frontiers that can be open on a die (per group of planes, where planes take
/// turns program by program): one for relocations in each of `write_modes`, and the policy's `host_streams`, counted as
/// two at least.
pub fn max_streams_per_die(write_modes: usize, host_streams: u8) -> u32 {
    write_modes as u32 + u32::from(host_streams.max(2))
}

impl Parameters {
    /// Returns the wear of an erase in `mode` of a block whose effective wear is `thousandths`; both in thousandths of
    /// a nominal erase.
    pub fn wear_of_erase(&self, mode: ModeId, thousandths: u32) -> u32 {
        let classes = &self.erase_wear[mode.index()];
        classes[effective_wear_class(thousandths, self.rated_pe_cycles, classes.len())]
    }
}

impl Store {
    /// Returns the total number of erases of all blocks.
    pub fn erase_total(&self) -> u64 {
        self.erase_total
    }

    /// Returns the sum of the blocks' effective wear, in thousandths of a nominal erase.
    pub fn wear_total(&self) -> u64 {
        self.wear_total
    }

    /// Returns the effective wear of the most worn block, in thousandths of a nominal erase.
    pub fn wear_most(&self) -> u32 {
        self.wear_most
    }

    /// Adds to the effective wear of a block and updates the totals.
    pub(crate) fn add_wear(&mut self, block: BlockId, thousandths: u32) {
        let wear = &mut self.wear[block.index()];
        let before = *wear;
        // Saturates at about four million nominal erases, beyond any rating.
        *wear = before.saturating_add(thousandths);
        self.wear_total += u64::from(*wear - before);
        self.wear_most = self.wear_most.max(*wear);
    }

    /// Recomputes the totals after counts and wear were set block by block.
    pub(crate) fn recount_wear(&mut self) {
        self.erase_total = self.erase_counts.iter().map(|count| u64::from(*count)).sum();
        self.wear_total = self.wear.iter().map(|wear| u64::from(*wear)).sum();
        self.wear_most = self.wear.iter().copied().max().unwrap_or(0);
    }
}

impl Ftl {
    /// Returns the number of retired blocks of a die.
    pub fn retired_blocks(&self, die: DieId) -> u32 {
        self.store.retired[die.index()]
    }

    /// Returns the first die that could not do without a worn-out block, if any. The drive continues to work and to use
    /// that block; the caller decides that this is the end of its life.
    pub fn worn_out_die(&self) -> Option<DieId> {
        self.worn_out
    }

    /// Shifts the effective wear of all blocks of a drive at rest so that its mean becomes `wear` (in nominal erases),
    /// and the erase counts so that their mean becomes `cycles`. Differences between blocks are kept, except that no
    /// value falls below zero. Must be called before the drive is adopted, because queued retention deadlines identify
    /// a block by its erase count.
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

    /// Completes an erase during preconditioning, which takes no simulated time: the block becomes free.
    pub(crate) fn end_erase(&mut self, block: BlockId, mode: ModeId) {
        self.retention.erased(&self.store, block);
        let wear = self.parameters.wear_of_erase(mode, self.store.wear_thousandths(block));
        self.store.end_erase(block, mode, wear);
        self.space.put_free(&self.store, block, &*self.wear_rule);
    }

    /// Completes an erase: the block becomes free, or is retired if it is worn out and the die can spare it.
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

    /// Returns true if a die can do without the block that was just erased. It cannot if the remaining blocks would not
    /// suffice for its share of the data, the blocks it keeps free and its write frontiers: then the die is worn out.
    /// Nor can it while it has no other free block, because a collection needs one to begin with: then the block is
    /// used once more.
    fn can_spare(&mut self, die: DieId) -> bool {
        let geometry = &self.store.geometry;
        let streams = max_streams_per_die(self.parameters.facts.write_modes.len(), self.needs.host_streams);
        let [.., needed] = self.config.blocks_needed(geometry, streams);
        let left = u64::from(geometry.blocks_per_die - self.retired_blocks(die));
        if left <= needed {
            self.worn_out = self.worn_out.or(Some(die));
            return false;
        }
        self.space.free_blocks(die) > 0
    }
}
