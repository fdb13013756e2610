//! Replay of a firmware trace in place of a translation layer.

use super::contract::{Pulled, Recordable, Report, TurnEnd};
use super::page_map::executed::Asks;
use super::{Kind, Other, Parts, Translation, Translator, medium};
use crate::config::PartialWrite;
use crate::counters::FtlCounters;
use crate::firmware::{
    self, Action, Answer, Asked, Entry, Fate, Header, Processed, RoomAt, Sense, Taken, Trace, UnitName, follows_reads, in_words,
};
use crate::medium::Medium;
use crate::parameters::Parameters;
use crate::queue::host::HostWrites;
use crate::queue::order::places;
use crate::queue::{Buffered, Drain, Writer};
use kit::archive::{Archive, Archived, require};
use kit::queue::Class;
use kit::{
    BlockId, Cause, CommandId, Demand, DieId, Encoding, Ended, Event, Events, Geometry, HostUnit, Ledger, Lpn, Nanos, Op,
    Operation, OperationKind, Outbox, Owner, Part, Ppn, Problem, Problems, ReadyDies, Reason, Record, SimTime, Timer, Translated,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// Replays a firmware trace, which `ssdlab run --record-firmware` or the simulator of a processor has written
/// (docs/reference/firmware_trace.md): each host command is answered with the flash operations that the file has for
/// it, and each die executes its operations in the order of the file. Everything else is simulated, so that the same
/// firmware can be run on another controller or with other times of the flash. The geometry and the workload must be
/// those of the file.
///
/// There is no policy, no retention limit and no stored error. The "offline" mode of the thesis on
/// SSDExplorer (1.3.1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The firmware trace.
    pub file: String,
    /// The content of the file.
    #[serde(skip)]
    #[schemars(skip)]
    trace: Option<Arc<Trace>>,
}

/// Builds the member.
pub fn build(params: &Params, (): ()) -> Box<dyn Kind> {
    Box::new(params.clone())
}

impl Params {
    /// Reads the trace from `text`, the content of the file.
    pub fn read(&mut self, text: &str, geometry: &Geometry, header: &Header) -> Result<(), Problems> {
        self.trace = Some(Arc::new(firmware::parse(&self.file, text, geometry, header)?));
        Ok(())
    }
}

impl Kind for Params {
    fn create(&self, parts: Parts<'_>) -> std::io::Result<Translator> {
        let trace = self.trace.clone().ok_or_else(|| std::io::Error::other("the firmware trace has not been read"))?;
        Ok(Translator::Other(Other::Recordable(Box::new(Replay::new(trace, parts)?))))
    }

    fn lacks(&self) -> Option<&'static str> {
        Some("it keeps no map of the data")
    }

    fn knows_age(&self) -> bool {
        false
    }

    fn plays_processor(&self) -> bool {
        self.trace.as_ref().is_some_and(|trace| trace.processor.is_some())
    }
}

/// State of a die.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct ReplayedDie {
    /// Index of the next entry, and of that of the last operation.
    next: usize,
    last: usize,
    /// Instant from which the next entry's processing time counts: the die was idle or asked for an operation, and all
    /// that the entry needs was there.
    begins: Option<SimTime>,
    idle_since: Option<SimTime>,
    /// Reads of collections, and encodings, that are under way.
    data_under_way: u32,
    timer_at: Option<SimTime>,
    /// Blocks whose data the program in progress supersedes.
    supersedes: Vec<u32>,
    has_room: bool,
    is_urgent: bool,
    /// Changes of the urgency, and of the space for host data, that are to come.
    urgency: VecDeque<(SimTime, bool)>,
    room: VecDeque<(SimTime, bool)>,
    /// Instant at which a processor has chosen the next entry, or will have.
    decided: Option<SimTime>,
}

/// Command that waits for its answer from a processor.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    command: CommandId,
    /// First unit that is not asked for.
    end: Lpn,
    processed: Processed,
    /// Instant at which it is due.
    due: SimTime,
    /// Instant of its answer, once its time on the core is fixed.
    decided: Option<SimTime>,
}

/// State of a unit of a host write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum UnitState {
    Expected,
    /// In this slot of the write queue; false while the part that the host did not write is read.
    Waits(u32, bool),
    Gone,
}

fn is_program(action: &Action) -> bool {
    matches!(action, Action::Operation { operation, .. } if operation.kind == OperationKind::Program)
}

/// The layer.
struct Replay {
    trace: Arc<Trace>,
    parameters: Parameters,
    partial_write: PartialWrite,
    counters: FtlCounters,
    writes: HostWrites,
    dies: Vec<ReplayedDie>,
    /// The programs that the dies execute, and pins: reads and superseding programs under way for each block. Blocks
    /// have no states, because the file does not have those of its start.
    medium: Medium,
    /// State of the units of all writes, and the units in the slots of the write queue.
    units: Vec<UnitState>,
    slots: Vec<UnitName>,
    /// Number of the next command, and of the command in each slot of the host's table.
    next: u32,
    commands: Vec<u32>,
    /// Logical unit at the first place of each operation.
    first_units: BTreeMap<u32, u32>,
    played: u64,
    waited: Nanos,
    processor: Cores,
    failure: Option<Problem>,
}

