//! Results of a lifetime run as one JSON document.

use super::history::Row;
use super::passes::Tally;
use super::{Interval, Life, LifetimeRequest, Method, Plan};
use crate::description::Description;
use crate::drive::Drive;
use kit::Nanos;
use serde_json::{Map, Value, json};
use workload::Input;

/// Version of the document's format.
const SCHEMA_VERSION: u32 = 1;

/// State of the drive at the beginning of its life.
pub(super) struct Start {
    blocks: f64,
    user_bytes: u64,
    cycles: f64,
    wear: f64,
}

impl Start {
    pub fn of(drive: &Drive) -> Start {
        let medium = drive.medium();
        Start {
            blocks: super::total_wear_of(drive).1,
            user_bytes: drive.user_bytes(),
            cycles: spread(super::ageing_blocks(drive).map(|block| f64::from(medium.erase_count(block))))[0],
            wear: super::mean_wear_of(drive),
        }
    }
}

/// Facts about the run that the caller knows.
pub(super) struct Facts<'a> {
    pub request: &'a LifetimeRequest,
    pub input: &'a Input,
    pub description: &'a Description,
    pub plan: &'a Plan,
    pub start: Start,
    pub starting_state: Value,
}

/// Returns mean, least and greatest value.
fn spread(values: impl Iterator<Item = f64>) -> [f64; 3] {
    let (mut count, mut sum, mut least, mut most) = (0.0, 0.0, f64::INFINITY, f64::NEG_INFINITY);
    for value in values {
        (count, sum, least, most) = (count + 1.0, sum + value, f64::min(least, value), f64::max(most, value));
    }
    [sum / count, least, most]
}

/// Builds the report. Every key is always present; a number is `null` where nothing was measured, or where only a full
/// life determines it.
pub(super) fn report(facts: &Facts<'_>, life: &Life, wall_s: f64) -> Value {
    let Facts { request, plan, start, description, .. } = facts;
    let total = life.intervals.iter().fold(Tally::default(), |sum, interval| sum.and(&interval.tally));
    let cycles = start.cycles + life.intervals.iter().map(|interval| interval.cycles).sum::<f64>();
    let wear = start.wear + total.wear / start.blocks;
    let (cycles_span, wear_span) = life.drive.as_ref().map_or((None, None), spans);
    let state = state_of(life.drive.as_ref());
    let mut report = json!({
        "schema_version": SCHEMA_VERSION,
        "status": if life.ended_by.is_some() { "complete" } else { "partial" },
        "drive": request.drive.name,
        "workload": facts.input.name,
        "policy": description.policy.kind,
        "seed": request.setup.seed,
        "method": if plan.method == Method::Full { "full" } else { "extrapolate" },
        "until": plan.limit.until.name(),
        "ended_by": life.ended_by,
        "wear_limit": plan.limit.wear,
        "rated_pe_cycles": description.flash.rated_pe_cycles,
        "required_retention_ns": plan.limit.retention.map(|retention| retention.0),
        "blocks": start.blocks as u64,
        "cycles_mean": cycles,
        "cycles_min": cycles_span.map(|span| span[1]),
        "cycles_max": cycles_span.map(|span| span[2]),
        "effective_wear_mean": wear,
        "effective_wear_min": wear_span.map(|span| span[1]),
        "effective_wear_max": wear_span.map(|span| span[2]),
        "max_pe_ratio": cycles / plan.limit.wear,
        "wear_per_erase": ratio(total.wear, total.erases),
        "host_bytes_written": whole(total.written_bytes),
        "drive_writes": total.written_bytes / start.user_bytes as f64,
        "passes": life.passes,
        "years_at_workload_rate": total.ns / Nanos::YEAR.0 as f64,
        "simulated_ns": whole(total.ns),
        "wall_s": wall_s,
    });
    let rest = json!({
        "write_bytes_per_s": ratio(total.written_bytes * 1e9, total.ns),
        "write_amplification": ratio(total.programmed_units, total.host_units),
        "write_amplification_bytes": by_bytes(description, &total),
        "write_latency_mean_ns": ratio(total.write_ns, total.writes),
        "erases": whole(total.erases),
        "lazy_erases": whole(total.lazy_erases),
        "erase_modes": erase_modes(description, &total),
        "write_modes": write_modes(description, &total),
        "intervals": life.intervals.iter().map(|one| interval(description, one)).collect::<Vec<_>>(),
        "pass_rows": life.rows.iter().map(row).collect::<Vec<_>>(),
        "starting_state": facts.starting_state,
    });
    let fields = report.as_object_mut().expect("an object");
    for part in [state, rest] {
        if let Value::Object(part) = part {
            fields.extend(part);
        }
    }
    report
}

