//! Suspension of operations in progress for the power of host reads on other dies (`power.cap_suspends`).
//!
//! Where the turn is to host reads that lack power, programs (and erases, where the flash suspends them) in progress
//! are suspended until these reads fit: each as for a read of its own die, with a command on its channel, the time to
//! suspend, and the limits of `flash.suspension`; and each at most `power.cap_suspends` times in this way. The
//! operation with the fewest such suspensions is chosen, so that all bear them alike; among equals that with the
//! longest rest, because one that ends soon makes room by itself.
//!
//! The room is free when the die has suspended. The operation then waits for power ahead of all operations that have
//! yet to begin, but for a limited number of reads ([`crate::power`]). When it is its turn and there is room, it takes
//! that, sends its resume command, and goes on after it. Nobody waits for a die that has taken room but cannot use it,
//! because the command gets the channel in finite time: a channel that is held between the attempts at a read
//! (`ecc.retries_hold`) is refused together with these suspensions.
//!
//! A suspended die serves host reads of its own, which count as reads before its operation; meanwhile the operation
//! does not wait for power.

use super::{Flash, turn};
use crate::config::Suspension;
use crate::die::{Die, Phase};
use crate::power::{CapSuspensions, Missing};
use crate::scheduler::BusPhase;
use kit::{DieId, OperationKind, Outbox, SimTime, Work};
use std::cmp::Reverse;

/// The operation of a die, as far as it makes room.
#[derive(Clone, Copy, Debug, Default)]
struct Yielding {
    /// Number of its suspensions for power.
    count: u32,
    /// True from the request of such a suspension until it goes on; or until the next operation begins, if it ends
    /// before it is suspended.
    is_chosen: bool,
    /// Number of reads that may yet begin before it, while it does not wait for power.
    reads: u32,
}

/// Suspensions that make room for reads.
#[derive(Clone, Debug)]
pub(super) struct MakingRoom {
    /// Largest number of suspensions of an operation.
    most: u32,
    rule: Suspension,
    dies: Vec<Yielding>,
    /// Number of operations that are suspended, and since the start of the measurement: number of suspensions, and
    /// their time up to `at` \[ns\].
    open: u64,
    count: u64,
    time_ns: u64,
    at: SimTime,
}

impl MakingRoom {
    /// Returns the suspensions of `dies` dies, `most` of each operation; `None` if there are none.
    pub fn of(most: u32, rule: &Suspension, dies: usize) -> Option<MakingRoom> {
        let dies = vec![Yielding::default(); dies];
        let none = MakingRoom { most, rule: rule.clone(), dies, open: 0, count: 0, time_ns: 0, at: SimTime::ZERO };
        (most > 0).then_some(none)
    }

    /// Begins a new measurement.
    pub fn restart(&mut self, now: SimTime) {
        (self.count, self.time_ns, self.at) = (self.open, 0, now);
    }

    /// Takes over the measurements of another one, in whose place this one comes at `now`.
    pub fn take_measurements(&mut self, other: &MakingRoom, now: SimTime) {
        let CapSuspensions { count, time_ns } = other.report(now);
        (self.count, self.time_ns, self.at) = (count, time_ns, now);
    }

    /// Returns the number of suspensions since the start of the measurement, and their time.
    pub fn report(&self, now: SimTime) -> CapSuspensions {
        CapSuspensions { count: self.count, time_ns: self.time_ns + self.open * now.since(self.at).0 }
    }

    /// Records that the operation of a die, no read, is about to begin.
    pub fn begins(&mut self, die: DieId) {
        self.dies[die.index()] = Yielding::default();
    }

    fn advance(&mut self, now: SimTime) {
        self.time_ns += self.open * now.since(self.at).0;
        self.at = now;
    }

    /// Records that the operation of a die is suspended. Returns true if it is for power.
    fn suspends(&mut self, die: DieId, now: SimTime) -> bool {
        let is_chosen = self.dies[die.index()].is_chosen;
        if is_chosen {
            self.advance(now);
            (self.open, self.count) = (self.open + 1, self.count + 1);
        }
        is_chosen
    }

    /// Records that the operation of a die goes on, if it was suspended for power.
    fn goes_on(&mut self, die: DieId, now: SimTime) {
        if std::mem::take(&mut self.dies[die.index()].is_chosen) {
            self.advance(now);
            self.open -= 1;
        }
    }
}

