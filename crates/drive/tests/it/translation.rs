//! Translation layers other than the page map, and mock-up drives.

use crate::common::{ONE_DIE, PROGRAM, READ, assert_parts, description, read, session, summary, with};
use drive::{CommandRow, Description, Drive, mock_up, shrink};
use kit::{Bytes, Cause, HostCommand, Op, UNIT_BYTES};
use serde_json::Value;

const WAF: &str = "ftl.translation=waf";
const WRITES: &str = "rw=randwrite\nbs=4k\nnorandommap=1\niodepth=32\nio_size=100g\nnumber_ios=100000";

fn number(summary: &Value, path: &str) -> f64 {
    summary.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("no {path} in {summary:#}"))
}

/// Runs single commands on a drive, one after another.
fn one_by_one(sets: &[&str], commands: &[(Op, u64, u64)]) -> Vec<CommandRow> {
    let description = description(sets);
    let mut drive = Drive::new(&description, 1).expect("the tables fit");
    drive.adopt();
    drive.statistics.log = Some(Vec::new());
    for (tag, (op, unit, count)) in (0..).zip(commands) {
        drive.submit(HostCommand::new(*op, tag, Bytes(unit * UNIT_BYTES), Bytes(count * UNIT_BYTES)), drive.now());
        while drive.statistics.log.as_ref().is_some_and(|log| log.len() <= tag as usize) {
            let at = drive.next_event().expect("a command is in flight");
            drive.advance(at);
        }
    }
    drive.statistics.log.take().unwrap_or_default()
}

/// Alone, a read and a write are those of a drive with a map; each unit counts as written. A partial write reads the
/// rest of its unit.
#[test]
fn without_a_map_single_commands_cost_the_same() {
    let sets = with(ONE_DIE, &[WAF, "ftl.translation={ kind = \"waf\", write_amplification = 1.0 }"]);
    let rows = one_by_one(&sets, &[(Op::Read, 0, 1), (Op::Write, 5, 1), (Op::Read, 5, 1), (Op::Trim, 0, 9), (Op::Flush, 0, 0)]);
    assert_parts("read", &rows[0], &READ);
    assert_parts("write", &rows[1], &PROGRAM);
    assert_parts("read of what was written", &rows[2], &READ);
    assert_parts("trim", &rows[3], &[]);
    assert_parts("flush", &rows[4], &[]);
}

/// Units of one row are sensed together; a range over several dies is read from each.
#[test]
fn a_long_read_takes_each_row_once() {
    let sets = ["flash.channels=1", "flash.chips_per_channel=2", "flash.page_size=16KiB", WAF];
    let rows = one_by_one(&sets, &[(Op::Read, 0, 4), (Op::Read, 2, 4), (Op::Read, 0, 16)]);
    let transfer = |units: u64| (units * 4096 * 1000).div_ceil(1200);
    assert_parts("a row", &rows[0], &[(Cause::BusCommand, 290), (Cause::Sense, 50_000), (Cause::Transfer, transfer(4))]);
    // Halves of two rows on two dies: the second die's command and data wait for those of the first.
    let last = [(Cause::BusWait, 290), (Cause::BusCommand, 290), (Cause::Sense, 50_000), (Cause::Transfer, transfer(2))];
    let waits = transfer(2).saturating_sub(290);
    assert_parts(
        "two dies",
        &rows[1],
        &[&last[..], &[(Cause::BusWait, waits)]].concat().iter().fold(Vec::new(), |mut sums, part| {
            match sums.iter_mut().find(|(cause, _): &&mut (Cause, u64)| *cause == part.0) {
                Some((_, ns)) => *ns += part.1,
                None => sums.push(*part),
            }
            sums
        }),
    );
    assert_eq!(rows.len(), 3);
}