/// Returns mean, least and greatest number of cycles, and of effective wear, over the blocks of a drive.
fn spans(drive: &Drive) -> (Option<[f64; 3]>, Option<[f64; 3]>) {
    let medium = drive.medium();
    let blocks = || super::ageing_blocks(drive);
    let cycles = spread(blocks().map(|block| f64::from(medium.erase_count(block))));
    (Some(cycles), Some(spread(blocks().map(|block| medium.effective_wear(block)))))
}

fn state_of(drive: Option<&Drive>) -> Value {
    let dies = drive.map_or(0, |drive| drive.medium().geometry.die_count);
    let retired = |drive: &Drive| (0..dies).map(|die| u64::from(drive.medium().retired_blocks(kit::DieId(die)))).sum::<u64>();
    json!({
        "retired_blocks": drive.map(retired),
        "worn_out_die": drive.and_then(|drive| drive.map().worn_out_die()).map(|die| die.0),
    })
}

/// Returns the bytes programmed for each byte of the host's writes.
fn by_bytes(description: &Description, tally: &Tally) -> Option<f64> {
    ratio(tally.programmed_units * description.unit().bytes() as f64, tally.written_bytes)
}

fn ratio(of: f64, to: f64) -> Option<f64> {
    (to > 0.0).then(|| of / to)
}

fn whole(value: f64) -> u64 {
    value.round() as u64
}

fn erase_modes(description: &Description, tally: &Tally) -> Value {
    let names = description.flash.erase_mode_names().into_iter();
    Value::Object(names.zip(tally.erase_modes).map(|(name, count)| (name, json!(whole(count)))).collect())
}

/// Returns the mapping units programmed in each write mode, without padding.
fn write_modes(description: &Description, tally: &Tally) -> Value {
    let names = description.flash.write_modes.iter().map(|mode| mode.name.clone());
    Value::Object(names.zip(tally.write_modes).map(|(name, count)| (name, json!(whole(count)))).collect::<Map<_, _>>())
}

fn interval(description: &Description, interval: &Interval) -> Value {
    let tally = &interval.tally;
    json!({
        "effective_wear_from": interval.from,
        "effective_wear_to": interval.to,
        "cycles": interval.cycles,
        "wear_per_erase": ratio(tally.wear, tally.erases),
        "host_bytes_written": whole(tally.written_bytes),
        "write_amplification": ratio(tally.programmed_units, tally.host_units),
        "write_amplification_bytes": by_bytes(description, tally),
        "write_latency_mean_ns": ratio(tally.write_ns, tally.writes),
        "years": tally.ns / Nanos::YEAR.0 as f64,
        "erases": whole(tally.erases),
        "lazy_erases": whole(tally.lazy_erases),
        "erase_modes": erase_modes(description, tally),
        "passes_measured": interval.measured.map(|(passes, ..)| passes),
        "rounds": interval.measured.map(|(_, rounds, _)| rounds),
        "steady": interval.measured.map(|(.., agree)| agree),
    })
}

fn row(row: &Row) -> Value {
    let tally = &row.tally;
    json!({
        "passes": row.passes,
        "effective_wear_mean": row.wear,
        "host_bytes_written": whole(tally.written_bytes),
        "erases": whole(tally.erases),
        "wear_per_erase": ratio(tally.wear, tally.erases),
        "write_amplification": ratio(tally.programmed_units, tally.host_units),
        "write_latency_mean_ns": ratio(tally.write_ns, tally.writes),
        "simulated_ns": whole(tally.ns),
    })
}
