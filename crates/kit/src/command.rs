//! Host commands and their completions.

use crate::ids::{CommandId, Lpn};
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

    /// Returns the name used in results.
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
    /// Operation.
    pub op: Op,
    /// Number chosen freely by the submitter; the completion returns it.
    pub tag: u32,
    /// First byte of the range.
    pub offset: Bytes,
    /// Length of the range; zero for a flush.
    pub length: Bytes,
}

/// A unit of a host write.
#[derive(Clone, Copy, Debug)]
pub struct HostUnit {
    /// The command to which it belongs.
    pub command: CommandId,
    /// The logical unit.
    pub lpn: Lpn,
    /// True if the write covers the whole unit; otherwise the old copy may have to be read first (`ftl.partial_write`).
    pub whole: bool,
    /// True for the last unit of its command.
    pub last: bool,
    /// True if the command is acknowledged without waiting for the program.
    pub buffered: bool,
}

/// A completed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Tag of the command: [`HostCommand::tag`].
    pub tag: u32,
    /// Operation performed.
    pub op: Op,
    /// Instant of submission.
    pub submitted: SimTime,
    /// Instant of completion.
    pub completed: SimTime,
    /// Length of the command's range: [`HostCommand::length`].
    pub length: Bytes,
}

impl Completion {
    /// Returns the time from submission to completion.
    #[inline]
    pub fn latency(&self) -> Nanos {
        self.completed.since(self.submitted)
    }
}

/// Source of the data of one mapping unit of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadSource {
    /// Sensed from this place in the flash.
    Flash(crate::Ppn),
    /// Bound to this place but still in the controller: its program has not completed.
    Controller(crate::Ppn),
    /// Held in this slot of the write-back buffer.
    Buffer(u32),
    /// Never written, or trimmed: zeroes.
    Unmapped,
}
