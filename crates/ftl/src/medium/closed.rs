//! Index of the closed block with the fewest valid units, for each die and write mode. An update takes a few
//! nanoseconds.
//!
//! The blocks of a die are divided into chunks of 256; the index keeps the lowest valid count of each chunk and mode.
//! Invalidation only lowers the count of a closed block, so an update is one comparison. A chunk is scanned again only
//! when one of its blocks is taken as a victim.

use super::block::{BlockRecord, BlockState};
use kit::{BlockId, DieId, Geometry, ModeId};

const CHUNK: u32 = 256;
const NOTHING: u16 = u16::MAX;

#[derive(Clone)]
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

    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        size_of_val(self.least.as_slice()) as u64
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

#[cfg(test)]
mod tests {
    use crate::medium::BlockState;
    use crate::medium::Medium;
    use crate::medium::tests::{empty, erase, geometry, write};
    use kit::{BlockId, DieId, ModeId, Ppn, Rng};

    const DIES: u32 = 2;
    const MODES: u8 = 3;

    /// Returns the closed block of a die and mode with the fewest valid units, found by visiting every block.
    fn scan(medium: &Medium, die: DieId, mode: u8) -> Option<(BlockId, u16)> {
        let blocks = medium.geometry.blocks_of(die).map(BlockId);
        let closed = blocks.filter(|&block| medium.block(block).state() == BlockState::Closed);
        let of_mode = closed.filter(|&block| medium.block(block).mode() == mode);
        of_mode.map(|block| (block, medium.block(block).valid)).min_by_key(|&(block, valid)| (valid, block))
    }

    /// Moves a block on to its next state: free, open, closed, closed with less data, erased.
    fn step(medium: &mut Medium, block: BlockId, rng: &mut Rng) {
        match medium.block(block).state() {
            BlockState::Free => write(medium, block, rng.below(u64::from(MODES)) as u8, rng.below(5) as u32),
            BlockState::Open => medium.close(block),
            _ if rng.chance(0.3) => erase(medium, block),
            _ => {
                let first = medium.geometry.first_of(block).0;
                if let Some(ppn) = medium.next_valid(Ppn(first), Ppn(first + medium.geometry.units_per_block)) {
                    medium.invalidate(ppn);
                }
            }
        }
    }

    /// Asserts that the index names the blocks that a scan finds.
    fn check(medium: &Medium) {
        for (die, mode) in (0..DIES).flat_map(|die| (0..MODES).map(move |mode| (DieId(die), mode))) {
            assert_eq!(medium.min_valid(die, ModeId(mode)), scan(medium, die, mode), "{die:?}, mode {mode}");
        }
    }

    /// Lives of small dies, and of dies of three chunks of which the last is short: after each step the index names the
    /// block that a scan of the die finds.
    #[test]
    fn the_index_agrees_with_a_scan_after_every_step() {
        for (blocks, steps) in [(3, 6000), (256, 1500), (600, 1500)] {
            let mut rng = Rng::stream(u64::from(blocks), "lives");
            let mut medium = empty(geometry(DIES, 1, blocks, 4, 1), usize::from(MODES));
            // Few blocks take part in the life of a large die, so that they go through many states; they are spread
            // over all chunks.
            let lively: Vec<u32> = (0..DIES * blocks).step_by((blocks / 12).max(1) as usize).collect();
            for _ in 0..steps {
                let block = BlockId(lively[rng.below(lively.len() as u64) as usize]);
                step(&mut medium, block, &mut rng);
                check(&medium);
            }
        }
    }

    /// The first and the last block of each chunk are found by themselves, and the lowest number goes first among
    /// equals.
    #[test]
    fn blocks_at_the_ends_of_chunks_are_found() {
        let mut medium = empty(geometry(DIES, 1, 600, 4, 1), usize::from(MODES));
        for block in [599, 512, 511, 256, 255, 0].map(BlockId) {
            write(&mut medium, block, 2, 3);
            medium.close(block);
            check(&medium);
        }
        for block in [0, 255, 256, 511, 512, 599].map(BlockId) {
            assert_eq!(medium.min_valid(DieId(0), ModeId(2)), Some((block, 3)));
            erase(&mut medium, block);
            check(&medium);
        }
    }
}
