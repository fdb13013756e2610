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

/// Modifiers of a host command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandFlags(u8);

impl CommandFlags {
    /// No modifier.
    pub const NONE: CommandFlags = CommandFlags(0);
    /// Force unit access: a write completes once its data is programmed, also if there is a write buffer.
    pub const FUA: CommandFlags = CommandFlags(1);

    /// Returns true if all modifiers of `others` are set.
    #[inline]
    pub fn contains(self, others: CommandFlags) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns the modifiers as bits of a number.
    pub fn bits(self) -> u8 {
        self.0
    }
}

/// A command as the host submits it. Ranges are in bytes, multiples of the 512-byte sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCommand {
    /// Operation.
    pub op: Op,
    /// Modifiers.
    pub flags: CommandFlags,
    /// Submission queue; the completion returns it. The run loop takes the sum of the numbers of job and stream, modulo
    /// the number of queues.
    pub queue: u16,
    /// Stream of the workload that the command belongs to; the completion returns it.
    pub stream: u16,
    /// Number chosen freely by the submitter; the completion returns it.
    pub tag: u32,
    /// First byte of the range.
    pub offset: Bytes,
    /// Length of the range; zero for a flush.
    pub length: Bytes,
}

impl HostCommand {
    /// Returns a command without modifiers, of stream 0, through queue 0.
    pub fn new(op: Op, tag: u32, offset: Bytes, length: Bytes) -> HostCommand {
        HostCommand { op, flags: CommandFlags::NONE, queue: 0, stream: 0, tag, offset, length }
    }

    /// Returns a flush.
    pub fn flush(tag: u32) -> HostCommand {
        HostCommand::new(Op::Flush, tag, Bytes(0), Bytes(0))
    }
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
    /// Number of the unit in the order in which the write buffer took units; `None` without a write buffer: the command
    /// waits for the program.
    pub buffered: Option<u64>,
    /// True if the command waits for the program although the unit is in the write buffer.
    pub durable: bool,
    /// Time for which a durable unit waited for space in the write buffer, if it belongs to the unit's part.
    pub stalled: Nanos,
}

/// A completed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Tag of the command: [`HostCommand::tag`].
    pub tag: u32,
    /// Operation performed.
    pub op: Op,
    /// Modifiers: [`HostCommand::flags`].
    pub flags: CommandFlags,
    /// Submission queue: [`HostCommand::queue`].
    pub queue: u16,
    /// Stream of the workload: [`HostCommand::stream`].
    pub stream: u16,
    /// Instant of submission.
    pub submitted: SimTime,
    /// Instant of completion.
    pub completed: SimTime,
    /// Length of the command's range: [`HostCommand::length`].
    pub length: Bytes,
    /// True if some of the data read is lost: it could not be corrected.
    pub media_error: bool,
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
    /// Programmed at this place, with a copy in the read cache.
    Cache(crate::Ppn),
    /// Never written, or trimmed: zeroes.
    Unmapped,
}
