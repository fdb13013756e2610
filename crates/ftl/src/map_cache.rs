//! The mapping cache: the part of the map that is in the controller's memory, in pages, where the whole map does not
//! fit.
//!
//! A *map page* holds the entries of successive mapping units, and is itself a mapping unit on flash, with a logical
//! number beyond those of the user. A command whose pages are not in the cache waits until they are read. A change of
//! an entry makes its page dirty. If the page is not in the cache, the change is kept by itself, until there are too
//! many: then the page with the oldest change is read, and takes all changes of its entries. Dirty pages are written in
//! whole programs.

use kit::archive::MAX_COUNTED;
use kit::{Bytes, CommandId, Lpn, Lru, Problems, Slab, UNIT_BYTES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Bytes of a change of an entry: a mapping unit and its place.
const UPDATE_BYTES: u64 = 8;
/// Changes in a unit of the journal.
const JOURNAL_ENTRIES: u32 = (UNIT_BYTES / UPDATE_BYTES) as u32;
const NONE: u32 = u32::MAX;
/// Changes, or units of the journal, that a saved drive may claim to have kept: they can be counted on.
const MAX_CHANGES: u64 = 1 << 30;

/// Memory that holds the mapping cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MapMemory {
    /// The memory of the controller (`controller.dram`).
    #[default]
    Dram,
    /// Static memory in the controller: accesses take no time.
    Sram,
    /// A host memory buffer: each access crosses the host link. What it holds is lost at a reset.
    Host,
}

/// The mapping cache of a drive whose memory does not hold the whole map.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MapCacheConfig {
    /// Memory for map pages of 4 KiB.
    pub size: Bytes,
    /// Entries in a map page: 1024 of 4 B, so that a page covers 4 MiB of user data; fewer, if entries are larger.
    #[serde(default = "entries_of_four_bytes")]
    #[schemars(range(min = 1, max = 1024))]
    pub page_entries: u32,
    /// Memory that holds it.
    #[serde(default)]
    pub memory: MapMemory,
    /// Share of the memory for changes of entries whose pages are not in the cache, 8 B each. When it is full, the page
    /// with the oldest change is read, and takes all changes of its entries: the more of them there are, the fewer
    /// pages are read and written.
    #[serde(default = "quarter")]
    #[schemars(range(min = 0.0, max = 0.9))]
    pub update_share: f64,
    /// Share of the pages that may be dirty before the least recently used of them are written back.
    #[serde(default = "half")]
    #[schemars(range(min = 0.01, max = 1.0))]
    pub dirty_share: f64,
    /// Size of the journal on flash, to which all changes of the map are written, 8 B each; when it is full, the dirty
    /// pages are written (a checkpoint). Absent: no journal. A map in host memory needs one, because its changes are
    /// lost at a reset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub journal: Option<Bytes>,
}

fn entries_of_four_bytes() -> u32 {
    UNIT_BYTES as u32 / 4
}

fn quarter() -> f64 {
    0.25
}

fn half() -> f64 {
    0.5
}

impl MapCacheConfig {
    /// Returns the number of map pages of a drive with this number of mapping units.
    pub fn page_count(&self, user_units: u64) -> u64 {
        user_units.div_ceil(u64::from(self.page_entries))
    }

    /// Returns the number of units of the journal: a whole number of programs.
    pub fn journal_units(&self, units_per_program: u32) -> u64 {
        let programs = |bytes: Bytes| bytes.0 / UNIT_BYTES / u64::from(units_per_program);
        self.journal.map_or(0, |bytes| programs(bytes) * u64::from(units_per_program))
    }

    /// Returns the numbers of pages and of changes that there is memory for.
    fn capacities(&self) -> (u32, u32) {
        let updates = (self.size.0 as f64 * self.update_share) as u64;
        let limited = |count: u64| count.min(1 << 30) as u32;
        (limited((self.size.0 - updates) / UNIT_BYTES), limited(updates / UPDATE_BYTES))
    }

