//! Checks of a loaded state before it is used: all that it claims is compared with its other claims.
//!
//! The checksum shows that a file was damaged by chance. It does not show that a file was changed on purpose, or that
//! another program wrote it: used as it is, such a state would stop the engine at some later command. The first
//! contradiction is the error.

use super::{Image, Loaded, PolicyImage};
use crate::layer::page_map::ftl::Ftl;
use crate::map::{Store, encode, mark_valid};
use crate::medium::BlockState;
use crate::medium::rain::Rain;
use crate::queue::Waiting;
use kit::archive::{Archived, require};
use kit::{BlockId, DieId, IdleDelay, Lpn, ModeId, Ppn, Signals, SimTime, Table, Timer};

impl Loaded {
    /// Returns the slot, the unit and the number in the write buffer of each unit that waits.
    pub fn waiting(&self) -> impl Iterator<Item = (u32, Lpn, u64)> + '_ {
        self.image.writes.units().map(|unit| (unit.slot, unit.lpn, unit.number))
    }

    /// Returns the number of units that wait, and of requests that end with one of them.
    pub fn queued(&self) -> (u64, u64) {
        let requests = self.image.writes.units().filter(|unit| unit.last).count();
        (self.image.writes.units().count() as u64, requests as u64)
    }

    /// Returns the number of the last unit of the write buffer that is to be programmed in any case.
    pub fn flush_until(&self) -> u64 {
        self.image.flush_until
    }
}

impl Ftl {
    /// Checks the data of a saved drive whose clock stands at `now`, whichever drive takes it over: its tables, its
    /// closed and open blocks, its collections, and what waits. Enters the places on flash in the map.
    pub(super) fn check_data(&mut self, image: &Image, policy: &PolicyImage, now: SimTime) -> Archived {
        let modes = self.derived.parameters.facts.write_modes.len();
        let facts = &self.derived.parameters.facts;
        self.state.store.medium.check_records(now, (facts.write_modes.len(), facts.erase_modes.len()))?;
        self.rebuild_map()?;
        self.state.store.medium.check_closed(&image.closed)?;
        image.space.check_frontiers(&self.state.store.medium)?;
        self.check_sets(image)?;
        self.check_collectors(image)?;
        self.check_repairs(image)?;
        if let Some(integrity) = &image.integrity {
            integrity.check(&self.state.store.medium, modes)?;
        }
        let strange = image.writes.units().find(|unit| u64::from(unit.lpn.0) >= self.state.store.user_units);
        require(strange.is_none(), || {
            let lpn = strange.map(|unit: &Waiting| unit.lpn.0);
            format!("unit {lpn:?} waits in its write buffer, and the drive does not have it")
        })?;
        let used = self.state.store.user_units * u64::from(policy.bits_per_unit);
        let last =
            policy.bits.get((used / 64) as usize).filter(|_| !used.is_multiple_of(64)).map_or(0, |last| last >> (used % 64));
        require(last == 0, || "its policy's state has bits beyond the last unit".to_owned())
    }

    /// Checks the sets of blocks with parity.
    fn check_sets(&self, image: &Image) -> Archived {
        let same = self.state.rain.is_some() == image.rain.is_some();
        require(same, || "parity across dies is in only one of the saved drive and this one".to_owned())?;
        match (&image.rain, &self.state.rain) {
            (Some(rain), Some(own)) => rain.check(own, &self.state.store.medium),
            _ => {
                let sealed = self.state.store.medium.blocks.as_slice().iter().position(|record| record.is(BlockState::Sealed));
                require(sealed.is_none(), || format!("block {} is sealed, and in no set", sealed.unwrap_or(0)))
            }
        }
    }

    /// Checks the blocks that have failed, and the lost dies.
    fn check_repairs(&self, image: &Image) -> Archived {
        let medium = &self.state.store.medium;
        let is_bad = |block: &u32| {
            *block < medium.geometry.block_count
                && matches!(medium.block(BlockId(*block)).state(), BlockState::Closed | BlockState::Sealed | BlockState::Victim)
        };
        let strange = image.bad.iter().find(|block| !is_bad(block));
        require(strange.is_none(), || {
            format!("block {} has failed, and is not one that is still to be emptied", strange.unwrap_or(&0))
        })?;
        let (lost, health) = &image.repairs;
        require(lost.len() == medium.geometry.die_count as usize, || "its lost dies are not those of this drive".to_owned())?;
        health.check()
    }

