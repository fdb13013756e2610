//! The bound: every host write fast, rewritten only at its limit.

use super::fixed::Fixed;
use super::{Facts, Member, ModePolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What it is, in one line.
pub const SUMMARY: &str =
    "every host write in the `fast` mode, rewritten only when its limit nears: the bound of what fast writing can gain";

/// Every host write in the `fast` mode, and no rewrite in idle time: the bound of what fast writing can gain, as long as a run is shorter than the
/// limit of that mode. In a longer one the drive itself moves what nears its limit, as under every policy, and that work is in the result. Relocations
/// write in the `normal` mode, as under `ofwar`.
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
    Fixed::modes(facts.write_mode("fast"), facts.write_mode("normal"))
}