    /// Adds the inconsistencies of the section to `problems`.
    pub fn problems(&self, units_per_program: u32, problems: &mut Problems) {
        let (pages, _) = self.capacities();
        if pages < 4 * units_per_program {
            let least = (f64::from(4 * units_per_program * UNIT_BYTES as u32) / (1.0 - self.update_share)).ceil();
            let complaint = format!("{}: expected at least {least}B, for the pages of four programs and the changes", self.size);
            problems.add("ftl.map_cache.size", complaint);
        }
        if let Some(journal) = self.journal
            && self.journal_units(units_per_program) < 2 * u64::from(units_per_program)
        {
            let least = 2 * u64::from(units_per_program) * UNIT_BYTES;
            problems.add("ftl.map_cache.journal", format!("{journal}: expected at least {least}B, two programs"));
        }
        if self.memory == MapMemory::Host && self.journal.is_none() {
            let complaint = "missing: the changes of a map in host memory are lost at a reset; expected for example \"4MiB\"";
            problems.add("ftl.map_cache.journal", complaint);
        }
    }
}

/// State of a map page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Page {
    /// Not in the cache.
    #[default]
    Absent,
    /// Waits for space in the cache, before it is read.
    Awaited,
    /// Being read; `changed`: an entry has changed meanwhile.
    Loading {
        changed: bool,
    },
    Clean,
    Dirty,
    /// Dirty, and queued to be written.
    Queued,
    /// Being written; `changed`: an entry has changed since.
    Writing {
        changed: bool,
    },
}

/// A command that waits for a map page.
#[derive(Clone, Copy, Debug, Default)]
struct Waiter {
    command: CommandId,
    next: u32,
}

/// Answer to the lookup of a map page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The page is in the cache.
    Hit,
    /// The command waits for the page.
    Waits,
    /// The command waits for the page, which is to be read now.
    Load,
}

/// Counts of the mapping cache.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MapCounters {
    /// Map pages that commands looked up.
    pub lookups: u64,
    /// Those of them that were not in the cache.
    pub misses: u64,
    /// Map pages read for commands.
    pub loads: u64,
    /// Map pages read because an entry changed whose page was not in the cache.
    pub loads_to_update: u64,
    /// Changes of entries.
    pub updates: u64,
    /// Checkpoints.
    pub checkpoints: u64,
}

impl MapCounters {
    /// Returns the counts since `earlier`.
    pub fn since(&self, earlier: &MapCounters) -> MapCounters {
        MapCounters {
            lookups: self.lookups - earlier.lookups,
            misses: self.misses - earlier.misses,
            loads: self.loads - earlier.loads,
            loads_to_update: self.loads_to_update - earlier.loads_to_update,
            updates: self.updates - earlier.updates,
            checkpoints: self.checkpoints - earlier.checkpoints,
        }
    }
}

/// A unit of map data to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MapUnit {
    /// A map page, by its number.
    Page(u32),
    /// A unit of the journal, by its number.
    Journal(u32),
}

/// The mapping cache.
pub(crate) struct MapCache {
    /// Logical number of the first map page; those of the journal follow the last.
    first: u32,
    page_entries: u32,
    journal_units: u32,
    units_per_program: u32,
    capacity: u32,
    dirty_limit: u32,
    /// Number of changes that are kept of entries whose pages are not in the cache, for each page, in all, and at most.
    kept: Vec<u32>,
    kept_total: u32,
    kept_most: u32,
    /// The pages with such changes, the one with the oldest change first.
    changed: Lru,
    /// True while all such changes are to be moved to their pages.
    applies_all: bool,
    /// Programs of each page that a shutdown or a loss of power waits for, and the number of such pages.
    to_save: Vec<u8>,
    save_left: u32,
    pages: Vec<Page>,
    /// First of the commands that wait for each page, and the last.
    waiters: Vec<(u32, u32)>,
    waiting: Slab<Waiter>,
    clean: Lru,
    dirty: Lru,
    /// Pages to be written, oldest first. The first `of_checkpoint` of them belong to a checkpoint.
    queue: VecDeque<u32>,
    of_checkpoint: u32,
    /// Pages that wait for space.
    awaited: VecDeque<u32>,
    /// Pages in the cache, or being read into it; the number of those being read, and of those being written.
    held: u32,
    loading: u32,
    writing: u32,
    /// Largest number of pages held so far: updates may exceed the capacity.
    most: u32,
    /// Updates since the last unit of the journal was filled; units that are full and not yet written; the next one.
    journaled: u32,
    journal_ready: u32,
    journal_next: u32,
    pub counters: MapCounters,
}

