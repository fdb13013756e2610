//! Errors belong to the stored data: a repeated read at the same levels fails again, and a softer one succeeds as often
//! as the limits of the code say. Only what has failed is read again.

use super::{BCH, BCH_BITS, COMMAND, READ, SET_FEATURES, rate};
use crate::common::{ONE_DIE, Rig, assert_parts, summary, transfer, with};
use ecc::{Bch, BlockCode, Ldpc};
use kit::{Cause, Op};
use serde_json::Value;

/// Every unit of the drive is read once.
const ONCE: &str = "rw=read\nbs=4k\niodepth=8\nsize=100%";

/// Returns the error rate nearest to `rate` of those that the engine tells apart: multiples of 1/256 in the logarithm,
/// counted from 1e-18.
fn rounded(rate: f64) -> f64 {
    let least = 1e-18f64.ln();
    (least + ((rate.ln() - least) * 256.0).round() / 256.0).exp()
}

/// Reads every unit of a full drive once. Returns the reads and failures of each attempt, and the summary.
fn read_all(sets: &[&str]) -> (Vec<[u64; 2]>, Value) {
    let summary = summary(&with(sets, &["state.precondition=fill"]), ONCE);
    let attempts = summary["read_errors"]["attempts"].as_array().expect("reads can fail");
    let count = |attempt: &Value, key: &str| attempt[key].as_u64().expect("a count");
    let counts = attempts.iter().map(|attempt| [count(attempt, "reads"), count(attempt, "failed")]).collect();
    (counts, summary)
}

/// Asserts that `count` of `of` agree with a probability within three standard deviations.
#[track_caller]
fn assert_share(what: &str, count: u64, of: u64, probability: f64) {
    let (mean, deviation) = (of as f64 * probability, (of as f64 * probability * (1.0 - probability)).sqrt());
    let found = (count as f64 - mean) / deviation;
    assert!(found.abs() < 3.0, "{what}: {count} of {of}, expected {mean}: {found} standard deviations");
}

/// Rates at which from a tenth to nine tenths of the codewords fail.
#[test]
fn a_plain_reread_fails_again() {
    let code = Bch { data_bits: 32_768, t: 100 };
    let same = "ecc.plan={ kind = \"read_retry\", steps = 4, reduction = 0.0 }";
    for share in [0.1, 0.5, 0.9] {
        let known = rounded(code.limit(0, share));
        let (attempts, summary) = read_all(&[BCH, same, &rate(known)]);
        let [units, failed] = attempts[0];
        assert!(units > 27_000);
        assert_share("first attempts", failed, units, code.failure(known, 0));
        assert_eq!(attempts[1..], vec![[failed; 2]; 4], "all four rereads of each fail");
        assert_eq!(summary["read_errors"]["lost_codewords"], failed);
        assert_eq!(summary["reliability"]["uncorrectable"], failed);
        assert_eq!(summary["read_errors"]["media_errors"], failed);
    }
}

/// With a share of noise n, two reads are normal values with the correlation 1 - n^2. If half of all reads fail, both
/// of two fail with probability 1/4 + asin(1 - n^2) / 2 pi.
#[test]
fn with_read_noise_some_rereads_succeed() {
    let code = Bch { data_bits: 32_768, t: 100 };
    let once = "ecc.plan={ kind = \"read_retry\", steps = 1, reduction = 0.0 }";
    let rate = rounded(code.limit(0, 0.5));
    for noise in [0.1f64, 0.3, 0.7] {
        let errors = format!("ecc.errors={{ kind = \"constant\", rates = [{rate:e}], read_noise = {noise} }}");
        let (attempts, _) = read_all(&[BCH, once, &errors]);
        let [units, _] = attempts[0];
        let both = 0.25 + (1.0 - noise * noise).asin() / std::f64::consts::TAU;
        // The limit cuts the distribution not quite in the middle.
        let expected = both + (code.failure(rate, 0) - 0.5);
        assert_share(&format!("noise {noise}"), attempts[1][1], units, expected);
        assert!(attempts[1][1] < attempts[1][0]);
    }
}

