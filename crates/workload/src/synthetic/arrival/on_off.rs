//! On-off arrivals: two rates that alternate, so that bursts have a length of their own.

use super::{Arrivals, whole};
use kit::{Nanos, Rng};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Markov-modulated Poisson process with two states: exponential gaps while *on*, and other, usually longer ones (or no
/// arrivals) while *off*. The time in each state is exponential. It is the simplest model with correlated gaps (Fischer
/// and Meier-Hellstern, "The Markov-modulated Poisson process cookbook", Performance Evaluation 18, 1993).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Mean time in the *on* state.
    pub on_time: Nanos,
    /// Mean time in the *off* state.
    pub off_time: Nanos,
    /// Mean gap while *on*.
    pub on_gap: Nanos,
    /// Mean gap while *off*; absent: no arrivals.
    pub off_gap: Option<Nanos>,
}

impl Default for Params {
    fn default() -> Params {
        Params { on_time: Nanos(10_000_000), off_time: Nanos(40_000_000), on_gap: Nanos(20_000), off_gap: None }
    }
}

struct OnOff {
    sojourn_ns: [f64; 2],
    gap_ns: [f64; 2],
    state: usize,
    left_ns: f64,
    rng: Rng,
}

/// Builds the process, which begins in the *on* state.
pub fn build(params: &Params, mut rng: Rng) -> Box<dyn Arrivals> {
    let sojourn_ns = [params.on_time, params.off_time].map(|span| (span.0 as f64).max(1.0));
    let gap_ns = [(params.on_gap.0 as f64).max(1.0), params.off_gap.map_or(f64::INFINITY, |gap| (gap.0 as f64).max(1.0))];
    let left_ns = rng.exponential(sojourn_ns[0]);
    Box::new(OnOff { sojourn_ns, gap_ns, state: 0, left_ns, rng })
}

impl OnOff {
    fn gap(&mut self) -> f64 {
        let mut gap = 0.0;
        // The loop ends with probability 1, because each *on* period has a chance of an arrival.
        loop {
            let mean = self.gap_ns[self.state];
            let next = if mean.is_finite() { self.rng.exponential(mean) } else { f64::INFINITY };
            if next <= self.left_ns {
                self.left_ns -= next;
                return gap + next;
            }
            gap += self.left_ns;
            self.state = 1 - self.state;
            self.left_ns = self.rng.exponential(self.sojourn_ns[self.state]);
        }
    }
}

impl Arrivals for OnOff {
    fn fill(&mut self, gaps_ns: &mut [u64]) {
        for gap in gaps_ns {
            *gap = whole(self.gap());
        }
    }

    fn mean_ns(&self) -> f64 {
        let arrivals: f64 = (0..2).map(|state| self.sojourn_ns[state] / self.gap_ns[state]).sum();
        self.sojourn_ns.iter().sum::<f64>() / arrivals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_disperse_as_the_formula_says() {
        // Interrupted Poisson process: IDC(infinity) = 1 + 2 lambda r_off / (r_on + r_off)^2, where r_on and r_off are
        // the rates of leaving the two states (cookbook, section 2.3).
        let params = Params { on_time: Nanos(1_000_000), off_time: Nanos(3_000_000), on_gap: Nanos(50_000), off_gap: None };
        let mut process = build(&params, Rng::stream(11, "idc"));
        let mut gaps = vec![0u64; 2_000_000];
        process.fill(&mut gaps);
        let window = 100_000_000u64;
        let mut counts: Vec<f64> = vec![0.0];
        let (mut now, mut edge) = (0u64, window);
        for gap in gaps {
            now += gap;
            while now >= edge {
                counts.push(0.0);
                edge += window;
            }
            *counts.last_mut().expect("never empty") += 1.0;
        }
        counts.pop();
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        let variance = counts.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / counts.len() as f64;
        let (r_on, r_off, lambda) = (1.0, 1.0 / 3.0, 20.0);
        let expected = 1.0 + 2.0 * lambda * r_on / f64::powi(r_on + r_off, 2);
        assert!((variance / mean / expected - 1.0).abs() < 0.1, "IDC {} against {expected}", variance / mean);
    }
}
