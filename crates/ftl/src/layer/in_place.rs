//! A medium without erase, written in place: the place of a unit is computed, not looked up.

mod placement;

use super::contract::{Pulled, Report, TurnEnd};
use super::{Kind, Other, Parts, Translation, Translator};
use crate::config::{FtlSection, PartialWrite, ReadInFlight};
use crate::counters::FtlCounters;
use crate::medium::Medium;
use crate::medium::counts::Counts;
use crate::parameters::Parameters;
use crate::queue::host::HostWrites;
use crate::queue::order::{WriteAllocation, places};
use crate::queue::{Buffered, Drain, Writer};
use kit::archive::{Archive, Archived, require};
use kit::{
    CommandId, Demand, DieId, Ended, Geometry, HostUnit, Ledger, Lpn, ModeId, Operation, Outbox, Owner, Part, Ppn, Problems,
    ReadSource, ReadyDies, Reason, Record, SimTime,
};
use placement::{Move, Placement, places_per_die};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// No unit.
const NONE: u32 = u32::MAX;
/// Each die takes the writes of its own places.
const ANY: fn(DieId) -> bool = |_| true;
/// Most places of a region: a sum of two lines must fit 32 bits.
const MAX_PLACES: u32 = 1 << 31;

/// For a medium without erase: a write programs its page where it is. There is no map, no erase and no collection.
/// Units are pages of the medium, from 256 B to 4 KiB, striped over the dies in allocation order, so that successive
/// units are on successive channels.
///
/// Start-gap (Qureshi et al., MICRO 2009) levels the wear: each region of a die has one place more than lines, the gap,
/// and after each `gap_interval` writes to the region the line before the gap moves into it, for one read and one
/// program of the die. No policy, and no starting state other than that of a new drive. A trim leaves
/// the data as it is. See `docs/models/rram_drives.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Host writes to a region between two moves of its gap. 100 is the value of the paper: 1 % more writes.
    #[schemars(range(min = 1, max = 4_000_000_000_u32))]
    pub gap_interval: u32,
    /// Places of a region, one of them the gap: a divisor of the pages of a die. Absent: all pages of a die. A line
    /// stays where it is for about `gap_interval` times this number of writes to the region.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2, max = 2_147_483_648_u32))]
    pub region_pages: Option<u32>,
    /// True: a fixed random permutation of the lines of each die, a Feistel network, precedes start-gap, so that lines
    /// which are written often are not neighbours. It changes no time, only which line wears; off, so that the place of
    /// a unit follows from its number by hand.
    pub randomize: bool,
    /// True: the data of a host read is collected in the controller's memory and crosses the host link as one
    /// transaction, once its last unit has arrived. False: each unit crosses the link by itself.
    pub reassemble: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { gap_interval: 100, region_pages: None, randomize: false, reassemble: false }
    }
}

/// Builds the member.
pub fn build(params: &Params, (): ()) -> Box<dyn Kind> {
    Box::new(params.clone())
}

impl Params {
    fn region_places(&self, geometry: &Geometry) -> u32 {
        self.region_pages.unwrap_or_else(|| places_per_die(geometry))
    }

    /// Returns the number of lines, which have one place less than there are in each region.
    pub(crate) fn lines(&self, geometry: &Geometry) -> u64 {
        let places = self.region_places(geometry).max(2);
        let regions = places_per_die(geometry) / places;
        u64::from(geometry.die_count) * u64::from(regions) * u64::from(places - 1)
    }
}

impl Kind for Params {
    fn create(&self, parts: Parts<'_>) -> std::io::Result<Translator> {
        Ok(Translator::Other(Other::Plain(Box::new(InPlace::new(self, parts)?))))
    }

