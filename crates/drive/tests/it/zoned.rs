//! Drives with zones: what reaches the flash, the write buffer, workloads, and descriptions that cannot work.

use crate::common::{HostPlaced as Rig, READ, UNIT, assert_parts, check_flash, description, read, session, summary, with};
use drive::embed::Builder;
use ftl::layer::zns::table::ZoneState;
use kit::{Bytes, Cause, CommandFlags, Completion, HostCommand, Op, OperationKind, Reason, Rng, SimTime, Status, ZoneAction};
use serde_json::Value;

/// Two groups of two dies; a zone is two blocks on each die of a group: 128 units of 4 KiB, in 128 addresses.
const ZONES: &[&str] = &[
    "flash.blocks_per_plane=8",
    "flash.pages_per_block=8",
    "flash.page_size=16KiB",
    "buffer.policy=write_back",
    "buffer.capacity=128KiB",
    "buffer.flush_after=1ms",
    "ftl.translation={ kind = \"zns\", zone_dies = 2, zone_blocks = 2, max_open = 3, max_active = 4 }",
];
const CAPACITY: u64 = 128;
const COUNT: u64 = 8;

fn rig(sets: &[&str]) -> Rig {
    Rig::new(&with(ZONES, sets))
}

impl Rig {
    fn manage(&mut self, zone: u64, action: ZoneAction) -> Completion {
        let flags = CommandFlags::zone(action, false);
        let tag =
            self.submit_with(HostCommand { flags, ..HostCommand::new(Op::Zone, 0, Bytes(zone * CAPACITY * UNIT), Bytes(0)) });
        self.wait(tag)
    }

    fn one(&mut self, op: Op, unit: u64, count: u64) -> Completion {
        let tag = self.submit(op, unit, count);
        self.wait(tag)
    }

    fn rest(&mut self) {
        self.drain();
        while let Some(at) = self.drive.next_event() {
            self.drive.advance(at);
        }
    }

    fn zone(&self, zone: usize) -> (ZoneState, u32) {
        let zone = self.drive.translator().zones().expect("it has zones").zones()[zone];
        (zone.state, zone.written)
    }
}

