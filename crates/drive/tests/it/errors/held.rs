//! Parts of the flash that a repeated read holds, the order of delivery, and several steps in one read, on paper.
//!
//! The MSB page has 400 errors where 100 are corrected, and each step leaves 40 % of them: it is read three times. The
//! LSB page has none.

use super::{BCH, BCH_BITS, COMMAND, DATA, LOCATE, READ, SET_FEATURES, SYNDROMES, parts, rates};
use crate::common::{ONE_DIE, Rig, assert_parts};
use kit::{Cause, Op, SimTime};

const RETRY: &str = "ecc.plan={ kind = \"read_retry\", steps = 2, reduction = 0.6, step_time = \"700ns\", sense_scale = 1.2 }";
const ENGINES: &str = "ecc.decoder={ kind = \"engines\" }";
/// Time from the arrival of a codeword with errors, or without, to the end of its decoding.
const DECODE: u64 = SYNDROMES - DATA + LOCATE;
const CHECK: u64 = SYNDROMES - DATA;
const PLAIN: u64 = COMMAND + READ + DATA;
const STEP: u64 = SET_FEATURES + COMMAND + 700 + 60_000 + DATA + DECODE;

/// Returns a drive with an LSB page and an MSB page on each die written.
fn drive(shape: &[&str], sets: &[&str]) -> Rig {
    let rates = rates(&[0.0, 400.0 / BCH_BITS]);
    let mut rig = Rig::new(&[shape, &["flash.cell=mlc", BCH, RETRY, ENGINES, &rates], sets].concat());
    for unit in 0..4 {
        rig.one(Op::Write, unit, 1);
    }
    rig
}

/// Another read waits for the die from the array phase of the first repetition on. Unless the die is held, it comes
/// between the two repetitions; otherwise it follows them, and the time in which the die only waits for a decoder has
/// the cause `die_held`.
#[test]
fn a_die_that_is_held_serves_no_other_read() {
    for (hold, held) in [("nothing", false), ("die", true), ("channel", true)] {
        let mut rig = drive(ONE_DIE, &[&format!("ecc.retries_hold={hold}")]);
        let start = rig.drive.now().0;
        let repeated = start + PLAIN + DECODE;
        let submitted = repeated + 30_000;
        let failing = rig.submit(Op::Read, 1, 1, SimTime(start));
        let other = rig.submit(Op::Read, 0, 1, SimTime(submitted));
        rig.drain();
        let begins = if held { repeated + 2 * STEP } else { repeated + STEP - DECODE };
        assert_eq!(rig.row(other).completed.0, begins + PLAIN + CHECK, "{hold}");
        let ends = if held { begins } else { begins + PLAIN + STEP };
        assert_eq!(rig.row(failing).completed.0, ends, "{hold}");
        let held_time = if held { 2 * DECODE } else { 0 };
        let waits = [(Cause::DieHeld, held_time), (Cause::DieHostRead, begins - submitted - held_time)];
        let parts = [&waits[..], &parts(CHECK, 0)].concat();
        assert_parts(hold, &rig.row(other), &parts);
    }
}

/// Two reads wait for the die behind a failing one, both since before its first repetition. The first of them is served
/// while the failing read is decoded; the repetitions come before the second by age, and after it at the back.
#[test]
fn a_repetition_has_its_place_by_age_or_at_the_back() {
    for (place, is_last) in [("age", false), ("back", true)] {
        let mut rig = drive(ONE_DIE, &[&format!("ecc.retry_place={place}")]);
        let start = rig.drive.now().0;
        let failing = rig.submit(Op::Read, 1, 1, SimTime(start));
        let others = [0, 2].map(|unit| rig.submit(Op::Read, unit, 1, SimTime(start + 1000)));
        rig.drain();
        let [failing, first, second] = [failing, others[0], others[1]].map(|command| rig.row(command).completed.0);
        assert_eq!(first, start + 2 * PLAIN + CHECK, "{place}");
        let ends = |begins: u64| begins + PLAIN + CHECK;
        // Two repetitions; the die is free while the first of them is decoded.
        let (of_failing, of_second) = if is_last {
            (start + 3 * PLAIN + 2 * STEP, ends(start + 2 * PLAIN))
        } else {
            (start + 2 * PLAIN + STEP - DECODE + PLAIN + STEP, ends(start + 2 * PLAIN + STEP - DECODE))
        };
        assert_eq!((failing, second), (of_failing, of_second), "{place}");
    }
}

