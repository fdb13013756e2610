//! Numbers with their standing: where each comes from, and how far it may be believed.

use serde::Serialize;

/// How a number is known (FACTS).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// In a source work's text.
    Stated,
    /// In another public source.
    Found,
    /// From others, with the derivation given.
    Derived,
    /// From memory of a publication, not checked against it: a default, never evidence.
    Recalled,
    /// A choice of ours, with its reason.
    Assumed,
}

impl Standing {
    /// As tables show it.
    pub fn word(self) -> &'static str {
        match self {
            Standing::Stated => "stated",
            Standing::Found => "found",
            Standing::Derived => "derived",
            Standing::Recalled => "recalled",
            Standing::Assumed => "assumed",
        }
    }
}

/// A number of a part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// What it is called in its source.
    pub symbol: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Its value, with its unit.
    pub value: String,
    /// How it is known.
    pub standing: Standing,
    /// Where from.
    pub source: &'static str,
}

/// A parameter.
pub(crate) fn parameter(
    symbol: &'static str,
    meaning: &'static str,
    value: impl ToString,
    standing: Standing,
    source: &'static str,
) -> Parameter {
    Parameter { symbol, meaning, value: value.to_string(), standing, source }
}
