//! The I/O sequencer: the order in which host reads are issued, and what it costs.

use crate::common::{ONE_DIE, PROGRAM, READ, Rig, assert_parts, description, session_with_history, summary, with};
use drive::CommandRow;
use kit::{Cause, Op};

const READ_TIME: u64 = 290 + 50_000 + 3414;
/// Two dies on two channels, with the even units on one and the odd ones on the other.
const TWO_DIES: &[&str] = &["flash.channels=2", "flash.chips_per_channel=1", "ftl.write_allocation=static"];
const IN_ORDER: &str = "controller.sequencer={ order = \"in_order\" }";

fn reorder(window: u32, more: &str) -> String {
    format!("controller.sequencer={{ order = \"reorder\", window = {window}{more} }}")
}

/// Returns a drive of two dies with 16 units.
fn two_dies(sets: &[&str]) -> Rig {
    let mut rig = Rig::new(&with(TWO_DIES, sets));
    for unit in 0..16 {
        rig.one(Op::Write, unit, 1);
    }
    rig
}

/// Reads units at one instant. Returns their rows.
fn read(rig: &mut Rig, units: &[u64]) -> Vec<CommandRow> {
    let now = rig.drive.now();
    let tags: Vec<u32> = units.iter().map(|&unit| rig.submit(Op::Read, unit, 1, now)).collect();
    rig.drain();
    tags.into_iter().map(|tag| rig.row(tag)).collect()
}

#[test]
fn a_single_command_takes_the_time_that_it_takes_without() {
    for set in [IN_ORDER, &reorder(9, ", age_limit = \"0ns\"")] {
        let mut rig = Rig::new(&with(ONE_DIE, &[set]));
        assert_parts("write", &rig.one(Op::Write, 0, 1), &PROGRAM);
        assert_parts("read", &rig.one(Op::Read, 0, 1), &READ);
    }
}

/// Five reads at once, of the dies 0, 0, 0, 1 and 1. In order, the second holds up those of the other die. In a window
/// of two, it does so until it is issued: then the third and the fourth are in the window. In one of five, the fourth
/// is issued at once. Two outstanding reads wait at the die instead. The time in the sequencer, and at the die, in
/// reads:
#[test]
fn five_reads_by_hand() {
    let two_per_die = IN_ORDER.replace(" }", ", per_die = 2 }");
    for (set, waits) in [
        (IN_ORDER, [[0, 0], [1, 0], [2, 0], [2, 0], [3, 0]]),
        (&reorder(2, ""), [[0, 0], [1, 0], [2, 0], [1, 0], [2, 0]]),
        (&reorder(5, ""), [[0, 0], [1, 0], [2, 0], [0, 0], [1, 0]]),
        (&two_per_die, [[0, 0], [0, 1], [1, 1], [1, 0], [1, 1]]),
    ] {
        let mut rig = two_dies(&[set]);
        for (number, (row, waits)) in (1..).zip(read(&mut rig, &[0, 2, 4, 1, 3]).iter().zip(waits)) {
            let [sequencer, die] = waits.map(|reads| reads * READ_TIME);
            let waits = [(Cause::Sequencer, sequencer), (Cause::DieHostRead, die)];
            assert_parts(&format!("{set}, read {number}"), row, &[&READ[..], &waits].concat());
        }
    }
}

/// Of the reads of one command, each waits for itself. Reads of partial writes and of relocations pass by.
#[test]
fn other_reads_pass_the_sequencer_by() {
    let mut rig = two_dies(&[IN_ORDER]);
    let now = rig.drive.now();
    let reads = [0, 2].map(|unit| rig.submit(Op::Read, unit, 1, now));
    let partial = rig.submit_bytes(Op::Write, 4 * 4096, 512, now);
    rig.drain();
    assert_eq!(rig.row(reads[1]).causes.get(Cause::Sequencer).0, READ_TIME);
    let causes = rig.row(partial).causes;
    assert_eq!((causes.get(Cause::Sequencer).0, causes.get(Cause::Rmw).0), (0, 2 * READ_TIME));
}

