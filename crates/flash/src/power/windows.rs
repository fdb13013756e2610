//! Current averaged over windows of equal length: peak, distribution, and course over time.

use kit::{Histogram, Nanos, SimTime};

/// Largest number of rows of the course over time; when it is full, pairs of rows are merged.
const ROWS: usize = 4096;
/// Number of windows that pass before those that are final are counted. Those in between fit in the fastest cache.
const KEPT: u64 = 1 << 11;
/// Length of the ring of windows at the start.
const RING: usize = 1 << 13;
/// Longest window \[ns\].
const MOST_WIDTH: u64 = 1_000_000;
/// Time below which a multiplication gives the exact number of windows: 2^64 over the longest window, rounded down to a
/// power of two.
const EXACT: u64 = 1 << 44;

/// Power over one row of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct PowerRow {
    /// Charge drawn in the row \[uA ns\].
    charge: u128,
    /// Greatest charge of a window \[uA ns\].
    peak: u64,
}

/// Changes of the current within one window.
#[derive(Clone, Copy, Debug, Default)]
struct Changes {
    /// Charge that they add to the window itself \[uA ns\].
    charge: i64,
    /// Their sum \[uA\].
    current: i64,
}

/// A change of the current, at a time after the start of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    /// Time \[ns\].
    pub at: u64,
    /// Change \[uA\].
    pub change: i64,
}

