//! autoFTL without slow erases (the paper's autoFTL with a minus sign, section 5.4).

use super::{Facts, Member, ModePolicy, autoftl};
use kit::Term;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of the policy in one line.
pub const SUMMARY: &str = "autoFTL with fast erases only: the control for the gain of slow erases (2014)";

/// autoFTL with fast erases only (the paper's autoFTL with a minus sign, section 5.4 and figure 12). The lifetime that
/// it loses against `autoftl` is the gain of slow erases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
pub struct Params {
    /// Parameters of the decisions, as for `autoftl`; `slow_erase` has no effect.
    pub decisions: autoftl::Params,
}

impl Member for Params {
    fn problems(&self) -> Vec<(&'static str, String)> {
        self.decisions.problems().into_iter().map(|(_, what)| ("decisions.bounds", what)).collect()
    }

    fn statistics() -> Vec<Term> {
        autoftl::Params::statistics()
    }
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    autoftl::build(&autoftl::Params { slow_erase: false, ..params.decisions.clone() }, facts)
}
