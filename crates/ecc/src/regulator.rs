//! Cost of finer sensing and of finer programming: the two regulators of AGCR.

use kit::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Cost regulators of AGCR (FAST'16, equations 1 and 2): RC(N) = alpha N + beta ceil(log2(N + 1)) for a read with N
/// reference voltages, and WC = gamma / step for a write. The forms are stated; the constants are derived from table 1
/// as recalled. Its 70, 170 and 310 us for N = 1, 3 and 7 give alpha and beta by least squares, and are met within 3.5
/// %; its 600 us at the medium step are gamma (FACTS 3).
///
/// Sensing occupies the die and transfers occupy the channel, so they are kept as two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Regulator {
    /// Time to sense a page with one reference voltage.
    pub alpha: Nanos,
    /// Time to transfer a page's data once.
    pub beta: Nanos,
    /// Time to write a page with the medium program step.
    pub gamma: Nanos,
}

impl Default for Regulator {
    fn default() -> Self {
        Regulator { alpha: Nanos(23_300), beta: Nanos(49_000), gamma: Nanos(600_000) }
    }
}

/// Returns the number of transfers of a page sensed with N = `references` voltages: the bits that distinguish its N + 1
/// outcomes, ceil(log2(N + 1)).
pub fn transfers(references: u32) -> u32 {
    // The bit length of N equals ceil(log2(N + 1)).
    u32::BITS - references.leading_zeros()
}

impl Regulator {
    /// Returns the time for which sensing with `references` voltages occupies the die.
    pub fn sensing(&self, references: u32) -> Nanos {
        Nanos(self.alpha.0.saturating_mul(u64::from(references)))
    }

    /// Returns the time for which the transfers of a page sensed with `references` voltages occupy the channel.
    pub fn transferring(&self, references: u32) -> Nanos {
        Nanos(self.beta.0.saturating_mul(u64::from(transfers(references))))
    }

    /// Returns the time of a read with `references` voltages: sensing, then transfers.
    pub fn cost(&self, references: u32) -> Nanos {
        self.sensing(references) + self.transferring(references)
    }

    /// Returns the time of a write with a program step of `relative_step` times the medium one; the largest [`Nanos`]
    /// if the step is not above zero.
    pub fn write_cost(&self, relative_step: f64) -> Nanos {
        if relative_step.is_nan() || relative_step <= 0.0 {
            return Nanos(u64::MAX);
        }
        Nanos(libm::round(self.gamma.0 as f64 / relative_step) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 1 of AGCR, as recalled (FACTS 3) \[us\].
    const READS: [(u32, f64); 3] = [(1, 70.0), (3, 170.0), (7, 310.0)];

    #[test]
    fn reads_cost_what_the_table_says() {
        let regulator = Regulator::default();
        for (references, expected) in READS {
            let found = regulator.cost(references).0 as f64 / 1000.0;
            assert!((found / expected - 1.0).abs() < 0.04, "{references}: {found} us, not {expected}");
        }
        assert_eq!((regulator.sensing(7), regulator.transferring(7)), (Nanos(163_100), Nanos(147_000)));
        assert_eq!([0, 1, 2, 3, 4, 7, 8, u32::MAX].map(transfers), [0, 1, 2, 2, 3, 3, 4, 32]);
    }

    #[test]
    fn alpha_and_beta_are_the_least_squares() {
        let sum = |f: &dyn Fn(f64, f64, f64) -> f64| -> f64 {
            READS.iter().map(|&(n, time)| f(f64::from(n), f64::from(transfers(n)), time)).sum()
        };
        let (nn, nl, ll) = (sum(&|n, _, _| n * n), sum(&|n, l, _| n * l), sum(&|_, l, _| l * l));
        let (ny, ly) = (sum(&|n, _, y| n * y), sum(&|_, l, y| l * y));
        let determinant = nn * ll - nl * nl;
        let (alpha, beta) = ((ny * ll - nl * ly) / determinant, (nn * ly - nl * ny) / determinant);
        let regulator = Regulator::default();
        assert!((regulator.alpha.0 as f64 / 1000.0 - alpha).abs() < 0.05, "{alpha}");
        assert!((regulator.beta.0 as f64 / 1000.0 - beta).abs() < 0.06, "{beta}");
    }

    #[test]
    fn writes_cost_the_inverse_of_their_step() {
        let regulator = Regulator::default();
        for (step, expected) in [(4.0 / 3.0, 450e3), (1.0, 600e3), (0.75, 800e3)] {
            let found = regulator.write_cost(step).0 as f64;
            assert!((found / expected - 1.0).abs() < 0.01, "{step}: {found}");
        }
        assert_eq!([f64::NAN, 0.0, -1.0].map(|step| regulator.write_cost(step)), [Nanos(u64::MAX); 3]);
        assert_eq!(regulator.write_cost(f64::INFINITY), Nanos::ZERO);
    }
}
