//! Activities of dies and channels over time.

use kit::{DieId, OperationKind, Reason, SimTime};

/// An activity of a die or a channel, with start and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Number of the die or the channel.
    pub track: u32,
    /// Name of the activity: `read`, `program`, `data out`, ...
    pub name: &'static str,
    /// Reason of a die's activity, or the die that a channel's activity serves.
    pub purpose: SpanPurpose,
    /// Start of the activity.
    pub begin: SimTime,
    /// End of the activity.
    pub end: SimTime,
}

impl Span {
    /// Returns the name of the track: `die 5`, `channel 0`.
    pub fn track_name(&self) -> String {
        let kind = match self.purpose {
            SpanPurpose::Reason(_) => "die",
            SpanPurpose::Die(_) => "channel",
            SpanPurpose::Array(..) => "array",
        };
        format!("{kind} {}", self.track)
    }

    /// Returns the name of the reason; for a channel, the die at the other end.
    pub fn reason_name(&self) -> String {
        match self.purpose {
            SpanPurpose::Reason(reason) | SpanPurpose::Array(reason) => reason.name().to_owned(),
            SpanPurpose::Die(die) => format!("die {}", die.0),
        }
    }
}

/// Purpose of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanPurpose {
    /// For a die: the reason of the operation.
    Reason(Reason),
    /// For a channel: the die at the other end.
    Die(DieId),
    /// For the array of a die, where power is computed: the reason of the operation.
    Array(Reason),
}

/// Returns the name of an activity of an array: the operation, and the page type (`read 0`) where there is one.
pub(crate) fn array_name(kind: OperationKind, page_type: u32) -> &'static str {
    const READS: [&str; 4] = ["read 0", "read 1", "read 2", "read 3"];
    const PROGRAMS: [&str; 4] = ["program 0", "program 1", "program 2", "program 3"];
    const COPYBACKS: [&str; 4] = ["copyback 0", "copyback 1", "copyback 2", "copyback 3"];
    match kind {
        OperationKind::Read => READS[page_type as usize],
        OperationKind::Program => PROGRAMS[page_type as usize],
        OperationKind::Copyback => COPYBACKS[page_type as usize],
        OperationKind::Erase | OperationKind::LazyErase => kind.name(),
    }
}
