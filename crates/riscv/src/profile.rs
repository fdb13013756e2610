//! Profiles: instructions by class, and cycles by instruction and function.

use crate::decode::{CLASSES, Class, Instruction};
use crate::{Image, Memory};

/// Instructions and cycles of a core since [`crate::Core::start_profile`].
///
/// Cycles in which the core waits ([`crate::Core::advance_to`]) are in none of its numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    classes: [u64; CLASSES],
    slots: Vec<u64>,
    text_base: u32,
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
}

impl Profile {
    /// Returns an empty profile of the text in `memory`.
    pub(crate) fn new(memory: &Memory) -> Profile {
        Profile { classes: [0; CLASSES], slots: vec![0; memory.slots.len()], text_base: memory.text_base }
    }

    /// Adds a retired instruction.
    pub(crate) fn add(&mut self, pc: u32, instruction: &Instruction, cycles: u64) {
        self.classes[instruction.class as usize] += 1;
        if let Some(slot) = self.slots.get_mut((pc.wrapping_sub(self.text_base) >> 1) as usize) {
            *slot += cycles;
        }
    }

    /// Returns the retired instructions of `class`.
    pub fn instructions(&self, class: Class) -> u64 {
        self.classes[class as usize]
    }

    /// Returns the cycles of the instruction at each even address from the begin of the text.
    pub fn cycles_by_slot(&self) -> &[u64] {
        &self.slots
    }

    /// Returns the cycles of the functions of `image`, in descending order; functions that did not run are left out.
    pub fn functions(&self, image: &Image) -> Vec<FunctionCycles> {
        let mut cycles = vec![0; image.functions.len()];
        let mut elsewhere = 0;
        for (slot, slot_cycles) in self.slots.iter().enumerate().filter(|(_, slot_cycles)| **slot_cycles > 0) {
            let pc = self.text_base.wrapping_add(2 * slot as u32);
            let behind = image.functions.partition_point(|function| function.address <= pc);
            match image.function_at(pc) {
                Some(_) => cycles[behind - 1] += slot_cycles,
                None => elsewhere += slot_cycles,
            }
        }
        let named = image.functions.iter().zip(cycles);
        let mut functions: Vec<FunctionCycles> = named
            .map(|(function, cycles)| FunctionCycles { name: function.name.clone(), address: function.address, cycles })
            .chain([FunctionCycles { name: String::new(), address: 0, cycles: elsewhere }])
            .filter(|function| function.cycles > 0)
            .collect();
        functions.sort_by(|a, b| (b.cycles, a.address).cmp(&(a.cycles, b.address)));
        functions
    }
}
