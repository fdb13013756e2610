//! Log-normal gaps: independent, with a tail whose weight is a parameter.

use super::{Arrivals, whole};
use kit::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Independent gaps with a log-normal distribution: many short gaps and occasionally a long one. This is a renewal
/// process, whose bursts result only from the variation of the gaps. Their squared coefficient of variation is
/// `exp(sigma^2) - 1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Mean gap.
    pub mean_gap: Nanos,
    /// Standard deviation of the gap's natural logarithm.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub sigma: f64,
}

impl Default for Params {
    fn default() -> Params {
        Params { mean_gap: Nanos(100_000), sigma: 1.0 }
    }
}

struct Lognormal {
    mean_ns: f64,
    mu: f64,
    sigma: f64,
    rng: Rng,
}

/// Builds the process.
pub fn build(params: &Params, rng: Rng) -> Box<dyn Arrivals> {
    let mean_ns = params.mean_gap.0 as f64;
    // The mean of exp(N(mu, sigma)) is exp(mu + sigma^2 / 2).
    let mu = libm::log(mean_ns.max(1e-3)) - params.sigma * params.sigma / 2.0;
    Box::new(Lognormal { mean_ns, mu, sigma: params.sigma, rng })
}

impl Arrivals for Lognormal {
    fn fill(&mut self, gaps_ns: &mut [u64]) {
        for gap in gaps_ns {
            *gap = whole(libm::exp(self.mu + self.sigma * self.rng.normal()));
        }
    }

    fn mean_ns(&self) -> f64 {
        self.mean_ns
    }
}
