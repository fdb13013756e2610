//! Firmware whose work takes no time.

use super::{Cores, Firmware};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Takes no time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

/// Builds the firmware.
pub fn build(_: &Params, (): ()) -> Box<dyn Firmware> {
    Box::new(Params {})
}

impl Firmware for Params {
    fn cores(&self) -> Option<Cores> {
        None
    }

    fn in_words(&self) -> Vec<String> {
        Vec::new()
    }
}
