//! The least-worn free block first.

use super::{Wear, WearLeveling};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Dynamic wear levelling: the least-worn free block is used first. Data is never moved for wear, so blocks with cold
/// data hardly wear.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

struct Dynamic;

/// Builds the rule.
pub fn build(_: &Params, (): ()) -> Box<dyn WearLeveling> {
    Box::new(Dynamic)
}

impl WearLeveling for Dynamic {
    fn free_order(&self, thousandths: u32, turn: u64) -> (u32, u64) {
        (thousandths, turn)
    }

    fn moves_cold(&self, _: Wear, _: Wear) -> bool {
        false
    }

    fn moves_data(&self) -> bool {
        false
    }
}
