//! Constant gaps: an isochronous source, without any variability.

use super::Arrivals;
use kit::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Constant gap between arrivals. Use it to find the load at which queues build up without bursts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Gap between two arrivals.
    pub gap: Nanos,
}

impl Default for Params {
    fn default() -> Params {
        Params { gap: Nanos(100_000) }
    }
}

struct Constant(u64);

/// Builds the process.
pub fn build(params: &Params, _: Rng) -> Box<dyn Arrivals> {
    Box::new(Constant(params.gap.0))
}

impl Arrivals for Constant {
    fn fill(&mut self, gaps_ns: &mut [u64]) {
        gaps_ns.fill(self.0);
    }

    fn mean_ns(&self) -> f64 {
        self.0 as f64
    }
}
