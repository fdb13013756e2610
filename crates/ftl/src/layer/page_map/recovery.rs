//! Loss of power at any instant, and recovery: the map is rebuilt from what is on flash.
//!
//! **What remains.** The programs that have completed, each with its metadata ([`Metadata`]); the wear of the blocks,
//! the instants of their first programs and the list of retired blocks, which a drive keeps in the metadata of the
//! blocks and in its system area \[A\]; the record of trims. A program that was under way is *torn*: its pages are used
//! up, and hold nothing that can be read. An erase that was under way leaves its block without data, and it must be
//! erased again. Everything else is lost: map, write queue and write buffer, collections and moves in progress, timers,
//! the state of the policy.
//!
//! **What is rebuilt.** Of the copies of a unit, the one whose program has the highest number is current, unless it was
//! trimmed after that. No block goes on as a write frontier: those that were open are closed. A block that an
//! interrupted erase leaves behind is erased first. The policy examines the drive as if it took it over from another
//! one ([`ModePolicy::adopt`]); what it declared by unit and by block begins anew. Parity: see [`Rain`].
//!
//! **Space.** A collection may take the last free block of a die. If power is lost then, no block is free after it. But
//! what the collection has written into that block is still where it came from: the victim is erased only when all of
//! it has been moved. The block is given up, and its units are again where they were.

mod forgery;
mod journaled;
mod paired;

use crate::counters::FtlCounters;
use crate::layer::page_map::collector::{Collector, RelocationRequest};
use crate::layer::page_map::ftl::{Defect, Ftl, Health, State};
use crate::layer::page_map::metadata::Metadata;
use crate::map::{Mapped, Places, Store, decode, encode, mark_valid};
use crate::map_cache::{MapCounters, MapUnit};
use crate::map_journal::MapJournal;
use crate::medium::program::{NO_PLACE, ProgramUnit};
use crate::medium::rain::{Rain, Stage};
use crate::medium::space::{AllocationClass, Target};
use crate::medium::{BlockState, Medium};
use crate::paired::Paired;
use kit::{BlockId, DieId, Interrupted, Lpn, ModeId, Outbox, Ppn, Reason, Rng, SimTime, Table};
use std::collections::BTreeMap;

pub use forgery::Forgery;

/// The remains of a drive after a loss of power.
pub struct Remains {
    store: Store,
    metadata: Box<Metadata>,
    /// Blocks whose erase was interrupted.
    half_erased: Vec<BlockId>,
    /// Pages of interrupted programs.
    torn_pages: u64,
    durable: Durable,
    simulation: Simulation,
    /// Units of interrupted programs, for forgeries.
    torn_units: Vec<(Ppn, Lpn)>,
    /// Journal of the map and its checkpoint, if the drive has them.
    journal: Option<Box<MapJournal>>,
    /// Protection of paired pages, if a loss of power may destroy some.
    paired: Option<Box<Paired>>,
    /// Sets of blocks with parity, if the drive has them.
    rain: Option<Box<Rain>>,
    /// True if all pages are searched for although there is a journal, for tests.
    searches_all: bool,
    /// Defect of the drive that a test has planted.
    defect: Option<Defect>,
}

/// Tables of a drive that survive a loss of power, at least in part.
struct Kept {
    store: Store,
    metadata: Box<Metadata>,
    journal: Option<Box<MapJournal>>,
    rain: Option<Box<Rain>>,
    paired: Option<Box<Paired>>,
    defect: Option<Defect>,
}

/// State of the simulation, which is that of no part of a drive.
struct Simulation {
    counters: FtlCounters,
    map_counters: Option<MapCounters>,
    /// Missed retention limits, and the smallest margin.
    retention: (u64, Option<i64>),
    rng: Rng,
    /// Lost dies, and the failures so far: the drive keeps them in its system area \[A\].
    repairs: (Vec<bool>, Health),
}

impl Simulation {
    fn of(state: &State) -> Simulation {
        Simulation {
            counters: state.counters.clone(),
            map_counters: state.map_cache.as_ref().map(|cache| cache.counters.clone()),
            retention: (state.retention.misses, state.retention.min_margin),
            rng: state.rng.clone(),
            repairs: state.repairs.image(),
        }
    }

