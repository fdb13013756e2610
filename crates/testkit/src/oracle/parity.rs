//! Parity across dies: what each program of it covers, and blocks that it binds to each other.

use super::{Check, Location, Oracle, Place, ensure};
use kit::{BlockId, Geometry, Ppn};
use std::collections::{BTreeMap, BTreeSet};

/// The parity of a drive.
#[derive(Clone, Default)]
pub(super) struct Parity {
    /// Programs that each program of parity covers, by first place.
    covered: BTreeMap<Ppn, BTreeSet<Ppn>>,
    /// Blocks of data whose programs a block of parity covers.
    sets: BTreeMap<BlockId, BTreeSet<BlockId>>,
    /// Block of parity that covers a block of data.
    parity_of: BTreeMap<BlockId, BlockId>,
    /// Programs of data that no program of parity on flash covers. The controller holds their parity, until it loses
    /// power.
    uncovered: BTreeSet<Ppn>,
    /// Programs that have no parity any more.
    bare: BTreeSet<Ppn>,
    /// Restorations of data, by number.
    restorations: BTreeMap<u32, Restoration>,
    /// First unit and number of units of the data that was restored last.
    last_restored: Option<(Ppn, u32)>,
}

/// Restoration of data that a read could not correct.
#[derive(Clone)]
struct Restoration {
    /// First unit and number of units of the data.
    first: Ppn,
    count: u32,
    /// Units that are to be read, if that is known.
    expected: Option<BTreeSet<Ppn>>,
    /// Units that are read.
    read: BTreeSet<Ppn>,
}

impl Parity {
    /// Returns true if a program of parity begins at a place.
    pub fn begins_at(&self, first: Ppn) -> bool {
        self.covered.contains_key(&first)
    }

    /// Notes a program that is done.
    pub fn programmed(&mut self, first: Ppn) {
        match self.covered.get(&first) {
            Some(covered) => self.uncovered.retain(|program| !covered.contains(program)),
            None => _ = self.uncovered.insert(first),
        }
    }

    /// Forgets what is not on flash after a loss of power, and the parity of the sets of the blocks that were given up.
    pub fn power_was_lost(&mut self, places: &[Place], given_up: &[BlockId], geometry: &Geometry) {
        self.restorations.clear();
        self.last_restored = None;
        self.bare.append(&mut self.uncovered);
        let lost: BTreeSet<BlockId> = given_up.iter().filter_map(|&block| self.parity_of(block)).collect();
        let known = std::mem::take(&mut self.parity_of);
        self.sets.clear();
        let Parity { bare, sets, parity_of, .. } = self;
        self.covered.retain(|parity, covered| {
            let block = geometry.block_of(*parity);
            if lost.contains(&block) {
                bare.extend(std::mem::take(covered));
            }
            let is_kept = places[parity.index()].programmed && !covered.is_empty();
            let blocks = covered.iter().map(|program| geometry.block_of(*program));
            for of in blocks.filter(|of| is_kept && known.get(of) == Some(&block)) {
                sets.entry(block).or_default().insert(of);
                parity_of.insert(of, block);
            }
            is_kept
        });
    }

    /// Returns true if a place is of the data that was restored last.
    pub fn has_restored(&self, ppn: Ppn) -> bool {
        self.last_restored.is_some_and(|(first, count)| (first.0..first.0 + count).contains(&ppn.0))
    }

    /// Returns the block of parity that covers a block, or the block itself if it is one.
    fn parity_of(&self, block: BlockId) -> Option<BlockId> {
        self.parity_of.get(&block).copied().or_else(|| self.sets.contains_key(&block).then_some(block))
    }

    /// Forgets an erased block.
    fn forget(&mut self, block: BlockId) {
        if let Some(parity) = self.parity_of.remove(&block)
            && let Some(set) = self.sets.get_mut(&parity)
        {
            set.remove(&block);
        }
        for of in self.sets.remove(&block).into_iter().flatten() {
            self.parity_of.remove(&of);
        }
    }
}

impl Oracle {
    /// Follows a program that a program of parity covers: it is done, in the same row of another die, and covered once.
    pub(super) fn protected(&mut self, parity: Ppn, data: Ppn) -> Check {
        let (geometry, places) = (&self.geometry, &self.places);
        let [(parity_block, parity_unit), (data_block, data_unit)] = [parity, data].map(|ppn| geometry.split(ppn));
        let units = geometry.units_per_program;
        ensure(parity_unit == data_unit && parity_unit.is_multiple_of(units), || "they are of different rows".to_owned())?;
        let is_done = (data.0..data.0 + units).all(|ppn| places[ppn as usize].programmed);
        ensure(is_done, || "it is not programmed yet".to_owned())?;
        let is_free =
            (parity.0..parity.0 + units).all(|ppn| !places[ppn as usize].programmed && places[ppn as usize].content.is_none());
        ensure(is_free, || "the place of the parity is in use".to_owned())?;
        let covered = self.parity.covered.entry(parity).or_default();
        let die = geometry.die_of(data_block);
        let dies = covered.iter().map(|&ppn| geometry.die_of(geometry.block_of(ppn))).chain([geometry.die_of(parity_block)]);
        ensure(dies.into_iter().all(|other| other != die), || format!("{die:?} is in the stripe already"))?;
        covered.insert(data);
        let known = *self.parity.parity_of.entry(data_block).or_insert(parity_block);
        ensure(known == parity_block, || format!("{data_block:?} is covered by {known:?}"))?;
        self.parity.sets.entry(parity_block).or_default().insert(data_block);
        Ok(())
    }

