//! No wear levelling.

use super::{Wear, WearLeveling};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// No wear levelling: free blocks are used in the order in which they became free.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

struct Nothing;

/// Builds the rule.
pub fn build(_: &Params, (): ()) -> Box<dyn WearLeveling> {
    Box::new(Nothing)
}

impl WearLeveling for Nothing {
    fn free_order(&self, _: u32, turn: u64) -> (u32, u64) {
        (0, turn)
    }

    fn moves_cold(&self, _: Wear, _: Wear) -> bool {
        false
    }

    fn moves_data(&self) -> bool {
        false
    }
}
