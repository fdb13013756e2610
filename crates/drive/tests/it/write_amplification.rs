//! Write amplification under uniform random writes, compared with published closed forms, and the starting state
//! `steady`, compared with ageing by writing.

use crate::common::{Rig, desnoyers_fifo, desnoyers_greedy, session, summary, with};
use kit::{Histogram, Op};
use serde_json::Value;

const PAGES: u32 = 128;
const BLOCKS: u32 = 512;
/// Number of blocks of a die that are not in the pool from which a victim is chosen: two are open (host data and
/// relocated data), and the last free one is the reserve for relocations (`ftl.reserve_blocks`).
const OPEN_AND_RESERVE: u32 = 2 + 1;

/// Two dies of 512 blocks of 128 pages. [`assert_meets`] depends on both numbers.
const DRIVE: &[&str] =
    &["flash.channels=2", "flash.chips_per_channel=1", "flash.blocks_per_plane=512", "flash.pages_per_block=128"];

/// Runs `drive_writes` drive writes of independent uniform random units on the timed drive, from the starting state
/// `state`. Returns the write amplification and the drive.
fn uniform(spare: f64, victim: &str, state: &[&str], drive_writes: u64) -> (f64, Rig) {
    let sets = [format!("ftl.victim={victim}"), format!("ftl.overprovisioning={spare:?}")];
    let mut rig = Rig::new(&with(&with(DRIVE, &[&sets[0], &sets[1]]), state));
    let writes = drive_writes * rig.drive.user_bytes() / 4096;
    rig.replay(&format!("rw=randwrite\nnorandommap=1\niodepth=32\nio_size=1000g\nnumber_ios={writes}"));
    (rig.write_amplification(), rig)
}

/// Returns the ratio of physical to user blocks, in the pool from which a victim is chosen.
fn alpha(rig: &Rig) -> f64 {
    let user_blocks_per_die = rig.drive.user_bytes() as f64 / 4096.0 / f64::from(PAGES) / 2.0;
    f64::from(BLOCKS - OPEN_AND_RESERVE) / user_blocks_per_die
}

const TEN_DRIVE_WRITES: &[&str] = &["state.precondition=random", "state.overwrite_passes=10"];
const SPARE: [f64; 5] = [0.07, 0.15, 0.20, 0.28, 0.50];

/// Asserts that the write amplification after ten drive writes is that of the closed form, and that a drive in the
/// state `steady` has it from the start.
fn assert_meets(victim: &str, closed_form: impl Fn(f64) -> f64) {
    for spare in SPARE {
        let (measured, rig) = uniform(spare, victim, TEN_DRIVE_WRITES, 1);
        let expected = closed_form(alpha(&rig));
        let error = measured / expected - 1.0;
        let (steady, _) = uniform(spare, victim, &["state.precondition=steady"], 1);
        let landing = steady / measured - 1.0;
        println!(
            "{victim}, {spare}: {measured:.4}, closed form {expected:.4} ({:+.2} %), steady {steady:.4} ({:+.2} %)",
            100.0 * error,
            100.0 * landing
        );
        assert!(error.abs() < 0.03, "{victim} at {spare}: {measured}, expected {expected}");
        assert!(landing.abs() < 0.015, "{victim} at {spare}: steady {steady}, after ten drive writes {measured}");
    }
}

#[test]
fn greedy_meets_desnoyers_and_steady_lands_there() {
    assert_meets("greedy", |alpha| desnoyers_greedy(alpha, PAGES));
}

#[test]
fn fifo_meets_desnoyers_and_steady_lands_there() {
    assert_meets("fifo", desnoyers_fifo);
}

#[test]
fn random_without_repeats_amplifies_less() {
    // By default fio writes each block once in each pass. At a spare share of 28 % the write amplification is then 1.48
    // to 1.53; with independent writes it is 2.44 to 2.47 (MECHANISMS 1).
    let (independent, mut rig) = uniform(0.28, "greedy", &["state.precondition=steady"], 1);
    rig.replay("rw=randwrite\niodepth=32\nio_size=300%\nrandrepeat=0");
    rig.drive.restart_measurement();
    rig.replay("rw=randwrite\niodepth=32\nrandseed=5\nio_size=200%\nrandrepeat=0");
    let once_each = rig.write_amplification();
    println!("independent {independent:.3}, each once a pass {once_each:.3}");
    assert!((1.45..1.56).contains(&once_each), "{once_each}");
    assert!(once_each < 0.7 * independent);
}

