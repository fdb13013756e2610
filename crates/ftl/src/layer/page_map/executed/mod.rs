//! The page map whose decisions firmware makes, which a core executes.
//!
//! The hardware beside the core is that of the page map: the write buffer and its queues, the places of all data, and
//! what is known of each block, by which it checks what the firmware does. The firmware looks units up, and chooses
//! what each die does. Its registers are those of `firmware/hardware.h`.

mod checkpoint;
mod cores;
mod registers;

pub use cores::{CoreWork, CoresConfig, Split, Work};

use super::ftl::Ftl;
use crate::firmware::Processor;
use crate::layer::contract::{Pulled, Report, Translation, TurnEnd};
use crate::medium::Medium;
use crate::queue::{Buffered, Drain};
use cores::{Cores, DRAM, Step};
use kit::archive::{Archive, Archived};
use kit::queue::Class;
use kit::{
    CommandId, Demand, DieId, Ended, Event, HostUnit, Lpn, Nanos, Op, Operation, OperationKind, Outbox, Owner, Ppn, Problem,
    ReadyDies, Record, SimTime, Timer, words,
};
use registers::{Hardware, Kind};
use riscv::Access;
use std::ops::Range;

/// No unit, no place and no block.
const NONE: u32 = u32::MAX;
/// Place of the firmware's failures.
const PLACE: &str = "controller.firmware";

/// Names of the firmware's tasks, by the number of the event that begins them; 0 is the way to the next wait.
const TASKS: [&str; 6] = ["wait", "look_up", "trim", "choose", "gathered", "erased"];

/// Work of executed firmware from the start of the run.
#[derive(Clone, Debug)]
pub struct FirmwareProfile {
    /// In all.
    pub total: Work,
    /// Of each core.
    pub cores: Vec<CoreWork>,
    /// For each task, by the event that began it.
    pub tasks: Vec<(&'static str, Work)>,
    /// In each function, in descending order of the cycles.
    pub functions: Vec<riscv::FunctionCycles>,
}

/// A command that asks for the decision of firmware.
#[derive(Clone, Copy, Debug)]
pub struct Asks {
    /// The command.
    pub command: CommandId,
    /// The operation that it asks for.
    pub op: Op,
    /// Its submission queue.
    pub queue: u16,
}

/// Work of a core for a decision: its cycles since its last decision, without those in which it waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Decision {
    pub core: u32,
    pub cycles: u64,
}

/// Action of firmware, for a record of it.
pub(super) enum Note {
    /// A read or trim has been answered.
    Answered { command: CommandId, decision: Decision },
    /// A die is to ask for its next operation for the trim that is answered next.
    Woken(DieId),
    /// A die has been given an operation.
    Given { die: DieId, decision: Decision },
    /// Units with these numbers have left the write buffer, as they were trimmed.
    Dropped { die: DieId, numbers: Vec<u64>, decision: Decision },
    /// The writes that waited for a die have been handed over to another; `before`: those that waited for each die.
    HandedOver { die: DieId, before: Vec<u64>, decision: Decision },
    /// A die takes host data, or no longer.
    Room(DieId),
}

/// The layer.
pub struct Executed {
    ftl: Ftl,
    cores: Cores,
    hardware: Hardware,
    /// Core whose access is handled.
    at: usize,
    /// Work of the cores in each task, by the number of its event.
    tasks: [Work; TASKS.len()],
    failure: Option<Problem>,
    /// Notes since they were taken; `None` if nobody takes them.
    notes: Option<Vec<Note>>,
}

impl Executed {
    /// Returns the layer with the map of an empty drive.
    pub fn new(ftl: Ftl, config: &CoresConfig) -> Result<Executed, String> {
        let bytes = CoresConfig::dram_bytes(&ftl.state.store.medium.geometry, ftl.state.store.user_units);
        let bytes = u32::try_from(bytes).map_err(|_| format!("its map takes {bytes} bytes of DRAM"))?;
        let hardware = Hardware::new(&ftl, config);
        let cores = Cores::new(config, bytes)?;
        Ok(Executed { cores, ftl, hardware, at: 0, tasks: Default::default(), failure: None, notes: None })
    }

    /// Has notes kept of what the firmware does.
    pub(super) fn keep_notes(&mut self) {
        self.notes = Some(Vec::new());
    }

    /// Takes the notes since the last call.
    pub(super) fn take_notes(&mut self) -> Vec<Note> {
        self.notes.as_mut().map_or_else(Vec::new, std::mem::take)
    }

    /// Adds a note of a decision, if notes are kept.
    fn note(&mut self, note: impl FnOnce(Decision) -> Note) {
        if let Some(notes) = &mut self.notes {
            let decision = Decision { core: self.at as u32, cycles: self.cores.take_decision(self.at) };
            notes.push(note(decision));
        }
    }