/// Cores that make the decisions of a trace with cycles.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cores {
    /// Instant of the last decision of each core.
    busy_until: Vec<SimTime>,
    /// Number of the next question of a command.
    next: u32,
    #[serde(skip)]
    waiting: Vec<Waiting>,
    busy: Nanos,
}

impl Cores {
    /// Fixes the end of a decision that is due: a core makes one at a time. Returns it.
    fn decide(&mut self, processed: Processed, due: SimTime) -> SimTime {
        let until = &mut self.busy_until[processed.core as usize];
        *until = due.max(*until + processed.time);
        let decided = *until;
        self.count(processed, decided)
    }

    /// Counts the time of a decision. Returns its end.
    fn count(&mut self, processed: Processed, decided: SimTime) -> SimTime {
        self.busy += processed.time;
        decided
    }
}

impl Replay {
    fn new(trace: Arc<Trace>, parts: Parts<'_>) -> std::io::Result<Replay> {
        let Parts { config, parameters, starting, .. } = parts;
        let geometry = parameters.geometry;
        let places = places(config.allocation_order, &geometry);
        let die = |has_room: &bool| ReplayedDie { has_room: *has_room, ..ReplayedDie::default() };
        Ok(Replay {
            partial_write: config.partial_write,
            counters: FtlCounters::default(),
            writes: HostWrites::new(config.write_allocation, &places, geometry.units_per_program, parameters.buffering),
            dies: trace.has_room.iter().map(die).collect(),
            medium: medium(&parameters, &starting)?,
            units: vec![UnitState::Expected; trace.fates.len()],
            slots: Vec::new(),
            next: 0,
            commands: Vec::new(),
            first_units: BTreeMap::new(),
            played: 0,
            waited: Nanos::ZERO,
            processor: Cores {
                busy_until: vec![SimTime::ZERO; trace.processor.map_or(0, |processor| processor.cores as usize)],
                ..Cores::default()
            },
            failure: None,
            parameters,
            trace,
        })
    }

    /// Checks the dies and the waiting units of a saved drive.
    fn check(&self) -> Archived {
        for (die, (state, entries)) in self.dies.iter().zip(&self.trace.dies).enumerate() {
            let is_sound = state.next <= entries.len() && state.data_under_way == 0 && state.supersedes.is_empty();
            require(is_sound, || format!("die {die} is in no state of a drive at rest: {state:?}"))?;
        }
        let commands = self.trace.commands.len();
        require(self.next as usize <= commands, || format!("it played {} commands of {commands}", self.next))?;
        let waiting = self.writes.waiting();
        for (_, slot) in &waiting {
            let name = self.slots.get(*slot as usize);
            let unit = name.and_then(|name| self.trace.unit(*name));
            let fits = unit.is_some_and(|unit| self.units[unit] == UnitState::Waits(*slot, true));
            require(fits, || format!("the unit in slot {slot} of the write queue is none of the file: {name:?}"))?;
        }
        let all = self.units.iter().filter(|unit| matches!(unit, UnitState::Waits(..))).count();
        require(all == waiting.len(), || format!("{all} units of the file wait, and {} are queued", waiting.len()))?;
        self.counters.check()
    }

    /// Returns the index of the next command, if the file has the same one there; otherwise the replay fails.
    fn expect(&mut self, kind: &str, first: Lpn, count: u32) -> Option<usize> {
        if self.failure.is_some() {
            return None;
        }
        let number = self.next as usize;
        let came = in_words(kind, first, count);
        let Some(command) = self.trace.commands.get(number) else {
            let what = format!(
                "command {number} of the workload is {came}: the file ends after {number} commands, expected the workload that was recorded"
            );
            return self.fail(self.trace.commands.last().map_or(1, |last| last.line), what);
        };
        if command.answer.name() != kind || command.first != first || command.count != count {
            let what = format!(
                "command {number} is {} in the file, and {came} in the workload: expected the workload that was recorded",
                command.in_words()
            );
            return self.fail(command.line, what);
        }
        self.next += 1;
        Some(number)
    }

    fn fail<T>(&mut self, line: u32, what: String) -> Option<T> {
        let place = format!("ftl.translation.file: {}:{line}", self.trace.name);
        self.failure.get_or_insert(Problem::new(place, what));
        None
    }

    fn head(&self, die: DieId) -> Option<&Entry> {
        self.trace.dies[die.index()].get(self.dies[die.index()].next)
    }

