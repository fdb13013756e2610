//! The journal of the map and its checkpoint: losses of power, traffic, recovery, refusals. The random cases run longer
//! with `SSDLAB_CASES=<count>`, and from another seed with `SSDLAB_FROM=<seed>`.

use crate::common::given;
use crate::power_loss::{number, sum_of};
use drive::options::RunOptions;
use drive::session::{Files, RunRequest};
use drive::{Description, Drive};
use kit::{Bytes, DieId, HostCommand, Lpn, Nanos, Op, SimTime};
use serde_json::Value;
use testkit::case::Detail;
use testkit::case::cuts;
use testkit::case::faults::{self, Failed};
use workload::Input;

/// Random drives with a journal lose power three times, at random instants, and go on each time.
#[test]
fn a_drive_with_a_journal_loses_power_at_any_instant() {
    let count = given("SSDLAB_CASES").unwrap_or(48);
    let found = sum_of(count, |seed| Ok(cuts::run(seed, Detail::Journal, 300, 3)?.map(|(_, cuts)| cuts)));
    println!("{found:?}");
    assert_eq!(found.losses, 3 * count);
    assert!(found.torn > count / 4 && found.half_erased > count / 20, "{found:?}");
}

/// Random drives with a journal are examined after every step of their commands.
#[test]
fn every_step_of_a_drive_with_a_journal_can_be_the_last() {
    let found = sum_of(given("SSDLAB_CASES").unwrap_or(5), |seed| cuts::every_cut(seed, Detail::Journal, 60));
    println!("{found:?}");
    assert!(found.losses > 1000 && found.torn > 200, "{found:?}");
}

/// Random drives with a journal and parity across dies lose power three times, at random instants, and go on.
#[test]
fn a_drive_with_a_journal_and_parity_loses_power_at_any_instant() {
    let count = given("SSDLAB_CASES").unwrap_or(48);
    let found = sum_of(count, |seed| Ok(cuts::run(seed, Detail::JournalParity, 300, 3)?.map(|(_, cuts)| cuts)));
    println!("{found:?}");
    assert_eq!(found.losses, 3 * count);
    assert!(found.torn > count / 4 && found.half_erased > count / 30, "{found:?}");
}

/// They are examined after every step of their commands.
#[test]
fn every_step_of_a_drive_with_a_journal_and_parity_can_be_the_last() {
    let found = sum_of(given("SSDLAB_CASES").unwrap_or(5), |seed| cuts::every_cut(seed, Detail::JournalParity, 60));
    println!("{found:?}");
    assert!(found.losses > 1000 && found.torn > 200, "{found:?}");
}

/// Random drives with a journal, and with failing programs and erases, bad blocks, lost dies and losses of power; half
/// of them have parity across dies, too. No data is lost but on lost dies.
#[test]
fn a_drive_with_a_journal_survives_faults_and_losses_of_power() {
    let mut all = Failed::default();
    for detail in [Detail::JournalFaults, Detail::JournalParityFaults] {
        let (count, mut done) = (given("SSDLAB_CASES").unwrap_or(60), 0);
        for seed in given("SSDLAB_FROM").unwrap_or(0).. {
            if done == count {
                break;
            }
            let found = faults::run_with(seed, detail, 400).unwrap_or_else(|why| panic!("{detail:?}, seed {seed}: {}", why.0));
            done += u64::from(found.is_some());
            found.iter().for_each(|(_, failed)| all.merge(failed));
        }
    }
    println!("{all:?}");
    let Failed { programs, erases, dies, power, spares, .. } = all;
    assert!(programs > 500 && erases > 20 && dies > 5 && power > 20 && spares > 20, "{all:?}");
}

/// Such drives are examined after every step of their commands; one of two loses a die among them.
#[test]
fn every_step_of_a_drive_with_a_journal_and_faults_can_be_the_last() {
    for detail in [Detail::JournalFaults, Detail::JournalParityFaults] {
        let found = sum_of(given("SSDLAB_CASES").unwrap_or(6), |seed| cuts::every_cut(seed, detail, 60));
        println!("{detail:?}: {found:?}");
        assert!(found.losses > 1000 && found.torn > 200, "{detail:?}: {found:?}");
    }
}

