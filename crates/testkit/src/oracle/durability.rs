//! Durability: which data may be read after a loss of power.
//!
//! A write is *promised* once it has completed with FUA, or without a volatile write buffer in the drive, or once a
//! flush that was submitted after its completion has completed. After a loss of power a unit holds the promised write
//! or a later one: never an earlier one, and never a part of one. A trim is promised when it takes effect, if the drive
//! records it in non-volatile memory; with a journal of the map, once a flush that was submitted after its completion
//! has completed. Until then the unit may hold the data from before the trim, or nothing.
//!
//! If a part of the journal is on a lost die, and the map has not been written anew, a recorded trim may be undone: the
//! unit holds the newest data on flash again, and the drive counts it as lost.
//!
//! The rule is stricter than that of NVMe: a write that is on flash counts as kept although it was not promised.

use super::{Check, Content, Data, Location, Oracle, Progress, Unit, ensure};
use drive::{Drive, PowerLoss};
use kit::{Lpn, Ppn};
use std::collections::{BTreeMap, BTreeSet};

/// Promise for a unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promise {
    /// Number of the binding of the earliest write that the unit may hold.
    floor: u64,
    /// True if it need not hold any.
    may_be_empty: bool,
    /// Number of its last trim: those of later bindings are not below it.
    trim: u64,
}

impl Promise {
    /// Takes account of what a recovery has found: data whose binding has a number, or nothing. A trim that has been
    /// found is durable, as is one before newer data; one after the data is undone.
    fn recovered(&mut self, found: Option<u64>) {
        match found {
            None if self.trim > self.floor => self.floor = self.trim,
            Some(found) if found < self.trim => (self.trim, self.floor) = (0, self.floor.min(found)),
            _ => {}
        }
    }
}

/// Promises for all units.
#[derive(Clone, Debug, Default)]
pub(super) struct Promises {
    units: Vec<Promise>,
    /// Completed writes that are not promised, with the step of their completion.
    acknowledged: Vec<(u64, u32)>,
    /// Trims that are not promised, with the step at which they took effect, and their numbers.
    trims: Vec<(u64, Lpn, u64)>,
}

impl Promises {
    /// Notes a write that completed at a step, and is not promised yet.
    pub fn acknowledge(&mut self, step: u64, version: u32) {
        self.acknowledged.push((step, version));
    }

    /// Promises that no write is read from a unit whose binding has a number below `trim`.
    pub fn trim(&mut self, lpn: Lpn, trim: u64) {
        let promise = &mut self.units[lpn.index()];
        if trim > promise.floor {
            *promise = Promise { floor: trim, may_be_empty: true, trim: promise.trim.max(trim) };
        }
    }

    /// Notes a trim that takes effect at a step, and is not promised yet.
    pub fn trim_later(&mut self, step: u64, lpn: Lpn, trim: u64) {
        let promise = &mut self.units[lpn.index()];
        (promise.may_be_empty, promise.trim) = (true, trim);
        self.trims.push((step, lpn, trim));
    }
}

impl Oracle {
    /// Promises what all units hold at the start.
    pub(super) fn promise_all(&mut self) {
        self.promises.units = vec![Promise { floor: 0, may_be_empty: true, trim: 0 }; self.units.len()];
        self.last_bound += 1;
        self.versions.iter_mut().for_each(|version| version.bound = self.last_bound);
        for lpn in 0..self.units.len() {
            if let Location::At(ppn) = self.units[lpn].location
                && let Some(content) = self.places[ppn.index()].content
            {
                self.promise(content.version);
            }
        }
    }

    /// Promises a write, or the one that took its place before it was bound.
    pub(super) fn promise(&mut self, version: u32) {
        let mut version = self.versions[version as usize];
        while let (0, Some(successor)) = (version.bound, version.successor) {
            version = self.versions[successor as usize];
        }
        if let (0, Some(trim)) = (version.bound, version.trimmed) {
            return self.promises.trim(version.lpn, trim);
        }
        let promise = &mut self.promises.units[version.lpn.index()];
        if version.bound > 0 && version.bound >= promise.floor {
            *promise = Promise { floor: version.bound, may_be_empty: promise.trim > version.bound, trim: promise.trim };
        }
    }

    /// Promises the writes that completed before a flush that was submitted at a step.
    pub(super) fn flush_promised(&mut self, step: u64) {
        let (covered, others) = std::mem::take(&mut self.promises.acknowledged).into_iter().partition(|(at, _)| *at < step);
        self.promises.acknowledged = others;
        let covered: Vec<(u64, u32)> = covered;
        covered.into_iter().for_each(|(_, version)| self.promise(version));
        for (at, lpn, trim) in std::mem::take(&mut self.promises.trims) {
            if at < step {
                self.promises.trim(lpn, trim);
            } else {
                self.promises.trims.push((at, lpn, trim));
            }
        }
    }

