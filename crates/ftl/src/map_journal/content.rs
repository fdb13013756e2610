//! Content of the journal and the checkpoint, kept where power may be lost without warning.

use crate::map::UNMAPPED;
use kit::{Lpn, Ppn, Table};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A unit with its map entry and the number of the program of its data.
pub(crate) type Placed = (Lpn, u32, u64);

/// A change of the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// A program of data has completed: its first place, and its current units.
    Programmed(Ppn, Vec<Placed>),
    /// Units are again at older places.
    Reverted(Vec<Placed>),
    /// Units were trimmed; the least number of a program whose data that leaves valid.
    Trimmed(u64, Vec<Lpn>),
}

/// A change that is appended.
#[derive(Clone, Debug)]
struct Appended {
    /// Number of its last entry.
    end: u64,
    /// Number of the last program that was bound by then.
    last: u64,
    change: Change,
}

/// State of the blocks that a program of the journal records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header {
    /// Number of the last program that was bound when the first change was appended that the journal lacks.
    pub last: u64,
    /// Programs that are recorded of each block that is open, or of which the journal lacks a program.
    pub recorded: BTreeMap<u32, u32>,
}

/// A program of the journal.
#[derive(Clone, Debug)]
struct Record {
    number: u64,
    changes: Vec<Change>,
    header: Header,
}

/// A program of map pages that is under way: the first unit, its entries, and the numbers of the trims among them.
type Snapshot = (Lpn, Vec<u32>, Vec<(Lpn, u64)>);

/// Content of the journal and the checkpoint. Map entries are those of the tables of places: zero stands for what the
/// drive began with. The entry of a unit that is not mapped has the number of its trim \[A\].
pub(crate) struct Content {
    /// The map as the changes that are appended leave it.
    ahead: Table<u32>,
    ahead_trims: BTreeMap<Lpn, u64>,
    /// The map pages on flash, and the number of programs of the journal that each takes in.
    pages: Table<u32>,
    page_trims: BTreeMap<Lpn, u64>,
    page_base: Vec<u64>,
    page_entries: u32,
    /// Changes that no program of the journal has.
    pending: VecDeque<Appended>,
    writing: Option<Record>,
    /// Programs of the journal on flash that a page needs.
    window: VecDeque<Record>,
    /// Header of the last one.
    header: Header,
    snapshots: Vec<Option<(u64, Snapshot)>>,
}

/// Programs of the journal, by their numbers, and map pages that are on lost dies.
#[derive(Debug, Default)]
pub(crate) struct LostParts {
    pub records: BTreeSet<u64>,
    pub pages: BTreeSet<u32>,
}

/// The map that journal and checkpoint give, and what they record of the blocks.
pub(crate) struct Found {
    pub entries: Table<u32>,
    pub trims: BTreeMap<Lpn, u64>,
    pub header: Header,
}

impl Content {
    /// Returns the content of a drive of `dies` that begins with a map, which is on flash.
    pub fn new(map: &Table<u32>, page_entries: u32, dies: usize, header: Header) -> std::io::Result<Content> {
        let length = map.as_slice().len();
        let (mut ahead, mut pages) = (Table::zeroed(length)?, Table::zeroed(length)?);
        map.copy_to(&mut ahead);
        map.copy_to(&mut pages);
        Ok(Content {
            ahead,
            ahead_trims: BTreeMap::new(),
            pages,
            page_trims: BTreeMap::new(),
            page_base: vec![0; length.div_ceil(page_entries as usize)],
            page_entries,
            pending: VecDeque::new(),
            writing: None,
            window: VecDeque::new(),
            header,
            snapshots: vec![None; dies],
        })
    }

    /// Returns a copy.
    pub fn copy(&self) -> std::io::Result<Content> {
        let mut copy = Content {
            ahead: Table::zeroed(self.ahead.as_slice().len())?,
            pages: Table::zeroed(self.pages.as_slice().len())?,
            ahead_trims: self.ahead_trims.clone(),
            page_trims: self.page_trims.clone(),
            page_base: self.page_base.clone(),
            pending: self.pending.clone(),
            writing: self.writing.clone(),
            window: self.window.clone(),
            header: self.header.clone(),
            snapshots: self.snapshots.clone(),
            ..*self
        };
        self.ahead.copy_to(&mut copy.ahead);
        self.pages.copy_to(&mut copy.pages);
        Ok(copy)
    }

