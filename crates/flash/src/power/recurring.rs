//! Changes of the current that recur: trains of pulses.
//!
//! A train is two changes that recur with every pulse. Where the time after which pulses recur is a whole number of
//! windows, each window of the next period gets the same change of its charge, so that a train costs as much as a few
//! changes, however many pulses it has.

use super::ring::{Changes, Edge};
use super::{PowerConfig, Waveform};

/// Most windows of a period.
const MOST_WINDOWS: u64 = 1024;

/// Changes that recur, by window within a period.
#[derive(Clone, Debug)]
pub(super) struct Recurring {
    changes: Vec<Changes>,
    /// One bit for each window of the period, set where the current changes; 64 to a word.
    touched: Vec<u64>,
    /// Number of these windows.
    count: usize,
}

impl Recurring {
    /// Creates the changes of a period of some windows, none yet.
    pub fn new(windows: u64) -> Recurring {
        let windows = windows as usize;
        Recurring { changes: vec![Changes::default(); windows], touched: vec![0; windows.div_ceil(64)], count: 0 }
    }

    /// Returns the number of windows of a period.
    pub fn windows(&self) -> u64 {
        self.changes.len() as u64
    }

    /// Returns true if anything recurs.
    #[inline]
    pub fn is_any(&self) -> bool {
        self.count > 0
    }

    /// Returns the window of the period, `ahead` windows after the window `phase` of it. `ahead` is at most a period.
    #[inline]
    fn place(&self, phase: usize, ahead: usize) -> usize {
        let place = phase + ahead;
        if place >= self.changes.len() { place - self.changes.len() } else { place }
    }

    /// Changes what recurs in a window, `ahead` windows after the window `phase` of the period.
    #[inline]
    pub fn change(&mut self, phase: usize, ahead: usize, by: Changes) {
        let place = self.place(phase, ahead);
        let changes = &mut self.changes[place];
        let before = *changes != Changes::default();
        changes.charge += by.charge;
        changes.current += by.current;
        let after = *changes != Changes::default();
        if before != after {
            self.touched[place / 64] ^= 1 << (place % 64);
            self.count = if after { self.count + 1 } else { self.count - 1 };
        }
    }

    /// Adds what recurs to the changes of at most 64 windows, and at most a period, from the window `phase` of a period
    /// on. Returns a bit for each window, set where the current changes.
    #[inline]
    pub fn add_to(&self, phase: usize, slots: &mut [Changes]) -> u64 {
        if self.count == 0 {
            return 0;
        }
        let first = slots.len().min(self.changes.len() - phase);
        let (before, after) = slots.split_at_mut(first);
        if 2 * self.count < self.changes.len() {
            let bits = self.add_touched(phase, before);
            return if after.is_empty() { bits } else { bits | self.add_touched(0, after) << first };
        }
        for (slots, at) in [(before, phase), (after, 0)] {
            for (slot, changes) in slots.iter_mut().zip(&self.changes[at..]) {
                slot.charge += changes.charge;
                slot.current += changes.current;
            }
        }
        u64::MAX >> (64 - slots.len())
    }

    /// Does the same for windows within a period, where few have changes.
    fn add_touched(&self, phase: usize, slots: &mut [Changes]) -> u64 {
        let (mut added, end) = (0, phase + slots.len());
        for word in phase / 64..end.div_ceil(64) {
            let mut bits = self.touched[word];
            while bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                bits &= bits - 1;
                if (phase..end).contains(&place) {
                    slots[place - phase].charge += self.changes[place].charge;
                    slots[place - phase].current += self.changes[place].current;
                    added |= 1 << (place - phase);
                }
            }
        }
        added
    }
}

fn greatest_divisor(one: u64, other: u64) -> u64 {
    if other == 0 { one } else { greatest_divisor(other, one % other) }
}

/// Returns the number of windows after which the pulses of all operations recur; `None` if there are no pulses, or the
/// number is too large.
pub(super) fn period(config: &PowerConfig) -> Option<u64> {
    let all = config.read.all().iter().chain(config.program.all()).chain([&config.erase]);
    let pulses = all.filter_map(|waveform| if let Waveform::Pulses(pulses) = waveform { Some(pulses.period.0) } else { None });
    let mut windows = None;
    for period in pulses {
        let before = windows.unwrap_or(1);
        let all = before * (period / greatest_divisor(before * config.window.0, period));
        if all > MOST_WINDOWS {
            return None;
        }
        windows = Some(all);
    }
    windows
}

/// Returns changes that recur every `period` ns and add up to `edges`, whose times rise: each change as it is, and its
/// opposite a period later, without those that cancel out.
pub(super) fn as_recurring(edges: &[Edge], period: u64) -> Vec<Edge> {
    let later = edges.iter().map(|edge| Edge { at: edge.at + period, change: -edge.change });
    sum(edges.iter().copied().chain(later))
}

/// Returns `edges` without `others`.
pub(super) fn difference(edges: &[Edge], others: &[Edge]) -> Vec<Edge> {
    sum(edges.iter().copied().chain(others.iter().map(|edge| Edge { change: -edge.change, ..*edge })))
}

/// Returns one change for each time, without those of 0.
fn sum(edges: impl Iterator<Item = Edge>) -> Vec<Edge> {
    let mut all: Vec<Edge> = edges.collect();
    all.sort_by_key(|edge| edge.at);
    all.dedup_by(|later, kept| {
        let is_same = later.at == kept.at;
        kept.change += if is_same { later.change } else { 0 };
        is_same
    });
    all.retain(|edge| edge.change != 0);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power::{Pulses, Waveforms};
    use kit::{Current, Nanos};

    fn pulses(period: u64) -> Waveform {
        Waveform::Pulses(Pulses { base: Current(2), peak: Current(9), width: Nanos(300), period: Nanos(period) })
    }

    #[test]
    fn the_period_holds_whole_windows_and_whole_periods_of_all_pulses() {
        let of = |window: u64, programs: &[u64], erase: Option<u64>| {
            let config = PowerConfig::constant(Current(1), Current(5));
            let erase = erase.map_or_else(|| config.erase.clone(), pulses);
            let program = Waveforms::Each(programs.iter().map(|period| pulses(*period)).collect());
            period(&PowerConfig { window: Nanos(window), program, erase, ..config })
        };
        assert_eq!(of(1_000, &[], None), None);
        assert_eq!(of(1_000, &[50_000], None), Some(50));
        assert_eq!(of(1_000, &[50_000, 20_000], Some(40_000)), Some(200));
        assert_eq!(of(1_000, &[12_500], None), Some(25));
        assert_eq!(of(7_000, &[12_500], None), Some(25));
        assert_eq!(of(1_000_000, &[12_500], None), Some(1));
        assert_eq!(of(1_000, &[50_001], None), None);
    }

    #[test]
    fn a_train_is_four_changes_that_recur() {
        let edge = |at: u64, change: i64| Edge { at, change };
        let train: Vec<Edge> = (0..12).flat_map(|pulse| [edge(pulse * 50, 7), edge(pulse * 50 + 13, -7)]).collect();
        assert_eq!(as_recurring(&train, 50), [edge(0, 7), edge(13, -7), edge(600, -7), edge(613, 7)]);
        // The last pulse is cut off.
        let cut: Vec<Edge> = train[..23].iter().copied().chain([edge(555, -7)]).collect();
        let recurring = [edge(0, 7), edge(13, -7), edge(555, -7), edge(563, 7), edge(600, -7), edge(605, 7)];
        assert_eq!(as_recurring(&cut, 50), recurring);
        assert_eq!(difference(&train, &train[..1]), train[1..]);
    }
}
