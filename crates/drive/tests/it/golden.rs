//! Small runs whose whole results are compared with hashes that change only on purpose. The runs and the form of the hash are described in
//! `tests/golden/runs.toml` at the root of the repository; `SSDLAB_BLESS=1` rewrites `tests/golden/hashes.txt`.

use crate::common::session;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write as _;

const RUNS: &str = include_str!("../../../../tests/golden/runs.toml");
const HASHES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/golden/hashes.txt");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Runs {
    run: Vec<Run>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    name: String,
    set: Vec<String>,
    workload: String,
}

/// FNV-1a over the summary without the wall time and the names that the caller chose. The order of the other keys stays.
fn hash(summary: &Value) -> u64 {
    let mut rest = summary.as_object().expect("a summary is an object").clone();
    for key in ["wall_s", "drive", "workload"] {
        rest.shift_remove(key).expect("every summary has it");
    }
    let text = Value::Object(rest).to_string();
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

fn run(run: &Run) -> Value {
    let sets: Vec<&str> = run.set.iter().map(String::as_str).collect();
    let outcome = session("base = \"tiny\"", &sets, None, &run.workload);
    outcome.unwrap_or_else(|problems| panic!("{}: {problems}", run.name)).summary
}

#[test]
fn results_are_those_that_were_blessed() {
    let runs: Runs = toml::from_str(RUNS).expect("the list of runs is TOML");
    let mut now = String::new();
    for case in &runs.run {
        let summary = run(case);
        assert_eq!(summary["status"], "complete", "{}", case.name);
        writeln!(now, "{} {:016x}", case.name, hash(&summary)).expect("a string takes what is written");
    }
    if std::env::var_os("SSDLAB_BLESS").is_some() {
        std::fs::write(HASHES, &now).expect("the hashes can be written");
        return;
    }
    let blessed = std::fs::read_to_string(HASHES).expect("the hashes are there: SSDLAB_BLESS=1 writes them");
    let table = |text: &str| -> BTreeMap<String, String> {
        text.lines().filter_map(|line| line.split_once(' ')).map(|(name, hash)| (name.to_owned(), hash.to_owned())).collect()
    };
    let (now, blessed) = (table(&now), table(&blessed));
    let changed: Vec<&String> = now.keys().chain(blessed.keys()).filter(|name| now.get(*name) != blessed.get(*name)).collect();
    assert!(
        changed.is_empty(),
        "results changed: {changed:?}. On purpose? SSDLAB_BLESS=1 cargo test -p drive golden, and a changelog line"
    );
}

#[test]
fn the_runs_reach_what_they_are_there_for() {
    let runs: Runs = toml::from_str(RUNS).expect("the list of runs is TOML");
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
        let summary = run(case);
        for path in paths {
            let value = summary.pointer(path).and_then(Value::as_f64).unwrap_or_default();
            assert!(value > 0.0, "{name}: {path} is {:?}", summary.pointer(path));
        }
    }
}

#[test]
fn a_run_is_the_same_twice_and_its_hash_sees_a_change() {
    let runs: Runs = toml::from_str(RUNS).expect("the list of runs is TOML");
    let case = runs.run.iter().find(|run| run.name.starts_with("ofwar")).expect("an OFWAR run");
    assert_eq!(hash(&run(case)), hash(&run(case)));
    let other = Run {
        set: [case.set.clone(), vec!["title=the same drive by another name".to_owned()]].concat(),
        name: String::new(),
        workload: case.workload.clone(),
    };
    assert_eq!(hash(&run(case)), hash(&run(&other)), "a title changes nothing");
    let other = Run { workload: case.workload.replace("0.9", "0.8"), ..other };
    assert_ne!(hash(&run(case)), hash(&run(&other)), "the hash sees a change");
}
