//! The simulated history: that of one client at depth 1 is the same in every run.

use crate::client::*;
use drive::options::RunOptions;
use drive::session::{Files, RunRequest, run};
use kit::Nanos;
use serde_json::Value;
use serve::Clock;
use workload::Input;

/// Returns the history and the summary of a client that waits for each of its requests.
fn session(think: u64) -> ((u64, u64), Value) {
    let server = Server::of(builder(BUFFERED), Clock::Simulated { think: Nanos(think), depth: 1 });
    let mut client = server.client();
    for number in 0..200u64 {
        let at = number * 7919 % 1000 * 4096;
        match number % 5 {
            0 | 1 => client.write(at, &pattern(number, 8192)),
            2 => drop(client.read(at, 4096)),
            3 => client.flush(),
            _ => assert_eq!(client.call(1, TRIM, at, 65536, &[]).error, 0),
        }
    }
    let mut ended = server.stop();
    let digest = ended.drive.history().expect("requested");
    let mut summary = ended.summary;
    summary["wall_s"] = Value::Null;
    ((digest.entries, digest.hash), summary)
}

#[test]
fn one_client_at_depth_1_has_the_same_history_on_every_run() {
    let first = session(0);
    assert_eq!(first, session(0));
    assert_ne!(first.0, session(5000).0, "the program's own time passes");
}

#[test]
fn a_dilated_clock_lets_a_latency_pass_in_real_time() {
    let server = Server::of(builder(&["buffer.policy=none"]), Clock::Dilated { factor: 100.0 });
    let mut client = server.client();
    client.write(0, &pattern(1, 4096));
    let began = server.ask(r#"{"do":"stats"}"#).unwrap();
    let latency = began["latency"]["write"]["mean_ns"].as_f64().unwrap();
    let wall_s = began["wall_s"].as_f64().unwrap();
    assert!(wall_s >= latency * 100.0 / 1e9, "{latency} ns of simulated time passed in {wall_s} s");
    assert_eq!(client.read(0, 4096), pattern(1, 4096));
    let summary = server.stop().summary;
    assert_eq!(summary["server"]["lateness"]["replies"], 2);
    assert_eq!(summary["server"]["clock"], "dilated:100");
}

#[test]
fn a_clock_that_the_machine_cannot_keep_is_refused_by_name() {
    // A thousand simulated seconds in a real one: replies are later than their latencies.
    let server = Server::of(builder(&["buffer.policy=none"]), Clock::Dilated { factor: 0.001 });
    let mut client = server.client();
    let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        for _ in 0..100_000 {
            client.read(0, 4096);
        }
    }));
    assert!(ended.is_err(), "the connection ends");
    let complaint = server.join().complaint.expect("it has not kept up");
    assert!(complaint.starts_with("--clock dilated:0.001: this machine does not keep up"), "{complaint}");
    assert!(complaint.contains("expected dilated:"), "{complaint}");
}

/// Requests of clients with several in flight, recorded.
fn recorded(sets: &[&str], clients: u64) -> ((u64, u64), Value, Vec<u8>) {
    let file = std::env::temp_dir().join(format!("ssdlab-record-{}-{clients}-{}", std::process::id(), sets.len()));
    let (builder, clock) = (builder(sets), Clock::Simulated { think: Nanos(700), depth: 1 });
    let record = std::fs::File::create(&file).unwrap();
    let server = Server::recording(builder.build().unwrap(), builder, clock, Some(record));
    let play = |number: u64| {
        let mut client = server.client();
        for round in 0..12u64 {
            for index in 0..16u64 {
                let at = (number * 31 + round * 17 + index * 7919) % 4000 * 4096;
                match (round + index) % 7 {
                    0 | 1 => client.send(0, READ, at, 16384, &[]),
                    2 | 3 => client.send(0, WRITE, at, 8192, &pattern(index, 8192)),
                    4 => client.send(1, WRITE, at + 512, 512, &pattern(index, 512)),
                    5 => client.send(1, TRIM, at, 65536, &[]),
                    _ => client.send(0, FLUSH, 0, 0, &[]),
                };
            }
            (0..16).for_each(|_| assert_eq!(client.reply().error, 0));
        }
    };
    std::thread::scope(|scope| (0..clients).for_each(|number| drop(scope.spawn(move || play(number)))));
    let mut ended = server.stop();
    assert!(ended.unrecorded.is_none());
    let digest = ended.drive.history().expect("requested");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    ((digest.entries, digest.hash), ended.summary, bytes)
}

#[test]
fn a_record_replays_to_the_same_history() {
    let steady: &[&str] = &[BUFFERED[0], BUFFERED[1], BUFFERED[2], "state.precondition=steady"];
    let cases = [(BUFFERED, 1), (BUFFERED, 3), (&["state.precondition=steady"][..], 1), (steady, 3)];
    for (sets, clients) in cases {
        let (digest, summary, trace) = recorded(sets, clients);
        let text = drive::presets::find("tiny").unwrap().text;
        // Prepared for a loss of power as the server's drive is, which comes after the end.
        let options = RunOptions { power_cut: Some("1d".to_owned()), ..RunOptions::default() };
        let request = RunRequest::new("tiny", text).sets(sets).history().run(options);
        let input = Input::text("trace", trace);
        let again = run(&request, &input, Files::default(), &mut |_| true).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(digest.0 > 200);
        for key in ["commands", "latency", "flash", "simulated_ns"] {
            assert_eq!(again.summary[key], summary[key], "{sets:?}: {key}");
        }
        let found = again.history.map(|digest| (digest.entries, digest.hash));
        assert_eq!(found, Some(digest), "{sets:?}, {clients} clients");
    }
}
