//! What a host asks, and what it gets back.

use crate::units::{Bytes, Nanos, SimTime};

/// A host operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Read a range.
    Read,
    /// Write a range.
    Write,
    /// Deallocate a range (ATA TRIM, NVMe Dataset Management).
    Trim,
    /// Make every acknowledged write durable.
    Flush,
}

impl Op {
    /// All operations, in the order of every table that is indexed by operation.
    pub const ALL: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

    /// The name that results use.
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
        }
    }
}

/// A command as the host submits it. Ranges are in bytes, multiples of the 512-byte sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCommand {
    /// What to do.
    pub op: Op,
    /// Whose it is: a free number that comes back in the completion.
    pub tag: u32,
    /// First byte of the range.
    pub offset: Bytes,
    /// Length of the range; zero for a flush.
    pub length: Bytes,
}

/// A command that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number given in [`HostCommand::tag`].
    pub tag: u32,
    /// What was done.
    pub op: Op,
    /// When it was submitted.
    pub submitted: SimTime,
    /// When it was completed.
    pub completed: SimTime,
    /// Bytes moved.
    pub length: Bytes,
}

impl Completion {
    /// Submission to completion.
    #[inline]
    pub fn latency(&self) -> Nanos {
        self.completed.since(self.submitted)
    }
}

/// Where the data of one mapping unit of a read came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadSource {
    /// Sensed from this place.
    Flash(crate::Ppn),
    /// Bound to this place but still in the controller: its program has not completed.
    Controller(crate::Ppn),
    /// The write-back buffer's slot.
    Buffer(u32),
    /// Never written, or trimmed: zeroes.
    Unmapped,
}
