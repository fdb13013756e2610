//! A time that may depend on the page type.

use kit::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One time for all page types of a cell, or one for each (LSB first). The retention limit of a write mode has the same
/// form, with one time for each wear class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum PerPageType {
    /// One time for all page types.
    One(Nanos),
    /// One time for each page type.
    Each(Vec<Nanos>),
}

impl PerPageType {
    /// Returns the time of a page type.
    pub fn of(&self, page_type: u32) -> Nanos {
        match self {
            PerPageType::One(time) => *time,
            PerPageType::Each(times) => times[page_type as usize % times.len()],
        }
    }

    /// Returns all times given.
    pub fn all(&self) -> &[Nanos] {
        match self {
            PerPageType::One(time) => std::slice::from_ref(time),
            PerPageType::Each(times) => times,
        }
    }
}
