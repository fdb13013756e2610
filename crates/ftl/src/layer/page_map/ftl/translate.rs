//! Map pages: lookups of commands, changes of entries, reads and programs of pages and journal.

use super::*;
use crate::map_cache::{Lookup, MapUnit};
use kit::Translated;

impl Ftl {
    /// Returns true if only a part of the map is in memory, so that commands have to look their pages up
    /// ([`Ftl::translate`]).
    #[inline]
    pub fn has_map_cache(&self) -> bool {
        self.state.map_cache.is_some()
    }

    /// Returns the map page with the entry of a unit, if only a part of the map is in memory.
    pub fn map_page_of(&self, lpn: Lpn) -> Option<u32> {
        self.state.map_cache.as_ref().map(|cache| cache.page_of(lpn))
    }

    /// Looks up the map pages of a command's units, one after another. Returns true if all are in memory. Otherwise the
    /// command waits for one of them; when it has been read, the handoff has the command with the first unit after it.
    pub fn translate(&mut self, command: CommandId, units: std::ops::Range<u32>, out: &mut Outbox) -> bool {
        let Some(cache) = &mut self.state.map_cache else { return true };
        let (first, last) = (cache.page_of(Lpn(units.start)), cache.page_of(Lpn(units.end - 1)));
        for page in first..=last {
            match cache.look_up(page, command) {
                Lookup::Hit => {}
                Lookup::Waits => {
                    self.wake_for_map(&mut out.ready);
                    return false;
                }
                Lookup::Load => {
                    // A page that need not be read is in the handoff at once.
                    self.load_map_page(page, out);
                    return false;
                }
            }
        }
        true
    }

    /// Reads a map page into the cache. A page that was never written, or whose program has not completed, is there at
    /// once.
    fn load_map_page(&mut self, page: u32, out: &mut Outbox) {
        let cache = self.state.map_cache.as_ref().expect("a drive with a mapping cache");
        if let Mapped::At(ppn) = decode(self.state.store.code_of(cache.lpn_of(MapUnit::Page(page)))) {
            let (block, unit) = self.state.store.medium.geometry.split(ppn);
            if self.state.store.medium.geometry.program_of(unit) < u32::from(self.state.store.medium.block(block).programmed) {
                self.state.store.medium.pin(ppn);
                let operation = self.map_read(ppn, Owner::MapPage(page));
                return out.read(operation);
            }
        }
        self.map_page_arrives(page, out);
    }

    fn map_read(&self, ppn: Ppn, owner: Owner) -> Operation {
        let geometry = &self.state.store.medium.geometry;
        let (block, unit) = geometry.split(ppn);
        Operation {
            kind: OperationKind::Read,
            reason: Reason::Map,
            die: geometry.die_of(block),
            first: ppn,
            units: 1,
            pages: 1,
            page_type: geometry.page_type_of(unit),
            mode: self.derived.read_modes[usize::from(self.state.store.medium.block(block).mode())],
            encode: 0,
            skipped: 0,
            owner,
        }
    }

    /// Handles the arrival of a map page in the cache: the commands that waited for it go on.
    fn map_page_arrives(&mut self, page: u32, out: &mut Outbox) {
        let cache = self.state.map_cache.as_mut().expect("a drive with a mapping cache");
        cache.loaded(page);
        let from = Lpn(cache.units_of(page).end);
        while let Some(command) = cache.next_waiting(page) {
            out.handoff.translated.push(Translated { command, from });
        }
    }

    /// Handles the end of the flash read of a map page.
    pub(super) fn map_page_read(&mut self, page: u32, out: &mut Outbox) {
        self.map_page_arrives(page, out);
        self.go_on_loading(out);
    }

    /// Reads the map pages that waited for space, or whose changes are to be moved to them, as far as there is space
    /// now, and wakes a die for those to be written.
    fn go_on_loading(&mut self, out: &mut Outbox) {
        while let Some(page) =
            self.state.map_cache.as_mut().and_then(|cache| cache.next_awaited().or_else(|| cache.next_to_apply()))
        {
            self.load_map_page(page, out);
        }
        self.wake_for_map(&mut out.ready);
    }

    /// Handles a change of the map entry of a unit of user data.
    // Out of line: most drives hold the whole map.
    #[inline(never)]
    pub(crate) fn map_changed(&mut self, lpn: Lpn, out: &mut Outbox) {
        let Some(cache) = &mut self.state.map_cache else { return };
        let page = cache.page_of(lpn);
        if let Some(page) = cache.change(page) {
            self.load_map_page(page, out);
        }
        self.wake_for_map(&mut out.ready);
    }

    /// Returns true if a unit is one of the map's own: a map page, or a part of the journal.
    #[inline]
    pub(crate) fn is_of_map(&self, lpn: Lpn) -> bool {
        self.state.map_cache.is_some() && u64::from(lpn.0) >= self.state.store.user_units
    }

    /// Returns true if a program of map data can be made now.
    #[inline]
    pub(super) fn may_write_map(&self) -> bool {
        self.state.map_cache.as_ref().is_some_and(|cache| cache.may_write(self.scratch.saves_map))
    }