/// A drive recovers by its journal to what a search of the whole flash finds, after every step: the map, the sets of
/// blocks with parity, and the states of all blocks.
#[test]
fn the_journal_gives_what_a_search_of_the_whole_flash_finds() {
    for detail in [Detail::Journal, Detail::JournalParity, Detail::JournalFaults, Detail::JournalParityFaults] {
        let (mut all, mut done) = ([0; 3], 0);
        for seed in given("SSDLAB_FROM").unwrap_or(100).. {
            if done == given("SSDLAB_CASES").unwrap_or(5) {
                break;
            }
            let found = cuts::both_ways(seed, detail, 60).unwrap_or_else(|why| panic!("{detail:?}, seed {seed}: {}", why.0));
            done += u64::from(found.is_some());
            found.into_iter().flatten().zip(&mut all).for_each(|(count, sum)| *sum += count);
        }
        println!("{detail:?}: {all:?}");
        assert!(all[0] > 1000 && all[1] < all[2], "{detail:?}: {all:?}");
    }
}

/// Each defect of a recovery by the journal is seen by the oracle.
#[test]
fn planted_defects_of_a_recovery_by_the_journal_are_found() {
    for forgery in ftl::Forgery::OF_JOURNAL {
        let mut all = [0; 3];
        for seed in 0..given("SSDLAB_CASES").unwrap_or(6) {
            let counts = cuts::forged(seed, Detail::Journal, 120, forgery).unwrap_or_else(|why| panic!("seed {seed}: {}", why.0));
            if all[1] == 0 && counts.is_some_and(|counts| counts[1] > 0) {
                println!("{forgery:?} is seen from seed {seed} on: {counts:?}");
            }
            counts.into_iter().flatten().zip(&mut all).for_each(|(count, sum)| *sum += count);
        }
        println!("{forgery:?}: {all:?}");
        assert!(all[1] > 0, "{forgery:?} is never seen: {all:?}");
    }
}

/// A journal for `tiny` of the size of its map.
const JOURNAL: &str = "ftl.journal={size=\"108KiB\"}";

/// Runs random writes of 4 KiB on a preset. Returns the summary and the notes.
fn run(base: &str, sets: &[&str], writes: u64, cut: Option<&str>) -> (Value, Vec<String>) {
    let job = format!("[job]\nrw=randwrite\nbs=4k\niodepth=32\nnumber_ios={writes}\nnorandommap=1\nio_size=1t\n");
    let power = RunOptions { power_cut: cut.map(str::to_owned), ..RunOptions::default() };
    let text = format!("base = \"{base}\"");
    let request = RunRequest::new("test.toml", &text).sets(sets).run(power);
    let done = drive::session::run(&request, &Input::text("workload", job), Files::default(), &mut |_| true);
    let done = done.unwrap_or_else(|why| panic!("{why}"));
    (done.summary, done.notes)
}

/// In a steady state the journal takes an entry for each unit that is programmed, and as much again for the checkpoint:
/// less than 2 % of what the host writes. Without one nothing is written for it.
#[test]
fn the_journal_takes_what_its_entries_take() {
    for (set, journal) in [(None, false), (Some(JOURNAL), true)] {
        let sets = ["state.precondition=steady"].into_iter().chain(set).collect::<Vec<_>>();
        let (found, _) = run("tiny", &sets, 60_000, None);
        let programs = |reason: &str| found.pointer(&format!("/flash/programs/{reason}")).and_then(Value::as_u64).unwrap_or(0);
        let changes = programs("host") + programs("gc") + programs("wear");
        // Three streams of four dies.
        let expected = if journal { 2.0 * changes as f64 / f64::from(512 - 12) } else { 0.0 };
        let written = programs("journal") as f64;
        println!("{changes} changes, {written} of the journal, {} of the host: {found}", programs("host"));
        assert!((written - expected).abs() <= 0.03 * expected, "{written}, expected {expected}");
        assert!(written < 0.02 * programs("host") as f64, "{written} of {}", programs("host"));
        assert_eq!(journal, written > 0.0);
    }
}

