//! Reads of places that follow each other on one row, which are one flash operation.

use kit::{CommandId, Geometry, ModeId, Operation, OperationKind, Outbox, Owner, Ppn, Reason};

/// The reads of a command, joined where they follow each other on a row.
#[derive(Default)]
pub(super) struct Joined {
    open: Option<Operation>,
    parts: u32,
}

impl Joined {
    /// Adds the read of a unit.
    pub fn add(&mut self, read: Operation, geometry: &Geometry, out: &mut Outbox) {
        if self.open.as_mut().is_some_and(|open| extend(open, read.first, geometry)) {
            return;
        }
        self.parts += 1;
        self.open.replace(read).into_iter().for_each(|operation| out.read(operation));
    }

    /// Passes on the last read. Returns the number of reads.
    pub fn end(self, out: &mut Outbox) -> u32 {
        self.open.into_iter().for_each(|operation| out.read(operation));
        self.parts
    }
}

/// Returns the read of a unit for a command.
pub(super) fn host_read(ppn: Ppn, mode: ModeId, command: CommandId, geometry: &Geometry) -> Operation {
    let (block, unit) = geometry.split(ppn);
    Operation {
        kind: OperationKind::Read,
        reason: Reason::Host,
        die: geometry.die_of(block),
        first: ppn,
        units: 1,
        pages: 1,
        page_type: geometry.page_type_of(unit),
        mode,
        encode: 0,
        skipped: 0,
        owner: Owner::Command(command),
    }
}

/// Adds the next place to a read, if it follows the read's last one on the same row. Each further plane of the row
/// adds a page. Returns false if it needs a read of its own.
fn extend(read: &mut Operation, ppn: Ppn, geometry: &Geometry) -> bool {
    let ((block, unit), (open_block, open_unit)) = (geometry.split(ppn), geometry.split(read.first));
    let follows = ppn.0 == read.first.0 + read.units && open_block == block;
    if !follows || geometry.row_of(open_unit) != geometry.row_of(unit) {
        return false;
    }
    read.units += 1;
    read.pages += u32::from(geometry.page_of(unit) != geometry.page_of(unit - 1));
    true
}
