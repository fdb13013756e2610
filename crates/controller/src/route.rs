//! Routes: the steps of each way through the controller, compiled once from the description. Steps that take no time
//! are not in them.

use crate::ControllerConfig;
use crate::transaction::Way;
use kit::{Cause, Class};

/// A step of a route: the use of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The route ends.
    End,
    /// The command crosses the link to the device.
    Admit,
    /// The data passes the encoder with this index.
    Encode(u8),
    /// The data passes the decoders, which have accepted it.
    Decode,
    /// The data crosses the link to the host.
    Deliver,
}

impl Step {
    /// Returns the cause to which the step and the wait for its resource are charged.
    #[inline]
    pub fn cause(self) -> Cause {
        match self {
            Step::Admit | Step::Deliver => Cause::Link,
            Step::Encode(_) => Cause::EccWait,
            Step::Decode => Cause::Decode,
            Step::End => unreachable!("the end of a route is no step"),
        }
    }

    /// Returns the class of the event at the end of the step. A command arrives together with those that the host
    /// submits at that instant.
    #[inline]
    pub fn class(self) -> Class {
        if self == Step::Admit { Class::Arrival } else { Class::Done }
    }
}

/// Position of the first step of a route.
type Start = u32;

/// The start of every route without steps: the first step is an end.
const EMPTY: Start = 0;

/// The routes of a controller.
#[derive(Clone, Debug)]
pub struct Routes {
    /// The steps of all routes, one route after another, each with its end.
    steps: Vec<Step>,
    /// Route of commands.
    to_device: Start,
    /// Routes of data to be written, by write mode.
    written: Vec<Start>,
    /// Route of data that has been read.
    read: Start,
    /// Route of data to the host.
    to_host: Start,
}

impl Routes {
    /// Compiles the routes of a validated description, with or without a link.
    pub fn new(config: &ControllerConfig, has_link: bool) -> Routes {
        let free = config.keeps_free_steps;
        let mut steps = vec![Step::End];
        let mut route = |all: &[Step]| {
            if all.is_empty() {
                return EMPTY;
            }
            let start = steps.len() as Start;
            steps.extend(all);
            steps.push(Step::End);
            start
        };
        let when = |takes_time: bool, step: Step| if takes_time || free { vec![step] } else { Vec::new() };
        let decodes = config.reads.as_ref().is_some_and(|reads| reads.decoders.is_some());
        let mut encoded = |encoder: Option<usize>| {
            let steps = encoder.map(|encoder| when(config.encoders[encoder].is_some(), Step::Encode(encoder as u8)));
            route(&steps.unwrap_or_default())
        };
        Routes {
            written: config.encoder_of_mode.iter().map(|&encoder| encoded(encoder)).collect(),
            to_device: route(&when(has_link, Step::Admit)),
            read: route(&when(decodes, Step::Decode)),
            to_host: route(&when(has_link, Step::Deliver)),
            steps,
        }
    }

    /// Returns the position of the first step of a way; `None` if it has none.
    #[inline]
    pub fn start(&self, way: Way) -> Option<u32> {
        let start = match way {
            Way::ToDevice { .. } => self.to_device,
            Way::Written { mode, .. } => self.written[mode.index()],
            // The codewords of arriving data take the data's further way.
            Way::Arriving { .. } | Way::Read { .. } => self.read,
            Way::ToHost { .. } => self.to_host,
        };
        (start != EMPTY).then_some(start)
    }

    /// Returns the step at a position.
    #[inline]
    pub fn step(&self, at: u32) -> Step {
        self.steps[at as usize]
    }
}
