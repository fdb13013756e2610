//! Wear and end of life: wear of an erase, and retirement of worn-out blocks.

use crate::layer::page_map::ftl::Ftl;
use crate::parameters::Parameters;
use crate::policy::Needs;
use kit::{BlockId, DieId, Ended, ModeId, Operation, Outbox, Outcome, effective_wear_class};

/// Returns the largest number of write frontiers that can be open on a die (per group of planes, where planes take
/// turns program by program): those of relocations in each of `write_modes`, and the policy's host streams, counted as
/// two at least.
pub fn max_streams_per_die(write_modes: usize, needs: &Needs) -> u32 {
    (write_modes * needs.relocation_frontiers()) as u32 + u32::from(needs.host_streams.max(2))
}

impl Parameters {
    /// Returns the wear of an erase in `mode` of a block whose effective wear is `thousandths`; both in thousandths of
    /// a nominal erase.
    pub fn wear_of_erase(&self, mode: ModeId, thousandths: u32) -> u32 {
        let classes = &self.erase_wear[mode.index()];
        classes[effective_wear_class(thousandths, self.rated_pe_cycles, classes.len())]
    }
}

impl Ftl {
    /// Shifts the effective wear of all blocks of a drive at rest so that its mean becomes `wear` (in nominal erases),
    /// and the erase counts so that their mean becomes `cycles`. Differences between blocks are kept, except that no
    /// value falls below zero. Must be called before the drive is adopted, because queued retention deadlines identify
    /// a block by its erase count.
    pub fn shift_wear(&mut self, wear: f64, cycles: f64) {
        let blocks = self.state.store.medium.wear.len() as f64;
        let shift = |values: &mut [u32], mean: f64| {
            let known = values.iter().map(|value| f64::from(*value)).sum::<f64>() / blocks;
            let by = (mean - known).round() as i64;
            values.iter_mut().for_each(|value| *value = u32::try_from((i64::from(*value) + by).max(0)).unwrap_or(u32::MAX));
        };
        shift(&mut self.state.store.medium.wear, wear * 1000.0);
        shift(&mut self.state.store.medium.erase_counts, cycles);
        self.state.store.medium.recount_wear();
    }

    /// Completes an erase during preconditioning, which takes no simulated time: the block becomes free.
    pub(crate) fn end_erase(&mut self, block: BlockId, mode: ModeId) {
        self.state.retention.erased(&self.state.store.medium, block);
        let wear = self.derived.parameters.wear_of_erase(mode, self.state.store.medium.wear_thousandths(block));
        self.state.store.medium.end_erase(block, mode, wear);
        self.state.space.put_free(&self.state.store.medium, block, &*self.derived.wear_rule);
    }

    /// Completes an erase: the block becomes free, or is retired if it is worn out and the die can spare it. A spare
    /// block takes its place, if the die has one.
    pub(crate) fn end_timed_erase(&mut self, ended: Ended, operation: &Operation, out: &mut Outbox) {
        let block = self.state.store.medium.geometry.block_of(operation.first);
        self.state.retention.erased(&self.state.store.medium, block);
        let worn_before = self.state.store.medium.wear_thousandths(block);
        let wear = self.derived.parameters.wear_of_erase(operation.mode, worn_before);
        self.state.store.medium.erase_done(ended, operation, wear, out);
        if let Some(metadata) = &mut self.state.metadata {
            metadata.erased(block);
        }
        if ended.outcome != Outcome::Done {
            return self.erase_failed(block);
        }
        if self.is_worn_out(block) && self.can_spare(self.state.store.medium.geometry.die_of(block)) {
            self.state.store.medium.retire(block);
            self.take_spare_block(self.state.store.medium.geometry.die_of(block));
        } else {
            self.state.space.put_free(&self.state.store.medium, block, &*self.derived.wear_rule);
        }
    }

    /// Returns true if the wear of a block has reached the limit at which it is retired.
    pub(super) fn is_worn_out(&self, block: BlockId) -> bool {
        self.derived.parameters.retire_at.is_some_and(|limit| self.state.store.medium.wear_thousandths(block) >= limit)
    }

