//! Rewrites in idle time, and data moved by collections.

use super::*;

#[test]
fn a_page_written_at_low_cost_and_then_only_read_is_rewritten_once() {
    let mut rig = agcr(&[]);
    programs(&mut rig, 0, "WW");
    assert_eq!(read_one(&mut rig, 0), SLOW);
    rest(&mut rig, 10);
    assert_eq!(rewrites(&rig), (0, 0, 0), "the window holds a write and a read");
    assert_eq!(read_one(&mut rig, 0), SLOW, "the read that enters the rewrite is still at high cost");
    rest(&mut rig, 10);
    assert_eq!(rewrites(&rig), (1, 1, 0));
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 0, FINE)]);
    assert_eq!(read_one(&mut rig, 0), QUICK);
    read_one(&mut rig, 0);
    rest(&mut rig, 10);
    assert_eq!(rewrites(&rig), (1, 1, 0), "once");
    // A rewrite is not an access of the host: for the next write, the last access is a read.
    assert_eq!(write(&mut rig, 0), MIDDLE);
}

#[test]
fn a_rewrite_reads_its_page_in_the_slow_mode() {
    let mut rig = agcr(&[]);
    programs(&mut rig, 0, "WWRR");
    rig.records();
    rest(&mut rig, 10);
    assert_eq!(die_reads(&mut rig, Reason::Rewrite), [total(SLOW)]);
}

#[test]
fn many_reads_enter_one_rewrite() {
    let mut rig = agcr(&[]);
    programs(&mut rig, 0, "WW");
    together(&mut rig, Op::Read, &[0; 20]);
    rig.drain();
    rest(&mut rig, 10);
    assert_eq!((rewrites(&rig), moved(&mut rig)), ((1, 1, 0), vec![(Reason::Rewrite, 0, FINE)]));
    // Nor do reads enter another rewrite while it is in progress.
    programs(&mut rig, 1, "WWRRRRR");
    rest(&mut rig, 10);
    assert_eq!((rewrites(&rig), moved(&mut rig)), ((2, 2, 0), vec![(Reason::Rewrite, 1, FINE)]));
}

#[test]
fn pages_of_high_cost_are_not_rewritten_and_those_of_medium_cost_by_option() {
    let run = |sets: &[&str]| {
        let mut rig = agcr(sets);
        programs(&mut rig, 0, "WRRRR");
        assert_eq!(programs(&mut rig, 1, "WRWRRRR"), [HIGH, MIDDLE]);
        rest(&mut rig, 10);
        (rewrites(&rig), moved(&mut rig))
    };
    assert_eq!(run(&[]), ((1, 1, 0), vec![(Reason::Rewrite, 1, FINE)]));
    assert_eq!(run(&["policy.agcr.rewrite_medium=false"]), ((0, 0, 0), vec![]));
}

#[test]
fn a_longer_window_wants_more_reads_before_a_rewrite() {
    for (window, reads) in [(2, 2), (3, 3), (4, 4)] {
        let mut rig = agcr(&[&format!("policy.agcr.window={window}")]);
        programs(&mut rig, 0, "WWWWW");
        for read in 1..=reads {
            assert_eq!(rig.stat("rewrites_entered"), 0, "window {window}, before read {read}");
            rig.one(Op::Read, 0, 1);
        }
        assert_eq!(rig.stat("rewrites_entered"), 1, "window {window}");
    }
}

#[test]
fn rewrites_wait_for_idle_time() {
    let mut rig = agcr(&[]);
    programs(&mut rig, 0, "WWR");
    together(&mut rig, Op::Read, &[0]);
    together(&mut rig, Op::Write, &[1, 2, 3, 4, 5]);
    rig.drain();
    let order: Vec<u32> = rig
        .records()
        .into_iter()
        .filter_map(|record| match record {
            Record::Bound { lpn, .. } | Record::Relocated { lpn, .. } => Some(lpn.0),
            _ => None,
        })
        .collect();
    assert_eq!(order[2..], [1, 2, 3, 4, 5], "no rewrite while writes wait");
    assert_eq!(rewrites(&rig), (1, 1, 0), "as soon as none does");
    rest(&mut rig, 10);
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 0, FINE)]);
}

