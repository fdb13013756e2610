//! Loss of power without warning: random drives that lose power at random instants, and at every one; runs. The random
//! cases run longer with `SSDLAB_CASES=<count>`, and from another seed with `SSDLAB_FROM=<seed>`;
//! `SSDLAB_SEED=<seed> SSDLAB_DETAIL=<0 to 4> cargo test -p drive --test it -- power_loss::one_case --ignored` runs one
//! alone. Under every policy, `SSDLAB_COMMANDS=<count>` examines more commands.

use crate::common::given;
use drive::options::RunOptions;
use drive::session::{Files, RunRequest};
use drive::{Description, Drive};
use kit::{Nanos, Operation};
use serde_json::Value;
use testkit::Violation;
use testkit::case::Detail;
use testkit::case::cuts::{self, Cuts};
use workload::Input;

/// Parts of random drives.
const DETAILS: [Detail; 5] = [Detail::None, Detail::Errors, Detail::Controller, Detail::Units, Detail::Power];

/// Adds up the findings of `count` cases whose descriptions are accepted.
pub(crate) fn sum_of(count: u64, mut case: impl FnMut(u64) -> Result<Option<Cuts>, Violation>) -> Cuts {
    let (mut all, mut done) = (Cuts::default(), 0);
    for seed in given("SSDLAB_FROM").unwrap_or(0).. {
        if done == count {
            break;
        }
        if let Some(cuts) = case(seed).unwrap_or_else(|why| panic!("seed {seed}: {}", why.0)) {
            all.merge(&cuts);
            done += 1;
        }
    }
    all
}

/// Random drives lose power three times, at random instants, and go on each time. No data is lost that was promised, or
/// was on flash. All that can be interrupted is, in some cases.
#[test]
fn durable_data_survives_a_loss_of_power_at_any_instant() {
    let mut all = Cuts::default();
    for detail in DETAILS {
        let count = given("SSDLAB_CASES").unwrap_or(80);
        let found = sum_of(count, |seed| Ok(cuts::run(seed, detail, 200, 3)?.map(|(_, cuts)| cuts)));
        println!("{detail:?}: {found:?}");
        let Cuts { losses, torn, half_erased, volatile_lost, .. } = found;
        assert_eq!(losses, 3 * count);
        assert!(torn > count / 4 && half_erased > count / 10 && volatile_lost > count, "{detail:?}: {found:?}");
        all.merge(&found);
    }
    assert!(all.given_up > 0, "{all:?}");
}

/// Capacitors hold a drive up: with enough energy, every write that was acknowledged is found again, also where flushes
/// and writes with FUA do not wait for the flash; with little, the write buffer is lost in part.
#[test]
fn capacitors_save_the_write_buffer() {
    for trusted in [false, true] {
        let found = sum_of(given("SSDLAB_CASES").unwrap_or(150), |seed| {
            Ok(cuts::run_held_up(seed, 200, (Nanos::SECOND, trusted))?.map(|(_, cuts)| cuts))
        });
        assert_eq!((found.volatile_lost, found.losses), (0, 3 * given("SSDLAB_CASES").unwrap_or(150)), "{found:?}");
    }
    let short = sum_of(60, |seed| Ok(cuts::run_held_up(seed, 200, (Nanos(300_000), false))?.map(|(_, cuts)| cuts)));
    let none = sum_of(60, |seed| Ok(cuts::run_held_up(seed, 200, (Nanos(0), false))?.map(|(_, cuts)| cuts)));
    assert!(0 < short.volatile_lost && short.volatile_lost < none.volatile_lost, "{short:?}, {none:?}");
}

/// Runs the case of one seed.
#[test]
#[ignore = "for one seed"]
fn one_case() {
    let (seed, detail) = (given("SSDLAB_SEED").expect("SSDLAB_SEED"), given("SSDLAB_DETAIL").unwrap_or(0));
    let found = cuts::run(seed, DETAILS[detail as usize], 200, 3).unwrap_or_else(|why| panic!("seed {seed}: {}", why.0));
    println!("{:?}", found.map(|(_, cuts)| cuts));
}

/// Random drives are examined after every step of their commands.
#[test]
fn every_step_of_random_drives_can_be_the_last() {
    for detail in [Detail::None, Detail::Controller] {
        let found = sum_of(given("SSDLAB_CASES").unwrap_or(5), |seed| cuts::every_cut(seed, detail, 60));
        println!("{detail:?}: {found:?}");
        assert!(found.losses > 1200 && found.torn > 200 && found.half_erased > 20, "{detail:?}: {found:?}");
    }
}

