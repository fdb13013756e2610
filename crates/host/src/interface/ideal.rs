//! No interface at all.

use super::HostInterface;
use kit::{Bytes, SimTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No cost and no limit: commands are in the device the instant they are submitted. For bounds, and for speed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

struct Ideal;

/// Makes the interface.
pub fn build(_: &Params, (): ()) -> Box<dyn HostInterface> {
    Box::new(Ideal)
}

impl HostInterface for Ideal {
    fn try_acquire_slot(&mut self) -> bool {
        true
    }

    fn release_slot(&mut self) {}

    fn admit(&mut self, _: Bytes, now: SimTime) -> SimTime {
        now
    }

    fn deliver(&mut self, _: Bytes, now: SimTime) -> SimTime {
        now
    }
}