impl Flash {
    fn making_room(&mut self) -> Option<&mut MakingRoom> {
        self.control.as_mut().and_then(|control| control.making_room.as_mut())
    }

    /// Returns true if the operation of a die is, or is about to be, suspended for power.
    pub(super) fn yields(&self, die_id: DieId) -> bool {
        let making_room = self.control.as_ref().and_then(|control| control.making_room.as_ref());
        making_room.is_some_and(|making_room| making_room.dies[die_id.index()].is_chosen)
    }

    /// Requests suspensions until those host reads that it is the turn of have power, as far as there are operations to
    /// suspend.
    #[inline(never)]
    pub(super) fn make_room(&mut self, now: SimTime, out: &mut Outbox) {
        let Some(control) = self.control.as_deref() else { return };
        let (Some(_), Some(limiter)) = (&control.making_room, &control.limiter) else { return };
        if out.signals.hold {
            return;
        }
        let Some(Missing { first, since, .. }) = limiter.missing() else { return };
        // Suspensions that do not make room for a single read would only take time.
        let dies = (0..self.dies.len() as u32).map(DieId);
        let offered: u64 = dies.map(|die| self.may_yield(die, since, now, out)).sum();
        if offered < first {
            return;
        }
        while let Some(Missing { since, .. }) = self.control.as_ref().and_then(|control| control.limiter.as_ref()?.missing())
            && let Some(die_id) = self.chosen(since, now, out)
        {
            self.request_room(die_id, now, out);
        }
    }

    /// Returns the current that a suspension of the operation in progress on a die, for a read that asked at `since`,
    /// would free \[uA\]; 0 if the operation may not be suspended.
    fn may_yield(&self, die_id: DieId, since: SimTime, now: SimTime, out: &Outbox) -> u64 {
        let Some(control) = self.control.as_deref() else { return 0 };
        let (Some(making_room), Some(limiter)) = (&control.making_room, &control.limiter) else { return 0 };
        let (die, taken) = (&self.dies[die_id.index()], limiter.taken_before(die_id, since));
        if taken == 0 || die.phase != Phase::Array || die.suspended.is_some() {
            return 0;
        }
        let rule = &making_room.rule;
        let allowed = match out.operations[die.running].kind {
            OperationKind::Program => rule.program,
            OperationKind::Erase | OperationKind::LazyErase => rule.erase,
            OperationKind::Read | OperationKind::Copyback => false,
        };
        let remaining = die.array_end.since(now);
        let yields = allowed
            && making_room.dies[die_id.index()].count < making_room.most
            && self.progress[die.running as usize].suspensions < rule.most
            && remaining >= rule.least_remaining
            // One that ends before would make room by itself.
            && remaining > self.timing.suspend_command() + rule.suspend_time;
        if yields { taken } else { 0 }
    }

    /// Returns the die whose operation is to be suspended next for a read that asked at `since`, if there is one.
    fn chosen(&self, since: SimTime, now: SimTime, out: &Outbox) -> Option<DieId> {
        let making_room = self.control.as_deref()?.making_room.as_ref()?;
        let rank = |die: &DieId| (making_room.dies[die.index()].count, Reverse(self.dies[die.index()].array_end), *die);
        (0..self.dies.len() as u32).map(DieId).filter(|die| self.may_yield(*die, since, now, out) > 0).min_by_key(rank)
    }

    /// Requests the suspension of the operation in progress on a die.
    fn request_room(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let Some(control) = self.control.as_deref_mut() else { return };
        let (Some(making_room), Some(limiter)) = (&mut control.making_room, &mut control.limiter) else { return };
        let yielding = &mut making_room.dies[die_id.index()];
        (yielding.count, yielding.is_chosen) = (yielding.count + 1, true);
        limiter.leave(die_id);
        let die = &mut self.dies[die_id.index()];
        self.progress[die.running as usize].suspensions += 1;
        die.phase = Phase::SuspendRequested;
        let hold = self.timing.suspend_command();
        if self.acquire_channel(die_id, BusPhase::Command, hold, now, &mut out.events) {
            self.suspend_granted(die_id, hold, now, out);
        }
    }