/// Content of the mapping cache in the form in which it is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct MapCacheImage {
    clean: Vec<u32>,
    dirty: Vec<u32>,
    /// Pages with changes that are kept, and the numbers of changes.
    kept: Vec<(u32, u32)>,
    applies_all: bool,
    queue: Vec<u32>,
    of_checkpoint: u32,
    most: u32,
    journal: [u32; 3],
    counters: MapCounters,
}

impl std::fmt::Debug for MapCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let MapCache { capacity, held, loading, writing, journal_ready, of_checkpoint, .. } = self;
        write!(
            f,
            "{held} of {capacity} pages, {} changes kept, {} clean, {} dirty, {} queued ({of_checkpoint} of a checkpoint), {loading} being read, {writing} \
             being written, {} awaited, {} commands wait, {journal_ready} units of the journal",
            self.kept_total,
            self.clean.len(),
            self.dirty.len(),
            self.queue.len(),
            self.awaited.len(),
            self.waiting.in_use()
        )
    }
}

impl MapCache {
    /// Returns an empty cache for a drive of `user_units` mapping units.
    pub fn new(config: &MapCacheConfig, user_units: u64, units_per_program: u32) -> MapCache {
        let pages = config.page_count(user_units) as u32;
        let (capacity, kept_most) = config.capacities();
        let dirty = (f64::from(capacity) * config.dirty_share) as u32;
        MapCache {
            first: user_units as u32,
            page_entries: config.page_entries,
            journal_units: config.journal_units(units_per_program) as u32,
            units_per_program,
            capacity,
            // Pages that wait to be written fill at least a program, so that a full cache always gains space.
            dirty_limit: dirty.clamp(1, capacity - 2 * units_per_program),
            kept: vec![0; pages as usize],
            kept_total: 0,
            kept_most,
            changed: Lru::new(pages.max(1)),
            applies_all: false,
            to_save: Vec::new(),
            save_left: 0,
            pages: vec![Page::Absent; pages as usize],
            waiters: vec![(NONE, NONE); pages as usize],
            waiting: Slab::default(),
            clean: Lru::new(pages.max(1)),
            dirty: Lru::new(pages.max(1)),
            queue: VecDeque::new(),
            of_checkpoint: 0,
            awaited: VecDeque::new(),
            held: 0,
            loading: 0,
            writing: 0,
            most: 0,
            journaled: 0,
            journal_ready: 0,
            journal_next: 0,
            counters: MapCounters::default(),
        }
    }

    /// Returns the number of logical units that map pages and journal have beyond those of the user.
    pub fn extra_units(&self) -> u64 {
        self.pages.len() as u64 + u64::from(self.journal_units)
    }

    /// Returns the number of map pages.
    pub fn page_count(&self) -> u32 {
        self.pages.len() as u32
    }

    /// Returns the map page with the entry of a unit.
    #[inline]
    pub fn page_of(&self, lpn: Lpn) -> u32 {
        lpn.0 / self.page_entries
    }

    /// Returns the units whose entries a page has; the last page has fewer.
    pub fn units_of(&self, page: u32) -> std::ops::Range<u32> {
        page * self.page_entries..((page + 1) * self.page_entries).min(self.first)
    }

    /// Returns the logical number of a unit of map data.
    #[inline]
    pub fn lpn_of(&self, unit: MapUnit) -> Lpn {
        Lpn(match unit {
            MapUnit::Page(page) => self.first + page,
            MapUnit::Journal(number) => self.first + self.pages.len() as u32 + number,
        })
    }

    /// Returns the largest number of pages held so far, and the number that there is memory for.
    pub fn fill(&self) -> (u32, u32) {
        (self.most, self.capacity)
    }

