//! Results of a run as one JSON document and as tables.

mod cap;
mod energy;
pub(crate) mod health;
mod intervals;
pub mod keys;
pub mod origin;
mod read_errors;
mod sample;
mod states;
mod thermal;
mod totals;
mod utilisation;

pub use sample::View;
pub(crate) use utilisation::keys as utilisation_keys;

use crate::description::Description;
use crate::drive::Drive;
use crate::energy::EnergyReport;
use crate::failure::PowerFailureReport;
use crate::statistics::Utilisation;
use crate::steady::SteadyState;
use energy::Written;
use ftl::{FirmwareProfile, Medium, Work};
use kit::reason::REASON_COUNT;
use kit::{BlockId, Op, Reason, SimTime};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Version of the document's format.
pub const SCHEMA_VERSION: u32 = 1;
/// Number of samples that must lie beyond a percentile for it to be stated.
const BEYOND: u64 = 10;
/// Largest number of classes in the wear histogram.
const WEAR_CLASSES: u32 = 64;

/// Facts about the run that the caller knows.
pub struct RunFacts<'a> {
    /// The drive's name, as the user gave it.
    pub drive_name: &'a str,
    /// The workload's name.
    pub workload_name: &'a str,
    /// The policy's name.
    pub policy_name: &'a str,
    /// The run's seed.
    pub seed: u64,
    /// True if the run was not stopped before its end.
    pub complete: bool,
    /// Wall-clock seconds of the event loop.
    pub wall_s: f64,
    /// Number of commands rejected.
    pub rejected: u64,
    /// True if the backlog of an open loop was still growing.
    pub saturated: bool,
    /// Largest number of commands in flight.
    pub max_in_flight: u64,
    /// Result of the steady-state detection, if requested.
    pub steady: Option<&'a SteadyState>,
    /// State in which the run began.
    pub starting_state: Value,
    /// Instant at which the workload ended, before any shutdown.
    pub workload_end: SimTime,
    /// Utilisation of the drive's resources until `workload_end`.
    pub utilisation: Utilisation,
    /// Energy and power until `workload_end`, where they are computed.
    pub energy: Option<EnergyReport>,
    /// Duration of the shutdown \[ns\], if there was one.
    pub shutdown_ns: Option<u64>,
    /// Report of the power failure, if there was one.
    pub(crate) power_failure: Option<&'a PowerFailureReport>,
}

/// Builds the summary of a run. Every key is always present, with `null` where nothing was measured; only
/// `power_failure` is absent unless power failed, `streams` unless the workload has several, `intervals` unless batches
/// were requested, `read_cache` and `map_cache` unless the drive has one, `firmware` unless a core executes it,
/// `translation` where the translation layer is the page map.
pub fn summary(facts: &RunFacts<'_>, description: &Description, drive: &Drive) -> Value {
    let mut all = whole_run(facts, description, drive);
    if let Some(power_failure) = facts.power_failure {
        all["power_failure"] = power_failure.to_json();
    }
    if !drive.statistics.streams.all().is_empty() {
        all["streams"] = totals::streams(&drive.statistics);
    }
    if let Some(batches) = &drive.statistics.batches {
        all["intervals"] = intervals::section(&drive.statistics, batches);
    }
    if description.buffer.read_cache.is_some() {
        let (_, ftl) = drive.statistics.since_start(drive.flash(), drive.translator());
        all["read_cache"] = json!({
            "hit_units": ftl.cache_hits,
            "read_ahead_units": ftl.read_ahead,
            "units_that_waited": ftl.read_ahead_waits,
        });
    }
    if let (Some(counts), Some(cache)) =
        (drive.statistics.map_since_start(drive.translator()), drive.translator().map().and_then(|map| map.map_cache()))
    {
        let hits = counts.lookups - counts.misses;
        all["map_cache"] = json!({
            "lookups": counts.lookups,
            "hit_ratio": (counts.lookups > 0).then(|| hits as f64 / counts.lookups as f64),
            "pages_read": counts.loads,
            "pages_read_to_update": counts.loads_to_update,
            "changed_entries": counts.updates,
            "checkpoints": counts.checkpoints,
            "most_pages": cache.max_pages,
            "capacity_pages": cache.capacity_pages,
        });
    }
    if drive.translator().map().is_none() {
        let figures = drive.translator().figures().into_iter().map(|(name, value)| (name.to_owned(), json!(value)));
        let kind = ("kind".to_owned(), json!(description.ftl.translation.name()));
        all["translation"] = Value::Object(std::iter::once(kind).chain(figures).collect());
    }
    if let Some(profile) = drive.translator().firmware_profile() {
        let clock = description.executed_firmware().map_or(0, |config| config.clock.0);
        // The work goes on after the last command, for what is still in the write buffer.
        let seconds = drive.now().since(drive.statistics.start).0 as f64 / 1e9;
        all["firmware"] = firmware(&profile, seconds * clock as f64);
    }
    if let Some(reads) = drive.statistics.reads_since_start(drive.controller()) {
        all["read_errors"] = read_errors::section(description, &reads, &drive.statistics);
    }
    all
}

