//! How a page was written, and what it has been through.

use kit::Nanos;

/// What an error rate is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Condition {
    /// The program step dVpp \[V; in pitches between levels for the model of retention relaxation\].
    pub step: f64,
    /// How much shallower than nominal the block was erased \[V\].
    pub erase_shift: f64,
    /// Program and erase cycles of the block, or the sum of effective wear where erases differ.
    pub pe_cycles: f64,
    /// Time since it was programmed, at the cell's reference temperature.
    pub age: Nanos,
    /// Reads since then: of its block, or of the page itself where a model counts those.
    pub reads: f64,
}

/// Error rates of a wordline's pages, and what of the condition lies outside what the model may be believed for.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Bit error rates by page type, LSB first.
    pub pages: Vec<f64>,
    /// What was outside, each in a few words.
    pub outside: Vec<String>,
}

impl Estimate {
    /// The worst page's.
    pub fn worst(&self) -> f64 {
        self.pages.iter().copied().fold(0.0, f64::max)
    }
}