    fn lacks(&self) -> Option<&'static str> {
        Some("it computes the places of the data and keeps no map")
    }

    fn blocks_needed(&self) -> Option<u32> {
        Some(1)
    }

    fn max_units(&self, geometry: &Geometry) -> Option<u64> {
        Some(self.lines(geometry))
    }

    fn writes_in_place(&self) -> bool {
        true
    }

    fn reassembles(&self) -> bool {
        self.reassemble
    }

    fn drive_problems(&self, config: &FtlSection, geometry: &Geometry, problems: &mut Problems) {
        if geometry.units_per_program != 1 {
            let what = "writes in place, page by page: expected a flash.page_size of at most 4KiB, flash.one_shot = false and \
                        flash.multi_plane = false (flash.native_page describes planes that work as one)";
            problems.add("ftl.translation", what);
        }
        if config.write_allocation != WriteAllocation::Static {
            let what = "the place of a write follows from its address: expected \"static\" with ftl.translation = \"in_place\"";
            problems.add("ftl.write_allocation", what);
        }
        let (places, region) = (places_per_die(geometry), self.region_places(geometry));
        if !(2..=MAX_PLACES).contains(&region) || !places.is_multiple_of(region) {
            let what = format!("{region}: expected a divisor of {places}, the pages of a die, from 2 to {MAX_PLACES}");
            problems.add("ftl.translation.region_pages", what);
        }
    }
}

/// State of a die.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Die {
    /// Unit that is being programmed, by the host or by a move; `NONE` without one.
    programming: u32,
    /// The move whose line has been, or is being, read and is not being programmed yet.
    moving: Option<Moving>,
    /// Regions that owe a move, in order.
    owed: VecDeque<u32>,
    /// Places that reads have been issued for and not sensed yet.
    reads: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Moving {
    made: Move,
    is_read: bool,
}

/// The layer.
struct InPlace {
    parameters: Parameters,
    partial_write: PartialWrite,
    read_in_flight: ReadInFlight,
    gap_interval: u32,
    counters: FtlCounters,
    placement: Placement,
    writes: HostWrites,
    /// Slot of each unit in the write buffer.
    buffered: Counts,
    dies: Vec<Die>,
    /// The programs that the dies execute, and the writes of each place, those of moves included. Pages are programmed
    /// again and again, so that blocks have no states.
    medium: Medium,
    moves: u64,
    mode: ModeId,
    read_mode: ModeId,
}

impl InPlace {
    fn new(params: &Params, parts: Parts<'_>) -> std::io::Result<InPlace> {
        let Parts { config, parameters, starting, .. } = parts;
        let geometry = parameters.geometry;
        let places = places(config.allocation_order, &geometry);
        let writes = HostWrites::new(WriteAllocation::Static, &places, 1, parameters.buffering);
        let die_at = (0..geometry.die_count as usize).map(|rank| writes.idle.die_at(rank)).collect();
        let die = Die { programming: NONE, moving: None, owed: VecDeque::new(), reads: Vec::new() };
        let (mode, read_mode) = parameters.facts.normal_modes();
        let key = params.randomize.then_some(parameters.seed);
        let mut medium = Medium::new(geometry, parameters.facts.block_units.clone())?;
        medium.count_page_writes(mode, starting.pe_cycles, starting.age);
        Ok(InPlace {
            partial_write: config.partial_write,
            read_in_flight: config.read_in_flight,
            gap_interval: params.gap_interval,
            counters: FtlCounters::default(),
            placement: Placement::new(&geometry, die_at, params.region_places(&geometry), key),
            writes,
            buffered: Counts::new(),
            dies: vec![die; geometry.die_count as usize],
            medium,
            moves: 0,
            mode,
            read_mode,
            parameters,
        })
    }

    /// Issues a read of a place that a command waits for, directly or to complete a write.
    #[inline]
    fn push_read(&mut self, die: DieId, place: Ppn, reason: Reason, owner: Owner, out: &mut Outbox) {
        self.dies[die.index()].reads.push(place.0);
        out.read(self.medium.read_at(place, self.read_mode, reason, owner));
    }