/// Unit 0 waits to be rewritten, while a long program of unit 2 occupies the channel of unit 0 or the other channel.
#[test]
fn the_channel_of_the_page_or_the_drive_must_be_idle() {
    let run = |idle: &str, busy_unit: u64| {
        let idle = format!("policy.agcr.idle={idle}");
        let slow = "flash.write_mode[2].program_scale=100.0";
        let mut rig = Rig::watched(&with(&with(&with(TWO_CHANNELS, MODES), AGCR), &[&idle, slow]));
        // Units 0 (low cost) and 1 (high cost) are placed on different channels.
        together(&mut rig, Op::Write, &[0, 1]);
        rig.drain();
        rig.one(Op::Write, 0, 1);
        rig.one(Op::Read, 0, 1);
        assert_ne!(die_of(&rig, 0), die_of(&rig, 1));
        // The first write of unit 2, a program of 60 ms, goes to the channel of unit `busy_unit`, because the other die
        // is busy with a read at that instant.
        let now = rig.drive.now();
        rig.submit(Op::Read, 1 - busy_unit, 1, now);
        rig.submit(Op::Write, 2, 1, now + Nanos(1));
        rig.run_until(now + Nanos(5 * MS));
        // The read of unit 0 enters the rewrite when it is issued, not when it is served. After the read of unit 1 a
        // die looks for its next operation.
        together(&mut rig, Op::Read, &[0, 1]);
        rig.run_until(now + Nanos(50 * MS));
        let early = rig.stat("rewrites_started");
        rig.run_until(now + Nanos(200 * MS));
        (early, rig.stat("rewrites_started"))
    };
    assert_eq!(run("channel", 1), (1, 1), "the page's channel is idle");
    assert_eq!(run("channel", 0), (0, 1), "it is not, and the idle neighbour does not fetch the page");
    assert_eq!(run("drive", 1), (0, 1), "the drive is not idle");
}

#[test]
fn a_rewrite_is_dropped_if_its_page_is_written_first() {
    let mut rig = agcr(&["policy.agcr.rewrite_medium=false"]);
    programs(&mut rig, 0, "WWR");
    let now = rig.drive.now();
    rig.submit(Op::Read, 0, 1, now);
    rig.submit(Op::Write, 0, 1, now);
    rig.drain();
    rest(&mut rig, 10);
    assert_eq!((rewrites(&rig), moved(&mut rig)), ((1, 0, 1), vec![]));
    // Two more reads: the page was written at medium cost and is not rewritten.
    programs(&mut rig, 0, "RR");
    rest(&mut rig, 10);
    assert_eq!(rewrites(&rig), (1, 0, 1));
    // A rewrite is also dropped if its page is trimmed.
    programs(&mut rig, 1, "WWR");
    let now = rig.drive.now();
    rig.submit(Op::Read, 1, 1, now);
    rig.submit(Op::Trim, 1, 1, now + Nanos(1));
    rig.drain();
    rest(&mut rig, 10);
    assert_eq!((rewrites(&rig), moved(&mut rig)), ((2, 0, 2), vec![]));
}

#[test]
fn a_full_rewrite_queue_leaves_reads_at_high_cost() {
    let mut rig = agcr(&["policy.agcr.queue_depth=1"]);
    programs(&mut rig, 0, "WWR");
    programs(&mut rig, 1, "WWR");
    together(&mut rig, Op::Read, &[0, 1, 1, 0]);
    rig.drain();
    assert_eq!((rewrites(&rig), rig.stat("reads_on_full_queue")), ((1, 1, 0), 2));
    rest(&mut rig, 10);
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 0, FINE)]);
    // The queue has space again.
    rig.one(Op::Read, 1, 1);
    rest(&mut rig, 10);
    assert_eq!(moved(&mut rig), [(Reason::Rewrite, 1, FINE)]);
}