/// The programs of a long run are those of the host times the factor that is given or computed, to 0.2 %.
#[test]
fn writes_are_amplified_by_the_factor() {
    for layer in [
        "waf",
        "{ kind = \"waf\", write_amplification = 1.0 }",
        "{ kind = \"waf\", write_amplification = 1.32 }",
        "{ kind = \"waf\", write_amplification = 7.5 }",
        "{ kind = \"waf\", model = \"oldest_first\" }",
        "{ kind = \"waf\", model = \"windowed_greedy\", window = 0.1 }",
        "{ kind = \"waf\", model = \"oldest_first\", hot = { data = 0.2, writes = 0.8 } }",
        "{ kind = \"waf\", write_amplification = 1.32, piece = 7 }",
        "{ kind = \"waf\", write_amplification = 7.5, piece = 1 }",
    ] {
        for more in ["flash.pages_per_block=64", "flash.pages_per_block=4", "flash.page_size=16KiB"] {
            let found = summary(&[&format!("ftl.translation={layer}"), more], WRITES);
            let (factor, programmed) =
                (number(&found, "/translation/write_amplification"), number(&found, "/write_amplification"));
            assert!((programmed / factor - 1.0).abs() < 0.002, "{layer}, {more}: {programmed}, expected {factor}");
            // A block is erased for each block of programs.
            let description = description(&[more]);
            let block = f64::from(description.geometry().units_per_block);
            let erases = number(&found, "/flash/operations/erase");
            assert!((erases / (100_000.0 * programmed / block) - 1.0).abs() < 0.01, "{layer}, {more}: {erases} erases");
            assert!(found["wear"]["mean"].is_null() && found["wear_histogram"]["blocks"].is_null(), "there is no wear of blocks");
        }
    }
}

/// From the start the dies collect in turn, so that a busy drive serves its writes evenly; one that is not busy goes on
/// with no collection of the start.
#[test]
fn dies_collect_in_turn_from_the_start() {
    let sets = ["flash.channels=4", "flash.chips_per_channel=8", "flash.pages_per_block=64", "buffer.policy=none"];
    for factor in ["2.0", "4.0"] {
        let layer = format!("ftl.translation={{ kind = \"waf\", write_amplification = {factor} }}");
        let sets = with(&sets, &[&layer]);
        let busy = summary(&sets, &WRITES.replace("iodepth=32", "iodepth=64"));
        let (mean, spread) = (number(&busy, "/latency/write/mean_ns"), number(&busy, "/latency/write/stddev_ns"));
        assert!(spread < 0.25 * mean, "{factor}: {mean} ns in the mean, standard deviation {spread} ns");
        let calm = summary(&sets, "rw=randwrite\nbs=4k\nnorandommap=1\niodepth=1\nnumber_ios=4096");
        let (programmed, erases) = (number(&calm, "/write_amplification"), number(&calm, "/flash/operations/erase"));
        let block = f64::from(description(&sets).geometry().units_per_block);
        assert!((erases - 4096.0 * programmed / block).abs() < 8.0, "{factor}: {erases} erases, {programmed} written");
    }
}

/// One die with a write amplification of 2 and one write at a time: of each `piece` pages half are moved. A write waits
/// for the moves of a piece at most, and for the erase of the block behind the last of them.
#[test]
fn a_write_waits_for_a_piece_of_a_collection() {
    let sum = |parts: &[(Cause, u64)]| parts.iter().map(|(_, time)| time).sum::<u64>();
    let (moved, alone, erase) = (sum(&READ) + sum(&PROGRAM), sum(&PROGRAM), 220 + 3_000_000);
    let writes: Vec<(Op, u64, u64)> = (0..192).map(|unit| (Op::Write, unit, 1)).collect();
    for piece in [64, 32, 8, 2] {
        let layer = format!("ftl.translation={{ kind = \"waf\", write_amplification = 2.0, piece = {piece} }}");
        let rows = one_by_one(&with(ONE_DIE, &["flash.pages_per_block=64", &layer]), &writes);
        let mut times: Vec<u64> = rows[64..].iter().map(|row| row.completed.0 - row.submitted.0).collect();
        times.sort_unstable();
        // Two or four blocks have been written, half of them by the host: a piece comes with each half of its pages.
        let erases = times.split_off(times.len() - 4);
        let pieces = times.split_off(times.len() - (4 * 64 / piece - 4));
        assert!(times.iter().all(|&time| time == alone), "{piece}: {times:?}");
        let of_piece = alone + piece as u64 / 2 * moved;
        assert!(pieces.iter().all(|&time| time == of_piece), "{piece}: {of_piece}, {pieces:?}");
        assert!(erases.iter().all(|&time| time == of_piece + erase), "{piece}: {}, {erases:?}", of_piece + erase);
    }
}

