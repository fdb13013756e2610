//! Drives whose memory holds a part of the map: what a lookup costs, which pages are read and written, and why.

use crate::common::{ONE_DIE, PROGRAM, READ, Rig, assert_parts, read, session, summary, with};
use kit::{Cause, Op, Reason};
use serde_json::Value;

/// A filled drive of one die whose map has pages of 16 entries, with space for four of them and no changes apart.
const FOUR_PAGES: &str = "ftl.map_cache={ size = \"16KiB\", memory = \"sram\", page_entries = 16, update_share = 0.0 }";
const FILLED: &[&str] = &["state.precondition=fill", "ftl.gc_critical_blocks=3", "ftl.gc_low_blocks=4"];
/// Latency of the read of a map page, as of any other unit.
const PAGE: u64 = 290 + 50_000 + 3414;

fn sets<'a>(more: &[&'a str]) -> Vec<&'a str> {
    with(&with(ONE_DIE, FILLED), more)
}

#[test]
fn a_page_is_read_once_and_then_found() {
    let mut rig = Rig::new(&sets(&[FOUR_PAGES]));
    let map = [(Cause::Map, PAGE)];
    assert_parts("first read", &rig.one(Op::Read, 0, 1), &[&READ[..], &map].concat());
    assert_parts("same page", &rig.one(Op::Read, 15, 1), &READ);
    assert_parts("other page", &rig.one(Op::Read, 16, 1), &[&READ[..], &map].concat());
    // A write needs the old entry, too.
    assert_parts("write", &rig.one(Op::Write, 17, 1), &PROGRAM);
    assert_parts("write to a third page", &rig.one(Op::Write, 40, 1), &[&PROGRAM[..], &map].concat());
    // A trim of three pages, one of which is there.
    assert_parts("trim", &rig.one(Op::Trim, 32, 48), &[(Cause::Map, 2 * PAGE)]);
    assert_parts("flush", &rig.one_bytes(Op::Flush, 0, 0), &[]);
}

/// Pages that were never written need not be read.
#[test]
fn an_empty_drive_has_no_pages_to_read() {
    let mut rig = Rig::new(&with(ONE_DIE, &["ftl.gc_critical_blocks=3", "ftl.gc_low_blocks=4", FOUR_PAGES]));
    assert_parts("write", &rig.one(Op::Write, 0, 1), &PROGRAM);
    assert_parts("read", &rig.one(Op::Read, 0, 1), &READ);
    assert_eq!(rig.drive.flash().counters.reads[Reason::Map as usize], 0);
}

/// Four pages fit: of five in turn each has left before it is needed again, of four none.
#[test]
fn the_least_recently_used_page_leaves() {
    for (pages, hits) in [(4, 36), (5, 0)] {
        let mut rig = Rig::new(&sets(&[FOUR_PAGES]));
        for turn in 0..40 {
            rig.one(Op::Read, turn % pages * 16, 1);
        }
        let counts = rig.drive.map().map_cache().expect("it has a cache").counters;
        assert_eq!((counts.lookups, counts.lookups - counts.misses), (40, hits));
        assert_eq!(rig.drive.flash().counters.reads[Reason::Map as usize], 40 - hits);
    }
}

/// Commands that need one page wait for one read of it.
#[test]
fn misses_on_one_page_are_one_read() {
    let mut rig = Rig::new(&sets(&[FOUR_PAGES]));
    let tags = [0, 1, 2, 3].map(|unit| rig.submit(Op::Read, unit, 1, kit::SimTime(0)));
    rig.drain();
    assert_eq!(rig.drive.flash().counters.reads[Reason::Map as usize], 1);
    tags.iter().for_each(|tag| assert_eq!(rig.row(*tag).causes.get(Cause::Map).0, PAGE));
}

/// A command whose page has no space waits until a dirty one has been written.
#[test]
fn a_full_cache_makes_space() {
    let always_dirty = FOUR_PAGES.replace("update_share", "dirty_share = 1.0, update_share");
    let mut rig = Rig::new(&sets(&[&always_dirty]));
    for page in 0..4 {
        rig.one(Op::Write, page * 16, 1);
    }
    // At most two pages may be dirty beside a program of them: two have been written.
    let before = rig.programmed(Reason::Map);
    for page in 4..40 {
        rig.one(Op::Write, page * 16, 1);
    }
    assert_eq!((before, rig.programmed(Reason::Map)), (2, 38), "each page that came made another one leave");
    assert!(rig.drive.map().audit(false).is_empty());
}

