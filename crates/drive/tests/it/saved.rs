//! Exact continuation of a saved drive: from the load on, its history equals that of a drive that was brought to rest
//! at the same point and continued itself.

use drive::Description;
use drive::options::RunOptions;
use drive::presets::{PRESETS, Preset};
use drive::session::{Files, Outcome, RunRequest, Session};
use drive::streams::Outputs;
use kit::Problems;
use kit::history::Digest;
use serde_json::Value;
use testkit::case::{self, Detail, Pause};
use testkit::{Difference, differences};
use workload::Input;

/// Numbers of commands before and after the drive is at rest.
const BEFORE: u64 = 1500;
const BEHIND: u64 = 1500;
const MIXED: &str =
    "[job]\nrw=randrw\nrwmixread=30\nbssplit=4k/70:16k/20:512/10\niodepth=16\nnorandommap=1\nio_size=4g\nnumber_ios=3000\n";
/// Writes with pauses, for the activities of idle times.
const PAUSES: &str = "[job]\nrw=randwrite\nbs=4k\niodepth=4\nnorandommap=1\nio_size=4g\nnumber_ios=3000\nthinktime=3ms\n";

/// Returns options that leave out the first `count` commands.
fn skip(count: u64) -> RunOptions {
    RunOptions { skip_commands: count, ..RunOptions::default() }
}

/// Returns options that stop the host after `count` commands.
fn stop_after(count: u64) -> RunOptions {
    RunOptions { stop_after: Some(count), ..RunOptions::default() }
}

/// Returns options that bring the drive to rest after `count` commands.
fn rest_after(count: u64) -> RunOptions {
    RunOptions { rest_after: Some(count), ..RunOptions::default() }
}

/// Runs a job with the digest of its history. Returns the outcome and, if `save` is set, the saved file.
fn run(
    shared: &Session,
    request: &RunRequest,
    job: &str,
    load: Option<&[u8]>,
    save: bool,
) -> Result<(Outcome, Vec<u8>), Problems> {
    let mut file = Vec::new();
    let files = Files {
        load: load.map(|bytes| ("saved".to_owned(), Box::new(bytes) as Box<dyn std::io::Read>)),
        save: save.then_some(&mut file as &mut dyn std::io::Write),
        ..Files::default()
    };
    let request = request.clone().history();
    let outcome = shared.run(&request, &Input::text("job", job), files, None, &mut |_| true)?;
    assert!(outcome.unwritten.is_empty());
    Ok((outcome, file))
}

/// Returns a summary without the wall time and the starting state.
fn measured(outcome: &Outcome) -> Value {
    let mut summary = outcome.summary.clone();
    for key in ["wall_s", "starting_state"] {
        summary.as_object_mut().expect("an object").shift_remove(key);
    }
    summary
}

/// Returns true if a value is counted from the start of the run instead of the start of the measurement.
fn is_of_the_whole_run(found: &Difference) -> bool {
    ["/policy_stats/", "/reliability/deadline_misses", "/reliability/min_retention_margin_ns"]
        .iter()
        .any(|path| found.path.starts_with(path))
}

/// Compares a drive that rests and continues with one that is saved and loaded. Returns the differences of the results,
/// and the digests of both histories.
fn differs(shared: &Session, request: &RunRequest, job: &str) -> Result<(Vec<Difference>, [Option<Digest>; 2]), Problems> {
    let (rested, _) = run(shared, &request.clone().run(rest_after(BEFORE)), job, None, false)?;
    let (_, file) = run(shared, &request.clone().run(stop_after(BEFORE)), job, None, true)?;
    let behind = request.clone().precondition(None).run(skip(BEFORE));
    let (loaded, _) = run(shared, &behind, job, Some(&file), false)?;
    assert_eq!(loaded.summary["starting_state"]["exact"], true, "{:?}", loaded.notes);
    let different = differences(&measured(&rested), &measured(&loaded));
    Ok((different.into_iter().filter(|found| !is_of_the_whole_run(found)).collect(), [rested.history, loaded.history]))
}

