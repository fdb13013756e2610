//! Exact sums of latencies. Means and standard deviations are computed from integers, never from a histogram.

use crate::cause::{CAUSE_COUNT, Ledger};
use crate::units::Nanos;

/// Exact count, sum and sum of squares of latencies, and their sum per cause.
///
/// The hot path adds to one 64-bit sum per cause. These are carried into 128-bit sums before the 64-bit latency sum,
/// which bounds each of them, would overflow. The length of a run is therefore not limited.
#[derive(Clone, Debug)]
pub struct Sums {
    count: u64,
    partial_ns: u64,
    partial: Ledger,
    total_ns: u128,
    squares_ns2: u128,
    causes_ns: [u128; CAUSE_COUNT],
}

impl Default for Sums {
    fn default() -> Self {
        Sums { count: 0, partial_ns: 0, partial: Ledger::default(), total_ns: 0, squares_ns2: 0, causes_ns: [0; CAUSE_COUNT] }
    }
}

impl Sums {
    /// Adds one latency and its parts.
    ///
    /// # Panics
    /// If the parts do not add up to the latency. The invariant is checked for every command, in release builds too.
    #[inline(always)]
    pub fn record(&mut self, latency: Nanos, parts: &Ledger) {
        if self.partial_ns.checked_add(latency.0).is_none() {
            self.carry();
        }
        self.count += 1;
        self.partial_ns += latency.0;
        self.squares_ns2 += u128::from(latency.0) * u128::from(latency.0);
        // Added and summed in one pass over the parts.
        let mut total = 0;
        for (sum, part) in self.partial.0.iter_mut().zip(&parts.0) {
            *sum += part;
            total += part;
        }
        assert!(total == latency.0, "causes sum to {total} ns, latency is {} ns: {parts:?}", latency.0);
    }

    fn carry(&mut self) {
        self.total_ns += u128::from(self.partial_ns);
        for (wide, narrow) in self.causes_ns.iter_mut().zip(&self.partial.0) {
            *wide += u128::from(*narrow);
        }
        self.partial_ns = 0;
        self.partial = Ledger::default();
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
        self.causes_ns[cause] + u128::from(self.partial.0[cause])
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
        self.carry();
        self.count += other.count;
        self.total_ns += other.total_ns();
        self.squares_ns2 += other.squares_ns2;
        for cause in 0..CAUSE_COUNT {
            self.causes_ns[cause] += other.cause_ns(cause);
        }
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
            sums.record(Nanos(huge), &parts(Cause::FreeSpace, huge));
        }
        assert_eq!(sums.total_ns(), 4 * u128::from(huge));
        assert_eq!(sums.cause_ns(Cause::FreeSpace as usize), 4 * u128::from(huge));
        let mut small = Sums::default();
        for ns in [2, 4, 4, 4, 5, 5, 7, 9] {
            small.record(Nanos(ns), &parts(Cause::Sense, ns));
        }
        assert_eq!((small.mean(), small.stddev()), (Some(5.0), Some(2.0)));
    }

    #[test]
    #[should_panic(expected = "causes sum to")]
    fn parts_that_do_not_add_up_are_refused() {
        Sums::default().record(Nanos(10), &parts(Cause::Sense, 9));
    }
}
