//! Cost regulation, rule by rule: AGCR and the competing schemes (POLICIES 4; sections 2 and 3 of the paper).

use crate::common::{ONE_DIE, Rig, assert_parts, with};
use kit::{Cause, DieId, Lpn, ModeId, Nanos, Op, Reason, Record};

mod costs;
mod rewrites;
mod schemes;
mod state;

const MS: u64 = 1_000_000;
/// Times of sensing and transfers of a unit with 1, 3 and 7 references at 50 us and 1200 MT/s: one, two and three
/// transfers.
const QUICK: (u64, u64) = (50_000, 3_414);
const MEDIUM: (u64, u64) = (150_000, 6_827);
const SLOW: (u64, u64) = (350_000, 10_240);
const COMMAND: u64 = 290;
/// Program times at low, medium and high cost.
const LOW: u64 = 450_000;
const MIDDLE: u64 = 600_000;
const HIGH: u64 = 800_000;
/// Write modes by their index in the table.
const NORMAL: ModeId = ModeId(0);
const FAST: ModeId = ModeId(1);
const FINE: ModeId = ModeId(2);

/// Overrides of `tiny`: three write modes, and the read modes that their data needs.
const MODES: &[&str] = &[
    "flash.write_mode=[{ name = 'normal', read_mode = 'medium' }, { name = 'fast', program_scale = 0.75, read_mode = 'slow' }, \
     { name = 'fine', program_scale = 1.3333333333, read_mode = 'quick' }]",
    "flash.read_mode=[{ name = 'quick' }, { name = 'medium', sense_scale = 3.0, transfers = 2 }, { name = 'slow', sense_scale = 7.0, \
     transfers = 3 }]",
];
const AGCR: &[&str] = &["policy.kind=agcr"];
/// Two channels with one die each; programs alternate between them.
const TWO_CHANNELS: &[&str] = &["flash.channels=2", "flash.chips_per_channel=1"];
/// Blocks of four pages, collected when their die has been idle for a second.
const SMALL: &[&str] = &[
    "flash.pages_per_block=4",
    "flash.blocks_per_plane=12",
    "ftl.overprovisioning=1.0",
    "ftl.user_capacity=64KiB",
    "ftl.gc_low_blocks=2",
    "ftl.gc_idle_after=1s",
    "ftl.gc_idle_target_blocks=12",
];

fn rig(kind: &str, sets: &[&str]) -> Rig {
    let kind = format!("policy.kind={kind}");
    Rig::watched(&with(&with(&with(ONE_DIE, MODES), &[&kind]), sets))
}

fn agcr(sets: &[&str]) -> Rig {
    rig("agcr", sets)
}

fn write(rig: &mut Rig, unit: u64) -> u64 {
    rig.one(Op::Write, unit, 1).causes.get(Cause::Program).0
}

/// Reads a unit and asserts that only command, sensing and transfers take time. Returns the times of sensing and
/// transfers, which identify the read mode.
#[track_caller]
fn read_one(rig: &mut Rig, unit: u64) -> (u64, u64) {
    let row = rig.one(Op::Read, unit, 1);
    let (sense, transfer) = (row.causes.get(Cause::Sense).0, row.causes.get(Cause::Transfer).0);
    assert_parts("read", &row, &[(Cause::BusCommand, COMMAND), (Cause::Sense, sense), (Cause::Transfer, transfer)]);
    (sense, transfer)
}

/// Writes (`W`) and reads (`R`) one unit. Returns the program times of the writes.
fn programs(rig: &mut Rig, unit: u64, accesses: &str) -> Vec<u64> {
    let mut programs = Vec::new();
    for access in accesses.chars() {
        match access {
            'W' => programs.push(write(rig, unit)),
            _ => drop(rig.one(Op::Read, unit, 1)),
        }
    }
    programs
}

/// Submits commands on single units, all at the present instant.
fn together(rig: &mut Rig, op: Op, units: &[u64]) {
    let now = rig.drive.now();
    for &unit in units {
        rig.submit(op, unit, 1, now);
    }
}

/// Returns the die of a unit's place.
fn die_of(rig: &Rig, unit: u32) -> DieId {
    let medium = rig.drive.medium();
    medium.geometry.die_of(medium.geometry.block_of(rig.drive.map().place_of(Lpn(unit)).expect("mapped")))
}

/// Runs for `ms` milliseconds.
fn rest(rig: &mut Rig, ms: u64) {
    rig.run_until(rig.drive.now() + Nanos(ms * MS));
}

/// Returns the units moved since the last call, with the reason and the write mode of each move.
fn moved(rig: &mut Rig) -> Vec<(Reason, u32, ModeId)> {
    let records = rig.records().into_iter();
    records
        .filter_map(|record| match record {
            Record::Relocated { lpn, reason, mode, .. } => Some((reason, lpn.0, mode)),
            _ => None,
        })
        .collect()
}

/// Returns the times for which reads of a given reason occupied their dies.
fn die_reads(rig: &mut Rig, wanted: Reason) -> Vec<u64> {
    let records = rig.records().into_iter();
    records
        .filter_map(|record| match record {
            Record::DieSpan { name: "read", reason, begin, end, .. } if reason == wanted => Some(end.since(begin).0),
            _ => None,
        })
        .collect()
}

fn total((sense, transfer): (u64, u64)) -> u64 {
    COMMAND + sense + transfer
}

/// Returns the numbers of rewrites that entered the queue, were started, and were dropped.
fn rewrites(rig: &Rig) -> (u64, u64, u64) {
    (rig.stat("rewrites_entered"), rig.stat("rewrites_started"), rig.stat("rewrites_dropped"))
}

/// Returns a drive that is about to collect a block of units 0 (trimmed), 1 (high cost), 2 (low) and 3 (medium).
fn about_to_be_collected(sets: &[&str]) -> Rig {
    let mut rig = agcr(&with(SMALL, sets));
    for (unit, accesses) in [(2, "W"), (3, "WR"), (8, "W"), (9, "W"), (0, "W"), (1, "W"), (2, "W"), (3, "W")] {
        programs(&mut rig, unit, accesses);
    }
    for unit in [8, 9, 0] {
        rig.one(Op::Trim, unit, 1);
    }
    rig.records();
    rig
}
