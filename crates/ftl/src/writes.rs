//! Host writes that wait for a die: the FTL's write queue, which is also where the write buffer's units are.

use crate::map::{Mapped, Store, decode};
use kit::clock::Reading;
use kit::{CommandId, Lpn, Nanos, Ppn, SimTime, Slab, WorkClock};
use serde::{Deserialize, Serialize};

const NONE: u32 = u32::MAX;

/// Who is told when the unit is programmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Writer {
    /// This command waits for it.
    Command(CommandId),
    /// Nobody: the command was acknowledged when the buffer took the unit.
    #[default]
    Buffer,
}

/// A unit of host data waiting to be programmed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending {
    pub lpn: Lpn,
    pub writer: Writer,
    /// The last unit of its command.
    pub last: bool,
    /// The group of planes it goes to, where that is decided on arrival.
    pub plane: Option<u32>,
    /// Buffered only: what the map held before; kept up to date while the unit waits.
    pub prior: u32,
    /// Buffered only: trimmed while it waited.
    pub dropped: bool,
    pub since: SimTime,
    /// The drive-wide clock when it joined the queue.
    pub reading: Reading,
    /// Time already spent on reading the rest of the unit.
    pub filled_in: Nanos,
    /// The units that a flush must wait for are those accepted before it.
    pub accepted: u64,
    pub next: u32,
}

/// A waiting unit as it is saved.
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

/// The write queue as it is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WritesImage {
    slots: usize,
    pub lists: Vec<Vec<Waiting>>,
    accepted: u64,
}

/// First-in, first-out lists of waiting units: one for the drive, or one for each die where the die is chosen on arrival.
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

    /// A slot for a unit that was accepted just now.
    #[inline]
    pub fn accept(&mut self, lpn: Lpn, writer: Writer, last: bool) -> u32 {
        let slot = self.units.take();
        self.accepted += 1;
        // Field by field, where it stays: a copy of the whole would wait for its narrow fields to be stored.
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

    /// Where the map says that a unit's data is on flash: of one in the write buffer, the older copy.
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

    /// Units that wait, as they are saved: those of a write buffer, since nobody waits for a drive at rest. Slots keep their numbers, which the map has.
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

    /// Goes on as a queue with as many lists was left.
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

    /// Units accepted so far.
    pub fn accepted(&self) -> u64 {
        self.accepted
    }

    /// A unit joins its list.
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

    /// Everything that waits in one list joins another.
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

    /// Since when the oldest unit of a list has been waiting.
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

    /// Takes the oldest unit out of a list; its slot stays the caller's until released.
    #[inline]
    pub fn pop(&mut self, list: usize) -> Option<u32> {
        let head = self.head(list)?;
        self.heads[list] = self.units[head].next;
        self.lengths[list] -= 1;
        Some(head)
    }
}
