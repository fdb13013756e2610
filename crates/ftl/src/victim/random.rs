//! A block drawn at random.

use super::{Candidates, Victim};
use kit::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A closed block drawn at random from those that would free space, all with the same probability (the least-valid
/// block if 32 draws find none). A baseline that shows what a deliberate choice is worth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

struct Random;

/// Builds the rule.
pub fn build(_: &Params, (): ()) -> Box<dyn Victim> {
    Box::new(Random)
}

impl Victim for Random {
    fn choose(&mut self, candidates: &mut Candidates<'_>) -> Option<BlockId> {
        let fallback = candidates.least_valid().filter(|&block| candidates.would_free_space(block))?;
        for _ in 0..32 {
            let block = candidates.any()?;
            if candidates.would_free_space(block) {
                return Some(block);
            }
        }
        Some(fallback)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::victim::tests::{MOST_VALID, every_die};
    use kit::Rng;

    /// In eighty draws every block that would free space is taken, and no other block ever is. Of two such blocks, each
    /// is taken equally often.
    #[test]
    fn every_block_that_would_free_space_is_equally_likely() {
        let (store, cases) = every_die();
        let mut rng = Rng::stream(1, "draws");
        let (mut first, mut second) = (0i32, 0i32);
        for case in &cases {
            let frees_space = case.closed.iter().filter(|block| block.valid <= MOST_VALID);
            let mut expected: Vec<BlockId> = frees_space.map(|block| block.block).collect();
            expected.sort_unstable();
            let mut drawn: Vec<BlockId> = (0..80).filter_map(|_| case.choose(&mut Random, &store, &mut rng)).collect();
            if let [a, b] = expected[..] {
                first += drawn.iter().filter(|&&block| block == a).count() as i32;
                second += drawn.iter().filter(|&&block| block == b).count() as i32;
            }
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn, expected, "{:?}", case.closed);
        }
        // Of n draws between two blocks, the difference has a standard deviation of the root of n.
        assert!(f64::from(first - second).abs() < 5.0 * f64::from(first + second).sqrt(), "{first} and {second}");
    }
}
