//! Low-cost writes, high-cost reads.

use super::fixed::Fixed;
use super::{Facts, Member, ModePolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of the policy in one line.
pub const SUMMARY: &str = "every write at low cost, so that every read is at high cost (AGCR, 2016)";

/// Every write at low cost, and so every read at high cost (LCW/HCR; AGCR, section 2): the best writes and the worst
/// reads. Data older than the run counts as written at low cost as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Write mode of low cost.
    pub low: String,
}

impl Default for Params {
    fn default() -> Self {
        Params { low: "fast".to_owned() }
    }
}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("low", &self.low)]
    }
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    Fixed::one(&params.low, facts)
}
