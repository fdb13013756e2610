//! BCH codes: the errors that they correct and the parity that they need.

use crate::block_code::BlockCode;
use crate::units::bits_as_bytes;
use kit::{Bytes, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A binary BCH code, shortened to the data it protects. It corrects up to `t` errors in a codeword and no more. The
/// parity is derived: `m t` bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bch {
    /// Data bits of a codeword; in a description a size, `data = "4KiB"`.
    #[serde(rename = "data", with = "bits_as_bytes")]
    #[schemars(with = "Bytes")]
    pub data_bits: u64,
    /// Number of errors that it corrects.
    #[schemars(range(min = 1, max = 4096))]
    pub t: u64,
}

impl Default for Bch {
    /// Returns the code of OFWAR: 110 errors in 4 KiB, (34528, 32768) over GF(2^16) (FACTS 6.3).
    fn default() -> Self {
        Bch { data_bits: 4096 * 8, t: 110 }
    }
}

impl Bch {
    /// Returns m of the field GF(2^m): the smallest whose codewords hold the data and `m t` parity bits.
    pub fn field(&self) -> u64 {
        let needed = |m: u64| self.data_bits.saturating_add(m.saturating_mul(self.t));
        (3..=62).find(|&m| (1u64 << m) > needed(m)).unwrap_or(62)
    }

    /// Adds every invalid parameter to `problems`, with paths that begin with `place`.
    pub fn problems(&self, place: &str, problems: &mut Problems) {
        if self.t == 0 || self.t > 4096 {
            problems.add(format!("{place}.t"), format!("{}: expected 1..=4096", self.t));
        }
    }
}

impl BlockCode for Bch {
    fn data_bits(&self) -> u64 {
        self.data_bits
    }

    /// Returns `m t`, the upper bound on the parity.
    fn parity_bits(&self) -> u64 {
        self.field().saturating_mul(self.t)
    }

    /// Returns `t` for any number of levels: a BCH decoder does not use soft information.
    fn correctable(&self, _levels: u32) -> f64 {
        self.t as f64
    }

    /// Returns the limit at a codeword failure rate of 1e-11, of the order of an UBER of 1e-16 to 1e-15 \[assumed\].
    fn rated(&self, levels: u32) -> f64 {
        self.limit(levels, 1e-11)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binomial::{any_of, ln_tail, rate_for_tail};
    use crate::block_code::Layout;

    fn code(data_bytes: u64, t: u64) -> Bch {
        Bch { data_bits: data_bytes * 8, t }
    }

    /// Limits at page or codeword failure rates of 1e-15 and 1e-11: FACTS 6.3.
    #[test]
    fn limits_are_those_of_the_facts() {
        for (data_bytes, t, at_15, at_11) in
            [(4096, 110, 1.35e-3, 1.57e-3), (1024, 40, 9.7e-4, 1.31e-3), (1024, 60, 1.98e-3, 2.47e-3), (512, 12, 9.6e-5, 2.0e-4)]
        {
            let code = code(data_bytes, t);
            for (target, expected) in [(1e-15, at_15), (1e-11, at_11)] {
                let found = code.limit(0, target);
                // The facts are given to two or three digits.
                assert!(
                    (found / expected - 1.0).abs() < 0.015,
                    "t {t} in {data_bytes} B at {target:e}: {found:.3e}, not {expected:.2e}"
                );
            }
        }
        // The code of OFWAR: (34528, 32768), GF(2^16).
        let code = Bch::default();
        assert_eq!((code.field(), code.codeword_bits()), (16, 34_528));
        assert_eq!(code.layout(4096), Some(Layout { codewords: 1, spare_bytes: 220 }));
        assert_eq!(code.layout(6000), None);
    }

    /// Retention relaxation: 24 bits in a codeword of 1080 B, 4.5e-4 at an UBER of 1e-16 (FACTS 2: 8640 bits in all,
    /// 8192 of them data).
    #[test]
    fn the_limit_at_an_uber() {
        let found = rate_for_tail(8640, 24.0, 1e-16 * 8192.0);
        assert!((found / 4.495e-4 - 1.0).abs() < 2e-3, "{found:.4e}");
        let code = code(1024, 24);
        for uber in [1e-15, 1e-16] {
            let failing_per_bit = code.failure(code.limit_at_uber(0, uber), 0) / 8192.0;
            assert!((failing_per_bit / uber - 1.0).abs() < 1e-6, "{failing_per_bit:e}");
        }
    }

    /// Thesis: t = 100 in 4320 B; of reads of 16 KiB (four codewords), 0.6 to 0.8 % fail at 2.14e-3 to 2.16e-3 (FACTS
    /// 5.2).
    #[test]
    fn a_page_fails_if_any_of_its_codewords_does() {
        let failure = |rate: f64| any_of(libm::exp(ln_tail(4320 * 8, 100, rate)), 4);
        assert!(failure(2.14e-3) > 0.005 && failure(2.16e-3) < 0.0085, "{} {}", failure(2.14e-3), failure(2.16e-3));
        let rare = failure(1.89e-3);
        assert!((0.7e-4..1.4e-4).contains(&rare), "{rare}: 1e-4 at 1.89e-3");
        let code = code(4096, 100);
        let (one, four) = (code.page_failure(2.1e-3, 0, 1), code.page_failure(2.1e-3, 0, 4));
        assert!((four / one - 4.0).abs() < 0.05 && (one / code.failure(2.1e-3, 0) - 1.0).abs() < 1e-9);
    }
}
