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
        candidates.min_valid().filter(|&block| candidates.would_free_space(block))?;
        candidates.medium.closed_blocks(candidates.die).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::victim::tests::{every_die, greedy};

    #[test]
    fn the_block_closed_first_is_taken_while_some_block_would_free_space() {
        let (medium, cases) = every_die();
        let mut rng = kit::Rng::stream(1, "unused");
        for case in &cases {
            let expected = greedy(&case.closed).and(case.closed.first()).map(|block| block.block);
            assert_eq!(case.choose(&mut Fifo, &medium, &mut rng), expected, "{:?}", case.closed);
        }
    }
}
