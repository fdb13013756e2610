//! Energy and power.

use super::cap;
use flash::power::PowerReport;
use kit::{OperationKind, Reason};
use serde_json::{Map, Value, json};

/// Joules in an attojoule, the unit in which energy is counted.
const ATTO: f64 = 1e-18;

/// Returns the section `energy`; `units` is the number of mapping units that the host wrote.
pub(super) fn section(report: Option<&PowerReport>, units: u64) -> Value {
    let flash = report.map(PowerReport::total);
    let mean = |report: &PowerReport| (report.span_ns > 0).then(|| joules(report.total()) * 1e9 / report.span_ns as f64);
    let percentile = |index: usize| report.and_then(|report| report.windows.percentiles_w[index]);
    let windows = report.map(|report| &report.windows).filter(|windows| windows.count > 0);
    json!({
        "total_j": flash.map(joules),
        "parts": report.map_or(Vec::new(), |_| vec!["flash"]),
        "flash_j": flash.map(joules),
        "dram_j": Value::Null,
        "ecc_j": Value::Null,
        "core_j": Value::Null,
        "interconnect_j": Value::Null,
        "link_j": Value::Null,
        "mean_w": report.and_then(mean),
        "peak_w": windows.map(|windows| windows.peak_w),
        "window_ns": report.map(|report| report.windows.window_ns),
        "p50_w": percentile(0),
        "p90_w": percentile(1),
        "p99_w": percentile(2),
        "p99_9_w": percentile(3),
        "flash_aj": flash.map(|total| total.to_string()),
        "idle_j": report.map(|report| joules(report.idle)),
        "by_operation": report.map_or_else(|| json!({}), by_operation),
        "by_reason": report.map_or_else(|| json!({}), by_reason),
        "cap": cap::section(report.and_then(|report| report.cap.as_ref())),
        "written_unit_j": flash.filter(|_| units > 0).map(|total| joules(total) / units as f64),
    })
}

/// Returns the energy of the array phases by kind of operation.
fn by_operation(report: &PowerReport) -> Value {
    let of = |kind: &OperationKind| report.energy[*kind as usize].iter().sum();
    joules_of(OperationKind::ALL.iter().map(|kind| (kind.name().replace(' ', "_"), of(kind))))
}

/// Returns the energy of the array phases by reason.
fn by_reason(report: &PowerReport) -> Value {
    let of = |reason: &Reason| report.energy.iter().map(|kind| kind[*reason as usize]).sum();
    joules_of(Reason::ALL.iter().map(|reason| (reason.name().to_owned(), of(reason))))
}

/// Returns named energies, given in attojoules; those of zero are left out.
fn joules_of(parts: impl Iterator<Item = (String, u128)>) -> Value {
    parts.filter(|(_, energy)| *energy > 0).map(|(name, energy)| (name, json!(joules(energy)))).collect::<Map<_, _>>().into()
}

fn joules(attojoules: u128) -> f64 {
    attojoules as f64 * ATTO
}