/// With the write amplification that a page map has, its throughput under random writes is that of the map, whose
/// collection is not interrupted by writes.
#[test]
fn the_factor_predicts_the_throughput_of_a_map() {
    for more in
        [&["ftl.overprovisioning=0.28"][..], &["ftl.overprovisioning=0.12"], &["flash.channels=1", "flash.chips_per_channel=8"]]
    {
        let sets = with(more, &["ftl.gc_preemptible=false", "state.precondition=steady"]);
        let map = summary(&sets, WRITES);
        let factor = number(&map, "/write_amplification");
        let layer = format!("ftl.translation={{ kind = \"waf\", write_amplification = {factor} }}");
        let waf = summary(&with(&sets, &[&layer]), WRITES);
        let (with_map, without) = (number(&map, "/throughput/iops"), number(&waf, "/throughput/iops"));
        assert!((without / with_map - 1.0).abs() < 0.06, "{more:?}, {factor}: {without}, {with_map} with a map");
    }
}

/// The computed factor is near that of a map, which keeps more blocks free than the formula assumes.
#[test]
fn the_computed_factor_is_that_of_a_map() {
    for (victim, model) in [("greedy", "greedy"), ("fifo", "oldest_first")] {
        let sets = ["flash.blocks_per_plane=512", "flash.channels=1", "state.precondition=steady", "ftl.overprovisioning=0.2"];
        let map = number(&summary(&with(&sets, &[&format!("ftl.victim={victim}")]), WRITES), "/write_amplification");
        let layer = format!("ftl.translation={{ kind = \"waf\", model = \"{model}\" }}");
        let computed = number(&summary(&with(&sets, &[&layer]), WRITES), "/translation/write_amplification");
        assert!((computed / map - 1.0).abs() < 0.05, "{victim}: {computed}, {map} with a map");
    }
}

/// Write buffers, read errors, SATA and a detailed controller work without a map; the same seed gives the same results.
#[test]
fn the_parts_of_a_drive_work_without_a_map() {
    let mixed = "rw=randrw\nrwmixread=50\nbssplit=512/10:4k/60:64k/30\niodepth=16\nio_size=100g\nnumber_ios=20000";
    for sets in [
        &["buffer.policy=write_back", "buffer.capacity=1MiB", "buffer.flush_after=1ms"][..],
        &[
            "ecc.errors={ kind = \"constant\", rates = [3e-3] }",
            "flash.code={ kind = \"bch\", data = \"1KiB\", t = 40 }",
            "ecc.plan={ kind = \"read_retry\", steps = 5 }",
        ],
        &["host.interface=sata", "controller.firmware=cores", "controller.dram=ddr", "controller.interconnect=axi"],
        &["ftl.write_allocation=static", "ftl.allocation_order=PDWC", "flash.scheduler=out_of_order"],
        &["ftl.write_allocation=round_robin", "buffer.policy=write_through", "buffer.capacity=1MiB"],
    ] {
        let run = || {
            let mut found = summary(&with(&[WAF], sets), mixed);
            found["wall_s"] = Value::Null;
            found
        };
        let found = run();
        assert_eq!(number(&found, "/latency/all/count"), 20_000.0);
        assert_eq!(found, run(), "{sets:?}");
    }
}