    /// Returns true if all that the next entry of a die needs is there.
    fn is_met(&self, die: DieId, entry: &Entry) -> bool {
        let waits = |taken: &Taken| {
            let unit = self.trace.unit(taken.unit).expect("checked");
            matches!(self.units[unit], UnitState::Waits(_, true))
        };
        let has_data = !follows_reads(&entry.action) || self.dies[die.index()].data_under_way == 0;
        let is_unused = match entry.action {
            Action::Operation { operation, .. } if operation.kind == OperationKind::Erase => {
                self.medium.block(self.parameters.geometry.block_of(operation.first)).pins() == 0
            }
            _ => true,
        };
        has_data && is_unused && entry.units.iter().all(waits)
    }

    /// Examines the next entry of a die after something that it may wait for. Returns true if it no longer waits.
    fn examine(&mut self, die: DieId, now: SimTime, events: Option<&mut Events>) -> bool {
        let Some(entry) = self.head(die) else { return false };
        let is_met = self.is_met(die, entry);
        let state = &mut self.dies[die.index()];
        if !is_met {
            (state.begins, state.decided) = (None, None);
        } else if state.idle_since.is_some() {
            state.begins.get_or_insert(now);
        }
        if let (true, Some(events)) = (is_met, events) {
            self.arm(die, now, events);
        }
        is_met
    }

    /// Arms the timer of an idle die for the end of the processing time. It is handled after the dispatches of its
    /// instant: a die that has been woken as by the page map has its operation by then.
    fn arm(&mut self, die: DieId, now: SimTime, events: &mut Events) {
        let Some((wait, is_processed)) = self.head(die).map(|entry| (entry.wait, entry.processed.is_some())) else { return };
        let state = &mut self.dies[die.index()];
        let Some(begins) = state.begins.filter(|_| is_processed || state.idle_since.is_some()) else { return };
        let at = state.decided.unwrap_or(begins + wait).max(now);
        if state.timer_at.is_none_or(|armed| armed > at) {
            state.timer_at = Some(at);
            events.push(at, Class::Timer, Event::Timer(Timer::Replay(die)));
        }
    }

    /// Arms the timer of an idle die like [`Replay::arm`], but not if the entry is due: the die was just asked.
    fn arm_later(&mut self, die: DieId, now: SimTime, events: &mut Events) {
        if self.due(die).is_some_and(|due| due > now) {
            self.arm(die, now, events);
        }
    }

    /// Returns the instant at which a die's next entry is due, if all that it needs is there.
    fn due(&self, die: DieId) -> Option<SimTime> {
        let state = &self.dies[die.index()];
        let of_entry = |(begins, entry): (SimTime, &Entry)| begins + entry.wait;
        state.decided.or_else(|| state.begins.zip(self.head(die)).map(of_entry))
    }

    /// Fixes the decision for a die's next entry, if the trace has cycles and the entry is due. One without processing
    /// time was made while the die was busy.
    fn decide(&mut self, die: DieId, now: SimTime) {
        let Some(due) = self.due(die).filter(|&due| due <= now) else { return };
        let Some((wait, processed)) = self.head(die).and_then(|entry| entry.processed.map(|part| (entry.wait, part))) else {
            return;
        };
        if self.dies[die.index()].decided.is_some() {
            return;
        }
        let decided =
            if wait > Nanos::ZERO { self.processor.decide(processed, due) } else { self.processor.count(processed, due) };
        self.dies[die.index()].decided = Some(decided);
    }

