//! A block drawn at random.

use super::{Candidates, Victim};
use kit::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A closed block drawn at random from those that would free space, all with the same probability. A baseline that
/// shows what a deliberate choice is worth.
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
        candidates.min_valid().filter(|&block| candidates.would_free_space(block))?;
        for _ in 0..32 {
            let block = candidates.any()?;
            if candidates.would_free_space(block) {
                return Some(block);
            }
        }
        // Few blocks would free space: one of them is drawn by its rank.
        let closed = || candidates.medium.closed_blocks(candidates.die);
        let count = closed().filter(|&block| candidates.would_free_space(block)).count();
        let rank = candidates.rng.below(count as u64) as usize;
        let mut freeing = candidates.medium.closed_blocks(candidates.die).filter(|&block| candidates.would_free_space(block));
        freeing.nth(rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::tests::{empty, geometry, write};
    use crate::victim::tests::{Case, MAX_VALID, every_die};
    use kit::Rng;

    /// In eighty draws every block that would free space is taken, and no other block ever is. Of two such blocks, each
    /// is taken equally often.
    #[test]
    fn every_block_that_would_free_space_is_equally_likely() {
        let (medium, cases) = every_die();
        let mut rng = Rng::stream(1, "draws");
        let (mut first, mut second) = (0i32, 0i32);
        for case in &cases {
            let frees_space = case.closed.iter().filter(|block| block.valid <= MAX_VALID);
            let mut expected: Vec<BlockId> = frees_space.map(|block| block.block).collect();
            expected.sort_unstable();
            let mut drawn: Vec<BlockId> = (0..80).filter_map(|_| case.choose(&mut Random, &medium, &mut rng)).collect();
            if let [a, b] = expected[..] {
                first += drawn.iter().filter(|&&block| block == a).count() as i32;
                second += drawn.iter().filter(|&&block| block == b).count() as i32;
            }
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn, expected, "{:?}", case.closed);
        }
        // Where nearly all blocks are full of valid data, one of the few others is as likely as another.
        let mut full = empty(geometry(2, 1, 1000, 2, 2), 2);
        for block in (0..1000).map(BlockId) {
            let valid = [3, 0, 1][usize::from(block.0 == 10) + 2 * usize::from(block.0 == 11)];
            write(&mut full, block, 0, 4);
            let first = full.geometry.first_of(block).0;
            (first + valid..first + 4).map(kit::Ppn).for_each(|ppn| full.invalidate(ppn));
            full.close(block);
        }
        let case = Case { die: kit::DieId(0), closed: Vec::new() };
        let emptiest = (0..2_000).filter(|_| case.choose(&mut Random, &full, &mut rng) == Some(BlockId(10))).count();
        assert!((888..1112).contains(&emptiest), "{emptiest} of 2000: five standard deviations are 112");
        // Of n draws between two blocks, the difference has a standard deviation of the root of n.
        assert!(f64::from(first - second).abs() < 5.0 * f64::from(first + second).sqrt(), "{first} and {second}");
    }
}