    /// Withdraws the request to suspend the operation of a die for power: it keeps its power. Returns false if the
    /// request was not for power.
    pub(super) fn withdraw_room(&mut self, die_id: DieId) -> bool {
        let Some(control) = self.control.as_deref_mut() else { return false };
        let (Some(making_room), Some(limiter)) = (&mut control.making_room, &mut control.limiter) else { return false };
        let yielding = &mut making_room.dies[die_id.index()];
        if !std::mem::take(&mut yielding.is_chosen) {
            return false;
        }
        yielding.count -= 1;
        limiter.stay(die_id);
        true
    }

    /// Records that the suspend command of a die is on its way. Returns true if the operation is suspended for power.
    pub(super) fn suspends_for_power(&mut self, die_id: DieId, now: SimTime) -> bool {
        self.making_room().is_some_and(|making_room| making_room.suspends(die_id, now))
    }

    /// Records that the operation of a die goes on, if it was suspended for power.
    pub(super) fn yields_no_more(&mut self, die_id: DieId, now: SimTime) {
        if let Some(making_room) = self.making_room() {
            making_room.goes_on(die_id, now);
        }
    }

    /// Handles the end of the suspension of an operation for power, which the die gives back.
    #[inline(never)]
    pub(super) fn suspended_for_power(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let Some(control) = self.control.as_deref_mut() else { return };
        let (Some(making_room), Some(limiter)) = (&mut control.making_room, &mut control.limiter) else { return };
        making_room.dies[die_id.index()].reads = limiter.reads_ahead();
        limiter.give_back(die_id);
        let has_read = self.dies[die_id.index()].has_host_read() && !out.signals.hold;
        if !self.serves_own_read(die_id, has_read) {
            self.wait_to_go_on(die_id, now, out);
        }
        self.follow_temperature(now, out);
        self.grant_power(now, out);
    }

    /// Lets a die whose operation is suspended for power serve a host read of its own, if one waits (`has_read`) and
    /// may begin before the operation. Returns false if none may.
    fn serves_own_read(&mut self, die_id: DieId, has_read: bool) -> bool {
        let Some(control) = self.control.as_deref_mut() else { return false };
        let (Some(making_room), Some(limiter)) = (&mut control.making_room, &mut control.limiter) else { return false };
        let yielding = &mut making_room.dies[die_id.index()];
        yielding.reads = limiter.reads_before(die_id).unwrap_or(yielding.reads);
        has_read && yielding.reads > 0
    }

    /// Lets the operation of a die, which is suspended for power, wait for power to go on.
    fn wait_to_go_on(&mut self, die_id: DieId, now: SimTime, out: &mut Outbox) {
        let Some(control) = self.control.as_deref_mut() else { return };
        let (Some(making_room), Some(limiter)) = (&control.making_room, &mut control.limiter) else { return };
        let die = &mut self.dies[die_id.index()];
        let (Some(meter), Some(suspended)) = (&self.meter, &die.suspended) else { return };
        let need = meter.peak_of_rest(die_id, suspended.remaining.0);
        limiter.pause(die_id, need, making_room.dies[die_id.index()].reads);
        if die.clock.work() != Work::PowerWait {
            turn(die, Work::PowerWait, now, &mut out.signals);
        }
    }

    /// Dispatches to a die whose operation is suspended for power; `has_read`: a host read waits for the die. Returns
    /// false if that is to start.
    #[inline(never)]
    pub(super) fn waits_to_go_on(&mut self, die_id: DieId, has_read: bool, now: SimTime, out: &mut Outbox) -> bool {
        let serves_read = self.serves_own_read(die_id, has_read);
        let Some(control) = self.control.as_deref_mut() else { return false };
        let (Some(making_room), Some(limiter)) = (&mut control.making_room, &mut control.limiter) else { return false };
        let waits = limiter.reads_before(die_id).is_some();
        if serves_read {
            making_room.dies[die_id.index()].reads -= 1;
            limiter.unpause(die_id);
        } else if !waits {
            self.wait_to_go_on(die_id, now, out);
        }
        if waits == serves_read {
            self.grant_power(now, out);
        }
        !serves_read
    }
}

impl Die {
    fn has_host_read(&self) -> bool {
        self.host_reads.head != crate::die::NONE
    }
}
