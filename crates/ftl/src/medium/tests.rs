//! Tests of `medium`.

use super::*;
use kit::{OperationKind, Outcome, Shape, UNIT_BYTES};

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

/// Returns an operation of a die on a block, from its program `program` on.
fn operation(kind: OperationKind, block: BlockId, program: u32, units: u32) -> Operation {
    Operation { kind, first: Ppn(block.0 * 4 + program * 2), units, ..Operation::default() }
}

fn ended(outcome: Outcome) -> Ended {
    Ended { slot: 0, outcome }
}

/// A block that is used as a whole: programs open it and close it, its data is given up in every state, and an erase
/// counts its wear, its age and its reads anew. A pin lasts beyond the end of its data.
#[test]
fn a_whole_block_is_opened_closed_given_up_and_erased() {
    let (mut writes, mut out) = (WriteQueue::new(1), Outbox::new(1, 1));
    for programs in 0..=2 {
        let mut medium = empty(geometry(1, 1, 3, 2, 2), 1);
        medium.keep_integrity(false);
        medium.begin_worn(7, Nanos(500));
        let block = BlockId(1);
        for program in 0..programs {
            medium.begin_program_of(block, ModeId(0));
            assert!(medium.holds_data(block), "its first program has begun");
            assert_eq!(medium.programs_done(block), program);
            let done = operation(OperationKind::Program, block, program, 2);
            medium.whole_program_done(ended(Outcome::Done), &done, &mut writes, &mut out);
            assert_eq!(medium.programs_done(block), program + 1);
        }
        let expected = [BlockState::Free, BlockState::Open, BlockState::Closed][programs as usize];
        assert_eq!(medium.block(block).state(), expected);
        [Ppn(4), Ppn(5)].into_iter().for_each(|ppn| medium.pin(ppn));
        assert_eq!([1, 2].map(|now| medium.stored(Ppn(4), SimTime(now)).reads), [0, 1]);
        assert_eq!(medium.stored_unread(Ppn(4), SimTime(2)).age, Nanos(502), "since the starting state");
        medium.give_up(block);
        assert_eq!((medium.holds_data(block), medium.programs_done(block), medium.block(block).pins()), (false, 0, 2));
        assert_eq!(medium.read_done(&operation(OperationKind::Read, block, 0, 2)), 0);
        medium.begin_whole_erase(block);
        medium.give_up(block);
        assert_eq!(medium.block(block).state(), BlockState::Erasing, "given up twice");
        medium.erased(ended(Outcome::Done), &operation(OperationKind::Erase, block, 0, 0), 250, SimTime(900), &mut out);
        assert_eq!(medium.block(block).state(), BlockState::Free);
        let stored = medium.stored_unread(Ppn(4), SimTime(1000));
        assert_eq!((stored.erase_count, stored.wear_thousandths, stored.age, stored.reads), (8, 7250, Nanos(100), 0));
        assert_eq!((medium.max_erases(), medium.wear_total()), (8, 3 * 7000 + 250));
    }
}

/// A block that begins full is as one that was programmed to its end.
#[test]
fn a_block_that_begins_full_can_only_be_erased() {
    let mut medium = empty(geometry(1, 1, 3, 2, 2), 1);
    medium.begin_full(BlockId(2), ModeId(0));
    assert_eq!((medium.programs_done(BlockId(2)), medium.holds_data(BlockId(2))), (2, true));
    assert_eq!(medium.closed_blocks(DieId(0)).collect::<Vec<_>>(), [BlockId(2)]);
    medium.give_up(BlockId(2));
    assert_eq!(medium.closed_count(DieId(0)), 0);
}

#[test]
#[should_panic(expected = "programmed out of order")]
fn programs_of_a_block_are_in_order() {
    let (mut writes, mut out) = (WriteQueue::new(1), Outbox::new(1, 1));
    let mut medium = empty(geometry(1, 1, 3, 2, 2), 1);
    medium.begin_program_of(BlockId(0), ModeId(0));
    medium.program_done(ended(Outcome::Done), &operation(OperationKind::Program, BlockId(0), 1, 2), &mut writes, &mut out);
}

/// No layer takes a failed operation for one that is done.
#[test]
fn an_operation_that_failed_is_not_taken_as_done() {
    for outcome in [Outcome::ProgramFailed, Outcome::EraseFailed, Outcome::Torn] {
        let fails = |kind: OperationKind| {
            let run = move || {
                let (mut writes, mut out) = (WriteQueue::new(1), Outbox::new(1, 1));
                let mut medium = empty(geometry(1, 1, 3, 2, 2), 1);
                medium.begin_full(BlockId(0), ModeId(0));
                medium.give_up(BlockId(0));
                medium.begin_erase(BlockId(0));
                medium.begin_program_of(BlockId(1), ModeId(0));
                let operation = operation(kind, BlockId(u32::from(kind == OperationKind::Program)), 0, 2);
                match kind {
                    OperationKind::Program => _ = medium.program_done(ended(outcome), &operation, &mut writes, &mut out),
                    _ => medium.erased(ended(outcome), &operation, 0, SimTime(0), &mut out),
                }
            };
            std::panic::catch_unwind(run).is_err()
        };
        assert!(fails(OperationKind::Program) && fails(OperationKind::Erase), "{outcome:?}");
    }
}
