//! Power failure and the return of power.

use super::*;
use crate::policy::Backup;

impl Ftl {
    /// Handles a power failure of a drive at rest: the policy loses the volatile state that it cannot save. The map and
    /// the state that the policy declared are assumed to be saved \[A\].
    pub fn power_fails(&mut self, now: SimTime, signals: &Signals) -> Option<Backup> {
        if let Some(cache) = &mut self.state.cache {
            cache.clear();
        }
        if let Some(cache) = &mut self.state.map_cache {
            cache.forget_clean();
        }
        self.call_policy(now, signals, |policy, view| policy.power_fails(view))
    }

    /// Handles the return of power: all dies look for work. Blocks whose limit has passed in the meantime are moved
    /// like all others that are due; their lateness does not count as a miss.
    pub fn power_is_back(&mut self, now: SimTime, ready: &mut ReadyDies) {
        self.state.retention.power_is_back(now);
        ready.mark_all();
    }
}
