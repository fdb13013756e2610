//! The limiter of the flash's power: which array phases may begin, and in which order those that wait do.
//!
//! An array phase begins only if the bound on the power of the flash stays at or under the cap: the currents of all
//! dies at rest, and for each array phase in progress the greatest current of its waveform in place of that of its die
//! at rest. The power at an instant is never above the bound, so no window exceeds the cap.

use kit::{DieId, SimTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Order in which array phases that wait for power begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapOrder {
    /// In the order of asking.
    #[default]
    Fifo,
    /// Reads before programs, erases and copybacks, each of which at most `power.cap_overtakes` reads overtake.
    ReadsFirst,
}

/// An array phase that waits for power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Waiting {
    die: DieId,
    /// Greatest current above that of a die at rest \[uA\].
    need: u64,
    is_read: bool,
    since: SimTime,
    /// Number of reads that asked later and began earlier.
    overtaken: u32,
}

/// Bound on the power of the flash, and the array phases that wait for it. A die waits for at most one.
#[derive(Clone, Debug)]
pub(crate) struct Limiter {
    /// Current that the cap leaves above that of all dies at rest \[uA\], and the part of it that is taken.
    room: u64,
    taken: u64,
    /// Part that each die has taken \[uA\].
    of_die: Vec<u64>,
    /// Those that wait, in the order of asking.
    waiting: VecDeque<Waiting>,
    order: CapOrder,
    overtakes: u32,
    /// Since the start of the measurement: number of waits, and the time of those that have ended \[ns\].
    waits: u64,
    waited: u64,
    start: SimTime,
}

impl Limiter {
    /// Creates the limiter of `dies` dies at rest, for a current of `room` uA above that of dies at rest.
    pub fn new(room: u64, dies: usize, order: CapOrder, overtakes: u32) -> Limiter {
        Limiter {
            room,
            taken: 0,
            of_die: vec![0; dies],
            waiting: VecDeque::with_capacity(dies),
            order,
            overtakes,
            waits: 0,
            waited: 0,
            start: SimTime::ZERO,
        }
    }

    /// Sets the current above that of dies at rest \[uA\]. Array phases in progress keep what they have taken; if it
    /// has grown, others that wait may begin ([`Limiter::next`]).
    pub fn set_room(&mut self, room: u64) {
        self.room = room;
    }

    /// Begins a new measurement of the waits.
    pub fn restart(&mut self, now: SimTime) {
        (self.waits, self.waited, self.start) = (self.waiting.len() as u64, 0, now);
    }

    /// Returns the number of waits since the start of the measurement and their time \[ns\], with those that go on.
    pub fn waits(&self, now: SimTime) -> (u64, u64) {
        let open: u64 = self.waiting.iter().map(|waiting| self.measured(waiting, now)).sum();
        (self.waits, self.waited + open)
    }

    /// Returns the time of a wait within the measurement \[ns\].
    fn measured(&self, waiting: &Waiting, now: SimTime) -> u64 {
        now.0.saturating_sub(waiting.since.0.max(self.start.0))
    }

    /// Asks for the power of an array phase of a die that needs `need` uA above its current at rest. Returns true if
    /// the phase may begin now; otherwise the die waits.
    pub fn ask(&mut self, die: DieId, need: u64, is_read: bool, now: SimTime) -> bool {
        debug_assert!(need <= self.room, "the least cap admits every operation: {need} uA of {}", self.room);
        debug_assert!(self.of_die[die.index()] == 0, "a die has one array phase");
        self.waiting.push_back(Waiting { die, need, is_read, since: now, overtaken: 0 });
        // Those who waited before cannot begin now, or they would have begun.
        let begins = self.next(now);
        assert!(begins.is_none() || begins == Some(die), "nobody waits who could begin");
        self.waits += u64::from(begins.is_none());
        begins.is_some()
    }

    /// Returns true if no array phase waits or has taken power.
    pub fn is_at_rest(&self) -> bool {
        self.taken == 0 && self.waiting.is_empty()
    }

    /// Returns what an array phase has taken. Others that wait may begin ([`Limiter::next`]).
    pub fn give_back(&mut self, die: DieId) {
        self.taken -= std::mem::take(&mut self.of_die[die.index()]);
    }

    /// Gives the next array phase that waits its power, if there is enough for it, and returns its die. Nobody who
    /// comes later in the order is given any before.
    pub fn next(&mut self, now: SimTime) -> Option<DieId> {
        let index = self.first()?;
        if self.taken + self.waiting[index].need > self.room {
            return None;
        }
        let waiting = self.waiting.remove(index)?;
        if waiting.is_read {
            self.waiting.iter_mut().take(index).filter(|other| !other.is_read).for_each(|other| other.overtaken += 1);
        }
        self.taken += waiting.need;
        self.of_die[waiting.die.index()] = waiting.need;
        self.waited += self.measured(&waiting, now);
        Some(waiting.die)
    }

