//! Write queue of the FTL: host writes that wait for a die. The units of the write buffer are kept here, too.

use crate::map::{Mapped, Store, decode};
use kit::clock::Reading;
use kit::{CommandId, Lpn, Nanos, Ppn, SimTime, Slab, WorkClock};
use serde::{Deserialize, Serialize};

const NONE: u32 = u32::MAX;

/// Recipient of the report that a unit has been programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Writer {
    /// The command that waits for the program.
    Command(CommandId),
    /// None: the command was acknowledged when the write buffer accepted the unit.
    #[default]
    Buffer,
}

/// A unit of host data waiting to be programmed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    pub lpn: Lpn,
    pub writer: Writer,
    /// True for the last unit of its command.
    pub last: bool,
    /// Destination group of planes, where that is decided on arrival.
    pub plane: Option<u32>,
    /// Buffered units only: the map entry before the unit was buffered (its older copy on flash, if any), kept up to
    /// date while the unit waits.
    pub prior: u32,
    /// Buffered units only: true if the unit was trimmed while it waited.
    pub dropped: bool,
    pub since: SimTime,
    /// Reading of the drive-wide clock when the unit joined the queue.
    pub reading: Reading,
    /// Time spent on reading the part of the unit that the host did not write.
    pub filled_in: Nanos,
    /// Number of this unit in the order of acceptance; a flush waits for the units accepted before it.
    pub accepted: u64,
    pub next: u32,
}

/// A waiting unit in the form in which it is saved.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Waiting {
    pub slot: u32,
    pub lpn: Lpn,
    last: bool,
    plane: Option<u32>,
    pub prior: u32,
    pub dropped: bool,
    since: SimTime,
    pub accepted: u64,
}

/// The write queue in the form in which it is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WritesImage {
    slots: usize,
    pub lists: Vec<Vec<Waiting>>,
    accepted: u64,
}

/// First-in, first-out lists of waiting units: one list for the drive, or one for each die where the die is chosen on
/// arrival.
pub(crate) struct WriteQueue {
    pub units: Slab<Pending>,
    heads: Vec<u32>,
    tails: Vec<u32>,
    lengths: Vec<u64>,
    accepted: u64,
}

impl WriteQueue {
    pub fn new(list_count: usize) -> WriteQueue {
        WriteQueue {
            units: Slab::with_capacity(4096),
            heads: vec![NONE; list_count],
            tails: vec![NONE; list_count],
            lengths: vec![0; list_count],
            accepted: 0,
        }
    }

    /// Accepts a unit and returns its slot; the unit joins a list later, with [`WriteQueue::push`].
    #[inline]
    pub fn accept(&mut self, lpn: Lpn, writer: Writer, last: bool) -> u32 {
        let slot = self.units.take();
        self.accepted += 1;
        // Written field by field, in place: copying a whole value would wait for its narrow stores to complete.
        let unit = &mut self.units[slot];
        unit.lpn = lpn;
        unit.writer = writer;
        unit.last = last;
        unit.plane = None;
        unit.prior = 0;
        unit.dropped = false;
        unit.filled_in = Nanos::ZERO;
        unit.accepted = self.accepted;
        slot
    }

    /// Returns the place of a unit's copy on flash; for a unit in the write buffer, that of the older copy.
    #[inline]
    pub fn copy_on_flash(&self, store: &Store, lpn: Lpn) -> Option<Ppn> {
        let code = match decode(store.l2p.get(lpn.index())) {
            Mapped::Slot(slot) => decode(self.units[slot].prior),
            other => other,
        };
        match code {
            Mapped::At(ppn) => Some(ppn),
            Mapped::Nowhere | Mapped::Slot(_) => None,
        }
    }

