//! Checks of the free blocks and the frontiers of a saved drive.

use super::{Frontier, NONE, Space, SpaceImage};
use crate::medium::BlockState;
use crate::medium::Medium;
use kit::archive::{Archived, MAX_COUNTED, require};
use kit::{BlockId, DieId, ModeId};
use std::cmp::Reverse;

impl SpaceImage {
    /// Checks the frontiers, which are those of a drive at rest: every open block is one of them, and all that was
    /// allocated in it is programmed.
    pub fn check_frontiers(&self, medium: &Medium) -> Archived {
        let dies = medium.geometry.die_count as usize;
        let of_die = self.streams.checked_mul(self.width).filter(|of_die| of_die.checked_mul(dies) == Some(self.frontiers.len()));
        let Some(of_die @ 1..) = of_die.filter(|_| self.host_streams <= self.streams) else {
            let (streams, width, frontiers) = (self.streams, self.width, self.frontiers.len());
            return Err(format!("it has {frontiers} frontiers, for {streams} streams of {width} on each of {dies} dies"));
        };
        let mut open: Vec<u32> = Vec::new();
        for (slot, &Frontier { block, next_unit }) in self.frontiers.iter().enumerate().filter(|(_, one)| one.block != NONE) {
            let die = DieId((slot / of_die) as u32);
            let is_open = medium.geometry.blocks_of(die).contains(&block) && medium.block(BlockId(block)).is(BlockState::Open);
            require(is_open, || format!("block {block} is a frontier of die {}, and is no open block of it", die.0))?;
            let programmed = u32::from(medium.block(BlockId(block)).programmed) * medium.geometry.units_per_program;
            require(next_unit == programmed, || {
                format!("the frontier in block {block} is at unit {next_unit}, and {programmed} units are programmed there")
            })?;
            open.push(block);
        }
        let frontiers = open.len();
        open.sort_unstable();
        open.dedup();
        let all = medium.blocks.as_slice().iter().filter(|record| record.is(BlockState::Open)).count();
        require(frontiers == open.len() && all == open.len(), || {
            format!("{all} blocks are open, and {frontiers} frontiers are in {} blocks", open.len())
        })
    }

    /// Checks what only a drive of the same description has: the lists of free blocks, and frontiers with space left.
    pub fn check_own(&self, own: &Space, medium: &Medium) -> Archived {
        let shape = (own.host_streams, own.streams, own.width, own.free.len(), own.turns.len());
        require((self.host_streams, self.streams, self.width, self.free.len(), self.turns.len()) == shape, || {
            "its write frontiers are not those of this drive".to_owned()
        })?;
        for &Frontier { block, next_unit } in self.frontiers.iter().filter(|frontier| frontier.block != NONE) {
            let mode = ModeId(medium.block(BlockId(block)).mode());
            require(next_unit < medium.units_in(mode), || format!("block {block} is open, and has no space left"))?;
        }
        let turns = self.turns.iter().all(|turn| *turn as usize <= self.width) && self.turn <= MAX_COUNTED;
        require(turns, || "the turn of a frontier is beyond the last one".to_owned())?;
        self.check_free(own, medium)
    }

    fn check_free(&self, own: &Space, medium: &Medium) -> Archived {
        let mut is_listed = vec![false; medium.geometry.block_count as usize];
        let mut listed = 0;
        for (group, (free, own_free)) in (0..).zip(self.free.iter().zip(&own.free)) {
            let first = group * medium.geometry.blocks_per_group;
            let end = first + medium.geometry.blocks_per_group;
            let fits = (first..=end).contains(&free.next_fresh)
                && free.fresh_end == own_free.fresh_end
                && free.next_fresh <= free.fresh_end
                && free.erased.len() == own_free.erased.len();
            require(fits, || format!("the blocks never used of group {group} end at {}..{}", free.next_fresh, free.fresh_end))?;
            let fresh = (free.next_fresh..free.fresh_end).map(|block| (0, block));
            let by_level = free.erased.iter().enumerate();
            let erased = by_level.flat_map(|(level, heap)| heap.iter().map(move |Reverse((_, block))| (level, *block)));
            for (level, block) in fresh.chain(erased) {
                let is_free = (first..end).contains(&block) && medium.block(BlockId(block)).is(BlockState::Free);
                require(is_free && !is_listed[block as usize], || {
                    format!("block {block} is listed as a free block of group {group}, and is none or listed twice")
                })?;
                let at = usize::from(own.erase_levels[medium.erase_mode(BlockId(block)).index()]);
                require(at == level, || format!("block {block} was erased to level {at}, and is listed under level {level}"))?;
                is_listed[block as usize] = true;
                listed += 1;
            }
        }
        let all = medium.blocks.as_slice().iter().filter(|record| record.is(BlockState::Free)).count();
        require(all == listed, || format!("{all} blocks are free, and {listed} are listed"))
    }
}
