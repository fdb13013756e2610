//! Current averaged over windows of equal length: peak, distribution, and course over time.

use super::charges::Charges;
use super::recurring::{Recurring, Train};
use super::ring::{Changes, EXACT, Edge, Ring, Width};
use kit::{Histogram, Nanos, SimTime};

/// Largest number of rows of the course over time; when it is full, pairs of rows are merged.
const ROWS: usize = 4096;
/// Number of windows that pass before those that are final are counted. Those in between fit in the fastest cache.
const KEPT: u64 = 1 << 11;
/// Length of the rings of windows at the start.
const RING: usize = 1 << 13;
/// Longest window \[ns\].
const MAX_WIDTH: u64 = 1_000_000;
/// Work of counting a window in which the current changes, on the way from one such window to the next, over that of
/// counting a window after its neighbour.
const SPARSE: u32 = 3;

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
    width: Width,
    /// Instant at which the first window begins.
    origin: SimTime,
    /// Number of the first window that is not final.
    base: u64,
    /// Instant from which changes are placed: the start of that window, unless windows are being counted.
    base_at: SimTime,
    /// Charge of a window at the current after the last final one \[uA ns\].
    level: i64,
    /// Changes in each window from `base` on.
    changes: Ring,
    /// Changes from there on of what recurs; a ring of the same length.
    trains: Ring,
    /// Changes that recur in each window of a period; `None` if there are no pulses.
    recurring: Option<Recurring>,
    /// Time after `base_at` that the rings do not reach, or for which the quick quotient is not exact \[ns\].
    reach: u64,
    /// Charges of the final windows.
    charges: Charges,
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
    /// Pulses recur after `period` windows.
    pub fn new(width: u64, origin: SimTime, level: u64, period: Option<u64>) -> Windows {
        assert!((2..=MAX_WIDTH).contains(&width), "the length of a window is checked with the description");
        Windows {
            width: Width::new(width),
            origin,
            base: 0,
            base_at: origin,
            level: (level * width) as i64,
            changes: Ring::new(RING),
            trains: Ring::new(if period.is_some() { RING } else { 64 }),
            recurring: period.map(Recurring::new),
            reach: (RING as u64 - 64) * width,
            charges: Charges::default(),
            rows: Vec::new(),
            row: PowerRow::default(),
            row_end: 1,
            shift: 0,
        }
    }

    /// Returns windows that begin at `origin`.
    pub fn anew(&self, origin: SimTime, level: u64) -> Windows {
        Windows::new(self.width.ns, origin, level, self.recurring.as_ref().map(Recurring::windows))
    }

    /// Returns the number of windows after which pulses recur, if any do, and the length of a window \[ns\].
    pub fn period(&self) -> Option<(u64, u64)> {
        self.recurring.as_ref().map(|recurring| (recurring.windows(), self.width.ns))
    }

    /// Leaves a time without any changes out.
    pub fn exclude(&mut self, off: Nanos) {
        (self.origin, self.base_at) = (self.origin + off, self.base_at + off);
    }

    /// Adds changes of the current after `start`, none of which is before the first window that is not final, and none
    /// more than `length` ns after `start`.
    #[inline(always)]
    pub fn add(&mut self, start: SimTime, length: u64, edges: &[Edge], trains: &[Train]) {
        let start = start.since(self.base_at).0;
        // The rest of the rings is free, but for a word.
        if start + length >= self.reach {
            return self.add_far(start, length, edges, trains);
        }
        self.changes.add(self.width, self.base, start, edges, |time| self.width.quotient(time));
        if !trains.is_empty() {
            self.trains.add_trains(self.width, self.base, start, trains);
        }
    }

    /// Adds changes that are beyond the rings, which are made long enough: a word of bits is never that of windows at
    /// both ends of a ring.
    #[cold]
    #[inline(never)]
    fn add_far(&mut self, start: u64, length: u64, edges: &[Edge], trains: &[Train]) {
        let all = (self.width.windows_in(start + length) + 65).next_power_of_two();
        if all as usize > self.changes.len() {
            self.changes.grow(self.base, all as usize);
            if self.recurring.is_some() {
                self.trains.grow(self.base, all as usize);
            }
            self.reach = ((all - 64) * self.width.ns).min(EXACT);
        }
        self.changes.add(self.width, self.base, start, edges, |time| self.width.windows_in(time));
        self.trains.add_trains(self.width, self.base, start, trains);
    }

    /// Counts all windows that end at `until` or before; no change before `until` is added later. Returns the time
    /// after which the next ones should be counted \[ns\].
    pub fn settle(&mut self, until: SimTime) -> Nanos {
        let end = self.width.windows_in(until.since(self.origin).0);
        // In the windows after the ring, nothing changes.
        let reached = end.min(self.base + self.changes.len() as u64 - 64);
        while self.base < end {
            if self.base == self.row_end {
                self.begin_row();
            }
            let to = self.row_end.min(end);
            if self.base < reached {
                self.sweep(to.min(reached));
            } else {
                self.row.add(&mut self.charges, self.level, to - self.base);
                self.base = to;
            }
        }
        self.base_at = self.origin + Nanos(self.base * self.width.ns);
        Nanos(KEPT * self.width.ns)
    }

    /// Counts the windows before `to`, all of which are in one row and within the ring.
    #[inline(never)]
    fn sweep(&mut self, to: u64) {
        let Windows { changes, trains, recurring, charges, row, level, .. } = self;
        // The first window that is not counted, and the first of a word.
        let (mut base, mut at) = (self.base, self.base);
        while at < to {
            let mut next = to.min((at | 63) + 1);
            let (mut place, mut recurs) = (0, 0);
            if let Some(recurring) = recurring {
                place = (at % recurring.windows()) as usize;
                next = next.min(at + recurring.windows() - place as u64);
                go_on(recurring, trains, (at, next), place);
                recurs = recurring.touched(place) & (u64::MAX >> (64 - (next - at)));
            }
            let bits = changes.take_touched(at, next) | recurs;
            if bits.count_ones() * SPARSE > (next - at) as u32 {
                row.add(charges, *level, at - base);
                let slots = changes.slots(at, next).iter_mut().map(std::mem::take);
                match recurring {
                    Some(recurring) if recurs != 0 => {
                        let both = slots.zip(recurring.from(place)).map(|(slot, recurs)| slot.plus(*recurs));
                        *level = row.add_each(charges, *level, both);
                    }
                    _ => *level = row.add_each(charges, *level, slots),
                }
                base = next;
            } else {
                let mut left = bits;
                while left != 0 {
                    let ahead = left.trailing_zeros();
                    left &= left - 1;
                    let window = at + u64::from(ahead);
                    row.add(charges, *level, window - base);
                    let mut all = changes.take(window);
                    if let Some(recurring) = recurring
                        && (recurs >> ahead) & 1 != 0
                    {
                        all = all.plus(recurring.look(place + ahead as usize));
                    }
                    row.add(charges, *level + all.charge, 1);
                    *level += all.step;
                    base = window + 1;
                }
            }
            at = next;
        }
        row.add(charges, *level, to - base);
        self.base = to;
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

    /// Returns the distribution of the charges of the final windows.
    fn histogram(&self) -> Histogram {
        let peaks = self.rows.iter().chain([&self.row]).map(|row| row.peak);
        self.charges.histogram(peaks.max().unwrap_or(0))
    }

    /// Returns the report at a supply of `millivolts`.
    pub fn report(&self, millivolts: u64) -> WindowReport {
        // 1 uA x 1 mV is 1 nW.
        let width = self.width.ns;
        let watts = |charge: f64, span: f64| charge * millivolts as f64 / span / 1e9;
        let of_window = |charge: u64| watts(charge as f64, width as f64);
        let row = |(index, row): (usize, &PowerRow)| {
            let begin = (index as u64) << self.shift;
            let windows = ((index as u64 + 1) << self.shift).min(self.base) - begin;
            (begin * width, watts(row.charge as f64, (windows * width) as f64), of_window(row.peak))
        };
        let is_begun = self.base > (self.rows.len() as u64) << self.shift;
        let rows = self.rows.iter().chain(is_begun.then_some(&self.row));
        let histogram = self.histogram();
        WindowReport {
            window_ns: width,
            count: histogram.count(),
            peak_w: of_window(histogram.max().unwrap_or(0)),
            percentiles_w: [0.5, 0.9, 0.99, 0.999].map(|share| histogram.percentile(share, 10).map(of_window)),
            rows: rows.enumerate().map(row).collect(),
        }
    }
}

