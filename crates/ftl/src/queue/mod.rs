//! Write queue of the FTL: host writes that wait for a die. The units of the write buffer are kept here, too.

pub(crate) mod host;
pub(crate) mod idle;
pub(crate) mod order;

use crate::read_cache::ReadCacheConfig;
use kit::clock::{Reading, charge_wait};
use kit::{Cause, CommandId, DriveClock, Handoff, Ledger, Lpn, Nanos, Part, SimTime, Slab};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// End of a list or of a chain of waiting units.
pub(crate) const NONE: u32 = u32::MAX;

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
    /// Buffered units only: true if the unit was written again while it waited, and the later write has a slot of its
    /// own ([`Buffering::appends`]). Its program leaves nothing valid.
    pub obsolete: bool,
    pub since: SimTime,
    /// Reading of the drive-wide clock when the unit joined the queue.
    pub reading: Reading,
    /// Integrity of the data.
    part: OldPart,
    /// Time spent on reading the part of the unit that the host did not write.
    pub filled_in: Nanos,
    /// Buffered units only: number of the unit in the write buffer.
    pub number: u64,
    /// Buffered units only: first of the commands that wait for the program.
    waiters: u32,
    pub next: u32,
    previous: u32,
    /// The list in which the unit is; none while the rest of the unit is being read.
    list: u32,
}

/// A command that waits for the program of a unit in the write buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waiter {
    pub command: CommandId,
    next: u32,
    /// Time for which the command waited for space.
    pub stalled: Nanos,
    /// Instant from which it waits, and the reading of the drive-wide clock then.
    since: SimTime,
    reading: Reading,
    /// Time for reading the part of the unit that the host did not write.
    pub filled_in: Nanos,
    /// Time in the write queue by cause.
    pub waited: Reading,
}

/// The part of a unit that its host write left out, and that the older copy supplies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum OldPart {
    /// Supplied, or still to be read.
    #[default]
    Kept,
    /// Could not be read: the unit is lost.
    Lost,
    /// None: it is a write of the whole unit, or a later one has replaced it.
    Replaced,
}

impl Pending {
    /// Returns true if a part of the data is lost.
    #[inline]
    pub fn is_lost(&self) -> bool {
        self.part == OldPart::Lost
    }

    /// Records that the part that the host did not write is lost.
    pub fn lose(&mut self) {
        if self.part == OldPart::Kept {
            self.part = OldPart::Lost;
        }
    }

    /// Handles a later host write of the same unit, which replaces it in the write buffer.
    pub fn absorb(&mut self, whole: bool) {
        if whole {
            self.part = OldPart::Replaced;
        }
    }
}

/// A waiting unit in the form in which it is saved.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Waiting {
    pub slot: u32,
    pub lpn: Lpn,
    pub last: bool,
    pub plane: Option<u32>,
    pub prior: u32,
    pub dropped: bool,
    pub obsolete: bool,
    pub part: OldPart,
    pub since: SimTime,
    pub number: u64,
}

/// The write queue in the form in which it is saved.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WritesImage {
    pub slots: usize,
    pub lists: Vec<Vec<Waiting>>,
}

impl Waiting {
    /// Returns true if the map points at the unit: it was neither trimmed nor written again.
    pub fn is_current(&self) -> bool {
        !self.dropped && !self.obsolete
    }
}

/// Returns the number of slots up to the last one that holds a unit.
fn slots_of(lists: &[Vec<Waiting>]) -> usize {
    lists.iter().flatten().map(|unit| unit.slot as usize + 1).max().unwrap_or(0)
}

impl WritesImage {
    /// Claims a number of slots.
    #[cfg(test)]
    pub fn claim_slots(&mut self, slots: usize) {
        self.slots = slots;
    }

    /// Returns all units that wait.
    pub fn units(&self) -> impl Iterator<Item = &Waiting> {
        self.lists.iter().flatten()
    }
}

/// Units of the write buffer that a layer holds, for the check of a loaded drive.
#[derive(Clone, Debug, Default)]
pub struct Buffered {
    /// Slot, unit and number in the write buffer of each.
    pub units: Vec<(u32, Lpn, u64)>,
    /// Number of requests that end with one of them.
    pub requests: u64,
    /// Units of the write buffer up to this number are to be programmed.
    pub flush_until: u64,
}

