//! Reads of successive places of one row, which are one flash operation.

use kit::{Geometry, Operation, Ppn};

/// Adds the next place to a read, if it follows the read's last one on the same row. Each further plane of the row
/// adds a page. Returns false if it needs a read of its own.
pub(super) fn extend(read: &mut Operation, ppn: Ppn, geometry: &Geometry) -> bool {
    let ((block, unit), (open_block, open_unit)) = (geometry.split(ppn), geometry.split(read.first));
    let follows = ppn.0 == read.first.0 + read.units && open_block == block;
    if !follows || geometry.row_of(open_unit) != geometry.row_of(unit) {
        return false;
    }
    read.units += 1;
    read.pages += u32::from(geometry.page_of(unit) != geometry.page_of(unit - 1));
    true
}
