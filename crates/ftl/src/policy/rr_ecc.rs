//! Retention relaxation for cheaper codes (Liu, Yang and Wu, FAST 2012).

use super::rr_speed::{self, TwoLevelRetention};
use super::{Facts, Member, ModePolicy};
use kit::{NORMAL_MODE, Nanos, Term};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Description of the policy in one line.
pub const SUMMARY: &str =
    "host writes with the weak code alone, the strong one only for data that outlives it (retention relaxation, 2012)";

/// Retention relaxation for codes (slides, *Retention Relaxation for ECC Optimization*): host writes carry the weak
/// code (BCH), whose retention guarantee is short. Data that outlives it is moved, one block at a time, to a mode with
/// the strong code (LDPC), and is encoded in the background. Data that already has the strong code is moved without
/// being encoded again. The encoder is that of the write mode's `code`. Collection and wear levelling write with the
/// strong code, and data older than the run counts as written with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Write mode with the weak code and the short guarantee.
    pub short: String,
    /// Write mode with the strong code and the full guarantee.
    pub full: String,
    /// Age of a block, counted from its first program, at which it is moved. Absent: half the shortest retention limit
    /// of the short mode (in the paper one week of two).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reprogram_after: Option<Nanos>,
}

impl Default for Params {
    fn default() -> Self {
        Params { short: "fast".to_owned(), full: NORMAL_MODE.to_owned(), reprogram_after: None }
    }
}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("short", &self.short), ("full", &self.full)]
    }

    fn statistics() -> Vec<Term> {
        rr_speed::Params::statistics()
    }
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    TwoLevelRetention::modes(&params.short, &params.full, params.reprogram_after, facts)
}
