//! The registers of the controller: events for the cores, and the operations that they compose.

use super::{Asks, CoresConfig, Executed, NONE, Note, Split};
use crate::layer::page_map::ftl::Ftl;
use crate::map::{Mapped, decode};
use crate::medium::BlockState;
use kit::{
    BlockId, CommandId, DieId, Lpn, ModeId, Nanos, Operation, OperationKind, Outbox, Owner, Ppn, ReadyDies, Reason, SimTime,
    Translated,
};
use std::collections::VecDeque;
use std::ops::Range;

/// Offset of the lock.
pub(super) const LOCK: u32 = 0x060;

/// Kinds of events, by their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(super) enum Kind {
    Read = 1,
    Trim = 2,
    Idle = 3,
    Gathered = 4,
    Erased = 5,
}

/// An operation that a core composes.
#[derive(Clone, Debug, Default)]
struct Composed {
    place: u32,
    units: Vec<u32>,
    /// Slots of the host units that the program has. They are bound when it is issued, so that the time until then is
    /// one in which they wait.
    slots: Vec<u32>,
}

impl Composed {
    fn clear(&mut self) {
        self.place = 0;
        self.units.clear();
        self.slots.clear();
    }
}

/// State of the core at its event.
#[derive(Clone, Debug, Default)]
struct Core {
    events: VecDeque<[u32; 4]>,
    event: [u32; 4],
    /// Units of the event's command that are not answered.
    left: Range<u32>,
    composed: Composed,
    block: u32,
}

/// State of a die as the firmware serves it.
#[derive(Clone, Copy, Debug, Default)]
struct Die {
    /// True while its question waits for an answer, and if it has asked again meanwhile.
    is_asked: bool,
    asks_again: bool,
    /// Slot of the operation that it is to begin, and the instant at which it was given.
    given: Option<(u32, SimTime)>,
    /// Time for which the last operation waited: the die had begun a host read before the firmware chose.
    delay: Nanos,
    /// True once its question has been answered by an operation.
    is_answered: bool,
    /// True from the choice of a victim to its erase.
    is_emptying: bool,
}

/// The hardware between the cores and the flash.
pub(super) struct Hardware {
    cores: Vec<Core>,
    dies: Vec<Die>,
    /// Core of each die.
    core_of_die: Vec<usize>,
    split: Split,
    /// Instant for which the timer of the cores is armed.
    armed: Option<SimTime>,
    config: [u32; 17],
    /// Command that asks, while the core is at work; `None` once it is answered.
    pub translating: Option<CommandId>,
    /// Die that asks, while the core is at work.
    pub choosing: Option<DieId>,
}

impl Hardware {
    pub fn new(ftl: &Ftl, of_cores: &CoresConfig) -> Hardware {
        let geometry = &ftl.state.store.medium.geometry;
        let config = &ftl.derived.config;
        let (cores, split) = (of_cores.cores, of_cores.split);
        // The first core is left out where it serves the commands alone.
        let first = u32::from(split == Split::Task && cores > 1);
        let core_of = |die: u32| first + geometry.channel_of(DieId(die)).0 % (cores - first);
        Hardware {
            cores: vec![Core::default(); cores as usize],
            core_of_die: (0..geometry.die_count).map(|die| core_of(die) as usize).collect(),
            split,
            armed: None,
            dies: vec![Die::default(); geometry.die_count as usize],
            config: [
                geometry.die_count,
                geometry.blocks_per_die,
                geometry.groups_per_die,
                geometry.units_per_block,
                geometry.units_per_program,
                geometry.units_per_page * geometry.shape.planes_per_program,
                ftl.state.store.user_units as u32,
                config.reserve_blocks,
                ftl.derived.critical,
                ftl.derived.low,
                u32::from(config.gc_preemptible),
                u32::from(config.separate_relocations),
                // A die begins to collect as soon as it is free.
                1,
                0,
                super::DRAM,
                0,
                cores,
            ],
            translating: None,
            choosing: None,
        }
    }

