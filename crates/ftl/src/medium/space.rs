//! Free blocks and write frontiers: the place of the next program of a die.

mod check;

use crate::medium::{BlockState, Medium};
use crate::wear::WearLeveling;
use kit::{BlockId, DieId, Geometry, ModeId, Ppn, SimTime};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

const NONE: u32 = u32::MAX;

/// A free block, preceded by its rank in the order of wear levelling; reversed, because the heap yields the greatest
/// element first.
type Ranked = Reverse<((u32, u64), u32)>;

/// Free blocks of one group of planes: blocks never used, in order of their numbers, which count as erased to the
/// deepest level (0); and erased blocks, by level.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct FreeBlocks {
    next_fresh: u32,
    fresh_end: u32,
    erased: Vec<BinaryHeap<Ranked>>,
}

impl FreeBlocks {
    fn at_level(&self, level: usize) -> u32 {
        let fresh = if level == 0 { self.fresh_end - self.next_fresh } else { 0 };
        fresh + self.erased[level].len() as u32
    }

    fn count(&self) -> u32 {
        (0..self.erased.len()).map(|level| self.at_level(level)).sum()
    }

    fn pop(&mut self, level: usize) -> Option<u32> {
        if level == 0 && self.next_fresh < self.fresh_end {
            self.next_fresh += 1;
            return Some(self.next_fresh - 1);
        }
        self.erased[level].pop().map(|Reverse((_, block))| block)
    }
}

/// Write frontier of one stream on one die: its open block and the next unit to be written.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Frontier {
    block: u32,
    next_unit: u32,
}

/// Free blocks and frontiers of all dies. The policy's host streams come first, then those of relocations: one in each
/// write mode, or as many as the policy asks for. A stream has one frontier on each die; where planes take turns
/// program by program, it has one in each group of planes.
#[derive(Clone)]
pub(crate) struct Space {
    free: Vec<FreeBlocks>,
    /// True if firmware keeps the account of open blocks and victims.
    is_handed_over: bool,
    free_count: Vec<u32>,
    frontiers: Vec<Frontier>,
    streams: usize,
    groups: usize,
    /// Number of frontiers of one stream on one die.
    width: usize,
    /// True if the frontier with the most room is written to, and not the next one in turn.
    most_free: bool,
    /// Index of the frontier whose turn is next, by die and stream.
    turns: Vec<u32>,
    reserve: u32,
    turn: u64,
    /// True for each die that can take host data now, whichever host stream it is written through.
    has_space: Vec<bool>,
    dies_with_space: u32,
    host_streams: usize,
    /// True if the first host stream takes relocated data, too.
    shared: bool,
    /// True if the last stream of data is that of map data, and a block of each die is reserved for it.
    map: bool,
    /// Number of streams of data; those of parity follow, one for each.
    data: usize,
    /// Level of each erase mode; 0 is the deepest.
    erase_levels: Vec<u8>,
    levels: usize,
    pub opened: Vec<BlockId>,
}

/// Allocation class of a write: how far it may use up the free blocks of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AllocationClass {
    /// Host data: leaves the reserve untouched.
    Host,
    /// A collection, which frees a block in the end: may take the last free block.
    Relocation,
    /// Map data: may take the block that is reserved for it.
    Map,
    /// Parity, and data that is moved without freeing its block: leave the last free block to a collection.
    Careful,
    /// The move of a single page: leaves the last free block and, when no block is free, the rest of the open frontier
    /// to a collection in progress.
    Move,
}

