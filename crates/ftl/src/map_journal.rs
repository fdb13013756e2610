//! The journal of the map and its checkpoint: traffic that lets a recovery do without a search of the whole flash.
//!
//! **Area.** A fixed number of blocks of each die holds nothing else. They are written one after another, as a ring,
//! and are never collected: when a block is used again, all that it holds is stale. A program that was interrupted in
//! them is left behind, and writing goes on after it \[A\]. Their reads never fail, and their wear is levelled among
//! themselves alone \[A\].
//!
//! **Failures.** A program of the area that fails is repeated at the next place, by the next die that is idle. Its
//! block takes nothing more, and is retired once all that it holds is stale; one whose erase fails is retired at once.
//! A spare block of the die takes its place, or a free one that the die does not need for its collection. If a die is
//! lost, the other dies take more blocks, and the whole map is written anew. Until that is done, and if a program on
//! the lost die is needed, the area is *incomplete*: a recovery reads what is left of it for the trims, and searches
//! all blocks.
//!
//! **Journal.** Once the program of data has completed, an entry for each of its units is appended, and one for each
//! trim command. When the entries fill a program, it is written. Each program of the journal also names the blocks that
//! are open and how far they are recorded: an entry for each write frontier, up to half of the program \[A\].
//!
//! **Checkpoint.** After each program of the journal follows a share of the map, in pages of 4 B for each unit \[A\],
//! so that the whole map has been written when the journal has reached its size. The next program of the journal is
//! begun when the share is on flash.
//!
//! **Trims.** A trim is durable once its entry is on flash. Until then the blocks of the trimmed copies are not erased,
//! or an older copy could be taken for the current one after a loss of power; and data that was trimmed in the write
//! buffer does not leave it, since its write would count as complete.

mod content;

pub(crate) use content::{Change, Content, Found, Header, LostParts};

use crate::medium::{BlockRecord, BlockState, Medium};
use kit::{
    BlockId, Bytes, CommandId, DieId, Ended, Geometry, ModeId, Operation, Outbox, Outcome, Ppn, Problems, Record, SimTime,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Bytes of an entry of the map.
const MAP_ENTRY: u64 = 4;

/// A journal of the map's changes and a checkpoint of the map on flash, from which a drive recovers after a loss of
/// power without a search of all blocks. Only for a page map whose memory holds the whole map. If a die is lost, a
/// recovery searches all blocks until the map has been written anew on the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JournalConfig {
    /// Size of the journal: while as much of it is written, the whole map is written once, 4 B for each mapping unit.
    /// The smaller it is, the more is written, and the less is read in a recovery.
    pub size: Bytes,
    /// Bytes of an entry: a mapping unit, its place, and its share of the number of its program.
    #[serde(default = "eight")]
    #[schemars(range(min = 4, max = 64))]
    pub entry_bytes: u32,
}

fn eight() -> u32 {
    8
}

impl JournalConfig {
    fn program_bytes(geometry: &Geometry) -> u64 {
        u64::from(geometry.units_per_program) * geometry.unit.bytes()
    }

    /// Returns the number of programs of the journal in which the whole map is written once.
    fn programs(&self, geometry: &Geometry) -> u64 {
        self.size.0 / JournalConfig::program_bytes(geometry)
    }

    /// Returns the number of programs that hold the whole map of `user_units`.
    fn page_programs(geometry: &Geometry, user_units: u64) -> u64 {
        (user_units * MAP_ENTRY).div_ceil(JournalConfig::program_bytes(geometry)).max(1)
    }

    /// Returns the number of blocks of each die that the area takes. If no die can write on, at least one block less
    /// of each die holds nothing but programs that are not stale: more of them than there can be.
    pub(crate) fn area_blocks(&self, geometry: &Geometry, user_units: u64) -> u32 {
        blocks_for(self.live(geometry, user_units), geometry.die_count, geometry.programs_per_block)
    }

