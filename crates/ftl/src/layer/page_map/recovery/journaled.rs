//! Recovery from the journal of the map, its checkpoint and a short search.
//!
//! 1. The root, whose place is known \[A\], the newest version of each map page, and the journal from the oldest of
//!    these on are read: all of the area that is not stale.
//! 2. The first row of each block is read. A block whose first program has a higher number than the journal knows has
//!    been opened since, and is searched from there on. A block that the journal records as open is searched from where
//!    its record ends. What the map names in a block that has been erased since is somewhere else: it is found there.
//!    The first row of a block with parity across dies names its set; a search by halves finds how much of the parity
//!    is there, since a set may end before its blocks are full.
//!
//! The programs that the search has found are recorded in the journal next.
//!
//! If a program of the area that is needed is on a lost die, all blocks are searched. Trims are those that what is left
//! of the area records; a unit whose trim is gone holds data again, and is counted as lost.

use super::{Durable, RowsRead, enter_newer, is_of_data};
use crate::layer::page_map::ftl::{Defect, Ftl};
use crate::layer::page_map::metadata::Metadata;
use crate::map::{Store, encode};
use crate::map_journal::{Change, Found, Header, LostParts, MapJournal};
use crate::medium::Medium;
use kit::{BlockId, DieId, Lpn, Ppn};
use std::collections::BTreeMap;

/// Assumption about memory.
const IN_MEMORY: &str = "a table of the size of the map fits into the address space";

/// The map that the journal and the checkpoint give, and the blocks that have to be searched.
pub(super) struct Recorded {
    found: Found,
    /// Number of the first program of each block that the journal lacks; none for a block that was erased since, and is
    /// searched as a whole.
    from: BTreeMap<BlockId, Option<u32>>,
    /// All trims that were recorded, if some of the area is on a lost die and all blocks are searched: those of `found`
    /// are the ones that can be read.
    all_trims: Option<BTreeMap<Lpn, u64>>,
}

impl Recorded {
    /// Returns true if all that a recovery needs was read.
    pub(super) fn is_complete(&self) -> bool {
        self.all_trims.is_none()
    }
}

/// Returns the first program of a block that the journal lacks; `Some(None)` if the block was erased since.
fn first_unrecorded(medium: &Medium, number: impl Fn(Ppn) -> u64, header: &Header, block: BlockId) -> Option<Option<u32>> {
    let programmed = u32::from(medium.block(block).programmed);
    if programmed == 0 || number(medium.geometry.first_of(block)) > header.last {
        return Some(None);
    }
    header.recorded.get(&block.0).map(|recorded| Some(programmed.min(*recorded)))
}

/// Returns the programs of a block of `all` that are read to find how many are there: `programmed` of them, at least
/// one. The last one is read, and then halves are; the last program that is there is among those that are read.
fn find_end(programmed: u32, all: u32) -> Vec<u32> {
    let mut read = vec![all - 1];
    let (mut least, mut most) = (1, if programmed < all { all - 1 } else { 0 });
    while least < most {
        let half = (least + most) / 2;
        read.push(half);
        if half < programmed {
            least = half + 1;
        } else {
            most = half;
        }
    }
    read
}

impl Ftl {
    /// Reads the journal and the checkpoint, if the drive has them. The trims that they record are those that remain.
    pub(super) fn read_journal(
        &self,
        journal: Option<&MapJournal>,
        metadata: &mut Metadata,
        half_erased: &[BlockId],
        defect: Option<Defect>,
    ) -> Option<Recorded> {
        let journal = journal?;
        let content = journal.content.as_ref()?;
        let is_complete = journal.is_complete();
        let lost = if is_complete { LostParts::default() } else { journal.lost_parts() };
        let found = content.replay(&lost).expect(IN_MEMORY);
        metadata.set_trims(&found.trims);
        if !is_complete && defect != Some(Defect::LostAreaIgnored) {
            let all_trims = Some(content.replay(&LostParts::default()).expect(IN_MEMORY).trims);
            return Some(Recorded { found, from: BTreeMap::new(), all_trims });
        }
        let counts_as_old = defect == Some(Defect::RepeatCountsAsOld);
        let number = |first: Ppn| if counts_as_old { metadata.number(first) } else { metadata.own_number(first) };
        let medium = &self.state.store.medium;
        let blocks = (0..medium.geometry.block_count).map(BlockId).filter(|block| is_of_data(medium, *block));
        let from = blocks.filter_map(|block| {
            if half_erased.contains(&block) {
                return Some((block, None));
            }
            Some((block, first_unrecorded(medium, number, &found.header, block)?))
        });
        Some(Recorded { from: from.collect(), found, all_trims: None })
    }

