//! The block with the fewest valid units.

use super::{Candidates, Victim};
use kit::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The block with the fewest valid units, which costs the least copying now. Best for uniform random writes (Desnoyers,
/// SYSTOR'12), not for a mix of hot and cold data.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

struct Greedy;

/// Builds the rule.
pub fn build(_: &Params, (): ()) -> Box<dyn Victim> {
    Box::new(Greedy)
}

impl Victim for Greedy {
    fn choose(&mut self, candidates: &mut Candidates<'_>) -> Option<BlockId> {
        candidates.min_valid().filter(|&block| candidates.would_free_space(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::victim::tests::{every_die, greedy};

    #[test]
    fn the_block_with_the_fewest_valid_units_is_taken() {
        let (medium, cases) = every_die();
        let mut rng = kit::Rng::stream(1, "unused");
        for case in &cases {
            assert_eq!(case.choose(&mut Greedy, &medium, &mut rng), greedy(&case.closed), "{:?}", case.closed);
        }
    }
}
