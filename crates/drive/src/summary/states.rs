//! The power states of the drive.

use crate::description::Description;
use crate::energy::Parts;
use controller::power_states::StateReport;
use kit::{Power, PowerState};
use serde_json::{Value, json};

/// Returns `energy.states`: the time in each power state; `null` for a drive that enters none.
pub(super) fn section(description: &Description, report: Option<&StateReport>, parts: &Parts) -> Value {
    let (Some(report), Some(power)) = (report, &description.power) else { return Value::Null };
    // A power in nW for a time in ns.
    let joules = |power: Power, ns: u64| power.0 as f64 * ns as f64 * 1e-18;
    let state = |(index, state): (usize, &PowerState)| {
        let sum = &report.states[index];
        json!({
            "state": index,
            "entries": sum.entries,
            "time_ns": sum.time_ns,
            "stated_j": state.idle_power.filter(|_| state.non_operational).map(|idle| joules(idle, sum.time_ns)),
        })
    };
    json!({
        "wakes": report.wakes,
        "transition_ns": report.transition_ns,
        "saved_j": parts.saved.total() as f64 * 1e-18,
        "saved_aj": parts.saved.total().to_string(),
        "by_state": power.state.iter().enumerate().map(state).collect::<Vec<_>>(),
    })
}