fn whole_run(facts: &RunFacts<'_>, description: &Description, drive: &Drive) -> Value {
    let statistics = &drive.statistics;
    let span_ns = facts.workload_end.since(statistics.start).0;
    let totals = &statistics.totals;
    let (flash, ftl) = statistics.since_start(drive.flash(), drive.translator());
    let units: u64 = ftl.units_programmed.iter().sum();
    let mut throughput = totals::throughput(totals, span_ns);
    throughput["most_in_flight"] = json!(facts.max_in_flight);
    json!({
        "schema_version": SCHEMA_VERSION,
        "status": if facts.complete { "complete" } else { "partial" },
        "drive": facts.drive_name,
        "workload": facts.workload_name,
        "policy": facts.policy_name,
        "seed": facts.seed,
        "simulated_ns": span_ns,
        "wall_s": facts.wall_s,
        "commands": totals::commands(totals),
        "rejected": facts.rejected,
        "latency": totals::latencies(totals),
        "throughput": throughput,
        "causes": totals::causes(totals),
        "causes_tail": totals::causes_of_tails(totals),
        "flash": {
            "reads": by_reason(&flash.reads),
            "programs": by_reason(&ftl.units_programmed),
            "erases": by_reason(&flash.erases),
            "operations": {"read": flash.operations[0], "program": flash.operations[1], "erase": flash.operations[2], "copyback": flash.operations[3], "lazy_erase": flash.operations[4]},
            "suspensions": flash.suspensions,
        },
        "host_units_written": ftl.host_units,
        "write_amplification": ratio(units, ftl.host_units),
        "write_amplification_bytes": ratio(drive.unit().offset(units), totals.bytes[Op::Write as usize]),
        "free_blocks": free_blocks(drive),
        "unmapped_reads": ftl.unmapped_reads,
        "buffer": {"absorbed_units": ftl.absorbed, "read_hits": ftl.buffer_hits, "reads_in_flight": ftl.reads_in_flight},
        "relocation_skipped": ftl.relocation_skipped,
        "collections": ftl.collections,
        "modes": modes(description, &flash, &ftl),
        "wear": wear(drive),
        "wear_histogram": wear_histogram(drive),
        "effective_wear": effective_wear(drive),
        "energy": energy::section(description, facts.energy.as_ref(), &Written { totals, units: ftl.host_units, unit: drive.unit() }),
        "utilisation": utilisation::section(description, &facts.utilisation),
        "bottleneck": utilisation::bottleneck(&facts.utilisation),
        "reliability": reliability(description, drive, &ftl, facts.power_failure.map_or(0, |power_failure| power_failure.at_risk_pages)),
        "health": health::section(description, drive, totals, facts.power_failure.is_some_and(PowerFailureReport::is_abrupt)),
        "policy_stats": policy_stats(drive),
        "declared_state_bits_per_unit": drive.translator().map().map(|map| map.needs().bits_per_unit),
        "declared_state_bytes_per_block": drive.translator().map().map(|map| map.needs().bytes_per_block),
        "starting_state": facts.starting_state,
        "shutdown_ns": facts.shutdown_ns,
        "steady": facts.steady,
        "saturated": facts.saturated,
    })
}

