//! Cores that execute an image, in the time of the drive.
//!
//! Each core has its registers and its tightly coupled memory; the DRAM is shared. What a core does between its own
//! accesses to the DRAM and to registers concerns it alone, so that it goes ahead of the drive's time there. The
//! accesses are made in the order of their cycles, those of one cycle in the order of the cores, and not before the
//! drive's time has come to them: a core that waits can be woken at any instant. A core that is alone goes ahead at
//! accesses to the DRAM, too.

use super::registers;
use crate::firmware::Processor;
use kit::{Frequency, Geometry, Nanos, Problem, SimTime};
use riscv::{Access, AddressRange, Core, CycleTable, FunctionCycles, Image, Layout, Memory, SharedMemory, Stop};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// First address of the text, of the data, of the registers and of the DRAM.
const TEXT: u32 = 0;
const DATA: u32 = 0x1000_0000;
const DEVICES: u32 = 0x4000_0000;
pub(super) const DRAM: u32 = 0x8000_0000;
/// Words that the firmware may use behind the checkpoint, for each die and in all.
const WORDS_PER_DIE: u64 = 256;
const MORE_WORDS: u64 = 4096;
/// Cycles within which firmware begins: asks for its first event, or waits for it.
const START_CYCLES: u64 = 1_000_000_000;
/// Size of the range of the registers \[bytes\].
const DEVICE_BYTES: u32 = 0x4000;

/// Offset of the register from which a core takes its next event.
const EVENT: u32 = 0;

/// Rule by which events get their core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// A die's events by its channel, those of commands by the first mapping unit, each modulo the number of cores.
    #[default]
    Channel,
    /// Those of commands go to the first core, a die's by its channel to the others.
    Task,
    /// A die's events by its channel, those of commands by the submission queue, each modulo the number of cores.
    Queue,
}

/// Description of the cores that execute firmware, and of their memories.
#[derive(Clone, Debug)]
pub struct CoresConfig {
    /// The executable.
    pub image: Arc<Image>,
    /// Number of cores.
    pub cores: u32,
    /// Rule by which events get their core.
    pub split: Split,
    /// Clock of the cores.
    pub clock: Frequency,
    /// Sizes of the tightly coupled memories of the text and of the data \[bytes\].
    pub text_bytes: u32,
    /// See `text_bytes`.
    pub data_bytes: u32,
    /// Cycles of each class of instructions.
    pub cycles: CycleTable,
    /// Time and cache of the DRAM.
    pub dram: SharedMemory,
    /// Time for which the firmware may work without asking for an event.
    pub watchdog: Nanos,
}

impl CoresConfig {
    /// Returns the problem of an image that does not fit the memories, if it does not.
    pub fn problem(&self) -> Option<Problem> {
        let found = Memory::new(&self.layout(4), &self.image).err()?;
        Some(Problem::new("controller.firmware.image", in_words(&found)))
    }

    /// Returns the size of the DRAM that the firmware of a drive with `user_units` of data has: that of the checkpoint,
    /// and more for its own tables.
    pub fn dram_bytes(geometry: &Geometry, user_units: u64) -> u64 {
        let tables = user_units + geometry.unit_count() + 2 * u64::from(geometry.block_count);
        4 * (tables + u64::from(geometry.die_count) * WORDS_PER_DIE + MORE_WORDS)
    }

    fn layout(&self, dram_bytes: u32) -> Layout {
        let range = |address, bytes| AddressRange { address, bytes };
        Layout {
            text: range(TEXT, self.text_bytes),
            data: vec![range(DATA, self.data_bytes)],
            shared: Some(range(DRAM, dram_bytes)),
            devices: vec![range(DEVICES, DEVICE_BYTES)],
        }
    }
}

fn in_words(problems: &kit::Problems) -> String {
    problems.0.iter().map(|problem| problem.to_string()).collect::<Vec<_>>().join("; ")
}

/// Returns (`value` · `factor` + `rest`) / `divisor`, rounded down. Most values need no division of 128 bits, which
/// takes several times as long.
#[inline]
fn scaled(value: u64, factor: u64, divisor: u64, rest: u64) -> u64 {
    match value.checked_mul(factor).and_then(|product| product.checked_add(rest)) {
        Some(sum) => sum / divisor,
        None => ((u128::from(value) * u128::from(factor) + u128::from(rest)) / u128::from(divisor)) as u64,
    }
}

