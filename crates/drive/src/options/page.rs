//! The reference page of the options.

use super::schema::{Declared, Group, Kind, groups};
use serde_json::Value as Json;
use std::fmt::Write;

/// Returns the page, in Markdown.
pub(super) fn page() -> String {
    let mut page = String::from(
        "# Reference: the options of a run\n\n\
         Made from the declarations in `crates/drive/src/options` and `crates/workload/src/trace/options.rs`; a test compares the two.\n\
         An option `--stop-after N` of `ssdlab run`, `compare` and `lifetime` is the argument `stop_after` of the Python functions of\n\
         these names. The options of a workload are those of `ssdlab.Workload`.\n",
    );
    for group in groups() {
        section(&mut page, &group);
    }
    page
}

fn section(page: &mut String, group: &Group) {
    let (title, where_) = match group.name {
        "setup" => ("The drive", "`run`, `compare`, `lifetime`"),
        "saved_drive" => ("Saved drives", "`run`, `compare`, `lifetime`"),
        "workload" => ("The workload", "`run`, `compare`, `lifetime`, and in part `trace`"),
        "run" => ("The run", "`run`, `compare`"),
        "records" => ("Records", "`run`"),
        "life" => ("The life", "`lifetime`"),
        "limits" => ("Limits", "`run`, `compare`, `lifetime`, `sweep`, `optimise`, `trace`"),
        _ => ("Output of the command", "`run`, `compare`, `lifetime`"),
    };
    let _ = write!(page, "\n## {title}\n\n{} Commands: {where_}.\n\n", receiver(group.kind));
    page.push_str("| option | value | default | meaning |\n| --- | --- | --- | --- |\n");
    for option in &group.options {
        let flag = option.name.replace('_', "-");
        let name = match option.only.as_deref() {
            Some("python") => format!("`{}` (Python only)", option.name),
            _ => format!("`--{flag}`"),
        };
        let about = option.about.join(" ").replace('|', "\\|");
        let _ = writeln!(page, "| {name} | {} | {} | {about} |", value(option), default(option));
    }
}

fn receiver(kind: Kind) -> &'static str {
    match kind {
        Kind::Request => "Options of the engine.",
        Kind::File => "Files, and rows in memory.",
        Kind::Caller => "Options of the command and of the Python functions.",
        Kind::Command => "Options of the command only.",
    }
}

fn value(option: &Declared) -> String {
    let kind = match option.value {
        "texts" => "texts",
        "flag" => return String::new(),
        "integer" => "an integer",
        "number" => "a number",
        "input" | "output" => "a path",
        _ => "text",
    };
    let place = option.placeholder.as_deref().map_or_else(String::new, |place| format!("`{}`, ", place.replace('|', "\\|")));
    place + kind
}

fn default(option: &Declared) -> String {
    match &option.default {
        Json::Null | Json::Bool(false) => "absent".to_owned(),
        Json::Array(all) if all.is_empty() => "absent".to_owned(),
        Json::String(text) => format!("`{text}`"),
        value => format!("`{value}`"),
    }
}
