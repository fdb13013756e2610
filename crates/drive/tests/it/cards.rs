//! Cards of flash below a translation layer that runs on the host or on an accelerator: what a physical command costs,
//! what limits a card, and that the layer does the same wherever it runs.

use crate::common::{FAST_FLASH, ONE_DIE, PROGRAM, READ, Rig, assert_parts, read, summary, with};
use kit::history::EntryKind;
use kit::{Cause, DieId, Op, OperationKind, SimTime};
use std::collections::BTreeMap;

/// A card on PCIe 3.0 x4, with the costs of a packet and no others.
const CARD: &str = "controller.cards={ command_time = \"1us\", memory_time = \"500ns\" }";
/// The same without ECC: 4,320 B for 4 KiB.
const RAW: &str = "controller.cards={ command_time = \"1us\", memory_time = \"500ns\", raw_unit = \"4320B\" }";

/// Returns the time of bytes on PCIe 3.0 x4: 8 GT/s on each lane, 128 bits in 130, less 2 % \[ns\].
fn link(bytes: u64) -> u64 {
    (bytes as f64 * 1e9 / (4e9 * 128.0 / 130.0 * 0.98)).ceil() as u64
}

/// A doorbell of 4 B, the request of the command and the command with an address, each in a packet of its own (24 B, or
/// 20 B for data that was asked for), and the card's work.
fn command() -> u64 {
    link(28) + link(24) + 500 + link(20 + 64 + 8) + 1000
}

/// Data of `raw` bytes in packets of 256 B to the layer, its completion and its interrupt.
fn data_to_layer(raw: u64) -> u64 {
    link(raw + raw.div_ceil(256) * 24 + 24 + 16 + 24 + 4)
}

/// The card asks for data of `raw` bytes, 256 B at a time, and gets it.
fn data_to_card(raw: u64) -> u64 {
    link(raw.div_ceil(256) * 24) + 500 + link(raw + raw.div_ceil(256) * 20)
}

/// Lets the completion of a program leave the link, for which nothing waits.
fn settle(rig: &mut Rig) {
    rig.run_until(SimTime(rig.drive.now().0 + 1000));
}

#[test]
fn a_physical_command_is_the_sum_of_its_parts() {
    for (card, raw) in [(CARD, 4096), (RAW, 4320)] {
        let mut rig = Rig::new(&with(ONE_DIE, &[card]));
        let write = [(Cause::Card, command() + data_to_card(raw))];
        assert_parts("write", &rig.one(Op::Write, 0, 1), &[&write[..], &PROGRAM[..]].concat());
        settle(&mut rig);
        let read = [(Cause::Card, command() + data_to_layer(raw))];
        assert_parts("read", &rig.one(Op::Read, 0, 1), &[&read[..], &READ[..]].concat());
    }
}

/// The software of the layer decodes and encodes, each unit on a core of its own if there is one.
#[test]
fn ecc_by_software_takes_its_cycles() {
    let cores = "controller.firmware={ kind = \"cores\", count = 2, clock = \"1GHz\", cycles = { decode = 0, look_up = 0, \
                 allocate = 0, issue = 0, complete = 0, collect = 0 } }";
    let card = RAW.replace(" }", ", decode_cycles = 7000, encode_cycles = 3000 }");
    let mut rig = Rig::new(&with(ONE_DIE, &[&card, cores]));
    let write = [(Cause::Card, command() + data_to_card(4320)), (Cause::Firmware, 3000)];
    assert_parts("write", &rig.one(Op::Write, 0, 1), &[&write[..], &PROGRAM[..]].concat());
    settle(&mut rig);
    let read = [(Cause::Card, command() + data_to_layer(4320)), (Cause::Decode, 7000)];
    assert_parts("read", &rig.one(Op::Read, 0, 1), &[&read[..], &READ[..]].concat());
}

/// A read that is repeated crosses the link again, and all of the repetition is charged to the retry.
#[test]
fn a_repeated_read_pays_the_link_again() {
    let sets = [
        "ecc.errors={ kind='constant', rates=[2e-2] }",
        "ecc.plan={ kind='read_retry', steps=1, reduction=0.9 }",
        "flash.code={ kind='bch', data='4KiB', t=100 }",
    ];
    let mut rows = Vec::new();
    for card in [&[][..], &[RAW][..]] {
        let mut rig = Rig::new(&[ONE_DIE, &sets, card].concat());
        rig.one(Op::Write, 0, 1);
        settle(&mut rig);
        rows.push(rig.one(Op::Read, 0, 1));
    }
    let (alone, card) = (&rows[0].causes, &rows[1].causes);
    assert!(alone.get(Cause::Retry).0 > 0, "the read is repeated");
    let once = command() + data_to_layer(4320);
    assert_eq!(card.get(Cause::Card).0 - alone.get(Cause::Card).0, once);
    assert_eq!(card.get(Cause::Retry).0 - alone.get(Cause::Retry).0, once);
}

fn reads(sets: &[&str]) -> serde_json::Value {
    summary(&with(FAST_FLASH, sets), "rw=randread\nbs=4k\niodepth=128\nnorandommap=1\nio_size=4g\nnumber_ios=20000")
}