    /// Counts the units whose newest copy was not found, and those whose trim was recorded on a die that is lost, and
    /// that hold data again.
    pub(super) fn count_lost_by(&self, recorded: Option<&Recorded>, durable: &Durable, metadata: &mut Metadata) -> u64 {
        let Some((all, left)) = recorded.and_then(|recorded| Some((recorded.all_trims.as_ref()?, &recorded.found.trims))) else {
            return self.count_lost(durable, metadata);
        };
        metadata.set_trims(all);
        let lost = self.count_lost(durable, metadata);
        metadata.set_trims(left);
        lost
    }

    /// Rebuilds the map from what is recorded, and from the copies that are not. Returns the rows that are read, step
    /// by step.
    pub(super) fn find_by_journal(
        &mut self,
        recorded: &Recorded,
        journal: Option<&MapJournal>,
        metadata: &Metadata,
        half_erased: &[BlockId],
    ) -> Vec<Vec<Vec<RowsRead>>> {
        let Recorded { found, from, .. } = recorded;
        let Store { medium, places, .. } = &mut self.state.store;
        places.copy_entries(&found.entries);
        let is_gone = |ppn: Ppn| {
            let (block, unit) = medium.geometry.split(ppn);
            from.get(&block) == Some(&None) || medium.geometry.program_of(unit) >= u32::from(medium.block(block).programmed)
        };
        let gone: Vec<Lpn> = places.entered().filter(|lpn| places.entered_place(*lpn).is_some_and(is_gone)).collect();
        gone.into_iter().for_each(|lpn| places.set_code(lpn, 0));
        for (&block, first) in from.iter().filter(|(block, _)| !half_erased.contains(block)) {
            enter_newer(places, medium, metadata, (block, first.unwrap_or(0)));
        }
        self.leave_what_is_gone(metadata, false);
        let area = journal.map_or_else(Vec::new, |journal| self.rows_of_area(journal));
        vec![area, self.rows_to_search(from, half_erased)]
    }

    /// Returns the rows of the journal's area that are read on each die.
    pub(super) fn rows_of_area(&self, journal: &MapJournal) -> Vec<Vec<RowsRead>> {
        let geometry = &self.state.store.medium.geometry;
        let mut rows: Vec<Vec<RowsRead>> = (0..geometry.die_count).map(|_| Vec::new()).collect();
        if let Some(block) = journal.first_block() {
            // The root.
            rows[geometry.die_of(block).index()].push(RowsRead { block, first: 0, rows: 1, whole: false });
        }
        let per_program = geometry.shape.pages_per_program;
        for (block, program) in journal.needed() {
            let read = RowsRead { block, first: program * per_program, rows: per_program, whole: true };
            rows[geometry.die_of(block).index()].push(read);
        }
        rows
    }

    /// Returns the rows that are read on each die in the search for what the journal lacks: up to the first row of a
    /// block that is erased.
    fn rows_to_search(&self, from: &BTreeMap<BlockId, Option<u32>>, half_erased: &[BlockId]) -> Vec<Vec<RowsRead>> {
        let medium = &self.state.store.medium;
        let geometry = &medium.geometry;
        let per_program = geometry.shape.pages_per_program;
        let of_block = |block: BlockId| {
            let programmed = u32::from(medium.block(block).programmed);
            let mode = kit::ModeId(medium.block(block).mode());
            let all = medium.units_in(mode) / geometry.units_per_program;
            let further = u32::from(programmed < all);
            let first = RowsRead { block, first: 0, rows: 1, whole: false };
            let begin = from.get(&block).filter(|_| !half_erased.contains(&block)).map(|first| first.unwrap_or(0));
            let rest = begin.map(|begin| {
                let [begin, end] = [begin, programmed].map(|program| program * per_program);
                RowsRead { first: begin.max(1), rows: (end + further).saturating_sub(begin.max(1)), ..first }
            });
            let ends = if rest.is_none() && self.holds_parity(block) { find_end(programmed, all) } else { Vec::new() };
            let ends = ends.into_iter().map(move |program| RowsRead { first: program * per_program, ..first });
            [Some(first), rest.filter(|rest| rest.rows > 0)].into_iter().flatten().chain(ends)
        };
        let dies = (0..geometry.die_count).map(DieId);
        let blocks = |die: DieId| geometry.blocks_of(die).map(BlockId).filter(|block| is_of_data(medium, *block));
        dies.map(|die| blocks(die).flat_map(of_block).collect()).collect()
    }

