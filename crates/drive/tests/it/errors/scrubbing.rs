//! Blocks that are read often: their data is moved before reads disturb it much (`ftl.scrub_reads`).

use super::{BCH, rate};
use crate::common::{Rig, read, summary, with};
use kit::{Bytes, HostCommand, Op, SimTime};
use serde_json::Value;

/// Returns the blocks erased and the units programmed for scrubbing.
fn scrubs(summary: &Value) -> [u64; 2] {
    ["erases", "programs"].map(|what| summary["flash"][what]["scrub"].as_u64().unwrap_or(0))
}

/// One unit is read again and again, with pauses in which its block can be emptied: the block is emptied and erased at
/// each multiple of the limit, and at no other read.
#[test]
fn a_block_is_emptied_at_each_multiple_of_its_reads() {
    let errors = rate(1e-9);
    let sets = with(&[BCH, &errors], &["state.precondition=fill", "ftl.scrub_reads=500"]);
    for (reads, expected) in [(499, 0), (501, 1), (2999, 5), (5001, 10)] {
        let job = format!("rw=randread\nbs=4k\nsize=4k\nthinktime=200ms\nthinktime_blocks=500\nio_size={}k", 4 * reads);
        let all = summary(&sets, &format!("{job}\niodepth=1"));
        let [erases, programs] = scrubs(&all);
        assert_eq!(erases, expected, "{reads} reads");
        assert!(programs >= expected && (expected > 0 || programs == 0), "{programs} units for {reads} reads");
    }
    let without = summary(&sets[..sets.len() - 1], "rw=randread\nbs=4k\nsize=4k\nio_size=20000k");
    assert_eq!(scrubs(&without), [0, 0]);
}

/// Without pauses, reads delay the move of their block a little; no block is read much more often than the limit.
#[test]
fn no_block_is_read_much_more_often_than_its_limit() {
    let errors = rate(1e-9);
    let most = |limit: &[&str]| {
        let sets = with(&[BCH, &errors, "state.precondition=fill"], limit);
        let mut rig = Rig::new(&sets);
        for tag in 0..20_000 {
            let now = rig.drive.now();
            rig.drive.submit(HostCommand::new(Op::Read, tag, Bytes(u64::from(tag % 7) << 12), Bytes(4096)), now);
            assert_eq!(rig.drive.advance(SimTime::FOREVER).len(), 1);
        }
        let medium = rig.drive.medium();
        let geometry = &medium.geometry;
        let places = (0..geometry.unit_count() as u32).map(kit::Ppn).filter(|ppn| medium.is_valid(*ppn));
        places.map(|ppn| medium.stored_unread(ppn, rig.drive.now()).reads).max()
    };
    let (without, with) = (most(&[]).expect("data"), most(&["ftl.scrub_reads=1000"]).expect("data"));
    assert!(without >= 5000 && with < 1300, "{without} and {with} reads");
}

/// Each attempt at a read counts: five of them fail.
#[test]
fn every_attempt_is_a_read_of_its_block() {
    let (errors, plan) = (rate(0.02), "ecc.plan={ kind = \"read_retry\", steps = 4, reduction = 0.0 }");
    let mut rig = Rig::new(&[BCH, &errors, plan, "state.precondition=fill"]);
    let ppn = rig.drive.map().place_of(kit::Lpn(0)).expect("the drive is full");
    rig.one(Op::Read, 0, 1);
    assert_eq!(rig.drive.medium().stored_unread(ppn, rig.drive.now()).reads, 5);
}

/// Where no read can fail, or another layer translates, there is nothing to scrub.
#[test]
fn scrubbing_needs_reads_that_can_fail_and_the_page_map() {
    let errors = rate(1e-9);
    let cases: [(&[&str], &str); 3] = [
        (&["ftl.scrub_reads=500"], "ecc.errors"),
        (&[BCH, &errors, "ftl.scrub_reads=0"], "scrub_reads"),
        (&[BCH, &errors, "ftl.scrub_reads=500", "ftl.translation=waf"], "page_map"),
    ];
    for (sets, what) in cases {
        let why = read(sets).expect_err(what).to_string();
        assert!(why.contains("ftl.scrub_reads") && why.contains(what), "{why}");
    }
}
