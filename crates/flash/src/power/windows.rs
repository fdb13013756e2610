//! Current averaged over windows of equal length: peak, distribution, and course over time.

use kit::{Histogram, Nanos, SimTime};

/// Largest number of rows of the course over time; when it is full, pairs of rows are merged.
const ROWS: usize = 4096;
/// Number of windows kept before those that are final are counted.
const KEPT: usize = 1 << 14;

/// Power over one row of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PowerRow {
    /// Charge drawn in the row \[uA ns\].
    charge: u128,
    /// Greatest charge of a window \[uA ns\].
    peak: u64,
}

/// Windows since the start of a measurement.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// Length of a window \[ns\].
    width: u64,
    /// Instant at which the first window begins.
    origin: SimTime,
    /// Number of the first window that is not final.
    base: u64,
    /// Current at the end of the last final window \[uA\].
    level: u64,
    /// For each window from `base` on, the charge that its own changes of the current add to it \[uA ns\].
    charge: Vec<i64>,
    /// For each window from `base` on, the change of the current within it \[uA\].
    change: Vec<i64>,
    /// One bit for each window from `base` on, set where the current changes; 64 to a word.
    touched: Vec<u64>,
    /// Charges of the final windows.
    histogram: Histogram,
    /// Rows of `1 << shift` windows each.
    rows: Vec<PowerRow>,
    shift: u32,
}

/// Power in windows.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowReport {
    /// Length of a window \[ns\].
    pub window_ns: u64,
    /// Number of windows.
    pub count: u64,
    /// Greatest power of a window \[W\].
    pub peak_w: f64,
    /// Percentiles of the power of the windows \[W\], at most 0.1 % above the true ones: 50, 90, 99, 99.9.
    pub percentiles_w: [Option<f64>; 4],
    /// Course over time: start \[ns since the start of the measurement\], mean power, greatest power of a window \[W\].
    pub rows: Vec<(u64, f64, f64)>,
}

impl Windows {
    /// Creates windows of `width` ns from `origin` on, at whose start a current of `level` uA flows.
    pub fn new(width: u64, origin: SimTime, level: u64) -> Windows {
        Windows {
            width,
            origin,
            base: 0,
            level,
            charge: Vec::new(),
            change: Vec::new(),
            touched: Vec::new(),
            histogram: Histogram::default(),
            rows: Vec::new(),
            shift: 0,
        }
    }

    /// Returns windows that begin at `origin`.
    pub fn anew(&self, origin: SimTime, level: u64) -> Windows {
        Windows::new(self.width, origin, level)
    }

    /// Leaves a time without any changes out.
    pub fn exclude(&mut self, off: Nanos) {
        self.origin = self.origin + off;
    }

    /// Adds a change of the current at an instant that is not before the first window that is not final.
    #[inline]
    pub fn add(&mut self, at: u64, change: i64) {
        let index = at / self.width;
        let place = (index - self.base) as usize;
        if place >= self.charge.len() {
            self.grow(place);
        }
        self.touched[place / 64] |= 1 << (place % 64);
        self.charge[place] += change * ((index + 1) * self.width - at) as i64;
        self.change[place] += change;
    }

    #[cold]
    fn grow(&mut self, place: usize) {
        let words = (place / 64 + 1).next_multiple_of(16);
        self.touched.resize(words, 0);
        self.charge.resize(words * 64, 0);
        self.change.resize(words * 64, 0);
    }

    /// Returns the time since the first window began \[ns\].
    #[inline]
    pub fn place(&self, at: SimTime) -> u64 {
        at.since(self.origin).0
    }

    /// Returns true if so many windows are kept that the final ones should be counted, at latest before a change at
    /// `at`.
    #[inline]
    pub fn is_due(&self, at: u64) -> bool {
        (at / self.width).saturating_sub(self.base) as usize > KEPT
    }

    /// Counts all windows that end at `until` or before, or nearly all of them; no change before `until` is added
    /// later.
    pub fn settle(&mut self, until: u64) {
        // The windows that are kept begin with a whole word, unless none are kept.
        let end = until / self.width;
        let kept = self.touched.len() as u64 * 64;
        let passed = end.saturating_sub(self.base);
        let words = if passed >= kept { self.touched.len() } else { (passed / 64) as usize };
        self.settle_words(words);
        if self.touched.is_empty() && self.base < end {
            self.count(self.level * self.width, end - self.base);
        }
    }

    /// Counts all windows that end at `until` or before. Nothing is added later.
    pub fn finish(&mut self, until: u64) {
        self.settle(until);
        let end = until / self.width;
        for index in 0..end.saturating_sub(self.base) as usize {
            self.count_touched(index);
        }
    }

