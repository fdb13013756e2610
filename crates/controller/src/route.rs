//! Routes: the steps of each way through the controller, compiled once from the description. Steps that take no time
//! are not in them.

use crate::ControllerConfig;
use crate::transaction::Way;

/// A step of a route: the use of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The data passes the encoder with this index.
    Encode(u8),
}

/// The routes of a controller.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// Steps of data to be written, by write mode.
    written: Vec<Vec<Step>>,
}

impl Routes {
    /// Compiles the routes of a validated description.
    pub fn new(config: &ControllerConfig) -> Routes {
        let takes_time = |encoder: &usize| config.encoders[*encoder].is_some();
        let encode = |encoder: Option<usize>| encoder.filter(takes_time).map(|encoder| Step::Encode(encoder as u8));
        Routes { written: config.encoder_of_mode.iter().map(|&encoder| encode(encoder).into_iter().collect()).collect() }
    }

    /// Returns the steps of a way.
    #[inline]
    pub fn steps(&self, way: Way) -> &[Step] {
        match way {
            Way::Written { mode, .. } => &self.written[mode.index()],
        }
    }
}
