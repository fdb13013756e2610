//! Exact sums of latencies. Means and standard deviations are computed from integers, never from a histogram.

use crate::cause::{CAUSE_COUNT, Ledger};
use crate::histogram::Histogram;
use crate::units::Nanos;

/// Exact count, sum and sum of squares of latencies, and their sum per cause and range of latencies.
///
/// A range is a row of neighbouring buckets of the histogram ([`crate::Histogram::record`]). The sums of a tail are
/// those of its ranges, and the sums of all are those of all ranges: a command is added to one of them.
///
/// The hot path adds to one 64-bit sum per cause. These are carried into 128-bit sums before the 64-bit latency sum,
/// which bounds each of them, would overflow. The length of a run is therefore not limited.
#[derive(Clone, Debug, Default)]
pub struct Sums {
    count: u64,
    partial_ns: u64,
    total_ns: u128,
    squares_ns2: u128,
    /// Place of each range in the lists of sums; [`NO_PLACE`] for a range without any latency.
    places: Vec<u32>,
    /// Sums of each range, in the order in which their first latencies came.
    partial: Vec<Ledger>,
    /// Carried sums of each range. Ranges that came after the last carry have no entry.
    carried: Vec<[u128; CAUSE_COUNT]>,
}

/// Place of a range that has none.
const NO_PLACE: u32 = u32::MAX;

impl Sums {
    /// Adds one latency and its parts to a range of latencies.
    ///
    /// # Panics
    /// If the parts do not add up to the latency. The invariant is checked for every command, in release builds too.
    #[inline(always)]
    pub fn record(&mut self, latency: Nanos, parts: &Ledger, range: usize) {
        if self.partial_ns.checked_add(latency.0).is_none() {
            self.carry();
        }
        self.count += 1;
        self.partial_ns += latency.0;
        self.squares_ns2 += u128::from(latency.0) * u128::from(latency.0);
        let place = self.places.get(range).map_or(NO_PLACE, |place| *place) as usize;
        let place = if place < self.partial.len() { place } else { self.enter(range) };
        // Added and summed in one pass over the parts.
        let mut total = 0;
        for (sum, part) in self.partial[place].0.iter_mut().zip(&parts.0) {
            *sum += part;
            total += part;
        }
        assert!(total == latency.0, "causes sum to {total} ns, latency is {} ns: {parts:?}", latency.0);
    }

    /// Makes a place for a range that has none, and returns it.
    #[cold]
    fn enter(&mut self, range: usize) -> usize {
        if range >= self.places.len() {
            self.places.resize(range + 1, NO_PLACE);
        }
        self.places[range] = self.partial.len() as u32;
        self.partial.push(Ledger::default());
        self.partial.len() - 1
    }

    #[cold]
    fn carry(&mut self) {
        self.total_ns += u128::from(self.partial_ns);
        self.partial_ns = 0;
        self.carried.resize(self.partial.len(), [0; CAUSE_COUNT]);
        for (wide, narrow) in self.carried.iter_mut().zip(&mut self.partial) {
            for (wide, narrow) in wide.iter_mut().zip(std::mem::take(narrow).0) {
                *wide += u128::from(narrow);
            }
        }
    }

    /// Returns the number of latencies added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the sum of all latencies \[ns\].
    pub fn total_ns(&self) -> u128 {
        self.total_ns + u128::from(self.partial_ns)
    }

    /// Returns the sum charged to the cause with index `cause` \[ns\].
    pub fn cause_ns(&self, cause: usize) -> u128 {
        (0..self.partial.len()).map(|place| self.at(place, cause)).sum()
    }

    /// Returns the sum of a range of latencies that is charged to the cause with index `cause` \[ns\].
    pub fn range_ns(&self, range: usize, cause: usize) -> u128 {
        let place = self.places.get(range).filter(|place| **place != NO_PLACE);
        place.map_or(0, |place| self.at(*place as usize, cause))
    }

    fn at(&self, place: usize, cause: usize) -> u128 {
        self.carried.get(place).map_or(0, |wide| wide[cause]) + u128::from(self.partial[place].0[cause])
    }