    /// Returns the place of the one who is to begin next.
    fn first(&self) -> Option<usize> {
        if self.order == CapOrder::Fifo {
            return (!self.waiting.is_empty()).then_some(0);
        }
        let read = self.waiting.iter().position(|waiting| waiting.is_read);
        let other = self.waiting.iter().position(|waiting| !waiting.is_read);
        // A read that overtakes one of the others overtakes all that asked before it, so that the first has the most.
        match (read, other) {
            (Some(read), Some(other)) if other < read && self.waiting[other].overtaken >= self.overtakes => Some(other),
            (read, other) => read.or(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Rng;

    fn limiter(room: u64, order: CapOrder, overtakes: u32) -> Limiter {
        Limiter::new(room, 64, order, overtakes)
    }

    /// A die that needs all of the room waits, and those who ask later and would fit do not overtake it.
    #[test]
    fn those_who_wait_begin_in_the_order_of_asking() {
        let mut limiter = limiter(10, CapOrder::Fifo, 0);
        assert!(limiter.ask(DieId(0), 4, false, SimTime(0)));
        assert!(!limiter.ask(DieId(1), 10, false, SimTime(5)));
        assert!(!limiter.ask(DieId(2), 1, true, SimTime(6)), "one who needs little waits, too");
        assert_eq!(limiter.next(SimTime(7)), None);
        limiter.give_back(DieId(0));
        assert_eq!((limiter.next(SimTime(9)), limiter.next(SimTime(9))), (Some(DieId(1)), None));
        assert_eq!(limiter.waits(SimTime(10)), (2, 4 + 4));
        limiter.restart(SimTime(10));
        limiter.give_back(DieId(1));
        assert_eq!((limiter.next(SimTime(12)), limiter.next(SimTime(12))), (Some(DieId(2)), None));
        assert_eq!(limiter.waits(SimTime(20)), (1, 2), "a wait in progress counts from the start of the measurement");
        limiter.give_back(DieId(2));
        assert!(limiter.is_at_rest());
    }

    #[test]
    fn reads_go_first_but_a_program_is_overtaken_at_most_the_bound() {
        let mut limiter = limiter(4, CapOrder::ReadsFirst, 3);
        assert!(limiter.ask(DieId(0), 4, false, SimTime(0)));
        assert!(!limiter.ask(DieId(1), 4, false, SimTime(1)));
        assert!(!limiter.ask(DieId(2), 4, false, SimTime(2)));
        (3..9).for_each(|die| assert!(!limiter.ask(DieId(die), 4, true, SimTime(3))));
        let mut order = Vec::new();
        let mut last = DieId(0);
        while !limiter.is_at_rest() {
            limiter.give_back(last);
            let Some(next) = limiter.next(SimTime(9)) else { break };
            order.push(next.0);
            last = next;
        }
        assert_eq!(order, [3, 4, 5, 1, 2, 6, 7, 8], "both programs asked before the reads");
    }

    /// Random requests and ends against what the order says: the sum never exceeds the room, nobody is left waiting who
    /// could begin, and no program is overtaken by more reads than allowed.
    #[test]
    fn random_requests_keep_to_room_order_and_bound() {
        for (seed, order) in (0..200).flat_map(|seed| [(seed, CapOrder::Fifo), (seed, CapOrder::ReadsFirst)]) {
            let mut rng = Rng::stream(seed, "limiter");
            let bound = rng.below(4) as u32;
            let mut limiter = limiter(20, order, bound);
            // Die, need, kind, and reads that began since although they asked later.
            let mut waiting: Vec<(u32, bool, u32)> = Vec::new();
            let mut running: Vec<u32> = Vec::new();
            let began = |limiter: &mut Limiter, die: u32, waiting: &mut Vec<(u32, bool, u32)>, running: &mut Vec<u32>| {
                let index = waiting.iter().position(|(other, ..)| *other == die).expect("it waited");
                let (_, is_read, overtaken) = waiting.remove(index);
                assert!(is_read || overtaken <= bound, "seed {seed}: overtaken {overtaken} times");
                for (_, other_reads, overtaken) in waiting.iter_mut().take(index) {
                    assert!(order == CapOrder::ReadsFirst && is_read && !*other_reads, "seed {seed}: out of order");
                    *overtaken += 1;
                }
                running.push(die);
                assert!(limiter.taken <= 20);
            };
            for step in 0..400u64 {
                let free = (0..64).find(|die| !running.contains(die) && !waiting.iter().any(|(other, ..)| other == die));
                if let Some(die) = free.filter(|_| rng.chance(0.55)) {
                    let is_read = rng.chance(0.6);
                    waiting.push((die, is_read, 0));
                    if limiter.ask(DieId(die), 1 + rng.below(20), is_read, SimTime(step)) {
                        began(&mut limiter, die, &mut waiting, &mut running);
                    }
                } else if !running.is_empty() {
                    let die = running.swap_remove(rng.below(running.len() as u64) as usize);
                    limiter.give_back(DieId(die));
                    while let Some(next) = limiter.next(SimTime(step)) {
                        began(&mut limiter, next.0, &mut waiting, &mut running);
                    }
                }
                assert!(running.is_empty() == (limiter.taken == 0) && (!running.is_empty() || waiting.is_empty()), "seed {seed}");
            }
        }
    }
}