/// Changes whose pages are not there are kept: 512 of them fill 4 KiB. Then the page with the oldest change is read,
/// and takes all of its changes.
#[test]
fn changes_wait_for_their_page_together() {
    // Collection moves units of pages that no command looks up.
    let cache = "ftl.map_cache={ size = \"32KiB\", memory = \"sram\", page_entries = 16, update_share = 0.5 }";
    let job = "rw=randwrite\nbs=4k\nnorandommap=1\niodepth=4\nio_size=100g\nnumber_ios=20000";
    let run = |cache: &str| summary(&with(FILLED, &[cache, "state.precondition=steady", "ftl.overprovisioning=0.28"]), job);
    let (kept, at_once) = (run(cache), run(&cache.replace("0.5", "0.0")));
    let number = |summary: &Value, key: &str| summary["map_cache"][key].as_f64().expect("a count");
    // With 512 changes kept, of 1,700 pages or so, most pages take one change each; without, all do.
    assert!(number(&kept, "pages_read_to_update") < 0.9 * number(&at_once, "pages_read_to_update"), "{kept:#} {at_once:#}");
    for summary in [&kept, &at_once] {
        let programs = &summary["flash"]["programs"];
        let (host, gc) = (programs["host"].as_f64().expect("a count"), programs["gc"].as_f64().expect("a count"));
        // Each unit of data that is written or moved is one changed entry. Of what collection moves, a part is the map.
        let changed = number(summary, "changed_entries");
        assert!(changed <= host + gc && changed > 2.0 * host, "{changed} changes, {summary:#}");
        let total: f64 = programs.as_object().expect("an object").values().filter_map(Value::as_f64).sum();
        assert_eq!(summary["write_amplification"].as_f64(), Some(total / host), "the map's programs count");
    }
}

/// Each 512 changes fill a unit of the journal. When its eight units are full, the changes so far are written: a
/// checkpoint.
#[test]
fn a_journal_has_every_change() {
    let cache = "ftl.map_cache={ size = \"256KiB\", memory = \"sram\", page_entries = 64, journal = \"32KiB\" }";
    let job = "rw=randwrite\nbs=4k\nnorandommap=1\niodepth=4\nio_size=100g\nnumber_ios=20000";
    let summary = summary(&with(FILLED, &[cache]), job);
    let changes = summary["map_cache"]["changed_entries"].as_u64().expect("a count");
    let checkpoints = summary["map_cache"]["checkpoints"].as_u64().expect("a count");
    assert!(checkpoints > 3 && checkpoints == changes / 512 / 8, "{checkpoints} checkpoints of {changes} changes");
    let journal = summary["flash"]["programs"]["journal"].as_u64().expect("a count");
    assert!(journal > changes / 512, "{journal} units with those of the checkpoints, {changes} changes");
}

/// Time of bytes on the link of the default NVMe interface \[ns\]: PCI Express 4.0 x4, 128 of 130 bits, and 2 % for its
/// link layer.
fn link_ns(bytes: u64) -> u64 {
    let rate = (16e9 * 4.0 * 128.0 / 130.0 / 8.0 * 0.98_f64).floor();
    (bytes as f64 * 1e9 / rate).ceil() as u64
}

/// A lookup in host memory is a request of 24 B, the wait for host memory, and a completion of 20 B with 64 B; a change
/// is a packet of 8 B. A page comes from flash and goes to host memory in packets of 256 B.
#[test]
fn a_host_memory_buffer_is_behind_the_link() {
    let nvme = "host.interface={ kind = \"nvme\" }";
    let cache = "ftl.map_cache={ size = \"64KiB\", memory = \"host\", journal = \"64KiB\", page_entries = 16 }";
    let (mut without, mut rig) = (Rig::new(&sets(&[nvme])), Rig::new(&sets(&[nvme, cache])));
    let link = |rig: &mut Rig, op: Op| rig.one(op, 0, 1).causes.get(Cause::Link).0;
    let entry = link_ns(24) + 500 + link_ns(84);
    let missed = rig.one(Op::Read, 0, 1);
    assert_eq!(missed.causes.get(Cause::Map).0, PAGE + link_ns(4096 + 16 * 24), "the page crosses the link");
    assert_eq!(missed.causes.get(Cause::Link).0, link(&mut without, Op::Read) + entry);
    assert_eq!(link(&mut rig, Op::Read), link(&mut without, Op::Read) + entry, "a hit");
    assert_eq!(link(&mut rig, Op::Write), link(&mut without, Op::Write) + entry + link_ns(24 + 8), "a change");
}