    fn go_on(self, state: &mut State) {
        (state.counters, state.rng) = (self.counters, self.rng);
        state.repairs.restore(self.repairs);
        state.retention.take_measurements(self.retention);
        if let (Some(cache), Some(counters)) = (&mut state.map_cache, self.map_counters) {
            cache.counters = counters;
        }
    }
}

/// The newest copy on flash of each unit, as the drive knew it when power was lost. Recovery makes no use of it: it is
/// compared with what recovery finds.
struct Durable {
    map: Table<u32>,
    /// Map values of the units that were in the write buffer, or in a program that had not completed.
    others: BTreeMap<Lpn, u32>,
}

/// Findings of a recovery.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Rows that are read on each die, in steps of which each needs what the one before has found: a row is the pages
    /// that one operation senses.
    pub steps: Vec<Vec<Vec<RowsRead>>>,
    /// Pages of interrupted programs.
    pub torn_pages: u64,
    /// Blocks whose erase was interrupted.
    pub half_erased: Vec<BlockId>,
    /// Blocks that were given up, so that their dies have a free block.
    pub given_up: Vec<BlockId>,
    /// Units whose newest copy on flash was not found, or whose trim was recorded on a die that is lost.
    pub durable_lost: u64,
    /// True if all blocks were searched because a part of the map's journal is on a lost die.
    pub lacks_journal: bool,
}

/// Rows of a block that are read one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowsRead {
    /// The block.
    pub block: BlockId,
    /// The first of them.
    pub first: u32,
    /// Their number.
    pub rows: u32,
    /// True if all of a page is needed, and not only its metadata.
    pub whole: bool,
}

impl Ftl {
    /// Prepares a drive that is about to begin for losses of power: it keeps the metadata that recovery needs.
    pub fn keep_metadata(&mut self) -> std::io::Result<()> {
        let Store { medium, all_units, .. } = &self.state.store;
        self.state.metadata = Some(Box::new(Metadata::new(&medium.geometry, *all_units)?));
        Ok(())
    }

    /// Returns true if the drive keeps metadata.
    pub fn keeps_metadata(&self) -> bool {
        self.state.metadata.is_some()
    }

    /// Begins to keep metadata on a drive in its starting state. A collection that has taken the last free block of its
    /// die is completed, without simulating time: where the data that it has moved came from is not known. If so much
    /// of the flash has failed that there is no room for that, the victim keeps the rest.
    pub(crate) fn begin_metadata(&mut self) {
        for die in (0..self.state.store.medium.geometry.die_count).map(DieId) {
            if let Some(victim) = self.state.collectors[die.index()].victim.filter(|_| self.state.space.free_blocks(die) == 0) {
                self.complete_collection(die, victim);
            }
        }
        let Store { medium, places, .. } = &mut self.state.store;
        places.forget_superseded(|ppn| medium.is_valid(ppn));
    }

    /// Moves the valid units of a victim to the frontiers that are open for them, and erases it, without simulating
    /// time.
    fn complete_collection(&mut self, die: DieId, victim: BlockId) {
        let is_complete = self.empty_untimed(die, victim);
        self.state.collectors[die.index()] = Collector::new(self.state.store.medium.geometry.units_per_program);
        if is_complete {
            self.state.store.medium.begin_erase(victim);
            self.end_erase(victim, ModeId(0));
        } else {
            self.state.store.medium.put_back(victim, BlockState::Closed);
        }
    }

