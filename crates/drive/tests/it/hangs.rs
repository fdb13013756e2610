//! A controller that hangs: it recovers, or the host aborts a command, resets the controller, and submits its commands
//! again. `SSDLAB_CASES=<count>` and `SSDLAB_FROM=<seed>` choose the random cases.

use crate::common::{ONE_DIE, PROGRAM, READ, Rig, assert_parts, given, with};
use crate::faults::{number, summary};
use drive::HangCounts;
use drive::fault_script::FaultScript;
use kit::{Cause, Nanos, Op, SimTime};
use serde_json::Value;
use testkit::case::faults::{self, Failed};

/// A command with the data of a unit takes 700 ns + 4096 B / 3 GB/s on the link.
const PLAIN: &str = "host.interface={ kind = \"plain\", queue_depth = 4, command_time = \"700ns\", bandwidth = \"3GB/s\" }";
const LINK: u64 = 700 + 1366;
const NVME: &str = "host.interface={ kind = \"nvme\", queues = 1, queue_depth = 16 }";
const RECOVERY: &str = "faults.recovery={ timeout = \"10ms\", reset_time = \"2ms\" }";
const MS: u64 = 1_000_000;

/// Returns a drive whose controller hangs at an instant, for a time or until it is reset.
fn hanging(sets: &[&str], at: u64, span: Option<u64>) -> Rig {
    let mut rig = Rig::new(&with(&with(ONE_DIE, &[RECOVERY]), sets));
    rig.drive.script_faults(&FaultScript { hangs: vec![(Nanos(at), span.map(Nanos))], ..FaultScript::default() });
    rig
}

/// A command whose work is over waits for the end of the hang; one that comes meanwhile is served after it.
#[test]
fn commands_wait_for_the_end_of_a_hang() {
    let mut rig = hanging(&[PLAIN], 0, Some(5 * MS));
    let write = rig.submit(Op::Write, 0, 1, SimTime(0));
    let read = rig.submit(Op::Read, 0, 1, SimTime(MS));
    rig.drain();
    let work = LINK + PROGRAM.iter().map(|(_, ns)| ns).sum::<u64>();
    let parts = [&[(Cause::Link, LINK)], &PROGRAM[..], &[(Cause::Firmware, 5 * MS - work)]].concat();
    assert_parts("write", &rig.row(write), &parts);
    let parts = [&[(Cause::HostQueue, 4 * MS), (Cause::Link, LINK)], &READ[..]].concat();
    assert_parts("read", &rig.row(read), &parts);
    assert_eq!(rig.drive.hang_counts(), HangCounts::default());
}

/// The host aborts a command 10 ms after its submission, resets the controller 10 ms later, and submits it again after
/// the 2 ms of the reset. The unit is programmed twice.
#[test]
fn a_reset_ends_a_hang_and_the_command_is_submitted_again() {
    let mut rig = hanging(&[PLAIN], 0, None);
    let write = rig.one(Op::Write, 0, 1);
    let parts = [&[(Cause::Link, 2 * LINK), (Cause::Host, 22 * MS - LINK)], &PROGRAM[..]].concat();
    assert_parts("write", &write, &parts);
    assert_eq!(rig.drive.hang_counts(), HangCounts { aborts: 1, resets: 1, submitted_again: 1 });
    assert_eq!(rig.operations()[1], 2);
    let read = rig.one(Op::Read, 0, 1);
    assert_parts("read", &read, &[&[(Cause::Link, LINK)], &READ[..]].concat());
}

/// A hang of less than two timeouts ends by itself, after an abort if it is longer than one; commands that come during
/// the hang are late by their own submission.
#[test]
fn the_host_waits_for_its_timeout() {
    for (span, counts) in [(9, [0, 0]), (11, [0, 0]), (12, [1, 0]), (21, [1, 0]), (22, [1, 1])] {
        let mut rig = hanging(&[PLAIN], 3 * MS, Some(span * MS));
        // The hang begins at 3 ms, and the command comes a millisecond later: its times are 14 ms and 24 ms. At an
        // instant at which the hang ends, the host does nothing.
        let read = rig.submit(Op::Read, 0, 1, SimTime(4 * MS));
        rig.drain();
        let HangCounts { aborts, resets, submitted_again } = rig.drive.hang_counts();
        let ends = if resets > 0 { 26 * MS } else { (3 + span) * MS };
        assert_eq!(([aborts, resets], submitted_again), (counts, 0), "{span} ms");
        assert_eq!(rig.row(read).completed, SimTime(ends + LINK), "{span} ms");
    }
}

