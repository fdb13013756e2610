//! Latency at queue depth 1 is the sum of its parts to the nanosecond; throughput at a large queue depth is that of the
//! bottleneck; a closed network of dies with exponential service times agrees with exact mean-value analysis.

use crate::common::{ONE_DIE, Rig, UNIT, assert_parts, latency, mean_value_analysis, summary, transfer, with};
use kit::{Cause, CommandId, Lpn, Op, Record, SimTime};

/// Sums of the phases of a command on an interface \[ns\] (FACTS 5.5).
struct Onfi {
    name: &'static str,
    read: u64,
    program: u64,
    erase: u64,
    /// Addition for each further page of a multi-plane operation: tDBSY and six cycles.
    further_page: u64,
    t_ccs: u64,
    rates: &'static [u64],
}

const INTERFACES: &[Onfi] = &[
    // tCS 15, tWC 20, tADL 400, tWB 100, tRR 20, tDBSY 500.
    Onfi { name: "sdr", read: 255, program: 635, erase: 195, further_page: 620, t_ccs: 500, rates: &[10, 20, 33, 50] },
    // tCS 20, tCAD 45, tADL 400, tWRCK 20, tWB 100, tRR 20, tDBSY 500.
    Onfi {
        name: "nv_ddr",
        read: 410,
        program: 810,
        erase: 300,
        further_page: 770,
        t_ccs: 500,
        rates: &[40, 66, 100, 133, 166, 200],
    },
    // tCS 20, tWC 25, tADL 70, tWPST + tWPSTH 21, tWB 100, tRR 20, tDBSY 500.
    Onfi { name: "nv_ddr2", read: 290, program: 361, erase: 220, further_page: 650, t_ccs: 300, rates: &[200, 333, 400, 533] },
    Onfi {
        name: "nv_ddr3",
        read: 290,
        program: 361,
        erase: 220,
        further_page: 650,
        t_ccs: 300,
        rates: &[667, 1200, 1600, 2400, 3600, 4800],
    },
];

const READ: u64 = 50_000;
const PROGRAM: u64 = 600_000;
const ERASE: u64 = 3_000_000;
/// Times of a read and of a program of one unit on the `tiny` preset, at 1200 MT/s.
const ONE_READ: u64 = 290 + READ + 3414;
const ONE_PROGRAM: u64 = 361 + 3414 + PROGRAM;

#[test]
fn every_interface_and_rate_adds_up() {
    for onfi in INTERFACES {
        for &rate in onfi.rates {
            let sets = [format!("flash.interface={}", onfi.name), format!("flash.transfer_rate={rate}MT/s")];
            let mut rig = Rig::new(&with(ONE_DIE, &[&sets[0], &sets[1]]));
            let what = format!("{} at {rate} MT/s", onfi.name);
            let data = transfer(1, rate);
            let write = rig.one(Op::Write, 7, 1);
            assert_parts(&what, &write, &[(Cause::BusCommand, onfi.program), (Cause::Transfer, data), (Cause::Program, PROGRAM)]);
            let read = rig.one(Op::Read, 7, 1);
            assert_parts(&what, &read, &[(Cause::BusCommand, onfi.read), (Cause::Sense, READ), (Cause::Transfer, data)]);
        }
    }
}

#[test]
fn several_planes_cost_dummy_busy_and_a_column_change_each() {
    for onfi in INTERFACES {
        let rate = onfi.rates[onfi.rates.len() - 1];
        let sets = [format!("flash.interface={}", onfi.name), format!("flash.transfer_rate={rate}MT/s")];
        let planes = ["flash.planes_per_die=4", "flash.multi_plane=true"];
        let mut rig = Rig::new(&with(&with(ONE_DIE, &planes), &[&sets[0], &sets[1]]));
        let data = transfer(4, rate);
        let write = rig.one(Op::Write, 0, 4);
        let command = onfi.program + 3 * onfi.further_page;
        assert_parts(onfi.name, &write, &[(Cause::BusCommand, command), (Cause::Transfer, data), (Cause::Program, PROGRAM)]);
        let read = rig.one(Op::Read, 0, 4);
        let parts = [
            (Cause::BusCommand, onfi.read + 3 * onfi.further_page),
            (Cause::Sense, READ),
            (Cause::Transfer, data + 3 * onfi.t_ccs),
        ];
        assert_parts(onfi.name, &read, &parts);
        let one = rig.one(Op::Read, 2, 1);
        assert_parts(
            onfi.name,
            &one,
            &[(Cause::BusCommand, onfi.read), (Cause::Sense, READ), (Cause::Transfer, transfer(1, rate))],
        );
    }
}

