//! Checks of every parser for any input, to be called by a fuzzer.
//!
//! Each [`Target`] takes the bytes of one input, gives them to a family of parsers, and panics if a parser breaks its
//! contract: it refuses an input with an error that has a place, or what it returns lies within the documented bounds,
//! and formats that can be written are read back as they were written. An input that begins with [`TYPED`] is a value
//! ([`arbitrary`]) from which the check renders a text: numbers at the limits of their types, fields out of order. Any
//! other input is the text itself.
//!
//! `fuzz/` has a libFuzzer target and a corpus for each; a test here gives the corpora to the checks.

pub mod columns;
pub mod compressed;
pub mod descriptions;
pub mod firmware;
pub mod jobs;
pub mod models;
pub mod nbd;
mod number;
pub mod profiles;
pub mod questions;
pub mod saved;
pub mod tables;
mod text;
pub mod traces;
pub mod units;
pub mod waveforms;
mod workload_checks;

pub use number::Number;
pub use text::TYPED;

/// Family of parsers under one check.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Name of the target, of its file in `fuzz/fuzz_targets` and of its corpus.
    pub name: &'static str,
    /// Function that checks one input; it panics if a parser breaks its contract.
    pub check: fn(&[u8]),
}

/// All targets.
pub const TARGETS: [Target; 15] = [
    Target { name: "units", check: units::check },
    Target { name: "trace_lines", check: traces::check_lines },
    Target { name: "trace_files", check: traces::check_files },
    Target { name: "compressed", check: compressed::check },
    Target { name: "columns", check: columns::check },
    Target { name: "jobs", check: jobs::check },
    Target { name: "models", check: models::check },
    Target { name: "profiles", check: profiles::check },
    Target { name: "descriptions", check: descriptions::check },
    Target { name: "saved", check: saved::check },
    Target { name: "firmware", check: firmware::check },
    Target { name: "waveforms", check: waveforms::check },
    Target { name: "tables", check: tables::check },
    Target { name: "questions", check: questions::check },
    Target { name: "nbd", check: nbd::check },
];
