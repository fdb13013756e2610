//! Reads that can fail, seen through the drive: the time of each attempt, decoding, and what becomes of lost data.
//!
//! Most tests give all data one error rate far from what the code corrects, so that the outcome of every attempt is
//! known, and count its time on paper.

mod attempts;
mod bottlenecks;
mod held;
mod identity;
mod levels;
mod lost;
mod overlap;
mod policies;
mod refused;
mod rereads;
mod scrubbing;

use kit::Cause;

/// Times of the phases of a read of one unit on the `tiny` preset \[ns\].
const COMMAND: u64 = 290;
const READ: u64 = 50_000;
const DATA: u64 = 3414;
/// SET FEATURES: tCS + 2 tWC + tADL + 4 tWC + tWB.
const SET_FEATURES: u64 = 20 + 50 + 70 + 100 + 100;

/// A code of one codeword for each mapping unit, and its bits: 16 bits of parity for each of 100 errors.
const BCH: &str = "flash.code={ kind = \"bch\", data = \"4KiB\", t = 100 }";
const BCH_BITS: f64 = 32_768.0 + 1600.0;
/// Stages of the default decoder for that code: 1074 cycles for syndromes and for the accurate Chien search, 100 for
/// Berlekamp-Massey, 5 ns each.
const SYNDROMES: u64 = 5370;
const LOCATE: u64 = 500 + 5370;

/// Returns the override that gives all data the same error rate, and repeated reads the same errors.
fn rate(rate: f64) -> String {
    rates(&[rate])
}

/// Like [`rate`], with one error rate for each page type.
fn rates(rates: &[f64]) -> String {
    format!("ecc.errors={{ kind = \"constant\", rates = {rates:?}, read_noise = 0.0 }}")
}

/// Returns the parts of a first attempt at one unit that needs `decode` after the transfer, and of the time for
/// retries.
fn parts(decode: u64, retry: u64) -> Vec<(Cause, u64)> {
    let first = [(Cause::BusCommand, COMMAND), (Cause::Sense, READ), (Cause::Transfer, DATA)];
    [&first[..], &[(Cause::Decode, decode), (Cause::Retry, retry)]].concat()
}
