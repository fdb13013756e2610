//! The translation layer of a drive.

use super::contract::{Physical, Pulled, Recordable, Report, Translation, TurnEnd, Zoned};
use super::mapping::Mapping;
use super::page_map::executed::{Asks, CoresConfig, Executed, FirmwareProfile};
use super::page_map::ftl::{Ftl, Loaded};
use super::page_map::record::Recorder;
use super::pass_through::chunks::Chunks;
use super::zns::table::Table;
use crate::medium::Medium;
use crate::queue::{Buffered, Drain};
use kit::archive::{Archive, Archived, read_value, unreadable, write_value};
use kit::{
    CommandId, Demand, DieId, Ended, Events, HostCommand, HostUnit, Journal, Lpn, Nanos, Operation, Outbox, Ppn, Problem,
    ReadyDies, Record, SimTime, Status, Stored, Timer,
};
use std::io::{Read, Write};
use std::ops::Range;

/// The translation layer of a drive. The page map is a variant of its own, so that its calls are direct.
#[expect(clippy::large_enum_variant, reason = "a drive has one, and reaches the page map without a pointer")]
pub enum Translator {
    /// A map of mapping units.
    PageMap(Ftl),
    /// Another layer.
    Other(Other),
}

/// A layer other than the page map itself, by what it is beside a [`Translation`].
pub enum Other {
    /// Zones.
    Zoned(Box<dyn Zoned>),
    /// Physical addresses.
    Physical(Box<dyn Physical>),
    /// A layer that plays a firmware trace.
    Recordable(Box<dyn Recordable>),
    /// The page map, with a record of what it does.
    Recorded(Box<Recorder>),
    /// The page map, whose decisions firmware makes.
    Executed(Box<Executed>),
    /// Nothing else.
    Plain(Box<dyn Translation>),
}

impl Other {
    fn layer(&self) -> &dyn Translation {
        match self {
            Other::Zoned(layer) => &**layer,
            Other::Physical(layer) => &**layer,
            Other::Recordable(layer) => &**layer,
            Other::Recorded(layer) => &**layer,
            Other::Executed(layer) => &**layer,
            Other::Plain(layer) => &**layer,
        }
    }

    fn layer_mut(&mut self) -> &mut dyn Translation {
        match self {
            Other::Zoned(layer) => &mut **layer,
            Other::Physical(layer) => &mut **layer,
            Other::Recordable(layer) => &mut **layer,
            Other::Recorded(layer) => &mut **layer,
            Other::Executed(layer) => &mut **layer,
            Other::Plain(layer) => &mut **layer,
        }
    }
}

/// Methods of all layers ([`Translation`]).
impl Translator {
    /// Looks up the units of a host read ([`Translation::read`]).
    #[inline(always)]
    pub fn read(&mut self, command: CommandId, first: Lpn, count: u32, now: SimTime, out: &mut Outbox) -> u32 {
        match self {
            Translator::PageMap(map) => map.read(command, first, count, now, out),
            Translator::Other(other) => other.layer_mut().read(command, first, count, now, out),
        }
    }

    /// Accepts a unit of a host write ([`Translation::write`]).
    #[inline(always)]
    pub fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool {
        match self {
            Translator::PageMap(map) => map.write(unit, now, out),
            Translator::Other(other) => other.layer_mut().write(unit, now, out),
        }
    }

    /// Deallocates whole units ([`Translation::trim`]).
    pub fn trim(&mut self, first: Lpn, count: u32, now: SimTime, out: &mut Outbox) {
        match self {
            Translator::PageMap(map) => map.trim(first, count, now, out),
            Translator::Other(other) => other.layer_mut().trim(first, count, now, out),
        }
    }

    /// Changes the conditions under which waiting writes are programmed ([`Translation::drain`]).
    #[inline(always)]
    pub fn drain(&mut self, what: Drain, ready: &mut ReadyDies) {
        match self {
            Translator::PageMap(map) => map.drain(what, ready),
            Translator::Other(other) => other.layer_mut().drain(what, ready),
        }
    }

