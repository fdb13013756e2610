//! The block with the fewest valid units, but for worn blocks, which are often passed over.

use super::{Candidates, Victim};
use kit::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Greedy, with fewer collections of worn blocks (Agrawal et al., USENIX ATC'08, and the DiskSim extension of its
/// authors). Blocks are considered in the order of their valid units. One whose remaining life is less than `threshold`
/// times the mean of its die is passed over with a probability that rises from 0 to 1 as its remaining life falls to
/// none: it is taken with the probability life / mean / `threshold`. If all are passed over, the first is taken. The
/// life is `flash.rated_pe_cycles`, of which effective wear uses up a part. Where a policy scores victims, worn blocks
/// are passed over in the order of its scores. The extension has a threshold of 0.8, and takes the mean of the plane or
/// of the element.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Remaining life below which a block is passed over at times, as a share of the mean of its die.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub threshold: f64,
}

impl Default for Params {
    fn default() -> Self {
        Params { threshold: 0.8 }
    }
}

struct RateLimitedGreedy {
    threshold: f64,
    /// Blocks of the die that free space, by their valid units.
    order: Vec<(u32, BlockId)>,
}

/// Builds the rule.
pub fn build(params: &Params, (): ()) -> Box<dyn Victim> {
    Box::new(RateLimitedGreedy { threshold: params.threshold, order: Vec::new() })
}

impl RateLimitedGreedy {
    fn passes_over(&self, block: BlockId, candidates: &mut Candidates<'_>) -> bool {
        let life = candidates.life(block);
        // The mean, which takes a look at all blocks, is at most 1.
        if life >= self.threshold {
            return false;
        }
        let mean = candidates.mean_life();
        life < self.threshold * mean && !candidates.rng.chance(life / mean / self.threshold)
    }
}

impl Victim for RateLimitedGreedy {
    fn choose(&mut self, candidates: &mut Candidates<'_>) -> Option<BlockId> {
        let first = candidates.min_valid().filter(|&block| candidates.would_free_space(block))?;
        if !self.passes_over(first, candidates) {
            return Some(first);
        }
        let mut order = std::mem::take(&mut self.order);
        order.clear();
        let others = candidates.medium.closed_blocks(candidates.die).filter(|&block| block != first);
        order.extend(others.map(|block| (candidates.valid(block), block)));
        order.retain(|&(_, block)| candidates.would_free_space(block));
        order.sort_unstable();
        let found = order.iter().find(|&&(_, block)| !self.passes_over(block, candidates)).map(|&(_, block)| block);
        self.order = order;
        found.or(Some(first))
    }

    fn is_passed_over(&mut self, block: BlockId, candidates: &mut Candidates<'_>) -> bool {
        self.passes_over(block, candidates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::Medium;
    use crate::victim::tests::{Case, RATED, every_die, greedy, wear_out};
    use kit::Rng;

    /// Number of times that each block is chosen in 10,000 draws.
    fn chosen(case: &Case, medium: &Medium, threshold: f64) -> Vec<(BlockId, u32)> {
        let (mut rule, mut rng) = (RateLimitedGreedy { threshold, order: Vec::new() }, Rng::stream(7, "draws"));
        let mut counts: Vec<(BlockId, u32)> = case.closed.iter().map(|closed| (closed.block, 0)).collect();
        for _ in 0..10_000 {
            let taken = case.choose(&mut rule, medium, &mut rng).expect("one frees space");
            counts.iter_mut().find(|(block, _)| *block == taken).expect("it is closed").1 += 1;
        }
        counts
    }

    #[test]
    fn with_equal_wear_it_is_greedy() {
        let (medium, cases) = every_die();
        let mut rng = Rng::stream(1, "draws");
        for case in &cases {
            let mut rule = RateLimitedGreedy { threshold: 1.0, order: Vec::new() };
            assert_eq!(case.choose(&mut rule, &medium, &mut rng), greedy(&case.closed), "{:?}", case.closed);
        }
    }

    #[test]
    fn a_worn_block_is_taken_with_the_stated_probability() {
        let (mut medium, cases) = every_die();
        // Two closed blocks at least free space, with different numbers of valid units.
        let case =
            cases.iter().find(|case| case.closed.iter().filter(|block| block.valid < 2).count() > 1).expect("there is one");
        let best = greedy(&case.closed).expect("one frees space");
        wear_out(&mut medium, best, 700);
        let mut rng = Rng::stream(1, "unused");
        let candidates = case.candidates(&medium, &mut rng);
        let (life, mean) = (candidates.life(best), candidates.mean_life());
        assert!((life - 0.3).abs() < 1e-12 && (mean - (3.0 + 0.3) / 4.0).abs() < 1e-12, "{life} of {mean}, {RATED} rated");
        let expected = life / mean / 0.8;
        let taken = chosen(case, &medium, 0.8).iter().find(|(block, _)| *block == best).expect("it is closed").1;
        let sigma = (1e4 * expected * (1.0 - expected)).sqrt();
        assert!((f64::from(taken) - 1e4 * expected).abs() < 4.0 * sigma, "{taken} of 10,000, expected {expected}");
        // With a threshold that it meets, it is always taken.
        let taken = chosen(case, &medium, 0.3).iter().find(|(block, _)| *block == best).expect("it is closed").1;
        assert_eq!(taken, 10_000);
    }

    #[test]
    fn if_all_are_passed_over_the_first_is_taken() {
        let (mut medium, cases) = every_die();
        let case = cases.iter().find(|case| case.closed.len() == 4 && greedy(&case.closed).is_some()).expect("there is one");
        // Blocks without any remaining life, but for one that does not free space.
        let kept = case.closed.iter().find(|block| block.valid > crate::victim::tests::MAX_VALID).map(|block| block.block);
        case.closed.iter().filter(|block| Some(block.block) != kept).for_each(|block| wear_out(&mut medium, block.block, 1000));
        let counts = chosen(case, &medium, 0.8);
        let best = greedy(&case.closed).expect("one frees space");
        assert_eq!(counts.iter().find(|(block, _)| *block == best).expect("it is closed").1, 10_000);
    }
}
