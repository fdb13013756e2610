//! Forged remains: defects of a recovery, planted so that tests can show that they are found.

use super::Remains;
use crate::map_journal::Content;
use crate::medium::{BlockRecord, BlockState};
use kit::{BlockId, Ppn};

/// A defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forgery {
    /// The pages of an interrupted program are taken as whole.
    TornAsWhole,
    /// A block whose erase was interrupted is taken as erased.
    HalfErasedAsFree,
    /// The last program is not found.
    LastProgramMissed,
    /// The last program is taken as older than all others.
    LastProgramAsOldest,
    /// A block with data is not found, and taken as erased.
    BlockMissed,
    /// The trims are forgotten.
    TrimsUndone,
    /// The data of a unit is taken as that of its neighbour.
    WrongUnit,
    /// The last program of the map's journal is not found.
    JournalRecordLost,
    /// A page of the map that has changed since it was written is taken as current.
    MapPageStale,
}

impl Forgery {
    /// Those that need a journal of the map.
    pub const OF_JOURNAL: [Forgery; 2] = [Forgery::JournalRecordLost, Forgery::MapPageStale];

    /// Those that do not.
    pub const ALL: [Forgery; 7] = [
        Forgery::TornAsWhole,
        Forgery::HalfErasedAsFree,
        Forgery::LastProgramMissed,
        Forgery::LastProgramAsOldest,
        Forgery::BlockMissed,
        Forgery::TrimsUndone,
        Forgery::WrongUnit,
    ];
}

impl Remains {
    /// Plants a defect. Returns false if there is nothing that it could change.
    #[doc(hidden)]
    pub fn forge(&mut self, forgery: Forgery) -> bool {
        match forgery {
            Forgery::TornAsWhole => {
                let torn = std::mem::take(&mut self.torn_units);
                torn.iter().for_each(|(ppn, lpn)| self.store.places.set_unit(*ppn, lpn.0));
                !torn.is_empty()
            }
            Forgery::HalfErasedAsFree => {
                let blocks = std::mem::take(&mut self.half_erased);
                let medium = &mut self.store.medium;
                blocks.iter().for_each(|&block| medium.blocks.update(block, |record| *record = BlockRecord::default()));
                !blocks.is_empty()
            }
            Forgery::LastProgramMissed => self.last_program().is_some_and(|first| {
                let block = self.store.medium.geometry.block_of(first);
                let is_last = self.store.medium.block(block).programmed > 1;
                self.store.medium.blocks.update(block, |record| record.programmed -= u16::from(is_last));
                is_last
            }),
            Forgery::LastProgramAsOldest => self.last_program().is_some_and(|first| {
                self.metadata.forge_number(first);
                true
            }),
            Forgery::BlockMissed => {
                let medium = &mut self.store.medium;
                let mut blocks = (0..medium.geometry.block_count).map(BlockId);
                let missed = blocks.find(|block| medium.block(*block).state() == BlockState::Closed);
                missed.is_some_and(|block| {
                    self.metadata.erased(block);
                    medium.blocks.update(block, |record| *record = BlockRecord::default());
                    true
                })
            }
            Forgery::TrimsUndone => self.metadata.forge_trims(),
            Forgery::JournalRecordLost => self.content().is_some_and(Content::forge_lost_record),
            Forgery::MapPageStale => self.content().is_some_and(Content::forge_stale_page),
            Forgery::WrongUnit => self.last_program().is_some_and(|first| {
                let unit = self.store.places.entered_unit(first).filter(|lpn| u64::from(lpn.0) + 1 < self.store.user_units);
                unit.is_some_and(|lpn| {
                    self.store.places.set_unit(first, lpn.0 + 1);
                    true
                })
            }),
        }
    }

    fn content(&mut self) -> Option<&mut Content> {
        self.journal.as_mut().and_then(|journal| journal.content.as_deref_mut())
    }

    /// Returns the first place of the last program that was completed.
    fn last_program(&self) -> Option<Ppn> {
        let medium = &self.store.medium;
        let geometry = &medium.geometry;
        let last = |block: BlockId| {
            let programs = u32::from(medium.block(block).programmed).checked_sub(1)?;
            Some(Ppn(geometry.first_of(block).0 + programs * geometry.units_per_program))
        };
        let firsts = (0..geometry.block_count).map(BlockId).filter(|block| !self.half_erased.contains(block)).filter_map(last);
        let whole = firsts.filter(|first| self.store.places.entered_unit(*first).is_some());
        whole.max_by_key(|&first| self.metadata.number(first)).filter(|&first| self.metadata.number(first) > 0)
    }
}
