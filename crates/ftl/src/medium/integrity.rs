//! State of stored data that matters only where reads can fail: the reads of each block, the write mode of each program
//! where a block holds several, and the places whose data is lost.

use crate::medium::Medium;
use kit::archive::{Archived, require};
use kit::{BlockId, Geometry, ModeId, Ppn};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Reads of a block since its last erase, and the facts of the block on which its errors depend, kept together since
/// its first read: they do not change until the next erase.
// Half a cache line: every read loads the history of a block.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[repr(align(32))]
struct BlockHistory {
    reads: u32,
    /// True if the facts are known.
    #[serde(skip)]
    is_known: bool,
    #[serde(skip)]
    facts: BlockFacts,
}

const _: () = assert!(size_of::<BlockHistory>() == 32);

/// Facts of a block that do not change from its first program to its erase.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockFacts {
    /// Instant of the first program \[ns; negative: before the run\].
    pub since: i64,
    /// Effective wear, in thousandths of a nominal erase.
    pub wear_thousandths: u32,
    /// Number of erases.
    pub erase_count: u32,
    /// Write mode of the block.
    pub mode: ModeId,
}

/// Integrity of the data on flash.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Integrity {
    /// Reads and facts of each block.
    blocks: Vec<BlockHistory>,
    /// Write mode of each program since the start of the run, if a block holds data of several modes; otherwise empty.
    modes: Vec<u8>,
    /// The write mode of all data, also where a read goes to a block that is free: under a layer without a map.
    #[serde(skip)]
    pub only_mode: Option<ModeId>,
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
            blocks: vec![BlockHistory::default(); geometry.block_count as usize],
            modes: vec![AS_BLOCK; programs as usize],
            only_mode: None,
            lost: BTreeSet::new(),
        }
    }

    /// Takes over the state of a saved drive of the same shape. Where this drive tells the modes of programs apart and
    /// the other one does not, or the reverse, programs have the modes of their blocks. Returns false if the shapes
    /// differ.
    pub fn take_over(&mut self, saved: Integrity) -> bool {
        let fits = saved.blocks.len() == self.blocks.len();
        if fits {
            (self.blocks, self.lost) = (saved.blocks, saved.lost);
            if saved.modes.len() == self.modes.len() {
                self.modes = saved.modes;
            }
        }
        fits
    }

    /// Checks the state of a saved drive.
    pub fn check(&self, medium: &Medium, modes: usize) -> Archived {
        let (blocks, programs) = (self.blocks.len(), self.modes.len());
        let geometry = &medium.geometry;
        let all = geometry.unit_count() / u64::from(geometry.units_per_program);
        require(blocks == geometry.block_count as usize && [0, all].contains(&(programs as u64)), || {
            format!(
                "it counts reads of {blocks} blocks and keeps the modes of {programs} programs, which are not those of this drive"
            )
        })?;
        let known = |mode: &u8| usize::from(*mode) < modes || *mode == AS_BLOCK;
        require(self.modes.iter().all(known), || "a program has a write mode that the drive does not have".to_owned())?;
        let is_programmed = |place: &u32| {
            let is_there = u64::from(*place) < geometry.unit_count();
            is_there && {
                let (block, unit) = geometry.split(Ppn(*place));
                unit < u32::from(medium.block(block).programmed) * geometry.units_per_program
            }
        };
        match self.lost.iter().find(|place| !is_programmed(place)) {
            None => Ok(()),
            Some(place) => Err(format!("the data at place {place} is lost, and nothing has been programmed there")),
        }
    }

    /// Counts a read of a block. Returns the number of reads before it, and the facts of the block, which `facts`
    /// supplies if they are not known yet.
    #[inline]
    pub fn count_read(&mut self, block: BlockId, facts: impl FnOnce() -> BlockFacts) -> (u32, BlockFacts) {
        let history = &mut self.blocks[block.index()];
        let before = history.reads;
        history.reads = before.saturating_add(1);
        if !history.is_known {
            (history.facts, history.is_known) = (facts(), true);
        }
        (before, history.facts)
    }

    /// Returns the number of reads of a block since its last erase.
    pub fn reads(&self, block: BlockId) -> u32 {
        self.blocks[block.index()].reads
    }

    /// Returns the write mode of the data at a place, if it is not known from its block.
    #[inline]
    pub fn mode(&self, ppn: Ppn, geometry: &Geometry) -> Option<ModeId> {
        let Some(&mode) = self.modes.get((ppn.0 / geometry.units_per_program) as usize) else { return self.only_mode };
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
        self.blocks[block.index()] = BlockHistory::default();
        let first = geometry.first_of(block).0;
        let places: Vec<u32> = self.lost.range(first..first + geometry.units_per_block).copied().collect();
        for place in places {
            self.lost.remove(&place);
        }
    }

    /// Forgets the places that were not programmed, although data was on its way to them, when power was lost.
    pub fn power_lost(&mut self, is_programmed: impl Fn(Ppn) -> bool) {
        self.lost.retain(|&place| is_programmed(Ppn(place)));
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

    /// Handles data that goes from a place, at which nothing is left, to another one.
    pub fn gone_to(&mut self, from: Ppn, to: Ppn) {
        if self.lost.remove(&from.0) {
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
    use crate::medium::tests::geometry;

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
        let facts = |erase_count| BlockFacts { since: 0, wear_thousandths: 0, erase_count, mode: ModeId(0) };
        let mut read = |block, erase_count| {
            let (reads, facts) = integrity.count_read(BlockId(block), || facts(erase_count));
            (reads, facts.erase_count)
        };
        assert_eq!([read(1, 5), read(1, 6), read(2, 7)], [(0, 5), (1, 5), (0, 7)], "facts are kept until the erase");
        integrity.erased(BlockId(1), &geometry);
        assert_eq!([0, 1, 2].map(|block| integrity.reads(BlockId(block))), [0, 0, 1]);
        assert_eq!(integrity.count_read(BlockId(1), || facts(6)).1.erase_count, 6);
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
