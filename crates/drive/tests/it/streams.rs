//! Measurements of each stream: fio jobs, jobs of a model, volumes of a trace.

use crate::common::session;
use drive::session::Outcome;
use serde_json::Value;

const TINY: &str = "base = \"tiny\"";
const FILLED: &[&str] = &["state.precondition=fill"];

fn run(workload: &str) -> Outcome {
    session(TINY, FILLED, None, workload).unwrap_or_else(|problems| panic!("{problems}"))
}

fn streams(outcome: &Outcome) -> &[Value] {
    outcome.summary["streams"].as_array().expect("several streams")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value}: a number was expected"))
}

/// Requires that what adds up over the commands adds up over the streams.
fn assert_adds_up(outcome: &Outcome) {
    let (all, parts) = (&outcome.summary, streams(outcome));
    for key in ["read", "write", "trim", "flush"] {
        let total: f64 = parts.iter().map(|stream| number(&stream["commands"][key])).sum();
        assert_eq!(total, number(&all["commands"][key]), "{key}");
    }
    for key in ["read_bytes", "write_bytes"] {
        let total: f64 = parts.iter().map(|stream| number(&stream["throughput"][key])).sum();
        assert_eq!(total, number(&all["throughput"][key]), "{key}");
    }
    let of = |stream: &Value| number(&stream["latency"]["all"]["count"]);
    for (cause, mean) in all["causes"]["all"].as_object().expect("causes") {
        let charged = |stream: &Value| stream["causes"]["all"].get(cause).map_or(0.0, number) * of(stream);
        let total: f64 = parts.iter().map(charged).sum();
        let whole = number(mean) * of(all);
        assert!((total - whole).abs() <= 1e-9 * whole, "{cause}: {total} ns in the streams, {whole} ns in all");
    }
    let greatest = parts.iter().map(|stream| number(&stream["latency"]["all"]["max_ns"])).fold(0.0, f64::max);
    assert_eq!(greatest, number(&all["latency"]["all"]["max_ns"]));
    let rows = |name: &str| {
        outcome.stream_latency.iter().find(|(own, _)| own == name).map_or(0, |(_, rows)| rows.iter().map(|row| row.1.count).sum())
    };
    for stream in parts {
        assert_eq!(rows(stream["name"].as_str().expect("a name")) as f64, of(stream));
    }
}

#[test]
fn each_job_has_its_own_latency_throughput_and_causes() {
    let outcome = run("[reader]\nrw=randread\nbs=4k\nnumber_ios=500\n[writer]\nrw=randwrite\nbs=8k\nnumber_ios=300\niodepth=4\n");
    assert_adds_up(&outcome);
    let [reader, writer] = streams(&outcome) else { panic!("two streams were expected") };
    assert_eq!((reader["name"].as_str(), writer["name"].as_str()), (Some("reader"), Some("writer")));
    assert_eq!((&reader["commands"]["read"], &reader["commands"]["write"]), (&500.into(), &0.into()));
    assert_eq!((&writer["commands"]["read"], &writer["commands"]["write"]), (&0.into(), &300.into()));
    assert_eq!(number(&writer["throughput"]["write_bytes"]), 300.0 * 8192.0);
    // The only reads are those of one job, the only writes those of the other.
    for (stream, op) in [(reader, "read"), (writer, "write")] {
        assert_eq!(stream["latency"][op], outcome.summary["latency"][op]);
        assert_eq!(stream["causes"][op], outcome.summary["causes"][op]);
    }
}

/// A closed loop of depth 1 keeps the drive busy from its first command to its last one: its rate is one command in the
/// mean latency, over its own time, not over that of the run.
#[test]
fn the_rate_of_a_job_is_over_its_own_time() {
    let outcome = run(
        "[first]\nrw=randread\nbs=4k\nnumber_ios=400\n[second]\nstonewall\nrw=randread\nbs=4k\nnumber_ios=100\nstartdelay=1s\n",
    );
    assert_adds_up(&outcome);
    for stream in streams(&outcome) {
        let mean = number(&stream["latency"]["all"]["mean_ns"]);
        assert!((number(&stream["throughput"]["iops"]) * mean / 1e9 - 1.0).abs() < 1e-12, "{stream}");
        let span = number(&stream["end_ns"]) - number(&stream["begin_ns"]);
        assert_eq!(span, mean * number(&stream["latency"]["all"]["count"]));
    }
    let [first, second] = streams(&outcome) else { panic!("two streams were expected") };
    assert_eq!(number(&first["begin_ns"]), 0.0);
    assert_eq!(number(&second["begin_ns"]), number(&first["end_ns"]) + 1e9);
}

#[test]
fn volumes_of_a_trace_keep_their_names() {
    let line = |index: u64| {
        let (disk, op) = if index.is_multiple_of(3) { (1, "Write") } else { (0, "Read") };
        format!("{},web,{disk},{op},{},4096,0\n", 128_166_372_000_000_000u64 + index * 10_000, index * 4096)
    };
    let outcome = run(&(0..600).map(line).collect::<String>());
    assert_adds_up(&outcome);
    let [write, read] = streams(&outcome) else { panic!("two streams were expected") };
    assert_eq!((write["name"].as_str(), read["name"].as_str()), (Some("web.1"), Some("web.0")));
    assert_eq!((&write["commands"]["write"], &read["commands"]["read"]), (&200.into(), &400.into()));
}

#[test]
fn one_stream_is_the_whole_run() {
    let outcome = run("[only]\nrw=randread\nbs=4k\nnumber_ios=10\n");
    assert!(outcome.summary.get("streams").is_none() && outcome.stream_latency.is_empty());
}
