//! The page map whose decisions firmware makes, which a core executes.
//!
//! The hardware beside the core is that of the page map: the write buffer and its queues, the places of all data, and
//! what is known of each block, by which it checks what the firmware does. The firmware looks units up, and chooses
//! what each die does. Its registers are those of `firmware/hardware.h`.

mod checkpoint;
mod cores;
mod registers;

pub use cores::{CoresConfig, Work};

use super::ftl::Ftl;
use crate::layer::contract::{Pulled, Report, Translation, TurnEnd};
use crate::medium::Medium;
use crate::queue::{Buffered, Drain};
use cores::{DRAM, Processor, Step};
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
    /// For each task, by the event that began it.
    pub tasks: Vec<(&'static str, Work)>,
    /// In each function, in descending order of the cycles.
    pub functions: Vec<riscv::FunctionCycles>,
}

/// The layer.
pub struct Executed {
    ftl: Ftl,
    cores: Processor,
    hardware: Hardware,
    /// Work of the core in each task, by the number of its event.
    tasks: [Work; TASKS.len()],
    failure: Option<Problem>,
}

impl Executed {
    /// Returns the layer with the map of an empty drive.
    pub fn new(ftl: Ftl, config: &CoresConfig) -> Result<Executed, String> {
        let bytes = CoresConfig::dram_bytes(&ftl.state.store.medium.geometry, ftl.state.store.user_units);
        let bytes = u32::try_from(bytes).map_err(|_| format!("its map takes {bytes} bytes of DRAM"))?;
        let hardware = Hardware::new(&ftl);
        let cores = Processor::new(config, bytes)?;
        Ok(Executed { cores, ftl, hardware, tasks: Default::default(), failure: None })
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
    pub fn translate(&mut self, command: CommandId, op: Op, units: Range<u32>, now: SimTime, out: &mut Outbox) -> bool {
        let kind = match op {
            Op::Read => Kind::Read,
            Op::Trim => Kind::Trim,
            _ => return true,
        };
        self.hardware.translating = Some(command);
        self.hardware.ask(command, kind, units);
        self.run(now, out);
        self.hardware.translating.take().is_none() || self.failure.is_some()
    }

    /// Adds what the core has executed since the last event to the task of that event.
    fn charge_task(&mut self) {
        let work = self.cores.take_work();
        self.tasks[self.hardware.event_number()].add(work);
    }

    /// Returns what the firmware has executed.
    pub fn profile(&self) -> FirmwareProfile {
        let mut tasks = self.tasks;
        tasks[self.hardware.event_number()].add(self.cores.untaken());
        let tasks = TASKS.iter().copied().zip(tasks).collect();
        FirmwareProfile { total: self.cores.work(), tasks, functions: self.cores.functions() }
    }

    /// Returns the time for which the last operation of a die waited after the firmware had chosen it.
    pub fn delay(&self, die: DieId) -> Nanos {
        self.hardware.delay(die)
    }

    /// Handles an empty event queue while `commands` commands are in flight. Returns true: the firmware fails.
    pub fn stalled(&mut self, commands: u64) -> bool {
        if self.failure.is_none() {
            let commands = words::count(commands, "command");
            let what = format!("{}: the firmware waits for an event, with {commands} in flight", self.cores.place());
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

    /// Lets the core access registers as long as it does at this instant.
    fn step(&mut self, now: SimTime, out: &mut Outbox) -> Result<(), String> {
        loop {
            match self.cores.step(self.hardware.has_events(), now)? {
                Step::Later(at) => {
                    if let Some(at) = at.filter(|&at| self.hardware.arms(at)) {
                        out.events.push(at, Class::Timer, Event::Timer(Timer::Core));
                    }
                    return Ok(());
                }
                Step::Access(offset, Access::Load { .. }) => {
                    let value = self.load(offset, now, out).map_err(|what| format!("{}: {what}", self.cores.place()))?;
                    self.cores.answer(value);
                }
                Step::Access(offset, Access::Store { value, .. }) => {
                    self.store(offset, value, now, out).map_err(|what| format!("{}: {what}", self.cores.place()))?;
                    self.cores.accept();
                }
            }
        }
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
        self.hardware.post([Kind::Gathered as u32, die.0, 0, 0]);
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
        self.hardware.post([Kind::Erased as u32, operation.die.0, block.0, 0]);
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
