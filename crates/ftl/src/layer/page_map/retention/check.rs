//! Checks of the retention deadlines of a saved drive.

use super::{Due, Retention, RetentionImage};
use crate::medium::Medium;
use kit::archive::{Archived, require};
use kit::{BlockId, DieId, SimTime};

impl RetentionImage {
    /// Checks the deadlines of a drive with the limits of `own`: each names a block of the drive and an instant, and
    /// the numbers of blocks with a limit are those of the blocks.
    pub fn check(&self, own: &Retention, medium: &Medium) -> Archived {
        let fits = (self.limited.len(), self.background.len()) == (own.limited.len(), own.background.len());
        require(fits, || "its retention limits are not those of this drive".to_owned())?;
        let modes = own.limits.len().max(1);
        let of_dies = self.limited.iter().enumerate().flat_map(|(place, queues)| {
            let blocks = medium.geometry.blocks_of(DieId((place / modes) as u32));
            queues.iter().flatten().map(move |due| (due, blocks.clone()))
        });
        let of_modes = self.background.iter().flatten().map(|due| (due, 0..medium.geometry.block_count));
        for (&Due { block, erase_count, at }, blocks) in of_dies.chain(of_modes) {
            require(blocks.contains(&block.0) && at < SimTime::FOREVER, || {
                format!("block {} is due at {} ns: it is on another die, or there is no such instant", block.0, at.0)
            })?;
            require(erase_count <= medium.erase_count(block), || {
                let erases = medium.erase_count(block);
                format!("block {} is due after {erase_count} erases, and has been erased {erases} times", block.0)
            })?;
        }
        let mut owed = vec![0; own.owed.len()];
        for block in (0..medium.geometry.block_count).map(BlockId) {
            let record = medium.block(block);
            let is_limited = own.limits.get(usize::from(record.mode())).is_some_and(|classes| !classes.is_empty());
            if is_limited && !record.state().is_unused() {
                owed[own.place(medium, block, record.mode())] += 1;
            }
        }
        require(owed == self.owed, || {
            let index = owed.iter().zip(&self.owed).position(|(there, claimed)| there != claimed).unwrap_or(0);
            let (die, mode) = (index / modes, index % modes);
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