    /// Promises all writes that have completed: the write buffer was programmed when power was lost.
    pub fn promise_acknowledged(&mut self) {
        self.flush_promised(u64::MAX);
    }

    /// Returns the least number that a version of a unit must have to be kept after its last trim.
    pub(super) fn trimmed_at(&self, lpn: Lpn) -> u64 {
        self.promises.units[lpn.index()].trim.max(1)
    }

    /// Lets a unit hold any data that was not trimmed, or none.
    pub(super) fn break_promise(&mut self, lpn: Lpn) {
        let promise = &mut self.promises.units[lpn.index()];
        *promise = Promise { floor: promise.trim, may_be_empty: true, trim: promise.trim };
    }

    /// Returns, for each unit, the newest of its versions that is on flash, without places that are `destroyed`. Of
    /// those in `broken`, it may be older than was promised.
    fn newest_on_flash(&self, destroyed: &BTreeSet<Ppn>, broken: &BTreeSet<Lpn>) -> Vec<Option<u32>> {
        let mut newest: Vec<Option<u32>> = vec![None; self.units.len()];
        let bound = |version: u32| self.versions[version as usize].bound;
        let places = (0..).map(Ppn).zip(&self.places);
        for (_, place) in places.filter(|(ppn, place)| place.programmed && !destroyed.contains(ppn)) {
            let Some(Content { lpn, version, .. }) = place.content else { continue };
            let promise = &self.promises.units[lpn.index()];
            let floor = if broken.contains(&lpn) { promise.trim } else { promise.floor }.max(1);
            let known = &mut newest[lpn.index()];
            if bound(version) >= floor && known.is_none_or(|known| bound(version) > bound(known)) {
                *known = Some(version);
            }
        }
        newest
    }

    /// Returns the number of the newest version of each unit that is on flash, whether it was trimmed or not.
    fn newest_of_all(&self) -> Vec<u64> {
        let mut newest = vec![0; self.units.len()];
        for Content { lpn, version, .. } in self.places.iter().filter(|place| place.programmed).filter_map(|place| place.content)
        {
            newest[lpn.index()] = self.versions[version as usize].bound.max(newest[lpn.index()]);
        }
        newest
    }

    /// Returns the units that hold data of a recovered drive although they were trimmed, with its number.
    fn undone<'a>(&'a self, drive: &'a Drive) -> impl Iterator<Item = (Lpn, u64)> + 'a {
        let bound =
            |ppn: Ppn| self.places[ppn.index()].content.map_or(0, |content| self.versions[content.version as usize].bound);
        let units = (0..).map(Lpn).zip(&self.promises.units);
        let found = units.filter_map(move |(lpn, promise)| Some((lpn, promise, bound(drive.map().place_of(lpn)?))));
        found.filter(|(_, promise, bound)| *bound < promise.trim).map(|(lpn, _, bound)| (lpn, bound))
    }

    /// Checks the number of units that a drive counts as lost in a loss of power.
    pub fn check_lost(&self, drive: &Drive, loss: &PowerLoss) -> Check {
        let may_lose = self.lost_to_pairs(drive);
        if !loss.lacks_journal {
            return ensure(loss.durable_lost == may_lose, || format!("durable data is lost, {may_lose} units may be: {loss:?}"));
        }
        let undone: Vec<(Lpn, u64)> = self.undone(drive).collect();
        let is_promised = |(lpn, bound): &&(Lpn, u64)| *bound < self.promises.units[lpn.index()].floor;
        let (least, most) = (undone.iter().filter(is_promised).count() as u64, undone.len() as u64);
        ensure((least..=most).contains(&loss.durable_lost), || {
            format!("{least} to {most} trims are undone, and the drive counts other units as lost: {loss:?}")
        })
    }

