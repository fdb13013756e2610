//! Checks of the retention deadlines of a saved drive.

use super::{Due, Retention, RetentionImage};
use crate::block::BlockState;
use crate::map::Store;
use kit::archive::{Archived, require};
use kit::{BlockId, SimTime};

impl RetentionImage {
    /// Checks the deadlines of a drive with the limits of `own`: each names a block of the drive and an instant, and
    /// the numbers of blocks with a limit are those of the blocks.
    pub fn check(&self, own: &Retention, store: &Store) -> Archived {
        let queues = self.classes.iter().flatten().chain(&self.background).flatten();
        for &Due { block, erase_count, at } in queues {
            require(block.0 < store.geometry.block_count && at < SimTime::FOREVER, || {
                format!("block {} is due at {} ns: the drive has no such block or no such instant", block.0, at.0)
            })?;
            require(erase_count <= store.erase_count(block), || {
                let erases = store.erase_count(block);
                format!("block {} is due after {erase_count} erases, and has been erased {erases} times", block.0)
            })?;
        }
        let mut owed = vec![0; own.owed.len()];
        for block in (0..store.geometry.block_count).map(BlockId) {
            let record = store.block(block);
            let is_limited = own.limits.get(usize::from(record.mode())).is_some_and(|classes| !classes.is_empty());
            if is_limited && !matches!(record.state(), BlockState::Free | BlockState::Retired) {
                owed[own.owed_index(store, block, record.mode())] += 1;
            }
        }
        require(owed == self.owed, || {
            let index = owed.iter().zip(&self.owed).position(|(there, claimed)| there != claimed).unwrap_or(0);
            let (die, mode) = (index / own.limits.len().max(1), index % own.limits.len().max(1));
            let claimed = self.owed.get(index);
            format!("die {die} has {} blocks with a limit in mode {mode}, and claims {claimed:?}", owed[index])
        })?;
        let is_pending = self.armed.is_none_or(|armed| self.timers.contains(&armed));
        require(is_pending, || "the timer of its retention limits is armed, and not pending".to_owned())
    }
}

impl Retention {
    /// Checks the pending timers: one for each instant that is noted.
    pub fn check_timers(&self, pending: impl Iterator<Item = SimTime>) -> Archived {
        let mut pending: Vec<SimTime> = pending.collect();
        pending.sort_unstable();
        require(pending.iter().eq(&self.timers), || {
            let noted = self.timers.len();
            format!("{} timers of retention limits are pending, and {noted} are noted, or at other instants", pending.len())
        })
    }
}
