//! Family: firmware. It decodes commands, looks units up, allocates, issues flash operations and completes commands.

pub mod cores;
pub mod ideal;
pub mod riscv;

use kit::Problems;

pub use cores::{Assignment, Cores, Cycles, Order};

/// The contract of firmware.
pub trait Firmware {
    /// Returns the cores on which its tasks take their numbers of cycles; `None` if it has no such tasks.
    fn cores(&self) -> Option<Cores>;

    /// Returns the description of the core that executes it; `None` if none does.
    fn executed(&self) -> Option<&riscv::Params> {
        None
    }

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
        Riscv = riscv,
    }
}

impl FirmwareConfig {
    /// Leaves out the cycles of the tasks whose time a firmware trace has: look-up, allocation, issue and collection.
    pub fn leave_decisions_out(&mut self) {
        if let FirmwareConfig::Cores(params) = self {
            params.cycles = Cycles { look_up: 0, allocate: 0, issue: 0, collect: 0, ..params.cycles };
        }
    }

    /// Reads the files that the firmware names: see [`riscv::Params::read`].
    pub fn read_files(&mut self, file: &dyn Fn(&str) -> Result<String, String>) -> Result<(), Problems> {
        match self {
            FirmwareConfig::Riscv(params) => params.read(file).map_err(|why| Problems::one("controller.firmware.image", why)),
            FirmwareConfig::Ideal(_) | FirmwareConfig::Cores(_) => Ok(()),
        }
    }
}