#[test]
fn units_of_one_page_come_in_one_read() {
    let mut rig = Rig::new(&with(ONE_DIE, &["flash.page_size=16KiB"]));
    let write = rig.one(Op::Write, 0, 4);
    assert_parts("write", &write, &[(Cause::BusCommand, 361), (Cause::Transfer, transfer(4, 1200)), (Cause::Program, PROGRAM)]);
    for count in 1..=4 {
        let read = rig.one(Op::Read, 0, count);
        let what = format!("{count} units");
        assert_parts(&what, &read, &[(Cause::BusCommand, 290), (Cause::Sense, READ), (Cause::Transfer, transfer(count, 1200))]);
    }
    // A write smaller than a program unit is padded: the whole page crosses the channel.
    let short = rig.one(Op::Write, 9, 1);
    assert_parts("padded", &short, &[(Cause::BusCommand, 361), (Cause::Transfer, transfer(4, 1200)), (Cause::Program, PROGRAM)]);
    assert_eq!(rig.programmed(kit::Reason::Padding), 3);
}

#[test]
fn a_one_shot_program_writes_the_wordline() {
    let cell =
        ["flash.cell=tlc", "flash.one_shot=true", "flash.pages_per_block=66", "flash.read_time=[\"40us\", \"60us\", \"90us\"]"];
    let mut rig = Rig::new(&with(ONE_DIE, &cell));
    let write = rig.one(Op::Write, 0, 3);
    let parts = [(Cause::BusCommand, 361 + 2 * 650), (Cause::Transfer, transfer(3, 1200)), (Cause::Program, PROGRAM)];
    assert_parts("wordline", &write, &parts);
    for (unit, sense) in [(0, 40_000), (1, 60_000), (2, 90_000)] {
        let read = rig.one(Op::Read, unit, 1);
        assert_parts("page", &read, &[(Cause::BusCommand, 290), (Cause::Sense, sense), (Cause::Transfer, 3414)]);
    }
    // Three pages of a wordline take three reads, one after another on the die; the last read is the critical part.
    let all = rig.one(Op::Read, 0, 3);
    let before = 2 * (290 + 3414) + 40_000 + 60_000;
    let parts = [(Cause::DieHostRead, before), (Cause::BusCommand, 290), (Cause::Sense, 90_000), (Cause::Transfer, 3414)];
    assert_parts("three pages", &all, &parts);
}

#[test]
fn page_types_have_their_own_times() {
    let times = ["flash.cell=mlc", "flash.read_time=[\"40us\", \"80us\"]", "flash.program_time=[\"400us\", \"1300us\"]"];
    let mut rig = Rig::new(&with(ONE_DIE, &times));
    for unit in 0..6 {
        let program = if unit % 2 == 0 { 400_000 } else { 1_300_000 };
        let write = rig.one(Op::Write, unit, 1);
        assert_parts("program", &write, &[(Cause::BusCommand, 361), (Cause::Transfer, 3414), (Cause::Program, program)]);
    }
    for unit in 0..6 {
        let sense = if unit % 2 == 0 { 40_000 } else { 80_000 };
        let read = rig.one(Op::Read, unit, 1);
        assert_parts("read", &read, &[(Cause::BusCommand, 290), (Cause::Sense, sense), (Cause::Transfer, 3414)]);
    }
}

