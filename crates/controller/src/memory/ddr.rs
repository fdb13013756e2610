//! A DDR memory channel, command by command.

use super::{Memory, Model};
use crate::dram::{Page, Scheduling};
use kit::{Bytes, Problems, words};

pub use crate::dram::Params;

/// Builds the memory.
pub fn build(params: &Params, (): ()) -> Box<dyn Memory> {
    Box::new(params.clone())
}

impl Memory for Params {
    fn model(&self) -> Model {
        Model::Ddr(Box::new(self.clone()))
    }

    fn size(&self) -> Option<Bytes> {
        Some(self.size)
    }

    fn in_words(&self) -> Vec<String> {
        let scheduling = match self.scheduling {
            Scheduling::Fcfs => "FCFS",
            Scheduling::FrFcfs => "FR-FCFS",
        };
        let page = match self.page {
            Page::Open => "open",
            Page::Closed => "closed",
        };
        vec![
            format!("{}, {} bits, {}", self.grade.title(), self.width_bits, words::rate(self.peak())),
            format!("{}, {}, {scheduling}, {page} page", words::count(self.ranks, "rank"), words::size(self.size)),
        ]
    }

    fn problems(&self, problems: &mut Problems) {
        Params::problems(self, "controller.dram", problems);
    }
}