/// With a journal a recovery reads the checkpoint, the journal, a row of each block, and a few rows of those that are
/// open: the same run without one reads all that is programmed.
#[test]
fn a_recovery_with_a_journal_reads_little() {
    let fill = "state.precondition=fill";
    let ((with, notes), (without, _)) =
        (run("tiny", &[fill, JOURNAL], 40_000, Some("event:60000")), run("tiny", &[fill], 40_000, Some("event:60000")));
    let failure = |found: &Value, key: &str| number(found, &format!("/power_failure/{key}"));
    println!("{}\n{}", with["power_failure"], without["power_failure"]);
    assert_eq!((failure(&with, "durable_lost"), failure(&without, "durable_lost")), (0, 0));
    let (reads, all) = (failure(&with, "recovery_reads"), failure(&without, "recovery_reads"));
    // 512 blocks less those of the area; 27 programs of pages, and up to 29 of the journal; the rest are open blocks.
    assert!((500..900).contains(&reads) && all > 20_000, "{reads}, {all}");
    assert!(30 * failure(&with, "recovery_ns") < failure(&without, "recovery_ns"));
    assert!(notes.iter().any(|note| note.starts_with("recovery took ")), "{notes:?}");
}

/// Prints the figures of a larger drive: `SSDLAB_WRITES` random writes, then a loss of power, with a journal of
/// `SSDLAB_JOURNAL` MiB, or without one.
#[test]
#[ignore = "minutes, and gigabytes"]
fn figures_of_a_large_drive() {
    let (writes, size) = (given("SSDLAB_WRITES").unwrap_or(100_000), given("SSDLAB_JOURNAL").unwrap_or(0));
    let journal = format!("ftl.journal={{size=\"{size}MiB\"}}");
    let base = std::env::var("SSDLAB_BASE").unwrap_or_else(|_| "pcie4-tlc-2tb".to_owned());
    let sets: Vec<&str> = if size > 0 { vec![&journal] } else { Vec::new() };
    let (found, notes) = run(&base, &sets, writes, Some(&format!("event:{}", 6 * writes)));
    println!("{}\n{}\n{notes:?}", found["power_failure"], found["flash"]["programs"]);
}

/// A flush that was submitted after a trim completes once the entry of the trim is on flash; without a trim, or for the
/// second time, it completes at once.
#[test]
fn a_flush_waits_for_the_trims_before_it() {
    let description = |sets: &[&str]| {
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        Description::read("test.toml", "base = \"tiny\"", &sets).unwrap_or_else(|why| panic!("{why}"))
    };
    for (sets, waits) in [(&["state.precondition=fill", JOURNAL][..], true), (&["state.precondition=fill"], false)] {
        let description = description(sets);
        let mut drive = Drive::new(&description, 1).expect("a small drive fits into memory");
        testkit::prepare(&mut drive, &description);
        let mut tag = 0;
        let mut serve = |command: fn(u32) -> HostCommand| {
            tag += 1;
            let now = drive.now();
            drive.submit(command(tag), now);
            let done = drive.advance(SimTime::FOREVER);
            assert!(done.len() == 1 && done[0].tag == tag, "{done:?}");
            let programs: u64 = drive.translator().report().counters.units_programmed[kit::Reason::Journal as usize];
            (drive.now().since(now).0 >= 600_000, programs)
        };
        let trim = |tag: u32| HostCommand::new(Op::Trim, tag, Bytes(0), Bytes(1 << 20));
        assert_eq!(serve(HostCommand::flush), (false, 0));
        assert_eq!(serve(trim), (false, 0));
        // A program of the journal, and its share of the checkpoint.
        assert_eq!(serve(HostCommand::flush), (waits, 2 * u64::from(waits)));
        let (again, _) = serve(HostCommand::flush);
        assert!(!again, "all trims are on flash");
    }
}

