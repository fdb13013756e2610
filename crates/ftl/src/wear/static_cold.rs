//! Cold blocks are moved, too.

use super::{Wear, WearLeveling};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Dynamic and static wear levelling: the least-worn free block first, and when the block just erased is more than `spread` erases ahead of the
/// die's least-worn block with data, that data is moved (reason `wear`) so that its block takes part again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Erases between the block just erased and the least worn, above which data is moved.
    #[schemars(range(min = 1, max = 1_000_000))]
    pub spread: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { spread: 20 }
    }
}

struct StaticCold(u32);

/// Makes the rule.
pub fn build(params: &Params, (): ()) -> Box<dyn WearLeveling> {
    Box::new(StaticCold(params.spread))
}

impl WearLeveling for StaticCold {
    fn free_order(&self, erase_count: u32, turn: u64) -> u64 {
        u64::from(erase_count) << 40 | turn & 0xff_ffff_ffff
    }

    fn moves_cold(&self, erased: Wear, least_worn: Wear) -> bool {
        erased.erase_count > least_worn.erase_count.saturating_add(self.0)
    }

    fn is_static(&self) -> bool {
        true
    }
}