    /// Checks the dies and the waiting units of a saved drive, and finds the units of the write buffer.
    fn restore(&mut self) -> Archived {
        for (die, state) in (0..).map(DieId).zip(&self.dies) {
            let is_own = |region: &u32| self.placement.die_of_region(*region) == Some(die);
            let moves =
                |one: &Moving| one.is_read && is_own(&one.made.region) && one.made == self.placement.next_move(one.made.region);
            let is_sound = state.programming == NONE
                && state.reads.is_empty()
                && state.owed.iter().all(is_own)
                && state.moving.as_ref().is_none_or(moves);
            require(is_sound, || format!("die {} is in no state of a drive at rest: {state:?}", die.0))?;
        }
        for (die, slot) in self.writes.waiting() {
            let lpn = self.writes.queue.units[slot].lpn;
            let is_own = self.placement.die_of(lpn).index() == die && self.buffered.get(lpn.0).is_none();
            require(is_own, || format!("unit {} waits twice, or for die {die}, which is not its own", lpn.0))?;
            *self.buffered.entry(lpn.0) = slot;
        }
        self.counters.check()
    }

    /// Returns the source of a unit's data: the write buffer, the controller or its place.
    #[inline]
    fn resolve(&mut self, lpn: Lpn, die: DieId, place: Ppn) -> ReadSource {
        if self.buffered.len() > 0
            && let Some(slot) = self.buffered.get(lpn.0)
        {
            self.counters.buffer_hits += 1;
            return ReadSource::Buffer(slot);
        }
        if self.dies[die.index()].programming == lpn.0 && self.read_in_flight == ReadInFlight::Buffer {
            self.counters.reads_in_flight += 1;
            return ReadSource::Controller(place);
        }
        ReadSource::Flash(place)
    }

    /// Adds a complete unit to the write queue of its die.
    fn enqueue(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        let die = self.placement.die_of(self.writes.queue.units[slot].lpn);
        let list = self.writes.push(slot, Some(die), now, out);
        if self.parameters.buffering.longest_first {
            self.writes.wake_for_all(ANY, &mut out.ready);
        } else {
            self.writes.wake_for(list, ANY, &mut out.ready);
        }
    }

    /// Returns the slot of the program of the oldest waiting unit of a die, at the unit's own place.
    fn program_host(&mut self, die: DieId, slot: u32, now: SimTime, out: &mut Outbox) -> u32 {
        let unit = &self.writes.queue.units[slot];
        let (lpn, writer) = (unit.lpn, unit.writer);
        let ppn = self.placement.place_of(lpn);
        self.medium.programs[die.index()].bind_host(slot, (ppn, self.mode), &mut self.writes.queue, now, out);
        if writer == Writer::Buffer {
            self.buffered.remove(lpn.0);
        }
        if let Some(region) = self.placement.written(ppn, self.gap_interval) {
            self.dies[die.index()].owed.push_back(region);
        }
        self.program(die, Reason::Host, lpn, ppn, out)
    }

    fn program(&mut self, die: DieId, reason: Reason, lpn: Lpn, ppn: Ppn, out: &mut Outbox) -> u32 {
        // A line that moves keeps its code.
        let encode = u32::from(reason == Reason::Host && self.parameters.facts.codes[self.mode.index()] != 0);
        self.dies[die.index()].programming = lpn.0;
        self.medium.page_written(ppn);
        self.counters.count_program(reason, self.mode, 1, 1);
        let (block, program) = self.medium.geometry.split(ppn);
        out.operations.add(self.medium.program_at(block, program, self.mode, reason, encode))
    }

