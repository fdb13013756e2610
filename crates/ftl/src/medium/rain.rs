//! Parity across dies (RAIN): sets of blocks, of which one holds the parity of the others.
//!
//! The dies are divided into groups of neighbours. A **set** has one block of each die of a group: blocks of data of
//! one stream and write mode, which their dies open and fill at their own pace, and a block of parity. Program unit *r*
//! of the block of parity holds the exclusive or of program unit *r* of the others. It is programmed once each of them
//! has programmed that unit, or will not any more; until then the parity is in the memory of the controller. The dies
//! take turns as the one with the parity, set by set.
//!
//! Parity covers what is stale, too: as long as it is to restore one block, no other may be erased. A block may be
//! emptied by itself, because its data reaches a retention limit, for example; but a set is erased as a whole. It is
//! collected for space only once it is **whole**: all its blocks are full and the parity is written. All of them are
//! emptied before the first is erased. A group collects one set at a time, and begins while each of its dies has a free
//! block: nothing but a collection takes the last one, and each collection returns one to each die. If a program fails
//! in the last one, the collection is given up for that of a set without current data, which needs no room.

mod power;

use super::{BlockState, Medium};
use kit::archive::{Archived, require};
use kit::{BlockId, DieId, Reason, SimTime};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

const NONE: u32 = u32::MAX;

/// Number of sets of one stream and mode in a group that dies may still join. A die that opens a block beyond them ends
/// the oldest: the dies that have not joined it do without.
const MAX_FORMING: usize = 8;

/// Stage in the life of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Stage {
    /// Its blocks are being written.
    Writing,
    /// All are written, and may be collected.
    Whole,
    /// Its data is being moved.
    Emptying,
    /// Its blocks are being erased.
    Erasing,
}

/// A set of blocks.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Set {
    pub stage: Stage,
    pub group: u32,
    pub stream: usize,
    pub mode: u8,
    /// Place of the block of parity among the blocks.
    pub parity_at: usize,
    /// Block of each die of the group; [`NONE`]: none.
    blocks: Vec<u32>,
    /// True while dies may join it.
    is_forming: bool,
    /// Blocks from which all data has been moved, a bit for each die of the group.
    emptied: u64,
    /// Reason for which it is collected.
    pub reason: Reason,
    /// True if its block of parity has failed, or is on a lost die: what is not written there stays in the memory of
    /// the controller.
    pub keeps_parity: bool,
    /// True if one of its blocks is on a lost die, or a loss of power has left current data without parity: its data
    /// is to be moved.
    is_degraded: bool,
    /// Rows whose parity a loss of power has left; none if it has taken nothing of what is on flash.
    readable: Option<u32>,
}

impl Set {
    /// Returns the block of a die of the group, by the place of the die.
    pub fn block(&self, place: usize) -> Option<BlockId> {
        Some(self.blocks[place]).filter(|&block| block != NONE).map(BlockId)
    }

    /// Returns the block of parity, once it has been opened.
    pub fn parity(&self) -> Option<BlockId> {
        self.block(self.parity_at)
    }

    /// Returns the blocks of data.
    pub fn data(&self) -> impl Iterator<Item = BlockId> + '_ {
        (0..self.blocks.len()).filter(|&place| place != self.parity_at).filter_map(|place| self.block(place))
    }

    /// Returns all blocks.
    pub fn all(&self) -> impl Iterator<Item = BlockId> + '_ {
        (0..self.blocks.len()).filter_map(|place| self.block(place))
    }

    /// Returns true while dies may join it.
    pub fn is_forming(&self) -> bool {
        self.is_forming
    }

    fn is_emptied(&self, place: usize) -> bool {
        self.emptied >> place & 1 == 1
    }
}

/// How far the blocks of data of a set are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    /// Program units of parity that can be known by now.
    pub rows: u32,
    /// True if the blocks of data will not be written any more.
    pub is_final: bool,
}

