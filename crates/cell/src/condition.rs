//! Condition of a page (step, erase depth, wear, age, reads) and the error-rate estimate for it.

use kit::Nanos;

/// Condition for which an error rate is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Condition {
    /// The program step dVpp \[V; in pitches between levels for the model of retention relaxation\].
    pub step: f64,
    /// Voltage by which the block was erased shallower than nominal \[V\].
    pub erase_shift: f64,
    /// Program and erase cycles of the block; the sum of effective wear where erases differ.
    pub pe_cycles: f64,
    /// Time since programming, at the cell's reference temperature.
    pub age: Nanos,
    /// Reads since programming: of the block, or of the page itself where the model counts those.
    pub reads: f64,
}

/// Estimated error rates of a wordline's pages, with a note of each part of the condition that is outside the model's
/// range.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Bit error rates by page type, LSB first.
    pub pages: Vec<f64>,
    /// Descriptions of the quantities outside the model's range, a few words each.
    pub outside: Vec<String>,
}

impl Estimate {
    /// Returns the error rate of the worst page.
    pub fn worst(&self) -> f64 {
        self.pages.iter().copied().fold(0.0, f64::max)
    }
}