    /// Returns the map entry of a unit as the changes so far leave it.
    pub fn entry(&self, lpn: Lpn) -> u32 {
        self.ahead.get(lpn.index())
    }

    /// Appends a change, whose last entry has the number `end`; `last`: number of the last program that is bound.
    pub fn append(&mut self, change: Change, end: u64, last: u64) {
        apply(&change, &mut self.ahead, &mut self.ahead_trims);
        self.pending.push_back(Appended { end, last, change });
    }

    /// Returns the number of changes that no program of the journal has, of the programs of each block.
    fn unrecorded(&self, block_of: impl Fn(Ppn) -> u32) -> BTreeMap<u32, u32> {
        let mut counts = BTreeMap::new();
        for appended in &self.pending {
            if let Change::Programmed(first, _) = appended.change {
                *counts.entry(block_of(first)).or_default() += 1;
            }
        }
        counts
    }

    /// Puts the changes up to an entry into a program of the journal. `open`: blocks that are open or programmed, with
    /// the number of their programs; `last`: number of the last program that is bound.
    pub fn begin_journal(
        &mut self,
        (number, taken, last): (u64, u64, u64),
        open: impl Iterator<Item = u32>,
        programmed: impl Fn(u32) -> u32,
        block_of: impl Fn(Ppn) -> u32,
    ) {
        let mut changes = Vec::new();
        while self.pending.front().is_some_and(|appended| appended.end <= taken) {
            changes.extend(self.pending.pop_front().map(|appended| appended.change));
        }
        let unrecorded = self.unrecorded(block_of);
        let missing = |block: u32| unrecorded.get(&block).copied().unwrap_or(0);
        let blocks = open.chain(unrecorded.keys().copied());
        let recorded = blocks.map(|block| (block, programmed(block).saturating_sub(missing(block)))).collect();
        let last = self.pending.front().map_or(last, |appended| appended.last);
        self.writing = Some(Record { number, changes, header: Header { last, recorded } });
    }

    /// Handles the end of that program.
    pub fn journal_done(&mut self) {
        let record = self.writing.take().expect("a program of the journal is under way");
        self.header = record.header.clone();
        self.window.push_back(record);
    }

    /// Puts map pages into a program of a die; `base`: programs of the journal on flash.
    pub fn begin_pages(&mut self, die: usize, (first, end): (u32, u32), base: u64) {
        let length = self.ahead.as_slice().len();
        let [from, to] = [first, end].map(|page| (page * self.page_entries) as usize).map(|unit| unit.min(length));
        let trims = self.ahead_trims.range(Lpn(from as u32)..Lpn(to as u32)).map(|(lpn, number)| (*lpn, *number)).collect();
        let entries = self.ahead.as_slice()[from..to].to_vec();
        self.snapshots[die] = Some((base, (Lpn(from as u32), entries, trims)));
    }

    /// Handles the end of that program.
    pub fn pages_done(&mut self, die: usize) {
        let (base, (first, entries, trims)) = self.snapshots[die].take().expect("a program of map pages is under way");
        let end = first.0 + entries.len() as u32;
        self.pages.as_mut_slice()[first.index()..end as usize].copy_from_slice(&entries);
        let stale: Vec<Lpn> = self.page_trims.range(first..Lpn(end)).map(|(lpn, _)| *lpn).collect();
        stale.iter().for_each(|lpn| _ = self.page_trims.remove(lpn));
        self.page_trims.extend(trims);
        let pages = (first.0 / self.page_entries) as usize..end.div_ceil(self.page_entries) as usize;
        self.page_base[pages].fill(base);
    }

    /// Forgets the programs of the journal up to a number, which no page needs.
    pub fn forget_up_to(&mut self, number: u64) {
        while self.window.front().is_some_and(|record| record.number <= number) {
            self.window.pop_front();
        }
    }

    /// Loses what is not on flash.
    pub fn lose_power(&mut self) {
        self.pending.clear();
        self.writing = None;
        self.snapshots.fill(None);
    }

