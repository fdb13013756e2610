//! The least-worn free block first, and blocks with cold data are moved.

use super::{Wear, WearLeveling};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Dynamic and static wear levelling. The least-worn free block is used first. When the block just erased is more than
/// `spread` nominal erases ahead of the die's least-worn closed block, the data of that block is moved (reason `wear`),
/// so that the block is used again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Difference in effective wear between the block just erased and the least-worn closed block above which data is
    /// moved, in nominal erases.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub spread: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { spread: 20 }
    }
}

struct StaticCold(u32);

/// Builds the rule.
pub fn build(params: &Params, (): ()) -> Box<dyn WearLeveling> {
    Box::new(StaticCold(params.spread))
}

impl WearLeveling for StaticCold {
    fn free_order(&self, thousandths: u32, turn: u64) -> (u32, u64) {
        (thousandths, turn)
    }

    fn moves_cold(&self, erased: Wear, min_worn: Wear) -> bool {
        u64::from(erased.thousandths) > u64::from(min_worn.thousandths) + u64::from(self.0) * 1000
    }

    fn moves_data(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data is moved if the difference exceeds the spread, and not at the spread.
    #[test]
    fn cold_data_is_moved_beyond_the_spread() {
        for spread in [1, 2, 20, 1_000_000] {
            let rule = StaticCold(spread);
            let wear = |thousandths| Wear { thousandths, die_mean: 0.0 };
            for least in [0, 1, 999, 1000, 123_456, 3_000_000_000] {
                let at =
                    |beyond: u64| wear(u32::try_from(u64::from(least) + 1000 * u64::from(spread) + beyond).unwrap_or(u32::MAX));
                assert!(!rule.moves_cold(at(0), wear(least)), "{spread} above {least}");
                assert!(rule.moves_cold(at(1), wear(least)), "{spread} above {least}");
                assert!(!rule.moves_cold(wear(least), at(1)), "{spread} below {least}");
            }
        }
    }

    #[test]
    fn the_least_worn_block_is_used_first() {
        let rule = StaticCold(1);
        assert!(rule.free_order(3, 9) < rule.free_order(4, 1) && rule.free_order(3, 1) < rule.free_order(3, 9));
    }
}
