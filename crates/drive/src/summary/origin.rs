//! Origins of a summary's values: the model that provides each of them.

use serde_json::Value;

/// Origin of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The caller, the description or the run loop: the value says what was run, and under which conditions.
    Run,
    /// A model of the engine.
    Model(&'static str),
    /// No model yet: the value is `null`.
    Nothing,
}

use Origin::{Model, Nothing, Run};

const ACCOUNTING: Origin = Model("accounting of commands (drive/statistics)");
const FLASH: Origin = Model("dies and channels (flash)");
const BUSY: Origin = Model("busy times of dies, channels (flash) and the controller's resources (controller)");
const PAGE_BUFFERS: Origin = Model("page buffers of the channel controllers (flash/page_buffers)");
const MAPPING: Origin = Model("mapping, allocation and relocation (ftl)");
const BUFFER: Origin = Model("write buffer (host/buffer, ftl/writes)");
const READS: Origin = Model("errors of stored data, decoding and retries (controller/reads)");
const WEAR: Origin = Model("wear of blocks (ftl/endurance)");
const RETENTION: Origin = Model("retention limits (ftl/retention)");
const POLICY: Origin = Model("mode policy (ftl/policy)");

/// Paths of a summary's values, in which `*` stands for any name or index, with their origins. A path covers all values
/// below it; the first path that matches counts.
pub const ORIGINS: &[(&str, Origin)] = &[
    ("schema_version", Run),
    ("status", Run),
    ("drive", Run),
    ("workload", Run),
    ("policy", Run),
    ("seed", Run),
    ("simulated_ns", ACCOUNTING),
    ("wall_s", Run),
    ("commands/*", ACCOUNTING),
    ("rejected", Run),
    ("latency/*/*", ACCOUNTING),
    ("intervals/*", ACCOUNTING),
    ("throughput/*", ACCOUNTING),
    ("causes/*/*", ACCOUNTING),
    ("streams/*/name", Run),
    ("streams/*/*", ACCOUNTING),
    ("flash/reads/*", FLASH),
    ("flash/programs/*", MAPPING),
    ("flash/erases/*", FLASH),
    ("flash/operations/*", FLASH),
    ("flash/suspensions", FLASH),
    ("host_units_written", MAPPING),
    ("write_amplification", MAPPING),
    ("unmapped_reads", MAPPING),
    ("buffer/absorbed_units", BUFFER),
    ("buffer/read_hits", BUFFER),
    ("buffer/reads_in_flight", MAPPING),
    ("relocation_skipped", MAPPING),
    ("collections", MAPPING),
    ("modes/*/*", MAPPING),
    ("wear/*", WEAR),
    ("wear_histogram/*", WEAR),
    ("effective_wear/*", WEAR),
    ("energy/*", Nothing),
    ("utilisation/page_buffers", PAGE_BUFFERS),
    ("utilisation/*", BUSY),
    ("bottleneck", BUSY),
    ("reliability/uncorrectable", READS),
    ("reliability/retries", READS),
    ("reliability/soft_levels", READS),
    ("reliability/uber", READS),
    ("reliability/deadline_misses", RETENTION),
    ("reliability/at_risk_pages", RETENTION),
    ("reliability/min_retention_margin_ns", RETENTION),
    ("reliability/retention_refusals", RETENTION),
    ("policy_stats/*", POLICY),
    ("declared_state_bits_per_unit", POLICY),
    ("declared_state_bytes_per_block", POLICY),
    ("starting_state/*", Run),
    ("shutdown_ns", Run),
    ("steady", Run),
    ("saturated", Run),
    ("power_failure", RETENTION),
    ("read_errors", READS),
    ("map_cache/*", MAPPING),
    ("translation/*", Model("translation layer (ftl/translation)")),
];

/// Returns the declared path that covers the value at `path`, and its origin; none if no path covers it.
pub fn origin(path: &[&str]) -> Option<(&'static str, Origin)> {
    let covers = |declared: &str| {
        let declared: Vec<&str> = declared.split('/').collect();
        declared.len() <= path.len() && declared.iter().zip(path).all(|(one, name)| *one == "*" || one == name)
    };
    ORIGINS.iter().copied().find(|(declared, _)| covers(declared))
}

/// Calls `visit` with path and value of every leaf of a document: scalars, and empty objects and arrays.
pub fn walk(document: &Value, visit: &mut dyn FnMut(&[&str], &Value)) {
    fn step<'a>(value: &'a Value, path: &mut Vec<&'a str>, visit: &mut dyn FnMut(&[&str], &Value)) {
        let children: Vec<(&str, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(name, field)| (name.as_str(), field)).collect(),
            Value::Array(items) => items.iter().map(|item| ("*", item)).collect(),
            _ => Vec::new(),
        };
        if children.is_empty() {
            visit(path, value);
        }
        for (name, child) in children {
            path.push(name);
            step(child, path, visit);
            path.pop();
        }
    }
    step(document, &mut Vec::new(), visit);
}
