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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_worn_block_is_used_first_and_of_equals_the_one_freed_first() {
        let mut blocks: Vec<(u64, u32)> = (0..6).map(|turn| (turn, [7, 0, u32::MAX, 3, 3, 1][turn as usize])).rev().collect();
        blocks.sort_by_key(|&(turn, wear)| Dynamic.free_order(wear, turn));
        assert_eq!(blocks.iter().map(|block| block.0).collect::<Vec<_>>(), [1, 5, 3, 4, 0, 2]);
    }
}