    /// Advances a shutdown ([`Translation::has_drained`]).
    pub fn has_drained(&mut self, now: SimTime, out: &mut Outbox) -> bool {
        match self {
            Translator::PageMap(map) => map.has_drained(now, out),
            Translator::Other(other) => other.layer_mut().has_drained(now, out),
        }
    }

    /// Returns what the layer has for a die that chooses its next operation ([`Translation::demand`]).
    #[inline(always)]
    pub fn demand(&self, die: DieId) -> Demand {
        match self {
            Translator::PageMap(map) => map.demand(die),
            Translator::Other(other) => other.layer().demand(die),
        }
    }

    /// Chooses the next operation of an idle die that can program ([`Translation::next`]). Returns its slot.
    #[inline(always)]
    pub fn next(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Option<u32> {
        match self {
            Translator::PageMap(map) => map.next(die, now, out),
            Translator::Other(other) => match other.layer_mut().next(die, true, now, out) {
                Pulled::Operation(slot) => Some(slot),
                Pulled::NeedsBuffer | Pulled::Nothing => None,
            },
        }
    }

    /// Chooses the next operation of an idle die without a page buffer for a program ([`Translation::next`]).
    pub fn next_without_buffer(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Pulled {
        match self {
            Translator::PageMap(map) => map.next_without_buffer(die, now, out),
            Translator::Other(other) => other.layer_mut().next(die, false, now, out),
        }
    }

    /// Records that a die has nothing to do ([`TurnEnd::Idle`]).
    #[inline(always)]
    pub fn set_idle(&mut self, die: DieId, now: SimTime, out: &mut Outbox) {
        match self {
            Translator::PageMap(map) => map.set_idle(die, now, &mut out.events),
            Translator::Other(other) => other.layer_mut().turn_ended(die, TurnEnd::Idle, now, out),
        }
    }

    /// Records that the last command in flight has completed.
    #[inline(always)]
    pub fn host_is_silent(&mut self, now: SimTime, events: &mut Events) {
        self.page_map_mut().into_iter().for_each(|map| map.host_is_silent(now, events));
    }

    /// Records that a die began an operation that was not pulled ([`TurnEnd::Started`]).
    #[inline(always)]
    pub fn die_started(&mut self, die: DieId, now: SimTime, out: &mut Outbox) {
        match self {
            Translator::PageMap(map) => map.die_started(die, &mut out.ready),
            Translator::Other(other) => other.layer_mut().turn_ended(die, TurnEnd::Started, now, out),
        }
    }

    /// Records that a die waits for a page buffer before its next program ([`TurnEnd::Starved`]).
    pub fn die_starved(&mut self, die: DieId, now: SimTime, out: &mut Outbox) {
        match self {
            Translator::PageMap(map) => map.die_starved(die, &mut out.ready),
            Translator::Other(other) => other.layer_mut().turn_ended(die, TurnEnd::Starved, now, out),
        }
    }

    /// Handles the end of a flash operation ([`Translation::operation_done`]).
    #[inline(always)]
    pub fn operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        match self {
            Translator::PageMap(map) => map.operation_done(ended, operation, now, out),
            Translator::Other(other) => other.layer_mut().operation_done(ended, operation, now, out),
        }
    }

    /// Handles the end of an encoder job for a die's collection ([`Translation::collection_encoded`]).
    pub fn collection_encoded(&mut self, die: DieId, now: SimTime, ready: &mut ReadyDies) {
        match self {
            Translator::PageMap(map) => map.collection_encoded(die, now, ready),
            Translator::Other(other) => other.layer_mut().collection_encoded(die, now, ready),
        }
    }

    /// Handles a timer ([`Translation::timer`]).
    pub fn timer(&mut self, timer: Timer, now: SimTime, out: &mut Outbox) {
        match self {
            Translator::PageMap(map) => map.timer(timer, now, out),
            Translator::Other(other) => other.layer_mut().timer(timer, now, out),
        }
    }

    /// Returns the counts that results are made from.
    pub fn report(&self) -> Report<'_> {
        match self {
            Translator::PageMap(map) => map.report(),
            Translator::Other(other) => other.layer().report(),
        }
    }

