//! Data that could not be corrected when it was moved or completed: lost from then on, wherever it is, until it is
//! written again.
//!
//! The MSB pages of these drives can never be corrected, and their LSB pages have no errors: a read that fails is made
//! of an MSB page, and lost data on an LSB page is read without a failure.

use super::{BCH, rates};
use crate::common::{FEW_BLOCKS, ONE_DIE, Rig, with};
use kit::{Op, Reason};

const BUFFER: [&str; 3] = ["buffer.policy=write_back", "buffer.capacity=64KiB", "buffer.flush_after=10us"];

/// Returns a drive of one die whose MSB pages cannot be corrected, with the first units written in order.
fn written(units: u64, sets: &[&str]) -> Rig {
    let mut rig = Rig::new(&with(&with(ONE_DIE, &["flash.cell=mlc", BCH, &rates(&[0.0, 0.4])]), sets));
    for unit in 0..units {
        write(&mut rig, unit);
    }
    rig
}

/// Writes a whole unit to the next page, and waits until a write buffer has passed it on.
fn write(rig: &mut Rig, unit: u64) {
    rig.one(Op::Write, unit, 1);
    rig.one_bytes(Op::Flush, 0, 0);
}

fn is_lost(rig: &mut Rig, unit: u64) -> bool {
    rig.one(Op::Read, unit, 1).media_error()
}

/// Returns the number of reads that failed, and of those that no attempt could correct: host reads, and others.
fn counts(rig: &Rig) -> [u64; 3] {
    let reads = &rig.drive.controller().reads().expect("reads can fail").statistics;
    [reads.of_attempt(0).failed, reads.uncorrectable_units, reads.lost_units]
}

#[test]
fn a_partial_write_over_uncorrectable_data_is_lost_until_it_is_written_whole() {
    for sets in [&[][..], &BUFFER] {
        // Units 0 and 1 are on an LSB and on an MSB page; the completed unit 1 goes to the next LSB page.
        let mut rig = written(2, sets);
        assert!(!is_lost(&mut rig, 0) && is_lost(&mut rig, 1), "{sets:?}");
        assert_eq!(counts(&rig), [1, 1, 0]);
        rig.one_bytes(Op::Write, 4096, 512);
        rig.one_bytes(Op::Flush, 0, 0);
        assert_eq!(counts(&rig), [2, 1, 1], "{sets:?}: the read before the write failed");
        for _ in 0..2 {
            assert!(is_lost(&mut rig, 1), "{sets:?}");
            assert!(!is_lost(&mut rig, 0), "{sets:?}: its neighbour is intact");
        }
        assert_eq!(counts(&rig), [2, 1, 1], "{sets:?}: the new page is read without a failure");
        assert_eq!(rig.drive.medium().lost_places(), Some(1));
        // Another partial write of it keeps it lost; it goes to the LSB page after the next.
        write(&mut rig, 7);
        rig.one_bytes(Op::Write, 4096 + 512, 512);
        rig.one_bytes(Op::Flush, 0, 0);
        assert!(is_lost(&mut rig, 1), "{sets:?}");
        assert_eq!(counts(&rig), [2, 1, 1], "{sets:?}");
        write(&mut rig, 7);
        write(&mut rig, 1);
        assert!(!is_lost(&mut rig, 1), "{sets:?}: written whole");
        assert_eq!(counts(&rig), [2, 1, 1], "{sets:?}");
    }
}

#[test]
fn lost_data_is_forgotten_when_it_is_trimmed() {
    for sets in [&[][..], &BUFFER] {
        let mut rig = written(2, sets);
        rig.one_bytes(Op::Write, 4096, 512);
        rig.one_bytes(Op::Flush, 0, 0);
        assert!(is_lost(&mut rig, 1), "{sets:?}");
        rig.one(Op::Trim, 1, 1);
        assert!(!is_lost(&mut rig, 1), "{sets:?}");
        // A partial write of a unit without data reads nothing. Unit 7 takes the MSB page before it.
        write(&mut rig, 7);
        rig.one_bytes(Op::Write, 4096, 512);
        rig.one_bytes(Op::Flush, 0, 0);
        assert!(!is_lost(&mut rig, 1), "{sets:?}");
        assert_eq!(counts(&rig), [1, 0, 1], "{sets:?}");
    }
}

/// Data that waits in the write buffer is lost there, too.
#[test]
fn lost_data_in_the_write_buffer_is_a_media_error() {
    // A page holds four units, so that one alone waits.
    let slow = ["buffer.policy=write_back", "buffer.capacity=64KiB", "buffer.flush_after=10s", "flash.page_size=16KiB"];
    let mut rig = written(2, &slow);
    rig.one_bytes(Op::Write, 4096, 512);
    let until = kit::SimTime(rig.drive.now().0 + 1_000_000);
    rig.run_until(until);
    let before = rig.operations();
    assert!(is_lost(&mut rig, 1));
    assert_eq!((rig.operations(), counts(&rig)), (before, [1, 0, 1]), "answered from the buffer");
    rig.one(Op::Write, 1, 1);
    assert!(!is_lost(&mut rig, 1), "written whole in the buffer");
}

#[test]
fn data_that_a_collection_cannot_correct_is_lost_where_it_goes() {
    let small = with(FEW_BLOCKS, &["ftl.gc_idle_after=1s", "ftl.gc_idle_target_blocks=9"]);
    for buffer in [&[][..], &BUFFER] {
        // Of the units 0 to 3 in the first block only unit 3, on an MSB page, remains. It moves to an LSB page.
        let mut rig = written(4, &with(&small, buffer));
        for unit in 0..3 {
            write(&mut rig, unit);
        }
        let idle = rig.drive.now().0;
        rig.run_until(kit::SimTime(idle + 2_000_000_000));
        assert_eq!((rig.programmed(Reason::Gc), rig.operations()[2]), (1, 1), "{buffer:?}");
        assert_eq!(counts(&rig), [1, 0, 1], "{buffer:?}");
        for _ in 0..2 {
            assert!(is_lost(&mut rig, 3), "{buffer:?}");
        }
        assert_eq!(counts(&rig), [1, 0, 1], "{buffer:?}: the new page is read without a failure");
        // Seven pages of the two blocks of host data are taken; unit 3 goes to the LSB page of the next block.
        write(&mut rig, 9);
        write(&mut rig, 3);
        assert!(!is_lost(&mut rig, 3), "{buffer:?}: written whole");
        assert_eq!((counts(&rig), rig.drive.statistics.media_errors), ([1, 0, 1], 2), "{buffer:?}");
    }
}
