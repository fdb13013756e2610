//! Golden runs: small runs whose complete results are kept in `tests/golden` and change only on purpose. The runs and
//! the format of the files are described in `tests/golden/runs.toml` at the root of the repository; `SSDLAB_BLESS=1`
//! rewrites the files.

use crate::common::session_with_history;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::PathBuf;
use testkit::{Difference, differences};

const RUNS: &str = include_str!("../../../../tests/golden/runs.toml");
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden");
/// Keys in which equal runs may differ: the wall time, and names chosen by the caller.
const LEFT_OUT: [&str; 3] = ["wall_s", "drive", "workload"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Runs {
    /// Keys of results that golden files may lack, as JSON pointers.
    new_keys: Vec<String>,
    run: Vec<Run>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    name: String,
    set: Vec<String>,
    workload: String,
}

impl Run {
    fn file(&self) -> PathBuf {
        PathBuf::from(FOLDER).join(format!("{}.json", self.name))
    }
}

fn runs() -> Runs {
    toml::from_str(RUNS).expect("the list of runs is TOML")
}

/// Returns the golden document of a run: its summary, and the digest of its history.
fn run(run: &Run) -> Value {
    let sets: Vec<&str> = run.set.iter().map(String::as_str).collect();
    let outcome = session_with_history("base = \"tiny\"", &sets, &run.workload);
    let outcome = outcome.unwrap_or_else(|problems| panic!("{}: {problems}", run.name));
    let mut summary = outcome.summary;
    for key in LEFT_OUT {
        summary.as_object_mut().expect("a summary is an object").shift_remove(key).expect("every summary has it");
    }
    let history = outcome.history.expect("it was asked for");
    json!({"history": {"entries": history.entries, "hash": format!("{:016x}", history.hash)}, "summary": summary})
}

/// Returns the changes of a run's results, except for new keys listed in `new_keys`.
fn changes(name: &str, old: &Value, new: &Value, new_keys: &[String]) -> Vec<String> {
    let is_named = |found: &Difference| found.old.is_none() && new_keys.contains(&found.path);
    differences(old, new).iter().filter(|found| !is_named(found)).map(|found| format!("{name}: {found}")).collect()
}

#[test]
fn results_are_those_that_were_blessed() {
    let Runs { run: runs, new_keys } = runs();
    let bless = std::env::var_os("SSDLAB_BLESS").is_some();
    let mut changed = Vec::new();
    for case in &runs {
        let now = run(case);
        assert_eq!(now["summary"]["status"], "complete", "{}", case.name);
        if bless {
            std::fs::write(case.file(), format!("{now:#}\n")).expect("the golden file can be written");
            continue;
        }
        let text = std::fs::read_to_string(case.file())
            .unwrap_or_else(|error| panic!("{}: {error}: SSDLAB_BLESS=1 writes it", case.name));
        let blessed = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", case.name));
        changed.extend(changes(&case.name, &blessed, &now, &new_keys));
    }
    assert!(
        changed.is_empty(),
        "results changed. On purpose? SSDLAB_BLESS=1 cargo test -p drive golden, and a changelog line\n{}",
        changed.join("\n")
    );
}

#[test]
fn every_golden_file_is_that_of_a_run() {
    let known: Vec<PathBuf> = runs().run.iter().map(Run::file).collect();
    let files = std::fs::read_dir(FOLDER).expect("the folder is there").map(|entry| entry.expect("a readable entry").path());
    let left: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|kind| kind == "json") && !known.contains(path)).collect();
    assert!(left.is_empty(), "no run of runs.toml has these: {left:?}");
}

#[test]
fn a_new_key_is_a_change_unless_it_is_named() {
    let (old, new) = (json!({"a": {"b": 1}}), json!({"a": {"b": 1, "c": 2}}));
    assert_eq!(changes("run", &old, &new, &[]), ["run: /a/c: new, 2"]);
    assert!(changes("run", &old, &new, &["/a/c".to_owned()]).is_empty());
    let moved = json!({"a": {"b": 3, "c": 2}});
    assert_eq!(changes("run", &old, &moved, &["/a/c".to_owned()]), ["run: /a/b: 1 -> 3 (ratio 3.000000)"]);
}

#[test]
fn the_runs_reach_what_they_are_there_for() {
    let runs = runs();
    for (name, paths) in [
        (
            "ofwar_bursts",
            &["/flash/programs/rewrite", "/policy_stats/fast_writes_by_hit", "/policy_stats/evictions", "/shutdown_ns"][..],
        ),
        ("separate_bursts", &["/policy_stats/hot_writes", "/policy_stats/cold_writes"]),
        ("retention_deadlines", &["/flash/programs/reprogram", "/causes/all/die_relocation"]),
        (
            "tlc_one_shot_multi_plane_suspension",
            &["/flash/suspensions", "/flash/programs/gc", "/causes/all/link", "/causes/all/host_queue"],
        ),
        ("mlc_copyback_half_duplex", &["/flash/operations/copyback", "/causes/write/host_queue"]),
        (
            "write_back_buffer_small_writes",
            &["/buffer/absorbed_units", "/buffer/read_hits", "/flash/reads/rmw", "/causes/write/buffer_full"],
        ),
        ("random_victims_and_trims", &["/commands/trim", "/unmapped_reads", "/flash/programs/gc"]),
        ("mixed_cost_benefit_out_of_order", &["/flash/programs/gc", "/causes/read/die_erase"]),
    ] {
        let case = runs.run.iter().find(|run| run.name == name).expect("a run of the list");
        let summary = &run(case)["summary"];
        for path in paths {
            let value = summary.pointer(path).and_then(Value::as_f64).unwrap_or_default();
            assert!(value > 0.0, "{name}: {path} is {:?}", summary.pointer(path));
        }
    }
}

#[test]
fn a_run_is_the_same_twice_and_a_change_is_seen() {
    let runs = runs();
    let case = runs.run.iter().find(|run| run.name.starts_with("ofwar")).expect("an OFWAR run");
    let known = run(case);
    assert_eq!(differences(&known, &run(case)), []);
    let other = Run {
        set: [case.set.clone(), vec!["title=the same drive by another name".to_owned()]].concat(),
        name: String::new(),
        workload: case.workload.clone(),
    };
    assert_eq!(differences(&known, &run(&other)), [], "a title changes nothing");
    let other = run(&Run { workload: case.workload.replace("0.9", "0.8"), ..other });
    assert_ne!(known["history"]["hash"], other["history"]["hash"], "the history sees a change");
    assert_ne!(differences(&known["summary"], &other["summary"]), [], "and so does the summary");
}