    /// Returns true if the content of a page differs from that on flash, apart from what is being written.
    pub fn is_changed(&self, page: u32) -> bool {
        let is_dirty = matches!(
            self.pages[page as usize],
            Page::Dirty | Page::Queued | Page::Writing { changed: true } | Page::Loading { changed: true }
        );
        is_dirty || self.kept[page as usize] > 0
    }

    /// Looks up a page for a command.
    pub fn look_up(&mut self, page: u32, command: CommandId) -> Lookup {
        self.counters.lookups += 1;
        match self.pages[page as usize] {
            Page::Clean => {
                self.clean.touch(page);
            }
            Page::Dirty => {
                self.dirty.touch(page);
            }
            Page::Queued | Page::Writing { .. } => {}
            Page::Absent | Page::Awaited | Page::Loading { .. } => return self.miss(page, command),
        }
        Lookup::Hit
    }

    fn miss(&mut self, page: u32, command: CommandId) -> Lookup {
        self.counters.misses += 1;
        let waiter = self.waiting.take();
        self.waiting[waiter] = Waiter { command, next: NONE };
        let (first, last) = &mut self.waiters[page as usize];
        *(if *first == NONE { first } else { &mut self.waiting[*last].next }) = waiter;
        *last = waiter;
        if self.pages[page as usize] != Page::Absent {
            return Lookup::Waits;
        }
        if !self.awaited.is_empty() || !self.make_space() {
            self.pages[page as usize] = Page::Awaited;
            self.awaited.push_back(page);
            return Lookup::Waits;
        }
        self.begin_load(page);
        Lookup::Load
    }

    /// Evicts clean pages until there is space for one more. Returns false if there is none.
    fn make_space(&mut self) -> bool {
        while self.held >= self.capacity {
            let Some(page) = self.clean.oldest() else { return false };
            self.clean.remove(page);
            self.pages[page as usize] = Page::Absent;
            self.held -= 1;
        }
        true
    }

    /// Begins to read a page, which takes the changes of its entries.
    fn begin_load(&mut self, page: u32) {
        let kept = std::mem::take(&mut self.kept[page as usize]);
        if kept > 0 {
            self.kept_total -= kept;
            self.changed.remove(page);
        }
        self.pages[page as usize] = Page::Loading { changed: kept > 0 };
        self.held += 1;
        self.loading += 1;
        self.most = self.most.max(self.held);
        let is_for_commands = self.waiters[page as usize].0 != NONE;
        *(if is_for_commands { &mut self.counters.loads } else { &mut self.counters.loads_to_update }) += 1;
    }

    /// Handles a change of an entry of a page. Returns the page that is to be read now, if any: the change cannot wait,
    /// and needs space.
    pub fn change(&mut self, page: u32) -> Option<u32> {
        self.counters.updates += 1;
        self.journal();
        let state = &mut self.pages[page as usize];
        match state {
            Page::Absent | Page::Awaited => {
                self.kept[page as usize] += 1;
                self.kept_total += 1;
                self.changed.add(page);
                if self.kept_total > self.kept_most {
                    return self.changed.oldest().map(|page| self.load_to_update(page));
                }
            }
            Page::Loading { changed } | Page::Writing { changed } => *changed = true,
            Page::Clean => {
                *state = Page::Dirty;
                self.clean.remove(page);
                self.add_dirty(page);
            }
            Page::Dirty => {
                self.dirty.touch(page);
            }
            Page::Queued => {}
        }
        None
    }

    /// Begins to read a page with changes that are kept, whether there is space or not.
    fn load_to_update(&mut self, page: u32) -> u32 {
        if self.pages[page as usize] == Page::Awaited {
            self.awaited.retain(|awaited| *awaited != page);
        }
        self.make_space();
        self.begin_load(page);
        page
    }

    /// Returns the next page to be read while all changes are to be moved to their pages: a program of them at a time.
    pub fn next_to_apply(&mut self) -> Option<u32> {
        self.applies_all &= self.kept_total > 0;
        if !self.applies_all || self.loading >= self.units_per_program {
            return None;
        }
        if !self.make_space() && (self.loading + self.writing > 0 || !self.queue.is_empty()) {
            return None;
        }
        self.changed.oldest().map(|page| self.load_to_update(page))
    }

