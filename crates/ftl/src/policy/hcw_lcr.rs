//! High-cost writes, low-cost reads.

use super::fixed::Fixed;
use super::{Facts, Member, ModePolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of the policy in one line.
pub const SUMMARY: &str = "every write at high cost, so that every read is at low cost (AGCR, 2016)";

/// Every write at high cost, and so every read at low cost (HCW/LCR; AGCR, section 2): the best reads and the worst
/// writes. Data older than the run counts as written at high cost as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Write mode of high cost.
    pub high: String,
}

impl Default for Params {
    fn default() -> Self {
        Params { high: "fine".to_owned() }
    }
}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("high", &self.high)]
    }
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    Fixed::one(&params.high, facts)
}
