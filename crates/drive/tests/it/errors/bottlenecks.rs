//! Drives whose flash and channels are much faster than their decoders: reads per second are those of the decoders.

use super::{BCH, BCH_BITS, LOCATE, SYNDROMES, rate};
use crate::common::{summary, with};

/// Flash that senses in a microsecond and transfers a unit in 854 ns: eight dies deliver more than two million units
/// per second on two channels.
const FAST: &[&str] =
    &["flash.read_time=1us", "flash.transfer_rate=4800MT/s", "flash.chips_per_channel=4", "state.precondition=fill"];
const JOB: &str = "rw=randread\nbs=4k\niodepth=512\nnorandommap=1\nio_size=4g\nnumber_ios=30000";

/// Asserts that reads have the rate of `servers` that take `time_ns` for each.
#[track_caller]
fn assert_rate(sets: &[&str], servers: f64, time_ns: u64) {
    let summary = summary(&with(FAST, sets), JOB);
    let found = summary["throughput"]["iops"].as_f64().expect("a rate");
    let expected = servers * 1e9 / time_ns as f64;
    assert!((found / expected - 1.0).abs() < 0.01, "{sets:?}: {found} reads per second, expected {expected}");
    assert_eq!(summary["reliability"]["uncorrectable"], 0);
}

#[test]
fn fixed_decoders_are_the_bottleneck() {
    for (shared, decoders, servers) in [("channel", 1, 2.0), ("channel", 3, 6.0), ("drive", 1, 1.0), ("drive", 5, 5.0)] {
        let decoder =
            format!("ecc.decoder={{ kind = \"fixed\", time = \"20us\", decoders = {decoders}, shared = \"{shared}\" }}");
        assert_rate(&[BCH, &rate(40.0 / BCH_BITS), &decoder], servers, 20_000);
    }
}

/// With several threads, syndromes of one codeword overlap the search of another one: the codewords take the sum of the
/// stages in turns, but no less than the longest stage.
#[test]
fn bch_engines_are_the_bottleneck() {
    for (shared, decoders, servers) in [("channel", 1, 2.0), ("drive", 3, 3.0)] {
        for (threads, time) in [(1, SYNDROMES + LOCATE), (2, (SYNDROMES + LOCATE) / 2), (3, SYNDROMES)] {
            let decoder = format!(
                "ecc.decoder={{ kind = \"engines\", decoders = {decoders}, threads = {threads}, shared = \"{shared}\" }}"
            );
            assert_rate(&[BCH, &rate(40.0 / BCH_BITS), &decoder], servers, time);
        }
    }
    // Without errors the syndromes alone.
    assert_rate(&[BCH, &rate(0.0), "ecc.decoder=engines"], 2.0, SYNDROMES);
}

#[test]
fn ldpc_engines_are_the_bottleneck() {
    let code = "flash.code={ kind = \"ldpc\", failure_at_limit = 1e-6 }";
    let table = "decoder = { kind = \"ldpc\", table = [{ ratio = 0.0, iterations = 5.0 }] }";
    for (shared, decoders, servers) in [("channel", 1, 2.0), ("drive", 3, 3.0)] {
        for threads in [1, 2] {
            let decoder = format!(
                "ecc.decoder={{ kind = \"engines\", decoders = {decoders}, threads = {threads}, shared = \"{shared}\", {table} }}"
            );
            assert_rate(&[code, &rate(2e-3), &decoder], servers, 5000);
            // Each first attempt fails after 20 iterations; the attempt with one soft level takes five.
            let soft = "ecc.plan={ kind = \"nasd\", levels = 1 }";
            assert_rate(&[code, &rate(6.9e-3), &decoder, soft], servers, 25_000);
        }
    }
}
