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

use Origin::Model;

pub(super) const ACCOUNTING: Origin = Model("accounting of commands (drive/statistics)");
pub(super) const FLASH: Origin = Model("dies and channels (flash)");
pub(super) const BUSY: Origin = Model("busy times of dies, channels (flash) and the controller's resources (controller)");
pub(super) const PAGE_BUFFERS: Origin = Model("page buffers of the channel controllers (flash/page_buffers)");
pub(super) const MAPPING: Origin = Model("mapping, allocation and relocation (ftl)");
pub(super) const BUFFER: Origin = Model("write buffer and read cache (host/buffer, ftl/queue, ftl/read_cache)");
pub(super) const READS: Origin = Model("errors of stored data, decoding and retries (controller/reads)");
pub(super) const WEAR: Origin = Model("wear of blocks (ftl/layer/page_map/endurance)");
pub(super) const RETENTION: Origin = Model("retention limits (ftl/layer/page_map/retention)");
pub(super) const HEALTH: Origin =
    Model("failures of the flash, spare and bad blocks (flash/faults, ftl/layer/page_map/ftl/repair)");
pub(super) const POLICY: Origin = Model("mode policy (ftl/policy)");
pub(super) const POWER: Origin = Model("currents of the dies (flash/power)");
pub(super) const POWER_OF_PARTS: Origin = Model("powers and energies of parts beside the flash (kit/power, controller/energy)");
pub(super) const STATES: Origin = Model("power states of the drive (controller/power_states)");
pub(super) const TRANSLATION: Origin = Model("translation layer (ftl/layer)");

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