#[test]
fn a_write_mode_scales_the_program_time() {
    let mut rig = Rig::new(&with(ONE_DIE, &["policy.kind=all_fast", "flash.write_mode[1].program_scale=0.3337"]));
    let write = rig.one(Op::Write, 0, 1);
    assert_parts("fast", &write, &[(Cause::BusCommand, 361), (Cause::Transfer, 3414), (Cause::Program, 200_220)]);
}

#[test]
fn phases_can_be_given() {
    let phases = "flash.phases={ t_cs = \"1ns\", t_cycle = \"10ns\", t_adl = \"100ns\", t_wb = \"1us\", t_rr = \"10us\", t_ccs = \"0ns\", t_wpst = \"7ns\", t_dbsy = \"0ns\" }";
    let mut rig = Rig::new(&with(ONE_DIE, &[phases]));
    let write = rig.one(Op::Write, 0, 1);
    assert_parts("write", &write, &[(Cause::BusCommand, 1168), (Cause::Transfer, 3414), (Cause::Program, PROGRAM)]);
    let read = rig.one(Op::Read, 0, 1);
    assert_parts("read", &read, &[(Cause::BusCommand, 11_061), (Cause::Sense, READ), (Cause::Transfer, 3414)]);
}

#[test]
fn the_plain_link_adds_command_and_data_time() {
    for (duplex, name) in [(true, "full duplex"), (false, "half duplex")] {
        let link = format!(
            "host.interface={{ kind = \"plain\", queue_depth = 4, command_time = \"700ns\", bandwidth = \"3GB/s\", full_duplex = {duplex} }}"
        );
        let mut rig = Rig::new(&[&link]);
        let data = |units: u64| (units * 4096).div_ceil(3);
        let write = rig.one(Op::Write, 0, 1);
        let link = (Cause::Link, 700 + data(1));
        assert_parts(name, &write, &[link, (Cause::BusCommand, 361), (Cause::Transfer, 3414), (Cause::Program, PROGRAM)]);
        let read = rig.one(Op::Read, 0, 1);
        assert_parts(name, &read, &[link, (Cause::BusCommand, 290), (Cause::Sense, READ), (Cause::Transfer, 3414)]);
        // Two units on dies of two channels are ready at the same instant and cross the link one after the other.
        rig.one(Op::Write, 10, 2);
        let both = rig.one(Op::Read, 10, 2);
        let link = (Cause::Link, 700 + 2 * data(1));
        assert_parts(name, &both, &[link, (Cause::BusCommand, 290), (Cause::Sense, READ), (Cause::Transfer, 3414)]);
    }
}

#[test]
fn a_full_device_queue_is_charged_to_the_host_queue() {
    let link =
        "host.interface={ kind = \"plain\", queue_depth = 1, command_time = \"1us\", bandwidth = \"0B/s\", full_duplex = true }";
    let mut rig = Rig::new(&[link]);
    let (first, second) = (rig.submit(Op::Write, 0, 1, SimTime(0)), rig.submit(Op::Write, 1, 1, SimTime(0)));
    rig.drain();
    let parts = [(Cause::Link, 1000), (Cause::BusCommand, 361), (Cause::Transfer, 3414), (Cause::Program, PROGRAM)];
    assert_parts("first", &rig.row(first), &parts);
    assert_parts("second", &rig.row(second), &[&[(Cause::HostQueue, 1000 + ONE_PROGRAM)], &parts[..]].concat());
}

