//! The map and the reverse map, as their difference from the drive's origin.
//!
//! An entry that was never set is zero, and stands for what the [`Origin`] computes: a drive that has just been set up
//! has no entries, takes no memory for them, and is set up without writing them.

use super::origin::{BATCH, Origin, OriginImage};
use super::{Mapped, PADDING, decode, encode};
use crate::medium::program::NO_PLACE;
use kit::{Lpn, Ppn, Table};
use std::io::{Read, Write};
use std::sync::Arc;

/// Entry of the map of a unit that the origin has placed and that is not mapped any more.
pub(crate) const UNMAPPED: u32 = u32::MAX;
/// Offset of units in the reverse map, modulo 2^32: no unit, and not [`PADDING`], has the entry zero.
const SHIFT: u32 = 2;

/// Largest size of a table in which entries that were computed are entered: one that has huge pages
/// ([`Table::expect_dense_use`]).
const MAX_REMEMBERED: u64 = 768 << 20;

pub(crate) struct Places {
    map: Table<u32>,
    reverse: Table<u32>,
    origin: Option<Arc<Origin>>,
}

impl Places {
    /// Returns the tables of an empty drive of `logical` units and `physical` places.
    pub fn new(logical: usize, physical: usize) -> std::io::Result<Places> {
        Ok(Places { map: Table::zeroed(logical)?, reverse: Table::zeroed(physical)?, origin: None })
    }

    /// Requests huge pages ([`Table::expect_dense_use`]).
    pub fn expect_dense_use(&mut self) {
        self.map.expect_dense_use();
        self.reverse.expect_dense_use();
    }

    /// Returns the size of the tables in bytes.
    pub fn bytes(&self) -> u64 {
        self.map.bytes() + self.reverse.bytes()
    }

    /// Copies all entries into those of a new drive of the same size ([`Table::copy_to`]).
    pub fn copy_to(&self, new: &mut Places) {
        self.map.copy_to(&mut new.map);
        self.reverse.copy_to(&mut new.reverse);
        new.origin.clone_from(&self.origin);
    }

    /// Takes the data that `origin` places as written. No unit and no place that it names has an entry.
    pub fn begin_from(&mut self, origin: Origin) {
        debug_assert!(self.origin.is_none(), "a drive is set up once");
        self.origin = Some(Arc::new(origin));
    }

    /// Returns the data that the drive began with; `None` for an empty drive.
    pub fn origin(&self) -> Option<&Arc<Origin>> {
        self.origin.as_ref()
    }

    /// Returns the map value of a unit.
    #[inline]
    pub fn code_of(&self, lpn: Lpn) -> u32 {
        let entry = self.map.get(lpn.index());
        if entry == 0 { self.original_code(lpn) } else { entry.wrapping_add(u32::from(entry == UNMAPPED)) }
    }

    /// Returns the map value that a unit has by the origin.
    #[cold]
    #[inline(never)]
    fn original_code(&self, lpn: Lpn) -> u32 {
        self.origin.as_ref().and_then(|origin| origin.place_of(lpn)).map_or(0, encode)
    }

    /// Enters what the origin says of some units: to compute it takes as long as several accesses to the table, and
    /// each command asks more than once. The largest drives leave it out: an entry would take a page of memory for each
    /// unit that is read.
    pub fn remember(&mut self, units: &[Lpn]) {
        let Some(origin) = self.origin.as_ref().filter(|_| self.map.bytes() <= MAX_REMEMBERED) else { return };
        let map = self.map.as_mut_slice();
        for units in units.chunks(BATCH) {
            // The entries are loaded in a pass of their own, so that the cache misses of all units overlap.
            let (mut entries, mut count) = ([0; BATCH], 0);
            for (entry, lpn) in entries.iter_mut().zip(units) {
                *entry = map.get(lpn.index()).copied().unwrap_or(UNMAPPED);
            }
            let (mut missing, mut places) = ([0; BATCH], [0; BATCH]);
            for (entry, lpn) in entries.iter().zip(units) {
                missing[count] = lpn.0;
                count += usize::from(*entry == 0);
            }
            places[..count].copy_from_slice(&missing[..count]);
            origin.replace_by_places(&mut places[..count]);
            for (&lpn, &place) in missing[..count].iter().zip(&places) {
                map[lpn as usize] = if place == NO_PLACE { UNMAPPED } else { encode(Ppn(place)) };
            }
        }
    }

    /// Returns the unit at a place like [`Places::unit_at`], and enters it.
    #[inline]
    pub fn remember_unit(&mut self, ppn: Ppn) -> Lpn {
        let lpn = self.unit_at(ppn);
        if self.reverse.get(ppn.index()) == 0 && self.reverse.bytes() <= MAX_REMEMBERED {
            self.set_unit(ppn, lpn.0);
        }
        lpn
    }