impl Space {
    pub fn new(geometry: &Geometry, streams: Streams, reserve: u32, erase_levels: Vec<u8>) -> Space {
        let groups = geometry.groups_per_die as usize;
        let Streams { host: host_streams, all: data, shared, by_plane, most_free, map, parity } = streams;
        let streams = if parity { 2 * data } else { data };
        let width = if by_plane { groups } else { 1 };
        let levels = erase_levels.iter().map(|level| usize::from(*level) + 1).max().unwrap_or(1);
        let free = (0..geometry.die_count as usize * groups)
            .map(|index| {
                let first = index as u32 * geometry.blocks_per_group;
                let erased = vec![BinaryHeap::new(); levels];
                FreeBlocks { next_fresh: first, fresh_end: first + geometry.blocks_per_group, erased }
            })
            .collect();
        let dies = geometry.die_count as usize;
        Space {
            free,
            is_handed_over: false,
            free_count: vec![geometry.blocks_per_die; dies],
            frontiers: vec![Frontier { block: NONE, next_unit: 0 }; dies * streams * width],
            streams,
            groups,
            width,
            most_free,
            turns: vec![0; dies * streams],
            reserve: reserve + u32::from(map) + u32::from(parity),
            turn: 0,
            has_space: vec![true; dies],
            dies_with_space: dies as u32,
            host_streams,
            shared,
            map,
            data,
            erase_levels,
            levels,
            opened: Vec::new(),
        }
    }

    /// Returns the approximate size in bytes.
    pub fn bytes(&self) -> u64 {
        let erased: usize = self.free.iter().flat_map(|free| &free.erased).map(BinaryHeap::len).sum();
        (erased * size_of::<Ranked>() + self.frontiers.len() * size_of::<Frontier>() + self.free.len() * size_of::<FreeBlocks>())
            as u64
    }

    #[inline]
    pub fn free_blocks(&self, die: DieId) -> u32 {
        self.free_count[die.index()]
    }

    /// Returns the stream of the parity of a stream's data.
    pub fn parity_stream(&self, stream: usize) -> usize {
        self.data + stream
    }

    /// Returns true if a stream is one of parity.
    #[inline]
    pub fn is_parity(&self, stream: usize) -> bool {
        stream >= self.data
    }

    /// Returns the number of streams of data.
    pub fn data_streams(&self) -> usize {
        self.data
    }

    /// Returns the number of frontiers of one stream on one die that take turns program by program.
    pub fn turns(&self) -> u32 {
        if self.most_free { 1 } else { self.width as u32 }
    }

    /// Returns true if a die has so many free blocks that host data may take `blocks` more of them.
    pub fn can_spare(&self, die: DieId, blocks: u32) -> bool {
        self.free_count[die.index()] > self.reserve + blocks
    }

    /// Returns how many units the next allocation of a target's stream may have without leaving its block.
    pub fn room(&self, medium: &Medium, at: &Target) -> u32 {
        let first = (at.die.index() * self.streams + at.stream) * self.width;
        let left = |frontier: &Frontier| match frontier.block {
            NONE => medium.units_in(at.mode),
            block => medium.units_in(ModeId(medium.block(BlockId(block)).mode())) - frontier.next_unit,
        };
        self.frontiers[first..first + self.width].iter().map(left).min().expect("a stream has a frontier")
    }

    /// Returns the number of erase levels that free blocks can have.
    #[inline]
    pub fn levels(&self) -> usize {
        self.levels
    }

    /// Returns the first erase mode of a level, or mode 0 if the level has none.
    pub fn erase_mode_of(&self, level: u8) -> ModeId {
        ModeId(self.erase_levels.iter().position(|&at| at == level).unwrap_or(0) as u8)
    }

    /// Returns the number of free blocks of a die, by the level of their last erase.
    pub fn free_by_level(&self, die: DieId) -> Vec<u32> {
        let first = die.index() * self.groups;
        (0..self.levels)
            .map(|level| self.free[first..first + self.groups].iter().map(|free| free.at_level(level)).sum())
            .collect()
    }

    /// Returns true if the next program of a stream would open a block: its frontier is empty or in another mode, and a
    /// block may be opened.
    pub fn would_open(&mut self, medium: &Medium, at: &Target) -> bool {
        let turns = self.turns[at.die.index() * self.streams + at.stream];
        let Some(slot) = self.slot_of(medium, at) else { return false };
        self.turns[at.die.index() * self.streams + at.stream] = turns;
        let block = self.frontiers[slot].block;
        (block == NONE || medium.block(BlockId(block)).mode() != at.mode.0) && self.can_open(at.die, at.class)
    }

