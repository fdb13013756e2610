//! Queues of the targets that hold up the fetching of commands.

use crate::common::{Rig, summary, with};
use kit::{Cause, Op};

const READ_TIME: u64 = 290 + 50_000 + 3414;

/// A drive of two dies on two channels whose even units are on one die and odd ones on the other.
fn two_dies(sets: &[&str]) -> Rig {
    let dies = ["flash.channels=2", "flash.chips_per_channel=1", "ftl.write_allocation=static"];
    let mut rig = Rig::new(&with(&dies, sets));
    for unit in 0..16 {
        rig.one(Op::Write, unit, 1);
    }
    rig
}

/// Threshold 1: two reads may be at a die. Of four reads of one die and one of the other, the last waits for two of the
/// four to end, although its die is idle.
#[test]
fn one_busy_die_holds_up_the_commands_for_another() {
    let mut rig = two_dies(&["controller.target_queues={ threshold = 1 }"]);
    let now = rig.drive.now();
    let tags = [0, 2, 4, 6, 1].map(|unit| rig.submit(Op::Read, unit, 1, now));
    rig.drain();
    let waits = tags.map(|tag| [Cause::QueueBlocked, Cause::DieHostRead].map(|cause| rig.row(tag).causes.get(cause).0));
    // The third is fetched when the first ends, the fourth when the second does; the fifth when the third does.
    let expected = [[0, 0], [0, READ_TIME], [READ_TIME, READ_TIME], [2 * READ_TIME, READ_TIME], [3 * READ_TIME, 0]];
    assert_eq!(waits, expected);
    assert_eq!(rig.drive.controller().deepest_target_queue(), 2);
    // Without thresholds it does not wait.
    let mut rig = two_dies(&[]);
    let now = rig.drive.now();
    let tags = [0, 2, 4, 6, 1].map(|unit| rig.submit(Op::Read, unit, 1, now));
    rig.drain();
    assert_eq!(rig.row(tags[4]).completed.since(now).0, READ_TIME);
}

/// Random reads behind PCI Express: no queue is deeper than its threshold and one more, and less is read in a second
/// the lower the threshold.
#[test]
fn no_queue_is_deeper_than_its_threshold_and_one() {
    let sets = ["host.interface=nvme", "flash.channels=4", "flash.chips_per_channel=2", "state.precondition=fill"];
    let mut rates = Vec::new();
    for threshold in [1, 2, 4, 8] {
        let target = format!("controller.target_queues={{ threshold = {threshold} }}");
        let all = with(&sets, &[&target]);
        let mut rig = Rig::new(&all);
        rig.replay("rw=randread\nbs=4k\niodepth=64\nnorandommap=1\nnumber_ios=4000");
        assert_eq!(rig.drive.controller().deepest_target_queue(), threshold + 1);
        let summary = summary(&all, "rw=randread\nbs=4k\niodepth=64\nnorandommap=1\nnumber_ios=4000");
        rates.push(summary["throughput"]["iops"].as_f64().expect("a rate"));
        assert!(summary["causes"]["read"]["queue_blocked"].to_string().len() > 2, "{}", summary["causes"]["read"]);
    }
    assert!(rates.is_sorted() && rates[3] > 1.3 * rates[0], "{rates:?}");
}
