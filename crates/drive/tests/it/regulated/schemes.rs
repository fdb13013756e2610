//! Competing schemes, and the preset.

use super::*;
use crate::common::session;
use kit::SimTime;

fn burst(rig: &mut Rig, count: u64) -> Vec<u64> {
    let now = rig.drive.now();
    let tags: Vec<u32> = (0..count).map(|unit| rig.submit(Op::Write, unit, 1, now)).collect();
    rig.drain();
    tags.into_iter().map(|tag| rig.row(tag).causes.get(Cause::Program).0).collect()
}

#[test]
fn queue_driven_writes_at_low_cost_while_something_waits_for_the_die() {
    let mut rig = rig("queue_driven", &[]);
    assert_eq!(burst(&mut rig, 1), [HIGH]);
    assert_eq!(burst(&mut rig, 1), [HIGH], "whatever the page's history");
    assert_eq!(burst(&mut rig, 3), [LOW, LOW, HIGH]);
    assert_eq!([0, 1, 2].map(|unit| read_one(&mut rig, unit)), [SLOW, SLOW, QUICK]);
    assert_eq!(rig.stat("medium_cost_writes"), 0);
}

#[test]
fn what_the_rival_finds_on_the_drive_is_a_parameter() {
    for (old, mode) in [("fine", QUICK), ("normal", MEDIUM), ("fast", SLOW)] {
        let old = format!("policy.queue_driven.old_data={old}");
        let mut rig = rig("queue_driven", &["state.precondition=fill", &old]);
        assert_eq!(read_one(&mut rig, 5), mode, "{old}");
        assert_eq!(burst(&mut rig, 2), [LOW, HIGH]);
        assert_eq!([0, 1, 5].map(|unit| read_one(&mut rig, unit)), [SLOW, QUICK, mode], "{old}");
    }
}

#[test]
fn a_read_that_waits_makes_a_write_cheap() {
    let mut rig = rig("queue_driven", &["flash.scheduler=fifo"]);
    burst(&mut rig, 1);
    let now = rig.drive.now();
    // The first write occupies the die; the second waits, with a read behind it.
    rig.submit(Op::Write, 1, 1, now);
    let second = rig.submit(Op::Write, 2, 1, now + Nanos(1));
    rig.submit(Op::Read, 0, 1, now + Nanos(2));
    rig.drain();
    assert_eq!(rig.row(second).causes.get(Cause::Program), Nanos(LOW));
}

#[test]
fn idle_dies_take_what_waits_before_it_counts_as_waiting() {
    let of = |allocation: &str, count: u64| {
        let sets = [&format!("ftl.write_allocation={allocation}"), "policy.kind=queue_driven"];
        burst(&mut Rig::watched(&with(MODES, &sets)), count)
    };
    // Each of the four dies takes one.
    assert_eq!(of("pull", 4), [HIGH; 4]);
    assert_eq!(of("pull", 6), [LOW, LOW, LOW, LOW, HIGH, HIGH], "two of six are left when every die has one");
    // Each die has a queue of its own: units 0 and 4 belong to one die, units 1 and 5 to another.
    assert_eq!(of("static", 4), [HIGH; 4]);
    assert_eq!(of("static", 6), [LOW, LOW, HIGH, HIGH, HIGH, HIGH]);
}

#[test]
fn fixed_schemes_write_and_read_at_one_cost() {
    for (kind, program, mode) in [("traditional", MIDDLE, MEDIUM), ("hcw_lcr", HIGH, QUICK), ("lcw_hcr", LOW, SLOW)] {
        let mut rig = rig(kind, &["state.precondition=fill"]);
        assert_eq!(read_one(&mut rig, 9), mode, "{kind}: what is older than the run");
        assert_eq!(programs(&mut rig, 0, "WWRWRRW"), [program; 4], "{kind}");
        assert_eq!(read_one(&mut rig, 0), mode, "{kind}");
        let fill = rig.one_bytes(Op::Write, 512, 512).causes.get(Cause::Rmw);
        assert_eq!(fill, Nanos(total(mode)), "{kind}: a read that fills in");
    }
}

#[test]
fn the_preset_has_the_times_of_the_regulator() {
    let run = |policy: &str, rw: &str| {
        let job = format!("[job]\nrw={rw}\nbs=4k\niodepth=1\nnumber_ios=50\nnorandommap=1\n");
        let sets = ["flash.blocks_per_plane=64"];
        let summary =
            session("base = \"agcr-64g\"", &sets, Some(policy), &job).unwrap_or_else(|problems| panic!("{problems}")).summary;
        let latency = &summary["latency"][if rw == "randread" { "read" } else { "write" }];
        assert_eq!(latency["stddev_ns"].as_f64(), Some(0.0), "{policy} {rw}: at depth 1 all are alike");
        latency["mean_ns"].as_f64().expect("there are some")
    };
    // Reads take RC(1), RC(3) or RC(7) and 410 ns of command cycles. Writes take the program time, 49,000 ns of data
    // and 810 ns of command cycles.
    for (policy, read, program) in
        [("hcw_lcr", 72_300.0, 800_000.0), ("traditional", 167_900.0, 600_000.0), ("lcw_hcr", 310_100.0, 450_000.0)]
    {
        assert_eq!(run(policy, "randread"), read + 410.0, "{policy}");
        assert_eq!(run(policy, "randwrite"), program + 49_000.0 + 810.0, "{policy}");
    }
    assert_eq!(run("agcr", "randread"), 72_710.0, "what is older than the run is read at low cost");
}

#[test]
fn the_presets_regulator_is_the_fitted_one() {
    let preset = drive::presets::find("agcr-64g").expect("a preset");
    let description = drive::Description::read(preset.name, preset.text, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let regulator = ecc::Regulator::default();
    let rate = description.flash.transfer_rate;
    assert_eq!(rate.time_for(kit::Bytes(4096)), regulator.beta);
    for (mode, references) in description.flash.read_modes.iter().zip([1, 3, 7]) {
        let sensed = description.flash.read_time.of(0).0 as f64 * mode.sense_scale;
        assert_eq!(sensed.round() as u64, regulator.sensing(references).0, "{}", mode.name);
        assert_eq!(mode.transfers, ecc::regulator::transfers(references), "{}", mode.name);
    }
    for (mode, step) in description.flash.write_modes.iter().zip([1.0, 4.0 / 3.0, 0.75]) {
        let program = description.flash.program_time.of(0).0 as f64 * mode.program_scale;
        assert!((program - regulator.write_cost(step).0 as f64).abs() < 1.0, "{}: {program}", mode.name);
    }
    assert!((description.user_bytes() as f64 * 1.11 / f64::from(1 << 30) - 64.0).abs() < 0.01, "64 GiB of flash");
    // Metadata according to the paper: 2 bits for each of 16 million pages.
    let pages = description.geometry().unit_count();
    assert_eq!(pages * 2 / 8, 4 << 20);
}

/// The total time of a write, on which other tests are based.
#[test]
fn programs_of_the_three_costs_take_their_times() {
    let mut rig = rig("lcw_hcr", &[]);
    let row = rig.one(Op::Write, 0, 1);
    assert_parts("write", &row, &[(Cause::BusCommand, 361), (Cause::Transfer, 3_414), (Cause::Program, LOW)]);
    assert_eq!(rig.drive.now(), SimTime(361 + 3_414 + LOW));
}
