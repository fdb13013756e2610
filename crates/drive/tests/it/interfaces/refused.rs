//! Interfaces that cannot work: each error names the field, the value found and the accepted values.

use drive::Description;

/// Asserts that a description of the host is refused with exactly one problem, whose message contains `expected`.
#[track_caller]
fn assert_refused(host: &str, expected: &str) {
    let text = format!("base = \"tiny\"\n[host]\n{host}\n");
    let problems = Description::read("d.toml", &text, &[]).err().unwrap_or_else(|| panic!("accepted: {host}"));
    let message = problems.to_string();
    assert_eq!(problems.0.len(), 1, "{message}");
    assert!(message.contains(expected), "found:    {message}\nexpected: {expected}");
}

#[test]
fn fields_of_nvme_are_checked() {
    for (field, expected) in [
        ("generation = 6", "d.toml:3: host.interface.generation: 6: expected 1..=5"),
        ("lanes = 3", "d.toml:3: host.interface.lanes: 3: expected 1, 2, 4, 8 or 16"),
        ("max_payload = \"300B\"", "host.interface.max_payload: 300B: expected a power of two from 128B to 4096B"),
        ("read_request = \"8KiB\"", "host.interface.read_request: 8KiB: expected a power of two from 128B to 4096B"),
        ("queue_depth = 65537", "host.interface.queue_depth: 65537: expected 2..=65536"),
        ("queue_depth = 1", "host.interface.queue_depth: 1: expected 2..=65536"),
        ("queues = 0", "host.interface.queues: 0: expected 1..=65535"),
        ("read_tags = 0", "host.interface.read_tags: 0: expected 1..=1024"),
        ("link_layer_share = 0.9", "host.interface.link_layer_share: 0.9: expected 0..=0.5"),
        ("coalesced = 4", "host.interface.coalescing_time: missing: 4 completions are announced together"),
        ("fetch_bach = 4", "host.interface: unknown field `fetch_bach`"),
        (
            "arbitration = { kind = \"weighted\", weights = [1, 0, 1], priorities = [\"low\"] }",
            "host.interface.arbitration.weights: [1, 0, 1]: expected 1 to 255 each",
        ),
        (
            "arbitration = { kind = \"weighted\", weights = [1, 1, 1], priorities = [] }",
            "host.interface.arbitration.priorities: 0 entries: expected one for each of 1 queues, or fewer",
        ),
        (
            "arbitration = { kind = \"weighted\", weights = [1, 1, 1], priorities = [\"urgent\"] }",
            "host.interface.arbitration.priorities: all queues are urgent",
        ),
        ("arbitration = { kind = \"weighted\", weights = [1, 1, 1], priorities = [\"meduim\"] }", "did you mean `medium`?"),
    ] {
        assert_refused(&format!("interface = {{ kind = \"nvme\", {field} }}"), expected);
    }
}

#[test]
fn fields_of_sata_are_checked() {
    assert_refused("interface = { kind = \"sata\", queue_depth = 64 }", "host.interface.queue_depth: 64: expected 1..=32");
    assert_refused("interface = { kind = \"sata\", generation = 4 }", "host.interface.generation: 4: expected 1..=3");
    assert_refused(
        "interface = { kind = \"sata\", handshake_time = \"2ms\" }",
        "host.interface.handshake_time: 2ms: expected at most 1ms",
    );
    assert_refused("interface = { kind = \"sata\", queues = 2 }", "host.interface: unknown field `queues`");
    assert_refused("interface = \"sas\"", "expected one of");
}

#[test]
fn fields_of_the_hosts_processor_are_checked() {
    for (cpu, expected) in [
        ("cores = 0", "host.cpu.cores: 0: expected 1..=128"),
        ("submission = \"1us\"", "host.cpu.cores: missing: expected a number from 1 to 128"),
        ("cores = 1, notice = \"polling\"", "host.cpu.poll_interval: missing: required by notice = \"polling\""),
        ("cores = 1, notice = \"polling\", poll_interval = \"0ns\"", "host.cpu.poll_interval: missing"),
        ("cores = 1, poll_interval = \"1us\"", "host.cpu.poll_interval: 1us: expected notice = \"polling\", or no interval"),
        (
            "cores = 1, notice = \"polling\", poll_interval = \"1us\", interrupt_time = \"1us\"",
            "host.cpu.interrupt_time: expected notice = \"interrupt\", or no time",
        ),
    ] {
        assert_refused(&format!("interface = \"ideal\"\ncpu = {{ {cpu} }}"), expected);
    }
    assert_refused(
        "interface = { kind = \"nvme\", coalesced = 4, coalescing_time = \"9us\" }\ncpu = { cores = 1, notice = \"polling\", poll_interval = \"1us\" }",
        "host.cpu.notice: \"polling\": completions are announced together (host.interface.coalesced)",
    );
}