    /// Moves the valid units of a block to the frontiers that are open for them, without simulating time. Returns false
    /// if there is no room for all of them.
    fn empty_untimed(&mut self, die: DieId, victim: BlockId) -> bool {
        let geometry = self.state.store.medium.geometry;
        let units: Vec<(Lpn, Ppn)> = self.current_units(victim).collect();
        let (of_map, of_user): (Vec<_>, Vec<_>) = units.into_iter().partition(|(lpn, _)| self.is_of_map(*lpn));
        let mode = self.derived.old_mode;
        for (units, own_stream) in [(of_user, self.relocation_stream(mode)), (of_map, self.map_stream())] {
            for program in units.chunks(geometry.units_per_program as usize) {
                let class = AllocationClass::Relocation;
                let own = Target { die, stream: own_stream, mode, class, plane: None, level: 0 };
                let (units, medium) = (geometry.units_per_program, &mut self.state.store.medium);
                let mut place = self.state.space.advance(medium, &own, units, SimTime::ZERO).map(|first| (first, own_stream));
                if place.is_none()
                    && let Some((stream, block)) = self.state.space.any_open(die, own_stream..own_stream + 1)
                {
                    let (mode, plane) = (ModeId(medium.block(block).mode()), Some(geometry.group_of(block)));
                    let other = Target { stream, mode, plane, ..own };
                    place = self.state.space.advance(medium, &other, units, SimTime::ZERO).map(|first| (first, stream));
                }
                let Some((first, stream)) = place else { return false };
                for (to, &(lpn, from)) in (first.0..).map(Ppn).zip(program) {
                    self.state.store.medium.invalidate(from);
                    self.state.store.set_code(lpn, encode(to));
                    self.state.store.place(lpn, to);
                }
                let bound = program.len() as u32;
                self.state.store.pad(Ppn(first.0 + bound), units - bound);
                self.state.store.medium.blocks.update(geometry.block_of(first), |record| record.programmed += 1);
                self.state.space.opened.clear();
                self.state.space.close_full(&mut self.state.store.medium, die, stream);
            }
        }
        true
    }

    /// Returns what remains if power is lost now, while these operations are under way. The drive itself goes on.
    pub fn remains(&self, interrupted: &[Interrupted]) -> std::io::Result<Remains> {
        let Store { medium, user_units, all_units, .. } = &self.state.store;
        let mode_units = self.derived.parameters.facts.block_units.clone();
        let mut store = Store::new(medium.geometry, *user_units, all_units - user_units, mode_units)?;
        self.state.store.copy_to(&mut store);
        store.medium.integrity.clone_from(&medium.integrity);
        store.medium.sets.clone_from(&medium.sets);
        let metadata = self.state.metadata.as_ref().expect("a drive that may lose power keeps metadata").copy()?;
        let journal = self.state.journal.as_ref().map(|journal| journal.copy().map(Box::new)).transpose()?;
        let paired = self.state.paired.as_ref().map(|paired| paired.after_loss());
        let defect = self.state.repairs.defect();
        let kept = Kept { store, metadata: Box::new(metadata), journal, rain: self.state.rain.clone(), paired, defect };
        Remains::of(kept, self.durable_elsewhere(), interrupted, Simulation::of(&self.state))
    }

    /// Returns what remains if power is lost now, while these operations are under way. Nothing else is left.
    pub fn into_remains(self, interrupted: &[Interrupted]) -> std::io::Result<Remains> {
        let (others, simulation) = (self.durable_elsewhere(), Simulation::of(&self.state));
        let defect = self.state.repairs.defect();
        let State { store, metadata, journal, rain, paired, .. } = self.state;
        let metadata = metadata.expect("a drive that may lose power keeps metadata");
        let paired = paired.map(|paired| paired.after_loss());
        let kept = Kept { store, metadata, journal, rain, paired, defect };
        Remains::of(kept, others, interrupted, simulation)
    }

    /// Returns the map values of the newest copies on flash of those units whose map entry names another one.
    fn durable_elsewhere(&self) -> BTreeMap<Lpn, u32> {
        let places = &self.state.store.places;
        let codes = places.entered().map(|lpn| (lpn, places.code_of(lpn)));
        codes
            .map(|(lpn, code)| (lpn, code, self.durable_code(code)))
            .filter(|(_, code, durable)| code != durable)
            .map(|(lpn, _, durable)| (lpn, durable))
            .collect()
    }

    /// Returns the map value of the newest copy on flash of a unit with this map value.
    pub(crate) fn durable_code(&self, code: u32) -> u32 {
        let Store { medium, .. } = &self.state.store;
        let mut code = code;
        loop {
            match decode(code) {
                Mapped::Nowhere => return 0,
                Mapped::Slot(slot) => code = self.state.writes.queue.units[slot].prior,
                Mapped::At(ppn) => {
                    let (block, unit) = medium.geometry.split(ppn);
                    if medium.geometry.program_of(unit) < u32::from(medium.block(block).programmed) {
                        return code;
                    }
                    let program = self.program_of(ppn);
                    let superseded = program.units[(ppn.0 - program.first.0) as usize].superseded;
                    code = if superseded == NO_PLACE { 0 } else { encode(Ppn(superseded)) };
                }
            }
        }
    }

