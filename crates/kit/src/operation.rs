//! Flash operations, as the FTL asks for them and the flash carries them out.

use crate::clock::Work;
use crate::ids::{CommandId, DieId, ModeId, Ppn};
use crate::reason::Reason;

/// What a flash operation does.
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
    /// Erase a free block further, to a deeper level (DPES: a lazy erase).
    LazyErase,
}

impl OperationKind {
    /// All kinds, in the order of their counts.
    pub const ALL: [OperationKind; 5] =
        [OperationKind::Read, OperationKind::Program, OperationKind::Erase, OperationKind::Copyback, OperationKind::LazyErase];

    /// The name that timelines and histories use.
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

/// Who wants to hear that a flash operation is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Owner {
    /// A part of a host read.
    Command(CommandId),
    /// The write-queue entry whose unit is being completed by a read.
    Fill(u32),
    /// The relocation that runs on the operation's die.
    #[default]
    Collector,
    /// The single-page relocation in this slot.
    Page(u32),
    /// The program unit in flight on the operation's die.
    ProgramUnit,
    /// The free blocks of the operation's die.
    FreeBlock,
}

/// A flash operation to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operation {
    /// What to do.
    pub kind: OperationKind,
    /// Why.
    pub reason: Reason,
    /// Where: the die.
    pub die: DieId,
    /// Where: the first unit. Of a copyback: the destination.
    pub first: Ppn,
    /// Units moved over the channel (read, program).
    pub units: u32,
    /// Pages sensed or programmed, all planes together; blocks erased, for an erase.
    pub pages: u32,
    /// The page type sensed; for a program the type of its (first) page.
    pub page_type: u32,
    /// The write mode of a program, the erase mode of an erase, the read mode of a read.
    pub mode: ModeId,
    /// Units of a program that pass the encoder of its mode first.
    pub encode: u32,
    /// Who wants to hear of it.
    pub owner: Owner,
}

/// Units that a collection moves, to be encoded before they are programmed. The die is free meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Encoding {
    /// The die whose collection it is.
    pub die: DieId,
    /// The write mode whose code they are given.
    pub mode: ModeId,
    /// How many.
    pub units: u32,
}

impl Operation {
    /// What the die does while it carries this out.
    #[inline]
    pub fn work(&self) -> Work {
        match (self.kind, self.reason) {
            (OperationKind::Erase | OperationKind::LazyErase, _) => Work::Erase,
            (OperationKind::Read, Reason::Host | Reason::Rmw) => Work::HostRead,
            (OperationKind::Read, _) => Work::RelocationRead,
            (_, Reason::Host | Reason::Padding) => Work::HostProgram,
            _ => Work::RelocationProgram,
        }
    }
}