    /// Checks the data of a drive that lost power in the state that the oracle has followed it to, and has recovered.
    pub fn check_recovered(&self, drive: &Drive, loss: &PowerLoss) -> Check {
        ensure(self.rules.data == Data::Mapped, || "only a map can be rebuilt".to_owned())?;
        let destroyed = self.destroyed(drive);
        let broken = self.may_lose(&destroyed);
        let newest = self.newest_on_flash(&destroyed, &broken);
        let undone: BTreeMap<Lpn, u64> = if loss.lacks_journal { self.undone(drive).collect() } else { BTreeMap::new() };
        let all = if undone.is_empty() { Vec::new() } else { self.newest_of_all() };
        for (lpn, promise) in (0..).map(Lpn).zip(&self.promises.units) {
            let is_broken = broken.contains(&lpn);
            let newest = newest[lpn.index()];
            let Some(ppn) = drive.map().place_of(lpn) else {
                ensure(promise.may_be_empty || is_broken, || format!("{lpn:?} holds nothing: {promise:?} is lost"))?;
                let is_trimmed = newest.is_none_or(|version| self.versions[version as usize].bound < promise.trim);
                ensure(is_trimmed, || format!("{lpn:?} holds nothing, and version {newest:?} is on flash"))?;
                continue;
            };
            let place = self.places[ppn.index()];
            let is_intact = place.programmed && !destroyed.contains(&ppn);
            ensure(is_intact, || format!("{lpn:?} at {ppn:?} is torn: {place:?}"))?;
            let Some(Content { lpn: held, version, .. }) = place.content else {
                return ensure(false, || format!("{lpn:?} is said to be at {ppn:?}, which holds nothing"));
            };
            ensure(held == lpn, || format!("{lpn:?} is said to be at {ppn:?}, which holds {held:?}"))?;
            let bound = self.versions[version as usize].bound;
            if undone.contains_key(&lpn) {
                let newest = all[lpn.index()];
                ensure(newest == bound, || {
                    format!("{lpn:?} holds version {version} again, and one bound as {newest} is on flash")
                })?;
                continue;
            }
            ensure(bound >= promise.floor || is_broken, || {
                format!("{lpn:?} at {ppn:?} holds version {version}, bound as {bound}, older than {promise:?}: {loss:?}")
            })?;
            ensure(Some(version) == newest, || format!("{lpn:?} holds version {version}, and {newest:?} is on flash"))?;
        }
        for (id, block) in (0..).map(kit::BlockId).zip(&self.blocks).filter(|(_, block)| block.next_program > 0) {
            let record = drive.medium().block(id);
            ensure(record.state() != ftl::BlockState::Free, || format!("{id:?} is taken as erased, and is {block:?}"))?;
        }
        let found = drive.map().audit(false);
        ensure(found.is_empty(), || found.join("; "))
    }

    /// Follows a drive over a loss of power, once it has recovered: `drive` is what has become of it.
    pub fn power_was_lost(&mut self, drive: &Drive, loss: &PowerLoss) -> Check {
        self.check_recovered(drive, loss)?;
        self.forget_promises(drive);
        self.step += 1;
        self.commands.clear();
        self.by_tag.clear();
        self.slots.clear();
        self.copies.clear();
        self.promises.trims.clear();
        self.journal_programs.clear();
        self.volatile.clear();
        self.promises.acknowledged.clear();
        for place in &mut self.places {
            (place.successors_pending, place.reads) = (0, 0);
            if !place.programmed {
                place.content = None;
            }
        }
        for &block in &loss.half_erased {
            let first = self.geometry.first_of(block).index();
            let places = &mut self.places[first..][..self.geometry.units_per_block as usize];
            places.iter_mut().for_each(|place| place.content = None);
        }
        self.parity.power_was_lost(&self.places, &loss.given_up, &self.geometry);
        for (id, block) in (0..).map(kit::BlockId).zip(&mut self.blocks) {
            let record = drive.medium().block(id);
            let programmed = u32::from(record.programmed) * self.geometry.units_per_program;
            // Those of interrupted programs hold nothing.
            let first = self.geometry.first_of(id).index();
            let torn = block.next_program as usize..programmed as usize;
            self.places[first..][torn].iter_mut().for_each(|place| place.programmed = true);
            (block.next_program, block.next_bind) = (programmed, programmed);
            block.sealed = programmed > 0 && record.state() != ftl::BlockState::Area;
        }
        for version in self.versions.iter_mut().filter(|version| version.progress != Progress::Durable) {
            version.progress = Progress::Replaced;
        }
        for lpn in (0..self.units.len() as u32).map(Lpn) {
            let place = drive.map().place_of(lpn);
            let location = place.map_or(Location::Nowhere, Location::At);
            let emptied = place.is_none().then_some(self.step);
            self.units[lpn.index()] = Unit { location, floor: 0, emptied, trims_in_flight: 0 };
            let content = place.and_then(|ppn| self.places[ppn.index()].content);
            let found = content.map_or(0, |content| self.versions[content.version as usize].bound);
            self.promises.units[lpn.index()].recovered(place.map(|_| found));
            if let Some(content) = content {
                let version = &mut self.versions[content.version as usize];
                version.completed = version.completed.or(Some(self.step));
                self.promise(content.version);
            }
        }
        for page in 0..self.stale_pages.len() {
            let bound = |lpn: u32| match self.units[lpn as usize].location {
                Location::At(ppn) => {
                    self.places[ppn.index()].content.map_or(0, |content| self.versions[content.version as usize].bound)
                }
                Location::Nowhere | Location::Slot(_) => 0,
            };
            let (first, written) = (page as u32 * self.page_entries, bound(self.user_units + page as u32));
            let units = first..(first + self.page_entries).min(self.user_units);
            // All that was there at the start has number 1, and so have the pages that were.
            self.stale_pages[page] = units.map(bound).any(|number| number > written.max(1));
        }
        self.count_anew(drive, 0)?;
        self.audit(drive, false)
    }
}