/// Random commands, several in flight, against the table of zones applied command by command: statuses, places of
/// appends, and what is programmed, erased and read.
#[test]
fn random_commands_leave_zones_and_flash_consistent() {
    let mut seen = std::collections::BTreeSet::new();
    let mut erased = 0;
    for seed in 0..40 {
        let mut rng = Rng::stream(seed, "zoned");
        let mut rig = rig(if seed % 2 == 0 { &[] } else { &["flash.scheduler=fifo", "flash.transfer_rate=100MT/s"] });
        let mut table = rig.drive.translator().zones().expect("it has zones").clone();
        let (mut expected, mut accepted) = (Vec::new(), 0u64);
        for _ in 0..1500 {
            let zone = rng.below(COUNT) as u32;
            let (start, written) = (zone * CAPACITY as u32, table.zones()[zone as usize].written);
            let count = 1 + rng.below(24) as u32;
            let (op, first, count, flags) = match rng.below(20) {
                0..6 => (Op::Write, start + written, count, CommandFlags::NONE),
                6 => (Op::Write, start + rng.below(CAPACITY) as u32, 1, CommandFlags::FUA),
                7..12 => (Op::Append, start, count, CommandFlags::NONE),
                12..17 => (Op::Read, start + rng.below(CAPACITY - 24) as u32, count, CommandFlags::NONE),
                17 => (Op::Flush, 0, 0, CommandFlags::NONE),
                18 if rng.below(20) == 0 => (Op::Zone, 0, 0, CommandFlags::zone(ZoneAction::Close, true)),
                _ => (Op::Zone, start, 0, CommandFlags::zone(ZoneAction::ALL[rng.below(5) as usize], false)),
            };
            let first = first.min(COUNT as u32 * CAPACITY as u32 - count);
            let place = match op {
                Op::Write => table.write(first, count).map(|()| first),
                Op::Append => table.append(first, count),
                Op::Read => table.read(first, count).map(|()| first),
                Op::Zone if flags.contains(CommandFlags::ALL_ZONES) => {
                    table.manage_all(ZoneAction::Close, |_, _| {}).map(|()| first)
                }
                Op::Zone => table.manage(zone, flags.action().expect("it has one")).map(|_| first),
                Op::Flush | Op::Trim => Ok(first),
            };
            accepted += if place.is_ok() && op.writes() { u64::from(count) } else { 0 };
            seen.extend(place.err());
            let command = HostCommand::new(op, 0, Bytes(u64::from(first) * UNIT), Bytes(u64::from(count) * UNIT));
            let tag = rig.submit_with(HostCommand { flags, ..command });
            expected.push((tag, place));
            while rig.in_flight() > rng.below(12) {
                rig.step();
            }
        }
        rig.drain();
        for (tag, place) in expected {
            let done = rig.done.iter().find(|done| done.tag == tag).expect("it is complete");
            assert_eq!(done.status, place.err().unwrap_or_default(), "{done:?}");
            assert!(place.is_err() || done.offset.0 == u64::from(place.unwrap_or(0)) * UNIT, "{done:?}: {place:?}");
        }
        for zone in 0..COUNT as usize {
            assert_eq!(rig.zone(zone), (table.zones()[zone].state, table.zones()[zone].written));
        }
        // Once the open zones are finished, all that was written and not discarded is on the medium.
        let flags = CommandFlags::zone(ZoneAction::Finish, true);
        rig.submit_with(HostCommand { flags, ..HostCommand::new(Op::Zone, 0, Bytes(0), Bytes(0)) });
        rig.rest();
        let counters = rig.drive.translator().report().counters.clone();
        let programmed = counters.units_programmed[Reason::Host as usize];
        assert_eq!(programmed + counters.trimmed_units, accepted, "every unit is programmed or discarded once");
        let (programs, erases) = check_flash(&mut rig.drive, &description(ZONES).geometry());
        assert_eq!(u64::from(programs) * 4, programmed + counters.units_programmed[Reason::Padding as usize]);
        erased += erases;
        assert!(!rig.drive.is_full() && rig.drive.commands_in_flight() == 0);
    }
    assert!(erased > 1000 && seen.len() >= 6, "{erased} erases, {seen:?}");
}

#[test]
fn an_append_returns_its_place_and_data_is_read_from_where_it_is() {
    let mut rig = rig(&[]);
    let places: Vec<u64> = (0..3).map(|_| rig.one(Op::Append, 0, 3).offset.0 / UNIT).collect();
    assert_eq!((places, rig.zone(0)), (vec![0, 3, 6], (ZoneState::ImplicitlyOpen, 9)));
    rig.rest();
    // Two program units of four are complete: the ninth unit is in the write buffer.
    assert_eq!(rig.drive.flash().counters.operations[OperationKind::Program as usize], 2);
    for unit in [8, 9, 0] {
        assert_eq!(rig.one(Op::Read, unit, 1).status, Status::Success);
    }
    let rows = rig.drive.statistics.log.clone().unwrap_or_default();
    assert_parts("in the buffer", &rows[3], &[]);
    assert_parts("not written", &rows[4], &[]);
    assert_parts("on flash", &rows[5], &READ);
    let counters = rig.drive.translator().report().counters;
    assert_eq!((counters.buffer_hits, counters.unmapped_reads), (1, 1));
    assert_eq!(rig.one(Op::Flush, 0, 0).latency().0, 0, "the write buffer is protected");
}

