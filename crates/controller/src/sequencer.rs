//! The I/O sequencer: the order in which host reads go from the translation to the queues of their dies.

use kit::{DieId, Nanos, Problems, SimTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most reads in a window.
const MAX_IN_WINDOW: u32 = 4096;

/// The I/O sequencer. It stands between the translation and the queues of the dies, and issues host reads so that they
/// do not collide at a die: a read waits while its die has `per_die` outstanding ones, issued and not done (cause
/// `sequencer`). A read is done when its data is in the controller's memory, and corrected or given up: while it is
/// repeated, it is outstanding. Programs collide with nothing, because idle dies pull them; reads of partial writes, of
/// relocations and reads ahead pass the sequencer by.
///
/// Reads of one die are issued in the order of their arrival. A read therefore waits, once it is in the window, only
/// for older reads of its die, however many younger reads of other dies overtake it, and cannot starve in the
/// sequencer; its die may still let it wait (`flash.scheduler`). The age limit bounds the overtaking. The only reads
/// that are issued out of turn are those that keep a block from being erased whose space a policy's urgent moves need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SequencerConfig {
    /// Order of issue.
    pub order: Order,
    /// Number of waiting reads, the oldest ones, of which the first that can be issued is issued; with
    /// `order = "reorder"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = MAX_IN_WINDOW))]
    pub window: Option<u32>,
    /// Waiting time from which on a read is not overtaken any more: while a read has waited for longer, no younger one
    /// is issued. Absent: no limit. With `order = "reorder"`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_limit: Option<Nanos>,
    /// Outstanding reads that a die may have.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 65_535))]
    pub per_die: u32,
}

fn one() -> u32 {
    1
}

/// Order in which an I/O sequencer issues reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// In the order of their arrival: a read that cannot be issued holds up all behind it.
    InOrder,
    /// The oldest that can be issued, of those in the window.
    Reorder,
}

impl SequencerConfig {
    /// Adds the inconsistencies to `problems`.
    pub fn problems(&self, problems: &mut Problems) {
        let what = "expected with order = \"reorder\" only";
        match (self.order, self.window) {
            (Order::Reorder, None) => {
                let expected = format!("absent: expected 1..={MAX_IN_WINDOW} with order = \"reorder\"");
                problems.add("controller.sequencer.window", expected);
            }
            (Order::InOrder, Some(window)) => problems.add("controller.sequencer.window", format!("{window}: {what}")),
            _ => {}
        }
        if let (Order::InOrder, Some(limit)) = (self.order, self.age_limit) {
            problems.add("controller.sequencer.age_limit", format!("{limit}: {what}"));
        }
    }
}

/// Slot number of no read: the end of a list.
const NONE: u32 = u32::MAX;

/// Number of no read, which is younger than all.
const NEVER: u64 = u64::MAX;

/// A read that waits, by the slot of its operation.
#[derive(Clone, Copy, Debug, Default)]
struct Waiting {
    die: DieId,
    since: SimTime,
    /// Number in the order of arrival.
    number: u64,
    /// Neighbours in the order of arrival.
    older: u32,
    younger: u32,
    /// The next younger read of the same die.
    next_of_die: u32,
}

/// The reads of one die.
#[derive(Clone, Copy, Debug)]
struct Die {
    outstanding: u32,
    /// First and last of those that wait, in the order of arrival.
    first: u32,
    last: u32,
}

/// A read to be issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Issued {
    /// Slot of its operation.
    pub slot: u32,
    /// The die.
    pub die: DieId,
    /// Instant since which it has waited.
    pub since: SimTime,
}

/// The reads that wait to be issued. Each step of a read costs time in the order of the logarithm of the number of
/// dies.
#[derive(Clone, Debug)]
pub struct Sequencer {
    window: u32,
    age_limit: Option<Nanos>,
    per_die: u32,
    /// Waiting reads, by slot.
    reads: Vec<Waiting>,
    dies: Vec<Die>,
    /// The oldest and the youngest read.
    oldest: u32,
    youngest: u32,
    /// Number of reads in the window, and the youngest of them.
    in_window: u32,
    edge: u32,
    arrivals: u64,
    /// Number of reads that were issued out of turn ([`Sequencer::take_first_of`]).
    out_of_turn: u64,
    /// Heap-ordered binary tree of minima: the leaf of each die has the number of the die's first read, if that read is
    /// in the window and may be issued, otherwise [`NEVER`].
    tree: Vec<u64>,
}

