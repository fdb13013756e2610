//! Family: victim choice. A member selects the closed block of a die that is collected next.

pub mod cost_benefit;
pub mod d_choices;
pub mod fifo;
pub mod greedy;
pub mod random;
pub mod windowed_greedy;

use crate::map::Store;
use kit::{BlockId, DieId, ModeId, Rng, SimTime};

/// Information available to a victim rule.
pub struct Candidates<'a> {
    /// State of the data.
    pub store: &'a Store,
    /// The die that collects.
    pub die: DieId,
    /// Current instant.
    pub now: SimTime,
    /// Number of write modes in the table.
    pub mode_count: u8,
    /// Stream of random numbers for collection.
    pub rng: &'a mut Rng,
}

impl Candidates<'_> {
    /// Returns the closed block with the fewest valid units, whatever its mode.
    pub fn least_valid(&self) -> Option<BlockId> {
        (0..self.mode_count)
            .filter_map(|mode| self.store.least_valid(self.die, ModeId(mode)))
            .min_by_key(|(block, valid)| (*valid, *block))
            .map(|(block, _)| block)
    }

    /// Returns true if collecting the block would free space.
    pub fn would_free_space(&self, block: BlockId) -> bool {
        u32::from(self.store.block(block).valid) <= self.store.max_valid_to_collect()
    }

    /// Draws a closed block; all have the same probability.
    pub fn any(&mut self) -> Option<BlockId> {
        if self.store.closed_count(self.die) == 0 {
            return None;
        }
        let blocks = self.store.geometry.blocks_of(self.die);
        let count = u64::from(blocks.end - blocks.start);
        // Most blocks are closed, so a draw or two suffice as a rule. The linear search below bounds the work.
        for _ in 0..64 {
            let block = BlockId(blocks.start + self.rng.below(count) as u32);
            if self.is_closed(block) {
                return Some(block);
            }
        }
        let start = self.rng.below(count);
        (0..count).map(|step| BlockId(blocks.start + ((start + step) % count) as u32)).find(|&block| self.is_closed(block))
    }

    fn is_closed(&self, block: BlockId) -> bool {
        self.store.block(block).state() == crate::block::BlockState::Closed
    }
}

/// The contract of victim choice.
pub trait Victim: Send {
    /// Returns the block to collect, or `None` if collecting now would free nothing.
    fn choose(&mut self, candidates: &mut Candidates<'_>) -> Option<BlockId>;
}

kit::family! {
    /// Choice of the victim block of a collection.
    VictimConfig: () => dyn Victim {
        Greedy = greedy,
        CostBenefit = cost_benefit,
        DChoices = d_choices,
        Fifo = fifo,
        WindowedGreedy = windowed_greedy,
        Random = random,
    }
}
