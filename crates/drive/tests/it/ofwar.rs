//! OFWAR, rule by rule (POLICIES 2; section 3.2, figures 5 and 6 of the paper), and its control experiments.

use crate::common::{ONE_DIE, Rig, assert_parts, session, with};
use kit::{Cause, Lpn, Nanos, Op, Reason, Record, SimTime};

const READ: u64 = 290 + 50_000 + 3414;
const MS: u64 = 1_000_000;

/// Returns a drive of one die under OFWAR that rewrites nothing, unless the overrides change that.
fn ofwar(sets: &[&str]) -> Rig {
    let quiet = ["policy.kind=ofwar", "policy.ofwar.write_threshold=1", "policy.ofwar.rewrite_threshold=1000"];
    Rig::watched(&with(&with(ONE_DIE, &quiet), sets))
}

/// Writes units that arrive together, and runs until they have completed.
fn burst(rig: &mut Rig, units: &[u64]) {
    let now = rig.drive.now();
    for &unit in units {
        rig.submit(Op::Write, unit, 1, now);
    }
    rig.drain();
}

fn idle(rig: &mut Rig, ms: u64) {
    rig.run_until(rig.drive.now() + Nanos(ms * MS));
}

/// Returns the numbers of fast writes by queue length, fast writes by hit, and normal writes.
fn decisions(rig: &Rig) -> (u64, u64, u64) {
    (rig.stat("fast_writes_by_queue"), rig.stat("fast_writes_by_hit"), rig.stat("normal_writes"))
}

fn moved(rig: &mut Rig) -> Vec<(Reason, u32)> {
    let records = rig.records().into_iter();
    records
        .filter_map(|record| if let Record::Relocated { lpn, reason, .. } = record { Some((reason, lpn.0)) } else { None })
        .collect()
}

#[test]
fn more_than_the_threshold_must_wait() {
    for threshold in [0u64, 1, 3, 8] {
        let set = format!("policy.ofwar.write_threshold={threshold}");
        // The write that is being dispatched is counted: of n writes that arrive together, the first sees n and the
        // last sees 1.
        let units: Vec<u64> = (0..threshold).collect();
        let mut rig = ofwar(&[&set]);
        burst(&mut rig, &units);
        assert_eq!(decisions(&rig), (0, 0, threshold), "at the threshold {threshold}");
        let mut rig = ofwar(&[&set]);
        burst(&mut rig, &(0..=threshold).collect::<Vec<u64>>());
        assert_eq!(decisions(&rig), (1, 0, threshold), "one more than {threshold}");
    }
}

#[test]
fn waiting_writes_are_counted_in_pages_or_requests() {
    let mut rig = ofwar(&[]);
    rig.one(Op::Write, 0, 4);
    assert_eq!(decisions(&rig), (3, 0, 1), "four pages of one request");
    let mut rig = ofwar(&["policy.ofwar.counted_in=requests"]);
    rig.one(Op::Write, 0, 4);
    assert_eq!(decisions(&rig), (0, 0, 4), "one request");
    let now = rig.drive.now();
    rig.submit(Op::Write, 8, 2, now);
    rig.submit(Op::Write, 16, 2, now);
    rig.drain();
    assert_eq!(decisions(&rig), (2, 0, 6), "two requests until the first is fetched");
}

#[test]
fn more_than_the_threshold_must_be_owed_for_a_rewrite() {
    for threshold in [0u64, 1, 4] {
        let set = format!("policy.ofwar.rewrite_threshold={threshold}");
        let mut rig = ofwar(&["policy.ofwar.write_threshold=0", &set]);
        for unit in 0..threshold {
            burst(&mut rig, &[unit]);
        }
        idle(&mut rig, 100);
        assert_eq!(moved(&mut rig), [], "at the threshold {threshold}");
        burst(&mut rig, &[threshold]);
        idle(&mut rig, 100);
        assert_eq!(moved(&mut rig), [(Reason::Rewrite, 0)], "one more than {threshold}: the oldest");
        assert_eq!(rig.stat("rewrite_queue_entries"), threshold);
    }
}