    /// Returns the largest number of programs that are not stale, without those that the dies execute.
    fn live(&self, geometry: &Geometry, user_units: u64) -> u64 {
        let (programs, pages) = (self.programs(geometry).max(1), JournalConfig::page_programs(geometry, user_units));
        programs + pages + 2 * pages.div_ceil(programs) + 4
    }

    /// Adds the inconsistencies of the section to `problems`.
    pub(crate) fn problems(&self, geometry: &Geometry, problems: &mut Problems) {
        if self.programs(geometry) < 2 {
            let least = 2 * JournalConfig::program_bytes(geometry);
            problems.add("ftl.journal.size", format!("{}: expected at least {least}B, two programs", self.size));
        }
    }
}

/// Returns the number of blocks of each of some dies on which `live` programs leave room for the next.
fn blocks_for(live: u64, dies: u32, programs_per_block: u32) -> u32 {
    ((live + u64::from(dies)) / (u64::from(dies) * u64::from(programs_per_block))) as u32 + 2
}

/// Content of a program of the area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tag {
    /// Nothing that is needed.
    Void,
    /// The program of the journal of this number; the first has number 1.
    Journal(u64),
    /// The program of map pages of this number. Those of one pass have successive numbers.
    Pages(u64),
}

/// Blocks of the area on a die.
#[derive(Clone, Debug)]
struct DieArea {
    blocks: Vec<BlockId>,
    /// Index of the block that is written.
    current: usize,
    /// Content of the programs of each block.
    tags: Vec<Vec<Tag>>,
    /// True for each block of which a program has failed: it is full.
    bad: Vec<bool>,
    /// Program that the die executes, as the index of its block and its content.
    running: Option<(usize, Tag, Wanted)>,
    /// Number of blocks that the die is to take beside these.
    missing: u32,
    is_lost: bool,
}

impl DieArea {
    /// Returns the index of the block that is written after the current one.
    fn next(&self) -> Option<usize> {
        let count = self.blocks.len();
        (1..=count).map(|step| (self.current + step) % count).find(|&index| !self.bad[index])
    }

    /// Makes a block the next one that is written.
    fn insert(&mut self, block: BlockId) {
        let at = if self.blocks.is_empty() { 0 } else { self.current + 1 };
        self.blocks.insert(at, block);
        self.tags.insert(at, Vec::new());
        self.bad.insert(at, false);
    }

    /// Takes a block out of the ring.
    fn remove(&mut self, index: usize) -> BlockId {
        self.tags.remove(index);
        self.bad.remove(index);
        // The block before it is the current one then, so that the next one stays the same.
        if index <= self.current {
            self.current = self.current.checked_sub(1).unwrap_or(self.blocks.len().saturating_sub(2));
        }
        self.blocks.remove(index)
    }

    /// Returns the programs that are on flash, or under way, as their tags.
    fn all_tags(&self) -> impl Iterator<Item = Tag> + '_ {
        self.tags.iter().flatten().copied()
    }
}

/// Next operation of a die in the area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A program at a place.
    Program(Ppn),
    /// The erase of a block.
    Erase(BlockId),
}

/// Content that the next program of the area is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Number of mapping units.
    pub units: u32,
    /// Numbers of the map pages; none for the journal.
    pub pages: Option<(u32, u32)>,
    /// True if a program with this content has failed.
    pub is_repeated: bool,
}

/// A flush that waits for the entries of trims.
#[derive(Clone, Copy, Debug)]
struct Flush {
    command: CommandId,
    until: u64,
    since: SimTime,
}

/// Pins, slots and flushes that waited for entries which are on flash now.
#[derive(Debug)]
pub(crate) struct Released {
    pub pins: Vec<Ppn>,
    pub slots: Vec<u32>,
    pub flushes: Vec<(CommandId, SimTime)>,
}

