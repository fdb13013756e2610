//! Decoding overlaps the transfer codeword by codeword: a page of four codewords, by the flow-shop sum.

use super::{BCH, BCH_BITS, COMMAND, LOCATE, READ, SYNDROMES, rate};
use crate::common::{ONE_DIE, Rig, assert_parts, transfer, with};
use kit::{Cause, Op};

/// Instants at which the codewords of a page of 16 KiB have arrived, counted from the begin of the transfer \[ns\].
const ARRIVES: [u64; 4] = [3413, 6827, 10_240, 13_654];

/// Asserts the time from the begin of the transfer to the end of the last codeword, and the decoding time of that
/// codeword alone; the difference to the end of the transfer is the wait for decoders.
#[track_caller]
fn assert_decoded(decoder: &str, errors: f64, end: u64, alone: u64) {
    let decoder = format!("ecc.decoder={decoder}");
    let mut rig = Rig::new(&with(ONE_DIE, &["flash.page_size=16KiB", BCH, &decoder, &rate(errors / BCH_BITS)]));
    rig.one(Op::Write, 0, 4);
    let row = rig.one(Op::Read, 0, 4);
    let data = transfer(4, 1200);
    assert_eq!(data, ARRIVES[3]);
    let parts = [
        (Cause::BusCommand, COMMAND),
        (Cause::Sense, READ),
        (Cause::Transfer, data),
        (Cause::EccWait, end - data - alone),
        (Cause::Decode, alone),
    ];
    assert_parts(&format!("{decoder}, {errors} errors"), &row, &parts);
}

#[test]
fn a_fast_decoder_ends_one_codeword_after_the_transfer() {
    for shared in ["channel", "drive"] {
        for time in [0, 1, 3000, 3413] {
            let fixed = format!("{{ kind = \"fixed\", time = \"{time}ns\", shared = \"{shared}\" }}");
            assert_decoded(&fixed, 40.0, ARRIVES[3] + time, time);
        }
    }
}

#[test]
fn a_slow_decoder_takes_the_codewords_one_after_another_from_the_first_arrival() {
    for shared in ["channel", "drive"] {
        let time = 10_000;
        for (decoders, end) in [
            (1, ARRIVES[0] + 4 * time),
            // The first and the third codeword in one decoder, the second and the fourth in the other one.
            (2, ARRIVES[1] + 2 * time),
            // When the fourth has arrived, the first is done.
            (3, ARRIVES[3] + time),
            (4, ARRIVES[3] + time),
        ] {
            let fixed = format!("{{ kind = \"fixed\", time = \"{time}ns\", decoders = {decoders}, shared = \"{shared}\" }}");
            assert_decoded(&fixed, 40.0, end, time);
        }
    }
}

/// Codewords arrive faster than their syndromes are computed, which the decoders of a channel begin with the first bit.
#[test]
fn the_decoders_of_a_channel_compute_syndromes_during_the_transfer() {
    let alone = SYNDROMES - (ARRIVES[3] - ARRIVES[2]) + LOCATE;
    let engines = |decoders: u32, threads: u32| format!("{{ kind = \"engines\", decoders = {decoders}, threads = {threads} }}");
    // One after another.
    assert_decoded(&engines(1, 1), 40.0, 4 * (SYNDROMES + LOCATE), alone);
    // With two threads the syndromes of one codeword overlap the search of the one before. The search (5370) is as long
    // as the syndromes, and the key equation (500) comes between: 11240 for the first two, which take turns with the
    // next two.
    assert_decoded(&engines(1, 2), 40.0, (SYNDROMES + LOCATE) + 5370 + (500 + 5370) + 5370, alone);
    // Two decoders: the second takes the second codeword at its first bit. The third enters the first decoder.
    let second = ARRIVES[0] + SYNDROMES + LOCATE;
    assert_decoded(&engines(2, 1), 40.0, second + SYNDROMES + LOCATE, alone);
    assert_decoded(&engines(4, 1), 40.0, ARRIVES[2] + SYNDROMES + LOCATE, alone);
    // Without errors only the syndromes are left, one after another.
    assert_decoded(&engines(1, 1), 0.0, 4 * SYNDROMES, SYNDROMES - (ARRIVES[3] - ARRIVES[2]));
}

#[test]
fn shared_decoders_compute_syndromes_when_a_codeword_has_arrived() {
    let all = SYNDROMES + LOCATE;
    let engines = |decoders: u32, threads: u32| {
        format!("{{ kind = \"engines\", decoders = {decoders}, threads = {threads}, shared = \"drive\" }}")
    };
    assert_decoded(&engines(1, 1), 40.0, ARRIVES[0] + 4 * all, all);
    assert_decoded(&engines(1, 2), 40.0, ARRIVES[0] + all + 5370 + (500 + 5370) + 5370, all);
    assert_decoded(&engines(2, 1), 40.0, ARRIVES[1] + 2 * all, all);
    assert_decoded(&engines(4, 1), 40.0, ARRIVES[3] + all, all);
    assert_decoded(&engines(1, 1), 0.0, ARRIVES[0] + 4 * SYNDROMES, SYNDROMES);
}

/// The codewords of reads on two channels, in the order of their arrival at one decoder of the drive: those of the
/// first read arrive half a codeword before those of the second one.
#[test]
fn shared_decoders_take_the_codewords_of_all_channels_in_order_of_arrival() {
    let time = 10_000;
    let fixed = format!("ecc.decoder={{ kind = \"fixed\", time = \"{time}ns\", shared = \"drive\" }}");
    let dies = ["flash.channels=2", "flash.chips_per_channel=1", "flash.page_size=16KiB"];
    let mut rig = Rig::new(&with(&dies, &[BCH, &fixed, &rate(40.0 / BCH_BITS)]));
    for page in 0..2 {
        rig.submit(Op::Write, 4 * page, 4, rig.drive.now());
    }
    rig.drain();
    let start = rig.drive.now().0;
    let offset = 1700;
    let tags = [0, 1].map(|page| rig.submit(Op::Read, 4 * page, 4, kit::SimTime(start + page * offset)));
    rig.drain();
    let begin = start + COMMAND + READ;
    // Eight codewords in turn, so that the first read ends with the seventh.
    let ends = tags.map(|tag| rig.row(tag).completed.0 - begin);
    assert_eq!(ends, [ARRIVES[0] + 7 * time, ARRIVES[0] + 8 * time]);
}
