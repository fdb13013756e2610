//! Family: the memory of the controller (DRAM), through which data passes between host and flash, and which holds the
//! map.

pub mod bandwidth;
pub mod channels;
pub mod ddr;
pub mod ideal;

use kit::{Bytes, Nanos, Problems, Rate};

/// Model of a memory.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// Accesses take no time.
    Ideal,
    /// Accesses take turns on a bus.
    Bandwidth {
        /// Data rate.
        rate: Rate,
        /// Time of an access beside its data, in which others may have the bus.
        latency: Nanos,
    },
    /// Accesses are granted piece by piece, command by command.
    Ddr(Box<crate::dram::Params>),
}

/// The contract of a memory.
pub trait Memory {
    /// Returns its model.
    fn model(&self) -> Model;

    /// Returns its size; `None` if it is not limited.
    fn size(&self) -> Option<Bytes>;

    /// Returns its widths and rates in words for drawings, in lines; none if it takes no time.
    fn in_words(&self) -> Vec<String>;

    /// Adds the inconsistencies of its parameters to `problems`.
    fn problems(&self, _problems: &mut Problems) {}
}

kit::family! {
    /// The memory of the controller. With several data buffers, each has a memory of its own.
    MemoryConfig: () => dyn Memory {
        Ideal = ideal,
        Bandwidth = bandwidth,
        Ddr = ddr,
    }
}