    /// Adds a dirty page; if there are too many, the least recently used fill a program that is to be written.
    fn add_dirty(&mut self, page: u32) {
        self.dirty.insert(page);
        if self.dirty.len() as u32 > self.dirty_limit {
            self.queue_dirty(self.units_per_program);
        }
    }

    /// Queues up to `count` dirty pages to be written, the least recently used first.
    fn queue_dirty(&mut self, count: u32) {
        for _ in 0..count {
            let Some(page) = self.dirty.oldest() else { return };
            self.dirty.remove(page);
            self.pages[page as usize] = Page::Queued;
            self.queue.push_back(page);
        }
    }

    /// Has the pages that have changed so far written, before a shutdown or a loss of power.
    pub fn begin_to_save(&mut self) {
        let writes_left = |page: u32| match self.pages[page as usize] {
            // The program in flight lacks the change.
            Page::Writing { changed: true } => 2,
            Page::Writing { changed: false } => 1,
            _ => u8::from(self.is_changed(page)),
        };
        self.to_save = (0..self.pages.len() as u32).map(writes_left).collect();
        self.save_left = self.to_save.iter().filter(|left| **left > 0).count() as u32;
    }

    /// Goes on with what [`MapCache::begin_to_save`] began. Returns the number of those pages that are not on flash,
    /// and true if there is more to be read or written than before.
    pub fn save(&mut self) -> (u32, bool) {
        if self.save_left == 0 {
            return (0, false);
        }
        let is_more = !self.dirty.is_empty() || self.kept_total > 0 && !self.applies_all;
        self.applies_all = true;
        self.queue_dirty(NONE);
        (self.save_left, is_more)
    }

    /// Counts an update in the journal.
    fn journal(&mut self) {
        if self.journal_units == 0 {
            return;
        }
        self.journaled += 1;
        if self.journaled == JOURNAL_ENTRIES {
            self.journaled = 0;
            self.journal_ready += 1;
        }
    }

    /// Handles the arrival of a page that was read.
    pub fn loaded(&mut self, page: u32) {
        let Page::Loading { changed } = self.pages[page as usize] else { unreachable!("page {page} was not read") };
        self.loading -= 1;
        if changed {
            self.pages[page as usize] = Page::Dirty;
            self.add_dirty(page);
        } else {
            self.pages[page as usize] = Page::Clean;
            self.clean.insert(page);
        }
    }

    /// Takes the next of the commands that waited for a page.
    pub fn next_waiting(&mut self, page: u32) -> Option<CommandId> {
        let (first, last) = &mut self.waiters[page as usize];
        if *first == NONE {
            return None;
        }
        let waiter = *first;
        let Waiter { command, next } = self.waiting[waiter];
        (*first, *last) = (next, if next == NONE { NONE } else { *last });
        self.waiting.release(waiter);
        Some(command)
    }

    /// Takes the next page that waited for space, if there is space now; it is to be read.
    pub fn next_awaited(&mut self) -> Option<u32> {
        let page = *self.awaited.front()?;
        if !self.make_space() {
            return None;
        }
        self.awaited.pop_front();
        self.begin_load(page);
        Some(page)
    }

    /// Returns true if a program of map data can be made now. `all`: an incomplete one, too.
    #[inline]
    pub fn may_write(&self, all: bool) -> bool {
        let full = self.units_per_program;
        // If nothing else makes space, pages are written that do not fill a program.
        let stalls = || !self.awaited.is_empty() && self.loading == 0 && self.writing == 0;
        self.journal_ready >= full
            || self.queue.len() as u32 >= full
            || !self.queue.is_empty() && (all || self.of_checkpoint > 0 || stalls())
    }

    /// Takes the next unit of map data for a program whose units so far are of `kind`: pages and journal are not mixed.
    pub fn next_to_write(&mut self, is_journal: bool) -> Option<MapUnit> {
        if is_journal {
            self.journal_ready -= 1;
            let number = self.journal_next;
            self.journal_next = (number + 1) % self.journal_units;
            if self.journal_next == 0 {
                self.check_point();
            }
            return Some(MapUnit::Journal(number));
        }
        let page = self.queue.pop_front()?;
        self.of_checkpoint = self.of_checkpoint.saturating_sub(1);
        self.pages[page as usize] = Page::Writing { changed: false };
        self.writing += 1;
        Some(MapUnit::Page(page))
    }

