//! The limiter of the flash's power: which array phases may begin, and in which order those that wait do.
//!
//! An array phase begins only if the bound on the power of the flash stays at or under the cap: the currents of all
//! dies at rest, and for each array phase in progress the greatest current of its waveform in place of that of its die
//! at rest. The power at an instant is never above the bound, so no window exceeds the cap.
//!
//! With `power.cap_suspends`, operations in progress are suspended for host reads whose turn it is
//! ([`Limiter::missing`]). A suspended operation goes on ahead of all operations that have yet to begin, but for a
//! limited number of reads.

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
    /// True if operations may be suspended for it: a host read, where that is enabled.
    suspends: bool,
    since: SimTime,
    /// Number of reads that asked later and began earlier.
    overtaken: u32,
}

/// A suspended operation that waits for power before it is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Paused {
    die: DieId,
    /// Greatest current of the rest of its array phase above that of a die at rest \[uA\].
    need: u64,
    /// Number of reads that may yet begin before it.
    reads: u32,
}

/// Power that host reads lack whose turn it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Current that the first of them lacks, and all together, beside what is free or about to be \[uA\].
    pub first: u64,
    pub all: u64,
    /// Instant at which the first asked.
    pub since: SimTime,
}

/// A turn of one that waited: it has been given power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The array phase of a die begins, or goes on.
    Begins(DieId),
    /// The suspended operation of a die is to be resumed. It has its power from now on.
    Resumes(DieId),
}

/// Bound on the power of the flash, and the array phases that wait for it. A die waits for at most one.
#[derive(Clone, Debug)]
pub(crate) struct Limiter {
    /// Current that the cap leaves above that of all dies at rest \[uA\], and the part of it that is taken.
    room: u64,
    taken: u64,
    /// Part that each die has taken \[uA\].
    of_die: Vec<u64>,
    /// Instant at which each die has taken it.
    taken_at: Vec<SimTime>,
    /// Those that wait, in the order of asking.
    waiting: VecDeque<Waiting>,
    /// Suspended operations that wait, in the order in which they go on.
    paused: VecDeque<Paused>,
    /// Dies whose operation is about to be suspended, and what they will give back \[uA\].
    leaves: Vec<bool>,
    leaving: u64,
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
            taken_at: vec![SimTime::ZERO; dies],
            waiting: VecDeque::with_capacity(dies),
            paused: VecDeque::with_capacity(dies),
            leaves: vec![false; dies],
            leaving: 0,
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

