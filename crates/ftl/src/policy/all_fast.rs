//! Bound on the gain of fast writes: every host write fast, rewritten only at its retention limit.

use super::fixed::Fixed;
use super::{Facts, Member, ModePolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of the policy in one line.
pub const SUMMARY: &str =
    "every host write in the `fast` mode, rewritten only near its retention limit: the bound on the gain of fast writes";

/// Every host write in the `fast` mode, and no rewrites in idle time: the bound on the gain of fast writes, as long as
/// a run is shorter than the retention limit of that mode. In a longer run the drive itself moves data that nears its
/// limit, as under every policy, and that work is part of the result. Relocations are written in the `normal` mode, as
/// under `ofwar`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("", "fast")]
    }
}

/// Makes the policy.
pub fn build(_: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    Fixed::modes(facts.write_mode("fast"), facts.normal_mode())
}