    /// Returns the next place of the open block to which the next program of a target goes; `None` if it would open a
    /// block, or may not go on.
    pub fn next_place(&mut self, medium: &Medium, at: &Target) -> Option<Ppn> {
        let turns = self.turns[at.die.index() * self.streams + at.stream];
        let slot = self.slot_of(medium, at);
        self.turns[at.die.index() * self.streams + at.stream] = turns;
        let Frontier { block, next_unit } = self.frontiers[slot?];
        let goes_on = block != NONE && medium.block(BlockId(block)).mode() == at.mode.0 && self.may_go_on(at);
        goes_on.then(|| Ppn(medium.geometry.first_of(BlockId(block)).0 + next_unit))
    }

    /// Returns true if [`Space::advance`] finds a place for the next program of a target.
    pub fn has_place(&mut self, medium: &Medium, at: &Target) -> bool {
        self.next_place(medium, at).is_some() || self.would_open(medium, at)
    }

    /// Returns true if a die has room for what a collection moves: a block that may be opened, an open block of the
    /// stream `own`, or of any stream of data.
    pub fn has_room(&self, die: DieId, class: AllocationClass, own: usize) -> bool {
        self.can_open(die, class) || self.any_open(die, own..own + 1).is_some()
    }

    /// Returns true if a die has a free block for the host.
    pub fn may_open_for_host(&self, die: DieId) -> bool {
        self.can_open(die, AllocationClass::Host)
    }

    /// Takes a free block of a level out of its list for a lazy erase. The block still counts as free.
    pub fn take_for_lazy_erase(&mut self, die: DieId, level: u8) -> Option<BlockId> {
        let first = die.index() * self.groups;
        let group = self.fullest(first, usize::from(level))?;
        self.free[group].pop(usize::from(level)).map(BlockId)
    }

    pub fn total_free_blocks(&self) -> u64 {
        self.free_count.iter().map(|count| u64::from(*count)).sum()
    }

    /// Returns the number of dies that can take host data now.
    #[inline]
    pub fn dies_with_space(&self) -> u32 {
        self.dies_with_space
    }

    #[inline]
    pub fn has_space(&self, die: DieId) -> bool {
        self.has_space[die.index()]
    }

    /// Returns true if a die can take map data now.
    pub fn has_map_space(&self, die: DieId) -> bool {
        let first = (die.index() * self.streams + self.data - 1) * self.width;
        let is_open = self.frontiers[first..first + self.width].iter().all(|frontier| frontier.block != NONE);
        is_open && self.free_count[die.index()] > 0 || self.can_open(die, AllocationClass::Map)
    }

    /// Sets whether a die can take host data, where firmware keeps the account.
    pub fn set_room(&mut self, die: DieId, room: bool) {
        let known = std::mem::replace(&mut self.has_space[die.index()], room);
        self.dies_with_space = self.dies_with_space + u32::from(room) - u32::from(known);
    }

    /// Returns true if firmware keeps the account of open blocks and victims.
    pub fn is_handed_over(&self) -> bool {
        self.is_handed_over
    }

    /// Counts a free block that firmware has opened.
    pub fn block_opened(&mut self, die: DieId) {
        self.free_count[die.index()] -= 1;
    }

    /// Counts a block that has been erased for firmware.
    pub fn block_freed(&mut self, die: DieId) {
        self.free_count[die.index()] += 1;
    }

    /// Hands the free blocks and the open ones over to firmware, which keeps the account from now on: those of each
    /// group of planes in the order in which they are used, and the frontiers, block and next unit, of a die's first
    /// and second stream.
    pub fn hand_over(&mut self) -> (Vec<Vec<u32>>, Vec<[u32; 2]>) {
        let in_order = |free: &FreeBlocks| {
            let mut erased: Vec<_> = free.erased[0].iter().map(|Reverse(ranked)| *ranked).collect();
            erased.sort_unstable();
            (free.next_fresh..free.fresh_end).chain(erased.into_iter().map(|(_, block)| block)).collect()
        };
        let free = self.free.iter().map(in_order).collect();
        let of_die = |die: &[Frontier]| [0, 1].map(|stream| die.get(stream).map_or([NONE, 0], |one| [one.block, one.next_unit]));
        let frontiers = self.frontiers.chunks(self.streams * self.width).flat_map(of_die).collect();
        self.frontiers.fill(Frontier { block: NONE, next_unit: 0 });
        self.is_handed_over = true;
        (free, frontiers)
    }

