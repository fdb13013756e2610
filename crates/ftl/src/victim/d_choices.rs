//! The best of a few blocks drawn at random.

use super::{Candidates, Victim};
use kit::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The block with the fewest valid units among `d` drawn at random (Van Houdt, SIGMETRICS'13). Close to greedy from
/// about ten draws on, without keeping blocks in order. If none of those drawn would free space, the block with the
/// fewest valid units of the die.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Number of blocks drawn.
    #[schemars(range(min = 1, max = 1000))]
    pub d: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { d: 10 }
    }
}

struct DChoices(u32);

/// Builds the rule.
pub fn build(params: &Params, (): ()) -> Box<dyn Victim> {
    Box::new(DChoices(params.d))
}

impl Victim for DChoices {
    fn choose(&mut self, candidates: &mut Candidates<'_>) -> Option<BlockId> {
        let fallback = candidates.min_valid().filter(|&block| candidates.would_free_space(block))?;
        let mut best: Option<(u32, BlockId)> = None;
        for _ in 0..self.0 {
            let block = candidates.any()?;
            let drawn = (candidates.valid(block), block);
            best = Some(best.map_or(drawn, |known| known.min(drawn)));
        }
        best.map(|(_, block)| block).filter(|&block| candidates.would_free_space(block)).or(Some(fallback))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::victim::tests::{MAX_VALID, every_die, greedy};
    use kit::Rng;

    /// The block with the fewest valid units of those that the same random numbers draw; the best block of the die if
    /// none of them would free space.
    #[test]
    fn the_best_of_the_drawn_blocks_is_taken() {
        let (medium, cases) = every_die();
        let mut rng = Rng::stream(1, "draws");
        for (d, case) in (1..=4).flat_map(|d| cases.iter().map(move |case| (d, case))) {
            let mut same = rng.clone();
            let drawn: Vec<BlockId> = (0..d).filter_map(|_| case.candidates(&medium, &mut same).any()).collect();
            let drawn: Vec<_> = case.closed.iter().filter(|block| drawn.contains(&block.block)).copied().collect();
            let frees_space = drawn.iter().any(|block| block.valid <= MAX_VALID);
            let expected = greedy(if frees_space { &drawn } else { &case.closed });
            let victim = case.choose(&mut DChoices(d), &medium, &mut rng);
            assert_eq!(victim, expected, "d = {d}: {drawn:?} of {:?}", case.closed);
        }
    }

    #[test]
    fn many_draws_are_greedy() {
        let (medium, cases) = every_die();
        let mut rng = Rng::stream(1, "draws");
        for case in &cases {
            assert_eq!(case.choose(&mut DChoices(150), &medium, &mut rng), greedy(&case.closed), "{:?}", case.closed);
        }
    }
}