    /// Returns the program, not completed, that a place belongs to.
    fn program_of(&self, ppn: Ppn) -> &ProgramUnit {
        let medium = &self.state.store.medium;
        let is_of = |program: &&ProgramUnit| (program.first.0..program.first.0 + program.bound as u32).contains(&ppn.0);
        let of_die = &medium.programs[medium.geometry.die_of(medium.geometry.block_of(ppn)).index()];
        let failed = self.state.repairs.unplaced().find(is_of);
        Some(of_die).filter(is_of).or(failed).expect("a program of the place is under way")
    }

    /// Rebuilds the state of a drive from what remains of it, on a new FTL of the same description.
    pub fn recover(&mut self, remains: Remains) -> Recovered {
        let Remains { store, paired, mut metadata, mut half_erased, torn_pages, durable, simulation, journal, rain, .. } =
            remains;
        (self.state.store, self.state.rain, self.state.paired) = (store, rain, paired);
        simulation.go_on(&mut self.state);
        let interrupted = half_erased.clone();
        half_erased.retain(|block| !self.state.store.medium.block(*block).is(BlockState::Area));
        let recorded = self.read_journal(journal.as_deref(), &mut metadata, &half_erased, remains.defect);
        let steps = match recorded.as_ref().filter(|recorded| !remains.searches_all && recorded.is_complete()) {
            Some(recorded) => self.find_by_journal(recorded, journal.as_deref(), &metadata, &half_erased),
            None => {
                let area = journal.as_deref().filter(|_| recorded.is_some()).map(|journal| self.rows_of_area(journal));
                let mut scanned = self.rows_with_data(&half_erased);
                self.find_newest(&metadata);
                self.add_rows_of_copies(&mut scanned);
                self.take_copies(&metadata);
                area.into_iter().chain([scanned]).collect()
            }
        };
        self.mark_current();
        let given_up = self.gain_free_blocks(&metadata, &half_erased);
        let durable_lost = self.count_lost_by(recorded.as_ref(), &durable, &mut metadata);
        self.rebuild_blocks(&metadata);
        if let Some(rain) = &mut self.state.rain {
            rain.go_on(&mut self.state.store.medium);
        }
        self.state.journal = journal;
        let lacks_journal = recorded.as_ref().is_some_and(|recorded| !recorded.is_complete());
        if let Some(recorded) = recorded {
            self.journal_goes_on(recorded, &metadata, &given_up);
        }
        self.state.metadata = Some(metadata);
        self.want_bad_blocks();
        for &block in half_erased.iter().chain(&given_up) {
            let die = self.state.store.medium.geometry.die_of(block);
            let erase_count = self.state.store.medium.erase_count(block);
            self.state.collectors[die.index()].want(RelocationRequest { block, erase_count, reason: Reason::Gc, urgent: true });
        }
        Recovered { steps, torn_pages, half_erased: interrupted, given_up, durable_lost, lacks_journal }
    }

    /// Returns the number of units for which the map names an older copy than the newest on flash, or none, or one that
    /// was trimmed. A copy may be newer than the drive knew: data that was written again while it waited in the write
    /// buffer is programmed all the same.
    fn count_lost(&self, durable: &Durable, metadata: &Metadata) -> u64 {
        let is_lost = |lpn: Lpn, code: u32, now: u32| match (decode(code), decode(now)) {
            (Mapped::At(known), Mapped::At(found)) => {
                let is_copy = metadata.source(known) == Some(found) || metadata.source(found) == Some(known);
                known != found && !is_copy && metadata.number(found) <= metadata.number(known)
            }
            (_, Mapped::At(found)) => !metadata.is_kept(lpn, metadata.number(found)),
            (known, _) => known != Mapped::Nowhere,
        };
        let places = &self.state.store.places;
        let mapped = places.differences(&durable.map).filter(|(lpn, ..)| !durable.others.contains_key(lpn));
        let lost = mapped.filter(|&(lpn, code, now)| is_lost(lpn, code, now)).count();
        let of_others = durable.others.iter().filter(|&(&lpn, &code)| is_lost(lpn, code, places.code_of(lpn))).count();
        (lost + of_others) as u64
    }