#[test]
fn what_needs_a_map_is_refused_without_one() {
    for (sets, expected) in [
        (&["policy.kind=ofwar"][..], "policy.kind: the policy `ofwar` needs another translation layer than `waf`"),
        (&["buffer.read_cache=1MiB"], "buffer.read_cache: a read cache needs another translation layer"),
        (&["ftl.retire_at_cycles=5"], "ftl.retire_at_cycles: the retirement of blocks needs another"),
        (&["ftl.translation={ kind = \"waf\", write_amplification = 0.5 }"], "write_amplification: 0.5: expected 1..=1000"),
        (
            &["ftl.translation={ kind = \"waf\", write_amplification = 2.0, model = \"oldest_first\" }"],
            "write_amplification: given beside",
        ),
        (&["ftl.translation={ kind = \"waf\", piece = 0 }"], "ftl.translation.piece: 0: expected 1..=65536"),
        (&["ftl.translation={ kind = \"waf\", window = 0.5 }"], "ftl.translation.window: only `model = \"windowed_greedy\"`"),
        (
            &["ftl.translation={ kind = \"waf\", hot = { data = 0.1, writes = 0.9 } }"],
            "ftl.translation.hot: there is a closed form",
        ),
        (&["ftl.translation=wav"], "unknown name `wav`"),
        (&["flash.blocks_per_plane=4"], "flash.blocks_per_plane: each die has 4 blocks: expected at least 5"),
    ] {
        let message = read(&with(&[WAF], sets)).expect_err("it cannot work").to_string();
        assert!(message.contains(expected), "found:    {message}\nexpected: {expected}");
    }
    assert!(session("base = \"tiny\"", &[WAF], None, "[job]\nrw=read\nnumber_ios=1\n").is_ok());
}

/// A mock-up keeps the structure that its speed depends on; with the abstraction its throughput is that of the whole
/// drive while blocks become fewer. Smaller blocks are erased more often.
#[test]
fn a_mock_up_has_the_speed_of_the_whole_drive() {
    let whole = description(&["flash.blocks_per_plane=1024", "ftl.overprovisioning=0.2", WAF]);
    let small = shrink(&whole, Bytes(whole.user_bytes() / 50)).unwrap_or_else(|problems| panic!("{problems}"));
    assert!((small.user_bytes() as f64 / (whole.user_bytes() as f64 / 50.0) - 1.0).abs() < 0.1, "{}", small.user_bytes());
    let shape = |one: &Description| {
        let shape = one.geometry().shape;
        (shape.channels, shape.chips_per_channel, shape.dies_per_chip, shape.planes_per_die, shape.page_bytes)
    };
    assert_eq!(shape(&small), shape(&whole));
    assert_eq!(small.ftl.overprovisioning, whole.ftl.overprovisioning);
    assert_eq!((small.flash.pages_per_block, small.flash.blocks_per_plane), (whole.flash.pages_per_block, 20));
    for job in [WRITES.to_owned(), WRITES.replace("randwrite", "randread"), WRITES.replace("randwrite\n", "write\n")] {
        let job = format!("[job]\n{job}\n");
        let run =
            |one: &Description| session(&one.to_toml(), &[], None, &job).unwrap_or_else(|problems| panic!("{problems}")).summary;
        let (large, small) = (number(&run(&whole), "/throughput/iops"), number(&run(&small), "/throughput/iops"));
        assert!((small / large - 1.0).abs() < 0.02, "{job}: {small}, {large} of the whole drive");
    }
    // A thousandth: one block after another would be left, so that blocks are smaller. The time between collections is
    // the same for each unit, but for the erases.
    let tiny = shrink(&whole, Bytes(whole.user_bytes() / 1000)).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(tiny.flash.pages_per_block < whole.flash.pages_per_block && tiny.flash.blocks_per_plane >= 16);
    let job = format!("[job]\n{WRITES}\n");
    let run =
        |one: &Description| session(&one.to_toml(), &[], None, &job).unwrap_or_else(|problems| panic!("{problems}")).summary;
    let busy = |one: &Description| {
        let summary = run(one);
        let erasing = number(&summary, "/flash/operations/erase") * one.flash.erase_time.0 as f64;
        (number(&summary, "/simulated_ns") * f64::from(one.geometry().die_count) - erasing) / 1e9
    };
    assert!((busy(&tiny) / busy(&whole) - 1.0).abs() < 0.02, "{} and {} without erases", busy(&tiny), busy(&whole));
}

