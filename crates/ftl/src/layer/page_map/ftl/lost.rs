//! Reads that can fail: the condition of stored data, and data that is lost.

use super::*;

impl Ftl {
    /// Prefetches what [`Medium::stored`](crate::Medium::stored) will need of a block. Returns a value for
    /// [`Ftl::prefetched`].
    #[inline]
    pub fn look_ahead_stored(&self, block: BlockId) -> u32 {
        self.state.store.medium.integrity.as_ref().map_or(0, |integrity| integrity.reads(block))
    }

    /// Prefetches what [`Ftl::unit_at`] will need of the places of some units. Returns a value for [`Ftl::prefetched`].
    #[inline]
    pub fn look_ahead_units(&self, units: &[Lpn]) -> u32 {
        self.state.store.places.on_flash(units).fold(0, |loaded, place| loaded ^ self.state.store.places.load_unit(place))
    }

    /// Takes the values that were prefetched, so that the loads are not optimised away.
    pub fn prefetched(&mut self, loaded: u32) {
        self.scratch.sink ^= u64::from(loaded);
    }

    /// Returns the blocks of those of some units that are on flash.
    #[inline]
    pub fn blocks_of<'a>(&'a self, units: &'a [Lpn]) -> impl Iterator<Item = BlockId> + 'a {
        self.state.store.blocks_of(units)
    }

    /// Returns the places that a read covers, if they are not successive: a collection reads the valid units of a row.
    #[inline]
    pub fn places_of(&self, operation: &Operation) -> Option<&[Ppn]> {
        match operation.owner {
            Owner::Collector => Some(&self.state.collectors[operation.die.index()].in_read),
            _ => None,
        }
    }

    /// Handles places that the read of `operation` could not correct. Data that was to be moved, or to complete a
    /// partial write, is lost from now on.
    pub fn read_failed(&mut self, operation: &Operation, places: &[Ppn]) {
        let integrity = self.state.store.medium.integrity.as_mut().expect("reads can fail");
        match operation.owner {
            Owner::Collector | Owner::Page(_) => places.iter().for_each(|&ppn| integrity.lose(ppn)),
            Owner::PartialRead(slot) => self.state.writes.queue.units[slot].lose(),
            Owner::ReadAhead(read) => self.ahead_failed(read, places),
            Owner::Command(_) => self.read_uncorrected(places),
            // The map itself is never lost: its entries are also in the spare areas of the pages that they name.
            Owner::MapPage(_)
            | Owner::ProgramUnit
            | Owner::FreeBlock
            | Owner::Retry(_)
            | Owner::Scan
            | Owner::Restoration(_)
            | Owner::Journal => {}
        }
    }

    /// Returns true if the data at any place is lost.
    #[inline]
    pub fn has_lost(&self) -> bool {
        self.state.store.medium.integrity.as_ref().is_some_and(|integrity| integrity.lost_places() > 0)
    }

    /// Returns true if a read, which could be corrected, delivers data that was lost before. A partial write that it
    /// completes is lost, too.
    pub fn delivers_lost(&mut self, operation: &Operation) -> bool {
        let Some(integrity) = &self.state.store.medium.integrity else { return false };
        let places = operation.first.0..operation.first.0 + operation.units;
        let is_lost = integrity.lost_places() > 0 && places.map(Ppn).any(|ppn| integrity.is_lost(ppn));
        if let (true, Owner::PartialRead(slot)) = (is_lost, operation.owner) {
            self.state.writes.queue.units[slot].lose();
        }
        is_lost
    }

    /// Returns true if a source other than a flash read supplies data that is lost.
    pub(super) fn holds_lost(&self, source: ReadSource) -> bool {
        let Some(integrity) = &self.state.store.medium.integrity else { return false };
        match source {
            ReadSource::Controller(ppn) => integrity.is_lost(ppn),
            ReadSource::Buffer(slot) => self.state.writes.queue.units[slot].is_lost(),
            ReadSource::Unmapped | ReadSource::Flash(_) | ReadSource::Cache(_) => false,
        }
    }

    /// Records that a unit whose data is lost is bound to a place.
    #[cold]
    pub(super) fn bound_lost(&mut self, ppn: Ppn) {
        self.state.store.medium.integrity.as_mut().expect("reads can fail").lose(ppn);
    }

    /// Records the write mode of a program.
    // Out of line, like the next one: most drives have no errors.
    #[cold]
    pub(super) fn note_mode(&mut self, first: Ppn, mode: ModeId) {
        let medium = &mut self.state.store.medium;
        medium.integrity.as_mut().expect("reads can fail").programmed(first, mode, &medium.geometry);
    }

    /// Records a move of data.
    #[cold]
    pub(super) fn note_move(&mut self, from: Ppn, to: Ppn) {
        self.state.store.medium.integrity.as_mut().expect("reads can fail").moved(from, to);
    }
}