#[test]
fn rewrites_wait_for_an_idle_channel_or_drive() {
    // Two channels, one of which is kept busy by a long program.
    for (scope, rewritten) in [("channel", 1), ("drive", 0)] {
        let set = format!("policy.ofwar.idle={scope}");
        let sets = [
            "flash.channels=2",
            "flash.chips_per_channel=1",
            "policy.kind=ofwar",
            "policy.ofwar.write_threshold=1",
            "policy.ofwar.rewrite_threshold=0",
        ];
        let mut rig = Rig::watched(&with(&sets, &[&set, "flash.write_mode[0].program_scale=100.0"]));
        // The writes arrive together: the first is fast (300 us), the second normal (60 ms).
        rig.submit(Op::Write, 0, 1, SimTime(0));
        rig.submit(Op::Write, 1, 1, SimTime(0));
        rig.run_until(SimTime(50 * MS));
        assert_eq!(rig.stat("rewrites_started"), rewritten, "{scope}");
        rig.run_until(SimTime(200 * MS));
        assert_eq!(rig.stat("rewrites_started"), 1, "{scope}");
    }
}

#[test]
fn a_hit_makes_a_write_fast() {
    let mut rig = ofwar(&[]);
    burst(&mut rig, &[0, 1]);
    assert_eq!(decisions(&rig), (1, 0, 1));
    burst(&mut rig, &[0]);
    burst(&mut rig, &[1]);
    assert_eq!(decisions(&rig), (1, 1, 2), "0 is held fast, 1 is not");
    assert_eq!(rig.stat("rewrite_queue_entries"), 2, "a hit adds at the bottom and leaves the old entry");
}

#[test]
fn a_trim_ends_the_hits() {
    let mut rig = ofwar(&[]);
    burst(&mut rig, &[0, 1]);
    rig.one(Op::Trim, 0, 1);
    burst(&mut rig, &[0]);
    assert_eq!(decisions(&rig), (1, 0, 2));
}

#[test]
fn a_rewrite_ends_the_hits() {
    let mut rig = ofwar(&["policy.ofwar.rewrite_threshold=0"]);
    burst(&mut rig, &[0, 1]);
    idle(&mut rig, 10);
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 0)]);
    burst(&mut rig, &[0]);
    assert_eq!(decisions(&rig), (1, 0, 2));
}

#[test]
fn a_normal_write_ends_the_hits() {
    // A full queue turns a hit into a normal write. The stale entry still fills the queue, but the third write is not a
    // hit and does not count as refused.
    let mut rig = ofwar(&["policy.ofwar.queue_depth=1"]);
    burst(&mut rig, &[0, 1]);
    burst(&mut rig, &[0]);
    assert_eq!((decisions(&rig), rig.stat("writes_on_full_queue")), ((1, 0, 2), 1));
    burst(&mut rig, &[0]);
    assert_eq!((decisions(&rig), rig.stat("writes_on_full_queue")), ((1, 0, 3), 1));
}

#[test]
fn a_collection_ends_the_hits() {
    let small = [
        "flash.pages_per_block=4",
        "flash.blocks_per_plane=10",
        "ftl.overprovisioning=1.0",
        "ftl.user_capacity=64KiB",
        "ftl.gc_low_blocks=2",
    ];
    let mut rig = ofwar(&with(&small, &["ftl.gc_idle_after=1s", "ftl.gc_idle_target_blocks=9", "policy.ofwar.fast_bias=1.0"]));
    for pair in [[0, 8], [1, 9], [2, 10], [3, 11]] {
        burst(&mut rig, &pair);
    }
    rig.one(Op::Trim, 0, 1);
    idle(&mut rig, 1100);
    assert_eq!(moved(&mut rig)[..3], [(Reason::Gc, 1), (Reason::Gc, 2), (Reason::Gc, 3)]);
    let before = decisions(&rig);
    burst(&mut rig, &[1]);
    assert_eq!(decisions(&rig), (before.0, before.1, before.2 + 1), "collected data is normal data");
}

#[test]
fn a_full_queue_turns_writes_normal_or_evicts() {
    let mut rig = ofwar(&["policy.ofwar.write_threshold=0", "policy.ofwar.queue_depth=2"]);
    (0..4).for_each(|unit| burst(&mut rig, &[unit]));
    assert_eq!((decisions(&rig), rig.stat("writes_on_full_queue")), ((2, 0, 2), 2));
    assert_eq!(moved(&mut rig), []);
    let mut rig = ofwar(&["policy.ofwar.write_threshold=0", "policy.ofwar.queue_depth=2", "policy.ofwar.on_full=evict"]);
    (0..4).for_each(|unit| burst(&mut rig, &[unit]));
    idle(&mut rig, 10);
    assert_eq!((decisions(&rig), rig.stat("evictions")), ((4, 0, 0), 2));
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 0), (Reason::Rewrite, 1)], "the oldest make room");
    assert_eq!(rig.stat("rewrite_queue_entries"), 2);
}

