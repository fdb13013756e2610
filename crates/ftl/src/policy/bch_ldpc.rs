//! The scheme that retention relaxation for codes is compared with: the strong code on every write.

use super::fixed::Fixed;
use super::{Facts, Member, ModePolicy};
use kit::NORMAL_MODE;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of the policy in one line.
pub const SUMMARY: &str =
    "every write in a mode with the strong code: concatenated BCH-LDPC, limited by its encoder (retention relaxation, 2012)";

/// Every write with the strong code, a BCH code concatenated with an LDPC code: the scheme that retention relaxation
/// for codes is compared with (slides, *Retention Relaxation for ECC Optimization*). Host writes pass the LDPC encoder
/// one after another; relocated data is encoded already.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Write mode of the full guarantee, whose `code` has an encoder.
    pub full: String,
}

impl Default for Params {
    fn default() -> Self {
        Params { full: NORMAL_MODE.to_owned() }
    }
}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("full", &self.full)]
    }
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    Fixed::one(&params.full, facts)
}