    fn update_space(&mut self, die: DieId) {
        let first = die.index() * self.streams * self.width;
        let open = self.frontiers[first..first + self.host_streams * self.width]
            .chunks_exact(self.width)
            .all(|stream| stream.iter().any(|frontier| frontier.block != NONE));
        let free = self.free_count[die.index()];
        let room = open && (free > 0 || !self.shared) || free > self.reserve;
        let known = &mut self.has_space[die.index()];
        self.dies_with_space = self.dies_with_space + u32::from(room) - u32::from(*known);
        *known = room;
    }

    /// Returns the open block of a stream's frontier in a group of planes, or that of its only frontier on the die.
    pub fn frontier(&self, die: DieId, stream: usize, group: u32) -> Option<BlockId> {
        let block = self.frontiers[(die.index() * self.streams + stream) * self.width + group as usize % self.width].block;
        (block != NONE).then_some(BlockId(block))
    }

    /// Returns the stream's frontier in the requested group of planes, or whose turn it is; if nothing can be written
    /// there, the next one that can be written. Advances the turn.
    #[inline(always)]
    fn slot_of(&mut self, medium: &Medium, at: &Target) -> Option<usize> {
        let stream = at.die.index() * self.streams + at.stream;
        if self.width == 1 { Some(stream) } else { self.slot_in_turn(medium, at, stream) }
    }

    #[inline(never)]
    fn slot_in_turn(&mut self, medium: &Medium, at: &Target, stream: usize) -> Option<usize> {
        let first = at.plane.unwrap_or(self.turns[stream]) as usize;
        let mut slots = (first..first + self.width).map(|turn| stream * self.width + turn % self.width).filter(|&slot| {
            let block = self.frontiers[slot].block;
            let is_open = block != NONE && medium.block(BlockId(block)).mode() == at.mode.0;
            if is_open { self.may_go_on(at) } else { self.can_open(at.die, at.class) }
        });
        let slot = if self.most_free && at.plane.is_none() {
            // Of equal ones the first.
            slots.min_by_key(|&slot| Reverse(self.room_of(medium, at, slot)))
        } else {
            slots.next()
        }?;
        self.turns[stream] = (slot % self.width) as u32 + 1;
        Some(slot)
    }

    /// Returns the units that can be written to a frontier and to the free blocks of its group.
    fn room_of(&self, medium: &Medium, at: &Target, slot: usize) -> u32 {
        let Frontier { block, next_unit } = self.frontiers[slot];
        let units = |mode: u8| medium.units_in(ModeId(mode));
        let open = if block == NONE { 0 } else { units(medium.block(BlockId(block)).mode()) - next_unit };
        self.free[at.die.index() * self.groups + slot % self.width].count() * units(at.mode.0) + open
    }

    #[inline]
    fn can_open(&self, die: DieId, class: AllocationClass) -> bool {
        let free = self.free_count[die.index()];
        match class {
            AllocationClass::Host => free > self.reserve,
            AllocationClass::Map => free >= self.reserve,
            AllocationClass::Relocation => free > 0,
            AllocationClass::Move | AllocationClass::Careful => free > 1,
        }
    }

    /// Returns true if an open frontier may be written to. A collection begins while a block is free; its frontier and
    /// that block together hold all that it moves. Once the block is taken, only the collection may write to the
    /// frontier.
    #[inline]
    fn may_go_on(&self, at: &Target) -> bool {
        let yields = match at.class {
            AllocationClass::Host => self.shared && at.stream == 0,
            AllocationClass::Map | AllocationClass::Move => true,
            AllocationClass::Relocation | AllocationClass::Careful => false,
        };
        !yields || self.free_count[at.die.index()] > 0
    }

