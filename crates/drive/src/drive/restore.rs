//! Reads that fail, and whose data is restored by parity: until that is done they are in flight.

use super::Drive;
use ftl::Translator;
use kit::{Cause, Owner, Ppn, Record};

/// Restoration of the data of a read.
#[derive(Clone, Default)]
pub(super) struct Restoration {
    /// Slot of the read that has failed.
    slot: u32,
    /// Places that it could not correct.
    places: Vec<Ppn>,
    /// Number of reads that it takes, and of those that are not done.
    reads: u64,
    reads_left: u64,
    /// True if one of them has failed, too.
    has_failed: bool,
}

impl Drive {
    /// Handles a read of data that could not be corrected: it is restored, or lost.
    pub(super) fn restore_or_lose(&mut self, slot: u32, places: Vec<Ppn>) {
        let failed = self.out.operations[slot];
        if let Owner::Restoration(restoration) = failed.owner {
            self.restorations[restoration].has_failed = true;
            return self.correction_done(slot);
        }
        let restoration = self.restorations.take();
        let reads = match &self.ftl {
            Translator::PageMap(map) => map.restoring_reads(&failed, &places, Owner::Restoration(restoration)),
            Translator::Other(_) => None,
        };
        let Some(reads) = reads else {
            self.restorations.release(restoration);
            self.lose(slot, &places);
            return self.correction_done(slot);
        };
        let count = reads.len() as u64;
        let (first, last) = (places[0], places[places.len() - 1]);
        self.out.journal.note(|| Record::Restoring { restoration, first, count: last.0 - first.0 + 1 });
        self.restorations[restoration] = Restoration { slot, places, reads: count, reads_left: count, has_failed: false };
        for read in reads {
            self.out.journal.note(|| Record::RestoringRead { restoration, first: read.first });
            self.out.read(read);
        }
        if count == 0 {
            self.restoration_done(restoration);
        }
    }

    /// Handles the end of a read for a restoration.
    pub(super) fn restoring_read_done(&mut self, restoration: u32) {
        let one = &mut self.restorations[restoration];
        one.reads_left -= 1;
        if one.reads_left == 0 {
            self.restoration_done(restoration);
        }
    }

    /// Ends a read whose data has been restored, or is lost.
    fn restoration_done(&mut self, restoration: u32) {
        let Restoration { slot, places, reads, has_failed, .. } = std::mem::take(&mut self.restorations[restoration]);
        self.restorations.release(restoration);
        self.out.operations.account_mut(slot).charge_to(Cause::Retry, self.now);
        if has_failed {
            self.out.journal.note(|| Record::RestorationFailed { restoration });
            self.lose(slot, &places);
        } else {
            self.out.journal.note(|| Record::Restored { restoration });
            if let Some(map) = self.ftl.page_map_mut() {
                map.count_restored(reads);
            }
            self.deliver_lost(slot);
        }
        self.correction_done(slot);
    }

    /// Loses data of a read.
    fn lose(&mut self, slot: u32, places: &[Ppn]) {
        let operation = self.out.operations[slot];
        self.ftl.read_failed(&operation, places, &mut self.out.journal);
        if let Owner::Command(command) = operation.owner {
            self.media_error(command);
        }
    }

    /// Handles a read, correct or restored, of data that may have been lost before.
    pub(super) fn deliver_lost(&mut self, slot: u32) {
        let operation = self.out.operations[slot];
        if operation.reads_data()
            && !matches!(operation.owner, Owner::Restoration(_))
            && self.ftl.has_lost()
            && self.ftl.delivers_lost(&operation)
            && let Owner::Command(command) = operation.owner
        {
            self.media_error(command);
        }
    }
}
