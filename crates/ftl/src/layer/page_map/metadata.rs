//! Metadata that programs carry in the spare area of their pages, and the record of trims: all that the map can be
//! rebuilt from after a loss of power.
//!
//! The logical unit at each place is in the reverse map, the write mode and the instant of the first program of a block
//! in the medium. Kept here: the sequence number of each program, and the place from which relocated data came.
//! Programs are numbered in the order in which they are bound, which is that of the changes of the map; those from
//! before the metadata was kept have number 0.
//!
//! Trims leave no page. They are recorded in a small non-volatile memory of the controller, at once \[A\].

use kit::{BlockId, Geometry, Lpn, Ppn, Table};
use std::collections::BTreeMap;

/// Metadata of the programs since it is kept.
pub(crate) struct Metadata {
    units_per_program: u32,
    has_begun: bool,
    /// Number of the last program.
    last: u64,
    /// Number of each program.
    numbers: Table<u64>,
    /// Numbers of their own of programs that repeat others, whose numbers they have: by the first place.
    repeats: BTreeMap<Ppn, u64>,
    /// Place from which the data at each place was moved, plus one; 0 for data of the host.
    sources: Table<u32>,
    /// Of each logical unit, the least number of a program whose data its last trim left valid; 0 if it was not
    /// trimmed.
    trims: Table<u64>,
    has_trims: bool,
    /// True for each block that has been erased since.
    is_erased: Vec<bool>,
    /// Number of the program with which the content of the map page at a place was written, before it was moved there.
    pages: BTreeMap<Ppn, u64>,
    /// Volatile: units that were written again while they waited in the write buffer, where the older data is kept. For
    /// each the number of such data that is not bound, and the last number in the buffer among what has been bound.
    overtaken: BTreeMap<Lpn, (u32, u64)>,
}

impl Metadata {
    /// Returns the metadata of a drive that is about to make its first program.
    pub fn new(geometry: &Geometry, units: u64) -> std::io::Result<Metadata> {
        let places = usize::try_from(geometry.unit_count()).expect("validated: fewer than 2^32 units");
        Ok(Metadata {
            units_per_program: geometry.units_per_program,
            has_begun: false,
            last: 0,
            numbers: Table::zeroed(places / geometry.units_per_program as usize)?,
            repeats: BTreeMap::new(),
            sources: Table::zeroed(places)?,
            trims: Table::zeroed(usize::try_from(units).expect("fits: fewer than the physical units"))?,
            has_trims: false,
            is_erased: vec![false; geometry.block_count as usize],
            pages: BTreeMap::new(),
            overtaken: BTreeMap::new(),
        })
    }

    /// Returns a copy.
    pub fn copy(&self) -> std::io::Result<Metadata> {
        let mut copy = Metadata {
            numbers: Table::zeroed(self.numbers.as_slice().len())?,
            sources: Table::zeroed(self.sources.as_slice().len())?,
            trims: Table::zeroed(self.trims.as_slice().len())?,
            is_erased: self.is_erased.clone(),
            pages: self.pages.clone(),
            repeats: self.repeats.clone(),
            overtaken: BTreeMap::new(),
            ..*self
        };
        self.numbers.copy_to(&mut copy.numbers);
        self.sources.copy_to(&mut copy.sources);
        self.trims.copy_to(&mut copy.trims);
        Ok(copy)
    }

    /// Returns true the first time that it is called.
    pub fn begins(&mut self) -> bool {
        !std::mem::replace(&mut self.has_begun, true)
    }

    /// Numbers a program that begins at a place. Its units count as data of the host until they are known to be moved.
    #[inline]
    pub fn bound(&mut self, first: Ppn) {
        self.last += 1;
        if !self.repeats.is_empty() {
            self.repeats.remove(&first);
        }
        self.numbers.set((first.0 / self.units_per_program) as usize, self.last);
        self.sources.as_mut_slice()[first.index()..][..self.units_per_program as usize].fill(0);
    }

    /// Gives a program that repeats one that has failed the number of that one, and its data the places where it came
    /// from. Its spare area has the number of its own, too, which tells when its block was opened \[A\].
    pub fn bound_again(&mut self, failed: Ppn, first: Ppn) {
        self.repeats.insert(first, self.number(first));
        self.numbers.set((first.0 / self.units_per_program) as usize, self.number(failed));
        for (from, to) in (failed.0..failed.0 + self.units_per_program).map(Ppn).zip(first.0..) {
            self.sources.set(to as usize, self.sources.get(from.index()));
            if let Some(number) = self.pages.get(&from).copied() {
                self.pages.insert(Ppn(to), number);
            }
        }
    }