/// Under every policy, with a write buffer and without one, with parity across dies and without it, a drive whose
/// retention limits come again and again is examined after every step. `SSDLAB_POLICY=<kind>` chooses one.
#[test]
fn every_step_under_every_policy_can_be_the_last() {
    let commands = given("SSDLAB_COMMANDS").unwrap_or(20) as u32;
    let chosen = std::env::var("SSDLAB_POLICY").ok();
    let buffer = ["buffer.policy=write_back", "buffer.capacity=256KiB", "buffer.flush_after=1ms"];
    for kind in crate::power::kinds().filter(|kind| chosen.as_ref().is_none_or(|chosen| chosen == kind)) {
        // Room for the parity of the data, and for the blocks of the sets that are being written.
        let has_many_streams = ["wear_adaptive", "clairvoyant", "margin"].contains(&kind);
        let blocks = if has_many_streams { "flash.blocks_per_plane=112" } else { "flash.blocks_per_plane=60" };
        let parity = ["ftl.rain={dies=2}", blocks, "ftl.gc_critical_blocks=3", "ftl.gc_low_blocks=4"];
        for more in [&buffer[..], &["buffer.policy=none"], &[&buffer[..], &parity].concat()] {
            let kind_set = format!("policy.kind={kind}");
            let sets: Vec<String> =
                ["state.precondition=steady", &kind_set].iter().chain(more).map(|set| (*set).to_owned()).collect();
            let text = if ["agcr", "queue_driven"].contains(&kind) {
                crate::power::short().replace("800ms", "3s")
            } else {
                crate::power::short()
            };
            // More blocks take more time to be moved.
            let text = if more.contains(&blocks) { text.replace("\"3s\"", "\"12s\"").replace("800ms", "3s") } else { text };
            let description = Description::read("power.toml", &text, &sets).unwrap_or_else(|why| panic!("{kind}: {why}"));
            let found = cuts::every_cut_of(&description, 1, commands).unwrap_or_else(|why| panic!("{kind}: {}", why.0));
            println!("{kind}, {more:?}: {found:?}");
            // Few commands need not bring the erase of a whole set.
            let is_erased = found.half_erased > 0 || more.contains(&parity[0]);
            assert!(found.losses > u64::from(commands) && found.torn > 0 && is_erased, "{kind}: {found:?}");
        }
    }
}

const TINY: &str = "base = \"tiny\"";
const WRITES: &str = "[job]\nrw=randwrite\nbs=4k\niodepth=16\nnumber_ios=6000\nnorandommap=1\nio_size=100g\n";

/// A run on a drive with capacitors goes on after a loss of power, without any loss of what the buffer held; the time
/// that this took is stated.
#[test]
fn a_run_goes_on_after_the_capacitors_have_helped() {
    let sets = ["state.precondition=fill", "buffer.policy=write_back", "buffer.capacity=256KiB", "buffer.flush_after=1ms"];
    let capacitors = "power_loss={energy=\"20mJ\",power=\"1W\",trusted=true}";
    let mixed = WRITES.replace("randwrite", "randrw");
    let nvme = ["host.interface=nvme", "controller.firmware=cores"];
    let cases = [(WRITES, &[][..], "30ms"), (WRITES, &[], "event:9000"), (&mixed, &[], "30ms"), (&mixed, &nvme, "30ms")];
    for (workload, more, cut) in cases {
        let (found, notes) = summary(&[&sets[..], more, &[capacitors]].concat(), workload, cut);
        assert_eq!(found["status"], "complete", "{notes:?}");
        let all = number(&found, "/commands/read") + number(&found, "/commands/write");
        assert_eq!(all, 6000 - number(&found, "/power_failure/commands_lost"));
        let failure = |key: &str| number(&found, &format!("/power_failure/{key}"));
        assert_eq!((failure("volatile_lost"), failure("durable_lost")), (0, 0));
        assert!((1..20_000_000).contains(&failure("held_up_ns")), "{notes:?}");
        assert!(notes.iter().any(|note| note.contains("the capacitors held the drive up")), "{notes:?}");
    }
}

/// Runs a workload with a loss of power, and returns its summary and its notes.
fn summary(sets: &[&str], workload: &str, cut: &str) -> (Value, Vec<String>) {
    let power = RunOptions { power_cut: Some(cut.to_owned()), ..RunOptions::default() };
    let request = RunRequest::new("test.toml", TINY).sets(sets).run(power);
    let input = Input::text("workload", workload);
    let done = drive::session::run(&request, &input, Files::default(), &mut |_| true).unwrap_or_else(|why| panic!("{why}"));
    (done.summary, done.notes)
}

pub(crate) fn number(summary: &Value, path: &str) -> u64 {
    summary.pointer(path).and_then(Value::as_u64).unwrap_or_else(|| panic!("{path}: {summary}"))
}

