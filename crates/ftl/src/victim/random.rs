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