/// A page in DRAM is written there when it has been read: 4 KiB at 3.2 GB/s and 50 ns.
#[test]
fn a_cache_in_dram_takes_its_time() {
    let dram = "controller.dram={ kind = \"bandwidth\", rate = \"3200MB/s\", latency = \"50ns\" }";
    let mut rig = Rig::new(&sets(&[dram, &FOUR_PAGES.replace("sram", "dram")]));
    let access = |bytes: u64| bytes * 10 / 32 + 50;
    let parts = [(Cause::Map, PAGE + access(4096)), (Cause::Dram, 2 * access(4096) + access(64))];
    assert_parts("read", &rig.one(Op::Read, 0, 1), &[&READ[..], &parts].concat());
    // The lookup, the data in and out, and the change of the entry.
    let parts = [(Cause::Dram, 2 * access(4096) + 2 * access(64))];
    assert_parts("write", &rig.one(Op::Write, 0, 1), &[&PROGRAM[..], &parts].concat());
}

/// Random reads of a map that is much larger than its cache: each needs two flash reads, or one if its page is there.
#[test]
fn missing_pages_are_the_bottleneck() {
    let cache = "ftl.map_cache={ size = \"1MiB\", memory = \"sram\", page_entries = 16, update_share = 0.0 }";
    let job = "rw=randread\nbs=4k\nnorandommap=1\niodepth=32\nio_size=100g\nnumber_ios=30000";
    let summary = summary(&sets(&[cache]), job);
    let pages = Rig::new(&sets(&[cache])).drive.map().map_pages();
    let hits = summary["map_cache"]["hit_ratio"].as_f64().expect("a ratio");
    assert!((hits / (256.0 / f64::from(pages)) - 1.0).abs() < 0.05, "{hits}, of 256 of {pages} pages");
    // Some of the commands that miss wait for a page that is being read for another one.
    let page_reads = summary["map_cache"]["pages_read"].as_f64().expect("a count") / 30_000.0;
    assert!(page_reads <= 1.0 - hits && page_reads > 0.9 * (1.0 - hits), "{page_reads} for each command");
    let found = summary["throughput"]["iops"].as_f64().expect("a rate");
    let expected = 1e9 / ((1.0 + page_reads) * PAGE as f64);
    assert!((found / expected - 1.0).abs() < 0.01, "{found} reads per second, expected {expected}");
    assert_eq!(summary["causes"]["read"]["map"].as_f64().map(|map| map > 0.0), Some(true));
}

#[test]
fn caches_that_cannot_work_are_refused() {
    let nvme = "host.interface=nvme";
    for (cache, more, expected) in [
        ("{ size = \"12KiB\" }", "", "ftl.map_cache.size: 12KiB: expected at least 21846B, for the pages of four programs"),
        ("{ size = \"64KiB\", memory = \"host\" }", nvme, "ftl.map_cache.journal: missing: the changes of a map in host memory"),
        (
            "{ size = \"64KiB\", memory = \"host\", journal = \"1MiB\" }",
            "",
            "ftl.map_cache.memory: \"host\": the host interface gives",
        ),
        ("{ size = \"64KiB\", journal = \"4KiB\" }", "", "ftl.map_cache.journal: 4KiB: expected at least 8192B, two programs"),
        ("{ size = \"64KiB\", dirty_share = 0.0 }", "", "dirty_share: 0: expected 0.01..=1"),
        ("{ size = \"64KiB\", page_entries = 2000 }", "", "page_entries: 2000: expected 1..=1024"),
        ("{ sise = \"64KiB\" }", "", "unknown field `sise`"),
        (
            "{ size = \"64KiB\" }",
            "ftl.gc_critical_blocks=2",
            "ftl.gc_critical_blocks: 2: expected more than reserve_blocks = 1 and one for the map",
        ),
        (
            "{ size = \"64KiB\" }",
            "ftl.translation=waf",
            "ftl.map_cache: a mapping cache needs another translation layer than `waf`",
        ),
        (
            "{ size = \"64MiB\" }",
            "controller.dram={ kind = \"bandwidth\", rate = \"1GB/s\", size = \"1MiB\" }",
            "controller.dram.size: 1MiB: expected at least",
        ),
    ] {
        let cache = format!("ftl.map_cache={cache}");
        let all = with(FILLED, if more.is_empty() { vec![cache.as_str()] } else { vec![cache.as_str(), more] }.as_slice());
        let message = read(&all).expect_err("it cannot work").to_string();
        assert!(message.contains(expected), "found:    {message}\nexpected: {expected}");
    }
    assert!(session("base = \"tiny\"", FILLED, None, "[job]\nrw=read\nnumber_ios=1\n").is_ok());
}
