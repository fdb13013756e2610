//! Steady state by the rule of the SNIA Solid State Storage Performance Test Specification. Over five rounds, the range
//! of the measured value must be within 20 % of its mean, and the rise or fall of the least-squares line over the
//! window within 10 % of the mean.

/// Number of rounds in the measurement window.
pub const WINDOW: usize = 5;

/// Result of the rule.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SteadyState {
    /// True if the rule was met.
    pub reached: bool,
    /// Length of a round \[ns\].
    pub round_ns: u64,
    /// Rounds run until the rule was met, or in total if it was not.
    pub rounds: usize,
    /// Commands per second in each round of the last window.
    pub window_iops: Vec<f64>,
    /// (largest - smallest) / mean over the window; at most 0.2 in steady state.
    pub range: Option<f64>,
    /// |slope of the least-squares line| x (rounds - 1) / mean; at most 0.1 in steady state.
    pub slope: Option<f64>,
}

impl SteadyState {
    /// Starts a search with rounds of `round_ns`.
    pub fn new(round_ns: u64) -> SteadyState {
        SteadyState { reached: false, round_ns, rounds: 0, window_iops: Vec::new(), range: None, slope: None }
    }

    /// Adds the result of a round; returns true if the rule is now met.
    pub fn add(&mut self, iops: f64) -> bool {
        self.rounds += 1;
        if self.window_iops.len() == WINDOW {
            self.window_iops.remove(0);
        }
        self.window_iops.push(iops);
        if self.window_iops.len() < WINDOW {
            return false;
        }
        let mean = self.window_iops.iter().sum::<f64>() / WINDOW as f64;
        let (least, most) = self.window_iops.iter().fold((f64::INFINITY, 0f64), |(low, high), v| (low.min(*v), high.max(*v)));
        let centre = (WINDOW - 1) as f64 / 2.0;
        let (mut above, mut below) = (0.0, 0.0);
        for (index, value) in self.window_iops.iter().enumerate() {
            let x = index as f64 - centre;
            above += x * (value - mean);
            below += x * x;
        }
        let range = (most - least) / mean;
        let slope = (above / below).abs() * (WINDOW - 1) as f64 / mean;
        (self.range, self.slope) = (Some(range), Some(slope));
        self.reached = mean > 0.0 && range <= 0.2 && slope <= 0.1;
        self.reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(rounds: &[f64]) -> bool {
        let mut state = SteadyState::new(1);
        rounds.iter().fold(false, |_, value| state.add(*value))
    }

    #[test]
    fn range_and_slope_both_bind() {
        assert!(!verdict(&[100.0; 4]), "four rounds are not enough");
        assert!(verdict(&[100.0, 101.0, 99.0, 100.0, 100.0]));
        assert!(!verdict(&[100.0, 100.0, 125.0, 100.0, 100.0]), "range 23 %");
        assert!(!verdict(&[93.0, 96.5, 100.0, 103.5, 107.0]), "range 14 %, slope 14 %");
        assert!(verdict(&[500.0, 100.0, 101.0, 99.0, 100.0, 100.0]), "only the last five count");
    }
}
