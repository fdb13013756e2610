//! The medium's part of a saved drive, at rest.

use super::closed::LeastValid;
use super::{BlockRecord, BlockState, Medium, NONE};
use kit::archive::{Archive, Archived, require};
use kit::{BlockId, DieId, SimTime};
use std::io::{Read, Write};

/// Largest number of erases of a block that a saved drive may state: the count can go on.
const MAX_ERASES: u32 = 1 << 31;

impl Medium {
    /// Writes the tables of the blocks as they are in memory.
    pub(crate) fn write_tables(&self, to: &mut dyn Write) -> std::io::Result<()> {
        to.write_all(bytemuck::cast_slice(self.blocks.as_slice()))?;
        to.write_all(bytemuck::cast_slice(&self.erase_counts))?;
        to.write_all(bytemuck::cast_slice(&self.wear))?;
        to.write_all(&self.erase_modes)?;
        to.write_all(bytemuck::cast_slice(&self.first_program))
    }

    /// Reads the tables of the blocks, as [`Medium::write_tables`] writes them.
    pub(crate) fn read_tables(&mut self, from: &mut dyn Read) -> std::io::Result<()> {
        from.read_exact(bytemuck::cast_slice_mut(self.blocks.as_mut_slice()))?;
        from.read_exact(bytemuck::cast_slice_mut(&mut self.erase_counts))?;
        from.read_exact(bytemuck::cast_slice_mut(&mut self.wear))?;
        from.read_exact(&mut self.erase_modes)?;
        from.read_exact(bytemuck::cast_slice_mut(&mut self.first_program))
    }

    /// Returns the closed blocks of each die, in the order of closing.
    pub(crate) fn closed_lists(&self) -> Vec<Vec<u32>> {
        let dies = (0..self.geometry.die_count).map(DieId);
        dies.map(|die| self.closed_blocks(die).map(|block| block.0).collect()).collect()
    }

    /// Saves, or loads, the state of a medium at rest under a layer without a map. What is loaded is checked; `modes`:
    /// numbers of the write modes and of the erase modes.
    pub(crate) fn state(&mut self, archive: &mut Archive<'_>, now: SimTime, modes: (usize, usize)) -> Archived {
        assert!(self.is_at_rest(), "the drive is at rest");
        let mut records: Vec<u64> = bytemuck::cast_slice(self.blocks.as_slice()).to_vec();
        archive.list(&mut records, "blocks")?;
        bytemuck::cast_slice_mut(self.blocks.as_mut_slice()).copy_from_slice(&records);
        archive.list(&mut self.erase_counts, "erase counts")?;
        archive.list(&mut self.wear, "wears")?;
        archive.list(&mut self.erase_modes, "erase modes")?;
        archive.list(&mut self.first_program, "instants of first programs")?;
        let mut closed = self.closed_lists();
        archive.value(&mut closed)?;
        let (has_integrity, has_pages) = (self.integrity.is_some(), self.pages.is_some());
        let only_mode = self.integrity.as_ref().and_then(|integrity| integrity.only_mode);
        archive.value(&mut self.integrity)?;
        archive.value(&mut self.pages)?;
        let same = (has_integrity, has_pages) == (self.integrity.is_some(), self.pages.is_some());
        require(same, || "a count of reads or of page writes is in only one of the saved drive and this one".to_owned())?;
        if archive.is_loading() {
            self.check_records(now, modes)?;
            let is_odd = |record: &&BlockRecord| record.valid > 0 || record.pins() > 0 || record.is(BlockState::Retired);
            let odd = self.blocks.as_slice().iter().find(is_odd);
            require(odd.is_none(), || format!("a block has valid units or pins, or is retired: {odd:?}"))?;
            self.check_closed(&closed)?;
            if let Some(mut integrity) = self.integrity.take() {
                integrity.check(self, modes.0)?;
                integrity.only_mode = only_mode;
                self.integrity = Some(integrity);
            }
            self.pages.as_ref().map_or(Ok(()), |pages| pages.check(&self.geometry))?;
            self.unlist_all();
            self.restore_as_it_was(&closed);
        }
        Ok(())
    }

    /// Empties the lists of closed blocks.
    fn unlist_all(&mut self) {
        [&mut self.oldest, &mut self.newest].into_iter().for_each(|ends| ends.fill(NONE));
        self.closed_count.fill(0);
        self.index = LeastValid::new(self.closed_count.len(), self.geometry.blocks_per_die, self.mode_units.len());
    }

    /// Checks the record of each block by itself.
    pub(crate) fn check_records(&self, now: SimTime, (modes, erase_modes): (usize, usize)) -> Archived {
        let Medium { geometry, erase_counts, erase_modes: erased_in, first_program, .. } = self;
        let now = i64::try_from(now.0).unwrap_or(i64::MAX);
        let times = first_program.iter().zip(erase_counts).zip(erased_in);
        for (block, (record, ((&since, &erases), &erased_in))) in self.blocks.as_slice().iter().zip(times).enumerate() {
            require(usize::from(record.mode()) < modes, || {
                format!("block {block} is written in mode {}, which the drive does not have", record.mode())
            })?;
            require(usize::from(erased_in) < erase_modes, || {
                format!("block {block} was erased in mode {erased_in}, which the drive does not have")
            })?;
            require(record.is_at_rest(), || format!("block {block} is in no state of a drive at rest: {record:?}"))?;
            let is_empty = record.state().is_unused();
            require(!is_empty || record.is_blank(), || format!("block {block} is empty, and has data or pins: {record:?}"))?;
            let places = u32::from(record.programmed) * geometry.units_per_program;
            require(places <= geometry.units_per_block, || {
                format!("block {block} has {places} programmed units, and place for {}", geometry.units_per_block)
            })?;
            require(erases < MAX_ERASES, || format!("block {block} has been erased {erases} times, more than can be counted"))?;
            require(since <= now, || format!("block {block} was opened at {since} ns, and the clock stands at {now} ns"))?;
        }
        Ok(())
    }

    /// Checks the lists of closed blocks.
    /// Checks the lists of the closed blocks of each die.
    pub(crate) fn check_closed(&self, closed: &[Vec<u32>]) -> Archived {
        let geometry = &self.geometry;
        require(closed.len() == geometry.die_count as usize, || "its dies are not those of this drive".to_owned())?;
        let mut is_listed = vec![false; geometry.block_count as usize];
        for (die, &block) in (0..).zip(closed).flat_map(|(die, list)| list.iter().map(move |block| (die, block))) {
            let is_closed = geometry.blocks_of(DieId(die)).contains(&block) && self.block(BlockId(block)).is(BlockState::Closed);
            require(is_closed && !is_listed[block as usize], || {
                format!("block {block} is listed as a closed block of die {die}, and is none or listed twice")
            })?;
            is_listed[block as usize] = true;
        }
        let records = self.blocks.as_slice().iter();
        let (all, listed) = (records.filter(|record| record.is(BlockState::Closed)).count(), closed.iter().flatten().count());
        require(all == listed, || format!("{all} blocks are closed, and {listed} are listed"))
    }
}
