//! The Python module with the types of the declarations, `python/ssdlab/_declared.py`.

use super::schema::{Declared, Group, Kind, groups};
use std::fmt::Write;

const HEAD: &str = r#""""Types of the options, for type checkers and editors.

Made from the declarations in Rust, which ``docs/reference/options.md`` shows. Do not edit: after a change of a
declaration, ``SSDLAB_BLESS=1 cargo test -p drive reference`` writes this file anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TypedDict

from ssdlab.drives import Settings
"#;

/// Longest comment line, without the indent and the marker.
const COLUMNS: usize = 112;

/// Returns the text of the module.
pub(super) fn module() -> String {
    let mut text = HEAD.to_owned();
    for group in groups().iter().filter(|group| group.kind != Kind::Command) {
        keywords(&mut text, group);
        if group.is_sparse {
            fields(&mut text, group);
        }
    }
    text
}

/// Returns the name of a group's class, such as `SavedDrive`.
fn class_name(group: &Group) -> String {
    let capital = |word: &str| word[..1].to_uppercase() + &word[1..];
    group.name.split('_').map(capital).collect()
}

/// Writes the group as keyword arguments of a function.
fn keywords(text: &mut String, group: &Group) {
    let name = class_name(group);
    let _ = write!(text, "\n\nclass {name}Keywords(TypedDict, total=False):\n    \"\"\"{}\"\"\"\n\n", group.about);
    for option in group.options.iter().filter(|option| option.only.as_deref() != Some("argument")) {
        comment(text, &option.about);
        let _ = writeln!(text, "    {}: {}", option.name, python_type(option, group.is_sparse));
    }
}

/// Writes the group as fields of a class.
fn fields(text: &mut String, group: &Group) {
    let name = class_name(group);
    let _ = write!(
        text,
        "\n\n@dataclass(frozen=True, slots=True, kw_only=True)\nclass {name}Fields:\n    \"\"\"{}\"\"\"\n\n",
        group.about
    );
    for option in &group.options {
        comment(text, &option.about);
        let _ = writeln!(text, "    {}: {} = None", option.name, python_type(option, true));
    }
}

fn comment(text: &mut String, paragraphs: &[String]) {
    let mut line = String::new();
    for word in paragraphs.iter().flat_map(|paragraph| paragraph.split(' ')) {
        if !line.is_empty() && line.len() + 1 + word.len() > COLUMNS {
            let _ = writeln!(text, "    #: {line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(text, "    #: {line}");
}

fn python_type(option: &Declared, is_sparse: bool) -> String {
    let kind = option.python.as_deref().unwrap_or(match option.value {
        "texts" => "Sequence[str]",
        "flag" => "bool",
        "integer" => "int",
        "number" => "float",
        "input" | "output" => "str | PathLike[str]",
        _ => "str",
    });
    if option.is_optional || is_sparse { format!("{kind} | None") } else { kind.to_owned() }
}