/// As many outstanding reads as a die may ever have, and the order of arrival: nothing changes, whatever the drive has.
#[test]
fn a_sequencer_without_collisions_changes_nothing() {
    const MIXED: &str = "[job]\nrw=randrw\nrwmixread=60\nbssplit=4k/60:16k/25:512/15\niodepth=16\nnorandommap=1\nio_size=1g\n\
                         number_ios=4000\n";
    let errors = "ecc.errors={ kind = \"constant\", rates = [3e-3], read_noise = 0.1 }";
    let code = "flash.code={ kind = \"bch\", data = \"4KiB\", t = 100 }";
    let retry = "ecc.plan={ kind = \"read_retry\", steps = 3, step_time = \"1us\" }";
    let cases: [&[&str]; 3] = [
        &[],
        &["host.interface=nvme", "controller.target_queues={ threshold = 3 }", "controller.page_buffers={ count = 2 }"],
        &[code, errors, retry, "ecc.delivery=in_order", "buffer.read_cache=256KiB", "buffer.read_ahead=64KiB"],
    ];
    for sets in cases {
        let sets = with(&["state.precondition=steady"], sets);
        let run =
            |sets: &[&str]| session_with_history("base = \"tiny\"", sets, MIXED).unwrap_or_else(|problems| panic!("{problems}"));
        let plain = run(&sets);
        for set in [IN_ORDER.replace(" }", ", per_die = 65535 }"), reorder(4096, ", per_die = 65535")] {
            let with = run(&with(&sets, &[&set]));
            assert_eq!(plain.history, with.history, "{sets:?}");
            assert_eq!(plain.summary["causes"], with.summary["causes"], "{sets:?}");
        }
        assert!(plain.history.is_some_and(|digest| digest.entries > 8000));
    }
}

/// Returns the reads per time of a read, of two dies that always have reads waiting in a window.
///
/// The dies begin their reads together, and both are done at once. Let the first `m` waiting reads be known to be of
/// one die, and all further ones be of either die with equal probability. The first read is issued. Of the next
/// `window` reads, `m - 1` are of its die, and the first of the others that is of the other die is issued as well: the
/// `j`-th with probability 2^-j, after which `m - 1 + j - 1` are known. If there is none, all of the window are known.
fn reads_per_read_time(window: usize) -> f64 {
    let mut known = vec![0.0; window + 1];
    known[0] = 1.0;
    let mut both = 0.0;
    for _ in 0..10_000 {
        let mut next = vec![0.0; window + 1];
        both = 0.0;
        for (m, share) in known.iter().enumerate() {
            let same = m.saturating_sub(1);
            let mut left = *share;
            for j in 1..=window - same {
                left /= 2.0;
                next[same + j - 1] += left;
                both += left;
            }
            next[window] += left;
        }
        known = next;
    }
    1.0 + both
}

/// In order, a read goes to the other die than the one before with probability one half, and both then work at once:
/// one and a half reads in the time of one. With a window it is more.
#[test]
fn the_throughput_of_two_dies_is_that_of_a_markov_chain() {
    assert!((reads_per_read_time(1) - 1.5).abs() < 1e-12);
    let mut rates = Vec::new();
    for (window, set) in [(1, IN_ORDER), (1, &reorder(1, "")), (2, &reorder(2, "")), (4, &reorder(4, "")), (16, &reorder(16, ""))]
    {
        let job = "rw=randread\nbs=4k\niodepth=64\nnorandommap=1\nio_size=4g\nnumber_ios=40000";
        let summary = summary(&with(TWO_DIES, &["state.precondition=fill", set]), job);
        let found = summary["throughput"]["iops"].as_f64().expect("a rate") * READ_TIME as f64 / 1e9;
        let expected = reads_per_read_time(window);
        assert!((found / expected - 1.0).abs() < 0.01, "{set}: {found}, expected {expected}");
        rates.push(found);
    }
    assert!(rates.is_sorted() && rates[4] > 1.8, "{rates:?}");
}

