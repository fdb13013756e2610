//! The drive's own protection against a loss of power.

use kit::{Energy, Nanos, Power, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest time for which capacitors may hold a drive up.
const LONGEST: Nanos = Nanos(10 * Nanos::SECOND.0);

/// The `[power_loss]` section: capacitors that hold the drive up when power is lost without warning, so that it can
/// program its write buffer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PowerLossConfig {
    /// Energy of the capacitors that the drive can use.
    pub energy: Energy,
    /// Power that the drive draws from them while it programs its buffer. It is taken as constant.
    pub power: Power,
    /// True if the drive trusts its capacitors: flushes and writes with FUA complete once their data is in the write
    /// buffer.
    #[serde(default)]
    pub trusted: bool,
}

impl PowerLossConfig {
    /// Returns the time for which the capacitors hold the drive up.
    pub fn hold_up(&self) -> Nanos {
        // Attojoules by nanowatts are nanoseconds.
        Nanos(self.energy.0 / self.power.0.max(1))
    }

    /// Adds the inconsistencies among the fields.
    pub fn problems(&self, has_buffer: bool, problems: &mut Problems) {
        if self.power.0 == 0 {
            problems.add("power_loss.power", "0: expected a power above zero");
        } else if self.hold_up() > LONGEST {
            let complaint = format!("{} last for {}: expected at most {LONGEST}", self.energy, self.hold_up());
            problems.add("power_loss.energy", complaint);
        }
        if self.trusted && !has_buffer {
            problems.add("power_loss.trusted", "the drive has no write buffer that acknowledges: expected false");
        }
    }
}
