//! A part: a kind of flash under a name, with the code that protects it and its operation times.

use crate::parameter::Parameter;
use cell::Device;
use ecc::{BlockCode, Code};
use kit::Nanos;

/// Failure rate that defines the limit of a code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// Probability that a codeword fails.
    Failure(f64),
    /// Uncorrectable bits per bit read (JESD218).
    Uber(f64),
}

/// A part: a kind of flash under a name.
#[derive(Clone, Debug)]
pub struct Part {
    /// Name of the part.
    pub name: String,
    /// Description of the part in one line.
    pub summary: &'static str,
    /// Physical models of the part.
    pub device: Device,
    /// The code that protects its pages.
    pub code: Code,
    /// Largest acceptable failure rate of a codeword.
    pub target: Target,
    /// Limit of the part's own code with a hard decision, as rounded in its source; replaces the limit that follows
    /// from `code` and `target`.
    pub own_limit: Option<f64>,
    /// tR, if known.
    pub read_time: Option<Nanos>,
    /// tPROG with the nominal step, for parts without a model of programming.
    pub program_time: Option<Nanos>,
    /// tBERS, if known.
    pub erase_time: Option<Nanos>,
    /// All parameters with their standing.
    pub parameters: Vec<Parameter>,
}

/// Returns the names of page types for a number of bits per cell. The first one is read with a single reference.
pub fn page_names(page_types: usize) -> &'static [&'static str] {
    match page_types {
        1 => &["page"],
        2 => &["lsb", "msb"],
        3 => &["lsb", "csb", "msb"],
        _ => &["lower", "middle", "upper", "top"],
    }
}

impl Part {
    /// Returns the error rate that the part's code corrects with `soft_levels` soft levels.
    pub fn limit(&self, soft_levels: u32) -> f64 {
        // A BCH decoder does not use soft levels.
        let soft_levels = if matches!(self.code, Code::Bch(_)) { 0 } else { soft_levels };
        match (self.own_limit, self.target) {
            (Some(limit), _) if soft_levels == 0 => limit,
            (_, Target::Failure(probability)) => self.code.limit(soft_levels, probability),
            (_, Target::Uber(uber)) => self.code.limit_at_uber(soft_levels, uber),
        }
    }

    /// Replaces the part's own code.
    pub fn protect(&mut self, code: Code) {
        self.code = code;
        self.own_limit = None;
    }

    /// Returns the mean program time with a program step.
    pub fn program_time(&self, step: f64) -> Option<Nanos> {
        match &self.device.ispp {
            Some(ispp) => Some(ispp.mean_time(step)),
            None => self.program_time,
        }
    }
}
