//! Cycles of each class of instructions.

use crate::decode::{CLASSES, Class};
use kit::Problems;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Highest number of cycles of an entry.
const MAX_CYCLES: u32 = 65_535;

/// Cycles of each class of instructions.
///
/// The defaults are assumed: a single-issue, in-order core with a short pipeline and tightly coupled memory, without
/// branch prediction, a multiplier of one cycle and a divider of one bit a cycle. The tables of a core's reference
/// manual replace them. A real divider often ends early for small quotients, which this table does not express.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CycleTable {
    /// Cycles of an addition, comparison, logical operation, shift or upper immediate, and of a `fence`.
    #[schemars(range(min = 1, max = MAX_CYCLES))]
    pub alu: u32,
    /// Cycles of a load from tightly coupled memory.
    #[schemars(range(min = 1, max = MAX_CYCLES))]
    pub load: u32,
    /// Cycles of a store to tightly coupled memory.
    #[schemars(range(min = 1, max = MAX_CYCLES))]
    pub store: u32,
    /// Additional cycles of a load whose register is read by the instruction behind it. They are charged with the load.
    #[schemars(range(max = MAX_CYCLES))]
    pub load_use: u32,
    /// Cycles of a branch that is not taken.
    #[schemars(range(min = 1, max = MAX_CYCLES))]
    pub branch: u32,
    /// Additional cycles of a branch that is taken.
    #[schemars(range(max = MAX_CYCLES))]
    pub branch_taken: u32,
    /// Cycles of a jump, direct or indirect.
    #[schemars(range(min = 1, max = MAX_CYCLES))]
    pub jump: u32,
    /// Cycles of a multiplication.
    #[schemars(range(min = 1, max = MAX_CYCLES))]
    pub multiply: u32,
    /// Cycles of a division or remainder.
    #[schemars(range(min = 1, max = MAX_CYCLES))]
    pub divide: u32,
    /// Cycles of an access to a control and status register, of `wfi`, `ecall` and `ebreak`.
    #[schemars(range(min = 1, max = MAX_CYCLES))]
    pub csr: u32,
    /// Additional cycles of a load or store of a device register, after it is answered.
    #[schemars(range(max = MAX_CYCLES))]
    pub device: u32,
}

impl Default for CycleTable {
    fn default() -> Self {
        CycleTable {
            alu: 1,
            load: 1,
            store: 1,
            load_use: 1,
            branch: 1,
            branch_taken: 2,
            jump: 2,
            multiply: 1,
            divide: 33,
            csr: 1,
            device: 0,
        }
    }
}

impl CycleTable {
    /// Adds every invalid entry to `problems`, with paths that begin with `place`.
    pub fn problems(&self, place: &str, problems: &mut Problems) {
        // An instruction takes at least one cycle: a loop comes to the end of its cycles.
        let entries = [
            ("alu", self.alu, 1),
            ("load", self.load, 1),
            ("store", self.store, 1),
            ("load_use", self.load_use, 0),
            ("branch", self.branch, 1),
            ("branch_taken", self.branch_taken, 0),
            ("jump", self.jump, 1),
            ("multiply", self.multiply, 1),
            ("divide", self.divide, 1),
            ("csr", self.csr, 1),
            ("device", self.device, 0),
        ];
        for (name, cycles, lowest) in entries {
            if !(lowest..=MAX_CYCLES).contains(&cycles) {
                problems.add(format!("{place}.{name}"), format!("{cycles}: expected {lowest}..={MAX_CYCLES}"));
            }
        }
    }

    /// Returns the cycles by class, without those that depend on a branch's outcome or on the memory.
    pub(crate) fn by_class(&self) -> [u32; CLASSES] {
        let mut cycles = [self.csr; CLASSES];
        for (class, value) in [
            (Class::Alu, self.alu),
            (Class::Load, self.load),
            (Class::LoadUse, self.load.saturating_add(self.load_use)),
            (Class::Store, self.store),
            (Class::Branch, self.branch),
            (Class::Jump, self.jump),
            (Class::Multiply, self.multiply),
            (Class::Divide, self.divide),
            (Class::System, self.csr),
        ] {
            cycles[class as usize] = value;
        }
        cycles
    }
}