#[track_caller]
fn assert_goes_on_exactly(shared: &Session, name: &str, request: &RunRequest, job: &str) {
    let (different, [rested, loaded]) = differs(shared, request, job).unwrap_or_else(|problems| panic!("{name}: {problems}"));
    assert!(rested.is_some_and(|digest| digest.entries > BEHIND), "{name}: nothing happened");
    assert_eq!(rested, loaded, "{name}: another history: {different:?}");
    assert_eq!(different, [], "{name}");
}

/// Returns a request on a smaller drive of a preset, in a starting state.
pub fn of_preset(preset: &Preset, state: &str, policy: Option<&str>) -> RunRequest {
    // Four or eight dies, so that the set-up is short.
    let sets = ["flash.blocks_per_plane=128", "flash.channels=2", "flash.chips_per_channel=2"];
    let request = RunRequest::new(preset.name, preset.text).sets(&sets).precondition(state).policy(policy);
    let description = Description::read(preset.name, preset.text, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    // At most one buffer for each channel.
    if description.buffer.buffers > 2 { request.set("buffer.buffers=2") } else { request }
}

/// Returns true if the translation layer of a preset is the page map: others have one starting state.
pub fn has_map(preset: &Preset) -> bool {
    let description = Description::read(preset.name, preset.text, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    description.ftl.translation.build(()).lacks().is_none()
}

#[test]
fn every_preset_goes_on_exactly_from_every_starting_state() {
    let shared = Session::default();
    for preset in PRESETS.iter().filter(|preset| has_map(preset)) {
        for state in ["none", "fill", "steady"] {
            // Small blocks, so that they are soon collected and the larger drives are soon filled.
            let request = of_preset(preset, state, None).set("flash.pages_per_block=96").set("ftl.overprovisioning=0.3");
            assert_goes_on_exactly(&shared, &format!("{} from {state}", preset.name), &request, MIXED);
        }
    }
    let tiny = drive::presets::find("tiny").expect("a preset");
    assert_goes_on_exactly(&shared, "tiny from random", &of_preset(tiny, "random", None), MIXED);
}

#[test]
fn every_policy_goes_on_exactly_on_the_drives_that_it_is_for() {
    let shared = Session::default();
    let mut reached = std::collections::BTreeSet::new();
    for name in ["tiny", "tlc-1tb", "agcr-64g", "rr-ecc-106g", "dpes-enterprise"] {
        let preset = drive::presets::find(name).expect("a preset");
        // The larger presets are run under the policies whose modes `tiny` lacks, and under two policies that move data
        // themselves.
        let wanted = |policy: &&str| name == "tiny" || !reached.contains(*policy) || ["ofwar", "slc_cache"].contains(policy);
        for policy in ftl::PolicyConfig::NAMES.iter().copied().filter(wanted).collect::<Vec<_>>() {
            for job in [MIXED, PAUSES] {
                let mut request = of_preset(preset, "steady", Some(policy));
                if policy == "combine" {
                    request = request.set("policy.combine.members=[\"ofwar\", \"wear_adaptive\"]");
                }
                match differs(&shared, &request, job) {
                    // The drive lacks the modes of the policy.
                    Err(problems) => {
                        let refused = problems.to_string();
                        assert!(refused.contains("policy") || refused.contains("policies"), "{name} {policy}: {refused}");
                    }
                    Ok((different, [rested, loaded])) => {
                        assert_eq!(rested, loaded, "{name} {policy}: {different:?}");
                        assert_eq!(different, [], "{name} {policy}");
                        reached.insert(policy);
                    }
                }
            }
        }
    }
    let missed: Vec<_> = ftl::PolicyConfig::NAMES.iter().filter(|name| !reached.contains(*name)).collect();
    assert!(missed.is_empty(), "no drive was run under {missed:?}");
}

/// Compares random drives that rest with those that are saved and loaded, from a seed on, over a number of pauses.
/// Returns the media errors of the loaded drives and the retries since they were loaded.
fn assert_journeys_go_on(detail: Detail, mut seed: u64, most: u32) -> (u64, u64) {
    let (mut pauses, mut media_errors, mut retries) = (0, 0, 0);
    while pauses < most {
        let through =
            |pause| case::run_through(seed, detail, 200, pause).unwrap_or_else(|why| panic!("seed {seed}, {pause:?}: {}", why.0));
        if let Some((rested, loaded)) = through(Pause::Rest).zip(through(Pause::Reload)) {
            assert_eq!((rested.digest, rested.history), (loaded.digest, loaded.history), "seed {seed}");
            if rested.pauses > 0 {
                media_errors += loaded.counts.media_errors;
                retries += loaded.drive.controller().reads().map_or(0, |reads| reads.statistics.retries());
            }
            pauses += rested.pauses;
        }
        seed += 1;
    }
    (media_errors, retries)
}

#[test]
fn random_drives_go_on_exactly_with_whatever_is_under_way() {
    assert_journeys_go_on(Detail::None, 5_000_000, 70);
}

/// Lost data, reads of blocks, kept read levels and the write modes of programs are in the file.
#[test]
fn random_drives_whose_reads_fail_go_on_exactly() {
    let (media_errors, retries) = assert_journeys_go_on(Detail::Errors, 6_000_000, 50);
    assert!(media_errors > 100 && retries > 100, "{media_errors} media errors, {retries} retries");
}

/// The turns of submission queues and the ends of messages for which nobody waits are in the file.
#[test]
fn random_drives_with_a_detailed_controller_go_on_exactly() {
    assert_journeys_go_on(Detail::Controller, 7_000_000, 50);
}

/// A drive at rest has nothing that waits for power, so that the file has nothing of it.
#[test]
fn random_drives_with_power_go_on_exactly() {
    assert_journeys_go_on(Detail::Power, 8_000_000, 35);
}

#[test]
fn drives_with_larger_mapping_units_go_on() {
    assert_journeys_go_on(Detail::Units, 9_000_000, 35);
}

#[test]
fn a_run_that_saves_has_the_summary_of_one_that_does_not() {
    let shared = &Session::default();
    let tlc = drive::presets::find("tlc-1tb").expect("a preset");
    let request = of_preset(tlc, "steady", None);
    let ((plain, _), (saving, file)) = (run(shared, &request, MIXED, None, false), run(shared, &request, MIXED, None, true))
        .map_both(|ran| ran.unwrap_or_else(|problems| panic!("{problems}")));
    assert_eq!(differences(&measured(&plain), &measured(&saving)), []);
    assert!(!file.is_empty());
    // Saving flushes nothing: the content of the buffer is in the file.
    assert_eq!(plain.summary["flash"]["programs"]["padding"], saving.summary["flash"]["programs"]["padding"]);
}

/// Application of a function to both members of a pair.
trait MapBoth<T, U> {
    fn map_both(self, map: impl Fn(T) -> U) -> (U, U);
}

impl<T, U> MapBoth<T, U> for (T, T) {
    fn map_both(self, map: impl Fn(T) -> U) -> (U, U) {
        (map(self.0), map(self.1))
    }
}

#[test]
fn a_saved_drive_behaves_as_it_did() {
    let shared = &Session::default();
    // A loaded drive that lost its frontiers, its phases or its buffer would differ widely in write amplification and
    // tail latency.
    let tlc = drive::presets::find("tlc-1tb").expect("a preset");
    let job = "[job]\nrw=randwrite\nbs=4k\niodepth=32\nnorandommap=1\nio_size=400g\nnumber_ios=60000\n";
    let request = of_preset(tlc, "steady", Some("baseline"));
    let half = 30_000;
    let plain = run(shared, &request.clone().run(rest_after(half)), job, None, false);
    let (plain, _) = plain.unwrap_or_else(|problems| panic!("{problems}"));
    let saving = run(shared, &request.clone().run(stop_after(half)), job, None, true);
    let (_, file) = saving.unwrap_or_else(|problems| panic!("{problems}"));
    let again = request.clone().precondition(None).run(skip(half));
    let (exact, _) = run(shared, &again, job, Some(&file), false).unwrap_or_else(|problems| panic!("{problems}"));
    let other_seed = again.clone().seed(2);
    let (seeded, _) = run(shared, &other_seed, job, Some(&file), false).unwrap_or_else(|problems| panic!("{problems}"));
    let slower = again.clone().set("buffer.flush_after=7ms");
    let (adopted, _) = run(shared, &slower, job, Some(&file), false).unwrap_or_else(|problems| panic!("{problems}"));
    let adopting = again.policy("all_fast");
    let (another, _) = run(shared, &adopting, job, Some(&file), false).unwrap_or_else(|problems| panic!("{problems}"));
    let number = |outcome: &Outcome, path: &str| outcome.summary.pointer(path).and_then(Value::as_f64).expect("a number");
    for (name, outcome) in [("exact", &exact), ("another seed", &seeded), ("another description", &adopted)] {
        for (path, most) in [("/write_amplification", 1.15), ("/latency/write/p99_9_ns", 1.5)] {
            let ratio = number(outcome, path) / number(&plain, path);
            assert!((1.0 / most..most).contains(&ratio), "{name}: {path} is {ratio} times that of the drive that was not saved");
        }
    }
    assert_eq!(exact.summary["starting_state"]["exact"], true);
    assert!(exact.notes.iter().all(|note| !note.contains("exactly")), "{:?}", exact.notes);
    let adoptions = [(&adopted, "description differs"), (&another, "saved under the policy `baseline`")];
    for (outcome, said) in adoptions.into_iter().chain([(&seeded, "other random numbers")]) {
        assert_eq!(outcome.summary["starting_state"]["exact"], false);
        assert!(outcome.notes.iter().any(|note| note.contains(said)), "{:?}", outcome.notes);
    }
}

#[test]
fn what_is_skipped_counts_towards_the_jobs_limit_and_the_rest_keeps_its_gaps() {
    let request = RunRequest::new("tiny", "base = \"tiny\"");
    let play =
        |request: &RunRequest, job: &str| run(&Session::default(), request, job, None, false).map(|(outcome, _)| outcome.summary);
    let count = |summary: &Value| summary["latency"]["all"]["count"].as_u64().expect("a count");
    let whole = play(&request, MIXED).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(count(&whole), 3000);
    let rest = play(&request.clone().run(skip(1000)), MIXED).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(count(&rest), 2000);
    let part = request.clone().run(RunOptions { stop_after: Some(50), ..skip(1000) });
    assert_eq!(count(&play(&part, MIXED).unwrap_or_else(|problems| panic!("{problems}"))), 50);
    let bytes = "[job]\nrw=write\nbs=4k\nsize=1m\nio_size=1m\n";
    let rest = play(&request.clone().run(skip(200)), bytes).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(count(&rest), 56, "of 256");
    let rested = request.clone().run(RunOptions { rest_after: Some(200), ..skip(56) });
    for all in [request.clone().run(skip(256)), rested] {
        let error = play(&all, bytes).expect_err("there are no more").to_string();
        assert!(error.starts_with("workload: no job has more than the 256 commands that --skip-commands and"), "{error}");
    }
    // A trace with one request per second: the first request that is not skipped arrives a second after the start.
    let trace: String =
        (0..10).map(|second| format!("{},hm,0,Read,{},4096,0\n", second * 10_000_000u64, second * 4096)).collect();
    let mut commands = Vec::new();
    let mut take =
        |rows: &[drive::CommandRow], _: &[String]| commands.extend(rows.iter().map(|row| (row.submitted.0, row.offset)));
    let files = Files { outputs: Outputs { commands: Some(&mut take), ..Outputs::default() }, ..Files::default() };
    let behind = request.run(skip(7));
    Session::default()
        .run(&behind, &Input::text("trace", trace), files, None, &mut |_| true)
        .map_err(Problems::from)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let second = 1_000_000_000;
    assert_eq!(commands, [(second, 7 * 4096), (2 * second, 8 * 4096), (3 * second, 9 * 4096)]);
}
