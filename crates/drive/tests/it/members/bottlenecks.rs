//! Members that, and only they, limit the throughput of a drive.

use crate::common::{FAST_FLASH, summary, with};
use serde_json::Value;

/// Returns the summary of a closed loop of reads on the fast flash.
fn reads(sets: &[&str]) -> Value {
    summary(&with(FAST_FLASH, sets), "rw=randread\nbs=4k\niodepth=64\nnorandommap=1\nio_size=4g\nnumber_ios=20000")
}

/// Asserts the reads per second, and that the named resource works all the time, the others less.
#[track_caller]
fn assert_bottleneck(sets: &[&str], expected: f64, busy: &str) {
    let summary = reads(sets);
    let found = summary["throughput"]["iops"].as_f64().expect("a rate");
    assert!((found / expected - 1.0).abs() < 0.01, "{sets:?}: {found} reads per second, expected {expected}");
    let share = |name: &str| summary["utilisation"][name].as_f64().unwrap_or_else(|| panic!("no utilisation of {name}"));
    assert!(share(busy) > 0.985, "{busy} is busy for {}", share(busy));
    // Of several that share the work, the busiest is named; they are numbered.
    let bottleneck = &summary["bottleneck"];
    let named = bottleneck["resource"].as_str().expect("a resource is busy");
    let kind = |name: &str| name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
    assert_eq!(kind(named), kind(busy), "{sets:?}: {bottleneck}");
    assert!(share(named) >= share(busy) && bottleneck["utilisation"] == share(named), "{sets:?}: {bottleneck}");
    let next = bottleneck["next_utilisation"].as_f64().expect("the flash is busy");
    assert!(next <= share(busy), "{sets:?}: {bottleneck}");
}

/// 500 cycles for a read at 10 MHz: each core does 20,000 reads per second.
#[test]
fn cores_are_the_bottleneck() {
    let cores = |count: u32, assignment: &str| {
        format!(
            "controller.firmware={{ kind = \"cores\", count = {count}, clock = \"10MHz\", assignment = \"{assignment}\", \
             cycles = {{ decode = 200, look_up = 150, allocate = 1, issue = 1, complete = 150, collect = 1 }} }}"
        )
    };
    for count in [1, 2, 3] {
        assert_bottleneck(&[&cores(count, "shared")], f64::from(count) * 10e6 / 500.0, "core_0");
    }
    // The first core decodes and completes, the second looks up.
    assert_bottleneck(&[&cores(2, "by_task")], 10e6 / 350.0, "core_0");
}

/// Each read crosses the interconnect from its channel to the memory, and from there to the host.
#[test]
fn the_interconnect_is_the_bottleneck() {
    let bus = |member: &str| format!("controller.interconnect={{ kind = {member}, clock = \"25MHz\", width_bits = 32 }}");
    // 64 bursts of 16 beats and an address of 40 ns each.
    let leg = 64.0 * 17.0 * 40e-9;
    assert_bottleneck(&[&bus("\"ahb\"")], 1.0 / (2.0 * leg), "ahb");
    assert_bottleneck(&[&bus("\"multi_layer_ahb\"")], 1.0 / leg, "ahb_host");
    let data = 1024.0 * 40e-9;
    for lanes in [1.0, 2.0] {
        let axi = bus(&format!("\"axi\", data_lanes = {lanes}"));
        assert_bottleneck(&[&axi], lanes / (2.0 * data), if lanes > 1.0 { "axi_data_0" } else { "axi_data" });
    }
    // With long addresses and many lanes, the address lane is.
    let axi = bus("\"axi\", data_lanes = 8, address_cycles = 8");
    assert_bottleneck(&[&axi], 1.0 / (2.0 * 64.0 * 8.0 * 40e-9), "axi_address");
    assert_bottleneck(&[&bus("\"ocp\"")], 1.0 / (data + 2.0 * 40e-9), "ocp_host_out");
    assert_bottleneck(&[&bus("\"point_to_point\"")], 1.0 / data, "wire_host");
}

/// Each read takes a DMA channel twice: to the memory, and to the host. A channel makes a transfer in the time of its
/// descriptor and of its data.
#[test]
fn the_dma_controller_is_the_bottleneck() {
    for (channels, setup, rate) in [(1, 20_000, None), (4, 80_000, None), (2, 5_000, Some(200e6)), (3, 0, Some(50e6))] {
        let of_data = rate.map(|rate| format!(", rate = \"{rate}B/s\"")).unwrap_or_default();
        let dma = format!("controller.dma={{ channels = {channels}, setup = \"{setup}ns\"{of_data} }}");
        let transfers = f64::from(channels) / (f64::from(setup) * 1e-9 + rate.map_or(0.0, |rate| 4096.0 / rate));
        let busy = if channels == 1 { "dma" } else { "dma_0" };
        assert_bottleneck(&[&dma], transfers / 2.0, busy);
        // An interconnect with more than the rate of the channels changes nothing.
        let fast = "controller.interconnect={ kind = \"axi\", clock = \"400MHz\", width_bits = 128 }";
        assert_bottleneck(&[&dma, fast], transfers / 2.0, busy);
    }
}

/// Each read writes its data to the memory, reads it again, and reads 64 B of the map. Two memories share the work.
#[test]
fn the_memory_is_the_bottleneck() {
    let dram = "controller.dram={ kind = \"bandwidth\", rate = \"400MB/s\", latency = \"100ns\" }";
    let bytes = 4096.0 + 4096.0 + 64.0;
    assert_bottleneck(&[dram], 400e6 / bytes, "dram");
    assert_bottleneck(&[dram, "buffer.buffers=2"], 2.0 * 400e6 / bytes, "dram_0");
}

/// A channel of DDR3-1333, 8 bits wide, moves 1.33 GB/s at best; reads of random units write and read whole rows, whose
/// activates hide behind data, and turn the bus around twice for each. Two channels do twice the work.
#[test]
fn a_ddr_channel_is_the_bottleneck() {
    let ddr = "controller.dram={ kind = \"ddr\", grade = \"ddr3-1333\", width_bits = 8, chunk = \"1KiB\", size = \"64MiB\" }";
    let rate = |sets: &[&str]| {
        let summary = reads(sets);
        let share = |names: [&str; 2]| {
            let found = names.into_iter().find_map(|name| summary["utilisation"][name].as_f64());
            found.unwrap_or_else(|| panic!("no utilisation of {names:?}"))
        };
        let occupied = share(["dram", "dram_0"]);
        assert!(occupied > 0.98, "{sets:?}: an access waits or is served for {occupied} of the time");
        assert!(summary["bottleneck"]["resource"].as_str().is_some_and(|name| name.starts_with("dram")), "{sets:?}");
        (summary["throughput"]["iops"].as_f64().expect("a rate"), share(["dram_bus", "dram_bus_0"]))
    };
    let (one, busy) = rate(&[ddr]);
    // The data bus carries 8,256 B for each read, in whole bursts.
    let peak = 8.0 / 6e-9 / (4096.0 + 4096.0 + 64.0);
    assert!((one / (busy * peak) - 1.0).abs() < 0.01, "{one} reads per second at {busy} of {peak}");
    assert!((0.75..1.0).contains(&busy), "{busy}");
    let (two, _) = rate(&[ddr, "buffer.buffers=2"]);
    assert!((two / one / 2.0 - 1.0).abs() < 0.02, "{two} with two, {one} with one");
}