    /// Plays the entries of a die that a processor has decided and that are no operations, whether the die is idle or
    /// not. Returns true if there were any.
    fn play_aside(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> bool {
        let trace = Arc::clone(&self.trace);
        let mut has_played = false;
        while let Some(entry) = trace.dies[die.index()].get(self.dies[die.index()].next) {
            let is_aside = matches!(entry.action, Action::Drop | Action::HandOver(_)) && entry.processed.is_some();
            self.decide(die, now);
            if !is_aside || self.due(die).is_none_or(|due| due > now) {
                break;
            }
            self.play(die, entry, now, out);
            has_played = true;
        }
        has_played
    }

    /// Plays the next entry of a die. Returns the slot of its operation, if it is one.
    fn play(&mut self, die: DieId, entry: &Entry, now: SimTime, out: &mut Outbox) -> Option<u32> {
        let state = &mut self.dies[die.index()];
        let index = state.next;
        (state.next, state.begins, state.decided) = (index + 1, None, None);
        self.played += 1;
        self.waited = Nanos(self.waited.0 + entry.wait.0);
        let slot = match entry.action {
            Action::Operation { .. } => {
                (state.last, state.idle_since) = (index, None);
                Some(self.issue(die, entry, now, out))
            }
            Action::Encode { mode, units } => {
                state.data_under_way += 1;
                out.handoff.encodings.push(Encoding { die, mode, units });
                None
            }
            Action::HandOver(to) => {
                if !self.writes.are_pulled() && to != die {
                    self.writes.queue.hand_over(die.index(), to.index());
                    out.ready.mark(to);
                }
                None
            }
            Action::Drop => {
                self.drop_units(&entry.units, now, out);
                None
            }
        };
        self.plan_room(die, &entry.room, false, now, out);
        self.plan_urgency(die, &entry.urgency, now, &mut out.events);
        self.examine(die, now, None);
        slot
    }

    /// Returns true if a processor chooses a die's next entry.
    fn processes(&self, die: DieId) -> bool {
        self.head(die).is_some_and(|entry| entry.processed.is_some())
    }

    /// Arms the timer of a die for a decision of a processor, which is made whether the die is idle or not.
    fn arm_processed(&mut self, die: DieId, now: SimTime, events: &mut Events) {
        if self.processes(die) {
            self.arm(die, now, events);
        }
    }

    /// Plans the changes of a die's urgency after the start of an entry; changes that have not come yet come at once.
    fn plan_urgency(&mut self, die: DieId, changes: &[(Option<Nanos>, bool)], now: SimTime, events: &mut Events) {
        let state = &mut self.dies[die.index()];
        if let Some((_, last)) = state.urgency.drain(..).next_back() {
            state.is_urgent = last;
        }
        for &(after, is_urgent) in changes {
            match after {
                Some(Nanos::ZERO) => state.is_urgent = is_urgent,
                Some(after) => {
                    state.urgency.push_back((now + after, is_urgent));
                    events.push(now + after, Class::Timer, Event::Timer(Timer::Replay(die)));
                }
                None => {}
            }
        }
    }

    /// Returns the waiting writes, and whether a die can take them.
    fn writes_and_takers(&mut self) -> (&mut HostWrites, impl Fn(DieId) -> bool) {
        let Replay { writes, dies, .. } = self;
        (writes, |die: DieId| dies[die.index()].has_room)
    }

    fn set_room(&mut self, die: DieId, has_room: bool, now: SimTime, out: &mut Outbox) {
        self.dies[die.index()].has_room = has_room;
        self.update_no_space(now, out);
    }

    /// Plans the changes of a die's space for host data that follow the start of an entry, or its end.
    fn plan_room(&mut self, die: DieId, changes: &[(RoomAt, bool)], is_done: bool, now: SimTime, out: &mut Outbox) {
        let pending = self.dies[die.index()].room.drain(..).next_back();
        if let Some((_, last)) = pending {
            self.set_room(die, last, now, out);
        }
        for &(at, has_room) in changes {
            let after = match at {
                RoomAt::Begun(after) if !is_done => after,
                RoomAt::Done(after) if is_done => after,
                _ => continue,
            };
            if after == Nanos::ZERO {
                self.set_room(die, has_room, now, out);
            } else {
                self.dies[die.index()].room.push_back((now + after, has_room));
                out.events.push(now + after, Class::Timer, Event::Timer(Timer::Replay(die)));
            }
        }
    }

    /// Answers the commands whose decisions are made. Cores go on whenever they are asked, and not only by their timer:
    /// what they have decided by then takes effect before that of the later phases of the instant.
    fn answer_due(&mut self, now: SimTime, out: &mut Outbox) {
        if self.processor.waiting.is_empty() {
            return;
        }
        let mut waiting = std::mem::take(&mut self.processor.waiting);
        for one in waiting.iter_mut().filter(|one| one.decided.is_none() && one.due <= now) {
            let decided = self.processor.decide(one.processed, one.due);
            one.decided = Some(decided);
            if decided > now {
                out.events.push(decided, Class::Timer, Event::Timer(Timer::Core));
            }
        }
        waiting.retain(|one| {
            let is_answered = one.decided.is_some_and(|decided| decided <= now);
            if is_answered {
                out.handoff.translated.push(Translated { command: one.command, from: one.end });
            }
            !is_answered
        });
        self.processor.waiting = waiting;
    }

    fn update_no_space(&mut self, now: SimTime, out: &mut Outbox) {
        let none = !self.dies.iter().any(|die| die.has_room);
        if none != out.signals.no_space {
            out.signals.no_space = none;
            out.signals.update_work(now);
        }
    }

    /// Adds a complete unit to the write queue, wakes a die for it as the page map does, and examines its taker.
    fn enqueue(&mut self, slot: u32, now: SimTime, out: &mut Outbox) {
        let list = self.writes.push(slot, None, now, out);
        let (writes, takes) = self.writes_and_takers();
        writes.wake_for(list, takes, &mut out.ready);
        let unit = self.trace.unit(self.slots[slot as usize]).expect("checked");
        self.units[unit] = UnitState::Waits(slot, true);
        if let Fate::TakenBy(die) = self.trace.fates[unit] {
            self.examine(DieId(die), now, Some(&mut out.events));
        }
    }

    /// Places a flash read in the outbox.
    fn push_read(&mut self, sense: &Sense, owner: Owner, out: &mut Outbox) {
        self.note_issue(&sense.operation, sense.lpn);
        out.read(Operation { owner, ..sense.operation });
    }

    fn note_issue(&mut self, operation: &Operation, lpn: u32) {
        if operation.reads_data() {
            self.medium.pin(operation.first);
        }
        if operation.kind != OperationKind::Erase {
            self.first_units.insert(operation.first.0, lpn);
        }
    }

    /// Ends the use of a block, and wakes its die if it waits for that to erase the block.
    fn release_block(&mut self, block: BlockId, now: SimTime, out: &mut Outbox) {
        self.medium.unpin(self.parameters.geometry.first_of(block));
        if self.medium.block(block).pins() > 0 {
            return;
        }
        let die = self.parameters.geometry.die_of(block);
        let erases = |entry: &Entry| match entry.action {
            Action::Operation { operation, .. } => {
                operation.kind == OperationKind::Erase && self.parameters.geometry.block_of(operation.first) == block
            }
            _ => false,
        };
        if !self.head(die).is_some_and(erases) {
            return;
        }
        self.dies[die.index()].begins = None;
        if self.examine(die, now, Some(&mut out.events)) {
            out.ready.mark(die);
        }
    }

    /// Takes a unit out of the list in which it waits.
    fn take_unit(&mut self, taken: &Taken) -> u32 {
        let unit = self.trace.unit(taken.unit).expect("checked");
        let UnitState::Waits(slot, true) = self.units[unit] else { unreachable!("an entry is issued once its units wait") };
        self.units[unit] = UnitState::Gone;
        self.writes.queue.take_out(slot);
        slot
    }

    /// Lets trimmed units leave the write buffer; a command may wait for one.
    fn drop_units(&mut self, units: &[Taken], now: SimTime, out: &mut Outbox) {
        for taken in units {
            let slot = self.take_unit(taken);
            let unit = &self.writes.queue.units[slot];
            let (lpn, writer) = (unit.lpn, unit.writer);
            out.journal.note(|| match writer {
                Writer::Buffer => Record::DroppedFromBuffer { slot, lpn },
                Writer::Command(command) => Record::Dropped { command, lpn },
            });
            out.signals.queued_write_pages -= 1;
            out.signals.queued_write_requests -= u64::from(unit.last);
            match unit.writer {
                Writer::Buffer => out.handoff.released.push(unit.number),
                Writer::Command(command) => out.handoff.parts.push(Part { command, ..Part::default() }),
            }
            let waiters = self.writes.queue.end_wait(slot, now, &out.signals.clock);
            self.writes.queue.units.release(slot);
            self.writes.queue.report(waiters, &Ledger::default(), &mut out.handoff);
        }
    }

    /// Issues a flash operation and returns its slot.
    fn issue(&mut self, die: DieId, entry: &Entry, now: SimTime, out: &mut Outbox) -> u32 {
        let Action::Operation { operation, lpn, moved } = entry.action else { unreachable!("an operation") };
        self.note_issue(&operation, lpn);
        for (place, taken) in (operation.first.0..).map(Ppn).zip(&entry.units) {
            let slot = self.take_unit(taken);
            let target = (place, operation.mode);
            self.medium.programs[die.index()].bind_host(slot, target, &mut self.writes.queue, now, out);
            if let Some(block) = taken.supersedes {
                self.medium.pin(self.parameters.geometry.first_of(BlockId(block)));
                self.dies[die.index()].supersedes.push(block);
            }
        }
        self.medium.programs[die.index()].bind_moved(moved);
        if operation.owner == Owner::ProgramUnit {
            let bound = moved + entry.units.len() as u32;
            self.counters.count_program(operation.reason, operation.mode, bound, operation.units);
        }
        if operation.kind == OperationKind::Read {
            self.dies[die.index()].data_under_way += 1;
        }
        let slot = out.operations.add(operation);
        if self.serves_writes(die, &operation) {
            let (writes, takes) = self.writes_and_takers();
            writes.wake_after_take(takes, &mut out.ready);
        }
        slot
    }

    /// Returns true for a program of host data, and for a lazy erase after which the die programs host data.
    fn serves_writes(&self, die: DieId, operation: &Operation) -> bool {
        let is_program = |operation: &Operation| operation.kind == OperationKind::Program && operation.reason == Reason::Host;
        match operation.kind {
            OperationKind::LazyErase => self.head(die).is_some_and(|entry| match &entry.action {
                Action::Operation { operation, .. } => is_program(operation),
                _ => false,
            }),
            _ => is_program(operation),
        }
    }

    /// Handles a unit that replaces one of the write buffer.
    fn absorb(&mut self, unit: &HostUnit, into: UnitName, now: SimTime, out: &mut Outbox) -> bool {
        let into = self.trace.unit(into).expect("checked");
        self.counters.absorbed += 1;
        let (UnitState::Waits(slot, _), Some(number)) = (self.units[into], unit.buffered) else {
            // Elsewhere than where it was recorded, the other unit may be on its way to the flash.
            return self.answer_at_once(unit, out);
        };
        self.writes.absorb(slot, (unit, number), now, out);
        let (writes, takes) = self.writes_and_takers();
        writes.program_soon(slot, unit, takes, &mut out.ready);
        false
    }

    /// Answers a unit of a write as if it were programmed.
    fn answer_at_once(&mut self, unit: &HostUnit, out: &mut Outbox) -> bool {
        let (command, lpn) = (unit.command, unit.lpn);
        out.journal.note(|| Record::WriteAccepted { command, lpn });
        out.journal.note(|| Record::Dropped { command, lpn });
        out.handoff.released.extend(unit.buffered);
        if unit.buffered.is_none() || unit.durable {
            let mut ledger = Ledger::default();
            ledger.charge(Cause::BufferFull, unit.stalled);
            out.handoff.parts.push(Part { command: unit.command, ledger, ..Part::default() });
        }
        false
    }
}

/// Notes the end of an operation in the journal. The places that a collection reads are not known.
fn note_end(operation: &Operation, geometry: &Geometry, out: &mut Outbox) {
    let (block, first, count) = (geometry.block_of(operation.first), operation.first, operation.units);
    match (operation.kind, operation.owner) {
        (OperationKind::Program | OperationKind::Copyback, _) => {
            out.journal.note(|| Record::Programmed { block, first, count });
        }
        (OperationKind::Erase, _) => out.journal.note(|| Record::Erased { block }),
        (OperationKind::Read, Owner::Command(_)) if operation.reads_data() => out.journal.note_sensed(operation),
        (OperationKind::Read | OperationKind::LazyErase, _) => {}
    }
}

impl Translation for Replay {
    fn read(&mut self, command: CommandId, first: Lpn, count: u32, _now: SimTime, out: &mut Outbox) -> u32 {
        let Some(number) = self.expect("read", first, count) else {
            out.handoff.parts.push(Part { command, ..Part::default() });
            return 1;
        };
        let trace = Arc::clone(&self.trace);
        let Answer::Read { reads, at_once, buffered, in_flight, unmapped } = &trace.commands[number].answer else {
            unreachable!("a read")
        };
        self.counters.buffer_hits += u64::from(*buffered);
        self.counters.reads_in_flight += u64::from(*in_flight);
        self.counters.unmapped_reads += u64::from(*unmapped);
        reads.iter().for_each(|read| self.push_read(read, Owner::Command(command), out));
        if *at_once > 0 {
            out.handoff.parts.push(Part { command, units: *at_once, ..Part::default() });
        }
        reads.len() as u32 + u32::from(*at_once > 0)
    }

    fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool {
        let HostUnit { command, lpn, whole, buffered, .. } = *unit;
        self.counters.host_units += 1;
        let number = self.commands[command.index()];
        let Some(first) = self.trace.commands.get(number as usize).map(|command| command.first) else {
            return self.answer_at_once(unit, out);
        };
        let name = UnitName { command: number, index: lpn.0 - first.0 };
        let at = self.trace.unit(name).expect("the file has this write");
        if let Fate::Absorbed(into) = self.trace.fates[at] {
            return self.absorb(unit, into, now, out);
        }
        let slot = self.writes.accept(unit, now, out);
        if self.slots.len() <= slot as usize {
            self.slots.resize(slot as usize + 1, name);
        }
        self.slots[slot as usize] = name;
        if buffered.is_none() && self.writes.queue.follows(slot, whole, now) {
            self.units[at] = UnitState::Waits(slot, false);
            return false;
        }
        let fill = self.trace.fills.get(&name).copied().filter(|_| self.partial_write != PartialWrite::Whole);
        if let Some(fill) = fill {
            self.units[at] = UnitState::Waits(slot, false);
            self.writes.queue.begin_fill(slot, now);
            self.push_read(&fill, Owner::PartialRead(slot), out);
        } else {
            self.enqueue(slot, now, out);
        }
        let (writes, takes) = self.writes_and_takers();
        writes.program_soon(slot, unit, takes, &mut out.ready);
        fill.is_none()
    }

