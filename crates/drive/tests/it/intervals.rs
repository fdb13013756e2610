//! Confidence intervals within a run.

use drive::options::RunOptions;
use drive::session::{Files, RunRequest, run};
use kit::Problems;
use serde_json::Value;
use workload::Input;

const JOB: &str = "[job]\nrw=randrw\nrwmixread=30\nbs=4k\nnorandommap=1\niodepth=8\nio_size=1g\nnumber_ios=20000\n";

fn summary_of(options: RunOptions, job: &str) -> Result<Value, Problems> {
    let request = RunRequest::new("test.toml", "base = \"tiny\"").precondition("steady").run(options);
    run(&request, &Input::text("workload", job), Files::default(), &mut |_| true).map(|outcome| outcome.summary)
}

fn summary(options: RunOptions, job: &str) -> Value {
    summary_of(options, job).unwrap_or_else(|problems| panic!("{problems}"))
}

fn batches(count: u32) -> RunOptions {
    RunOptions { batches: Some(count), ..RunOptions::default() }
}

/// Returns the bounds of an interval.
fn bounds(section: &Value, number: &str) -> Option<(f64, f64)> {
    section[number]["low"].as_f64().zip(section[number]["high"].as_f64())
}

#[test]
fn batches_change_nothing_but_the_section_of_the_intervals() {
    let mut with = summary(batches(20), JOB);
    let mut without = summary(RunOptions::default(), JOB);
    assert!(without.get("intervals").is_none());
    with.as_object_mut().expect("a summary").shift_remove("intervals").expect("it was requested");
    for one in [&mut with, &mut without] {
        one["wall_s"] = Value::Null;
    }
    assert_eq!(with, without);
}

#[test]
fn each_number_that_the_batches_know_has_an_interval_around_it() {
    let found = summary(batches(20), JOB);
    let intervals = &found["intervals"];
    for (op, commands) in [("all", 20_000), ("read", 6000), ("write", 14_000)] {
        let (section, latency) = (&intervals[op], &found["latency"][op]);
        let (count, size) =
            (section["batches"].as_u64().expect("a number"), section["batch_commands"].as_u64().expect("a number"));
        assert!((20..40).contains(&count), "{op}: {count} batches");
        let counted = latency["count"].as_u64().expect("a number");
        assert!(counted.abs_diff(commands) < 500 && count == counted / size, "{op}: {counted} commands, {count} of {size}");
        for (number, interval) in section.as_object().expect("a table").iter().filter(|(_, value)| value.is_object()) {
            let beyond = match number.as_str() {
                "mean_ns" | "p50_ns" => size,
                "p90_ns" => size / 10,
                "p99_ns" => size / 100,
                "p99_9_ns" => size / 1000,
                _ => size / 10_000,
            };
            assert_eq!(interval["low"].is_null(), beyond < 10, "{op} {number}: {interval}");
            assert!(interval["autocorrelation"].as_f64().is_none_or(|found| beyond >= 10 && found.abs() < 1.0), "{interval}");
            if let Some((low, high)) = bounds(section, number) {
                let value = latency[number].as_f64().unwrap_or_else(|| panic!("{op} {number} is in the latencies"));
                assert!(low <= value && value <= high, "{op} {number}: {low} {value} {high}");
            }
        }
    }
}

#[test]
fn commands_of_which_there_are_none_have_no_interval() {
    let found = summary(batches(2), &JOB.replace("randrw\nrwmixread=30", "randwrite"));
    let (read, write) = (&found["intervals"]["read"], &found["intervals"]["write"]);
    assert_eq!((&read["batches"], &read["batch_commands"]), (&Value::from(0), &Value::Null));
    assert_eq!(bounds(read, "mean_ns"), None);
    assert!(bounds(write, "p99_ns").is_some(), "batches of {} commands", write["batch_commands"]);
}

#[test]
fn batches_begin_with_the_measurement() {
    let job = "[j]\nrw=randwrite\nbs=4k\nnorandommap=1\niodepth=16\ntime_based=1\nruntime=60s\n";
    let options = RunOptions { steady_state: true, steady_round: Some("100ms".to_owned()), ..batches(4) };
    let found = summary(options, job);
    let (all, counted) = (&found["intervals"]["all"], found["commands"]["write"].as_u64().expect("a number"));
    let in_batches = all["batches"].as_u64().expect("a number") * all["batch_commands"].as_u64().expect("a number");
    assert_eq!(found["steady"]["reached"], true);
    assert!(in_batches <= counted && counted < in_batches * 5 / 4, "{in_batches} of {counted} commands are in batches");
}

#[test]
fn a_number_of_batches_outside_the_range_is_refused() {
    for count in [0, 1, 101] {
        let problems = summary_of(batches(count), JOB).expect_err("outside the range");
        assert!(problems.to_string().contains(&format!("--batches: {count}: expected 2..=100")), "{problems}");
    }
    summary(batches(100), JOB);
}
