//! The block with the fewest valid units among the oldest.

use super::{Candidates, Victim};
use kit::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The block with the fewest valid units among the `window` that were closed first (Hu et al., SYSTOR'09): greedy, but
/// young blocks are left alone. If none of them would free space, the block with the fewest valid units of the die.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of blocks of a die, oldest first, among which the choice is made.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub window: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { window: 64 }
    }
}

struct WindowedGreedy(usize);

/// Builds the rule.
pub fn build(params: &Params, (): ()) -> Box<dyn Victim> {
    Box::new(WindowedGreedy(params.window as usize))
}

impl Victim for WindowedGreedy {
    fn choose(&mut self, candidates: &mut Candidates<'_>) -> Option<BlockId> {
        let fallback = candidates.min_valid().filter(|&block| candidates.would_free_space(block))?;
        let window = candidates.medium.closed_blocks(candidates.die).take(self.0);
        let best = window.min_by_key(|&block| candidates.valid(block));
        best.filter(|&block| candidates.would_free_space(block)).or(Some(fallback))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::victim::tests::{MAX_VALID, every_die, greedy};

    /// Every window up to the whole die and beyond. Of blocks with equally few valid units, the one closed first is
    /// taken.
    #[test]
    fn the_best_block_of_the_window_is_taken() {
        let (medium, cases) = every_die();
        let mut rng = kit::Rng::stream(1, "unused");
        for (window, case) in (1..=5).flat_map(|window| cases.iter().map(move |case| (window, case))) {
            let oldest = &case.closed[..window.min(case.closed.len())];
            let fewest = oldest.iter().map(|block| block.valid).min().filter(|&valid| valid <= MAX_VALID);
            let of_window = oldest.iter().find(|block| Some(block.valid) == fewest).map(|block| block.block);
            let victim = case.choose(&mut WindowedGreedy(window), &medium, &mut rng);
            assert_eq!(victim, of_window.or(greedy(&case.closed)), "window {window}: {:?}", case.closed);
        }
    }
}