    /// Allocates the next `units` places of a stream's frontier and returns the first. Opens a block in the target's
    /// mode if there is no frontier; a frontier in another mode is closed first. Returns `None` if no block may be
    /// opened, or the open frontier is left to a collection.
    #[inline]
    pub fn advance(&mut self, medium: &mut Medium, at: &Target, units: u32, now: SimTime) -> Option<Ppn> {
        let slot = self.slot_of(medium, at)?;
        if self.frontiers[slot].block != NONE && medium.block(BlockId(self.frontiers[slot].block)).mode() != at.mode.0 {
            if !self.can_open(at.die, at.class) {
                return None;
            }
            self.close_frontier(medium, at.die, slot);
        }
        if self.frontiers[slot].block == NONE {
            let block = self.take_free(at, slot % self.width)?;
            medium.open(block, at.mode);
            medium.note_first_program(block, now);
            self.frontiers[slot] = Frontier { block: block.0, next_unit: 0 };
            self.opened.push(block);
            self.update_space(at.die);
        } else if !self.may_go_on(at) {
            return None;
        }
        let frontier = &mut self.frontiers[slot];
        let block = BlockId(frontier.block);
        let first = Ppn(medium.geometry.first_of(block).0 + frontier.next_unit);
        frontier.next_unit += units;
        debug_assert!(frontier.next_unit <= medium.geometry.units_per_block);
        Some(first)
    }

    /// Returns a stream of a die that has an open block, and the block: one of the `nearest` streams or another stream
    /// of relocations if possible, or else of the host.
    pub fn any_open(&self, die: DieId, nearest: Range<usize>) -> Option<(usize, BlockId)> {
        // Blocks of map data hold nothing else.
        let order = (self.host_streams..self.data - usize::from(self.map)).chain(0..self.host_streams);
        let order = nearest.filter(|stream| *stream >= self.host_streams).chain(order);
        let open = |stream: usize| {
            let first = (die.index() * self.streams + stream) * self.width;
            self.frontiers[first..first + self.width].iter().find(|frontier| frontier.block != NONE)
        };
        order.filter_map(|stream| open(stream).map(|frontier| (stream, BlockId(frontier.block)))).next()
    }

    /// Closes a stream's frontiers whose blocks are full. Must be called after the units allocated by
    /// [`Space::advance`] have been placed.
    #[inline(always)]
    pub fn close_full(&mut self, medium: &mut Medium, die: DieId, stream: usize) {
        let first = (die.index() * self.streams + stream) * self.width;
        for slot in first..first + self.width {
            let frontier = self.frontiers[slot];
            if frontier.block != NONE
                && frontier.next_unit == medium.units_in(ModeId(medium.block(BlockId(frontier.block)).mode()))
            {
                self.close_frontier(medium, die, slot);
            }
        }
    }

    /// Closes a frontier, full or not.
    #[inline(never)]
    fn close_frontier(&mut self, medium: &mut Medium, die: DieId, slot: usize) {
        let block = std::mem::replace(&mut self.frontiers[slot].block, NONE);
        medium.close(BlockId(block));
        self.update_space(die);
    }

    /// Gives up the frontier of an open block, which stays open.
    pub fn abandon(&mut self, die: DieId, block: BlockId) {
        let slot = self.frontier_of(die, block);
        self.frontiers[slot].block = NONE;
        self.update_space(die);
    }

    /// Returns the frontier of an open block.
    fn frontier_of(&self, die: DieId, block: BlockId) -> usize {
        let of_die = self.streams * self.width;
        let first = die.index() * of_die;
        let slot = (first..first + of_die).find(|&slot| self.frontiers[slot].block == block.0);
        slot.expect("an open block is a frontier")
    }

    /// Closes all frontiers of a die and forgets its free blocks: nothing is written there any more.
    pub fn lose_die(&mut self, medium: &mut Medium, die: DieId) {
        let of_die = self.streams * self.width;
        for slot in die.index() * of_die..(die.index() + 1) * of_die {
            if self.frontiers[slot].block != NONE {
                self.close_frontier(medium, die, slot);
            }
        }
        for free in &mut self.free[die.index() * self.groups..(die.index() + 1) * self.groups] {
            free.next_fresh = free.fresh_end;
            free.erased.iter_mut().for_each(BinaryHeap::clear);
        }
        self.free_count[die.index()] = 0;
        self.update_space(die);
    }

    /// Counts a block out that was taken for a lazy erase and will not come back.
    pub fn count_out(&mut self, die: DieId) {
        self.free_count[die.index()] -= 1;
        self.update_space(die);
    }

