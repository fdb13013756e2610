//! The data's side: binding, buffering, relocation, programming, erasing and trimming.

use super::{Check, Content, Data, Location, Loss, Oracle, Place, Progress, Slot, Version, ensure};
use kit::{BlockId, CommandId, Lpn, Ppn, Reason};

impl Oracle {
    pub(super) fn write_accepted(&mut self, command: CommandId, lpn: Lpn) -> Check {
        let version = u32::try_from(self.versions.len()).expect("fewer than 2^32 writes in a test");
        self.versions.push(Version::new(lpn, Progress::Waiting, None));
        self.counts.accepted += 1;
        self.enter_version(command, lpn, version)
    }

    pub(super) fn bound(&mut self, lpn: Lpn, ppn: Ppn, command: CommandId) -> Check {
        let version = self.accepted_version(command, lpn)?;
        let progress = self.versions[version as usize].progress;
        ensure(progress == Progress::Waiting && !self.is_buffered, || format!("its data is {progress:?}"))?;
        let old = match self.units[lpn.index()].location {
            Location::At(old) => Some(old).filter(|_| self.rules.data == Data::Mapped),
            Location::Nowhere => None,
            Location::Slot(slot) => {
                return ensure(false, || format!("the unit is in buffer slot {slot} of a drive without buffer"));
            }
        };
        let loss = self.versions[version as usize].loss;
        self.occupy(ppn, lpn, version, old, loss)?;
        self.counts.bound += 1;
        self.locate(lpn, Location::At(ppn));
        self.entry_changed(lpn);
        Ok(())
    }

    /// Enters the location of a unit, if the layer tells it.
    fn locate(&mut self, lpn: Lpn, location: Location) {
        if self.rules.tells_places() {
            self.units[lpn.index()].location = location;
        }
    }

    pub(super) fn buffered(&mut self, command: CommandId, lpn: Lpn, slot: u32) -> Check {
        let version = self.accepted_version(command, lpn)?;
        let is_whole = self.writes_whole(command, lpn)?;
        ensure(self.is_buffered, || "there is no buffer".to_owned())?;
        self.versions[version as usize].progress = Progress::InSlot;
        if self.slots.len() <= slot as usize {
            self.slots.resize(slot as usize + 1, None);
        }
        let held = &mut self.slots[slot as usize];
        if self.units[lpn.index()].location == Location::Slot(slot) || !self.rules.tells_places() && held.is_some() {
            let held = held.as_mut().expect("the oracle's own map and slots agree");
            ensure(held.lpn == lpn, || format!("the slot holds {held:?}"))?;
            let old = std::mem::replace(&mut held.version, version);
            self.versions[old as usize].successor = Some(version);
            if is_whole {
                (held.loss, held.replaced_whole) = (Loss::Intact, true);
            }
            self.replaced(old);
            self.counts.absorbed += 1;
            return Ok(());
        }
        ensure(held.is_none(), || format!("the slot holds {held:?}"))?;
        let mut loss = Loss::Intact;
        let prior = match self.units[lpn.index()].location {
            Location::At(ppn) => Some(ppn),
            Location::Nowhere => None,
            Location::Slot(other) => {
                ensure(self.appends, || format!("the unit is already in slot {other}"))?;
                let older = self.slots[other as usize].as_mut().expect("the oracle's own map and slots agree");
                older.is_obsolete = true;
                self.versions[older.version as usize].successor = Some(version);
                if !is_whole {
                    loss = older.loss;
                }
                older.prior.take()
            }
        };
        self.slots[slot as usize] = Some(Slot { lpn, version, prior, loss, replaced_whole: false, is_obsolete: false });
        self.locate(lpn, Location::Slot(slot));
        Ok(())
    }

    pub(super) fn bound_from_buffer(&mut self, slot: u32, lpn: Lpn, ppn: Ppn) -> Check {
        let held = self.slots.get_mut(slot as usize).and_then(Option::take);
        let is_newest = self.units[lpn.index()].location == Location::Slot(slot) || !self.rules.tells_places();
        let held = held.filter(|held| held.lpn == lpn && is_newest);
        let Some(held) = held else { return ensure(false, || "the slot does not hold the unit".to_owned()) };
        let prior = held.prior.filter(|_| self.rules.data == Data::Mapped);
        self.is_later(held.version, prior)?;
        self.occupy(ppn, lpn, held.version, prior, held.loss)?;
        self.counts.bound += 1;
        self.locate(lpn, Location::At(ppn));
        self.entry_changed(lpn);
        Ok(())
    }