#[test]
fn collection_keeps_the_class_or_writes_at_high_cost() {
    let collected = |sets: &[&str]| {
        let mut rig = about_to_be_collected(sets);
        rest(&mut rig, 1_200);
        let moved = moved(&mut rig);
        (rig, moved)
    };
    let (mut rig, moved) = collected(&[]);
    assert_eq!(moved, [(Reason::Gc, 1, FINE), (Reason::Gc, 2, FAST), (Reason::Gc, 3, NORMAL)]);
    assert_eq!([1, 2, 3].map(|unit| read_one(&mut rig, unit)), [QUICK, SLOW, MEDIUM]);
    // A move is not an access of the host: unit 2 was written twice and has now been read.
    assert_eq!(write(&mut rig, 2), MIDDLE);
    let (mut rig, moved) = collected(&["policy.agcr.keep_class=false"]);
    assert_eq!(moved, [1, 2, 3].map(|unit| (Reason::Gc, unit, FINE)));
    assert_eq!([1, 2, 3].map(|unit| read_one(&mut rig, unit)), [QUICK; 3]);
}

/// The queue of the paper holds logical addresses: a page that is collected before its rewrite is still rewritten.
#[test]
fn a_rewrite_outlives_a_collection_of_its_page() {
    let sets = ["policy.agcr.idle=drive", "flash.write_mode[2].program_scale=1000.0", "flash.program_time=10ms"];
    let mut rig = Rig::watched(&with(&with(&with(&with(TWO_CHANNELS, MODES), AGCR), SMALL), &sets));
    for _ in 0..2 {
        together(&mut rig, Op::Write, &[0, 1, 2, 3, 4, 5, 6, 7]);
        rig.drain();
    }
    rig.one(Op::Read, 0, 1);
    // A first write, a program of 10 s, keeps the drive from being idle. Unit 0 is on the die that collects meanwhile.
    let now = rig.drive.now();
    rig.submit(Op::Read, 0, 1, now);
    rig.submit(Op::Write, 9, 1, now + Nanos(1));
    rig.run_until(now + Nanos(2 * MS));
    let places = |rig: &Rig| rig.drive.map().place_of(Lpn(0)).expect("mapped");
    let before = places(&rig);
    assert_eq!(rewrites(&rig), (1, 0, 0));
    let beside: Vec<u64> = (1..8).filter(|&unit| die_of(&rig, unit) == die_of(&rig, 0)).map(u64::from).take(2).collect();
    together(&mut rig, Op::Trim, &beside);
    rig.run_until(now + Nanos(4_000 * MS));
    assert_ne!(places(&rig), before, "collected");
    assert_eq!(rewrites(&rig), (1, 0, 0));
    rig.run_until(now + Nanos(60_000 * MS));
    assert_eq!(rewrites(&rig), (1, 1, 0));
}

/// A rewrite that waits for host writes becomes void if a collection moves its page meanwhile. The next read enters a
/// new one.
#[test]
fn a_rewrite_whose_page_was_moved_is_entered_again() {
    for (window, accesses) in [(2, "WWR"), (3, "WWRR")] {
        let window = format!("policy.agcr.window={window}");
        let mut rig = agcr(&with(&SMALL[..5], &[&window, "ftl.victim=fifo"]));
        programs(&mut rig, 0, accesses);
        programs(&mut rig, 1, "W");
        together(&mut rig, Op::Read, &[0, 0]);
        while rig.stat("rewrites_started") == 0 {
            rig.step();
        }
        let before = rig.drive.map().place_of(Lpn(0));
        for _ in 0..20 {
            together(&mut rig, Op::Write, &[1, 2, 3, 4, 5, 6, 7]);
        }
        rig.drain();
        rest(&mut rig, 50);
        assert_ne!(rig.drive.map().place_of(Lpn(0)), before, "moved");
        assert_eq!(rig.programmed(Reason::Rewrite), 0, "{window}: the rewrite was void");
        let entered = rig.stat("rewrites_entered");
        rig.one(Op::Read, 0, 1);
        assert_eq!(rig.stat("rewrites_entered"), entered + 1, "{window}");
        rest(&mut rig, 50);
        assert_eq!(rig.programmed(Reason::Rewrite), 1, "{window}");
        assert_eq!(read_one(&mut rig, 0), QUICK);
    }
}
