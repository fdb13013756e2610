//! Work clocks: the time that a resource has spent on each kind of work. They split a wait into its causes, at a cost
//! that does not depend on the number of operations during the wait.

use crate::cause::{Cause, Ledger};
use crate::units::{Nanos, SimTime};

/// Number of kinds of work of a resource.
pub const WORK_COUNT: usize = 9;

/// A resource's kinds of work, the default being none.
pub trait Kind: Copy + Default + PartialEq {
    /// Cause to which a wait for the resource is charged, by its work. A wait for an idle resource counts as held,
    /// because the resource was free but not allowed to start.
    const CAUSES: [Cause; WORK_COUNT];

    /// Returns the number of this kind, by which [`Kind::CAUSES`] and readings are ordered.
    fn index(self) -> usize;
}

/// Kind of work of a die.
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
    /// Suspending, suspended or resuming, or held for the next attempt at a read.
    Held = 6,
    /// No work: the next operation waits for a page buffer of the channel.
    Starved = 7,
    /// No work: an operation on the die waits for power, or the die may not begin one during a suspension window.
    PowerWait = 8,
}

impl Kind for Work {
    const CAUSES: [Cause; WORK_COUNT] = [
        Cause::DieHeld,
        Cause::DieHostRead,
        Cause::DieHostProgram,
        Cause::DieRelocation,
        Cause::DieRelocation,
        Cause::DieErase,
        Cause::DieHeld,
        Cause::PageBuffer,
        Cause::PowerWait,
    ];

    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

/// Kind of work of the drive as a whole, by which waits for any of its dies are charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum DriveWork {
    /// No die works.
    #[default]
    Idle = 0,
    /// Some die reads for a host command.
    HostRead = 1,
    /// Some die programs for a host command.
    HostProgram = 2,
    /// Some die reads or programs for a relocation.
    Relocation = 3,
    /// Some die erases.
    Erase = 4,
    /// Some die is starved for a page buffer.
    Starved = 5,
    /// A policy holds back other work.
    Held = 6,
    /// No die has a free block for host data.
    NoSpace = 7,
    /// Some die waits for power.
    PowerWait = 8,
}

impl Kind for DriveWork {
    const CAUSES: [Cause; WORK_COUNT] = [
        Cause::DieHeld,
        Cause::DieHostRead,
        Cause::DieHostProgram,
        Cause::DieRelocation,
        Cause::DieErase,
        Cause::PageBuffer,
        Cause::DieHeld,
        Cause::FreeSpace,
        Cause::PowerWait,
    ];

    #[inline]
    fn index(self) -> usize {
        self as usize
    }
}

/// Nanoseconds spent on each kind of work up to one instant. The difference of two readings is the exact split of the
/// time between them.
pub type Reading = [u64; WORK_COUNT];

/// Returns the part of a reading of a die's clock in which the die worked: it was neither idle nor starved, and did not
/// wait for power.
pub fn busy(reading: &Reading) -> Nanos {
    Nanos(reading[Work::HostRead as usize..Work::Starved as usize].iter().sum())
}

/// Clock of the time that a resource has spent on each kind of work.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkClock<K> {
    spent: Reading,
    work: K,
    since: SimTime,
}

/// Clock of a die.
pub type DieClock = WorkClock<Work>;

/// Clock of the drive as a whole.
pub type DriveClock = WorkClock<DriveWork>;

impl<K: Kind> WorkClock<K> {
    /// Switches the clock to `work` from `now` on.
    #[inline]
    pub fn set(&mut self, work: K, now: SimTime) {
        self.spent[self.work.index()] += now.since(self.since).0;
        self.work = work;
        self.since = now;
    }

    /// Returns the current kind of work.
    #[inline]
    pub fn work(&self) -> K {
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
        reading[self.work.index()] += now.since(self.since).0;
        reading
    }

    /// Like [`WorkClock::read`], but writes into `reading` in place: copying a reading right after its narrow stores
    /// would stall.
    #[inline]
    pub fn read_into(&self, reading: &mut Reading, now: SimTime) {
        *reading = self.spent;
        reading[self.work.index()] += now.since(self.since).0;
    }