    fn trim(&mut self, first: Lpn, count: u32, _now: SimTime, out: &mut Outbox) {
        self.counters.trimmed_units += u64::from(count);
        let Some(number) = self.expect("trim", first, count) else { return };
        let Answer::Trim { wakes } = &self.trace.commands[number].answer else { unreachable!("a trim") };
        wakes.iter().for_each(|&die| out.ready.mark(DieId(die)));
    }

    fn drain(&mut self, what: Drain, ready: &mut ReadyDies) {
        let (writes, takes) = self.writes_and_takers();
        writes.drain(what, takes, ready);
    }

    fn has_drained(&mut self, _now: SimTime, out: &mut Outbox) -> bool {
        out.signals.queued_write_pages == 0
    }

    fn next(&mut self, die: DieId, may_program: bool, now: SimTime, out: &mut Outbox) -> Pulled {
        self.answer_due(now, out);
        let trace = Arc::clone(&self.trace);
        loop {
            let index = self.dies[die.index()].next;
            let Some(entry) = trace.dies[die.index()].get(index) else { return Pulled::Nothing };
            if !self.examine(die, now, None) {
                return Pulled::Nothing;
            }
            self.dies[die.index()].begins.get_or_insert(now);
            self.decide(die, now);
            if self.due(die).is_some_and(|due| due > now) {
                self.arm_processed(die, now, &mut out.events);
                return Pulled::Nothing;
            }
            if !may_program && is_program(&entry.action) {
                return Pulled::NeedsBuffer;
            }
            if let Some(slot) = self.play(die, entry, now, out) {
                self.writes.idle.remove(die);
                return Pulled::Operation(slot);
            }
        }
    }

