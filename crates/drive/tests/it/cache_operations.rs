//! Reads through the cache registers of the dies: latencies on paper, throughput in closed form, random drives under
//! the oracle, and what is refused.

use crate::common::{ONE_DIE, Rig, assert_parts, given, latency, read, summary, with};
use crate::power_loss::sum_of;
use kit::{Cause, Op, SimTime};
use testkit::case::{self, Detail, Pause, cuts};

const COMMAND: u64 = 290;
const READ: u64 = 50_000;
const DATA: u64 = 3414;
const BUSY: u64 = 3000;

const CACHED: &str = "flash.cache_read=true";

/// Returns the latencies of reads of one die that come at one instant, and the causes of the last one.
fn reads_at_once(sets: &[&str], count: u64) -> (Vec<u64>, drive::CommandRow) {
    let mut rig = Rig::new(&with(ONE_DIE, sets));
    for unit in 0..count {
        rig.one(Op::Write, unit, 1);
    }
    let now = rig.drive.now();
    let reads: Vec<u32> = (0..count).map(|unit| rig.submit(Op::Read, unit, 1, now)).collect();
    rig.drain();
    (reads.iter().map(|&tag| latency(&rig.row(tag))).collect(), rig.row(reads[reads.len() - 1]))
}

#[test]
fn reads_of_one_die_overlap_array_and_channel_to_the_nanosecond() {
    let whole = COMMAND + READ + DATA;
    assert_eq!(reads_at_once(&[], 3).0, [whole, 2 * whole, 3 * whole]);
    // A read alone is as fast as without the option.
    assert_eq!(reads_at_once(&[CACHED], 1).0, [whole]);
    // The command of the second read goes before the data of the first; the last page moves to the cache register, too.
    let step = COMMAND + READ + BUSY;
    let (two, last) = reads_at_once(&[CACHED], 2);
    assert_eq!(two, [step + COMMAND + DATA, 2 * step + DATA]);
    let parts = [(Cause::DieHostRead, step), (Cause::BusCommand, COMMAND), (Cause::Sense, READ + BUSY), (Cause::Transfer, DATA)];
    assert_parts("last of two", &last, &parts);
    let (three, _) = reads_at_once(&[CACHED], 3);
    assert_eq!(three, [step + COMMAND + DATA, 2 * step + COMMAND + DATA, 3 * step + DATA]);
}

/// Where data takes longer than the array, the page of the second read waits in the page register until that of the
/// first is out: the wait is one for the channel.
#[test]
fn a_page_waits_in_the_page_register_until_the_cache_register_is_empty() {
    let slow = ["flash.interface=nv_ddr2", "flash.transfer_rate=200MT/s", "flash.read_time=10us", CACHED];
    let (array, data) = (10_000, 20_480);
    let (three, last) = reads_at_once(&with(&slow, &["flash.cache_busy_time=1us"]), 3);
    let first = COMMAND + array + 1000 + COMMAND + data;
    let second = first + 1000 + COMMAND + data;
    assert_eq!(three, [first, second, second + 1000 + data]);
    let wait = data - array;
    let parts = [
        (Cause::DieHostRead, first + 1000),
        (Cause::BusWait, wait),
        (Cause::BusCommand, COMMAND),
        (Cause::Sense, array + 1000),
        (Cause::Transfer, data),
    ];
    assert_parts("last of three", &last, &parts);
}

/// A read that comes while data leaves the cache register begins beside it; one that comes while the only page leaves
/// the page register waits until that is out.
#[test]
fn a_later_read_begins_beside_data_in_the_cache_register() {
    let mut rig = Rig::new(&with(ONE_DIE, &[CACHED, "flash.read_time=4us"]));
    rig.one(Op::Write, 0, 1);
    let start = rig.drive.now().0;
    let moved = 2 * (COMMAND + 4000 + BUSY);
    let tags = [0, 0, moved + 1].map(|after| rig.submit(Op::Read, 0, 1, SimTime(start + after)));
    rig.drain();
    let causes = [(Cause::BusWait, DATA - 1), (Cause::BusCommand, COMMAND), (Cause::Sense, 4000 + BUSY), (Cause::Transfer, DATA)];
    assert_parts("beside", &rig.row(tags[2]), &causes);
    let start = rig.drive.now().0;
    let tags = [0, COMMAND + 4000].map(|after| rig.submit(Op::Read, 0, 1, SimTime(start + after)));
    rig.drain();
    let causes = [(Cause::DieHostRead, DATA), (Cause::BusCommand, COMMAND), (Cause::Sense, 4000), (Cause::Transfer, DATA)];
    assert_parts("alone", &rig.row(tags[1]), &causes);
}

/// Returns the reads per second of a drive, filled, under random reads of 4 KiB at this depth.
fn read_rate(sets: &[&str], depth: u32) -> f64 {
    let sets = with(sets, &["state.precondition=fill"]);
    let keys = format!("rw=randread\nbs=4k\niodepth={depth}\nnumber_ios=20000");
    summary(&sets, &keys)["throughput"]["iops"].as_f64().expect("a rate")
}

