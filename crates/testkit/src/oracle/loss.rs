//! Data that could not be corrected: host reads of it are media errors, and it stays lost wherever it is moved.

use super::{Check, Data, Loss, Oracle, Progress, Violation, ensure};
use drive::Drive;
use kit::{CommandId, Lpn, Op, Owner, Ppn};

impl Oracle {
    /// Returns true if a write in flight covers a unit completely.
    pub(super) fn writes_whole(&mut self, command: CommandId, lpn: Lpn) -> Result<bool, Violation> {
        let unit = self.geometry.unit;
        Ok(self.writing(command)?.covers(lpn, unit))
    }

    /// Follows a flash read that could not correct the data of a place.
    pub(super) fn uncorrectable(&mut self, ppn: Ppn, owner: Owner) -> Check {
        self.counts.uncorrectable += 1;
        if self.rules.data != Data::Mapped {
            return self.uncorrectable_unmapped(owner);
        }
        let place = &mut self.places[ppn.index()];
        ensure(place.programmed && place.content.is_some(), || format!("nothing is programmed there: {place:?}"))?;
        match owner {
            Owner::Command(command) => self.in_flight(command, Op::Read)?.suffer(Loss::Lost),
            Owner::Collector | Owner::Page(_) => {
                if let Some(content) = &mut place.content {
                    content.loss = Loss::Lost;
                }
            }
            Owner::PartialRead(_) => self.completes_write(ppn, owner, Loss::Lost),
            // The commands that wait for it are named apart.
            Owner::ReadAhead(_) | Owner::MapPage(_) => {}
            Owner::ProgramUnit | Owner::FreeBlock | Owner::Retry(_) | Owner::Scan | Owner::Restoration(_) | Owner::Journal => {
                return ensure(false, || "its owner does not read".to_owned());
            }
        }
        Ok(())
    }

    /// Follows such a read under a layer without a map, which forgets that data is lost once it has moved it, or has
    /// completed a write with it.
    fn uncorrectable_unmapped(&mut self, owner: Owner) -> Check {
        if let Owner::Command(command) = owner {
            self.in_flight(command, Op::Read)?.suffer(Loss::Lost);
        }
        Ok(())
    }

    /// Follows a read of a place that completes a partial write with data in this state.
    pub(super) fn completes_write(&mut self, ppn: Ppn, owner: Owner, loss: Loss) {
        let (Owner::PartialRead(slot), Some(content)) = (owner, self.places[ppn.index()].content) else { return };
        if loss == Loss::Intact {
            return;
        }
        if self.is_buffered {
            if let Some(held) = self.slots[slot as usize].as_mut().filter(|held| !held.replaced_whole) {
                held.loss = if held.loss == Loss::Lost { Loss::Lost } else { loss };
            }
            return;
        }
        let waiting = |version: &&mut super::Version| version.lpn == content.lpn && version.progress == Progress::Waiting;
        self.versions.iter_mut().filter(waiting).for_each(|version| version.loss = Loss::Unknown);
    }

    /// Checks that the engine knows the places of lost data, unless the records leave some of them open.
    pub(super) fn agree_on_loss(&self, drive: &Drive) -> Check {
        let count = |loss: Loss| {
            let holds = |place: &&super::Place| place.content.is_some_and(|content| content.loss == loss);
            self.places.iter().filter(holds).count()
        };
        let (lost, unknown) = (count(Loss::Lost), count(Loss::Unknown));
        let known = drive.medium().lost_places().unwrap_or(0);
        ensure((lost..=lost + unknown).contains(&known), || {
            format!("{known} places are known to be lost; by the records {lost}, and perhaps {unknown} more")
        })
    }
}