    /// Lets the journal of a drive that has recovered go on: it records what the search has found, and the units that
    /// are again where they came from, since a block was given up.
    pub(super) fn journal_goes_on(&mut self, recorded: Recorded, metadata: &Metadata, given_up: &[BlockId]) {
        let Recorded { found, from, all_trims } = recorded;
        let Some(journal) = &mut self.state.journal else { return };
        let Some(mut content) = journal.content.take() else { return };
        let Store { medium, places, .. } = &mut self.state.store;
        content.go_on(places.entries(), found.trims).expect(IN_MEMORY);
        if all_trims.is_some() {
            // Until that is done, all blocks are searched again.
            journal.write_map_anew();
            journal.content = Some(content);
            return;
        }
        let geometry = medium.geometry;
        let mut firsts: Vec<Ppn> = Vec::new();
        for (&block, first) in &from {
            let programs = first.unwrap_or(0)..u32::from(medium.block(block).programmed);
            let place = |program: u32| Ppn(geometry.first_of(block).0 + program * geometry.units_per_program);
            firsts.extend(programs.map(place));
        }
        firsts.sort_by_key(|first| (metadata.number(*first), *first));
        for first in firsts {
            let of_program = (first.0..first.0 + geometry.units_per_program).map(Ppn);
            let current = of_program.filter_map(|ppn| {
                let lpn = places.entered_unit(ppn)?;
                (places.entered_place(lpn) == Some(ppn)).then(|| (lpn, encode(ppn), metadata.number(ppn)))
            });
            let current: Vec<_> = current.collect();
            journal.append(current.len() as u64);
            content.append(Change::Programmed(first, current), journal.appended(), metadata.last());
        }
        for &block in given_up {
            let first = geometry.first_of(block).0;
            let held = (first..first + geometry.units_per_block).map(Ppn);
            let moved = held.filter_map(|ppn| Some((places.entered_unit(ppn)?, metadata.source(ppn)?)));
            let reverted = moved.filter(|(lpn, source)| places.entered_place(*lpn) == Some(*source));
            let reverted: Vec<_> = reverted.map(|(lpn, source)| (lpn, encode(source), metadata.number(source))).collect();
            journal.append(reverted.len() as u64);
            content.append(Change::Reverted(reverted), journal.appended(), metadata.last());
            // Until that is on flash, what the journal records is there.
            if !journal.is_on_flash(journal.appended()) {
                medium.pin(Ppn(first));
                journal.keep_until(journal.appended(), Ppn(first));
            }
        }
        journal.content = Some(content);
    }
}

#[cfg(test)]
mod tests {
    use super::find_end;

    /// Whatever number of programs a block has: the reads tell it from any other number, they include the last program
    /// unless that is the first one, and there are no more than halving takes.
    #[test]
    fn a_search_by_halves_finds_the_end_of_a_block() {
        for all in 1..40u32 {
            for programmed in 1..=all {
                let read = find_end(programmed, all);
                let fits = |number: u32| read.iter().all(|&program| (program < number) == (program < programmed));
                assert_eq!((1..=all).filter(|&number| fits(number)).collect::<Vec<_>>(), [programmed], "{all}: {read:?}");
                assert!(programmed == 1 || read.contains(&(programmed - 1)), "{programmed} of {all}: {read:?}");
                assert!(read.len() <= 1 + all.next_power_of_two().ilog2() as usize, "{programmed} of {all}: {read:?}");
            }
        }
    }
}
