//! The best of the oldest blocks.

use super::{Candidates, Victim};
use kit::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The block with the fewest valid units among the `window` that were closed first (Hu et al., SYSTOR'09): greedy that leaves young blocks alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Blocks of a die, oldest first, among which the choice is made.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub window: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { window: 64 }
    }
}

struct WindowedGreedy(usize);

/// Makes the rule.
pub fn build(params: &Params, (): ()) -> Box<dyn Victim> {
    Box::new(WindowedGreedy(params.window as usize))
}

impl Victim for WindowedGreedy {
    fn choose(&mut self, candidates: &mut Candidates<'_>) -> Option<BlockId> {
        let fallback = candidates.least_valid().filter(|&block| candidates.frees_something(block))?;
        let store = candidates.store;
        let best = store.closed_blocks(candidates.die).take(self.0).min_by_key(|&block| store.block(block).valid);
        best.filter(|&block| candidates.frees_something(block)).or(Some(fallback))
    }
}
