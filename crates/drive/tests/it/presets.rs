//! Claims of the presets that follow by hand, and those of the SSDExplorer thesis on its drives.

use crate::common::session;
use drive::Description;
use drive::presets::{PRESETS, find};
use serde_json::Value;

/// Few blocks, half of which hold data, so that a drive is filled in no time.
const FEW_BLOCKS: [&str; 2] = ["flash.blocks_per_plane=16", "ftl.overprovisioning=1.0"];
const SATA_2: f64 = 283.3e6;

fn description(name: &str) -> Description {
    let preset = find(name).unwrap_or_else(|| panic!("{name} is a preset"));
    Description::read(name, preset.text, &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

/// Returns the summary of a fio job on a preset with overrides.
fn summary(name: &str, sets: &[&str], keys: &str) -> Value {
    let text = find(name).unwrap_or_else(|| panic!("{name} is a preset")).text;
    let job = format!("[job]\n{keys}\n");
    session(text, sets, None, &job).unwrap_or_else(|problems| panic!("{name}: {problems}")).summary
}

fn number(summary: &Value, path: &str) -> f64 {
    summary.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path} is a number"))
}

fn iops(summary: &Value) -> f64 {
    number(summary, "/throughput/iops")
}

#[track_caller]
fn assert_near(what: &str, found: f64, expected: f64, tolerance: f64) {
    let off = found / expected - 1.0;
    assert!(off.abs() <= tolerance, "{what}: {found}, expected {expected} within {tolerance}, off by {off}");
}

#[test]
fn a_drive_has_the_capacity_of_its_name() {
    for (name, bytes) in [
        ("vertex-120g", 120e9),
        ("nvram-card-512g", 512e9),
        ("qos-8x8-tlc", 512e9),
        ("retry-c1", 1e12),
        ("retry-c4", 1e12),
        ("ldpc-a", 512e9),
        ("ldpc-d", 512e9),
        ("pcie4-tlc-2tb", 2e12),
        ("pcie4-tlc-ldpc-2tb", 2e12),
        ("pcie4-dramless-1tb", 1e12),
        ("pcie5-enterprise-8tb", 8e12),
    ] {
        assert_near(name, description(name).user_bytes() as f64, bytes, 1e-4);
    }
}

/// The base of a base, fields of both, and the overrides in the commands that the heads of the presets show.
#[test]
fn presets_have_bases_and_their_heads_show_commands_that_are_accepted() {
    let of_base = Description::read("test.toml", "base = \"explorer-c6\"\n[flash]\nplanes_per_die = 1\n", &[]);
    let flash = of_base.unwrap_or_else(|problems| panic!("{problems}")).flash;
    assert_eq!((flash.channels, flash.chips_per_channel, flash.planes_per_die, flash.blocks_per_plane), (16, 8, 1, 256));
    let mut commands = 0;
    for preset in PRESETS {
        for line in preset.text.lines().filter_map(|line| line.strip_prefix("#   ssdlab run ")) {
            let mut words = line.split(" --set ");
            let drive = words.next().and_then(|first| first.split(' ').next()).expect("a command names its drive");
            let sets: Vec<String> = words.map(|set| set.trim_matches('\'').to_owned()).collect();
            let text = find(drive).unwrap_or_else(|| panic!("{}: {drive} is a preset", preset.name)).text;
            Description::read(drive, text, &sets).unwrap_or_else(|problems| panic!("{line}: {problems}"));
            commands += 1;
        }
    }
    assert!(commands >= 10, "{commands} commands");
}

/// Thesis, 1.4.1: SATA II limits sequential writes; the SDRAM of 666 MB/s, which each byte crosses twice, would be next
/// without link, bus and firmware.
#[test]
fn the_vertex_is_limited_by_its_link() {
    let job = "rw=write\nbs=4k\niodepth=32\nnumber_ios=30000";
    let found = summary("vertex-120g", &[], job);
    assert_near("the link", number(&found, "/throughput/write_bytes_per_s"), SATA_2, 0.003);
    assert!(number(&found, "/utilisation/link") > 0.999);
    let memory = [
        "host.interface=ideal",
        "controller.firmware=ideal",
        "controller.interconnect=ideal",
        "flash.interface=nv_ddr3",
        "flash.transfer_rate=1600MT/s",
    ];
    let found = summary("vertex-120g", &memory, "rw=write\nbs=4k\niodepth=64\nnumber_ios=60000");
    let rate = number(&found, "/throughput/write_bytes_per_s");
    assert!((0.75 * 333.3e6..333.3e6).contains(&rate) && number(&found, "/utilisation/dram") > 0.95, "{rate}");
}

/// Table 2.1 of the thesis: numbers of buffers, channels, targets and dies.
const TABLE_2_1: [[u32; 4]; 10] = [
    [4, 4, 4, 2],
    [8, 8, 4, 2],
    [8, 8, 8, 2],
    [8, 8, 8, 4],
    [8, 8, 8, 8],
    [16, 16, 8, 4],
    [16, 16, 4, 2],
    [32, 32, 4, 2],
    [32, 32, 1, 1],
    [32, 32, 8, 4],
];
const SEQUENTIAL: &str = "rw=write\nbs=4k\niodepth=32\nnumber_ios=40000";

/// Figure 2.1: with caching C6, C8 and C10 saturate SATA II, and no other does. The channels limit C4 and C5 (4 KiB in
/// 124.1 us and 415 ns on each of 8), the dies the others (one program of 1.95 ms, the mean, and its transfer at a
/// time).
#[test]
fn c6_c8_and_c10_saturate_sata_2_and_no_other_does() {
    for (index, table) in TABLE_2_1.iter().enumerate() {
        let name = format!("explorer-c{}", index + 1);
        let Description { flash, buffer, .. } = description(&name);
        assert_eq!([buffer.buffers, flash.channels, flash.chips_per_channel, flash.dies_per_chip], *table, "{name}");
        let found = summary(&name, &[], SEQUENTIAL);
        let rate = number(&found, "/throughput/write_bytes_per_s");
        let [_, channels, targets, dies] = table.map(f64::from);
        let transfer = 4096.0 / 33e6 + 415e-9;
        let flash = 4096.0 * (channels / transfer).min(channels * targets * dies / (1.95e-3 + transfer));
        assert_eq!(flash > SATA_2, [6, 8, 10].contains(&(index + 1)), "{name}");
        // The buffer takes some megabytes at the start, without waiting for the flash.
        let buffered = 1.0 / (1.0 - buffer.capacity.expect("a buffer").0 as f64 / (40_000.0 * 4096.0));
        let most = (flash * buffered).min(SATA_2);
        assert!((0.99 * flash.min(SATA_2)..1.002 * most).contains(&rate), "{name}: {rate}, flash {flash}");
        assert_eq!(rate > 0.99 * SATA_2, flash > SATA_2, "{name}: {rate}");
    }
}

/// Figure 2.1, without caching: the 32 commands of SATA have a die each, however many there are. Figure 2.2: NVMe with
/// thousands of commands has no such limit.
#[test]
fn without_caching_the_depth_of_the_queue_limits_a_parallel_drive() {
    let none = "buffer.policy=none";
    let nvme = "host.interface={kind=\"nvme\",generation=2,lanes=8,queue_depth=65536}";
    // The other times of a write, those of frames, interconnect and memory, are below 0.1 ms together.
    let alone = 32.0 * 4096.0 / (1.95e-3 + 4096.0 / 33e6);
    for name in ["explorer-c1", "explorer-c3", "explorer-c6", "explorer-c8"] {
        let rate = number(&summary(name, &[none], SEQUENTIAL), "/throughput/write_bytes_per_s");
        assert!((0.95 * alone..alone).contains(&rate), "{name}: {rate}, alone {alone}");
    }
    let deep = "rw=write\nbs=4k\niodepth=4096\nnumber_ios=150000";
    for (name, flash) in [("explorer-c3", 252.7e6), ("explorer-c6", 525.3e6), ("explorer-c8", 505.4e6)] {
        let rate = number(&summary(name, &[none, nvme], deep), "/throughput/write_bytes_per_s");
        assert_near(name, rate, flash, 0.03);
    }
}

/// Figures 2.3 to 2.6: a depth of 64 meets 300,000 reads a second and 2 ms at 99.99 %. By depth: reads a second, and
/// milliseconds at 99.99 %, derived with a closed network of dies and channels, without and with blocking.
#[test]
fn only_a_depth_of_64_meets_both_targets_unless_target_queues_hold_commands_up() {
    let read = |depth: u32, sets: &[&str]| {
        let job = format!("rw=randread\nbs=4k\niodepth={depth}\nnorandommap=1\nnumber_ios=200000");
        let found = summary("qos-8x8-tlc", &[&FEW_BLOCKS, sets].concat(), &job);
        (iops(&found), number(&found, "/latency/read/p99_99_ns") / 1e6, number(&found, "/latency/read/mean_ns") / 1e3)
    };
    let meets = |(rate, tail, _): (f64, f64, f64)| rate > 300e3 && tail < 2.0;
    // Where the channels are nearly full, commands pile up at one of them for long: the tail depends on seed and
    // length.
    for (depth, rate, tail, tolerance) in
        [(32, 213e3, 0.70, 0.1), (64, 302e3, 1.17, 0.1), (128, 353e3, 2.30, 0.25), (256, 371e3, 4.76, 0.9)]
    {
        let found = read(depth, &[]);
        assert_near(&format!("reads at depth {depth}"), found.0, rate, 0.03);
        assert_near(&format!("99.99 % at depth {depth}"), found.1, tail, tolerance);
        assert_eq!(meets(found), depth == 64, "depth {depth}: {found:?}");
    }
    // Six that wait and the one that is served.
    let mut means = Vec::new();
    for (depth, rate, tail) in [(64, 300e3, 1.18), (128, 323e3, 1.56), (256, 326e3, 2.0)] {
        let found = read(depth, &["controller.target_queues.threshold=7"]);
        assert_near(&format!("reads held up at depth {depth}"), found.0, rate, 0.04);
        assert_near(&format!("99.99 % held up at depth {depth}"), found.1, tail, 0.2);
        assert!(meets(found), "depth {depth}: {found:?}");
        means.push(found.2);
    }
    assert!(means[2] > read(256, &[]).2 * 1.05, "blocking costs mean latency: {means:?}");
}

const PAGES: &str = "rw=randread\nbs=16k\niodepth=256\nnorandommap=1\nnumber_ios=60000";

/// Figure 2.19: more channels read faster, about 165 MB/s each, and all lose about 10 % where 0.6 to 0.8 % of the pages
/// fail, at an error rate of 2.15e-3 (FACTS 5.2).
#[test]
fn each_configuration_of_table_2_2_loses_alike_to_read_retry() {
    for (index, channels) in [1.0, 2.0, 4.0, 8.0].into_iter().enumerate() {
        let name = format!("retry-c{}", index + 1);
        let young = summary(&name, &FEW_BLOCKS, PAGES);
        let rate = number(&young, "/throughput/read_bytes_per_s");
        assert_near(&name, rate, channels * 165e6, 0.03);
        let worn = summary(&name, &[&FEW_BLOCKS[..], &["ecc.errors.rates=[2.15e-3]"]].concat(), PAGES);
        let failing = number(&worn, "/reliability/retries") / 60_000.0;
        let lost = rate / number(&worn, "/throughput/read_bytes_per_s") - 1.0;
        assert!((0.005..0.008).contains(&failing), "{name}: {failing} fail");
        assert!((0.07..0.12).contains(&lost), "{name}: {lost} lost");
        // 14 to 18 page slots for each page that fails; further channels are not equally busy.
        assert!((13.5..18.0).contains(&(lost / failing)), "{name}: {} slots", lost / failing);
        assert_eq!(number(&worn, "/read_errors/media_errors"), 0.0);
    }
}

/// Figure 2.20: SATA III masks the loss of C4, which is twice as fast as the link, and not that of C3.
#[test]
fn sata_3_masks_read_retry_in_c4_and_barely_in_c3() {
    let read = |name: &str, rate: &str| {
        let sets = [&FEW_BLOCKS[..], &["host.interface={kind=\"sata\",generation=3}", rate]].concat();
        number(&summary(name, &sets, PAGES), "/throughput/read_bytes_per_s")
    };
    let lost = ["retry-c3", "retry-c4"].map(|name| {
        let young = read(name, "ecc.errors.rates=[1e-4]");
        assert_near(name, young, 590e6, 0.01);
        1.0 - read(name, "ecc.errors.rates=[2.15e-3]") / young
    });
    assert!((0.05..0.12).contains(&lost[0]) && lost[1] < 0.01, "{lost:?}");
}

/// Section 2.3.2: 450,000 reads a second without errors. Table 2.8 at twice the rated endurance, enterprise host: reads
/// a second with SD, which follow from the mean soft levels of FACTS 5.2 in a drive that its channels limit, and the
/// gain of NASD.
#[test]
fn the_channels_of_the_ldpc_drives_carry_what_table_2_8_says() {
    let job = "rw=randread\nbs=4k\niodepth=256\nnorandommap=1\nnumber_ios=60000";
    for (sample, cycles, levels, published, gain) in [
        ("a", 18_000, 0.25, 299e3, 0.1824),
        ("b", 24_000, 0.06, 402e3, 0.0624),
        ("c", 8_000, 0.98, 152e3, 0.4277),
        ("d", 1_800, 0.94, 156e3, 0.3680),
    ] {
        let name = format!("ldpc-{sample}");
        let read = |sets: &[&str]| summary(&name, &[&FEW_BLOCKS, sets].concat(), job);
        let young = read(&[]);
        assert_near(&name, iops(&young), 450e3, 0.03);
        assert_eq!(number(&young, "/reliability/soft_levels"), 0.0);
        let worn = format!("state.pe_cycles={cycles}");
        let (soft, nasd) = (read(&[&worn]), read(&[&worn, "ecc.plan.kind=nasd"]));
        let found = number(&soft, "/reliability/soft_levels") / 60_000.0;
        assert!((found - levels).abs() < 0.015, "{name}: {found} soft levels, calibrated to {levels}");
        assert_eq!(number(&soft, "/read_errors/media_errors"), 0.0);
        assert_near(&name, iops(&soft), published, 0.06);
        // Less than published where a die is busy for two sensings more: C and D.
        let gained = iops(&nasd) / iops(&soft) - 1.0;
        assert!((0.5 * gain..gain + 0.01).contains(&gained), "{name}: NASD gains {gained}, published {gain}");
    }
}

/// The consumer host of table 2.6: 204,000 reads a second, whatever A and B lose.
#[test]
fn the_consumer_host_hides_the_soft_levels_of_a_and_b() {
    let host = "host.cpu={cores=4,submission=\"3500ns\",serial=\"4900ns\"}";
    let job = "rw=randread\nbs=4k\niodepth=64\nnorandommap=1\nnumber_ios=60000";
    for (sample, cycles, hides) in [("a", 18_000, true), ("b", 24_000, true), ("c", 8_000, false), ("d", 1_800, false)] {
        let worn = format!("state.pe_cycles={cycles}");
        let found = iops(&summary(&format!("ldpc-{sample}"), &[&FEW_BLOCKS[..], &[host, &worn]].concat(), job));
        assert_eq!((found / 204e3 - 1.0).abs() < 0.01, hides, "{sample}: {found}");
    }
}

/// One plane of a die is read at a time: command, tR, and a transfer of 4 KiB.
#[test]
fn the_dies_limit_random_reads_of_the_modern_drives() {
    let job = "rw=randread\nbs=4k\niodepth=64\nnumjobs=8\nnorandommap=1\nnumber_ios=15000";
    for (name, dies, die_ns, least) in [
        ("pcie4-tlc-2tb", 32.0, 290.0 + 50_000.0 + 2560.0, 0.93),
        ("pcie4-dramless-1tb", 16.0, 290.0 + 50_000.0 + 2560.0, 0.95),
        ("pcie5-enterprise-8tb", 128.0, 290.0 + 40_000.0 + 2048.0, 0.8),
    ] {
        let blocks =
            ["flash.blocks_per_plane=28", "flash.pages_per_block=96", "ftl.overprovisioning=1.0", "state.precondition=fill"];
        let found = iops(&summary(name, &blocks, job));
        let most = dies * 1e9 / die_ns;
        assert!((least * most..most).contains(&found), "{name}: {found}, at most {most}");
    }
}

/// At 5,000 cycles and half a year, most reads of the modern TLC drive need a retry with BCH. LDPC corrects nearly all
/// at once, and the rest with a soft level, so that the mean latency is about half as long.
#[test]
fn soft_decoding_spares_the_modern_drive_most_of_its_retries() {
    let small = ["flash.blocks_per_plane=28", "flash.pages_per_block=96", "ftl.overprovisioning=1.0"];
    let worn = ["policy.kind=baseline", "state.precondition=fill", "state.pe_cycles=5000", "state.age=\"180d\""];
    let read = |name: &str| {
        let job = "rw=randread\nbs=4k\niodepth=64\nnorandommap=1\nnumber_ios=20000";
        let found = summary(name, &[&small[..], &worn].concat(), job);
        ["/reliability/retries", "/reliability/soft_levels", "/latency/read/mean_ns"].map(|path| number(&found, path))
    };
    let ([retries, levels, soft], [repeated, none, hard]) = (read("pcie4-tlc-ldpc-2tb"), read("pcie4-tlc-2tb"));
    assert!(retries == levels && (100.0..2_000.0).contains(&levels), "{levels} soft levels in 20,000 reads");
    assert!(none == 0.0 && repeated > 10_000.0, "{repeated} retries, {none} soft levels with BCH");
    assert!((0.4..0.65).contains(&(soft / hard)), "mean latency {soft} and {hard} ns");
}

/// Sequential writes of 128 KiB: the memory, which the data crosses twice, limits the drive with DRAM, the dies the
/// one without, and the link the enterprise drive.
#[test]
fn the_modern_drives_write_at_the_rate_of_their_slowest_part() {
    let job = "rw=write\nbs=128k\niodepth=64\nnumber_ios=20000";
    // A program of three wordlines in the SLC cache: transfer and 600 us. PCIe 5.0: 32 GT/s on four lanes.
    let slc = 16.0 * 196_608.0 / (600e-6 + 196_608.0 / 1.6e9);
    for (name, most, part) in [
        ("pcie4-tlc-2tb", 6.4e9, "dram"),
        ("pcie4-dramless-1tb", slc, "dies"),
        ("pcie5-enterprise-8tb", 4.0 * 32e9 / 8.0 * 128.0 / 130.0, "link_to_device"),
    ] {
        let found = summary(name, &[], job);
        let rate = number(&found, "/throughput/write_bytes_per_s");
        assert!((0.85 * most..most).contains(&rate), "{name}: {rate}, at most {most}");
        assert!(number(&found, &format!("/utilisation/{part}")) > 0.9, "{name}: {part} is not busy");
    }
}