/// The journal of the map and its checkpoint. Entries are numbered from 1 on in the order in which they are appended.
pub(crate) struct MapJournal {
    /// Entries in a program of the journal, beside those of the frontiers, and the latter's number.
    capacity: u64,
    frontiers: u64,
    entries_per_unit: u64,
    units_per_program: u32,
    programs_per_block: u32,
    programs: u64,
    page_programs: u64,
    page_count: u32,
    /// Entries of a map page.
    pub page_entries: u32,
    area: Vec<DieArea>,
    /// Programs that have failed, and are to be repeated.
    repeats: VecDeque<(Tag, Wanted)>,
    /// Largest number of programs that are not stale.
    live: u64,
    /// Number of the last program of the journal if it was on a die that was lost: another one must follow.
    lost_header: Option<u64>,
    /// True once the checkpoint is there with which a drive begins.
    is_begun: bool,
    /// Number of entries so far, of those in programs that have begun, and of those on flash.
    appended: u64,
    taken: u64,
    durable: u64,
    /// Number of the last entry that is to be written though it may not fill a program.
    asked: u64,
    /// Number of the last entry of a trim.
    last_trim: u64,
    /// True while a program of the journal is under way.
    is_writing: bool,
    /// Programs of the journal on flash.
    journals: u64,
    /// Programs of pages that are to follow, and in 1 / `programs` of one what the next program of the journal adds to.
    due: u64,
    credit: u64,
    /// Number of the next program of pages, number up to which all are on flash, and number of those under way.
    next_page: u64,
    done_pages: u64,
    writing_pages: u32,
    /// Programs of the journal on flash when each program of pages was bound, from the oldest that is needed on.
    bound_at: VecDeque<u64>,
    /// Places whose blocks must not be erased before an entry is on flash.
    pins: VecDeque<(u64, Ppn)>,
    /// Slots of the write queue whose units were trimmed there.
    dropped: VecDeque<(u64, u32)>,
    flushes: VecDeque<Flush>,
    /// Its content; `None` if power is not lost without warning.
    pub content: Option<Box<Content>>,
}

impl MapJournal {
    /// Returns the journal of a drive with `frontiers` write frontiers, whose area is to be `blocks`, by die.
    pub fn new(config: &JournalConfig, geometry: &Geometry, user_units: u64, frontiers: u64, blocks: Vec<Vec<BlockId>>) -> Self {
        let entries_per_unit = geometry.unit.bytes() / u64::from(config.entry_bytes);
        let entries = entries_per_unit * u64::from(geometry.units_per_program);
        let frontiers = frontiers.min(entries / 2);
        let page_entries = (geometry.unit.bytes() / MAP_ENTRY) as u32;
        let page_programs = JournalConfig::page_programs(geometry, user_units);
        let live = config.live(geometry, user_units);
        let count = config.area_blocks(geometry, user_units);
        let area = blocks.into_iter().map(|blocks| DieArea {
            tags: vec![Vec::new(); blocks.len()],
            bad: vec![false; blocks.len()],
            missing: count.saturating_sub(blocks.len() as u32),
            blocks,
            current: 0,
            running: None,
            is_lost: false,
        });
        MapJournal {
            capacity: entries - frontiers,
            frontiers,
            entries_per_unit,
            units_per_program: geometry.units_per_program,
            programs_per_block: geometry.programs_per_block,
            programs: config.programs(geometry),
            page_programs,
            page_count: user_units.div_ceil(u64::from(page_entries)) as u32,
            page_entries,
            area: area.collect(),
            repeats: VecDeque::new(),
            live,
            lost_header: None,
            is_begun: false,
            appended: 0,
            taken: 0,
            durable: 0,
            asked: 0,
            last_trim: 0,
            is_writing: false,
            journals: 0,
            due: 0,
            credit: 0,
            next_page: page_programs,
            done_pages: page_programs,
            writing_pages: 0,
            bound_at: std::iter::repeat_n(0, page_programs as usize).collect(),
            pins: VecDeque::new(),
            dropped: VecDeque::new(),
            flushes: VecDeque::new(),
            content: None,
        }
    }