    /// Returns true if the next program of map data is one of the journal, and true if it belongs to a checkpoint.
    pub fn next_kind(&self) -> (bool, bool) {
        (self.journal_ready >= self.units_per_program, self.of_checkpoint > 0)
    }

    /// Begins a checkpoint: all pages that are dirty now are to be written before the journal is used again.
    fn check_point(&mut self) {
        self.counters.checkpoints += 1;
        self.applies_all = true;
        self.queue_dirty(NONE);
        self.of_checkpoint = self.queue.len() as u32;
    }

    /// Handles the end of the program of a map page.
    pub fn written(&mut self, page: u32) {
        let Page::Writing { changed } = self.pages[page as usize] else { unreachable!("page {page} was not written") };
        self.writing -= 1;
        if let (true, Some(left @ 1..)) = (self.save_left > 0, self.to_save.get_mut(page as usize)) {
            *left -= 1;
            self.save_left -= u32::from(*left == 0);
        }
        if changed {
            self.pages[page as usize] = Page::Dirty;
            self.add_dirty(page);
        } else if self.held > self.capacity {
            self.pages[page as usize] = Page::Absent;
            self.held -= 1;
        } else {
            self.pages[page as usize] = Page::Clean;
            self.clean.insert(page);
        }
    }

    /// Returns the content for saving, with nothing being read or written.
    pub fn image(&self) -> MapCacheImage {
        assert!(self.loading + self.writing == 0 && self.awaited.is_empty(), "the drive is at rest");
        MapCacheImage {
            clean: self.clean.iter().collect(),
            dirty: self.dirty.iter().collect(),
            kept: self.changed.iter().map(|page| (page, self.kept[page as usize])).collect(),
            applies_all: self.applies_all,
            queue: self.queue.iter().copied().collect(),
            of_checkpoint: self.of_checkpoint,
            most: self.most,
            journal: [self.journaled, self.journal_ready, self.journal_next],
            counters: self.counters.clone(),
        }
    }

    /// Restores a saved content. Returns false if it names pages that the drive does not have, or contradicts itself.
    pub fn restore(&mut self, image: MapCacheImage) -> bool {
        if !self.is_possible(&image) {
            return false;
        }
        let MapCacheImage { clean, dirty, kept, applies_all, queue, of_checkpoint, most, journal, counters } = image;
        for (list, state) in [(&clean, Page::Clean), (&dirty, Page::Dirty), (&queue, Page::Queued)] {
            for &page in list {
                if self.pages.get(page as usize) != Some(&Page::Absent) {
                    return false;
                }
                self.pages[page as usize] = state;
                self.held += 1;
            }
        }
        for page in clean {
            self.clean.insert(page);
        }
        for page in dirty {
            self.dirty.insert(page);
        }
        for (page, changes) in kept {
            if self.pages.get(page as usize) != Some(&Page::Absent) {
                return false;
            }
            self.changed.add(page);
            self.kept[page as usize] = changes;
            self.kept_total += changes;
        }
        self.applies_all = applies_all;
        (self.queue, self.of_checkpoint, self.most, self.counters) = (queue.into(), of_checkpoint, most, counters);
        [self.journaled, self.journal_ready, self.journal_next] = journal;
        true
    }

    /// Returns true if the numbers of a saved content fit this cache, and each other.
    fn is_possible(&self, image: &MapCacheImage) -> bool {
        let MapCacheImage { clean, dirty, kept, queue, of_checkpoint, most, journal, counters, .. } = image;
        let [journaled, ready, next] = *journal;
        let has_journal = self.journal_units > 0;
        let changes: u64 = kept.iter().map(|(_, changes)| u64::from(*changes)).sum();
        let held = clean.len() + dirty.len() + queue.len();
        let MapCounters { lookups, misses, loads, loads_to_update, updates, checkpoints } = *counters;
        kept.iter().all(|(_, changes)| *changes > 0)
            && changes <= MAX_CHANGES
            && (*of_checkpoint as usize) <= queue.len()
            && (held..=self.pages.len().max(held)).contains(&(*most as usize))
            && if has_journal { journaled < JOURNAL_ENTRIES && next < self.journal_units } else { *journal == [0; 3] }
            && u64::from(ready) <= MAX_CHANGES
            && [lookups, misses, loads, loads_to_update, updates, checkpoints].iter().all(|count| *count <= MAX_COUNTED)
    }