    /// Takes the last program, which begins at `to`, for a copy of another one: as old as that.
    pub fn copied(&mut self, from: Ppn, to: Ppn) {
        self.numbers.set((to.0 / self.units_per_program) as usize, self.number(from));
    }

    /// Records that a unit of the last program was moved.
    #[inline]
    pub fn moved(&mut self, from: Ppn, to: Ppn) {
        self.sources.set(to.index(), from.0 + 1);
    }

    /// Records that a page of the map is written to a place with all its changes.
    pub fn page_bound(&mut self, ppn: Ppn) {
        self.pages.insert(ppn, self.last);
    }

    /// Records that a page of the map is moved.
    pub fn page_moved(&mut self, from: Ppn, to: Ppn) {
        let number = self.page_number(from);
        self.pages.insert(to, number);
    }

    /// Returns the number of the program with which the content of the map page at a place was written.
    pub fn page_number(&self, ppn: Ppn) -> u64 {
        self.pages.get(&ppn).copied().unwrap_or(0)
    }

    /// Loses what is not on flash.
    pub fn power_lost(&mut self) {
        self.overtaken.clear();
    }

    /// Records that a unit is written again while it waits in the write buffer.
    pub fn overtaken(&mut self, lpn: Lpn) {
        self.overtaken.entry(lpn).or_default().0 += 1;
    }

    /// Records that data of a unit with this number in the write buffer is bound.
    #[inline]
    pub fn bound_from_buffer(&mut self, lpn: Lpn, number: u64) {
        if !self.overtaken.is_empty()
            && let Some((_, newest)) = self.overtaken.get_mut(&lpn)
        {
            *newest = number.max(*newest);
        }
    }

    /// Records that older data of a unit, with this number in the write buffer, is bound. Returns true if no newer data
    /// of the unit has been bound.
    pub fn obsolete_bound(&mut self, lpn: Lpn, number: u64) -> bool {
        let Some((left, newest)) = self.overtaken.get_mut(&lpn) else { return false };
        let is_newest = number > *newest;
        (*left, *newest) = (*left - 1, number.max(*newest));
        if *left == 0 {
            self.overtaken.remove(&lpn);
        }
        is_newest
    }

    /// Returns the number of the last program.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Takes these trims for those that remain.
    pub fn set_trims(&mut self, trims: &BTreeMap<Lpn, u64>) {
        // Entries that are zero are not written: they take no memory.
        self.trims.as_mut_slice().iter_mut().filter(|number| **number > 0).for_each(|number| *number = 0);
        trims.iter().for_each(|(lpn, number)| self.trims.set(lpn.index(), *number));
        self.has_trims = !trims.is_empty();
    }

    /// Records that a unit was trimmed.
    pub fn trimmed(&mut self, lpn: Lpn) {
        self.trims.set(lpn.index(), self.last + 1);
        self.has_trims = true;
    }

    /// Records that a block was erased.
    pub fn erased(&mut self, block: BlockId) {
        self.is_erased[block.index()] = true;
    }

    /// Returns true if a block was erased since the metadata is kept.
    pub fn is_erased(&self, block: BlockId) -> bool {
        self.is_erased[block.index()]
    }

    /// Returns the number of the program that wrote a place.
    #[inline]
    pub fn number(&self, ppn: Ppn) -> u64 {
        self.numbers.get((ppn.0 / self.units_per_program) as usize)
    }

    /// Returns the number that a program has itself, though it may repeat an older one.
    pub fn own_number(&self, first: Ppn) -> u64 {
        self.repeats.get(&first).copied().unwrap_or_else(|| self.number(first))
    }

    /// Returns the place from which the data at a place was moved; `None` for data of the host.
    pub fn source(&self, ppn: Ppn) -> Option<Ppn> {
        self.sources.get(ppn.index()).checked_sub(1).map(Ppn)
    }

    /// Returns true if the data of a unit that a program with this number wrote has not been trimmed since.
    #[inline]
    pub fn is_kept(&self, lpn: Lpn, number: u64) -> bool {
        !self.has_trims || number >= self.trims.get(lpn.index())
    }

    /// Returns the units that were trimmed.
    pub fn trimmed_units(&self) -> impl Iterator<Item = Lpn> + '_ {
        let trims = if self.has_trims { self.trims.as_slice() } else { &[] };
        (0..).zip(trims).filter(|(_, number)| **number > 0).map(|(lpn, _)| Lpn(lpn))
    }

    /// Takes a program as older than all others, for tests.
    pub fn forge_number(&mut self, first: Ppn) {
        self.numbers.set((first.0 / self.units_per_program) as usize, 0);
    }

    /// Forgets the trims, for tests. Returns false if there are none.
    pub fn forge_trims(&mut self) -> bool {
        std::mem::take(&mut self.has_trims)
    }
}
