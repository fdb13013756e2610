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

/// A channel and those who wait for it, in the order of asking.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channel {
    free_at: SimTime,
    waiting: Vec<Waiting>,
    /// A wake-up is scheduled for the instant the channel becomes free.
    pub armed: bool,
    pub busy: Nanos,
}

impl Channel {
    pub fn with_room(dies: usize) -> Channel {
        Channel { waiting: Vec::with_capacity(dies + 1), ..Channel::default() }
    }

    /// Whether the channel can be taken at `now` without overtaking anybody.
    #[inline]
    pub fn is_free(&self, now: SimTime) -> bool {
        self.free_at <= now && self.waiting.is_empty()
    }

    /// Takes the channel for `hold`.
    #[inline]
    pub fn take(&mut self, now: SimTime, hold: Nanos) {
        debug_assert!(self.free_at <= now, "a channel carries one transfer at a time");
        self.free_at = now + hold;
        self.busy += hold;
    }

    /// When the running transfer ends.
    #[inline]
    pub fn free_at(&self) -> SimTime {
        self.free_at
    }

    /// Joins the queue.
    #[inline]
    pub fn wait(&mut self, die: DieId, since: SimTime, hold: Nanos, rank: u8) {
        self.waiting.push(Waiting { die, since, hold, rank });
    }

    /// Leaves the queue without having been served.
    pub fn withdraw(&mut self, die: DieId) {
        self.waiting.retain(|waiting| waiting.die != die);
    }

    /// The next to be served: the lowest rank, and among equals the first to have asked.
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