/// The sets of a drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Rain {
    /// Dies of a group.
    dies: u32,
    /// Streams of data.
    streams: usize,
    /// The sets, and the numbers of those that no block belongs to.
    sets: Vec<Set>,
    unused: Vec<u32>,
    /// Sets that dies may still join, oldest first, by group and stream.
    forming: Vec<Vec<u32>>,
    /// Number of sets so far of which each die has held the parity.
    parities: Vec<u64>,
    /// Sets that are being written, by the die that holds their parity, oldest first.
    writing: Vec<Vec<u32>>,
    /// Set that each group empties or erases.
    collected: Vec<Option<u32>>,
    /// Blocks that each die is to erase.
    erasable: Vec<VecDeque<u32>>,
    /// True once the blocks with which the drive began are in sets.
    pub is_begun: bool,
    /// Blocks that are kept for parity until then.
    pub kept: Vec<u32>,
    /// Lost dies.
    lost: Vec<bool>,
    /// True if a set that lacks a block may be rebuilt now.
    pub may_rebuild: bool,
    /// Instant from which on each group may rebuild the next set, and whether a timer is armed for it.
    pub rebuilds: Vec<(SimTime, bool)>,
}

impl Rain {
    /// Returns the sets of an empty drive with `die_count` dies in groups of `dies`.
    pub fn new(dies: u32, die_count: u32, streams: usize) -> Rain {
        let (groups, all) = ((die_count / dies) as usize, die_count as usize);
        Rain {
            dies,
            streams,
            sets: Vec::new(),
            unused: Vec::new(),
            forming: vec![Vec::new(); groups * streams],
            parities: vec![0; all],
            writing: vec![Vec::new(); all],
            collected: vec![None; groups],
            erasable: vec![VecDeque::new(); all],
            is_begun: false,
            kept: Vec::new(),
            lost: vec![false; all],
            may_rebuild: false,
            rebuilds: vec![(SimTime::ZERO, false); groups],
        }
    }

    fn place_of(&self, die: DieId) -> (u32, usize) {
        (die.0 / self.dies, (die.0 % self.dies) as usize)
    }

    /// Returns the dies of a group.
    pub fn dies_of(&self, group: u32) -> impl Iterator<Item = DieId> + use<> {
        (group * self.dies..(group + 1) * self.dies).map(DieId)
    }

    /// Returns the group of a die.
    pub fn group_of(&self, die: DieId) -> u32 {
        self.place_of(die).0
    }

    /// Returns the number of groups.
    pub fn groups(&self) -> u32 {
        self.collected.len() as u32
    }

    pub fn set(&self, set: u32) -> &Set {
        &self.sets[set as usize]
    }

    /// Returns the die that holds the parity of a set.
    pub fn parity_die(&self, set: u32) -> DieId {
        let Set { group, parity_at, .. } = *self.set(set);
        DieId(group * self.dies + parity_at as u32)
    }

    /// Returns the set that a group empties or erases.
    pub fn collected(&self, group: u32) -> Option<u32> {
        self.collected[group as usize]
    }

    /// Returns true if a die has blocks to erase.
    #[inline]
    pub fn has_erasable(&self, die: DieId) -> bool {
        !self.erasable[die.index()].is_empty()
    }

    /// Returns true if a die holds the parity of a set that is being written.
    #[inline]
    pub fn may_owe(&self, die: DieId) -> bool {
        !self.writing[die.index()].is_empty()
    }

