//! Parity across dies: random drives, and its cost in closed form.

use crate::common::{Rig, given, read, session};
use crate::power_loss::sum_of;
use drive::fault_script::FaultScript;
use flash::faults::Scripted;
use ftl::Health;
use kit::{DieId, Lpn, Nanos, Op, OperationKind, Reason};
use serde_json::Value;
use testkit::case::cuts::{self, every_cut};
use testkit::case::faults::{Failed, run_with_parity};
use testkit::case::{Detail, run};

const TINY: &str = "base = \"tiny\"";

/// Overrides by which the four dies of `tiny` are one group.
const RAIN: [&str; 3] = ["ftl.rain={ dies = 4 }", "ftl.gc_critical_blocks=3", "ftl.gc_low_blocks=4"];

/// Returns the numbers at these places of the summary of a job.
fn numbers<const N: usize>(sets: &[&str], job: &str, paths: [&str; N]) -> [f64; N] {
    let done = session(TINY, sets, None, &format!("[job]\n{job}\n")).unwrap_or_else(|problems| panic!("{problems}"));
    paths.map(|path| done.summary.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}: {}", done.summary)))
}

/// Writes without collections: each whole set of `k` blocks has one of parity, so that all that is programmed is k /
/// (k - 1) of the data, but for the parity of the rows that are not complete at the end: at most two sets of blocks.
#[test]
fn parity_costs_one_block_of_each_set() {
    for dies in [2, 4] {
        let rain = format!("ftl.rain={{ dies = {dies} }}");
        let sets = [rain.as_str(), RAIN[1], RAIN[2], "ftl.separate_relocations=false"];
        let paths = ["/write_amplification", "/flash/programs/host", "/flash/programs/parity"];
        let [amplification, host, parity] = numbers(&sets, "rw=write\nbs=64k\niodepth=8\nsize=100%", paths);
        let (k, block) = (f64::from(dies), 64.0);
        let open = 4.0 / k * 2.0 * (k - 1.0) * block;
        let missing = host - parity * (k - 1.0);
        assert!((0.0..=open).contains(&missing), "{dies} dies: {host} programs of data, {parity} of parity");
        assert!((amplification - (host + parity) / host).abs() < 1e-9, "{amplification}");
        assert!(missing < 0.05 * host, "{missing} of {host}");
    }
}

/// Under random writes, the amplification is that of a drive without parity, whose blocks are fewer by those of parity,
/// times k / (k - 1): collections take whole sets, and choose them as they would choose blocks.
#[test]
fn random_writes_cost_as_much_more_as_parity_takes() {
    let common = ["ftl.user_capacity=60MiB", "state.precondition=steady", "flash.pages_per_block=32"];
    let job = "rw=randwrite\nbs=4k\niodepth=16\nnumber_ios=120000\nnorandommap=1\nio_size=100g";
    let plain = [&common[..], &["flash.blocks_per_plane=180"]].concat();
    let rain = [&common[..], &RAIN, &["flash.blocks_per_plane=240"]].concat();
    let [plain] = numbers(&plain, job, ["/write_amplification"]);
    let [rain] = numbers(&rain, job, ["/write_amplification"]);
    let more = rain / plain / (4.0 / 3.0);
    assert!((0.97..1.05).contains(&more), "{rain} with parity, {plain} without: {more} of 4/3");
}

/// Descriptions that parity does not fit are refused, and the error says what would be right.
#[test]
fn descriptions_that_do_not_fit_are_refused() {
    let cases: [(&[&str], &str, &str); 5] = [
        (&["ftl.rain={ dies = 3 }"], "ftl.rain.dies", "a divisor of the 4 dies"),
        (&["ftl.rain={ dies = 4 }", "ftl.gc_critical_blocks=2"], "ftl.gc_critical_blocks", "one for parity"),
        (&[RAIN[0], RAIN[1], RAIN[2], "flash.copyback=true"], "ftl.rain", "copyback"),
        (&[RAIN[0], RAIN[1], RAIN[2], "ftl.allocation_order=PCWD"], "ftl.rain", "without P"),
        (&["ftl.rain={ dies = 4, rebuild_rate = \"0MB/s\" }", RAIN[1], RAIN[2]], "ftl.rain.rebuild_rate", "above zero"),
    ];
    for (sets, field, expected) in cases {
        let problems = read(sets).expect_err("it does not fit").to_string();
        assert!(problems.contains(field) && problems.contains(expected), "{sets:?}: {problems}");
    }
}

