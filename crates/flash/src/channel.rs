//! A flash channel: one transfer at a time, shared by its dies.

use kit::{DieId, Nanos, SimTime};

/// A die that waits for its channel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Waiting {
    pub die: DieId,
    pub since: SimTime,
    pub hold: Nanos,
    /// Lower ranks are served first.
    pub rank: u8,
    /// True if the die asks for the data in its cache register, not for the operation in progress.
    pub for_cache: bool,
}

/// Instant at which a channel that is held becomes free: it is not known.
const HELD: SimTime = SimTime(u64::MAX);

/// A channel and the dies that wait for it, in the order of their requests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Channel {
    free_at: SimTime,
    /// The die for whose next attempt at a read the channel is held, if it is held, and the end of the last transfer of
    /// that die.
    holder: DieId,
    transfer_ends: SimTime,
    waiting: Vec<Waiting>,
    /// True if a wake-up event is pending for the instant at which the channel becomes free.
    pub armed: bool,
    /// Time of all transfers that have begun.
    begun: Nanos,
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
        self.begun += hold;
    }

    /// Holds the channel, which has a transfer of this die, for further ones of that die alone.
    pub fn hold(&mut self, die: DieId) {
        if !self.is_held() {
            self.transfer_ends = self.free_at;
        }
        (self.free_at, self.holder) = (HELD, die);
    }

    /// Returns true if the channel is held.
    #[inline]
    pub fn is_held(&self) -> bool {
        self.free_at == HELD
    }

    /// Returns true if the channel is held for this die.
    #[inline]
    pub fn is_held_for(&self, die: DieId) -> bool {
        self.is_held() && self.holder == die
    }

    /// Occupies the channel from `now` for `hold`, for the die that holds it.
    pub fn take_held(&mut self, now: SimTime, hold: Nanos) {
        self.transfer_ends = now + hold;
        self.begun += hold;
    }

    /// Returns the time for which the channel has had a transfer until `now`, which is not before the last one began.
    /// While it is held, it is busy only with transfers.
    pub fn busy(&self, now: SimTime) -> Nanos {
        let ends = if self.is_held() { self.transfer_ends } else { self.free_at };
        Nanos(self.begun.0 - ends.0.saturating_sub(now.0))
    }

    /// Takes over the measurements of another channel, in whose place this one comes at `now`.
    pub fn take_measurements(&mut self, other: &Channel, now: SimTime) {
        self.begun = other.busy(now);
    }

    /// Ends the hold of the channel at `now`.
    pub fn release(&mut self, now: SimTime) {
        self.free_at = now;
    }

    /// Returns the instant at which the current transfer ends; later than any other if the channel is held.
    #[inline]
    pub fn free_at(&self) -> SimTime {
        self.free_at
    }

    /// Adds a die to the dies that wait for the channel.
    #[inline]
    pub fn wait(&mut self, waiting: Waiting) {
        self.waiting.push(waiting);
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

    /// An operation on a channel.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        /// A further die waits, with this rank.
        Wait(u8),
        /// The die that is this many places behind the first in the order of the requests withdraws.
        Withdraw(usize),
        /// The next die is served.
        Next,
    }

    const STEPS: [Step; 6] = [Step::Wait(0), Step::Wait(1), Step::Wait(2), Step::Withdraw(0), Step::Withdraw(1), Step::Next];

    /// Applies a step to a channel and to a list of the requests (rank and die) in their order.
    fn apply(step: Step, number: u32, channel: &mut Channel, model: &mut Vec<(u8, u32)>) {
        match step {
            Step::Wait(rank) => {
                let (since, hold) = (SimTime(u64::from(number) + 100), Nanos(u64::from(number) + 200));
                channel.wait(Waiting { die: DieId(number), since, hold, rank, for_cache: false });
                model.push((rank, number));
            }
            Step::Withdraw(place) => {
                // A die that does not wait may withdraw, too.
                let die = if place < model.len() { model.remove(place).1 } else { u32::MAX };
                channel.withdraw(DieId(die));
            }
            Step::Next => {
                // Numbers grow with the order of the requests.
                let first = model.iter().copied().min();
                model.retain(|waiting| Some(*waiting) != first);
                let served = channel.next().map(|Waiting { die, since, hold, rank, .. }| (die.0, since.0, hold.0, rank));
                assert_eq!(served, first.map(|(rank, die)| (die, u64::from(die) + 100, u64::from(die) + 200, rank)));
            }
        }
    }

    /// Every sequence of seven requests, withdrawals and grants, against a list of the requests: the lowest rank goes
    /// first, and among equals the earliest request.
    #[test]
    fn every_short_sequence_grants_by_rank_and_then_in_order_of_the_requests() {
        for sequence in 0..STEPS.len().pow(7) {
            let (mut channel, mut model) = (Channel::with_capacity(4), Vec::new());
            for number in 0..7 {
                apply(STEPS[sequence / STEPS.len().pow(number) % STEPS.len()], number, &mut channel, &mut model);
                assert_eq!(channel.has_waiting(), !model.is_empty());
                assert_eq!(channel.is_free(SimTime::ZERO), model.is_empty());
            }
        }
    }

    #[test]
    fn a_channel_is_free_when_its_transfer_has_ended_and_no_die_waits() {
        let mut channel = Channel::default();
        channel.take(SimTime(5), Nanos(10));
        assert_eq!((channel.free_at(), channel.is_free(SimTime(14)), channel.is_free(SimTime(15))), (SimTime(15), false, true));
        channel.wait(Waiting { die: DieId(1), since: SimTime(15), hold: Nanos(1), rank: 0, for_cache: false });
        assert!(!channel.is_free(SimTime(15)), "a die waits");
        channel.withdraw(DieId(1));
        channel.take(SimTime(15), Nanos(3));
        channel.take(SimTime(30), Nanos(4));
        assert_eq!((channel.free_at(), channel.busy(SimTime(34))), (SimTime(34), Nanos(17)));
        assert_eq!([30, 33, 99].map(|now| channel.busy(SimTime(now)).0), [13, 16, 17], "the rest of a transfer is to come");
    }

    #[test]
    fn a_channel_that_is_held_is_busy_with_its_transfers() {
        let mut channel = Channel::default();
        channel.take(SimTime(5), Nanos(10));
        channel.hold(DieId(2));
        assert_eq!([9, 15, 40].map(|now| channel.busy(SimTime(now)).0), [4, 10, 10]);
        channel.take_held(SimTime(40), Nanos(6));
        channel.hold(DieId(2));
        assert_eq!([40, 43, 46, 90].map(|now| channel.busy(SimTime(now)).0), [10, 13, 16, 16]);
        channel.release(SimTime(50));
        assert_eq!(channel.busy(SimTime(90)), Nanos(16));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "one transfer at a time")]
    fn a_transfer_does_not_begin_before_the_one_before_has_ended() {
        let mut channel = Channel::default();
        channel.take(SimTime(5), Nanos(10));
        channel.take(SimTime(14), Nanos(1));
    }
}
