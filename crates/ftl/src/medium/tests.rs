//! Tests of `medium`.

use super::*;
use kit::{Shape, UNIT_BYTES};

/// Returns the geometry of small dies on one channel. A program writes one page of `units` mapping units.
pub(crate) fn geometry(dies: u32, planes: u32, blocks_per_plane: u32, programs: u32, units: u64) -> Geometry {
    Geometry::new(Shape {
        channels: 1,
        chips_per_channel: dies,
        dies_per_chip: 1,
        planes_per_die: planes,
        blocks_per_plane,
        pages_per_block: programs,
        page_bytes: units * UNIT_BYTES,
        unit: kit::UnitSize::default(),
        bits_per_cell: 1,
        planes_per_program: 1,
        pages_per_program: 1,
        superblock: 1,
    })
}

/// Returns an empty medium. A block holds the same number of units in each of `modes` write modes.
pub(crate) fn empty(geometry: Geometry, modes: usize) -> Medium {
    Medium::new(geometry, vec![geometry.units_per_block; modes]).expect("a small drive fits into memory")
}

/// Opens a free block in a mode and writes units to its first places.
pub(crate) fn write(medium: &mut Medium, block: BlockId, mode: u8, units: u32) {
    medium.open(block, ModeId(mode));
    let first = medium.geometry.first_of(block).0;
    (0..units).for_each(|unit| medium.written(Ppn(first + unit)));
}

/// Takes a closed block as a victim, drops its data, and erases it.
pub(crate) fn erase(medium: &mut Medium, block: BlockId) {
    medium.take_victim(block);
    let first = medium.geometry.first_of(block).0;
    (first..first + medium.geometry.units_per_block).map(Ppn).for_each(|ppn| {
        if medium.is_valid(ppn) {
            medium.invalidate(ppn);
        }
    });
    medium.begin_erase(block);
    medium.end_erase(block, ModeId(0), 1000);
}

/// Every sequence of seven steps, each on a die of its own, of which a step closes or takes one of four blocks: the
/// closed blocks come in the order of closing, wherever one is taken out of the list.
#[test]
fn closed_blocks_are_listed_in_the_order_of_closing() {
    let mut medium = empty(geometry(4u32.pow(7), 1, 4, 1, 1), 1);
    for die in (0..medium.geometry.die_count).map(DieId) {
        let mut model: Vec<BlockId> = Vec::new();
        for step in 0..7 {
            let block = BlockId(medium.geometry.blocks_of(die).start + die.0 / 4u32.pow(step) % 4);
            if let Some(at) = model.iter().position(|&closed| closed == block) {
                model.remove(at);
                erase(&mut medium, block);
            } else {
                write(&mut medium, block, 0, 1);
                medium.close(block);
                model.push(block);
            }
            assert_eq!(medium.closed_blocks(die).collect::<Vec<_>>(), model);
            assert_eq!(medium.closed_count(die) as usize, model.len());
        }
    }
}

/// Every range of places, over patterns that are dense, sparse, and on both sides of the 64 places of a word.
#[test]
fn the_next_valid_place_is_the_first_of_the_range() {
    for valid in [&[][..], &[0], &[63], &[64], &[62, 63, 64, 65], &[5, 100, 127, 128], &[149]] {
        let mut medium = empty(geometry(1, 1, 15, 10, 1), 1);
        valid.iter().for_each(|&place| medium.written(Ppn(place)));
        for (from, end) in (0..150).flat_map(|from| (0..150).map(move |end| (from, end))) {
            let expected = valid.iter().copied().find(|&place| from <= place && place < end);
            assert_eq!(medium.next_valid(Ppn(from), Ppn(end)), expected.map(Ppn), "{valid:?}: {from}..{end}");
        }
    }
}

/// A pin keeps a victim from being erased; the last one to go names the victim, and no other block.
#[test]
fn the_last_pin_of_a_victim_wakes_its_die() {
    let mut medium = empty(geometry(1, 1, 2, 2, 1), 1);
    let (block, place) = (BlockId(1), Ppn(2));
    write(&mut medium, block, 0, 1);
    medium.pin(place);
    assert_eq!(medium.unpin(place), None, "the block is open");
    (0..2).for_each(|_| medium.pin(place));
    medium.close(block);
    medium.take_victim(block);
    medium.invalidate(place);
    assert_eq!((medium.unpin(place), medium.unpin(place)), (None, Some(block)));
    medium.begin_erase(block);
    assert_eq!(medium.block(block).state(), BlockState::Erasing);
}

/// Takes a closed block with `valid` valid units as a victim and erases it, while the first unit is pinned if `pinned`.
fn erase_with(valid: u32, pinned: bool) {
    let mut medium = empty(geometry(1, 1, 2, 2, 1), 1);
    write(&mut medium, BlockId(0), 0, valid);
    if pinned {
        medium.pin(Ppn(0));
    }
    medium.close(BlockId(0));
    medium.take_victim(BlockId(0));
    medium.begin_erase(BlockId(0));
}

#[test]
fn a_block_without_valid_data_and_pins_is_erased() {
    erase_with(0, false);
}

#[test]
#[should_panic(expected = "not ready to be erased")]
fn a_pinned_block_is_not_erased() {
    erase_with(0, true);
}

#[test]
#[should_panic(expected = "not ready to be erased")]
fn a_block_with_valid_data_is_not_erased() {
    erase_with(1, false);
}

/// States of blocks are restored from lists, and lists that contradict the records are refused.
#[test]
fn loaded_lists_must_agree_with_the_records() {
    // Blocks 0 to 2 hold data, block 3 is retired, and block 4 is free.
    let loaded = || {
        let mut medium = empty(geometry(1, 1, 5, 2, 1), 2);
        (0..3).for_each(|block| write(&mut medium, BlockId(block), 1, 1));
        medium.pin(Ppn(0));
        medium.retire(BlockId(3));
        (medium.valid_by_mode, medium.retired) = ([0; 16], vec![0]);
        medium
    };
    let mut medium = loaded();
    assert!(medium.restore_blocks(&[2, 0], &[1]));
    let states = [0, 1, 2, 3, 4].map(|block| medium.block(BlockId(block)).state());
    use BlockState::{Closed, Free, Open, Retired};
    assert_eq!(states, [Closed, Open, Closed, Retired, Free]);
    assert_eq!(medium.closed_blocks(DieId(0)).collect::<Vec<_>>(), [BlockId(2), BlockId(0)]);
    assert_eq!((medium.valid_by_mode[1], medium.retired[0], medium.block(BlockId(0)).pins()), (3, 1, 0));
    for (closed, open) in [(&[2][..], &[1][..]), (&[2, 0, 2], &[1]), (&[2, 0], &[1, 0]), (&[2, 0, 3], &[1])] {
        assert!(!loaded().restore_blocks(closed, open), "{closed:?}, {open:?}");
    }
}