    /// Returns the waiting units for saving. At rest these are units of the write buffer only, because no command is
    /// outstanding. Slots keep their numbers, since the map refers to them.
    pub fn image(&self) -> WritesImage {
        let list = |list: usize| {
            let slots = std::iter::successors(self.head(list), |&slot| self.after(slot));
            slots.map(|slot| self.waiting(slot)).collect()
        };
        WritesImage { slots: self.units.len(), lists: (0..self.heads.len()).map(list).collect(), accepted: self.accepted }
    }

    fn waiting(&self, slot: u32) -> Waiting {
        let Pending { lpn, writer, last, plane, prior, dropped, since, reading: _, filled_in: _, accepted, next: _ } =
            self.units[slot];
        assert!(writer == Writer::Buffer, "no command waits for a drive at rest");
        Waiting { slot, lpn, last, plane, prior, dropped, since, accepted }
    }

    /// Restores a saved queue; an error if it has another number of lists or a slot out of range.
    pub fn restore(&mut self, image: &WritesImage) -> Result<(), String> {
        let slots_fit = image.lists.iter().flatten().all(|unit| (unit.slot as usize) < image.slots);
        if image.lists.len() != self.heads.len() || !slots_fit {
            return Err("its write queue is not that of this drive".to_owned());
        }
        self.units = Slab::with_all_taken(image.slots);
        let mut is_free = vec![true; image.slots];
        let clock = WorkClock::default();
        for (list, units) in image.lists.iter().enumerate() {
            for unit in units {
                let &Waiting { slot, lpn, last, plane, prior, dropped, since, accepted } = unit;
                self.units[slot] = Pending { lpn, last, plane, prior, dropped, accepted, ..Pending::default() };
                self.push(list, slot, since, &clock);
                is_free[slot as usize] = false;
            }
        }
        (0..image.slots as u32).rev().filter(|&slot| is_free[slot as usize]).for_each(|slot| self.units.release(slot));
        self.accepted = image.accepted;
        Ok(())
    }

    /// Returns the number of units accepted so far.
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// Appends a unit to a list.
    #[inline]
    pub fn push(&mut self, list: usize, slot: u32, now: SimTime, clock: &WorkClock) {
        let unit = &mut self.units[slot];
        unit.since = now;
        clock.read_into(&mut unit.reading, now);
        unit.next = NONE;
        if self.heads[list] == NONE {
            self.heads[list] = slot;
        } else {
            let tail = self.tails[list];
            self.units[tail].next = slot;
        }
        self.tails[list] = slot;
        self.lengths[list] += 1;
    }

    /// Appends all units of one list to another.
    pub fn hand_over(&mut self, from: usize, to: usize) {
        let head = std::mem::replace(&mut self.heads[from], NONE);
        if head == NONE {
            return;
        }
        if self.heads[to] == NONE {
            self.heads[to] = head;
        } else {
            let tail = self.tails[to];
            self.units[tail].next = head;
        }
        self.tails[to] = self.tails[from];
        self.lengths[to] += std::mem::take(&mut self.lengths[from]);
    }

    #[inline]
    pub fn len(&self, list: usize) -> u64 {
        self.lengths[list]
    }

    /// Returns the instant since which the oldest unit of a list has been waiting.
    #[inline]
    pub fn oldest(&self, list: usize) -> Option<SimTime> {
        let head = self.heads[list];
        (head != NONE).then(|| self.units[head].since)
    }

    #[inline]
    pub fn head(&self, list: usize) -> Option<u32> {
        let head = self.heads[list];
        (head != NONE).then_some(head)
    }

    #[inline]
    pub fn after(&self, slot: u32) -> Option<u32> {
        let next = self.units[slot].next;
        (next != NONE).then_some(next)
    }

    /// Takes the oldest unit out of a list; its slot belongs to the caller until released.
    #[inline]
    pub fn pop(&mut self, list: usize) -> Option<u32> {
        let head = self.head(list)?;
        self.heads[list] = self.units[head].next;
        self.lengths[list] -= 1;
        Some(head)
    }
}