    /// Loses the pages that are on flash: their memory is without power.
    pub fn forget_clean(&mut self) {
        let MapCache { clean, pages, .. } = self;
        clean.iter().for_each(|page| pages[page as usize] = Page::Absent);
        self.held -= self.clean.len() as u32;
        self.clean.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Rng;

    fn cache(pages: u64, memory: u64, update_share: f64, journal: Option<u64>) -> MapCache {
        let config = MapCacheConfig {
            size: Bytes(memory * UNIT_BYTES),
            page_entries: 4,
            memory: MapMemory::Sram,
            update_share,
            dirty_share: 0.5,
            journal: journal.map(|units| Bytes(units * UNIT_BYTES)),
        };
        MapCache::new(&config, 4 * pages, 2)
    }

    /// Reads in progress and programs in flight of a cache whose answers are played back at random.
    #[derive(Default)]
    struct Flash {
        reading: Vec<u32>,
        programs: Vec<Vec<MapUnit>>,
    }

    /// Random lookups and changes, with reads and programs that end in any order. Each command is told once, after its
    /// page has arrived; a page that is not known to have changed has its last change in a program; the cache holds at
    /// most its capacity, but for changes; and at the end all is on flash.
    #[test]
    fn no_command_and_no_change_is_forgotten() {
        for (seed, (memory, share, journal)) in
            (0..).zip([(8, 0.0, None), (9, 0.002, None), (16, 0.5, Some(6)), (40, 0.01, Some(4)), (64, 0.9, None)])
        {
            let mut rng = Rng::stream(seed, "map");
            let (mut cache, mut flash) = (cache(50, memory, share, journal), Flash::default());
            let (mut waiting, mut told) = (Vec::<(u32, u32)>::new(), 0u32);
            // For each page: changes so far, and those that its last program to begin has.
            let (mut changes, mut bound) = (vec![0u32; 50], vec![0u32; 50]);
            for step in 0..60_000u32 {
                let page = rng.below(50) as u32;
                match rng.below(8) {
                    0..2 => match cache.look_up(page, CommandId(step)) {
                        Lookup::Hit => {}
                        Lookup::Waits => waiting.push((page, step)),
                        Lookup::Load => {
                            waiting.push((page, step));
                            flash.reading.push(page);
                        }
                    },
                    2..4 => {
                        changes[page as usize] += 1;
                        flash.reading.extend(cache.change(page));
                    }
                    4..6 if !flash.reading.is_empty() => {
                        let read = flash.reading.swap_remove(rng.below(flash.reading.len() as u64) as usize);
                        cache.loaded(read);
                        while let Some(CommandId(command)) = cache.next_waiting(read) {
                            let at = waiting.iter().position(|one| *one == (read, command));
                            waiting.swap_remove(at.expect("it waits for this page"));
                            told += 1;
                        }
                    }
                    6 if cache.may_write(false) => {
                        let (is_journal, _) = cache.next_kind();
                        let units: Vec<MapUnit> = (0..2).map_while(|_| cache.next_to_write(is_journal)).collect();
                        for unit in &units {
                            if let MapUnit::Page(page) = *unit {
                                bound[page as usize] = changes[page as usize];
                            }
                        }
                        flash.programs.push(units);
                    }
                    _ if !flash.programs.is_empty() => {
                        for unit in flash.programs.swap_remove(rng.below(flash.programs.len() as u64) as usize) {
                            if let MapUnit::Page(page) = unit {
                                cache.written(page);
                            }
                        }
                    }
                    _ => {}
                }
                while let Some(page) = cache.next_awaited().or_else(|| cache.next_to_apply()) {
                    flash.reading.push(page);
                }
                let forgotten = (0..50).find(|&page| changes[page] != bound[page] && !cache.is_changed(page as u32));
                assert_eq!(forgotten, None, "step {step}: {cache:?}");
                let held = cache.pages.iter().filter(|page| !matches!(page, Page::Absent | Page::Awaited)).count() as u32;
                assert_eq!((held, cache.loading), (cache.held, flash.reading.len() as u32), "step {step}: {cache:?}");
                assert_eq!(cache.kept.iter().sum::<u32>(), cache.kept_total);
                assert!(cache.kept_total <= cache.kept_most);
            }
            assert!(told > 3000 && cache.counters.loads > 1000, "{told} told: {:?}", cache.counters);
            assert_eq!(cache.counters.loads_to_update > 20, share < 0.4 || journal.is_some(), "{:?}", cache.counters);
            assert_eq!(cache.counters.checkpoints > 0, journal.is_some());
            settle(&mut cache, &mut flash);
            assert_eq!(cache.waiting.in_use(), 0, "all commands go on");
            assert!((0..50).all(|page| !cache.is_changed(page)), "all is saved: {cache:?}");
        }
    }

    /// Saves a cache: lets all reads and programs end.
    fn settle(cache: &mut MapCache, flash: &mut Flash) {
        cache.begin_to_save();
        for _ in 0..10_000 {
            let (left, _) = cache.save();
            if left == 0 && flash.reading.is_empty() && flash.programs.is_empty() {
                return;
            }
            while let Some(page) = cache.next_awaited().or_else(|| cache.next_to_apply()) {
                flash.reading.push(page);
            }
            if let Some(page) = flash.reading.pop() {
                cache.loaded(page);
                while cache.next_waiting(page).is_some() {}
            }
            if cache.may_write(true) {
                let (is_journal, _) = cache.next_kind();
                flash.programs.push((0..2).map_while(|_| cache.next_to_write(is_journal)).collect());
            }
            for unit in flash.programs.pop().into_iter().flatten() {
                if let MapUnit::Page(page) = unit {
                    cache.written(page);
                }
            }
        }
        panic!("it does not come to an end: {cache:?}");
    }

    /// A saved content is restored: the same pages are in the cache, clean, dirty and queued, in the same order.
    #[test]
    fn a_saved_cache_goes_on() {
        let (mut one, mut other) = (cache(50, 16, 0.02, Some(6)), cache(50, 16, 0.02, Some(6)));
        let mut rng = Rng::stream(1, "map");
        for step in 0..400 {
            let page = rng.below(50) as u32;
            let loads: Vec<u32> = match rng.below(2) {
                0 => (one.look_up(page, CommandId(step)) == Lookup::Load).then_some(page).into_iter().collect(),
                _ => one.change(page).into_iter().collect(),
            };
            for page in loads {
                one.loaded(page);
                while one.next_waiting(page).is_some() {}
            }
            // Pages are written only where others wait for space.
            while !one.awaited.is_empty() {
                if let Some(page) = one.next_awaited() {
                    one.loaded(page);
                    while one.next_waiting(page).is_some() {}
                } else {
                    let units: Vec<MapUnit> = (0..2).map_while(|_| one.next_to_write(false)).collect();
                    for unit in units {
                        let MapUnit::Page(page) = unit else { unreachable!("no journal was asked for") };
                        one.written(page);
                    }
                }
            }
        }
        let image = one.image();
        assert!(!image.dirty.is_empty() && !image.queue.is_empty() && !image.kept.is_empty(), "{one:?}");
        assert!(other.restore(image.clone()));
        assert_eq!((one.pages.clone(), format!("{one:?}")), (other.pages.clone(), format!("{other:?}")));
        for step in 0..100 {
            assert_eq!(one.look_up(step % 50, CommandId(0)), other.look_up(step % 50, CommandId(0)), "page {step}");
        }
        assert!(!other.restore(image), "pages that it has already");
        let foreign = MapCacheImage { clean: vec![50], ..cache(50, 16, 0.02, None).image() };
        assert!(!cache(50, 16, 0.02, None).restore(foreign), "a page that it does not have");
    }
}
