//! Collection in the foreground, and summaries of blocks.

use crate::common::{FEW_BLOCKS, ONE_DIE, Rig, latency, with};
use kit::{Op, SimTime};

/// The program of each fourth page takes the time of the summary, too.
#[test]
fn the_last_page_of_a_block_takes_the_time_of_its_summary() {
    let latencies = |sets: &[&str]| {
        let mut rig = Rig::new(&with(&with(ONE_DIE, FEW_BLOCKS), sets));
        (0..12).map(|unit| latency(&rig.one(Op::Write, unit, 1))).collect::<Vec<u64>>()
    };
    let (without, with_summary) = (latencies(&[]), latencies(&["flash.summary_time=213200ns"]));
    let more: Vec<u64> = with_summary.iter().zip(&without).map(|(with, without)| with - without).collect();
    assert_eq!(more, [0, 0, 0, 213_200].repeat(3));
}

/// Writes of the same 16 units in turn, 20 ms apart, so that the die is idle between them. Collected early, no write
/// waits for an erase; in the foreground, one write waits for each.
#[test]
fn in_the_foreground_a_write_waits_for_the_collection() {
    const KEPT: &[&str] =
        &["flash.blocks_per_plane=16", "ftl.gc_preemptible=false", "ftl.gc_low_blocks=3", "ftl.gc_critical_blocks=3"];
    let run = |start: &str| {
        let start = format!("ftl.gc_start={start}");
        let mut rig = Rig::new(&with(&with(&with(ONE_DIE, FEW_BLOCKS), KEPT), &[&start]));
        for number in 0..160 {
            rig.submit(Op::Write, number % 16, 1, SimTime(number * 20_000_000));
        }
        rig.drain();
        let late = rig.rows().iter().filter(|row| latency(row) > 1_000_000).count() as u64;
        (late, rig.operations()[2])
    };
    let [(early, erased), (foreground, also)] = ["early", "write_waits"].map(run);
    // 40 blocks are written, of 16.
    assert!(early == 0 && erased > 20 && erased.abs_diff(also) <= 1, "{early}, {erased}, {also}");
    assert_eq!(foreground, also);
}

/// A collection in the foreground is finished before the next write, and planes that take turns need no choice.
#[test]
fn what_excludes_each_other_is_refused() {
    for (sets, what) in [
        (["ftl.gc_start=write_waits", "ftl.gc_preemptible=true"], "ftl.gc_start: a collection that begins is finished"),
        (["ftl.plane_choice=most_free", "ftl.allocation_order=CWDP"], "ftl.plane_choice: planes take turns"),
    ] {
        let problems = crate::common::read(&sets).map(drop).expect_err("they exclude each other").to_string();
        assert!(problems.contains(what), "{problems}");
    }
}
