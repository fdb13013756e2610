//! Control of a server: losses of power, faults, states that are kept and saved.

use crate::client::*;
use kit::Nanos;
use serve::Clock;

const NOW: &str = r#"{"do":"power-cut","down":"1s"}"#;

#[test]
fn after_a_cut_flushed_data_is_there_and_connections_stay() {
    let server = Server::start(&["buffer.policy=write_back", "buffer.capacity=256KiB", "buffer.flush_after=10s"]);
    let mut client = server.client();
    client.write(0, &pattern(1, 65536));
    client.flush();
    client.write(0, &pattern(2, 4096));
    client.write(1 << 20, &pattern(3, 4096));
    let cut = server.ask(NOW).unwrap();
    assert_eq!((cut["durable_lost"].clone(), cut["requests_failed"].clone()), (0.into(), 0.into()));
    assert!(cut["volatile_lost"].as_u64() > Some(0) && cut["recovery_ns"].as_u64() > Some(0), "{cut}");
    assert_eq!(client.read(0, 65536), pattern(1, 65536), "the unflushed write is gone, the flushed one is back");
    assert_eq!(client.read(1 << 20, 4096), vec![0; 4096]);
    client.write(0, &pattern(4, 4096));
    assert_eq!(client.read(0, 4096), pattern(4, 4096));
    assert_eq!(server.stop().summary["server"]["power_losses"], 1);
}

#[test]
fn a_cut_at_an_event_fails_the_requests_that_are_in_flight() {
    let server = Server::start(&["buffer.policy=none"]);
    let mut client = server.client();
    client.write(0, &pattern(1, 4096));
    let pending = server.ask(r#"{"do":"power-cut","down":"2s","after_events":2}"#).unwrap();
    assert_eq!(pending["pending"], true);
    assert_eq!(client.call(0, WRITE, 0, 4096, &pattern(2, 4096)).error, 5);
    let found = client.read(0, 4096);
    assert!(found == pattern(1, 4096) || found == pattern(2, 4096));
    let summary = server.stop().summary;
    assert_eq!((summary["server"]["power_losses"].clone(), summary["server"]["requests_failed"].clone()), (1.into(), 1.into()));
}

#[test]
fn a_kept_state_is_returned_to_with_its_data() {
    let server = Server::start(BUFFERED);
    let mut client = server.client();
    client.write(0, &pattern(1, 1 << 20));
    client.write(4096, &pattern(2, 512));
    let kept = client.read(0, 1 << 20);
    server.ask(r#"{"do":"snapshot","name":"before"}"#).unwrap();
    client.write(0, &pattern(3, 1 << 20));
    client.call(0, TRIM, 1 << 19, 1 << 19, &[]);
    assert!(server.ask(r#"{"do":"restore","name":"after"}"#).unwrap_err().contains("expected before"));
    server.ask(r#"{"do":"restore","name":"before"}"#).unwrap();
    assert_eq!(client.read(0, 1 << 20), kept);
    server.ask(NOW).unwrap();
    assert_eq!(client.read(0, 1 << 20), kept, "the data of the state is durable");
    server.stop();
}

#[test]
fn a_saved_drive_has_its_contents_and_collection_goes_on() {
    let file = std::env::temp_dir().join(format!("ssdlab-saved-{}", std::process::id()));
    let server = Server::start(BUFFERED);
    let mut client = server.client();
    let size = 4 << 20;
    for round in 0..3 {
        client.write(0, &pattern(round, size));
    }
    client.write(512, &pattern(7, 512));
    let kept = client.read(0, size as u32);
    let ask = serde_json::json!({ "do": "save", "file": file.to_str().unwrap() }).to_string();
    assert!(server.ask(&ask).unwrap()["bytes"].as_u64() > Some(size as u64));
    assert!(server.ask(&ask).unwrap_err().contains("there is a file"));
    client.write(0, &pattern(9, size));
    server.stop();

    let load =
        |bytes: &[u8]| builder(BUFFERED).load("d", &mut &bytes[..], &|_| unreachable!("no files")).map_err(|error| error.text);
    let bytes = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let loaded = load(&bytes).unwrap();
    let server = Server::with(loaded, builder(BUFFERED), Clock::Simulated { think: Nanos(0), depth: 1 });
    let mut client = server.client();
    assert_eq!(client.read(0, size as u32), kept);
    // Enough writes for collection to move and erase what was saved.
    for round in 0..12 {
        client.write(8 << 20, &pattern(round, size));
        assert_eq!(client.read(0, size as u32), kept, "{round}");
    }
    server.ask(NOW).unwrap();
    assert_eq!(client.read(0, size as u32), kept);
    server.stop();

    let changed = |at: usize| {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        load(&changed).err().unwrap_or_default()
    };
    assert!(changed(bytes.len() - 5).contains("checksum") || changed(bytes.len() - 5).contains("contents"));
    assert!(load(&bytes[..bytes.len() - 9]).err().unwrap_or_default().contains("contents"));
    let plain = without_contents();
    let complaint = "d: a saved drive without its contents: expected one that was saved with them";
    assert_eq!(load(&plain).err().as_deref(), Some(complaint));
}

fn without_contents() -> Vec<u8> {
    let builder = BUFFERED.iter().fold(drive::embed::Builder::preset("tiny").unwrap(), |builder, set| builder.set(set));
    let mut bytes = Vec::new();
    builder.build().unwrap().save(&mut bytes).unwrap();
    bytes
}

#[test]
fn faults_of_a_script_happen_from_then_on() {
    let server = Server::start(&["buffer.policy=none", "faults.factory_bad=0.0"]);
    let mut client = server.client();
    client.write(0, &pattern(1, 65536));
    let text = "die_fails = [{ die = 0, at = \"0ns\" }]";
    let ask = serde_json::json!({ "do": "faults", "name": "f.toml", "text": text }).to_string();
    assert_eq!(server.ask(&ask).unwrap()["faults"], 1);
    let failed = (0..16).filter(|unit| client.call(0, READ, 4096 * unit, 4096, &[]).error == 5).count();
    assert!((1..16).contains(&failed), "{failed} of 16 units were on the lost die");
    let wrong = serde_json::json!({ "do": "faults", "name": "f.toml", "text": "power_fails = { at = \"1s\" }" }).to_string();
    assert!(server.ask(&wrong).unwrap_err().contains("power_fails"));
    server.stop();
}

#[test]
fn a_sample_has_the_figures_of_the_summary() {
    let server = Server::start(BUFFERED);
    let mut client = server.client();
    for number in 0..40 {
        client.write(number * 8192, &pattern(number, 8192));
    }
    client.flush();
    client.read(0, 65536);
    let (sample, stats) = (server.ask(r#"{"do":"sample"}"#).unwrap(), server.ask(r#"{"do":"stats"}"#).unwrap());
    for key in ["simulated_ns", "commands", "host_units_written", "utilisation", "drive", "server"] {
        assert_eq!(sample[key], stats[key], "{key}");
    }
    assert_eq!(sample["commands"]["write"], 40);
    assert_eq!(sample["diagram"]["nodes"][0]["id"], "host_processor");
    assert_eq!(sample["wear"]["mean"], stats["wear"]["mean"]);
    let small = server.ask(r#"{"do":"sample","wear":false,"diagram":false}"#).unwrap();
    assert_eq!((small["wear"].is_null(), small["diagram"].is_null()), (true, true));
    server.ask(NOW).unwrap();
    assert_eq!(server.ask(r#"{"do":"sample"}"#).unwrap()["server"]["power_losses"], 1);
    server.stop();
}
