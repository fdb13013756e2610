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
        let store = candidates.store;
        let units = f64::from(store.geometry.units_per_block);
        let now = i64::try_from(candidates.now.0).unwrap_or(i64::MAX);
        let score = |block: BlockId| {
            let used = f64::from(store.block(block).valid) / units;
            let age = now.saturating_sub(store.first_program(block)).max(1) as f64;
            if used == 0.0 { f64::INFINITY } else { age * (1.0 - used) / (2.0 * used) }
        };
        let best = store
            .closed_blocks(candidates.die)
            .filter(|&block| candidates.would_free_space(block))
            .map(|block| (score(block), block))
            .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
        Some(best.1)
    }
}
