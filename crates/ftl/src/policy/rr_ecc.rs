//! Retention relaxation for cheaper codes (Liu, Yang and Wu, FAST 2012).

use super::rr_speed::TwoGuarantees;
use super::{Facts, Member, ModePolicy};
use kit::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What it is, in one line.
pub const SUMMARY: &str =
    "host writes with the weak code alone, the strong one only for data that outlives it (retention relaxation, 2012)";

/// Retention relaxation for codes (slides, *Retention Relaxation for ECC Optimization*): host writes carry the weak code (BCH), whose guarantee is short; what outlives it is moved, a
/// block at a time, to a mode with the strong code (LDPC), encoded in the background. What has the strong code already moves without being encoded
/// again: the encoder is that of the write mode's `code`. Collection and wear levelling write with the strong code, and so is data older than
/// the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// The write mode with the weak code and the short guarantee.
    pub short: String,
    /// The write mode with the strong code and the full guarantee.
    pub full: String,
    /// How long after its first program a block is moved. Absent: half the shortest retention limit of the short mode (a week of two).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reprogram_after: Option<Nanos>,
}

impl Default for Params {
    fn default() -> Self {
        Params { short: "fast".to_owned(), full: "normal".to_owned(), reprogram_after: None }
    }
}

impl Member for Params {
    fn modes(&self) -> Vec<(&'static str, &str)> {
        vec![("short", &self.short), ("full", &self.full)]
    }
}

/// Makes the policy.
pub fn build(params: &Params, facts: &Facts) -> Box<dyn ModePolicy> {
    TwoGuarantees::modes(&params.short, &params.full, params.reprogram_after, facts)
}