    /// Returns figures of the layer's own, by name, for results.
    pub fn figures(&self) -> Vec<(&'static str, f64)> {
        match self {
            Translator::PageMap(_map) => Vec::new(),
            Translator::Other(other) => other.layer().figures(),
        }
    }

    /// Returns the mapping unit whose data was written to a place; 0 if it holds none.
    #[inline(always)]
    pub fn unit_at(&self, ppn: Ppn) -> u32 {
        match self {
            Translator::PageMap(map) => map.unit_at(ppn),
            Translator::Other(other) => other.layer().unit_at(ppn),
        }
    }

    /// Returns the medium that the layer stands on.
    #[inline(always)]
    pub fn medium(&self) -> &Medium {
        match self {
            Translator::PageMap(map) => &map.state.store.medium,
            Translator::Other(other) => other.layer().medium(),
        }
    }

    /// Returns the condition of the data at a place, and counts a read of its block, which may be due to be scrubbed.
    /// Only where reads can fail.
    #[inline(always)]
    pub fn stored(&mut self, ppn: Ppn, now: SimTime, ready: &mut ReadyDies) -> Stored {
        match self {
            Translator::PageMap(map) => {
                let stored = map.state.store.medium.stored(ppn, now);
                map.count_read(ppn, stored.reads, ready);
                stored
            }
            Translator::Other(other) => other.layer_mut().medium_mut().stored(ppn, now),
        }
    }
}

/// State of a translation layer in a saved drive.
pub enum LoadedLayer {
    /// That of a page map. Its tables are already in the layer; the rest waits to be restored or taken over.
    PageMap(Box<Loaded>),
    /// That of another layer ([`Translation::state`]).
    Other(Vec<u8>),
}

/// Saving.
impl Translator {
    /// Writes the state of the layer of a drive at rest, at the instant `now`.
    pub fn save(&mut self, now: SimTime, to: &mut dyn Write) -> std::io::Result<()> {
        match self {
            Translator::PageMap(map) => map.save(to),
            Translator::Other(Other::Recorded(recorder)) => recorder.page_map_mut().save(to),
            Translator::Other(other) => {
                let mut archive = Archive::saving();
                let saved = other.layer_mut().state(&mut archive, now).and_then(|()| archive.finish());
                write_value(&saved.map_err(std::io::Error::other)?, to)
            }
        }
    }

    /// Reads a state that was saved by a drive with such a layer.
    pub fn load(&mut self, from: &mut dyn Read) -> Result<LoadedLayer, String> {
        match self.page_map_mut() {
            Some(map) => map.load(from).map(|loaded| LoadedLayer::PageMap(Box::new(loaded))),
            None => read_value(from).map(LoadedLayer::Other).map_err(unreadable),
        }
    }

    /// Restores the state of a layer of the same description, which is not a page map.
    pub fn restore(&mut self, state: &[u8], now: SimTime) -> Archived {
        let Translator::Other(other) = self else { unreachable!("a page map has a state of its own") };
        let mut archive = Archive::loading(state);
        other.layer_mut().state(&mut archive, now)?;
        archive.finish().map(drop)
    }

    /// Returns the units of the write buffer that a layer other than the page map holds.
    pub fn buffered(&self) -> Buffered {
        match self {
            Translator::PageMap(_) => Buffered::default(),
            Translator::Other(other) => other.layer().buffered(),
        }
    }
}

/// Methods of some layers.
impl Translator {
    /// Returns the layer, if it keeps a map.
    #[inline(always)]
    pub fn map(&self) -> Option<&dyn Mapping> {
        self.page_map().map(|map| map as &dyn Mapping)
    }

