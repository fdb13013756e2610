//! Parity across dies: what each program of it covers, and blocks that it binds to each other.

use super::{Check, Location, Oracle, ensure};
use kit::{BlockId, Ppn};
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
}

impl Parity {
    /// Returns true if a program of parity begins at a place.
    pub fn begins_at(&self, first: Ppn) -> bool {
        self.covered.contains_key(&first)
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

    /// Checks, before a block is erased, that no block holds current data which parity covers together with it.
    pub(super) fn leaves_stripes(&mut self, block: BlockId) -> Check {
        let Some(parity) = self.parity.parity_of(block) else { return Ok(()) };
        for &other in &self.parity.sets[&parity] {
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
        self.parity.covered.retain(|ppn, _| !(first..first + self.geometry.units_per_block).contains(&ppn.0));
        self.parity.forget(block);
        Ok(())
    }
}
