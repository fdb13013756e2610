//! Which closed block of a die has the fewest valid units, for each write mode, in a few nanoseconds per change.
//!
//! The blocks of a die are cut into chunks of 256; the least valid count of each chunk and mode is kept. Overwrites only ever lower a
//! block's count, so keeping the minimum is one comparison; a chunk is scanned again only when its block is taken.

use crate::map::{BlockRecord, BlockState};
use kit::{BlockId, DieId, Geometry, ModeId};

const CHUNK: u32 = 256;
const NOTHING: u16 = u16::MAX;

pub(crate) struct LeastValid {
    /// Least valid count by mode, die and chunk.
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

    /// A closed block has `valid` units now.
    #[inline]
    pub fn lower(&mut self, block: BlockId, mode: u8, valid: u16) {
        let entry = self.entry(block, mode);
        let least = &mut self.least[entry];
        *least = (*least).min(valid);
    }

    /// A block of this chunk is no longer closed.
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

    /// The closed block of a die and mode with the fewest valid units; of several, the one with the lowest number.
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
