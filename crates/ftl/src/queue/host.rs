//! Host writes that wait for dies, and the idle dies that may take them.

use super::idle::IdleDies;
use super::order::WriteAllocation;
use super::{Buffered, Buffering, Drain, Gate, WriteQueue, Writer};
use kit::archive::{Archive, Archived, require};
use kit::{DieId, HostUnit, Lpn, Outbox, ReadyDies, Record, SimTime};

/// Waiting host writes: in one list, from which idle dies take the oldest, or in a list for each die, which is chosen
/// on arrival.
pub(crate) struct HostWrites {
    pub queue: WriteQueue,
    pub gate: Gate,
    pub idle: IdleDies,
    allocation: WriteAllocation,
    /// Dies, with their groups of planes where planes take turns, in the order in which they take turns, and the
    /// position of the last write under round-robin allocation.
    turns: Vec<(DieId, Option<u32>)>,
    pub arrivals: u32,
    /// Writes were to be handed over to another die, and none had space.
    pub are_stranded: bool,
    units_per_program: u32,
    buffering: Buffering,
}

impl HostWrites {
    /// Returns the empty queue of a drive whose dies have these places in the allocation order.
    pub fn new(
        allocation: WriteAllocation,
        places: &[(DieId, Option<u32>)],
        units_per_program: u32,
        buffering: Buffering,
    ) -> HostWrites {
        let idle = IdleDies::new(places);
        HostWrites {
            queue: WriteQueue::new(if allocation == WriteAllocation::Pull { 1 } else { idle.die_count() }),
            gate: Gate::default(),
            idle,
            allocation,
            turns: places.to_vec(),
            arrivals: 0,
            are_stranded: false,
            units_per_program,
            buffering,
        }
    }

    /// Returns true if idle dies take writes from one list.
    #[inline]
    pub fn are_pulled(&self) -> bool {
        self.allocation == WriteAllocation::Pull
    }

    /// Returns the list from which a die takes writes.
    #[inline]
    pub fn list_of(&self, die: DieId) -> usize {
        if self.are_pulled() { 0 } else { die.index() }
    }

    /// Returns true if a die may take a program of the writes that wait for it ([`WriteQueue::may_pull`]).
    pub fn may_pull(&self, die: DieId) -> bool {
        self.may_pull_from(self.list_of(die))
    }

    /// Returns true if a program may be taken of the writes that wait in a list ([`WriteQueue::may_pull`]).
    #[inline]
    pub fn may_pull_from(&self, list: usize) -> bool {
        self.queue.may_pull(list, self.units_per_program, &self.gate, &self.buffering)
    }

    /// Accepts a unit of a host write. Returns its slot.
    #[inline]
    pub fn accept(&mut self, unit: &HostUnit, now: SimTime, out: &mut Outbox) -> u32 {
        let HostUnit { command, lpn, last, buffered, .. } = *unit;
        let writer = if buffered.is_some() { Writer::Buffer } else { Writer::Command(command) };
        let slot = self.queue.accept(lpn, writer, last);
        out.signals.queued_write_requests += u64::from(last);
        if let Some(number) = buffered {
            self.queue.units[slot].number = number;
            self.wait_if_durable(slot, unit, now, out);
        }
        note_accepted(unit, slot, out);
        slot
    }

    fn wait_if_durable(&mut self, slot: u32, unit: &HostUnit, now: SimTime, out: &Outbox) {
        if unit.durable {
            self.queue.wait_for(slot, unit.command, unit.stalled, now, &out.signals.clock);
        }
    }

    /// Lets a unit take the place of the one that waits in a slot of the write buffer.
    pub fn absorb(&mut self, slot: u32, (unit, number): (&HostUnit, u64), now: SimTime, out: &mut Outbox) {
        self.queue.units[slot].absorb(unit.whole);
        let renews = self.buffering.renews && self.queue.units[slot].number > self.gate.flush_until;
        out.handoff.released.push(if renews { self.queue.renew(slot, number) } else { number });
        self.wait_if_durable(slot, unit, now, out);
        note_accepted(unit, slot, out);
    }

    /// Adds a complete unit to the list that its die takes from: its own die's with `own`, and otherwise that of the
    /// die that the allocation chooses. Returns the list.
    #[inline]
    pub fn push(&mut self, slot: u32, own: Option<DieId>, now: SimTime, out: &mut Outbox) -> usize {
        let list = match (own, self.allocation) {
            (Some(die), _) => die.index(),
            (None, WriteAllocation::Pull) => 0,
            (None, WriteAllocation::Static) => self.assign(slot, self.queue.units[slot].lpn.index() % self.turns.len()),
            (None, WriteAllocation::RoundRobin) => {
                self.arrivals = (self.arrivals + 1) % self.turns.len() as u32;
                self.assign(slot, self.arrivals as usize)
            }
        };
        out.signals.queued_write_pages += 1;
        self.queue.push(list, slot, now, &out.signals.clock);
        list
    }

    /// Assigns a waiting unit the die and group of planes at a position in the allocation order. Returns the list of
    /// that die.
    fn assign(&mut self, slot: u32, position: usize) -> usize {
        let (die, plane) = self.turns[position];
        self.queue.units[slot].plane = plane;
        die.index()
    }

    /// Returns the die of a unit whose die follows from its number (`static` allocation).
    pub fn die_of(&self, lpn: Lpn) -> DieId {
        self.turns[lpn.index() % self.turns.len()].0
    }

    /// Forgets which dies are idle, and which of them had the last turn.
    pub fn forget_idle(&mut self) {
        self.idle = IdleDies::new(&self.turns);
    }

    /// Returns the number of turns of the dies.
    pub fn turn_count(&self) -> usize {
        self.turns.len()
    }