    /// Enters each valid place in the map. The places of a block must be as many as its record says, and within what
    /// has been programmed; each must hold a unit of the drive, and no unit may be at two places.
    fn rebuild_map(&mut self) -> Archived {
        let geometry = self.state.store.medium.geometry;
        let origin = self.state.store.places.origin().cloned();
        let original = Table::zeroed(self.state.store.medium.valid.as_slice().len());
        let mut original = original.map_err(|error| format!("its tables do not fit into memory ({error})"))?;
        if let Some(origin) = &origin {
            mark_valid(&mut original, origin, geometry.block_count);
        }
        let (mut all_valid, mut all_computed) = (0, 0);
        for block in (0..geometry.block_count).map(BlockId) {
            let record = self.state.store.medium.block(block);
            let first = geometry.first_of(block);
            let Entered { valid, computed, used } =
                self.state.store.enter(first.0, first.0 + geometry.units_per_block, original.as_slice())?;
            require(valid == u32::from(record.valid), || {
                format!("block {} counts {} valid units, and {valid} of its places are valid", block.0, record.valid)
            })?;
            let programmed = u32::from(record.programmed) * geometry.units_per_program;
            require(used <= programmed, || {
                format!("unit {} of block {} is valid, and {programmed} units are programmed", used - 1, block.0)
            })?;
            all_valid += u64::from(valid);
            all_computed += u64::from(computed);
        }
        let past = geometry.unit_count() % 64;
        let last = self.state.store.medium.valid.as_slice().last().filter(|_| past > 0).map_or(0, |last| last >> past);
        require(last == 0, || "places beyond the last one are valid".to_owned())?;
        if let Some(origin) = origin {
            (0..geometry.block_count)
                .for_each(|block| origin.each_stretch(block, |first, bits| self.state.store.leave(first, bits)));
        }
        self.check_once(all_valid, all_computed)
    }

    /// Checks that no unit is at two of the `all_valid` places. The map was empty, and all but `all_computed` of them
    /// were entered: as many units have an entry. No unit that had a computed place and is not there any more is
    /// without an entry: the others are as many as the places that still are computed. Looking at each entry before it
    /// is made would wait for memory: loading took 2.8 times as long.
    fn check_once(&self, all_valid: u64, all_computed: u64) -> Archived {
        let store = &self.state.store;
        let (entered, computed) = store.places.counted();
        if (entered, computed) == (all_valid - all_computed, all_computed) {
            return Ok(());
        }
        let places = (0..store.medium.geometry.unit_count() as u32).map(Ppn).filter(|&ppn| store.medium.is_valid(ppn));
        let twice = places.map(|ppn| (ppn, store.lpn_at(ppn))).find(|(ppn, lpn)| store.code_of(*lpn) != encode(*ppn));
        let Some((ppn, lpn)) = twice else {
            return Err(format!("{} units are at {all_valid} places", entered + computed));
        };
        Err(format!("unit {} is at place {} and at place {}", lpn.0, ppn.0, store.code_of(lpn) - 1))
    }

    fn check_collectors(&self, image: &Image) -> Archived {
        let collectors = &image.collectors;
        let dies = self.state.collectors.len();
        require(collectors.len() == dies, || "its dies are not those of this drive".to_owned())?;
        let is_moved = |ppn: Ppn| image.moves.has_read(ppn);
        let mut of_dies = (0..).map(DieId).zip(&image.collectors);
        of_dies.try_for_each(|(die, collector)| collector.check(die, &self.state.store, &is_moved))?;
        let victims = self.state.store.medium.blocks.as_slice().iter().filter(|record| record.is(BlockState::Victim)).count();
        let waiting = |rain: &Rain| (0..dies as u32).map(|die| rain.waiting_for_erase(DieId(die))).sum();
        let collected =
            collectors.iter().filter(|collector| collector.victim.is_some()).count() + image.rain.as_deref().map_or(0, waiting);
        require(victims == collected, || format!("{victims} blocks are being emptied, and {collected} dies do so"))
    }