/// Where completions are posted and commands are fetched: those in the device are submitted again, those in the queue
/// stay there, and all complete once.
#[test]
fn a_queue_of_commands_is_served_after_a_reset() {
    let mut rig = hanging(&[NVME, "host.interface.commands=3"], 30_000, None);
    for unit in 0..8 {
        rig.submit(Op::Write, unit, 1, SimTime(0));
    }
    rig.submit(Op::Flush, 0, 0, SimTime(MS));
    rig.drain();
    assert_eq!(rig.drive.hang_counts(), HangCounts { aborts: 1, resets: 1, submitted_again: 3 });
    assert_eq!(rig.rows().len(), 9);
    assert!(rig.rows().iter().all(|row| row.completed > SimTime(22 * MS)));
    assert_eq!(rig.operations()[1], 8 + 3);
}

/// A reset is no loss of power: what the write buffer has acknowledged stays there, and is programmed as usual.
#[test]
fn acknowledged_writes_survive_a_reset() {
    let buffer = ["buffer.policy=write_back", "buffer.capacity=64KiB", "buffer.flush_after=1s", PLAIN];
    let mut rig = hanging(&with(&buffer, &["flash.program_time=30ms"]), MS, None);
    let write = rig.one(Op::Write, 0, 4);
    assert!(write.completed < SimTime(MS), "{write:?}");
    let late = rig.submit(Op::Write, 8, 1, SimTime(2 * MS));
    let read = rig.submit(Op::Read, 0, 4, SimTime(2 * MS));
    rig.drain();
    assert_eq!(rig.drive.hang_counts().resets, 1);
    assert!(rig.row(read).completed > SimTime(24 * MS) && rig.row(late).completed > SimTime(24 * MS));
    assert_eq!(rig.operations()[..2], [0, 1], "the first unit is being programmed, and the others are in the buffer");
    rig.one_bytes(Op::Flush, 0, 0);
    assert_eq!(rig.operations()[1], 5);
}

/// A reset takes at least as long as the work of the commands in the device.
#[test]
fn a_reset_waits_for_the_work_that_was_begun() {
    let mut rig = hanging(&[PLAIN, "flash.program_time=50ms", "ftl.gc_preemptible=false"], 0, None);
    let write = rig.one(Op::Write, 0, 1);
    let work = LINK + 361 + 3414 + 50 * MS;
    assert_eq!(write.completed, SimTime(2 * work));
}

const READS: &str = "[job]\nrw=randread\nbs=4k\niodepth=16\nnumber_ios=6000\nnorandommap=1\nio_size=100g\n";

/// A script of hangs has its effects, and the same ones when it is run again.
#[test]
fn a_script_of_hangs_has_its_effects() {
    let sets = ["state.precondition=fill", PLAIN, "faults.recovery={ timeout = \"1s\", reset_time = \"100ms\" }"];
    let script = "controller_stuck = [{ at = \"1ms\", for = \"1500ms\" }, { at = \"1520ms\" }]";
    let run = || {
        let mut found = summary(&sets, READS, Some(script)).unwrap_or_else(|why| panic!("{why}"));
        found["wall_s"] = Value::Null;
        found
    };
    let found = run();
    let counts = ["command_aborts", "controller_resets", "commands_submitted_again"];
    // The device has four commands; the others wait for a place in its queue.
    assert_eq!(counts.map(|key| number(&found, &format!("/health/{key}"))), [2, 1, 4]);
    assert!((2_000_000_000..2_200_000_000).contains(&number(&found, "/latency/read/max_ns")), "{found}");
    assert_eq!(run(), found);
    for (sets, script, expected) in [
        (&[][..], "controller_stuck = [{ at = \"1ms\" }]", "controller_stuck: the host interface `ideal` has no queue"),
        (&[PLAIN][..], "controller_stuck = [{ at = \"1ms\", for = \"ever\" }]", ":1: "),
        (&[PLAIN][..], "controller_stuck = [{ for = \"1ms\" }]", ":1: controller_stuck[0]: the field `at` is missing"),
    ] {
        let told = summary(sets, READS, Some(script)).expect_err(script).to_string();
        assert!(told.contains(expected), "{script}: {told}");
    }
}

/// Random drives with faults of their flash, hangs, resets, slow operations and damaged packets lose nothing that they
/// have acknowledged, through losses of power and reloads.
#[test]
fn random_drives_survive_hangs() {
    let count = given("SSDLAB_CASES").unwrap_or(200);
    let (mut all, mut done) = (Failed::default(), 0);
    for seed in given("SSDLAB_FROM").unwrap_or(0).. {
        if done == count {
            break;
        }
        let found = faults::run_with_host_faults(seed, 400).unwrap_or_else(|why| panic!("seed {seed}: {}", why.0));
        if let Some((_, failed)) = found {
            all.merge(&failed);
            done += 1;
        }
    }
    println!("{count} cases: {all:?}");
    let least = [all.resets, all.submitted_again, all.slow, all.packets, all.power * 6, all.reloads * 6];
    assert!(least.iter().all(|many| *many > count / 2), "{all:?}");
}