    /// Wakes a die for what waits in a list. `takes`: the die can take writes.
    #[inline]
    pub fn wake_for(&mut self, list: usize, takes: impl Fn(DieId) -> bool, ready: &mut ReadyDies) {
        if self.may_pull_from(list) {
            if self.are_pulled() {
                self.idle.wake_one(takes, ready);
            } else if self.idle.contains(DieId(list as u32)) {
                ready.mark(DieId(list as u32));
            }
        }
    }

    /// Wakes dies for all that waits.
    pub fn wake_for_all(&mut self, takes: impl Fn(DieId) -> bool, ready: &mut ReadyDies) {
        if self.are_pulled() {
            if self.queue.len(0) > 0 {
                self.idle.wake_one(takes, ready);
            }
        } else {
            (0..self.idle.die_count()).filter(|&die| self.queue.len(die) > 0).for_each(|die| ready.mark(DieId(die as u32)));
        }
    }

    /// Wakes the dies for which writes wait, so that they hand these over: a die has space.
    #[cold]
    pub fn wake_stranded(&mut self, ready: &mut ReadyDies) {
        self.are_stranded = false;
        self.wake_for_all(|_| true, ready);
    }

    /// Wakes other dies after a die took writes: they may take the next ones.
    pub fn wake_after_take(&mut self, takes: impl Fn(DieId) -> bool, ready: &mut ReadyDies) {
        if self.buffering.longest_first {
            self.wake_for_all(takes, ready);
        } else {
            self.wake_instead(takes, ready);
        }
    }

    /// Wakes another idle die for the writes that a die which has become busy may have been woken for.
    pub fn wake_instead(&mut self, takes: impl Fn(DieId) -> bool, ready: &mut ReadyDies) {
        if self.are_pulled() && self.may_pull_from(0) {
            self.idle.wake_one(takes, ready);
        }
    }

    /// Changes the conditions under which writes are programmed, and wakes dies.
    pub fn drain(&mut self, what: Drain, takes: impl Fn(DieId) -> bool, ready: &mut ReadyDies) {
        if self.gate.change(what) {
            self.wake_for_all(takes, ready);
        }
        if let Drain::All(_) = what {
            ready.mark_all();
        }
    }

    /// Has a unit of the write buffer programmed for which its command waits, with the units before it.
    #[inline]
    pub fn program_soon(&mut self, slot: u32, unit: &HostUnit, takes: impl Fn(DieId) -> bool, ready: &mut ReadyDies) {
        if unit.durable && unit.buffered.is_some() && self.buffering.waits_to_fill {
            let number = self.queue.units[slot].number;
            if number > self.gate.flush_until {
                self.drain(Drain::Flush(number), takes, ready);
            }
        }
    }

    /// Takes the oldest unit that waits for a die out of its list. Its slot is released once it is bound.
    pub fn take(&mut self, die: DieId) -> Option<u32> {
        self.queue.pop(self.list_of(die))
    }

    /// Returns the instant since which the oldest unit waits for a die.
    pub fn oldest(&self, die: DieId) -> Option<SimTime> {
        self.queue.oldest(self.list_of(die))
    }

    /// Saves, or loads, what waits and the turns of the dies. What is loaded is checked, on a drive of `user_units`.
    pub fn state(&mut self, archive: &mut Archive<'_>, user_units: u64, now: SimTime) -> Archived {
        let (lists, turns) = (self.queue.list_count(), self.turns.len() as u32);
        let (mut writes, mut idle) = (self.queue.image(), self.idle.image());
        archive.value(&mut writes)?;
        archive.value(&mut idle)?;
        archive.value(&mut self.arrivals)?;
        archive.value(&mut self.gate.flush_until)?;
        if archive.is_loading() {
            require(writes.lists.len() == lists, || "its write queue is not that of this drive".to_owned())?;
            require(self.idle.restore(idle), || "its idle dies are not those of this drive".to_owned())?;
            require(self.arrivals < turns, || format!("die {} of {turns} had the last turn", self.arrivals))?;
            let mut slots: Vec<u32> = writes.units().map(|unit| unit.slot).collect();
            slots.sort_unstable();
            let is_once =
                slots.windows(2).all(|pair| pair[0] < pair[1]) && slots.last().is_none_or(|last| (*last as usize) < writes.slots);
            require(is_once, || format!("units wait in slots that are not theirs: {slots:?} of {}", writes.slots))?;
            let strange = writes.units().find(|unit| u64::from(unit.lpn.0) >= user_units || unit.since > now);
            require(strange.is_none(), || format!("a unit waits that cannot be: {strange:?}"))?;
            self.queue.restore(&writes);
        }
        Ok(())
    }

    /// Returns the list and the slot of each unit that waits.
    pub fn waiting(&self) -> Vec<(usize, u32)> {
        let of_list = |list: usize| {
            std::iter::successors(self.queue.head(list), |&slot| self.queue.after(slot)).map(move |slot| (list, slot))
        };
        (0..self.queue.list_count()).flat_map(of_list).collect()
    }

    /// Returns the units of the write buffer that wait.
    pub fn buffered(&self) -> Buffered {
        Buffered { flush_until: self.gate.flush_until, ..self.queue.buffered() }
    }
}

/// Notes in the journal that a unit was accepted, and taken into a slot of the write buffer if it is to wait there.
fn note_accepted(unit: &HostUnit, slot: u32, out: &mut Outbox) {
    let HostUnit { command, lpn, buffered, .. } = *unit;
    out.journal.note(|| Record::WriteAccepted { command, lpn });
    if buffered.is_some() {
        out.journal.note(|| Record::Buffered { command, lpn, slot });
    }
}
