//! Pages that an interrupted program of a later page of their wordline has destroyed, and the copies of them.

use super::*;
use crate::paired::PairedPages;

/// Loses the earlier pages of the wordlines of interrupted programs.
pub(super) fn lose_wordlines(store: &mut Store, interrupted: &[Interrupted]) {
    let programs = interrupted.iter().filter(|one| !one.erases);
    let earlier: Vec<Ppn> = programs.flat_map(|one| store.medium.earlier_on_wordline(one.first)).collect();
    let units = store.medium.geometry.units_per_program;
    for &first in &earlier {
        store.pad(first, units);
    }
    if let Some(integrity) = &mut store.medium.integrity {
        let is_left = |ppn: Ppn| !earlier.iter().any(|first| (first.0..first.0 + units).contains(&ppn.0));
        integrity.power_lost(is_left);
    }
}

impl Ftl {
    /// Returns the blocks that hold copies of paired pages, with the programs in them.
    fn blocks_of_copies(&self) -> impl Iterator<Item = (BlockId, u32)> + '_ {
        let medium = &self.state.store.medium;
        let rings = self.state.paired.iter().flat_map(|paired| &paired.rings);
        rings.flat_map(|ring| &ring.blocks).map(|&block| (block, u32::from(medium.block(block).programmed)))
    }

    /// Adds the rows that are read to find the copies of paired pages.
    pub(super) fn add_rows_of_copies(&self, scanned: &mut [Vec<RowsRead>]) {
        let geometry = &self.state.store.medium.geometry;
        for (block, rows) in self.blocks_of_copies().filter(|(_, rows)| *rows > 0) {
            scanned[geometry.die_of(block).index()].push(RowsRead { block, first: 0, rows, whole: false });
        }
    }

    /// Enters in the map the copies of paired pages that are newer than what was found of their units. A copy is as old
    /// as what it was copied from.
    pub(super) fn take_copies(&mut self, metadata: &Metadata) {
        let units = self.state.store.medium.geometry.units_per_program;
        let first = |block: BlockId| self.state.store.medium.geometry.first_of(block).0;
        let copies = self.blocks_of_copies().flat_map(|(block, programs)| first(block)..first(block) + programs * units);
        let copies: Vec<Ppn> = copies.map(Ppn).collect();
        for ppn in copies {
            let Some(lpn) = self.state.store.places.entered_unit(ppn) else { continue };
            let number = metadata.number(ppn);
            let is_newer = self.state.store.place_of(lpn).is_none_or(|found| metadata.number(found) < number);
            if is_newer && metadata.is_kept(lpn, number) {
                self.state.store.set_code(lpn, encode(ppn));
            }
        }
    }

    /// Moves what recoveries have taken from the copies of paired pages, before all writes of the host.
    pub(crate) fn move_copies(&mut self, now: SimTime, out: &mut Outbox) {
        if self.state.paired.as_ref().is_none_or(|paired| paired.kind != PairedPages::Backup) {
            return;
        }
        let blocks: Vec<BlockId> = self.blocks_of_copies().map(|(block, _)| block).collect();
        let units: Vec<(Lpn, Ppn)> = blocks.into_iter().flat_map(|block| self.current_units(block).collect::<Vec<_>>()).collect();
        for (lpn, from) in units {
            self.begin_copy_move(lpn, from, self.derived.old_mode, now, out);
        }
    }
}
