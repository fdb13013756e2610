//! Any block.

use super::{Candidates, Victim};
use kit::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Any closed block that would free something, all alike: the lower bound of what choosing is worth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

struct Random;

/// Makes the rule.
pub fn build(_: &Params, (): ()) -> Box<dyn Victim> {
    Box::new(Random)
}

impl Victim for Random {
    fn choose(&mut self, candidates: &mut Candidates<'_>) -> Option<BlockId> {
        let fallback = candidates.least_valid().filter(|&block| candidates.frees_something(block))?;
        for _ in 0..32 {
            let block = candidates.any()?;
            if candidates.frees_something(block) {
                return Some(block);
            }
        }
        Some(fallback)
    }
}