    /// Returns the page map, if that is the layer.
    #[inline(always)]
    pub fn page_map(&self) -> Option<&Ftl> {
        match self {
            Translator::PageMap(map) => Some(map),
            Translator::Other(Other::Recorded(recorder)) => Some(recorder.page_map()),
            Translator::Other(Other::Executed(layer)) => Some(layer.page_map()),
            Translator::Other(_) => None,
        }
    }

    /// Returns the page map for modification, if that is the layer.
    #[inline(always)]
    pub fn page_map_mut(&mut self) -> Option<&mut Ftl> {
        match self {
            Translator::PageMap(map) => Some(map),
            Translator::Other(Other::Recorded(recorder)) => Some(recorder.page_map_mut()),
            Translator::Other(Other::Executed(layer)) => Some(layer.page_map_mut()),
            Translator::Other(_) => None,
        }
    }

    /// Returns the zones of a drive that has any.
    pub fn zones(&self) -> Option<&Table> {
        if let Translator::Other(Other::Zoned(layer)) = self { Some(layer.zones()) } else { None }
    }

    /// Returns the layer of a drive with physical addresses.
    pub fn physical(&mut self) -> Option<&mut dyn Physical> {
        if let Translator::Other(Other::Physical(layer)) = self { Some(&mut **layer) } else { None }
    }

    /// Returns the chunks of a drive with physical addresses.
    pub fn chunks(&self) -> Option<&Chunks> {
        if let Translator::Other(Other::Physical(layer)) = self { Some(layer.chunks()) } else { None }
    }

    /// Returns true if commands are checked before they are served ([`Translator::check`]).
    pub fn checks_commands(&self) -> bool {
        matches!(self, Translator::Other(Other::Zoned(_) | Other::Physical(_)))
    }

    /// Checks a command as it is served, and lets it take effect on zones or chunks. Returns the first unit of an
    /// append's data, or the status with which the command fails.
    pub fn check(&mut self, id: CommandId, command: &HostCommand, now: SimTime, out: &mut Outbox) -> Result<Option<Lpn>, Status> {
        match self {
            Translator::Other(Other::Zoned(layer)) => layer.check(id, command, now, out),
            Translator::Other(Other::Physical(layer)) => layer.check(command).map(|()| None),
            _ => Ok(None),
        }
    }

    /// Returns the layer that records or plays a firmware trace.
    #[inline(always)]
    pub fn recordable(&mut self) -> Option<&mut dyn Recordable> {
        match self {
            Translator::PageMap(_) => None,
            Translator::Other(Other::Recordable(layer)) => Some(&mut **layer),
            Translator::Other(Other::Recorded(recorder)) => Some(&mut **recorder),
            Translator::Other(_) => None,
        }
    }

    /// Returns the reason why the layer cannot go on, if there is one: the run ends.
    pub fn failure(&self) -> Option<Problem> {
        match self {
            Translator::Other(Other::Recordable(layer)) => layer.failure(),
            Translator::Other(Other::Recorded(recorder)) => recorder.failure(),
            Translator::Other(Other::Executed(layer)) => layer.failure(),
            _ => None,
        }
    }

    /// Begins the drive's work in its starting state.
    pub fn begin(&mut self, now: SimTime, out: &mut Outbox) {
        match self {
            Translator::PageMap(map) => map.begin(now, out),
            Translator::Other(Other::Executed(layer)) => layer.begin(now, out),
            other => other.recordable().into_iter().for_each(|layer| layer.begin(now, out)),
        }
    }

    /// Returns the layer with a record of its operations ([`Recordable::take_lines`]), for an empty drive; another
    /// layer than the page map, executed or not, as it is.
    pub fn recorded(self) -> Translator {
        match self {
            Translator::PageMap(map) => Translator::Other(Other::Recorded(Box::new(Recorder::new(map)))),
            Translator::Other(Other::Executed(layer)) => Translator::Other(Other::Recorded(Box::new(Recorder::executing(layer)))),
            other => other,
        }
    }

    /// Returns the layer with a core that executes firmware, which makes its decisions; an error if the firmware does
    /// not fit.
    pub fn executing(self, config: &CoresConfig) -> Result<Translator, String> {
        match self {
            Translator::PageMap(map) => Ok(Translator::Other(Other::Executed(Box::new(Executed::new(map, config)?)))),
            Translator::Other(_) => Err("only the page map is executed".to_owned()),
        }
    }

