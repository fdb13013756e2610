//! One mode for all writes.

use super::fixed::Fixed;
use super::{Facts, Member, ModePolicy};
use kit::NORMAL_MODE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of the policy in one line.
pub const SUMMARY: &str = "every write in the `normal` mode: the reference for all gains";

/// Every write and relocation in the `normal` mode: the reference for all gains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

impl Member for Params {
    fn chooses_modes(&self) -> bool {
        false
    }
}

/// Makes the policy.
pub fn build(_: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    Fixed::one(NORMAL_MODE, facts)
}
