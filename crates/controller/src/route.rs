//! Routes: the steps of each way through the controller, compiled once from the description. Steps that take no time
//! are not in them.

use crate::ControllerConfig;
use crate::transaction::Way;

/// A step of a route: the use of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The data passes the encoder with this index.
    Encode(u8),
    /// The data passes the decoders, which have accepted it.
    Decode,
}

/// The routes of a controller.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// Steps of data to be written, by write mode.
    written: Vec<Vec<Step>>,
    /// Steps of data that has been read.
    read: Vec<Step>,
}

impl Routes {
    /// Compiles the routes of a validated description.
    pub fn new(config: &ControllerConfig) -> Routes {
        let free = config.keeps_free_steps;
        let takes_time = |encoder: &usize| config.encoders[*encoder].is_some() || free;
        let encode = |encoder: Option<usize>| encoder.filter(takes_time).map(|encoder| Step::Encode(encoder as u8));
        let decodes = config.reads.as_ref().is_some_and(|reads| reads.decoders.is_some() || free);
        Routes {
            written: config.encoder_of_mode.iter().map(|&encoder| encode(encoder).into_iter().collect()).collect(),
            read: if decodes { vec![Step::Decode] } else { Vec::new() },
        }
    }

    /// Returns the steps of a way.
    #[inline]
    pub fn steps(&self, way: Way) -> &[Step] {
        match way {
            Way::Written { mode, .. } => &self.written[mode.index()],
            // The codewords of arriving data take the data's further way.
            Way::Arriving { .. } | Way::Read { .. } => &self.read,
        }
    }
}