    /// Lays the checkpoint down with which a drive begins, in a mode and without simulating time: the dies take turns.
    /// Does nothing if that has been done.
    pub fn lay_down(&mut self, medium: &mut Medium, mode: ModeId) {
        if self.is_begun {
            return;
        }
        for &block in self.area.iter().flat_map(|area| &area.blocks) {
            medium.blocks.update(block, |record| *record = BlockRecord::new(BlockState::Area, mode.0));
        }
        for number in 0..self.page_programs {
            let die = (number % self.area.len() as u64) as usize;
            let area = &mut self.area[die];
            if area.tags[area.current].len() as u32 == self.programs_per_block {
                area.current += 1;
            }
            area.tags[area.current].push(Tag::Pages(number));
            medium.blocks.update(area.blocks[area.current], |record| record.programmed += 1);
        }
        self.is_begun = true;
    }

    /// Returns a copy.
    pub fn copy(&self) -> std::io::Result<MapJournal> {
        Ok(MapJournal {
            area: self.area.clone(),
            repeats: self.repeats.clone(),
            bound_at: self.bound_at.clone(),
            pins: self.pins.clone(),
            dropped: self.dropped.clone(),
            flushes: self.flushes.clone(),
            content: self.content.as_ref().map(|content| content.copy().map(Box::new)).transpose()?,
            ..*self
        })
    }

    /// Returns the number of the last entry.
    pub fn appended(&self) -> u64 {
        self.appended
    }

    /// Appends `count` entries.
    #[inline]
    pub fn append(&mut self, count: u64) {
        self.appended += count;
    }

    /// Appends the entry of a trim.
    pub fn append_trim(&mut self) {
        self.appended += 1;
        self.last_trim = self.appended;
    }

    /// Returns the number of the last entry of a trim, if it is not on flash.
    pub fn undurable_trim(&self) -> Option<u64> {
        (self.last_trim > self.durable).then_some(self.last_trim)
    }

    /// Has the entries up to a number written, also if they do not fill a program.
    pub fn ask(&mut self, until: u64) {
        self.asked = self.asked.max(until);
    }

    /// Returns true if all entries up to a number are on flash.
    pub fn is_on_flash(&self, entry: u64) -> bool {
        entry <= self.durable
    }

    /// Has the block of a place kept until an entry is on flash, which it is not yet. The place is pinned.
    pub fn keep_until(&mut self, entry: u64, ppn: Ppn) {
        debug_assert!(!self.is_on_flash(entry), "a pin that nothing would release");
        self.pins.push_back((entry, ppn));
    }

    /// Returns the number of the last entry for which a block is kept.
    pub fn pinned_until(&self) -> Option<u64> {
        self.pins.back().map(|(entry, _)| *entry)
    }

