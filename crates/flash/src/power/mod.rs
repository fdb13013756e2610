//! Power of the flash: the currents of the operations of all dies, superposed.
//!
//! All dies draw from one supply, so their currents add up (SSDExplorer thesis, section 4.1.1, after Kirchhoff's
//! current law). Energy is counted in attojoules, the product of microamperes, millivolts and nanoseconds, in integers.

mod cap;
mod charges;
mod limiter;
mod meter;
mod recurring;
mod ring;
mod suspend;
mod thermal;
mod waveform;
mod windows;

pub use cap::{CapReport, CapSuspensions};
pub use limiter::CapOrder;
pub(crate) use limiter::{Limiter, Missing, Turn};
pub(crate) use meter::ActivePart;
pub use meter::{Meter, PowerReport};
pub use suspend::{IdleScope, SuspendWindows};
pub use thermal::{ThermalConfig, ThermalImage, ThermalReport};
pub use waveform::{Constant, Pulses, Step, Steps, Waveform, WaveformFile, Waveforms};
pub use windows::WindowReport;

use kit::power::{CorePower, DramPower, EccPower, InterconnectPower, LinkPower, StaticPower};
use kit::{Current, IdleParts, Nanos, Power, PowerState, Problems, Voltage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `[power]` section: currents of the flash, and powers of the other parts of the drive. Without it, power is not
/// computed; a part without a section of its own has no energy in the results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerConfig {
    /// Supply voltage of the flash.
    pub supply: Voltage,
    /// Current of a die whose array is at rest. It is drawn during transfers on the channel and suspensions, too.
    pub idle: Current,
    /// Current of a die that senses a page.
    pub read: Waveforms,
    /// Current of a die that programs.
    pub program: Waveforms,
    /// Current of a die that erases.
    pub erase: Waveform,
    /// Length of the windows over which the current is averaged for the instantaneous power: its peak and percentiles.
    #[serde(default = "microsecond")]
    pub window: Nanos,
    /// Cap on the power of the flash at any instant: an array phase that would exceed it waits
    /// (docs/models/power.md). Absent: no cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cap: Option<Power>,
    /// Order in which array phases that wait under the cap begin.
    #[serde(default)]
    pub cap_order: CapOrder,
    /// Number of reads that may overtake a program, an erase or a copyback that waits, with `reads_first`.
    #[serde(default = "overtakes")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub cap_overtakes: u32,
    /// Number of times that an operation in progress may be suspended so that a host read on another die has power
    /// under the cap. 0: never. It needs `flash.suspension`.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(range(min = 0, max = 1_000_000))]
    pub cap_suspends: u32,
    /// Suspension windows of programs, by page type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspend: Vec<SuspendWindows>,
    /// Thermal model of the flash, with a lower cap while it is hot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thermal: Option<ThermalConfig>,
    /// Power states of the drive, in the order of NVMe's Identify Controller; the first serves commands.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<PowerState>,
    /// The memory of the controller, `controller.dram`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dram: Option<DramPower>,
    /// Encoders and decoders.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecc: Option<EccPower>,
    /// The cores of the firmware, `controller.firmware`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cores: Option<CorePower>,
    /// The interconnect, `controller.interconnect`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interconnect: Option<InterconnectPower>,
    /// The device's end of the host link, `host.interface`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<LinkPower>,
    /// Constant power of the rest of the drive.
    #[serde(default, rename = "static", skip_serializing_if = "Option::is_none")]
    pub rest: Option<StaticPower>,
}

/// Number of reads that may overtake one that waits, unless the description says otherwise \[A\].
fn overtakes() -> u32 {
    16
}

// The signature is serde's.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn microsecond() -> Nanos {
    Nanos(1_000)
}

/// Callback that returns the text of a file.
type File<'a> = &'a dyn Fn(&str) -> Result<String, String>;

#[cfg(test)]
impl PowerConfig {
    /// Returns a section in which every operation draws `current`, with nothing beside the flash.
    pub(crate) fn constant(idle: Current, current: Current) -> PowerConfig {
        let waveform = Waveform::Constant(Constant { current });
        PowerConfig {
            supply: Voltage(1_000),
            idle,
            read: Waveforms::One(waveform.clone()),
            program: Waveforms::One(waveform.clone()),
            erase: waveform,
            window: microsecond(),
            cap: None,
            cap_order: CapOrder::Fifo,
            cap_overtakes: overtakes(),
            cap_suspends: 0,
            suspend: Vec::new(),
            thermal: None,
            state: Vec::new(),
            dram: None,
            ecc: None,
            cores: None,
            interconnect: None,
            link: None,
            rest: None,
        }
    }
}

impl PowerConfig {
    /// Reads the files that the section names.
    pub fn read_files(&mut self, file: File<'_>) -> Result<(), Problems> {
        self.read.read("power.read", file)?;
        self.program.read("power.program", file)?;
        let mut erase = Waveforms::One(self.erase.clone());
        erase.read("power.erase", file)?;
        self.erase = erase.of(0).clone();
        Ok(())
    }

    /// Returns the powers of the parts of an idle drive.
    pub fn idle_parts(&self) -> IdleParts<'_> {
        IdleParts {
            cores: self.cores.as_ref(),
            interconnect: self.interconnect.as_ref(),
            link: self.link.as_ref(),
            ecc: self.ecc.as_ref(),
            rest: self.rest.as_ref(),
        }
    }

    /// Adds what is wrong with the section; `page_types` is the number of page types of the cell, `dies` that of the
    /// dies.
    pub fn problems(&self, page_types: u32, dies: u32, problems: &mut Problems) {
        let before = problems.0.len();
        self.read.problems("power.read", page_types, problems);
        self.program.problems("power.program", page_types, problems);
        Waveforms::One(self.erase.clone()).problems("power.erase", 1, problems);
        if !(1..=20_000).contains(&self.supply.0) {
            problems.add("power.supply", format!("{}: expected 1mV to 20V", self.supply));
        }
        if self.idle > Current(1_000_000) {
            problems.add("power.idle", format!("{}: expected at most 1A", self.idle));
        }
        if !(Nanos(100)..=Nanos(1_000_000)).contains(&self.window) {
            problems.add("power.window", format!("{}: expected 100ns to 1ms", self.window));
        }
        self.dram.iter().for_each(|dram| dram.problems(problems));
        self.ecc.iter().for_each(|ecc| ecc.problems(problems));
        self.cores.iter().for_each(|cores| cores.problems(problems));
        self.interconnect.iter().for_each(|interconnect| interconnect.problems(problems));
        self.link.iter().for_each(|link| link.problems(problems));
        self.rest.iter().for_each(|rest| rest.problems(problems));
        SuspendWindows::problems(&self.suspend, page_types, problems);
        if self.cap_suspends > 0 && !self.suspend.is_empty() {
            let what = format!("{}: expected 0 where programs have suspension windows (power.suspend)", self.cap_suspends);
            problems.add("power.cap_suspends", what);
        }
        self.thermal.iter().for_each(|thermal| thermal.problems(problems));
        PowerState::problems(&self.state, &self.idle_parts(), problems);
        if problems.0.len() == before {
            self.cap_problems("power.cap", self.cap, dies, problems);
            self.cap_problems("power.thermal.cap", self.thermal.as_ref().map(|thermal| thermal.cap), dies, problems);
        }
    }
}