    /// Posts an event of a die to its core.
    pub fn post(&mut self, kind: Kind, die: DieId, block: u32) {
        self.cores[self.core_of_die[die.index()]].events.push_back([kind as u32, die.0, block, 0]);
    }

    /// Returns the number of the kind of the event that a core works at; 0 if it does at none.
    pub fn event_number(&self, core: usize) -> usize {
        self.cores[core].event[0] as usize
    }

    pub fn has_events(&self, core: usize) -> bool {
        !self.cores[core].events.is_empty()
    }

    /// Returns true if the timer of the cores is to be armed for an instant: it is not yet.
    pub fn arms(&mut self, at: SimTime) -> bool {
        self.armed.replace(at) != Some(at)
    }

    pub fn fired(&mut self, now: SimTime) {
        self.armed = self.armed.filter(|&at| at > now);
    }

    /// Asks for the units of a command.
    pub fn ask(&mut self, asks: Asks, kind: Kind, units: Range<u32>) {
        let core = match self.split {
            Split::Channel => units.start,
            Split::Task => 0,
            Split::Queue => u32::from(asks.queue),
        };
        let event = [kind as u32, asks.command.index() as u32, units.start, units.end - units.start];
        let cores = self.cores.len();
        self.cores[core as usize % cores].events.push_back(event);
    }

    /// Lets a free die ask for an operation.
    pub fn idle(&mut self, die: DieId) {
        let state = &mut self.dies[die.index()];
        if std::mem::replace(&mut state.is_asked, true) {
            state.asks_again = true;
        } else {
            self.post(Kind::Idle, die, 0);
        }
    }

    /// Notes that the victim of a die has been erased.
    pub fn emptied(&mut self, die: DieId) {
        self.dies[die.index()].is_emptying = false;
    }

    pub fn has_given(&self, die: DieId) -> bool {
        self.dies[die.index()].given.is_some()
    }

    /// Takes the operation that a die is to begin. Returns its slot.
    pub fn take_given(&mut self, die: DieId, now: SimTime) -> Option<u32> {
        let state = &mut self.dies[die.index()];
        let (slot, since) = state.given.take()?;
        state.delay = now.since(since);
        Some(slot)
    }

    pub fn delay(&self, die: DieId) -> Nanos {
        self.dies[die.index()].delay
    }

    /// Takes the next event of a core. Returns its kind.
    fn take_event(&mut self, core: usize) -> u32 {
        let state = &mut self.cores[core];
        state.composed.clear();
        state.event = state.events.pop_front().unwrap_or_default();
        if [Kind::Read as u32, Kind::Trim as u32].contains(&state.event[0]) {
            state.left = state.event[2]..state.event[2] + state.event[3];
        }
        state.event[0]
    }
}

/// Returns true if what a register has cannot change while the core works at an event: a field of the event, or a
/// property of the drive.
pub(super) fn is_constant(offset: u32) -> bool {
    (0x004..0x010).contains(&offset) || (0x100..0x13c).contains(&offset) || offset == 0x140
}

/// Returns the die of a register of a family that begins at an offset.
fn die_of(offset: u32, first: u32) -> DieId {
    DieId((offset - first) / 4)
}

impl Executed {
    /// Returns what a core reads from a register.
    pub(super) fn load(&mut self, offset: u32, now: SimTime, out: &mut Outbox) -> Result<u32, String> {
        let dies = self.hardware.dies.len() as u32;
        let state = &mut self.hardware.cores[self.at];
        Ok(match offset {
            0x000 => {
                self.cores.asks(self.at)?;
                self.charge_task();
                self.end_event(&mut out.ready)?;
                self.hardware.take_event(self.at)
            }
            0x004..0x010 => state.event[offset as usize / 4],
            0x050 => self.ftl.state.store.medium.block(BlockId(state.block)).pins(),
            0x13c => u32::from(self.ftl.state.counters.host_units > 0),
            0x100..0x134 | 0x138 | 0x140 => self.hardware.config[(offset as usize - 0x100) / 4],
            0x1000..0x2000 if die_of(offset, 0x1000).0 < dies => self.waiting(die_of(offset, 0x1000), now, out),
            0x2000..0x3000 if die_of(offset, 0x2000).0 < dies => self.take(die_of(offset, 0x2000), now, out)?,
            _ => return Err(format!("it loads from {offset:#x} of the registers, where there is none")),
        })
    }