    /// Enters the place of a unit that holds its current copy.
    #[inline]
    pub fn remember_place(&mut self, lpn: Lpn, ppn: Ppn) {
        if self.map.get(lpn.index()) == 0 && self.map.bytes() <= MAX_REMEMBERED {
            self.map.set(lpn.index(), encode(ppn));
        }
    }

    /// Returns true if a unit has no entry: where it is, is computed.
    #[cfg(test)]
    pub fn is_computed(&self, lpn: Lpn) -> bool {
        self.map.get(lpn.index()) == 0
    }

    /// Sets the map value of a unit.
    #[inline]
    pub fn set_code(&mut self, lpn: Lpn, code: u32) {
        self.map.set(lpn.index(), if code == 0 && self.origin.is_some() { UNMAPPED } else { code });
    }

    /// Returns the unit whose data was written to a place, or [`PADDING`].
    #[inline]
    pub fn unit_at(&self, ppn: Ppn) -> Lpn {
        let entry = self.reverse.get(ppn.index());
        if entry == 0 { self.original_unit(ppn) } else { Lpn(entry.wrapping_sub(SHIFT)) }
    }

    /// Returns the unit that the origin has at a place, or [`PADDING`].
    #[cold]
    #[inline(never)]
    fn original_unit(&self, ppn: Ppn) -> Lpn {
        self.origin.as_ref().and_then(|origin| origin.unit_at(ppn)).unwrap_or(Lpn(PADDING))
    }

    /// Sets the unit whose data is written to a place; [`PADDING`] for none.
    #[inline]
    pub fn set_unit(&mut self, ppn: Ppn, lpn: u32) {
        self.reverse.set(ppn.index(), lpn.wrapping_add(SHIFT));
    }

    /// Loads the entries of some units. Returns their map values as far as they are stored: zero otherwise.
    #[inline]
    pub fn stored_codes<'a>(&'a self, units: &'a [Lpn]) -> impl Iterator<Item = u32> + 'a {
        let map = self.map.as_slice();
        units.iter().map(|unit| map.get(unit.index()).copied().unwrap_or(0))
    }

    /// Returns the stored places of those of some units that are on flash.
    #[inline]
    pub fn on_flash<'a>(&'a self, units: &'a [Lpn]) -> impl Iterator<Item = Ppn> + 'a {
        self.stored_codes(units).filter_map(|code| match decode(code) {
            Mapped::At(ppn) => Some(ppn),
            Mapped::Nowhere | Mapped::Slot(_) => None,
        })
    }

    /// Loads the entry of a unit in the map.
    #[inline]
    pub fn load_code(&self, lpn: Lpn) -> u32 {
        self.map.as_slice().get(lpn.index()).copied().unwrap_or(0)
    }

    /// Loads the entry of a place in the reverse map.
    #[inline]
    pub fn load_unit(&self, ppn: Ppn) -> u32 {
        self.reverse.get(ppn.index())
    }

    /// Returns what the origin is computed from, for saving.
    pub fn image(&self) -> Option<OriginImage> {
        self.origin.as_ref().map(|origin| origin.image())
    }

    /// Writes the reverse map. With the validity of the places it says what the map has.
    pub fn save(&self, to: &mut dyn Write) -> std::io::Result<()> {
        self.reverse.save(to)
    }

    /// Reads the reverse map of a saved drive that began with `origin`.
    pub fn load(&mut self, origin: Option<Origin>, from: &mut dyn Read) -> std::io::Result<()> {
        self.origin = origin.map(Arc::new);
        self.reverse.load(from)
    }

    /// Writes map and reverse map as they are.
    pub fn save_whole(&self, to: &mut dyn Write) -> std::io::Result<()> {
        self.map.save(to)?;
        self.reverse.save(to)
    }

    /// Reads map and reverse map of a drive that began with `origin`, as they were, into new ones.
    pub fn load_whole(&mut self, origin: Option<Origin>, from: &mut dyn Read) -> std::io::Result<()> {
        self.origin = origin.map(Arc::new);
        self.map.load(from)?;
        self.reverse.load(from)
    }

    /// Enters a place in the map of its unit, as the reverse map has it. Returns false if that has no entry, and the
    /// unit as an error if the drive does not have it.
    #[inline]
    pub fn enter(&mut self, ppn: u32) -> Result<bool, u32> {
        let entry = self.reverse.get(ppn as usize);
        if entry == 0 && self.origin.is_some() {
            return Ok(false);
        }
        let lpn = entry.wrapping_sub(SHIFT);
        if lpn as usize >= self.map.as_slice().len() {
            return Err(lpn);
        }
        self.map.set(lpn as usize, encode(Ppn(ppn)));
        Ok(true)
    }