/// The same with another die of the channel: its read is served while the first die senses again, unless the channel is
/// held from the command of the first repetition on.
#[test]
fn a_channel_that_is_held_serves_no_other_die() {
    for (hold, held) in [("nothing", false), ("die", false), ("channel", true)] {
        let mut rig = drive(&["flash.channels=1", "flash.chips_per_channel=2"], &[&format!("ecc.retries_hold={hold}")]);
        let start = rig.drive.now().0;
        let repeated = start + PLAIN + DECODE;
        let submitted = repeated + SET_FEATURES + COMMAND + 1000;
        let failing = rig.submit(Op::Read, 2, 1, SimTime(start));
        let other = rig.submit(Op::Read, 1, 1, SimTime(submitted));
        rig.drain();
        assert_eq!(rig.row(failing).completed.0, repeated + 2 * STEP, "{hold}");
        let begins = if held { repeated + 2 * STEP } else { submitted };
        let parts = [&[(Cause::BusWait, begins - submitted)][..], &parts(CHECK, 0)].concat();
        assert_parts(hold, &rig.row(other), &parts);
        assert_eq!(rig.row(other).completed.0, begins + PLAIN + CHECK, "{hold}");
    }
}

/// Another die requests the channel for its data while the command of the first repetition is transferred.
#[test]
fn data_waits_for_a_channel_that_is_held() {
    for (hold, held) in [("nothing", false), ("die", false), ("channel", true)] {
        let mut rig = drive(&["flash.channels=1", "flash.chips_per_channel=2"], &[&format!("ecc.retries_hold={hold}")]);
        let start = rig.drive.now().0;
        let repeated = start + PLAIN + DECODE;
        let failing = rig.submit(Op::Read, 2, 1, SimTime(start));
        let other = rig.submit(Op::Read, 1, 1, SimTime(repeated + 100 - COMMAND - READ));
        rig.drain();
        assert_eq!(rig.row(failing).completed.0, repeated + 2 * STEP, "{hold}");
        let waits = if held { 2 * STEP } else { SET_FEATURES + COMMAND } - 100;
        assert_parts(hold, &rig.row(other), &[&[(Cause::BusWait, waits)][..], &parts(CHECK, 0)].concat());
    }
}

/// One page buffer for the channel, and a read of another die whose data is sensed during the second repetition. Each
/// attempt takes a buffer for itself, so that the other read has it between two of them. A die or a channel that is
/// held keeps it.
#[test]
fn a_page_buffer_is_held_with_the_die() {
    for (hold, held) in [("nothing", false), ("die", true)] {
        let sets = [format!("ecc.retries_hold={hold}"), "controller.page_buffers={ count = 1 }".to_owned()];
        let mut rig = drive(&["flash.channels=1", "flash.chips_per_channel=2"], &sets.each_ref().map(String::as_str));
        let start = rig.drive.now().0;
        let repeated = start + PLAIN + DECODE;
        let submitted = repeated + STEP + 1000;
        let failing = rig.submit(Op::Read, 2, 1, SimTime(start));
        let other = rig.submit(Op::Read, 1, 1, SimTime(submitted));
        rig.drain();
        assert_eq!(rig.row(failing).completed.0, repeated + 2 * STEP, "{hold}");
        let waits = if held { STEP - 1000 - COMMAND - READ } else { 0 };
        assert_parts(hold, &rig.row(other), &[&[(Cause::PageBuffer, waits)][..], &parts(CHECK, 0)].concat());
    }
}

/// The data of another die's read waits for the only page buffer when the first attempt is decoded, and has it then. A
/// repetition that will hold the channel does not begin before that data is in the memory; any other one begins at
/// once, once the data has crossed the channel.
#[test]
fn a_repetition_that_holds_the_channel_has_its_page_buffer_before() {
    for (hold, begins) in [("nothing", DATA), ("die", DATA), ("channel", DATA + CHECK)] {
        let sets = [format!("ecc.retries_hold={hold}"), "controller.page_buffers={ count = 1 }".to_owned()];
        let mut rig = drive(&["flash.channels=1", "flash.chips_per_channel=2"], &sets.each_ref().map(String::as_str));
        let start = rig.drive.now().0;
        let repeated = start + PLAIN + DECODE;
        let failing = rig.submit(Op::Read, 2, 1, SimTime(start));
        let other = rig.submit(Op::Read, 1, 1, SimTime(repeated - 100 - COMMAND - READ));
        rig.drain();
        assert_eq!(rig.row(failing).completed.0, repeated + begins + 2 * STEP, "{hold}");
        assert_parts(hold, &rig.row(other), &[&[(Cause::PageBuffer, 100)][..], &parts(CHECK, 0)].concat());
    }
}