/// The changes of a mock-up are listed, each with a reason, and the description over a base says the same as the
/// complete one. The write buffer keeps what the dies need.
#[test]
fn a_mock_up_lists_what_it_changes() {
    let preset = |name: &str| {
        let preset = drive::presets::PRESETS.iter().find(|preset| preset.name == name).expect("a preset");
        Description::read(name, preset.text, &[]).unwrap_or_else(|problems| panic!("{problems}"))
    };
    for (name, to) in [("pcie4-tlc-2tb", 32), ("explorer-c3", 8), ("qlc-2tb", 64), ("pcie4-dramless-1tb", 64), ("tlc-1tb", 48)] {
        let whole = preset(name);
        let mock = mock_up(&whole, Bytes(to << 30)).unwrap_or_else(|problems| panic!("{name}: {problems}"));
        let over = mock.over(name, &whole).expect("nothing is removed");
        assert!(over.starts_with(&format!("base = \"{name}\"\n")), "{over}");
        let again = Description::read("mock.toml", &over, &[]).unwrap_or_else(|problems| panic!("{problems}\n{over}"));
        assert_eq!(again, mock.description, "{name}");
        for change in &mock.changes {
            let was = format!("# was {}: {}\n", change.from, change.why);
            assert!(over.contains(&was) && !change.why.is_empty() && change.from != change.to, "{change:?}\n{over}");
        }
        let fields: Vec<&str> = mock.changes.iter().map(|change| change.field.as_str()).collect();
        assert!(fields.contains(&"flash.blocks_per_plane"), "{fields:?}");
        // Whatever the drive, its dies are as busy behind the buffer as before.
        let geometry = mock.description.geometry();
        let program = geometry.unit.data(geometry.units_per_program).0;
        let buffer = mock.description.buffer.capacity.map_or(0, |bytes| bytes.0);
        let before = whole.buffer.capacity.map_or(0, |bytes| bytes.0);
        assert!(buffer == before || buffer >= 2 * program * u64::from(geometry.die_count), "{name}: {buffer} of {before}");
    }
    let mock = mock_up(&preset("pcie4-tlc-2tb"), Bytes(32 << 30)).expect("it fits");
    assert_eq!(mock.description.buffer.capacity, Some(Bytes(32 << 20)), "the buffer of 32 dies");
    let of_blocks = f64::from(mock.description.flash.blocks_per_plane) / 688.0;
    let cache = f64::from(mock.description.policy.slc_cache.dynamic_blocks) / 64.0;
    assert!((cache / of_blocks - 1.0).abs() < 0.05, "the cache has the same share of the blocks");
    // A much smaller one keeps two programs for each die, and says so.
    let small = description(&[
        "buffer.policy=write_back",
        "buffer.capacity=8MiB",
        "buffer.flush_after=1ms",
        "flash.blocks_per_plane=1024",
    ]);
    let mock = mock_up(&small, Bytes(small.user_bytes() / 100)).expect("it fits");
    let capacity = mock.changes.iter().find(|change| change.field == "buffer.capacity").expect("it is scaled");
    assert!(capacity.why.contains("1 % of the capacity"), "{capacity:?}");
}

#[test]
fn a_drive_is_not_shrunk_beyond_what_works() {
    let whole = description(&["ftl.overprovisioning=0.1"]);
    for (to, expected) in
        [(0, "expected 4 KiB to less than"), (1 << 40, "expected 4 KiB to less than"), (8192, "expected at least about")]
    {
        let message = shrink(&whole, Bytes(to)).expect_err("it cannot work").to_string();
        assert!(message.starts_with("--to: ") && message.contains(expected), "{message}");
    }
}