#[test]
fn softer_attempts_succeed_as_the_limits_say() {
    let code = Ldpc { limits: vec![4e-3, 4.4e-3, 4.9e-3], failure_at_limit: 1e-3, ..Ldpc::default() };
    let set = "flash.code={ kind = \"ldpc\", limits = [4e-3, 4.4e-3, 4.9e-3], failure_at_limit = 1e-3 }";
    for plan in ["soft", "nasd"] {
        let plan = format!("ecc.plan={{ kind = \"{plan}\", levels = 2 }}");
        let known = rounded(5.0e-3);
        let (attempts, summary) = read_all(&[set, &plan, &rate(known)]);
        let units = attempts[0][0];
        assert_eq!(attempts.len(), 3);
        for (level, [_, failed]) in (0..).zip(&attempts) {
            assert_share(&format!("{level} soft levels"), *failed, units, code.failure(known, level));
        }
        assert!(attempts.windows(2).all(|pair| pair[1][0] == pair[0][1]), "each failure is followed by the next attempt");
        assert_eq!(summary["reliability"]["soft_levels"], attempts[1][0] + attempts[2][0]);
    }
}

/// Steps of read retry at a lower error rate succeed as often as the code does at that rate.
#[test]
fn steps_succeed_as_their_error_rates_say() {
    let code = Bch { data_bits: 32_768, t: 100 };
    let plan = "ecc.plan={ kind = \"read_retry\", steps = 3, reduction = 0.05 }";
    let known = rounded(120.0 / BCH_BITS);
    let (attempts, _) = read_all(&[BCH, plan, &rate(known)]);
    let units = attempts[0][0];
    for (step, [_, failed]) in (0..).zip(&attempts) {
        let at = rounded(known * 0.95f64.powi(step));
        assert_share(&format!("step {step}"), *failed, units, code.failure(at, 0));
    }
}

const RETRY: &str = "ecc.plan={ kind = \"read_retry\", steps = 1, reduction = 0.6 }";

/// Half of the units fail at the first attempt, and none at the second. The transfer of the retry is that of the units
/// that failed.
#[test]
fn of_a_joined_read_only_the_failed_units_are_read_again() {
    let half = rate(100.0 / BCH_BITS);
    let mut rig = Rig::new(&with(ONE_DIE, &["flash.page_size=16KiB", BCH, RETRY, &half]));
    let mut seen = [false; 5];
    for page in 0..40 {
        rig.one(Op::Write, 4 * page, 4);
        let retried = |rig: &mut Rig, first, count| rig.one(Op::Read, first, count).causes.get(Cause::Retry).0;
        let failing = (0..4).filter(|unit| retried(&mut rig, 4 * page + unit, 1) > 0).count() as u64;
        let row = rig.one(Op::Read, 4 * page, 4);
        let again = if failing > 0 { SET_FEATURES + COMMAND + READ + transfer(failing, 1200) } else { 0 };
        let parts =
            [(Cause::BusCommand, COMMAND), (Cause::Sense, READ), (Cause::Transfer, transfer(4, 1200)), (Cause::Retry, again)];
        assert_parts(&format!("page {page}, {failing} units fail"), &row, &parts);
        seen[failing as usize] = true;
    }
    assert_eq!(seen, [true; 5], "every number of failing units");
}

/// A read of four planes: the retry takes tDBSY and six cycles, and tCCS, for each further plane whose unit failed.
#[test]
fn of_a_multi_plane_read_only_the_failed_planes_are_read_again() {
    let half = rate(100.0 / BCH_BITS);
    let mut rig = Rig::new(&with(ONE_DIE, &["flash.planes_per_die=4", "flash.multi_plane=true", BCH, RETRY, &half]));
    let mut seen = [false; 5];
    for page in 0..40 {
        rig.one(Op::Write, 4 * page, 4);
        let retried = |rig: &mut Rig, first, count| rig.one(Op::Read, first, count).causes.get(Cause::Retry).0;
        let failing = (0..4).filter(|unit| retried(&mut rig, 4 * page + unit, 1) > 0).count() as u64;
        let found = retried(&mut rig, 4 * page, 4);
        let further = failing.saturating_sub(1);
        let again = SET_FEATURES + COMMAND + further * 650 + READ + transfer(failing, 1200) + further * 300;
        assert_eq!(found, if failing > 0 { again } else { 0 }, "page {page}, {failing} planes fail");
        seen[failing as usize] = true;
    }
    assert_eq!(seen, [true; 5], "every number of failing planes");
}
