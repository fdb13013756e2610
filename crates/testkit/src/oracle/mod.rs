//! The oracle: a shadow model of the data in a drive.
//!
//! Every host write of a unit is a *version*; a trim creates no version. The oracle tracks which version every logical
//! unit, place and buffer slot holds, follows the journal record by record, and reports as a violation what a correct
//! drive cannot do. Time is counted in *steps*: submissions and completions, as the host sees them.
//!
//! The rule for reads: a read returns a version that was not superseded when the read was submitted. A version is
//! superseded if another write of its unit was submitted after the version had completed, and has completed itself.

mod audit;
mod commands;
mod data;
mod durability;
mod faults;
mod loss;
mod paired;
mod parity;
mod power;
mod rules;

pub use audit::Counts;

use commands::InFlight;
use drive::{Description, Drive};
use durability::Promises;
use kit::{CommandId, Geometry, Lpn, Ppn, Record, SimTime};
use power::PowerWatch;
use rules::{Data, Rules};
use std::collections::{BTreeMap, BTreeSet};

/// An action or state that is impossible in a correct drive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl Violation {
    /// Returns true if the drive does nothing more although commands are in flight: right where it has no room.
    pub(crate) fn is_stall(&self) -> bool {
        self.0.starts_with("stalled")
    }
}

/// Result of a check.
pub type Check = Result<(), Violation>;

/// Returns a violation unless `holds`.
pub(crate) fn ensure(holds: bool, complaint: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(Violation(complaint())) }
}

/// Location of the newest bound or buffered data of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Location {
    #[default]
    Nowhere,
    At(Ppn),
    Slot(u32),
}

/// A logical unit.
#[derive(Clone, Debug, Default)]
struct Unit {
    location: Location,
    /// Latest submission among the completed writes and trims of this unit \[step\].
    floor: u64,
    /// Latest completion of a trim \[step\]; 0 if the unit held nothing at the beginning.
    emptied: Option<u64>,
    trims_in_flight: u32,
}

/// Progress of a version towards flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// In the controller, in no buffer slot and not bound.
    Waiting,
    /// In a buffer slot.
    InSlot,
    /// Bound to a place whose program has not completed.
    Bound,
    /// Programmed.
    Durable,
    /// Replaced or trimmed in its buffer slot.
    Replaced,
}

/// One write of one unit.
#[derive(Clone, Copy, Debug)]
struct Version {
    lpn: Lpn,
    completed: Option<u64>,
    progress: Progress,
    loss: Loss,
    /// Number of its binding among those of all versions; 0 if it is not bound.
    bound: u64,
    /// The version that took its place in the write buffer, or is in a later slot of it.
    successor: Option<u32>,
    /// Number of the trim by which it was dropped from the write buffer.
    trimmed: Option<u64>,
}

impl Version {
    /// Returns a version that is new, or was there at the start.
    fn new(lpn: Lpn, progress: Progress, completed: Option<u64>) -> Version {
        Version { lpn, completed, progress, loss: Loss::Intact, bound: 0, successor: None, trimmed: None }
    }
}

/// Integrity of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Loss {
    #[default]
    Intact,
    /// The records do not tell: of several partial writes of a unit that wait without a write buffer, one could not be
    /// completed.
    Unknown,
    Lost,
}

/// Content of a place.
#[derive(Clone, Copy, Debug)]
struct Content {
    lpn: Lpn,
    version: u32,
    /// Older copy, which may be erased once this one is programmed.
    supersedes: Option<Ppn>,
    loss: Loss,
}

/// A place: the location of one mapping unit in flash.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    content: Option<Content>,
    programmed: bool,
    /// Number of newer copies that are bound and not yet programmed.
    successors_pending: u32,
    /// Number of host reads that were resolved to this place and have not sensed it yet.
    reads: u32,
}

/// A block (erase unit).
#[derive(Clone, Copy, Debug, Default)]
struct Block {
    next_bind: u32,
    next_program: u32,
    /// True if the block must be erased before it is written again.
    sealed: bool,
    erases: u32,
    /// True if nothing is known of it: it was not erased since the start of a drive that does not know its blocks.
    unknown: bool,
}