/// Returns the work of executed firmware, in a run of this number of cycles.
fn firmware(profile: &FirmwareProfile, cycles_of_run: f64) -> Value {
    let section = |work: Work| json!({"instructions": work.instructions, "cycles": work.cycles});
    let task = |&(name, work): &(&str, Work)| (name.to_owned(), section(work));
    // Functions of several files may have one name.
    let mut functions = BTreeMap::<&str, Work>::new();
    for function in &profile.functions {
        let name = if function.name.is_empty() { "elsewhere" } else { &function.name };
        functions.entry(name).or_default().add(Work { instructions: function.instructions, cycles: function.cycles });
    }
    let mut all = section(profile.total);
    all["tasks"] = Value::Object(profile.tasks.iter().map(task).collect());
    let cores = profile.cores.iter().enumerate().map(|(number, core)| {
        let mut figures = section(core.work);
        figures["utilisation"] = json!((cycles_of_run > 0.0).then(|| core.work.cycles as f64 / cycles_of_run));
        figures["interconnect_wait_cycles"] = json!(core.interconnect_wait);
        figures["locks"] = json!(core.locks);
        figures["lock_wait_cycles"] = json!(core.lock_wait);
        (number.to_string(), figures)
    });
    all["cores"] = Value::Object(cores.collect());
    all["functions"] = Value::Object(functions.into_iter().map(|(name, work)| (name.to_owned(), section(work))).collect());
    all
}

/// Returns a ratio; `null` if the divisor is zero.
fn ratio(dividend: u64, divisor: u64) -> Value {
    json!((divisor > 0).then(|| dividend as f64 / divisor as f64))
}

/// Returns the number of free blocks over the run, by the samples of the timeline.
fn free_blocks(drive: &Drive) -> Value {
    let Some(ftl) = drive.translator().map() else { return unknown(&["mean", "least", "at_end"]) };
    let now = ftl.free_blocks();
    let samples = || drive.statistics.timeline.rows().filter_map(|(_, row)| row.free_blocks).chain(std::iter::once(now));
    let (count, sum) = samples().fold((0u64, 0u64), |(count, sum), blocks| (count + 1, sum + blocks));
    json!({"mean": sum as f64 / count as f64, "least": samples().min(), "at_end": now})
}

fn by_reason(counts: &[u64; REASON_COUNT]) -> Value {
    let some = Reason::ALL.iter().map(|reason| (reason.name(), counts[*reason as usize])).filter(|(_, count)| *count > 0);
    Value::Object(some.map(|(name, count)| (name.to_owned(), json!(count))).collect())
}

fn modes(description: &Description, flash: &flash::Counters, ftl: &ftl::FtlCounters) -> Value {
    let write_names = description.flash.write_modes.iter().map(|mode| mode.name.clone());
    let write: Map<String, Value> =
        write_names.enumerate().map(|(index, name)| (name, json!(ftl.units_by_mode[index]))).collect();
    let erase: Map<String, Value> = description
        .flash
        .erase_mode_names()
        .into_iter()
        .enumerate()
        .map(|(index, name)| (name, json!(flash.erase_modes[index])))
        .collect();
    let host_write: Map<String, Value> = description
        .flash
        .write_modes
        .iter()
        .enumerate()
        .map(|(index, mode)| (mode.name.clone(), json!(ftl.host_units_by_mode[index])))
        .collect();
    let read_names = description.flash.read_mode_names().into_iter().enumerate();
    let read: Map<String, Value> = read_names.map(|(index, name)| (name, json!(flash.read_modes[index]))).collect();
    json!({"write": write, "erase": erase, "read": read, "host_write": host_write})
}

