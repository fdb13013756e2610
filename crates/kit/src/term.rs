//! Definitions of the names that appear in results.

use serde::Serialize;

/// A name that appears in results, with its unit and its definition in one sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Term {
    /// The name.
    pub name: &'static str,
    /// Unit of its values; empty for what has none, such as a name or a truth value.
    pub unit: &'static str,
    /// Definition: one sentence, or a few.
    pub definition: &'static str,
}

impl Term {
    /// Creates a term.
    pub const fn new(name: &'static str, unit: &'static str, definition: &'static str) -> Term {
        Term { name, unit, definition }
    }
}