    /// Checks what only a drive of the same description and policy has.
    pub(super) fn check_own(&self, image: &Image, now: SimTime) -> Archived {
        let (store, facts) = (&self.state.store, &self.derived.parameters.facts);
        let modes = facts.write_modes.len();
        for (block, record) in store.medium.blocks.as_slice().iter().enumerate() {
            let programmed = u32::from(record.programmed) * store.medium.geometry.units_per_program;
            let most = store.medium.units_in(ModeId(record.mode()));
            require(programmed <= most, || format!("block {block} has {programmed} programmed units, and its mode {most}"))?;
        }
        image.space.check_own(&self.state.space, &store.medium)?;
        image.retention.check(&self.state.retention, &store.medium)?;
        let (splits, streams) = (self.derived.needs.splits_relocations(), self.derived.needs.relocation_streams);
        image.collectors.iter().try_for_each(|collector| collector.check_answers(splits, modes, streams))?;
        self.check_pins(&image.moves.check(store, modes)?)?;
        let (lists, groups) = (self.state.writes.queue.list_count(), store.medium.geometry.groups_per_die);
        store.check_waiting(&image.writes, (lists, groups), now)?;
        let parts = [
            (self.state.store.medium.integrity.is_some(), image.integrity.is_some(), "count of reads"),
            (self.state.cache.is_some(), image.cache.is_some(), "read cache"),
            (self.state.map_cache.is_some(), image.map_cache.is_some(), "mapping cache"),
        ];
        for (own, saved, what) in parts {
            require(own == saved, || format!("a {what} is in only one of the saved drive and this one"))?;
        }
        if let (Some(cache), Some(image)) = (&self.state.cache, &image.cache) {
            // The map names the copies on flash only: what waits has not been entered yet.
            cache.check(image, store.user_units, |lpn| store.place_of(lpn).is_some())?;
        }
        image.counters.check()?;
        self.check_dies(image, now)
    }

    /// Checks that each block has a pin for each page that is to be moved from it, and no other.
    fn check_pins(&self, pinned: &[Ppn]) -> Archived {
        let mut pins = vec![0; self.state.store.medium.geometry.block_count as usize];
        pinned.iter().for_each(|&place| pins[self.state.store.medium.geometry.block_of(place).index()] += 1);
        let differs = |(_, (record, pins)): &(usize, (&crate::medium::BlockRecord, &u32))| record.pins() != **pins;
        match self.state.store.medium.blocks.as_slice().iter().zip(&pins).enumerate().find(differs) {
            None => Ok(()),
            Some((block, (record, moves))) => {
                Err(format!("block {block} has {} pins, and {moves} pages are to be moved from it", record.pins()))
            }
        }
    }

    /// Checks the states of the dies, and the instants and numbers of the drive as a whole.
    fn check_dies(&self, image: &Image, now: SimTime) -> Archived {
        let dies = self.state.collectors.len();
        let lengths = [image.idle_since.len(), image.map_had_turn.len(), image.idle_armed[0].len(), image.idle_armed[1].len()];
        require(lengths == [dies; 4], || "its dies are not those of this drive".to_owned())?;
        let late = image.idle_since.iter().find(|since| **since > now);
        require(late.is_none(), || format!("a die is idle since {late:?}, and the clock stands at {now:?}"))?;
        require((image.arrivals as usize) < self.state.writes.turn_count(), || {
            format!(
                "the last write went to place {} of {} in the allocation order",
                image.arrivals,
                self.state.writes.turn_count()
            )
        })?;
        require(image.policy_armed.is_none_or(|at| at < SimTime::FOREVER), || "its policy waits for ever".to_owned())?;
        require(image.worn_out.is_none_or(|die| die.index() < dies), || "a die is worn out that it does not have".to_owned())
    }

    /// Checks a restored state together with the gauges of the drive, and with its pending timers.
    pub fn check_restored(&mut self, timers: &[(SimTime, Timer)], now: SimTime, signals: &Signals) -> Archived {
        let dies_with_space = self.state.space.dies_with_space();
        require((dies_with_space == 0) == signals.no_space, || {
            format!("{dies_with_space} dies have space, and the drive claims the opposite")
        })?;
        require((self.state.moves.urgent > 0) == signals.hold, || {
            format!("{} urgent moves are under way, and the drive claims the opposite", self.state.moves.urgent)
        })?;
        self.check_timers(timers, now)?;
        self.call_policy(now, signals, |policy, view| policy.check(true, view))
    }