/// Random drives with parity across dies, saved and loaded again between parts of their commands: the oracle follows
/// each program of parity, and no block is erased while parity covers current data together with it.
#[test]
fn random_drives_keep_parity() {
    let (mut passed, mut parity, mut collected, mut pauses) = (0, 0u64, 0u64, 0);
    let (mut restored, mut reads) = (0, 0);
    for seed in 0..200 {
        let Some(case) = run(seed, Detail::Parity, 400, None).unwrap_or_else(|why| panic!("seed {seed}: {why:?}")) else {
            continue;
        };
        let counters = &case.drive.translator().report().counters.clone();
        passed += 1;
        parity += counters.units_programmed[Reason::Parity as usize];
        collected += counters.units_programmed[Reason::Gc as usize];
        pauses += case.pauses;
        let health = case.drive.health().expect("a page map");
        (restored, reads) = (restored + health.reads_restored, reads + health.restoring_reads);
    }
    println!("{passed} drives, {parity} units of parity, {collected} collected, {pauses} pauses");
    println!("{restored} reads were restored by {reads} others");
    assert!(passed > 80 && parity > 10_000 && collected > 10_000 && pauses > 30);
}

/// Random drives with parity across dies lose power at random instants: nothing that is on flash is lost, and data
/// whose parity is not on flash is not restored from it.
#[test]
fn random_drives_lose_power() {
    let count = given("SSDLAB_CASES").unwrap_or(118);
    let found = sum_of(count, |seed| Ok(cuts::run(seed, Detail::Parity, 400, 3)?.map(|(_, cuts)| cuts)));
    println!("{found:?}");
    assert!(found.losses == 3 * count && found.torn > count && found.half_erased > count / 10, "{found:?}");
}

/// Random drives with parity across dies lose power after every step.
#[test]
fn every_step_of_random_drives_can_be_the_last() {
    let found = sum_of(given("SSDLAB_CASES").unwrap_or(8), |seed| every_cut(seed, Detail::Parity, 60));
    println!("{found:?}");
    assert!(found.torn > 5000 && found.half_erased > 1000, "{found:?}");
}

/// Random drives with parity across dies whose programs and erases fail, and which lose dies: the oracle follows every
/// restoration, and data is lost by two failures at least.
#[test]
fn random_drives_restore_what_fails() {
    let (mut passed, mut all) = (0, Failed::default());
    for seed in given("SSDLAB_FROM").unwrap_or(0)..given("SSDLAB_TO").unwrap_or(200) {
        let case = run_with_parity(seed, 400).unwrap_or_else(|why| panic!("seed {seed}: {why:?}"));
        let Some((_, failed)) = case else { continue };
        passed += 1;
        all.merge(&failed);
    }
    println!("{passed} drives, {all:?}");
    assert!(passed > 80 && all.programs > 100 && all.erases > 50 && all.dies > 10 && all.restored.0 > 1000, "{passed}, {all:?}");
}

/// A drive with parity across its four dies and 24 MiB of data, which were written one after another.
fn written(sets: &[&str]) -> Rig {
    let common = [&RAIN[..], &["ftl.user_capacity=24MiB", "faults.spare_blocks=1"], sets].concat();
    let mut rig = Rig::new(&common);
    for unit in (0..UNITS).step_by(16) {
        let now = rig.drive.now();
        rig.submit(Op::Write, unit, 16, now);
        rig.drain();
    }
    // Parity that is due is programmed.
    let until = rig.drive.now() + Nanos(10_000_000);
    rig.run_until(until);
    rig
}

const UNITS: u64 = (24 << 20) / 4096;

/// Reads all data. Returns the number of media errors.
fn read_all(rig: &mut Rig) -> u64 {
    let before = rig.drive.statistics.media_errors;
    for unit in (0..UNITS).step_by(8) {
        let now = rig.drive.now();
        rig.submit(Op::Read, unit, 8, now);
        rig.drain();
    }
    rig.drive.statistics.media_errors - before
}

/// A read that fails takes as long as two: the data of the other dies is read at once, one of which waits for the
/// transfer of another on its channel.
#[test]
fn a_restored_read_takes_one_read_of_each_other_die() {
    let mut rig = written(&[]);
    let plain = rig.one(Op::Read, 0, 1);
    let place = rig.drive.map().place_of(Lpn(0)).expect("it is on flash");
    let block = rig.drive.medium().geometry.block_of(place);
    let script =
        FaultScript { operations: vec![Scripted { kind: OperationKind::Read, block, number: 1 }], ..FaultScript::default() };
    rig.drive.script_faults(&script);
    let restored = rig.one(Op::Read, 0, 1);
    let [plain, restored] = [plain, restored].map(|row| row.completed.since(row.submitted).0);
    // 4 KiB at 1.2 GB/s.
    let transfer = 3414;
    assert_eq!(restored, 2 * plain + transfer, "{plain} ns without a failure");
    let health = rig.drive.health().expect("a page map");
    assert_eq!((health.reads_restored, health.restoring_reads, rig.drive.statistics.media_errors), (1, 3, 0));
}

