//! The bound: every host write fast, nothing rewritten.

use super::fixed::Fixed;
use super::{Facts, Member, ModePolicy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What it is, in one line.
pub const SUMMARY: &str =
    "every host write in the `fast` mode and no rewrites: the bound of what fast writing can gain (it loses data)";

/// Every host write in the `fast` mode, nothing ever rewritten: the bound of what fast writing can gain. Not a policy to run a drive with: data
/// outlives its retention limit. Relocations write in the `normal` mode, as under `ofwar`.
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
