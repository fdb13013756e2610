//! Trace files: recognised, checked, put in order, and replayed as a stream of requests.
//!
//! The way of a line: `lines` (decompressed, numbered) -> a parser of the [`mod@format`] family -> `reader` (checked, whole
//! sectors, streams numbered) -> `reorder` (in the order of time) -> `select` (slice) -> `scan` (counted) or `replay`
//! (`place`d on the drive) or `walk` (shown to an analysis). A trace is read twice: scanned, so that everything wrong is known before time 0, then replayed.

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
pub use scan::{StreamInfo, TraceInfo};
pub use walk::{Visitor, Walk};

pub(crate) use place::fit;

use crate::Input;
use kit::Problems;

/// What is in the trace `input`: the part that the options select, after every line has been checked.
pub fn info(input: &Input, options: &Options) -> Result<TraceInfo, Problems> {
    let plan = options.plan()?;
    scan::scan(input, options.format.as_deref(), &plan).map(|scan| scan.info)
}
