//! Journal of events inside the drive, read by the shadow oracle of the tests and by the timeline export.

use crate::command::ReadSource;
use crate::ids::{BlockId, ChannelId, CommandId, DieId, Lpn, ModeId, Ppn};
use crate::operation::{Operation, OperationKind, Owner};
use crate::reason::Reason;
use crate::units::SimTime;

/// One recorded event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// The host submits a command again, which a reset of the controller has ended. The work of its first submission is
    /// over.
    SubmittedAgain {
        /// The command.
        command: CommandId,
    },
    /// A unit of a host write entered the controller.
    WriteAccepted {
        /// The command.
        command: CommandId,
        /// The unit.
        lpn: Lpn,
    },
    /// A unit of a host write was bound to a place; the map points there from this instant on.
    Bound {
        /// The unit.
        lpn: Lpn,
        /// Its place.
        ppn: Ppn,
        /// The command whose data it is.
        command: CommandId,
        /// The write mode.
        mode: ModeId,
    },
    /// A unit that the buffer held was bound to a place.
    BoundFromBuffer {
        /// The buffer's slot.
        slot: u32,
        /// The unit.
        lpn: Lpn,
        /// Its place.
        ppn: Ppn,
        /// The write mode.
        mode: ModeId,
    },
    /// A unit that the buffer held, and that was written again since, was bound to a place.
    ObsoleteBound {
        /// The buffer's slot.
        slot: u32,
        /// The unit.
        lpn: Lpn,
        /// Its place.
        ppn: Ppn,
        /// True if the place holds the current copy on flash until the newer data is bound; if false, nothing is valid
        /// there.
        is_current: bool,
    },
    /// A page of the map, or a unit of its journal, was bound to a place.
    MapBound {
        /// Its logical unit, beyond those of the user.
        lpn: Lpn,
        /// Its place.
        ppn: Ppn,
        /// Reason of the program.
        reason: Reason,
        /// The write mode.
        mode: ModeId,
    },
    /// A unit's data moved: the map points to `to` if it pointed to `from`.
    Relocated {
        /// The unit.
        lpn: Lpn,
        /// The old place.
        from: Ppn,
        /// The new place.
        to: Ppn,
        /// Reason of the relocation.
        reason: Reason,
        /// The write mode.
        mode: ModeId,
    },
    /// A unit of a host write was taken into a buffer slot.
    Buffered {
        /// The command.
        command: CommandId,
        /// The unit.
        lpn: Lpn,
        /// The slot.
        slot: u32,
    },
    /// Units `first..first + count` of a block became durable.
    Programmed {
        /// The block.
        block: BlockId,
        /// First unit of the program.
        first: Ppn,
        /// Units programmed.
        count: u32,
    },
    /// A program has failed: units `first..first + count` of a block hold nothing. Nothing more is programmed in it.
    ProgramFailed {
        /// The block.
        block: BlockId,
        /// First unit of the program.
        first: Ppn,
        /// Units of the program.
        count: u32,
    },
    /// A unit of a program that has failed was bound to another place; its data is still in the controller.
    BoundAgain {
        /// The unit; none of the drive's if the data was not current when it was first bound.
        lpn: Lpn,
        /// Its place in the program that has failed.
        from: Ppn,
        /// Its new place.
        to: Ppn,
        /// The write mode.
        mode: ModeId,
    },
    /// A program of parity was bound that covers a program on another die.
    Protected {
        /// First place of the program of parity.
        parity: Ppn,
        /// First place of the program that it covers.
        data: Ppn,
    },
    /// A read has failed whose data is to be restored.
    Restoring {
        /// Number of the restoration.
        restoration: u32,
        /// First unit of the data.
        first: Ppn,
        /// Units of the data.
        count: u32,
    },
    /// Units are read for a restoration, as many as it restores.
    RestoringRead {
        /// Number of the restoration.
        restoration: u32,
        /// The first unit that is read.
        first: Ppn,
    },
    /// A read for a restoration has failed, too: the data is lost.
    RestorationFailed {
        /// Number of the restoration.
        restoration: u32,
    },
    /// Data has been restored from all that was read for that, and from what the controller held when it began.
    Restored {
        /// Number of the restoration.
        restoration: u32,
    },
    /// A program of the map's journal, or of map pages that belong to its checkpoint, was bound to a place. Neither has
    /// logical units.
    JournalBound {
        /// First place of the program.
        first: Ppn,
        /// Units of it that hold something.
        units: u32,
    },
    /// A unit was copied, before the program of a later page of its wordline. The map does not change.
    BackedUp {
        /// The unit.
        lpn: Lpn,
        /// Its place.
        from: Ppn,
        /// The place of the copy.
        to: Ppn,
    },
    /// The erase of a block has failed, which the record of its erase follows: it must not be programmed any more.
    EraseFailed {
        /// The block.
        block: BlockId,
    },
    /// A block was taken out of use without an erase: nothing in it is current.
    Retired {
        /// The block.
        block: BlockId,
    },
    /// The data of all blocks of a die was lost with it.
    DieLost {
        /// The die.
        die: DieId,
    },
    /// A block was erased.
    Erased {
        /// The block.
        block: BlockId,
    },
    /// A unit of a host read was looked up; `source` will supply its data.
    ReadResolved {
        /// The command.
        command: CommandId,
        /// The unit.
        lpn: Lpn,
        /// Source of its data.
        source: ReadSource,
    },
    /// A flash read has delivered the data of this place.
    ReadSensed {
        /// The place.
        ppn: Ppn,
        /// Owner of the read.
        owner: Owner,
    },
    /// A flash read could not correct the data of this place.
    Uncorrectable {
        /// The place.
        ppn: Ppn,
        /// Owner of the read.
        owner: Owner,
    },
    /// The read cache took a copy of the data at a place.
    Cached {
        /// The unit.
        lpn: Lpn,
        /// The place.
        ppn: Ppn,
    },
    /// A unit of a host write will not be programmed: its zone was reset before its data came, or a firmware trace
    /// has no program for it.
    Dropped {
        /// The command.
        command: CommandId,
        /// The unit.
        lpn: Lpn,
    },
    /// A unit that the buffer held will not be programmed: it was trimmed in the run that a firmware trace records.
    DroppedFromBuffer {
        /// The buffer's slot.
        slot: u32,
        /// The unit.
        lpn: Lpn,
    },
    /// The data of a zone or a chunk was given up, in the write buffer and on flash.
    Reset {
        /// The first unit.
        first: Lpn,
        /// Number of units.
        count: u32,
    },
    /// A unit was deallocated.
    Trimmed {
        /// The unit.
        lpn: Lpn,
    },
    /// A die was occupied.
    DieSpan {
        /// The die.
        die: DieId,
        /// Name of the operation: `read`, `program`, `erase`, ...
        name: &'static str,
        /// Reason of the operation.
        reason: Reason,
        /// Start of the span.
        begin: SimTime,
        /// End of the span.
        end: SimTime,
    },
    /// The array of a die was active, for an operation or a part of it between suspensions. Only where power is
    /// computed.
    ArraySpan {
        /// The die.
        die: DieId,
        /// Kind of the operation.
        kind: OperationKind,
        /// Page type sensed or programmed.
        page_type: u32,
        /// Reason of the operation.
        reason: Reason,
        /// Start of the span.
        begin: SimTime,
        /// End of the span.
        end: SimTime,
    },
    /// A channel was occupied.
    BusSpan {
        /// The channel.
        channel: ChannelId,
        /// The die at the other end.
        die: DieId,
        /// Transfer: `command` (with the data of a program), `data out`, `suspend` or `resume`.
        name: &'static str,
        /// Start of the span.
        begin: SimTime,
        /// End of the span.
        end: SimTime,
    },
}

/// Records since the journal was last drained. Unless enabled, the journal stays empty and costs nothing.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    enabled: bool,
    /// The records, oldest first.
    pub records: Vec<Record>,
}

impl Journal {
    /// Starts or stops recording.
    pub fn enable(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    /// Adds a record. The closure is called only if the journal is enabled.
    #[inline]
    pub fn note(&mut self, record: impl FnOnce() -> Record) {
        if self.enabled {
            self.records.push(record());
        }
    }

    /// Notes that a read has delivered the data of its places.
    #[inline]
    pub fn note_sensed(&mut self, read: &Operation) {
        for ppn in (read.first.0..read.first.0 + read.units).map(Ppn) {
            self.note(|| Record::ReadSensed { ppn, owner: read.owner });
        }
    }
}