/// Commands in flight are lost and not submitted again; all others complete. What was on flash is found again, by
/// reading each block up to its first erased page; the same run gives the same numbers.
#[test]
fn a_run_goes_on_after_a_loss_of_power() {
    let sets = ["state.precondition=fill", "buffer.policy=write_back", "buffer.capacity=256KiB", "buffer.flush_after=1ms"];
    for cut in ["30ms", "event:9000"] {
        let (found, notes) = summary(&sets, WRITES, cut);
        let failure = |key: &str| number(&found, &format!("/power_failure/{key}"));
        assert_eq!(found["status"], "complete");
        assert_eq!(number(&found, "/commands/write") + failure("commands_lost"), 6000);
        assert_eq!((failure("durable_lost"), failure("down_ns")), (0, 1_000_000_000));
        assert!((1..=64).contains(&failure("volatile_lost")) && failure("torn_pages") > 0, "{found}");
        assert!(notes.iter().any(|note| note.starts_with("recovery took ")), "{notes:?}");
        let (again, _) = summary(&sets, WRITES, cut);
        assert_eq!(again["power_failure"], found["power_failure"]);
        assert_eq!(again["latency"], found["latency"]);
    }
}

/// A run on a filled drive with parity across dies goes on after a loss of power.
#[test]
fn a_run_on_a_drive_with_parity_goes_on() {
    let rain = ["state.precondition=fill", "ftl.rain={ dies = 4 }", "ftl.gc_critical_blocks=3", "ftl.gc_low_blocks=4"];
    for cut in ["30ms", "event:9000"] {
        let (found, _) = summary(&rain, WRITES, cut);
        assert_eq!(found["status"], "complete");
        assert_eq!(number(&found, "/commands/write") + number(&found, "/power_failure/commands_lost"), 6000);
        assert_eq!(number(&found, "/power_failure/durable_lost"), 0);
        assert!(number(&found, "/flash/programs/parity") > 0, "{found}");
    }
}

/// A saved drive with parity loses power only with a warning: otherwise the file is not even read.
#[test]
fn a_saved_drive_with_parity_is_not_prepared_for_a_loss_of_power() {
    let rain = ["ftl.rain={ dies = 4 }", "ftl.gc_critical_blocks=3", "ftl.gc_low_blocks=4"];
    let refused = |cut: &str| {
        let power = RunOptions { power_cut: Some(cut.to_owned()), ..RunOptions::default() };
        let request = RunRequest::new("test.toml", TINY).sets(&rain).run(power);
        let files = Files { load: Some(("aged.ssd".to_owned(), Box::new(&b"none"[..]))), ..Files::default() };
        let done = drive::session::run(&request, &Input::text("workload", WRITES), files, &mut |_| true);
        done.err().expect("it is refused").to_string()
    };
    let told = refused("30ms");
    assert!(told.starts_with("--power-cut: ") && told.contains("expected `,graceful`, or no --load"), "{told}");
    let told = refused("30ms,graceful");
    assert!(told.starts_with("aged.ssd: "), "{told}");
}

/// Without a write buffer a write is durable when it completes: nothing acknowledged is lost.
#[test]
fn without_a_volatile_buffer_nothing_acknowledged_is_lost() {
    let (found, _) = summary(&["state.precondition=fill"], WRITES, "30ms");
    assert_eq!((number(&found, "/power_failure/volatile_lost"), number(&found, "/power_failure/durable_lost")), (0, 0));
}

/// On one die with one channel the recovery takes as long as its reads: for each the command, the array and the data.
#[test]
fn recovery_takes_the_sum_of_its_reads() {
    let one_die = ["flash.channels=1", "flash.chips_per_channel=1", "flash.dies_per_chip=1", "state.precondition=fill"];
    let (found, _) = summary(&one_die, WRITES, "30ms");
    let description = Description::read("test.toml", TINY, &one_die.map(str::to_owned)).unwrap_or_else(|why| panic!("{why}"));
    let geometry = description.geometry();
    let reads = number(&found, "/power_failure/recovery_reads");
    // A read of each programmed page, and one of the first erased page of each block that is not full.
    let pages = u64::from(geometry.block_count) * u64::from(geometry.programs_per_block);
    assert!(reads > pages / 2 && reads <= pages, "{reads} reads of {pages} pages");
    let drive = Drive::new(&description, 1).expect("a small drive fits into memory");
    let read = Operation { units: 1, pages: 1, ..Operation::default() };
    let timing = drive.flash().timing();
    let each = (timing.command(&read) + timing.array(&read) + timing.data(&read)).0;
    assert_eq!(number(&found, "/power_failure/recovery_ns"), reads * each);
}

/// Each defect of a recovery is seen by the oracle within a few commands.
#[test]
fn planted_defects_of_a_recovery_are_found() {
    for forgery in ftl::Forgery::ALL {
        let mut all = [0; 3];
        for seed in 0..12 {
            let counts = cuts::forged(seed, Detail::None, 40, forgery).unwrap_or_else(|why| panic!("seed {seed}: {}", why.0));
            counts.into_iter().flatten().zip(&mut all).for_each(|(count, sum)| *sum += count);
        }
        println!("{forgery:?}: {all:?}");
        assert!(all[1] > 0, "{forgery:?} is never seen: {all:?}");
    }
}
