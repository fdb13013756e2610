//! Distribution of the charges of windows.

use super::ring::Changes;
use kit::Histogram;

/// Binary logarithm of the number of buckets per octave, as in a [`Histogram`].
const SUB_BITS: u32 = 10;
/// Bits of a floating-point number below those that give its bucket.
const REST_BITS: u32 = f64::MANTISSA_DIGITS - 1 - SUB_BITS;
/// Bucket of the number 1.
const FIRST: u64 = 1023 << SUB_BITS;
/// Least charge that a floating-point number does not always hold exactly.
const INEXACT: u64 = 1 << f64::MANTISSA_DIGITS;

/// Counts of charges, with the buckets of a [`Histogram`] and finer ones below 1024. The bucket of a charge is in the
/// upper bits of the charge as a floating-point number, which is less work than its logarithm.
#[derive(Clone, Debug, Default)]
pub(super) struct Charges {
    /// Counts from [`FIRST`] on, up to the highest octave with a charge.
    counts: Vec<u64>,
    /// Charges of 0, and those that are not exact as floating-point numbers.
    rare: Histogram,
}

impl Charges {
    /// Counts a charge `times` times.
    #[inline]
    pub fn record(&mut self, charge: i64, times: u64) {
        // Zero and negative numbers are outside the counts.
        let bucket = ((charge as f64).to_bits() >> REST_BITS).wrapping_sub(FIRST);
        match self.counts.get_mut(bucket as usize) {
            Some(count) => *count += times,
            None => self.record_rare(charge, times),
        }
    }

    /// Counts the charges of at most 64 windows, whose changes follow a charge of `level`. Returns the charge after
    /// them, the sum of their charges, and the greatest.
    #[inline]
    pub fn record_each(&mut self, mut level: i64, windows: impl Iterator<Item = Changes>) -> (i64, u128, u64) {
        // A slice of its own keeps its place in a register.
        let mut counts = std::mem::take(&mut self.counts);
        let (mut sum, mut peak) = (0, 0.0);
        let (mut rare_sum, mut rare_peak) = (0, 0);
        for Changes { charge, step } in windows {
            let charge = level + charge;
            let number = charge as f64;
            match counts.get_mut((number.to_bits() >> REST_BITS).wrapping_sub(FIRST) as usize) {
                Some(count) => {
                    *count += 1;
                    // Below 2^53, so that the sum of 64 fits.
                    sum += charge as u64;
                    peak = if number > peak { number } else { peak };
                }
                None => {
                    self.counts = counts;
                    self.record_rare(charge, 1);
                    counts = std::mem::take(&mut self.counts);
                    rare_sum += u128::from(charge as u64);
                    rare_peak = rare_peak.max(charge as u64);
                }
            }
            level += step;
        }
        self.counts = counts;
        (level, rare_sum + u128::from(sum), rare_peak.max(peak as u64))
    }

    #[cold]
    #[inline(never)]
    fn record_rare(&mut self, charge: i64, times: u64) {
        let charge = u64::try_from(charge).expect("the current of all dies is never negative");
        if charge == 0 || charge >= INEXACT {
            self.rare.record_times(charge, times);
            return;
        }
        let bucket = (((charge as f64).to_bits() >> REST_BITS) - FIRST) as usize;
        self.counts.resize(((bucket >> SUB_BITS) + 1) << SUB_BITS, 0);
        self.counts[bucket] += times;
    }

    /// Returns the distribution. `greatest` is the greatest charge, of which the counts know the bucket alone.
    pub fn histogram(&self, greatest: u64) -> Histogram {
        let mut all = self.rare.clone();
        let last = self.counts.iter().rposition(|count| *count > 0);
        for (index, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let low = f64::from_bits((index as u64 + FIRST) << REST_BITS) as u64;
            let is_last = Some(index) == last && greatest < INEXACT;
            all.record_times(low, count - u64::from(is_last));
            all.record_times(greatest, u64::from(is_last));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charges_have_the_distribution_of_a_histogram() {
        let (mut charges, mut expected) = (Charges::default(), Histogram::default());
        let mut rng = kit::Rng::stream(1, "power.charges");
        let near = (0..62).flat_map(|bits| [(1 << bits) - 1, 1 << bits, (1 << bits) + 1]);
        let drawn: Vec<u64> = (0..20_000).map(|index| rng.below(1 << (1 + index % 61))).collect();
        for (index, charge) in near.chain(drawn).enumerate() {
            charges.record(charge as i64, 1 + charge % 3);
            expected.record_times(charge, 1 + charge % 3);
            if index < 200 || index % 1_000 == 0 {
                let found = charges.histogram(expected.max().expect("a charge"));
                assert_eq!((found.count(), found.max()), (expected.count(), expected.max()), "{charge}");
                assert!(found.buckets().eq(expected.buckets()), "{charge}");
                for share in [0.0, 0.5, 0.9, 0.99, 0.999, 1.0] {
                    assert_eq!(found.percentile(share, 10), expected.percentile(share, 10), "{charge}: {share}");
                }
            }
        }
    }
}