    /// Returns the blocks of the area.
    pub fn area_blocks(&self) -> impl Iterator<Item = BlockId> + '_ {
        self.area.iter().flat_map(|area| area.blocks.iter().copied())
    }

    /// Returns the first block of the area on a die that is not lost.
    pub fn first_block(&self) -> Option<BlockId> {
        self.area.iter().filter(|area| !area.is_lost).flat_map(|area| area.blocks.iter().copied()).next()
    }

    /// Returns the places that are pinned until an entry is on flash.
    pub fn pinned(&self) -> impl Iterator<Item = Ppn> + '_ {
        self.pins.iter().map(|(_, ppn)| *ppn)
    }

    /// Has a slot of the write queue, whose unit was trimmed, kept until the entries of the trims so far are on flash.
    /// Returns false if they are.
    pub fn keep_dropped(&mut self, slot: u32) -> bool {
        let Some(until) = self.undurable_trim() else { return false };
        self.ask(until);
        self.dropped.push_back((until, slot));
        true
    }

    /// Lets a flush wait for the entries of all trims so far. Returns false if they are on flash.
    pub fn flush(&mut self, command: CommandId, since: SimTime) -> bool {
        let Some(until) = self.undurable_trim() else { return false };
        self.ask(until);
        self.flushes.push_back(Flush { command, until, since });
        true
    }

    /// Returns true if a program of the area is to be made now.
    #[inline]
    pub fn is_due(&self) -> bool {
        self.due > 0 || self.wants_journal() || !self.repeats.is_empty()
    }

    #[inline]
    fn wants_journal(&self) -> bool {
        let is_idle = !self.is_writing && self.due == 0 && self.writing_pages == 0;
        let lacks_header = self.lost_header == Some(self.journals);
        is_idle && (self.appended - self.taken >= self.capacity || self.asked > self.taken || lacks_header)
    }

    /// Returns the next operation of a die in the area; `None` if it has no room, which others have.
    pub fn step(&self, die: DieId, medium: &Medium) -> Option<Step> {
        let area = &self.area[die.index()];
        if area.is_lost || area.blocks.is_empty() {
            return None;
        }
        let place = |index: usize| {
            let (block, program) = (area.blocks[index], area.tags[index].len() as u32);
            let first = medium.geometry.first_of(block).0 + program * self.units_per_program;
            (program < self.programs_per_block).then_some(Step::Program(Ppn(first)))
        };
        if let Some(step) = place(area.current) {
            return Some(step);
        }
        let next = area.next()?;
        if area.tags[next].is_empty() {
            return place(next);
        }
        area.tags[next].iter().all(|tag| self.is_stale(*tag)).then_some(Step::Erase(area.blocks[next]))
    }

    fn is_stale(&self, tag: Tag) -> bool {
        match tag {
            Tag::Void => true,
            Tag::Journal(number) => number <= self.oldest_base(),
            Tag::Pages(number) => number + self.page_programs < self.done_pages,
        }
    }

    /// Returns the number of the last program of the journal that no page needs.
    fn oldest_base(&self) -> u64 {
        self.bound_at.front().copied().unwrap_or(0)
    }

    /// Notes that the erase of the block after a die's current one begins.
    pub fn erase_begins(&mut self, die: DieId) {
        let area = &mut self.area[die.index()];
        let next = area.next().expect("a block is to be erased");
        area.tags[next].fill(Tag::Void);
    }

    /// Handles the end of that erase.
    pub fn erased(&mut self, die: DieId) {
        let area = &mut self.area[die.index()];
        area.current = area.next().expect("a block was erased");
        area.tags[area.current].clear();
    }

    /// Begins the next program of the area on a die, at the place that [`MapJournal::step`] has named.
    pub fn begin(&mut self, die: DieId) -> Wanted {
        let repeated = self.repeats.pop_front().map(|(tag, wanted)| (tag, Wanted { is_repeated: true, ..wanted }));
        let (tag, wanted) = match repeated {
            Some(repeated) => repeated,
            None if self.due > 0 => self.begin_pages(),
            None => self.begin_journal(),
        };
        let area = &mut self.area[die.index()];
        if area.tags[area.current].len() as u32 == self.programs_per_block {
            area.current = area.next().expect("the die has room");
        }
        area.tags[area.current].push(tag);
        area.running = Some((area.current, tag, wanted));
        wanted
    }

    /// Handles the failure of the program of a die: it is repeated. Unless the die is lost, the block takes nothing
    /// more. Returns true if it is one of the journal.
    pub fn program_failed(&mut self, die: DieId) -> bool {
        let area = &mut self.area[die.index()];
        let (index, tag, wanted) = area.running.take().expect("the die executes a program of the area");
        if let Some(last) = area.tags[index].last_mut() {
            *last = Tag::Void;
        }
        if !area.is_lost {
            area.tags[index].resize(self.programs_per_block as usize, Tag::Void);
            area.bad[index] = true;
            area.missing += 1;
        }
        self.repeats.push_back((tag, wanted));
        matches!(tag, Tag::Journal(_))
    }

    /// Takes the block after a die's current one, which is erased or whose erase has failed, out of the area.
    pub fn drop_erased(&mut self, die: DieId) {
        let area = &mut self.area[die.index()];
        let next = area.next().expect("a block was erased");
        area.remove(next);
        area.missing += u32::from(!area.is_lost);
    }

    /// Takes a block of a die out of the area of which a program has failed, and that holds nothing that is needed.
    /// Returns it; `None` if there is none.
    pub fn drop_bad(&mut self, die: DieId) -> Option<BlockId> {
        let area = &self.area[die.index()];
        if !area.bad.contains(&true) {
            return None;
        }
        let is_stale = |index: &usize| area.bad[*index] && area.tags[*index].iter().all(|tag| self.is_stale(*tag));
        let index = (0..area.blocks.len()).find(is_stale)?;
        Some(self.area[die.index()].remove(index))
    }

    /// Returns true if the part of the area on a die has a block of which a program has failed, or too few blocks.
    #[inline]
    pub fn is_to_be_mended(&self, die: DieId) -> bool {
        let area = &self.area[die.index()];
        area.missing > 0 || area.bad.contains(&true)
    }

    /// Takes the last program that has failed as done, for tests.
    pub fn forget_repeat(&mut self) {
        match self.repeats.pop_back() {
            Some((Tag::Journal(_), _)) => self.is_writing = false,
            Some(_) => self.writing_pages -= 1,
            None => {}
        }
    }

    /// Has another place kept instead of one that is kept until an entry is on flash. Returns how often it is.
    pub fn move_pins(&mut self, from: Ppn, to: Ppn) -> usize {
        let pins = self.pins.iter_mut().filter(|(_, ppn)| *ppn == from);
        pins.map(|(_, ppn)| *ppn = to).count()
    }

    /// Returns the number of blocks that a die is to take beside those that it has.
    #[inline]
    pub fn missing(&self, die: DieId) -> u32 {
        self.area[die.index()].missing
    }

    /// Gives a die a block that it was to take: it is written next.
    pub fn take(&mut self, die: DieId, block: BlockId) {
        let area = &mut self.area[die.index()];
        area.insert(block);
        area.missing -= 1;
    }

    /// Loses a die: the others are to take more blocks. If it held what is needed, the whole map is written anew, and a
    /// program of the journal if its last one was there.
    pub fn lose_die(&mut self, die: DieId) {
        let before = self.area.iter().filter(|area| !area.is_lost).count() as u32;
        let needs = self.area[die.index()].all_tags().any(|tag| !self.is_stale(tag));
        let held_header = self.area[die.index()].all_tags().any(|tag| tag == Tag::Journal(self.journals));
        let area = &mut self.area[die.index()];
        (area.is_lost, area.missing) = (true, 0);
        if needs {
            self.due += self.page_programs;
        }
        if held_header {
            self.lost_header = Some(self.journals);
        }
        let [before, now] = [before, before.saturating_sub(1)]
            .map(|dies| if dies > 0 { blocks_for(self.live, dies, self.programs_per_block) } else { 0 });
        for area in self.area.iter_mut().filter(|area| !area.is_lost) {
            area.missing += now.saturating_sub(before);
        }
    }

    /// Has the whole map written before the next program of the journal: a search has found changes that no program of
    /// the journal has.
    pub fn write_map_anew(&mut self) {
        self.due = self.due.max(self.page_programs);
    }

    /// Returns the number of blocks of each die that the area takes now.
    pub fn blocks_of_die(&self) -> u32 {
        let dies = self.area.iter().filter(|area| !area.is_lost).count() as u32;
        if dies > 0 { blocks_for(self.live, dies, self.programs_per_block) } else { 0 }
    }

    /// Returns true if all that a recovery needs can be read: none of it is on a lost die.
    pub fn is_complete(&self) -> bool {
        let mut lost = self.area.iter().filter(|area| area.is_lost).flat_map(DieArea::all_tags);
        self.lost_header.is_none_or(|number| self.journals > number) && lost.all(|tag| self.is_stale(tag))
    }

    /// Returns what of the journal and of the checkpoint is on lost dies.
    pub fn lost_parts(&self) -> LostParts {
        let lost = || self.area.iter().filter(|area| area.is_lost).flat_map(DieArea::all_tags);
        let records = lost().filter_map(|tag| if let Tag::Journal(number) = tag { Some(number) } else { None }).collect();
        let newest = |tags: &mut dyn Iterator<Item = Tag>| {
            let mut newest = BTreeMap::new();
            for tag in tags {
                if let Tag::Pages(number) = tag {
                    let known = newest.entry(number % self.page_programs).or_insert(number);
                    *known = number.max(*known);
                }
            }
            newest
        };
        let all = newest(&mut self.area.iter().flat_map(DieArea::all_tags));
        let is_gone = |(of, number): &(u64, u64)| all.get(of) == Some(number);
        let gone = newest(&mut lost()).into_iter().filter(is_gone);
        let pages = gone.map(|(of, _)| of as u32 * self.units_per_program);
        let pages = pages.flat_map(|first| first..first + self.units_per_program).collect();
        LostParts { records, pages }
    }

    fn begin_pages(&mut self) -> (Tag, Wanted) {
        let number = self.next_page;
        self.next_page += 1;
        self.due -= 1;
        self.writing_pages += 1;
        self.bound_at.push_back(self.journals);
        let first = (number % self.page_programs) as u32 * self.units_per_program;
        let end = (first + self.units_per_program).min(self.page_count);
        (Tag::Pages(number), Wanted { units: end - first, pages: Some((first, end)), is_repeated: false })
    }

    fn begin_journal(&mut self) -> (Tag, Wanted) {
        let entries = (self.appended - self.taken).min(self.capacity);
        self.taken += entries;
        self.is_writing = true;
        let units = (entries + self.frontiers).div_ceil(self.entries_per_unit).clamp(1, self.units_per_program.into());
        (Tag::Journal(self.journals + 1), Wanted { units: units as u32, pages: None, is_repeated: false })
    }

    /// Returns the number of entries in programs that have begun.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Handles the end of a program of a die. Returns false if it was none of the area.
    #[inline]
    pub fn is_done(&mut self, die: DieId) -> Option<bool> {
        let (_, tag, _) = self.area[die.index()].running.take()?;
        Some(matches!(tag, Tag::Journal(_)))
    }

    /// Handles the end of a program of the journal: its share of the checkpoint follows. Returns what waited for it.
    pub fn journal_done(&mut self) -> Released {
        self.is_writing = false;
        self.journals += 1;
        self.durable = self.taken;
        self.credit += self.page_programs;
        self.due += self.credit / self.programs;
        self.credit %= self.programs;
        let durable = self.durable;
        Released {
            pins: first_up_to(&mut self.pins, |(entry, ppn)| (*entry <= durable).then_some(*ppn)),
            slots: first_up_to(&mut self.dropped, |(entry, slot)| (*entry <= durable).then_some(*slot)),
            flushes: first_up_to(&mut self.flushes, |flush| (flush.until <= durable).then_some((flush.command, flush.since))),
        }
    }

    /// Handles the end of a program of pages. Once the share is on flash, what it replaces is stale.
    pub fn pages_done(&mut self) {
        self.writing_pages -= 1;
        if self.writing_pages > 0 || self.due > 0 {
            return;
        }
        self.done_pages = self.next_page;
        while self.bound_at.len() as u64 > self.page_programs {
            self.bound_at.pop_front();
        }
        let base = self.oldest_base();
        if let Some(content) = &mut self.content {
            content.forget_up_to(base);
        }
    }

    /// Returns the number of programs of the journal on flash.
    pub fn journals(&self) -> u64 {
        self.journals
    }

    /// Describes what is to be written, for a drive that has stalled.
    pub fn describe(&self, medium: &Medium) -> String {
        let entries = [self.appended, self.taken, self.durable, self.asked, self.last_trim];
        let steps: Vec<_> = (0..medium.geometry.die_count).map(|die| self.step(DieId(die), medium)).collect();
        format!(
            "; journal: entries {entries:?} (appended, taken, on flash, asked for, last trim), {} programs, writing: {}; pages: {} due, \
             {} under way; {} to be repeated; blocks missing: {:?}; {} pins, {} slots and {} flushes wait; next step of each die: {steps:?}",
            self.journals,
            self.is_writing,
            self.due,
            self.writing_pages,
            self.repeats.len(),
            self.area.iter().map(|area| area.missing).collect::<Vec<_>>(),
            self.pins.len(),
            self.dropped.len(),
            self.flushes.len()
        )
    }

    /// Loses what is not on flash. Writing goes on after the programs that were interrupted.
    pub fn lose_power(&mut self, medium: &Medium) {
        for area in &mut self.area {
            for ((tags, block), is_bad) in area.tags.iter_mut().zip(&area.blocks).zip(&area.bad) {
                let programmed = if *is_bad { self.programs_per_block } else { medium.block(*block).programmed.into() };
                // A block whose erase was interrupted counts as full.
                tags.resize(programmed as usize, Tag::Void);
            }
            if let Some((index, tag, _)) = area.running.take()
                && let Some(last) = area.tags[index].last_mut().filter(|last| **last == tag)
            {
                *last = Tag::Void;
            }
        }
        (self.appended, self.taken, self.asked, self.last_trim) = (self.durable, self.durable, 0, 0);
        (self.is_writing, self.writing_pages) = (false, 0);
        self.repeats.clear();
        self.due += self.next_page - self.done_pages;
        self.next_page = self.done_pages;
        self.bound_at.truncate(self.page_programs as usize);
        self.pins.clear();
        self.dropped.clear();
        self.flushes.clear();
        if let Some(content) = &mut self.content {
            content.lose_power();
        }
    }

    /// Returns the programs that a recovery reads, as their blocks and indices: the journal from the oldest page on,
    /// and the newest version of each page, without those on lost dies.
    pub fn needed(&self) -> impl Iterator<Item = (BlockId, u32)> + '_ {
        let readable = self.area.iter().filter(|area| !area.is_lost);
        let blocks = readable.flat_map(|area| area.blocks.iter().zip(&area.tags));
        blocks.flat_map(move |(block, tags)| {
            let needed = tags.iter().zip(0..).filter(move |(tag, _)| !self.is_stale(**tag));
            needed.map(move |(_, program)| (*block, program))
        })
    }
}