    fn operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        ended.expect_done(operation);
        note_end(operation, &self.parameters.geometry, out);
        if operation.owner == Owner::Collector {
            self.answer_due(now, out);
        }
        let die = operation.die;
        let block = operation.reads_data().then(|| self.parameters.geometry.block_of(operation.first));
        match operation.owner {
            Owner::PartialRead(slot) => {
                let followers = self.writes.queue.end_fill(slot, now);
                block.into_iter().for_each(|block| self.release_block(block, now, out));
                return [slot].into_iter().chain(followers).for_each(|slot| self.enqueue(slot, now, out));
            }
            Owner::ProgramUnit => {
                let blocks = std::mem::take(&mut self.dies[die.index()].supersedes);
                blocks.into_iter().for_each(|block| self.release_block(BlockId(block), now, out));
                self.medium.report_units(ended, die, &mut self.writes.queue, out);
            }
            Owner::Collector if operation.kind == OperationKind::Read => {
                self.dies[die.index()].data_under_way -= 1;
                out.ready.mark(die);
            }
            _ => {}
        }
        block.into_iter().for_each(|block| self.release_block(block, now, out));
        if !matches!(operation.owner, Owner::Command(_)) {
            self.counters.collections += u64::from(operation.kind == OperationKind::Erase && operation.reason == Reason::Gc);
            self.counters.lazy_erases += u64::from(operation.kind == OperationKind::LazyErase);
            let last = self.dies[die.index()].last;
            let trace = Arc::clone(&self.trace);
            let entry = &trace.dies[die.index()][last];
            self.plan_room(die, &entry.room, true, now, out);
            if let Some((_, is_urgent)) = entry.urgency.iter().rev().find(|(after, _)| after.is_none()) {
                self.dies[die.index()].is_urgent = *is_urgent;
            }
            self.examine(die, now, Some(&mut out.events));
        }
    }

    fn timer(&mut self, timer: Timer, now: SimTime, out: &mut Outbox) {
        if timer == Timer::Core {
            return self.answer_due(now, out);
        }
        let Timer::Replay(die) = timer else { unreachable!("the layer arms no such timer, {timer:?}") };
        if self.dies[die.index()].timer_at.is_some_and(|armed| armed <= now) {
            self.dies[die.index()].timer_at = None;
        }
        self.arm_later(die, now, &mut out.events);
        // Dies that are due at one instant are woken in the order of the file.
        let mut due: Vec<(u32, DieId)> = Vec::new();
        for die in (0..self.dies.len() as u32).map(DieId) {
            let state = &mut self.dies[die.index()];
            let is_changed = state.urgency.front().is_some_and(|(at, _)| *at <= now);
            while let Some(&(_, is_urgent)) = state.urgency.front().filter(|(at, _)| *at <= now) {
                state.urgency.pop_front();
                state.is_urgent = is_urgent;
            }
            let is_idle = state.idle_since.is_some();
            while let Some(&(_, has_room)) = self.dies[die.index()].room.front().filter(|(at, _)| *at <= now) {
                self.dies[die.index()].room.pop_front();
                self.set_room(die, has_room, now, out);
            }
            let is_due = self.due(die).is_some_and(|due| due <= now);
            if is_changed || is_idle && is_due || is_due && self.processes(die) {
                due.push((self.head(die).map_or(u32::MAX, |entry| entry.line), die));
            }
        }
        due.sort_unstable();
        for (_, die) in due {
            self.decide(die, now);
            if self.play_aside(die, now, out) || self.due(die).is_some_and(|due| due > now) {
                self.arm_processed(die, now, &mut out.events);
            } else if self.dies[die.index()].idle_since.is_some() || !self.processes(die) {
                out.ready.mark(die);
            }
        }
    }