    /// Marks the unit that the origin has at a place as not mapped, if it has no entry.
    pub fn leave(&mut self, ppn: Ppn) {
        let lpn = self.original_unit(ppn);
        if self.map.get(lpn.index()) == 0 {
            self.map.set(lpn.index(), UNMAPPED);
        }
    }

    /// Marks as padding the places whose data is not current: those with an entry, and those of units of the origin
    /// that have an entry elsewhere.
    pub fn forget_superseded(&mut self, is_current: impl Fn(Ppn) -> bool) {
        let padding = PADDING.wrapping_add(SHIFT);
        for (ppn, entry) in (0..).map(Ppn).zip(self.reverse.as_mut_slice()) {
            if *entry != 0 && !is_current(ppn) {
                *entry = padding;
            }
        }
        let Some(origin) = self.origin.clone() else { return };
        for lpn in (0..origin.units()).map(Lpn).filter(|lpn| self.map.get(lpn.index()) != 0) {
            let place = origin.place_of(lpn).filter(|place| !is_current(*place) && self.reverse.get(place.index()) == 0);
            if let Some(place) = place {
                self.reverse.set(place.index(), padding);
            }
        }
    }

    /// Loses the map, which is returned. What remains is on flash: the reverse map.
    pub fn lose_map(&mut self) -> std::io::Result<Table<u32>> {
        let empty = Table::zeroed(self.map.as_slice().len())?;
        Ok(std::mem::replace(&mut self.map, empty))
    }

    /// Returns the entries of the map as they are stored.
    pub fn entries(&self) -> &Table<u32> {
        &self.map
    }

    /// Takes these entries for the map, which was lost.
    pub fn copy_entries(&mut self, entries: &Table<u32>) {
        entries.copy_to(&mut self.map);
    }

    /// Returns the units whose map values differ from those of an earlier map, with the value before and now.
    pub fn differences<'a>(&'a self, before: &'a Table<u32>) -> impl Iterator<Item = (Lpn, u32, u32)> + 'a {
        let value = |lpn: Lpn, entry: u32| match entry {
            0 => self.original_code(lpn),
            UNMAPPED => 0,
            code => code,
        };
        let pairs = before.as_slice().iter().zip(self.map.as_slice());
        let differ = (0..).map(Lpn).zip(pairs).filter(|(_, (before, now))| before != now);
        differ
            .map(move |(lpn, (before, now))| (lpn, value(lpn, *before), value(lpn, *now)))
            .filter(|(_, before, now)| before != now)
    }

    /// Returns the unit that the reverse map has an entry for at a place; `None` if there is no entry, or no unit.
    #[inline]
    pub fn entered_unit(&self, ppn: Ppn) -> Option<Lpn> {
        let entry = self.reverse.get(ppn.index());
        (entry != 0 && entry != PADDING.wrapping_add(SHIFT)).then(|| Lpn(entry.wrapping_sub(SHIFT)))
    }

    /// Returns the place that the map has an entry for; `None` if it has none, or the unit is not mapped.
    #[inline]
    pub fn entered_place(&self, lpn: Lpn) -> Option<Ppn> {
        match self.map.get(lpn.index()) {
            0 | UNMAPPED => None,
            entry => Some(Ppn(entry - 1)),
        }
    }

    /// Returns the units for which the map has an entry.
    pub fn entered(&self) -> impl Iterator<Item = Lpn> + '_ {
        (0..).map(Lpn).zip(self.map.as_slice()).filter(|(_, entry)| **entry != 0).map(|(lpn, _)| lpn)
    }

    /// Marks a unit as not mapped, if it has no entry.
    pub fn leave_unit(&mut self, lpn: Lpn) {
        if self.map.get(lpn.index()) == 0 && self.origin.is_some() {
            self.map.set(lpn.index(), UNMAPPED);
        }
    }

    /// Returns true if a place has no entry: what it holds is computed.
    #[inline]
    pub fn is_original(&self, ppn: Ppn) -> bool {
        self.reverse.get(ppn.index()) == 0
    }

    /// Returns the number of units that the map has a place for, and that of those whose place is computed.
    pub fn counted(&self) -> (u64, u64) {
        let original = self.origin.as_ref().map_or(0, |origin| origin.units()) as usize;
        let map = self.map.as_slice();
        let count = |part: &[u32], is: fn(u32) -> bool| part.iter().map(|code| u64::from(is(*code))).sum::<u64>();
        let entered = map.chunks(1 << 16).map(|part| count(part, |code| code != 0 && code != UNMAPPED)).sum();
        let computed = map[..original].chunks(1 << 16).map(|part| count(part, |code| code == 0)).sum();
        (entered, computed)
    }
}
