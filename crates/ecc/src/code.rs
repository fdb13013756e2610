//! The code of a description: one of all codes.

use crate::block_code::BlockCode;
use crate::{Bch, Ldpc};
use kit::{Bytes, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A code as written in a description: `{ kind = "bch", data = "4KiB", t = 110 }` or `{ kind = "ldpc", data = "4KiB",
/// parity = "448B", limits = [4e-3, 7e-3, 1e-2] }`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
// For a variant without a comment, the schema uses the comment of its parameters.
#[allow(missing_docs)]
pub enum Code {
    Bch(Bch),
    Ldpc(Ldpc),
}

impl Default for Code {
    /// Returns the default BCH code.
    fn default() -> Self {
        Code::Bch(Bch::default())
    }
}

impl Code {
    fn member(&self) -> &dyn BlockCode {
        match self {
            Code::Bch(code) => code,
            Code::Ldpc(code) => code,
        }
    }

    /// Adds every invalid parameter to `problems`, with paths that begin with `place`.
    pub fn problems(&self, place: &str, problems: &mut Problems) {
        // A tail may be summed over all bits of a codeword, so their number is bounded; the largest codewords in use
        // are 4 KiB.
        let data = Bytes(self.data_bits() / 8);
        if data.0 == 0 || data.0 > 1 << 17 || !self.data_bits().is_multiple_of(8) {
            problems.add(format!("{place}.data"), format!("{data}: expected 1B to 128KiB"));
        }
        match self {
            Code::Bch(code) => code.problems(place, problems),
            Code::Ldpc(code) => code.problems(place, problems),
        }
        if self.parity_bits() / 8 > self.data_bits() {
            let parity = Bytes(self.parity_bits().div_ceil(8));
            problems.add(place, format!("{parity} of parity for {data} of data: expected at most eight times the data"));
        }
    }
}

impl BlockCode for Code {
    fn data_bits(&self) -> u64 {
        self.member().data_bits()
    }

    fn parity_bits(&self) -> u64 {
        self.member().parity_bits()
    }

    fn correctable(&self, levels: u32) -> f64 {
        self.member().correctable(levels)
    }

    fn rated(&self, levels: u32) -> f64 {
        self.member().rated(levels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Layout, Prepared};

    #[derive(Deserialize, Serialize)]
    struct Section {
        code: Code,
    }

    fn read(code: &str) -> Result<Code, String> {
        toml::from_str::<Section>(&format!("code = {code}")).map(|section| section.code).map_err(|error| error.to_string())
    }

    #[test]
    fn a_description_gives_a_code() {
        let bch = read(r#"{ kind = "bch", data = "4KiB", t = 110 }"#).expect("a BCH code");
        assert_eq!(bch, Code::Bch(Bch { data_bits: 32_768, t: 110 }));
        let ldpc =
            read(r#"{ kind = "ldpc", data = "4KiB", parity = "448B", limits = [4e-3, 7e-3, 1e-2] }"#).expect("an LDPC code");
        assert_eq!(ldpc, Code::Ldpc(Ldpc::default()));
        assert_eq!(read(r#"{ kind = "ldpc" }"#).as_ref(), Ok(&ldpc));
        for code in [bch, ldpc] {
            let text = toml::to_string(&Section { code: code.clone() }).expect("can be written");
            assert_eq!(toml::from_str::<Section>(&text).expect("can be read again").code, code, "{text}");
        }
        assert!(read(r#"{ kind = "bch", parity = "448B" }"#).expect_err("no such field").contains("parity"));
        assert!(read(r#"{ kind = "turbo" }"#).is_err());
        // The drive's own validation reads the schema, where sizes must be strings with units too.
        let schema = schemars::schema_for!(Code).as_value().to_string();
        assert!(
            schema.contains(r#""data":{"#) && schema.contains(r#""x-unit":"a size""#) && !schema.contains("data_bits"),
            "{schema}"
        );
        assert!(read(r#"{ kind = "bch", data = "4096" }"#).expect_err("no unit").contains("without a unit"));
        assert!(read(r#"{ kind = "bch", data = "3000000TiB" }"#).expect_err("too large").contains("counted"));
    }

    #[test]
    fn what_does_not_fit_says_what_is_missing() {
        let code = Code::default();
        // (34528, 32768): 220 bytes of parity in each of the four codewords of 16 KiB.
        assert_eq!(code.fits(16_384, 880), Ok(Layout { codewords: 4, spare_bytes: 880 }));
        let problem = code.fits(16_384, 879).expect_err("one byte short").to_string();
        assert!(
            problem.contains("needs 880 bytes") && problem.contains("1 too few") && problem.contains("at most 219"),
            "{problem}"
        );
        let problem = code.fits(6000, 2000).expect_err("no whole codewords").to_string();
        assert!(problem.contains("4KiB") && problem.contains("6kB"), "{problem}");
        assert!(code.fits(0, 100).is_err() && code.fits(u64::MAX, u64::MAX).is_err());
        let ldpc = Code::Ldpc(Ldpc::default());
        assert_eq!(ldpc.fits(16_384, 2000), Ok(Layout { codewords: 4, spare_bytes: 1792 }));
    }

    fn codes() -> Vec<Code> {
        let bch = |data_bytes: u64, t| Code::Bch(Bch { data_bits: data_bytes * 8, t });
        let small = Ldpc { data_bits: 8192, parity_bits: 1024, limits: vec![2e-3, 6e-3, 1.1e-2], failure_at_limit: 1e-6 };
        vec![bch(4096, 110), bch(1024, 40), bch(512, 1), Code::Ldpc(Ldpc::default()), Code::Ldpc(small)]
    }

    #[test]
    fn failures_rise_with_the_rate_and_fall_with_levels() {
        for code in codes() {
            let grid: Vec<f64> = (0..=120).map(|step| libm::pow(10.0, -6.0 + 0.05 * f64::from(step))).collect();
            for levels in 0..3 {
                let prepared = Prepared::new(&code, 2);
                let failures: Vec<f64> = grid.iter().map(|&rate| prepared.failure(rate, levels)).collect();
                // Tails are exact to about 1e-9 of their value, so a plateau at one may waver by that much.
                assert!(failures.windows(2).all(|pair| pair[1] >= pair[0] * (1.0 - 1e-9)), "{code:?} {levels}");
                assert!(failures.iter().all(|failure| (0.0..=1.0).contains(failure)));
                assert!(failures[120] == 1.0 && failures[0] < 1e-3, "{code:?} {levels}");
                for (&rate, &failure) in grid.iter().zip(&failures) {
                    assert_eq!(code.failure(rate, levels), failure, "prepared, the same");
                    assert!(prepared.failure(rate, levels + 1) <= failure * (1.0 + 1e-9), "{code:?} {levels} {rate}");
                    let page = prepared.page_failure(rate, levels, 4);
                    assert!((0.0..=1.0).contains(&page) && page >= failure * (1.0 - 1e-9));
                }
            }
        }
    }

    #[test]
    fn failures_fall_with_what_is_corrected() {
        for rate in [1e-4, 1e-3, 3e-3] {
            let failures: Vec<f64> = (1..200).map(|t| Bch { data_bits: 32_768, t }.failure(rate, 0)).collect();
            assert!(failures.windows(2).all(|pair| pair[1] <= pair[0] * (1.0 + 1e-9)), "{rate}");
        }
    }

    #[test]
    fn a_limit_is_where_the_target_is_met() {
        for code in codes() {
            for target in [1e-15, 1e-11, 1e-3] {
                let limit = code.limit(1, target);
                assert!((code.failure(limit, 1) / target - 1.0).abs() < 1e-6, "{code:?} {target}");
            }
            assert!(code.limit_at_uber(0, 1e-15) > code.limit_at_uber(0, 1e-16));
        }
    }

    #[test]
    fn extremes_stay_numbers() {
        let bch = |data_bits, t| Code::Bch(Bch { data_bits, t });
        let ldpc = |limits: &[f64], failure_at_limit| {
            Code::Ldpc(Ldpc { data_bits: 64, parity_bits: 8, limits: limits.to_vec(), failure_at_limit })
        };
        let mut codes =
            vec![bch(0, 0), bch(1, 0), bch(8, 1), bch(8, 1000), bch(32_768, 0), bch(u64::MAX, u64::MAX), ldpc(&[], 1e-11)];
        for limit in [f64::NAN, -1.0, 0.0, 1.0, f64::INFINITY] {
            codes.extend([f64::NAN, 0.0, 1e-11, 1.0, 2.0].map(|failure| ldpc(&[limit], failure)));
        }
        let odd = [f64::NAN, -1.0, 0.0, 1.0, 2.0, f64::INFINITY, f64::NEG_INFINITY];
        for code in &codes {
            for value in odd {
                for levels in [0, u32::MAX] {
                    let (failure, page) = (code.failure(value, levels), code.page_failure(value, levels, 4));
                    assert!((0.0..=1.0).contains(&failure) && (0.0..=1.0).contains(&page), "{code:?} {value}: {failure} {page}");
                    let (limit, uber) = (code.limit(levels, value), code.limit_at_uber(levels, value));
                    assert!((0.0..=1.0).contains(&limit) && (0.0..=1.0).contains(&uber), "{code:?} {value}: {limit} {uber}");
                }
            }
            let mut problems = Problems::default();
            code.problems("ecc.code", &mut problems);
            assert!(matches!(code, Code::Bch(Bch { data_bits: 8, t: 1 })) || !problems.0.is_empty(), "{code:?}");
        }
        for code in self::codes() {
            let mut problems = Problems::default();
            code.problems("ecc.code", &mut problems);
            assert_eq!(problems, Problems::default(), "{code:?}");
        }
    }
}