    /// Returns the slot of the next operation of a die's moves; `None` if none can be made now. While a line is on its
    /// way to the gap, the die programs nothing else, so that the line is not written meanwhile.
    fn next_of_moves(&mut self, die: DieId, out: &mut Outbox) -> Option<u32> {
        let state = &mut self.dies[die.index()];
        if let Some(Moving { made, .. }) = state.moving {
            state.moving = None;
            let Move { region, from, to, lpn } = made;
            self.placement.moved(region);
            self.moves += 1;
            let mode = self.mode;
            out.journal.note(|| Record::Relocated { lpn, from, to, reason: Reason::Wear, mode });
            self.medium.programs[die.index()].bind_moved(1);
            return Some(self.program(die, Reason::Wear, lpn, to, out));
        }
        let made = self.placement.next_move(*state.owed.front()?);
        state.owed.pop_front();
        state.moving = Some(Moving { made, is_read: false });
        Some(out.operations.add(self.medium.read_at(made.from, self.read_mode, Reason::Wear, Owner::Collector)))
    }

    /// Returns true if the die's next operation belongs to a move. A gap that reads still wait for keeps its old data
    /// until they have sensed it; host writes come first then.
    fn moves_next(&self, die: DieId) -> bool {
        let state = &self.dies[die.index()];
        let is_free = |&region: &u32| !state.reads.contains(&self.placement.next_move(region).to.0);
        state.moving.is_some() || state.owed.front().is_some_and(is_free)
    }

    fn sensed(&mut self, operation: &Operation, out: &mut Outbox) {
        let reads = &mut self.dies[operation.die.index()].reads;
        let at = reads.iter().position(|place| *place == operation.first.0).expect("a read is entered when it is issued");
        reads.swap_remove(at);
        if !self.dies[operation.die.index()].owed.is_empty() {
            out.ready.mark(operation.die);
        }
        out.journal.note(|| Record::ReadSensed { ppn: operation.first, owner: operation.owner });
    }
}

impl Translation for InPlace {
    fn read(&mut self, command: CommandId, first: Lpn, count: u32, _now: SimTime, out: &mut Outbox) -> u32 {
        let (mut parts, mut at_once) = (0, 0);
        for lpn in (first.0..first.0 + count).map(Lpn) {
            let (die, place) = (self.placement.die_of(lpn), self.placement.place_of(lpn));
            let source = self.resolve(lpn, die, place);
            out.journal.note(|| Record::ReadResolved { command, lpn, source });
            if let ReadSource::Flash(place) = source {
                parts += 1;
                self.push_read(die, place, Reason::Host, Owner::Command(command), out);
            } else {
                at_once += 1;
            }
        }
        if at_once > 0 {
            parts += 1;
            out.handoff.parts.push(Part { command, ledger: Ledger::default(), units: at_once, is_lost: false });
        }
        parts
    }

    fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool {
        let HostUnit { lpn, whole, buffered, .. } = *unit;
        self.counters.host_units += 1;
        if let (Some(number), Some(slot)) = (buffered, self.buffered.get(lpn.0)) {
            self.counters.absorbed += 1;
            self.writes.absorb(slot, (unit, number), now, out);
            self.writes.program_soon(slot, unit, ANY, &mut out.ready);
            return false;
        }
        let slot = self.writes.accept(unit, now, out);
        if buffered.is_some() {
            *self.buffered.entry(lpn.0) = slot;
        } else if self.writes.queue.follows(slot, whole, now) {
            return false;
        }
        let die = self.placement.die_of(lpn);
        let is_here = self.dies[die.index()].programming == lpn.0;
        let is_complete = whole || is_here || self.partial_write == PartialWrite::Whole;
        if is_complete {
            self.enqueue(slot, now, out);
        } else {
            self.writes.queue.begin_fill(slot, now);
            let place = self.placement.place_of(lpn);
            self.push_read(die, place, Reason::Rmw, Owner::PartialRead(slot), out);
        }
        self.writes.program_soon(slot, unit, ANY, &mut out.ready);
        is_complete
    }

    fn trim(&mut self, _first: Lpn, count: u32, _now: SimTime, _out: &mut Outbox) {
        self.counters.trimmed_units += u64::from(count);
    }

    fn drain(&mut self, what: Drain, ready: &mut ReadyDies) {
        self.writes.drain(what, ANY, ready);
    }