impl Sequencer {
    /// Returns a sequencer of `dies` dies without reads.
    pub fn new(config: &SequencerConfig, dies: usize) -> Sequencer {
        Sequencer {
            window: config.window.unwrap_or(1),
            age_limit: config.age_limit,
            per_die: config.per_die,
            reads: Vec::with_capacity(1024),
            dies: vec![Die { outstanding: 0, first: NONE, last: NONE }; dies],
            oldest: NONE,
            youngest: NONE,
            in_window: 0,
            edge: NONE,
            arrivals: 0,
            out_of_turn: 0,
            tree: vec![NEVER; 2 * dies.next_power_of_two()],
        }
    }

    /// Adds the read in a slot, which arrives now. [`Sequencer::next`] follows.
    pub fn enter(&mut self, slot: u32, die: DieId, now: SimTime) {
        if slot as usize >= self.reads.len() {
            self.reads.resize(slot as usize + 1, Waiting::default());
        }
        let (number, older) = (self.arrivals, self.youngest);
        self.arrivals += 1;
        self.reads[slot as usize] = Waiting { die, since: now, number, older, younger: NONE, next_of_die: NONE };
        *(if older == NONE { &mut self.oldest } else { &mut self.reads[older as usize].younger }) = slot;
        self.youngest = slot;
        let of_die = &mut self.dies[die.index()];
        *(if of_die.first == NONE { &mut of_die.first } else { &mut self.reads[of_die.last as usize].next_of_die }) = slot;
        of_die.last = slot;
        if self.in_window < self.window {
            (self.in_window, self.edge) = (self.in_window + 1, slot);
            self.update(die);
        }
    }

    /// Removes and returns the next read that can be issued; it is outstanding from now on.
    pub fn next(&mut self, now: SimTime) -> Option<Issued> {
        let oldest = *self.reads.get(self.oldest as usize)?;
        if self.age_limit.is_some_and(|limit| now.since(oldest.since) > limit) {
            let is_free = self.dies[oldest.die.index()].outstanding < self.per_die;
            return is_free.then(|| self.issue(oldest.die));
        }
        if self.tree[1] == NEVER {
            return None;
        }
        let mut at = 1;
        while at < self.tree.len() / 2 {
            at = 2 * at + usize::from(self.tree[2 * at] != self.tree[at]);
        }
        Some(self.issue(DieId((at - self.tree.len() / 2) as u32)))
    }

    /// Removes and returns the first waiting read of a die, whatever its turn; `None` if it has none. It is outstanding
    /// from now on.
    pub fn take_first_of(&mut self, die: DieId) -> Option<Issued> {
        if self.dies[die.index()].first == NONE {
            return None;
        }
        self.out_of_turn += 1;
        Some(self.issue(die))
    }

    /// Takes over the measurements of another sequencer, in whose place this one comes.
    pub fn take_measurements(&mut self, other: &Sequencer) {
        self.out_of_turn = other.out_of_turn;
    }

    /// Returns the number of reads that were issued out of turn so far.
    pub fn out_of_turn(&self) -> u64 {
        self.out_of_turn
    }

    /// Records that an outstanding read of a die is done. [`Sequencer::next`] follows.
    pub fn read_done(&mut self, die: DieId) {
        self.dies[die.index()].outstanding -= 1;
        self.update(die);
    }

    /// Returns true if no read waits or is outstanding.
    pub fn is_at_rest(&self) -> bool {
        self.oldest == NONE && self.dies.iter().all(|die| die.outstanding == 0)
    }

    /// Removes the first waiting read of a die.
    fn issue(&mut self, die: DieId) -> Issued {
        let of_die = &mut self.dies[die.index()];
        let slot = of_die.first;
        let Waiting { since, number, older, younger, next_of_die, .. } = self.reads[slot as usize];
        (of_die.outstanding, of_die.first) = (of_die.outstanding + 1, next_of_die);
        // A read beyond the window takes the place of one that leaves it.
        let mut joins = NONE;
        if number <= self.reads[self.edge as usize].number {
            joins = self.reads[self.edge as usize].younger;
            if joins != NONE {
                self.edge = joins;
            } else {
                self.in_window -= 1;
                self.edge = if self.edge == slot { older } else { self.edge };
            }
        }
        *(if older == NONE { &mut self.oldest } else { &mut self.reads[older as usize].younger }) = younger;
        *(if younger == NONE { &mut self.youngest } else { &mut self.reads[younger as usize].older }) = older;
        self.update(die);
        if joins != NONE {
            self.update(self.reads[joins as usize].die);
        }
        Issued { slot, die, since }
    }

