//! A medium without erase, written in place: the place of a unit is computed, not looked up.

mod counts;
mod placement;

use super::{Kind, Parts, Report, Translation, Translator, medium};
use crate::config::{FtlConfig, PartialWrite, ReadInFlight, WriteAllocation, places};
use crate::ftl::{FtlCounters, Parameters, Pulled};
use crate::idle::IdleDies;
use crate::medium::Medium;
use crate::medium::program::{NO_PLACE, UnitKind};
use crate::precondition::Preconditioned;
use crate::writes::{Gate, WriteQueue, Writer};
use counts::Counts;
use kit::{
    CommandId, Demand, DieId, Ended, Events, Geometry, HostUnit, Ledger, Lpn, ModeId, Operation, OperationKind, Outbox, Owner,
    Part, Ppn, Problems, ReadSource, ReadyDies, Reason, Record, SimTime, Stored, Timer,
};
use placement::{Move, Placement, places_per_die};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// No unit.
const NONE: u32 = u32::MAX;
/// Most places of a region: a sum of two lines must fit 32 bits.
const MOST_PLACES: u32 = 1 << 31;

/// For a medium without erase: a write programs its page where it is. There is no map, no erase and no collection.
/// Units are pages of the medium, from 256 B to 4 KiB, striped over the dies in allocation order, so that successive
/// units are on successive channels.
///
/// Start-gap (Qureshi et al., MICRO 2009) levels the wear: each region of a die has one place more than lines, the gap,
/// and after each `gap_interval` writes to the region the line before the gap moves into it, for one read and one
/// program of the die. No policy, no starting state other than that of a new drive, and no saved state. A trim leaves
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
        Ok(Translator::Other(Box::new(InPlace::new(self, parts)?)))
    }

    fn lacks(&self) -> Option<&'static str> {
        Some("it computes the places of the data and keeps no map")
    }

    fn blocks_needed(&self) -> Option<u32> {
        Some(1)
    }

    fn most_units(&self, geometry: &Geometry) -> Option<u64> {
        Some(self.lines(geometry))
    }

    fn writes_in_place(&self) -> bool {
        true
    }

    fn reassembles(&self) -> bool {
        self.reassemble
    }

    fn drive_problems(&self, config: &FtlConfig, geometry: &Geometry, problems: &mut Problems) {
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
        if !(2..=MOST_PLACES).contains(&region) || !places.is_multiple_of(region) {
            let what = format!("{region}: expected a divisor of {places}, the pages of a die, from 2 to {MOST_PLACES}");
            problems.add("ftl.translation.region_pages", what);
        }
    }
}

/// State of a die.
#[derive(Clone, Debug)]
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

#[derive(Clone, Copy, Debug)]
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
    user_units: u64,
    counters: FtlCounters,
    placement: Placement,
    writes: WriteQueue,
    /// Slot of each unit in the write buffer.
    buffered: Counts,
    gate: Gate,
    idle: IdleDies,
    dies: Vec<Die>,
    /// The programs that the dies execute. Pages are programmed again and again, so that blocks have no states.
    medium: Medium,
    /// Writes of each place, those of moves included.
    wear: Counts,
    moves: u64,
    mode: ModeId,
    read_mode: ModeId,
    starting: Preconditioned,
}

impl InPlace {
    fn new(params: &Params, parts: Parts<'_>) -> std::io::Result<InPlace> {
        let Parts { config, parameters, starting, .. } = parts;
        let geometry = parameters.geometry;
        let idle = IdleDies::new(&places(config.allocation_order, &geometry));
        let die_at = (0..geometry.die_count as usize).map(|rank| idle.die_at(rank)).collect();
        let die = Die { programming: NONE, moving: None, owed: VecDeque::new(), reads: Vec::new() };
        let mode = parameters.facts.write_mode("normal");
        let key = params.randomize.then_some(parameters.seed);
        Ok(InPlace {
            partial_write: config.partial_write,
            read_in_flight: config.read_in_flight,
            gap_interval: params.gap_interval,
            user_units: config.user_units(&geometry),
            counters: FtlCounters::default(),
            placement: Placement::new(&geometry, die_at, params.region_places(&geometry), key),
            writes: WriteQueue::new(geometry.die_count as usize),
            buffered: Counts::new(),
            gate: Gate::default(),
            idle,
            dies: vec![die; geometry.die_count as usize],
            medium: medium(&parameters, &starting)?,
            wear: Counts::new(),
            moves: 0,
            mode,
            read_mode: parameters.facts.read_mode_of.get(mode.index()).copied().unwrap_or_default(),
            starting,
            parameters,
        })
    }

