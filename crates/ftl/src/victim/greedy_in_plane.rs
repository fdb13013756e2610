//! The block with the fewest valid units of the planes with the fewest free blocks.

use super::{Candidates, Victim};
use crate::medium::BlockState;
use kit::BlockId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// The block with the fewest valid units in the group of planes with the fewest free blocks, of equal ones that with
/// the highest number: where data stays in its planes, each of them needs free blocks of its own. A group in which
/// collecting would free nothing is passed over. DiskSim's SSD extension cleans one plane after another in this way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

#[derive(Default)]
struct GreedyInPlane {
    /// Of each group of planes with a block whose collection frees space: the number of free blocks, and that block.
    groups: Vec<(u32, BlockId)>,
}

/// Builds the rule.
pub fn build(_: &Params, (): ()) -> Box<dyn Victim> {
    Box::new(GreedyInPlane::default())
}

impl Victim for GreedyInPlane {
    fn choose(&mut self, candidates: &mut Candidates<'_>) -> Option<BlockId> {
        self.groups.clear();
        let geometry = &candidates.medium.geometry;
        for first in geometry.blocks_of(candidates.die).step_by(geometry.blocks_per_group as usize) {
            let blocks = (first..first + geometry.blocks_per_group).map(BlockId);
            let closed = blocks.clone().filter(|&block| candidates.is_closed(block));
            let best = closed.min_by_key(|&block| (candidates.valid(block), Reverse(block)));
            if let Some(block) = best.filter(|&block| candidates.would_free_space(block)) {
                let is_free = |block: &BlockId| candidates.medium.block(*block).state() == BlockState::Free;
                self.groups.push((blocks.filter(is_free).count() as u32, block));
            }
        }
        self.groups.iter().min_by_key(|(free, _)| *free).map(|(_, block)| *block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::medium::tests::{empty, geometry, write};
    use crate::victim::tests::{Case, MAX_VALID, every_die};
    use kit::DieId;

    #[test]
    fn in_one_plane_the_block_with_the_fewest_valid_units_and_the_highest_number_is_taken() {
        let (medium, cases) = every_die();
        let mut rng = kit::Rng::stream(1, "unused");
        for case in &cases {
            let free = case.closed.iter().filter(|block| block.valid <= MAX_VALID);
            let expected = free.min_by_key(|block| (block.valid, Reverse(block.block))).map(|block| block.block);
            assert_eq!(case.choose(&mut GreedyInPlane::default(), &medium, &mut rng), expected, "{:?}", case.closed);
        }
    }

    /// Two planes of four blocks: the one with one free block is collected, although the other one has an emptier
    /// block; with equally many the first; and the other one, if nothing can be gained in it.
    #[test]
    fn the_planes_with_the_fewest_free_blocks_are_collected() {
        let mut rng = kit::Rng::stream(1, "unused");
        let choose = |closed: &[(u32, u32)], rng: &mut kit::Rng| {
            let mut medium = empty(geometry(1, 2, 4, 2, 2), 2);
            for &(block, valid) in closed {
                let block = BlockId(block);
                write(&mut medium, block, 0, valid.max(2));
                medium.close(block);
                let first = medium.geometry.first_of(block).0;
                (first + valid..first + valid.max(2)).for_each(|ppn| medium.invalidate(kit::Ppn(ppn)));
            }
            Case { die: DieId(0), closed: Vec::new() }.choose(&mut GreedyInPlane::default(), &medium, rng)
        };
        assert_eq!(choose(&[(0, 0), (4, 2), (5, 1), (6, 1)], &mut rng), Some(BlockId(6)));
        assert_eq!(choose(&[(0, 0), (4, 0)], &mut rng), Some(BlockId(0)));
        assert_eq!(choose(&[(0, 1), (4, 4), (5, 4)], &mut rng), Some(BlockId(0)));
        assert_eq!(choose(&[(4, 4), (5, 4)], &mut rng), None);
    }
}
