//! The block that was closed first.

use super::{Candidates, Victim};
use kit::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The block that was closed first, full of valid data or not (LRU cleaning; Desnoyers, SYSTOR'12). Levels wear by itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

struct Fifo;

/// Makes the rule.
pub fn build(_: &Params, (): ()) -> Box<dyn Victim> {
    Box::new(Fifo)
}

impl Victim for Fifo {
    fn choose(&mut self, candidates: &mut Candidates<'_>) -> Option<BlockId> {
        // Moving blocks that are all valid frees nothing: only worth it while some block of the die would free something.
        candidates.least_valid().filter(|&block| candidates.frees_something(block))?;
        candidates.store.closed_blocks(candidates.die).next()
    }
}
