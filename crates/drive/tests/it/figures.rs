//! The two worked examples of the OFWAR paper (Wu and Zhang, IEEE Transactions on Computers 2014), figures 3 and 4,
//! event by event.

use crate::common::{ONE_DIE, Rig, latency, with};
use kit::{BlockId, Lpn, Nanos, Op, Ppn, Reason, Record, SimTime};
use std::collections::BTreeMap;

/// Figure 3 considers the program time alone. Here commands take no time, and the transfer time of 854 ns (4 KiB at
/// 4800 MT/s) is part of the 600 us: the service time is exactly 600 us, or 300 us in the fast mode.
const FIGURE_3: &[&str] = &[
    "flash.phases={ t_cs = \"0ns\", t_cycle = \"0ns\", t_adl = \"0ns\", t_wb = \"0ns\", t_rr = \"0ns\", t_ccs = \"0ns\", t_wpst = \"0ns\", t_dbsy = \"0ns\" }",
    "flash.transfer_rate=4800MT/s",
    "flash.program_time=599146ns",
    // Gives 299146 ns: the product of program time and scale is rounded to the nanosecond.
    "flash.write_mode[1].program_scale=0.499287319",
];

const US: u64 = 1000;

/// Runs eleven writes, one every 300 us, on one die. Returns their response times and the instants of their completion
/// \[us\].
fn eleven_writes(sets: &[&str]) -> (Vec<u64>, Vec<u64>, Rig) {
    let mut rig = Rig::new(&with(&with(ONE_DIE, FIGURE_3), sets));
    let tags: Vec<u32> = (0..11).map(|index| rig.submit(Op::Write, index, 1, SimTime(index * 300 * US))).collect();
    rig.drain();
    let rows: Vec<_> = tags.into_iter().map(|tag| rig.row(tag)).collect();
    assert!(rows.iter().all(|row| latency(row).is_multiple_of(US)), "everything is a whole microsecond");
    let responses = rows.iter().map(|row| latency(row) / US).collect();
    (responses, rows.iter().map(|row| row.completed.0 / US).collect(), rig)
}

#[test]
fn figure_3_normal_writes_queue_up() {
    // The paper states an average of 3600 us. First come, first served gives 600, 900, ..., 3600: that is the last
    // response time (FACTS 1.4).
    let (responses, done, rig) = eleven_writes(&[]);
    assert_eq!(responses, (0..11).map(|index| 600 + 300 * index).collect::<Vec<u64>>());
    assert_eq!(done, (1..=11).map(|index| 600 * index).collect::<Vec<u64>>());
    assert_eq!(rig.drive.statistics.totals.sums[Op::Write as usize].mean(), Some(2_100_000.0));
}

#[test]
fn figure_3_fast_writes_do_not() {
    // Each write arrives at the instant at which the write before completes. Within an instant a die becomes free
    // before an arrival is handled, so no write waits.
    let (responses, done, rig) = eleven_writes(&["policy.kind=all_fast"]);
    assert_eq!(responses, [300; 11]);
    assert_eq!(done, (1..=11).map(|index| 300 * index).collect::<Vec<u64>>());
    assert_eq!(rig.drive.statistics.totals.sums[Op::Write as usize].mean(), Some(300_000.0));
}

#[test]
fn figure_3_under_ofwar_depends_on_the_order_within_an_instant() {
    // With N_th_w = 1 a write is fast if another one waits behind it. At 600, 900, ..., 3000 us a write completes,
    // another arrives, and only then the die chooses: it sees two writes. If the choice came before the arrival, the
    // die would see one, and every write would be normal.
    let (responses, _, rig) =
        eleven_writes(&["policy.kind=ofwar", "policy.ofwar.write_threshold=1", "policy.ofwar.rewrite_threshold=100"]);
    assert_eq!(responses, [600, 600, 600, 600, 600, 600, 600, 600, 600, 600, 900]);
    assert_eq!((rig.stat("fast_writes_by_queue"), rig.stat("normal_writes")), (9, 2));
}

/// Figure 4: four pages per block, ten blocks, one frontier for normal and one for fast data; relocations share the
/// normal one. A collection begins after a second of idle time if fewer than `gc_idle_target_blocks` blocks are free.
const FIGURE_4: &[&str] = &[
    "flash.pages_per_block=4",
    "flash.blocks_per_plane=10",
    "ftl.overprovisioning=1.0",
    "ftl.user_capacity=64KiB",
    "ftl.gc_low_blocks=2",
    "ftl.separate_relocations=false",
    "ftl.gc_idle_after=1s",
];

/// Record of the pages that were programmed, erased and moved.
#[derive(Default)]
struct History {
    /// Pages of each block in the order of programming.
    blocks: BTreeMap<u32, Vec<u32>>,
    erased: Vec<Vec<u32>>,
    moved: Vec<(Reason, u32)>,
}

