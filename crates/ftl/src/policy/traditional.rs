//! The first scheme that AGCR is compared with: no cost regulation.

use super::fixed::Fixed;
use super::{Facts, Member, ModePolicy};
use kit::NORMAL_MODE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of the policy in one line.
pub const SUMMARY: &str = "every write at medium cost, and so every read: no cost regulation (AGCR, 2016)";

/// Every write, and so every read, at medium cost: the paper's default and its *traditional case* (MCW/MCR; AGCR,
/// sections 2 and 4). Data older than the run counts as written at medium cost as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Write mode of medium cost.
    pub medium: String,
}

impl Default for Params {
    fn default() -> Self {
        Params { medium: NORMAL_MODE.to_owned() }
    }
}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("medium", &self.medium)]
    }
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    Fixed::one(&params.medium, facts)
}
