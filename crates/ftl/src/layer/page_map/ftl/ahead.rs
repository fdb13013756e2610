//! Reads through the read cache, and reads ahead of sequential streams.

use super::*;
use crate::read_cache::Waiting;

impl Ftl {
    /// Looks up a host read on a drive with a read cache, like [`Ftl::read`], and reads ahead.
    #[inline(never)]
    pub(super) fn read_through_cache(
        &mut self,
        command: CommandId,
        first: Lpn,
        count: u32,
        now: SimTime,
        out: &mut Outbox,
    ) -> u32 {
        let parts = self.read_range(command, first, count, now, out);
        let user_units = self.state.store.user_units;
        let cache = self.state.cache.as_mut().expect("the drive has a read cache");
        let ahead = cache.follow(first, Lpn(first.0 + count), user_units);
        if !ahead.is_empty() {
            self.read_ahead(ahead, now, out);
        }
        parts
    }

    /// Lets a command wait for a unit that is being read ahead. Returns false if it is not.
    pub(super) fn wait_for_ahead(&mut self, command: CommandId, lpn: Lpn, ppn: Ppn, now: SimTime) -> bool {
        let waits = self.state.cache.as_mut().is_some_and(|cache| cache.wait(lpn, Waiting { command, ppn, since: now }));
        self.state.counters.read_ahead_waits += u64::from(waits);
        waits
    }

    /// Reads units into the cache, those of one row by one flash read. Units that are not on flash are left out.
    fn read_ahead(&mut self, units: std::ops::Range<u32>, now: SimTime, out: &mut Outbox) {
        let geometry = self.state.store.medium.geometry;
        let mut open: Option<Operation> = None;
        for lpn in units.map(Lpn) {
            let Mapped::At(ppn) = decode(self.state.store.code_of(lpn)) else { continue };
            let (block, unit) = geometry.split(ppn);
            let is_durable = geometry.program_of(unit) < u32::from(self.state.store.medium.block(block).programmed);
            let cache = self.state.cache.as_mut().expect("the drive has a read cache");
            if !is_durable || cache.has(lpn) {
                continue;
            }
            self.state.store.medium.pin(ppn);
            self.state.counters.read_ahead += 1;
            let joins = open.as_ref().is_some_and(|operation| {
                let (open_block, open_unit) = geometry.split(operation.first);
                open_block == block
                    && geometry.row_of(open_unit) == geometry.row_of(unit)
                    && ppn.0 == operation.first.0 + operation.units
            });
            if let Some(operation) = open.as_mut().filter(|_| joins) {
                let (_, last) = geometry.split(Ppn(ppn.0 - 1));
                operation.pages += u32::from(geometry.page_of(last) != geometry.page_of(unit));
                operation.units += 1;
                if let Owner::ReadAhead(read) = operation.owner {
                    cache.expect(lpn, read);
                }
                continue;
            }
            let read = cache.begin();
            cache.expect(lpn, read);
            open.replace(self.read_operation(ppn, Reason::Host, Owner::ReadAhead(read), now, &out.signals))
                .into_iter()
                .for_each(|operation| out.read(operation));
        }
        open.into_iter().for_each(|operation| out.read(operation));
    }

    /// Handles the completion of a flash read ahead: its units are in the cache, unless they have changed, and the
    /// commands that waited for them get their data.
    pub(super) fn read_ahead_done(&mut self, read: u32, operation: &Operation, now: SimTime, out: &mut Outbox) {
        for ppn in (operation.first.0..operation.first.0 + operation.units).map(Ppn) {
            self.sensed(ppn, operation.owner, out);
            let lpn = self.state.store.lpn_at(ppn);
            let keeps = self.is_intact_and_current(lpn, ppn);
            if self.state.cache.as_mut().is_some_and(|cache| cache.arrived(lpn, read, ppn, keeps)) {
                out.journal.note(|| Record::Cached { lpn, ppn });
            }
            if self.derived.needs.reads_done {
                self.call_policy(now, &out.signals, |policy, view| policy.read_done(lpn, ppn, view));
            }
        }
        let Some(cache) = &mut self.state.cache else { return };
        while let Some((Waiting { command, ppn, since }, is_lost)) = cache.next_waiting(read) {
            let was_lost = self.state.store.medium.integrity.as_ref().is_some_and(|integrity| integrity.is_lost(ppn));
            if is_lost && !was_lost {
                out.journal.note(|| Record::Uncorrectable { ppn, owner: Owner::Command(command) });
            }
            let is_lost = is_lost || was_lost;
            out.journal.note(|| Record::ReadSensed { ppn, owner: Owner::Command(command) });
            let mut ledger = Ledger::default();
            ledger.charge(Cause::Map, now.since(since));
            out.handoff.parts.push(Part { command, ledger, units: 1, is_lost });
        }
        cache.read_done(read);
    }

    /// Notes places whose data a read ahead could not correct.
    pub(super) fn ahead_failed(&mut self, read: u32, places: &[Ppn]) {
        if let Some(cache) = &mut self.state.cache {
            places.iter().for_each(|&ppn| cache.fail(read, ppn));
        }
    }

    /// Keeps copies of host units that have been programmed, if they have not changed in the meantime.
    pub(super) fn cache_programmed(&mut self, first: Ppn, units: &[BoundUnit], journal: &mut kit::Journal) {
        for (ppn, unit) in (first.0..).map(Ppn).zip(units) {
            if matches!(unit.kind, UnitKind::Host(_) | UnitKind::Buffered) {
                self.keep(ppn, journal);
            }
        }
    }

    /// Keeps a copy of the data at a place, if it is right.
    fn keep(&mut self, ppn: Ppn, journal: &mut kit::Journal) {
        let lpn = self.state.store.lpn_at(ppn);
        if self.is_intact_and_current(lpn, ppn)
            && let Some(cache) = &mut self.state.cache
        {
            cache.insert(lpn);
            journal.note(|| Record::Cached { lpn, ppn });
        }
    }

    fn is_intact_and_current(&self, lpn: Lpn, ppn: Ppn) -> bool {
        // The program of an obsolete unit leaves no unit at its place.
        if !self.state.store.medium.is_valid(ppn) {
            return false;
        }
        let is_lost = self.state.store.medium.integrity.as_ref().is_some_and(|integrity| integrity.is_lost(ppn));
        !is_lost && decode(self.state.store.code_of(lpn)) == Mapped::At(ppn)
    }

    /// Keeps copies of the units of a host read, if they have not changed in the meantime.
    pub(super) fn cache_read(&mut self, operation: &Operation, journal: &mut kit::Journal) {
        let uncorrected = self.state.cache.as_mut().map(|cache| cache.take_uncorrected()).unwrap_or_default();
        for ppn in (operation.first.0..operation.first.0 + operation.units).map(Ppn) {
            if !uncorrected.contains(&ppn) {
                self.keep(ppn, journal);
            }
        }
    }

    /// Notes places that a host read, which is about to end, could not correct.
    pub(super) fn read_uncorrected(&mut self, places: &[Ppn]) {
        if let Some(cache) = &mut self.state.cache {
            cache.not_corrected(places);
        }
    }
}
