//! Trace files: recognised, checked, put in order, and replayed as a stream of requests.
//!
//! Path of a line: `lines` (decompressed, numbered) -> a parser of the [`mod@format`] family -> `reader` (checked,
//! whole sectors, streams numbered) -> `reorder` (sorted by time) -> `select` (slice) -> `scan` (counted), `replay`
//! (put on the drive by `place`) or `walk` (passed to an analysis). A trace is read twice: it is scanned, so that all
//! problems are known before time 0, then replayed.

mod binary;
pub mod blktrace;
mod convert;
mod detect;
mod fields;
mod footprint;
pub mod format;
mod groups;
pub(crate) mod lines;
mod open;
mod options;
mod place;
mod reader;
pub(crate) mod regions;
mod reorder;
mod replay;
mod scan;
mod select;
mod streams;
mod walk;

pub use convert::convert;
pub use lines::Head;
pub use open::open;
pub use options::Options;
pub use reader::Skipped;
pub use scan::{Modifiers, StreamInfo, TraceInfo};
pub use walk::{Visitor, Walk};

pub(crate) use place::fit;

use crate::Input;
use kit::Problems;

/// Returns a summary of the trace `input`, for the part that the options select, after every line has been checked.
pub fn info(input: &Input, options: &Options) -> Result<TraceInfo, Problems> {
    let plan = options.plan()?;
    scan::scan(input, options.format.as_deref(), &plan).map(|scan| scan.info)
}
