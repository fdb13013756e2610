//! The choice of the read mode of the first attempt, and read levels that are kept for a block.

use super::{BCH, BCH_BITS, COMMAND, DATA, READ, SET_FEATURES, rate};
use crate::common::{FEW_BLOCKS, ONE_DIE, Rig, assert_parts, with};
use kit::{Cause, Lpn, Op};

/// Three modes that sense for half, once and twice the read time, slowest first, and correct more the slower they are;
/// the fourth states nothing.
const MODES: &str = "flash.read_mode=[{ name = \"slow\", sense_scale = 2.0, corrects = 8e-3 }, { name = \"medium\", corrects = 2e-3 }, { name = \"quick\", sense_scale = 0.5, corrects = 1e-3 }, { name = \"plain\", sense_scale = 0.7 }]";
const SENSES: [u64; 3] = [READ / 2, READ, 2 * READ];
const RETRY: &str = "ecc.plan={ kind = \"read_retry\", steps = 1, reduction = 0.1, step_time = \"2us\" }";

/// Returns a drive of one die with unit 0 written.
fn one_die(sets: &[&str]) -> Rig {
    let mut rig = Rig::new(&with(ONE_DIE, sets));
    rig.one(Op::Write, 0, 1);
    rig
}

#[track_caller]
fn assert_read(what: &str, rig: &mut Rig, sense: u64, retry: u64) {
    let row = rig.one(Op::Read, 0, 1);
    let parts = [(Cause::BusCommand, COMMAND), (Cause::Sense, sense), (Cause::Transfer, DATA), (Cause::Retry, retry)];
    assert_parts(what, &row, &parts);
}

#[test]
fn by_error_rate_the_fastest_mode_that_corrects_is_first() {
    let levels = "ecc.read_levels=by_error_rate";
    for (errors, mode) in [(0.0, 0), (5e-4, 0), (0.99e-3, 0), (1.01e-3, 1), (1.99e-3, 1), (2.01e-3, 2), (7.9e-3, 2)] {
        let mut rig = one_die(&[BCH, MODES, levels, RETRY, &rate(errors)]);
        assert_read(&format!("at {errors}"), &mut rig, SENSES[mode], 0);
    }
    // No mode corrects it: the slowest, and then the plan in that mode.
    let mut rig = one_die(&[BCH, MODES, levels, RETRY, &rate(0.4)]);
    assert_read("uncorrectable", &mut rig, SENSES[2], SET_FEATURES + COMMAND + 2000 + SENSES[2] + DATA);
    assert!(rig.rows().last().is_some_and(|row| row.media_error()));
}

/// Each failure is followed by the next slower mode, which is an ordinary read, and the slowest by the plan.
#[test]
fn progressive_reads_climb_one_mode_for_each_failure() {
    let levels = "ecc.read_levels=progressive";
    let attempt = |mode: usize| COMMAND + SENSES[mode] + DATA;
    let step = SET_FEATURES + COMMAND + 2000 + SENSES[2] + DATA;
    for (errors, retry, lost) in [
        (5e-4, 0, false),
        (4e-3, attempt(1), false),
        (6e-3, attempt(1) + attempt(2), false),
        (0.4, attempt(1) + attempt(2) + step, true),
    ] {
        // The code of the middle mode is to correct 4e-3, and that of the first not.
        let modes = MODES.replace("corrects = 2e-3", if errors < 5e-3 { "corrects = 3.5e-3" } else { "corrects = 2e-3" });
        let mut rig = one_die(&[BCH, &modes, levels, RETRY, &rate(errors)]);
        assert_read(&format!("at {errors}"), &mut rig, SENSES[0], retry);
        assert_eq!(rig.rows().last().map(|row| row.media_error()), Some(lost), "at {errors}");
    }
}

/// Data whose own mode states nothing is read in that mode, and repeated in it.
#[test]
fn data_whose_mode_states_nothing_is_read_in_it() {
    for levels in ["by_write_mode", "by_error_rate", "progressive"] {
        let levels = format!("ecc.read_levels={levels}");
        let mut rig = one_die(&[BCH, MODES, "flash.write_mode[0].read_mode=plain", &levels, RETRY, &rate(0.4)]);
        let plain = READ / 10 * 7;
        assert_read(&levels, &mut rig, plain, SET_FEATURES + COMMAND + 2000 + plain + DATA);
    }
    // By write mode, the mode of the data is taken whatever it corrects.
    let mut rig = one_die(&[BCH, MODES, "flash.write_mode[0].read_mode=quick", RETRY, &rate(1.2e-3)]);
    assert_read("by write mode", &mut rig, SENSES[0], 0);
}

/// A mean of 400 errors, of which each step leaves 40 %: the third attempt corrects.
const STEPS: &str = "ecc.plan={ kind = \"read_retry\", steps = 4, reduction = 0.6 }";

#[test]
fn the_levels_of_the_last_success_are_kept_for_the_block_until_its_erase() {
    let step = SET_FEATURES + COMMAND + READ + DATA;
    let errors = rate(400.0 / BCH_BITS);
    for calibration in [true, false] {
        let kept = format!("ecc.calibration={calibration}");
        let mut rig = Rig::new(&with(&with(ONE_DIE, FEW_BLOCKS), &[BCH, STEPS, &kept, &errors]));
        for unit in 0..8 {
            rig.one(Op::Write, unit, 1);
        }
        let retried = |rig: &mut Rig, unit| rig.one(Op::Read, unit, 1).causes.get(Cause::Retry).0;
        let again = if calibration { 0 } else { 2 * step };
        assert_eq!(retried(&mut rig, 2), 2 * step, "the first read of the first block");
        assert_eq!([0, 1, 2, 3].map(|unit| retried(&mut rig, unit)), [again; 4], "units of the same block");
        assert_eq!(retried(&mut rig, 4), 2 * step, "the first read of another block");
        // Unit 0 is overwritten until it is in the first block again.
        let place = |rig: &Rig| {
            let medium = rig.drive.medium();
            let block = medium.geometry.block_of(rig.drive.map().place_of(Lpn(0)).expect("it is written"));
            (block, medium.erase_count(block))
        };
        let (first, erases) = place(&rig);
        assert_eq!(erases, 0);
        for unit in 0..8 {
            rig.one(Op::Write, unit, 1);
        }
        while place(&rig) != (first, 1) {
            rig.one(Op::Write, 0, 1);
        }
        assert_eq!(retried(&mut rig, 0), 2 * step, "the first read since the erase");
        assert_eq!(retried(&mut rig, 0), again);
    }
}

/// Levels that no longer suffice: a page of the same block with more errors is read with later steps, and one with
/// fewer errors corrects at once. With the levels of the last step, earlier ones follow.
#[test]
fn kept_levels_are_where_the_next_read_begins() {
    let step = SET_FEATURES + COMMAND + READ + DATA;
    // LSB pages are corrected at the second attempt, MSB pages at the fourth.
    let errors = super::rates(&[160.0 / BCH_BITS, 1000.0 / BCH_BITS]);
    let mut rig = Rig::new(&with(ONE_DIE, &["flash.cell=mlc", BCH, STEPS, "ecc.calibration=true", &errors]));
    rig.one(Op::Write, 0, 4);
    let retried = |rig: &mut Rig, unit| rig.one(Op::Read, unit, 1).causes.get(Cause::Retry).0 / step;
    let found = [0, 0, 1, 1, 0, 2].map(|unit| retried(&mut rig, unit));
    // From the second attempt's levels on, the MSB page needs two more; the LSB page is then read with those.
    assert_eq!(found, [1, 0, 2, 0, 0, 0]);
}