    /// Returns the processor that makes the decisions.
    pub fn processor(&self) -> Processor {
        self.cores.facts()
    }

    /// Returns the map that the hardware keeps.
    pub fn page_map(&self) -> &Ftl {
        &self.ftl
    }

    /// Returns the map that the hardware keeps, for modification.
    pub fn page_map_mut(&mut self) -> &mut Ftl {
        &mut self.ftl
    }

    /// Begins the drive's work in its starting state: the firmware finds that as a checkpoint in the DRAM.
    pub fn begin(&mut self, now: SimTime, out: &mut Outbox) {
        self.ftl.begin(now, out);
        let tables = self.ftl.checkpoint();
        let heads = DRAM;
        let mut address = heads + 4 * tables.len() as u32;
        for (table, head) in tables.iter().zip((heads..).step_by(4)) {
            self.cores.write_words(head, &[address]);
            self.cores.write_words(address, table);
            address += 4 * table.len() as u32;
        }
        self.run(now, out);
    }

    /// Returns the reason why the firmware cannot go on, if there is one: the run ends.
    pub fn failure(&self) -> Option<Problem> {
        self.failure.clone()
    }

    /// Has the firmware look units up, or deallocate them. Returns true if that is done; otherwise the command waits.
    pub fn translate(&mut self, asks: Asks, units: Range<u32>, now: SimTime, out: &mut Outbox) -> bool {
        let kind = match asks.op {
            Op::Read => Kind::Read,
            Op::Trim => Kind::Trim,
            _ => return true,
        };
        self.hardware.translating = Some(asks.command);
        self.hardware.ask(asks, kind, units);
        self.run(now, out);
        self.hardware.translating.take().is_none() || self.failure.is_some()
    }

    /// Adds what the core has executed since the last event to the task of that event.
    fn charge_task(&mut self) {
        let work = self.cores.take_work(self.at);
        self.tasks[self.hardware.event_number(self.at)].add(work);
    }

    /// Returns what the firmware has executed.
    pub fn profile(&self) -> FirmwareProfile {
        let (mut tasks, mut total) = (self.tasks, Work::default());
        for number in 0..self.cores.count() {
            tasks[self.hardware.event_number(number)].add(self.cores.untaken(number));
        }
        let cores = self.cores.work();
        cores.iter().for_each(|core| total.add(core.work));
        FirmwareProfile { total, cores, tasks: TASKS.iter().copied().zip(tasks).collect(), functions: self.cores.functions() }
    }

    /// Returns the time for which the last operation of a die waited after the firmware had chosen it.
    pub fn delay(&self, die: DieId) -> Nanos {
        self.hardware.delay(die)
    }

    /// Handles an empty event queue while `commands` commands are in flight. Returns true: the firmware fails.
    pub fn stalled(&mut self, commands: u64) -> bool {
        if self.failure.is_none() {
            let commands = words::count(commands, "command");
            let what = format!("{}: the firmware waits for an event, with {commands} in flight", self.cores.places());
            self.failure = Some(Problem::new(PLACE, what));
        }
        true
    }

    /// Lets the core do what it does up to an instant.
    fn run(&mut self, now: SimTime, out: &mut Outbox) {
        if self.failure.is_none()
            && let Err(what) = self.step(now, out)
        {
            self.failure = Some(Problem::new(PLACE, what));
        }
    }

    /// Lets the cores access registers as long as they do at this instant.
    fn step(&mut self, now: SimTime, out: &mut Outbox) -> Result<(), String> {
        loop {
            let hardware = &self.hardware;
            match self.cores.step(|number| hardware.has_events(number), now)? {
                Step::Later(at) => {
                    if let Some(at) = at.filter(|&at| self.hardware.arms(at)) {
                        out.events.push(at, Class::Timer, Event::Timer(Timer::Core));
                    }
                    return Ok(());
                }
                Step::Access(number, offset, access) => {
                    self.at = number;
                    self.access(offset, access, now, out).map_err(|what| format!("{}: {what}", self.cores.place(number)))?;
                }
            }
        }
    }

    /// Handles the access of a core to a register.
    fn access(&mut self, offset: u32, access: Access, now: SimTime, out: &mut Outbox) -> Result<(), String> {
        match (offset, access) {
            (registers::LOCK, Access::Load { .. }) => return self.cores.take_lock(self.at),
            (registers::LOCK, Access::Store { .. }) => self.cores.give_lock(self.at)?,
            (_, Access::Load { .. }) => {
                let value = self.load(offset, now, out)?;
                self.cores.answer(self.at, value);
                return Ok(());
            }
            (_, Access::Store { value, .. }) => self.store(offset, value, now, out)?,
        }
        self.cores.accept(self.at);
        Ok(())
    }

