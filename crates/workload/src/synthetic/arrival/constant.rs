//! A fixed gap: an isochronous source, the least variable arrivals there are.

use super::Arrivals;
use kit::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fixed gap between arrivals: for finding the load at which queues appear without any burst.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// The gap.
    pub gap: Nanos,
}

impl Default for Params {
    fn default() -> Params {
        Params { gap: Nanos(100_000) }
    }
}

struct Constant(u64);

/// The process.
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
