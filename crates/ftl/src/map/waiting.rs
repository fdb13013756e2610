//! Units that wait in the write buffer: the map names their slots in the queue.

use super::{Mapped, SLOT_BASE, Store, decode};
use crate::queue::{OldPart, Waiting, WriteQueue, WritesImage};
use kit::archive::{Archived, require};
use kit::{Lpn, Ppn, SimTime};

impl Store {
    /// Returns the place of a unit's copy on flash; for a unit in the write buffer, that of the older copy.
    #[inline]
    pub(crate) fn copy_on_flash(&self, writes: &WriteQueue, lpn: Lpn) -> Option<Ppn> {
        let code = match decode(self.code_of(lpn)) {
            Mapped::Slot(slot) => decode(writes.units[slot].prior),
            other => other,
        };
        match code {
            Mapped::At(ppn) => Some(ppn),
            Mapped::Nowhere | Mapped::Slot(_) => None,
        }
    }

    /// Checks the queue of a drive with `lists` lists and `groups` groups of planes on each die, where the places
    /// on flash have been entered.
    pub(crate) fn check_waiting(&self, image: &WritesImage, (lists, groups): (usize, u32), now: SimTime) -> Archived {
        let may_lose = self.medium.integrity.is_some();
        require(image.lists.len() == lists, || "its write queue is not that of this drive".to_owned())?;
        let mut slots: Vec<u32> = image.units().map(|unit| unit.slot).collect();
        let mut current: Vec<u32> = image.units().filter(|unit| unit.is_current()).map(|unit| unit.lpn.0).collect();
        slots.sort_unstable();
        current.sort_unstable();
        for (list, what) in [(&slots, "slot"), (&current, "the data of unit")] {
            let twice = list.windows(2).find(|pair| pair[0] == pair[1]);
            require(twice.is_none(), || format!("{what} {} is that of two units that wait", twice.map_or(0, |pair| pair[0])))?;
        }
        for unit in image.units() {
            let &Waiting { slot, lpn, plane, prior, part, since, .. } = unit;
            require((slot as usize) < image.slots && slot < u32::MAX - SLOT_BASE, || {
                format!("a unit waits in slot {slot} of {} slots", image.slots)
            })?;
            require(u64::from(lpn.0) < self.user_units, || format!("unit {} waits, and the drive does not have it", lpn.0))?;
            let mapped = if unit.is_current() { self.code_of(lpn) } else { 0 };
            require(prior == mapped, || {
                let named = [prior, mapped].map(decode);
                format!("unit {} waits and supersedes {:?}, and its copy on flash is {:?}", lpn.0, named[0], named[1])
            })?;
            let fits = plane.is_none_or(|plane| plane < groups) && since <= now && (may_lose || part != OldPart::Lost);
            require(fits, || format!("unit {} waits since {} ns for plane {plane:?}: {part:?}", lpn.0, since.0))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::encode;
    use crate::medium::tests::geometry;
    use crate::queue::Writer;
    use kit::DriveClock;

    /// Returns the state of an empty drive of eight units.
    fn empty() -> Store {
        let geometry = geometry(1, 1, 4, 2, 1);
        Store::new(geometry, geometry.unit_count(), 0, vec![geometry.units_per_block]).expect("a small drive fits into memory")
    }

    #[test]
    fn the_copy_on_flash_of_a_buffered_unit_is_the_older_one() {
        let mut store = empty();
        let mut queue = WriteQueue::new(1);
        let [new, old] = [0u32, encode(Ppn(5))].map(|prior| {
            let slot = queue.accept(Lpn(0), Writer::Buffer, true);
            queue.units[slot].prior = prior;
            slot
        });
        let codes = [0, encode(Ppn(3)), crate::map::SLOT_BASE + new, crate::map::SLOT_BASE + old];
        let copies = codes.map(|code| {
            store.set_code(Lpn(0), code);
            store.copy_on_flash(&queue, Lpn(0))
        });
        assert_eq!(copies, [None, Some(Ppn(3)), None, Some(Ppn(5))]);
    }

    /// One thing after another in a sound queue is changed: each is refused.
    #[test]
    fn a_queue_that_contradicts_the_map_is_refused() {
        let mut store = empty();
        let mut queue = WriteQueue::new(1);
        let code = encode(Ppn(3));
        store.set_code(Lpn(1), code);
        for (lpn, prior) in [(0, 0), (1, code)] {
            let slot = queue.accept(Lpn(lpn), Writer::Buffer, true);
            queue.units[slot].prior = prior;
            queue.push(0, slot, SimTime(5), &DriveClock::default());
        }
        let found = |change: &dyn Fn(&mut WritesImage)| {
            let mut image = queue.image();
            change(&mut image);
            store.check_waiting(&image, (1, 1), SimTime(5))
        };
        assert_eq!(found(&|_| {}), Ok(()));
        let changes: [&dyn Fn(&mut WritesImage); 10] = [
            &|image| image.lists.push(Vec::new()),
            &|image| image.slots = 1,
            &|image| image.lists[0][0].slot = 1,
            &|image| image.lists[0][0].slot = 2,
            &|image| image.lists[0][0].lpn = Lpn(2),
            &|image| image.lists[0][0].lpn = Lpn(u32::MAX),
            &|image| image.lists[0][1].prior = 0,
            &|image| image.lists[0][0].since = SimTime(6),
            &|image| image.lists[0][0].plane = Some(1),
            &|image| image.lists[0][0].part = OldPart::Lost,
        ];
        for (index, change) in changes.iter().enumerate() {
            // A unit that holds nothing on flash may be any other one of that kind.
            assert_eq!(found(*change).is_err(), index != 4, "change {index}");
        }
    }
}