#[test]
fn the_write_back_buffer_acknowledges_on_acceptance() {
    let buffer = ["buffer.policy=write_back", "buffer.capacity=16KiB", "buffer.flush_after=1ms"];
    let mut rig = Rig::new(&with(ONE_DIE, &buffer));
    let first = rig.one(Op::Write, 0, 4);
    assert_parts("accepted", &first, &[]);
    // The buffer is full: the fifth unit waits until the first has been programmed and has left.
    let fifth = rig.submit(Op::Write, 4, 1, SimTime(0));
    let read = rig.submit(Op::Read, 3, 1, SimTime(0));
    rig.drain();
    assert_parts("fifth", &rig.row(fifth), &[(Cause::BufferFull, ONE_PROGRAM)]);
    assert_parts("read from the buffer", &rig.row(read), &[]);
    let flush = rig.one_bytes(Op::Flush, 0, 0);
    assert_parts("flush", &flush, &[(Cause::Order, 4 * ONE_PROGRAM)]);
    let read = rig.one(Op::Read, 3, 1);
    assert_parts("read from flash", &read, &[(Cause::BusCommand, 290), (Cause::Sense, READ), (Cause::Transfer, 3414)]);
}

#[test]
fn a_partial_write_reads_the_rest_first() {
    let mut rig = Rig::new(ONE_DIE);
    let program = [(Cause::BusCommand, 361), (Cause::Transfer, 3414), (Cause::Program, PROGRAM)];
    let fresh = rig.one_bytes(Op::Write, 512, 1024);
    assert_parts("nothing to read", &fresh, &program);
    let over = rig.one_bytes(Op::Write, 1024, 512);
    assert_parts("read-modify-write", &over, &[&[(Cause::Rmw, ONE_READ)], &program[..]].concat());
    let mut rig = Rig::new(&with(ONE_DIE, &["ftl.partial_write=whole"]));
    rig.one(Op::Write, 0, 1);
    assert_parts("nobody misses the rest", &rig.one_bytes(Op::Write, 512, 1024), &program);
    let whole = rig.one(Op::Write, 0, 1);
    assert_parts("covered whole", &whole, &program);
}

/// Writes of a unit, whole or not, that come at the same instant as a partial one, or while the rest of that is being
/// read: they are bound in their order, although other dies are idle, and each is charged its wait.
#[test]
fn later_writes_of_a_unit_follow_a_partial_one() {
    let mut rig = Rig::watched(&[]);
    rig.one(Op::Write, 0, 1);
    let (start, before) = (rig.drive.now().0, rig.records());
    assert!(!before.is_empty());
    let writes = [(0, 0, 512), (0, 0, UNIT), (1, 512, 512), (2, 0, UNIT), (ONE_READ - 1, 0, UNIT)];
    let tags = writes.map(|(after, offset, length)| rig.submit_bytes(Op::Write, offset, length, SimTime(start + after)));
    let other = rig.submit(Op::Write, 1, 1, SimTime(start + 1));
    rig.drain();
    for (&tag, (after, ..)) in tags.iter().zip(writes) {
        assert_eq!(rig.row(tag).causes.get(Cause::Rmw).0, ONE_READ - after, "the write after {after}");
        assert_eq!(rig.row(tag).causes.total().0, latency(&rig.row(tag)));
    }
    assert_eq!(rig.row(other).causes.get(Cause::Rmw).0, 0, "another unit waits for nothing");
    let records = rig.records();
    let of_unit = |record: &Record| match *record {
        Record::WriteAccepted { command, lpn: Lpn(0) } => Some((command, false)),
        Record::Bound { command, lpn: Lpn(0), .. } => Some((command, true)),
        _ => None,
    };
    let (bound, accepted): (Vec<_>, Vec<_>) = records.iter().filter_map(of_unit).partition(|(_, is_bound)| *is_bound);
    let commands = |all: Vec<(CommandId, bool)>| all.into_iter().map(|(command, _)| command).collect::<Vec<_>>();
    assert_eq!((bound.len(), commands(bound)), (writes.len(), commands(accepted)));
}

#[test]
fn what_was_never_written_costs_nothing_or_a_read() {
    let mut rig = Rig::new(ONE_DIE);
    assert_parts("zero", &rig.one(Op::Read, 5, 1), &[]);
    rig.one(Op::Write, 5, 1);
    rig.one(Op::Trim, 5, 1);
    assert_parts("trimmed", &rig.one(Op::Read, 5, 1), &[]);
    assert_eq!(rig.drive.translator().report().counters.unmapped_reads, 2);
    let mut rig = Rig::new(&with(ONE_DIE, &["ftl.unmapped_read=flash"]));
    let parts = [(Cause::BusCommand, 290), (Cause::Sense, READ), (Cause::Transfer, 3414)];
    assert_parts("flash", &rig.one(Op::Read, 5, 1), &parts);
}

