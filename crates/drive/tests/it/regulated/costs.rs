//! Cost of a write (section 3.3) and of a read.

use super::*;
use crate::common::{UNIT, read};
use drive::CommandRow;
use ftl::policy::{Dispatch, ModePolicy, Moving, Needs, ReadAnswer, UnitRead, View, WriteAnswer};

#[test]
fn the_first_write_of_a_page_is_at_high_cost() {
    let mut rig = agcr(&[]);
    assert_eq!([0, 1, 7].map(|unit| write(&mut rig, unit)), [HIGH; 3]);
    // Data older than the run has no history either.
    let mut rig = agcr(&["state.precondition=fill"]);
    assert_eq!(write(&mut rig, 0), HIGH);
    // Nor has a trimmed page.
    assert_eq!(programs(&mut rig, 0, "WW"), [LOW; 2]);
    rig.one(Op::Trim, 0, 1);
    assert_eq!(write(&mut rig, 0), HIGH);
}

#[test]
fn a_page_that_is_only_written_is_written_at_low_cost() {
    let mut rig = agcr(&[]);
    assert_eq!(programs(&mut rig, 0, "WWWW"), [HIGH, LOW, LOW, LOW]);
    // Each page has a history of its own.
    assert_eq!(write(&mut rig, 1), HIGH);
}

#[test]
fn a_page_that_is_read_in_between_is_written_at_medium_cost() {
    let mut rig = agcr(&[]);
    assert_eq!(programs(&mut rig, 0, "WRWRW"), [HIGH, MIDDLE, MIDDLE]);
    // The window holds the last access and the upcoming one: two writes in a row are write-only again.
    assert_eq!(programs(&mut rig, 0, "W"), [LOW]);
    // A page that was read before it was ever written in the run has a history.
    let mut rig = agcr(&["state.precondition=fill"]);
    assert_eq!(programs(&mut rig, 0, "RW"), [MIDDLE]);
}

#[test]
fn a_longer_window_looks_further_back() {
    let of = |window: u32, accesses: &str| programs(&mut agcr(&[&format!("policy.agcr.window={window}")]), 0, accesses);
    //                              W     W    R W       W       W       W       W
    assert_eq!(of(2, "WWRWWWWW"), [HIGH, LOW, MIDDLE, LOW, LOW, LOW, LOW]);
    assert_eq!(of(3, "WWRWWWWW"), [HIGH, LOW, MIDDLE, MIDDLE, LOW, LOW, LOW]);
    assert_eq!(of(4, "WWRWWWWW"), [HIGH, LOW, MIDDLE, MIDDLE, MIDDLE, LOW, LOW]);
}

#[test]
fn a_window_outside_its_range_is_refused() {
    for window in ["1", "5"] {
        let set = format!("policy.agcr.window={window}");
        let problems = read(&with(&with(MODES, AGCR), &[&set])).expect_err("out of range").to_string();
        assert!(problems.contains("policy.agcr.window") && problems.contains('2') && problems.contains('4'), "{problems}");
    }
}

#[test]
fn a_read_takes_sensing_and_transfers_of_the_mode_that_its_page_was_written_in() {
    let mut rig = agcr(&["state.precondition=fill"]);
    assert_eq!(read_one(&mut rig, 5), QUICK, "what is older than the run was written at high cost");
    write(&mut rig, 0);
    assert_eq!(read_one(&mut rig, 0), QUICK);
    write(&mut rig, 0);
    assert_eq!(read_one(&mut rig, 0), MEDIUM);
    assert_eq!(programs(&mut rig, 0, "WW"), [MIDDLE, LOW]);
    assert_eq!(read_one(&mut rig, 0), SLOW);
    assert_eq!(total(SLOW), 360_530, "to the nanosecond");
}

#[test]
fn a_partly_written_page_is_filled_in_by_a_read_of_its_mode() {
    let mut rig = agcr(&[]);
    for (accesses, mode) in [("W", QUICK), ("W", SLOW), ("RW", MEDIUM)] {
        programs(&mut rig, 0, accesses);
        let row = rig.one_bytes(Op::Write, 512, 512);
        // The read is not an access of the host, so the page counts as only written.
        let parts = [(Cause::Rmw, total(mode)), (Cause::BusCommand, 361), (Cause::Transfer, 3_414), (Cause::Program, LOW)];
        assert_parts(accesses, &row, &parts);
    }
}

#[test]
fn what_a_collection_reads_takes_the_mode_of_each_page() {
    let mut rig = about_to_be_collected(&[]);
    rest(&mut rig, 1_200);
    assert_eq!(die_reads(&mut rig, Reason::Gc), [total(QUICK), total(SLOW), total(MEDIUM)]);
}

/// Policy that reads each unit in the read mode whose index is the unit's number modulo 3.
struct ReadAsNumbered;

impl ModePolicy for ReadAsNumbered {
    fn needs(&self) -> Needs {
        Needs { host_streams: 1, reads: true, page_scope: true, ..Needs::default() }
    }

    fn state(&mut self, _: &mut kit::Archive<'_>) -> kit::Archived {
        Ok(())
    }

    fn write(&mut self, _: &Dispatch<'_>, _: &mut View<'_>) -> WriteAnswer {
        WriteAnswer::default()
    }

    fn relocate(&mut self, _: &Moving<'_>, _: &mut View<'_>) -> ModeId {
        NORMAL
    }

    fn read_issued(&mut self, read: &UnitRead, _: &mut View<'_>) -> ReadAnswer {
        ReadAnswer { mode: Some(ModeId(read.lpn.0 as u8 % 3)) }
    }

    fn mode_of_old_data(&self) -> ModeId {
        NORMAL
    }
}

#[test]
fn pages_of_different_modes_in_one_read_take_the_slower_mode() {
    let planes = ["flash.planes_per_die=2", "flash.multi_plane=true", "ftl.overprovisioning=0.9"];
    let mut rig = Rig::run_by(Box::new(ReadAsNumbered), &with(&with(ONE_DIE, MODES), &planes));
    rig.one(Op::Write, 0, 4);
    // Units 0 and 1 are in one row, units 2 and 3 in another.
    for (first, sense, transfers) in [(0, MEDIUM.0, 2), (2, SLOW.0, 3)] {
        let row = rig.one(Op::Read, first, 2);
        let further_plane = (500 + 150, 300);
        let data = (2 * UNIT * transfers * 1000).div_ceil(1200) + further_plane.1;
        let parts = [(Cause::BusCommand, COMMAND + further_plane.0), (Cause::Sense, sense), (Cause::Transfer, data)];
        assert_parts("two planes", &row, &parts);
    }
}

#[test]
fn pages_written_together_are_written_for_the_one_that_is_read_most() {
    let planes = ["flash.planes_per_die=2", "flash.multi_plane=true", "ftl.overprovisioning=0.9"];
    let mut rig = agcr(&planes);
    let program = |row: &CommandRow| row.causes.get(Cause::Program).0;
    let both = |rig: &mut Rig| program(&rig.one(Op::Write, 0, 2));
    assert_eq!(both(&mut rig), HIGH);
    assert_eq!(both(&mut rig), LOW);
    rig.one(Op::Read, 1, 1);
    assert_eq!(both(&mut rig), MIDDLE, "unit 0 could be written at low cost, unit 1 not");
    assert_eq!([0, 1].map(|unit| read_one(&mut rig, unit).0), [MEDIUM.0; 2]);
}
