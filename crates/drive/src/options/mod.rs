//! The options of a run and of a life, each declared once.
//!
//! From these declarations come the requests of [`session`](crate::session) and [`lifetime`](crate::lifetime), the
//! options of the command, the keyword arguments of the Python functions and their types
//! (`python/ssdlab/_declared.py`), and the page `docs/reference/options.md`. A new option of `ssdlab run` is a field of
//! [`RunOptions`], and the code that uses it.

mod declared;
mod page;
mod python;
mod schema;

pub use declared::{CommandOutput, LifeOptions, Limits, Records, RunOptions, SavedDrive, Setup};
pub use schema::{Declared, Group, Kind, groups};

/// Returns the reference page of the options, in Markdown.
pub fn reference() -> String {
    page::page()
}

/// Returns the Python module with the types of the options.
pub fn python_module() -> String {
    python::module()
}
