//! Fixed scenarios, each in its own run: `bench` runs all of them and prints one JSON line each; `bench NAME` runs one.
//!
//! Every line has commands per second of the event loop (all statistics and the cause accounting on), flash operations per second, set-up time, peak memory of the
//! process so far and a hash of the summary, which must be the same on every machine.

use drive::session::{DriveText, Files, Keep, RunRequest, run};
use serde_json::{Value, json};
use workload::{Input, Options};

/// A scenario: name, preset, overrides, fio job.
struct Scenario {
    name: &'static str,
    preset: &'static str,
    set: &'static [&'static str],
    job: &'static str,
}

const FOUR_TERABYTES: &[&str] = &["flash.blocks_per_plane=83887", "title=ideal, 4 TiB"];

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "tiny-read",
        preset: "tiny",
        set: &["state.precondition=steady"],
        job: "rw=randread\nnorandommap=1\niodepth=8\nio_size=8g",
    },
    Scenario {
        name: "tiny-write",
        preset: "tiny",
        set: &["state.precondition=steady"],
        job: "rw=randwrite\nnorandommap=1\niodepth=8\nio_size=10g",
    },
    Scenario {
        name: "read-qd32",
        preset: "ideal-512g",
        set: &[],
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=16000000",
    },
    Scenario {
        name: "write-qd32",
        preset: "ideal-512g",
        set: &[],
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=8000000",
    },
    Scenario {
        name: "mixed-70-30-qd32",
        preset: "ideal-512g",
        set: &[],
        job: "rw=randrw\nrwmixread=70\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=8000000",
    },
    Scenario {
        name: "read-qd1000",
        preset: "ideal-512g",
        set: &[],
        job: "rw=randread\nnorandommap=1\niodepth=1000\nio_size=64g\nnumber_ios=8000000",
    },
    Scenario {
        name: "read-qd32-4t",
        preset: "ideal-512g",
        set: FOUR_TERABYTES,
        job: "rw=randread\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=8000000",
    },
    Scenario {
        name: "write-qd32-4t",
        preset: "ideal-512g",
        set: FOUR_TERABYTES,
        job: "rw=randwrite\nnorandommap=1\niodepth=32\nio_size=64g\nnumber_ios=4000000",
    },
];

fn measure(scenario: &Scenario) -> Result<Value, kit::Problems> {
    let preset = drive::presets::find(scenario.preset).expect("a preset of the list");
    let request = RunRequest {
        drive: DriveText { name: scenario.preset.to_owned(), text: preset.text.to_owned() },
        set: scenario.set.iter().map(|set| (*set).to_owned()).collect(),
        policy: None,
        seed: 1,
        precondition: None,
        workload: Options::default(),
        record: Keep::default(),
        steady_state: false,
        steady_round: None,
    };
    let input = Input::text(scenario.name, format!("[{}]\nbs=4k\n{}\n", scenario.name, scenario.job));
    let outcome = run(&request, &input, Files::default(), &mut |_| true)?;
    let summary = &outcome.summary;
    let wall_s = summary["wall_s"].as_f64().unwrap_or(f64::NAN);
    let commands = summary["latency"]["all"]["count"].as_u64().unwrap_or(0);
    let operations: u64 =
        ["read", "program", "erase", "copyback"].iter().filter_map(|kind| summary["flash"]["operations"][kind].as_u64()).sum();
    Ok(json!({
        "scenario": scenario.name,
        "commands_per_s": (commands as f64 / wall_s).round(),
        "flash_operations_per_s": (operations as f64 / wall_s).round(),
        "wall_s": wall_s,
        "setup_s": outcome.setup_s,
        "commands": commands,
        "write_amplification": summary["write_amplification"],
        "p99_99_ns": summary["latency"]["all"]["p99_99_ns"],
        "peak_memory_mib": peak_memory_kib() / 1024,
        "hash": format!("{:016x}", hash(summary)),
    }))
}

/// FNV-1a over the summary without `wall_s`.
fn hash(summary: &Value) -> u64 {
    let mut rest = summary.clone();
    rest.as_object_mut().expect("a summary is an object").remove("wall_s");
    rest.to_string().bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The most memory this process has had, where the system says so.
fn peak_memory_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()).and_then(|kib| kib.parse().ok()).unwrap_or(0)
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    for scenario in SCENARIOS.iter().filter(|scenario| wanted.is_empty() || wanted.iter().any(|name| name == scenario.name)) {
        match measure(scenario) {
            Ok(line) => println!("{line}"),
            Err(problems) => {
                eprintln!("{}: {problems}", scenario.name);
                std::process::exit(1);
            }
        }
    }
}