/// One command at a time on each card's processor, and raw data on its link.
#[test]
fn a_card_is_the_bottleneck() {
    for (set, expected, busy) in [
        ("controller.cards={ command_time = \"20us\" }", 50_000.0, "card_processor_0"),
        ("controller.cards={ command_time = \"40us\", count = 4 }", 100_000.0, "card_processor_0"),
        (
            "controller.cards={ command_time = \"1ns\", generation = 1, lanes = 1, raw_unit = \"4320B\" }",
            1e9 / 19_576.0,
            "card_out_0",
        ),
    ] {
        let summary = reads(&[set]);
        let found = summary["throughput"]["iops"].as_f64().expect("a rate");
        assert!((found / expected - 1.0).abs() < 0.02, "{set}: {found} reads per second, expected {expected}");
        let share = summary["utilisation"][busy].as_f64().expect("the card is busy");
        assert!(share > 0.97, "{set}: {busy} is busy for {share}");
        let named = summary["bottleneck"]["resource"].as_str().expect("a bottleneck");
        assert_eq!(named.trim_end_matches(|c: char| c.is_ascii_digit()), busy.trim_end_matches('0'), "{set}");
    }
}

/// Clusters of a many-core processor: a channel's tasks stay in its cluster, so that reads of one channel have a
/// cluster's cores alone.
#[test]
fn a_cluster_of_cores_serves_its_channels() {
    let cores = |clusters: u32| {
        format!(
            "controller.firmware={{ kind = \"cores\", count = 16, clusters = {clusters}, clock = \"10MHz\", assignment = \
             \"by_channel\", cycles = {{ decode = 0, look_up = 0, allocate = 1, issue = 1, complete = 0, collect = 1 }} }}"
        )
    };
    let card =
        "controller.cards={ command_time = \"1ns\", generation = 5, lanes = 16, raw_unit = \"4320B\", decode_cycles = 4000 }";
    // 4,000 cycles are 400 us. Eight channels use all sixteen cores in four clusters, and eight of them in sixteen
    // clusters of one core each.
    for (clusters, busy) in [(4, 16.0), (16, 8.0)] {
        let found = reads(&[card, &cores(clusters)])["throughput"]["iops"].as_f64().expect("a rate");
        let expected = busy / 400e-6;
        assert!((found / expected - 1.0).abs() < 0.05, "{clusters} clusters: {found} reads per second, expected {expected}");
    }
}

/// Operations of each die, in order.
type Histories = BTreeMap<Option<DieId>, Vec<(OperationKind, Option<u64>, u32)>>;

/// Writes and reads one after another on a drive of the given description, until it has collected for some time.
fn history(sets: &[&str]) -> Histories {
    let small =
        ["flash.blocks_per_plane=24", "flash.pages_per_block=8", "ftl.write_allocation=round_robin", "ftl.overprovisioning=0.6"];
    let mut rig = Rig::new(&with(&small, sets));
    rig.drive.history().enable(true);
    let units = rig.drive.user_bytes() / kit::UNIT_BYTES;
    let mut rng = kit::Rng::stream(5, "cards");
    let mut found = Histories::new();
    for _ in 0..units * 6 {
        let op = if rng.below(4) == 0 { Op::Read } else { Op::Write };
        rig.one(op, rng.below(units), 1);
        // All work that the command has caused ends before the next one.
        let idle = SimTime(rig.drive.now().0 + 50_000_000);
        rig.run_until(idle);
    }
    rig.drive.history().close();
    for entry in rig.drive.history().take() {
        if let EntryKind::Started(kind) = entry.kind() {
            found.entry(entry.die()).or_default().push((kind, entry.place(), entry.tag()));
        }
    }
    found
}

/// The layer makes the same choices in the drive, on the host and on an accelerator: with one command at a time, the
/// flash does the same, collections included.
#[test]
fn the_flash_does_the_same_wherever_the_layer_runs() {
    let cores =
        "controller.firmware={ kind = \"cores\", count = 4, clusters = 2, clock = \"400MHz\", assignment = \"by_channel\" }";
    let card = "controller.cards={ count = 2, raw_unit = \"4320B\", decode_cycles = 5000, encode_cycles = 2000 }";
    let nvme = "host.interface={ kind = \"nvme\" }";
    let dram = "controller.dram={ kind = \"bandwidth\", rate = \"3200MB/s\", latency = \"50ns\" }";
    let in_drive = history(&[nvme]);
    let count = |kind: OperationKind| in_drive.values().flatten().filter(|(found, ..)| *found == kind).count();
    assert!(count(OperationKind::Erase) > 20 && count(OperationKind::Read) > 100, "the drive collects");
    for (place, sets) in [("host", vec![card, cores]), ("accelerator", vec![card, cores, nvme, dram])] {
        assert!(history(&sets) == in_drive, "on the {place}");
    }
}

#[test]
fn impossible_cards_are_refused() {
    let problem = |sets: &[&str]| read(sets).err().map(|problems| problems.to_string()).unwrap_or_default();
    for (sets, complaint) in [
        (&["controller.cards.count=3"][..], "controller.cards.count: 3: expected a divisor of the"),
        (&["controller.cards.lanes=3"], "controller.cards.lanes: 3: expected 1, 2, 4, 8 or 16"),
        (&["controller.cards.raw_unit=4000B"], "controller.cards.raw_unit: 4kB: expected 4096B to 8192B"),
        (&["controller.cards.decode_cycles=1"], "controller.cards.decode_cycles: 1: the firmware has no cores"),
        (
            &["controller.firmware={ kind='cores', count=6, clusters=4 }"],
            "controller.firmware.clusters: 4: expected a divisor of the 6",
        ),
        (
            &[
                RAW,
                "ecc.errors={ kind='constant', rates=[1e-4] }",
                "flash.code={ kind='bch', data='4KiB', t=40 }",
                "ecc.decoder={ kind='fixed', time='1us' }",
            ],
            "ecc.decoder: cards with controller.cards.raw_unit = 4320B have no ECC",
        ),
    ] {
        let found = problem(sets);
        assert!(found.contains(complaint), "{sets:?}: {found}");
    }
}