#[test]
fn the_tail_of_the_first_writes_is_that_of_the_rest() {
    // 64 dies with blocks like those of `ideal-512g`, but fewer. After a one-pass starting state all dies would be in
    // phase and collect together, with a tail latency of tens of milliseconds instead of two in the steady state
    // (MECHANISMS 1).
    let sets = [
        "flash.channels=8",
        "flash.chips_per_channel=8",
        "flash.blocks_per_plane=128",
        "flash.pages_per_block=256",
        "ftl.overprovisioning=0.28",
    ];
    let mut rig = Rig::new(&with(&sets, &["state.precondition=steady"]));
    let mut tail = |from: u64, writes: u64| -> Histogram {
        rig.drive.restart_measurement();
        rig.replay(&format!("rw=randwrite\nnorandommap=1\nrandseed={from}\niodepth=32\nio_size=1000g\nnumber_ios={writes}"));
        rig.drive.statistics.totals.histograms[Op::Write as usize].clone()
    };
    let (first, rest) = (tail(1, 40_000), tail(2, 760_000));
    for (fraction, factor) in [(0.5, 1.1), (0.99, 1.3), (0.999, 1.5)] {
        let of = |histogram: &Histogram| histogram.percentile(fraction, 10).expect("enough samples") as f64;
        println!("p{}: first {:.0} us, rest {:.0} us", 100.0 * fraction, of(&first) / 1e3, of(&rest) / 1e3);
        assert!(
            of(&first) < factor * of(&rest) && of(&rest) < factor * of(&first),
            "p{fraction}: {} against {}",
            of(&first),
            of(&rest)
        );
    }
    println!("max: first {:?}, rest {:?}", first.max(), rest.max());
}

/// Aligned writes of 512 B, each of a unit of its own: eight times as many bytes are programmed as the host wrote for
/// each unit. Both figures are stated, and a note says that they differ.
#[test]
fn writes_of_a_part_of_a_unit_are_counted_by_bytes_too() {
    let run = |bs: &str| {
        let job = format!("[job]\nrw=randwrite\nbs={bs}\nnorandommap=1\niodepth=8\nio_size=1g\nnumber_ios=4000\n");
        let outcome = session("base = \"tiny\"", &["state.precondition=fill", "buffer.policy=none"], None, &job);
        outcome.unwrap_or_else(|problems| panic!("{problems}"))
    };
    for (bs, bytes) in [("512", 512.0), ("4k", 4096.0)] {
        let outcome = run(bs);
        let summary = &outcome.summary;
        let number = |key: &str| summary[key].as_f64().expect("a ratio");
        let programmed: u64 =
            summary["flash"]["programs"].as_object().expect("a section").values().filter_map(Value::as_u64).sum();
        let expected = programmed as f64 * 4096.0 / (4000.0 * bytes);
        assert!((number("write_amplification_bytes") / expected - 1.0).abs() < 1e-12, "{bs}: {summary}");
        let between = number("write_amplification_bytes") / number("write_amplification") * bytes / 4096.0;
        assert!((between - 1.0).abs() < 1e-9, "{bs}: {between}");
        let notes = outcome.notes.iter().filter(|note| note.contains("write_amplification_bytes")).count();
        assert_eq!(notes, usize::from(bs == "512"), "{bs}: {:?}", outcome.notes);
    }
}

/// Of 512 blocks of 64 units, 100 are filled at an even rate, and each of the four dies has a few open ones.
#[test]
fn free_blocks_are_sampled_over_the_run() {
    let summary = summary(&[], "rw=write\nbs=4k\niodepth=16\nio_size=1g\nnumber_ios=6400");
    let free = |key: &str| summary["free_blocks"][key].as_f64().expect("a number");
    assert!((400.0..=412.0).contains(&free("at_end")), "{}", summary["free_blocks"]);
    assert!(free("least") <= free("at_end"), "{}", summary["free_blocks"]);
    assert!((445.0..=470.0).contains(&free("mean")), "{}", summary["free_blocks"]);
}
