//! Data written in the modes of policies, read at the end of its promised retention and long after it, with the errors
//! of the model of the cell. The power is off meanwhile, so that no policy rewrites the data before it is read.

use crate::common::Rig;
use cell::{Condition, ErrorTable};
use controller::reads::ReadStatistics;
use drive::{CommandRow, Description, presets};
use ecc::BlockCode;
use kit::{Cause, Nanos, Op};

const DAY: u64 = 86_400_000_000_000;
const HOUR: u64 = DAY / 24;
/// A small drive without other old data.
const SMALL: [&str; 6] = [
    "flash.channels=1",
    "flash.chips_per_channel=2",
    "flash.dies_per_chip=1",
    "flash.blocks_per_plane=128",
    "state.age=0s",
    "state.precondition=none",
];

/// Writes units of a preset in commands of two units that arrive in bursts, lets them age without power, and reads
/// them. Returns the reads, and the measurements of all reads.
fn aged(preset: &str, sets: &[&str], units: u64, age: Nanos) -> (Vec<CommandRow>, ReadStatistics) {
    let text = presets::find(preset).expect("a preset").text;
    let mut rig = Rig::watched_text(text, &[&SMALL[..], sets].concat());
    for first in (0..units).step_by(256) {
        let now = rig.drive.now();
        for unit in (first..first + 256).step_by(2) {
            rig.submit(Op::Write, unit, 2, now);
        }
        rig.drain();
        rig.records();
    }
    rig.drive.fail_power(age);
    let now = rig.drive.now();
    for unit in (0..units).step_by(2) {
        rig.submit(Op::Read, unit, 2, now);
    }
    rig.drain();
    let reads = rig.rows().iter().filter(|row| row.op == Op::Read).copied().collect();
    (reads, rig.drive.controller().reads().expect("reads can fail").statistics.clone())
}

/// Returns the numbers of attempts that failed, by number of the attempt.
fn failed(reads: &ReadStatistics) -> Vec<u64> {
    (0..reads.max_attempts).map(|attempt| reads.of_attempt(attempt).failed).collect()
}

