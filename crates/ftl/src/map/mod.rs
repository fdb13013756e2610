//! State of the data: the map and the reverse map, over the medium.
//!
//! The map entry of data that goes to flash changes in one step, when its destination is bound (`Ftl::bind_host`,
//! `Ftl::bind_moved`); the completion of the program does not touch it. Only a trim and a write into the write buffer
//! change an entry otherwise. The map stores a place as its unit number plus one, so that zeroed tables mean "unmapped"
//! and ranges that are never touched cost no memory.

mod origin;
mod places;
mod waiting;

use crate::declared::UnitBits;
use crate::medium::Medium;
use kit::{BlockId, Geometry, Lpn, Ppn, Table};
pub(crate) use origin::{Filled, Origin, OriginImage, Scattered, Spread};
pub(crate) use places::{Places, UNMAPPED};

/// First map value that stands for a slot of the write queue instead of a place on flash; slots hold the units of the
/// write buffer.
pub(crate) const SLOT_BASE: u32 = u32::MAX - (1 << 24);
/// Reverse-map value of a place that was programmed with padding.
pub(crate) const PADDING: u32 = u32::MAX;
/// Number of units that [`Store::look_ahead_moves`] prefetches. A profile with 32 of them and 32 busy dies showed twice
/// the stalls on prefetched data.
const MOVES_AHEAD: usize = 8;

/// Location of a logical unit: unmapped, at a place on flash, or in a slot of the write queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mapped {
    Nowhere,
    At(Ppn),
    Slot(u32),
}

#[inline]
pub(crate) fn decode(code: u32) -> Mapped {
    if code == 0 {
        Mapped::Nowhere
    } else if code >= SLOT_BASE {
        Mapped::Slot(code - SLOT_BASE)
    } else {
        Mapped::At(Ppn(code - 1))
    }
}

#[inline]
pub(crate) fn encode(ppn: Ppn) -> u32 {
    ppn.0 + 1
}

/// State of the data: the map, and the medium under it.
pub struct Store {
    /// The medium.
    pub medium: Medium,
    pub(crate) places: Places,
    /// Mapping units of the user capacity.
    pub user_units: u64,
    /// Logical units in all: those of the user, and those of the map itself.
    pub(crate) all_units: u64,
}

impl Store {
    /// Creates the state of an empty drive: all blocks free, all units unmapped. `extra_units` are those of the map
    /// itself, beyond those of the user.
    pub fn new(geometry: Geometry, user_units: u64, extra_units: u64, mode_units: Vec<u32>) -> std::io::Result<Store> {
        let units = usize::try_from(geometry.unit_count()).expect("validated: fewer than 2^32 units");
        Ok(Store {
            places: Places::new(usize::try_from(user_units + extra_units).expect("fits: fewer than the physical units"), units)?,
            medium: Medium::new(geometry, mode_units)?,
            user_units,
            all_units: user_units + extra_units,
        })
    }

    /// Advises the system that most of the tables will be used (see [`Table::expect_dense_use`]).
    pub(crate) fn expect_dense_use(&mut self) {
        self.places.expect_dense_use();
        self.medium.expect_dense_use();
    }

    /// Copies the state into that of a new drive of the same geometry and capacity, whose tables are all still zero.
    pub(crate) fn copy_to(&self, new: &mut Store) {
        self.places.copy_to(&mut new.places);
        self.medium.copy_to(&mut new.medium);
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.places.bytes() + self.medium.bytes()
    }

    /// Returns the number of logical units: those of the user, and those of the map itself.
    pub fn all_units(&self) -> u64 {
        self.all_units
    }

    /// Returns the logical unit whose data was written to a place, or [`PADDING`].
    #[inline]
    pub fn lpn_at(&self, ppn: Ppn) -> Lpn {
        self.places.unit_at(ppn)
    }

    /// Returns the map value of a unit.
    #[inline]
    pub(crate) fn code_of(&self, lpn: Lpn) -> u32 {
        self.places.code_of(lpn)
    }

    /// Sets the map value of a unit.
    #[inline]
    pub(crate) fn set_code(&mut self, lpn: Lpn, code: u32) {
        self.places.set_code(lpn, code);
    }

    /// Records that `count` places from `first` on were programmed without data.
    pub(crate) fn pad(&mut self, first: Ppn, count: u32) {
        (first.0..first.0 + count).for_each(|ppn| self.places.set_unit(Ppn(ppn), PADDING));
    }

