//! Data that a read could not correct, restored from the other blocks of its set and their parity.

use super::*;
use crate::medium::rain::Stage;

impl Ftl {
    /// Returns the reads from which parity restores what the read `failed` could not correct, as operations of `owner`:
    /// the same units of the other blocks of the set. There are none if the controller holds all of it. Returns `None`
    /// if the data is in no set, or in a row without parity.
    ///
    /// The read that has failed keeps its block pinned. Since the blocks of a set are erased together, none of the
    /// others is erased meanwhile.
    pub fn restoring_reads(&self, failed: &Operation, places: &[Ppn], owner: Owner) -> Option<Vec<Operation>> {
        let rain = self.state.rain.as_deref()?;
        let medium = &self.state.store.medium;
        let geometry = &medium.geometry;
        let (first, last) = (*places.iter().min()?, *places.iter().max()?);
        if first.0 == NO_PLACE {
            return None;
        }
        let (block, unit) = geometry.split(first);
        let set = rain.set(medium.set_of(block)?);
        let row = geometry.program_of(unit);
        let is_written = |block: &BlockId| u32::from(medium.block(*block).programmed) > row;
        let parity = set.parity().filter(|_| set.parity_rows(medium) > row);
        // Until it is written, the parity of a row is in the memory of the controller, as is all data in flight.
        let is_in_memory = set.stage == Stage::Writing || set.keeps_parity;
        if parity.is_none() && !is_in_memory || Some(block) == set.parity() {
            return None;
        }
        let sources: Vec<BlockId> = set.data().filter(|other| *other != block && is_written(other)).chain(parity).collect();
        if sources.iter().any(|&source| self.is_lost(geometry.die_of(source))) {
            return None;
        }
        let units = last.0 - first.0 + 1;
        let pages = geometry.page_of(unit + units - 1) - geometry.page_of(unit) + 1;
        let read = |source: BlockId| {
            let mode = self.derived.read_modes[usize::from(medium.block(source).mode()) % 16];
            let first = Ppn(geometry.first_of(source).0 + unit);
            Operation { units, pages, ..medium.read_at(first, mode, failed.reason, owner) }
        };
        Some(sources.into_iter().map(read).collect())
    }

    /// Returns true if parity can restore the data at a place.
    pub(super) fn can_restore(&self, ppn: Ppn) -> bool {
        let read = self.state.store.medium.read_at(ppn, ModeId(0), Reason::Host, Owner::Scan);
        self.state.rain.is_some() && self.restoring_reads(&read, &[ppn], Owner::Scan).is_some()
    }

    /// Counts data that has been restored by a number of reads.
    pub fn count_restored(&mut self, reads: u64) {
        let health = &mut self.state.repairs.health;
        health.reads_restored += 1;
        health.restoring_reads += reads;
    }
}
