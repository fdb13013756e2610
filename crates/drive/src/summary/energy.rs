//! Energy and power.

use super::{cap, states, thermal};
use crate::description::Description;
use crate::energy::{EnergyReport, Parts};
use crate::totals::Totals;
use controller::usage::Amount;
use flash::power::PowerReport;
use kit::{DieId, Geometry, Op, OperationKind, Reason, UnitSize};
use serde_json::{Map, Value, json};

/// Joules in an attojoule, the unit in which energy is counted.
const ATTO: f64 = 1e-18;
/// Bytes of the unit in which the energy of writes is stated.
const PIECE: u64 = 4096;

/// Work of the host, by which energies are divided.
pub(super) struct Written<'a> {
    /// The commands that completed.
    pub totals: &'a Totals,
    /// Mapping units written.
    pub units: u64,
    pub unit: UnitSize,
}

/// Returns the section `energy`.
pub(super) fn section(description: &Description, report: Option<&EnergyReport>, host: &Written<'_>) -> Value {
    let Some(EnergyReport { flash, .. }) = report else { return without_model() };
    let parts = report.map_or(Parts::default(), |report| report.parts(description));
    let each: Vec<(&str, u128)> = std::iter::once(("flash", Some(flash.total())))
        .chain(parts.each())
        .filter_map(|(name, energy)| Some((name, energy?)))
        .collect();
    let total: u128 = each.iter().map(|(_, energy)| energy).sum();
    let mut section = Map::new();
    let mut set = |key: &str, value: Value| {
        section.insert(key.to_owned(), value);
    };
    set("total_j", json!(joules(total)));
    set("total_aj", json!(total.to_string()));
    set("parts", each.iter().map(|(name, _)| *name).collect());
    set("flash_j", json!(joules(flash.total())));
    set("flash_aj", json!(flash.total().to_string()));
    for (name, energy) in parts.each() {
        set(&format!("{name}_j"), json!(energy.map(joules)));
        set(&format!("{name}_aj"), json!(energy.map(|energy| energy.to_string())));
    }
    set("mean_w", json!((flash.span_ns > 0).then(|| joules(total) * 1e9 / flash.span_ns as f64)));
    set("flash_mean_w", json!((flash.span_ns > 0).then(|| joules(flash.total()) * 1e9 / flash.span_ns as f64)));
    let windows = &flash.windows;
    set("flash_peak_w", json!((windows.count > 0).then_some(windows.peak_w)));
    set("peak_w", json!((windows.count > 0).then_some(windows.peak_w)));
    set("window_ns", json!(windows.window_ns));
    for (key, percentile) in ["p50_w", "p90_w", "p99_w", "p99_9_w"].into_iter().zip(windows.percentiles_w) {
        set(key, json!(percentile));
    }
    set("idle_j", json!(joules(flash.idle)));
    set("by_component", joules_of(each.iter().map(|&(name, energy)| (name.to_owned(), energy))));
    set("by_work", joules_of(by_work(&parts).into_iter()));
    set("amounts", amounts(report, &parts));
    set("by_operation", by_operation(flash));
    set("by_reason", by_reason(flash));
    set("by_cause", joules_of(by_cause(flash).into_iter()));
    set("cap", cap::section(flash.cap.as_ref()));
    set("thermal", thermal::section(flash.thermal.as_ref()));
    set("states", states::section(description, report.and_then(|report| report.states.as_ref()), &parts));
    for (key, energies) in [("die", by_die(flash)), ("channel", by_channel(flash, &description.geometry()))] {
        set(&format!("by_{key}"), energies.iter().map(|energy| joules(*energy)).collect());
        set(&format!("by_{key}_aj"), energies.iter().map(u128::to_string).collect());
    }
    section.extend(by_host(flash, total, host));
    Value::Object(section)
}

/// Returns the section of a drive without currents: the same keys, without a value.
fn without_model() -> Value {
    let mut section = Map::new();
    let names = ["total", "flash", "dram", "ecc", "core", "interconnect", "link", "static"];
    for name in names {
        section.insert(format!("{name}_j"), Value::Null);
        section.insert(format!("{name}_aj"), Value::Null);
    }
    for key in ["mean_w", "flash_mean_w", "flash_peak_w", "peak_w", "window_ns", "p50_w", "p90_w", "p99_w", "p99_9_w", "idle_j"] {
        section.insert(key.to_owned(), Value::Null);
    }
    for key in HOST_KEYS.into_iter().chain(["cap", "thermal", "states"]) {
        section.insert(key.to_owned(), Value::Null);
    }
    for key in ["by_component", "by_work", "amounts", "by_operation", "by_reason", "by_cause"] {
        section.insert(key.to_owned(), json!({}));
    }
    for key in ["parts", "by_die", "by_die_aj", "by_channel", "by_channel_aj"] {
        section.insert(key.to_owned(), json!([]));
    }
    Value::Object(section)
}

/// Keys of energies by what the host requested.
const HOST_KEYS: [&str; 5] = ["per_host_byte_j", "read_command_j", "write_command_j", "written_4k_j", "written_unit_j"];

/// Returns the energies by what the host requested; `null` where it requested nothing of the kind.
fn by_host(flash: &PowerReport, total: u128, host: &Written<'_>) -> Map<String, Value> {
    let totals = host.totals;
    let active: u128 = flash.energy.iter().flatten().sum();
    let reads = flash.energy[OperationKind::Read as usize][Reason::Host as usize];
    let per = |energy: u128, count: f64| json!((count > 0.0).then(|| joules(energy) / count));
    let commands = |op: Op| totals.sums[op as usize].count() as f64;
    let bytes = totals.bytes[Op::Read as usize] + totals.bytes[Op::Write as usize];
    let pieces = host.unit.offset(host.units) as f64 / PIECE as f64;
    let values = [
        per(total, bytes as f64),
        per(reads, commands(Op::Read)),
        per(active - reads, commands(Op::Write)),
        per(active - reads, pieces),
        per(flash.total(), host.units as f64),
    ];
    HOST_KEYS.into_iter().map(str::to_owned).zip(values).collect()
}