#[test]
fn stale_entries_are_dropped_at_the_top() {
    let mut rig = ofwar(&["policy.ofwar.write_threshold=0", "policy.ofwar.rewrite_threshold=1"]);
    burst(&mut rig, &[0]);
    burst(&mut rig, &[0]);
    idle(&mut rig, 10);
    assert_eq!(
        (rig.stat("stale_entries_dropped"), rig.stat("rewrites_started")),
        (1, 0),
        "one entry is left: not more than the threshold"
    );
    rig.one(Op::Trim, 0, 1);
    burst(&mut rig, &[1]);
    burst(&mut rig, &[2]);
    idle(&mut rig, 10);
    assert_eq!((rig.stat("stale_entries_dropped"), rig.stat("rewrites_started")), (2, 1));
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 1)]);
}

#[test]
fn a_queue_of_stale_entries_is_full_until_they_are_found() {
    let full = ["policy.ofwar.write_threshold=0", "policy.ofwar.queue_depth=2"];
    let mut rig = ofwar(&with(&full, &["policy.ofwar.stale=at_top"]));
    // The third write finds two live entries. It makes the top entry stale, which is dropped for the fourth write, and
    // so on.
    [0, 1, 0, 1, 0, 1, 0].iter().for_each(|&unit| burst(&mut rig, &[unit]));
    assert_eq!((decisions(&rig), rig.stat("writes_on_full_queue")), ((3, 2, 2), 2));
    assert_eq!(rig.stat("stale_entries_dropped"), 3);
    // Stale entries that are found only when they are flushed keep the queue full.
    let mut rig = ofwar(&full);
    [0, 1, 0, 1, 0, 1, 0].iter().for_each(|&unit| burst(&mut rig, &[unit]));
    assert_eq!((decisions(&rig), rig.stat("writes_on_full_queue")), ((2, 0, 5), 5));
    idle(&mut rig, 10);
    assert_eq!(rig.stat("stale_entries_dropped"), 0, "nor are they flushed below the threshold");
}

/// Returns a drive with two dies on two channels whose fast data must be rewritten after 10 ms. At time 0, unit 0 was
/// dispatched fast to die 0 and unit 1 normal to die 1.
fn ageing(sets: &[&str]) -> Rig {
    let age = [
        "flash.channels=2",
        "flash.chips_per_channel=1",
        "policy.kind=ofwar",
        "policy.ofwar.write_threshold=1",
        "policy.ofwar.age_threshold=10ms",
    ];
    let mut rig = Rig::watched(&with(&age, sets));
    burst(&mut rig, &[0, 1]);
    assert_eq!(decisions(&rig), (1, 0, 1));
    rig
}

/// The read of a page that is too old is under way, and all else is held. A drive that comes to rest does not program
/// the rewrite: a read that waits for it would wait for ever.
#[test]
fn a_drive_that_comes_to_rest_serves_the_reads_that_a_rewrite_holds_back() {
    let mut rig = ageing(&[]);
    let read = rig.submit(Op::Read, 1, 1, SimTime(10 * MS + 2));
    rig.run_until(SimTime(10 * MS + 3));
    assert_eq!(rig.operations(), [1, 2, 0, 0], "the read is held");
    rig.drive.quiesce();
    assert_eq!((rig.drive.commands_in_flight(), rig.operations()), (0, [2, 2, 0, 0]));
    rig.drain();
    assert_eq!(rig.row(read).causes.get(Cause::DieHeld), Nanos(READ - 1));
}

#[test]
fn what_is_too_old_is_rewritten_before_anything_else() {
    let mut rig = ageing(&[]);
    rig.run_until(SimTime(10 * MS));
    assert_eq!(rig.operations()[0], 0, "not at the threshold");
    rig.run_until(SimTime(10 * MS + 1));
    assert_eq!(rig.operations()[0], 1, "one nanosecond older");
    // The other die is idle, but a read of it waits until the rewrite is bound to its new place.
    let read = rig.submit(Op::Read, 1, 1, SimTime(10 * MS + 2));
    let write = rig.submit(Op::Write, 5, 1, SimTime(10 * MS + 1000));
    let placed = 10 * MS + 1 + READ;
    rig.run_until(SimTime(placed - 1));
    assert_eq!(rig.operations(), [1, 2, 0, 0], "nothing else starts");
    rig.run_until(SimTime(placed));
    assert_eq!(rig.operations(), [2, 3, 0, 0], "the rewrite is being programmed, and the read may start");
    rig.drain();
    let parts = [(Cause::DieHeld, READ - 1), (Cause::BusCommand, 290), (Cause::Sense, 50_000), (Cause::Transfer, 3414)];
    assert_parts("read", &rig.row(read), &parts);
    assert_eq!(rig.row(write).causes.get(Cause::DieHeld), Nanos(READ - 999), "the write was held as long");
    assert_eq!((rig.stat("urgent_rewrites"), rig.stat("rewrite_queue_entries")), (1, 0));
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 0)]);
}

