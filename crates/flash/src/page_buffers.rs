//! Page buffers of a channel's controller, as credits, and the dies that wait for one.

use kit::{DieId, Nanos, SimTime};

/// The purpose for which a die waits for a page buffer. Of dies that began to wait at one instant, the lower goes
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Purpose {
    /// The data of a host read, which is in the die's register.
    HostRead,
    /// The data of another read.
    RelocationRead,
    /// An operation that the die has not begun.
    Start,
}

/// A die that waits for a page buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Waiting {
    pub die: DieId,
    pub since: SimTime,
    pub purpose: Purpose,
}

/// The page buffers of one channel. A die waits at most once: for the data of the read on it, or before it begins an
/// operation.
#[derive(Clone, Debug)]
pub(crate) struct PageBuffers {
    count: u32,
    free: u32,
    /// Dies that wait, in the order of their turns.
    waiting: Vec<Waiting>,
    /// Time for which buffers were in use until `since`, all together.
    used: Nanos,
    since: SimTime,
}

impl PageBuffers {
    /// Returns `count` free buffers of a channel with `dies` dies.
    pub fn new(count: u32, dies: usize) -> PageBuffers {
        PageBuffers { count, free: count, waiting: Vec::with_capacity(dies), used: Nanos::ZERO, since: SimTime::ZERO }
    }

    /// Returns true if a die may have a buffer now: one is free, and no other die goes before it.
    #[inline]
    pub fn may_take(&self, die: DieId) -> bool {
        self.free > 0 && self.waiting.first().is_none_or(|first| first.die == die)
    }

    /// Takes a free buffer for a die that may have it, which then waits no longer.
    pub fn take(&mut self, die: DieId, now: SimTime) {
        assert!(self.may_take(die), "a page buffer is taken in turn");
        self.withdraw(die);
        self.count_time(now);
        self.free -= 1;
    }

    /// Returns a buffer.
    pub fn give_back(&mut self, now: SimTime) {
        assert!(self.free < self.count, "only what was taken is given back");
        self.count_time(now);
        self.free += 1;
    }

    /// Adds a die to those that wait, unless it waits already: behind all that have waited for longer, and behind those
    /// that began at the same instant for a purpose that goes first or for the same one.
    pub fn wait(&mut self, waiting: Waiting) {
        if self.waiting.iter().any(|other| other.die == waiting.die) {
            return;
        }
        let key = |one: &Waiting| (one.since, one.purpose);
        let at = self.waiting.partition_point(|other| key(other) <= key(&waiting));
        self.waiting.insert(at, waiting);
    }

    /// Removes a die from those that wait.
    pub fn withdraw(&mut self, die: DieId) {
        self.waiting.retain(|waiting| waiting.die != die);
    }

    /// Returns the die whose turn it is, if a buffer is free for it.
    pub fn next(&self) -> Option<Waiting> {
        self.waiting.first().copied().filter(|_| self.free > 0)
    }

    /// Returns true if all buffers are free, and no die waits for one.
    pub fn is_at_rest(&self) -> bool {
        self.free == self.count && self.waiting.is_empty()
    }

    /// Takes over the measurements of other buffers, in whose place these come at `now`.
    pub fn take_measurements(&mut self, other: &PageBuffers, now: SimTime) {
        (self.used, self.since) = (other.used(now), now);
    }

    /// Returns the number of buffers.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Returns the time until `now` for which buffers were in use, all together.
    pub fn used(&self, now: SimTime) -> Nanos {
        Nanos(self.used.0 + u64::from(self.count - self.free) * now.since(self.since).0)
    }

    fn count_time(&mut self, now: SimTime) {
        (self.used, self.since) = (self.used(now), now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PURPOSES: [Purpose; 3] = [Purpose::HostRead, Purpose::RelocationRead, Purpose::Start];

    /// Every sequence of six steps on two buffers, against plain lists. A step begins a wait of a further die for one
    /// of the three purposes, at the same instant as the step before or later; serves the die whose turn it is; gives a
    /// buffer back; or withdraws the die that has waited longest.
    #[test]
    fn every_short_sequence_is_served_in_the_order_of_asking() {
        for sequence in 0..9u32.pow(6) {
            let (mut buffers, mut now, mut used) = (PageBuffers::new(2, 8), 100, 0);
            // Dies that wait, by instant, purpose and number; and the number of buffers that are in use.
            let (mut model, mut taken) = (Vec::<(u64, usize, u32)>::new(), 0);
            for number in 0..6 {
                let choice = (sequence / 9u32.pow(number) % 9) as usize;
                match choice {
                    0..6 => {
                        let later = u64::from(choice >= 3);
                        (now, used) = (now + later, used + later * taken);
                        let waiting = Waiting { die: DieId(number), since: SimTime(now), purpose: PURPOSES[choice % 3] };
                        buffers.wait(waiting);
                        buffers.wait(waiting);
                        model.push((now, choice % 3, number));
                        model.sort_unstable();
                    }
                    6 if taken < 2 && !model.is_empty() => {
                        let (since, purpose, die) = model.remove(0);
                        let waiting = Waiting { die: DieId(die), since: SimTime(since), purpose: PURPOSES[purpose] };
                        assert_eq!(buffers.next(), Some(waiting), "{sequence}");
                        assert!(!buffers.may_take(DieId(99)), "{sequence}: nobody overtakes");
                        buffers.take(DieId(die), SimTime(now));
                        taken += 1;
                    }
                    7 if taken > 0 => {
                        buffers.give_back(SimTime(now));
                        taken -= 1;
                    }
                    8 if !model.is_empty() => buffers.withdraw(DieId(model.remove(0).2)),
                    _ => {}
                }
                let next = (taken < 2).then(|| model.first().map(|first| DieId(first.2))).flatten();
                assert_eq!(buffers.next().map(|next| next.die), next, "{sequence}");
                assert_eq!(buffers.may_take(DieId(99)), taken < 2 && model.is_empty(), "{sequence}");
                assert_eq!(buffers.is_at_rest(), taken == 0 && model.is_empty());
                assert_eq!(buffers.used(SimTime(now + 10)), Nanos(used + 10 * taken), "{sequence}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "only what was taken is given back")]
    fn a_buffer_that_was_not_taken_is_not_given_back() {
        PageBuffers::new(2, 1).give_back(SimTime(1));
    }

    #[test]
    #[should_panic(expected = "a page buffer is taken in turn")]
    fn a_die_does_not_take_the_buffer_of_another() {
        let mut buffers = PageBuffers::new(1, 2);
        buffers.wait(Waiting { die: DieId(0), since: SimTime(1), purpose: Purpose::Start });
        buffers.take(DieId(1), SimTime(1));
    }
}