    fn report(&self) -> Report<'_> {
        Report { counters: &self.counters, free_blocks: None }
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        let entries: usize = self.trace.dies.iter().map(Vec::len).sum();
        vec![
            ("commands", f64::from(self.next)),
            ("commands_in_file", self.trace.commands.len() as f64),
            ("entries", self.played as f64),
            ("entries_in_file", entries as f64),
            ("processing_ns", self.waited.0 as f64),
            ("processor_ns", self.processor.busy.0 as f64),
        ]
    }

    fn demand(&self, die: DieId) -> Demand {
        let urgent_move = self.dies[die.index()].is_urgent;
        Demand { urgent_move, oldest_write: self.writes.oldest(die) }
    }

    fn turn_ended(&mut self, die: DieId, end: TurnEnd, now: SimTime, out: &mut Outbox) {
        self.writes.idle.set(die, end == TurnEnd::Idle);
        if end == TurnEnd::Idle {
            self.dies[die.index()].idle_since.get_or_insert(now);
            self.examine(die, now, None);
            self.arm_later(die, now, &mut out.events);
        } else {
            self.dies[die.index()].idle_since = None;
            let (writes, takes) = self.writes_and_takers();
            writes.wake_instead(takes, &mut out.ready);
        }
    }

    fn collection_encoded(&mut self, die: DieId, now: SimTime, ready: &mut ReadyDies) {
        self.dies[die.index()].data_under_way -= 1;
        self.examine(die, now, None);
        ready.mark(die);
    }

    fn unit_at(&self, ppn: Ppn) -> u32 {
        self.first_units.get(&ppn.0).copied().unwrap_or(0)
    }

    fn state(&mut self, archive: &mut Archive<'_>, now: SimTime) -> Archived {
        let facts = &self.parameters.facts;
        self.medium.state(archive, now, (facts.write_modes.len(), facts.erase_modes.len()))?;
        self.writes.state(archive, facts.user_units, now)?;
        archive.value(&mut self.counters)?;
        archive.list(&mut self.dies, "dies")?;
        archive.list(&mut self.units, "units of writes")?;
        archive.value(&mut self.slots)?;
        archive.value(&mut self.next)?;
        archive.value(&mut self.first_units)?;
        archive.value(&mut self.played)?;
        archive.value(&mut self.waited)?;
        archive.value(&mut self.processor)?;
        if archive.is_loading() { self.check() } else { Ok(()) }
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

impl Recordable for Replay {
    fn takes_time(&self) -> bool {
        self.trace.processor.is_some()
    }

    fn translate(&mut self, asks: Asks, units: Range<u32>, now: SimTime, out: &mut Outbox) -> bool {
        let Asks { command, op, .. } = asks;
        if !matches!(op, Op::Read | Op::Trim) || self.trace.processor.is_none() || self.failure.is_some() {
            return true;
        }
        let question = self.processor.next;
        self.processor.next += 1;
        let number = self.trace.questions.get(question as usize).copied();
        let Some(asked) = number.map(|number| &self.trace.commands[number as usize]).filter(|asked| {
            asked.first.0 == units.start && asked.count == units.end - units.start && (op == Op::Trim) == asked.answer.is_trim()
        }) else {
            let kind = if op == Op::Read { "read" } else { "trim" };
            let came = in_words(kind, Lpn(units.start), units.end - units.start);
            let line = number.map_or(1, |number| self.trace.commands[number as usize].line);
            let what = format!("question {question} of the workload is {came}: expected the workload that was recorded");
            self.fail::<()>(line, what);
            return true;
        };
        let Asked { wait, processed } = asked.asked.expect("the command asks");
        let due = now + wait;
        self.processor.waiting.push(Waiting { command, end: Lpn(units.end), processed, due, decided: None });
        let before = out.handoff.translated.len();
        if due > now {
            out.events.push(due, Class::Timer, Event::Timer(Timer::Core));
        }
        self.answer_due(now, out);
        // The command itself is answered by the result.
        let own = out.handoff.translated[before..].iter().position(|answered| answered.command == command);
        own.map(|own| out.handoff.translated.remove(before + own)).is_some()
    }

    fn announce(&mut self, command: CommandId, units: Range<u32>, _now: SimTime) {
        let number = self.expect("write", Lpn(units.start), units.end - units.start);
        if self.commands.len() <= command.index() {
            self.commands.resize(command.index() + 1, 0);
        }
        self.commands[command.index()] = number.map_or(u32::MAX, |number| number as u32);
    }

    fn begin(&mut self, now: SimTime, out: &mut Outbox) {
        self.update_no_space(now, out);
        for die in (0..self.dies.len() as u32).map(DieId) {
            self.dies[die.index()].idle_since = Some(now);
            let trace = Arc::clone(&self.trace);
            self.plan_urgency(die, &trace.urgency[die.index()], now, &mut out.events);
            self.examine(die, now, Some(&mut out.events));
        }
    }

    fn failure(&self) -> Option<Problem> {
        self.failure.clone()
    }

    fn stalled(&mut self, commands: u64) -> bool {
        let waiting = (0..self.dies.len() as u32).map(DieId).find_map(|die| Some((die, self.head(die)?.line)));
        let (line, what) = match waiting {
            Some((die, line)) => (line, format!("the next entry of die {} waits for data that does not come", die.0)),
            None => (self.trace.commands.last().map_or(1, |last| last.line), "the file has no further operation".to_owned()),
        };
        let what = format!(
            "the replay cannot go on with {commands} commands in flight, after {} commands: {what}; expected the workload that was recorded, \
             and a write buffer that is no smaller",
            self.next
        );
        self.fail::<()>(line, what);
        true
    }
}
