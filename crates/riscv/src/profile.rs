//! Profiles: instructions by class, and cycles by instruction and function.

use crate::decode::Class;
use crate::{Image, Memory};

/// Instructions and cycles of a core since [`crate::Core::start_profile`].
///
/// Cycles in which the core waits ([`crate::Core::advance_to`]) are in none of its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Retired instructions and cycles at each even address.
    pub(crate) slots: Vec<Slot>,
    /// Class of the instruction there.
    classes: Vec<Class>,
    text_base: u32,
}

/// Retired instructions at an address, and their cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    count: u64,
    cycles: u64,
}

/// Cycles of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionCycles {
    /// Name; empty for instructions of no function.
    pub name: String,
    /// Address of its first instruction; zero for instructions of no function.
    pub address: u32,
    /// Cycles of its own instructions, without those of the functions that it calls.
    pub cycles: u64,
    /// Number of these instructions.
    pub instructions: u64,
}

impl Slot {
    /// Adds a retired instruction.
    #[inline(always)]
    pub fn add(&mut self, cycles: u64) {
        self.count += 1;
        self.cycles += cycles;
    }
}

impl Profile {
    /// Returns an empty profile of the text in `memory`.
    pub(crate) fn new(memory: &Memory) -> Profile {
        Profile {
            slots: vec![Slot::default(); memory.slots.len()],
            classes: memory.slots.iter().map(|instruction| instruction.class).collect(),
            text_base: memory.text_base,
        }
    }

    /// Adds a retired instruction.
    pub(crate) fn add(&mut self, pc: u32, cycles: u64) {
        if let Some(slot) = self.slots.get_mut((pc.wrapping_sub(self.text_base) >> 1) as usize) {
            slot.add(cycles);
        }
    }

    /// Returns the retired instructions of `class`.
    pub fn instructions(&self, class: Class) -> u64 {
        self.slots.iter().zip(&self.classes).filter(|(_, of_slot)| **of_slot == class).map(|(slot, _)| slot.count).sum()
    }

    /// Returns the cycles of the instruction at each even address from the begin of the text.
    pub fn cycles_by_slot(&self) -> Vec<u64> {
        self.slots.iter().map(|slot| slot.cycles).collect()
    }

    /// Returns the cycles of the functions of `image`, in descending order; functions that did not run are left out.
    pub fn functions(&self, image: &Image) -> Vec<FunctionCycles> {
        let mut functions: Vec<FunctionCycles> = image
            .functions
            .iter()
            .map(|function| (function.name.clone(), function.address))
            .chain([(String::new(), 0)])
            .map(|(name, address)| FunctionCycles { name, address, cycles: 0, instructions: 0 })
            .collect();
        let elsewhere = image.functions.len();
        for (slot, &Slot { count, cycles }) in self.slots.iter().enumerate().filter(|(_, slot)| slot.count > 0) {
            let pc = self.text_base.wrapping_add(2 * slot as u32);
            let behind = image.functions.partition_point(|function| function.address <= pc);
            let function = &mut functions[if image.function_at(pc).is_some() { behind - 1 } else { elsewhere }];
            function.cycles += cycles;
            function.instructions += count;
        }
        functions.retain(|function| function.instructions > 0);
        functions.sort_by(|a, b| (b.cycles, a.address).cmp(&(a.cycles, b.address)));
        functions
    }
}