/// Lets what recurs begin and end in the windows `from..to`, which are within a period, from its window `place` on.
#[inline]
fn go_on(recurring: &mut Recurring, trains: &mut Ring, (from, to): (u64, u64), place: usize) {
    let mut bits = trains.take_touched(from, to);
    while bits != 0 {
        let ahead = bits.trailing_zeros();
        bits &= bits - 1;
        recurring.change(place + ahead as usize, trains.take(from + u64::from(ahead)));
    }
}

impl PowerRow {
    /// Adds windows with equal charges.
    #[inline]
    fn add(&mut self, charges: &mut Charges, charge: i64, times: u64) {
        if times > 0 {
            charges.record(charge, times);
            self.charge += u128::from(charge as u64) * u128::from(times);
            self.peak = self.peak.max(charge as u64);
        }
    }

    /// Adds at most 64 windows, whose changes follow a charge of `level`. Returns the charge after them.
    #[inline]
    fn add_each(&mut self, charges: &mut Charges, level: i64, windows: impl Iterator<Item = Changes>) -> i64 {
        let (level, charge, peak) = charges.record_each(level, windows);
        self.charge += charge;
        self.peak = self.peak.max(peak);
        level
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power::recurring::take_trains;

    /// A current of 10 uA, and 20 uA more from 1500 to 3250 ns; nothing else up to 10 ms.
    #[test]
    fn a_pulse_is_averaged_over_the_windows_that_it_touches() {
        let mut windows = Windows::new(1000, SimTime(5), 10, None);
        windows.add(SimTime(1005), 2250, &[Edge { at: 500, change: 20 }, Edge { at: 2250, change: -20 }], &[]);
        windows.settle(SimTime(10_000_005));
        let charges: Vec<(u64, u64)> = windows.histogram().buckets().map(|bucket| (bucket.high, bucket.count)).collect();
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
            let mut windows = Windows::new(width, SimTime::ZERO, 10, None);
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
                windows.add(SimTime(start), length, &[Edge { at: 0, change: rise }, Edge { at: length, change: fall }], &[]);
                for window in start / width..=(start + length) / width {
                    let overlap = (start + length).min((window + 1) * width) - start.max(window * width);
                    expected[window as usize] += current * overlap;
                }
                if rng.chance(0.02) {
                    windows.settle(SimTime(start));
                }
            }
            windows.settle(SimTime(count * width));
            let mut histogram = Histogram::default();
            for charge in &expected {
                histogram.record(*charge);
            }
            assert!(windows.histogram().buckets().eq(histogram.buckets()), "{width}");
            assert_eq!(windows.histogram().max(), histogram.max());
            let rows = windows.rows.iter().chain([&windows.row]).map(|row| row.charge).sum::<u128>();
            assert_eq!(rows, expected.iter().map(|charge| u128::from(*charge)).sum::<u128>());
            assert!(windows.changes.len() > RING && windows.changes.is_clear());
        }
    }

    /// Trains of pulses, some cut off, against the same changes one by one: from a few at a time to as many as overlap
    /// everywhere, with idle times in between, and periods shorter and longer than a word of windows.
    #[test]
    fn trains_are_the_changes_of_their_pulses() {
        let mut rng = kit::Rng::stream(1, "power.trains");
        for (width, period, windows) in [(1_000, 50_000, 50), (1_000, 12_500, 25), (1_000, 300_000, 300), (7_000, 5_000, 5)] {
            let mut as_trains = Windows::new(width, SimTime::ZERO, 10, Some(windows));
            let mut one_by_one = Windows::new(width, SimTime::ZERO, 10, None);
            let mut start = 0;
            for round in 0..900 {
                start += if round % 300 == 0 { rng.below(width * 20_000) } else { rng.below(period * (1 + round % 6)) };
                let (pulses, change, end) = (1 + rng.below(40), 1 + rng.below(500) as i64, rng.below(period));
                let pulse = |at: u64| [Edge { at, change }, Edge { at: at + period / 3, change: -change }];
                let mut edges: Vec<Edge> = (0..pulses).map(|pulse| pulse * period).flat_map(pulse).collect();
                // The last pulse is cut off, if the phase ends within it.
                let last = edges.last_mut().expect("a pulse");
                last.at = last.at.min((pulses - 1) * period + end.max(1));
                let length = pulses * period + windows * width;
                one_by_one.add(SimTime(start), length, &edges, &[]);
                let trains = take_trains(&mut edges, Vec::new(), (windows, width));
                as_trains.add(SimTime(start), length, &edges, &trains);
                if rng.chance(0.05) {
                    as_trains.settle(SimTime(start));
                    one_by_one.settle(SimTime(start));
                }
            }
            for windows in [&mut as_trains, &mut one_by_one] {
                windows.settle(SimTime(start + 100 * period));
            }
            assert_eq!(as_trains.report(3_300), one_by_one.report(3_300), "{width} {period}");
            assert!(as_trains.histogram().buckets().eq(one_by_one.histogram().buckets()), "{width} {period}");
            assert!(as_trains.recurring.as_ref().is_some_and(Recurring::is_clear), "all trains have passed");
        }
    }

    #[test]
    fn a_course_has_at_most_4096_rows() {
        let mut windows = Windows::new(1000, SimTime::ZERO, 7, None);
        windows.settle(SimTime(86_400_000_000_000));
        assert!(windows.rows.len() <= ROWS && windows.rows.len() > ROWS / 4);
        let rows = windows.rows.iter().chain([&windows.row]);
        assert_eq!(rows.map(|row| row.charge).sum::<u128>(), 7 * 86_400_000_000_000);
    }
}
