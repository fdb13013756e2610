//! The time of every attempt at queue depth 1, counted on paper.

use super::{BCH, BCH_BITS, COMMAND, DATA, LOCATE, READ, SET_FEATURES, SYNDROMES, parts, rate, rates};
use crate::common::{ONE_DIE, Rig, assert_parts, description, with};
use drive::CommandRow;
use kit::{Cause, Op, SimTime};

const RETRY: &str = "ecc.plan={ kind = \"read_retry\", steps = 2, reduction = 0.6, step_time = \"700ns\", sense_scale = 1.2 }";
const ENGINES: &str = "ecc.decoder={ kind = \"engines\" }";
/// Time from the arrival of the only codeword to the end of its decoding: its syndromes take longer than its transfer.
const DECODE: u64 = SYNDROMES - DATA + LOCATE;
const STEP: u64 = SET_FEATURES + COMMAND + 700 + 60_000 + DATA + DECODE;

/// Returns a drive of one die with unit 0 written.
fn one_die(sets: &[&str]) -> Rig {
    let mut rig = Rig::new(&with(ONE_DIE, sets));
    rig.one(Op::Write, 0, 1);
    rig
}

fn read(sets: &[&str]) -> CommandRow {
    one_die(sets).one(Op::Read, 0, 1)
}

/// A mean of 40, 160 or 400 errors, of which each step leaves 40 %, where 100 are corrected.
#[test]
fn a_retry_sets_the_levels_senses_transfers_and_decodes() {
    for (errors, attempts) in [(40.0, 1), (160.0, 2), (400.0, 3)] {
        let mut rig = one_die(&[BCH, RETRY, ENGINES, &rate(errors / BCH_BITS)]);
        let row = rig.one(Op::Read, 0, 1);
        assert_parts(&format!("{errors} errors"), &row, &parts(DECODE, (attempts - 1) * STEP));
        assert!(!row.media_error());
        let reads = &rig.drive.controller().reads().expect("reads can fail").statistics;
        assert_eq!((reads.retries(), reads.of_attempt(attempts as usize - 1).failed), (attempts - 1, 0));
    }
}

#[test]
fn a_read_that_no_attempt_corrects_takes_them_all() {
    let mut rig = one_die(&[BCH, RETRY, ENGINES, &rate(0.4)]);
    let row = rig.one(Op::Read, 0, 1);
    assert_parts("uncorrectable", &row, &parts(DECODE, 2 * STEP));
    assert!(row.media_error());
    let reads = &rig.drive.controller().reads().expect("reads can fail").statistics;
    assert_eq!((reads.retries(), reads.uncorrectable_units, reads.lost_units, reads.lost_codewords), (2, 1, 0, 1));
    assert_eq!([0, 1, 2].map(|attempt| reads.of_attempt(attempt).failed), [1, 1, 1]);
    assert_eq!(reads.of_attempt(1).time_ns, STEP);
    // Without a plan there is one attempt.
    let row = read(&[BCH, ENGINES, &rate(0.4)]);
    assert_parts("no plan", &row, &parts(DECODE, 0));
    assert!(row.media_error());
}

/// A codeword without errors leaves the decoder after the syndromes.
#[test]
fn data_without_errors_takes_the_syndromes_alone() {
    assert_parts("no errors", &read(&[BCH, RETRY, ENGINES, &rate(0.0)]), &parts(SYNDROMES - DATA, 0));
    assert_parts("ideal decoder", &read(&[BCH, RETRY, &rate(0.0)]), &parts(0, 0));
}

/// Shared decoders begin with the syndromes when the codeword has arrived.
#[test]
fn a_shared_decoder_begins_when_the_codeword_is_there() {
    let shared = "ecc.decoder={ kind = \"engines\", shared = \"drive\" }";
    let row = read(&[BCH, RETRY, shared, &rate(160.0 / BCH_BITS)]);
    let step = STEP - DECODE + SYNDROMES + LOCATE;
    assert_parts("shared", &row, &parts(SYNDROMES + LOCATE, step));
}

/// Each attempt of a read of the MSB page senses for the time of that page, scaled by its read mode and by the step.
#[test]
fn a_retry_reads_as_its_mode_does() {
    let cell = [
        "flash.cell=mlc",
        "flash.read_time=[\"40us\", \"80us\"]",
        "flash.read_mode=[{ name = \"twice\", sense_scale = 1.5, transfers = 2 }]",
    ];
    let mut rig = Rig::new(&with(&with(ONE_DIE, &cell), &[BCH, RETRY, &rate(160.0 / BCH_BITS)]));
    rig.one(Op::Write, 0, 2);
    let twice = 6827;
    for (unit, sense) in [(0, 60_000), (1, 120_000)] {
        let retry = SET_FEATURES + COMMAND + 700 + sense / 5 * 6 + twice;
        let parts = [(Cause::BusCommand, COMMAND), (Cause::Sense, sense), (Cause::Transfer, twice), (Cause::Retry, retry)];
        assert_parts("page", &rig.one(Op::Read, unit, 1), &parts);
    }
}

/// An LDPC code whose decoder takes 5 us for what it corrects, and 20 us for what it does not.
const LDPC: &str =
    "flash.code={ kind = \"ldpc\", data = \"4KiB\", parity = \"448B\", limits = [4e-3, 7e-3, 1e-2], failure_at_limit = 1e-6 }";
