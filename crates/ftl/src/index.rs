//! Index of the closed block with the fewest valid units, for each die and write mode. An update takes a few
//! nanoseconds.
//!
//! The blocks of a die are divided into chunks of 256; the index keeps the lowest valid count of each chunk and mode.
//! Invalidation only lowers the count of a closed block, so an update is one comparison. A chunk is scanned again only
//! when one of its blocks is taken as a victim.

use crate::block::{BlockRecord, BlockState};
use kit::{BlockId, DieId, Geometry, ModeId};

const CHUNK: u32 = 256;
const NOTHING: u16 = u16::MAX;

pub(crate) struct LeastValid {
    /// Lowest valid count among closed blocks, by mode, die and chunk; `NOTHING` if the chunk has none.
    least: Vec<u16>,
    blocks_per_die: u32,
    chunks_per_die: u32,
    by_die: kit::Divisor,
    mode_stride: usize,
}

impl LeastValid {
    pub fn new(die_count: usize, blocks_per_die: u32, mode_count: usize) -> LeastValid {
        let chunks_per_die = blocks_per_die.div_ceil(CHUNK);
        let mode_stride = die_count * chunks_per_die as usize;
        LeastValid {
            least: vec![NOTHING; mode_stride * mode_count],
            blocks_per_die,
            chunks_per_die,
            by_die: kit::Divisor::new(blocks_per_die),
            mode_stride,
        }
    }

    #[inline]
    fn entry(&self, block: BlockId, mode: u8) -> usize {
        let (die, within) = self.by_die.split(block.0);
        mode as usize * self.mode_stride + (die * self.chunks_per_die + within / CHUNK) as usize
    }

    /// Updates the minimum of a chunk for a closed block that now has `valid` valid units.
    #[inline]
    pub fn lower(&mut self, block: BlockId, mode: u8, valid: u16) {
        let entry = self.entry(block, mode);
        let least = &mut self.least[entry];
        *least = (*least).min(valid);
    }

    /// Recomputes the minimum of the chunk of a block that is no longer closed.
    pub fn rescan(&mut self, blocks: &[BlockRecord], block: BlockId, mode: ModeId) {
        let (die, within) = self.by_die.split(block.0);
        let entry = self.entry(block, mode.0);
        let range = self.chunk_range(die, within / CHUNK);
        self.least[entry] = blocks[range]
            .iter()
            .filter(|record| record.mode() == mode.0 && record.state() == BlockState::Closed)
            .map(|record| record.valid)
            .min()
            .unwrap_or(NOTHING);
    }

    fn chunk_range(&self, die: u32, chunk: u32) -> std::ops::Range<usize> {
        let first = chunk * CHUNK;
        let last = (first + CHUNK).min(self.blocks_per_die);
        let base = die * self.blocks_per_die;
        (base + first) as usize..(base + last) as usize
    }

    /// Returns the closed block of a die and mode with the fewest valid units, and their number; among equals, the
    /// block with the lowest number.
    pub fn least(&self, geometry: &Geometry, blocks: &[BlockRecord], die: DieId, mode: ModeId) -> Option<(BlockId, u16)> {
        debug_assert_eq!(geometry.blocks_per_die, self.blocks_per_die);
        let base = mode.index() * self.mode_stride + die.index() * self.chunks_per_die as usize;
        let chunks = &self.least[base..base + self.chunks_per_die as usize];
        let (chunk, &least) = chunks.iter().enumerate().min_by_key(|(_, least)| **least)?;
        if least == NOTHING {
            return None;
        }
        let range = self.chunk_range(die.0, chunk as u32);
        let offset = blocks[range.clone()]
            .iter()
            .position(|record| record.valid == least && record.mode() == mode.0 && record.state() == BlockState::Closed)
            .expect("the chunk's least count is that of one of its closed blocks");
        Some((BlockId((range.start + offset) as u32), least))
    }
}
