//! Tests of `check.rs`: one claim after another of a sound drive is changed.

use super::*;
use crate::layer::page_map::ftl::tests::small;
use crate::medium::tests::geometry;

const NOW: SimTime = SimTime(1000);

/// Returns the file of a drive whose blocks hold data in part.
fn file() -> Vec<u8> {
    let mut ftl = drive();
    let units: Vec<Lpn> = (0..20).chain(3..9).map(Lpn).collect();
    ftl.program_untimed(&units, SimTime(5));
    ftl.state.space.opened.clear();
    ftl.state.retention.adopt(&ftl.state.store.medium);
    let mut file = Vec::new();
    ftl.save(&mut file).expect("memory takes all");
    file
}

fn drive() -> Ftl {
    small(geometry(2, 1, 8, 4, 1), |_, _| {})
}

/// Loads the file with a change, and returns the complaint.
fn found(file: &[u8], change: impl FnOnce(&mut Ftl, &mut Image)) -> Result<(), String> {
    let mut ftl = drive();
    let mut loaded = ftl.load(&mut &file[..])?;
    change(&mut ftl, &mut loaded.image);
    ftl.restore(loaded, true, NOW)
}

#[test]
fn each_claim_that_contradicts_another_is_found() {
    let file = file();
    assert_eq!(found(&file, |_, _| {}), Ok(()));
    type Change = fn(&mut Ftl, &mut Image);
    let changes: [(Change, &str); 24] = [
        (|ftl, _| ftl.state.store.medium.valid.set(0, ftl.state.store.medium.valid.get(0) & !1), "valid units, and"),
        (|ftl, _| ftl.state.store.places.set_unit(Ppn(0), 9999), "holds unit 9999, which the drive does not have"),
        (|ftl, _| ftl.state.store.places.set_unit(Ppn(0), ftl.state.store.lpn_at(Ppn(1)).0), "and at place"),
        (|ftl, _| ftl.state.store.medium.blocks.update(BlockId(0), |record| record.programmed = 1), "units are programmed"),
        (|ftl, _| ftl.state.store.medium.blocks.update(BlockId(0), |record| record.programmed = 99), "and place for 4"),
        (
            |ftl, _| ftl.state.store.medium.blocks.update(BlockId(0), |record| record.set_state(BlockState::Erasing)),
            "in no state",
        ),
        (
            |ftl, _| ftl.state.store.medium.blocks.update(BlockId(0), |record| record.set_state(BlockState::Free)),
            "is empty, and has",
        ),
        (
            |ftl, _| ftl.state.store.medium.blocks.update(BlockId(0), |record| record.set_state(BlockState::Open)),
            "is none or listed twice",
        ),
        (
            |ftl, _| ftl.state.store.medium.blocks.update(BlockId(7), |record| record.set_state(BlockState::Retired)),
            "listed as a free block",
        ),
        (|ftl, _| ftl.state.store.medium.blocks.update(BlockId(0), crate::medium::BlockRecord::pin), "1 pins, and 0 pages"),
        (|ftl, _| ftl.state.store.medium.erase_counts[3] = u32::MAX, "more than can be counted"),
        (|ftl, _| ftl.state.store.medium.first_program[3] = 1001, "was opened at 1001 ns"),
        (|ftl, _| ftl.state.store.medium.erase_modes[3] = 7, "erased in mode 7"),
        (|_, image| image.closed[0].truncate(1), "blocks are closed, and"),
        (|_, image| image.closed[0][1] = image.closed[0][0], "is none or listed twice"),
        (|_, image| image.closed[0][0] = u32::MAX, "is none or listed twice"),
        (|_, image| image.collectors[0].victim = Some(BlockId(0)), "none of its victims"),
        (|_, image| image.collectors[0].victim = Some(BlockId(u32::MAX)), "none of its victims"),
        (|_, image| image.collectors[1].gathered.push(Ppn(0)), "collects no block"),
        (|_, image| image.moves.ready.push_back(0), "is ready, and there is none"),
        (|_, image| image.counters.units_by_mode[1] = u64::MAX, "more than can be counted"),
        (|_, image| image.idle_since[1] = SimTime(1001), "is idle since"),
        (|_, image| image.arrivals = 2, "place 2 of 2"),
        (|_, image| image.worn_out = Some(DieId(2)), "a die is worn out"),
    ];
    for (index, (change, complaint)) in changes.into_iter().enumerate() {
        let complained = found(&file, change).expect_err("a contradiction");
        assert!(complained.contains(complaint), "change {index}: {complained}");
    }
}

/// Numbers of slots and of entries claim no memory beyond what the file holds.
#[test]
fn a_number_of_slots_takes_no_memory() {
    let file = file();
    let mut ftl = drive();
    let mut loaded = ftl.load(&mut &file[..]).expect("a good file");
    loaded.image.writes.claim_slots(usize::MAX);
    assert_eq!(ftl.restore(loaded, true, NOW), Ok(()));
    assert_eq!(ftl.state.writes.queue.units.len(), 0);
}
