//! Exponential gaps: the arrivals of many independent sources, without memory.

use super::{Arrivals, whole};
use kit::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Exponential gaps (a Poisson process): the index of dispersion of counts is 1 at every time scale. This is the
/// textbook model; measured traces are burstier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Mean gap.
    pub mean_gap: Nanos,
}

impl Default for Params {
    fn default() -> Params {
        Params { mean_gap: Nanos(100_000) }
    }
}

struct Poisson {
    mean_ns: f64,
    rng: Rng,
}

/// Builds the process.
pub fn build(params: &Params, rng: Rng) -> Box<dyn Arrivals> {
    Box::new(Poisson { mean_ns: params.mean_gap.0 as f64, rng })
}

/// Returns the process with a mean gap of `mean_ns`, which need not be whole.
pub fn with_mean_ns(mean_ns: f64, rng: Rng) -> Box<dyn Arrivals> {
    Box::new(Poisson { mean_ns, rng })
}

impl Arrivals for Poisson {
    fn fill(&mut self, gaps_ns: &mut [u64]) {
        for gap in gaps_ns {
            *gap = whole(self.rng.exponential(self.mean_ns));
        }
    }

    fn mean_ns(&self) -> f64 {
        self.mean_ns
    }
}
