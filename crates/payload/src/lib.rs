//! The contents of a drive: the bytes of its units, bound, moved, lost and torn where the medium says so.
//!
//! [`Contents`] follows the records of the drive's journal, as the oracle of the tests does. A place on flash holds
//! what was bound to it, so that a read returns what is at the place that the translation layer looked up: a layer that
//! looks up a wrong place returns wrong bytes. Units are kept in a [`Store`], in memory or in a file: equal units once,
//! units of zeroes not at all.

mod contents;
mod places;
mod store;
mod units;

pub use contents::{Command, Contents, Fault};
pub use places::Places;
pub use store::{Id, Refusal, Store};