    fn operation(&self, kind: OperationKind, reason: Reason, die: DieId, first: Ppn, owner: Owner) -> Operation {
        let mode = if kind == OperationKind::Read { self.read_mode } else { self.mode };
        let (_, unit) = self.parameters.geometry.split(first);
        let page_type = self.parameters.geometry.page_type_of(unit);
        Operation { kind, reason, die, first, units: 1, pages: 1, page_type, mode, encode: 0, skipped: 0, owner }
    }

    /// Issues a read of a place that a command waits for, directly or to complete a write.
    #[inline]
    fn push_read(&mut self, die: DieId, place: Ppn, reason: Reason, owner: Owner, out: &mut Outbox) {
        self.dies[die.index()].reads.push(place.0);
        out.read(self.operation(OperationKind::Read, reason, die, place, owner));
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

    fn may_pull(&self, die: DieId) -> bool {
        self.writes.may_pull(die.index(), 1, &self.gate, &self.parameters.buffering)
    }

    fn wake_for_writes(&self, ready: &mut ReadyDies) {
        (0..self.dies.len()).filter(|&die| self.writes.len(die) > 0).for_each(|die| ready.mark(DieId(die as u32)));
    }

    /// Adds a complete unit to the write queue of its die.
    fn enqueue(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        let die = self.placement.die_of(self.writes.units[slot].lpn);
        out.signals.queued_write_pages += 1;
        self.writes.push(die.index(), slot, now, &out.signals.clock);
        if self.parameters.buffering.longest_first {
            self.wake_for_writes(&mut out.ready);
        } else if self.may_pull(die) && self.idle.contains(die) {
            out.ready.mark(die);
        }
    }

    /// Replaces a unit that waits in the write buffer.
    fn absorb(&mut self, unit: &HostUnit, number: u64, slot: u32, now: SimTime, out: &mut Outbox) {
        let HostUnit { command, lpn, whole, durable, stalled, .. } = *unit;
        self.counters.absorbed += 1;
        self.writes.units[slot].absorb(whole);
        let renews = self.parameters.buffering.renews && self.writes.units[slot].number > self.gate.flush_until;
        out.tray.released.push(if renews { self.writes.renew(slot, number) } else { number });
        out.journal.note(|| Record::Buffered { command, lpn, slot });
        if durable {
            self.writes.wait_for(slot, command, stalled, now, &out.signals.clock);
            self.program_soon(slot, &mut out.ready);
        }
    }

    /// Has a unit of the write buffer programmed for which a command waits, with the units before it.
    fn program_soon(&mut self, slot: u32, ready: &mut ReadyDies) {
        let number = self.writes.units[slot].number;
        if self.parameters.buffering.waits_to_fill && number > self.gate.flush_until {
            self.flush(number, ready);
        }
    }

    /// Returns the slot of the program of the oldest waiting unit of a die, at the unit's own place.
    fn program_host(&mut self, die: DieId, slot: u32, now: SimTime, out: &mut Outbox) -> u32 {
        let unit = &self.writes.units[slot];
        let (lpn, writer, last, mode) = (unit.lpn, unit.writer, unit.last, self.mode);
        out.signals.queued_write_pages -= 1;
        out.signals.queued_write_requests -= u64::from(last);
        self.medium.programs[die.index()].bind(NO_PLACE).take(slot, &mut self.writes, now, &out.signals.clock);
        let ppn = self.placement.place_of(lpn);
        match writer {
            Writer::Command(command) => out.journal.note(|| Record::Bound { lpn, ppn, command, mode }),
            Writer::Buffer => {
                self.buffered.remove(lpn.0);
                out.journal.note(|| Record::BoundFromBuffer { slot, lpn, ppn, mode });
            }
        }
        self.writes.units.release(slot);
        self.counters.host_units_by_mode[mode.index()] += 1;
        if let Some(region) = self.placement.written(ppn, self.gap_interval) {
            self.dies[die.index()].owed.push_back(region);
        }
        self.program(die, Reason::Host, lpn, ppn, out)
    }

    fn program(&mut self, die: DieId, reason: Reason, lpn: Lpn, ppn: Ppn, out: &mut Outbox) -> u32 {
        // A line that moves keeps its code.
        let encode = u32::from(reason == Reason::Host && self.parameters.facts.codes[self.mode.index()] != 0);
        self.dies[die.index()].programming = lpn.0;
        *self.wear.entry(ppn.0) += 1;
        self.counters.units_programmed[reason as usize] += 1;
        self.counters.units_by_mode[self.mode.index()] += 1;
        let operation = self.operation(OperationKind::Program, reason, die, ppn, Owner::ProgramUnit);
        out.operations.add(Operation { encode, ..operation })
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
            self.medium.programs[die.index()].bind(NO_PLACE).kind = UnitKind::Moved;
            return Some(self.program(die, Reason::Wear, lpn, to, out));
        }
        let made = self.placement.next_move(*state.owed.front()?);
        state.owed.pop_front();
        state.moving = Some(Moving { made, is_read: false });
        Some(out.operations.add(self.operation(OperationKind::Read, Reason::Wear, die, made.from, Owner::Collector)))
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
            out.tray.parts.push(Part { command, ledger: Ledger::default(), units: at_once, is_lost: false });
        }
        parts
    }

    fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool {
        let HostUnit { command, lpn, whole, last, buffered, durable, stalled } = *unit;
        self.counters.host_units += 1;
        out.journal.note(|| Record::WriteAccepted { command, lpn });
        if let (Some(number), Some(slot)) = (buffered, self.buffered.get(lpn.0)) {
            self.absorb(unit, number, slot, now, out);
            return false;
        }
        let writer = if buffered.is_some() { Writer::Buffer } else { Writer::Command(command) };
        let slot = self.writes.accept(lpn, writer, last);
        out.signals.queued_write_requests += u64::from(last);
        if let Some(number) = buffered {
            self.writes.units[slot].number = number;
            *self.buffered.entry(lpn.0) = slot;
            if durable {
                self.writes.wait_for(slot, command, stalled, now, &out.signals.clock);
            }
            out.journal.note(|| Record::Buffered { command, lpn, slot });
        }
        if buffered.is_none() && self.writes.follows(slot, whole, now) {
            return false;
        }
        let die = self.placement.die_of(lpn);
        let is_here = self.dies[die.index()].programming == lpn.0;
        let is_complete = whole || is_here || self.partial_write == PartialWrite::Whole;
        if is_complete {
            self.enqueue(slot, now, out);
        } else {
            self.writes.begin_fill(slot, now);
            let place = self.placement.place_of(lpn);
            self.push_read(die, place, Reason::Rmw, Owner::PartialRead(slot), out);
        }
        if durable && buffered.is_some() {
            self.program_soon(slot, &mut out.ready);
        }
        is_complete
    }

    fn trim(&mut self, _first: Lpn, count: u32, _now: SimTime, _out: &mut Outbox) {
        self.counters.trimmed_units += u64::from(count);
    }

    fn flush(&mut self, until: u64, ready: &mut ReadyDies) {
        self.gate.flush_until = until;
        self.wake_for_writes(ready);
    }

    fn next(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        if self.dies[die.index()].moving.is_some_and(|moving| !moving.is_read) {
            return None;
        }
        let slot = if self.moves_next(die) {
            self.next_of_moves(die, out)?
        } else {
            if !self.may_pull(die) {
                return None;
            }
            let slot = self.writes.pop(die.index())?;
            let slot = self.program_host(die, slot, now, out);
            if self.parameters.buffering.longest_first {
                self.wake_for_writes(&mut out.ready);
            }
            slot
        };
        self.idle.remove(die);
        Some(slot)
    }

    fn next_without_buffer(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Pulled {
        let is_read = self.dies[die.index()].moving.map(|moving| moving.is_read);
        let programs = match is_read {
            Some(is_read) => is_read,
            None => !self.moves_next(die) && self.may_pull(die),
        };
        if programs {
            return Pulled::NeedsBuffer;
        }
        self.next(die, now, out).map_or(Pulled::Nothing, Pulled::Operation)
    }

    fn operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        match operation.owner {
            Owner::ProgramUnit => {
                self.dies[operation.die.index()].programming = NONE;
                let block = self.parameters.geometry.block_of(operation.first);
                out.journal.note(|| Record::Programmed { block, first: operation.first, count: 1 });
                ended.expect_done(operation);
                self.medium.report_units(ended, operation.die, &mut self.writes, out);
            }
            Owner::PartialRead(waiting) => {
                self.sensed(operation, out);
                let followers = self.writes.end_fill(waiting, now);
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

    fn timer(&mut self, timer: Timer, _now: SimTime, _out: &mut Outbox) {
        unreachable!("the layer arms no timer, {timer:?}")
    }

    fn report(&self) -> Report<'_> {
        Report { counters: &self.counters, free_blocks: None, page_map: None }
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        let (written, most) = self.wear.values().fold((0u64, 0), |(sum, most), count| (sum + u64::from(count), most.max(count)));
        vec![
            ("gap_moves", self.moves as f64),
            ("page_writes", written as f64),
            ("pages_written", self.wear.len() as f64),
            ("most_page_writes", f64::from(most)),
        ]
    }

    fn user_units(&self) -> u64 {
        self.user_units
    }

    fn demand(&self, die: DieId) -> Demand {
        // A die that moves a line takes no write.
        let takes = self.dies[die.index()].moving.is_none();
        Demand { urgent_move: false, oldest_write: self.writes.oldest(die.index()).filter(|_| takes) }
    }

    fn die_started(&mut self, die: DieId, _now: SimTime, _ready: &mut ReadyDies) {
        self.idle.remove(die);
    }

    fn die_starved(&mut self, die: DieId, now: SimTime, ready: &mut ReadyDies) {
        self.die_started(die, now, ready);
    }

    fn set_idle(&mut self, die: DieId, _now: SimTime, _events: &mut Events) {
        self.idle.insert(die);
    }

    fn hold_writes(&mut self, holds: bool, ready: &mut ReadyDies) {
        if std::mem::replace(&mut self.gate.holds, holds) && !holds {
            self.wake_for_writes(ready);
        }
    }

    fn unit_at(&self, ppn: Ppn) -> u32 {
        self.placement.unit_at(ppn).map_or(0, |lpn| lpn.0)
    }

    fn stored(&mut self, ppn: Ppn, now: SimTime) -> Stored {
        self.stored_unread(ppn, now)
    }

    fn stored_unread(&self, ppn: Ppn, now: SimTime) -> Stored {
        let writes = self.starting.pe_cycles.saturating_add(self.wear.get(ppn.0).unwrap_or(0));
        Stored {
            block: self.parameters.geometry.block_of(ppn),
            mode: self.mode,
            wear_thousandths: writes.saturating_mul(1000),
            erase_count: writes,
            // The oldest that the data can be: the instants of single writes are not kept.
            age: kit::Nanos(self.starting.age.0.saturating_add(now.0)),
            reads: 0,
        }
    }

    fn begin_shutdown(&mut self, until: u64, ready: &mut ReadyDies) {
        self.gate.is_open = true;
        self.flush(until, ready);
        ready.mark_all();
    }

    fn has_shut_down(&mut self, _now: SimTime, out: &mut Outbox) -> bool {
        out.signals.queued_write_pages == 0
    }

    fn end_shutdown(&mut self) {
        self.gate.is_open = false;
    }
}
