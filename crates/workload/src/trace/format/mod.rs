//! Family of trace formats. A member parses lines into records; [`all`] lists the members.
//!
//! A format whose lines are plain columns is data: one entry of the table in [`columns`]. A format with lines of
//! several kinds is a file of its own. To add a format, write the entry or the file with its sample, and list it here;
//! detection, the error that lists valid names and the conformance suite follow from the list.

mod biosnoop;
mod blkparse;
mod block_layer;
pub mod columns;
mod etw;
mod ftrace;
mod iolog;
mod most;
mod oracle;

use super::fields::Fault;
use super::options::{ArrivalEvent, ObjectId};
use crate::Flags;
use kit::Op;

pub(super) use oracle::ORACLE_GENERAL;

/// One request as its line records it, before any rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Raw {
    /// Arrival on the trace's own clock \[ns\].
    pub at_ns: u64,
    /// Operation.
    pub op: Op,
    /// Modifiers.
    pub flags: Flags,
    /// First byte \[bytes\].
    pub offset: u64,
    /// Length \[bytes\].
    pub length: u64,
    /// Start and end of its stream's name in the line; equal if the trace has only one stream.
    pub stream: (usize, usize),
}

impl Default for Raw {
    fn default() -> Self {
        Raw { at_ns: 0, op: Op::Read, flags: Flags::NONE, offset: 0, length: 0, stream: (0, 0) }
    }
}

/// Choices of the user about what a trace says, each absent if not given.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// Event that is the arrival of a request.
    pub arrival: Option<ArrivalEvent>,
    /// Meaning of the number of an object.
    pub object_id: Option<ObjectId>,
}

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// A request.
    Request,
    /// An event that is not an arrival (a completion, a merge): counted as `other_action`.
    Other,
    /// A header, a message or a summary.
    Text,
}

/// Parser of the lines of one trace, in order.
pub trait Parser: Send {
    /// Parses one line, which is never empty, into `raw`. Anything that the format does not allow is a fault.
    fn line(&mut self, line: &[u8], raw: &mut Raw) -> Result<Line, Fault>;

    /// Returns a parser that reads the same trace from its first line, with the choices that the lines read so far call
    /// for.
    fn restart(&self) -> Box<dyn Parser>;

    /// Returns true if the whole trace shows that a choice made from its first lines was wrong. Called at the end of
    /// the trace.
    fn misread(&self) -> bool {
        false
    }

    /// Returns the numbers of requests that one device passed on to another, with the names of both as the trace writes
    /// them: such a request is in the trace twice.
    fn copies(&self) -> Vec<(Vec<u8>, Vec<u8>, u64)> {
        Vec::new()
    }

    /// Returns a note for the user about how the trace was read, if there is one.
    fn note(&self) -> Option<String> {
        None
    }
}

/// Writer of the requests of a format.
pub enum Writer {
    /// The format can only be read.
    No,
    /// One line for each request.
    Lines {
        /// Function that appends the line of one request; the number is that of its stream.
        line: fn(&mut Vec<u8>, &Raw, u16),
        /// True if a line names the stream that it belongs to.
        streams: bool,
        /// Operations for which the format has a code.
        ops: &'static [Op],
        /// Function that appends the lines before the first request, given the number of streams.
        header: fn(&mut Vec<u8>, usize),
    },
}

/// Trace format.
pub trait Format: Sync {
    /// Returns its name, in lower case.
    fn name(&self) -> &'static str;
    /// Returns other names by which it is known, in lower case.
    fn aliases(&self) -> &'static [&'static str];
    /// Returns a description of the format and its origin, in one sentence.
    fn about(&self) -> &'static str;
    /// Returns true if its requests have times.
    fn timed(&self) -> bool {
        true
    }
    /// Returns the largest step of its clock \[ns\]; a larger step means that the clock was set. `None`: steps of any
    /// size are taken as they are.
    fn clock_set_ns(&self) -> Option<u64> {
        None
    }
    /// Returns a parser for a trace with these first lines.
    fn parser(&self, head: &[Vec<u8>], reading: Reading) -> Box<dyn Parser>;
    /// Returns true if it records the events of [`ArrivalEvent`], of which one is the arrival of a request.
    fn has_arrivals(&self) -> bool {
        false
    }
    /// Returns true if it records objects instead of addresses.
    fn has_objects(&self) -> bool {
        false
    }
    /// Returns true if the first line that is not blank names the format.
    fn is_named_by(&self, _line: &[u8]) -> bool {
        false
    }
    /// Returns its unit of time \[ns\], if nothing in the trace shows it.
    fn unit_ns(&self) -> Option<u64> {
        None
    }
    /// Returns true if a trace with these first lines can be in this format, beyond the checks of its parser.
    fn fits(&self, _head: &[Vec<u8>]) -> bool {
        true
    }
    /// Returns true if the parsed first lines are credible in this format's units; used only to choose among formats
    /// that fit.
    fn plausible(&self, _parsed: &[Raw]) -> bool {
        true
    }
    /// Returns its writer.
    fn writer(&self) -> &Writer {
        &Writer::No
    }
    /// Returns a few hand-written lines in the format.
    fn sample(&self) -> &'static str;
    /// Returns the requests of the sample: time \[ns\] since the first, operation, offset and length \[bytes\], stream.
    fn expected(&self) -> &'static [(u64, Op, u64, u64, &'static str)];
}

/// Members whose lines are not plain columns.
const MEMBERS: &[&dyn Format] =
    &[&blkparse::Blkparse, &most::Most, &iolog::V2, &iolog::V3, &etw::Etw, &ftrace::Ftrace, &biosnoop::Biosnoop, &oracle::Oracle];

/// Returns all formats, in the order of preference among formats that fit equally well.
pub fn all() -> impl Iterator<Item = &'static dyn Format> {
    MEMBERS.iter().copied().chain(columns::COLUMN_FORMATS.iter().map(|columns| columns as &dyn Format))
}

/// Returns the format with the name or alias `name`, in upper or lower case.
pub fn named(name: &str) -> Option<&'static dyn Format> {
    let name = name.to_ascii_lowercase();
    all().find(|format| format.name() == name || format.aliases().contains(&name.as_str()))
}