    /// Returns true if a die can do without the block that was just erased. It cannot if the remaining blocks would not
    /// suffice for its share of the data, the blocks it keeps free and its write frontiers, or those of all dies for
    /// the data of a lost one, too: then the die is worn out.
    /// Nor can it while it has no other free block, because a collection needs one to begin with: then the block is
    /// used once more.
    pub(super) fn can_spare(&mut self, die: DieId) -> bool {
        let geometry = &self.state.store.medium.geometry;
        let streams = max_streams_per_die(self.derived.parameters.facts.write_modes.len(), &self.derived.needs);
        let [.., needed] = self.derived.config.blocks_needed(geometry, self.state.store.user_units, streams);
        let left = u64::from(geometry.blocks_per_die - self.state.store.medium.retired_blocks(die));
        if left <= needed || self.state.repairs.health.dies_lost > 0 && self.is_too_small(1) {
            self.state.worn_out = self.state.worn_out.or(Some(die));
            return false;
        }
        self.state.space.free_blocks(die) > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::mapping::Mapping;
    use crate::layer::page_map::ftl::tests::small;
    use crate::medium::BlockState;
    use crate::medium::tests::geometry;

    const DIE: DieId = DieId(0);

    /// Returns an FTL of one die of 20 blocks, of which user data, free blocks and frontiers need 17.
    fn ftl(retire_at: u32) -> Ftl {
        small(geometry(1, 1, 20, 4, 1), |_, parameters| parameters.retire_at = Some(retire_at))
    }

    /// Writes the next free block and erases it. Returns its state afterwards.
    fn cycle(ftl: &mut Ftl) -> (BlockId, BlockState) {
        let target = crate::medium::space::Target {
            die: DIE,
            stream: 0,
            mode: ModeId(0),
            class: crate::medium::space::AllocationClass::Relocation,
            plane: None,
            level: 0,
        };
        let place = ftl.state.space.advance(&mut ftl.state.store.medium, &target, 4, kit::SimTime(0)).expect("a block is free");
        let block = ftl.state.store.medium.geometry.block_of(place);
        ftl.state.space.close_full(&mut ftl.state.store.medium, DIE, 0);
        ftl.state.store.medium.take_victim(block);
        ftl.state.store.medium.begin_erase(block);
        let erase = ftl.state.store.medium.erase_of(block, kit::Reason::Gc);
        ftl.end_timed_erase(Ended::read(0), &erase, &mut Outbox::new(1, 1));
        (block, ftl.state.store.medium.block(block).state())
    }

    /// A block is retired by the erase that brings its wear to the limit, and by none before; three blocks can be
    /// spared. Then the die is worn out, and goes on with the blocks it has.
    #[test]
    fn worn_blocks_are_retired_while_the_die_can_spare_them() {
        for limit in [2000, 2001] {
            let mut ftl = ftl(limit);
            let erases = limit.div_ceil(1000);
            let (mut retired, mut worn_out) = (0, false);
            for number in 0..4 * erases * 20 {
                let (block, state) = cycle(&mut ftl);
                let worn = ftl.state.store.medium.wear_thousandths(block) >= limit;
                assert_eq!(worn, ftl.state.store.medium.erase_count(block) >= erases);
                assert_eq!(state == BlockState::Retired, worn && retired < 3, "limit {limit}, erase {number}");
                worn_out |= worn && retired == 3;
                assert_eq!(ftl.worn_out_die().is_some(), worn_out, "limit {limit}, erase {number}");
                retired += u32::from(state == BlockState::Retired);
                assert_eq!(
                    (ftl.state.store.medium.retired_blocks(DIE), ftl.state.space.free_blocks(DIE)),
                    (retired, 20 - retired)
                );
            }
            assert_eq!((retired, ftl.worn_out_die()), (3, Some(DIE)));
            assert_eq!(ftl.state.store.medium.erase_total(), u64::from(4 * erases * 20));
        }
    }

    /// The free blocks become fewer only once no spare block is left.
    #[test]
    fn spare_blocks_take_the_place_of_worn_ones() {
        let mut ftl = ftl(1000);
        ftl.begin_with_bad_blocks(&[], 2);
        for (free, spares_used) in [(18, 1), (18, 2), (17, 2)] {
            assert_eq!(cycle(&mut ftl).1, BlockState::Retired);
            assert_eq!((ftl.state.space.free_blocks(DIE), ftl.health().spares_used), (free, spares_used));
        }
        assert_eq!((cycle(&mut ftl).1, ftl.worn_out_die()), (BlockState::Free, Some(DIE)));
    }

    /// Without another free block a collection could not begin: the block is used once more, and its die is not worn
    /// out.
    #[test]
    fn the_last_free_block_is_not_retired() {
        let mut ftl = ftl(1000);
        let blocks: Vec<Option<BlockId>> = (0..19).map(|_| ftl.state.space.take_for_lazy_erase(DIE, 0)).collect();
        // Blocks that are taken for a lazy erase still count as free: they are counted out by a restored state.
        let image = ftl.state.space.image();
        ftl.state.space.restore(image).expect("it is of the same shape");
        assert_eq!((blocks.len(), ftl.state.space.free_blocks(DIE)), (19, 1));
        assert_eq!(cycle(&mut ftl), (BlockId(19), BlockState::Free));
        assert_eq!((ftl.state.store.medium.retired_blocks(DIE), ftl.worn_out_die()), (0, None));
        ftl.state.space.put_free(&ftl.state.store.medium, BlockId(0), &*ftl.derived.wear_rule);
        assert_eq!(cycle(&mut ftl), (BlockId(19), BlockState::Retired));
    }

    /// The means become those requested, and differences between blocks are kept, but no value falls below zero.
    #[test]
    fn shifted_wear_keeps_the_differences() {
        let mut ftl = ftl(u32::MAX);
        for block in 0..20 {
            (ftl.state.store.medium.wear[block], ftl.state.store.medium.erase_counts[block]) =
                (block as u32 * 100 + 50, block as u32);
        }
        ftl.shift_wear(3.0, 29.5);
        assert_eq!(
            (0..20).map(|block| ftl.state.store.medium.wear[block]).collect::<Vec<_>>(),
            (0..20).map(|b| 2050 + 100 * b).collect::<Vec<_>>()
        );
        assert_eq!((ftl.state.store.medium.erase_counts[0], ftl.state.store.medium.erase_counts[19]), (20, 39));
        assert_eq!(
            (ftl.state.store.medium.wear_total(), ftl.state.store.medium.wear_most(), ftl.state.store.medium.erase_total()),
            (60_000, 3950, 590)
        );
        ftl.shift_wear(0.5, 0.0);
        assert_eq!(
            (ftl.state.store.medium.wear[0], ftl.state.store.medium.wear[19], ftl.state.store.medium.erase_counts[0]),
            (0, 1450, 0)
        );
    }
}