    fn has_drained(&mut self, _now: SimTime, out: &mut Outbox) -> bool {
        out.signals.queued_write_pages == 0
    }

    fn next(&mut self, die: DieId, may_program: bool, now: SimTime, out: &mut Outbox) -> Pulled {
        let is_read = self.dies[die.index()].moving.map(|moving| moving.is_read);
        if is_read == Some(false) {
            return Pulled::Nothing;
        }
        let moves = self.moves_next(die);
        let programs = is_read.is_some() || !moves && self.writes.may_pull(die);
        if programs && !may_program {
            return Pulled::NeedsBuffer;
        }
        let slot = if moves {
            self.next_of_moves(die, out)
        } else if programs {
            self.writes.take(die).map(|slot| self.program_host(die, slot, now, out))
        } else {
            None
        };
        let Some(slot) = slot else { return Pulled::Nothing };
        if !moves && self.parameters.buffering.longest_first {
            self.writes.wake_for_all(ANY, &mut out.ready);
        }
        self.writes.idle.remove(die);
        Pulled::Operation(slot)
    }

    fn operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        match operation.owner {
            Owner::ProgramUnit => {
                self.dies[operation.die.index()].programming = NONE;
                let block = self.medium.geometry.block_of(operation.first);
                ended.expect_done(operation);
                out.journal.note(|| Record::Programmed { block, first: operation.first, count: 1 });
                self.medium.report_units(ended, operation.die, &mut self.writes.queue, out);
            }
            Owner::PartialRead(waiting) => {
                self.sensed(operation, out);
                let followers = self.writes.queue.end_fill(waiting, now);
                [waiting].into_iter().chain(followers).for_each(|slot| self.enqueue(slot, now, out));
            }
            Owner::Collector => {
                let moving = self.dies[operation.die.index()].moving.as_mut();
                moving.expect("a move is under way until it is programmed").is_read = true;
                out.journal.note(|| Record::ReadSensed { ppn: operation.first, owner: operation.owner });
                out.ready.mark(operation.die);
            }
            Owner::Command(_) => self.sensed(operation, out),
            _ => {}
        }
    }

    fn report(&self) -> Report<'_> {
        Report { counters: &self.counters, free_blocks: None }
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        let (writes, pages, most) = self.medium.page_writes();
        vec![
            ("gap_moves", self.moves as f64),
            ("page_writes", writes as f64),
            ("pages_written", pages as f64),
            ("most_page_writes", f64::from(most)),
        ]
    }

    fn demand(&self, die: DieId) -> Demand {
        // A die that moves a line takes no write.
        let takes = self.dies[die.index()].moving.is_none();
        Demand { urgent_move: false, oldest_write: self.writes.oldest(die).filter(|_| takes) }
    }

    fn turn_ended(&mut self, die: DieId, end: TurnEnd, _now: SimTime, _out: &mut Outbox) {
        self.writes.idle.set(die, end == TurnEnd::Idle);
    }

    fn unit_at(&self, ppn: Ppn) -> u32 {
        self.placement.unit_at(ppn).map_or(0, |lpn| lpn.0)
    }

    fn state(&mut self, archive: &mut Archive<'_>, now: SimTime) -> Archived {
        let facts = &self.parameters.facts;
        self.medium.state(archive, now, (facts.write_modes.len(), facts.erase_modes.len()))?;
        self.writes.state(archive, facts.user_units, now)?;
        self.placement.state(archive, self.gap_interval)?;
        archive.value(&mut self.counters)?;
        archive.value(&mut self.moves)?;
        archive.list(&mut self.dies, "dies")?;
        if archive.is_loading() { self.restore() } else { Ok(()) }
    }

    fn buffered(&self) -> Buffered {
        self.writes.buffered()
    }

    fn medium(&self) -> &Medium {
        &self.medium
    }

    fn medium_mut(&mut self) -> &mut Medium {
        &mut self.medium
    }
}