/// A slot of the write buffer.
#[derive(Clone, Copy, Debug)]
struct Slot {
    lpn: Lpn,
    version: u32,
    prior: Option<Ppn>,
    loss: Loss,
    /// True if a later write of the whole unit has replaced the data.
    replaced_whole: bool,
    /// True if a later write of the unit is in another slot.
    is_obsolete: bool,
}

/// Shadow model of one drive.
#[derive(Clone)]
pub struct Oracle {
    geometry: Geometry,
    rules: Rules,
    waits_for_program: bool,
    is_buffered: bool,
    /// True if a unit that is written again takes a slot of its own.
    appends: bool,
    /// True if the drive keeps parity across dies.
    has_parity: bool,
    /// True if a write is on flash when it completes, although there is a buffer.
    writes_through: bool,
    suspends: bool,
    marked_mode: Option<kit::ModeId>,
    /// Logical units: those of the user, and those of map pages and journal.
    units: Vec<Unit>,
    user_units: u32,
    /// True for each page of the map of which an entry has changed since the page was bound to its place; empty if the
    /// whole map is in memory.
    stale_pages: Vec<bool>,
    page_entries: u32,
    places: Vec<Place>,
    blocks: Vec<Block>,
    slots: Vec<Option<Slot>>,
    /// The version of each unit of which the read cache took a copy last.
    copies: BTreeMap<u32, u32>,
    versions: Vec<Version>,
    /// The version to which the last read was resolved.
    resolved: Option<u32>,
    commands: Vec<Option<InFlight>>,
    by_tag: BTreeMap<u32, CommandId>,
    /// Acknowledged versions that are not on flash. A flush must wait for them.
    volatile: BTreeSet<u32>,
    promises: Promises,
    /// Number of the last version that was bound.
    last_bound: u64,
    step: u64,
    bus_free: Vec<SimTime>,
    /// Spans of each die: the last one, and where operations are suspended all before it that are not within another.
    die_spans: Vec<Vec<(SimTime, SimTime)>>,
    /// Instant from which the array of each die is at rest.
    array_free: Vec<SimTime>,
    baseline: audit::Baseline,
    /// Counts of the events in the journal.
    pub counts: Counts,
    /// Number of units that waited in the write buffer when the drive was last saved.
    carried: u64,
    /// Dies that are lost, with the step in which they were.
    lost_dies: BTreeMap<kit::DieId, u64>,
    /// Programs of the map's journal and its checkpoint that are under way, with their units.
    journal_programs: BTreeMap<Ppn, u32>,
    /// Programs of parity, and the programs that they cover.
    parity: parity::Parity,
    /// Blocks of which a program or the erase has failed.
    bad: BTreeSet<kit::BlockId>,
    /// Watch over the cap on the power; `None` without a cap.
    power: Option<PowerWatch>,
}

impl Oracle {
    /// Creates the shadow of a drive in its starting state, before its first command. The drive's data is taken over if
    /// its tables are consistent.
    pub fn attach(drive: &Drive, description: &Description) -> Result<Oracle, Violation> {
        let geometry = description.geometry();
        let (dies, rules, map) = (geometry.die_count as usize, Rules::of(drive, description), drive.translator().map());
        let user_units = map.map_or(drive.user_bytes() / drive.unit().bytes(), |map| map.user_units());
        let mut oracle = Oracle {
            waits_for_program: description.ftl.read_in_flight == ftl::ReadInFlight::Wait,
            appends: description.buffer.rewritten != Default::default(),
            has_parity: description.ftl.rain.is_some(),
            is_buffered: description.buffer.units(drive.unit()) > 0,
            writes_through: description.buffer.units(drive.unit()) > 0 && !drive.acknowledges_in_buffer(),
            suspends: description.flash.suspension.is_some(),
            marked_mode: map.and_then(|map| map.policy().marked_mode()),
            units: vec![Unit { emptied: Some(0), ..Unit::default() }; map.map_or(user_units, |map| map.all_units()) as usize],
            user_units: user_units as u32,
            stale_pages: vec![false; map.map_or(0, |map| map.map_pages()) as usize],
            page_entries: description.ftl.map_cache.as_ref().map_or(1, |cache| cache.page_entries),
            places: vec![Place::default(); geometry.unit_count() as usize],
            blocks: vec![Block { unknown: !rules.knows_blocks, ..Block::default() }; geometry.block_count as usize],
            slots: Vec::new(),
            copies: BTreeMap::new(),
            versions: Vec::new(),
            resolved: None,
            commands: Vec::new(),
            by_tag: BTreeMap::new(),
            volatile: BTreeSet::new(),
            promises: Promises::default(),
            last_bound: 0,
            step: 0,
            bus_free: vec![SimTime::ZERO; geometry.shape.channels as usize],
            die_spans: vec![Vec::new(); dies],
            array_free: vec![SimTime::ZERO; dies],
            baseline: audit::Baseline::of(drive),
            counts: Counts::default(),
            carried: 0,
            lost_dies: BTreeMap::new(),
            journal_programs: BTreeMap::new(),
            parity: parity::Parity::default(),
            bad: BTreeSet::new(),
            power: PowerWatch::of(drive, description),
            geometry,
            rules,
        };
        oracle.take_over(drive)?;
        oracle.promise_all();
        Ok(oracle)
    }