/// Treatment of the units of host writes until they are programmed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Buffering {
    /// True if units that do not fill a program wait for further ones until they are flushed.
    pub waits_to_fill: bool,
    /// True if a unit that is written again goes to the end of the queue.
    pub renews: bool,
    /// True if a unit that is written again takes further space, and both are programmed.
    pub appends: bool,
    /// True if of several queues the longest is served first.
    pub longest_first: bool,
    /// The read cache.
    pub read_cache: ReadCacheConfig,
}

/// Change of the conditions under which waiting writes are programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// Units of the write buffer up to this number are programmed even in incomplete program units.
    Flush(u64),
    /// The units above those that are to be flushed are held back, or may be programmed.
    Hold(bool),
    /// A shutdown begins: all waiting writes are programmed, up to the last unit of the write buffer.
    All(u64),
    /// The shutdown is over.
    End,
}

/// Conditions under which waiting units are programmed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gate {
    /// Units of the write buffer up to this number are programmed even in an incomplete program unit.
    pub flush_until: u64,
    /// True while the write buffer fills up: units above that number are not programmed. Follows from the fill of the
    /// buffer.
    pub holds: bool,
    /// True during a shutdown: all units are programmed.
    pub is_open: bool,
}

impl Gate {
    /// Changes the conditions. Returns true if more writes may be programmed now.
    pub fn change(&mut self, what: Drain) -> bool {
        match what {
            Drain::Flush(until) => self.flush_until = until,
            Drain::Hold(holds) => return std::mem::replace(&mut self.holds, holds) && !holds,
            Drain::All(until) => (self.flush_until, self.is_open) = (until, true),
            Drain::End => {
                self.is_open = false;
                return false;
            }
        }
        true
    }
}

/// First-in, first-out lists of waiting units: one list for the drive, or one for each die where the die is chosen on
/// arrival.
pub(crate) struct WriteQueue {
    pub units: Slab<Pending>,
    waiters: Slab<Waiter>,
    /// Partial writes without a write buffer of which the rest is being read, by their unit, with the later writes of
    /// the unit. These follow in their order, so that a unit never ends with an older write.
    fills: BTreeMap<Lpn, Vec<u32>>,
    heads: Vec<u32>,
    tails: Vec<u32>,
    lengths: Vec<u64>,
}

impl WriteQueue {
    pub fn new(list_count: usize) -> WriteQueue {
        WriteQueue {
            units: Slab::with_capacity(4096),
            waiters: Slab::default(),
            fills: BTreeMap::new(),
            heads: vec![NONE; list_count],
            tails: vec![NONE; list_count],
            lengths: vec![0; list_count],
        }
    }

    /// Returns the number of lists.
    pub fn list_count(&self) -> usize {
        self.heads.len()
    }

    /// Accepts a unit and returns its slot; the unit joins a list later, with [`WriteQueue::push`].
    #[inline]
    pub fn accept(&mut self, lpn: Lpn, writer: Writer, last: bool) -> u32 {
        let slot = self.units.take();
        // Written field by field, in place: copying a whole value would wait for its narrow stores to complete.
        let unit = &mut self.units[slot];
        unit.lpn = lpn;
        unit.writer = writer;
        unit.last = last;
        unit.plane = None;
        unit.prior = 0;
        unit.dropped = false;
        unit.obsolete = false;
        unit.part = OldPart::Kept;
        unit.filled_in = Nanos::ZERO;
        unit.number = 0;
        unit.waiters = NONE;
        unit.list = NONE;
        slot
    }

    /// Lets a partial write wait at `now` for the rest of its unit. Later writes of the unit follow it, if there is no
    /// write buffer.
    pub fn begin_fill(&mut self, slot: u32, now: SimTime) {
        let unit = &mut self.units[slot];
        unit.since = now;
        if unit.writer != Writer::Buffer {
            self.fills.insert(unit.lpn, Vec::new());
        }
    }

    /// Lets a write that comes at `now` follow an earlier one of its unit of which the rest is being read. Returns
    /// false if there is none.
    #[inline]
    pub fn follows(&mut self, slot: u32, whole: bool, now: SimTime) -> bool {
        !self.fills.is_empty() && self.follows_fill(slot, whole, now)
    }

