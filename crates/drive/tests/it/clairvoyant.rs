//! Decisions of `clairvoyant`, which knows the future accesses (POLICIES 7).

use crate::common::session;
use serde_json::Value;

const FAST_READS_SLOWLY: &str =
    "base = \"tiny\"\n[[flash.read_mode]]\nname = \"quick\"\n[[flash.read_mode]]\nname = \"slow\"\nsense_scale = 10\n";

/// Returns a line in the MSR format, `ms` milliseconds after the start of the trace.
fn line(ms: u64, kind: &str, unit: u64) -> String {
    format!("{},host,0,{kind},{},4096,100\n", 128_166_372_003_061_629 + ms * 10_000, unit * 4096)
}

/// Returns the summary of a trace on a drive whose fast mode has a retention limit of 1001 ms, less a margin of 1 ms.
fn run(text: &str, sets: &[&str], trace: &str) -> Value {
    let sets = [&["flash.write_mode[1].retention=1001ms", "ftl.retention_margin=1ms"], sets].concat();
    session(text, &sets, Some("clairvoyant"), trace).unwrap_or_else(|problems| panic!("{problems}")).summary
}

/// Returns the numbers of host units written in the normal and in the fast mode.
fn by_mode(summary: &Value) -> (u64, u64) {
    let count = |mode: &str| summary["modes"]["host_write"][mode].as_u64().expect("a count");
    (count("normal"), count("fast"))
}

#[test]
fn data_is_written_for_the_life_that_it_will_have() {
    // Unit 0 is overwritten after 5 ms, and then no more; unit 1 is written once; unit 2 is overwritten after 3 s,
    // later than the retention limit of fast data.
    let writes = [(0, 0), (5, 0), (10, 1), (20, 2), (3020, 2)];
    let trace: String = writes.iter().map(|&(ms, unit)| line(ms, "Write", unit)).collect();
    for buffer in ["buffer.policy=none", "buffer.policy=write_back"] {
        let done = run("base = \"tiny\"", &[buffer, "buffer.capacity=256KiB", "buffer.flush_after=1us"], &trace);
        assert_eq!(by_mode(&done), (4, 1), "{buffer}");
    }
}

#[test]
fn reads_that_will_come_are_weighed() {
    // Two units are overwritten after 50 ms. One of them is read before that; the slow read would cost more time than
    // the fast program saves.
    let trace =
        [line(0, "Write", 0), line(5, "Write", 1), line(10, "Read", 1), line(50, "Write", 0), line(55, "Write", 1)].concat();
    let reads = ["flash.write_mode[0].read_mode=quick", "flash.write_mode[1].read_mode=slow"];
    assert_eq!(by_mode(&run(FAST_READS_SLOWLY, &reads, &trace)), (3, 1));
    let reads = ["flash.write_mode[0].read_mode=quick", "flash.write_mode[1].read_mode=quick"];
    assert_eq!(by_mode(&run(FAST_READS_SLOWLY, &reads, &trace)), (2, 2));
}
