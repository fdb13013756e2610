//! Family: firmware. It decodes commands, looks units up, allocates, issues flash operations and completes commands.

pub mod cores;
pub mod ideal;

use kit::Problems;

pub use cores::{Assignment, Cores, Cycles, Order};

/// The contract of firmware.
pub trait Firmware {
    /// Returns the cores that it runs on; `None` if its work takes no time.
    fn cores(&self) -> Option<Cores>;

    /// Returns its clock and cycles in words for drawings, in lines; none if it takes no time.
    fn in_words(&self) -> Vec<String>;

    /// Adds the inconsistencies of its parameters to `problems`.
    fn problems(&self, _problems: &mut Problems) {}
}

kit::family! {
    /// The firmware of the controller.
    FirmwareConfig: () => dyn Firmware {
        Ideal = ideal,
        Cores = cores,
    }
}
