//! An ideal interface.

use super::HostInterface;
use crate::queues::QueueConfig;
use kit::Protocol;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An interface without cost or limit: a command is in the device at the instant of its submission. For bounds on
/// performance, and for fast simulation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

struct Ideal;

/// Builds the interface.
pub fn build(_: &Params, (): ()) -> Box<dyn HostInterface> {
    Box::new(Ideal)
}

impl HostInterface for Ideal {
    fn queues(&self) -> Option<QueueConfig> {
        None
    }

    fn protocol(&self) -> Protocol {
        Protocol::default()
    }

    fn in_words(&self) -> Vec<String> {
        Vec::new()
    }
}