    /// Stores what a core writes to a register.
    pub(super) fn store(&mut self, offset: u32, value: u32, now: SimTime, out: &mut Outbox) -> Result<(), String> {
        let dies = self.hardware.dies.len() as u32;
        let state = &mut self.hardware.cores[self.at];
        match offset {
            0x020 => self.answer_read(value, out)?,
            0x024 => self.answer_trim(now, out),
            0x040 => state.composed.place = value,
            0x044 => state.composed.units.push(value),
            0x048 => self.issue(value, now, out)?,
            0x050 if value < self.ftl.state.store.medium.geometry.block_count => {
                state.block = value;
                self.take_victim(BlockId(value));
            }
            0x054 if value < dies => {
                let from = out.ready.listed().len();
                out.ready.mark(DieId(value));
                self.note_woken(&out.ready.listed()[from..]);
            }
            0x07c => return Err(format!("it gives up with code {value}")),
            0x3000..0x4000 if die_of(offset, 0x3000).0 < dies => {
                let die = die_of(offset, 0x3000);
                self.ftl.state.space.set_room(die, value != 0);
                self.ftl.update_no_space(now, out);
                if let Some(notes) = &mut self.notes {
                    notes.push(Note::Room(die));
                }
            }
            _ => return Err(format!("it stores {value:#x} at {offset:#x} of the registers, which does not take that")),
        }
        Ok(())
    }

    /// Handles the end of what a core has done about its event, as it asks for the next one.
    fn end_event(&mut self, ready: &mut ReadyDies) -> Result<(), String> {
        let state = &self.hardware.cores[self.at];
        if !state.left.is_empty() {
            return Err(format!("it leaves unit {} without an answer", state.left.start));
        }
        if let Some(&slot) = state.composed.slots.first() {
            let unit = self.ftl.state.writes.queue.units[slot].lpn.0;
            return Err(format!("it takes unit {unit} and programs it nowhere"));
        }
        if state.event[0] != Kind::Idle as u32 {
            return Ok(());
        }
        let die = DieId(state.event[1]);
        let asked = &mut self.hardware.dies[die.index()];
        asked.is_asked = false;
        let is_answered = std::mem::take(&mut asked.is_answered);
        if std::mem::take(&mut asked.asks_again) {
            self.hardware.idle(die);
        } else if !is_answered && !self.hardware.dies[die.index()].is_emptying {
            self.hand_over_where_full(die, ready);
        }
        Ok(())
    }

    fn hand_over_where_full(&mut self, die: DieId, ready: &mut ReadyDies) {
        let before = self.notes.as_ref().and_then(|_| self.ftl.waiting_by_die());
        self.ftl.hand_over_where_full(die, ready);
        if let Some(before) = before
            && self.ftl.waiting_by_die().as_ref() != Some(&before)
        {
            self.note(|decision| Note::HandedOver { die, before, decision });
        }
    }

    /// Checks where a core has found the next unit of a read.
    fn answer_read(&mut self, place: u32, out: &mut Outbox) -> Result<(), String> {
        let state = &mut self.hardware.cores[self.at];
        let unit = state.left.next().ok_or("it answers no unit")?;
        let code = match decode(self.ftl.state.store.code_of(Lpn(unit))) {
            Mapped::Slot(slot) => decode(self.ftl.state.writes.queue.units[slot].prior),
            other => other,
        };
        let current = if let Mapped::At(ppn) = code { ppn.0 } else { NONE };
        if place != current {
            return Err(format!("it finds unit {unit} at place {}, and it is at {}", in_words(place), in_words(current)));
        }
        if state.left.is_empty() {
            self.answered(out);
        }
        Ok(())
    }