#[test]
fn the_age_threshold_is_the_limit_at_the_wear_of_the_block_less_what_rewriting_takes() {
    // The limit is 10 s on a fresh block and 5 s on a worn one, less the margin of 1 s, and less 325 ms (1000 queue
    // entries times half of tR + tPROG).
    for (cycles, limit) in [(0u64, 10_000u64), (2_000, 5_000), (3_000, 5_000)] {
        let cycles = format!("state.pe_cycles={cycles}");
        let sets = [
            "flash.channels=2",
            "flash.chips_per_channel=1",
            "flash.rated_pe_cycles=3000",
            "flash.write_mode[1].retention=[\"10s\", \"5s\"]",
            "ftl.retention_margin=1s",
            "policy.kind=ofwar",
            "policy.ofwar.write_threshold=1",
            "policy.ofwar.queue_depth=1000",
            &cycles,
        ];
        let mut rig = Rig::watched(&sets);
        burst(&mut rig, &[0, 1]);
        let threshold = SimTime((limit - 1_000 - 325) * MS);
        rig.run_until(threshold);
        assert_eq!(rig.stat("urgent_rewrites"), 0, "{cycles}");
        rig.run_until(threshold + Nanos(1));
        assert_eq!(rig.stat("urgent_rewrites"), 1, "{cycles}");
    }
}

#[test]
fn what_was_overwritten_does_not_age() {
    let mut rig = ageing(&[]);
    // A hit at 4 ms: the page is younger now, and its old entry is stale.
    rig.run_until(SimTime(4 * MS));
    burst(&mut rig, &[0]);
    rig.run_until(SimTime(14 * MS));
    assert_eq!((rig.stat("urgent_rewrites"), rig.stat("stale_entries_dropped")), (0, 1));
    rig.run_until(SimTime(14 * MS + 1));
    assert_eq!(rig.stat("urgent_rewrites"), 1);
    rig.run_until(SimTime(20 * MS));
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 0)]);
}

#[test]
fn a_graceful_shutdown_rewrites_everything_that_is_live() {
    let mut rig = ofwar(&["policy.ofwar.write_threshold=0"]);
    (0..6).for_each(|unit| burst(&mut rig, &[unit]));
    burst(&mut rig, &[2]);
    rig.one(Op::Trim, 4, 1);
    assert_eq!(moved(&mut rig), []);
    rig.drive.shut_down(&mut |_| true);
    assert_eq!(moved(&mut rig), [0, 1, 3, 5, 2].map(|unit| (Reason::Rewrite, unit)));
    assert_eq!(rig.stat("rewrite_queue_entries"), 0);
    let medium = rig.drive.medium();
    let modes: Vec<u8> = [0, 1, 2, 3, 5]
        .iter()
        .map(|&unit| medium.block(medium.geometry.block_of(rig.drive.map().place_of(Lpn(unit)).expect("mapped"))).mode())
        .collect();
    assert_eq!(modes, [0; 5], "no fast data is left");
}

/// Returns true if, of a fast block with `fast_invalid` invalid pages and a normal block with `normal_invalid`, each of
/// four pages, the fast one is collected first.
fn collects_fast(bias: f64, fast_invalid: u64, normal_invalid: u64) -> bool {
    let small = [
        "flash.pages_per_block=4",
        "flash.blocks_per_plane=10",
        "ftl.overprovisioning=1.0",
        "ftl.user_capacity=64KiB",
        "ftl.gc_low_blocks=2",
    ];
    let bias = format!("policy.ofwar.fast_bias={bias:?}");
    let mut rig = ofwar(&with(&small, &["ftl.gc_idle_after=1s", "ftl.gc_idle_target_blocks=9", &bias]));
    for pair in [[0, 8], [1, 9], [2, 10], [3, 11]] {
        burst(&mut rig, &pair);
    }
    for unit in (0..fast_invalid).chain(8..8 + normal_invalid) {
        rig.one(Op::Trim, unit, 1);
    }
    idle(&mut rig, 1100);
    let first = moved(&mut rig).into_iter().next().expect("something was collected");
    assert_eq!(first.0, Reason::Gc);
    first.1 < 8
}