/// Windows since the start of a measurement.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    /// Length of a window \[ns\], and its reciprocal, rounded up, times 2^64.
    width: u64,
    reciprocal: u64,
    /// Instant at which the first window begins.
    origin: SimTime,
    /// Number of the first window that is not final.
    base: u64,
    /// Time at which changes are placed from: the start of that window, unless windows are being counted \[ns\].
    base_at: u64,
    /// Time from which the final windows should be counted \[ns\].
    due: u64,
    /// Charge of a window at the current after the last final one \[uA ns\].
    level: i64,
    /// Changes in each window from `base` on, as a ring: a window is at its number modulo the length, a power of two.
    kept: Vec<Changes>,
    /// Time after `base_at` that the ring does not reach \[ns\].
    reach: u64,
    /// One bit for each window of the ring, set where the current changes; 64 to a word.
    touched: Vec<u64>,
    /// Charges of the final windows.
    histogram: Histogram,
    /// Rows of `1 << shift` windows each that are complete, and the one that is not.
    rows: Vec<PowerRow>,
    row: PowerRow,
    /// Number of the window after the row that is not complete.
    row_end: u64,
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
    /// Creates windows of `width` ns, at most 1 ms, from `origin` on, at whose start a current of `level` uA flows.
    pub fn new(width: u64, origin: SimTime, level: u64) -> Windows {
        assert!((2..=MOST_WIDTH).contains(&width), "the length of a window is checked with the description");
        Windows {
            width,
            reciprocal: u64::MAX / width + 1,
            origin,
            base: 0,
            base_at: 0,
            due: KEPT * width,
            level: (level * width) as i64,
            kept: vec![Changes::default(); RING],
            reach: (RING as u64 - 64) * width,
            touched: vec![0; RING / 64],
            histogram: Histogram::default(),
            rows: Vec::new(),
            row: PowerRow::default(),
            row_end: 1,
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

    /// Adds changes of the current after `start`, none of which is before the first window that is not final. Their
    /// times rise.
    #[inline]
    pub fn add(&mut self, start: u64, edges: &[Edge]) {
        let Some(last) = edges.last() else { return };
        let start = start - self.base_at;
        let end = start + last.at;
        // The rest of the ring is free, but for a word.
        if end >= self.reach {
            self.grow(self.quotient(end));
        }
        let (width, reciprocal, base) = (self.width, self.reciprocal, self.base);
        let (kept, touched) = (self.kept.as_mut_slice(), self.touched.as_mut_slice());
        let mask = kept.len() - 1;
        assert!(touched.len() == kept.len() / 64, "a bit for each window");
        let mut add = |at: u64, change: i64, ahead: u64| {
            let place = (base + ahead) as usize & mask;
            touched[place / 64] |= 1 << (place % 64);
            let kept = &mut kept[place];
            kept.charge += change * ((ahead + 1) * width - at) as i64;
            kept.current += change;
        };
        if end < EXACT {
            edges.iter().for_each(|edge| add(start + edge.at, edge.change, quotient(start + edge.at, reciprocal)));
        } else {
            edges.iter().for_each(|edge| add(start + edge.at, edge.change, (start + edge.at) / width));
        }
    }

    /// Returns the number of windows in a time, rounded down.
    #[inline]
    fn quotient(&self, time: u64) -> u64 {
        if time < EXACT { quotient(time, self.reciprocal) } else { time / self.width }
    }

    /// Makes the ring long enough for a window that is `ahead` of the first one. A word of bits is never that of
    /// windows at both ends of the ring.
    #[cold]
    fn grow(&mut self, ahead: u64) {
        let (old, length) = (self.kept.len() as u64, (ahead + 65).next_power_of_two());
        let (mut kept, mut touched) = (vec![Changes::default(); length as usize], vec![0; length as usize / 64]);
        for window in self.base..self.base + old - 64 {
            kept[(window % length) as usize] = self.kept[(window % old) as usize];
        }
        for word in self.base / 64..(self.base + old - 64).div_ceil(64) {
            touched[(word % (length / 64)) as usize] = self.touched[(word % (old / 64)) as usize];
        }
        (self.kept, self.touched) = (kept, touched);
        self.reach = (length - 64) * self.width;
    }

    /// Returns the time since the first window began \[ns\].
    #[inline]
    pub fn place(&self, at: SimTime) -> u64 {
        at.since(self.origin).0
    }

    /// Returns true if so many windows have passed at `at` that the final ones should be counted.
    #[inline]
    pub fn is_due(&self, at: u64) -> bool {
        at > self.due
    }

    /// Counts all windows that end at `until` or before; no change before `until` is added later. It is due again some
    /// time after `now`.
    pub fn settle(&mut self, until: u64, now: u64) {
        let (end, length) = (until / self.width, self.kept.len() as u64);
        let mut at = self.base;
        let stop = end.min(at + length - 64);
        while at < stop {
            let (place, offset) = ((at & (length - 1)) as usize, at % 64);
            let next = (at - offset + 64).min(stop);
            let covered = (u64::MAX >> (64 - (next - at))) << offset;
            let mut bits = self.touched[place / 64] & covered;
            self.touched[place / 64] &= !covered;
            while bits != 0 {
                let window = at - offset + u64::from(bits.trailing_zeros());
                bits &= bits - 1;
                if self.base < window {
                    self.count(self.level as u64, window - self.base);
                }
                let changes = std::mem::take(&mut self.kept[(window & (length - 1)) as usize]);
                self.count_changes(changes);
            }
            at = next;
        }
        if self.base < end {
            self.count(self.level as u64, end - self.base);
        }
        self.base_at = self.base * self.width;
        self.due = now + KEPT * self.width;
    }

    /// Counts all windows that end at `until` or before. Nothing is added later.
    pub fn finish(&mut self, until: u64) {
        self.settle(until, until);
    }

    /// Counts the next window, in which the current changes.
    #[inline]
    fn count_changes(&mut self, changes: Changes) {
        let charge = self.level + changes.charge;
        self.level += changes.current * self.width as i64;
        self.count(charge as u64, 1);
    }

    /// Counts windows with equal charges.
    #[inline]
    fn count(&mut self, charge: u64, times: u64) {
        self.histogram.record_times(charge, times);
        if self.base + times > self.row_end {
            self.count_rows(charge, times);
            return;
        }
        self.base += times;
        self.row.add(charge, times);
    }

    /// Counts windows that are in several rows.
    #[cold]
    fn count_rows(&mut self, charge: u64, times: u64) {
        let end = self.base + times;
        while self.base < end {
            if self.base == self.row_end {
                self.begin_row();
            }
            let next = self.row_end.min(end);
            self.row.add(charge, next - self.base);
            self.base = next;
        }
    }

    /// Begins a row after one that is complete. If there are as many as there may be, pairs of rows are merged.
    fn begin_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
        if self.rows.len() == ROWS {
            for index in 0..ROWS / 2 {
                let (first, later) = (self.rows[2 * index], self.rows[2 * index + 1]);
                self.rows[index] = PowerRow { charge: first.charge + later.charge, peak: first.peak.max(later.peak) };
            }
            self.rows.truncate(ROWS / 2);
            self.shift += 1;
        }
        self.row_end = (self.rows.len() as u64 + 1) << self.shift;
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
        let is_begun = self.base > (self.rows.len() as u64) << self.shift;
        let rows = self.rows.iter().chain(is_begun.then_some(&self.row));
        WindowReport {
            window_ns: self.width,
            count: self.histogram.count(),
            peak_w: of_window(self.histogram.max().unwrap_or(0)),
            percentiles_w: [0.5, 0.9, 0.99, 0.999].map(|share| self.histogram.percentile(share, 10).map(of_window)),
            rows: rows.enumerate().map(row).collect(),
        }
    }
}

