//! Faults that cost time alone: packets on the host link that are sent again, and operations that are slow.

use crate::common::{ONE_DIE, PROGRAM, READ, Rig, assert_parts, description, latency, load, saved, with};
use crate::faults::{number, summary};
use drive::fault_script::FaultScript;
use flash::slow::ScriptedSlow;
use kit::{Cause, Nanos, Op, OperationKind};

/// A link without a rounding: 3 bytes in a nanosecond.
const PLAIN: &str = "host.interface={ kind = \"plain\", queue_depth = 4, command_time = \"700ns\", bandwidth = \"3GB/s\" }";
const FAULTS: &str = "faults.link_error.replay=2us";

/// The damaged packets of a script take their time and the replay again: a command with its data, and a part of a read,
/// twice.
#[test]
fn a_damaged_packet_takes_its_time_and_the_replay_again() {
    let mut rig = Rig::new(&with(ONE_DIE, &[PLAIN, FAULTS]));
    rig.drive.script_faults(&FaultScript { link_errors: vec![1, 3, 3], ..FaultScript::default() });
    let data = 4096u64.div_ceil(3);
    let write = rig.one(Op::Write, 0, 1);
    assert_parts("write", &write, &[&[(Cause::Link, 2 * (700 + data) + 2000)], &PROGRAM[..]].concat());
    let read = rig.one(Op::Read, 0, 1);
    assert_parts("read", &read, &[&[(Cause::Link, 700 + data + 2 * (data + 2000))], &READ[..]].concat());
    let again = rig.one(Op::Read, 0, 1);
    assert_parts("another read", &again, &[&[(Cause::Link, 700 + data)], &READ[..]].concat());
    assert_eq!(rig.drive.controller().link_errors().map(|link| link.repeated()), Some(3));
}

/// Of data on PCI Express, only the damaged packet is sent again. It is the tenth: a doorbell, a request and its answer
/// come before the 16 packets of data.
#[test]
fn one_packet_of_pci_express_is_sent_again() {
    const PCIE: &str = "host.interface={ kind = \"nvme\", generation = 4, lanes = 4, link_layer_share = 0.0 }";
    let time = |script: Vec<u64>| {
        let mut rig = Rig::new(&with(ONE_DIE, &[PCIE, "faults={}"]));
        rig.one(Op::Write, 0, 1);
        rig.run_until(rig.drive.now() + Nanos(1000));
        rig.drive.script_faults(&FaultScript { link_errors: script, ..FaultScript::default() });
        latency(&rig.one(Op::Read, 0, 1))
    };
    let pcie = |bytes: u64| (bytes * 1_000_000_000).div_ceil(7_876_923_072);
    let plain = time(vec![]);
    assert_eq!(time(vec![10]) - plain, pcie(256 + 24) + 1000);
    assert_eq!(time(vec![1]) - plain, pcie(28) + 1000);
    assert_eq!(time(vec![23]), plain, "it has no such packet");
}

/// The third read of a block takes 12 times as long in the array, and its second program twice; nothing else does. That
/// holds where operations may be suspended, and under a cap on the power that is never reached.
#[test]
fn a_scripted_operation_is_slow() {
    let suspension =
        "flash.suspension={program=true,erase=true,most=3,suspend_time=\"20us\",resume_time=\"10us\",least_remaining=\"1us\"}";
    let capped = with(crate::power_model::POWER, &["power.cap=10W", suspension]);
    for sets in [&[][..], &[suspension][..], &capped] {
        let mut rig = Rig::new(&with(&with(ONE_DIE, &["faults={}"]), sets));
        let slow = |kind, number, factor| (0..128).map(move |block| ScriptedSlow { kind, block, number, factor });
        let slow = slow(OperationKind::Read, 3, 12.0).chain(slow(OperationKind::Program, 2, 2.0)).collect();
        rig.drive.script_faults(&FaultScript { slow, ..FaultScript::default() });
        for (number, times) in [(1, 1), (2, 2), (3, 1)] {
            let parts = [(Cause::BusCommand, 361), (Cause::Transfer, 3414), (Cause::Program, times * 600_000)];
            assert_parts(&format!("program {number}: {sets:?}"), &rig.one(Op::Write, number, 1), &parts);
        }
        for (number, times) in [(1, 1), (2, 1), (3, 12), (4, 1)] {
            let parts = [(Cause::BusCommand, 290), (Cause::Sense, times * 50_000), (Cause::Transfer, 3414)];
            assert_parts(&format!("read {number}: {sets:?}"), &rig.one(Op::Read, 2, 1), &parts);
        }
        assert_eq!(rig.drive.flash().slow().map(|slow| slow.count()), Some(2));
    }
}

const READS: &str = "[job]\nrw=randread\nbs=4k\niodepth=16\nnumber_ios=6000\nnorandommap=1\nio_size=100g\n";

