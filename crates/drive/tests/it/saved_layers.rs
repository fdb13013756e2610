//! Saved drives of every translation layer: each goes on exactly from a rest with whatever waits in its write buffer,
//! and one that was changed is refused or works.

use crate::common::description;
use drive::{Description, Drive, Identity};
use kit::history::Entry;
use kit::{Bytes, CommandFlags, HostCommand, Nanos, Op, Rng, SimTime, UNIT_BYTES, ZoneAction};
use std::collections::BTreeSet;

/// A drive of 4 dies with 8 blocks each; a program is 4 units.
const SMALL: &[&str] = &[
    "flash.channels=2",
    "flash.chips_per_channel=2",
    "flash.blocks_per_plane=8",
    "flash.pages_per_block=8",
    "flash.page_size=16KiB",
];
const BUFFER: &[&str] = &["buffer.policy=write_back", "buffer.capacity=256KiB", "buffer.flush_after=3ms"];
const ERRORS: &[&str] = &[
    "flash.code={ kind = \"bch\", data = \"1KiB\", t = 40 }",
    "ecc.plan={ kind = \"read_retry\", steps = 3 }",
    "ecc.errors={ kind = \"constant\", rates = [3e-3] }",
];
/// Pages of 4 KiB that are programmed in place.
const PAGES: &[&str] = &["flash.page_size=4KiB", "ftl.write_allocation=static"];

/// Drives by name: their layer, and the settings beside it.
const DRIVES: &[(&str, &str, &[&[&str]])] = &[
    ("zones", "{ kind = \"zns\", zone_dies = 2, zone_blocks = 2, max_open = 3, max_active = 4 }", &[BUFFER]),
    (
        "zones that fail",
        "{ kind = \"zns\", zone_dies = 4, max_open = 0, max_active = 0, offline_after = 2, full = 0.3 }",
        &[BUFFER],
    ),
    ("chunks", "{ kind = \"pass_through\", full = 0.5, early_reset = true }", &[]),
    ("chunks in turn", "{ kind = \"pass_through\", multiple_resets = true, offline_after = 3 }", &[]),
    ("factor", "waf", &[]),
    ("factor in pieces", "{ kind = \"waf\", write_amplification = 3.0, piece = 2 }", &[]),
    ("factor behind a buffer", "{ kind = \"waf\", model = \"oldest_first\" }", &[BUFFER, &["ftl.write_allocation=round_robin"]]),
    ("in place", "in_place", &[PAGES]),
    (
        "in place behind a buffer",
        "{ kind = \"in_place\", gap_interval = 5, region_pages = 16, randomize = true }",
        &[PAGES, BUFFER],
    ),
];

fn described(layer: &str, sets: &[&[&str]]) -> Description {
    let layer = if layer.starts_with('{') { layer.to_owned() } else { format!("\"{layer}\"") };
    let layer = format!("ftl.translation={layer}");
    let all: Vec<&str> = SMALL.iter().copied().chain(sets.iter().copied().flatten().copied()).chain([layer.as_str()]).collect();
    description(&all)
}

/// Returns the next command for a drive in its present state. Some of them fail.
fn command(drive: &Drive, rng: &mut Rng, tag: u32) -> HostCommand {
    let end = drive.user_bytes() / UNIT_BYTES;
    let of = |op: Op, first: u64, count: u64| HostCommand::new(op, tag, Bytes(first * UNIT_BYTES), Bytes(count * UNIT_BYTES));
    let pick = |rng: &mut Rng, count: u64| rng.below(end - count);
    if let Some(table) = drive.translator().zones() {
        let zone = rng.below(table.zones().len() as u64);
        let (start, written) = (zone * u64::from(table.limits().size), u64::from(table.zones()[zone as usize].written));
        let count = 1 + rng.below(12);
        return match rng.below(20) {
            0..8 => of(Op::Write, (start + written).min(end - count), count),
            8..12 => of(Op::Append, start, count),
            12..16 => of(Op::Read, pick(rng, count), count),
            16 => of(Op::Flush, 0, 0),
            _ => {
                let flags = CommandFlags::zone(ZoneAction::ALL[rng.below(4) as usize], false);
                HostCommand { flags, ..of(Op::Zone, start, 0) }
            }
        };
    }
    if let Some(chunks) = drive.translator().chunks() {
        let (chunk, size) = (rng.below(chunks.all().len() as u64), u64::from(chunks.rules().units));
        let written = u64::from(chunks.all()[chunk as usize].written);
        return match rng.below(10) {
            0..6 => of(Op::Write, (chunk * size + written).min(end - 8), 4 + 4 * rng.below(2)),
            6..9 => of(Op::Read, chunk * size + rng.below(size), 1),
            _ => of(Op::Trim, chunk * size, size),
        };
    }
    let count = 1 + rng.below(4);
    let first = pick(rng, count) / (1 + rng.below(30));
    match rng.below(12) {
        0..7 => of(Op::Write, first, count),
        7 => HostCommand { length: Bytes(512), ..of(Op::Write, first, 1) },
        8 => HostCommand { flags: CommandFlags::FUA, ..of(Op::Write, first, count) },
        9 => of(Op::Flush, 0, 0),
        _ => of(Op::Read, first, count),
    }
}

