//! A log-linear histogram with exact extremes.

/// Binary logarithm of the number of buckets per octave. A bucket's width is at most 1/1024 of its lower edge, so that
/// a percentile read from a bucket's upper edge is at most 0.098 % above the true value.
const SUB_BITS: u32 = 10;
const SUB: usize = 1 << SUB_BITS;
/// Binary logarithm of the number of buckets of a range of latencies. From 1 us on, a range is at most 1/64 wide.
const RANGE_BITS: u32 = 4;

/// Counts of `u64` values in log-linear buckets: exact below 2048, then at most 0.098 % wide.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// Counts of the buckets up to the highest octave with a value.
    counts: Vec<u64>,
    total: u64,
    min: u64,
    max: u64,
}

/// One row of a histogram: `count` values in `low..=high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Smallest value of the bucket.
    pub low: u64,
    /// Largest value of the bucket.
    pub high: u64,
    /// Number of values recorded in the bucket.
    pub count: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: Vec::new(), total: 0, min: u64::MAX, max: 0 }
    }
}

#[inline]
fn bucket_of(value: u64) -> usize {
    let magnitude = 63 - (value | 1).leading_zeros();
    if magnitude <= SUB_BITS {
        return value as usize;
    }
    let shift = magnitude - SUB_BITS;
    shift as usize * SUB + (value >> shift) as usize
}

fn bucket_range(index: usize) -> (u64, u64) {
    if index < 2 * SUB {
        return (index as u64, index as u64);
    }
    let shift = (index / SUB - 1) as u32;
    let low = ((index - shift as usize * SUB) as u64) << shift;
    (low, low + ((1u64 << shift) - 1))
}

impl Histogram {
    /// Counts one value. Returns the number of its range: of a row of 16 neighbouring buckets.
    #[inline]
    pub fn record(&mut self, value: u64) -> usize {
        let bucket = bucket_of(value);
        if bucket >= self.counts.len() {
            self.grow(bucket);
        }
        self.counts[bucket] += 1;
        self.total += 1;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
        bucket >> RANGE_BITS
    }

    /// Counts one value `times` times.
    #[inline]
    pub fn record_times(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        let bucket = bucket_of(value);
        if bucket >= self.counts.len() {
            self.grow(bucket);
        }
        self.counts[bucket] += times;
        self.total += times;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds buckets up to the end of the octave of `bucket`.
    #[cold]
    fn grow(&mut self, bucket: usize) {
        self.counts.resize((bucket / SUB + 1) * SUB, 0);
    }

    /// Returns the number of values recorded.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// Returns the smallest value recorded (exact), if any.
    pub fn min(&self) -> Option<u64> {
        (self.total > 0).then_some(self.min)
    }

    /// Returns the largest value recorded (exact), if any.
    pub fn max(&self) -> Option<u64> {
        (self.total > 0).then_some(self.max)
    }

    /// Returns the percentile at `fraction`: the smallest value that at least this share of the recorded values does
    /// not exceed. The result is never below the true value and at most 0.098 % above it. `None` if nothing was
    /// recorded, or if fewer than `beyond` values rank above it.
    pub fn percentile(&self, fraction: f64, beyond: u64) -> Option<u64> {
        if self.total == 0 {
            return None;
        }
        let rank = self.rank(fraction);
        if self.total - rank < beyond {
            return None;
        }
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Some(bucket_range(index).1.clamp(self.min, self.max));
            }
        }
        None
    }

    /// Returns the number of recorded values up to the percentile at `fraction`, itself included.
    fn rank(&self, fraction: f64) -> u64 {
        ((fraction * self.total as f64).ceil() as u64).clamp(1, self.total)
    }

    /// Returns the number of recorded values that rank above the percentile at `fraction`, if any was recorded.
    pub fn beyond(&self, fraction: f64) -> Option<u64> {
        (self.total > 0).then(|| self.total - self.rank(fraction))
    }

    /// Returns the ranges of latencies with any values, in rising order: the number of each, as
    /// [`Histogram::record`] returns it, and its count of values.
    pub fn ranges(&self) -> impl DoubleEndedIterator<Item = (usize, u64)> + '_ {
        let counts = self.counts.chunks(1 << RANGE_BITS).map(|buckets| buckets.iter().sum());
        counts.enumerate().filter(|(_, count)| *count > 0)
    }

    /// Returns the largest value of the range with this number, as [`Histogram::record`] returns it.
    pub fn end_of_range(range: usize) -> u64 {
        bucket_range(((range + 1) << RANGE_BITS) - 1).1
    }

    /// Returns the non-empty buckets, in rising order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(index, &count)| {
            let (low, high) = bucket_range(index);
            Bucket { low, high, count }
        })
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_range() {
        let mut next = 0u64;
        for index in 0..bucket_of(u64::MAX) {
            let (low, high) = bucket_range(index);
            assert_eq!(low, next, "bucket {index}");
            assert_eq!((bucket_of(low), bucket_of(high)), (index, index));
            assert!((high - low) as f64 <= low as f64 / 1024.0);
            next = high + 1;
        }
        assert_eq!(bucket_range(bucket_of(u64::MAX)).1, u64::MAX);
    }

    #[test]
    fn percentiles_are_never_low_and_at_most_a_thousandth_high() {
        let mut histogram = Histogram::default();
        let mut values: Vec<u64> = (0..20_000u64).map(|i| (i * i * 7919) % 90_000_000 + 40_000).collect();
        for value in &values {
            histogram.record(*value);
        }
        values.sort_unstable();
        for fraction in [0.5, 0.9, 0.99, 0.999] {
            let exact = values[((fraction * values.len() as f64).ceil() as usize).max(1) - 1];
            let read = histogram.percentile(fraction, 10).expect("enough samples");
            assert!(read >= exact && read as f64 <= exact as f64 * 1.001, "{fraction}: {read} for {exact}");
        }
        assert_eq!(histogram.percentile(0.9999, 10), None, "two samples beyond are too few");
        assert_eq!((histogram.min(), histogram.max()), (values.first().copied(), values.last().copied()));
    }

    #[test]
    fn a_range_ends_with_its_largest_value() {
        for value in [0, 15, 16, 2047, 2048, 53_704, 9_000_000_001] {
            let range = Histogram::default().record(value);
            let end = Histogram::end_of_range(range);
            assert!(value <= end && Histogram::default().record(end) == range, "{value}: {end}");
            assert_eq!(Histogram::default().record(end + 1), range + 1);
        }
    }

    #[test]
    fn one_value_repeated_is_itself_everywhere() {
        let mut histogram = Histogram::default();
        for _ in 0..1000 {
            histogram.record(53_704);
        }
        assert_eq!(histogram.percentile(0.5, 10), Some(53_704));
        assert_eq!(histogram.max(), Some(53_704));
    }
}
