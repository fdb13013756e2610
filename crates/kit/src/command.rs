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
    /// Write at the write pointer of a zone, whose first byte is the command's offset (NVMe Zone Append).
    Append,
    /// Change the state of a zone, by [`ZoneAction`] (NVMe Zone Management Send). The offset is the
    /// beginning of the zone, the length zero.
    Zone,
}

impl Op {
    /// All operations, in the order of every table that is indexed by operation.
    pub const ALL: [Op; 6] = [Op::Read, Op::Write, Op::Trim, Op::Flush, Op::Append, Op::Zone];
    /// Number of operations.
    pub const COUNT: usize = Op::ALL.len();
    /// The operations of every drive. The others are those of zoned drives.
    pub const COMMON: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

    /// Returns the name used in results.
    pub fn name(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Trim => "trim",
            Op::Flush => "flush",
            Op::Append => "append",
            Op::Zone => "zone",
        }
    }

    /// Returns true for an operation with a range of addresses.
    #[inline]
    pub fn has_range(self) -> bool {
        !matches!(self, Op::Flush | Op::Zone)
    }

    /// Returns true for an operation that transfers data to the drive.
    #[inline]
    pub fn writes(self) -> bool {
        matches!(self, Op::Write | Op::Append)
    }
}

/// A change of the state of a zone (NVMe Zone Management Send).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum ZoneAction {
    /// Close an open zone.
    Close = 1,
    /// Make a zone full: nothing more is written to it.
    Finish,
    /// Open a zone, until it is closed, finished or reset.
    Open,
    /// Empty a zone: its data is discarded.
    Reset,
    /// Take a read-only zone out of service.
    Offline,
}

impl ZoneAction {
    /// All actions, in the order of their codes, which are those of NVMe.
    pub const ALL: [ZoneAction; 5] =
        [ZoneAction::Close, ZoneAction::Finish, ZoneAction::Open, ZoneAction::Reset, ZoneAction::Offline];

    /// Returns the name used in results and traces.
    pub fn name(self) -> &'static str {
        match self {
            ZoneAction::Close => "close",
            ZoneAction::Finish => "finish",
            ZoneAction::Open => "open",
            ZoneAction::Reset => "reset",
            ZoneAction::Offline => "offline",
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
    /// Of a command for a zone: it is for all zones for which the action is valid.
    pub const ALL_ZONES: CommandFlags = CommandFlags(2);

    /// Of a command that is left out of the statistics; only within one run, and no modifier for the drive.
    const UNMEASURED: CommandFlags = CommandFlags(4);

    /// Returns these modifiers, of a command that is left out of the statistics.
    #[inline]
    #[must_use]
    pub fn unmeasured(self) -> CommandFlags {
        CommandFlags(self.0 | CommandFlags::UNMEASURED.0)
    }

    /// Returns true if the command is left out of the statistics.
    #[inline]
    pub fn is_unmeasured(self) -> bool {
        self.contains(CommandFlags::UNMEASURED)
    }

    /// Returns these modifiers for a command that stands for, or precedes, one with the modifiers `other`: it is
    /// measured if that one is.
    #[must_use]
    pub fn measured_like(self, other: CommandFlags) -> CommandFlags {
        if other.is_unmeasured() { self.unmeasured() } else { self }
    }

    /// Returns true if all modifiers of `others` are set.
    #[inline]
    pub fn contains(self, others: CommandFlags) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns the modifiers as bits of a number.
    pub fn bits(self) -> u8 {
        self.0 & !CommandFlags::UNMEASURED.0
    }

    /// Returns the modifiers of a command for a zone.
    pub fn zone(action: ZoneAction, all: bool) -> CommandFlags {
        CommandFlags((action as u8) << ACTION_SHIFT | if all { CommandFlags::ALL_ZONES.0 } else { 0 })
    }

    /// Returns the action of a command for a zone; `None` if there is none.
    pub fn action(self) -> Option<ZoneAction> {
        ZoneAction::ALL.into_iter().find(|action| *action as u8 == self.0 >> ACTION_SHIFT)
    }

    /// Returns the modifiers with these bits; `None` if an operation has no such modifiers.
    pub fn of_bits(op: Op, bits: u8) -> Option<CommandFlags> {
        let flags = CommandFlags(bits);
        let known = match op {
            Op::Zone => flags.action().is_some() && bits & CommandFlags::FUA.0 == 0 && bits >> 2 & 3 == 0,
            _ => bits <= CommandFlags::FUA.0,
        };
        known.then_some(flags)
    }
}

/// Position of the action of a command for a zone in the bits of its modifiers.
const ACTION_SHIFT: u8 = 4;

/// Status of a completed command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// The command has done what it says.
    #[default]
    Success,
    /// A field of the command has a value that is not valid.
    InvalidField,
    /// Some of the data read is lost: it could not be corrected.
    MediaError,
    /// A write to a drive that has become read-only (NVMe: Namespace is Write Protected).
    WriteProtected,
    /// The range crosses the end of a zone, or of its capacity.
    ZoneBoundary,
    /// A write to a full zone.
    ZoneFull,
    /// A write to a read-only zone.
    ZoneReadOnly,
    /// Access to a zone that is out of service.
    ZoneOffline,
    /// A write that does not begin at the write pointer.
    ZoneInvalidWrite,
    /// The limit of active zones is reached.
    TooManyActive,
    /// The limit of open zones is reached.
    TooManyOpen,
    /// The action is not valid in the state of the zone.
    ZoneTransition,
    /// A read of what is not written (NVMe: Deallocated or Unwritten Logical Block).
    Unwritten,
    /// A write to a chunk that does not begin at its write pointer (OCSSD 2.0: Out of Order Write).
    OutOfOrderWrite,
    /// Access to a chunk that is out of service (OCSSD 2.0: Offline Chunk).
    ChunkOffline,
    /// A reset of a chunk in whose state that is not allowed (OCSSD 2.0: Invalid Reset).
    InvalidReset,
}

