//! The cap on the power of the flash: what it must leave room for, and its report.

use super::{PowerConfig, SuspendWindows, Waveform};
use kit::{Power, Problems};

/// The cap of a run, and what it did since the start of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapReport {
    /// The cap.
    pub cap: Power,
    /// The least cap under which every operation of the drive can begin.
    pub least: Power,
    /// Number of array phases that waited for power.
    pub waits: u64,
    /// Time of these waits \[ns\]; dies wait at the same time.
    pub wait_ns: u64,
    /// Suspensions for the power of reads; `None` if they are off.
    pub suspensions: Option<CapSuspensions>,
}

/// Suspensions for the power of reads on other dies since the start of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapSuspensions {
    /// Number of suspensions, those that last at the start included.
    pub count: u64,
    /// Time from their suspend commands until the operations went on \[ns\]; several are suspended at the same time.
    pub time_ns: u64,
}

impl PowerConfig {
    /// Returns the least possible cap of a drive with `dies` dies: all of them at rest but one, which draws the
    /// greatest current of any waveform or overhead of a suspension. The files are read.
    pub fn min_cap(&self, dies: u32) -> Power {
        let all = self.read.all().iter().chain(self.program.all()).chain([&self.erase]);
        let overheads = self.suspend.iter().filter_map(SuspendWindows::current_of_overhead);
        let greatest = all.map(Waveform::greatest).chain(overheads).max().unwrap_or(self.idle).max(self.idle);
        Power((self.idle.0 * u64::from(dies - 1) + greatest.0) * self.supply.0)
    }

    /// Adds what is wrong with a cap; `place` is the field or option that gives it.
    pub(super) fn cap_problems(&self, place: &str, cap: Option<Power>, dies: u32, problems: &mut Problems) {
        let waits_for_files = self.read.names_file() || self.program.names_file() || matches!(self.erase, Waveform::File(_));
        let Some(cap) = cap.filter(|_| !waits_for_files) else { return };
        let least = self.min_cap(dies);
        if cap < least {
            let (least, idle) = (watts(least), watts(Power(self.idle.0 * u64::from(dies) * self.supply.0)));
            let what = format!("{cap}: expected at least {least} W, for one operation while all {dies} dies rest ({idle} W)");
            problems.add(place, what);
        }
    }

    /// Returns the current that the cap leaves above that of all dies at rest \[uA\].
    pub(crate) fn room(&self, cap: Power, dies: u32) -> u64 {
        (cap.0 / self.supply.0).saturating_sub(self.idle.0 * u64::from(dies))
    }
}

/// Returns a power in watts.
pub(crate) fn watts(power: Power) -> f64 {
    power.0 as f64 / 1e9
}