/// Returns rows of reads of a hot die and of a cold one, in the order of their submission, in an open loop that the hot
/// die can only just serve.
fn skewed(set: &str) -> Vec<CommandRow> {
    let mut rig = two_dies(&[set]);
    let mut rng = kit::Rng::stream(1, "skewed");
    let mut at = rig.drive.now();
    let mut tags = Vec::new();
    for _ in 0..3000 {
        at = at + kit::Nanos(rng.below(2 * READ_TIME));
        let unit = if rng.chance(0.9) { 2 * rng.below(8) } else { 2 * rng.below(8) + 1 };
        tags.push(rig.submit(Op::Read, unit, 1, at));
    }
    rig.drain();
    tags.into_iter().map(|tag| rig.row(tag)).collect()
}

/// Asserts that no read is issued before an older one that has waited for longer than the limit, and that a read waits
/// for the limit and then for the older ones at most, one after another. Returns the number of reads that overtook.
fn check_limit(rows: &[CommandRow], limit: u64) -> usize {
    let issued = |row: &CommandRow| row.submitted.0 + row.causes.get(Cause::Sequencer).0;
    let mut overtook = 0;
    for (index, row) in rows.iter().enumerate() {
        let (late, begins) = (row.submitted.0 + limit, issued(row));
        let younger = rows[index + 1..].iter().take_while(|other| other.submitted.0 < begins);
        for other in younger.filter(|other| issued(other) < begins) {
            assert!(issued(other) <= late, "{row:?} is overtaken by {other:?}");
            overtook += 1;
        }
        let ahead = rows[..index].iter().rev().take(400).filter(|other| issued(other) > late).count() as u64;
        assert!(begins <= late + (ahead + 1) * READ_TIME, "{row:?} with {ahead} ahead");
    }
    overtook
}

#[test]
fn no_read_is_overtaken_beyond_the_age_limit() {
    let limit = 10 * READ_TIME;
    let overtook = check_limit(&skewed(&reorder(4096, &format!(", age_limit = \"{limit}ns\""))), limit);
    let without = check_limit(&skewed(&reorder(4096, "")), u64::MAX / 4);
    let always = check_limit(&skewed(&reorder(4096, ", age_limit = \"0ns\"")), 0);
    assert_eq!(check_limit(&skewed(IN_ORDER), 0), 0);
    assert!(0 == always && always < overtook && overtook < without, "{always}, {overtook}, {without}");
}

/// A read is outstanding until it is corrected: others of its die wait meanwhile in the sequencer. With two outstanding
/// reads, the second is read between two attempts at the first.
#[test]
fn a_read_that_is_repeated_is_outstanding() {
    let sets = [
        "flash.cell=mlc",
        "flash.code={ kind = \"bch\", data = \"4KiB\", t = 100 }",
        "ecc.plan={ kind = \"read_retry\", steps = 1, reduction = 0.9, step_time = \"700ns\", sense_scale = 1.2 }",
        // Of the two pages of a row, the second has 200 errors in 34,368 bits.
        "ecc.errors={ kind = \"constant\", rates = [0.0, 5.8e-3], read_noise = 0.0 }",
    ];
    let retry = 340 + 290 + 700 + 60_000 + 3414;
    for (per_die, expected) in [(1, [0, READ_TIME + retry]), (2, [0, 0])] {
        let set = IN_ORDER.replace(" }", &format!(", per_die = {per_die} }}"));
        let mut rig = Rig::new(&with(&with(ONE_DIE, &sets), &[&set]));
        for unit in 0..2 {
            rig.one(Op::Write, unit, 1);
        }
        let rows = read(&mut rig, &[1, 0]);
        assert_eq!([0, 1].map(|row: usize| rows[row].causes.get(Cause::Sequencer).0), expected, "{per_die}");
        let waits = if per_die == 2 { READ_TIME } else { 0 };
        assert_eq!(rows[0].causes.get(Cause::Retry).0, retry + waits, "{per_die}");
    }
}

