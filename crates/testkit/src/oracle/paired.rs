//! Pages that an interrupted program of a later page of their wordline destroys.

use super::{Check, Oracle, ensure};
use drive::Drive;
use ftl::{BlockState, PairedPages};
use kit::{BlockId, Lpn, ModeId, Ppn};
use std::collections::BTreeSet;

impl Oracle {
    /// Follows the copy of a unit before the program of a later page of its wordline.
    pub(super) fn backed_up(&mut self, lpn: Lpn, from: Ppn, to: Ppn) -> Check {
        let place = self.places[from.index()];
        let content = place.content.filter(|content| content.lpn == lpn && place.programmed);
        let Some(content) = content else { return ensure(false, || format!("it does not hold the unit: {place:?}")) };
        self.counts.relocated[kit::Reason::Backup as usize] += 1;
        self.occupy(to, lpn, content.version, None, content.loss)
    }

    /// Returns the places that a loss of power has destroyed although their programs had completed: `drive` is what has
    /// become of the drive.
    pub(super) fn destroyed(&self, drive: &Drive) -> BTreeSet<Ppn> {
        let (geometry, medium) = (&self.geometry, drive.medium());
        let mut destroyed = BTreeSet::new();
        if self.rules.paired == PairedPages::Intact {
            return destroyed;
        }
        for (id, block) in (0..).map(BlockId).zip(&self.blocks) {
            let record = medium.block(id);
            let is_torn = u32::from(record.programmed) * geometry.units_per_program > block.next_program;
            if !is_torn || record.state() == BlockState::Area {
                continue;
            }
            let bits = medium.units_in(ModeId(record.mode())) * geometry.shape.bits_per_cell / geometry.units_per_block;
            let wordline = bits.max(1) * geometry.units_per_program;
            let first = geometry.first_of(id).0;
            destroyed.extend((block.next_program / wordline * wordline..block.next_program).map(|unit| Ppn(first + unit)));
        }
        destroyed
    }

    /// Returns the units that may hold older data than was promised, or none, as nothing protects paired pages.
    pub(super) fn may_lose(&self, destroyed: &BTreeSet<Ppn>) -> BTreeSet<Lpn> {
        if self.rules.paired != PairedPages::Unprotected {
            return BTreeSet::new();
        }
        let content = |ppn: &Ppn| self.places[ppn.index()].content;
        destroyed.iter().filter_map(content).map(|content| content.lpn).collect()
    }

    /// Returns the number of units whose newest copy on flash is destroyed, and of which none that is as new is left.
    pub fn lost_to_pairs(&self, drive: &Drive) -> u64 {
        let destroyed = self.destroyed(drive);
        let newest = |lpn: Lpn, also: bool| {
            let places = (0..).map(Ppn).zip(&self.places).filter(|(ppn, place)| {
                place.programmed && (also || !destroyed.contains(ppn)) && place.content.is_some_and(|content| content.lpn == lpn)
            });
            let versions = places.filter_map(|(_, place)| Some(self.versions[place.content?.version as usize].bound));
            versions.filter(|bound| *bound >= self.trimmed_at(lpn)).max().unwrap_or(0)
        };
        let lost = self.may_lose(&destroyed).into_iter().filter(|&lpn| newest(lpn, true) > newest(lpn, false));
        lost.count() as u64
    }

    /// Lets the units whose promises are broken hold what is left of them.
    pub(super) fn forget_promises(&mut self, drive: &Drive) {
        let destroyed = self.destroyed(drive);
        for lpn in self.may_lose(&destroyed) {
            self.break_promise(lpn);
        }
        for ppn in destroyed {
            self.places[ppn.index()].content = None;
        }
    }
}