    /// Writes the time spent on each kind of work since the reading `before` into `spent`.
    // A reading includes the work in progress, which `self.spent` counts only once it ends: the difference may wrap
    // below zero until the work in progress is added.
    #[inline]
    pub fn spent_since(&self, before: &Reading, now: SimTime, spent: &mut Reading) {
        for work in 0..WORK_COUNT {
            spent[work] = self.spent[work].wrapping_sub(before[work]);
        }
        let current = &mut spent[self.work.index()];
        *current = current.wrapping_add(now.since(self.since).0);
    }

    /// Charges the time since the reading `before` to the causes of a wait.
    #[inline]
    pub fn charge_since(&self, before: &Reading, now: SimTime, ledger: &mut Ledger) {
        let mut charge = |work: usize, span: u64| {
            let sum = &mut ledger.0[K::CAUSES[work] as usize];
            *sum = sum.wrapping_add(span);
        };
        (0..WORK_COUNT).for_each(|work| charge(work, self.spent[work].wrapping_sub(before[work])));
        charge(self.work.index(), now.since(self.since).0);
    }
}

impl DieClock {
    /// Returns the time until `now` during which the die worked.
    pub fn busy(&self, now: SimTime) -> Nanos {
        busy(&self.read(now))
    }
}

/// Charges time that the drive spent on each kind of work to the causes of a wait.
#[inline]
pub fn charge_wait(ledger: &mut Ledger, spent: &Reading) {
    for (cause, time) in DriveWork::CAUSES.iter().zip(spent) {
        ledger.0[*cause as usize] += time;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_split_exactly() {
        let mut clock = DieClock::default();
        clock.set(Work::HostProgram, SimTime(10));
        let before = clock.read(SimTime(15));
        clock.set(Work::Erase, SimTime(40));
        clock.set(Work::RelocationRead, SimTime(100));
        let mut ledger = Ledger::default();
        clock.charge_since(&before, SimTime(107), &mut ledger);
        assert_eq!(ledger.get(Cause::DieHostProgram), Nanos(25));
        assert_eq!(ledger.get(Cause::DieErase), Nanos(60));
        assert_eq!(ledger.get(Cause::DieRelocation), Nanos(7));
        assert_eq!(ledger.total(), Nanos(92));
        assert_eq!(clock.busy(SimTime(107)), Nanos(97));
        // A starved die does not work, but a wait for it has its own cause.
        clock.set(Work::Starved, SimTime(107));
        clock.set(Work::HostRead, SimTime(110));
        assert_eq!(clock.busy(SimTime(111)), Nanos(98));
        // Nor does one that waits for power.
        clock.set(Work::PowerWait, SimTime(111));
        assert_eq!(clock.busy(SimTime(120)), Nanos(98));
        let mut ledger = Ledger::default();
        clock.charge_since(&before, SimTime(120), &mut ledger);
        let causes = [Cause::PageBuffer, Cause::DieHostRead, Cause::PowerWait];
        assert_eq!(causes.map(|cause| ledger.get(cause).0), [3, 1, 9]);
    }

    /// Each kind of work of the drive for a time of its own: charged from a reading at once, or first measured and then
    /// charged, a wait has the same causes.
    #[test]
    fn a_wait_for_the_drive_is_measured_or_charged() {
        use DriveWork::{Erase, Held, HostProgram, HostRead, Idle, NoSpace, PowerWait, Relocation, Starved};
        let (mut clock, mut now) = (DriveClock::default(), SimTime(5));
        let before = clock.read(SimTime(2));
        let works = [HostRead, HostProgram, Relocation, Erase, Starved, Held, NoSpace, Idle, PowerWait];
        for (index, work) in works.into_iter().enumerate() {
            clock.set(work, now);
            now = now + Nanos(1 << index);
        }
        let (mut ledger, mut spent, mut again) = (Ledger::default(), Reading::default(), Ledger::default());
        clock.charge_since(&before, now, &mut ledger);
        clock.spent_since(&before, now, &mut spent);
        charge_wait(&mut again, &spent);
        assert_eq!(again, ledger);
        let causes = [
            Cause::DieHostRead,
            Cause::DieHostProgram,
            Cause::DieRelocation,
            Cause::DieErase,
            Cause::PageBuffer,
            Cause::FreeSpace,
            Cause::PowerWait,
        ];
        assert_eq!(causes.map(|cause| ledger.get(cause).0), [1, 2, 4, 8, 16, 64, 256]);
        assert_eq!((ledger.get(Cause::DieHeld), ledger.total()), (Nanos(32 + 128 + 3), now.since(SimTime(2))));
    }
}
