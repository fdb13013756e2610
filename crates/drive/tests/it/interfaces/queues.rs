//! Submission queues: their depth, the choice between them, commands that are alone in the device; saved drives.

use super::{Op, Rig, SimTime};
use crate::common::{ONE_DIE, description, latency, load, saved, session, with};
use drive::{CommandRow, Drive};
use kit::{Bytes, CommandId, Completion, HostCommand, UNIT_BYTES};

/// Commands of one sector each that the device fetches one by one, over a slow link.
const SLOW: &str =
    "kind = \"nvme\", generation = 1, lanes = 1, fetch_batch = 1, fetches = 1, commands = 1, host_memory_time = \"1us\"";

/// Submits `each` flushes through each of `queues` queues at once. Returns the queues in the order of completion.
fn order(interface: &str, queues: u16, each: u32) -> Vec<u16> {
    let description = description(&with(ONE_DIE, &[&format!("host.interface={{ {interface}, queues = {queues} }}")]));
    let mut drive = Drive::new(&description, 1).expect("the tables fit");
    for tag in 0..each {
        for queue in 0..queues {
            drive.submit(HostCommand { queue, ..HostCommand::flush(tag) }, SimTime::ZERO);
        }
    }
    let mut order = Vec::new();
    while drive.commands_in_flight() > 0 || order.is_empty() {
        order.extend(drive.advance(SimTime::FOREVER).iter().map(|done| done.queue));
    }
    order
}

fn counts(order: &[u16], queues: u16) -> Vec<usize> {
    (0..queues).map(|queue| order.iter().filter(|of| **of == queue).count()).collect()
}

/// Doorbells arrive one after another, so that the first fetches find only the first queues; after that, the queues
/// take turns.
#[test]
fn queues_take_turns_and_a_turn_is_a_burst() {
    let turns = order(&format!("{SLOW}, burst = 1"), 3, 40);
    assert_eq!(turns.len(), 120);
    for turn in turns[30..90].chunks(3) {
        assert_eq!(counts(turn, 3), [1, 1, 1], "{turns:?}");
    }
    let bursts = order(&format!("{SLOW}, burst = 4"), 3, 40);
    let changes = bursts[30..90].windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!((13..=16).contains(&changes), "60 commands in bursts of four: {bursts:?}");
}

/// Urgent commands go first; the others share the device by their weights, and the queues of a class take turns.
#[test]
fn classes_share_the_device_by_their_weights() {
    let arbitration = "arbitration = { kind = \"weighted\", weights = [5, 2, 1], priorities = [\"urgent\", \"high\", \"medium\", \"low\", \"medium\"] }";
    let order = order(&format!("{SLOW}, burst = 1, {arbitration}"), 5, 80);
    // Once all doorbells have arrived, the rest of the urgent queue goes first.
    let urgent = order.iter().rposition(|queue| *queue == 0).expect("an urgent command");
    assert!(urgent < 90, "{urgent}: {order:?}");
    let share = counts(&order[urgent + 1..urgent + 1 + 64], 5);
    assert_eq!(share, [0, 40, 8, 8, 8], "eight rounds of 5 + 2 + 1: {order:?}");
}

#[test]
fn a_queue_holds_one_command_less_than_it_has_entries() {
    let interface = "host.interface={ kind = \"nvme\", queue_depth = 3, fetches = 1, host_memory_time = \"100us\" }";
    let mut rig = Rig::new(&with(ONE_DIE, &[interface]));
    for _ in 0..3 {
        rig.submit(Op::Flush, 0, 1, SimTime::ZERO);
    }
    rig.drain();
    let waits: Vec<u64> = rig.rows().iter().map(|row| row.causes.get(kit::Cause::HostQueue).0).collect();
    // Two are fetched at once; the third has no place until the first of them is complete.
    assert!(waits[0] < 100 && waits[1] < 101_000 && waits[2] >= latency(&rig.row(0)), "{waits:?}");
}

/// Flushes and trims of SATA are not queued: they wait until the device is empty, and others wait for them.
#[test]
fn commands_that_are_not_queued_are_alone_in_the_device() {
    let mut rig = Rig::new(&with(ONE_DIE, &["host.interface={ kind = \"sata\" }"]));
    rig.one(Op::Write, 0, 2);
    let start = rig.drive.now();
    let [first, second] = [0, 1].map(|unit| rig.submit(Op::Read, unit, 1, start));
    let flush = rig.submit_bytes(Op::Flush, 0, 0, start);
    let third = rig.submit(Op::Read, 0, 1, start);
    rig.drain();
    let row = |tag: u32| -> CommandRow { rig.row(tag) };
    let reads_end = row(first).completed.max(row(second).completed);
    let not_alone = |row: &CommandRow| (row.submitted, latency(row));
    assert!(row(flush).completed > reads_end, "the flush waits for both reads: {:?}", not_alone(&row(flush)));
    assert!(row(flush).causes.get(kit::Cause::HostQueue).0 > 50_000);
    assert!(row(third).completed > row(flush).completed);
    assert!(row(third).causes.get(kit::Cause::HostQueue).0 >= row(flush).causes.get(kit::Cause::HostQueue).0);
}