    /// Takes blocks that were never used out of the free ones: those that are not free any more in the medium.
    pub fn withhold(&mut self, medium: &Medium, wear: &dyn WearLeveling) {
        for die in (0..medium.geometry.die_count).map(DieId) {
            let mut blocks = medium.geometry.blocks_of(die).map(BlockId);
            if blocks.clone().all(|block| medium.block(block).state() == BlockState::Free) {
                continue;
            }
            for free in &mut self.free[die.index() * self.groups..(die.index() + 1) * self.groups] {
                free.next_fresh = free.fresh_end;
                free.erased.iter_mut().for_each(BinaryHeap::clear);
            }
            self.free_count[die.index()] = 0;
            while let Some(block) = blocks.find(|&block| medium.block(block).state() == BlockState::Free) {
                self.put_free(medium, block, wear);
            }
            self.update_space(die);
        }
    }

    /// Closes an open block, full or not.
    pub fn close(&mut self, medium: &mut Medium, die: DieId, block: BlockId) {
        let slot = self.frontier_of(die, block);
        self.close_frontier(medium, die, slot);
    }

    /// Returns the open blocks.
    pub fn open_blocks(&self) -> impl Iterator<Item = OpenBlock> + '_ {
        let (streams, width) = (self.streams, self.width);
        let open = self.frontiers.iter().enumerate().filter(|(_, frontier)| frontier.block != NONE);
        open.map(move |(slot, frontier)| OpenBlock {
            stream: slot / width % streams,
            plane: (slot % width) as u32,
            block: BlockId(frontier.block),
            next_unit: frontier.next_unit,
        })
    }

    /// Takes the free block that comes first in the order of wear levelling. Where planes take turns, it comes from
    /// group `turn` if that has one of the right level; otherwise from the group with the most free blocks.
    fn take_free(&mut self, at: &Target, turn: usize) -> Option<BlockId> {
        if !self.can_open(at.die, at.class) {
            return None;
        }
        let (first, level) = (at.die.index() * self.groups, usize::from(at.level));
        let own = self.width > 1 && self.free[first + turn].at_level(level) > 0;
        let group = if own { first + turn } else { self.fullest(first, level)? };
        let block = self.free[group].pop(level)?;
        self.free_count[at.die.index()] -= 1;
        self.update_space(at.die);
        Some(BlockId(block))
    }

    /// Returns the group of planes with the most free blocks among those that have free blocks of a level. `first` is
    /// the first group of the die.
    fn fullest(&self, first: usize, level: usize) -> Option<usize> {
        let groups = (first..first + self.groups).filter(|&group| self.free[group].at_level(level) > 0);
        groups.max_by_key(|&group| (self.free[group].count(), Reverse(group)))
    }

    /// Adds an erased block to the free blocks of its die.
    pub fn put_free(&mut self, medium: &Medium, block: BlockId, wear: &dyn WearLeveling) {
        let die = medium.geometry.die_of(block);
        self.insert_free(medium, block, wear);
        self.free_count[die.index()] += 1;
        self.update_space(die);
    }

    /// Puts a free block into the list of the level of its last erase.
    pub fn insert_free(&mut self, medium: &Medium, block: BlockId, wear: &dyn WearLeveling) {
        let group = medium.geometry.die_of(block).index() * self.groups + medium.geometry.group_of(block) as usize;
        let level = usize::from(self.erase_levels[medium.erase_mode(block).index()]);
        self.turn += 1;
        self.free[group].erased[level].push(Reverse((wear.free_order(medium.wear_thousandths(block), self.turn), block.0)));
    }

    /// Returns the state that decides where data is written next, for saving.
    pub fn image(&self) -> SpaceImage {
        assert!(self.opened.is_empty(), "newly opened blocks have been reported");
        SpaceImage {
            host_streams: self.host_streams,
            streams: self.streams,
            width: self.width,
            free: self.free.clone(),
            frontiers: self.frontiers.clone(),
            turns: self.turns.clone(),
            turn: self.turn,
        }
    }

    /// Restores a saved state; an error if it has another shape.
    pub fn restore(&mut self, image: SpaceImage) -> Result<(), String> {
        let SpaceImage { host_streams: _, streams: _, width: _, free, frontiers, turns, turn } = image;
        let fits = free.len() == self.free.len()
            && free.iter().all(|free| free.erased.len() == self.levels)
            && (frontiers.len(), turns.len()) == (self.frontiers.len(), self.turns.len());
        if !fits {
            return Err("its write frontiers are not those of this drive".to_owned());
        }
        (self.free, self.frontiers, self.turns, self.turn) = (free, frontiers, turns, turn);
        for die in 0..self.free_count.len() {
            let groups = die * self.groups..(die + 1) * self.groups;
            self.free_count[die] = self.free[groups].iter().map(FreeBlocks::count).sum();
            self.update_space(DieId(die as u32));
        }
        Ok(())
    }

    /// Rebuilds the free blocks from the states of all blocks after a drive was loaded from a file. No frontier is open
    /// afterwards.
    pub fn rebuild(&mut self, medium: &Medium, wear: &dyn WearLeveling) {
        for free in &mut self.free {
            free.next_fresh = free.fresh_end;
            free.erased.iter_mut().for_each(BinaryHeap::clear);
        }
        self.free_count.fill(0);
        self.frontiers.fill(Frontier { block: NONE, next_unit: 0 });
        for block in (0..medium.geometry.block_count).map(BlockId) {
            if medium.block(block).state() == BlockState::Free {
                self.put_free(medium, block, wear);
            }
        }
        for die in 0..medium.geometry.die_count {
            self.update_space(DieId(die));
        }
    }

    /// Makes an open block of a loaded drive a frontier of a stream again, behind the program units already programmed.
    /// Returns false if the stream has no frontier free on the die, or the block is full.
    pub fn go_on(&mut self, medium: &Medium, block: BlockId, stream: usize) -> bool {
        let die = medium.geometry.die_of(block);
        let next_unit = u32::from(medium.block(block).programmed) * medium.geometry.units_per_program;
        let first = (die.index() * self.streams + stream) * self.width;
        let own = medium.geometry.group_of(block) as usize;
        let mut slots = (own..own + self.width).map(|turn| first + turn % self.width);
        let Some(slot) = slots.find(|&slot| self.frontiers[slot].block == NONE) else { return false };
        let frontier = &mut self.frontiers[slot];
        if next_unit >= medium.units_in(ModeId(medium.block(block).mode())) {
            return false;
        }
        *frontier = Frontier { block: block.0, next_unit };
        self.update_space(die);
        true
    }
}