#[test]
fn a_reset_discards_what_waits_and_frees_its_space() {
    // Three zones with incomplete program units; there is space for 20 units in all.
    let mut rig = rig(&["buffer.capacity=80KiB"]);
    for round in 0..50 {
        for zone in 0..3u64 {
            assert_eq!(rig.one(Op::Append, zone * CAPACITY, 7).offset.0, zone * CAPACITY * UNIT, "round {round}");
        }
        for zone in 0..3 {
            assert_eq!(rig.manage(zone, ZoneAction::Reset).status, Status::Success);
        }
    }
    rig.rest();
    let (programs, erases) = check_flash(&mut rig.drive, &description(ZONES).geometry());
    assert!(programs <= 150 && erases <= programs, "{programs} programs, {erases} erases");
}

/// A read whose first attempt fails is repeated, although its zone is reset meanwhile: the erase waits for it.
#[test]
fn a_block_is_erased_once_no_attempt_at_a_read_is_outstanding() {
    let mut rig = rig(&[
        "flash.code={ kind = \"bch\", data = \"4KiB\", t = 100 }",
        "ecc.plan={ kind = \"read_retry\", steps = 2, reduction = 0.6, step_time = \"700ns\" }",
        "ecc.decoder={ kind = \"engines\" }",
        // 160 errors in 34,368 bits, of which the second attempt has 64.
        "ecc.errors={ kind = \"constant\", rates = [0.00466], read_noise = 0.0 }",
    ]);
    rig.one(Op::Append, 0, 4);
    rig.rest();
    let read = rig.submit(Op::Read, 0, 1);
    // The flash has delivered the first attempt, which is being decoded: its die is free.
    let sensed = rig.drive.now() + kit::Nanos(READ.iter().map(|(_, time)| time).sum::<u64>() + 1);
    rig.drive.advance(sensed);
    let reset = rig.manage(0, ZoneAction::Reset);
    let read = rig.wait(read);
    assert_eq!((reset.completed, reset.status, read.status), (sensed, Status::Success, Status::Success));
    rig.rest();
    let retries = rig.drive.controller().reads().map(|reads| reads.statistics.retries());
    assert_eq!((retries, check_flash(&mut rig.drive, &description(ZONES).geometry())), (Some(1), (1, 1)));
}

#[test]
fn a_finished_zone_is_padded_and_a_full_one_is_not() {
    let mut rig = rig(&[]);
    rig.one(Op::Append, 0, 5);
    assert_eq!(rig.manage(0, ZoneAction::Finish).status, Status::Success);
    assert_eq!(rig.one(Op::Append, 0, 1).status, Status::ZoneFull);
    for _ in 0..8 {
        rig.one(Op::Append, CAPACITY, 16);
    }
    assert_eq!(rig.zone(1), (ZoneState::Full, 128));
    rig.rest();
    let counters = rig.drive.translator().report().counters;
    assert_eq!((counters.units_programmed[Reason::Host as usize], counters.units_programmed[Reason::Padding as usize]), (133, 3));
    assert_eq!(rig.one(Op::Read, 4, 1).status, Status::Success);
    assert_eq!(
        rig.drive.statistics.log.as_ref().and_then(|log| log.last()).map(|row| row.causes.get(Cause::Sense).0),
        Some(50_000)
    );
}

#[test]
fn a_zone_whose_blocks_are_worn_goes_offline() {
    let mut rig = rig(&["ftl.translation.offline_after=2"]);
    for round in 0..4 {
        let status = rig.one(Op::Append, 0, 8).status;
        rig.rest();
        assert_eq!(status, if round < 3 { Status::Success } else { Status::ZoneOffline });
        rig.manage(0, ZoneAction::Reset);
        rig.rest();
    }
    assert_eq!((rig.zone(0).0, rig.zone(1).0), (ZoneState::Offline, ZoneState::Empty));
    assert_eq!(rig.one(Op::Read, 0, 1).status, Status::ZoneOffline);
}

