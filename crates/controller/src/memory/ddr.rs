//! A DDR memory channel, command by command.

use super::{Memory, Model};
use kit::{Bytes, Problems};

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

    fn problems(&self, problems: &mut Problems) {
        Params::problems(self, "controller.dram", problems);
    }
}