    /// Counts the windows of the first words, and drops them.
    fn settle_words(&mut self, words: usize) {
        let start = self.base;
        for word in 0..words {
            let mut bits = self.touched[word];
            while bits != 0 {
                let index = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                let at = start + index as u64;
                if self.base < at {
                    self.count(self.level * self.width, at - self.base);
                }
                self.count_touched(index);
            }
        }
        let end = start + words as u64 * 64;
        if self.base < end {
            self.count(self.level * self.width, end - self.base);
        }
        self.touched.drain(..words);
        self.charge.drain(..words * 64);
        self.change.drain(..words * 64);
    }

    /// Counts the next window, which has a place among those that are kept.
    #[inline]
    fn count_touched(&mut self, index: usize) {
        let charge = self.level as i64 * self.width as i64 + self.charge[index];
        self.level = (self.level as i64 + self.change[index]) as u64;
        self.count(charge as u64, 1);
    }

    /// Counts windows with equal charges.
    fn count(&mut self, charge: u64, times: u64) {
        self.histogram.record_times(charge, times);
        let (mut at, end) = (self.base, self.base + times);
        self.base = end;
        while at < end {
            let mut row = (at >> self.shift) as usize;
            while row >= ROWS {
                self.halve();
                row = (at >> self.shift) as usize;
            }
            if row >= self.rows.len() {
                self.rows.resize(row + 1, PowerRow::default());
            }
            let next = ((row as u64 + 1) << self.shift).min(end);
            let row = &mut self.rows[row];
            row.charge += u128::from(charge) * u128::from(next - at);
            row.peak = row.peak.max(charge);
            at = next;
        }
    }

    fn halve(&mut self) {
        let half = self.rows.len().div_ceil(2);
        for index in 0..half {
            let later = self.rows.get(2 * index + 1).copied().unwrap_or_default();
            let first = self.rows[2 * index];
            self.rows[index] = PowerRow { charge: first.charge + later.charge, peak: first.peak.max(later.peak) };
        }
        self.rows.truncate(half);
        self.shift += 1;
    }

    /// Returns the report at a supply of `millivolts`.
    pub fn report(&self, millivolts: u64) -> WindowReport {
        // 1 uA x 1 mV is 1 nW.
        let watts = |charge: f64, span: f64| charge * millivolts as f64 / span / 1e9;
        let of_window = |charge: u64| watts(charge as f64, self.width as f64);
        let row = |(index, row): (usize, &PowerRow)| {
            let begin = (index as u64) << self.shift;
            let windows = ((index as u64 + 1) << self.shift).min(self.base) - begin;
            (begin * self.width, watts(row.charge as f64, (windows * self.width) as f64), of_window(row.peak))
        };
        WindowReport {
            window_ns: self.width,
            count: self.histogram.count(),
            peak_w: of_window(self.histogram.max().unwrap_or(0)),
            percentiles_w: [0.5, 0.9, 0.99, 0.999].map(|share| self.histogram.percentile(share, 10).map(of_window)),
            rows: self.rows.iter().enumerate().map(row).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A current of 10 uA, and 20 uA more from 1500 to 3250 ns; nothing else up to 10 ms.
    #[test]
    fn a_pulse_is_averaged_over_the_windows_that_it_touches() {
        let mut windows = Windows::new(1000, SimTime(5), 10);
        windows.add(1500, 20);
        windows.add(3250, -20);
        windows.finish(10_000_000);
        let charges: Vec<(u64, u64)> = windows.histogram.buckets().map(|bucket| (bucket.high, bucket.count)).collect();
        let near =
            |value: u64| charges.iter().find(|(high, _)| (value..=value + value / 1000).contains(high)).map(|(_, count)| *count);
        assert_eq!((near(10_000), near(20_000), near(30_000), near(15_000)), (Some(9997), Some(1), Some(1), Some(1)));
        let report = windows.report(3300);
        assert_eq!((report.count, report.peak_w), (10_000, 30e-6 * 3.3));
        let total: f64 = report
            .rows
            .iter()
            .zip(0..)
            .map(|((begin, mean, _), index)| {
                let end = report.rows.get(index + 1).map_or(10_000_000, |next| next.0);
                mean * (end - begin) as f64
            })
            .sum();
        let energy = (10.0 * 1e7 + 20.0 * 1750.0) * 3300.0 / 1e9;
        assert!((total - energy).abs() < 1e-9 * energy, "{total} {energy}");
    }

    #[test]
    fn a_course_has_at_most_4096_rows() {
        let mut windows = Windows::new(1000, SimTime::ZERO, 7);
        windows.finish(86_400_000_000_000);
        assert!(windows.rows.len() <= ROWS && windows.rows.len() > ROWS / 4);
        assert_eq!(windows.rows.iter().map(|row| row.charge).sum::<u128>(), 7 * 86_400_000_000_000);
    }
}