    /// Returns the sets that are being written and whose parity a die holds, oldest first.
    pub fn owed_by(&self, die: DieId) -> impl Iterator<Item = u32> + '_ {
        self.writing[die.index()].iter().copied()
    }

    /// Returns the sets of a group that are being written.
    pub fn written_by(&self, group: u32) -> Vec<u32> {
        self.dies_of(group).flat_map(|die| self.owed_by(die)).collect()
    }

    /// Takes in a block that a die has opened for a stream: it joins the oldest set that has room for it, or begins
    /// one. Returns its set, and the set that no die may join any more, if it ended one. `None`: all other dies of the
    /// group are lost, and no parity is kept.
    pub fn join(&mut self, die: DieId, stream: usize, (block, mode): (BlockId, u8)) -> Option<(u32, Option<u32>)> {
        let (group, place) = self.place_of(die);
        let live = self.live_dies(group).count();
        if live < 2 {
            return None;
        }
        let list = group as usize * self.streams + stream;
        let of_mode = |rain: &Rain, set: u32| rain.set(set).mode == mode;
        let fits = |&&set: &&u32| {
            let one = self.set(set);
            of_mode(self, set) && one.parity_at != place && one.blocks[place] == NONE
        };
        let known = self.forming[list].iter().find(fits).copied();
        let mut ended = None;
        let set = known.unwrap_or_else(|| {
            let oldest: Vec<u32> = self.forming[list].iter().copied().filter(|&set| of_mode(self, set)).collect();
            if oldest.len() >= MAX_FORMING {
                ended = Some(oldest[0]);
                self.end_forming(oldest[0]);
            }
            let first = (group * self.dies) as usize;
            let others = (0..self.dies as usize).filter(|&other| other != place && !self.lost[first + other]);
            let parity_at = others.min_by_key(|&other| (self.parities[first + other], other)).expect("a set has two dies");
            let set = self.begin_set((group, stream, mode), parity_at);
            self.forming[list].push(set);
            self.writing[first + parity_at].push(set);
            set
        });
        self.sets[set as usize].blocks[place] = block.0;
        if self.set(set).data().count() == live - 1 {
            self.end_forming(set);
        }
        Some((set, ended))
    }

    /// Returns the dies of a group that are not lost.
    pub fn live_dies(&self, group: u32) -> impl Iterator<Item = DieId> + '_ {
        self.dies_of(group).filter(|die| !self.lost[die.index()])
    }

    /// Takes note of a lost die. Sets that have a block on it are to be rebuilt. Those that are being written must not
    /// be any more; they are returned.
    pub fn lose_die(&mut self, die: DieId) -> Vec<u32> {
        let (group, place) = self.place_of(die);
        self.lost[die.index()] = true;
        self.may_rebuild = true;
        let in_use: Vec<u32> = self.in_use().filter(|(_, set)| set.group == group).map(|(number, _)| number).collect();
        for number in in_use {
            let set = &mut self.sets[number as usize];
            set.is_degraded |= set.block(place).is_some() || set.parity_at == place;
            set.keeps_parity |= set.stage == Stage::Writing && set.parity_at == place;
        }
        self.written_by(group)
    }

    /// Takes note that the block of parity of a set has failed.
    pub fn parity_failed(&mut self, set: u32) {
        self.sets[set as usize].keeps_parity = true;
    }

    /// Returns true if a set lacks a block, and is whole otherwise.
    pub fn is_to_be_rebuilt(&self, set: u32) -> bool {
        let one = self.set(set);
        one.is_degraded && one.stage == Stage::Whole
    }

    /// Returns the number of sets that have lost a block with their die, or parity of current data with the power.
    pub fn degraded(&self) -> u64 {
        self.in_use().filter(|(_, set)| set.is_degraded).count() as u64
    }

    /// Returns the first set of a group that is to be rebuilt and can be now.
    pub fn next_rebuilt(&self, group: u32, medium: &Medium, free_blocks: impl Fn(DieId) -> u32) -> Option<u32> {
        let fits = |(number, set): &(u32, &Set)| {
            set.group == group && self.is_to_be_rebuilt(*number) && self.can_collect(*number, medium, &free_blocks)
        };
        self.in_use().find(fits).map(|(number, _)| number)
    }

    /// Begins a set without blocks.
    fn begin_set(&mut self, (group, stream, mode): (u32, usize, u8), parity_at: usize) -> u32 {
        let set = Set {
            stage: Stage::Writing,
            group,
            stream,
            mode,
            parity_at,
            blocks: vec![NONE; self.dies as usize],
            is_forming: true,
            emptied: 0,
            reason: Reason::Gc,
            keeps_parity: false,
            is_degraded: false,
            readable: None,
        };
        self.parities[(group * self.dies) as usize + parity_at] += 1;
        match self.unused.pop() {
            Some(slot) => {
                self.sets[slot as usize] = set;
                slot
            }
            None => {
                self.sets.push(set);
                self.sets.len() as u32 - 1
            }
        }
    }

    /// Adds a set that is whole, of blocks of data by die and a block of parity.
    pub fn add_whole(&mut self, group: u32, mode: u8, (parity_at, parity): (usize, BlockId), data: &[Option<BlockId>]) -> u32 {
        let set = self.begin_set((group, 0, mode), parity_at);
        let one = &mut self.sets[set as usize];
        one.blocks = data.iter().map(|block| block.map_or(NONE, |block| block.0)).collect();
        one.blocks[parity_at] = parity.0;
        (one.stage, one.is_forming) = (Stage::Whole, false);
        set
    }

    /// Lets no more dies join a set.
    pub fn end_forming(&mut self, set: u32) {
        let Set { group, stream, .. } = *self.set(set);
        self.sets[set as usize].is_forming = false;
        self.forming[group as usize * self.streams + stream].retain(|&other| other != set);
    }

    /// Takes in the block of parity of a set, which its die has opened.
    pub fn parity_opened(&mut self, set: u32, block: BlockId) {
        let one = &mut self.sets[set as usize];
        one.blocks[one.parity_at] = block.0;
    }

    /// Returns how far the blocks of data of a set are written.
    pub fn written(&self, set: u32, medium: &Medium) -> Written {
        let one = self.set(set);
        let (mut known, mut longest, mut is_final) = (if one.is_forming { 0 } else { u32::MAX }, 0, !one.is_forming);
        for block in one.data() {
            let record = medium.block(block);
            longest = longest.max(u32::from(record.programmed));
            if matches!(record.state(), BlockState::Open | BlockState::Failed) || medium.is_programming(block) {
                known = known.min(record.programmed.into());
                is_final = false;
            }
        }
        Written { rows: known.min(longest), is_final }
    }

    /// Marks a set as whole.
    pub fn complete(&mut self, set: u32) {
        let die = self.parity_die(set);
        self.sets[set as usize].stage = Stage::Whole;
        self.writing[die.index()].retain(|&other| other != set);
    }

    /// Begins to collect a set that is whole. Returns the blocks that its dies are to empty.
    pub fn begin_emptying(&mut self, set: u32, reason: Reason, medium: &Medium) -> Vec<BlockId> {
        let one = &mut self.sets[set as usize];
        (one.stage, one.reason, one.emptied) = (Stage::Emptying, reason, 0);
        self.collected[one.group as usize] = Some(set);
        one.data().filter(|&block| !medium.block(block).is(BlockState::Victim)).collect()
    }

    /// Notes that a block of a set has been emptied. Returns true if all of them are: then its dies are to erase them.
    pub fn emptied(&mut self, set: u32, die: DieId) -> bool {
        let (_, place) = self.place_of(die);
        let one = &mut self.sets[set as usize];
        one.emptied |= 1 << place;
        let left =
            (0..one.blocks.len()).any(|place| place != one.parity_at && one.block(place).is_some() && !one.is_emptied(place));
        if left {
            return false;
        }
        one.stage = Stage::Erasing;
        let first = one.group * self.dies;
        for (place, &block) in (0..).zip(&one.blocks).filter(|(_, block)| **block != NONE) {
            self.erasable[(first + place) as usize].push_back(block);
        }
        true
    }

    /// Returns true if a set can be collected now: its group collects no other, and each die has a free block for the
    /// data that it is to move.
    pub fn can_collect(&self, set: u32, medium: &Medium, free_blocks: impl Fn(DieId) -> u32) -> bool {
        let one = self.set(set);
        let has_room = |block: BlockId| {
            let die = medium.geometry.die_of(block);
            // Other dies take the data of a lost one.
            self.lost[die.index()] || medium.block(block).valid == 0 || free_blocks(die) > 0
        };
        one.stage == Stage::Whole && self.collected(one.group).is_none() && one.data().all(has_room)
    }

    /// Returns the whole set of a group with the fewest valid units that can be collected now.
    pub fn least_valid(&self, group: u32, medium: &Medium, free_blocks: impl Fn(DieId) -> u32) -> Option<u32> {
        let fits = |(number, set): &(u32, &Set)| set.group == group && self.can_collect(*number, medium, &free_blocks);
        let valid = |set: &Set| set.data().map(|block| u32::from(medium.block(block).valid)).sum::<u32>();
        self.in_use().filter(fits).min_by_key(|(number, set)| (valid(set), *number)).map(|(number, _)| number)
    }

    /// Returns the whole set of a group, with a block on a live die, whose current data is all on lost dies and has the
    /// fewest valid units, up to `most`.
    pub fn least_lost(&self, group: u32, medium: &Medium, most: u32) -> Option<u32> {
        let is_lost = |block: &BlockId| self.lost[medium.geometry.die_of(*block).index()];
        let valid = |set: &Set| -> u32 { set.data().map(|block| u32::from(medium.block(block).valid)).sum() };
        let fits = |set: &Set| {
            set.group == group
                && set.stage == Stage::Whole
                && set.all().any(|block| !is_lost(&block))
                && set.data().all(|block| is_lost(&block) || medium.block(block).valid == 0)
                && valid(set) <= most
        };
        let found = self.in_use().filter(|(_, set)| set.is_degraded && fits(set));
        found.min_by_key(|(number, set)| (valid(set), *number)).map(|(number, _)| number)
    }

    /// Returns the first whole set of a group that holds no current data.
    pub fn stale(&self, group: u32, medium: &Medium) -> Option<u32> {
        let is_stale = |set: &Set| set.stage == Stage::Whole && set.data().all(|block| medium.block(block).valid == 0);
        self.in_use().find(|(_, set)| set.group == group && is_stale(set)).map(|(number, _)| number)
    }

    /// Ends the collection of a set before all its data has been moved: it is whole again.
    pub fn stop_emptying(&mut self, set: u32) {
        let one = &mut self.sets[set as usize];
        (one.stage, one.emptied) = (Stage::Whole, 0);
        self.collected[one.group as usize] = None;
        self.may_rebuild |= one.is_degraded;
    }

    /// Takes the next block that a die is to erase.
    pub fn next_erasable(&mut self, die: DieId) -> Option<BlockId> {
        self.erasable[die.index()].pop_front().map(BlockId)
    }

    /// Takes a block that has been erased out of its set. Returns true if it was the last one.
    pub fn erased(&mut self, set: u32, die: DieId) -> bool {
        let (group, place) = self.place_of(die);
        let one = &mut self.sets[set as usize];
        one.blocks[place] = NONE;
        let is_last = one.all().next().is_none();
        if is_last {
            self.unused.push(set);
            self.collected[group as usize] = None;
            self.may_rebuild |= self.degraded() > 0;
        }
        is_last
    }

    /// Returns the mean number of valid units of the blocks of data of a closed block's set, rounded down; of the block
    /// itself if it belongs to none.
    pub fn mean_valid(&self, medium: &Medium, block: BlockId) -> u32 {
        let Some(set) = medium.set_of(block) else { return u32::from(medium.block(block).valid) };
        let (sum, count) =
            self.set(set).data().fold((0, 0), |(sum, count), block| (sum + u32::from(medium.block(block).valid), count + 1));
        sum / count.max(1)
    }

    /// Returns the number of blocks of a die that are emptied, and wait for the others of their set or for their erase.
    pub fn waiting_for_erase(&self, die: DieId) -> usize {
        let (group, place) = self.place_of(die);
        let Some(set) = self.collected(group) else { return 0 };
        let one = self.set(set);
        let waits = one.stage == Stage::Erasing || one.is_emptied(place);
        usize::from(waits && one.block(place).is_some())
    }

    /// Returns the number of the sets that are in use.
    fn in_use(&self) -> impl Iterator<Item = (u32, &Set)> {
        (0..).zip(&self.sets).filter(|(number, _)| !self.unused.contains(number))
    }

    /// Enters the set of each block in the medium.
    pub fn enter(&self, medium: &mut Medium) {
        for (number, set) in self.in_use() {
            set.all().for_each(|block| medium.set_member(block, Some(number)));
        }
    }

    /// Checks the sets of a saved drive against those of an empty drive of the same description.
    pub fn check(&self, own: &Rain, medium: &Medium) -> Archived {
        let shape = |rain: &Rain| (rain.dies, rain.streams, rain.forming.len(), rain.parities.len(), rain.collected.len());
        let lengths = [self.writing.len(), self.erasable.len(), self.lost.len(), self.collected.len()]
            == [self.parities.len(), self.parities.len(), self.parities.len(), self.rebuilds.len()];
        let kept = self.kept.iter().find(|&&block| block >= medium.geometry.block_count);
        require(kept.is_none(), || format!("block {} is kept for parity, and does not exist", kept.unwrap_or(&0)))?;
        require(shape(self) == shape(own) && lengths, || "its sets of blocks are not those of this drive".to_owned())?;
        let count = self.sets.len() as u32;
        let lists = self.forming.iter().chain(&self.writing).flatten().chain(&self.unused).chain(self.collected.iter().flatten());
        let strange = lists.copied().find(|&set| set >= count);
        require(strange.is_none(), || format!("it names set {} of {count} sets of blocks", strange.unwrap_or(0)))?;
        let mut seen = vec![false; medium.geometry.block_count as usize];
        for (number, set) in self.in_use() {
            let fits = set.group < self.groups()
                && set.stream < self.streams
                && set.blocks.len() == self.dies as usize
                && set.parity_at < set.blocks.len();
            require(fits, || format!("set {number} of blocks is none of this drive"))?;
            for (die, &block) in self.dies_of(set.group).zip(&set.blocks).filter(|(_, block)| **block != NONE) {
                let is_own =
                    medium.geometry.blocks_of(die).contains(&block) && !std::mem::replace(&mut seen[block as usize], true);
                require(is_own, || format!("block {block} is in set {number} for die {}, and cannot be", die.0))?;
                let state = medium.block(BlockId(block)).state();
                let may_be = match (set.stage, set.parity() == Some(BlockId(block))) {
                    (Stage::Erasing, _) => state == BlockState::Victim,
                    (Stage::Writing, true) => matches!(state, BlockState::Open | BlockState::Sealed),
                    (Stage::Whole | Stage::Emptying, true) => state == BlockState::Sealed,
                    (Stage::Writing, false) => matches!(state, BlockState::Open | BlockState::Sealed | BlockState::Victim),
                    (Stage::Whole | Stage::Emptying, false) => matches!(state, BlockState::Closed | BlockState::Victim),
                };
                require(may_be, || format!("block {block} of set {number}, {:?}, is {state:?}", set.stage))?;
            }
        }
        let sealed = (0..medium.geometry.block_count)
            .find(|&block| medium.block(BlockId(block)).is(BlockState::Sealed) && !seen[block as usize]);
        require(sealed.is_none(), || format!("block {} is sealed, and in no set", sealed.unwrap_or(0)))
    }

    /// Describes the sets that are being written, collected or erased, for the report of a stall.
    pub fn describe(&self, medium: &Medium) -> String {
        let lines = self.in_use().filter(|(_, set)| set.stage != Stage::Whole).map(|(number, set)| {
            let blocks: Vec<_> = set.all().map(|block| (block.0, medium.block(block))).collect();
            let Set { stage, stream, is_forming, emptied, .. } = set;
            let parity = set.parity();
            format!("\nset {number}: {stage:?}, stream {stream}, forming: {is_forming}, emptied: {emptied:b}, parity {parity:?}, {blocks:?}")
        });
        lines.collect()
    }

    /// Adds a line for each contradiction between the sets and the medium.
    pub fn audit(&self, medium: &Medium, found: &mut Vec<String>) {
        for (number, set) in self.in_use() {
            for block in set.all().filter(|&block| medium.set_of(block) != Some(number)) {
                found.push(format!("{block:?} is in set {number}, and the medium has {:?}", medium.set_of(block)));
            }
            let Some(parity) = set.parity() else { continue };
            let written = self.written(number, medium).rows;
            let rows = u32::from(medium.block(parity).programmed);
            if medium.block(parity).valid > 0 || set.stage == Stage::Writing && rows > written {
                found.push(format!("{parity:?} holds {rows} programs of parity of set {number}, which has {written}"));
            }
        }
        let members = (0..medium.geometry.block_count).filter(|&block| medium.set_of(BlockId(block)).is_some()).count();
        let known: usize = self.in_use().map(|(_, set)| set.all().count()).sum();
        if members != known {
            found.push(format!("{members} blocks are in sets, and the sets have {known}"));
        }
    }
}
