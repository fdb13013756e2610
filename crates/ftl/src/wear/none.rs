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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_used_in_the_order_in_which_they_were_freed() {
        let mut blocks: Vec<(u64, u32)> = (0..6).map(|turn| (turn, [7, 0, u32::MAX, 3, 3, 1][turn as usize])).rev().collect();
        blocks.sort_by_key(|&(turn, wear)| Nothing.free_order(wear, turn));
        assert_eq!(blocks.iter().map(|block| block.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5]);
    }
}