    /// Wakes an idle die for map data that waits to be written.
    fn wake_for_map(&mut self, ready: &mut ReadyDies) {
        if self.may_write_map() {
            let State { writes, space, .. } = &mut self.state;
            writes.idle.wake_one(|die| space.has_map_space(die), ready);
        }
    }

    /// Returns the stream of map data, which has frontiers of its own.
    pub(crate) fn map_stream(&self) -> usize {
        usize::from(self.derived.needs.host_streams)
            + self.derived.parameters.facts.write_modes.len() * self.derived.needs.relocation_frontiers()
    }

    /// Returns the slot of a program of map data on a die, or of the lazy erase that must precede it.
    pub(super) fn program_map(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        let mode = self.derived.old_mode;
        let (stream, class) = (self.map_stream(), AllocationClass::Map);
        let mut target = Target { die, stream, mode, class, plane: None, level: 0 };
        if !self.may_bind_at(&target) {
            return None;
        }
        if self.state.space.levels() > 1
            && let Some(lazy_erase) = self.choose_level(&mut target, mode, now, out)
        {
            return Some(lazy_erase);
        }
        let units_per_program = self.state.store.medium.geometry.units_per_program;
        let place = self.state.space.advance(&mut self.state.store.medium, &target, units_per_program, now)?;
        let (is_journal, of_checkpoint) = self.state.map_cache.as_ref()?.next_kind();
        let reason = if is_journal || of_checkpoint { Reason::Journal } else { Reason::Map };
        self.begin_program(die, place, mode, reason);
        let mut bound = 0;
        while bound < units_per_program {
            let Some(unit) = self.state.map_cache.as_mut().and_then(|cache| cache.next_to_write(is_journal)) else { break };
            self.bind_map(die, unit, Ppn(place.0 + bound), out);
            bound += 1;
        }
        let is_encoded = self.derived.parameters.facts.codes[mode.index()] != 0;
        self.state.store.medium.programs[die.index()].encode = if is_encoded { bound } else { 0 };
        let slot = self.finish_program(die, stream, bound, now, out);
        self.wake_for_map(&mut out.ready);
        Some(slot)
    }

    fn bind_map(&mut self, die: DieId, unit: MapUnit, ppn: Ppn, out: &mut Outbox) {
        let cache = self.state.map_cache.as_ref().expect("a drive with a mapping cache");
        let lpn = cache.lpn_of(unit);
        let superseded = match decode(self.state.store.code_of(lpn)) {
            Mapped::At(old) => {
                self.state.store.medium.supersede(old);
                old.0
            }
            Mapped::Nowhere | Mapped::Slot(_) => NO_PLACE,
        };
        self.state.store.set_code(lpn, encode(ppn));
        self.state.store.place(lpn, ppn);
        if let Some(metadata) = &mut self.state.metadata {
            metadata.page_bound(ppn);
        }
        let (mode, reason) =
            (self.state.store.medium.programs[die.index()].mode, self.state.store.medium.programs[die.index()].reason);
        self.state.store.medium.programs[die.index()].bind(superseded).kind = match unit {
            MapUnit::Page(page) => UnitKind::MapPage(page),
            MapUnit::Journal(_) => UnitKind::Moved,
        };
        out.journal.note(|| Record::MapBound { lpn, ppn, reason, mode });
    }

    /// Handles the end of the program of map pages.
    pub(super) fn map_programmed(&mut self, units: &[BoundUnit], out: &mut Outbox) {
        for unit in units {
            if let (UnitKind::MapPage(page), Some(cache)) = (unit.kind, &mut self.state.map_cache) {
                cache.written(page);
            }
        }
        self.go_on_loading(out);
    }

    /// Begins to write the changes of the map so far to flash, before a shutdown or a loss of power.
    pub fn begin_to_save_map(&mut self, ready: &mut ReadyDies) {
        if let Some(cache) = &mut self.state.map_cache {
            cache.begin_to_save();
            self.scratch.saves_map = true;
            self.wake_for_map(ready);
        }
    }

    /// Returns true once those changes are on flash.
    pub fn is_map_saved(&mut self, out: &mut Outbox) -> bool {
        let Some(cache) = &mut self.state.map_cache else { return true };
        let (left, is_more) = cache.save();
        self.scratch.saves_map = left > 0;
        if is_more {
            self.go_on_loading(out);
        }
        left == 0
    }

    /// Writes the map pages of a drive whose data was laid down without simulating time.
    pub(crate) fn write_map_untimed(&mut self) {
        let Some(cache) = &self.state.map_cache else { return };
        let (pages, dies) = (cache.page_count(), self.state.store.medium.geometry.die_count);
        for page in 0..pages {
            let cache = self.state.map_cache.as_ref().expect("looked at above");
            let units = cache.units_of(page);
            if units.map(Lpn).any(|lpn| self.state.store.code_of(lpn) != 0) {
                let lpn = Lpn(self.state.store.user_units as u32 + page);
                self.write_untimed_to(lpn, DieId(page % dies), self.map_stream());
            }
        }
    }
}