    /// Takes over the measurements of another limiter, in whose place this one comes at `now`.
    pub fn take_measurements(&mut self, other: &Limiter, now: SimTime) {
        ((self.waits, self.waited), self.start) = (other.waits(now), other.start);
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

    /// Asks for the power of an array phase of a die that needs `need` uA above its current at rest; `suspends`:
    /// operations may be suspended for it, a read. Returns true if the phase may begin now; otherwise the die waits.
    pub fn ask(&mut self, die: DieId, need: u64, is_read: bool, suspends: bool, now: SimTime) -> bool {
        debug_assert!(need <= self.room, "the least cap admits every operation: {need} uA of {}", self.room);
        debug_assert!(self.of_die[die.index()] == 0, "a die has one array phase");
        self.waiting.push_back(Waiting { die, need, is_read, suspends, since: now, overtaken: 0 });
        // Those who waited before cannot begin now, or they would have begun.
        let begins = self.next(now);
        assert!(begins.is_none() || begins == Some(Turn::Begins(die)), "nobody waits who could begin");
        self.waits += u64::from(begins.is_none());
        begins.is_some()
    }

    /// Returns true if no array phase waits or has taken power.
    pub fn is_at_rest(&self) -> bool {
        self.taken == 0 && self.waiting.is_empty() && self.paused.is_empty()
    }

    /// Returns what an array phase has taken. Others that wait may begin ([`Limiter::next`]).
    pub fn give_back(&mut self, die: DieId) {
        let taken = std::mem::take(&mut self.of_die[die.index()]);
        self.taken -= taken;
        if std::mem::take(&mut self.leaves[die.index()]) {
            self.leaving -= taken;
        }
    }

    /// Returns what an array phase has taken, but for `kept` uA, which the die goes on drawing at rest.
    pub fn give_back_all_but(&mut self, die: DieId, kept: u64, now: SimTime) {
        let taken = self.of_die[die.index()];
        debug_assert!(kept <= taken, "what a die keeps has been taken: {kept} uA of {taken}");
        self.give_back(die);
        self.take(die, kept, now);
    }

    /// Gives the next one that waits its power, if there is enough for it, and returns whose turn it was. Nobody who
    /// comes later in the order is given any before.
    pub fn next(&mut self, now: SimTime) -> Option<Turn> {
        if let Some(&Paused { die, need, .. }) = self.paused.front()
            && (self.reads_allowed() == 0 || self.leading().next().is_none())
        {
            if self.taken + need > self.room {
                return None;
            }
            self.paused.pop_front();
            self.take(die, need, now);
            return Some(Turn::Resumes(die));
        }
        let index = self.first()?;
        if self.taken + self.waiting[index].need > self.room {
            return None;
        }
        let waiting = self.waiting.remove(index)?;
        if waiting.is_read {
            self.waiting.iter_mut().take(index).filter(|other| !other.is_read).for_each(|other| other.overtaken += 1);
            self.paused.iter_mut().for_each(|paused| paused.reads = paused.reads.saturating_sub(1));
        }
        self.take(waiting.die, waiting.need, now);
        self.waited += self.measured(&waiting, now);
        Some(Turn::Begins(waiting.die))
    }

    fn take(&mut self, die: DieId, need: u64, now: SimTime) {
        self.taken += need;
        self.of_die[die.index()] = need;
        self.taken_at[die.index()] = now;
    }

    /// Returns what the array phase of a die took before `until` \[uA\]; 0 if it took it later.
    pub fn taken_before(&self, die: DieId, until: SimTime) -> u64 {
        if self.taken_at[die.index()] < until { self.of_die[die.index()] } else { 0 }
    }

    /// Records that the operation of a die is about to be suspended: it will give back what it has taken.
    pub fn leave(&mut self, die: DieId) {
        debug_assert!(!self.leaves[die.index()], "an operation is suspended once at a time");
        self.leaves[die.index()] = true;
        self.leaving += self.of_die[die.index()];
    }

    /// Records that the operation of a die, which was about to be suspended, keeps what it has taken.
    pub fn stay(&mut self, die: DieId) {
        if std::mem::take(&mut self.leaves[die.index()]) {
            self.leaving -= self.of_die[die.index()];
        }
    }

    /// Lets the suspended operation of a die, which needs `need` uA to go on, wait for power behind those that wait
    /// already. At most `reads` reads begin before it.
    pub fn pause(&mut self, die: DieId, need: u64, reads: u32) {
        debug_assert!(self.of_die[die.index()] == 0, "a suspended operation has no power");
        self.paused.push_back(Paused { die, need, reads });
    }

    /// Returns the number of reads that may yet begin before the suspended operation of a die; `None` if it does not
    /// wait.
    pub fn reads_before(&self, die: DieId) -> Option<u32> {
        self.paused.iter().find(|paused| paused.die == die).map(|paused| paused.reads)
    }

    /// Lets the suspended operation of a die wait no longer, as the die serves a read. Others that wait may begin
    /// ([`Limiter::next`]).
    pub fn unpause(&mut self, die: DieId) {
        self.paused.retain(|paused| paused.die != die);
    }

    /// Returns the number of reads that may begin before an operation that is suspended now: those that lead the order,
    /// and with `reads_first` at least as many as overtake an operation that has yet to begin.
    pub fn reads_ahead(&self) -> u32 {
        let leading = self.leading().count() as u32;
        if self.order == CapOrder::Fifo { leading } else { leading.max(self.overtakes) }
    }

    /// Returns the number of reads that may begin before a suspended operation must go on.
    fn reads_allowed(&self) -> u32 {
        self.paused.iter().map(|paused| paused.reads).min().unwrap_or(u32::MAX)
    }

    /// Returns what those reads lack for which operations may be suspended, and whose turn it is; `None`: nothing.
    pub fn missing(&self) -> Option<Missing> {
        let lacking = |need: u64| (self.taken + need).saturating_sub(self.leaving + self.room);
        let (mut sum, mut missing) = (0, None);
        for waiting in self.leading().take(self.reads_allowed() as usize) {
            sum += waiting.need;
            if waiting.suspends {
                let first = Missing { first: lacking(sum), all: 0, since: waiting.since };
                missing = Some(Missing { all: lacking(sum), ..missing.unwrap_or(first) });
            }
        }
        missing.filter(|missing| missing.all > 0)
    }

    /// Returns the reads that begin before any other operation that waits, in their order.
    fn leading(&self) -> impl Iterator<Item = &Waiting> {
        let most = if self.order == CapOrder::Fifo { 0 } else { self.overtakes };
        // Number of reads that may yet overtake the first of the others, once that has been met.
        let mut left = None;
        let reads = self.waiting.iter().map_while(move |waiting| {
            if !waiting.is_read {
                left.get_or_insert(most.saturating_sub(waiting.overtaken));
                return Some(None);
            }
            match &mut left {
                None => Some(Some(waiting)),
                Some(0) => None,
                Some(left) => {
                    *left -= 1;
                    Some(Some(waiting))
                }
            }
        });
        reads.flatten()
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

    /// Returns the die whose array phase may begin next.
    fn begins(limiter: &mut Limiter, now: u64) -> Option<DieId> {
        limiter.next(SimTime(now)).map(|turn| match turn {
            Turn::Begins(die) => die,
            Turn::Resumes(die) => panic!("{die:?}: nothing was suspended"),
        })
    }

    /// A die that needs all of the room waits, and those who ask later and would fit do not overtake it.
    #[test]
    fn those_who_wait_begin_in_the_order_of_asking() {
        let mut limiter = limiter(10, CapOrder::Fifo, 0);
        assert!(limiter.ask(DieId(0), 4, false, false, SimTime(0)));
        assert!(!limiter.ask(DieId(1), 10, false, false, SimTime(5)));
        assert!(!limiter.ask(DieId(2), 1, true, false, SimTime(6)), "one who needs little waits, too");
        assert_eq!(begins(&mut limiter, 7), None);
        limiter.give_back(DieId(0));
        assert_eq!((begins(&mut limiter, 9), begins(&mut limiter, 9)), (Some(DieId(1)), None));
        assert_eq!(limiter.waits(SimTime(10)), (2, 4 + 4));
        limiter.restart(SimTime(10));
        limiter.give_back(DieId(1));
        assert_eq!((begins(&mut limiter, 12), begins(&mut limiter, 12)), (Some(DieId(2)), None));
        assert_eq!(limiter.waits(SimTime(20)), (1, 2), "a wait in progress counts from the start of the measurement");
        limiter.give_back(DieId(2));
        assert!(limiter.is_at_rest());
    }

    #[test]
    fn reads_go_first_but_a_program_is_overtaken_at_most_the_bound() {
        let mut limiter = limiter(4, CapOrder::ReadsFirst, 3);
        assert!(limiter.ask(DieId(0), 4, false, false, SimTime(0)));
        assert!(!limiter.ask(DieId(1), 4, false, false, SimTime(1)));
        assert!(!limiter.ask(DieId(2), 4, false, false, SimTime(2)));
        (3..9).for_each(|die| assert!(!limiter.ask(DieId(die), 4, true, false, SimTime(3))));
        let mut order = Vec::new();
        let mut last = DieId(0);
        while !limiter.is_at_rest() {
            limiter.give_back(last);
            let Some(next) = begins(&mut limiter, 9) else { break };
            order.push(next.0);
            last = next;
        }
        assert_eq!(order, [3, 4, 5, 1, 2, 6, 7, 8], "both programs asked before the reads");
    }

    /// A program is suspended for two reads. It goes on after them, ahead of a program that asked before it was, and of
    /// a read that asks later; with `reads_first` after as many reads as overtake a program.
    #[test]
    fn a_suspended_operation_goes_on_ahead_of_those_that_have_yet_to_begin() {
        for (order, after) in [(CapOrder::Fifo, 2), (CapOrder::ReadsFirst, 3)] {
            let mut limiter = limiter(10, order, 3);
            assert!(limiter.ask(DieId(0), 8, false, false, SimTime(0)));
            assert!(!limiter.ask(DieId(1), 5, true, true, SimTime(1)));
            assert!(!limiter.ask(DieId(2), 4, true, true, SimTime(2)));
            assert!(!limiter.ask(DieId(3), 2, true, false, SimTime(3)), "nothing is suspended for it");
            assert_eq!(limiter.missing(), Some(Missing { first: 8 + 5 - 10, all: 8 + 9 - 10, since: SimTime(1) }));
            limiter.leave(DieId(0));
            assert_eq!(limiter.missing(), None, "the program will make room for both");
            assert!(!limiter.ask(DieId(4), 1, false, false, SimTime(4)));
            (5..8).for_each(|die| assert!(!limiter.ask(DieId(die), 5, true, true, SimTime(5))));
            limiter.give_back(DieId(0));
            assert_eq!(limiter.reads_ahead(), if order == CapOrder::Fifo { 3 } else { 6 });
            limiter.pause(DieId(0), 8, after);
            let mut turns = Vec::new();
            let mut running: VecDeque<DieId> = VecDeque::new();
            while !limiter.is_at_rest() {
                while let Some(turn) = limiter.next(SimTime(9)) {
                    turns.push(turn);
                    let (Turn::Begins(die) | Turn::Resumes(die)) = turn;
                    running.push_back(die);
                }
                limiter.give_back(running.pop_front().expect("someone has power"));
            }
            let begins = |dies: &[u32]| dies.iter().map(|die| Turn::Begins(DieId(*die))).collect::<Vec<_>>();
            let expected = match order {
                CapOrder::Fifo => [begins(&[1, 2]), vec![Turn::Resumes(DieId(0))], begins(&[3, 4, 5, 6, 7])].concat(),
                CapOrder::ReadsFirst => [begins(&[1, 2, 3]), vec![Turn::Resumes(DieId(0))], begins(&[5, 6, 7, 4])].concat(),
            };
            assert_eq!(turns, expected);
            assert_eq!((limiter.leaving, limiter.taken), (0, 0));
        }
    }

    /// The current that reads lack is that of those whose turn it is: not those behind a program that has been
    /// overtaken as often as it may be, nor those that a suspended operation does not let pass.
    #[test]
    fn only_reads_whose_turn_it_is_lack_power() {
        let mut limiter = limiter(10, CapOrder::ReadsFirst, 2);
        assert!(limiter.ask(DieId(0), 10, false, false, SimTime(0)));
        assert!(!limiter.ask(DieId(1), 3, false, false, SimTime(0)));
        (2..6).for_each(|die| assert!(!limiter.ask(DieId(die), 3, true, true, SimTime(1))));
        let missing = |limiter: &Limiter| limiter.missing().map(|missing| (missing.first, missing.all));
        assert_eq!(missing(&limiter), Some((3, 6)));
        limiter.pause(DieId(9), 4, 1);
        assert_eq!(missing(&limiter), Some((3, 3)));
        limiter.unpause(DieId(9));
        limiter.pause(DieId(9), 4, 0);
        assert_eq!(missing(&limiter), None);
        limiter.unpause(DieId(9));
        // Two reads begin before the program, and it has its turn.
        limiter.give_back(DieId(0));
        assert_eq!([0; 4].map(|_| begins(&mut limiter, 2)), [2, 3, 1, 4].map(|die| (die < 4).then_some(DieId(die))));
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
                    if limiter.ask(DieId(die), 1 + rng.below(20), is_read, false, SimTime(step)) {
                        began(&mut limiter, die, &mut waiting, &mut running);
                    }
                } else if !running.is_empty() {
                    let die = running.swap_remove(rng.below(running.len() as u64) as usize);
                    limiter.give_back(DieId(die));
                    while let Some(next) = begins(&mut limiter, step) {
                        began(&mut limiter, next.0, &mut waiting, &mut running);
                    }
                }
                assert!(running.is_empty() == (limiter.taken == 0) && (!running.is_empty() || waiting.is_empty()), "seed {seed}");
            }
        }
    }
}
