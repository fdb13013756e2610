//! The cap on the power of the flash.

use flash::power::CapReport;
use kit::Power;
use serde_json::{Value, json};

/// Returns `energy.cap`: the cap and the waits for power; `null` without a cap.
pub(super) fn section(cap: Option<&CapReport>) -> Value {
    let watts = |power: Power| power.0 as f64 / 1e9;
    cap.map_or(Value::Null, |cap| {
        json!({
            "cap_w": watts(cap.cap),
            "counts": ["flash"],
            "waits": cap.waits,
            "wait_ns": cap.wait_ns,
            "suspensions": cap.suspensions.map(|all| all.count),
            "suspended_ns": cap.suspensions.map(|all| all.time_ns),
            "least_w": watts(cap.least),
        })
    })
}