/// Reads in the sequencer count as on their way to the queue of their target: no queue is deeper than its threshold and
/// one, nor than the reads that a die may have.
#[test]
fn reads_in_the_sequencer_hold_up_the_fetching_of_commands() {
    let sets = ["host.interface=nvme", "flash.channels=4", "flash.chips_per_channel=2", "state.precondition=fill"];
    for (threshold, per_die, deepest) in [(1, 1, 1), (4, 1, 1), (4, 3, 3), (4, 9, 5), (8, 20, 9)] {
        for order in ["order = \"in_order\"", "order = \"reorder\", window = 16"] {
            let target = format!("controller.target_queues={{ threshold = {threshold} }}");
            let sequencer = format!("controller.sequencer={{ {order}, per_die = {per_die} }}");
            let mut rig = Rig::new(&with(&sets, &[&target, &sequencer]));
            rig.replay("rw=randread\nbs=4k\niodepth=64\nnorandommap=1\nnumber_ios=4000");
            assert_eq!(rig.drive.controller().deepest_target_queue(), deepest, "{target}, {sequencer}");
        }
    }
    // Threshold 2: of four reads of one die, three are fetched, of which two wait in the sequencer. The fourth follows
    // when the first is done.
    let mut rig = two_dies(&[IN_ORDER, "controller.target_queues={ threshold = 2 }"]);
    let waits: Vec<[u64; 2]> = read(&mut rig, &[0, 2, 4, 6])
        .iter()
        .map(|row| [Cause::QueueBlocked, Cause::Sequencer].map(|cause| row.causes.get(cause).0 / READ_TIME))
        .collect();
    assert_eq!(waits, [[0, 0], [0, 1], [0, 2], [1, 2]]);
}

/// A policy holds back host reads while it moves pages, and needs space that only the erase of a block gives. A read
/// that keeps this block from being erased waits in the sequencer, behind reads that are held back: it goes before
/// them.
#[test]
fn a_read_that_keeps_a_block_from_being_erased_is_issued_out_of_turn() {
    let tight = [
        "flash.channels=3",
        "flash.chips_per_channel=1",
        "flash.blocks_per_plane=19",
        "flash.pages_per_block=6",
        "flash.cell=tlc",
        "flash.read_time=20us",
        "flash.erase_time=500us",
        "flash.write_mode=[{ name = \"normal\" }, { name = \"fast\", program_scale = 0.5 }]",
        "ftl.overprovisioning=0.0",
        "ftl.user_capacity=733184B",
        "ftl.reserve_blocks=2",
        "ftl.gc_critical_blocks=3",
        "ftl.gc_low_blocks=4",
        "ftl.victim=random",
        "ftl.unmapped_read=flash",
        "policy.kind=ofwar",
        "policy.ofwar.write_threshold=1",
        "policy.ofwar.rewrite_threshold=0",
        "policy.ofwar.fast_bias=0.5",
        "policy.ofwar.age_threshold=18ms",
    ];
    let mut count = 0;
    for set in [IN_ORDER, &reorder(2, "")] {
        let description = description(&with(&tight, &[set]));
        for seed in 0..60 {
            let passed = testkit::case::run_described(&description, seed, 2000, None);
            let passed = passed.unwrap_or_else(|violation| panic!("{set}, {seed}: {}", violation.0));
            count += passed.drive.controller().reads_out_of_turn();
        }
    }
    assert!(count > 100, "{count}");
}

/// A deep closed loop in the largest window: all reads are done, in the end.
#[test]
fn a_deep_queue_in_a_large_window_comes_to_its_end() {
    let sets = ["flash.channels=8", "flash.chips_per_channel=4", "state.precondition=fill", &reorder(4096, "")];
    let job = "rw=randread\nbs=4k\niodepth=65536\nnorandommap=1\nio_size=4g\nnumber_ios=200000";
    let summary = summary(&sets, job);
    assert_eq!(summary["latency"]["read"]["count"], 200_000);
    assert!(summary["utilisation"]["dies"].as_f64() > Some(0.95), "{}", summary["utilisation"]["dies"]);
}
