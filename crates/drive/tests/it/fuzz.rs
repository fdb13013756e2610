//! Simulation fuzz: random drives under random commands, checked by the oracle. A failure prints its seed;
//! `SSDLAB_SEED=<seed> cargo test -p drive one_seed -- --ignored` runs that case alone, with `SSDLAB_ERRORS=1` on a
//! drive whose reads can fail, with `SSDLAB_CONTROLLER=1` on one with a detailed controller, with `SSDLAB_POWER=1` on
//! one with currents, and with `SSDLAB_LAYERS=1`, `2` (errors) or `3` (a controller) on one with another translation
//! layer.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use testkit::case::{self, Beside, Detail};
use testkit::describe::Layer;

/// Number of cases of each kind; `SSDLAB_CASES` takes its place. Refused descriptions do not count.
const CASES: u64 = 2_000;
/// Approximate number of commands of a short case.
const COMMANDS: u32 = 200;

/// Returns a number from the environment, if it is set.
fn given(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

/// Watchdog that aborts the test and names the seed if a case, which takes some milliseconds, runs for five minutes, as
/// an endless loop within one instant would. On a busy machine a case has taken more than half a minute.
struct Watchdog(Arc<AtomicU64>);

impl Watchdog {
    fn start() -> Watchdog {
        let seed = Arc::new(AtomicU64::new(u64::MAX));
        let watched = Arc::clone(&seed);
        std::thread::spawn(move || {
            let mut last = (u64::MAX, 0);
            while Arc::strong_count(&watched) > 1 {
                std::thread::sleep(Duration::from_secs(5));
                let now = watched.load(Ordering::Relaxed);
                last = if now == last.0 { (now, last.1 + 1) } else { (now, 0) };
                if last.1 >= 60 && now != u64::MAX {
                    eprintln!("seed {now}: the drive does not come to an end");
                    std::process::abort();
                }
            }
        });
        Watchdog(seed)
    }
}

/// Runs the case of a seed. A panic of the engine is returned as an error, like a violation.
fn failure(detail: Detail, seed: u64, commands: u32) -> Result<Option<case::Passed>, String> {
    match catch_unwind(AssertUnwindSafe(|| case::run(seed, detail, commands, None))) {
        Ok(outcome) => outcome.map_err(|violation| violation.0),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().cloned();
            Err(text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default())
        }
    }
}

/// Runs the cases of the seeds from `first` on, shared among the processor's threads, until `cases` of them were
/// accepted (or one more for each further thread). Returns all failures in the order of their seeds, and the totals of
/// the cases that passed.
fn run_all(detail: Detail, first: u64, cases: u64, commands: u32) -> (Vec<(u64, String)>, Seen) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let (next, accepted) = (AtomicU64::new(first), AtomicU64::new(0));
    let seeds = || {
        let take = || (accepted.load(Ordering::Relaxed) < cases).then(|| next.fetch_add(1, Ordering::Relaxed));
        std::iter::from_fn(take).take_while(|&seed| seed < first + 2 * cases)
    };
    let worker = || {
        let watchdog = Watchdog::start();
        let (mut failures, mut seen) = (Vec::new(), Seen::default());
        for seed in seeds() {
            watchdog.0.store(seed, Ordering::Relaxed);
            let outcome = failure(detail, seed, commands);
            accepted.fetch_add(u64::from(!matches!(outcome, Ok(None))), Ordering::Relaxed);
            match outcome {
                Ok(Some(passed)) => {
                    seen.add(&passed);
                    if let Detail::Layer(beside) = detail {
                        seen.add_layer(case::layer_of(seed, beside), &passed.counts);
                    }
                }
                Ok(None) => seen.refused += 1,
                Err(why) => {
                    eprintln!("seed {seed}: {why}");
                    failures.push((seed, why));
                }
            }
        }
        (failures, seen)
    };
    let parts: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().map(|worker| worker.join().expect("a worker catches the panics of its cases")).collect()
    });
    let (mut failures, mut seen) = (Vec::new(), Seen::default());
    for (more, part) in parts {
        failures.extend(more);
        seen.merge(&part);
    }
    failures.sort_unstable();
    (failures, seen)
}