    pub(super) fn obsolete_bound(&mut self, slot: u32, lpn: Lpn, ppn: Ppn, is_current: bool) -> Check {
        let held = self.slots.get_mut(slot as usize).and_then(Option::take);
        let held = held.filter(|held| held.lpn == lpn && held.is_obsolete && held.prior.is_none());
        let Some(held) = held else { return ensure(false, || "the slot holds no older data of the unit".to_owned()) };
        self.counts.bound += 1;
        if !is_current {
            // Nothing can be read there, not even after a loss of power, so that nothing is lost.
            self.occupy(ppn, lpn, held.version, None, Loss::Intact)?;
            self.versions[held.version as usize].bound = 0;
            return Ok(());
        }
        let Location::Slot(newer) = self.units[lpn.index()].location else {
            return ensure(false, || "a newer copy is on flash".to_owned());
        };
        let newer = self.slots[newer as usize].as_mut().expect("the oracle's own map and slots agree");
        let prior = newer.prior.replace(ppn);
        self.is_later(held.version, prior)?;
        self.occupy(ppn, lpn, held.version, prior, held.loss)?;
        self.entry_changed(lpn);
        Ok(())
    }

    pub(super) fn relocated(&mut self, lpn: Lpn, from: Ppn, to: Ppn, reason: Reason) -> Check {
        if self.rules.data == Data::InPlace {
            return self.moved_into_gap(lpn, from, to, reason);
        }
        let content = self.places[from.index()].content.filter(|content| content.lpn == lpn);
        let Some(content) = content else { return ensure(false, || "the source does not hold the unit".to_owned()) };
        let location = self.units[lpn.index()].location;
        let new = match location {
            Location::At(current) if current == from => Location::At(to),
            Location::Slot(slot) if self.prior_of(slot) == Some(from) => {
                self.slots[slot as usize].as_mut().expect("it has a prior").prior = Some(to);
                location
            }
            _ => return ensure(false, || format!("the unit's data is at {location:?}: an old version is brought back")),
        };
        self.occupy(to, lpn, content.version, Some(from), content.loss)?;
        self.units[lpn.index()].location = new;
        self.entry_changed(lpn);
        self.counts.relocated[reason as usize] += 1;
        Ok(())
    }

    /// Follows the move of a line into the gap of its region. What the line's old place holds stays there until a line
    /// moves into it.
    fn moved_into_gap(&mut self, lpn: Lpn, from: Ppn, to: Ppn, reason: Reason) -> Check {
        let gap = self.places[to.index()];
        ensure(gap.reads == 0, || format!("{} reads wait for the old data of the gap", gap.reads))?;
        self.counts.relocated[reason as usize] += 1;
        // There are more lines than units of the user.
        let location = self.units.get(lpn.index()).map_or(Location::Nowhere, |unit| unit.location);
        let held = match location {
            Location::At(at) => Some(at),
            Location::Slot(slot) => self.prior_of(slot),
            Location::Nowhere => None,
        };
        if held.is_none() {
            // A line that was never written.
            let stale = self.places[from.index()].content;
            let is_stale = stale.is_none_or(|content| self.units[content.lpn.index()].location != Location::At(from));
            ensure(is_stale, || format!("another line is there: {stale:?}"))?;
            let place = &mut self.places[to.index()];
            (place.content, place.programmed) = (None, false);
            return Ok(());
        }
        let Place { content, programmed, .. } = self.places[from.index()];
        let content = content.filter(|content| content.lpn == lpn && programmed && held == Some(from));
        let Some(content) = content else { return ensure(false, || format!("the line is at {location:?}")) };
        self.occupy(to, lpn, content.version, None, content.loss)?;
        match location {
            Location::Slot(slot) => self.slots[slot as usize].as_mut().expect("it has a prior").prior = Some(to),
            Location::At(_) | Location::Nowhere => self.units[lpn.index()].location = Location::At(to),
        }
        Ok(())
    }

    /// Follows the binding of a page of the map, or of a unit of its journal.
    pub(super) fn map_bound(&mut self, lpn: Lpn, ppn: Ppn, reason: Reason) -> Check {
        let number = lpn.0.checked_sub(self.user_units);
        ensure(number.is_some() && matches!(reason, Reason::Map | Reason::Journal), || "it is no unit of the map".to_owned())?;
        let version = self.versions.len() as u32;
        self.versions.push(Version::new(lpn, Progress::Bound, Some(self.step)));
        let old = match self.units[lpn.index()].location {
            Location::At(old) => Some(old),
            Location::Nowhere | Location::Slot(_) => None,
        };
        self.occupy(ppn, lpn, version, old, Loss::Intact)?;
        self.units[lpn.index()].location = Location::At(ppn);
        self.counts.relocated[reason as usize] += 1;
        if let Some(stale) = number.and_then(|page| self.stale_pages.get_mut(page as usize)) {
            *stale = false;
        }
        Ok(())
    }

