//! Power failure, and what is found when power is back.

use super::*;
use crate::policy::Backup;

impl Ftl {
    /// Power fails on a drive at rest: the policy loses what it cannot save. The map and what the policy declared are taken to be saved \[A\].
    pub fn power_fails(&mut self, now: SimTime, out: &Outbox) -> Option<Backup> {
        self.call_policy(now, &out.signals, |policy, view| policy.power_fails(view))
    }

    /// Power is back: all dies look for work. Blocks whose limit has passed meanwhile are moved like all others that are due; that they are late is not counted
    /// again.
    pub fn power_is_back(&mut self, now: SimTime, out: &mut Outbox) {
        self.retention.power_is_back(now);
        (0..self.store.geometry.die_count).for_each(|die| out.mark_ready(DieId(die)));
    }

    /// Blocks with data that has been kept for longer than its limit.
    pub fn blocks_past_limit(&self, now: SimTime) -> impl Iterator<Item = BlockId> + '_ {
        let now = i64::try_from(now.0).unwrap_or(i64::MAX);
        let with_data = (0..self.store.geometry.block_count).map(BlockId).filter(|&block| self.store.block(block).valid > 0);
        with_data.filter(move |&block| self.retention_limit(block).is_some_and(|limit| now > limit))
    }

    /// Units in them.
    pub fn units_past_limit(&self, now: SimTime) -> u64 {
        self.blocks_past_limit(now).map(|block| u64::from(self.store.block(block).valid)).sum()
    }

    /// The instant up to which the data of a block that is not free keeps its promise, by the mode it was written in and the age of its first page
    /// \[ns; negative: before the run\]; `None` without limit.
    fn retention_limit(&self, block: BlockId) -> Option<i64> {
        self.retention.limit_of(&self.store, block)
    }
}
