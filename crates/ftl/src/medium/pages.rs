//! Pages that are programmed where they are, again and again, of a medium without erase.

use super::Medium;
use super::counts::Counts;
use kit::archive::Archived;
use kit::{Geometry, ModeId, Nanos, Ppn, SimTime, Stored};
use serde::{Deserialize, Serialize};

/// Writes of each page: they are its wear.
#[derive(Serialize, Deserialize)]
pub(crate) struct PageWrites {
    writes: Counts,
    /// Writes of each page, and age of the data, at the start.
    cycles: u32,
    age: Nanos,
    mode: ModeId,
}

impl PageWrites {
    /// Checks the counts of a saved drive.
    pub fn check(&self, geometry: &Geometry) -> Archived {
        self.writes.check(geometry.unit_count())
    }
}

impl Medium {
    /// Counts the writes of single pages, in a write mode, of a medium that was written `cycles` times, the last time
    /// `age` ago.
    pub(crate) fn count_page_writes(&mut self, mode: ModeId, cycles: u32, age: Nanos) {
        self.pages = Some(Box::new(PageWrites { writes: Counts::new(), cycles, age, mode }));
    }

    /// Counts a write of a page.
    pub(crate) fn page_written(&mut self, ppn: Ppn) {
        let pages = self.pages.as_mut().expect("the medium counts the writes of its pages");
        *pages.writes.entry(ppn.0) += 1;
    }

    /// Returns the sum of the writes of single pages, the number of pages written, and the most writes of a page.
    pub(crate) fn page_writes(&self) -> (u64, usize, u32) {
        self.pages.as_ref().map_or((0, 0, 0), |pages| {
            let add = |(sum, most): (u64, u32), count: u32| (sum + u64::from(count), most.max(count));
            let (sum, most) = pages.writes.values().fold((0, 0), add);
            (sum, pages.writes.len(), most)
        })
    }

    /// Returns the condition of a page.
    #[cold]
    pub(super) fn stored_page(&self, ppn: Ppn, now: SimTime) -> Stored {
        let pages = self.pages.as_ref().expect("reads can fail");
        let writes = pages.cycles.saturating_add(pages.writes.get(ppn.0).unwrap_or(0));
        Stored {
            block: self.geometry.block_of(ppn),
            mode: pages.mode,
            wear_thousandths: writes.saturating_mul(1000),
            erase_count: writes,
            // The oldest that the data can be: the instants of single writes are not kept.
            age: Nanos(pages.age.0.saturating_add(now.0)),
            reads: 0,
        }
    }
}
