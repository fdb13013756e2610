//! A loss of power: what is left of the medium, and what is found in it afterwards.

use super::closed::LeastValid;
use super::program::ProgramUnit;
use super::{BlockRecord, BlockState, Medium, NONE};
use kit::{BlockId, Ppn, Table};

impl Medium {
    /// Loses all that is not in the blocks themselves or in the list of retired blocks. Blocks with programs are
    /// closed, and in no order. `torn`: blocks of interrupted programs, each of which has used up its pages.
    /// `half_erased`: blocks of interrupted erases, which are full and hold nothing.
    pub(crate) fn lose_power(&mut self, torn: &[BlockId], half_erased: &[BlockId]) -> std::io::Result<()> {
        let Medium { geometry, blocks, integrity, .. } = self;
        if let Some(integrity) = integrity {
            integrity.power_lost(|ppn| {
                let (block, unit) = geometry.split(ppn);
                geometry.program_of(unit) < u32::from(blocks.get(block).programmed)
            });
            half_erased.iter().for_each(|&block| integrity.erased(block, geometry));
        }
        for &block in torn {
            blocks.update(block, |record| record.programmed += 1);
        }
        for &block in half_erased {
            blocks.update(block, |record| record.programmed = geometry.programs_per_block as u16);
        }
        for (block, record) in (0..).zip(blocks.as_mut_slice()) {
            let state = match record.state() {
                state @ (BlockState::Retired | BlockState::Spare | BlockState::Area) => state,
                // Its first program has failed: it holds nothing, and is not used again.
                _ if record.programmed == 0 && self.bad.remove(&block) => BlockState::Retired,
                _ if record.programmed == 0 => BlockState::Free,
                _ => BlockState::Closed,
            };
            let mode = if matches!(state, BlockState::Closed | BlockState::Area) { record.mode() } else { 0 };
            let programmed = std::mem::replace(record, BlockRecord::new(state, mode)).programmed;
            record.programmed = programmed;
        }
        self.valid = Table::zeroed(self.valid.as_slice().len())?;
        self.valid_by_mode = [0; 16];
        for list in [&mut self.older, &mut self.newer, &mut self.oldest, &mut self.newest] {
            list.fill(NONE);
        }
        self.closed_count.fill(0);
        self.index = LeastValid::new(self.closed_count.len(), self.geometry.blocks_per_die, self.mode_units.len());
        let units_per_program = self.geometry.units_per_program;
        self.programs.iter_mut().for_each(|program| *program = ProgramUnit::new(units_per_program));
        Ok(())
    }

    /// Marks a place as one that holds the current copy of its data, or does not. The counts of its block stay as they
    /// are ([`Medium::count_valid`]).
    pub(crate) fn set_valid(&mut self, ppn: Ppn, is_valid: bool) {
        let (word, bit) = (self.valid.get(ppn.index() / 64), 1u64 << (ppn.0 % 64));
        self.valid.set(ppn.index() / 64, if is_valid { word | bit } else { word & !bit });
    }

    /// Counts the valid places of each block.
    pub(crate) fn count_valid(&mut self) {
        let units_per_block = self.geometry.units_per_block;
        for block in (0..self.geometry.block_count).map(BlockId) {
            let first = self.geometry.first_of(block).0;
            let valid = self.valid_in(first, first + units_per_block);
            self.blocks.update(block, |record| record.valid = valid);
        }
    }

    /// Returns the number of valid places in `first..end`.
    fn valid_in(&self, first: u32, end: u32) -> u16 {
        let of_word = |word: u32| {
            let (from, to) = (first.max(word * 64) % 64, end.min(word * 64 + 64) - word * 64);
            let bits = self.valid.get(word as usize) >> from << from;
            (if to < 64 { bits & ((1 << to) - 1) } else { bits }).count_ones()
        };
        (first / 64..end.div_ceil(64)).map(of_word).sum::<u32>() as u16
    }
}
