//! Random valid runs, checked for what holds in every result: causes add up to the mean, parts to the whole,
//! percentiles are in order, shares are between 0 and 1, and no number is missing where commands were counted.

use drive::session::{Files, RunRequest};
use kit::Rng;
use serde_json::Value;
use testkit::case::{self, Detail};
use workload::Input;

/// Seeds that are tried of each kind of drive.
const SEEDS: u64 = 60;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}: no number"))
}

/// Asserts that two numbers agree but for rounding.
fn agree(one: f64, other: f64, what: &str) {
    assert!((one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1e-6), "{what}: {one} and {other}");
}

fn items(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// Counts, moments and percentiles of each operation, and their causes.
fn check_latency(part: &Value) {
    let latency = &part["latency"];
    let count = |op: &str| number(&latency[op]["count"]);
    let commands: f64 = items(&part["commands"]).map(|(_, count)| number(count)).sum();
    agree(count("all"), commands, "the commands of all operations");
    let (mut sum, mut of_all) = (0.0, 0.0);
    for (op, numbers) in items(latency) {
        if count(op) == 0.0 {
            assert!(numbers["mean_ns"].is_null() && numbers["max_ns"].is_null(), "{op}: no command has no latency");
            continue;
        }
        let mean = number(&numbers["mean_ns"]);
        if op == "all" {
            of_all = mean * count(op);
        } else {
            sum += mean * count(op);
            agree(count(op), number(&part["commands"][op]), op);
        }
        let order = ["min_ns", "p50_ns", "p90_ns", "p99_ns", "p99_9_ns", "p99_99_ns", "max_ns"];
        let known: Vec<f64> = order.iter().filter_map(|name| numbers[name].as_f64()).collect();
        assert!(known.is_sorted(), "{op}: percentiles in order: {known:?}");
        assert!(known[0] <= mean && mean <= known[known.len() - 1], "{op}: the mean lies between the ends");
        if let Some(causes) = part["causes"][op].as_object() {
            agree(causes.values().map(number).sum(), mean, &format!("{op}: the causes and the mean"));
            assert!(causes.values().all(|time| number(time) >= 0.0), "{op}: no cause is negative");
        }
    }
    agree(sum, of_all, "the latencies of all operations");
}

fn check_utilisation(summary: &Value) {
    for (name, share) in items(&summary["utilisation"]) {
        if let Some(share) = share.as_f64() {
            assert!((0.0..=1.0 + 1e-9).contains(&share), "utilisation of {name}: {share}");
        }
    }
}

fn check_energy(energy: &Value) {
    let Some(parts) = energy["parts"].as_array() else { return };
    let part = |name: &Value| number(&energy[format!("{}_j", name.as_str().unwrap_or_default())]);
    agree(parts.iter().map(part).sum(), number(&energy["total_j"]), "the energy of all parts");
    let by_component = items(&energy["by_component"]).map(|(_, energy)| number(energy)).sum();
    agree(by_component, number(&energy["total_j"]), "the energy by component");
    let die_count = |name: &str| energy[name].as_array().map(|all| all.iter().map(number).sum::<f64>());
    if let (Some(dies), Some(channels)) = (die_count("by_die"), die_count("by_channel")) {
        agree(dies, channels, "the energy of the dies and of the channels");
    }
    assert!(number(&energy["total_j"]) >= 0.0);
}

/// Calls `visit` with every number below a value.
fn each_number(value: &Value, path: &str, visit: &mut dyn FnMut(&str, f64)) {
    match value {
        Value::Number(_) => visit(path, number(value)),
        Value::Array(all) => all.iter().for_each(|item| each_number(item, path, visit)),
        Value::Object(all) => all.iter().for_each(|(name, item)| each_number(item, &format!("{path}.{name}"), visit)),
        _ => {}
    }
}

fn check(summary: &Value) {
    check_latency(summary);
    summary["streams"].as_array().into_iter().flatten().for_each(check_latency);
    let of_streams: f64 =
        summary["streams"].as_array().into_iter().flatten().map(|one| number(&one["latency"]["all"]["count"])).sum();
    if summary["streams"].is_array() {
        agree(of_streams, number(&summary["latency"]["all"]["count"]), "the commands of all streams");
    }
    check_utilisation(summary);
    if summary["energy"]["total_j"].is_number() {
        check_energy(&summary["energy"]);
    }
    // A number that is none is null in JSON, and null stands where nothing was counted.
    let throughput = &summary["throughput"];
    if number(&summary["latency"]["all"]["count"]) > 0.0 && number(&summary["simulated_ns"]) > 0.0 {
        assert!(throughput["iops"].is_number(), "commands were counted");
    }
    for (bytes, op) in [("read_bytes", "read"), ("write_bytes", "write")] {
        assert_eq!(number(&throughput[bytes]) > 0.0, number(&summary["commands"][op]) > 0.0, "{bytes}");
    }
    let programmed: f64 = items(&summary["flash"]["programs"]).map(|(_, units)| number(units)).sum();
    let units = number(&summary["host_units_written"]);
    if units > 0.0 && programmed > 0.0 {
        let amplification = summary["write_amplification"].as_f64().unwrap_or(programmed / units);
        agree(amplification, programmed / units, "write amplification");
    }
    each_number(summary, "", &mut |path, number| {
        let may_be_negative = path.contains("margin") || path.contains("policy_stats") || path.contains("temperature");
        assert!(number >= 0.0 || may_be_negative, "{path}: {number}");
    });
}

/// Draws a job file of one to three jobs.
fn job(rng: &mut Rng) -> String {
    let one = |index: u64, rng: &mut Rng| {
        let rw = ["randwrite", "randread", "randrw", "write", "randtrim"][rng.below(5) as usize];
        let sizes = ["4k", "512", "16k", "4k-64k"][rng.below(4) as usize];
        let key = if sizes.contains('-') { "bsrange" } else { "bs" };
        let pacing = ["", "rate_iops=20000\n", "thinktime=20\n", "ramp_time=1ms\n", "rate_iops=9000\nrate_process=poisson\n"];
        format!(
            "[j{index}]\nrw={rw}\n{key}={sizes}\niodepth={}\nnumber_ios={}\nnorandommap\n{}",
            1 << rng.below(6),
            50 + rng.below(300),
            pacing[rng.below(5) as usize],
        )
    };
    (0..1 + rng.below(3)).map(|index| one(index, rng)).collect()
}

#[test]
fn results_of_random_valid_runs_are_plausible() {
    let mut checked = 0;
    for (kind, detail) in (0u64..).zip([Detail::None, Detail::Errors, Detail::Controller, Detail::Power]) {
        for seed in 0..SEEDS {
            let mut rng = Rng::stream(seed, &format!("plausible.{kind}"));
            let sets = case::overrides(seed, detail);
            let request = RunRequest::new("random", &case::text(seed)).sets(&sets).seed(seed);
            let text = job(&mut rng);
            let Ok(outcome) = drive::session::run(&request, &Input::text("job.fio", text), Files::default(), &mut |_| true)
            else {
                continue;
            };
            checked += 1;
            let looked = std::panic::catch_unwind(|| check(&outcome.summary));
            assert!(looked.is_ok(), "seed {seed} of kind {kind} ({detail:?}), see above");
        }
    }
    assert!(checked > SEEDS, "{checked} of {}", 4 * SEEDS);
}

/// The checks can fail.
#[test]
fn a_falsified_result_is_noticed() {
    let request = RunRequest::new("tiny", "base = \"tiny\"");
    let input = Input::text("job.fio", "[j]\nrw=randwrite\nbs=4k\nnumber_ios=500\n[k]\nrw=randread\nnumber_ios=100\n");
    let outcome = drive::session::run(&request, &input, Files::default(), &mut |_| true);
    let summary = outcome.unwrap_or_else(|problems| panic!("{problems}")).summary;
    check(&summary);
    for (place, wrong) in [
        ("/latency/write/mean_ns", Value::from(1.0)),
        ("/latency/write/p50_ns", Value::from(1e12)),
        ("/commands/write", Value::from(499)),
        ("/utilisation/dies", Value::from(1.5)),
        ("/streams/0/latency/all/count", Value::from(3)),
        ("/throughput/iops", Value::Null),
        ("/write_amplification", Value::from(7.0)),
        ("/wear/mean", Value::from(-1.0)),
    ] {
        let mut falsified = summary.clone();
        *falsified.pointer_mut(place).unwrap_or_else(|| panic!("{place}")) = wrong;
        assert!(std::panic::catch_unwind(|| check(&falsified)).is_err(), "{place}");
    }
}