/// Takes the first items out of a list, up to one of which nothing is to be taken.
fn first_up_to<T, U>(list: &mut VecDeque<T>, taken: impl Fn(&T) -> Option<U>) -> Vec<U> {
    let mut all = Vec::new();
    while let Some(one) = list.front().and_then(&taken) {
        all.push(one);
        list.pop_front();
    }
    all
}

/// Chooses the blocks of the area on a die: the last good ones of its groups of planes, which take turns.
pub(crate) fn blocks_of_area(geometry: &Geometry, die: DieId, count: u32, is_bad: impl Fn(BlockId) -> bool) -> Vec<BlockId> {
    let first = geometry.blocks_of(die).start;
    let block = |index: u32| {
        let (group, back) = (index % geometry.groups_per_die, index / geometry.groups_per_die);
        BlockId(first + (group + 1) * geometry.blocks_per_group - 1 - back)
    };
    (0..geometry.blocks_per_die).map(block).filter(|&block| !is_bad(block)).take(count as usize).collect()
}

impl Medium {
    /// Takes a free block for the area of the map's journal.
    pub(crate) fn begin_area(&mut self, block: BlockId) {
        self.blocks.update(block, |record| {
            assert!(record.is(BlockState::Free) && record.is_blank(), "{block:?} is kept for the journal: {record:?}");
            record.set_state(BlockState::Area);
        });
    }

    /// Handles the end of the erase of a block of that area, or of the attempt, which adds `wear_thousandths` to its
    /// effective wear. The block belongs to the area as before.
    pub(crate) fn area_erased(&mut self, ended: Ended, operation: &Operation, wear_thousandths: u32, out: &mut Outbox) {
        let block = self.geometry.block_of(operation.first);
        match ended.outcome {
            Outcome::EraseFailed => out.journal.note(|| Record::EraseFailed { block }),
            _ => ended.expect_done(operation),
        }
        let mode = self.block(block).mode();
        self.blocks.update(block, |record| record.set_state(BlockState::Erasing));
        self.end_erase(block, operation.mode, wear_thousandths);
        self.blocks.update(block, |record| *record = BlockRecord::new(BlockState::Area, mode));
        out.journal.note(|| Record::Erased { block });
    }
}