/// Free blocks and frontiers in the form in which they are saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SpaceImage {
    pub host_streams: usize,
    streams: usize,
    width: usize,
    free: Vec<FreeBlocks>,
    frontiers: Vec<Frontier>,
    turns: Vec<u32>,
    turn: u64,
}

impl SpaceImage {
    /// Returns the open blocks, each with the stream that writes to it.
    pub fn open_blocks(&self) -> impl Iterator<Item = (usize, BlockId)> + '_ {
        let open = self.frontiers.iter().enumerate().filter(|(_, frontier)| frontier.block != NONE);
        open.map(|(slot, frontier)| (slot / self.width.max(1) % self.streams.max(1), BlockId(frontier.block)))
    }
}

/// Write streams of each die.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Streams {
    /// Number of host streams.
    pub host: usize,
    /// Number of all streams of data, those of relocations included.
    pub all: usize,
    /// True if the first host stream takes relocated data, too.
    pub shared: bool,
    /// True if each stream has a frontier in each group of planes.
    pub by_plane: bool,
    /// True if the frontier with the most room is written to, and not the next one in turn.
    pub most_free: bool,
    /// True if the last stream is that of map data.
    pub map: bool,
    /// True if each stream has another one for the parity of its data.
    pub parity: bool,
}

/// An open block, with its position among the frontiers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenBlock {
    pub stream: usize,
    /// Index of the frontier among those of the stream on the die.
    pub plane: u32,
    pub block: BlockId,
    /// Index of the next unit to be written.
    pub next_unit: u32,
}

/// Destination of an allocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target {
    pub die: DieId,
    pub stream: usize,
    pub mode: ModeId,
    pub class: AllocationClass,
    /// Group of planes, where planes take turns; none: the next in turn.
    pub plane: Option<u32>,
    /// Erase level of a block that is opened for this allocation.
    pub level: u8,
}

#[cfg(test)]
mod tests;
