//! Drives that are written in place: times by hand, bounds, the places of units, wear, and what is refused.

mod shadow;

use crate::common::{assert_parts, session};
use drive::{CommandRow, Description, Drive};
use kit::{Bytes, Cause, ChannelId, HostCommand, Op, ReadSource, Record};
use serde_json::Value;

const BASE: &str = "base = \"rram-512g-800\"";
/// Overrides that leave nothing but the medium and its channels.
pub(crate) const IDEAL: &[&str] = &[
    "title=ideal",
    "host.interface=ideal",
    "buffer.policy=none",
    "controller.firmware=ideal",
    "controller.interconnect=ideal",
    "controller.dram=ideal",
];
const PAGES: [u64; 5] = [256, 512, 1024, 2048, 4096];
/// Chip select, six cycles, busy and ready of NV-DDR3: 20 + 6 x 25 + 100 + 20 ns.
const READ_COMMAND: u64 = 290;

pub(crate) fn read_description(sets: &[&str]) -> Result<Description, String> {
    let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
    Description::read("test.toml", BASE, &sets).map_err(|problems| problems.to_string())
}

pub(crate) fn description(sets: &[&str]) -> Description {
    read_description(sets).unwrap_or_else(|problems| panic!("{problems}"))
}

fn page(bytes: u64) -> String {
    format!("flash.page_size={bytes}B")
}

/// Nanoseconds in which `bytes` cross a channel of 800 MT/s.
fn transfer(bytes: u64) -> u64 {
    (bytes * 10).div_ceil(8)
}

/// A drive under test, with a log of its commands and its journal enabled.
struct Rig {
    drive: Drive,
    next_tag: u32,
}

impl Rig {
    fn new(sets: &[&str]) -> Rig {
        let mut drive = Drive::new(&description(sets), 1).expect("the tables fit");
        drive.adopt();
        drive.statistics.log = Some(Vec::new());
        drive.journal().enable(true);
        Rig { drive, next_tag: 0 }
    }

    fn one(&mut self, op: Op, offset: u64, length: u64) -> CommandRow {
        let tag = self.next_tag;
        self.next_tag += 1;
        self.drive.submit(HostCommand::new(op, tag, Bytes(offset), Bytes(length)), self.drive.now());
        loop {
            let log = self.drive.statistics.log.as_deref().unwrap_or_default();
            if let Some(row) = log.iter().find(|row| row.tag == tag) {
                return *row;
            }
            let at = self.drive.next_event().expect("a command is in flight");
            self.drive.advance(at);
        }
    }

    fn records(&mut self) -> Vec<Record> {
        std::mem::take(&mut self.drive.journal().records)
    }
}

/// Runs a fio job and returns the summary, or the message of what is refused.
fn try_run(sets: &[&str], job: &str) -> Result<Value, String> {
    let outcome = session(BASE, sets, None, &format!("[j]\n{job}\n"));
    outcome.map(|outcome| outcome.summary).map_err(|problems| problems.to_string())
}

fn summary(sets: &[&str], job: &str) -> Value {
    try_run(sets, job).unwrap_or_else(|problems| panic!("{problems}"))
}