/// Totals of the mechanisms that the cases have exercised.
#[derive(Debug, Default)]
struct Seen {
    refused: u64,
    passed: u64,
    relocated: [u64; kit::reason::REASON_COUNT],
    totals: [u64; 11],
    /// Totals of cases whose reads can fail.
    errors: [u64; 6],
    /// Cases in which array phases waited under a cap, and the waits; cases in which commands waited for power, and in
    /// which operations were suspended for that of reads.
    capped: [u64; 4],
    /// Cases in which a command waited for each of [`WAITS`].
    waits: [u64; WAITS.len()],
    /// Cases of each translation layer, units programmed and read, erases, units moved, commands refused, and media
    /// errors.
    layers: BTreeMap<Layer, [u64; 7]>,
}

/// Causes of waits in a detailed controller.
const WAITS: [kit::Cause; 3] = [kit::Cause::QueueBlocked, kit::Cause::PageBuffer, kit::Cause::Sequencer];

const ERRORS: [&str; 6] =
    ["uncorrectable units", "media errors", "retries", "soft attempts", "units of moves lost", "units of host reads lost"];

const TOTALS: [&str; 11] = [
    "absorbed",
    "dropped",
    "padding",
    "erased",
    "trimmed",
    "controller_reads",
    "buffer_reads",
    "unmapped_reads",
    "suspensions",
    "retired blocks",
    "worn-out drives",
];

