//! Parameters with their standing: the origin and reliability of each number.

use serde::Serialize;

/// Standing of a number: how it is known (FACTS).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Given in the text of the source work.
    Stated,
    /// Found in another public source.
    Found,
    /// Derived from other numbers; the derivation is given.
    Derived,
    /// Recalled from a publication and not checked against it: a default, never evidence.
    Recalled,
    /// Assumed: our choice, with its reason.
    Assumed,
}

impl Standing {
    /// Returns the word shown in tables.
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

/// A parameter of a part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// Symbol in the source.
    pub symbol: &'static str,
    /// Meaning of the parameter.
    pub meaning: &'static str,
    /// Value with its unit.
    pub value: String,
    /// Standing of the value.
    pub standing: Standing,
    /// Source of the value.
    pub source: &'static str,
}

/// Builds a parameter.
pub(crate) fn parameter(
    symbol: &'static str,
    meaning: &'static str,
    value: impl ToString,
    standing: Standing,
    source: &'static str,
) -> Parameter {
    Parameter { symbol, meaning, value: value.to_string(), standing, source }
}
