//! Sets of blocks over a loss of power.
//!
//! **What remains.** Each page names its set in its spare area, and a program of parity names what it covers \[A\]. The
//! blocks of a set, and how much of its parity is on flash, are therefore found by the search that finds the data, or,
//! with a journal of the map, by the first rows of all blocks and a few more of those with parity. What was in the
//! memory of the controller is lost: the parity of the rows that were not complete, or whose program of parity was
//! interrupted.
//!
//! **What follows.** No block of a set goes on. A set that was being written is whole from then on, and is *degraded*
//! if it holds current data that its parity does not cover; degraded sets are rebuilt as after the loss of a die. A set
//! whose data was being moved is collected again. One of which blocks were being erased held no data any more: the rest
//! of it is erased first.

use super::{NONE, Rain, Set, Stage};
use crate::medium::{BlockState, Medium};
use kit::{BlockId, Ppn, SimTime};

impl Set {
    /// Returns the number of rows whose parity is on flash and covers all blocks of the set.
    pub fn parity_rows(&self, medium: &Medium) -> u32 {
        let programmed = self.parity().map_or(0, |parity| u32::from(medium.block(parity).programmed));
        self.readable.map_or(programmed, |readable| readable.min(programmed))
    }
}

impl Rain {
    /// Loses what is not on flash. `medium` is what remains; `torn`: blocks of interrupted programs, each of which
    /// counts as programmed; `half_erased`: those of interrupted erases, which name no set any more.
    pub fn lose_power(&mut self, medium: &mut Medium, torn: &[BlockId], half_erased: &[BlockId]) {
        self.forming.iter_mut().chain(&mut self.writing).for_each(Vec::clear);
        self.erasable.iter_mut().for_each(std::collections::VecDeque::clear);
        self.collected.fill(None);
        self.rebuilds.fill((SimTime::ZERO, false));
        let in_use: Vec<u32> = self.in_use().map(|(number, _)| number).collect();
        for number in in_use {
            let set = &mut self.sets[number as usize];
            let remains = |block: BlockId| medium.block(block).is(BlockState::Closed) && !half_erased.contains(&block);
            let gone: Vec<BlockId> = set.all().filter(|&block| !remains(block)).collect();
            if let Some(parity) = set.parity().filter(|parity| torn.contains(parity) && !gone.contains(parity)) {
                set.readable = Some(u32::from(medium.block(parity).programmed) - 1);
            }
            (set.is_forming, set.keeps_parity) = (false, false);
            if set.stage != Stage::Erasing {
                set.stage = Stage::Whole;
            }
            gone.into_iter().for_each(|block| self.leave(number, block, medium));
        }
    }

    /// Takes a block out of its set. A block of parity that is left alone leaves it, too.
    fn leave(&mut self, number: u32, block: BlockId, medium: &mut Medium) {
        let set = &mut self.sets[number as usize];
        medium.set_member(block, None);
        set.blocks.iter_mut().filter(|other| **other == block.0).for_each(|other| *other = NONE);
        if set.data().next().is_some() {
            return;
        }
        if let Some(parity) = set.parity() {
            medium.set_member(parity, None);
            set.blocks.fill(NONE);
        }
        if !self.unused.contains(&number) {
            self.unused.push(number);
        }
    }

    /// Takes a block out of its set whose data is again where it came from: it will be erased, and the parity of the
    /// set covers the others no more.
    pub fn give_up(&mut self, number: u32, block: BlockId, medium: &mut Medium) {
        self.sets[number as usize].readable = Some(0);
        self.leave(number, block, medium);
    }

    /// Goes on with what a recovery has found: `medium` has its blocks closed. Sets that are to be erased are; blocks
    /// of parity are sealed.
    pub fn go_on(&mut self, medium: &mut Medium) {
        let in_use: Vec<u32> = self.in_use().map(|(number, _)| number).collect();
        self.parities.fill(0);
        for number in in_use {
            let set = &self.sets[number as usize];
            let first_die = (set.group * self.dies) as usize;
            self.parities[first_die + set.parity_at] += 1;
            let blocks: Vec<BlockId> = set.all().collect();
            if set.stage == Stage::Erasing {
                self.collected[set.group as usize] = Some(number);
                for block in blocks {
                    self.erasable[medium.geometry.die_of(block).index()].push_back(block.0);
                    medium.take_victim(block);
                }
                continue;
            }
            let is_degraded = lacks_parity(set, medium);
            if let Some(parity) = set.parity() {
                medium.take_victim(parity);
                medium.put_back(parity, BlockState::Sealed);
            }
            let set = &mut self.sets[number as usize];
            set.is_degraded |= is_degraded;
        }
        self.may_rebuild = self.degraded() > 0;
    }
}

/// Returns true if a set holds current data that its parity does not cover.
fn lacks_parity(set: &Set, medium: &Medium) -> bool {
    let geometry = &medium.geometry;
    let covered = set.parity_rows(medium) * geometry.units_per_program;
    set.data().any(|block| {
        let first = geometry.first_of(block).0;
        let end = first + u32::from(medium.block(block).programmed) * geometry.units_per_program;
        (first + covered..end).any(|ppn| medium.is_valid(Ppn(ppn)))
    })
}