    /// Handles the end of a collection's read: its units are in the memory of the controller.
    fn gathered(&mut self, die: DieId, out: &mut Outbox) {
        let collector = &mut self.ftl.state.collectors[die.index()];
        let mut read = std::mem::take(&mut collector.in_read);
        for &ppn in &read {
            out.journal.note(|| Record::ReadSensed { ppn, owner: Owner::Collector });
            self.ftl.state.store.medium.unpin_and_wake(ppn, &mut out.ready);
        }
        let collector = &mut self.ftl.state.collectors[die.index()];
        collector.gathered.append(&mut read);
        collector.in_read = read;
        self.hardware.post(Kind::Gathered, die, 0);
    }

    fn erased(&mut self, ended: Ended, operation: &Operation, out: &mut Outbox) {
        let medium = &mut self.ftl.state.store.medium;
        let block = medium.geometry.block_of(operation.first);
        let worn = medium.wear_thousandths(block);
        let wear = self.ftl.derived.parameters.wear_of_erase(operation.mode, worn);
        medium.erase_done(ended, operation, wear, out);
        self.ftl.state.collectors[operation.die.index()].gathered.clear();
        self.hardware.emptied(operation.die);
        self.ftl.state.space.block_freed(operation.die);
        self.hardware.post(Kind::Erased, operation.die, block.0);
    }
}

impl Translation for Executed {
    fn read(&mut self, command: CommandId, first: Lpn, count: u32, now: SimTime, out: &mut Outbox) -> u32 {
        self.ftl.read(command, first, count, now, out)
    }

    fn write(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> bool {
        self.ftl.write(unit, now, out)
    }

    /// Does nothing: the units were deallocated when the firmware said so, before the command went on
    /// ([`Executed::translate`]).
    fn trim(&mut self, _first: Lpn, _count: u32, _now: SimTime, _out: &mut Outbox) {}

    fn drain(&mut self, what: Drain, ready: &mut ReadyDies) {
        self.ftl.drain(what, ready);
    }

    fn has_drained(&mut self, now: SimTime, out: &mut Outbox) -> bool {
        self.ftl.has_drained(now, out)
    }

    fn demand(&self, die: DieId) -> Demand {
        self.ftl.demand(die)
    }

    fn next(&mut self, die: DieId, _may_program: bool, now: SimTime, out: &mut Outbox) -> Pulled {
        if !self.hardware.has_given(die) {
            self.hardware.idle(die);
            self.hardware.choosing = Some(die);
            self.run(now, out);
            self.hardware.choosing = None;
        }
        let Some(slot) = self.hardware.take_given(die, now) else { return Pulled::Nothing };
        self.ftl.state.writes.idle.remove(die);
        Pulled::Operation(slot)
    }

    fn turn_ended(&mut self, die: DieId, end: TurnEnd, now: SimTime, out: &mut Outbox) {
        match end {
            TurnEnd::Idle => self.ftl.set_idle(die, now, &mut out.events),
            TurnEnd::Started => self.ftl.die_started(die, &mut out.ready),
            TurnEnd::Starved => self.ftl.die_starved(die, &mut out.ready),
        }
    }

    fn operation_done(&mut self, ended: Ended, operation: &Operation, now: SimTime, out: &mut Outbox) {
        match (operation.owner, operation.kind) {
            (Owner::Collector, OperationKind::Read) => self.gathered(operation.die, out),
            (Owner::Collector, OperationKind::Erase) => self.erased(ended, operation, out),
            _ => return self.ftl.operation_done(ended, operation, now, out),
        }
        self.run(now, out);
        out.ready.mark(operation.die);
    }

    fn timer(&mut self, timer: Timer, now: SimTime, out: &mut Outbox) {
        match timer {
            Timer::Core => {
                self.hardware.fired(now);
                self.run(now, out);
            }
            other => self.ftl.timer(other, now, out),
        }
    }

    fn report(&self) -> Report<'_> {
        Report { counters: &self.ftl.state.counters, free_blocks: Some(self.ftl.state.space.total_free_blocks()) }
    }

    fn figures(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    fn unit_at(&self, ppn: Ppn) -> u32 {
        self.ftl.unit_at(ppn)
    }

    fn state(&mut self, _archive: &mut Archive<'_>, _now: SimTime) -> Archived {
        Err("a drive whose firmware is executed is not saved".to_owned())
    }

    fn buffered(&self) -> Buffered {
        self.ftl.state.writes.buffered()
    }

    fn medium(&self) -> &Medium {
        &self.ftl.state.store.medium
    }

    fn medium_mut(&mut self) -> &mut Medium {
        &mut self.ftl.state.store.medium
    }
}