    /// Enters into the tree whether the first read of a die may be issued.
    fn update(&mut self, die: DieId) {
        let Die { outstanding, first, .. } = self.dies[die.index()];
        let mut key = NEVER;
        if first != NONE && outstanding < self.per_die && self.edge != NONE {
            let (number, last) = (self.reads[first as usize].number, self.reads[self.edge as usize].number);
            key = if number <= last { number } else { NEVER };
        }
        let mut at = self.tree.len() / 2 + die.index();
        self.tree[at] = key;
        while at > 1 {
            at /= 2;
            self.tree[at] = self.tree[2 * at].min(self.tree[2 * at + 1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Rng;

    fn reorder(window: u32, age_limit: Option<u64>, per_die: u32, dies: usize) -> Sequencer {
        let age_limit = age_limit.map(Nanos);
        let order = if window > 1 { Order::Reorder } else { Order::InOrder };
        let window = (window > 1).then_some(window);
        Sequencer::new(&SequencerConfig { order, window, age_limit, per_die }, dies)
    }

    /// Issues all reads that can be issued. Returns their slots.
    fn issue_all(sequencer: &mut Sequencer, now: u64) -> Vec<u32> {
        std::iter::from_fn(|| sequencer.next(SimTime(now)).map(|issued| issued.slot)).collect()
    }

    /// Five reads, of the dies 0, 0, 0, 1 and 2: in order, in a window of two, and in one of all.
    #[test]
    fn five_reads_by_hand() {
        for (window, first, second) in [
            // The second read holds up those of the other dies.
            (1, vec![0], vec![1]),
            // The window has the second and the third read, both of die 0; then the third and the fourth.
            (2, vec![0], vec![1, 3, 4]),
            (5, vec![0, 3, 4], vec![1]),
        ] {
            let mut sequencer = reorder(window, None, 1, 3);
            let mut issued = Vec::new();
            for (slot, die) in (0..).zip([0, 0, 0, 1, 2]) {
                sequencer.enter(slot, DieId(die), SimTime(0));
                issued.extend(issue_all(&mut sequencer, 0));
            }
            assert_eq!(issued, first, "{window}");
            sequencer.read_done(DieId(0));
            assert_eq!(issue_all(&mut sequencer, 1), second, "{window}");
            assert!(!sequencer.is_at_rest());
        }
    }

    /// The same in a window of all five: the die of the second read has been busy for longer than the limit when the
    /// others' dies become free.
    #[test]
    fn a_read_that_has_waited_for_too_long_is_not_overtaken() {
        for (now, expected) in [(100, vec![3]), (101, vec![])] {
            let mut sequencer = reorder(5, Some(100), 1, 2);
            for (slot, die) in (0..).zip([0, 1, 0, 1]) {
                sequencer.enter(slot, DieId(die), SimTime(0));
            }
            assert_eq!(issue_all(&mut sequencer, 0), [0, 1]);
            sequencer.read_done(DieId(1));
            assert_eq!(issue_all(&mut sequencer, now), expected, "{now}");
            sequencer.read_done(DieId(0));
            assert_eq!(issue_all(&mut sequencer, now), if now > 100 { vec![2, 3] } else { vec![2] });
        }
    }

    /// A plain list of the reads in the order of arrival.
    struct Plain {
        window: usize,
        age_limit: Option<u64>,
        per_die: u32,
        outstanding: Vec<u32>,
        /// Slot, die and arrival of each.
        waiting: Vec<(u32, usize, u64)>,
    }

    impl Plain {
        fn next(&mut self, now: u64) -> Option<u32> {
            let first = self.waiting.first()?;
            let is_late = self.age_limit.is_some_and(|limit| now - first.2 > limit);
            let window = if is_late { 1 } else { self.window };
            let free = |read: &&(u32, usize, u64)| self.outstanding[read.1] < self.per_die;
            let slot = self.waiting.iter().take(window).find(free)?.0;
            Some(self.take(slot))
        }

        fn take(&mut self, slot: u32) -> u32 {
            let at = self.waiting.iter().position(|read| read.0 == slot).expect("it waits");
            self.outstanding[self.waiting.remove(at).1] += 1;
            slot
        }
    }

    /// Random arrivals and ends of reads, from calm to far more than the dies serve, with a favoured die and without.
    #[test]
    fn reads_are_issued_as_from_a_plain_list() {
        let mut rng = Rng::stream(1, "sequencer");
        for case in 0..300 {
            let dies = 1 + rng.below(9) as usize;
            let window = [1, 2, 3, 8, 50][case % 5];
            let age_limit = (window > 1 && case % 3 == 0).then(|| rng.below(60));
            let per_die = 1 + rng.below(3) as u32;
            let mut sequencer = reorder(window, age_limit, per_die, dies);
            let mut plain =
                Plain { window: window as usize, age_limit, per_die, outstanding: vec![0; dies], waiting: Vec::new() };
            let (mut free, mut busy) = ((0..200).collect::<Vec<u32>>(), Vec::new());
            let (load, favour) = (1 + rng.below(9), rng.below(2) as usize);
            for now in 0..600u64 {
                if rng.below(10) < load && !free.is_empty() {
                    let slot = free.swap_remove(rng.below(free.len() as u64) as usize);
                    let die = rng.below(dies as u64) as usize * usize::from(favour == 0 || rng.below(4) == 0);
                    sequencer.enter(slot, DieId(die as u32), SimTime(now));
                    plain.waiting.push((slot, die, now));
                } else if !busy.is_empty() {
                    let (slot, die) = busy.swap_remove(rng.below(busy.len() as u64) as usize);
                    sequencer.read_done(DieId(die));
                    plain.outstanding[die as usize] -= 1;
                    free.push(slot);
                }
                if rng.below(40) == 0 {
                    let die = rng.below(dies as u64) as usize;
                    let expected = plain.waiting.iter().find(|read| read.1 == die).map(|read| read.0);
                    let taken = sequencer.take_first_of(DieId(die as u32));
                    assert_eq!(taken.map(|taken| taken.slot), expected, "case {case}, {now}");
                    busy.extend(expected.map(|slot| (plain.take(slot), die as u32)));
                }
                loop {
                    let since: Vec<(u32, u64)> = plain.waiting.iter().map(|read| (read.0, read.2)).collect();
                    let (issued, expected) = (sequencer.next(SimTime(now)), plain.next(now));
                    assert_eq!(issued.map(|issued| issued.slot), expected, "case {case}, {now}");
                    let Some(Issued { slot, die, since: waited }) = issued else { break };
                    assert!(since.contains(&(slot, waited.0)));
                    busy.push((slot, die.0));
                }
                assert_eq!(sequencer.is_at_rest(), plain.waiting.is_empty() && busy.is_empty());
            }
        }
    }

    /// Without an age limit, too, a read waits only for the older ones of its die. Three reads of a die, and reads of
    /// another die without end: a window of two is full of the former, which then hold up the others, a larger one is
    /// not. Each of the three is issued when the one before is done.
    #[test]
    fn no_read_starves() {
        for window in [2, 4, 64] {
            let mut sequencer = reorder(window, None, 1, 2);
            (0..3).for_each(|slot| sequencer.enter(slot, DieId(0), SimTime(0)));
            assert_eq!(issue_all(&mut sequencer, 0), [0]);
            let (mut overtake, mut waits) = (0, false);
            for served in 0..3 {
                for _ in 0..1000 {
                    if !waits {
                        sequencer.enter(3, DieId(1), SimTime(1));
                    }
                    waits = issue_all(&mut sequencer, 1).is_empty();
                    if !waits {
                        sequencer.read_done(DieId(1));
                        overtake += 1;
                    }
                }
                sequencer.read_done(DieId(0));
                let issued = issue_all(&mut sequencer, 2);
                let others = if waits { vec![3] } else { vec![] };
                assert_eq!(issued, if served < 2 { [vec![served + 1], others].concat() } else { vec![] }, "{window}");
                if std::mem::take(&mut waits) {
                    sequencer.read_done(DieId(1));
                }
            }
            assert!(sequencer.is_at_rest());
            assert_eq!(overtake, if window == 2 { 2000 } else { 3000 });
        }
    }
}