#[test]
fn a_read_of_data_being_programmed_is_answered_or_waits() {
    let mut rig = Rig::new(ONE_DIE);
    rig.submit(Op::Write, 0, 1, SimTime(0));
    let read = rig.submit(Op::Read, 0, 1, SimTime(1000));
    rig.drain();
    assert_parts("from the controller", &rig.row(read), &[]);
    let mut rig = Rig::new(&with(ONE_DIE, &["ftl.read_in_flight=wait"]));
    rig.submit(Op::Write, 0, 1, SimTime(0));
    let read = rig.submit(Op::Read, 0, 1, SimTime(1000));
    rig.drain();
    let parts =
        [(Cause::DieHostProgram, ONE_PROGRAM - 1000), (Cause::BusCommand, 290), (Cause::Sense, READ), (Cause::Transfer, 3414)];
    assert_parts("from flash", &rig.row(read), &parts);
}

/// Overwrites one unit of a drive with one die until a collection begins an erase. Returns that instant.
fn run_into_an_erase(rig: &mut Rig) -> SimTime {
    for _ in 0..100_000 {
        if rig.drive.commands_in_flight() == 0 {
            rig.submit(Op::Write, 0, 1, rig.drive.now());
        }
        let at = rig.step();
        if rig.operations()[2] > 0 {
            return at;
        }
    }
    panic!("nothing was erased");
}

#[test]
fn what_an_erase_blocks_waits_for_its_end() {
    for onfi in INTERFACES {
        let rate = onfi.rates[0];
        let sets = [format!("flash.interface={}", onfi.name), format!("flash.transfer_rate={rate}MT/s")];
        let small =
            ["flash.blocks_per_plane=8", "flash.pages_per_block=8", "ftl.overprovisioning=1.0", "ftl.user_capacity=32KiB"];
        let mut rig = Rig::new(&with(&with(ONE_DIE, &small), &[&sets[0], &sets[1]]));
        rig.one(Op::Write, 5, 1);
        let begin = run_into_an_erase(&mut rig);
        let read = rig.submit(Op::Read, 5, 1, begin + kit::Nanos(1000));
        rig.drain();
        let wait = onfi.erase + ERASE - 1000;
        let parts =
            [(Cause::DieErase, wait), (Cause::BusCommand, onfi.read), (Cause::Sense, READ), (Cause::Transfer, transfer(1, rate))];
        assert_parts(onfi.name, &rig.row(read), &parts);
    }
}

#[test]
fn waits_are_charged_to_what_is_waited_for() {
    let mut rig = Rig::new(ONE_DIE);
    rig.one(Op::Write, 0, 1);
    let now = rig.drive.now();
    let reads = [rig.submit(Op::Read, 0, 1, now), rig.submit(Op::Read, 0, 1, now)];
    rig.drain();
    let read = [(Cause::BusCommand, 290), (Cause::Sense, READ), (Cause::Transfer, 3414)];
    assert_parts("first", &rig.row(reads[0]), &read);
    assert_parts("second", &rig.row(reads[1]), &[&[(Cause::DieHostRead, ONE_READ)], &read[..]].concat());
    let now = rig.drive.now();
    rig.submit(Op::Write, 1, 1, now);
    let behind = rig.submit(Op::Read, 0, 1, now + kit::Nanos(500));
    let write = rig.submit(Op::Write, 2, 1, now + kit::Nanos(600));
    rig.drain();
    assert_parts("behind a program", &rig.row(behind), &[&[(Cause::DieHostProgram, ONE_PROGRAM - 500)], &read[..]].concat());
    let program = [(Cause::BusCommand, 361), (Cause::Transfer, 3414), (Cause::Program, PROGRAM)];
    let waits = [(Cause::DieHostProgram, ONE_PROGRAM - 600), (Cause::DieHostRead, ONE_READ)];
    assert_parts("a write behind both", &rig.row(write), &[&waits[..], &program[..]].concat());
}