    /// Follows the binding of a program of the map's journal or of its checkpoint.
    pub(super) fn journal_bound(&mut self, first: Ppn, units: u32) -> Check {
        let (block, unit) = self.geometry.split(first);
        let place = &self.places[first.index()];
        ensure(!place.programmed && place.content.is_none(), || format!("the place is not erased: {place:?}"))?;
        let record = &self.blocks[block.index()];
        ensure(unit == record.next_program, || format!("out of order in its block: {record:?}"))?;
        self.counts.relocated[Reason::Journal as usize] += u64::from(units);
        self.journal_programs.insert(first, units);
        Ok(())
    }

    /// Notes that the map entry of a unit has changed.
    pub(super) fn entry_changed(&mut self, lpn: Lpn) {
        // The entries of map pages themselves are always in memory.
        if let Some(stale) = self.stale_pages.get_mut((lpn.0 / self.page_entries) as usize).filter(|_| lpn.0 < self.user_units) {
            *stale = true;
        }
    }

    /// Checks that a version was accepted after the one that it supersedes.
    fn is_later(&self, version: u32, superseded: Option<Ppn>) -> Check {
        let old = superseded.and_then(|ppn| self.places[ppn.index()].content);
        ensure(old.is_none_or(|old| old.version < version), || format!("version {version} supersedes the later {old:?}"))
    }

    /// Binds a unit's data to a place.
    pub(super) fn occupy(&mut self, ppn: Ppn, lpn: Lpn, version: u32, supersedes: Option<Ppn>, loss: Loss) -> Check {
        let (block, unit) = self.geometry.split(ppn);
        ensure(!self.bad.contains(&block), || format!("{block:?} has failed before"))?;
        let record = &mut self.blocks[block.index()];
        let place = &mut self.places[ppn.index()];
        if self.rules.erases() {
            ensure(!place.programmed && place.content.is_none(), || format!("the place is not erased: {place:?}"))?;
            // Units that the host places have the order within a program in which they come.
            let whole = if self.rules.data == Data::Placed { self.geometry.units_per_program } else { 1 };
            let is_next = (unit / whole >= record.next_bind.div_ceil(whole) || unit / whole == record.next_program / whole)
                || record.unknown;
            ensure(is_next && !record.sealed, || format!("out of order in its block: {record:?}"))?;
            record.next_bind = record.next_bind.max(unit + 1);
        } else {
            place.programmed = false;
        }
        place.content = Some(Content { lpn, version, supersedes, loss });
        let state = &mut self.versions[version as usize];
        if state.progress != Progress::Durable {
            state.progress = Progress::Bound;
        }
        if state.bound == 0 {
            self.last_bound += 1;
            state.bound = self.last_bound;
        }
        if let Some(old) = supersedes {
            self.places[old.index()].successors_pending += 1;
        }
        Ok(())
    }

    pub(super) fn programmed(&mut self, block: BlockId, first: Ppn, count: u32) -> Check {
        let (of, unit) = self.geometry.split(first);
        let record = &mut self.blocks[block.index()];
        if std::mem::take(&mut record.unknown) {
            record.next_program = unit;
        }
        let is_next = of == block && (unit == record.next_program || !self.rules.erases());
        ensure(is_next, || format!("out of order in its block: {record:?}"))?;
        if self.rules.erases() {
            record.next_program += count;
            record.next_bind = record.next_bind.max(record.next_program);
        }
        self.counts.programmed += u64::from(count);
        let is_parity = self.parity.begins_at(first);
        if self.has_parity {
            self.parity.programmed(first);
        }
        let of_journal = self.journal_programs.remove(&first).unwrap_or(0);
        for ppn in (first.0..first.0 + count).map(Ppn) {
            let place = &mut self.places[ppn.index()];
            ensure(!place.programmed, || format!("{ppn:?} was programmed before"))?;
            place.programmed = true;
            let Some(content) = &mut place.content else {
                if ppn.0 - first.0 < of_journal {
                    continue;
                }
                let units = if is_parity { &mut self.counts.parity } else { &mut self.counts.padding };
                *units += u64::from(self.rules.erases());
                continue;
            };
            let (version, supersedes) = (content.version, content.supersedes.take());
            self.versions[version as usize].progress = Progress::Durable;
            self.volatile.remove(&version);
            if let Some(old) = supersedes {
                self.places[old.index()].successors_pending -= 1;
            }
        }
        Ok(())
    }

    pub(super) fn erased(&mut self, block: BlockId) -> Check {
        self.emptied(block)?;
        self.blocks[block.index()].erases += 1;
        self.counts.erased += 1;
        Ok(())
    }