/// State of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It has begun, and asks for its first event, or waits for it, when all others have begun.
    Begun,
    /// It waits for an event.
    Waits,
    /// It waits for the lock.
    Blocked,
    Runs,
    /// It accesses the DRAM next.
    AccessesDram,
    /// It accesses a register next.
    Accesses {
        offset: u32,
        access: Access,
    },
}

/// Next step of the cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing at this instant; they go on at another one, if that is known.
    Later(Option<SimTime>),
    /// A core accesses the register at an offset.
    Access(usize, u32, Access),
}

/// Instructions and cycles that cores have executed, from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Number of instructions.
    pub instructions: u64,
    /// Number of cycles, without those in which a core waited for an event or the lock.
    pub cycles: u64,
}

impl Work {
    fn since(self, other: Work) -> Work {
        Work { instructions: self.instructions - other.instructions, cycles: self.cycles - other.cycles }
    }

    /// Adds the work of others.
    pub fn add(&mut self, more: Work) {
        self.instructions += more.instructions;
        self.cycles += more.cycles;
    }
}

/// Work of a core from the start of the run, and its waits for others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CoreWork {
    /// Its work.
    pub work: Work,
    /// Cycles for which its accesses to the DRAM waited for the interconnect; they are cycles of the work.
    pub interconnect_wait: u64,
    /// Number of times that it took the lock.
    pub locks: u64,
    /// Cycles in which it waited for the lock.
    pub lock_wait: u64,
}

/// A core.
struct Own {
    core: Core,
    memory: Memory,
    state: State,
    /// Cycle at which the firmware asked for an event last, or was woken.
    asked: u64,
    /// Cycles in which it waited for an event or the lock.
    waited: u64,
    locks: u64,
    lock_wait: u64,
    /// Cycles for which it had waited for the interconnect before it was ready.
    start_wait: u64,
    /// Work before it was ready.
    start: Work,
    /// Work up to the last call of [`Cores::take_work`].
    taken: Work,
    /// Work up to its last decision.
    decided: Work,
}

impl Own {
    fn executed(&self) -> Work {
        Work { instructions: self.core.instructions(), cycles: self.core.cycles() - self.waited }
    }

    /// Lets it wait until a cycle, and returns for how many cycles.
    fn wait_until(&mut self, cycle: u64) -> u64 {
        let before = self.core.cycles();
        self.core.advance_to(cycle);
        self.waited += self.core.cycles() - before;
        self.core.cycles() - before
    }

    fn is_active(&self) -> bool {
        !matches!(self.state, State::Begun | State::Waits | State::Blocked)
    }
}

/// The lock of the cores.
#[derive(Default)]
struct Lock {
    owner: Option<usize>,
    /// Cores that wait for it, in the order in which they asked.
    waiting: VecDeque<usize>,
}

/// The cores, and their memory.
pub(super) struct Cores {
    image: Arc<Image>,
    cores: Vec<Own>,
    /// Core whose memory has the DRAM at present.
    holder: usize,
    /// Number of cores that wait for an event.
    waiting: usize,
    interconnect_cycles: u32,
    lock: Lock,
    clock: Frequency,
    watchdog: Nanos,
    /// [`Cores::watchdog`] in cycles.
    watchdog_cycles: u64,
    /// Cycle of the cores at the drive's time 0; `None` while the firmware starts, which takes no time of the drive.
    origin: Option<u64>,
}