    #[cold]
    fn follows_fill(&mut self, slot: u32, whole: bool, now: SimTime) -> bool {
        let Some(followers) = self.fills.get_mut(&self.units[slot].lpn) else { return false };
        followers.push(slot);
        self.units[slot].since = now;
        self.units[slot].absorb(whole);
        true
    }

    /// Returns the writes that follow a partial one of which the rest is being read.
    pub fn followers(&self, slot: u32) -> &[u32] {
        let unit = &self.units[slot];
        let followers = if unit.writer == Writer::Buffer { None } else { self.fills.get(&unit.lpn) };
        followers.map_or(&[], Vec::as_slice)
    }

    /// Ends the wait of a partial write, whose rest has been read or is lost. Returns the writes that follow it. Those
    /// of a part of the unit have the rest from the write before, and lose it with that.
    pub fn end_fill(&mut self, slot: u32, now: SimTime) -> Vec<u32> {
        let unit = &mut self.units[slot];
        unit.filled_in = now.since(unit.since);
        let (lpn, mut is_lost) = (unit.lpn, unit.is_lost());
        let followers = if unit.writer == Writer::Buffer { None } else { self.fills.remove(&lpn) }.unwrap_or_default();
        for &follower in &followers {
            let unit = &mut self.units[follower];
            unit.filled_in = now.since(unit.since);
            if is_lost {
                unit.lose();
            }
            is_lost = unit.is_lost();
        }
        followers
    }

    /// Lets a command wait for the program of a unit in the write buffer.
    pub fn wait_for(&mut self, slot: u32, command: CommandId, stalled: Nanos, now: SimTime, clock: &DriveClock) {
        let waiter = self.waiters.take();
        let unit = &mut self.units[slot];
        let next = std::mem::replace(&mut unit.waiters, waiter);
        let state = &mut self.waiters[waiter];
        *state = Waiter { command, next, stalled, since: now, ..Waiter::default() };
        clock.read_into(&mut state.reading, now);
    }

    /// Ends the wait of the commands that wait for the program of a unit, which is bound at `now`. Returns the first of
    /// them, for [`WriteQueue::report`].
    #[inline]
    pub fn end_wait(&mut self, slot: u32, now: SimTime, clock: &DriveClock) -> u32 {
        let first = self.units[slot].waiters;
        let mut at = first;
        while at != NONE {
            let waiter = &mut self.waiters[at];
            clock.spent_since(&waiter.reading, now, &mut waiter.waited);
            at = waiter.next;
        }
        first
    }

    /// Reports to the commands that wait for a unit in the write buffer; `ledger` covers the time since it was bound.
    #[inline]
    pub fn report(&mut self, waiters: u32, ledger: &Ledger, handoff: &mut Handoff) {
        let mut at = waiters;
        while let Some((waiter, next)) = self.take_waiter(at) {
            let mut part = Part { command: waiter.command, ledger: *ledger, units: 0, is_lost: false };
            charge_wait(&mut part.ledger, &waiter.waited);
            part.ledger.charge(Cause::Rmw, waiter.filled_in);
            part.ledger.charge(Cause::BufferFull, waiter.stalled);
            handoff.parts.push(part);
            at = next;
        }
    }

    /// Takes a command out of those that waited for a unit. Returns it, and the next one.
    #[inline]
    fn take_waiter(&mut self, at: u32) -> Option<(Waiter, u32)> {
        if at == NONE {
            return None;
        }
        let waiter = self.waiters[at].clone();
        self.waiters.release(at);
        let next = waiter.next;
        Some((waiter, next))
    }

    /// Charges the time for reading the rest of a unit to the commands that wait for its program.
    #[cold]
    fn filled_in(&mut self, slot: u32, now: SimTime, clock: &DriveClock) {
        let mut at = self.units[slot].waiters;
        while at != NONE {
            let waiter = &mut self.waiters[at];
            waiter.filled_in = now.since(waiter.since);
            clock.read_into(&mut waiter.reading, now);
            at = waiter.next;
        }
    }