/// Returns the energy of the array phases by kind of operation.
fn by_operation(report: &PowerReport) -> Value {
    let of = |kind: &OperationKind| report.energy[*kind as usize].iter().sum();
    joules_of(OperationKind::ALL.iter().map(|kind| (kind.name().replace(' ', "_"), of(kind))))
}

/// Returns the energy of the array phases by reason.
fn by_reason(report: &PowerReport) -> Value {
    joules_of(Reason::ALL.iter().map(|reason| (reason.name().to_owned(), of_reason(report, *reason))))
}

fn of_reason(report: &PowerReport, reason: Reason) -> u128 {
    report.energy.iter().map(|kind| kind[reason as usize]).sum()
}

/// Returns the energy of the flash by what it was for: reads and writes of the host, reads that were repeated, every
/// other reason, and dies at rest.
fn by_cause(report: &PowerReport) -> Vec<(String, u128)> {
    let first = |reason: Reason| report.retries[reason as usize];
    let (host, reads) = (Reason::Host, report.energy[OperationKind::Read as usize][Reason::Host as usize]);
    let mut causes = vec![
        ("host_read".to_owned(), reads - first(host)),
        ("host_write".to_owned(), of_reason(report, host) - reads),
        ("retry".to_owned(), report.retries.iter().sum()),
    ];
    let others = Reason::ALL.iter().filter(|reason| **reason != host);
    causes.extend(others.map(|reason| (reason.name().to_owned(), of_reason(report, *reason) - first(*reason))));
    causes.push(("idle".to_owned(), report.idle));
    causes
}

/// Returns the energy of each die, at rest and not.
fn by_die(report: &PowerReport) -> Vec<u128> {
    report.by_die.iter().zip(&report.idle_by_die).map(|(active, idle)| active + idle).collect()
}

/// Returns the energy of the dies of each channel.
fn by_channel(report: &PowerReport, geometry: &Geometry) -> Vec<u128> {
    let mut channels = vec![0; geometry.shape.channels as usize];
    for (die, energy) in by_die(report).into_iter().enumerate() {
        channels[geometry.channel_of(DieId(die as u32)).0 as usize] += energy;
    }
    channels
}

/// Returns the energy of the memory and of the code by kind of work.
fn by_work(parts: &Parts) -> Vec<(String, u128)> {
    let mut works = Vec::new();
    if let Some(dram) = &parts.dram {
        let all = [
            ("dram_activate", dram.activate),
            ("dram_read", dram.read),
            ("dram_write", dram.write),
            ("dram_refresh", dram.refresh),
            ("dram_standby", dram.standby),
        ];
        works.extend(all.map(|(name, zeptojoules)| (name.to_owned(), zeptojoules / 1_000)));
    }
    if let Some(ecc) = &parts.ecc {
        let all = [("ecc_encode", ecc.encode), ("ecc_decode", ecc.decode), ("ecc_iterate", ecc.iterate), ("ecc_idle", ecc.idle)];
        works.extend(all.map(|(name, energy)| (name.to_owned(), energy)));
    }
    works
}

/// Returns the amounts of work from which the energies of the parts follow; those of zero are left out.
fn amounts(report: Option<&EnergyReport>, parts: &Parts) -> Value {
    let Some(report) = report else { return json!({}) };
    let groups: [(bool, &[(&str, Amount)]); 5] = [
        (
            parts.dram.is_some(),
            &[
                ("dram_activates", Amount::Activates),
                ("dram_bursts_read", Amount::BurstsRead),
                ("dram_bursts_written", Amount::BurstsWritten),
                ("dram_refreshes", Amount::Refreshes),
                ("dram_cycles_open", Amount::CyclesOpen),
                ("dram_busy_ns", Amount::MemoryBusy),
            ],
        ),
        (
            parts.ecc.is_some(),
            &[("decoded_hard", Amount::DecodedHard), ("decoded_soft", Amount::DecodedSoft), ("decoding_ns", Amount::Decoding)],
        ),
        (parts.cores.is_some(), &[("cores_busy_ns", Amount::CoresBusy)]),
        (parts.interconnect.is_some(), &[("interconnect_bytes", Amount::InterconnectBytes)]),
        (
            parts.link.is_some(),
            &[
                ("link_to_device_ns", Amount::ToDeviceBusy),
                ("link_to_host_ns", Amount::ToHostBusy),
                ("link_bytes", Amount::LinkBytes),
            ],
        ),
    ];
    let modelled = groups.into_iter().filter(|(is_modelled, _)| *is_modelled).flat_map(|(_, amounts)| amounts);
    let counts = modelled.map(|(name, amount)| (*name, report.usage.of(*amount)));
    let encoded = parts.encoded.map(|encoded| ("encoded", encoded));
    counts
        .chain(encoded)
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| (name.to_owned(), json!(count)))
        .collect::<Map<_, _>>()
        .into()
}

/// Returns named energies, given in attojoules; those of zero are left out.
fn joules_of(parts: impl Iterator<Item = (String, u128)>) -> Value {
    parts.filter(|(_, energy)| *energy > 0).map(|(name, energy)| (name, json!(joules(energy)))).collect::<Map<_, _>>().into()
}

fn joules(attojoules: u128) -> f64 {
    attojoules as f64 * ATTO
}
