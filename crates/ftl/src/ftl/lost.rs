//! Reads that can fail: the condition of stored data, and data that is lost.

use super::*;
use kit::{Nanos, Stored};

impl Ftl {
    /// Returns the condition of the data at a place, and counts a read of its block. Only where reads can fail.
    #[inline]
    pub fn stored(&mut self, ppn: Ppn, now: SimTime) -> Stored {
        let block = self.store.geometry.block_of(ppn);
        let integrity = self.integrity.as_mut().expect("reads can fail");
        let reads = integrity.count_read(block);
        self.condition(ppn, block, reads, now)
    }

    /// Returns the condition of the data at a place, without a read. Only where reads can fail.
    pub fn stored_unread(&self, ppn: Ppn, now: SimTime) -> Stored {
        let block = self.store.geometry.block_of(ppn);
        let reads = self.integrity.as_ref().expect("reads can fail").reads(block);
        self.condition(ppn, block, reads, now)
    }

    #[inline]
    fn condition(&self, ppn: Ppn, block: BlockId, reads: u32, now: SimTime) -> Stored {
        let store = &self.store;
        let own_mode = self.integrity.as_ref().and_then(|integrity| integrity.mode(ppn, &store.geometry));
        let since = store.first_program(block);
        Stored {
            block,
            mode: own_mode.unwrap_or_else(|| ModeId(store.block(block).mode())),
            wear_thousandths: store.wear_thousandths(block),
            erase_count: store.erase_count(block),
            age: Nanos(i64::try_from(now.0).unwrap_or(i64::MAX).saturating_sub(since).max(0) as u64),
            reads,
        }
    }

    /// Returns the places that a read covers, if they are not successive: a collection reads the valid units of a row.
    #[inline]
    pub fn places_of(&self, operation: &Operation) -> Option<&[Ppn]> {
        match operation.owner {
            Owner::Collector => Some(&self.collectors[operation.die.index()].in_read),
            _ => None,
        }
    }

    /// Handles places that the read of `operation` could not correct. Data that was to be moved, or to complete a
    /// partial write, is lost from now on.
    pub fn read_failed(&mut self, operation: &Operation, places: &[Ppn], journal: &mut kit::Journal) {
        for &ppn in places {
            journal.note(|| Record::Uncorrectable { ppn, owner: operation.owner });
        }
        let integrity = self.integrity.as_mut().expect("reads can fail");
        match operation.owner {
            Owner::Collector | Owner::Page(_) => places.iter().for_each(|&ppn| integrity.lose(ppn)),
            Owner::PartialRead(slot) => self.writes.units[slot].lose(),
            Owner::Command(_) | Owner::ProgramUnit | Owner::FreeBlock | Owner::Retry(_) => {}
        }
    }

    /// Returns true if a read, which could be corrected, delivers data that was lost before. A partial write that it
    /// completes is lost, too.
    pub fn delivers_lost(&mut self, operation: &Operation) -> bool {
        let Some(integrity) = &self.integrity else { return false };
        let places = operation.first.0..operation.first.0 + operation.units;
        let is_lost = integrity.lost_places() > 0 && places.map(Ppn).any(|ppn| integrity.is_lost(ppn));
        if let (true, Owner::PartialRead(slot)) = (is_lost, operation.owner) {
            self.writes.units[slot].lose();
        }
        is_lost
    }

    /// Returns true if a source other than a flash read supplies data that is lost.
    pub(super) fn holds_lost(&self, source: ReadSource) -> bool {
        let Some(integrity) = &self.integrity else { return false };
        match source {
            ReadSource::Controller(ppn) => integrity.is_lost(ppn),
            ReadSource::Buffer(slot) => self.writes.units[slot].is_lost(),
            ReadSource::Unmapped | ReadSource::Flash(_) => false,
        }
    }

    /// Records that a unit whose data is lost is bound to a place.
    #[cold]
    pub(super) fn bound_lost(&mut self, ppn: Ppn) {
        self.integrity.as_mut().expect("reads can fail").lose(ppn);
    }

    /// Records the write mode of a program.
    // Out of line, like the next one: most drives have no errors.
    #[cold]
    pub(super) fn note_mode(&mut self, first: Ppn, mode: ModeId) {
        self.integrity.as_mut().expect("reads can fail").programmed(first, mode, &self.store.geometry);
    }

    /// Records a move of data.
    #[cold]
    pub(super) fn note_move(&mut self, from: Ppn, to: Ppn) {
        self.integrity.as_mut().expect("reads can fail").moved(from, to);
    }

    /// Returns the number of places whose data is lost; `None` where reads cannot fail.
    pub fn lost_places(&self) -> Option<usize> {
        self.integrity.as_ref().map(|integrity| integrity.lost_places())
    }
}
