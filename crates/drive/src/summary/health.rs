//! Health of the drive: what a host reads from it as a SMART log, and the failures of its flash.

use crate::description::Description;
use crate::drive::{Drive, HangCounts};
use crate::totals::Totals;
use kit::{DieId, Op};
use serde_json::{Value, json};

/// Share of the spare blocks below which a drive warns \[A\].
const SPARE_THRESHOLD: f64 = 0.1;
/// Bytes of a data unit of NVMe (SMART / Health Information log).
const DATA_UNIT: u64 = 512_000;

/// Returns the section `health`. What no model stands behind is `null`: failures without `[faults]`, media errors of
/// data without errors.
pub(super) fn section(description: &Description, drive: &Drive, totals: &Totals, has_lost_power: bool) -> Value {
    let medium = drive.translator().map().map(|_| drive.medium());
    let health = drive.health().filter(|_| description.faults.is_some());
    let spare = health.filter(|health| health.spares > 0);
    let spare = spare.map(|health| 1.0 - health.spares_used as f64 / health.spares as f64);
    let is_read_only = health.is_some_and(|health| health.is_read_only);
    let is_worn_out = drive.translator().map().is_some_and(|map| map.worn_out_die().is_some());
    let warnings = [
        ("spare", spare.is_some_and(|spare| spare < SPARE_THRESHOLD)),
        ("reliability", health.is_some_and(|health| health.units_lost > 0) || is_worn_out),
        ("read_only", is_read_only),
    ];
    let warnings: Vec<&str> = warnings.into_iter().filter_map(|(name, is_given)| is_given.then_some(name)).collect();
    let used = medium.map(|medium| {
        let wear = medium.wear_total() as f64 / 1000.0 / f64::from(medium.geometry.block_count);
        100.0 * wear / f64::from(description.flash.rated_pe_cycles)
    });
    let retired = medium.map(|medium| {
        let dies = (0..medium.geometry.die_count).map(DieId);
        dies.map(|die| u64::from(medium.retired_blocks(die))).sum::<u64>()
    });
    let may_fail = description.faults.is_some() || description.ecc.source().is_some();
    let restores = drive.health().filter(|_| may_fail && description.ftl.rain.is_some());
    let units = |op: Op| totals.bytes[op as usize].div_ceil(DATA_UNIT);
    json!({
        "critical_warnings": warnings,
        "available_spare": spare,
        "percentage_used": used,
        "data_units_read": units(Op::Read),
        "data_units_written": units(Op::Write),
        "host_read_commands": totals.sums[Op::Read as usize].count(),
        "host_write_commands": totals.sums[Op::Write as usize].count(),
        "unsafe_shutdowns": u64::from(has_lost_power),
        "media_errors": may_fail.then_some(drive.statistics.media_errors),
        "refused_writes": health.map(|_| drive.statistics.refused_writes),
        "retired_blocks": retired,
        "factory_bad_blocks": health.map(|health| health.factory_bad),
        "program_failures": health.map(|health| health.program_failures),
        "erase_failures": health.map(|health| health.erase_failures),
        "dies_lost": health.map(|health| health.dies_lost),
        "units_lost": health.map(|health| health.units_lost),
        "reads_restored": restores.map(|health| health.reads_restored),
        "restoring_reads": restores.map(|health| health.restoring_reads),
        "degraded_sets": health.and_then(|_| drive.degraded_sets()),
        "slow_operations": drive.flash().slow().map(|slow| slow.count()),
        "link_retransmissions": drive.controller().link_errors().map(|link| link.repeated()),
        "command_aborts": health.map(|_| drive.hang_counts().aborts),
        "controller_resets": health.map(|_| drive.hang_counts().resets),
        "commands_submitted_again": health.map(|_| drive.hang_counts().submitted_again),
    })
}

/// Returns a note on the failures of a drive that has faults.
pub(crate) fn note(description: &Description, drive: &Drive) -> Option<String> {
    let health = drive.health().filter(|_| description.faults.is_some())?;
    let spare = match health.spares {
        0 => "no spare blocks".to_owned(),
        all => format!("{} of {all} spare blocks used", health.spares_used),
    };
    let mut note = format!(
        "health: failed programs: {}, failed erases: {}, blocks bad from the factory: {}, {spare}",
        health.program_failures, health.erase_failures, health.factory_bad
    );
    if health.dies_lost > 0 {
        note += &format!(", lost dies: {}, with {} mapping units", health.dies_lost, health.units_lost);
    }
    if health.reads_restored > 0 {
        note += &format!(", reads restored by parity: {}", health.reads_restored);
    }
    if let Some(sets) = drive.degraded_sets().filter(|&sets| sets > 0) {
        note += &format!(", sets of blocks that are still to be rebuilt: {sets}");
    }
    let slow = drive.flash().slow().map_or(0, |slow| slow.count());
    let repeated = drive.controller().link_errors().map_or(0, |link| link.repeated());
    if slow + repeated > 0 {
        note += &format!(", {slow} operations were slow, {repeated} packets on the link were sent again");
    }
    let HangCounts { resets, submitted_again, .. } = drive.hang_counts();
    if resets > 0 {
        note += &format!(", the host has reset the controller {resets} times and submitted {submitted_again} commands again");
    }
    if health.is_read_only {
        let refused = drive.statistics.refused_writes;
        note += &format!(
            "; the drive has become read-only, since too few blocks are left, and has refused {refused} writes and trims"
        );
    }
    if health.is_read_only && drive.commands_in_flight() > 0 && drive.next_event().is_none() {
        note += &format!("; it has no room for what it had accepted: {} commands never completed", drive.commands_in_flight());
    }
    if drive.statistics.media_errors > 0 {
        note += &format!("; {} reads ended with a media error", drive.statistics.media_errors);
    }
    Some(note)
}