/// A long sequential write keeps the dies of its zone programming: units a second are those of a program in the time
/// that a die needs for it, within 1 %.
#[test]
fn a_zone_is_written_at_the_rate_of_its_dies() {
    for dies in [1u32, 2, 4] {
        let layer = format!("ftl.translation={{ kind = \"zns\", zone_dies = {dies}, zone_blocks = 8 }}");
        let sets = with(ZONES, &[&layer, "flash.pages_per_block=1024", "buffer.capacity=1MiB"]);
        let found = summary(&sets, "rw=write\nbs=64k\niodepth=4\nsize=20m\nnumber_ios=320");
        // Of a program: 361 ns of command, 4 units of 3,414 ns (rounded up together) and tPROG.
        let program_s = (361.0 + (16_384.0f64 * 1000.0 / 1200.0).ceil() + 600_000.0) / 1e9;
        let expected = f64::from(dies) * 16_384.0 / program_s;
        let rate = found["throughput"]["write_bytes_per_s"].as_f64().expect("it wrote");
        // The buffer acknowledges 1 MiB before it is programmed.
        let filled = rate * (20.0 - 1.0) / 20.0;
        assert!((filled / expected - 1.0).abs() < 0.01, "{dies} dies: {filled} B/s, expected {expected}");
    }
}