    fn answer_trim(&mut self, now: SimTime, out: &mut Outbox) {
        let state = &mut self.hardware.cores[self.at];
        let units = std::mem::take(&mut state.left);
        // At once: whatever the core does next finds the units deallocated.
        let from = out.ready.listed().len();
        self.ftl.trim(Lpn(units.start), units.len() as u32, now, out);
        self.note_woken(&out.ready.listed()[from..]);
        self.answered(out);
    }

    fn note_woken(&mut self, dies: &[DieId]) {
        if let Some(notes) = &mut self.notes {
            notes.extend(dies.iter().copied().map(Note::Woken));
        }
    }

    /// Lets the command of a core's event go on.
    fn answered(&mut self, out: &mut Outbox) {
        let [_, command, first, count] = self.hardware.cores[self.at].event;
        let command = CommandId(command);
        self.note(|decision| Note::Answered { command, decision });
        // Another command than the one that asks may be answered at this instant.
        if self.hardware.translating == Some(command) {
            self.hardware.translating = None;
        } else {
            out.handoff.translated.push(Translated { command, from: Lpn(first + count) });
        }
    }

    /// Returns the number of units of host data that a program of a die may have now.
    fn waiting(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> u32 {
        let list = self.ftl.state.writes.list_of(die);
        if !self.ftl.state.writes.may_pull_from(list) {
            return 0;
        }
        let queue = &self.ftl.state.writes.queue;
        let slots = std::iter::successors(queue.head(list), |&slot| queue.after(slot));
        let most = self.ftl.state.store.medium.geometry.units_per_program as usize;
        let count = slots.filter(|&slot| !queue.units[slot].dropped).take(most).count() as u32;
        if count == 0 {
            let from = out.handoff.released.len();
            self.ftl.drop_trimmed(list, now, out);
            self.note_dropped(die, &out.handoff.released[from..]);
        }
        count
    }

    fn note_dropped(&mut self, die: DieId, numbers: &[u64]) {
        if !numbers.is_empty() {
            self.note(|decision| Note::Dropped { die, numbers: numbers.to_vec(), decision });
        }
    }

    /// Takes the oldest unit of host data that waits for a die into the program that a core composes. Returns the unit.
    fn take(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Result<u32, String> {
        let list = self.ftl.state.writes.list_of(die);
        self.hardware.cores[self.at].is_asked_by(die)?;
        if self.hardware.cores[self.at].composed.slots.len() == self.ftl.state.store.medium.geometry.units_per_program as usize {
            return Err("it takes more units than a program has".to_owned());
        }
        while let Some(slot) = self.ftl.state.writes.queue.pop(list) {
            out.signals.queued_write_pages -= 1;
            out.signals.queued_write_requests -= u64::from(self.ftl.state.writes.queue.units[slot].last);
            if self.ftl.state.writes.queue.units[slot].dropped {
                let from = out.handoff.released.len();
                self.ftl.release_dropped(slot, now, out);
                self.note_dropped(die, &out.handoff.released[from..]);
                continue;
            }
            self.hardware.cores[self.at].composed.slots.push(slot);
            return Ok(self.ftl.state.writes.queue.units[slot].lpn.0);
        }
        Ok(NONE)
    }

    /// Begins a program at the place that a core has named, which must be the next of a block of the die.
    fn begin_program(&mut self, die: DieId, reason: Reason, now: SimTime) -> Result<(), String> {
        let place = self.hardware.cores[self.at].composed.place;
        let medium = &mut self.ftl.state.store.medium;
        let geometry = medium.geometry;
        self.hardware.cores[self.at].is_asked_by(die)?;
        if u64::from(place) >= geometry.unit_count() || geometry.die_of(geometry.block_of(Ppn(place))) != die {
            return Err(format!("it programs place {} on die {}", in_words(place), die.0));
        }
        let (block, unit) = geometry.split(Ppn(place));
        let record = medium.block(block);
        let next = u32::from(record.programmed) * geometry.units_per_program;
        if unit != next || !matches!(record.state(), BlockState::Free | BlockState::Open) {
            return Err(format!("it programs unit {unit} of block {}, which is {:?} up to unit {next}", block.0, record.state()));
        }
        let mode = self.ftl.derived.old_mode;
        if record.state() == BlockState::Free {
            medium.open(block, mode);
            medium.note_first_program(block, now);
            self.ftl.state.space.block_opened(die);
        }
        self.ftl.begin_program(die, Ppn(place), mode, reason);
        Ok(())
    }

    /// Gives the composed operation to the die that has asked.
    fn issue(&mut self, kind: u32, now: SimTime, out: &mut Outbox) -> Result<(), String> {
        let die = self.hardware.cores[self.at].asking_die()?;
        if self.hardware.dies[die.index()].is_answered {
            return Err(format!("it gives die {} a second operation", die.0));
        }
        let slot = match kind {
            1 => {
                let slot = self.program_host(die, now, out)?;
                // A die that waits for its answer counts as idle, and is not to be woken for the rest.
                if self.hardware.choosing != Some(die) {
                    self.ftl.state.writes.idle.remove(die);
                }
                self.ftl.wake_for_rest(&mut out.ready);
                slot
            }
            2 => self.program_moved(die, now, out)?,
            3 => self.gather(die, out)?,
            4 => self.erase(die, out)?,
            _ => return Err(format!("it issues operation {kind}: expected 1 to 4")),
        };
        self.hardware.cores[self.at].composed.clear();
        let state = &mut self.hardware.dies[die.index()];
        (state.given, state.is_answered) = (Some((slot, now)), true);
        // The operation answers all questions so far.
        state.asks_again = false;
        self.note(|decision| Note::Given { die, decision });
        if self.hardware.choosing != Some(die) {
            out.ready.mark(die);
        }
        Ok(())
    }

    /// Composes the program of the host units that have been taken.
    fn program_host(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Result<u32, String> {
        self.begin_program(die, Reason::Host, now)?;
        let Composed { place, slots, .. } = &self.hardware.cores[self.at].composed;
        let (place, count) = (*place, slots.len() as u32);
        if count == 0 {
            return Err("it programs no data".to_owned());
        }
        for index in 0..count {
            let slot = self.hardware.cores[self.at].composed.slots[index as usize];
            self.ftl.bind_host(die, slot, Ppn(place + index), now, out);
        }
        self.ftl.state.counters.host_units_by_mode[self.ftl.derived.old_mode.index()] += u64::from(count);
        Ok(self.finish_program(die, count, now, out))
    }

    fn finish_program(&mut self, die: DieId, bound: u32, now: SimTime, out: &mut Outbox) -> u32 {
        let slot = self.ftl.finish_program(die, 0, bound, now, out);
        let medium = &mut self.ftl.state.store.medium;
        let (block, unit) = medium.geometry.split(out.operations[slot].first);
        if unit + medium.geometry.units_per_program == medium.units_in(ModeId(medium.block(block).mode())) {
            medium.close(block);
        }
        slot
    }

    /// Composes the program of units that the die has gathered.
    fn program_moved(&mut self, die: DieId, now: SimTime, out: &mut Outbox) -> Result<u32, String> {
        self.begin_program(die, Reason::Gc, now)?;
        let Composed { place, units, .. } = &self.hardware.cores[self.at].composed;
        let (place, count) = (*place, units.len());
        let per_program = self.ftl.state.store.medium.geometry.units_per_program as usize;
        if count == 0 || count > per_program {
            return Err(format!("it moves {count} units: expected 1 to {per_program}"));
        }
        for index in 0..count {
            let from = Ppn(self.hardware.cores[self.at].composed.units[index]);
            let to = Ppn(place + index as u32);
            let gathered = &mut self.ftl.state.collectors[die.index()].gathered;
            let at = gathered.iter().position(|&one| one == from);
            let at = at.ok_or_else(|| format!("it moves place {}, which it has not gathered", in_words(from.0)))?;
            gathered.remove(at);
            if !self.ftl.state.store.medium.is_valid(from) {
                return Err(format!("it moves place {}, which holds no current data", from.0));
            }
            self.ftl.bind_moved(die, from, to, now, out);
        }
        Ok(self.finish_program(die, count as u32, now, out))
    }

    /// Has a block emptied, if that has not begun.
    fn take_victim(&mut self, block: BlockId) {
        if self.ftl.state.store.medium.block(block).state() == BlockState::Closed {
            self.ftl.state.store.medium.take_victim(block);
            self.ftl.state.counters.collections += 1;
        }
        let die = self.ftl.state.store.medium.geometry.die_of(block);
        self.hardware.dies[die.index()].is_emptying = true;
    }

    /// Composes the read of units of one row.
    fn gather(&mut self, die: DieId, out: &mut Outbox) -> Result<u32, String> {
        let units = std::mem::take(&mut self.hardware.cores[self.at].composed.units);
        let geometry = self.ftl.state.store.medium.geometry;
        let first = Ppn(*units.first().ok_or("it gathers nothing")?);
        let (block, unit) = geometry.split(first);
        let in_row = |&place: &u32| {
            let (other, at) = geometry.split(Ppn(place));
            u64::from(place) < geometry.unit_count() && other == block && geometry.row_of(at) == geometry.row_of(unit)
        };
        if !units.iter().all(in_row) || geometry.die_of(block) != die || !units.is_sorted() {
            return Err(format!("it gathers places {units:?} on die {}, which are not those of a row in their order", die.0));
        }
        self.take_victim(block);
        let mut planes = 0u64;
        for &place in &units {
            let (_, at) = geometry.split(Ppn(place));
            planes |= 1 << (geometry.page_of(at) % geometry.shape.planes_per_program);
            self.ftl.state.store.medium.pin(Ppn(place));
            self.ftl.state.collectors[die.index()].in_read.push(Ppn(place));
        }
        let mode = self.ftl.derived.read_modes[usize::from(self.ftl.state.store.medium.block(block).mode())];
        Ok(out.operations.add(Operation {
            kind: OperationKind::Read,
            reason: Reason::Gc,
            die,
            first,
            units: units.len() as u32,
            pages: planes.count_ones(),
            page_type: geometry.page_type_of(unit),
            mode,
            encode: 0,
            skipped: 0,
            owner: Owner::Collector,
        }))
    }

    fn erase(&mut self, die: DieId, out: &mut Outbox) -> Result<u32, String> {
        let place = self.hardware.cores[self.at].composed.place;
        let geometry = self.ftl.state.store.medium.geometry;
        let block = geometry.block_of(Ppn(place));
        if u64::from(place) >= geometry.unit_count() || geometry.die_of(block) != die {
            return Err(format!("it erases the block of place {} on die {}", in_words(place), die.0));
        }
        self.take_victim(block);
        let record = self.ftl.state.store.medium.block(block);
        if record.state() != BlockState::Victim || record.valid > 0 || record.pins() > 0 {
            let (state, valid, pins) = (record.state(), record.valid, record.pins());
            return Err(format!("it erases block {}, which is {state:?} with {valid} current units and {pins} uses", block.0));
        }
        self.ftl.state.store.medium.begin_erase(block);
        Ok(out.operations.add(Operation {
            kind: OperationKind::Erase,
            reason: Reason::Gc,
            die,
            first: geometry.first_of(block),
            units: 0,
            pages: geometry.shape.planes_per_program * geometry.shape.superblock,
            page_type: 0,
            mode: ModeId(0),
            encode: 0,
            skipped: 0,
            owner: Owner::Collector,
        }))
    }
}

impl Core {
    /// Returns the die that the core serves.
    fn asking_die(&self) -> Result<DieId, String> {
        let is_idle = self.event[0] == Kind::Idle as u32;
        if is_idle { Ok(DieId(self.event[1])) } else { Err("no die has asked for an operation".to_owned()) }
    }

    fn is_asked_by(&self, die: DieId) -> Result<(), String> {
        let asking = self.asking_die()?;
        if asking == die { Ok(()) } else { Err(format!("it takes data for die {}, and die {} has asked", die.0, asking.0)) }
    }
}

fn in_words(place: u32) -> String {
    if place == NONE { "none".to_owned() } else { place.to_string() }
}