    /// Checks that nothing in a block is current or about to be read, and forgets what is in it.
    pub(super) fn emptied(&mut self, block: BlockId) -> Check {
        self.leaves_stripes(block)?;
        let first = self.geometry.first_of(block).0;
        let record = self.blocks[block.index()];
        ensure(self.rules.erases(), || "nothing is erased where pages are written in place".to_owned())?;
        ensure(record.next_bind <= record.next_program, || format!("a program of it is in flight: {record:?}"))?;
        for ppn in (first..first + self.geometry.units_per_block).map(Ppn) {
            let place = self.places[ppn.index()];
            ensure(place.reads == 0, || format!("{} reads of {ppn:?} are waiting", place.reads))?;
            let Some(content) = place.content.filter(|_| self.rules.tells_places()) else { continue };
            ensure(place.successors_pending == 0, || {
                format!("{:?} at {ppn:?} has a successor that is not durable", content.lpn)
            })?;
            let location = self.units[content.lpn.index()].location;
            let is_prior = matches!(location, Location::Slot(slot) if self.prior_of(slot) == Some(ppn));
            ensure(location != Location::At(ppn) && !is_prior, || format!("it holds the current data of {:?}", content.lpn))?;
        }
        self.blocks[block.index()] = super::Block { erases: record.erases, ..super::Block::default() };
        for place in &mut self.places[first as usize..][..self.geometry.units_per_block as usize] {
            *place = Place::default();
        }
        Ok(())
    }

    pub(super) fn cached(&mut self, lpn: Lpn, ppn: Ppn) -> Check {
        let place = self.places[ppn.index()];
        let content = place.content.filter(|content| content.lpn == lpn && content.loss != Loss::Lost && place.programmed);
        let Some(content) = content else { return ensure(false, || format!("it is no copy of the unit: {place:?}")) };
        self.copies.insert(lpn.0, content.version);
        Ok(())
    }

    /// Follows a unit of a write that will not be programmed.
    pub(super) fn dropped(&mut self, command: CommandId, lpn: Lpn) -> Check {
        if let Some(version) = self.version_of(command, lpn)? {
            let progress = self.versions[version as usize].progress;
            ensure(progress == Progress::Waiting, || format!("its data is {progress:?}"))?;
            self.counts.dropped += 1;
            self.replaced(version);
            return Ok(());
        }
        let version = self.versions.len() as u32;
        self.versions.push(Version::new(lpn, Progress::Replaced, None));
        self.enter_version(command, lpn, version)
    }

    /// Follows a unit of the write buffer that will not be programmed.
    pub(super) fn dropped_from_buffer(&mut self, slot: u32, lpn: Lpn) -> Check {
        let held = self.slots.get_mut(slot as usize).and_then(Option::take).filter(|held| held.lpn == lpn);
        let Some(held) = held else { return ensure(false, || "the slot does not hold the unit".to_owned()) };
        self.replaced(held.version);
        self.counts.dropped += 1;
        Ok(())
    }

    /// Follows the reset of a zone or a chunk.
    pub(super) fn reset(&mut self, first: Lpn, count: u32) -> Check {
        ensure(self.rules.data == Data::Placed, || "nothing can be reset".to_owned())?;
        for lpn in first.0..first.0 + count {
            let unit = &mut self.units[lpn as usize];
            unit.emptied = Some(self.step);
            if let Location::Slot(slot) = std::mem::take(&mut unit.location) {
                let held = self.slots[slot as usize].take().expect("the oracle's own map and slots agree");
                self.replaced(held.version);
                self.counts.dropped += 1;
            }
        }
        Ok(())
    }

    pub(super) fn trimmed(&mut self, lpn: Lpn) -> Check {
        match std::mem::take(&mut self.units[lpn.index()].location) {
            Location::Nowhere => return ensure(false, || "the unit held nothing".to_owned()),
            Location::At(_) => self.entry_changed(lpn),
            Location::Slot(slot) => {
                let held = self.slots[slot as usize].take().expect("the oracle's own map and slots agree");
                if held.prior.is_some() {
                    self.entry_changed(lpn);
                }
                self.versions[held.version as usize].trimmed = Some(self.last_bound + 1);
                self.replaced(held.version);
                self.counts.dropped += 1;
            }
        }
        self.counts.trimmed += 1;
        if self.rules.keeps_trims {
            self.promises.trim(lpn, self.last_bound + 1);
        } else {
            self.promises.trim_later(self.step, lpn, self.last_bound + 1);
        }
        Ok(())
    }

    fn replaced(&mut self, version: u32) {
        self.versions[version as usize].progress = Progress::Replaced;
        self.volatile.remove(&version);
    }

    pub(super) fn prior_of(&self, slot: u32) -> Option<Ppn> {
        self.slots.get(slot as usize).copied().flatten().and_then(|held| held.prior)
    }
}