/// Returns the quotient of a time below [`EXACT`] and a length whose reciprocal is given.
#[inline]
fn quotient(time: u64, reciprocal: u64) -> u64 {
    // With c = ceil(2^64 / d), floor(c n / 2^64) = floor(n / d) for all n below 2^64 / d (Lemire, Kaser, Kurz 2019).
    ((u128::from(time) * u128::from(reciprocal)) >> 64) as u64
}

impl PowerRow {
    /// Adds windows with equal charges.
    #[inline]
    fn add(&mut self, charge: u64, times: u64) {
        self.charge += u128::from(charge) * u128::from(times);
        self.peak = self.peak.max(charge);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A current of 10 uA, and 20 uA more from 1500 to 3250 ns; nothing else up to 10 ms.
    #[test]
    fn a_pulse_is_averaged_over_the_windows_that_it_touches() {
        let mut windows = Windows::new(1000, SimTime(5), 10);
        windows.add(1000, &[Edge { at: 500, change: 20 }, Edge { at: 2250, change: -20 }]);
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

    /// Phases of random lengths, some much longer than the ring, against windows that are summed up one by one.
    #[test]
    fn changes_are_those_of_windows_summed_up_one_by_one() {
        let mut rng = kit::Rng::stream(1, "power.windows");
        for width in [100, 1_000, 7_001] {
            let mut windows = Windows::new(width, SimTime::ZERO, 10);
            let count = 60_000u64;
            let mut expected = vec![10 * width; count as usize];
            let mut start = 0;
            for _ in 0..600 {
                start += rng.below(width * 60);
                let most = if rng.chance(0.01) { 20_000 } else { 50 };
                let (length, current) = (1 + rng.below(width * most), 1 + rng.below(500));
                if start + length >= count * width {
                    break;
                }
                let (fall, rise) = (-(current as i64), current as i64);
                windows.add(start, &[Edge { at: 0, change: rise }, Edge { at: length, change: fall }]);
                for window in start / width..=(start + length) / width {
                    let overlap = (start + length).min((window + 1) * width) - start.max(window * width);
                    expected[window as usize] += current * overlap;
                }
                if windows.is_due(start) {
                    windows.settle(start, start);
                }
            }
            windows.finish(count * width);
            let mut histogram = Histogram::default();
            for charge in &expected {
                histogram.record(*charge);
            }
            assert!(windows.histogram.buckets().eq(histogram.buckets()), "{width}");
            assert_eq!(windows.histogram.max(), histogram.max());
            let rows = windows.rows.iter().chain([&windows.row]).map(|row| row.charge).sum::<u128>();
            assert_eq!(rows, expected.iter().map(|charge| u128::from(*charge)).sum::<u128>());
            assert!(windows.kept.len() > RING && windows.kept.iter().all(|changes| changes.charge == 0 && changes.current == 0));
        }
    }

    #[test]
    fn a_course_has_at_most_4096_rows() {
        let mut windows = Windows::new(1000, SimTime::ZERO, 7);
        windows.finish(86_400_000_000_000);
        assert!(windows.rows.len() <= ROWS && windows.rows.len() > ROWS / 4);
        let rows = windows.rows.iter().chain([&windows.row]);
        assert_eq!(rows.map(|row| row.charge).sum::<u128>(), 7 * 86_400_000_000_000);
    }
}