    /// Returns the waiting units for saving. At rest these are units of the write buffer only, because no command is
    /// outstanding. Slots keep their numbers, since the map refers to them.
    pub fn image(&self) -> WritesImage {
        assert!(self.fills.is_empty(), "no write waits for the rest of its unit in a drive at rest");
        let list = |list: usize| {
            let slots = std::iter::successors(self.head(list), |&slot| self.after(slot));
            slots.map(|slot| self.waiting(slot)).collect()
        };
        let lists: Vec<Vec<Waiting>> = (0..self.heads.len()).map(list).collect();
        // Slots behind the last one in use are not restored.
        WritesImage { slots: slots_of(&lists), lists }
    }

    fn waiting(&self, slot: u32) -> Waiting {
        let Pending { lpn, writer, last, plane, prior, dropped, obsolete, part, since, number, waiters, .. } = self.units[slot];
        assert!(writer == Writer::Buffer && waiters == NONE, "no command waits for a drive at rest");
        Waiting { slot, lpn, last, plane, prior, dropped, obsolete, part, since, number }
    }

    /// Returns a chain of waiting units, which begins with the one that came last, for saving: the oldest first.
    pub fn chain_image(&self, chain: u32) -> Vec<Waiting> {
        let next = |slot: u32| (slot != NONE).then_some(slot);
        let slots = std::iter::successors(next(chain), |&slot| next(self.units[slot].next));
        let mut units: Vec<Waiting> = slots.map(|slot| self.waiting(slot)).collect();
        units.reverse();
        units
    }

    /// Restores a saved chain, in other slots. Returns the unit with which it begins, or `NONE`.
    pub fn restore_chain(&mut self, units: &[Waiting]) -> u32 {
        units.iter().fold(NONE, |chain, unit| {
            let slot = self.accept(unit.lpn, Writer::Buffer, unit.last);
            self.keep(slot, unit.since, &DriveClock::default());
            (self.units[slot].number, self.units[slot].next) = (unit.number, chain);
            slot
        })
    }

    /// Restores a saved queue, which has been found sound.
    pub fn restore(&mut self, image: &WritesImage) {
        // No more slots than are in use: others are added in the same order as they are needed.
        let slots = slots_of(&image.lists);
        self.units = Slab::with_all_taken(slots);
        let mut is_free = vec![true; slots];
        let clock = DriveClock::default();
        for (list, units) in image.lists.iter().enumerate() {
            for unit in units {
                let &Waiting { slot, lpn, last, plane, prior, dropped, obsolete, part, since, number } = unit;
                self.units[slot] =
                    Pending { lpn, last, plane, prior, dropped, obsolete, part, number, waiters: NONE, ..Pending::default() };
                self.push(list, slot, since, &clock);
                is_free[slot as usize] = false;
            }
        }
        (0..slots as u32).rev().filter(|&slot| is_free[slot as usize]).for_each(|slot| self.units.release(slot));
    }

    /// Appends a unit to a list.
    #[inline]
    pub fn push(&mut self, list: usize, slot: u32, now: SimTime, clock: &DriveClock) {
        let unit = &mut self.units[slot];
        unit.since = now;
        clock.read_into(&mut unit.reading, now);
        if unit.waiters != NONE {
            self.filled_in(slot, now, clock);
        }
        self.append(list, slot);
    }

    /// Lets a unit wait in no list: the caller keeps it, by [`Pending::next`], until it is bound.
    #[inline]
    pub fn keep(&mut self, slot: u32, now: SimTime, clock: &DriveClock) {
        let unit = &mut self.units[slot];
        unit.since = now;
        clock.read_into(&mut unit.reading, now);
    }

    #[inline]
    fn append(&mut self, list: usize, slot: u32) {
        let tail = if self.heads[list] == NONE { NONE } else { self.tails[list] };
        let unit = &mut self.units[slot];
        unit.next = NONE;
        unit.previous = tail;
        unit.list = list as u32;
        if tail == NONE {
            self.heads[list] = slot;
        } else {
            self.units[tail].next = slot;
        }
        self.tails[list] = slot;
        self.lengths[list] += 1;
    }

    /// Moves a unit that was written again to the end of its list, with a new number. Returns the number that is free
    /// now: the old one or, if the unit is in no list, the new one.
    pub fn renew(&mut self, slot: u32, number: u64) -> u64 {
        let unit = &mut self.units[slot];
        let list = unit.list;
        if list == NONE {
            return number;
        }
        let freed = std::mem::replace(&mut unit.number, number);
        self.take_out(slot);
        self.append(list as usize, slot);
        freed
    }

