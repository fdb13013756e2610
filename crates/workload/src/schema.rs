//! The JSON Schema of a workload file.

use crate::{lookalike, synthetic};
use schemars::SchemaGenerator;
use serde_json::{Value, json};

/// Returns the JSON Schema of a workload in TOML, for editors: see [`kit::editor`].
pub fn schema() -> Value {
    let mut generator = SchemaGenerator::default();
    let kinds = [generator.subschema_for::<synthetic::Description>(), generator.subschema_for::<lookalike::Description>()];
    let declared = json!({"title": "ssdlab workload", "anyOf": kinds, "$defs": generator.definitions()});
    kit::editor::schema(&declared, false)
}
