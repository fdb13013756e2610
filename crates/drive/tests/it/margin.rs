//! Predictions of `margin` (POLICIES 7).

use crate::common::{ONE_DIE, Rig, session, with};
use kit::{Nanos, Op};

const MS: u64 = 1_000_000;

fn margin(sets: &[&str]) -> Rig {
    Rig::watched(&with(
        &with(ONE_DIE, &["policy.kind=margin", "flash.write_mode[1].retention=10s", "ftl.retention_margin=1s"]),
        sets,
    ))
}

/// Writes a unit and runs for `ms` milliseconds.
fn write_and_wait(rig: &mut Rig, unit: u64, ms: u64) {
    let now = rig.drive.now();
    rig.submit(Op::Write, unit, 1, now);
    rig.run_until(now + Nanos(ms * MS));
}

/// Returns the numbers of host units written in the normal and in the fast mode.
fn by_mode(rig: &Rig) -> (u64, u64) {
    let counts = &rig.drive.translator().report().counters.host_units_by_mode;
    (counts[0], counts[1])
}

#[test]
fn what_was_overwritten_soon_is_written_for_a_short_time() {
    for buffer in ["buffer.policy=none", "buffer.policy=write_back"] {
        let mut rig = margin(&[buffer, "buffer.capacity=256KiB", "buffer.flush_after=1us"]);
        (0..5).for_each(|_| write_and_wait(&mut rig, 0, 20));
        assert_eq!(by_mode(&rig), (1, 4), "{buffer}: nothing is known of the first");
        write_and_wait(&mut rig, 1, 20);
        assert_eq!(by_mode(&rig), (2, 4), "{buffer}: nor of another unit");
    }
}

#[test]
fn a_long_life_is_not_expected_for_ever() {
    let mut rig = margin(&[]);
    (0..3).for_each(|_| write_and_wait(&mut rig, 0, 20));
    assert_eq!(by_mode(&rig), (1, 2));
    // Written fast, moved at its limit, and overwritten after 20 s: the next lifetime may be as long.
    write_and_wait(&mut rig, 0, 20_000);
    assert_eq!((by_mode(&rig), rig.programmed(kit::Reason::Reprogram)), ((1, 3), 1));
    // The policy knows the age of data only by block. New writes fill the open block, which is as old.
    (0..64).for_each(|unit| write_and_wait(&mut rig, 100 + unit, 1));
    assert_eq!(by_mode(&rig), (65, 3));
    write_and_wait(&mut rig, 0, 20);
    assert_eq!(by_mode(&rig), (66, 3), "what lived for twenty seconds");
    (0..3).for_each(|_| write_and_wait(&mut rig, 0, 20));
    assert_eq!(by_mode(&rig), (66, 6), "what lived for twenty milliseconds");
}

#[test]
fn what_was_moved_lived_before_it_too() {
    let mut rig = margin(&[]);
    (0..3).for_each(|_| write_and_wait(&mut rig, 0, 20));
    write_and_wait(&mut rig, 0, 8_800);
    // The open block is filled, so that fast data moves into a young block at its limit.
    (0..64).for_each(|unit| write_and_wait(&mut rig, 100 + unit, 1));
    rig.run_until(rig.drive.now() + Nanos(400 * MS));
    assert_eq!((by_mode(&rig), rig.programmed(kit::Reason::Reprogram)), ((65, 3), 1));
    write_and_wait(&mut rig, 0, 20);
    assert_eq!(by_mode(&rig), (66, 3), "nine seconds before it was moved, half a second since");
}

/// Fast data is kept for 1000 s in blocks below half of their rated wear, and for 400 ms in others. An erase wears half
/// as much as a nominal one, so the erase count passes half of the rating long before the effective wear does.
#[test]
fn wear_is_effective_wear() {
    let text = "base = \"tiny\"\n[[flash.erase_mode]]\nname = \"gentle\"\nwear = 0.5\n";
    let run = |cycles: u64| {
        let cycles = format!("state.pe_cycles={cycles}");
        let sets = [
            "flash.blocks_per_plane=64",
            "flash.rated_pe_cycles=100",
            "flash.write_mode[1].retention=[\"1000s\", \"400ms\"]",
            "ftl.retention_margin=1us",
            &cycles,
        ];
        let job = "[job]\nrw=randwrite\nbs=4k\nsize=2m\nnorandommap=1\niodepth=4\nio_size=1000g\nnumber_ios=100000\n";
        let done = session(text, &sets, Some("margin"), job).unwrap_or_else(|problems| panic!("{problems}"));
        let count = |keys: &str| done.summary.pointer(keys).and_then(serde_json::Value::as_u64).expect("a count");
        (count("/wear/max"), count("/modes/host_write/normal"))
    };
    // All writes are fast but the first of each of the 512 units: blocks have up to 59 erases (35 at the start), an
    // effective wear of 47.
    let (erases, normal) = run(35);
    assert!(erases > 52, "{erases}");
    assert_eq!(normal, 512);
    assert!(run(45).1 > 10_000, "beyond half the rated wear");
}