/// Two reads of one die fail. Unless the first holds it, their repetitions take turns.
#[test]
fn a_die_is_held_for_one_read_after_the_other() {
    const ON_DIE: u64 = STEP - DECODE;
    for (hold, times) in [("nothing", [3 * ON_DIE + DECODE, 4 * ON_DIE + DECODE]), ("die", [2 * STEP, 4 * STEP])] {
        let mut rig = drive(ONE_DIE, &[&format!("ecc.retries_hold={hold}")]);
        let start = rig.drive.now().0;
        let reads = [1, 3].map(|unit| rig.submit(Op::Read, unit, 1, SimTime(start)));
        rig.drain();
        let repeated = start + 2 * PLAIN;
        assert_eq!(reads.map(|read| rig.row(read).completed.0 - repeated), times, "{hold}");
    }
}

/// A program gives way to each of the three attempts. A die that is held does not resume it between the second attempt
/// and the third.
#[test]
fn a_suspended_program_waits_for_a_die_that_is_held() {
    let suspension =
        "flash.suspension={ program=true, erase=false, suspend_time='20us', resume_time='20us', least_remaining='0us', most=8 }";
    for (hold, suspensions) in [("nothing", 3), ("die", 2), ("channel", 2)] {
        let mut rig = drive(ONE_DIE, &[suspension, &format!("ecc.retries_hold={hold}")]);
        let start = rig.drive.now().0;
        let write = rig.submit(Op::Write, 4, 1, SimTime(start));
        let read = rig.submit(Op::Read, 1, 1, SimTime(start + 100_000));
        rig.drain();
        assert_eq!(rig.drive.flash().counters.suspensions, suspensions, "{hold}");
        let attempts = rig.row(read).completed.0 - start - 100_000;
        assert!(rig.row(write).completed.0 - start > 600_000 + attempts - 2 * DECODE, "{hold}: {attempts}");
        assert!(!rig.row(read).media_error() && rig.row(read).causes.get(Cause::Retry).0 >= 2 * STEP, "{hold}");
    }
}

/// A read that follows one that is repeated is decoded first. In order, it is delivered together with it.
#[test]
fn data_that_is_delivered_in_order_waits_for_that_of_earlier_reads() {
    for (delivery, in_order) in [("as_decoded", false), ("in_order", true)] {
        let mut rig = drive(ONE_DIE, &[&format!("ecc.delivery={delivery}")]);
        let start = rig.drive.now().0;
        let failing = rig.submit(Op::Read, 1, 1, SimTime(start));
        let other = rig.submit(Op::Read, 0, 1, SimTime(start));
        rig.drain();
        // The repetition begins once the other read has left the die.
        let last = start + 2 * PLAIN + 2 * STEP;
        assert_eq!(rig.row(failing).completed.0, last, "{delivery}");
        let decoded = start + 2 * PLAIN + CHECK;
        let waits = [(Cause::DieHostRead, PLAIN), (Cause::Order, if in_order { last - decoded } else { 0 })];
        assert_parts(delivery, &rig.row(other), &[&waits[..], &parts(CHECK, 0)].concat());
    }
}

/// Two steps in one further read: the levels are set once, and data is transferred and decoded once.
#[test]
fn several_steps_of_one_read_are_transferred_once() {
    let both = RETRY.replace("steps = 2", "steps = 2, steps_per_read = 2");
    let mut rig = drive(ONE_DIE, &[&both]);
    let retry = SET_FEATURES + COMMAND + 2 * (700 + 60_000) + DATA + DECODE;
    assert_parts("two steps", &rig.one(Op::Read, 1, 1), &parts(DECODE, retry));
    let reads = &rig.drive.controller().reads().expect("reads can fail").statistics;
    assert_eq!(reads.retries(), 1);
}
