//! Checks of the drive as a whole: consistency of the engine's tables, and conservation laws.

use super::power::PowerWatch;
use super::{Check, Content, Data, Location, Loss, Oracle, Progress, Version, ensure};
use drive::Drive;
use ftl::FtlCounters;
use kit::reason::REASON_COUNT;
use kit::{BlockId, Lpn, OperationKind, Ppn, Reason};

/// Events that the oracle has followed since it was attached, or moved to another drive.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Commands submitted.
    pub submitted: u64,
    /// Commands completed.
    pub completed: u64,
    /// Units of host writes accepted.
    pub accepted: u64,
    /// Accepted units that replaced a unit in the buffer.
    pub absorbed: u64,
    /// Units trimmed while they were in the buffer.
    pub dropped: u64,
    /// Units of host writes bound to a place.
    pub bound: u64,
    /// Units moved, and units of the map written, by reason.
    pub relocated: [u64; REASON_COUNT],
    /// Units programmed, padding included.
    pub programmed: u64,
    /// Units programmed as padding.
    pub padding: u64,
    /// Units programmed as parity.
    pub parity: u64,
    /// Blocks erased.
    pub erased: u64,
    /// Units whose data was trimmed, in the buffer or in flash.
    pub trimmed: u64,
    /// Units of host reads sensed from flash.
    pub flash_reads: u64,
    /// Units of host reads served from the controller because their program has not completed.
    pub controller_reads: u64,
    /// Units of host reads served from the read cache.
    pub cache_reads: u64,
    /// Units of host reads served from the write buffer.
    pub buffer_reads: u64,
    /// Units of host reads that held nothing.
    pub unmapped_reads: u64,
    /// Units sensed for relocations and partial writes.
    pub internal_reads: u64,
    /// Units of flash reads that could not be corrected.
    pub uncorrectable: u64,
    /// Reads that completed with a media error.
    pub media_errors: u64,
    /// Commands that failed as they were served.
    pub refused: u64,
    /// Programs that failed.
    pub program_failures: u64,
}

/// The engine's counters at the time when the oracle was attached.
#[derive(Clone)]
pub(super) struct Baseline {
    ftl: FtlCounters,
    erases: u64,
    operations: [u64; 5],
    busy: flash::Snapshot,
}

impl Baseline {
    pub fn of(drive: &Drive) -> Baseline {
        Baseline {
            ftl: drive.translator().report().counters.clone(),
            erases: erases_of(drive),
            operations: drive.flash().counters.operations,
            busy: drive.flash().snapshot(drive.now()),
        }
    }
}

fn erases_of(drive: &Drive) -> u64 {
    let medium = drive.medium();
    (0..medium.geometry.block_count).map(|block| u64::from(medium.erase_count(BlockId(block)))).sum()
}

impl Oracle {
    /// Takes over the data that the drive holds at the beginning.
    pub(super) fn take_over(&mut self, drive: &Drive) -> Check {
        let medium = drive.medium();
        if !(self.rules.erases() && self.rules.knows_blocks) {
            return self.audit(drive, true);
        }
        for (block, shadow) in (0..self.geometry.block_count).map(BlockId).zip(&mut self.blocks) {
            shadow.next_program = u32::from(medium.block(block).programmed) * self.geometry.units_per_program;
            shadow.next_bind = shadow.next_program;
            let first = self.geometry.first_of(block).index();
            self.places[first..first + shadow.next_program as usize].iter_mut().for_each(|place| place.programmed = true);
        }
        for (lpn, ppn) in self.places_at_start(drive) {
            let version = self.versions.len() as u32;
            let loss = if medium.is_lost_at(ppn) { Loss::Lost } else { Loss::Intact };
            self.versions.push(Version { loss, ..Version::new(lpn, Progress::Durable, Some(0)) });
            let place = &mut self.places[ppn.index()];
            ensure(place.programmed && place.content.is_none(), || {
                format!("at the start {lpn:?} is mapped to {ppn:?}: {place:?}")
            })?;
            place.content = Some(Content { lpn, version, supersedes: None, loss });
            let unit = &mut self.units[lpn.index()];
            (unit.location, unit.emptied) = (Location::At(ppn), None);
            // The read cache may have any of them.
            self.copies.insert(lpn.0, version);
        }
        // Data that is lost and no longer current is known until its block is erased.
        for ppn in (0..self.places.len() as u32).map(Ppn).filter(|&ppn| medium.is_lost_at(ppn)) {
            let version = self.versions.len() as u32;
            if self.places[ppn.index()].content.is_none() {
                let (lpn, loss) = (Lpn(drive.translator().unit_at(ppn)), Loss::Lost);
                self.versions.push(Version { loss, ..Version::new(lpn, Progress::Durable, Some(0)) });
                self.places[ppn.index()].content = Some(Content { lpn, version, supersedes: None, loss });
            }
        }
        self.audit(drive, true)
    }