    /// Returns the rows that have to be read on each die to find all pages: in each block up to the first that is
    /// erased, or all.
    fn rows_with_data(&self, half_erased: &[BlockId]) -> Vec<Vec<RowsRead>> {
        let medium = &self.state.store.medium;
        let geometry = &medium.geometry;
        let rows_per_program = geometry.shape.pages_per_program;
        let of_block = |block: BlockId| {
            let record = medium.block(block);
            if half_erased.contains(&block) {
                return RowsRead { block, first: 0, rows: 1, whole: false };
            }
            let programs = medium.units_in(ModeId(record.mode())) / geometry.units_per_program;
            let further = u32::from(u32::from(record.programmed) < programs);
            let rows = u32::from(record.programmed) * rows_per_program + further;
            RowsRead { block, first: 0, rows, whole: false }
        };
        let is_read = |block: &BlockId| is_of_data(medium, *block);
        let dies = (0..geometry.die_count).map(DieId);
        dies.map(|die| geometry.blocks_of(die).map(BlockId).filter(is_read).map(of_block).collect()).collect()
    }

    /// Enters in the map, for each unit, the newest of its copies.
    fn find_newest(&mut self, metadata: &Metadata) {
        let Store { medium, places, .. } = &mut self.state.store;
        for block in (0..medium.geometry.block_count).map(BlockId).filter(|block| is_of_data(medium, *block)) {
            enter_newer(places, medium, metadata, (block, 0));
        }
        self.leave_what_is_gone(metadata, true);
        let places = &mut self.state.store.places;
        for lpn in metadata.trimmed_units() {
            places.leave_unit(lpn);
        }
    }

    /// Marks units as not mapped that have no entry, and are not where they were in the beginning: the block was
    /// erased, or, if `entered`, the place has an entry of its own.
    fn leave_what_is_gone(&mut self, metadata: &Metadata, entered: bool) {
        let Store { medium, places, .. } = &mut self.state.store;
        let geometry = medium.geometry;
        let Some(origin) = places.origin().cloned() else { return };
        // Units of the origin whose only entry is that they are where they were: unless that is gone.
        for block in (0..geometry.block_count).map(BlockId) {
            origin.each_stretch(block.0, |first, bits| {
                for ppn in (0..64).filter(|bit| bits >> bit & 1 == 1).map(|bit| Ppn(first.0 + bit)) {
                    if metadata.is_erased(block) || entered && !places.is_original(ppn) {
                        places.leave(ppn);
                    }
                }
            });
        }
    }

    /// Marks the places that the map names as valid, and counts them.
    fn mark_current(&mut self) {
        let Store { medium, places, .. } = &mut self.state.store;
        if let Some(origin) = places.origin() {
            mark_valid(&mut medium.valid, origin, medium.geometry.block_count);
            let moved = places.entered().take_while(|lpn| lpn.0 < origin.units());
            moved.filter_map(|lpn| origin.place_of(lpn)).for_each(|place| medium.set_valid(place, false));
        }
        places.entered().filter_map(|lpn| places.entered_place(lpn)).for_each(|place| medium.set_valid(place, true));
        medium.count_valid();
    }

    /// Takes the pages of the map as changed whose entries are newer than their copies on flash, where only a part of
    /// the map is in memory.
    pub fn note_outdated_pages(&mut self, out: &mut Outbox) {
        let (Some(cache), Some(metadata)) = (&self.state.map_cache, &self.state.metadata) else { return };
        let number = |lpn: Lpn| self.state.store.place_of(lpn).map_or(0, |ppn| metadata.number(ppn));
        let is_outdated = |page: &u32| {
            let place = self.state.store.place_of(cache.lpn_of(MapUnit::Page(*page)));
            let written = place.map_or(0, |ppn| metadata.page_number(ppn));
            cache.units_of(*page).map(Lpn).any(|lpn| number(lpn) > written || !metadata.is_kept(lpn, written))
        };
        let outdated: Vec<u32> = (0..cache.page_count()).filter(is_outdated).map(|page| cache.units_of(page).start).collect();
        outdated.into_iter().for_each(|first| self.map_changed(Lpn(first), out));
    }

