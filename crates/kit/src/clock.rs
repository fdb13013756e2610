//! What a resource has been doing: the clocks that split a wait into its causes, however many operations went by.

use crate::cause::{Cause, Ledger};
use crate::units::{Nanos, SimTime};

/// What a die is doing, as those who wait for it are charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Work {
    /// Nothing.
    #[default]
    Idle = 0,
    /// A read for a host command.
    HostRead = 1,
    /// A program for a host command.
    HostProgram = 2,
    /// A read of a relocation.
    RelocationRead = 3,
    /// A program of a relocation.
    RelocationProgram = 4,
    /// An erase.
    Erase = 5,
    /// Suspending, resuming, or held by a policy.
    Held = 6,
    /// Nobody has a free block to write to.
    NoSpace = 7,
}

/// How many kinds of [`Work`] there are.
pub const WORK_COUNT: usize = 8;

/// The cause that a wait for a resource doing this work is charged to.
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

/// Time spent per kind of work, as read at one instant. Two readings subtract to the exact split of the time between them.
pub type Reading = [u64; WORK_COUNT];

/// Nanoseconds a resource has spent on each kind of work, up to any instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkClock {
    spent: Reading,
    work: Work,
    since: SimTime,
}

impl WorkClock {
    /// From `now` on the resource does `work`.
    #[inline]
    pub fn set(&mut self, work: Work, now: SimTime) {
        self.spent[self.work as usize] += now.since(self.since).0;
        self.work = work;
        self.since = now;
    }

    /// What the resource does.
    #[inline]
    pub fn work(&self) -> Work {
        self.work
    }

    /// Since when it has been doing that.
    #[inline]
    pub fn since(&self) -> SimTime {
        self.since
    }

    /// The time spent on each kind of work until `now`.
    #[inline]
    pub fn read(&self, now: SimTime) -> Reading {
        let mut reading = self.spent;
        reading[self.work as usize] += now.since(self.since).0;
        reading
    }

    /// The same, written where it is kept: copying a reading that was just made waits for its narrow stores.
    #[inline]
    pub fn read_into(&self, reading: &mut Reading, now: SimTime) {
        *reading = self.spent;
        reading[self.work as usize] += now.since(self.since).0;
    }

    /// The time spent on each kind of work since a reading, written where it is kept.
    // A reading counts work that was going on, which `spent` does not until it ends: a difference alone may wrap.
    #[inline]
    pub fn spent_since(&self, before: &Reading, now: SimTime, spent: &mut Reading) {
        for work in 0..WORK_COUNT {
            spent[work] = self.spent[work].wrapping_sub(before[work]);
        }
        let current = &mut spent[self.work as usize];
        *current = current.wrapping_add(now.since(self.since).0);
    }

    /// Charges the time since a reading to the causes of a wait.
    #[inline]
    pub fn charge_since(&self, before: &Reading, now: SimTime, ledger: &mut Ledger) {
        let mut charge = |work: usize, span: u64| {
            let sum = &mut ledger.0[CAUSE_OF[work] as usize];
            *sum = sum.wrapping_add(span);
        };
        (0..WORK_COUNT).for_each(|work| charge(work, self.spent[work].wrapping_sub(before[work])));
        charge(self.work as usize, now.since(self.since).0);
    }

    /// Time not idle until `now`.
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