    /// Returns the units that are on flash at the start, with their places.
    fn places_at_start(&self, drive: &Drive) -> Vec<(Lpn, Ppn)> {
        match self.rules.data {
            Data::Mapped => {
                let place = |lpn: u32| Some((Lpn(lpn), drive.map().place_of(Lpn(lpn))?));
                (0..self.units.len() as u32).filter_map(place).collect()
            }
            Data::Placed => {
                let programmed = (0..self.places.len() as u32).filter(|ppn| self.places[*ppn as usize].programmed).map(Ppn);
                programmed.map(|ppn| (Lpn(drive.translator().unit_at(ppn)), ppn)).collect()
            }
            Data::InPlace | Data::Untold => Vec::new(),
        }
    }

    /// Checks that the drive's tables agree with each other and with the oracle's map. May be called between any two
    /// calls of `advance`.
    pub fn audit(&self, drive: &Drive, at_rest: bool) -> Check {
        let found = drive.translator().map().map_or(Vec::new(), |map| map.audit(at_rest));
        ensure(found.is_empty(), || found.join("; "))?;
        ensure(!at_rest || drive.flash().page_buffers_rest(), || "a page buffer is in use at rest".to_owned())?;
        self.agree_on_places(drive)?;
        self.agree_on_blocks(drive)?;
        self.agree_on_pages(drive)?;
        self.agree_on_flags(drive)
    }

    /// Checks that the engine's map, or the places that it computes, agree with the records.
    pub(super) fn agree_on_places(&self, drive: &Drive) -> Check {
        if !self.rules.tells_places() {
            return Ok(());
        }
        let (layer, map) = (drive.translator(), drive.translator().map());
        for (lpn, unit) in (0..).map(Lpn).zip(&self.units) {
            let known = match unit.location {
                Location::At(ppn) => Some(ppn),
                Location::Nowhere | Location::Slot(_) => None,
            };
            if let Some(map) = map {
                let place = map.place_of(lpn);
                ensure(place == known, || format!("the map has {lpn:?} at {place:?}, the records say {:?}", unit.location))?;
            } else if let Some(ppn) = known {
                let held = layer.unit_at(ppn);
                ensure(held == lpn.0, || format!("{ppn:?} is the place of unit {held}, the records say of {lpn:?}"))?;
            }
        }
        Ok(())
    }

    /// Checks that the medium agrees with the records on the programs and the erases of each block.
    fn agree_on_blocks(&self, drive: &Drive) -> Check {
        if !(self.rules.erases() && self.rules.knows_blocks) {
            return Ok(());
        }
        for (block, shadow) in (0..).map(BlockId).zip(&self.blocks) {
            let record = drive.medium().block(block);
            let programmed = u32::from(record.programmed) * self.geometry.units_per_program;
            ensure(programmed == shadow.next_program, || format!("{block:?} is {record:?}, the records say {shadow:?}"))?;
        }
        Ok(())
    }

    /// Checks that the mapping cache knows every page of the map that is out of date on flash.
    fn agree_on_pages(&self, drive: &Drive) -> Check {
        let forgotten = |page: &usize| self.stale_pages[*page] && !drive.map().map_page_is_changed(*page as u32);
        match (0..self.stale_pages.len()).find(forgotten) {
            None => Ok(()),
            Some(page) => {
                ensure(false, || format!("page {page} of the map is out of date on flash, and the cache takes it as clean"))
            }
        }
    }

    /// Checks the state of each unit under a policy that marks those whose copy on flash is written in a mode.
    fn agree_on_flags(&self, drive: &Drive) -> Check {
        let Some(marked) = self.marked_mode else { return Ok(()) };
        let medium = drive.medium();
        for lpn in (0..self.user_units).map(Lpn) {
            let location = self.units[lpn.index()].location;
            let place: Option<Ppn> = match location {
                Location::At(ppn) => Some(ppn),
                Location::Slot(slot) => self.prior_of(slot),
                Location::Nowhere => None,
            };
            let is_marked = place.is_some_and(|ppn| medium.block(self.geometry.block_of(ppn)).mode() == marked.0);
            let flag = drive.map().declared_state(lpn);
            ensure(flag == u8::from(is_marked), || {
                format!("the state of {lpn:?} at {location:?} is {flag}, its copy is in the marked mode: {is_marked}")
            })?;
        }
        Ok(())
    }