    /// Gives each die that has no free block, and will have none by an erase that was interrupted, a block without
    /// data: one that has none, or one that can be given up. Returns these blocks.
    fn gain_free_blocks(&mut self, metadata: &Metadata, half_erased: &[BlockId]) -> Vec<BlockId> {
        let geometry = self.state.store.medium.geometry;
        let mut gained = Vec::new();
        for die in (0..geometry.die_count).map(DieId) {
            let mut blocks = geometry.blocks_of(die).map(BlockId);
            let is_free = |block: BlockId| self.state.store.medium.block(block).state() == BlockState::Free;
            let will_be = |block: BlockId| half_erased.contains(&block) || self.is_in_erased_set(block);
            if blocks.clone().any(|block| is_free(block) || will_be(block)) {
                continue;
            }
            let Some(block) = blocks.find(|&block| self.can_give_up(block, metadata)) else { continue };
            self.give_up(block, metadata);
            gained.push(block);
        }
        gained
    }

    /// Returns the units whose current copy a block holds, with their places.
    fn current_units(&self, block: BlockId) -> impl Iterator<Item = (Lpn, Ppn)> + '_ {
        let medium = &self.state.store.medium;
        let first = medium.geometry.first_of(block).0;
        let places = (first..first + medium.geometry.units_per_block).map(Ppn).filter(|&ppn| medium.is_valid(ppn));
        places.map(|ppn| (self.state.store.lpn_at(ppn), ppn))
    }

    /// Returns true if a block belongs to a set whose blocks were being erased.
    fn is_in_erased_set(&self, block: BlockId) -> bool {
        let set = self.state.store.medium.set_of(block);
        set.is_some_and(|set| self.state.rain.as_ref().is_some_and(|rain| rain.set(set).stage == Stage::Erasing))
    }

    /// Returns true if all current data of a block was moved there, and is still where it came from.
    fn can_give_up(&self, block: BlockId, metadata: &Metadata) -> bool {
        let medium = &self.state.store.medium;
        let is_source = |source: Ppn, lpn: Lpn, ppn: Ppn| {
            let (of, unit) = medium.geometry.split(source);
            let is_programmed = medium.geometry.program_of(unit) < u32::from(medium.block(of).programmed);
            let is_older = metadata.number(source) < metadata.number(ppn);
            let remains = of != block && !self.is_in_erased_set(of);
            remains && is_programmed && is_older && self.state.store.lpn_at(source) == lpn
        };
        let is_elsewhere = |(lpn, ppn): (Lpn, Ppn)| metadata.source(ppn).is_some_and(|source| is_source(source, lpn, ppn));
        let is_full = medium.block(block).state() == BlockState::Closed && !self.holds_parity(block);
        is_full && self.current_units(block).all(is_elsewhere)
    }

    /// Lets the map name the places from which the current data of a block came.
    fn give_up(&mut self, block: BlockId, metadata: &Metadata) {
        let units: Vec<(Lpn, Ppn)> = self.current_units(block).collect();
        let Store { medium, places, .. } = &mut self.state.store;
        if let (Some(rain), Some(set)) = (&mut self.state.rain, medium.set_of(block)) {
            rain.give_up(set, block, medium);
        }
        for (lpn, ppn) in units {
            let source = metadata.source(ppn).expect("the block can be given up");
            places.set_code(lpn, encode(source));
            medium.set_valid(ppn, false);
            medium.set_valid(source, true);
        }
        medium.count_valid();
    }

    /// Rebuilds the states of the blocks and the lists of free and of closed ones, these in the order of their last
    /// programs.
    fn rebuild_blocks(&mut self, metadata: &Metadata) {
        let medium = &mut self.state.store.medium;
        let geometry = medium.geometry;
        let is_closed = |block: &u32| medium.block(BlockId(*block)).state() == BlockState::Closed;
        let mut closed: Vec<u32> = (0..geometry.block_count).filter(is_closed).collect();
        let last = |block: BlockId| {
            let program = u32::from(medium.block(block).programmed) - 1;
            metadata.number(Ppn(geometry.first_of(block).0 + program * geometry.units_per_program))
        };
        closed.sort_by_key(|&block| (last(BlockId(block)), medium.first_program(BlockId(block)), block));
        // They are closed whatever their sets are.
        let sets = medium.sets.take();
        let is_whole = medium.restore_blocks(&closed, &[]);
        medium.sets = sets;
        assert!(is_whole, "a block without programs holds no data");
        medium.recount_wear();
        self.state.space.rebuild(medium, &*self.derived.wear_rule);
    }
}