    /// Handles an empty event queue while `commands` commands are in flight. Returns true if the layer fails for that
    /// reason.
    pub fn stalled(&mut self, commands: u64) -> bool {
        if let Translator::Other(Other::Executed(layer)) = self {
            return layer.stalled(commands);
        }
        self.recordable().is_some_and(|layer| layer.stalled(commands))
    }

    /// Returns the time for which the operation that a die has begun last waited after executed firmware had chosen it.
    pub fn delay(&self, die: DieId) -> Nanos {
        self.executed().map_or(Nanos::ZERO, |layer| layer.delay(die))
    }

    /// Returns what executed firmware has done; `None` if none is executed.
    pub fn firmware_profile(&self) -> Option<FirmwareProfile> {
        self.executed().map(Executed::profile)
    }

    fn executed(&self) -> Option<&Executed> {
        match self {
            Translator::Other(Other::Executed(layer)) => Some(layer),
            Translator::Other(Other::Recorded(recorder)) => recorder.executed(),
            _ => None,
        }
    }

    /// Returns true if a core executes firmware that makes the decisions.
    pub fn is_executed(&self) -> bool {
        self.executed().is_some()
    }

    /// Returns true if the layer's decisions take the time of a processor, which executes firmware or is played.
    pub fn takes_time(&self) -> bool {
        match self {
            Translator::Other(Other::Recordable(layer)) => layer.takes_time(),
            _ => self.is_executed(),
        }
    }

    /// Looks up a command's units where that takes a read of a map page, or the time of firmware. Returns true if it
    /// has been done. Otherwise the command waits; the handoff has it later, with the first unit that is not looked up.
    pub fn translate(&mut self, asks: Asks, units: Range<u32>, now: SimTime, out: &mut Outbox) -> bool {
        match self {
            Translator::Other(Other::Executed(layer)) => return layer.translate(asks, units, now, out),
            Translator::Other(Other::Recorded(recorder)) if recorder.executed().is_some() => {
                return recorder.translate(asks, units, now, out);
            }
            Translator::Other(Other::Recordable(layer)) => return layer.translate(asks, units, now, out),
            _ => {}
        }
        self.page_map_mut().is_none_or(|map| map.translate(asks.command, units, out))
    }

    /// Prefetches the table entries that commands on these units will need. Simulated state does not change.
    #[inline(always)]
    pub fn hint(&mut self, units: &[Lpn], writes: bool) {
        self.page_map_mut().into_iter().for_each(|map| map.hint(units, writes));
    }

    /// Returns true if an operation of the layer waits for reads of the die that are held back.
    #[inline(always)]
    pub fn waits_for_reads(&self, die: DieId) -> bool {
        self.page_map().is_some_and(|map| map.waits_for_reads(die))
    }

    /// Returns the places that a read covers, if they are not successive: a collection reads the valid units of a row.
    #[inline(always)]
    pub fn places_of(&self, operation: &Operation) -> Option<&[Ppn]> {
        self.page_map()?.places_of(operation)
    }

    /// Returns true if the data at any place is lost.
    #[inline(always)]
    pub fn has_lost(&self) -> bool {
        self.page_map().is_some_and(Ftl::has_lost)
    }

    /// Handles places that the read of `operation` could not correct.
    pub fn read_failed(&mut self, operation: &Operation, places: &[Ppn], journal: &mut Journal) {
        for &ppn in places {
            journal.note(|| Record::Uncorrectable { ppn, owner: operation.owner });
        }
        self.page_map_mut().into_iter().for_each(|map| map.read_failed(operation, places));
    }

    /// Returns true if a read, which could be corrected, delivers data that was lost before.
    pub fn delivers_lost(&mut self, operation: &Operation) -> bool {
        self.page_map_mut().is_some_and(|map| map.delivers_lost(operation))
    }
}