    fn check_timers(&self, timers: &[(SimTime, Timer)], now: SimTime) -> Archived {
        self.state.retention.check_timers(timers.iter().filter(|(_, timer)| *timer == Timer::Retention).map(|(at, _)| *at))?;
        let mut idle = [vec![0u32; self.state.collectors.len()], vec![0; self.state.collectors.len()]];
        for &(_, timer) in timers {
            match timer {
                Timer::Idle { die, delay } => {
                    let count = idle[delay as usize].get_mut(die.index());
                    *count.ok_or_else(|| format!("a timer of die {} is pending, which the drive does not have", die.0))? += 1;
                }
                Timer::Move(slot) => require(self.state.moves.has_slot(slot), || {
                    format!("a timer of the page move in slot {slot} is pending, and there is no such slot")
                })?,
                Timer::Replay(_) => return Err("a timer of a replay is pending, and the drive replays nothing".to_owned()),
                Timer::Core => return Err("the access of a core is pending, and no firmware is executed".to_owned()),
                Timer::Rebuild(group) => {
                    let groups = self.state.rain.as_ref().map_or(0, |rain| rain.groups());
                    require(group < groups, || {
                        format!("a timer of group {group} of dies is pending, which the drive does not have")
                    })?;
                }
                Timer::DieFails(_) => return Err("the loss of a die is pending, which belongs to a run".to_owned()),
                Timer::Hang => return Err("a hang of the controller is pending, which belongs to a run".to_owned()),
                Timer::Retention | Timer::Policy | Timer::Flush | Timer::PowerState => {}
            }
        }
        for delay in IdleDelay::ALL {
            let armed = self.state.idle_armed[delay as usize].iter().map(|armed| u32::from(*armed));
            require(armed.eq(idle[delay as usize].iter().copied()), || {
                format!("the idle timers ({delay:?}) that are armed are not those that are pending")
            })?;
        }
        for (slot, deadline) in self.state.moves.deadlines() {
            let at = deadline.max(now);
            require(timers.contains(&(deadline, Timer::Move(slot))) || timers.contains(&(at, Timer::Move(slot))), || {
                format!("the page move in slot {slot} is due at {} ns, and no timer is pending for it", deadline.0)
            })?;
        }
        let armed = self.state.policy_armed.filter(|at| *at > now);
        require(armed.is_none_or(|at| timers.contains(&(at, Timer::Policy))), || {
            format!("its policy is to be called at {armed:?}, and no timer is pending for it")
        })
    }
}

/// The valid places of a block: their number, how many of them are computed, and the number of places up to the last.
struct Entered {
    valid: u32,
    computed: u32,
    used: u32,
}

impl Store {
    /// Enters the valid places from `first` up to `end` in the map, but for those that are computed: they must be in
    /// `original`. An error if one holds a unit that the drive does not have.
    fn enter(&mut self, first: u32, end: u32, original: &[u64]) -> Result<Entered, String> {
        let valid = self.medium.valid.as_slice();
        let (mut count, mut computed, mut used, mut at) = (0, 0, 0, first);
        while at < end {
            let next = end.min((at / 64 + 1) * 64);
            let mut bits = valid[at as usize / 64] >> (at % 64) & (u64::MAX >> (64 - (next - at)));
            count += bits.count_ones();
            if bits != 0 {
                used = at - first + 64 - bits.leading_zeros();
            }
            while bits != 0 {
                let place = at + bits.trailing_zeros();
                match self.places.enter(place) {
                    Ok(true) => {}
                    Ok(false) if original[place as usize / 64] >> (place % 64) & 1 == 1 => computed += 1,
                    Ok(false) => return Err(unknown(place, u32::MAX)),
                    Err(lpn) => return Err(unknown(place, lpn)),
                }
                bits &= bits - 1;
            }
            at = next;
        }
        Ok(Entered { valid: count, computed, used })
    }

    /// Marks the units that the origin has at some places, and that are there no more, as not mapped, if they have no
    /// entry. Bit 0 is `first`.
    fn leave(&mut self, first: Ppn, mut bits: u64) {
        while bits != 0 {
            let place = Ppn(first.0 + bits.trailing_zeros());
            if !self.medium.is_valid(place) || self.places.load_unit(place) != 0 {
                self.places.leave(place);
            }
            bits &= bits - 1;
        }
    }
}

/// Returns the complaint about a place with a unit that does not exist.
// By value and out of line: formatted in the loop, both numbers would be stored for every place, and the stores to the
// map, which take the time, would wait for them.
#[cold]
#[inline(never)]
fn unknown(place: u32, lpn: u32) -> String {
    format!("place {place} holds unit {lpn}, which the drive does not have")
}

#[cfg(test)]
mod tests;