/// Returns true if a block may hold data of the user.
fn is_of_data(medium: &Medium, block: BlockId) -> bool {
    !matches!(medium.block(block).state(), BlockState::Retired | BlockState::Spare | BlockState::Area)
}

/// Enters in the map the copies in a block, from one of its programs on, that are newer than those that are known.
fn enter_newer(places: &mut Places, medium: &Medium, metadata: &Metadata, (block, from): (BlockId, u32)) {
    let geometry = &medium.geometry;
    let first = geometry.first_of(block).0;
    let [from, end] = [from, u32::from(medium.block(block).programmed)].map(|program| program * geometry.units_per_program);
    for ppn in (first + from..first + end).map(Ppn) {
        let Some(lpn) = places.entered_unit(ppn) else { continue };
        let number = metadata.number(ppn);
        let is_newer = places.entered_place(lpn).is_none_or(|known| number >= metadata.number(known));
        if is_newer && metadata.is_kept(lpn, number) {
            places.set_code(lpn, encode(ppn));
        }
    }
}

impl Remains {
    /// Has the recovery search for all pages although there is a journal, for tests.
    #[doc(hidden)]
    pub fn search_all(&mut self) {
        self.searches_all = true;
    }

    /// Loses everything in a store that is not on flash. `others`: map values of the newest copies on flash that are
    /// not those in the map.
    fn of(
        Kept { mut store, mut metadata, mut journal, mut rain, paired, defect }: Kept,
        others: BTreeMap<Lpn, u32>,
        interrupted: &[Interrupted],
        simulation: Simulation,
    ) -> std::io::Result<Remains> {
        let geometry = store.medium.geometry;
        let torn_places = interrupted.iter().filter(|one| !one.erases).flat_map(|one| {
            let end = one.first.0 + geometry.units_per_program;
            (one.first.0..end).map(Ppn)
        });
        let torn_units = torn_places.filter_map(|ppn| Some((ppn, store.places.entered_unit(ppn)?))).collect();
        let medium = &mut store.medium;
        let blocks = |erases: bool| {
            let of_kind = interrupted.iter().filter(|one| one.erases == erases);
            of_kind.map(|one| geometry.block_of(one.first)).collect::<Vec<BlockId>>()
        };
        let (torn, half_erased) = (blocks(false), blocks(true));
        medium.lose_power(&torn, &half_erased)?;
        if paired.is_some() {
            paired::lose_wordlines(&mut store, interrupted);
        }
        for one in interrupted.iter().filter(|one| !one.erases) {
            store.pad(one.first, geometry.units_per_program);
        }
        for &block in &half_erased {
            store.pad(geometry.first_of(block), geometry.units_per_block);
            metadata.erased(block);
        }
        metadata.power_lost();
        if let Some(journal) = &mut journal {
            journal.lose_power(&store.medium);
        }
        if let Some(rain) = &mut rain {
            rain.lose_power(&mut store.medium, &torn, &half_erased);
        }
        let durable = Durable { map: store.places.lose_map()?, others };
        let torn_pages = interrupted.iter().filter(|one| !one.erases).map(|one| u64::from(one.pages)).sum();
        Ok(Remains {
            store,
            metadata,
            half_erased,
            torn_pages,
            durable,
            simulation,
            torn_units,
            journal,
            rain,
            paired,
            searches_all: false,
            defect,
        })
    }
}
