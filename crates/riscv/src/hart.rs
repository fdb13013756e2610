//! The core's state, and its interface to the embedder.

use crate::cache::SharedTiming;
use crate::decode::{CLASSES, Instruction};
use crate::{CacheUsage, Cause, CycleTable, Fault, Memory, Profile, SharedMemory, Stop};
use kit::Problems;

/// Highest cycle up to which a run goes, so that no count overflows.
const LAST_CYCLE: u64 = u64::MAX / 2;

/// A core. Its memory is passed to each run, so that cores can share it.
#[derive(Clone, Debug)]
pub struct Core {
    /// Registers x0 to x31 and the sink, then unused places up to a power of two, so that an index needs no check.
    pub(crate) registers: [u32; 64],
    pub(crate) pc: u32,
    pub(crate) cycles: u64,
    pub(crate) instructions: u64,
    pub(crate) scratch: u32,
    pub(crate) hart: u32,
    pub(crate) class_cycles: [u32; CLASSES],
    pub(crate) branch_taken_cycles: u32,
    device_cycles: u32,
    pub(crate) shared: SharedTiming,
    /// Cycle from which on the core may not access the shared memory.
    pub(crate) shared_limit: u64,
    /// Cycles for which its accesses have waited for the interconnect.
    pub(crate) interconnect_wait: u64,
    /// Access to a device that awaits its answer.
    pub(crate) pending: Option<Pending>,
    pub(crate) profile: Option<Box<Profile>>,
}

/// An access to a device that awaits its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pending {
    pub instruction: Instruction,
    pub pc: u32,
}

/// Error of an answer: the last run did not stop at a device access of that kind. The core is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingPending;

impl std::fmt::Display for NothingPending {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the core does not wait for the answer of a device: expected one after `Stop::Device`, of its kind")
    }
}

impl std::error::Error for NothingPending {}

impl Core {
    /// Returns a core at cycle zero whose program counter is `entry` and whose registers are zero, or all problems of
    /// its parameters. `hart` is the number that it reads in `mhartid`.
    pub fn new(hart: u32, entry: u32, table: &CycleTable, shared: &SharedMemory) -> Result<Core, Problems> {
        let mut problems = Problems::default();
        table.problems("cycles", &mut problems);
        shared.problems("shared", &mut problems);
        problems.or(())?;
        Ok(Core {
            registers: [0; 64],
            pc: entry,
            cycles: 0,
            instructions: 0,
            scratch: 0,
            hart,
            class_cycles: table.by_class(),
            branch_taken_cycles: table.branch_taken,
            device_cycles: table.device,
            shared: SharedTiming::new(shared),
            shared_limit: u64::MAX,
            interconnect_wait: 0,
            pending: None,
            profile: None,
        })
    }

    /// Executes instructions until one stops the core, or until its cycle is at least `until_cycle`. The last
    /// instruction may end later than that. A profiled core runs slower.
    pub fn run(&mut self, memory: &mut Memory, until_cycle: u64) -> Stop {
        self.pending = None;
        if self.pc & 1 != 0 {
            return Stop::Fault(Fault { pc: self.pc, cause: Cause::FetchMisaligned, value: self.pc });
        }
        let until_cycle = until_cycle.min(LAST_CYCLE);
        // Apart from the core while it executes, so that the loop reaches it without a look at the core.
        let Some(mut profile) = self.profile.take() else { return self.execute::<false>(memory, until_cycle, &mut []) };
        let stop = self.execute::<true>(memory, until_cycle, &mut profile.slots);
        self.profile = Some(profile);
        stop
    }

    /// Answers the load at which the last run stopped, from the low bits of `value` as wide as the access. The
    /// instruction retires with the cycles of a load and those of a device access.
    pub fn answer_load(&mut self, value: u32) -> Result<(), NothingPending> {
        let pending = self.pending.filter(|pending| pending.instruction.op.is_load()).ok_or(NothingPending)?;
        self.registers[usize::from(pending.instruction.target) & 63] = pending.instruction.op.extended(value);
        self.retire_access(pending);
        Ok(())
    }

    /// Accepts the store at which the last run stopped. The instruction retires with the cycles of a store and those of
    /// a device access.
    pub fn accept_store(&mut self) -> Result<(), NothingPending> {
        let pending = self.pending.filter(|pending| !pending.instruction.op.is_load()).ok_or(NothingPending)?;
        self.retire_access(pending);
        Ok(())
    }

    fn retire_access(&mut self, Pending { instruction, pc }: Pending) {
        let cycles = u64::from(self.class_cycles[instruction.class as usize]) + u64::from(self.device_cycles);
        self.pending = None;
        self.pc = pc.wrapping_add(u32::from(instruction.size));
        self.cycles = self.cycles.saturating_add(cycles);
        self.instructions += 1;
        if let Some(profile) = &mut self.profile {
            profile.add(pc, cycles);
        }
    }

    /// Lets the core wait until `cycle`; nothing if that is past.
    pub fn advance_to(&mut self, cycle: u64) {
        self.cycles = self.cycles.max(cycle);
    }

    /// Lets the core access the shared memory before `cycle` alone: a run stops at an access from then on
    /// ([`Stop::Shared`]). So cores that share it can access it in the order of their cycles.
    pub fn limit_shared(&mut self, cycle: u64) {
        self.shared_limit = cycle;
    }

    /// Returns the cycles for which accesses to the shared memory have waited for those of other cores
    /// ([`Memory::share`]). They are cycles of these instructions.
    pub fn interconnect_wait(&self) -> u64 {
        self.interconnect_wait
    }

    /// Returns the cycles since the start, waiting included. The counters `cycle` and `time` read it.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Returns the number of retired instructions. The counter `instret` reads it.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// Returns the address of the next instruction.
    pub fn pc(&self) -> u32 {
        self.pc
    }

    /// Sets the address of the next instruction. A device access that awaits its answer is given up.
    pub fn set_pc(&mut self, pc: u32) {
        self.pending = None;
        self.pc = pc;
    }

    /// Returns register x`number`; zero if there is none.
    pub fn register(&self, number: usize) -> u32 {
        self.registers[..32].get(number).copied().unwrap_or(0)
    }

    /// Sets register x`number`, which is 1 to 31; others are left.
    pub fn set_register(&mut self, number: usize, value: u32) {
        if (1..32).contains(&number) {
            self.registers[number] = value;
        }
    }

    /// Returns the accesses to the shared memory and its cache so far.
    pub fn cache_usage(&self) -> CacheUsage {
        self.shared.usage
    }

    /// Empties the cache and returns the number of lines that are written back. Takes no time: [`Core::advance_to`]
    /// adds it.
    pub fn flush_cache(&mut self) -> u64 {
        self.shared.flush()
    }

    /// Begins a profile of the text in `memory`. One that is under way is dropped.
    pub fn start_profile(&mut self, memory: &Memory) {
        self.profile = Some(Box::new(Profile::new(memory)));
    }

    /// Returns the profile, if one was begun.
    pub fn profile(&self) -> Option<&Profile> {
        self.profile.as_deref()
    }
}