/// Poisson arrivals keep their times while the drive is fast enough, and wait for a place while it is not; flushes take
/// no time of a rate.
#[test]
fn arrivals_of_a_rate_wait_for_a_place() {
    let summary = |keys: &str| crate::common::summary(&["state.precondition=fill"], keys);
    let reads = "rw=randread\nrate_process=poisson\nnumber_ios=2000\nrate_iops";
    let seconds = |summary: &serde_json::Value| summary["simulated_ns"].as_f64().expect("a time") / 1e9;
    let slow = seconds(&summary(&format!("{reads}=1000\niodepth=8\n")));
    assert!((slow / 2.0 - 1.0).abs() < 0.1, "{slow} s");
    let (fast, closed) =
        (summary(&format!("{reads}=1000000000\niodepth=2\n")), summary("rw=randread\nnumber_ios=2000\niodepth=2\n"));
    assert!((seconds(&fast) / seconds(&closed) - 1.0).abs() < 0.01, "{} s, {} s", seconds(&fast), seconds(&closed));
    let flushed = summary("rw=write\nnumber_ios=100\nrate_iops=100\nfsync=1\n");
    assert_eq!((flushed["commands"]["write"].as_u64(), flushed["commands"]["flush"].as_u64()), (Some(100), Some(99)));
    assert!((seconds(&flushed) - 1.0).abs() < 0.05, "{} s", seconds(&flushed));
}

/// Each job of a fio file has a queue of its own as far as there are queues: with fewer command slots than the jobs ask
/// for, jobs that share a queue share its turns.
#[test]
fn the_jobs_of_a_workload_have_their_queues() {
    let shares = |queues: u32, jobs: u32| -> Vec<f64> {
        let interface = format!("host.interface={{ kind = \"nvme\", queues = {queues}, commands = 16 }}");
        let job = format!("[job]\nrw=randread\nbs=4k\nnumjobs={jobs}\niodepth=16\nruntime=20ms\ntime_based=1\n");
        let run = session("base = \"tiny\"", &[&interface, "state.precondition=fill"], None, &job);
        let summary = run.unwrap_or_else(|problems| panic!("{problems}")).summary;
        let reads = |stream: &serde_json::Value| stream["commands"]["read"].as_f64().expect("a number");
        let all: Vec<f64> = summary["streams"].as_array().expect("the jobs").iter().map(reads).collect();
        let total: f64 = all.iter().sum();
        assert!(total > 1000.0, "{all:?}");
        all.iter().map(|reads| reads / total).collect()
    };
    for (queues, jobs, expected) in [
        (8, 7, vec![1.0 / 7.0; 7]),
        (8, 8, vec![1.0 / 8.0; 8]),
        (3, 4, vec![1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0]),
        (4, 5, vec![0.125, 0.25, 0.25, 0.25, 0.125]),
    ] {
        let shares = shares(queues, jobs);
        let is_near = |(share, expected): (&f64, &f64)| (share / expected - 1.0).abs() < 0.1;
        assert!(shares.iter().zip(&expected).all(is_near), "{jobs} jobs on {queues} queues: {shares:?}");
    }
}

/// A drive that is saved between two commands goes on with the turns of its queues, and with a link that is still
/// occupied by a message for which nobody waits.
#[test]
fn a_saved_drive_keeps_the_turns_of_its_queues() {
    let interface = "host.interface={ kind = \"nvme\", generation = 1, lanes = 1, queues = 3, burst = 2, \
                     arbitration = { kind = \"weighted\", weights = [3, 2, 1], priorities = [\"high\", \"medium\", \"low\"] }, \
                     coalesced = 2, coalescing_time = \"20us\" }";
    let cpu = "host.cpu={ cores = 2, submission = \"1us\", completion = \"3us\" }";
    let description = description(&with(ONE_DIE, &[interface, cpu]));
    let play = |drive: &mut Drive, from: u32, to: u32| {
        let mut done = Vec::new();
        for tag in from..to {
            let command = HostCommand::new(Op::Write, tag, Bytes(u64::from(tag % 50) * UNIT_BYTES), Bytes(UNIT_BYTES));
            drive.submit(HostCommand { queue: (tag * 7 % 3) as u16, ..command }, drive.now());
        }
        while drive.commands_in_flight() > 0 || done.is_empty() {
            done.extend_from_slice(drive.advance(SimTime::FOREVER));
        }
        // A loaded drive may number its commands otherwise.
        done.iter_mut().for_each(|done: &mut Completion| done.id = CommandId(0));
        done
    };
    let mut whole = Drive::new(&description, 1).expect("the tables fit");
    play(&mut whole, 0, 37);
    let file = saved(&mut whole, &description);
    let mut loaded = Drive::new(&description, 1).expect("the tables fit");
    assert!(load(&mut loaded, &description, &file).is_ok_and(|resumed| resumed.exact));
    whole.go_on();
    loaded.go_on();
    assert_eq!(play(&mut whole, 37, 90), play(&mut loaded, 37, 90));
}
