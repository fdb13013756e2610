//! Retention relaxation for write speed (POLICIES 3), and its control experiment, which adapts to wear (POLICIES 6).

use crate::common::{ONE_DIE, Rig, with};
use kit::{Nanos, Op, Reason, Record, SimTime};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;

/// Returns a drive of one die under `rr_speed` whose fast mode has a retention limit of 20 s.
fn rr(sets: &[&str]) -> Rig {
    let short = [
        "policy.kind=rr_speed",
        "flash.write_mode[1].retention=20s",
        "ftl.retention_margin=1s",
        "ftl.overprovisioning=0.9",
        "flash.blocks_per_plane=32",
    ];
    Rig::watched(&with(&with(ONE_DIE, &short), sets))
}

fn relocated(rig: &mut Rig) -> Vec<(Reason, u32)> {
    let records = rig.records().into_iter();
    records
        .filter_map(|record| if let Record::Relocated { lpn, reason, .. } = record { Some((reason, lpn.0)) } else { None })
        .collect()
}

/// Host writes are fast. The valid data of a block is moved to the normal mode at half the retention limit after the
/// block's first program, not before.
#[test]
fn a_block_is_reprogrammed_at_half_the_guarantee() {
    let mut rig = rr(&[]);
    let written = rig.one(Op::Write, 0, 1);
    assert!(written.causes.get(kit::Cause::Program) == Nanos(300_000), "fast: half of 600 us");
    for unit in 1..6 {
        rig.one(Op::Write, unit, 1);
    }
    // Overwritten: the superseded copy need not be moved.
    rig.one(Op::Write, 2, 1);
    rig.run_until(SimTime(10 * SECOND - MS));
    assert_eq!(relocated(&mut rig), []);
    rig.run_until(SimTime(11 * SECOND));
    let mut moved = relocated(&mut rig);
    moved.sort_by_key(|(_, unit)| *unit);
    assert_eq!(moved, [0, 1, 2, 3, 4, 5].map(|unit| (Reason::Reprogram, unit)));
    assert_eq!((rig.stat("host_units"), rig.stat("reprogrammed_units")), (7, 6));
    // Moved data has the full retention and is not moved again.
    rig.run_until(SimTime(200 * SECOND));
    assert_eq!(relocated(&mut rig), []);
    assert_eq!(rig.drive.map().retention_report().0, 0, "no limit was missed");
}

#[test]
fn the_time_of_reprogramming_is_a_parameter() {
    let mut rig = rr(&["policy.rr_speed.reprogram_after=3s"]);
    rig.one(Op::Write, 0, 1);
    rig.run_until(SimTime(3 * SECOND - MS));
    assert_eq!(relocated(&mut rig), []);
    rig.run_until(SimTime(4 * SECOND));
    assert_eq!(relocated(&mut rig), [(Reason::Reprogram, 0)]);
}

/// Reprogramming waits for idle time. Without idle time the block is moved by its retention deadline.
#[test]
fn a_busy_drive_reprograms_at_the_limit_at_the_latest() {
    let mut rig = rr(&["flash.write_mode[1].retention=400ms", "ftl.retention_margin=100ms"]);
    rig.one(Op::Write, 400, 4);
    // Overwrites a few units without pause, at a queue depth that leaves no die idle.
    rig.replay("rw=randwrite\nbs=4k\niodepth=32\nsize=64k\nnorandommap=1\ntime_based=1\nruntime=1500ms");
    let moved = relocated(&mut rig);
    assert!(moved.iter().any(|(reason, unit)| *reason == Reason::Reprogram && *unit == 400), "cold data was moved");
    assert_eq!(rig.drive.map().retention_report().0, 0, "no limit was missed");
}

/// With limits that follow wear, writes are fast while the drive is young, and normal as soon as the fast mode no
/// longer keeps the promised retention in the most worn block.
#[test]
fn the_control_writes_fast_as_long_as_the_wear_allows() {
    let sets = with(
        ONE_DIE,
        &[
            "policy.kind=wear_adaptive",
            "flash.rated_pe_cycles=16",
            "flash.blocks_per_plane=16",
            "ftl.overprovisioning=0.9",
            "flash.write_mode[0].retention=1y",
            "flash.write_mode[1].retention=['10y', '2y', '4d', '1d']",
        ],
    );
    let mut rig = Rig::new(&sets);
    let programmed = |rig: &mut Rig| rig.one(Op::Write, 0, 1).causes.get(kit::Cause::Program);
    assert_eq!(programmed(&mut rig), Nanos(300_000));
    assert_eq!(rig.stat("mode_changes"), 0);
    // Overwrites until blocks have been erased eight times, which is the end of the second wear class.
    rig.replay("rw=randwrite\nbs=4k\niodepth=8\nio_size=64m\nnorandommap=1");
    assert!(rig.stat("most_worn_cycles") >= 8, "{}", rig.stat("most_worn_cycles"));
    assert_eq!((rig.stat("mode"), rig.stat("mode_changes")), (0, 1));
    assert_eq!(
        rig.drive.translator().report().counters.units_programmed[Reason::Reprogram as usize],
        0,
        "nothing is rewritten for it"
    );
    // A drive that begins worn begins in the normal mode. With a promise of only three days it may still write fast.
    let worn = |more: &[&str]| Rig::new(&with(&with(&sets, &["state.pe_cycles=9"]), more));
    assert_eq!(programmed(&mut worn(&[])), Nanos(600_000));
    assert_eq!(programmed(&mut worn(&["policy.wear_adaptive.retention=3d"])), Nanos(300_000));
}

/// The modes of the preset are derived from its cell: with a retention of two weeks instead of a year, writes are 2.3
/// times as fast (slide *Retention vs. Write Speed*).
#[test]
fn the_preset_of_the_slides_writes_as_fast_as_they_say() {
    let preset = drive::presets::find("rr-106g").expect("a preset");
    let description = drive::Description::read(preset.name, preset.text, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let [normal, fast] = &description.flash.write_modes[..] else { panic!("two modes") };
    assert!((normal.program_scale - 1.0).abs() < 0.01, "{normal:?}");
    assert!((1.0 / fast.program_scale - 2.31).abs() < 0.03, "{fast:?}");
    let user_gib = description.user_bytes() as f64 / f64::from(1 << 30);
    assert!((user_gib - 106.0).abs() < 0.1, "{user_gib}");
}