impl Cores {
    /// Returns cores that are to begin, with DRAM of a size.
    pub fn new(config: &CoresConfig, dram_bytes: u32) -> Result<Cores, String> {
        let words = |problems: kit::Problems| in_words(&problems);
        let watchdog_cycles = u128::from(config.watchdog.0) * u128::from(config.clock.0) / 1_000_000_000;
        let mut cores: Vec<Own> = Vec::new();
        for number in 0..config.cores {
            // The DRAM is that of the first.
            let bytes = if number == 0 { dram_bytes } else { 4 };
            cores.push(Own {
                core: Core::new(number, config.image.entry, &config.cycles, &config.dram).map_err(words)?,
                memory: Memory::new(&config.layout(bytes), &config.image).map_err(words)?,
                state: State::Runs,
                asked: 0,
                waited: 0,
                locks: 0,
                lock_wait: 0,
                start_wait: 0,
                start: Work::default(),
                taken: Work::default(),
                decided: Work::default(),
            });
        }
        Ok(Cores {
            image: Arc::clone(&config.image),
            cores,
            holder: 0,
            waiting: 0,
            interconnect_cycles: config.dram.interconnect_cycles,
            lock: Lock::default(),
            clock: config.clock,
            watchdog: config.watchdog,
            watchdog_cycles: watchdog_cycles as u64,
            origin: None,
        })
    }

    /// Returns the number of cores.
    pub fn count(&self) -> usize {
        self.cores.len()
    }

