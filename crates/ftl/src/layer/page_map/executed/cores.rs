//! A core that executes an image, in the time of the drive.

use super::registers;
use kit::{Frequency, Geometry, Nanos, Problem, SimTime};
use riscv::{Access, AddressRange, Core, CycleTable, FunctionCycles, Image, Layout, Memory, SharedMemory, Stop};
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

/// Description of the core that executes firmware, and of its memories.
#[derive(Clone, Debug)]
pub struct CoresConfig {
    /// The executable.
    pub image: Arc<Image>,
    /// Clock of the core.
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

/// State of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It waits for an event.
    Waits,
    Runs,
    /// It accesses a register at an instant.
    Accesses {
        offset: u32,
        access: Access,
        at: SimTime,
    },
}

/// Next step of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing at this instant; it goes on at another one, if that is known.
    Later(Option<SimTime>),
    /// It accesses the register at an offset.
    Access(u32, Access),
}

/// Instructions and cycles that the core has executed, from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Number of instructions.
    pub instructions: u64,
    /// Number of cycles, without those in which it waited for an event.
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

/// The core, and its memory.
pub(super) struct Processor {
    image: Arc<Image>,
    memory: Memory,
    core: Core,
    state: State,
    clock: Frequency,
    watchdog: Nanos,
    /// [`Processor::watchdog`] in cycles.
    watchdog_cycles: u64,
    /// Cycle of the core at the drive's time 0; `None` while the firmware starts, which takes no time of the drive.
    origin: Option<u64>,
    /// Cycle at which the firmware asked for an event last, or was woken.
    asked: u64,
    /// Cycles in which it waited for an event.
    waited: u64,
    /// Work before it was ready.
    start: Work,
    /// Work up to the last call of [`Processor::take_work`].
    taken: Work,
}

impl Processor {
    /// Returns a core that is to begin, with DRAM of a size.
    pub fn new(config: &CoresConfig, dram_bytes: u32) -> Result<Processor, String> {
        let words = |problems: kit::Problems| in_words(&problems);
        let memory = Memory::new(&config.layout(dram_bytes), &config.image).map_err(words)?;
        let core = Core::new(0, config.image.entry, &config.cycles, &config.dram).map_err(words)?;
        let watchdog_cycles = u128::from(config.watchdog.0) * u128::from(config.clock.0) / 1_000_000_000;
        Ok(Processor {
            image: Arc::clone(&config.image),
            memory,
            core,
            state: State::Runs,
            clock: config.clock,
            watchdog: config.watchdog,
            watchdog_cycles: watchdog_cycles as u64,
            origin: None,
            asked: 0,
            waited: 0,
            start: Work::default(),
            taken: Work::default(),
        })
    }