/// Data survives the loss of three dies of four, one after another, if the sets are rebuilt in between: first on three
/// dies, then on two. The last die has no parity any more.
#[test]
fn rebuilt_sets_survive_further_losses() {
    let mut rig = written(&[]);
    for (lost, die) in (1..).zip([1, 3, 0]) {
        rig.drive.lose_die(DieId(die));
        let degraded = rig.drive.degraded_sets().expect("it has parity");
        assert!(degraded > 10, "{degraded} sets have lost a block with {die}");
        assert_eq!(read_all(&mut rig), 0, "after the loss of {lost} dies");
        let until = rig.drive.now() + Nanos(20 * Nanos::SECOND.0);
        rig.run_until(until);
        assert_eq!(rig.drive.degraded_sets(), Some(0), "after the loss of {lost} dies");
    }
    let Health { units_lost, dies_lost, reads_restored, .. } = *rig.drive.health().expect("a page map");
    assert_eq!((units_lost, dies_lost), (0, 3));
    assert!(reads_restored > UNITS / 8, "{reads_restored}");
    assert_eq!(read_all(&mut rig), 0);
    rig.drive.lose_die(DieId(2));
    assert!(read_all(&mut rig) > 0);
}

/// Two losses without a rebuild in between lose the data that both dies held of the same sets.
#[test]
fn two_losses_at_once_lose_data() {
    let mut rig = written(&[]);
    rig.drive.lose_die(DieId(1));
    rig.drive.lose_die(DieId(2));
    let lost = rig.drive.health().expect("a page map").units_lost;
    assert!(lost > UNITS / 8, "{lost}");
    assert!(read_all(&mut rig) > 0);
}

/// Data that a loss of power leaves without parity, a small part, is lost with its die unless it is rebuilt before.
#[test]
fn parity_that_was_lost_with_the_power_is_rebuilt() {
    let common = [&RAIN[..], &["ftl.user_capacity=24MiB", "faults.spare_blocks=1"]].concat();
    let lost_with = |die: u32, waits: bool| {
        let mut rig = Rig::losing_power(&common);
        // Neither the blocks nor the rows of the last sets are complete.
        for unit in (0..UNITS - 160).step_by(16) {
            let now = rig.drive.now();
            rig.submit(Op::Write, unit, 16, now);
            rig.drain();
        }
        rig.lose_power(&common);
        let degraded = rig.drive.degraded_sets().expect("it has parity");
        assert!((1..=8).contains(&degraded), "{degraded} sets lack parity");
        if waits {
            assert_eq!(read_all(&mut rig), 0);
            let until = rig.drive.now() + Nanos(20 * Nanos::SECOND.0);
            rig.run_until(until);
            assert_eq!(rig.drive.degraded_sets(), Some(0));
        }
        rig.drive.lose_die(DieId(die));
        let lost = rig.drive.health().expect("a page map").units_lost;
        assert_eq!(read_all(&mut rig) > 0, lost > 0, "{lost} units");
        lost
    };
    let all = |waits: bool| (0..4).map(|die| lost_with(die, waits)).sum::<u64>();
    assert_eq!(all(true), 0);
    let lost = all(false);
    assert!((1..UNITS / 16).contains(&lost), "{lost} of {UNITS} units");
}

/// The rate of a rebuild is that of its data: it takes as long as the data that it moves does, but for the last set.
#[test]
fn a_rebuild_keeps_its_rate() {
    let mut rig = written(&["ftl.rain={ dies = 4, rebuild_rate = \"5MB/s\" }"]);
    let begin = rig.drive.now();
    rig.drive.lose_die(DieId(1));
    let mut end = begin;
    while rig.drive.degraded_sets() > Some(0) {
        end = rig.step();
    }
    // Of 24 MiB, all but the sets without a block on the die: each set that is complete has one.
    let (seconds, expected) = (end.since(begin).0 as f64 / 1e9, f64::from(24 << 20) / 5e6);
    assert!((0.93..1.05).contains(&(seconds / expected)), "{seconds} s, and {expected} s at the rate");
}
