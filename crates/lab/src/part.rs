//! A part: a kind of flash under a name, with the code that protects it and the times it takes.

use crate::parameter::Parameter;
use cell::Device;
use ecc::{BlockCode, Code};
use kit::Nanos;

/// When a codeword's failure counts as too frequent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// A codeword fails with this probability.
    Failure(f64),
    /// Uncorrectable bits for each bit read (JESD218).
    Uber(f64),
}

/// A part.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it is called.
    pub name: String,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Its physics.
    pub device: Device,
    /// The code that protects its pages.
    pub code: Code,
    /// How seldom a codeword may fail.
    pub target: Target,
    /// What the part's own code corrects with a hard decision as its source rounds it, in place of what follows from `code` and `target`.
    pub own_limit: Option<f64>,
    /// tR, where known.
    pub read_time: Option<Nanos>,
    /// tPROG with its nominal step, where the model of programming does not say.
    pub program_time: Option<Nanos>,
    /// tBERS, where known.
    pub erase_time: Option<Nanos>,
    /// Every number in it, with its standing.
    pub parameters: Vec<Parameter>,
}

/// Names of page types by the bits of a cell, the first read with one reference.
pub fn page_names(page_types: usize) -> &'static [&'static str] {
    match page_types {
        1 => &["page"],
        2 => &["lsb", "msb"],
        3 => &["lsb", "csb", "msb"],
        _ => &["lower", "middle", "upper", "top"],
    }
}

impl Part {
    /// The error rate that its code corrects with so many soft levels.
    pub fn limit(&self, soft_levels: u32) -> f64 {
        // A BCH decoder has no use for them.
        let soft_levels = if matches!(self.code, Code::Bch(_)) { 0 } else { soft_levels };
        match (self.own_limit, self.target) {
            (Some(limit), _) if soft_levels == 0 => limit,
            (_, Target::Failure(probability)) => self.code.limit(soft_levels, probability),
            (_, Target::Uber(uber)) => self.code.limit_at_uber(soft_levels, uber),
        }
    }

    /// Puts another code in the place of the part's own.
    pub fn protect(&mut self, code: Code) {
        self.code = code;
        self.own_limit = None;
    }

    /// The mean program time with a step.
    pub fn program_time(&self, step: f64) -> Option<Nanos> {
        match &self.device.ispp {
            Some(ispp) => Some(ispp.mean_time(step)),
            None => self.program_time,
        }
    }
}
