//! The state in which a drive begins, as firmware finds it.

use super::NONE;
use crate::layer::page_map::ftl::Ftl;
use crate::map::{Mapped, decode};
use crate::medium::BlockState;
use kit::{BlockId, Lpn, Ppn};

/// State of a block, as the firmware numbers it.
const OPEN: u32 = 1;
const CLOSED: u32 = 2;
const VICTIM: u32 = 3;

impl Ftl {
    /// Returns the tables of the checkpoint of `firmware/page_map.c`, and hands the free blocks over: the map, the unit
    /// at each place, the blocks, the number of free blocks of each group of planes, these blocks, and the frontiers.
    pub(super) fn checkpoint(&mut self) -> [Vec<u32>; 6] {
        let (free, frontiers) = self.state.space.hand_over();
        let store = &self.state.store;
        let geometry = store.medium.geometry;
        let place = |lpn: u64| match decode(store.code_of(Lpn(lpn as u32))) {
            Mapped::At(ppn) => ppn.0,
            Mapped::Nowhere | Mapped::Slot(_) => NONE,
        };
        let unit = |ppn: u64| {
            let ppn = Ppn(ppn as u32);
            if store.medium.is_valid(ppn) { store.lpn_at(ppn).0 } else { NONE }
        };
        let block = |block: u32| {
            let record = store.medium.block(BlockId(block));
            let state = match record.state() {
                BlockState::Open => OPEN,
                BlockState::Closed => CLOSED,
                BlockState::Victim => VICTIM,
                _ => 0,
            };
            u32::from(record.valid) | state << 16
        };
        let per_group = geometry.blocks_per_group as usize;
        let ring = |blocks: &Vec<u32>| blocks.iter().copied().chain(std::iter::repeat(NONE)).take(per_group).collect::<Vec<_>>();
        [
            (0..store.user_units).map(place).collect(),
            (0..geometry.unit_count()).map(unit).collect(),
            (0..geometry.block_count).map(block).collect(),
            free.iter().flat_map(|blocks| [0, blocks.len() as u32]).collect(),
            free.iter().flat_map(ring).collect(),
            frontiers.into_iter().flatten().collect(),
        ]
    }
}