/// The modes of `rr-106g` are derived: at the end of the retention the code fails as rarely as its target says, on the
/// worst page.
#[test]
fn derived_modes_fail_at_the_target_rate_at_their_limit_and_often_beyond() {
    let preset = presets::find("rr-106g").expect("a preset");
    let description = Description::read(preset.name, preset.text, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let part = lab::parts::find("cell_model", "rr-mlc").unwrap_or_else(|problems| panic!("{problems}"));
    let target = part.code.failure(part.limit(0), 0);
    assert!((1e-17..1e-9).contains(&target), "{target:e}");
    for mode in &description.flash.write_modes {
        let derivation = mode.derivation.as_ref().expect("it is derived");
        let written = Condition { step: derivation.step, erase_shift: derivation.erase_shift, ..Condition::default() };
        let (cycles, limit) = (f64::from(derivation.at_pe_cycles), derivation.retention);
        let oldest = Nanos(10 * Nanos::YEAR.0);
        let table = ErrorTable::build(&part.device, &written, 3.0 * cycles, oldest, derivation.temperature);
        let worst = |cycles: f64, age: Nanos| {
            let failure = |page| part.code.failure(table.rate(page, cycles, age, 0.0), 0);
            failure(0).max(failure(1))
        };
        let at_limit = worst(cycles, limit);
        // 24 errors fail as the 25th power of the rate: a rate 3 % too high, by the table, doubles the failures.
        assert!((target / 2.0..2.0 * target).contains(&at_limit), "{}: {at_limit:e}, target {target:e}", mode.name);
        assert!(worst(cycles / 3.0, limit) < target / 100.0 && worst(cycles, Nanos(limit.0 / 2)) < target / 2.0, "{}", mode.name);
        assert!(
            worst(2.0 * cycles, Nanos(5 * limit.0)) > 1e4 * target,
            "{}: {:e}",
            mode.name,
            worst(2.0 * cycles, Nanos(5 * limit.0))
        );
    }
}

#[test]
fn data_of_retention_relaxation_is_read_at_its_limit_and_fails_long_after() {
    let sets = ["policy.kind=rr_speed", "state.pe_cycles=3000", "ecc.errors=cell"];
    let retry = "ecc.plan={ kind = \"read_retry\", steps = 10 }";
    // Two weeks, less the time of writing.
    let (rows, reads) = aged("rr-106g", &[&sets[..], &[retry]].concat(), 26_112, Nanos(14 * DAY - 2 * HOUR));
    assert!(reads.codewords > 100_000, "{}", reads.codewords);
    assert_eq!((failed(&reads), rows.iter().any(|row| row.media_error())), (vec![0; 11], false));
    // Ten times that.
    let (rows, reads) = aged("rr-106g", &[&sets[..], &[retry]].concat(), 4096, Nanos(140 * DAY));
    assert!(failed(&reads)[0] > 100, "{:?}", failed(&reads));
    assert!(rows.iter().all(|row| !row.media_error()), "the steps correct all");
    let (rows, reads) = aged("rr-106g", &sets, 4096, Nanos(140 * DAY));
    let lost = rows.iter().filter(|row| row.media_error()).count();
    assert!(lost > 100 && reads.uncorrectable_units >= lost as u64, "{lost}: {reads:?}");
}

#[test]
fn data_of_ofwar_is_read_at_its_limit_and_fails_long_after() {
    let run = |cycles: u32, variation: bool, units, days| {
        let errors = format!("ecc.errors={{ kind = \"cell\", variation = {variation} }}");
        let cycles = format!("state.pe_cycles={cycles}");
        let plan = "ecc.plan={ kind = \"read_retry\", steps = 10 }";
        // Bursts are written in the fast mode.
        let sets = ["policy.kind=ofwar", "policy.ofwar.write_threshold=1", &errors, plan, &cycles];
        aged("ofwar-64g", &sets, units, Nanos(days * DAY - 2 * HOUR))
    };
    for (cycles, variation, units) in [(0, true, 4096), (5000, true, 12_288), (10_000, false, 12_288)] {
        let (rows, reads) = run(cycles, variation, units, 4);
        assert_eq!((failed(&reads), rows.iter().any(|row| row.media_error())), (vec![0; 11], false), "{cycles} cycles");
    }
    // At the rated cycles the limit leaves nothing for pages that are worse than the model's mean.
    let (rows, reads) = run(10_000, true, 12_288, 4);
    assert!(failed(&reads)[0] < 10 && rows.iter().all(|row| !row.media_error()), "{:?}", failed(&reads));
    let (rows, reads) = run(10_000, true, 4096, 60);
    assert!(failed(&reads)[0] > 20, "{:?}", failed(&reads));
    assert!(rows.iter().any(|row| row.causes.get(Cause::Retry).0 > 0));
}

/// Number of reads by the time of sensing with one, three and seven references; a command may have two reads.
fn by_references(rows: &[CommandRow]) -> [usize; 3] {
    [1, 3, 7].map(|references| rows.iter().filter(|row| row.causes.get(Cause::Sense).0 == references * 23_300).count())
}

/// `agcr-64g` with the mode of a read chosen by the error rate of the data. The read modes are derived.
#[test]
fn the_references_of_a_read_follow_the_error_rate() {
    let run = |levels: &str, policy: &str, cycles: u32, years: u64| {
        let sets = [
            format!("ecc.read_levels={levels}"),
            format!("policy.kind={policy}"),
            format!("state.pe_cycles={cycles}"),
            "ecc.errors=cell".to_owned(),
        ];
        let (rows, reads) = aged("agcr-64g", &sets.each_ref().map(String::as_str), 4096, Nanos(years * 365 * DAY));
        (by_references(&rows), failed(&reads), rows.iter().filter(|row| row.media_error()).count())
    };
    assert_eq!(run("by_write_mode", "baseline", 0, 1), ([0, 2048, 0], vec![0], 0));
    assert_eq!(run("by_error_rate", "baseline", 0, 1), ([2048, 0, 0], vec![0], 0), "fresh data needs one reference");
    let ([one, three, seven], failures, lost) = run("by_error_rate", "all_fast", 10_000, 10);
    assert!(one > 500 && three > 100 && one + three == 2048, "{one} {three} {seven}");
    assert_eq!((failures, lost), (vec![0], 0), "each mode that is chosen corrects");
    let ([_, _, seven], failures, lost) = run("by_error_rate", "all_fast", 20_000, 10);
    assert!(seven > 2000 && failures[0] > 100 && lost > 100, "{seven} {failures:?} {lost}");
    // Reads that climb fail with one reference, and deliver what seven correct.
    let ([one, ..], failures, climbed) = run("progressive", "all_fast", 20_000, 10);
    assert!(one == 2048 && failures[0] > 2000 && failures[1] > 2000 && failures[2] > 100, "{one} {failures:?}");
    assert!(climbed < 2048 / 2 && climbed.abs_diff(lost) < 100, "{climbed} {lost}");
}
