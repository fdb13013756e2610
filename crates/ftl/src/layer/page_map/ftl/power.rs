//! Power failure and the return of power.

use super::*;
use crate::policy::Backup;

impl Ftl {
    /// Handles a power failure of a drive at rest: the policy loses the volatile state that it cannot save. The map and
    /// the state that the policy declared are assumed to be saved \[A\].
    pub fn power_fails(&mut self, now: SimTime, signals: &Signals) -> Option<Backup> {
        if let Some(cache) = &mut self.cache {
            cache.clear();
        }
        if let Some(cache) = &mut self.map_cache {
            cache.forget_clean();
        }
        self.call_policy(now, signals, |policy, view| policy.power_fails(view))
    }

    /// Handles the return of power: all dies look for work. Blocks whose limit has passed in the meantime are moved
    /// like all others that are due; their lateness does not count as a miss.
    pub fn power_is_back(&mut self, now: SimTime, ready: &mut ReadyDies) {
        self.retention.power_is_back(now);
        ready.mark_all();
    }

    /// Returns the blocks with data that has been kept beyond its retention limit.
    pub fn blocks_past_limit(&self, now: SimTime) -> impl Iterator<Item = BlockId> + '_ {
        let now = i64::try_from(now.0).unwrap_or(i64::MAX);
        let with_data =
            (0..self.store.medium.geometry.block_count).map(BlockId).filter(|&block| self.store.medium.block(block).valid > 0);
        with_data.filter(move |&block| self.retention_limit(block).is_some_and(|limit| now > limit))
    }

    /// Returns the number of valid units in the blocks past their retention limit ([`Ftl::blocks_past_limit`]).
    pub fn units_past_limit(&self, now: SimTime) -> u64 {
        self.blocks_past_limit(now).map(|block| u64::from(self.store.medium.block(block).valid)).sum()
    }

    /// Returns the retention limit of a block that is not free, from the mode in which it was written and the age of
    /// its first page \[ns; negative: before the run\]; `None` without limit.
    fn retention_limit(&self, block: BlockId) -> Option<i64> {
        self.retention.limit_of(&self.store.medium, block)
    }
}