    /// Checks the conservation laws, for a drive at rest with nothing in flight and nothing in its buffer.
    pub fn finish(&self, drive: &Drive) -> Check {
        ensure(self.outstanding() == 0 && drive.commands_in_flight() == 0, || {
            format!("{} commands never completed", self.outstanding())
        })?;
        self.audit(drive, true)?;
        self.power.as_ref().map_or(Ok(()), PowerWatch::check)?;
        let (counts, done) = (&self.counts, drive.translator().report().counters.since(&self.baseline.ftl));
        let programmed = |reason: Reason| done.units_programmed[reason as usize];
        let moved: u64 = counts.relocated.iter().sum();
        let total: u64 = done.units_programmed.iter().sum();
        let waiting = self.waiting();
        let erases = erases_of(drive) - self.baseline.erases;
        let operations =
            |kind: OperationKind| drive.flash().counters.operations[kind as usize] - self.baseline.operations[kind as usize];
        let is_mapped = self.rules.data == Data::Mapped;
        let equal = [
            ("commands in and out", counts.submitted, counts.completed),
            ("host units", done.host_units, counts.accepted),
            ("units still waiting", waiting, 0),
            ("host units programmed", programmed(Reason::Host), counts.bound),
            ("units programmed", total, counts.programmed),
            ("host units by mode", done.host_units_by_mode.iter().sum(), counts.bound),
            ("units programmed, from programs and copybacks", total, self.units_of_programs(drive)),
            ("erase operations", operations(OperationKind::Erase), counts.erased),
        ];
        // Only where the records tell the places of units, where the map does, and where the blocks are known.
        let of_places = [
            ("padding", programmed(Reason::Padding), counts.padding),
            ("parity", programmed(Reason::Parity), counts.parity),
            ("units programmed, from their parts", total, counts.bound + moved + counts.padding + counts.parity),
            ("units by mode", done.units_by_mode.iter().sum(), counts.bound + moved + counts.parity),
            ("absorbed units", done.absorbed, counts.absorbed),
            ("unmapped reads", done.unmapped_reads, counts.unmapped_reads),
            ("cache hits", done.cache_hits, counts.cache_reads),
            ("reads without the flash", done.reads_in_flight + done.buffer_hits, counts.controller_reads + counts.buffer_reads),
        ];
        let of_map = [("reads in flight", done.reads_in_flight, counts.controller_reads)];
        let of_blocks = [("erases", erases, counts.erased)];
        let told = of_places.iter().filter(|_| self.rules.tells_places());
        let kept = of_blocks.iter().filter(|_| self.rules.knows_blocks);
        for (what, engine, oracle) in equal.iter().chain(told).chain(kept).chain(of_map.iter().filter(|_| is_mapped)) {
            ensure(engine == oracle, || format!("{what}: {engine} counted, {oracle} seen"))?;
        }
        let of_moves =
            |reason: &Reason| self.rules.tells_places() && !matches!(reason, Reason::Host | Reason::Padding | Reason::Parity);
        for reason in Reason::ALL.iter().copied().filter(of_moves) {
            let (engine, oracle) = (programmed(reason), counts.relocated[reason as usize]);
            ensure(engine == oracle, || format!("units moved for {}: {engine} counted, {oracle} seen", reason.name()))?;
        }
        self.check_final_state(drive)
    }

    fn units_of_programs(&self, drive: &Drive) -> u64 {
        let now = &drive.flash().counters.operations;
        let since = |kind: OperationKind| now[kind as usize] - self.baseline.operations[kind as usize];
        (since(OperationKind::Program) + since(OperationKind::Copyback)) * u64::from(self.geometry.units_per_program)
    }

    /// Checks that the place of every unit is programmed, and that no die or channel was busy for longer than the
    /// elapsed time.
    fn check_final_state(&self, drive: &Drive) -> Check {
        for (lpn, unit) in self.units.iter().enumerate().filter(|_| self.rules.tells_places()) {
            let Location::At(ppn) = unit.location else { continue };
            ensure(self.places[ppn.index()].programmed, || format!("unit {lpn} at {ppn:?} was never programmed"))?;
        }
        self.agree_on_loss(drive)?;
        let busy = drive.flash().utilisation(drive.now(), &self.baseline.busy);
        let most = busy.dies.iter().chain(&busy.channels).fold(0f64, |most, share| most.max(*share));
        ensure(most <= 1.0 + 1e-9, || format!("a die or channel was busy for {most} of the time"))
    }
}