/// Returns the commands per second of a job on the `tiny` preset with overrides.
fn iops(sets: &[&str], job: &str) -> f64 {
    summary(sets, job)["throughput"]["iops"].as_f64().expect("something ran")
}

#[track_caller]
fn assert_within(what: &str, measured: f64, expected: f64, tolerance: f64) {
    let error = measured / expected - 1.0;
    println!("{what}: {measured:.6e}, expected {expected:.6e}, {:+.3} %", 100.0 * error);
    assert!(error.abs() <= tolerance, "{what}: {measured} is {:+.2} % from {expected}", 100.0 * error);
}

const WIDE: &[&str] = &["flash.blocks_per_plane=32", "ftl.overprovisioning=0.5"];

#[test]
fn reads_at_depth_are_bound_by_dies_or_channels() {
    // Sequential reads visit the dies in turn. There are two channels; the number of dies per channel and the transfer
    // rate decide which is the bottleneck.
    for scheduler in ["read_first", "out_of_order"] {
        for (dies, interface, rate, command) in [
            (1, "nv_ddr3", 1200, 290),
            (2, "nv_ddr3", 1200, 290),
            (8, "nv_ddr3", 1200, 290),
            (16, "nv_ddr3", 1200, 290),
            (16, "nv_ddr", 40, 410),
        ] {
            let sets = [
                format!("flash.chips_per_channel={dies}"),
                format!("flash.interface={interface}"),
                format!("flash.transfer_rate={rate}MT/s"),
                format!("flash.scheduler={scheduler}"),
                "state.precondition=fill".to_owned(),
            ];
            let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
            let measured = iops(&with(WIDE, &sets), "rw=read\niodepth=512\nnumber_ios=50000\nio_size=100g");
            let channel = (command + transfer(1, rate)) as f64;
            let die = (channel + READ as f64) / f64::from(dies);
            let what = format!("reads, {scheduler}, {dies} dies per channel at {rate} MT/s");
            assert_within(&what, measured, 2.0 * 1e9 / die.max(channel), 0.01);
        }
    }
}

#[test]
fn writes_at_depth_are_bound_by_dies_or_channels() {
    for (dies, interface, rate, command) in [(2, "nv_ddr3", 1200, 361), (16, "nv_ddr3", 1200, 361), (16, "nv_ddr", 40, 810)] {
        let sets = [
            format!("flash.chips_per_channel={dies}"),
            format!("flash.interface={interface}"),
            format!("flash.transfer_rate={rate}MT/s"),
        ];
        let measured = iops(
            &with(WIDE, &[&sets[0], &sets[1], &sets[2], "flash.blocks_per_plane=128"]),
            "rw=write\niodepth=128\nnumber_ios=10000",
        );
        let channel = (command + transfer(1, rate)) as f64;
        let die = (channel + PROGRAM as f64) / f64::from(dies);
        assert_within(&format!("writes, {dies} dies per channel at {rate} MT/s"), measured, 2.0 * 1e9 / die.max(channel), 0.01);
    }
}

#[test]
fn commands_at_depth_are_bound_by_the_link() {
    let link = |duplex: bool| {
        format!(
            "host.interface={{ kind = \"plain\", queue_depth = 256, command_time = \"5us\", bandwidth = \"100MB/s\", full_duplex = {duplex} }}"
        )
    };
    let (full, half) = (link(true), link(false));
    let wide = with(WIDE, &["flash.chips_per_channel=16"]);
    let reads = "rw=read\niodepth=128\nnumber_ios=20000";
    let fill = "state.precondition=fill";
    // Commands and the data of reads cross the link in opposite directions. A read occupies the link for 40.96 us, or
    // for 45.96 us if both directions share it.
    assert_within("reads, full duplex", iops(&with(&wide, &[fill, &full]), reads), 1e9 / 40_960.0, 0.01);
    assert_within("reads, half duplex", iops(&with(&wide, &[fill, &half]), reads), 1e9 / 45_960.0, 0.01);
    assert_within("writes", iops(&with(&wide, &[&full]), "rw=write\niodepth=128\nnumber_ios=20000"), 1e9 / 45_960.0, 0.01);
}

