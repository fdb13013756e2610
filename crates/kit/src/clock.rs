//! Work clocks: the time that a resource has spent on each kind of work. They split a wait into its causes, at a cost
//! that does not depend on the number of operations during the wait.

use crate::cause::{Cause, Ledger};
use crate::units::{Nanos, SimTime};

/// Kind of work of a die, or of the drive as a whole, by which waits are charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Work {
    /// No work.
    #[default]
    Idle = 0,
    /// A read for a host command.
    HostRead = 1,
    /// A program for a host command.
    HostProgram = 2,
    /// A read for a relocation.
    RelocationRead = 3,
    /// A program for a relocation.
    RelocationProgram = 4,
    /// An erase.
    Erase = 5,
    /// Of a die: suspending, suspended or resuming, or held for the next attempt at a read. Of the drive: held back by
    /// a policy.
    Held = 6,
    /// Of the drive: no die has a free block for host data.
    NoSpace = 7,
}

/// Number of kinds of [`Work`].
pub const WORK_COUNT: usize = 8;

/// Cause to which a wait for a resource is charged, by the resource's work. A wait for an idle resource counts as held,
/// because the resource was free but not allowed to start.
const CAUSE_OF: [Cause; WORK_COUNT] = [
    Cause::DieHeld,
    Cause::DieHostRead,
    Cause::DieHostProgram,
    Cause::DieRelocation,
    Cause::DieRelocation,
    Cause::DieErase,
    Cause::DieHeld,
    Cause::FreeSpace,
];

/// Nanoseconds spent on each kind of work up to one instant. The difference of two readings is the exact split of the
/// time between them.
pub type Reading = [u64; WORK_COUNT];

/// Clock of the time that a resource has spent on each kind of work.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkClock {
    spent: Reading,
    work: Work,
    since: SimTime,
}

impl WorkClock {
    /// Switches the clock to `work` from `now` on.
    #[inline]
    pub fn set(&mut self, work: Work, now: SimTime) {
        self.spent[self.work as usize] += now.since(self.since).0;
        self.work = work;
        self.since = now;
    }

    /// Returns the current kind of work.
    #[inline]
    pub fn work(&self) -> Work {
        self.work
    }

    /// Returns the instant at which the current kind of work began.
    #[inline]
    pub fn since(&self) -> SimTime {
        self.since
    }

    /// Returns the time spent on each kind of work until `now`.
    #[inline]
    pub fn read(&self, now: SimTime) -> Reading {
        let mut reading = self.spent;
        reading[self.work as usize] += now.since(self.since).0;
        reading
    }

    /// Like [`WorkClock::read`], but writes into `reading` in place: copying a reading right after its narrow stores
    /// would stall.
    #[inline]
    pub fn read_into(&self, reading: &mut Reading, now: SimTime) {
        *reading = self.spent;
        reading[self.work as usize] += now.since(self.since).0;
    }

    /// Writes the time spent on each kind of work since the reading `before` into `spent`.
    // A reading includes the work in progress, which `self.spent` counts only once it ends: the difference may wrap
    // below zero until the work in progress is added.
    #[inline]
    pub fn spent_since(&self, before: &Reading, now: SimTime, spent: &mut Reading) {
        for work in 0..WORK_COUNT {
            spent[work] = self.spent[work].wrapping_sub(before[work]);
        }
        let current = &mut spent[self.work as usize];
        *current = current.wrapping_add(now.since(self.since).0);
    }

    /// Charges the time since the reading `before` to the causes of a wait.
    #[inline]
    pub fn charge_since(&self, before: &Reading, now: SimTime, ledger: &mut Ledger) {
        let mut charge = |work: usize, span: u64| {
            let sum = &mut ledger.0[CAUSE_OF[work] as usize];
            *sum = sum.wrapping_add(span);
        };
        (0..WORK_COUNT).for_each(|work| charge(work, self.spent[work].wrapping_sub(before[work])));
        charge(self.work as usize, now.since(self.since).0);
    }

    /// Returns the time until `now` during which the resource was not idle.
    pub fn busy(&self, now: SimTime) -> Nanos {
        Nanos(self.read(now)[1..].iter().sum())
    }
}

/// Charges time spent on each kind of work to the causes of a wait.
#[inline]
pub fn charge_wait(ledger: &mut Ledger, spent: &Reading) {
    for work in 0..WORK_COUNT {
        ledger.0[CAUSE_OF[work] as usize] += spent[work];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_split_exactly() {
        let mut clock = WorkClock::default();
        clock.set(Work::HostProgram, SimTime(10));
        let before = clock.read(SimTime(15));
        clock.set(Work::Erase, SimTime(40));
        clock.set(Work::RelocationRead, SimTime(100));
        let mut ledger = Ledger::default();
        clock.charge_since(&before, SimTime(107), &mut ledger);
        let (mut spent, mut again) = (Reading::default(), Ledger::default());
        clock.spent_since(&before, SimTime(107), &mut spent);
        charge_wait(&mut again, &spent);
        assert_eq!(again, ledger);
        assert_eq!(ledger.get(Cause::DieHostProgram), Nanos(25));
        assert_eq!(ledger.get(Cause::DieErase), Nanos(60));
        assert_eq!(ledger.get(Cause::DieRelocation), Nanos(7));
        assert_eq!(ledger.total(), Nanos(92));
        assert_eq!(clock.busy(SimTime(107)), Nanos(97));
    }
}