/// Plays `count` commands on drives that are to behave alike, and empties their queues. Returns the history of each.
fn play(drives: &mut [&mut Drive], count: u32, seed: u64) -> Vec<Vec<Entry>> {
    let mut rng = Rng::stream(seed, "commands");
    let mut in_flight = vec![0; drives.len()];
    drives.iter_mut().for_each(|drive| drive.history().enable(true));
    let mut drain = |drives: &mut [&mut Drive], submitted: u64, most: u64| {
        for (drive, in_flight) in drives.iter_mut().zip(&mut in_flight) {
            *in_flight += submitted;
            while *in_flight > most {
                assert!(drive.next_event().is_some(), "seed {seed}: {in_flight} commands wait for ever");
                *in_flight -= drive.advance(SimTime::FOREVER).len() as u64;
            }
        }
    };
    for tag in 0..count {
        let command = command(drives[0], &mut rng, tag);
        for drive in drives.iter_mut() {
            drive.submit(command, drive.now());
        }
        drain(drives, 1, rng.below(10));
        if rng.below(40) == 0 {
            drain(drives, 0, 0);
            let pause = Nanos(rng.below(5_000_000));
            for drive in drives.iter_mut() {
                let until = drive.now() + pause;
                while drive.now() < until {
                    drive.advance(until);
                }
            }
        }
    }
    drain(drives, 0, 0);
    let close = |drive: &mut &mut Drive| {
        drive.history().close();
        drive.history().take().collect()
    };
    drives.iter_mut().map(close).collect()
}

fn fresh(description: &Description) -> Drive {
    Drive::new(description, 7).expect("a small drive")
}

/// Returns the file of a drive that has played for a while, with what its buffer held then.
fn saved(drive: &mut Drive, identity: &Identity) -> Vec<u8> {
    let mut file = Vec::new();
    drive.rest();
    drive.save(identity, &mut file).expect("memory");
    drive.go_on();
    file
}

#[test]
fn every_layer_goes_on_exactly_from_a_file() {
    for (name, layer, sets) in DRIVES {
        for errors in [false, true] {
            let sets = if errors { &[*sets, &[ERRORS]].concat()[..] } else { sets };
            let description = described(layer, sets);
            let identity = Identity::of(&description, "baseline", 7);
            let (mut waiting, mut erases) = (0, 0);
            for seed in 0..2 {
                let mut rested = fresh(&description);
                rested.adopt();
                for round in 0..6u64 {
                    play(&mut [&mut rested], 60, 100 * seed + round);
                    let file = saved(&mut rested, &identity);
                    waiting += rested.translator().buffered().units.len();
                    let mut loaded = fresh(&description);
                    let resumed = loaded.load(&identity, &mut &file[..]);
                    assert!(resumed.as_ref().is_ok_and(|resumed| resumed.exact), "{name}, seed {seed}: {resumed:?}");
                    loaded.go_on();
                    let histories = play(&mut [&mut rested, &mut loaded], 120, 100 * seed + round + 50);
                    assert!(histories[0].len() > 100, "{name}, seed {seed}: nothing happened");
                    let differ = histories[0].iter().zip(&histories[1]).position(|(one, other)| one != other);
                    assert!(
                        histories[0] == histories[1],
                        "{name}, seed {seed}, round {round}, errors {errors}: entry {differ:?}"
                    );
                    let files = [saved(&mut rested, &identity), saved(&mut loaded, &identity)];
                    let figures = [&rested, &loaded].map(|drive| drive.translator().figures());
                    assert_eq!(figures[0], figures[1], "{name}, seed {seed}, round {round}");
                    let mut again = fresh(&description);
                    again.load(&identity, &mut &files[1][..]).expect("it was just saved");
                    again.go_on();
                    let histories = play(&mut [&mut rested, &mut loaded, &mut again], 40, 100 * seed + round + 70);
                    assert!(histories[1..].iter().all(|history| *history == histories[0]), "{name}, seed {seed}, round {round}");
                }
                erases += rested.translator().medium().erase_total();
            }
            assert!(sets.iter().all(|sets| *sets != BUFFER) || waiting > 25, "{name}: {waiting} units waited");
            assert!(erases > 0 || layer.contains("in_place"), "{name}: nothing was erased");
        }
    }
}

