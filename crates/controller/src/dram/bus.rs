//! The command bus: one command in each cycle.
//!
//! The column commands of a chunk form a *train*: one command for each burst, at equal distances. A train begins after
//! the end of the last one. Other commands take free cycles in between. Known error: a command of LPDDR4 takes 2 or 4
//! cycles of its bus, here one; with bursts of 8 cycles, the bus is not the bottleneck. Its tPPD of 4
//! cycles between two precharges is left out.

/// Trains that are remembered. Fewer are still to come at any decision, which is asserted.
const TRAINS: usize = 16;
/// Other commands that are remembered. Fewer are still to come at any decision, which is asserted.
const OTHERS: usize = 32;

/// The column commands of a chunk, and the data that they move.
#[derive(Clone, Copy, Debug)]
pub(super) struct Train {
    /// Cycle of the first command.
    pub first: u64,
    /// Cycle of the last command.
    pub last: u64,
    /// Cycles from the first command to its data.
    pub latency: u64,
}

/// The commands that have been placed.
#[derive(Clone, Debug)]
pub(super) struct CommandBus {
    /// Cycles from one command of a train to the next, a power of two.
    stride: u64,
    /// Cycle of the current decision: no command is placed before it.
    now: u64,
    trains: [Train; TRAINS],
    /// Index of the last train.
    train: usize,
    /// Cycles of the last other commands, each plus one; 0 if there was none.
    others: [u64; OTHERS],
    other: usize,
    /// The largest of `others`.
    last_other: u64,
}

impl CommandBus {
    pub fn new(stride: u64) -> CommandBus {
        assert!(stride.is_power_of_two() && stride > 1, "trains leave free cycles");
        CommandBus {
            stride,
            now: 0,
            trains: [Train { first: 1, last: 0, latency: 0 }; TRAINS],
            train: 0,
            others: [0; OTHERS],
            other: 0,
            last_other: 0,
        }
    }

    /// Sets the cycle before which no further command is placed.
    #[inline]
    pub fn advance(&mut self, now: u64) {
        debug_assert!(now >= self.now, "decisions follow one another");
        self.now = now;
    }

    /// Returns the cycle of the current decision.
    #[cfg(test)]
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Places a command in the first free cycle that is not before `from`.
    #[inline]
    pub fn place(&mut self, from: u64) -> u64 {
        let mut cycle = from.max(self.now);
        while self.is_in_train(cycle) || self.is_other(cycle) {
            cycle += 1;
        }
        self.other = (self.other + 1) % OTHERS;
        assert!(self.others[self.other] <= self.now, "a command that is still to come would be forgotten");
        self.others[self.other] = cycle + 1;
        self.last_other = self.last_other.max(cycle + 1);
        cycle
    }

    /// Places a train of `bursts` commands, the first of them not before `from`. Returns the train.
    #[inline]
    pub fn place_train(&mut self, from: u64, bursts: u64, latency: u64) -> Train {
        let mut first = from.max(self.now);
        let length = (bursts - 1) * self.stride;
        while self.last_other > first && self.meets_other(first, first + length) {
            first += 1;
        }
        let before = self.trains[self.train];
        assert!(before.first > before.last || first > before.last, "trains follow one another");
        self.train = (self.train + 1) % TRAINS;
        let oldest = self.trains[self.train];
        assert!(oldest.first > oldest.last || oldest.last < self.now, "a train that is still to come would be forgotten");
        let train = Train { first, last: first + length, latency };
        self.trains[self.train] = train;
        train
    }

    /// Returns true if no other command has been placed at or after a cycle.
    #[inline]
    pub fn is_free_from(&self, cycle: u64) -> bool {
        self.last_other <= cycle
    }

    /// Lets the last train go on without a gap up to the cycle `last`. It is remembered as one.
    #[inline]
    pub fn extend_train(&mut self, last: u64) {
        self.trains[self.train].last = last;
    }

    #[inline]
    fn is_in_train(&self, cycle: u64) -> bool {
        let train = &self.trains[self.train];
        if cycle < train.first {
            return self.is_in_earlier_train(cycle);
        }
        cycle <= train.last && (cycle - train.first) & (self.stride - 1) == 0
    }

    /// Only decisions ahead of the last train ask for cycles before it.
    #[cold]
    fn is_in_earlier_train(&self, cycle: u64) -> bool {
        let is_in = |train: &Train| (train.first..=train.last).contains(&cycle) && (cycle - train.first) & (self.stride - 1) == 0;
        self.trains.iter().any(is_in)
    }

    #[inline]
    fn is_other(&self, cycle: u64) -> bool {
        cycle < self.last_other && self.is_earlier_other(cycle)
    }

    #[cold]
    fn is_earlier_other(&self, cycle: u64) -> bool {
        self.others.contains(&(cycle + 1))
    }

    #[cold]
    fn meets_other(&self, first: u64, last: u64) -> bool {
        let meets = |&other: &u64| other > first && other <= last + 1 && (other - 1 - first).is_multiple_of(self.stride);
        self.others.iter().any(meets)
    }

    /// Returns the cycles, in picoseconds, of data of the remembered trains after `now_ps`. Data of older trains is
    /// over: that of at most 16 trains is still to come after a decision.
    pub fn data_after(&self, now_ps: u128, picoseconds: impl Fn(u64) -> u128) -> u128 {
        let left = |train: &Train| {
            let starts = picoseconds(train.first + train.latency);
            let ends = picoseconds(train.last + train.latency + self.stride);
            ends.saturating_sub(now_ps.max(starts))
        };
        self.trains.iter().filter(|train| train.first <= train.last).map(left).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_take_free_cycles_and_trains_avoid_commands() {
        let mut bus = CommandBus::new(4);
        let train = bus.place_train(10, 3, 5);
        assert_eq!((train.first, train.last), (10, 18));
        assert_eq!([10, 10, 10, 14, 18, 30].map(|from| bus.place(from)), [11, 12, 13, 15, 19, 30]);
        let train = bus.place_train(19, 4, 5);
        assert_eq!((train.first, train.last), (20, 32), "at 19 there is a command");
        let train = bus.place_train(34, 1, 5);
        assert_eq!((train.first, train.last), (34, 34));
        assert_eq!(bus.place(34), 35);
    }

    #[test]
    fn a_train_moves_on_until_it_meets_no_command() {
        let mut bus = CommandBus::new(2);
        assert_eq!([3, 6, 9].map(|from| bus.place(from)), [3, 6, 9]);
        assert_eq!(bus.place_train(1, 5, 0).first, 8, "3, 6 and 9 are taken");
    }

    #[test]
    fn data_after_an_instant_counts_what_is_left() {
        let mut bus = CommandBus::new(4);
        bus.place_train(0, 2, 3);
        bus.place_train(8, 1, 3);
        let left = |now: u128| bus.data_after(now, u128::from);
        assert_eq!([0, 3, 5, 11, 14, 15, 99].map(left), [12, 12, 10, 4, 1, 0, 0]);
    }
}