    /// Returns the mean latency \[ns\]; `None` if none was added.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.total_ns() as f64 / self.count as f64)
    }

    /// Returns the population standard deviation \[ns\], from the exact integer variance; `None` if no latency was
    /// added.
    pub fn stddev(&self) -> Option<f64> {
        if self.count == 0 {
            return None;
        }
        let (n, sum) = (u128::from(self.count), self.total_ns());
        // n * sum(x^2) - sum(x)^2 is an exact non-negative integer. If a product overflows 128 bits, doubles are
        // accurate enough.
        let scaled = match (n.checked_mul(self.squares_ns2), sum.checked_mul(sum)) {
            (Some(left), Some(right)) => (left - right) as f64,
            _ => n as f64 * self.squares_ns2 as f64 - sum as f64 * sum as f64,
        };
        Some(scaled.max(0.0).sqrt() / self.count as f64)
    }

    /// Adds all latencies of `other`.
    pub fn merge(&mut self, other: &Sums) {
        let theirs = other.places.iter().enumerate().filter(|(_, place)| **place != NO_PLACE);
        let theirs: Vec<(usize, usize)> = theirs.map(|(range, place)| (range, *place as usize)).collect();
        for (range, _) in &theirs {
            if self.places.get(*range).is_none_or(|place| *place == NO_PLACE) {
                self.enter(*range);
            }
        }
        self.carry();
        self.count += other.count;
        self.total_ns += other.total_ns();
        self.squares_ns2 += other.squares_ns2;
        for (range, place) in theirs {
            let mine = &mut self.carried[self.places[range] as usize];
            (0..CAUSE_COUNT).for_each(|cause| mine[cause] += other.at(place, cause));
        }
    }

    /// Returns the slowest commands of those in `histogram`, whose latencies were added here, each to the range that it
    /// returned: those beyond the percentile at `fraction`. `None` if they are fewer than `least`.
    pub fn tail(&self, histogram: &Histogram, fraction: f64, least: u64) -> Option<Tail> {
        let count = histogram.beyond(fraction).filter(|count| *count >= least)?;
        let (mut left, mut causes_ns) = (count, [0.0; CAUSE_COUNT]);
        for (range, commands) in histogram.ranges().rev() {
            let share = if commands <= left { 1.0 } else { left as f64 / commands as f64 };
            for (cause, sum) in causes_ns.iter_mut().enumerate() {
                *sum += self.range_ns(range, cause) as f64 * share;
            }
            left -= commands.min(left);
            if left == 0 {
                break;
            }
        }
        Some(Tail { count, causes_ns: causes_ns.map(|sum| sum / count as f64) })
    }
}

/// The slowest commands of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tail {
    /// Number of commands.
    pub count: u64,
    /// Mean time charged to each cause \[ns\]. Where only some commands of a range of latencies belong to the tail, all
    /// of the range count in part: the composition of a range, which is at most 1/64 wide, is not known further.
    pub causes_ns: [f64; CAUSE_COUNT],
}