    /// Returns the map that the checkpoint and the journal give, without what is lost of them.
    pub fn replay(&self, lost: &LostParts) -> std::io::Result<Found> {
        let mut entries = Table::zeroed(self.pages.as_slice().len())?;
        self.pages.copy_to(&mut entries);
        let mut trims = self.page_trims.clone();
        let is_lost = |lpn: &Lpn| lost.pages.contains(&(lpn.0 / self.page_entries));
        if !lost.pages.is_empty() {
            trims.retain(|lpn, _| !is_lost(lpn));
            (0..entries.as_slice().len() as u32).filter(|lpn| is_lost(&Lpn(*lpn))).for_each(|lpn| entries.set(lpn as usize, 0));
        }
        for record in self.window.iter().filter(|record| !lost.records.contains(&record.number)) {
            let is_newer = |lpn: &Lpn| is_lost(lpn) || record.number > self.page_base[lpn.index() / self.page_entries as usize];
            for change in &record.changes {
                let change = match change {
                    Change::Programmed(first, units) => Change::Programmed(*first, newer(units, &trims, is_newer)),
                    Change::Reverted(units) => Change::Reverted(newer(units, &trims, is_newer)),
                    Change::Trimmed(number, units) => Change::Trimmed(*number, units.iter().copied().filter(is_newer).collect()),
                };
                apply(&change, &mut entries, &mut trims);
            }
        }
        Ok(Found { entries, trims, header: self.header.clone() })
    }

    /// Handles the failure of a program of map pages of a die, which is repeated with the pages as they are then.
    pub fn pages_failed(&mut self, die: usize) {
        self.snapshots[die] = None;
    }

    /// Goes on with a map after a recovery, in which journal and checkpoint are as they were.
    pub fn go_on(&mut self, map: &Table<u32>, trims: BTreeMap<Lpn, u64>) -> std::io::Result<()> {
        self.ahead = Table::zeroed(map.as_slice().len())?;
        map.copy_to(&mut self.ahead);
        self.ahead_trims = trims;
        Ok(())
    }

    /// Loses the last program of the journal that has changes, for tests. Returns false if there is none.
    pub fn forge_lost_record(&mut self) -> bool {
        let record = self.window.iter_mut().rev().find(|record| !record.changes.is_empty());
        record.is_some_and(|record| !std::mem::take(&mut record.changes).is_empty())
    }

    /// Takes the map page of a unit that has changed since it was written as current, for tests. Returns false if there
    /// is none.
    pub fn forge_stale_page(&mut self) -> bool {
        let units = |change: &Change| match change {
            Change::Programmed(_, units) | Change::Reverted(units) => units.first().map(|unit| unit.0),
            Change::Trimmed(_, units) => units.first().copied(),
        };
        let page = |lpn: Lpn| lpn.index() / self.page_entries as usize;
        let changed = self.window.iter().rev().flat_map(|record| {
            record.changes.iter().filter_map(units).map(page).filter(|page| self.page_base[*page] < record.number)
        });
        let stale = { changed }.next();
        stale.into_iter().for_each(|page| self.page_base[page] = u64::MAX);
        stale.is_some()
    }
}

/// Returns the units that are newer than their map pages and were not trimmed later: a map page may have trims that the
/// journal lacks.
fn newer(units: &[Placed], trims: &BTreeMap<Lpn, u64>, is_newer: impl Fn(&Lpn) -> bool) -> Vec<Placed> {
    let is_kept = |lpn: &Lpn, number: u64| trims.get(lpn).is_none_or(|trim| number >= *trim);
    units.iter().copied().filter(|(lpn, _, number)| is_newer(lpn) && is_kept(lpn, *number)).collect()
}

/// Makes a change in a map.
fn apply(change: &Change, map: &mut Table<u32>, trims: &mut BTreeMap<Lpn, u64>) {
    match change {
        Change::Programmed(_, units) | Change::Reverted(units) => {
            for &(lpn, code, _) in units {
                map.set(lpn.index(), code);
            }
        }
        Change::Trimmed(number, units) => {
            for &lpn in units {
                map.set(lpn.index(), UNMAPPED);
                trims.insert(lpn, *number);
            }
        }
    }
}