    /// Writes words to the DRAM.
    pub fn write_words(&mut self, address: u32, words: &[u32]) {
        let memory = self.cores[self.holder].memory.slice_mut(address, 4 * words.len());
        for (place, word) in memory.expect("the DRAM holds the tables").chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Returns the first cycle of the drive's time that does not begin before an instant.
    fn cycles_until(&self, now: SimTime) -> u64 {
        scaled(now.0, self.clock.0, 1_000_000_000, 999_999_999)
    }

    /// Returns the instant of a cycle of a core, the nanosecond in which it begins; at the start that is now.
    fn time_of(&self, cycle: u64, now: SimTime) -> SimTime {
        self.origin.map_or(now, |origin| SimTime(scaled(cycle - origin, 1_000_000_000, self.clock.0, 0)))
    }

    /// Ends the start of the firmware, once all cores have begun: they are ready at this instant, at one cycle.
    fn be_ready(&mut self, now: SimTime) {
        let origin = self.cores.iter().map(|own| own.core.cycles()).max().unwrap_or(0);
        let cycle = origin + self.cycles_until(now);
        for own in &mut self.cores {
            // A drive that begins late finds the core at a later cycle.
            own.wait_until(cycle);
            own.asked = own.core.cycles();
            (own.start, own.taken, own.decided) = (own.executed(), own.executed(), own.executed());
            own.start_wait = own.core.interconnect_wait();
            own.core.start_profile(&own.memory);
            own.state = State::Runs;
        }
        if self.cores.len() > 1 {
            self.cores[self.holder].memory.share(self.interconnect_cycles);
        }
        self.origin = Some(origin);
    }

    /// Notes that the firmware of a core asks for an event.
    pub fn asks(&mut self, number: usize) -> Result<(), String> {
        self.cores[number].asked = self.cores[number].core.cycles();
        self.holds_no_lock(number)
    }

    fn holds_no_lock(&self, number: usize) -> Result<(), String> {
        if self.lock.owner == Some(number) { Err("it waits for an event and has the lock".to_owned()) } else { Ok(()) }
    }

    /// Lets the cores go on until one of them accesses a register or all wait. `has_events`: whether a core does not
    /// wait.
    pub fn step(&mut self, has_events: impl Fn(usize) -> bool, now: SimTime) -> Result<Step, String> {
        loop {
            if self.waiting > 0 {
                (0..self.cores.len()).filter(|&number| has_events(number)).for_each(|number| self.wake(number, now));
            }
            let Some(number) = self.next_core() else {
                if self.origin.is_some() {
                    return Ok(Step::Later(None));
                }
                self.be_ready(now);
                continue;
            };
            match self.cores[number].state {
                // Registers that are constant during an event are read at once: their value will be the same.
                State::Accesses { offset, access } if registers::is_constant(offset) => {
                    return Ok(Step::Access(number, offset, access));
                }
                State::Accesses { offset, access } => {
                    let later = self.later(number, now);
                    return Ok(later.map_or(Step::Access(number, offset, access), |at| Step::Later(Some(at))));
                }
                State::AccessesDram => match self.later(number, now) {
                    Some(at) => return Ok(Step::Later(Some(at))),
                    None => self.run(number, now)?,
                },
                _ => self.run(number, now)?,
            }
        }
    }

    /// Returns the instant at which a core goes on, if that is after now.
    fn later(&self, number: usize, now: SimTime) -> Option<SimTime> {
        let at = self.time_of(self.cores[number].core.cycles(), now);
        (at > now).then_some(at)
    }

    /// Returns the core that acts next: the one at the earliest cycle, of equal ones the first. They begin one after
    /// the other.
    fn next_core(&self) -> Option<usize> {
        if let [own] = &self.cores[..] {
            return own.is_active().then_some(0);
        }
        let mut active = (0..self.cores.len()).filter(|&number| self.cores[number].is_active());
        if self.origin.is_none() { active.next() } else { active.min_by_key(|&number| self.cores[number].core.cycles()) }
    }

    /// Runs a core until it accesses a register, or the DRAM after the next access of another core or after this
    /// instant, or waits.
    fn run(&mut self, number: usize, now: SimTime) -> Result<(), String> {
        if self.holder != number {
            let [own, other] = self.cores.get_disjoint_mut([number, self.holder]).expect("two cores");
            own.memory.take_shared(&mut other.memory);
            self.holder = number;
        }
        let last_cycle = self.last_cycle(number);
        let limit = self.shared_limit(number, now);
        let own = &mut self.cores[number];
        own.core.limit_shared(limit);
        let state = match own.core.run(&mut own.memory, last_cycle) {
            Stop::Device { address, .. } if address == DEVICES + EVENT && self.origin.is_none() => State::Begun,
            Stop::Wait if self.origin.is_none() => State::Begun,
            Stop::Device { address, access } => State::Accesses { offset: address - DEVICES, access },
            Stop::Shared => State::AccessesDram,
            Stop::Wait => {
                self.holds_no_lock(number).map_err(|what| format!("{}: {what}", self.place(number)))?;
                self.waiting += 1;
                State::Waits
            }
            stop => return Err(self.describe(number, &stop)),
        };
        self.cores[number].state = state;
        Ok(())
    }

    /// Returns the cycle from which on a core may not access the DRAM: that of the next access of another core, or the
    /// first after this instant.
    fn shared_limit(&self, number: usize, now: SimTime) -> u64 {
        let Some(origin) = self.origin.filter(|_| self.cores.len() > 1) else { return u64::MAX };
        let others = (0..self.cores.len()).filter(|&other| other != number && self.cores[other].is_active());
        let of_other = |other: usize| self.cores[other].core.cycles() + u64::from(number < other);
        let after_now = self.cycles_until(now + Nanos(1)) + origin;
        others.map(of_other).fold(after_now, u64::min)
    }

    /// Returns the cycle up to which the firmware of a core may work without asking for an event.
    fn last_cycle(&self, number: usize) -> u64 {
        if self.origin.is_none() { START_CYCLES } else { self.cores[number].asked + self.watchdog_cycles }
    }

    /// Ends a wait, if the core waits: an event has come.
    fn wake(&mut self, number: usize, now: SimTime) {
        if self.cores[number].state != State::Waits {
            return;
        }
        self.waiting -= 1;
        let cycle = self.cycles_until(now) + self.origin.expect("it is ready before it waits");
        let own = &mut self.cores[number];
        if own.wait_until(cycle) > 0 {
            own.asked = own.core.cycles();
        }
        own.state = State::Runs;
    }

    /// Has a core ask for the lock. It goes on once it has it.
    pub fn take_lock(&mut self, number: usize) -> Result<(), String> {
        match self.lock.owner {
            Some(owner) if owner == number => return Err("it takes the lock, which it has".to_owned()),
            Some(_) => {
                self.lock.waiting.push_back(number);
                self.cores[number].state = State::Blocked;
            }
            None => {
                self.lock.owner = Some(number);
                self.cores[number].locks += 1;
                self.answer(number, 0);
            }
        }
        Ok(())
    }

    /// Has a core give the lock back. The core that asked next has it at the cycle at which it was given back.
    pub fn give_lock(&mut self, number: usize) -> Result<(), String> {
        if self.lock.owner != Some(number) {
            return Err("it gives the lock back, which it does not have".to_owned());
        }
        self.lock.owner = self.lock.waiting.pop_front();
        if let Some(next) = self.lock.owner {
            let cycle = self.cores[number].core.cycles();
            let own = &mut self.cores[next];
            own.locks += 1;
            own.lock_wait += own.wait_until(cycle);
            self.answer(next, 0);
        }
        Ok(())
    }

    /// Answers the load of a core.
    pub fn answer(&mut self, number: usize, value: u32) {
        self.cores[number].core.answer_load(value).expect("it loads");
        self.cores[number].state = State::Runs;
    }

    /// Lets a core go on after its store.
    pub fn accept(&mut self, number: usize) {
        self.cores[number].core.accept_store().expect("it stores");
        self.cores[number].state = State::Runs;
    }

    /// Returns where a core is: its number, if there are several, its program counter and function.
    pub fn place(&self, number: usize) -> String {
        let pc = self.cores[number].core.pc();
        let function = self.image.function_at(pc).map_or_else(String::new, |function| format!(" in {}", function.name));
        format!("{}at {pc:#010x}{function}", self.prefix(number))
    }

    /// Returns where all cores are.
    pub fn places(&self) -> String {
        (0..self.cores.len()).map(|number| self.place(number)).collect::<Vec<_>>().join(", ")
    }

    fn prefix(&self, number: usize) -> String {
        if self.cores.len() > 1 { format!("core {number} ") } else { String::new() }
    }

    fn describe(&self, number: usize, stop: &Stop) -> String {
        let what = match stop {
            Stop::Fault(fault) => {
                let colon = if self.cores.len() > 1 { format!("core {number}: ") } else { String::new() };
                return colon + &fault.describe(&self.image);
            }
            Stop::Budget if self.origin.is_none() => format!("hangs: it has not begun after {START_CYCLES} cycles"),
            Stop::Budget => format!("hangs: it has not asked for an event for {} (watchdog)", self.watchdog),
            Stop::Call { .. } => "ecall: there is no system below the firmware".to_owned(),
            _ => "ebreak: there is no debugger".to_owned(),
        };
        format!("{}: {what}", self.place(number))
    }

    /// Returns what each core has executed from the start of the run.
    pub fn work(&self) -> Vec<CoreWork> {
        let of_core = |own: &Own| CoreWork {
            work: own.executed().since(own.start),
            interconnect_wait: own.core.interconnect_wait() - own.start_wait,
            locks: own.locks,
            lock_wait: own.lock_wait,
        };
        self.cores.iter().map(of_core).collect()
    }

    /// Returns what a core has executed since the last call.
    pub fn take_work(&mut self, number: usize) -> Work {
        let own = &mut self.cores[number];
        let now = own.executed();
        now.since(std::mem::replace(&mut own.taken, now))
    }

    /// Returns the cycles that a core has executed since the last call, for a decision.
    pub fn take_decision(&mut self, number: usize) -> u64 {
        let own = &mut self.cores[number];
        let now = own.executed();
        now.since(std::mem::replace(&mut own.decided, now)).cycles
    }

    /// Returns the facts of the cores for a firmware trace.
    pub fn facts(&self) -> Processor {
        Processor { cores: self.cores.len() as u32, clock: self.clock }
    }

    /// Returns what a core has executed that has not been taken.
    pub fn untaken(&self, number: usize) -> Work {
        self.cores[number].executed().since(self.cores[number].taken)
    }

    /// Returns what each function has executed on all cores, in descending order of the cycles.
    pub fn functions(&self) -> Vec<FunctionCycles> {
        let mut all = BTreeMap::<(u32, String), FunctionCycles>::new();
        for function in self.cores.iter().filter_map(|own| own.core.profile()).flat_map(|profile| profile.functions(&self.image))
        {
            let FunctionCycles { cycles, instructions, .. } = function;
            let sum = all.entry((function.address, function.name.clone())).or_insert(FunctionCycles {
                cycles: 0,
                instructions: 0,
                ..function
            });
            sum.cycles += cycles;
            sum.instructions += instructions;
        }
        let mut all: Vec<FunctionCycles> = all.into_values().collect();
        all.sort_by(|a, b| (b.cycles, a.address).cmp(&(a.cycles, b.address)));
        all
    }
}
