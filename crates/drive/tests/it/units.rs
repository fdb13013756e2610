//! Mapping units of more than 4 KiB: what commands within a unit cost, and the drives that they make possible.

use crate::common::{ONE_DIE, Rig, assert_parts, session, transfer, with};
use drive::Description;
use kit::{Cause, Op};
use serde_json::Value;

/// A die with pages of 16 KiB.
fn pages_of_16k(sets: &[&'static str]) -> Vec<&'static str> {
    with(&with(ONE_DIE, &["flash.page_size=16KiB"]), sets)
}

const UNITS_OF_16K: &[&str] = &["ftl.mapping_unit=16KiB"];

fn refusal(sets: &[&str]) -> String {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Description::read("d.toml", "base = \"tiny\"", &sets).expect_err("it is refused").to_string()
}

/// Of a unit that is read in part, only the 4 KiB that the host asks for cross the channel.
#[test]
fn a_read_moves_what_the_host_asks_for() {
    let mut rig = Rig::new(&pages_of_16k(UNITS_OF_16K));
    rig.one(Op::Write, 0, 16);
    let read = |rig: &mut Rig, what: &str, (offset, length): (u64, u64), moved: u64| {
        let row = rig.one_bytes(Op::Read, offset, length);
        let parts = [(Cause::BusCommand, 290), (Cause::Sense, 50_000), (Cause::Transfer, transfer(moved, 1200))];
        assert_parts(what, &row, &parts);
    };
    read(&mut rig, "a whole unit", (0, 16 << 10), 4);
    read(&mut rig, "its second 4 KiB", (4 << 10, 4 << 10), 1);
    read(&mut rig, "a sector", (512, 512), 1);
    read(&mut rig, "sectors across a boundary of 4 KiB", (3584, 1024), 2);
    read(&mut rig, "its last 12 KiB", (4 << 10, 12 << 10), 3);
    // Two pages of a block, one after the other: the second read is the command's last part.
    let both = rig.one_bytes(Op::Read, 12 << 10, 8 << 10);
    let moved = both.causes.get(Cause::Transfer).0;
    assert_eq!(moved, transfer(1, 1200), "4 KiB of each of two units");
}

/// A read cache keeps whole units: it takes them from the flash whole.
#[test]
fn a_read_cache_takes_whole_units() {
    let mut rig = Rig::new(&pages_of_16k(&["ftl.mapping_unit=16KiB", "buffer.read_cache=1MiB", "state.precondition=fill"]));
    let row = rig.one_bytes(Op::Read, 4 << 10, 4 << 10);
    let moved = row.causes.get(Cause::Transfer).0;
    assert_eq!(moved, transfer(4, 1200));
}

/// Random writes of 4 KiB program four times their bytes, and read each unit first; whole units do neither.
#[test]
fn a_write_of_a_part_reads_and_programs_the_unit() {
    let run = |bs: &str| {
        let job = format!("[job]\nrw=randwrite\nbs={bs}\nnorandommap=1\niodepth=4\nio_size=1g\nnumber_ios=1000\n");
        let sets = ["flash.page_size=16KiB", "ftl.mapping_unit=16KiB", "state.precondition=fill", "ftl.overprovisioning=1.0"];
        session("base = \"tiny\"", &sets, None, &job).unwrap_or_else(|problems| panic!("{problems}")).summary
    };
    for (bs, amplification, reads) in [("4k", 4.0, true), ("16k", 1.0, false)] {
        let summary = run(bs);
        let host = &summary["flash"]["programs"]["host"];
        assert_eq!(host.as_f64(), Some(1000.0), "{bs}: a program for each write: {summary}");
        let by_bytes = summary["write_amplification_bytes"].as_f64().expect("a ratio");
        assert!(
            (by_bytes - amplification * summary["write_amplification"].as_f64().expect("a ratio")).abs() < 1e-9,
            "{by_bytes}"
        );
        // A few units are still in the controller, which holds the rest of them.
        let read = summary["flash"]["reads"]["rmw"].as_f64().unwrap_or(0.0);
        assert!(if reads { (900.0..=1000.0).contains(&read) } else { read == 0.0 }, "{bs}: {read}");
    }
}

/// The drive is the same; only the grain of its map differs. Whole units in order take the same time.
#[test]
fn sequential_whole_units_take_the_same_time() {
    let run = |unit: &str| {
        let job = "[job]\nrw=write\nbs=64k\niodepth=4\nio_size=8m\n[back]\nstonewall\nrw=read\nbs=64k\niodepth=4\nio_size=8m\n";
        let sets = ["flash.page_size=16KiB", &format!("ftl.mapping_unit={unit}")];
        session("base = \"tiny\"", &sets, None, job).unwrap_or_else(|problems| panic!("{problems}")).summary
    };
    let of = |summary: &Value| ["read", "write"].map(|op| summary["latency"][op]["mean_ns"].clone());
    assert!(of(&run("4KiB"))[0].is_number());
    assert_eq!(of(&run("4KiB")), of(&run("16KiB")));
}

/// 128 TB of QLC: 16 channels of 8 dies with four planes as one page of 64 KiB. The places of its units fit into 32
/// bits if units have 64 KiB, and it plays commands at both ends.
#[test]
fn a_drive_of_128_tb_has_units_of_64_kib() {
    let flash = [
        "flash.channels=16",
        "flash.chips_per_channel=8",
        "flash.cell=qlc",
        "flash.cell_model=volt-qlc",
        "flash.planes_per_die=4",
        "flash.native_page=16KiB",
        "flash.page_size=64KiB",
        "flash.multi_plane=true",
        "flash.pages_per_block=2112",
        "flash.blocks_per_plane=8192",
        "ftl.overprovisioning=0.07",
    ];
    let message = refusal(&flash);
    assert!(message.contains("expected less than 16 TiB") && message.contains("ftl.mapping_unit"), "{message}");
    let sets = with(&flash, &["ftl.mapping_unit=64KiB"]);
    let mut rig = Rig::new(&sets);
    let end = rig.drive.user_bytes();
    assert!(end > 128_000_000_000_000, "{end}");
    for offset in [0, end - (64 << 10)] {
        rig.one_bytes(Op::Write, offset, 64 << 10);
        let read = rig.one_bytes(Op::Read, offset + 4096, 4096);
        assert_eq!(read.length, 4096);
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    for (sets, expected) in [
        (&["ftl.mapping_unit=2KiB"][..], "2KiB: expected a power of two from 4KiB to 256KiB that divides flash.page_size = 4KiB"),
        (&["ftl.mapping_unit=12KiB", "flash.page_size=48KiB"], "12KiB: expected a power of two from 4KiB"),
        (&["ftl.mapping_unit=32KiB", "flash.page_size=16KiB"], "that divides flash.page_size = 16KiB"),
        (&["ftl.mapping_unit=512KiB", "flash.page_size=512KiB"], "512KiB: expected a power of two from 4KiB to 256KiB"),
        (
            &["ftl.mapping_unit=16KiB", "flash.page_size=16KiB", "ftl.translation=zns"],
            "expected 4KiB with ftl.translation = \"zns\"",
        ),
        (&["ftl.mapping_unit=16KiB", "flash.page_size=16KiB", "ftl.map_cache.size=1MiB"], "expected 4KiB with ftl.map_cache"),
    ] {
        let message = refusal(sets);
        assert!(message.contains("ftl.mapping_unit") && message.contains(expected), "{sets:?}: {message}");
    }
}

/// A read cache holds whole units: one that holds none is not taken for a small one.
#[test]
fn a_read_cache_of_less_than_a_unit_is_refused() {
    let drive = ["ftl.mapping_unit=16KiB", "flash.page_size=16KiB"];
    let small = refusal(&with(&drive, &["buffer.read_cache=8KiB"]));
    assert!(small.contains("buffer.read_cache: 8KiB: expected 16KiB to 128GiB"), "{small}");
    let ahead = refusal(&with(&drive, &["buffer.read_cache=1MiB", "buffer.read_ahead=4KiB"]));
    assert!(ahead.contains("buffer.read_ahead: 4KiB: expected 0B, or at least a mapping unit, 16KiB"), "{ahead}");
}