/// Returns the overrides of a drive in which only the dies limit throughput: each die has a channel of its own,
/// commands take no time, and a transfer takes 854 ns against a tR of 10 ms.
fn network(dies: u32, distribution: &str) -> Vec<String> {
    let free = "{ t_cs = \"0ns\", t_cycle = \"0ns\", t_adl = \"0ns\", t_wb = \"0ns\", t_rr = \"0ns\", t_ccs = \"0ns\", t_wpst = \"0ns\", t_dbsy = \"0ns\" }";
    let sets = [
        format!("flash.channels={dies}"),
        "flash.chips_per_channel=1".to_owned(),
        "flash.blocks_per_plane=16".to_owned(),
        "ftl.overprovisioning=1.0".to_owned(),
        "flash.transfer_rate=4800MT/s".to_owned(),
        "flash.read_time=10ms".to_owned(),
        format!("flash.time_distribution={distribution}"),
        format!("flash.phases={free}"),
        "state.precondition=fill".to_owned(),
    ];
    sets.to_vec()
}

/// Mean service time of a die in [`network`] \[s\].
const SERVICE: f64 = 10e-3 + 854e-9;

fn network_iops(dies: u32, depth: u32, distribution: &str, count: u64) -> f64 {
    let sets = network(dies, distribution);
    let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
    iops(&sets, &format!("rw=randread\nnorandommap=1\niodepth={depth}\nio_size=1000g\nnumber_ios={count}"))
}

const NETWORKS: &[(u32, u32)] = &[(1, 4), (4, 2), (4, 16), (16, 16), (64, 32), (64, 256)];

#[test]
fn exponential_dies_meet_mean_value_analysis() {
    for &(dies, depth) in NETWORKS {
        let measured = network_iops(dies, depth, "exponential", 400_000);
        assert_within(&format!("{dies} dies, depth {depth}"), measured, mean_value_analysis(dies, depth, SERVICE), 0.01);
    }
}

#[test]
fn constant_dies_lie_between_mean_value_analysis_and_the_bounds() {
    for &(dies, depth) in NETWORKS {
        let measured = network_iops(dies, depth, "constant", 100_000);
        let (low, high) = (mean_value_analysis(dies, depth, SERVICE), f64::from(dies.min(depth)) / SERVICE);
        println!(
            "{dies} dies, depth {depth}: {low:.2} <= {measured:.2} <= {high:.2}, {:+.2} % above the analysis",
            100.0 * (measured / low - 1.0)
        );
        assert!(
            measured > low * 0.999 && measured <= high * 1.001,
            "{dies} dies, depth {depth}: {measured} is not in {low}..{high}"
        );
    }
}

#[test]
fn results_state_exactly_what_was_measured() {
    let mut rig = Rig::new(ONE_DIE);
    let rows: Vec<u64> = (0..5).map(|unit| latency(&rig.one(Op::Write, unit, 1))).collect();
    assert_eq!(rows, [ONE_PROGRAM; 5]);
    let summary = summary(ONE_DIE, "rw=write\nnumber_ios=100");
    let write = &summary["latency"]["write"];
    assert_eq!(write["mean_ns"].as_f64(), Some(ONE_PROGRAM as f64));
    for key in ["min_ns", "p50_ns", "max_ns"] {
        assert_eq!(write[key].as_u64(), Some(ONE_PROGRAM), "{key}");
    }
    assert_eq!(write["stddev_ns"].as_f64(), Some(0.0));
    assert!(write["p99_ns"].is_null(), "one sample beyond is too few");
}
