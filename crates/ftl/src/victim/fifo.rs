//! The block that was closed first.

use super::{Candidates, Victim};
use kit::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The block that was closed first, whatever it still holds (LRU cleaning; Desnoyers, SYSTOR'12). Levels wear without
/// further measures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

struct Fifo;

/// Builds the rule.
pub fn build(_: &Params, (): ()) -> Box<dyn Victim> {
    Box::new(Fifo)
}

impl Victim for Fifo {
    fn choose(&mut self, candidates: &mut Candidates<'_>) -> Option<BlockId> {
        // Moving blocks without invalid data frees nothing, so the rule collects only while some block of the die would
        // free space.
        candidates.least_valid().filter(|&block| candidates.would_free_space(block))?;
        candidates.store.closed_blocks(candidates.die).next()
    }
}
