//! The declarations as data: groups of options, each with the facts that help texts and signatures are made of.

use super::{CommandOutput, LifeOptions, Limits, Records, RunOptions, SavedDrive, Setup};
use schemars::{JsonSchema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value as Json;
use workload::Options as WorkloadOptions;

/// Receiver of the options of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The engine: the group is a part of the request.
    Request,
    /// The caller of the engine, which opens files or keeps rows.
    File,
    /// The caller of the engine, which translates the options.
    Caller,
    /// The command line.
    Command,
}

/// Options that are declared by one struct.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// Name of the group, and key of its options in the request.
    pub name: &'static str,
    /// Receiver of the options.
    pub kind: Kind,
    /// True if options that are left out are not passed to the engine, which has its own defaults.
    pub is_sparse: bool,
    /// First paragraph of the struct's documentation.
    pub about: String,
    /// The options, in the order of declaration.
    pub options: Vec<Declared>,
}

/// One option.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Declared {
    /// Name of the field, of the Python argument and, with `-` for `_`, of the option of the command.
    pub name: String,
    /// Paragraphs of the documentation. The first is the help of the command.
    pub about: Vec<String>,
    /// Type of the value: `text`, `texts`, `integer`, `number`, `flag`, `input` or `output` (files).
    pub value: &'static str,
    /// True if the option may be absent.
    pub is_optional: bool,
    /// Default value.
    pub default: Json,
    /// Largest value of an unsigned integer.
    pub most: Option<u64>,
    /// Least value that the command accepts.
    pub least: Option<i64>,
    /// Placeholder of the value in the help of the command.
    pub placeholder: Option<String>,
    /// Heading in the help of the command.
    pub panel: Option<String>,
    /// Short form of the option of the command.
    pub short: Option<String>,
    /// Separator of several values that the command takes as one text.
    pub separator: Option<String>,
    /// Type of the Python argument, where it accepts more than `value` says.
    pub python: Option<String>,
    /// Where the option exists, unless it does everywhere: `python` or `argument`.
    pub only: Option<String>,
}

/// Returns all groups.
pub fn groups() -> Vec<Group> {
    vec![
        group::<Setup>("setup", Kind::Request, false),
        group::<SavedDrive>("saved_drive", Kind::File, false),
        group::<WorkloadOptions>("workload", Kind::Request, true),
        group::<RunOptions>("run", Kind::Request, false),
        group::<Records>("records", Kind::File, false),
        group::<LifeOptions>("life", Kind::Request, false),
        group::<Limits>("limits", Kind::Caller, false),
        group::<CommandOutput>("command_output", Kind::Command, false),
    ]
}

fn group<T: JsonSchema>(name: &'static str, kind: Kind, is_sparse: bool) -> Group {
    let schema = SchemaGenerator::default().into_root_schema_for::<T>().to_value();
    let fields = schema["properties"].as_object().expect("a struct");
    let options = fields.iter().map(|(name, field)| declared(name, field)).collect();
    Group { name, kind, is_sparse, about: paragraphs(&schema).swap_remove(0), options }
}

fn declared(name: &str, field: &Json) -> Declared {
    let text = |key: &str| field.get(key).and_then(Json::as_str).map(str::to_owned);
    let (kind, is_optional) = kind_of(field);
    let value = match (kind, field.get("x-file").and_then(Json::as_str)) {
        (_, Some("input")) => "input",
        (_, Some(_)) => "output",
        ("array", _) => "texts",
        ("boolean", _) => "flag",
        ("integer", _) => "integer",
        ("number", _) => "number",
        _ => "text",
    };
    let is_unsigned = value == "integer" && field.get("minimum").is_some();
    let own = if field["format"] == "uint32" { u64::from(u32::MAX) } else { u64::MAX };
    Declared {
        name: name.to_owned(),
        about: paragraphs(field),
        value,
        is_optional,
        default: field.get("default").cloned().unwrap_or(Json::Null),
        most: is_unsigned.then(|| field.get("maximum").and_then(Json::as_u64).unwrap_or(own)),
        least: field.get("x-least").and_then(Json::as_i64),
        placeholder: text("x-value"),
        panel: text("x-panel"),
        short: text("x-short"),
        separator: text("x-separator"),
        python: text("x-python"),
        only: text("x-for"),
    }
}

/// Returns the type of a field's value, and true if the value may be `null`.
fn kind_of(field: &Json) -> (&str, bool) {
    match field.get("type") {
        Some(Json::Array(kinds)) => {
            let kind = kinds.iter().filter_map(Json::as_str).find(|kind| *kind != "null");
            (kind.unwrap_or_default(), true)
        }
        Some(kind) => (kind.as_str().unwrap_or_default(), false),
        // An optional value of a type with a schema of its own, such as a duration, which is a text.
        None => ("string", field.get("anyOf").is_some()),
    }
}

/// Returns the paragraphs of a schema's documentation, each on one line.
fn paragraphs(schema: &Json) -> Vec<String> {
    let text = schema.get("description").and_then(Json::as_str).unwrap_or_default();
    text.split("\n\n").map(|part| part.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}
