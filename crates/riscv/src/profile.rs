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
    /// Retired instructions at each even address.
    counts: Vec<u64>,
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
    /// Number of these instructions.
    pub instructions: u64,
}

impl Profile {
    /// Returns an empty profile of the text in `memory`.
    pub(crate) fn new(memory: &Memory) -> Profile {
        Profile {
            classes: [0; CLASSES],
            slots: vec![0; memory.slots.len()],
            counts: vec![0; memory.slots.len()],
            text_base: memory.text_base,
        }
    }

    /// Adds a retired instruction.
    pub(crate) fn add(&mut self, pc: u32, instruction: &Instruction, cycles: u64) {
        self.classes[instruction.class as usize] += 1;
        let at = (pc.wrapping_sub(self.text_base) >> 1) as usize;
        if let (Some(slot), Some(count)) = (self.slots.get_mut(at), self.counts.get_mut(at)) {
            *slot += cycles;
            *count += 1;
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
        let mut functions: Vec<FunctionCycles> = image
            .functions
            .iter()
            .map(|function| (function.name.clone(), function.address))
            .chain([(String::new(), 0)])
            .map(|(name, address)| FunctionCycles { name, address, cycles: 0, instructions: 0 })
            .collect();
        let elsewhere = image.functions.len();
        for (slot, (&cycles, &count)) in self.slots.iter().zip(&self.counts).enumerate().filter(|(_, (_, count))| **count > 0) {
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