impl Seen {
    fn merge(&mut self, other: &Seen) {
        (self.refused, self.passed) = (self.refused + other.refused, self.passed + other.passed);
        self.relocated.iter_mut().zip(other.relocated).for_each(|(sum, count)| *sum += count);
        self.totals.iter_mut().zip(other.totals).for_each(|(sum, count)| *sum += count);
        self.errors.iter_mut().zip(other.errors).for_each(|(sum, count)| *sum += count);
        self.capped.iter_mut().zip(other.capped).for_each(|(sum, count)| *sum += count);
        self.waits.iter_mut().zip(other.waits).for_each(|(sum, count)| *sum += count);
        for (layer, counts) in &other.layers {
            self.layers.entry(*layer).or_default().iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
    }

    fn add_layer(&mut self, layer: Layer, c: &testkit::Counts) {
        let moved = c.relocated.iter().sum();
        let new = [1, c.programmed, c.flash_reads, c.erased, moved, c.refused, c.media_errors];
        self.layers.entry(layer).or_default().iter_mut().zip(new).for_each(|(sum, count)| *sum += count);
    }

    fn add(&mut self, passed: &case::Passed) {
        self.passed += 1;
        let (c, medium) = (&passed.counts, passed.drive.medium());
        self.relocated.iter_mut().zip(&c.relocated).for_each(|(sum, count)| *sum += count);
        let new = [
            c.absorbed,
            c.dropped,
            c.padding,
            c.erased,
            c.trimmed,
            c.controller_reads,
            c.buffer_reads,
            c.unmapped_reads,
            passed.drive.flash().counters.suspensions,
            (0..medium.geometry.die_count).map(|die| u64::from(medium.retired_blocks(kit::DieId(die)))).sum(),
            u64::from(passed.drive.translator().map().is_some_and(|map| map.worn_out_die().is_some())),
        ];
        self.totals.iter_mut().zip(new).for_each(|(sum, count)| *sum += count);
        let (all, _) = passed.drive.statistics.totals.all();
        self.waits.iter_mut().zip(WAITS).for_each(|(sum, cause)| *sum += u64::from(all.cause_ns(cause as usize) > 0));
        let cap = passed.drive.flash().power(passed.drive.now()).and_then(|report| report.cap);
        let waits = cap.map_or(0, |cap| cap.waits);
        let suspends = cap.and_then(|cap| cap.suspensions).is_some_and(|all| all.count > 0);
        let waited = all.cause_ns(kit::Cause::PowerWait as usize) > 0;
        let new = [u64::from(waits > 0), waits, u64::from(waited), u64::from(suspends)];
        self.capped.iter_mut().zip(new).for_each(|(sum, count)| *sum += count);
        let Some(reads) = passed.drive.controller().reads() else { return };
        let reads = &reads.statistics;
        let new = [c.uncorrectable, c.media_errors, reads.retries(), reads.soft, reads.lost_units, reads.uncorrectable_units];
        self.errors.iter_mut().zip(new).for_each(|(sum, count)| *sum += count);
    }
}

/// Runs the cases of the seeds from `first` on, which must all pass.
fn all_pass(detail: Detail, first: u64, cases: u64) -> Seen {
    let (failures, seen) = run_all(detail, first, cases, COMMANDS);
    assert!(
        failures.is_empty(),
        "{} of {cases} cases fail, the first: seed {}: {}",
        failures.len(),
        failures[0].0,
        failures[0].1
    );
    println!("{seen:?}");
    assert!(cases < CASES || seen.passed >= cases, "{} descriptions are refused for {} accepted", seen.refused, seen.passed);
    seen
}

/// Drives whose reads can fail: pins, suspensions, relocations, partial writes, saves and power failures while reads
/// are repeated, and data that is lost.
#[test]
fn random_cases_with_errors() {
    let first = given("SSDLAB_FIRST").unwrap_or(0);
    let cases = given("SSDLAB_CASES").unwrap_or(CASES);
    let seen = all_pass(Detail::Errors, first, cases);
    if cases >= CASES {
        assert!(seen.relocated[kit::Reason::Scrub as usize] > cases / 10, "{:?} units are scrubbed", seen.relocated);
        for (name, total) in ERRORS.iter().zip(seen.errors) {
            assert!(total > cases / 10, "{name}: only {total} in {} cases", seen.passed);
        }
    }
}

/// Drives with a detailed controller, most of them with reads that can fail: queues, links and waits of all kinds.
#[test]
fn random_cases_with_a_controller() {
    let first = given("SSDLAB_FIRST").unwrap_or(0);
    let cases = given("SSDLAB_CASES").unwrap_or(CASES);
    let seen = all_pass(Detail::Controller, first, cases);
    if cases >= CASES {
        for (cause, waited) in WAITS.iter().zip(seen.waits) {
            assert!(waited > cases / 20, "only {waited} of {} cases wait for {}", seen.passed, cause.name());
        }
    }
}

/// Drives with all other translation layers: zones, physical addresses, writes in place, the write amplification
/// factor, and the page map with a record of its firmware and the replay of it.
fn all_layers(beside: Beside) {
    let first = given("SSDLAB_FIRST").unwrap_or(0);
    let cases = given("SSDLAB_CASES").unwrap_or(CASES);
    let seen = all_pass(Detail::Layer(beside), first, cases);
    if cases < CASES {
        return;
    }
    // The test is meaningful only if the cases reach every layer, and what is its own.
    for layer in Layer::ALL {
        let Some(of_layer) = seen.layers.get(&layer) else {
            let is_recorded = matches!(layer, Layer::Recorded | Layer::Replay);
            assert!(is_recorded && beside == Beside::Errors, "no case has {layer:?}");
            continue;
        };
        let all = cases;
        let [cases, programmed, read, erased, moved, refused, media_errors] = *of_layer;
        assert!(cases > all / 25 && programmed > 60 * cases && read > 15 * cases, "{layer:?}: {of_layer:?}");
        assert!(erased > cases || layer == Layer::InPlace, "{layer:?}: {erased} erases");
        assert!(moved > 10 * cases || layer != Layer::InPlace, "{layer:?}: {moved} moves");
        assert!(refused > 5 * cases || !matches!(layer, Layer::Zones | Layer::Chunks), "{layer:?}: {refused} are refused");
        assert!(media_errors > cases || beside != Beside::Errors, "{layer:?}: {media_errors} media errors");
    }
}

#[test]
fn random_cases_over_all_layers() {
    all_layers(Beside::Nothing);
}

#[test]
fn random_cases_over_all_layers_with_errors() {
    all_layers(Beside::Errors);
}

#[test]
fn random_cases_over_all_layers_with_a_controller() {
    all_layers(Beside::Controller);
}

/// Drives whose mapping units are larger than 4 KiB: many commands begin or end within a unit.
#[test]
fn random_cases_with_larger_mapping_units() {
    let first = given("SSDLAB_FIRST").unwrap_or(0);
    let cases = given("SSDLAB_CASES").unwrap_or(CASES / 2);
    let (failures, seen) = run_all(Detail::Units, first, cases, COMMANDS);
    assert!(failures.is_empty(), "{} of {cases} cases fail, the first: {:?}", failures.len(), failures[0]);
    assert!(seen.passed >= cases, "{} descriptions are refused for {} accepted", seen.refused, seen.passed);
}

/// Drives with a frontier in each group of planes, whose collections wait for a write, or begin early as elsewhere.
#[test]
fn random_cases_with_frontiers_in_planes() {
    let first = given("SSDLAB_FIRST").unwrap_or(0);
    let cases = given("SSDLAB_CASES").unwrap_or(CASES / 4);
    let seen = all_pass(Detail::Planes, first, cases);
    assert!(seen.relocated[kit::Reason::Gc as usize] > cases, "{seen:?}");
}

/// Drives with currents: the oracle sees that no cap is exceeded at any instant, that all that waits for power has it
/// in the end, and that windows hold nothing back for good.
#[test]
fn random_cases_with_power() {
    let first = given("SSDLAB_FIRST").unwrap_or(0);
    let cases = given("SSDLAB_CASES").unwrap_or(CASES / 2);
    let seen = all_pass(Detail::Power, first, cases);
    let [capped, waits, waited, suspended] = seen.capped;
    assert!(capped * 5 > seen.passed && waits > 20 * seen.passed && waited * 4 > seen.passed, "{seen:?}");
    assert!(suspended * 200 > seen.passed, "{seen:?}");
}

#[test]
fn random_cases() {
    let first = given("SSDLAB_FIRST").unwrap_or(0);
    let cases = given("SSDLAB_CASES").unwrap_or(CASES);
    let seen = all_pass(Detail::None, first, cases);
    if cases < CASES {
        return;
    }
    // The test is meaningful only if the cases reach every mechanism.
    for (name, total) in TOTALS.iter().zip(seen.totals) {
        assert!(total > cases / 10, "{name}: only {total} in {} cases", seen.passed);
    }
    for reason in [kit::Reason::Gc, kit::Reason::Wear, kit::Reason::Rewrite, kit::Reason::Reprogram] {
        assert!(
            seen.relocated[reason as usize] > cases / 10,
            "only {} units moved for {}",
            seen.relocated[reason as usize],
            reason.name()
        );
    }
}

#[test]
fn long_cases_under_pressure() {
    let accepted = (1_000_000..).filter(|seed| case::description(*seed).is_some()).take(12);
    for seed in accepted {
        if let Err(why) = failure(Detail::None, seed, 100_000) {
            panic!("seed {seed} with 100000 commands: {why}");
        }
    }
}

#[test]
#[ignore = "runs the case of SSDLAB_SEED alone, for the search after its failure"]
fn one_seed() {
    let seed = given("SSDLAB_SEED").expect("SSDLAB_SEED=<seed> says which case");
    let commands = given("SSDLAB_COMMANDS").map_or(COMMANDS, |count| count as u32);
    let is_given = |name: &str| given(name).is_some_and(|given| given > 0);
    let detail = match (is_given("SSDLAB_POWER"), is_given("SSDLAB_CONTROLLER"), is_given("SSDLAB_ERRORS")) {
        (true, ..) => Detail::Power,
        (false, true, _) => Detail::Controller,
        (false, false, true) => Detail::Errors,
        (false, false, false) => Detail::None,
    };
    let detail = match given("SSDLAB_LAYERS") {
        Some(1) => Detail::Layer(Beside::Nothing),
        Some(2) => Detail::Layer(Beside::Errors),
        Some(3) => Detail::Layer(Beside::Controller),
        _ => detail,
    };
    println!("{}\n{}", case::text_with(seed, detail), case::overrides(seed, detail).join("\n"));
    let mut told = Vec::new();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut note = |record, to: &mut Vec<kit::Record>| {
            told.push(record);
            to.push(record);
        };
        case::run(seed, detail, commands, Some(&mut note))
    }));
    let shown = given("SSDLAB_RECORDS").map_or(0, |count| count as usize);
    told[told.len().saturating_sub(shown)..].iter().for_each(|record| println!("{record:?}"));
    match outcome {
        Ok(Ok(passed)) => println!("{:?}", passed.map(|passed| passed.counts)),
        Ok(Err(violation)) => panic!("seed {seed}: {}", violation.0),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