    /// Writes words to the DRAM.
    pub fn write_words(&mut self, address: u32, words: &[u32]) {
        let memory = self.memory.slice_mut(address, 4 * words.len()).expect("the DRAM holds the tables");
        for (place, word) in memory.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Returns the first cycle of the drive's time that does not begin before an instant.
    fn cycles_until(&self, now: SimTime) -> u64 {
        scaled(now.0, self.clock.0, 1_000_000_000, 999_999_999)
    }

    /// Returns the nanosecond in which a cycle of the drive's time begins.
    fn time_of(&self, cycle: u64) -> SimTime {
        SimTime(scaled(cycle, 1_000_000_000, self.clock.0, 0))
    }

    /// Ends the start of the firmware, if it has not ended: it is ready at this instant.
    fn be_ready(&mut self, now: SimTime) {
        if self.origin.is_none() {
            self.start = self.executed();
            let passed = self.cycles_until(now);
            // A drive that begins late finds the core at a later cycle.
            let cycle = self.core.cycles();
            self.core.advance_to(passed);
            self.waited += self.core.cycles() - cycle;
            self.origin = Some(self.core.cycles() - passed);
            self.asked = self.core.cycles();
            (self.start, self.taken) = (self.executed(), self.executed());
            self.core.start_profile(&self.memory);
        }
    }

    /// Notes that the firmware asks for an event.
    pub fn asks(&mut self, now: SimTime) {
        self.be_ready(now);
        self.asked = self.core.cycles();
    }

    /// Lets the core go on until it accesses a register or waits. `has_events`: it does not wait.
    pub fn step(&mut self, has_events: bool, now: SimTime) -> Result<Step, String> {
        loop {
            let last_cycle = self.last_cycle();
            match self.state {
                State::Waits if !has_events => return Ok(Step::Later(None)),
                State::Waits => self.wake(now),
                // Registers that are constant during an event are read at once: their value will be the same.
                State::Accesses { offset, at, .. } if at > now && !registers::is_constant(offset) => {
                    return Ok(Step::Later(Some(at)));
                }
                State::Accesses { offset, access, .. } => return Ok(Step::Access(offset, access)),
                State::Runs => match self.core.run(&mut self.memory, last_cycle) {
                    Stop::Device { address, access } => {
                        let at = self.origin.map_or(now, |origin| self.time_of(self.core.cycles() - origin));
                        self.state = State::Accesses { offset: address - DEVICES, access, at };
                    }
                    Stop::Wait => {
                        self.be_ready(now);
                        self.state = State::Waits;
                    }
                    stop => return Err(self.describe(&stop)),
                },
            }
        }
    }

    /// Returns the cycle up to which the firmware may work without asking for an event.
    fn last_cycle(&self) -> u64 {
        if self.origin.is_none() { START_CYCLES } else { self.asked + self.watchdog_cycles }
    }

    /// Ends a wait: an event has come.
    fn wake(&mut self, now: SimTime) {
        let (cycle, origin) = (self.core.cycles(), self.origin.expect("it is ready before it waits"));
        self.core.advance_to(self.cycles_until(now) + origin);
        let waited = self.core.cycles() - cycle;
        self.waited += waited;
        if waited > 0 {
            self.asked = self.core.cycles();
        }
        self.state = State::Runs;
    }

    /// Answers the load of the core.
    pub fn answer(&mut self, value: u32) {
        self.core.answer_load(value).expect("it loads");
        self.state = State::Runs;
    }

    /// Lets the core go on after its store.
    pub fn accept(&mut self) {
        self.core.accept_store().expect("it stores");
        self.state = State::Runs;
    }

    /// Returns where the core is: its program counter and function.
    pub fn place(&self) -> String {
        let pc = self.core.pc();
        let function = self.image.function_at(pc).map_or_else(String::new, |function| format!(" in {}", function.name));
        format!("at {pc:#010x}{function}")
    }

    fn describe(&self, stop: &Stop) -> String {
        let what = match stop {
            Stop::Fault(fault) => return fault.describe(&self.image),
            Stop::Budget if self.origin.is_none() => format!("hangs: it has not begun after {START_CYCLES} cycles"),
            Stop::Budget => format!("hangs: it has not asked for an event for {} (watchdog)", self.watchdog),
            Stop::Call { .. } => "ecall: there is no system below the firmware".to_owned(),
            _ => "ebreak: there is no debugger".to_owned(),
        };
        format!("{}: {what}", self.place())
    }

    fn executed(&self) -> Work {
        Work { instructions: self.core.instructions(), cycles: self.core.cycles() - self.waited }
    }

    /// Returns what the core has executed from the start of the run.
    pub fn work(&self) -> Work {
        self.executed().since(self.start)
    }

    /// Returns what the core has executed since the last call.
    pub fn take_work(&mut self) -> Work {
        let now = self.executed();
        now.since(std::mem::replace(&mut self.taken, now))
    }

    /// Returns what the core has executed that has not been taken.
    pub fn untaken(&self) -> Work {
        self.executed().since(self.taken)
    }

    /// Returns what each function has executed, in descending order of the cycles.
    pub fn functions(&self) -> Vec<FunctionCycles> {
        self.core.profile().map_or_else(Vec::new, |profile| profile.functions(&self.image))
    }
}