fn number(summary: &Value, path: &str) -> f64 {
    summary.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {summary:#}"))
}

fn with<'a>(first: &[&'a str], then: &[&'a str]) -> Vec<&'a str> {
    [first, then].concat()
}

/// Alone, a read and a write of a page take the sum of their parts; the array time does not depend on the planes that
/// work together, the transfer does.
#[test]
fn a_single_command_takes_the_sum_of_its_parts() {
    for bytes in PAGES {
        let mut rig = Rig::new(&with(IDEAL, &[&page(bytes)]));
        let read = rig.one(Op::Read, 3 * bytes, bytes);
        assert_parts(
            "read",
            &read,
            &[(Cause::BusCommand, READ_COMMAND), (Cause::Sense, 1000), (Cause::Transfer, transfer(bytes))],
        );
        let write = rig.one(Op::Write, 3 * bytes, bytes);
        let command = 20 + 6 * 25 + 70 + 21 + 100;
        assert_parts(
            "write",
            &write,
            &[(Cause::BusCommand, command), (Cause::Transfer, transfer(bytes)), (Cause::Program, 10_000)],
        );
        assert_eq!(rig.drive.flash().counters.operations, [1, 1, 0, 0, 0], "nothing is erased");
        let drive = description(&[&page(bytes)]);
        assert_eq!(drive.geometry().physical_bytes(), 512 << 30, "planes that work as one have the same capacity");
    }
}

/// A write of a part of a page reads the rest first; a read of a part senses the whole page. A trim changes nothing.
#[test]
fn parts_of_a_page_read_the_whole_of_it() {
    let mut rig = Rig::new(&with(IDEAL, &[&page(4096)]));
    let write = rig.one(Op::Write, 4096 + 512, 256);
    let parts = [
        (Cause::Rmw, READ_COMMAND + 1000 + transfer(4096)),
        (Cause::BusCommand, 361),
        (Cause::Transfer, transfer(4096)),
        (Cause::Program, 10_000),
    ];
    assert_parts("partial write", &write, &parts);
    let parts = [(Cause::BusCommand, READ_COMMAND), (Cause::Sense, 1000), (Cause::Transfer, transfer(4096))];
    assert_parts("partial read", &rig.one(Op::Read, 4096 + 512, 256), &parts);
    assert_parts("trim", &rig.one(Op::Trim, 4096, 4096), &[]);
    assert_parts("read of what was trimmed", &rig.one(Op::Read, 4096, 256), &parts);
}

/// A whole write that comes while the rest of a partial one of its page is being read follows that.
#[test]
fn a_later_write_of_a_page_follows_a_partial_one() {
    let mut rig = Rig::new(&with(IDEAL, &[&page(4096)]));
    let partial = HostCommand::new(Op::Write, 100, Bytes(4096 + 512), Bytes(256));
    rig.drive.submit(partial, rig.drive.now());
    let whole = rig.one(Op::Write, 4096, 4096);
    assert_eq!(whole.causes.get(Cause::Rmw).0, READ_COMMAND + 1000 + transfer(4096));
    let log = rig.drive.statistics.log.as_deref().unwrap_or_default();
    assert_eq!(log.iter().map(|row| row.tag).collect::<Vec<_>>(), [100, whole.tag]);
}

/// The chunks of 4 KiB lie on as many successive channels, whatever the page.
#[test]
fn the_chunks_of_a_command_lie_on_successive_channels() {
    for bytes in PAGES {
        for layer in ["in_place", "{ kind = \"in_place\", randomize = true, region_pages = 4096 }"] {
            let mut rig = Rig::new(&with(IDEAL, &[&page(bytes), &format!("ftl.translation={layer}")]));
            let geometry = description(&[&page(bytes)]).geometry();
            for command in [0, 1, 77, 1 << 20] {
                rig.one(Op::Read, command * 4096, 4096);
                let channels: Vec<ChannelId> = rig
                    .records()
                    .iter()
                    .filter_map(|record| match record {
                        Record::ReadResolved { source: ReadSource::Flash(ppn), .. } => {
                            Some(geometry.channel_of(geometry.die_of(geometry.block_of(*ppn))))
                        }
                        _ => None,
                    })
                    .collect();
                let chunks = 4096 / bytes;
                let first = command * chunks % 16;
                let expected: Vec<ChannelId> = (0..chunks).map(|chunk| ChannelId(((first + chunk) % 16) as u32)).collect();
                assert_eq!(channels, expected, "{bytes} B, command {command}, {layer}");
            }
        }
    }
}

/// Sequential reads of whole pages: many dies on a channel are bound by the channel, one by the die. Both within 1 % of
/// the closed form.
#[test]
fn reads_are_bound_by_the_channel_or_by_the_die() {
    for bytes in PAGES {
        // In order, so that every channel and die has the same share.
        let job = format!("rw=read\nbs={bytes}\niodepth=512\nsize=4g\nnumber_ios=100000\nramp_time=200us");
        let size = page(bytes);
        let channel = number(&summary(&with(IDEAL, &[&size]), &job), "/throughput/iops");
        let expected = 16e9 / (READ_COMMAND + transfer(bytes)) as f64;
        assert!((channel / expected - 1.0).abs() < 0.01, "channel, {bytes} B: {channel}, expected {expected}");
        let one = with(IDEAL, &[&size, "flash.chips_per_channel=1"]);
        let die = number(&summary(&one, &job), "/throughput/iops");
        let expected = 16e9 / (READ_COMMAND + 1000 + transfer(bytes)) as f64;
        assert!((die / expected - 1.0).abs() < 0.01, "die, {bytes} B: {die}, expected {expected}");
    }
}

/// Overrides of a drive with 2 dies of 16 planes x 4 blocks x 4 pages.
pub(crate) const SMALL: &[&str] =
    &["flash.channels=2", "flash.chips_per_channel=1", "flash.blocks_per_plane=4", "flash.pages_per_block=4"];

/// Writes to one address wear all the pages of its region alike, and one more in `gap_interval` writes is a move.
#[test]
fn writes_to_one_address_wear_its_region() {
    for (region, interval) in [(16u64, 4u64), (32, 10), (256, 1)] {
        let layer = format!("ftl.translation={{ kind = \"in_place\", region_pages = {region}, gap_interval = {interval} }}");
        // As many writes as take the address round the region twice.
        let writes = 2 * region * (region - 1) * interval;
        let job = format!("rw=write\nbs=256\nsize=256\nio_size=100g\niodepth=1\nnumber_ios={writes}");
        let found = summary(&with(&with(IDEAL, SMALL), &[&layer]), &job);
        let moves = number(&found, "/translation/gap_moves");
        assert!((writes / interval) as f64 - moves <= 1.0, "{moves} moves of {writes} writes");
        assert_eq!(number(&found, "/translation/page_writes"), writes as f64 + moves);
        assert_eq!(number(&found, "/translation/pages_written"), region as f64, "the whole region");
        let most = number(&found, "/translation/most_page_writes");
        let mean = (writes as f64 + moves) / region as f64;
        assert!(most < 1.2 * mean + 2.0 * interval as f64, "{most} writes of one page, {mean} in the mean");
        assert_eq!(number(&found, "/flash/programs/wear"), moves);
        assert!((number(&found, "/flash/reads/wear") - moves).abs() <= 1.0);
        assert!((number(&found, "/write_amplification") - (1.0 + moves / writes as f64)).abs() < 1e-9);
        assert!(found["wear"]["mean"].is_null() && found["flash"]["erases"].as_object().is_some_and(|erases| erases.is_empty()));
    }
}

/// With `reassemble` the data of a command crosses the link once, when its last chunk has arrived: with 16 chunks one
/// after another on one channel, the link's time for 4 KiB comes after all of them. Without, only that of the last.
#[test]
fn chunks_are_collected_before_they_cross_the_link() {
    let link = "host.interface={ kind = \"plain\", queue_depth = 32, command_time = \"0ns\", bandwidth = \"1000MB/s\" }";
    let one = ["flash.channels=1", "flash.chips_per_channel=1", link];
    let chunk = READ_COMMAND + 1000 + transfer(256);
    for (layer, last) in [("in_place", 256), ("{ kind = \"in_place\", reassemble = true }", 4096)] {
        let mut rig = Rig::new(&with(&with(IDEAL, &one), &[&format!("ftl.translation={layer}")]));
        let row = rig.one(Op::Read, 0, 4096);
        assert_eq!(row.completed.since(row.submitted).0, 16 * chunk + last, "{layer}");
        // Two commands in a row, and one of a single chunk, are delivered, too.
        assert_eq!(rig.one(Op::Read, 4096, 256).completed.since(rig.drive.now()).0, 0);
    }
}

/// The chunks of a command are work of the firmware: on one core they take the cycles of each.
#[test]
fn each_chunk_takes_its_cycles() {
    let cycles = |look_up: u32, receive: u32| {
        format!(
            "controller.firmware={{ kind = \"cores\", count = 1, clock = \"100MHz\", cycles = {{ decode = 0, complete = 0, \
             look_up = {look_up}, receive = {receive} }} }}"
        )
    };
    for bytes in PAGES {
        let chunks = 4096 / bytes;
        let time = |look_up, receive| {
            let mut rig = Rig::new(&with(IDEAL, &[&page(bytes), &cycles(look_up, receive)]));
            let row = rig.one(Op::Read, 0, 4096);
            row.completed.since(row.submitted).0
        };
        let alone = READ_COMMAND + 1000 + transfer(bytes);
        assert_eq!(time(0, 0), alone);
        assert_eq!(time(20, 0), alone + 200 * chunks, "looked up before any is read");
        assert_eq!(time(0, 30), alone + 300 * chunks, "they arrive together, and the core takes one after another");
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let refused = |sets: &[&str], parts: &[&str]| {
        let found = read_description(sets).expect_err("must be refused");
        parts.iter().for_each(|part| assert!(found.contains(part), "{sets:?}: {found}"));
    };
    refused(&["flash.page_size=128B"], &["flash.page_size", "256B, 512B, 1KiB, 2KiB or 4KiB"]);
    refused(&["flash.page_size=768B"], &["flash.page_size", "768B"]);
    refused(&["flash.page_size=8KiB"], &["flash.page_size", "planes_per_die = 16"]);
    refused(&["flash.native_page=4KiB"], &["flash.page_size", "flash.native_page"]);
    refused(
        &["flash.native_page=8KiB", "flash.page_size=8KiB", "flash.blocks_per_plane=4"],
        &["ftl.translation", "at most 4KiB"],
    );
    refused(&["ftl.write_allocation=pull"], &["ftl.write_allocation", "static"]);
    refused(&["ftl.translation={ kind = \"in_place\", region_pages = 100 }"], &["region_pages", "divisor of 16777216"]);
    refused(&["host.logical_block=128B"], &["host.logical_block", "256B"]);
    refused(&["policy.kind=ofwar"], &["policy.kind"]);
    refused(&["buffer.read_cache=1MiB"], &["buffer.read_cache", "in_place"]);
    refused(&["ftl.translation=page_map"], &["flash.page_size", "host.logical_block", "in_place"]);
    let base = |base: &str, set: &str| Description::read("t.toml", &format!("base = \"{base}\""), &[set.to_owned()]);
    for (set, place) in [("flash.page_size=256B", "flash.page_size"), ("host.logical_block=256B", "host.logical_block")] {
        let found = base("tiny", set).expect_err("a page map has units of 4 KiB").to_string();
        assert!(found.contains(place) && found.contains("in_place"), "{found}");
    }
    // A job with blocks that the drive has not.
    let found = try_run(&["host.logical_block=512B"], "rw=randread\nbs=256\nnumber_ios=9").expect_err("blocks of 512 B");
    assert!(["`j`", "256B", "512B", "host.logical_block"].iter().all(|part| found.contains(part)), "{found}");
    let found = try_run(&["host.logical_block=512B"], "rw=randread\nbs=4k\noffset=768\nnumber_ios=9").expect_err("offset");
    assert!(found.contains("host.logical_block"), "{found}");
    assert!(try_run(&[], "rw=randread\nbs=256\nnumber_ios=9").is_ok());
}
