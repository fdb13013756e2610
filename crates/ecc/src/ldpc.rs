//! LDPC codes, described by the error rates that they correct.

use crate::binomial::errors_for_tail;
use crate::block_code::BlockCode;
use crate::units::bits_as_bytes;
use kit::{Bytes, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An LDPC code. It does not correct a fixed number of errors, so it is described by the error rates at which a
/// codeword fails with a given probability: one for a hard decision and one for each number of soft levels.
///
/// At other error rates it is modelled as a code that corrects a fixed number of errors: the number whose binomial tail
/// at the limit is the given probability. For the hard decision this is stated (thesis, section 2.3.2: the same
/// limitations as BCH codes); for soft decisions it is assumed. A measured code has a less steep waterfall and an error
/// floor, which this model does not have.
///
/// Only the last limit, 1e-2 with soft decision, is stated (thesis); 4e-3 and 7e-3, the parity and the failure rate at
/// the limits are assumed (FACTS 5.2). Measured limits replace them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ldpc {
    /// Data bits of a codeword; in a description a size, `data = "4KiB"`.
    #[serde(rename = "data", with = "bits_as_bytes")]
    #[schemars(with = "Bytes")]
    pub data_bits: u64,
    /// Parity bits of a codeword; in a description a size, `parity = "448B"`.
    #[serde(rename = "parity", with = "bits_as_bytes")]
    #[schemars(with = "Bytes")]
    pub parity_bits: u64,
    /// Highest error rates that it corrects, in ascending order: with a hard decision, with one soft level, with two,
    /// and so on.
    pub limits: Vec<f64>,
    /// Probability that a codeword fails at each of the limits.
    #[schemars(range(min = 1e-30, max = 0.5))]
    pub failure_at_limit: f64,
}

impl Default for Ldpc {
    /// Returns a code of 4 KiB with 448 B of parity (rate 0.90) and the limits of FACTS 5.2, at a codeword failure rate
    /// of 1e-11: of the order of an UBER of 1e-16 to 1e-15.
    fn default() -> Self {
        Ldpc { data_bits: 4096 * 8, parity_bits: 448 * 8, limits: vec![4e-3, 7e-3, 1e-2], failure_at_limit: 1e-11 }
    }
}

impl Ldpc {
    /// Adds every invalid parameter to `problems`, with paths that begin with `place`.
    pub fn problems(&self, place: &str, problems: &mut Problems) {
        if self.parity_bits == 0 {
            problems.add(format!("{place}.parity"), "0B: expected a size above zero");
        }
        if !(1e-30..=0.5).contains(&self.failure_at_limit) {
            problems.add(format!("{place}.failure_at_limit"), format!("{}: expected 1e-30..=0.5", self.failure_at_limit));
        }
        let within = self.limits.iter().all(|limit| (1e-9..=0.5).contains(limit));
        if self.limits.is_empty() || !within || self.limits.windows(2).any(|pair| pair[1] <= pair[0]) {
            let found = &self.limits;
            let wanted = "expected at least one error rate, each 1e-9..=0.5 and above the one before";
            problems.add(format!("{place}.limits"), format!("{found:?}: {wanted}"));
        }
    }
}

impl BlockCode for Ldpc {
    fn data_bits(&self) -> u64 {
        self.data_bits
    }

    fn parity_bits(&self) -> u64 {
        self.parity_bits
    }

    /// Returns the equivalent number of errors, which may be fractional. Each call finds it by bisection;
    /// [`crate::block_code::Prepared`] stores it.
    fn correctable(&self, levels: u32) -> f64 {
        errors_for_tail(self.codeword_bits(), self.rated(levels), self.failure_at_limit)
    }

    /// Returns the limit with `levels` soft levels; beyond the given limits, the last one. Zero if there are none.
    fn rated(&self, levels: u32) -> f64 {
        let last = self.limits.len().saturating_sub(1);
        self.limits.get((levels as usize).min(last)).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_codeword_fails_at_its_limits_with_the_set_probability() {
        let code = Ldpc::default();
        for levels in 0..3 {
            let limit = code.limits[levels as usize];
            assert!((code.failure(limit, levels) / 1e-11 - 1.0).abs() < 1e-9);
            assert!((code.limit(levels, 1e-11) / limit - 1.0).abs() < 1e-9);
            assert!(code.limit(levels, 1e-15) < limit && code.limit(levels, 1e-3) > limit);
        }
        assert_eq!(code.failure(8e-3, 9), code.failure(8e-3, 2), "no more levels than there are limits");
        // Hard decision at 4e-3: 145 errors on average with a standard deviation of 12; a failure rate of 1e-11 is
        // about 6.7 of these above the mean.
        let errors = code.correctable(0);
        assert!((226.0..236.0).contains(&errors), "{errors}");
    }

    #[test]
    fn a_code_with_the_limit_of_a_bch_code_is_that_bch_code() {
        let bch = crate::Bch::default();
        let limits = vec![bch.limit(0, 1e-12)];
        let ldpc = Ldpc { data_bits: bch.data_bits, parity_bits: bch.parity_bits(), limits, failure_at_limit: 1e-12 };
        assert!((ldpc.correctable(0) - 110.0).abs() < 1e-6, "{}", ldpc.correctable(0));
        for rate in [1e-3, 1.7e-3, 2.4e-3] {
            assert!((ldpc.failure(rate, 0) / bch.failure(rate, 0) - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn every_unusable_limit_is_named() {
        for limits in [vec![], vec![7e-3, 4e-3], vec![f64::NAN], vec![0.0], vec![4e-3, 0.7]] {
            let mut problems = Problems::default();
            Ldpc { limits, ..Ldpc::default() }.problems("ecc.code", &mut problems);
            assert_eq!(problems.0.len(), 1);
            assert!(problems.to_string().contains("ecc.code.limits"), "{problems}");
        }
    }
}