/// Returns the figures of an empty or unknown distribution of wear.
fn unknown(keys: &[&str]) -> Value {
    keys.iter().map(|key| ((*key).to_owned(), Value::Null)).collect::<Map<_, _>>().into()
}

fn wear(drive: &Drive) -> Value {
    let Some(medium) = medium(drive) else { return unknown(&["mean", "max", "min", "stddev"]) };
    let mut sums = (0u64, 0u128, u32::MAX, 0u32);
    let blocks = medium.geometry.block_count;
    for block in (0..blocks).map(BlockId) {
        let count = medium.erase_count(block);
        sums = (sums.0 + u64::from(count), sums.1 + u128::from(count) * u128::from(count), sums.2.min(count), sums.3.max(count));
    }
    let mean = sums.0 as f64 / f64::from(blocks);
    let variance =
        (u128::from(blocks) * sums.1 - u128::from(sums.0) * u128::from(sums.0)) as f64 / f64::from(blocks) / f64::from(blocks);
    json!({"mean": mean, "max": sums.3, "min": sums.2, "stddev": variance.sqrt()})
}

/// Returns the medium, if the translation layer keeps a map of its data.
fn medium(drive: &Drive) -> Option<&Medium> {
    drive.translator().map().map(|_| drive.medium())
}

/// Returns the number of blocks by erase count, in at most [`WEAR_CLASSES`] classes of equal width.
fn wear_histogram(drive: &Drive) -> Value {
    let Some(medium) = medium(drive) else { return unknown(&["first_cycles", "width_cycles", "blocks"]) };
    let counts = || (0..medium.geometry.block_count).map(|block| medium.erase_count(BlockId(block)));
    let (least, most) = counts().fold((u32::MAX, 0), |(least, most), count| (least.min(count), most.max(count)));
    let width = (most - least) / WEAR_CLASSES + 1;
    let mut blocks = vec![0u64; ((most - least) / width + 1) as usize];
    counts().for_each(|count| blocks[((count - least) / width) as usize] += 1);
    json!({"first_cycles": least, "width_cycles": width, "blocks": blocks})
}

fn effective_wear(drive: &Drive) -> Value {
    let Some(medium) = medium(drive) else { return unknown(&["mean", "max"]) };
    let blocks = medium.geometry.block_count;
    let (mut total, mut most) = (0.0, 0.0f64);
    for block in (0..blocks).map(BlockId) {
        let wear = medium.effective_wear(block);
        total += wear;
        most = most.max(wear);
    }
    json!({"mean": total / f64::from(blocks), "max": most})
}

/// Returns the reliability figures. Where data has no errors, reads cannot fail; where no write mode has a retention
/// limit, no data can miss a deadline or be at risk.
fn reliability(description: &Description, drive: &Drive, ftl: &ftl::FtlCounters, at_risk_pages: u64) -> Value {
    let map = drive.translator().map();
    let (misses, margin) = map.map_or((0, None), |map| map.retention_report());
    let limited = |count: u64| map.is_some_and(|map| map.has_retention_limits()).then_some(count);
    let reads = drive.statistics.reads_since_start(drive.controller());
    let reads = reads.as_ref();
    json!({
        "uncorrectable": reads.map(|reads| reads.uncorrectable_units),
        "retries": reads.map(|reads| reads.retries()),
        "soft_levels": reads.map(|reads| reads.soft),
        "uber": reads.map(|reads| read_errors::uber(description, reads)),
        "deadline_misses": limited(misses),
        "at_risk_pages": limited(at_risk_pages),
        "min_retention_margin_ns": margin,
        "retention_refusals": limited(ftl.retention_refusals),
    })
}

fn policy_stats(drive: &Drive) -> Value {
    Value::Object(
        drive
            .translator()
            .map()
            .map_or(Vec::new(), |map| map.policy().named_stats())
            .into_iter()
            .map(|(name, value)| (name, json!(value)))
            .collect(),
    )
}
