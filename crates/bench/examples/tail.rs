//! A look at the tail of a run over time.

use drive::session::*;
use workload::{Input, Options};
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let preset = drive::presets::find(&a[1]).unwrap();
    let request = RunRequest {
        drive: DriveText { name: a[1].clone(), text: preset.text.to_owned() },
        set: a[3..].to_vec(),
        policy: None,
        seed: 1,
        precondition: Some("steady".into()),
        workload: Options::default(),
        record: Keep::default(),
        steady_state: false,
        steady_round: None,
    };
    let input = Input::text("x", format!("[x]\nbs=4k\n{}\n", a[2].replace(';', "\n")));
    let o = run(&request, &input, Files::default(), &mut |_| true).unwrap_or_else(|e| panic!("{e}"));
    println!(
        "{}",
        serde_json::to_string_pretty(&o.summary)
            .unwrap()
            .lines()
            .filter(|l| !l.contains("die_") && !l.contains("channel_"))
            .collect::<Vec<_>>()
            .join("\n")
    );
    let n = o.timeline.len();
    for chunk in o.timeline.chunks(n.div_ceil(24)) {
        let w: u64 = chunk.iter().map(|r| r.1.writes + r.1.reads).sum();
        let m = chunk.iter().map(|r| r.1.latency_ns_max).max().unwrap();
        let lat: u64 = chunk.iter().map(|r| r.1.latency_ns).sum();
        println!(
            "{:>12} n={} mean={} max={} free={} q={}",
            chunk[0].0,
            w,
            lat / w.max(1),
            m,
            chunk[0].1.free_blocks,
            chunk[0].1.write_queue
        );
    }
}