    /// Makes a waiting unit obsolete and returns its older copy, which is now that of the later write; none if the unit
    /// is in no list, because the rest of it is being read.
    pub fn overtake(&mut self, slot: u32) -> Option<u32> {
        let unit = &mut self.units[slot];
        (unit.list != NONE).then(|| {
            unit.obsolete = true;
            std::mem::replace(&mut unit.prior, 0)
        })
    }

    /// Takes a unit out of its list, wherever it is; its slot belongs to the caller until released.
    pub fn take_out(&mut self, slot: u32) {
        let unit = &self.units[slot];
        let (list, previous, next) = (unit.list as usize, unit.previous, unit.next);
        if previous == NONE {
            self.heads[list] = next;
        } else {
            self.units[previous].next = next;
        }
        if next == NONE {
            self.tails[list] = previous;
        } else {
            self.units[next].previous = previous;
        }
        self.lengths[list] -= 1;
    }

    /// Returns the units of the write buffer that wait.
    pub fn buffered(&self) -> Buffered {
        let free: BTreeSet<u32> = self.units.free_slots().iter().copied().collect();
        let units: Vec<u32> = (0..self.units.len() as u32).filter(|slot| !free.contains(slot)).collect();
        Buffered {
            requests: units.iter().filter(|&&slot| self.units[slot].last).count() as u64,
            units: units.iter().map(|&slot| (slot, self.units[slot].lpn, self.units[slot].number)).collect(),
            flush_until: 0,
        }
    }

