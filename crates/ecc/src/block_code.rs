//! The contract of every code: layout in a page, and failure probability.

use crate::binomial::{any_of, ln_tail_between, rate_for_tail};
use kit::{Bytes, Problem};

/// Number of codewords of a page and the space of their parity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Number of codewords in a page.
    pub codewords: u64,
    /// Spare bytes used by their parity, rounded up to whole bytes for each codeword.
    pub spare_bytes: u64,
}

/// The contract of a code: it corrects up to a number of errors in a codeword, at any positions. Errors are independent
/// (binomial).
///
/// `levels` is the number of soft levels that the decoder has besides the hard decision. An error rate of NaN counts as
/// one.
pub trait BlockCode {
    /// Returns the data bits of a codeword.
    fn data_bits(&self) -> u64;

    /// Returns the parity bits of a codeword.
    fn parity_bits(&self) -> u64;

    /// Returns the number of errors that it corrects. For a fractional number, the logarithm of the failure probability
    /// is interpolated between the neighbouring integers.
    fn correctable(&self, levels: u32) -> f64;

    /// Returns the error rate for which the code is rated.
    fn rated(&self, levels: u32) -> f64;

    /// Returns the bits of a codeword, data and parity.
    fn codeword_bits(&self) -> u64 {
        self.data_bits().saturating_add(self.parity_bits())
    }

    /// Returns the codewords of a page of `page_bytes` and their spare bytes; `None` if the page is no whole number of
    /// codewords.
    fn layout(&self, page_bytes: u64) -> Option<Layout> {
        let page_bits = page_bytes.checked_mul(8)?;
        let codewords = page_bits.checked_div(self.data_bits())?;
        let whole = codewords > 0 && codewords * self.data_bits() == page_bits;
        let spare_bytes = codewords.saturating_mul(self.parity_bits().div_ceil(8));
        whole.then_some(Layout { codewords, spare_bytes })
    }

    /// Returns the layout in a page of `page_bytes` with `spare_bytes` of spare area.
    ///
    /// # Errors
    /// An error at `ecc.code` if the page is no whole number of codewords, or if its spare area does not hold their
    /// parity.
    fn fits(&self, page_bytes: u64, spare_bytes: u64) -> Result<Layout, Problem> {
        let Some(layout) = self.layout(page_bytes) else {
            let (page, data) = (Bytes(page_bytes), Bytes(self.data_bits() / 8));
            return Err(Problem::new(
                "ecc.code",
                format!("codewords of {data} data do not fill a page of {page}: expected a size that divides it"),
            ));
        };
        if layout.spare_bytes > spare_bytes {
            let Layout { codewords, spare_bytes: needed } = layout;
            return Err(Problem::new(
                "ecc.code",
                format!(
                    "the parity of {codewords} codewords needs {needed} bytes of spare area and a page has {spare_bytes}, {} too few: expected \
                     at most {} bytes of parity in a codeword",
                    needed - spare_bytes,
                    spare_bytes / codewords
                ),
            ));
        }
        Ok(layout)
    }

    /// Returns the probability that a codeword cannot be corrected at an error rate of `rate`.
    fn failure(&self, rate: f64, levels: u32) -> f64 {
        libm::exp(ln_tail_between(self.codeword_bits(), self.correctable(levels), rate))
    }

    /// Returns the probability that at least one codeword of a page cannot be corrected.
    fn page_failure(&self, rate: f64, levels: u32, codewords: u64) -> f64 {
        any_of(self.failure(rate, levels), codewords)
    }

    /// Returns the error rate at which a codeword fails with probability `target`.
    fn limit(&self, levels: u32, target: f64) -> f64 {
        rate_for_tail(self.codeword_bits(), self.correctable(levels), target)
    }

    /// Returns the error rate at an uncorrectable bit error rate of `uber`: failing codewords per data bit (JESD218).
    fn limit_at_uber(&self, levels: u32, uber: f64) -> f64 {
        self.limit(levels, uber * self.data_bits() as f64)
    }
}

/// A code whose values for every read are computed once, for up to a number of soft levels. It gives the same results
/// as the code itself, faster.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepared {
    data_bits: u64,
    parity_bits: u64,
    /// Correctable errors and rated error rate with 0, 1, 2, ... soft levels; larger numbers of levels use the last
    /// entry.
    levels: Vec<(f64, f64)>,
}

impl Prepared {
    /// Prepares a code for up to `max_levels` soft levels, at most 64.
    pub fn new(code: &impl BlockCode, max_levels: u32) -> Prepared {
        let levels = (0..=max_levels.min(64)).map(|level| (code.correctable(level), code.rated(level))).collect();
        Prepared { data_bits: code.data_bits(), parity_bits: code.parity_bits(), levels }
    }

    fn at(&self, levels: u32) -> (f64, f64) {
        self.levels[(levels as usize).min(self.levels.len() - 1)]
    }
}

impl BlockCode for Prepared {
    fn data_bits(&self) -> u64 {
        self.data_bits
    }

    fn parity_bits(&self) -> u64 {
        self.parity_bits
    }

    fn correctable(&self, levels: u32) -> f64 {
        self.at(levels).0
    }

    fn rated(&self, levels: u32) -> f64 {
        self.at(levels).1
    }
}
