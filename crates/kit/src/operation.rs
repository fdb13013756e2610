//! Flash operations, as requested by the FTL and executed by the flash.

use crate::clock::Work;
use crate::ids::{CommandId, DieId, ModeId, Ppn};
use crate::reason::Reason;
use crate::units::{Bytes, SimTime};
use crate::{UNIT_BYTES, UnitSize};

/// Kind of a flash operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OperationKind {
    /// Sense pages of one row and send units over the channel.
    #[default]
    Read,
    /// Program one program unit.
    Program,
    /// Erase a block.
    Erase,
    /// Read a page into the die's register and program it elsewhere in the same plane; no data on the channel.
    Copyback,
    /// Erase a free block again, to a deeper level (lazy erase, as in DPES).
    LazyErase,
}

impl OperationKind {
    /// All kinds, in the order of their numbers, which index the counts of operations.
    pub const ALL: [OperationKind; 5] =
        [OperationKind::Read, OperationKind::Program, OperationKind::Erase, OperationKind::Copyback, OperationKind::LazyErase];

    /// Returns the name used in timelines and histories.
    pub fn name(self) -> &'static str {
        match self {
            OperationKind::Read => "read",
            OperationKind::Program => "program",
            OperationKind::Erase => "erase",
            OperationKind::Copyback => "copyback",
            OperationKind::LazyErase => "lazy erase",
        }
    }
}

/// Owner of a flash operation, notified of its completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// A part of a host read.
    Command(CommandId),
    /// The write-queue entry of a partly written unit, whose other sectors are read.
    PartialRead(u32),
    /// The collection in progress on the operation's die.
    #[default]
    Collector,
    /// The page move in this slot.
    Page(u32),
    /// The program unit in flight on the operation's die.
    ProgramUnit,
    /// The pool of free blocks of the operation's die, for a lazy erase.
    FreeBlock,
    /// The flash read ahead of a sequential stream, by its number in the read cache.
    ReadAhead(u32),
    /// A page of the map, by its number.
    MapPage(u32),
    /// A read whose data could not be corrected, by the slot of its recovery in the controller.
    Retry(u32),
    /// The search for programmed pages after a loss of power. The operation names no place.
    Scan,
    /// The restoration in this slot of data that a read could not correct.
    Restoration(u32),
    /// The area of the map's journal, for an erase.
    Journal,
}

/// A flash operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// Kind of the operation.
    pub kind: OperationKind,
    /// Reason of the operation.
    pub reason: Reason,
    /// The die.
    pub die: DieId,
    /// First mapping unit; of a copyback, of the destination.
    pub first: Ppn,
    /// Mapping units of its data (read, program).
    pub units: u32,
    /// Data of a read's first and last unit that is not moved over the channel, in 4 KiB: the host did not ask for it.
    pub skipped: u8,
    /// Pages sensed or programmed, all planes together; for an erase, the blocks erased.
    pub pages: u32,
    /// Page type sensed; for a program, the type of its first page.
    pub page_type: u32,
    /// Write mode of a program, erase mode of an erase, or read mode of a read. A read that repeats another one
    /// ([`Owner::Retry`]) has a read mode beyond those of the table, one for each attempt of the plan and mode.
    pub mode: ModeId,
    /// Mapping units of a program that must first pass the encoder of its write mode.
    pub encode: u32,
    /// Owner, notified of the completion.
    pub owner: Owner,
}

/// Operations that the FTL has for a die, as far as the choice between them and the waiting reads depends on them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// True if a block of the die must be moved before its retention limit.
    pub urgent_move: bool,
    /// Instant since which the oldest host write that the die could take has been waiting.
    pub oldest_write: Option<SimTime>,
}

/// Units moved by a collection, to be encoded before they are programmed. The die is free meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// The die of the collection.
    pub die: DieId,
    /// Write mode whose code the units receive.
    pub mode: ModeId,
    /// Number of mapping units.
    pub units: u32,
}

impl Operation {
    /// Returns true for a read of stored data; a read of a unit that was never written has no place.
    #[inline]
    pub fn reads_data(&self) -> bool {
        self.kind == OperationKind::Read && self.first.0 != u32::MAX
    }

    /// Returns the data that is moved over the channel, on a drive with mapping units of this size.
    #[inline]
    pub fn data(&self, unit: UnitSize) -> Bytes {
        Bytes(unit.offset(u64::from(self.units)) - u64::from(self.skipped) * UNIT_BYTES)
    }

    /// Returns the kind of work that the die's clock records during the operation.
    #[inline]
    pub fn work(&self) -> Work {
        match (self.kind, self.reason) {
            (OperationKind::Erase | OperationKind::LazyErase, _) => Work::Erase,
            (OperationKind::Read, Reason::Host | Reason::Rmw | Reason::Map) => Work::HostRead,
            (OperationKind::Read, _) => Work::RelocationRead,
            (_, Reason::Host | Reason::Padding) => Work::HostProgram,
            _ => Work::RelocationProgram,
        }
    }
}
