//! Changes of the current that recur: trains of pulses.
//!
//! Pulses are two trains: a rise and a fall of the current that recur after the same time. Where this time is a whole
//! number of windows, each recurrence changes the charge of its window by the same amount, so that a train is as much
//! work as three changes, however often it recurs.

use super::ring::{Changes, Edge};
use super::{PowerConfig, Waveform};

/// Most windows of a period.
const MAX_WINDOWS: u64 = 1024;

/// A change of the current that recurs with every period, `at` a time after the start of a phase and then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Train {
    /// Time of the first change \[ns\].
    pub at: u64,
    /// Change \[uA\].
    pub change: i64,
    /// Windows from the first change to the one that no longer comes.
    pub windows: u64,
}

/// Changes that recur, by window within a period.
#[derive(Clone, Debug)]
pub(super) struct Recurring {
    changes: Vec<Changes>,
    /// One bit for each window of the period, 64 to a word: set where the current may change.
    touched: Vec<u64>,
}

impl Recurring {
    /// Creates the changes of a period of some windows, none yet.
    pub fn new(windows: u64) -> Recurring {
        let windows = windows as usize;
        // A word more, so that 64 bits can be read from any window on.
        Recurring { changes: vec![Changes::default(); windows], touched: vec![0; windows / 64 + 2] }
    }

    /// Returns the number of windows of a period.
    pub fn windows(&self) -> u64 {
        self.changes.len() as u64
    }

    /// Adds to what recurs in a window of the period.
    #[inline]
    pub fn change(&mut self, place: usize, by: Changes) {
        let changes = &mut self.changes[place];
        changes.charge += by.charge;
        changes.step += by.step;
        self.touched[place / 64] |= 1 << (place % 64);
    }

    /// Returns a bit for each of the 64 windows from `place` on: set where the current may change.
    #[inline]
    pub fn touched(&self, place: usize) -> u64 {
        let (low, high, shift) = (self.touched[place / 64], self.touched[place / 64 + 1], place % 64);
        // In two steps, since a shift by 64 is none.
        low >> shift | (high << 1) << (63 - shift)
    }

    /// Returns what recurs in the windows of the period from `place` on.
    #[inline]
    pub fn from(&self, place: usize) -> &[Changes] {
        &self.changes[place..]
    }

    /// Returns what recurs in a window of the period, and forgets that it may be anything if it is nothing.
    #[inline]
    pub fn look(&mut self, place: usize) -> Changes {
        let changes = self.changes[place];
        if changes == Changes::default() {
            self.touched[place / 64] &= !(1 << (place % 64));
        }
        changes
    }

    /// Returns true if nothing recurs.
    #[cfg(test)]
    pub fn is_clear(&self) -> bool {
        self.changes.iter().all(|changes| *changes == Changes::default())
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
        if all > MAX_WINDOWS {
            return None;
        }
        windows = Some(all);
    }
    windows
}

/// Takes the changes out of `edges`, whose times rise, that recur at least once after the same time: `windows` windows
/// of `width` ns each. Where they are few, they stay. `rest` has the changes of the phase without its pulses.
pub(super) fn take_trains(edges: &mut Vec<Edge>, rest: Vec<Edge>, (windows, width): (u64, u64)) -> Vec<Train> {
    let (mut trains, mut alone) = (Vec::<Train>::new(), rest.clone());
    for Edge { at, change } in difference(edges, &rest) {
        let goes_on = |train: &&mut Train| train.change == change && train.at + train.windows * width == at;
        match trains.iter_mut().find(goes_on) {
            Some(train) => train.windows += windows,
            None => trains.push(Train { at, change, windows }),
        }
    }
    trains.retain(|&Train { at, change, windows: all }| {
        if all == windows {
            alone.push(Edge { at, change });
        }
        all > windows
    });
    // A train is as much work as three changes.
    if alone.len() + 3 * trains.len() >= edges.len() {
        return Vec::new();
    }
    *edges = sum(alone.into_iter());
    trains
}

/// Returns `edges` without `others`.
fn difference(edges: &[Edge], others: &[Edge]) -> Vec<Edge> {
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
    fn pulses_are_two_trains_and_a_pulse_that_is_cut_off_ends_alone() {
        let edge = |at: u64, change: i64| Edge { at, change };
        let around = [edge(0, 3), edge(600, -3)];
        let pulses: Vec<Edge> = (0..12).flat_map(|pulse| [edge(pulse * 50, 7), edge(pulse * 50 + 13, -7)]).collect();
        let all = sum(around.iter().chain(&pulses).copied());
        let mut edges = all.clone();
        let trains = take_trains(&mut edges, around.to_vec(), (5, 10));
        let train = |at: u64, change: i64, windows: u64| Train { at, change, windows };
        assert_eq!((edges.as_slice(), trains.as_slice()), (&around[..], &[train(0, 7, 60), train(13, -7, 60)][..]));
        // Pulses recur twice within a period.
        edges.clone_from(&all);
        let trains = take_trains(&mut edges, around.to_vec(), (10, 10));
        assert_eq!((edges.as_slice(), trains.len(), trains[3]), (&around[..], 4, train(63, -7, 60)));
        let cut = sum(pulses[..23].iter().copied().chain([edge(555, -7)]));
        edges.clone_from(&cut);
        let trains = take_trains(&mut edges, Vec::new(), (5, 10));
        assert_eq!((edges, trains), (vec![edge(555, -7)], vec![train(0, 7, 60), train(13, -7, 55)]));
        edges = pulses[..4].to_vec();
        assert_eq!((take_trains(&mut edges, Vec::new(), (5, 10)), edges), (Vec::new(), pulses[..4].to_vec()), "too few");
    }
}