/// A flush has a trim recorded on one die. If that die is lost, and the power at once, the trim is undone and counted;
/// if another one is, it is not: all blocks are searched each time, since each die has a part of the map. Once the map
/// has been written anew, the journal is enough again, and the trim is found.
#[test]
fn a_trim_on_a_lost_die_is_undone_and_counted_until_the_map_is_written_anew() {
    let sets = ["state.precondition=fill", JOURNAL, "faults.spare_blocks=2"].map(str::to_owned);
    let description = Description::read("test.toml", "base = \"tiny\"", &sets).unwrap_or_else(|why| panic!("{why}"));
    let anew = || Drive::new(&description, 1).expect("a small drive fits into memory");
    let mut at_once = Vec::new();
    for die in (0..description.geometry().die_count).map(DieId) {
        let mut drive = anew();
        drive.keep_metadata().expect("a small drive fits into memory");
        testkit::prepare(&mut drive, &description);
        for command in [HostCommand::new(Op::Trim, 1, Bytes(50 << 20), Bytes(1 << 20)), HostCommand::flush(2)] {
            drive.submit(command, drive.now());
            assert_eq!(drive.advance(SimTime::FOREVER).len(), 1);
        }
        let settle = |drive: &mut Drive| assert!(drive.advance(drive.now() + Nanos(100_000_000)).is_empty());
        settle(&mut drive);
        let trimmed = |drive: &Drive| (0..256).all(|unit| drive.map().place_of(Lpn((50 << 8) + unit)).is_none());
        let cut = |drive: &Drive| drive.after_power_loss(anew(), Nanos(1)).expect("a small drive fits into memory");
        let before = cut(&drive).1;
        assert!(!before.lacks_journal && before.durable_lost == 0, "{before:?}");
        drive.lose_die(die);
        let (other, loss) = cut(&drive);
        assert!(loss.lacks_journal && loss.recovery_reads > 10 * before.recovery_reads, "{loss:?}");
        assert_eq!(trimmed(&other), loss.durable_lost == 0, "{loss:?}");
        at_once.push(loss.durable_lost);
        settle(&mut drive);
        let (other, loss) = cut(&drive);
        assert!(!loss.lacks_journal && loss.durable_lost == 0 && trimmed(&other), "{loss:?}");
        assert!(loss.recovery_reads < 2 * before.recovery_reads, "{loss:?}");
    }
    at_once.sort_unstable();
    assert_eq!(at_once, [0, 0, 0, 256]);
}

/// Each feature that a journal excludes is refused, with the field and what would be right.
#[test]
fn what_a_journal_cannot_stand_beside_is_refused() {
    let cases: [(&[&str], &str, &str); 6] = [
        (&["ftl.translation=waf"], "ftl.journal", "expected `ftl.translation` to be absent"),
        (&["ftl.map_cache={size=\"1MiB\"}", "ftl.gc_critical_blocks=3"], "ftl.journal", "expected ftl.map_cache.journal"),
        (&["ftl.journal={size=\"4KiB\"}"], "ftl.journal.size", "expected at least 8192B"),
        (&["ftl.journal={size=\"1MiB\",entry_bytes=2}"], "ftl.journal.entry_bytes", "expected 4..=64"),
        (&["ftl.journal={size=\"30MiB\"}"], "ftl.overprovisioning", "for the journal"),
        (
            &["buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=1ms", "buffer.rewritten=appended"],
            "ftl.journal",
            "expected buffer.rewritten = \"replaced\"",
        ),
    ];
    for (sets, key, what) in cases {
        let sets: Vec<String> = [JOURNAL].iter().chain(sets).map(|set| (*set).to_owned()).collect();
        let why = Description::read("test.toml", "base = \"tiny\"", &sets).expect_err(key).to_string();
        assert!(why.contains(key) && why.contains(what), "{sets:?}: {why}");
    }
    let saved = RunRequest::new("test.toml", "base = \"tiny\"").sets(&[JOURNAL]);
    let mut file = Vec::new();
    let files = Files { save: Some(&mut file), ..Files::default() };
    let job = Input::text("workload", "[job]\nrw=write\nbs=4k\nnumber_ios=7\n");
    let Err(why) = drive::session::run(&saved, &job, files, &mut |_| true) else { panic!("it is saved") };
    assert!(why.to_string().contains("--save: the journal of the map (ftl.journal)"), "{why}");
}
