//! State of stored data that matters only where reads can fail: the reads of each block, the write mode of each program
//! where a block holds several, and the places whose data is lost.

use kit::{BlockId, Geometry, ModeId, Ppn};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Integrity of the data on flash.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Integrity {
    /// Reads of each block since its last erase.
    reads: Vec<u32>,
    /// Write mode of each program since the start of the run, if a block holds data of several modes; otherwise empty.
    modes: Vec<u8>,
    /// Places with data that could not be corrected when it was read to be moved or completed, and the places to which
    /// it went. It is lost until the logical unit is written again.
    lost: BTreeSet<u32>,
}

/// Mode of a program that was made before the run: that of its block.
const AS_BLOCK: u8 = u8::MAX;

impl Integrity {
    /// Returns the state of a drive whose data is intact. `by_program`: a block holds data of several write modes.
    pub fn new(geometry: &Geometry, by_program: bool) -> Integrity {
        let programs = if by_program { geometry.unit_count() / u64::from(geometry.units_per_program) } else { 0 };
        Integrity {
            reads: vec![0; geometry.block_count as usize],
            modes: vec![AS_BLOCK; programs as usize],
            lost: BTreeSet::new(),
        }
    }

    /// Takes over the state of a saved drive of the same shape. Where this drive tells the modes of programs apart and
    /// the other one does not, or the reverse, programs have the modes of their blocks. Returns false if the shapes
    /// differ.
    pub fn take_over(&mut self, saved: Integrity) -> bool {
        let fits = saved.reads.len() == self.reads.len();
        if fits {
            (self.reads, self.lost) = (saved.reads, saved.lost);
            if saved.modes.len() == self.modes.len() {
                self.modes = saved.modes;
            }
        }
        fits
    }

    /// Counts a read of a block. Returns the number of reads before it.
    #[inline]
    pub fn count_read(&mut self, block: BlockId) -> u32 {
        let reads = &mut self.reads[block.index()];
        let before = *reads;
        *reads = before.saturating_add(1);
        before
    }

    /// Returns the number of reads of a block since its last erase.
    pub fn reads(&self, block: BlockId) -> u32 {
        self.reads[block.index()]
    }

    /// Returns the write mode of the data at a place, if it is not known from its block.
    #[inline]
    pub fn mode(&self, ppn: Ppn, geometry: &Geometry) -> Option<ModeId> {
        let mode = *self.modes.get((ppn.0 / geometry.units_per_program) as usize)?;
        (mode != AS_BLOCK).then_some(ModeId(mode))
    }

    /// Records the write mode of a program that begins at `first`.
    pub fn programmed(&mut self, first: Ppn, mode: ModeId, geometry: &Geometry) {
        if let Some(known) = self.modes.get_mut((first.0 / geometry.units_per_program) as usize) {
            *known = mode.0;
        }
    }

    /// Handles the erase of a block.
    pub fn erased(&mut self, block: BlockId, geometry: &Geometry) {
        self.reads[block.index()] = 0;
        let first = geometry.first_of(block).0;
        let places: Vec<u32> = self.lost.range(first..first + geometry.units_per_block).copied().collect();
        for place in places {
            self.lost.remove(&place);
        }
    }

    /// Records that the data at a place is lost.
    pub fn lose(&mut self, ppn: Ppn) {
        self.lost.insert(ppn.0);
    }

    /// Returns true if the data at a place is lost.
    #[inline]
    pub fn is_lost(&self, ppn: Ppn) -> bool {
        !self.lost.is_empty() && self.lost.contains(&ppn.0)
    }

    /// Handles a move of data: lost data stays lost.
    #[inline]
    pub fn moved(&mut self, from: Ppn, to: Ppn) {
        if self.is_lost(from) {
            self.lost.insert(to.0);
        }
    }

    /// Returns the number of places whose data is lost.
    pub fn lost_places(&self) -> usize {
        self.lost.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::tests::geometry;

    /// Lost data follows its moves, and is forgotten with the erase of its block alone.
    #[test]
    fn lost_data_stays_lost_where_it_goes() {
        let geometry = geometry(1, 1, 3, 4, 1);
        let mut integrity = Integrity::new(&geometry, false);
        let place = |block: u32, unit: u32| Ppn(geometry.first_of(BlockId(block)).0 + unit);
        integrity.lose(place(0, 3));
        integrity.moved(place(0, 2), place(1, 0));
        integrity.moved(place(0, 3), place(1, 1));
        assert_eq!([(0, 2), (0, 3), (1, 0), (1, 1)].map(|(b, u)| integrity.is_lost(place(b, u))), [false, true, false, true]);
        integrity.erased(BlockId(0), &geometry);
        assert!(!integrity.is_lost(place(0, 3)) && integrity.is_lost(place(1, 1)));
        assert_eq!(integrity.lost_places(), 1);
        integrity.erased(BlockId(2), &geometry);
        integrity.erased(BlockId(1), &geometry);
        assert_eq!(integrity.lost_places(), 0);
    }

    #[test]
    fn reads_are_counted_from_the_erase() {
        let geometry = geometry(1, 1, 3, 4, 1);
        let mut integrity = Integrity::new(&geometry, false);
        assert_eq!([1, 1, 2].map(|block| integrity.count_read(BlockId(block))), [0, 1, 0]);
        integrity.erased(BlockId(1), &geometry);
        assert_eq!([0, 1, 2].map(|block| integrity.reads(BlockId(block))), [0, 0, 1]);
    }

    /// A program of the run has its own mode; one from before the run has that of its block.
    #[test]
    fn programs_have_modes_of_their_own_where_blocks_are_mixed() {
        let geometry = geometry(1, 1, 3, 4, 2);
        let first = Ppn(geometry.first_of(BlockId(1)).0 + 2);
        for (by_program, expected) in [(true, Some(ModeId(3))), (false, None)] {
            let mut integrity = Integrity::new(&geometry, by_program);
            integrity.programmed(first, ModeId(3), &geometry);
            assert_eq!(integrity.mode(Ppn(first.0 + 1), &geometry), expected);
            assert_eq!(integrity.mode(Ppn(first.0 - 1), &geometry), None);
        }
    }
}