impl Status {
    /// All statuses.
    pub const ALL: [Status; 16] = [
        Status::Success,
        Status::InvalidField,
        Status::MediaError,
        Status::WriteProtected,
        Status::ZoneBoundary,
        Status::ZoneFull,
        Status::ZoneReadOnly,
        Status::ZoneOffline,
        Status::ZoneInvalidWrite,
        Status::TooManyActive,
        Status::TooManyOpen,
        Status::ZoneTransition,
        Status::Unwritten,
        Status::OutOfOrderWrite,
        Status::ChunkOffline,
        Status::InvalidReset,
    ];

    /// Returns the status code type (bits 8 to 10) and the status code (bits 0 to 7) of NVMe.
    pub const fn code(self) -> u16 {
        match self {
            Status::Success => 0,
            Status::InvalidField => 0x002,
            Status::MediaError => 0x281,
            Status::WriteProtected => 0x020,
            Status::ZoneBoundary => 0x1b8,
            Status::ZoneFull => 0x1b9,
            Status::ZoneReadOnly => 0x1ba,
            Status::ZoneOffline => 0x1bb,
            Status::ZoneInvalidWrite => 0x1bc,
            Status::TooManyActive => 0x1bd,
            Status::TooManyOpen => 0x1be,
            Status::ZoneTransition => 0x1bf,
            Status::Unwritten => 0x287,
            Status::OutOfOrderWrite => 0x2f2,
            Status::ChunkOffline => 0x2c0,
            Status::InvalidReset => 0x2c1,
        }
    }

    /// Returns the name used in results.
    pub const fn name(self) -> &'static str {
        match self {
            Status::Success => "success",
            Status::InvalidField => "invalid_field",
            Status::MediaError => "media_error",
            Status::WriteProtected => "write_protected",
            Status::ZoneBoundary => "zone_boundary_error",
            Status::ZoneFull => "zone_is_full",
            Status::ZoneReadOnly => "zone_is_read_only",
            Status::ZoneOffline => "zone_is_offline",
            Status::ZoneInvalidWrite => "zone_invalid_write",
            Status::TooManyActive => "too_many_active_zones",
            Status::TooManyOpen => "too_many_open_zones",
            Status::ZoneTransition => "invalid_zone_state_transition",
            Status::Unwritten => "unwritten_block",
            Status::OutOfOrderWrite => "out_of_order_write",
            Status::ChunkOffline => "offline_chunk",
            Status::InvalidReset => "invalid_reset",
        }
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
    /// Id that the command had until now; a command that is submitted later may get it again. Not part of the drive's
    /// behaviour: a saved and loaded drive may number its commands otherwise.
    pub id: CommandId,
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
    /// First byte of the range; of an append, where its data is.
    pub offset: Bytes,
    /// Length of the command's range: [`HostCommand::length`].
    pub length: Bytes,
    /// Status.
    pub status: Status,
}

impl Completion {
    /// Returns true if some of the data read is lost.
    #[inline]
    pub fn media_error(&self) -> bool {
        self.status == Status::MediaError
    }

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
