//! BCH codes: what they correct, where their parity fits, how long they take.

use crate::binomial::{ln_tail, rate_for_tail};
use kit::Nanos;

/// A binary BCH code, shortened to the data it protects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bch {
    /// Data bits of a codeword.
    pub data_bits: u64,
    /// Errors it corrects.
    pub t: u64,
}

impl Bch {
    /// m of its field GF(2^m): the smallest whose codewords hold the data and `m t` parity bits.
    pub fn field(&self) -> u64 {
        (3..=62).find(|m| (1u64 << m) > self.data_bits + m * self.t).unwrap_or(62)
    }

    /// Parity bits: at most `m t`, taken as that.
    pub fn parity_bits(&self) -> u64 {
        self.field() * self.t
    }

    /// Bits of a codeword.
    pub fn codeword_bits(&self) -> u64 {
        self.data_bits + self.parity_bits()
    }

    /// Spare bytes that a page of `page_bytes` needs for its parity, and codewords in it; none if the page is no whole number of codewords.
    pub fn layout(&self, page_bytes: u64) -> Option<(u64, u64)> {
        let codewords = (page_bytes * 8)
            .checked_div(self.data_bits)
            .filter(|count| count * self.data_bits == page_bytes * 8 && *count > 0)?;
        Some((codewords * self.parity_bits().div_ceil(8), codewords))
    }

    /// The probability that a codeword has more errors than it corrects.
    pub fn codeword_failure(&self, error_rate: f64) -> f64 {
        libm::exp(ln_tail(self.codeword_bits(), self.t, error_rate))
    }

    /// The probability that any codeword of a page fails.
    pub fn page_failure(&self, error_rate: f64, codewords: u64) -> f64 {
        -libm::expm1(codewords as f64 * libm::log1p(-self.codeword_failure(error_rate)))
    }

    /// The error rate at which a codeword fails with probability `target`.
    pub fn limit(&self, target: f64) -> f64 {
        rate_for_tail(self.codeword_bits(), self.t, target)
    }

    /// The error rate at an uncorrectable bit error rate of `uber`: failing codewords for each data bit (JESD218).
    pub fn limit_at_uber(&self, uber: f64) -> f64 {
        self.limit(uber * self.data_bits as f64)
    }
}

/// A decoder: syndromes as the data comes in, then Berlekamp-Massey and a Chien search, if there are errors. Structure stated (thesis, section 2.3),
/// numbers assumed (FACTS 5.2): 200 MHz, 32 bits a cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BchDecoder {
    /// Clock \[Hz\].
    pub clock_hz: f64,
    /// Bits that syndromes and the Chien search take in a cycle.
    pub bits_per_cycle: u64,
    /// Cycles of Berlekamp-Massey for each error that the code corrects: 1, or 2.
    pub cycles_per_error: u64,
    /// Up to so many errors the fast Chien machine serves, at `fast_bits_per_cycle`.
    pub fast_errors: u64,
    /// Bits that the fast Chien machine takes in a cycle.
    pub fast_bits_per_cycle: u64,
}

impl Default for BchDecoder {
    fn default() -> Self {
        BchDecoder { clock_hz: 200e6, bits_per_cycle: 32, cycles_per_error: 1, fast_errors: 8, fast_bits_per_cycle: 128 }
    }
}

impl BchDecoder {
    /// How long after its last bit has come in a codeword with `errors` is corrected, or found to be beyond correction. Syndromes are computed
    /// meanwhile; with none set, nothing more is done.
    pub fn time(&self, code: &Bch, errors: u64) -> Nanos {
        if errors == 0 {
            return Nanos::ZERO;
        }
        let width = if errors <= self.fast_errors { self.fast_bits_per_cycle } else { self.bits_per_cycle };
        let cycles = self.cycles_per_error * code.t + code.codeword_bits().div_ceil(width);
        Nanos((cycles as f64 / self.clock_hz * 1e9).ceil() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(data_bytes: u64, t: u64) -> Bch {
        Bch { data_bits: data_bytes * 8, t }
    }

    /// Page or codeword failure 1e-15 and 1e-11: FACTS 6.3.
    #[test]
    fn limits_are_those_of_the_facts() {
        for (data_bytes, t, at_15, at_11) in
            [(4096, 110, 1.35e-3, 1.57e-3), (1024, 40, 9.7e-4, 1.31e-3), (1024, 60, 1.98e-3, 2.47e-3), (512, 12, 9.6e-5, 2.0e-4)]
        {
            let code = code(data_bytes, t);
            for (target, expected) in [(1e-15, at_15), (1e-11, at_11)] {
                let found = code.limit(target);
                // The facts are given to two or three digits.
                assert!(
                    (found / expected - 1.0).abs() < 0.015,
                    "t {t} in {data_bytes} B at {target:e}: {found:.3e}, not {expected:.2e}"
                );
            }
        }
        // OFWAR's code: (34528, 32768), GF(2^16).
        let code = code(4096, 110);
        assert_eq!((code.field(), code.codeword_bits(), code.layout(4096)), (16, 34_528, Some((220, 1))));
        assert_eq!(code.layout(6000), None);
    }

    /// Retention relaxation: 24 bits in a codeword of 1080 B, 4.5e-4 at an UBER of 1e-16 (FACTS 2: 8640 bits in all, 8192 of data).
    #[test]
    fn the_limit_at_an_uber() {
        let found = rate_for_tail(8640, 24, 1e-16 * 8192.0);
        assert!((found / 4.495e-4 - 1.0).abs() < 2e-3, "{found:.4e}");
        let code = code(1024, 24);
        assert!(code.limit_at_uber(1e-15) > code.limit_at_uber(1e-16));
    }

    /// Thesis: t = 100 in 4320 B; 0.6 to 0.8 % of 16 KiB reads, four codewords, fail at 2.14e-3 to 2.16e-3 (FACTS 5.2).
    #[test]
    fn a_page_fails_if_any_of_its_codewords_does() {
        let failure = |rate: f64| -libm::expm1(4.0 * libm::log1p(-libm::exp(ln_tail(4320 * 8, 100, rate))));
        assert!(failure(2.14e-3) > 0.005 && failure(2.16e-3) < 0.0085, "{} {}", failure(2.14e-3), failure(2.16e-3));
        let code = code(4096, 100);
        let (one, four) = (code.page_failure(2.1e-3, 1), code.page_failure(2.1e-3, 4));
        assert!((four / one - 4.0).abs() < 0.05 && (one / code.codeword_failure(2.1e-3) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_decoder_is_an_order_below_the_array_read() {
        let (decoder, code) = (BchDecoder::default(), code(4096, 100));
        assert_eq!(decoder.time(&code, 0), Nanos::ZERO);
        let (few, many) = (decoder.time(&code, 5), decoder.time(&code, 60));
        // (100 + ceil(34368 / 128)) and (100 + ceil(34368 / 32)) cycles of 5 ns.
        assert_eq!((few, many), (Nanos((100 + 269) * 5), Nanos((100 + 1074) * 5)));
        assert!(many < Nanos(10_000));
    }
}