    /// Returns the number of the last version, which has just been accepted.
    pub(crate) fn last_version(&self) -> u32 {
        self.versions.len() as u32 - 1
    }

    /// Returns the version to which the last read was resolved; `None` if its unit holds nothing.
    pub(crate) fn resolved(&self) -> Option<u32> {
        self.resolved
    }

    /// Returns the version that a unit has on flash; `None` if it has none there.
    pub(crate) fn version_on_flash(&self, lpn: Lpn) -> Option<u32> {
        match self.units[lpn.index()].location {
            Location::At(ppn) => self.places[ppn.index()].content.map(|content| content.version),
            Location::Nowhere | Location::Slot(_) => None,
        }
    }

    /// Moves the shadow to another drive, which was loaded from the file that the first drive saved at rest. Every unit
    /// must be at its old place. A partly or fully programmed block that is not open must be erased before it is
    /// written again.
    pub fn move_to(&mut self, drive: &Drive) -> Check {
        self.agree_on_places(drive)?;
        for (id, block) in (0..).map(kit::BlockId).zip(&mut self.blocks) {
            let is_open = drive.medium().block(id).state() == ftl::BlockState::Open;
            block.sealed = self.rules.data == Data::Mapped && block.next_program > 0 && !is_open;
        }
        if self.rules.data == Data::Placed {
            self.find_slots(drive)?;
        }
        let waiting = self.waiting();
        self.count_anew(drive, waiting)?;
        self.audit(drive, true)
    }

    /// Begins to watch the dies and channels of another drive, and to count anew, with `waiting` units in its write
    /// buffer.
    fn count_anew(&mut self, drive: &Drive, waiting: u64) -> Check {
        self.bus_free.fill(drive.now());
        self.die_spans.fill(vec![(drive.now(), drive.now())]);
        self.array_free.fill(drive.now());
        if let Some(power) = &mut self.power {
            power.check()?;
            power.clear();
        }
        self.carried = waiting;
        self.counts = Counts::default();
        self.baseline = audit::Baseline::of(drive);
        Ok(())
    }

    /// Finds the units of the write buffer, which a drive without a map keeps in other slots once it is loaded.
    fn find_slots(&mut self, drive: &Drive) -> Check {
        let held = std::mem::take(&mut self.slots);
        let units = drive.translator().buffered().units;
        for &(slot, lpn, _) in &units {
            let Location::Slot(before) = self.units[lpn.index()].location else {
                return ensure(false, || format!("{lpn:?} waits, and it was not in the write buffer"));
            };
            if self.slots.len() <= slot as usize {
                self.slots.resize(slot as usize + 1, None);
            }
            self.slots[slot as usize] = held[before as usize];
            self.units[lpn.index()].location = Location::Slot(slot);
        }
        let before = held.iter().flatten().count();
        ensure(units.len() == before, || format!("{} units wait, and {before} did", units.len()))
    }

    /// Returns the number of units that were accepted and are neither bound, replaced in the buffer, nor trimmed.
    fn waiting(&self) -> u64 {
        let counts = &self.counts;
        self.carried + counts.accepted - counts.absorbed - counts.dropped - counts.bound
    }