    /// Returns the number of units in the longest list.
    pub fn longest(&self) -> u64 {
        self.lengths.iter().copied().max().unwrap_or(0)
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
            self.units[head].previous = tail;
        }
        let mut moved = head;
        while moved != NONE {
            self.units[moved].list = to as u32;
            moved = self.units[moved].next;
        }
        self.tails[to] = self.tails[from];
        self.lengths[to] += std::mem::take(&mut self.lengths[from]);
    }

    /// Returns true if a program may be made of the units that wait in a list: if they fill a program unit, or if no
    /// further units are to be waited for (no write buffer, a flush, a shutdown).
    #[inline]
    pub fn may_pull(&self, list: usize, units_per_program: u32, gate: &Gate, buffering: &Buffering) -> bool {
        let (waiting, program) = (self.lengths[list], u64::from(units_per_program));
        // Always true but for buffers with watermarks or an order of their own.
        let is_free = !gate.holds && (!buffering.longest_first || waiting + program > self.longest());
        waiting >= program && is_free
            || waiting > 0 && (!buffering.waits_to_fill || gate.is_open || self.oldest_number(list) <= gate.flush_until)
    }

    fn oldest_number(&self, list: usize) -> u64 {
        self.head(list).map_or(u64::MAX, |slot| self.units[slot].number)
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
        let next = self.units[head].next;
        self.heads[list] = next;
        if next != NONE {
            self.units[next].previous = NONE;
        }
        self.lengths[list] -= 1;
        Some(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::{DriveWork, Rng};
    use std::collections::VecDeque;

    /// A step with two lists.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Push(usize),
        Pop(usize),
        HandOver(usize, usize),
    }

    const STEPS: [Step; 6] =
        [Step::Push(0), Step::Push(1), Step::Pop(0), Step::Pop(1), Step::HandOver(0, 1), Step::HandOver(1, 0)];

    /// Takes a step with the queue and with two plain lists of slots and instants. Asserts that they agree.
    fn apply(step: Step, now: u64, queue: &mut WriteQueue, model: &mut [VecDeque<(u32, u64)>; 2]) {
        match step {
            Step::Push(list) => {
                let slot = queue.accept(Lpn(now as u32), Writer::Buffer, false);
                assert!(model.iter().flatten().all(|(known, _)| *known != slot), "slot {slot} is in use");
                queue.push(list, slot, SimTime(now), &DriveClock::default());
                model[list].push_back((slot, now));
            }
            Step::Pop(list) => {
                let popped = queue.pop(list);
                assert_eq!(popped, model[list].pop_front().map(|(slot, _)| slot));
                popped.into_iter().for_each(|slot| queue.units.release(slot));
            }
            Step::HandOver(from, to) => {
                queue.hand_over(from, to);
                let moved = std::mem::take(&mut model[from]);
                model[to].extend(moved);
            }
        }
        for (list, model) in model.iter().enumerate() {
            let slots = std::iter::successors(queue.head(list), |&slot| queue.after(slot));
            assert!(slots.eq(model.iter().map(|(slot, _)| *slot)), "list {list} differs from {model:?}");
            assert_eq!(queue.oldest(list).map(|since| since.0), model.front().map(|(_, since)| *since));
            assert_eq!(queue.len(list), model.len() as u64);
        }
    }

    /// Every sequence of six steps, one after another in a queue whose slots are used again.
    #[test]
    fn every_short_sequence_keeps_the_order_of_the_lists() {
        let mut queue = WriteQueue::new(2);
        for sequence in 0..STEPS.len().pow(6) {
            let mut model = [VecDeque::new(), VecDeque::new()];
            for place in 0..6 {
                let step = STEPS[sequence / STEPS.len().pow(place) % STEPS.len()];
                apply(step, u64::from(place), &mut queue, &mut model);
            }
            [0, 1].into_iter().for_each(|list| {
                while !model[list].is_empty() {
                    apply(Step::Pop(list), 6, &mut queue, &mut model);
                }
            });
        }
        assert_eq!(queue.units.in_use(), 0);
        assert!(queue.units.len() <= 6, "slots are used again");
    }

    /// A slot that is used again holds nothing of the unit before.
    #[test]
    fn an_accepted_unit_begins_anew() {
        let mut queue = WriteQueue::new(1);
        let slot = queue.accept(Lpn(3), Writer::Command(CommandId(4)), true);
        let unit = &mut queue.units[slot];
        (unit.plane, unit.prior, unit.dropped, unit.filled_in, unit.number) = (Some(1), 9, true, Nanos(5), 4);
        queue.units.release(slot);
        let again = queue.accept(Lpn(7), Writer::Buffer, false);
        let Pending { lpn, writer, last, plane, prior, dropped, filled_in, number, .. } = queue.units[again];
        assert_eq!((again, lpn, writer, last), (slot, Lpn(7), Writer::Buffer, false));
        assert_eq!((plane, prior, dropped, filled_in, number), (None, 0, false, Nanos::ZERO, 0));
    }

    /// A unit that waits carries the reading of the clock at the instant at which it joined the queue.
    #[test]
    fn a_waiting_unit_knows_the_clock_of_its_arrival() {
        let (mut queue, mut clock) = (WriteQueue::new(1), DriveClock::default());
        clock.set(DriveWork::Erase, SimTime(10));
        let slot = queue.accept(Lpn(0), Writer::Buffer, true);
        queue.push(0, slot, SimTime(25), &clock);
        assert_eq!(queue.units[slot].reading, clock.read(SimTime(25)));
        assert_eq!(queue.units[slot].reading[DriveWork::Erase as usize], 15);
    }

    /// Saved queues, with gaps between the slots in use, are restored with all fields, and their slots are not given
    /// out again.
    #[test]
    fn a_saved_queue_is_restored() {
        let mut rng = Rng::stream(1, "queues");
        for _ in 0..200 {
            let (mut queue, mut model) = (WriteQueue::new(2), [VecDeque::new(), VecDeque::new()]);
            (0..20).for_each(|now| apply(STEPS[rng.below(6) as usize], now, &mut queue, &mut model));
            for (slot, since) in model.iter().flatten() {
                let unit = &mut queue.units[*slot];
                (unit.plane, unit.prior, unit.dropped, unit.last) = (Some(*slot), *slot + 9, since % 2 == 0, since % 3 == 0);
                unit.number = u64::from(*slot) + 5;
            }
            let image = queue.image();
            let mut restored = WriteQueue::new(2);
            restored.restore(&image);
            assert_eq!(format!("{:?}", restored.image()), format!("{image:?}"));
            (20..40).for_each(|now| apply(STEPS[rng.below(6) as usize], now, &mut restored, &mut model));
        }
    }

    #[test]
    #[should_panic(expected = "no command waits")]
    fn a_queue_in_which_a_command_waits_is_not_saved() {
        let mut queue = WriteQueue::new(1);
        let slot = queue.accept(Lpn(0), Writer::Command(CommandId(0)), true);
        queue.push(0, slot, SimTime(0), &DriveClock::default());
        queue.image();
    }
}