/// Rates are within four standard deviations of their probabilities: each read has one operation and two packets.
#[test]
fn rates_are_those_of_the_description() {
    let sets = [
        "state.precondition=fill",
        PLAIN,
        "faults.slow_read={ probability = 0.02, factor = 12.0 }",
        "faults.link_error.probability=0.01",
    ];
    let run = || summary(&sets, READS, None).unwrap_or_else(|why| panic!("{why}"));
    let found = run();
    let within = |key: &str, count: f64, p: f64| {
        let (seen, mean) = (number(&found, &format!("/health/{key}")) as f64, count * p / (1.0 - p));
        let deviation = (count * p).sqrt() / (1.0 - p);
        assert!((seen - mean).abs() < 4.0 * deviation, "{key}: {seen}, expected {mean} +- {deviation}");
    };
    within("link_retransmissions", 12_000.0, 0.01);
    // A slow read is not slow once more: 0.02 / 0.98 of 5,880.
    within("slow_operations", 5880.0, 0.02);
    let without_wall = |mut found: serde_json::Value| {
        found["wall_s"] = serde_json::Value::Null;
        found
    };
    assert_eq!(without_wall(run()), without_wall(found));
}

/// A drive that was saved and loaded goes on with the same faults, drawn and scripted.
#[test]
fn a_loaded_drive_goes_on_with_its_faults() {
    let sets = with(
        ONE_DIE,
        &[PLAIN, "faults.slow_read={ probability = 0.1, factor = 3.0 }", "faults.link_error={ probability = 0.1 }"],
    );
    let description = description(&sets);
    let script = FaultScript {
        slow: vec![ScriptedSlow { kind: OperationKind::Read, block: 0, number: 150, factor: 50.0 }],
        link_errors: vec![320; 9],
        ..FaultScript::default()
    };
    let mut rig = Rig::of(&description);
    rig.one(Op::Write, 0, 1);
    rig.drive.script_faults(&script);
    let reads = |rig: &mut Rig| (0..100).map(|_| latency(&rig.one(Op::Read, 0, 1))).collect::<Vec<u64>>();
    reads(&mut rig);
    let file = saved(&mut rig.drive, &description);
    rig.drive.go_on();
    let mut loaded = Rig::of(&description);
    assert!(load(&mut loaded.drive, &description, &file).expect("it is sound").exact);
    loaded.drive.go_on();
    let [expected, found] = [&mut rig, &mut loaded].map(reads);
    assert_eq!(expected, found);
    let longest = expected.iter().filter(|latency| **latency > 50 * 50_000).count();
    assert_eq!(longest, 1, "the scripted read is among them: {expected:?}");
    let counts = |rig: &Rig| {
        (rig.drive.flash().slow().map(|slow| slow.count()), rig.drive.controller().link_errors().map(|link| link.repeated()))
    };
    assert_eq!(counts(&rig), counts(&loaded));
}

/// Mistakes are refused with their place.
#[test]
fn wrong_link_faults_are_refused_with_their_place() {
    let of_script = [
        ("slow_reads = [{ block = 7000000, number = 2, factor = 2.0 }]", "slow_reads[0]: block 7000000: expected at most"),
        ("slow_programs = [{ block = 7, number = 0, factor = 2.0 }]", "slow_programs[0]: number 0: expected 1"),
        ("slow_erases = [{ block = 7, number = 1, factor = 0.5 }]", "slow_erases[0]: factor 0.5: expected 1 to 1000000"),
        ("slow_reads = [{ block = 7, number = 1, factor = nan }]", "slow_reads[0]: factor NaN"),
        ("slow_reads = [{ block = 7, number = 1 }]", ":1: slow_reads[0]: the field `factor` is missing"),
        ("link_errors = [4, 0]", "link_errors[1]: packet 0: expected 1"),
        ("link_errors = [4]", "link_errors: the host interface `ideal` has no link"),
    ];
    for (script, expected) in of_script {
        let told = summary(&[], READS, Some(script)).expect_err(script).to_string();
        assert!(told.contains(expected), "{script}: {told}");
    }
    let of_sets = [
        ("faults.link_error.probability=0.1", "faults.link_error.probability: 0.1: the host interface `ideal` has no link"),
        ("faults.link_error.probability=0.95", "faults.link_error.probability: 0.95: expected 0..=0.9"),
        ("faults.slow_read={ probability = 0.1 }", "faults.slow_read.factor: missing"),
        ("faults.slow_erase={ probability = 0.1, factor = 0.9 }", "faults.slow_erase.factor: 0.9: expected 1..=1000000"),
    ];
    for (set, expected) in of_sets {
        let told = summary(&[set], READS, None).expect_err(set).to_string();
        assert!(told.contains(expected), "{set}: {told}");
    }
}