/// A saturated die reads a page in the time of the command, of the move to the cache register and of the longer one of
/// array and data; without the option in the sum of all but the move.
#[test]
fn a_saturated_die_reads_at_the_rate_of_the_longer_of_array_and_channel() {
    for (rate, data) in [(1200, 3414), (667, 6141), (2400, 1707)] {
        for array in [3_000, 20_000, 50_000] {
            let sets = [format!("flash.transfer_rate={rate}MT/s"), format!("flash.read_time={array}ns")];
            let sets = with(ONE_DIE, &[&sets[0], &sets[1]]);
            let (plain, cached) = (read_rate(&sets, 32), read_rate(&with(&sets, &[CACHED]), 32));
            let expected = [COMMAND + array + data, COMMAND + BUSY + array.max(data)].map(|span| 1e9 / span as f64);
            println!("{rate} MT/s, tR {array} ns: {plain:.0} and {cached:.0} reads/s, expected {expected:.0?}");
            for (found, expected) in [plain, cached].into_iter().zip(expected) {
                assert!((found / expected - 1.0).abs() < 0.01, "{found} instead of {expected}");
            }
        }
    }
}

/// Eight dies share a channel that is the bottleneck with or without cache registers.
#[test]
fn nothing_is_gained_where_the_channel_is_the_bottleneck() {
    let sets = ["flash.channels=1", "flash.chips_per_channel=8", "flash.read_time=10us"];
    let (plain, cached) = (read_rate(&sets, 64), read_rate(&with(&sets, &[CACHED]), 64));
    let bound = 1e9 / (COMMAND + DATA) as f64;
    println!("{plain:.0} and {cached:.0} reads/s, at most {bound:.0}");
    assert!(plain > 0.97 * bound && cached > 0.97 * bound && cached < bound * 1.001, "{plain}, {cached}, {bound}");
}

/// Random drives read through their cache registers under the oracle: ideal ones, detailed ones, and ones whose reads
/// can fail. `SSDLAB_CASES` and `SSDLAB_FROM` choose the seeds.
#[test]
fn random_drives_read_right_through_cache_registers() {
    let (first, cases) = (given("SSDLAB_FROM").unwrap_or(0), given("SSDLAB_CASES").unwrap_or(400));
    let mut passed = 0;
    for seed in first..first + cases {
        match case::run(seed, Detail::CacheRead, 200, None) {
            Ok(case) => passed += u64::from(case.is_some()),
            Err(why) => panic!("seed {seed}: {}", why.0),
        }
    }
    assert!(passed > 3 * cases / 10, "{passed} of {cases} descriptions are accepted");
}

/// Drives at rest, saved or not, have empty registers, and go on.
#[test]
fn drives_with_cache_registers_rest_and_go_on() {
    let mut pauses = 0;
    for (seed, pause) in (1000..1300).flat_map(|seed| [(seed, Pause::Reload), (seed, Pause::Rest)]) {
        match case::run_through(seed, Detail::CacheRead, 150, pause) {
            Ok(case) => pauses += case.map_or(0, |passed| passed.pauses),
            Err(why) => panic!("seed {seed}, {pause:?}: {}", why.0),
        }
    }
    assert!(pauses > 60, "{pauses} pauses");
}

#[test]
fn drives_with_cache_registers_lose_power() {
    let found = sum_of(60, |seed| Ok(cuts::run(seed, Detail::CacheRead, 200, 3)?.map(|(_, cuts)| cuts)));
    assert_eq!(found.losses, 180);
    assert!(found.torn > 10, "{found:?}");
}

#[test]
fn what_cannot_be_combined_is_refused() {
    let suspension = "flash.suspension={ program = true, erase = true, suspend_time = \"20us\", resume_time = \"30us\", \
                      least_remaining = \"100us\", most = 2 }";
    let power = "power={ supply = \"3.3V\", idle = \"0uA\", read = { kind = \"constant\", current = \"10mA\" }, program = { kind = \
                 \"constant\", current = \"10mA\" }, erase = { kind = \"constant\", current = \"10mA\" }, cap = \"1W\" }";
    let errors = [
        "ecc.errors={ kind = \"constant\", rates = [1e-4] }",
        "flash.code={ kind = \"bch\", data = \"1KiB\", t = 40 }",
        "ecc.plan=read_retry",
        "ecc.retries_hold=die",
    ];
    let cases: [(&[&str], &str); 6] = [
        (&[suspension], "flash.cache_read: true: expected false with flash.suspension"),
        (&["flash.dies_per_chip=2"], "flash.cache_read: true: a chip does one thing at a time, expected false, or"),
        (&["controller.page_buffers={ count = 2 }"], "flash.cache_read: true: expected false, or no controller.page_buffers"),
        (&[power], "flash.cache_read: true: expected false, or no power.cap, power.thermal or power.suspend"),
        (&errors, "flash.cache_read: true: expected false, or ecc.retries_hold = \"nothing\""),
        (&["flash.cache_busy_time=2ms"], "flash.cache_busy_time: 2ms: expected at most 1ms, and flash.cache_read = true"),
    ];
    for (sets, expected) in cases {
        let problems = read(&with(sets, &[CACHED])).expect_err(expected).to_string();
        assert!(problems.contains(expected), "{problems}");
    }
    let problems = read(&["flash.cache_busy_time=3us"]).expect_err("without cache reads").to_string();
    assert!(problems.contains("flash.cache_busy_time: 3us: expected"), "{problems}");
}