    /// Follows one record.
    pub fn record(&mut self, record: &Record) -> Check {
        self.follow(record).map_err(|Violation(why)| Violation(format!("{record:?}: {why}")))
    }

    fn follow(&mut self, record: &Record) -> Check {
        if let Some(power) = &mut self.power {
            power.follow(record);
        }
        match *record {
            Record::SubmittedAgain { command } => self.submitted_again(command),
            Record::WriteAccepted { command, lpn } => self.write_accepted(command, lpn),
            Record::Bound { lpn, ppn, command, .. } => self.bound(lpn, ppn, command),
            Record::BoundFromBuffer { slot, lpn, ppn, .. } => self.bound_from_buffer(slot, lpn, ppn),
            Record::ObsoleteBound { slot, lpn, ppn, is_current } => self.obsolete_bound(slot, lpn, ppn, is_current),
            Record::MapBound { lpn, ppn, reason, .. } => self.map_bound(lpn, ppn, reason),
            Record::Relocated { lpn, from, to, reason, .. } => self.relocated(lpn, from, to, reason),
            Record::Buffered { command, lpn, slot } => self.buffered(command, lpn, slot),
            Record::Programmed { block, first, count } => self.programmed(block, first, count),
            Record::ProgramFailed { block, first, count } => self.program_failed(block, first, count),
            Record::BoundAgain { from, to, .. } => self.bound_again(from, to),
            Record::Erased { block } => self.erased(block),
            Record::Retired { block } => self.retired(block),
            Record::Protected { parity, data } => self.protected(parity, data),
            Record::Restoring { restoration, first, count } => self.restoring(restoration, first, count),
            Record::RestoringRead { restoration, first } => self.restoring_read(restoration, first),
            Record::RestorationFailed { restoration } => self.restoration_failed(restoration),
            Record::Restored { restoration } => self.restored(restoration),
            Record::JournalBound { first, units } => self.journal_bound(first, units),
            Record::BackedUp { lpn, from, to } => self.backed_up(lpn, from, to),
            Record::EraseFailed { block } => {
                self.bad.insert(block);
                Ok(())
            }
            Record::DieLost { die } => {
                self.lost_dies.entry(die).or_insert(self.step);
                Ok(())
            }
            Record::ReadResolved { command, lpn, source } => self.read_resolved(command, lpn, source),
            Record::ReadSensed { ppn, owner } => self.read_sensed(ppn, owner),
            Record::Uncorrectable { ppn, owner } => self.uncorrectable(ppn, owner),
            Record::Dropped { command, lpn } => self.dropped(command, lpn),
            Record::DroppedFromBuffer { slot, lpn } => self.dropped_from_buffer(slot, lpn),
            Record::Reset { first, count } => self.reset(first, count),
            Record::Trimmed { lpn } => self.trimmed(lpn),
            Record::Cached { lpn, ppn } => self.cached(lpn, ppn),
            Record::DieSpan { die, begin, end, .. } => self.die_span(die.index(), begin, end),
            Record::ArraySpan { die, begin, end, .. } => span(&mut self.array_free[die.index()], begin, end),
            Record::BusSpan { channel, begin, end, .. } => span(&mut self.bus_free[channel.index()], begin, end),
        }
    }

    fn die_span(&mut self, die: usize, begin: SimTime, end: SimTime) -> Check {
        let spans = &mut self.die_spans[die];
        // Operations for which this one was suspended began after it.
        while self.suspends && spans.last().is_some_and(|&(other, _)| other > begin) {
            spans.pop();
        }
        let mut free = spans.last().map_or(SimTime::ZERO, |&(_, end)| end);
        span(&mut free, begin, end)?;
        if !self.suspends {
            spans.clear();
        }
        spans.push((begin, end));
        Ok(())
    }
}

/// Checks that a resource serves one operation at a time: a span begins when the span before has ended.
fn span(free: &mut SimTime, begin: SimTime, end: SimTime) -> Check {
    ensure(*free <= begin && begin <= end, || format!("the resource was free from {free:?} on"))?;
    *free = end;
    Ok(())
}