const LDPC_ENGINES: &str = "ecc.decoder={ kind = \"engines\", decoders = 2, decoder = { kind = \"ldpc\", table = [{ ratio = 0.0, iterations = 5.0 }] } }";
const CORRECTED: u64 = 5000;
const FAILED: u64 = 20_000;
/// Two commands and two sensings.
const PAIR: u64 = 2 * COMMAND + 2 * READ;

#[test]
fn soft_decision_transfers_both_sensings_of_a_level() {
    let soft = "ecc.plan={ kind = \"soft\", levels = 2 }";
    let level = PAIR + 2 * DATA;
    for (errors, last, retry) in [
        (2e-3, CORRECTED, 0),
        (6.8e-3, FAILED, level + CORRECTED),
        (1.05e-2, FAILED, 2 * level + FAILED + CORRECTED),
        (0.4, FAILED, 2 * (level + FAILED)),
    ] {
        let row = read(&[LDPC, LDPC_ENGINES, soft, &rate(errors)]);
        assert_parts(&format!("at {errors}"), &row, &parts(last, retry));
        assert_eq!(row.media_error(), errors > 0.1);
    }
}

#[test]
fn network_assisted_soft_decision_transfers_once_for_each_level() {
    let nasd = "ecc.plan={ kind = \"nasd\", levels = 2 }";
    let level = PAIR + DATA;
    for (errors, last, retry) in [
        (6.8e-3, FAILED, level + CORRECTED),
        (1.05e-2, FAILED, 2 * level + FAILED + CORRECTED),
        (0.4, FAILED, 2 * (level + FAILED)),
    ] {
        assert_parts(&format!("at {errors}"), &read(&[LDPC, LDPC_ENGINES, nasd, &rate(errors)]), &parts(last, retry));
    }
}

/// Each attempt of `sensing` senses with all its references, without SET FEATURES, and transfers in one phase.
#[test]
fn finer_sensing_has_the_time_of_its_references() {
    let plan = "ecc.plan={ kind = \"sensing\", references = [1, 3, 7], alpha = \"30us\" }";
    // The first attempt is an ordinary read of the flash; three references take two bits for each cell, seven three.
    let finer = |references: u64, transfers: u64| COMMAND + references * 30_000 + (transfers * 4096 * 1000).div_ceil(1200);
    for (errors, last, retry) in
        [(2e-3, CORRECTED, 0), (6.8e-3, FAILED, finer(3, 2) + CORRECTED), (0.4, FAILED, finer(3, 2) + finer(7, 3) + 2 * FAILED)]
    {
        assert_parts(&format!("at {errors}"), &read(&[LDPC, LDPC_ENGINES, plan, &rate(errors)]), &parts(last, retry));
    }
    // Where the first attempt has three references, it has their time.
    let plan = "ecc.plan={ kind = \"sensing\", references = [3], alpha = \"30us\" }";
    let sets = [LDPC, LDPC_ENGINES, plan, &rate(2e-3)];
    let mut rig = one_die(&sets);
    let row = rig.one(Op::Read, 0, 1);
    assert_eq!(row.completed.since(row.submitted).0, finer(3, 2) + CORRECTED);
    // The first read at an error rate takes another path than the ones after it.
    rig.one(Op::Read, 0, 1);
    assert_eq!(rig.drive.controller().reads().expect("reads can fail").statistics.soft, 2);
    // So have the bounds of the drive.
    let facts = drive::facts("test", &description(&with(ONE_DIE, &sets)));
    assert_eq!(facts["bounds"]["read_at_depth_1_ns"].as_f64(), Some(finer(3, 2) as f64));
}

/// Two dies on one channel. The MSB page of die 0 fails; the LSB page of die 1 requests the channel one microsecond
/// after the transfer of the soft attempt has begun. Each of the two transfers of SD requests the channel, so the other
/// die's comes between them; the one of NASD is not divided.
#[test]
fn a_transfer_of_another_die_comes_between_the_two_of_a_soft_level() {
    for (plan, transfers) in [("soft", 2), ("nasd", 1)] {
        let plan = format!("ecc.plan={{ kind = \"{plan}\", levels = 1 }}");
        let mut rig = Rig::new(&[
            "flash.channels=1",
            "flash.chips_per_channel=2",
            "flash.cell=mlc",
            LDPC,
            LDPC_ENGINES,
            &plan,
            &rates(&[0.0, 6.8e-3]),
        ]);
        for unit in 0..4 {
            rig.one(Op::Write, unit, 1);
        }
        let start = rig.drive.now().0;
        let failing = rig.submit(Op::Read, 2, 1, SimTime(start));
        let transfer = start + COMMAND + READ + DATA + FAILED + PAIR;
        let other = rig.submit(Op::Read, 1, 1, SimTime(transfer + 1000 - COMMAND - READ));
        rig.drain();
        let done = |tag| rig.row(tag).completed.0 - transfer;
        assert_eq!(done(other), 2 * DATA + CORRECTED, "{plan}");
        assert_eq!(rig.row(other).causes.get(Cause::BusWait).0, DATA - 1000, "{plan}");
        // With two decoders on the channel neither waits for the other.
        assert_eq!(done(failing), if transfers == 2 { 3 * DATA } else { DATA } + CORRECTED, "{plan}");
    }
}
