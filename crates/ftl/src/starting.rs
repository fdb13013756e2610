//! Starting states of a drive.

use kit::Nanos;

/// Method by which the drive is brought to its starting state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// Empty, all blocks erased.
    None,
    /// Every unit written once, in order.
    Fill,
    /// Filled, then overwritten at random.
    Random {
        /// Number of random overwrites, in user capacities.
        passes: u32,
    },
    /// The steady state of uniform random overwrites, produced in a single pass.
    Steady,
}

/// Starting state of a drive: method, age of the data, and wear.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preconditioned {
    /// Method by which the data is written.
    pub method: Precondition,
    /// Age of the oldest block. The first programs of the closed blocks are spread uniformly over this span before the
    /// run, in the order of closing.
    pub age: Nanos,
    /// Erase count of every block.
    pub pe_cycles: u32,
}
