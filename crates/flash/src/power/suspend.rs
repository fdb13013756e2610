//! Suspension windows of programs, which keep the current peaks of parallel dies apart.
//!
//! SSDExplorer thesis, section 4.1.2: the controller introduces suspension windows into the programs of upper pages,
//! and issues no operation to an idle chip meanwhile. The overhead of a suspension beyond its window is not stated
//! there; the stated latencies imply 0.38 to 0.49 ms \[D\].

use super::waveform::CURRENT_MAX;
use kit::{Current, Nanos, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest number of windows of a program.
const WINDOWS_MAX: usize = 64;
/// Longest window.
const LENGTH_MAX: Nanos = Nanos(1_000_000_000);

/// Suspension windows of the programs of some page types: at each position the die rests, and then programs on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuspendWindows {
    /// Page types whose programs have the windows (0 is LSB).
    pub page_types: Vec<u32>,
    /// Positions of the windows, as shares of tPROG: increasing, between 0 and 1. None: the programs have no windows.
    pub at: Vec<f64>,
    /// Length of a window, in which the die draws the current of a die at rest.
    pub length: Nanos,
    /// Further time that each suspension takes, in which the die rests, too. It follows the window \[A\].
    #[serde(default)]
    pub overhead: Nanos,
    /// Current that the die draws during the overhead, while the array prepares to go on: 0 A to 10 A. Its energy is
    /// that of the program. Absent: that of a die at rest. The SSDExplorer thesis states none \[A\].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overhead_current: Option<Current>,
    /// No operation is issued to an idle die during a window of any die of `idle_scope`, its overhead included.
    /// Operations in progress go on.
    #[serde(default = "yes")]
    pub idle_chips_wait: bool,
    /// Dies that wait with `idle_chips_wait`. Absent: those of the drive.
    #[serde(default, skip_serializing_if = "IdleScope::is_drive")]
    pub idle_scope: IdleScope,
}

/// Idle dies that wait for the end of a suspension window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdleScope {
    /// All dies of the drive. The SSDExplorer thesis says "idle chips", without a limit \[D\].
    #[default]
    Drive,
    /// The dies on the channel of the die in the window: the channel controllers do not know of each other's windows
    /// \[A\].
    Channel,
}

impl IdleScope {
    // The signature is serde's.
    #[expect(clippy::trivially_copy_pass_by_ref)]
    fn is_drive(&self) -> bool {
        *self == IdleScope::Drive
    }
}

fn yes() -> bool {
    true
}

impl SuspendWindows {
    /// Adds what is wrong with the windows of a description; `page_types` is the number of page types of the cell.
    pub(super) fn problems(all: &[SuspendWindows], page_types: u32, problems: &mut Problems) {
        let mut seen = Vec::new();
        for (index, windows) in all.iter().enumerate() {
            let place = |field: &str| format!("power.suspend[{index}].{field}");
            if windows.page_types.is_empty() {
                problems.add(place("page_types"), "none: expected one page type or more");
            }
            for page_type in &windows.page_types {
                if *page_type >= page_types {
                    problems.add(place("page_types"), format!("{page_type}: expected 0..={}", page_types - 1));
                } else if seen.contains(page_type) {
                    let what = format!("{page_type} stands here a second time: expected each page type once");
                    problems.add(place("page_types"), what);
                }
                seen.push(*page_type);
            }
            if windows.at.len() > WINDOWS_MAX {
                problems.add(place("at"), format!("{} positions: expected at most {WINDOWS_MAX}", windows.at.len()));
            }
            let is_between = |at: &f64| *at > 0.0 && *at < 1.0;
            if let Some(at) = windows.at.iter().find(|at| !is_between(at)) {
                problems.add(place("at"), format!("{at}: expected shares of tPROG between 0 and 1"));
            } else if let Some(pair) = windows.at.windows(2).find(|pair| pair[1] <= pair[0]) {
                problems.add(place("at"), format!("{} follows {}: expected increasing positions", pair[1], pair[0]));
            }
            if windows.length == Nanos::ZERO || windows.length > LENGTH_MAX {
                problems.add(place("length"), format!("{}: expected more than 0 and at most {LENGTH_MAX}", windows.length));
            }
            if windows.overhead > LENGTH_MAX {
                problems.add(place("overhead"), format!("{}: expected at most {LENGTH_MAX}", windows.overhead));
            }
            if let Some(current) = windows.overhead_current.filter(|current| *current > CURRENT_MAX) {
                problems.add(place("overhead_current"), format!("{current}: expected at most {CURRENT_MAX}"));
            }
        }
    }

    /// Returns the time for which a die rests at a window.
    pub(crate) fn rest(&self) -> Nanos {
        self.length + self.overhead
    }

    /// Returns the current of the die during the overhead, if it has one of its own and there is an overhead.
    pub(crate) fn current_of_overhead(&self) -> Option<Current> {
        self.overhead_current.filter(|_| self.overhead > Nanos::ZERO)
    }

    /// Returns the time of the array phase before window `index`, of `total`; the whole time after the last window.
    pub(crate) fn before(&self, index: usize, total: Nanos) -> Nanos {
        // The position is rounded down to a nanosecond.
        self.at.get(index).map_or(total, |at| Nanos((at * total.0 as f64) as u64))
    }
}
