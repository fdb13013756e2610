//! The block with the best ratio of benefit (space freed, times age) to cost (copying).

use super::{Candidates, Victim};
use kit::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The block with the greatest age x (1 - u) / 2u, where u is its share of valid units and age the time since its first
/// program (Rosenblum and Ousterhout, SOSP'91, applied to flash by Kawaguchi et al., USENIX'95). Good for a mix of hot
/// and cold data. Examines every closed block.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

struct CostBenefit;

/// Builds the rule.
pub fn build(_: &Params, (): ()) -> Box<dyn Victim> {
    Box::new(CostBenefit)
}

impl Victim for CostBenefit {
    fn choose(&mut self, candidates: &mut Candidates<'_>) -> Option<BlockId> {
        let medium = candidates.medium;
        let units = f64::from(medium.geometry.units_per_block);
        let now = i64::try_from(candidates.now.0).unwrap_or(i64::MAX);
        let score = |block: BlockId| {
            let used = f64::from(candidates.valid(block)) / units;
            let age = now.saturating_sub(medium.first_program(block)).max(1) as f64;
            if used == 0.0 { f64::INFINITY } else { age * (1.0 - used) / (2.0 * used) }
        };
        let best = medium
            .closed_blocks(candidates.die)
            .filter(|&block| candidates.would_free_space(block))
            .map(|block| (score(block), block))
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
        Some(best.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::victim::tests::{Closed, MAX_VALID, every_die};

    /// The ratio age x (1 - u) / 2u of a block of four units as a fraction of integers, so that ties are exact. A block
    /// without valid units has the denominator 0, and precedes all others.
    fn ratio(block: &Closed) -> (u64, u64) {
        let valid = u64::from(block.valid);
        (block.age.max(1) * (4 - valid), 2 * valid)
    }

    #[test]
    fn the_block_with_the_greatest_ratio_is_taken() {
        let (medium, cases) = every_die();
        let mut rng = kit::Rng::stream(1, "unused");
        for case in &cases {
            let mut best: Option<&Closed> = None;
            for block in case.closed.iter().filter(|block| block.valid <= MAX_VALID) {
                let better = best.is_none_or(|best| {
                    let ((a, b), (c, d)) = (ratio(block), ratio(best));
                    a * d > c * b || a * d == c * b && block.block < best.block
                });
                best = if better { Some(block) } else { best };
            }
            let victim = case.choose(&mut CostBenefit, &medium, &mut rng);
            assert_eq!(victim, best.map(|block| block.block), "{:?}", case.closed);
        }
    }
}