#[test]
fn collection_prefers_fast_blocks_by_their_bias() {
    // Score = invalid + bias x valid fast pages.
    assert!(!collects_fast(0.0, 1, 2), "greedy: 1 against 2");
    assert!(!collects_fast(0.33, 1, 2), "1.99 against 2");
    assert!(collects_fast(0.34, 1, 2), "2.02 against 2");
    assert!(collects_fast(0.5, 1, 2), "2.5 against 2");
    assert!(collects_fast(1.0, 1, 3), "strict: 4 against 3");
    assert!(!collects_fast(0.5, 1, 3), "2.5 against 3");
    assert!(!collects_fast(1.0, 0, 1), "a block without an invalid page frees nothing");
}

#[test]
fn separate_decides_alike_and_writes_at_one_speed() {
    let run = |policy: &str| {
        let sets = [
            format!("policy.kind={policy}"),
            "policy.separate.decisions={ write_threshold = 1, rewrite_threshold = 1000 }".to_owned(),
        ];
        let mut rig = ofwar(&[&sets[0], &sets[1]]);
        for units in [&[0, 1, 2][..], &[3], &[0], &[1, 4], &[2], &[2]] {
            burst(&mut rig, units);
        }
        let medium = rig.drive.medium();
        let blocks: Vec<u32> =
            (0..5).map(|unit| medium.geometry.block_of(rig.drive.map().place_of(Lpn(unit)).expect("mapped")).0).collect();
        (rig, blocks)
    };
    let (ofwar, ofwar_blocks) = run("ofwar");
    let (separate, separate_blocks) = run("separate");
    let (by_queue, by_hit, normal) = decisions(&ofwar);
    assert_eq!((by_queue, by_hit, normal), (2, 2, 5));
    assert_eq!((separate.stat("hot_writes"), separate.stat("cold_writes")), (by_queue + by_hit, normal));
    assert_eq!(separate_blocks, ofwar_blocks, "the same frontiers");
    assert_eq!(ofwar.drive.translator().report().counters.host_units_by_mode[..2], [5, 4]);
    assert_eq!(separate.drive.translator().report().counters.host_units_by_mode[..2], [9, 0]);
    assert_eq!(separate.programmed(Reason::Rewrite), 0);
}

#[test]
fn separate_evicts_as_ofwar_does() {
    let decisions = "policy.separate.decisions={ write_threshold = 0, queue_depth = 2, on_full = \"evict\" }";
    let mut rig = ofwar(&["policy.kind=separate", decisions]);
    (0..4).for_each(|unit| burst(&mut rig, &[unit]));
    idle(&mut rig, 10);
    let hot = [0, 1, 2, 3].map(|unit| rig.drive.map().declared_state(Lpn(unit)));
    assert_eq!(hot, [0, 0, 1, 1], "the oldest entries made room");
    assert_eq!(rig.programmed(Reason::Rewrite), 0);
}

#[test]
fn all_fast_writes_everything_fast_and_rewrites_nothing() {
    let sets = ["flash.blocks_per_plane=64", "state.precondition=fill"];
    let job = "[job]\nrw=randwrite\nnorandommap=1\niodepth=16\nio_size=1000g\nnumber_ios=20000\n";
    let summary =
        session("base = \"tiny\"", &sets, Some("all_fast"), job).unwrap_or_else(|problems| panic!("{problems}")).summary;
    assert_eq!(summary["modes"]["host_write"]["fast"].as_u64(), Some(20_000));
    assert_eq!(summary["modes"]["host_write"]["normal"].as_u64(), Some(0));
    assert!(summary["flash"]["programs"]["gc"].as_u64() > Some(0));
    assert_eq!(summary["modes"]["write"]["normal"], summary["flash"]["programs"]["gc"], "collection writes normal");
    assert!(summary["flash"]["programs"]["rewrite"].is_null());
}

#[test]
fn a_session_that_shuts_down_gracefully_says_how_long_it_took() {
    let sets = ["state.graceful_shutdown=true", "policy.ofwar.write_threshold=0"];
    let job = "[job]\nrw=write\nnumber_ios=100\n";
    let run =
        |policy| session("base = \"tiny\"", &sets, Some(policy), job).unwrap_or_else(|problems| panic!("{problems}")).summary;
    let ofwar = run("ofwar");
    assert_eq!(ofwar["flash"]["programs"]["rewrite"].as_u64(), Some(100));
    assert!(ofwar["shutdown_ns"].as_u64() > Some(25 * 600_000), "25 pages on each die");
    assert_eq!(run("baseline")["shutdown_ns"].as_u64(), Some(0));
}