impl Tail {
    /// Returns the mean latency \[ns\].
    pub fn mean_ns(&self) -> f64 {
        self.causes_ns.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::Cause;

    fn parts(cause: Cause, ns: u64) -> Ledger {
        let mut ledger = Ledger::default();
        ledger.charge(cause, Nanos(ns));
        ledger
    }

    #[test]
    fn mean_and_deviation_are_exact_beyond_64_bits() {
        let mut sums = Sums::default();
        let huge = u64::MAX / 2;
        for _ in 0..4 {
            sums.record(Nanos(huge), &parts(Cause::FreeSpace, huge), 7);
        }
        assert_eq!(sums.total_ns(), 4 * u128::from(huge));
        assert_eq!(sums.cause_ns(Cause::FreeSpace as usize), 4 * u128::from(huge));
        let mut small = Sums::default();
        for ns in [2, 4, 4, 4, 5, 5, 7, 9] {
            small.record(Nanos(ns), &parts(Cause::Sense, ns), ns as usize);
        }
        assert_eq!((small.mean(), small.stddev()), (Some(5.0), Some(2.0)));
    }

    #[test]
    #[should_panic(expected = "causes sum to")]
    fn parts_that_do_not_add_up_are_refused() {
        Sums::default().record(Nanos(10), &parts(Cause::Sense, 9), 0);
    }

    /// Returns the sums of commands, each charged to one cause, and their histogram.
    fn measured(commands: &[(u64, Cause)]) -> (Sums, Histogram) {
        let (mut sums, mut histogram) = (Sums::default(), Histogram::default());
        for (ns, cause) in commands {
            let range = histogram.record(*ns);
            sums.record(Nanos(*ns), &parts(*cause, *ns), range);
        }
        (sums, histogram)
    }

    #[test]
    fn a_tail_has_its_own_causes() {
        let mut commands = vec![(100_000, Cause::Sense); 9_900];
        commands.extend([(2_000_000, Cause::DieErase); 70]);
        commands.extend([(3_000_000, Cause::BusWait); 30]);
        let (sums, histogram) = measured(&commands);
        let tail = sums.tail(&histogram, 0.99, 10).expect("100 commands");
        let of = |tail: &Tail, cause: Cause| tail.causes_ns[cause as usize];
        assert_eq!((tail.count, tail.mean_ns()), (100, 2_300_000.0));
        assert_eq!([Cause::Sense, Cause::DieErase, Cause::BusWait].map(|cause| of(&tail, cause)), [0.0, 1.4e6, 0.9e6]);
        let tail = sums.tail(&histogram, 0.999, 10).expect("10 commands");
        assert_eq!((tail.count, of(&tail, Cause::BusWait)), (10, 3e6));
        assert_eq!(sums.tail(&histogram, 0.9999, 10), None, "one command is too few");
        // Together with an equal class, every count doubles, and the means stay.
        let (mut both, mut histograms) = (sums.clone(), histogram.clone());
        both.merge(&sums);
        histograms.merge(&histogram);
        let tail = both.tail(&histograms, 0.99, 10).expect("200 commands");
        assert_eq!((tail.count, tail.mean_ns(), of(&tail, Cause::DieErase)), (200, 2_300_000.0, 1.4e6));
    }

    /// Any ten of a thousand equal commands are the slowest: each of them counts for a hundredth.
    #[test]
    fn equal_commands_share_a_tail() {
        let mut commands = vec![(500_000, Cause::Sense); 600];
        commands.extend([(500_000, Cause::Program); 400]);
        let (sums, histogram) = measured(&commands);
        let tail = sums.tail(&histogram, 0.99, 10).expect("ten commands");
        let causes = [Cause::Sense, Cause::Program].map(|cause| tail.causes_ns[cause as usize].round());
        assert_eq!((tail.count, causes), (10, [300_000.0, 200_000.0]));
    }

    /// Against the commands themselves, sorted: the mean of a tail is within the width of a range.
    #[test]
    fn a_tail_is_that_of_the_sorted_commands() {
        let cause = |at: u64| if at.is_multiple_of(3) { Cause::DieErase } else { Cause::DieRelocation };
        let mut commands: Vec<(u64, Cause)> = (0..50_000).map(|at| ((at * at * 7919) % 9_000_000 + 40_000, cause(at))).collect();
        let (sums, histogram) = measured(&commands);
        commands.sort_unstable();
        for (fraction, count) in [(0.99, 500), (0.999, 50)] {
            let slowest = &commands[commands.len() - count..];
            let exact = |cause: Cause| slowest.iter().filter(|one| one.1 == cause).map(|one| one.0).sum::<u64>() as f64;
            let tail = sums.tail(&histogram, fraction, 10).expect("enough commands");
            assert_eq!(tail.count, count as u64);
            let whole = slowest.iter().map(|one| one.0).sum::<u64>() as f64;
            assert!((tail.mean_ns() * count as f64 / whole - 1.0).abs() < 1.0 / 64.0, "{fraction}: {tail:?}, {whole}");
            for cause in [Cause::DieErase, Cause::DieRelocation] {
                let share = tail.causes_ns[cause as usize] / tail.mean_ns();
                assert!((share - exact(cause) / whole).abs() < 0.08, "{fraction} {cause:?}: {share}, {}", exact(cause) / whole);
            }
        }
    }
}
