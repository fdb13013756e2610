//! The temperature of the flash.

use flash::power::ThermalReport;
use serde_json::{Value, json};

/// Returns `energy.thermal`: temperature and throttling; `null` without a thermal model.
pub(super) fn section(thermal: Option<&ThermalReport>) -> Value {
    thermal.map_or(Value::Null, |thermal| {
        json!({
            "mean_c": thermal.mean,
            "peak_c": thermal.peak,
            "last_c": thermal.last,
            "throttles": thermal.throttles,
            "throttled_ns": thermal.throttled_ns,
        })
    })
}