/// The replay of a firmware trace goes on with the entries that it has not played.
#[test]
fn a_replay_goes_on_exactly_from_a_file() {
    let mut played = 0;
    const LARGER: &[&str] = &["flash.blocks_per_plane=32", "ftl.overprovisioning=0.5"];
    let all: [&[&[&str]]; 3] = [&[LARGER], &[LARGER, BUFFER], &[LARGER, BUFFER, &["ftl.write_allocation=static"]]];
    for (sets, seed) in all.into_iter().zip(0u64..) {
        let map = described("page_map", sets);
        let mut recorded = fresh(&map).recording_firmware();
        recorded.adopt();
        (0..6).for_each(|round| _ = play(&mut [&mut recorded], 150, 10 * seed + round));
        let trace = recorded.take_firmware(true);
        let set = "ftl.translation={ kind = \"replay\", file = \"x.fw\" }".to_owned();
        let replay = Description::read_with("replay.toml", &map.to_toml(), &[set], &|_| Ok(trace.clone()));
        let replay = replay.unwrap_or_else(|problems| panic!("{problems}"));
        let identity = Identity::of(&replay, "baseline", 7);
        for before in 1..6 {
            let mut rested = fresh(&replay);
            rested.adopt();
            (0..before).for_each(|round| _ = play(&mut [&mut rested], 150, 10 * seed + round));
            let file = saved(&mut rested, &identity);
            let mut loaded = fresh(&replay);
            let resumed = loaded.load(&identity, &mut &file[..]);
            assert!(resumed.as_ref().is_ok_and(|resumed| resumed.exact), "{sets:?}: {resumed:?}");
            loaded.go_on();
            for round in before..6 {
                let histories = play(&mut [&mut rested, &mut loaded], 150, 10 * seed + round);
                assert!(histories[0] == histories[1], "{sets:?}: {before} rounds, then {round}");
                played += histories[0].len();
            }
            assert_eq!(rested.translator().figures(), loaded.translator().figures());
        }
    }
    assert!(played > 10_000, "{played} entries");
}

/// A file is loaded under another description, policy or seed only where data is adopted, which needs a map of it.
#[test]
fn a_drive_without_a_map_goes_on_only_as_it_was() {
    let (_, layer, sets) = DRIVES[0];
    let description = described(layer, sets);
    let identity = Identity::of(&description, "baseline", 7);
    let mut drive = fresh(&description);
    let file = saved(&mut drive, &identity);
    let other = described(layer, &[sets, &[&["flash.read_time=60us"]]].concat());
    for (description, seed) in [(&description, 8), (&other, 7)] {
        let refused = Drive::new(description, seed)
            .expect("a small drive")
            .load(&Identity::of(description, "baseline", seed), &mut &file[..])
            .expect_err("it is another drive");
        assert!(refused.contains("goes on only as it was saved"), "{refused}");
    }
}

/// Random bytes of the state are changed, with a checksum that fits: each file is refused, or its drive works.
#[test]
fn changed_files_are_refused_or_work() {
    let count = std::env::var("SSDLAB_DAMAGED").ok().and_then(|count| count.parse().ok()).unwrap_or(150);
    for (name, layer, sets) in DRIVES {
        let description = described(layer, sets);
        let identity = Identity::of(&description, "baseline", 7);
        let mut drive = fresh(&description);
        drive.adopt();
        play(&mut [&mut drive], 200, 3);
        let file = saved(&mut drive, &identity);
        let mut rng = Rng::stream(11, name);
        let (mut refused, mut complaints) = (0, BTreeSet::new());
        for case in 0..count {
            let mut changed = file.clone();
            for _ in 0..1 + rng.below(3) {
                let at = 8 + rng.below(file.len() as u64 - 12) as usize;
                changed[at] = if rng.below(2) == 0 { changed[at] ^ 1 << rng.below(8) } else { rng.below(256) as u8 };
            }
            let end = changed.len() - 4;
            let sum = crc32fast::hash(&changed[..end]).to_le_bytes();
            changed[end..].copy_from_slice(&sum);
            let mut loaded = fresh(&description);
            match loaded.load(&identity, &mut &changed[..]) {
                Ok(_) => {
                    loaded.go_on();
                    play(&mut [&mut loaded], 150, case);
                }
                Err(complaint) => {
                    refused += 1;
                    complaints.insert(complaint);
                }
            }
        }
        assert!(refused > count / 10 && complaints.len() > 3, "{name}: {refused} of {count} were refused: {complaints:?}");
    }
}
