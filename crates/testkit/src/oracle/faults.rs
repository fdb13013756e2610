//! Faults: programs that fail and are repeated elsewhere, blocks that are retired, and dies that are lost.

use super::{Block, Check, Location, Oracle, ensure};
use kit::{BlockId, Ppn, Reason};

impl Oracle {
    /// Follows the failure of a program. What it was to write is still in the controller, and the block takes nothing
    /// more.
    pub(super) fn program_failed(&mut self, block: BlockId, first: Ppn, count: u32) -> Check {
        let (of, unit) = self.geometry.split(first);
        let record = &mut self.blocks[block.index()];
        ensure(of == block && unit == record.next_program, || format!("out of order in its block: {record:?}"))?;
        (record.sealed, record.next_bind) = (true, record.next_program);
        self.bad.insert(block);
        self.counts.programmed += u64::from(count);
        self.counts.program_failures += 1;
        let places = &self.places[first.index()..][..count as usize];
        let of_journal = self.journal_programs.remove(&first).unwrap_or(0);
        let empty = places.iter().filter(|place| place.content.is_none()).count() as u64 - u64::from(of_journal);
        let is_parity = self.parity.begins_at(first);
        *(if is_parity { &mut self.counts.parity } else { &mut self.counts.padding }) += empty;
        Ok(())
    }

    /// Follows a unit of a failed program to another place. It need not be current any more.
    pub(super) fn bound_again(&mut self, from: Ppn, to: Ppn) -> Check {
        let block = &self.blocks[self.geometry.block_of(from).index()];
        let place = &mut self.places[from.index()];
        ensure(block.sealed && !place.programmed, || format!("no program of it has failed: {block:?}, {place:?}"))?;
        let Some(mut content) = place.content.take() else { return ensure(false, || "it holds nothing".to_owned()) };
        let supersedes = content.supersedes.take();
        if let Some(old) = supersedes {
            self.places[old.index()].successors_pending -= 1;
        }
        let bound = self.versions[content.version as usize].bound;
        self.occupy(to, content.lpn, content.version, supersedes, content.loss)?;
        // The number stays that of the first binding; 0 for older data, which no recovery can find at either place.
        self.versions[content.version as usize].bound = bound;
        self.counts.relocated[Reason::Evacuate as usize] += 1;
        let location = self.units[content.lpn.index()].location;
        match location {
            Location::At(current) if current == from => self.units[content.lpn.index()].location = Location::At(to),
            Location::Slot(slot) if self.prior_of(slot) == Some(from) => {
                self.slots[slot as usize].as_mut().expect("it has a prior").prior = Some(to);
            }
            _ => {
                let newer = self.places.iter_mut().filter_map(|place| place.content.as_mut());
                if let Some(newer) = newer.into_iter().find(|newer| newer.supersedes == Some(from)) {
                    newer.supersedes = Some(to);
                    self.places[from.index()].successors_pending -= 1;
                    self.places[to.index()].successors_pending += 1;
                }
                return Ok(());
            }
        }
        self.entry_changed(content.lpn);
        Ok(())
    }

    /// Follows a block out of use. Nothing in it may be current, as if it was erased.
    pub(super) fn retired(&mut self, block: BlockId) -> Check {
        let Block { erases, .. } = self.blocks[block.index()];
        let may_retire = self.bad.contains(&block) || self.lost_dies.contains_key(&self.geometry.die_of(block));
        ensure(may_retire, || "no program of it has failed, and its die is not lost".to_owned())?;
        self.leaves_stripes(block)?;
        self.emptied(block)?;
        self.blocks[block.index()] = Block { sealed: true, erases, ..Block::default() };
        Ok(())
    }
}