/// Any job runs: writes become appends, full zones are reset, and no command is refused.
#[test]
fn a_workload_runs_on_zones() {
    for (depth, size) in [(1, "4m"), (8, "4m"), (32, "2m"), (64, "512k")] {
        let job = format!(
            "rw=randrw\nbssplit=4k/40:8k/30:24k/30\niodepth={depth}\nsize={size}\nnorandommap=1\nio_size=100g\nnumber_ios=5000"
        );
        let found = summary(ZONES, &job);
        let count = |path: &str| found.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {found:#}"));
        assert_eq!(count("/translation/refused_commands"), 0.0, "depth {depth}");
        assert_eq!(count("/commands/read") + count("/commands/write"), 5000.0);
        assert!(count("/translation/resets") > 10.0 && count("/translation/resets") == count("/commands/zone"));
        assert!(count("/write_amplification") <= 1.0 && count("/flash/operations/erase") > 20.0);
        assert_eq!(summary(ZONES, &job)["latency"], found["latency"], "the same again");
    }
}

#[test]
fn more_zones_than_may_be_active_are_written_in_turn() {
    let sets = with(
        ZONES,
        &["ftl.translation={ kind = \"zns\", zone_dies = 1, max_open = 1, max_active = 2 }", "buffer.capacity=96KiB"],
    );
    let found = summary(&sets, "rw=randwrite\nbs=4k\niodepth=16\nsize=2m\nnorandommap=1\nio_size=100g\nnumber_ios=8000");
    assert_eq!(found["translation"]["refused_commands"], 0.0);
    assert!(found["translation"]["implicit_closes"].as_f64() > Some(100.0), "two active zones share one open one");
}

#[test]
fn an_embedded_drive_refuses_what_it_cannot_do() {
    let mut plain = Builder::preset("tiny").expect("a preset").build().expect("it is built");
    let append = HostCommand::new(Op::Append, 0, Bytes(0), Bytes(UNIT));
    let error = plain.submit(append, SimTime(0)).expect_err("it has no zones");
    assert!(error.text.contains("no zones"), "{}", error.text);
    assert_eq!((plain.zone_count(), plain.zone(0)), (None, None));
    let text = format!(
        "base = \"tiny\"\n{}",
        "[buffer]\npolicy = \"write_back\"\ncapacity = \"1MiB\"\nflush_after = \"1ms\"\n[ftl]\ntranslation = \"zns\"\n"
    );
    let mut zoned = Builder::new("zoned", &text).build().expect("it is built");
    let last = zoned.user_bytes();
    let beyond = HostCommand {
        flags: CommandFlags::zone(ZoneAction::Open, false),
        ..HostCommand::new(Op::Zone, 1, Bytes(last), Bytes(0))
    };
    assert!(zoned.submit(beyond, SimTime(0)).is_err());
    let zone = zoned.zone(1).expect("there are more");
    assert_eq!((zone.state, zone.write_pointer, zone.capacity), (ZoneState::Empty, zone.start, Bytes(1 << 20)));
    for (offset, length, expected) in
        [(0, 512, Status::InvalidField), (0, 4096, Status::Success), (8192, 4096, Status::ZoneInvalidWrite)]
    {
        zoned.submit(HostCommand::new(Op::Write, 9, Bytes(offset), Bytes(length)), zoned.now()).expect("it is in the drive");
        zoned.advance(SimTime::FOREVER).expect("it goes on");
        assert_eq!(zoned.take(1).completions[0].status, expected);
    }
    assert_eq!(zoned.zone(0).map(|zone| (zone.state, zone.write_pointer)), Some((ZoneState::ImplicitlyOpen, Bytes(4096))));
}

#[test]
fn zones_that_do_not_fit_the_drive_are_refused() {
    for (layer, expected) in [
        ("zone_dies = 3", "zones do not tile the drive; expected a divisor of its 4 dies"),
        ("zone_blocks = 3", "zones do not tile the drive; expected a divisor of the 8 blocks"),
        ("zone_blocks = 4, spare_blocks = 1", "expected a divisor of the 7 blocks of a die that are not spare"),
        ("spare_blocks = 8", "expected less than the 8 blocks of a die"),
        ("zone_size = \"64KiB\"", "at least the capacity of a zone, which is 524288B"),
        ("zone_size = \"600000B\"", "expected a multiple of 4KiB"),
        ("max_open = 5, max_active = 4", "expected at most max_active, which is 4"),
        ("max_open = 0, max_active = 4", "expected at most max_active, which is 4"),
        ("append_limit = \"5000B\"", "expected a multiple of 4KiB"),
        ("full = 1.5", "expected 0..=1"),
        ("max_open = 8, max_active = 8", "a capacity of at least 147456B"),
        ("zone_bytes = 1", "unknown field"),
    ] {
        let layer = format!("ftl.translation={{ kind = \"zns\", {layer} }}");
        let problems = read(&with(ZONES, &[&layer])).expect_err(&layer).to_string();
        assert!(problems.contains(expected), "{layer}: {problems}");
    }
    let without = read(&with(ZONES, &["buffer.policy=none"])).expect_err("no buffer").to_string();
    assert!(without.contains("in the write buffer"), "{without}");
    let policy = read(&with(ZONES, &["policy.kind=ofwar"])).expect_err("a policy").to_string();
    assert!(policy.contains("the host decides where data goes"), "{policy}");
    let through = read(&with(ZONES, &["buffer.policy=write_through"])).expect_err("write-through").to_string();
    assert!(through.contains("write_back"), "{through}");
    let sata = read(&with(ZONES, &["host.interface=sata"])).expect_err("SATA").to_string();
    assert!(sata.contains("zones"), "{sata}");
}

/// Drives with zones that are partly full, and their refusals, in a whole run with its notes.
#[test]
fn a_run_says_what_was_refused() {
    let sets = with(ZONES, &["ftl.translation={ kind = \"zns\", full = 1.0, offline_after = 1 }", "buffer.capacity=1MiB"]);
    let outcome = session(
        "base = \"tiny\"",
        &sets,
        None,
        "[job]\nrw=randwrite\nbs=4k\nsize=1m\nio_size=1g\nrate_iops=2000\nnumber_ios=2000\nnorandommap=1\n",
    )
    .unwrap_or_else(|problems| panic!("{problems}"));
    assert!(
        outcome.notes.iter().any(|note| note.contains("commands were refused")),
        "{:?} {:#}",
        outcome.notes,
        outcome.summary["translation"]
    );
}
