//! A flash channel: one transfer at a time, shared by its dies.

use kit::{DieId, Nanos, SimTime};

/// A die that waits for its channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub die: DieId,
    pub since: SimTime,
    pub hold: Nanos,
    rank: u8,
}

/// A channel and the dies that wait for it, in the order of their requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channel {
    free_at: SimTime,
    waiting: Vec<Waiting>,
    /// True if a wake-up event is pending for the instant at which the channel becomes free.
    pub armed: bool,
    pub busy: Nanos,
}

impl Channel {
    pub fn with_capacity(dies: usize) -> Channel {
        Channel { waiting: Vec::with_capacity(dies + 1), ..Channel::default() }
    }

    /// Returns true if the channel is idle at `now` and no die waits for it.
    #[inline]
    pub fn is_free(&self, now: SimTime) -> bool {
        self.free_at <= now && self.waiting.is_empty()
    }

    /// Occupies the channel from `now` for `hold`.
    #[inline]
    pub fn take(&mut self, now: SimTime, hold: Nanos) {
        debug_assert!(self.free_at <= now, "a channel carries one transfer at a time");
        self.free_at = now + hold;
        self.busy += hold;
    }

    /// Returns the instant at which the current transfer ends.
    #[inline]
    pub fn free_at(&self) -> SimTime {
        self.free_at
    }

    /// Adds a die to the dies that wait for the channel.
    #[inline]
    pub fn wait(&mut self, die: DieId, since: SimTime, hold: Nanos, rank: u8) {
        self.waiting.push(Waiting { die, since, hold, rank });
    }

    /// Removes a die from the dies that wait, before it was served.
    pub fn withdraw(&mut self, die: DieId) {
        self.waiting.retain(|waiting| waiting.die != die);
    }

    /// Removes and returns the next die to serve: the one of lowest rank, and among equal ranks the first to request
    /// the channel.
    #[inline]
    pub fn next(&mut self) -> Option<Waiting> {
        let mut best = 0;
        let mut least = self.waiting.first()?.rank;
        for (index, waiting) in self.waiting.iter().enumerate().skip(1) {
            if waiting.rank < least {
                (best, least) = (index, waiting.rank);
            }
        }
        Some(self.waiting.remove(best))
    }

    #[inline]
    pub fn has_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_first_then_order_of_asking() {
        let mut channel = Channel::default();
        channel.take(SimTime(0), Nanos(10));
        assert!(!channel.is_free(SimTime(9)), "illegal one nanosecond early");
        assert!(channel.is_free(SimTime(10)), "legal on time");
        for (die, rank) in [(1, 1), (2, 0), (3, 0)] {
            channel.wait(DieId(die), SimTime(5), Nanos(1), rank);
        }
        channel.withdraw(DieId(3));
        channel.wait(DieId(4), SimTime(6), Nanos(1), 0);
        let order: Vec<u32> = std::iter::from_fn(|| channel.next().map(|w| w.die.0)).collect();
        assert_eq!(order, [2, 4, 1]);
    }
}