impl History {
    fn take(&mut self, rig: &mut Rig) {
        let geometry = rig.drive.medium().geometry;
        let program = |blocks: &mut BTreeMap<u32, Vec<u32>>, ppn: Ppn, lpn: Lpn| {
            blocks.entry(geometry.block_of(ppn).0).or_default().push(lpn.0)
        };
        for record in rig.records() {
            match record {
                Record::Bound { lpn, ppn, .. } => program(&mut self.blocks, ppn, lpn),
                Record::Relocated { lpn, to, reason, .. } => {
                    program(&mut self.blocks, to, lpn);
                    self.moved.push((reason, lpn.0));
                }
                Record::Erased { block: BlockId(block) } => self.erased.push(self.blocks.remove(&block).unwrap_or_default()),
                _ => {}
            }
        }
    }

    fn blocks(&self) -> Vec<Vec<u32>> {
        self.blocks.values().cloned().collect()
    }
}

/// Runs the write sequence of figure 4. Where the figure writes fast, a burst makes the write queue long: of writes
/// that arrive together, all but the last see another one waiting.
fn figure_4(sets: &[&str]) -> (Rig, History) {
    let mut rig = Rig::watched(&with(&with(ONE_DIE, FIGURE_4), sets));
    let mut history = History::default();
    let write = |rig: &mut Rig, pages: &[u64]| {
        let now = rig.drive.now();
        for &page in pages {
            rig.submit(Op::Write, page, 1, now);
        }
    };
    for burst in [&[1][..], &[2], &[3, 4, 5], &[6]] {
        write(&mut rig, burst);
        rig.drain();
    }
    // Page 10 arrives while page 9 is being programmed, so that the die is not idle in between.
    write(&mut rig, &[7, 8, 9]);
    while !rig.records_so_far().iter().any(|record| matches!(record, Record::Bound { lpn: Lpn(9), .. })) {
        rig.step();
    }
    write(&mut rig, &[10]);
    rig.drain();
    history.take(&mut rig);
    assert!(history.moved.is_empty(), "nothing was rewritten before 10: {:?}", history.moved);
    rig.run_until(rig.drive.now() + Nanos(100_000 * US));
    history.take(&mut rig);
    for page in [1, 2, 7, 8, 11, 12, 13, 14] {
        write(&mut rig, &[page]);
        rig.drain();
    }
    rig.run_until(rig.drive.now() + Nanos(900_000 * US));
    history.take(&mut rig);
    assert!(history.erased.is_empty(), "the collection comes after 14");
    (rig, history)
}

/// Returns the number of units programmed, for any reason.
fn programs(rig: &Rig) -> u64 {
    rig.drive.translator().report().counters.units_programmed.iter().sum()
}

#[test]
fn figure_4_rewriting_costs_no_more_writes_than_the_baseline() {
    let thresholds = ["policy.kind=ofwar", "policy.ofwar.write_threshold=1", "policy.ofwar.rewrite_threshold=2"];
    // Six blocks are in use after page 14; the idle target calls for one collection.
    let (mut rig, mut history) = figure_4(&with(&thresholds, &["ftl.gc_idle_target_blocks=5"]));
    assert_eq!(history.moved, [(Reason::Rewrite, 3), (Reason::Rewrite, 4)], "idle after 10: four entries become two");
    let blocks = [&[1, 2, 5, 6][..], &[3, 4, 7, 8], &[9, 10, 3, 4], &[1, 2, 11, 12], &[7, 8], &[13, 14]];
    assert_eq!(history.blocks(), blocks);
    assert_eq!((rig.stat("fast_writes_by_queue"), rig.stat("fast_writes_by_hit"), rig.stat("normal_writes")), (4, 2, 12));
    assert_eq!(programs(&rig), 18 + 2);
    rig.run_until(rig.drive.now() + Nanos(1_000_000 * US));
    history.take(&mut rig);
    assert_eq!(history.erased, [[3, 4, 7, 8]], "the fast block is collected: nothing in it is current");
    assert_eq!(programs(&rig), 18 + 2, "no copies");
    assert_eq!(rig.stat("rewrite_queue_entries"), 2);
}

#[test]
fn figure_4_the_baseline_copies_two_pages() {
    // Five blocks are in use after page 14; the idle target calls for one collection.
    let (mut rig, mut history) = figure_4(&["ftl.gc_idle_target_blocks=6"]);
    let blocks = [&[1, 2, 3, 4][..], &[5, 6, 7, 8], &[9, 10, 1, 2], &[7, 8, 11, 12], &[13, 14]];
    assert_eq!(history.blocks(), blocks);
    assert_eq!(programs(&rig), 18);
    rig.run_until(rig.drive.now() + Nanos(1_000_000 * US));
    history.take(&mut rig);
    assert_eq!(history.erased, [[1, 2, 3, 4]]);
    assert_eq!(history.moved, [(Reason::Gc, 3), (Reason::Gc, 4)]);
    assert_eq!(programs(&rig), 18 + 2);
}