    /// Follows the beginning of a restoration. If the parity of the data is on flash, that and all else that it covers
    /// must be read; otherwise the rest is in the controller.
    pub(super) fn restoring(&mut self, restoration: u32, first: Ppn, count: u32) -> Check {
        let (block, unit) = self.geometry.split(first);
        let units = self.geometry.units_per_program;
        let is_one_row = self.geometry.row_of(unit) == self.geometry.row_of(unit + count - 1);
        ensure(is_one_row && self.places[first.index()].programmed, || format!("it is no read: {count} units"))?;
        let is_bare = self.parity.bare.contains(&Ppn(first.0 - unit % units));
        ensure(!is_bare, || format!("the parity of {first:?} was lost with the power"))?;
        let first_of = |block: BlockId| self.geometry.first_of(block).0;
        let written = self.parity.parity_of(block).map(|parity| Ppn(first_of(parity) + unit / units * units));
        let parity = written.filter(|&parity| self.places[parity.index()].programmed);
        let mut expected = None;
        if let Some(parity) = parity {
            let covered = self.parity.covered.get(&parity).cloned().unwrap_or_default();
            let own = Ppn(first.0 - unit % units);
            ensure(covered.contains(&own), || format!("{parity:?} does not cover {own:?}"))?;
            let others = covered.into_iter().filter(|&other| other != own).chain([parity]);
            expected = Some(others.map(|program| Ppn(program.0 + unit % units)).collect());
        }
        let new = Restoration { first, count, expected, read: BTreeSet::new() };
        ensure(self.parity.restorations.insert(restoration, new).is_none(), || "it has begun already".to_owned())
    }

    /// Follows a read for a restoration: of the same unit of another die, on which it is on flash.
    pub(super) fn restoring_read(&mut self, restoration: u32, first: Ppn) -> Check {
        let Some(one) = self.parity.restorations.get_mut(&restoration) else {
            return ensure(false, || "it has not begun".to_owned());
        };
        let geometry = &self.geometry;
        let [(lost_block, lost_unit), (block, unit)] = [one.first, first].map(|ppn| geometry.split(ppn));
        ensure(lost_unit == unit, || "they are of different rows".to_owned())?;
        ensure(self.places[first.index()].programmed, || "nothing is programmed there".to_owned())?;
        let die = |block: BlockId| geometry.die_of(block);
        let mut dies = one.read.iter().map(|&ppn| die(geometry.block_of(ppn))).chain([die(lost_block)]);
        ensure(dies.all(|other| other != die(block)), || "the die has a part in it already".to_owned())?;
        one.read.insert(first);
        Ok(())
    }

    /// Follows a restoration that has failed: something was read for it.
    pub(super) fn restoration_failed(&mut self, restoration: u32) -> Check {
        let one = self.parity.restorations.remove(&restoration);
        ensure(one.is_some_and(|one| !one.read.is_empty()), || "nothing was read for it".to_owned())
    }

    /// Follows the end of a restoration.
    pub(super) fn restored(&mut self, restoration: u32) -> Check {
        let Some(Restoration { first, count, read, expected }) = self.parity.restorations.remove(&restoration) else {
            return ensure(false, || "it has not begun".to_owned());
        };
        self.parity.last_restored = Some((first, count));
        ensure(expected.as_ref().is_none_or(|expected| *expected == read), || {
            format!("{read:?} were read, and {expected:?} restore the data")
        })
    }

    /// Checks, before a block is erased, that no block holds current data which parity covers together with it.
    pub(super) fn leaves_stripes(&mut self, block: BlockId) -> Check {
        let parity = self.parity.parity_of(block);
        for &other in parity.iter().flat_map(|parity| &self.parity.sets[parity]) {
            let first = self.geometry.first_of(other).0;
            let current = (first..first + self.geometry.units_per_block).map(Ppn).find(|&ppn| {
                self.places[ppn.index()].content.is_some_and(|content| {
                    let location = self.units[content.lpn.index()].location;
                    location == Location::At(ppn) || matches!(location, Location::Slot(slot) if self.prior_of(slot) == Some(ppn))
                })
            });
            ensure(current.is_none(), || format!("{current:?} of {other:?} is current, and {parity:?} covers both"))?;
        }
        let first = self.geometry.first_of(block).0;
        let stays = |ppn: &Ppn| !(first..first + self.geometry.units_per_block).contains(&ppn.0);
        self.parity.covered.retain(|ppn, _| stays(ppn));
        self.parity.uncovered.retain(stays);
        self.parity.bare.retain(stays);
        self.parity.forget(block);
        Ok(())
    }
}
