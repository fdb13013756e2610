//! Interfaces that, and only they, limit the throughput of a drive.

use crate::common::{FAST_FLASH, summary, with};

/// Returns reads per second of a closed loop on the fast flash.
fn reads_per_second(sets: &[&str], bytes: u64, depth: u32) -> f64 {
    let job = format!("rw=randread\nbs={bytes}\niodepth={depth}\nnorandommap=1\nio_size=4g\nnumber_ios=20000");
    let summary = summary(&with(FAST_FLASH, sets), &job);
    summary["throughput"]["iops"].as_f64().expect("a rate")
}

#[track_caller]
fn assert_rate(what: &str, found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 0.01, "{what}: {found} per second, expected {expected}");
}

/// Packets of at most 256 B with 24 B of overhead; a completion of 40 B and an interrupt of 28 B; a request of 24 B for
/// each eight commands.
#[test]
fn the_payload_of_pci_express_is_the_bottleneck() {
    for (generation, lane) in [(1, 250e6), (2, 500e6), (3, 8e9 / 8.0 * 128.0 / 130.0)] {
        for lanes in [1, 2] {
            for payload in [128u64, 512] {
                let link = format!(
                    "host.interface={{ kind = \"nvme\", generation = {generation}, lanes = {lanes}, max_payload = \"{payload}B\", fetch_batch = 1, \
                     burst = 1, link_layer_share = 0.0 }}"
                );
                let bytes = (4096 + 24 * (4096 / payload) + 40 + 28 + 24) as f64;
                let found = reads_per_second(&[&link], 4096, 128);
                assert_rate(
                    &format!("generation {generation}, {lanes} lanes, {payload} B"),
                    found,
                    lane * f64::from(lanes) / bytes,
                );
            }
        }
    }
}

/// At 512 B the host's direction carries doorbells (28 B twice) and entries (84 B): the other direction, with requests,
/// data, completions and interrupts, is still the longer one.
#[test]
fn small_commands_are_limited_by_what_crosses_beside_their_data() {
    let link = "host.interface={ kind = \"nvme\", generation = 1, lanes = 1, max_payload = \"512B\", fetch_batch = 1, burst = 1, link_layer_share = 0.0 }";
    assert_rate("512 B", reads_per_second(&[link], 512, 256), 250e6 / f64::from(512 + 24 + 40 + 28 + 24));
}

/// Writes are read from host memory. With few tags a round trip limits them: each 4 KiB takes eight tags of 512 B.
#[test]
fn writes_are_limited_by_the_tags_of_their_requests() {
    let job = "rw=randwrite\nbs=4k\niodepth=64\nnorandommap=1\nio_size=4g\nnumber_ios=20000";
    let buffer = ["buffer.policy=write_back", "buffer.capacity=16MiB", "buffer.flush_after=1ms", "flash.program_time=1us"];
    for tags in [8, 16, 32] {
        let link = format!(
            "host.interface={{ kind = \"nvme\", generation = 4, lanes = 4, read_tags = {tags}, host_memory_time = \"20us\", link_layer_share = 0.0 }}"
        );
        let summary = summary(&with(&with(FAST_FLASH, &buffer), &[&link, "state.precondition=none"]), job);
        let found = summary["throughput"]["iops"].as_f64().expect("a rate");
        // Eight requests of 24 B, the wait, and 16 packets. The fetches of commands, of 64 B, take tags as well, one
        // for eight commands at the most.
        let rate = 4.0 * 16e9 / 8.0 * 128.0 / 130.0;
        let round_trip = 20e-6 + f64::from(8 * 24 + 4096 + 16 * 20) / rate;
        let most = f64::from(tags) / 8.0 / round_trip;
        assert!(found < most && found > 0.8 * most, "{tags} tags: {found} per second, at most {most}");
    }
}

/// A read of 4 KiB: register FIS in both directions, DMA set-up, data, set device bits, eight words more each.
#[test]
fn the_fis_of_sata_are_the_bottleneck() {
    for (generation, rate) in [(1, 150e6), (2, 300e6), (3, 600e6)] {
        let sata = format!("host.interface={{ kind = \"sata\", generation = {generation} }}");
        for (bytes, words) in [(4096, 1084.0), (512, 1084.0 - 1024.0 + 128.0)] {
            let found = reads_per_second(&[&sata], bytes, 32);
            assert_rate(&format!("SATA {generation}, {bytes} B"), found, rate / (4.0 * words));
        }
    }
    // The data rate of SATA II reads.
    let found = reads_per_second(&["host.interface={ kind = \"sata\", generation = 2 }"], 4096, 32) * 4096.0;
    assert!((280e6..290e6).contains(&found), "{found} B/s");
}

/// The same FIS with a handshake of 1 us each.
#[test]
fn the_handshakes_of_sata_are_the_bottleneck() {
    for (generation, rate) in [(1, 150e6), (3, 600e6)] {
        let sata = format!("host.interface={{ kind = \"sata\", generation = {generation}, handshake_time = \"1us\" }}");
        let found = reads_per_second(&[&sata], 4096, 32);
        assert_rate(&format!("SATA {generation}"), found, 1.0 / (4.0 * 1084.0 / rate + 5e-6));
    }
}

/// The host of the thesis (table 2.6): its cores submit more than it needs, a part that only one core at a time can do
/// limits it.
#[test]
fn the_hosts_processor_is_the_bottleneck() {
    let cpu = |cores: u32, submission: &str, serial: &str, completion: &str| {
        format!(
            "host.cpu={{ cores = {cores}, submission = \"{submission}\", serial = \"{serial}\", completion = \"{completion}\" }}"
        )
    };
    for (cores, submission, serial, completion, expected) in [
        (4, "3500ns", "4900ns", "0ns", 1e9 / 4900.0),
        (24, "500ns", "1670ns", "0ns", 1e9 / 1670.0),
        (4, "3500ns", "0ns", "0ns", 4e9 / 3500.0),
        (2, "3500ns", "0ns", "1500ns", 2e9 / 5000.0),
    ] {
        let found = reads_per_second(&[&cpu(cores, submission, serial, completion)], 4096, 64);
        assert_rate(&format!("{cores} cores"), found, expected);
    }
}