    /// Returns true if a place holds no data.
    pub(crate) fn is_padding(&self, ppn: Ppn) -> bool {
        self.places.unit_at(ppn).0 == PADDING
    }

    /// Returns the place of the current copy of a logical unit, if that is on flash and not in the write buffer.
    #[inline]
    pub fn place_of(&self, lpn: Lpn) -> Option<Ppn> {
        match decode(self.code_of(lpn)) {
            Mapped::At(ppn) => Some(ppn),
            Mapped::Nowhere | Mapped::Slot(_) => None,
        }
    }

    /// Records in the reverse map and the validity bits that `ppn` holds the data of `lpn`. The caller updates the map.
    #[inline]
    pub(crate) fn place(&mut self, lpn: Lpn, ppn: Ppn) {
        self.places.set_unit(ppn, lpn.0);
        self.medium.written(ppn);
    }

    /// Takes `origin` for the data of blocks whose units have been counted as written, and have no places yet.
    pub(crate) fn begin_from(&mut self, origin: Origin) {
        mark_valid(&mut self.medium.valid, &origin, self.medium.geometry.block_count);
        self.places.begin_from(origin);
    }

    /// Prefetches the map entries and block records that commands on these units will need, and for writes the validity
    /// bits. The return value only keeps the loads from being optimised away; no state changes. Separate passes over
    /// entries and records let their cache misses overlap: measured 2.3 times on random reads of a 512 GiB drive.
    pub fn look_ahead(&self, units: &[Lpn], writes: bool) -> u64 {
        let mut sink = 0u64;
        let mut codes = [0u32; 32];
        for chunk in units.chunks(32) {
            codes.iter_mut().zip(self.places.stored_codes(chunk)).for_each(|(code, stored)| *code = stored);
            for &code in &codes[..chunk.len()] {
                if let Mapped::At(ppn) = decode(code) {
                    sink ^= u64::from(self.medium.block(self.medium.geometry.block_of(ppn)).valid);
                    if writes {
                        sink ^= self.medium.valid.get(ppn.index() / 64);
                    }
                }
            }
        }
        sink
    }

    /// Prefetches the instants at which the blocks of these units were opened; [`Store::look_ahead`] must have loaded
    /// their map entries.
    pub(crate) fn look_ahead_ages(&self, units: &[Lpn]) -> u64 {
        self.blocks_of(units).fold(0, |sink, block| sink ^ self.medium.first_program(block) as u64)
    }

    /// Returns the blocks of those of some units that are on flash.
    #[inline]
    pub(crate) fn blocks_of<'a>(&'a self, units: &'a [Lpn]) -> impl Iterator<Item = BlockId> + 'a {
        self.places.on_flash(units).map(|place| self.medium.geometry.block_of(place))
    }

    /// Prefetches the map entries and the policy's bits of the next valid units at or after `from`, before they are
    /// relocated. Returns the place at which the prefetch stopped, and a value that keeps the loads from being
    /// optimised away. Limited to as many units as are likely to be still in the cache when they are needed.
    pub(crate) fn look_ahead_moves(&mut self, bits: &UnitBits, from: Ppn, end: Ppn) -> (Ppn, u64) {
        let (mut units, mut count, mut at) = ([(Lpn(0), Ppn(0)); MOVES_AHEAD], 0, from);
        while count < MOVES_AHEAD {
            let Some(ppn) = self.medium.next_valid(at, end) else {
                at = end;
                break;
            };
            units[count] = (self.places.remember_unit(ppn), ppn);
            count += 1;
            at = Ppn(ppn.0 + 1);
        }
        // In a pass of its own: the cache misses of all units overlap.
        let units = &units[..count];
        let loaded =
            units.iter().fold(0, |sink, (lpn, _)| sink ^ u64::from(self.places.load_code(*lpn)) ^ bits.look_ahead(&[*lpn]));
        for (lpn, ppn) in units {
            self.places.remember_place(*lpn, *ppn);
        }
        (at, loaded)
    }
}

/// Marks the places of an origin's data as valid.
pub(crate) fn mark_valid(valid: &mut Table<u64>, origin: &Origin, block_count: u32) {
    for block in 0..block_count {
        origin.each_stretch(block, |first, bits| {
            let (word, shift) = (first.index() / 64, first.0 % 64);
            valid.set(word, valid.get(word) | bits << shift);
            // None if the stretch is aligned to the words.
            let beyond = bits.checked_shr(64 - shift).unwrap_or(0);
            if beyond != 0 {
                valid.set(word + 1, valid.get(word + 1) | beyond);
            }
        });
    }
}
