//! Flash operations on places of the medium.

use super::Medium;
use kit::{BlockId, ModeId, Operation, OperationKind, Outbox, Owner, Ppn, Reason};

impl Medium {
    /// Returns the read of the unit at a place.
    pub(crate) fn read_at(&self, first: Ppn, mode: ModeId, reason: Reason, owner: Owner) -> Operation {
        let (block, unit) = self.geometry.split(first);
        Operation {
            kind: OperationKind::Read,
            reason,
            die: self.geometry.die_of(block),
            first,
            units: 1,
            pages: 1,
            page_type: self.geometry.page_type_of(unit),
            mode,
            encode: 0,
            skipped: 0,
            owner,
        }
    }

    /// Returns a program of a block, of which `encode` units are encoded first.
    pub(crate) fn program_at(&self, block: BlockId, program: u32, mode: ModeId, reason: Reason, encode: u32) -> Operation {
        let geometry = &self.geometry;
        let unit = program * geometry.units_per_program;
        Operation {
            kind: OperationKind::Program,
            reason,
            die: geometry.die_of(block),
            first: Ppn(geometry.first_of(block).0 + unit),
            units: geometry.units_per_program,
            pages: geometry.shape.planes_per_program * geometry.shape.pages_per_program,
            page_type: geometry.page_type_of(unit),
            mode,
            encode,
            skipped: 0,
            owner: Owner::ProgramUnit,
        }
    }

    /// Returns the erase of a block.
    pub(crate) fn erase_of(&self, block: BlockId, reason: Reason) -> Operation {
        let shape = &self.geometry.shape;
        Operation {
            kind: OperationKind::Erase,
            reason,
            die: self.geometry.die_of(block),
            first: self.geometry.first_of(block),
            pages: shape.planes_per_program * shape.superblock,
            owner: Owner::Collector,
            ..Operation::default()
        }
    }
}

/// Reads of a command that are issued together: those that follow each other on a row are one flash operation.
#[derive(Default)]
pub(crate) struct Joined {
    open: Option<Operation>,
    count: u32,
}

impl Joined {
    /// Adds the read of a unit ([`Medium::read_at`]).
    pub fn add(&mut self, read: Operation, medium: &Medium, out: &mut Outbox) {
        if self.open.as_mut().is_some_and(|open| extend(open, read.first, medium)) {
            return;
        }
        self.count += 1;
        self.open.replace(read).into_iter().for_each(|operation| out.read(operation));
    }

    /// Issues the last read. Returns the number of reads.
    pub fn issue(self, out: &mut Outbox) -> u32 {
        self.open.into_iter().for_each(|operation| out.read(operation));
        self.count
    }
}

/// Adds the next place to a read, if it follows the read's last one on the same row. Each further plane of the row
/// adds a page. Returns false if it needs a read of its own.
fn extend(read: &mut Operation, ppn: Ppn, medium: &Medium) -> bool {
    let geometry = &medium.geometry;
    let ((block, unit), (open_block, open_unit)) = (geometry.split(ppn), geometry.split(read.first));
    let follows = ppn.0 == read.first.0 + read.units && open_block == block;
    if !follows || geometry.row_of(open_unit) != geometry.row_of(unit) {
        return false;
    }
    read.units += 1;
    read.pages += u32::from(geometry.page_of(unit) != geometry.page_of(unit - 1));
    true
}
