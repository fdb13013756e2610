//! Trace formats: a family. A member reads lines into records; [`all`] is the list of members.
//!
//! Formats whose lines are plain columns are data: one entry of the table in [`columns`]. A format with lines of several
//! kinds is a file of its own. To add either: write the entry or the file with its sample, and list it here; detection,
//! the error that lists valid names and the conformance suite follow from the list.

mod blkparse;
mod block_layer;
pub mod columns;
mod etw;
mod iolog;
mod most;

use super::fields::Fault;
use kit::Op;

/// One request as its line says it, before any rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw {
    /// Arrival on the trace's own clock \[ns\].
    pub at_ns: u64,
    /// Operation.
    pub op: Op,
    /// First byte.
    pub offset: u64,
    /// Length \[bytes\].
    pub length: u64,
    /// Where in the line the name of its stream stands (start, end); equal: the trace has one stream.
    pub stream: (usize, usize),
}

impl Default for Raw {
    fn default() -> Self {
        Raw { at_ns: 0, op: Op::Read, offset: 0, length: 0, stream: (0, 0) }
    }
}

/// What a line was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A request.
    Request,
    /// An event that is not an arrival (a completion, a merge): counted as `other_action`.
    Other,
    /// A header, a message or a summary.
    Text,
}

/// Reads the lines of one trace, in order.
pub trait Parser: Send {
    /// Reads one line, never empty, into `raw`. Anything that the format does not provide for is a fault.
    fn line(&mut self, line: &[u8], raw: &mut Raw) -> Result<Line, Fault>;

    /// A parser that reads the same trace from its first line, with the choices that what was read so far calls for.
    fn restart(&self) -> Box<dyn Parser>;

    /// Asked at the end of the trace: whether the whole of it shows that a choice made from its first lines was wrong.
    fn misread(&self) -> bool {
        false
    }

    /// Something the user should know about how the trace was read.
    fn note(&self) -> Option<String> {
        None
    }
}

/// How a request is written in a format.
pub enum Writer {
    /// Only read.
    No,
    /// One line for each request.
    Lines {
        /// Appends the line of one request; the number is that of its stream.
        line: fn(&mut Vec<u8>, &Raw, u16),
        /// Whether a line says which stream it belongs to.
        streams: bool,
        /// The operations that have a code.
        ops: &'static [Op],
        /// What precedes the first request, given the number of streams.
        header: fn(&mut Vec<u8>, usize),
    },
}

/// One trace format.
pub trait Format: Sync {
    /// Its name, lower case.
    fn name(&self) -> &'static str;
    /// Other names it is known by, lower case.
    fn aliases(&self) -> &'static [&'static str];
    /// What it is and where it comes from, in one sentence.
    fn about(&self) -> &'static str;
    /// Whether its requests have times.
    fn timed(&self) -> bool {
        true
    }
    /// How far a step of its clock may go before it is taken for the clock being set \[ns\]; none: never.
    fn clock_set_ns(&self) -> Option<u64> {
        None
    }
    /// A parser for a trace with these first lines.
    fn parser(&self, head: &[Vec<u8>]) -> Box<dyn Parser>;
    /// Whether a trace with these first lines can be in this format, beyond what its parser checks.
    fn fits(&self, _head: &[Vec<u8>]) -> bool {
        true
    }
    /// Whether first lines that parse are credible in this format's units; used only to choose among formats that fit.
    fn plausible(&self, _parsed: &[Raw]) -> bool {
        true
    }
    /// How it is written.
    fn writer(&self) -> &Writer {
        &Writer::No
    }
    /// A few lines in the format, hand-written.
    fn sample(&self) -> &'static str;
    /// The requests of the sample: time \[ns\] since the first, operation, offset and length \[bytes\], stream.
    fn expected(&self) -> &'static [(u64, Op, u64, u64, &'static str)];
}

/// Members that are not plain columns.
const MEMBERS: &[&dyn Format] = &[&blkparse::Blkparse, &most::Most, &iolog::V2, &iolog::V3, &etw::Etw];

/// Every format, in the order of preference among formats that fit alike.
pub fn all() -> impl Iterator<Item = &'static dyn Format> {
    MEMBERS.iter().copied().chain(columns::COLUMN_FORMATS.iter().map(|columns| columns as &dyn Format))
}

/// The format called `name`, in either case.
pub fn named(name: &str) -> Option<&'static dyn Format> {
    let name = name.to_ascii_lowercase();
    all().find(|format| format.name() == name || format.aliases().contains(&name.as_str()))
}
