//! Changes of the current in the next windows, as a ring.

use super::recurring::Train;

/// Changes of the current within one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Charge that they add to the window itself \[uA ns\].
    pub charge: i64,
    /// Charge that they add to each later window: their sum times the length of a window \[uA ns\].
    pub step: i64,
}

impl Changes {
    /// Returns the sum of two changes.
    #[inline]
    pub fn plus(self, other: Changes) -> Changes {
        Changes { charge: self.charge + other.charge, step: self.step + other.step }
    }

    /// Returns a change of the current at a time after the start of some window, in the window `ahead` of it.
    #[inline(always)]
    fn of(width: Width, at: u64, change: i64, ahead: u64) -> Changes {
        Changes { charge: change * ((ahead + 1) * width.ns - at) as i64, step: change * width.ns as i64 }
    }
}

/// A change of the current, at a time after the start of a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edge {
    /// Time \[ns\].
    pub at: u64,
    /// Change \[uA\].
    pub change: i64,
}

/// Length of a window \[ns\], and its reciprocal, rounded up, times 2^64.
#[derive(Clone, Copy, Debug)]
pub(super) struct Width {
    pub ns: u64,
    reciprocal: u64,
}

/// Time below which a multiplication gives the exact number of windows: 2^64 over the longest window, rounded down to a
/// power of two.
pub(super) const EXACT: u64 = 1 << 44;

impl Width {
    /// Creates a length of at most 1 ms.
    pub fn new(ns: u64) -> Width {
        Width { ns, reciprocal: u64::MAX / ns + 1 }
    }

    /// Returns the number of windows in a time, rounded down.
    pub fn windows_in(self, time: u64) -> u64 {
        if time < EXACT { self.quotient(time) } else { time / self.ns }
    }

    /// Returns the number of windows in a time below [`EXACT`], rounded down.
    #[inline]
    pub fn quotient(self, time: u64) -> u64 {
        // With c = ceil(2^64 / d), floor(c n / 2^64) = floor(n / d) for all n below 2^64 / d (Lemire, Kaser and Kurz,
        // 2019).
        ((u128::from(time) * u128::from(self.reciprocal)) >> 64) as u64
    }
}

/// Adds changes in a window of a ring.
#[inline(always)]
fn add_to(slots: &mut [Changes], touched: &mut [u64], window: u64, by: Changes) {
    let place = window as usize & (slots.len() - 1);
    touched[place / 64] |= 1 << (place % 64);
    let slot = &mut slots[place];
    slot.charge += by.charge;
    slot.step += by.step;
}

/// Changes in each window, as a ring: a window is at its number modulo the length, a power of two.
#[derive(Clone, Debug)]
pub(super) struct Ring {
    changes: Vec<Changes>,
    /// One bit for each window of the ring, set where the current changes; 64 to a word.
    touched: Vec<u64>,
}

impl Ring {
    /// Creates a ring without changes; the length is a power of two and a multiple of 64.
    pub fn new(length: usize) -> Ring {
        Ring { changes: vec![Changes::default(); length], touched: vec![0; length / 64] }
    }

    /// Returns the number of windows in the ring.
    pub fn len(&self) -> usize {
        self.changes.len()
    }

    /// Adds changes of the current after `start`, which is a time after the start of the window `base`. The ring
    /// reaches beyond them; `windows_in` returns the number of windows in a time.
    #[inline(always)]
    pub fn add(&mut self, width: Width, base: u64, start: u64, edges: &[Edge], windows_in: impl Fn(u64) -> u64) {
        let (slots, touched) = (self.changes.as_mut_slice(), self.touched.as_mut_slice());
        for &Edge { at, change } in edges {
            let ahead = windows_in(start + at);
            add_to(slots, touched, base + ahead, Changes::of(width, start + at, change, ahead));
        }
    }

    /// Adds the begin and the end of changes that recur.
    #[inline(never)]
    pub fn add_trains(&mut self, width: Width, base: u64, start: u64, trains: &[Train]) {
        let (slots, touched) = (self.changes.as_mut_slice(), self.touched.as_mut_slice());
        for &Train { at, change, windows } in trains {
            let (at, ahead) = (start + at, width.windows_in(start + at));
            let changes = Changes::of(width, at, change, ahead);
            add_to(slots, touched, base + ahead, changes);
            add_to(slots, touched, base + ahead + windows, Changes { charge: -changes.charge, step: -changes.step });
        }
    }

    /// Takes the bits of the windows from `from` to `to`, which are in one word, as the lowest bits of a word.
    #[inline]
    pub fn take_touched(&mut self, from: u64, to: u64) -> u64 {
        let mask = self.touched.len() - 1;
        let word = &mut self.touched[(from / 64) as usize & mask];
        let (offset, covered) = (from % 64, u64::MAX >> (64 - (to - from)));
        let bits = (*word >> offset) & covered;
        *word &= !(covered << offset);
        bits
    }

    /// Returns the changes in the windows from `from` to `to`, which are in one word.
    #[inline]
    pub fn slots(&mut self, from: u64, to: u64) -> &mut [Changes] {
        let place = from as usize & (self.changes.len() - 1);
        &mut self.changes[place..place + (to - from) as usize]
    }

    /// Takes the changes in a window.
    #[inline]
    pub fn take(&mut self, window: u64) -> Changes {
        let mask = self.changes.len() - 1;
        std::mem::take(&mut self.changes[window as usize & mask])
    }

    /// Makes the ring longer; it has changes from the window `base` on.
    pub fn grow(&mut self, base: u64, length: usize) {
        let (old, new) = (self.len() as u64, length as u64);
        let mut grown = Ring::new(length);
        for window in base..base + old - 64 {
            grown.changes[(window % new) as usize] = self.changes[(window % old) as usize];
        }
        for word in base / 64..(base + old - 64).div_ceil(64) {
            grown.touched[(word % (new / 64)) as usize] = self.touched[(word % (old / 64)) as usize];
        }
        *self = grown;
    }

    /// Returns true if there are no changes.
    #[cfg(test)]
    pub fn is_clear(&self) -> bool {
        self.changes.iter().all(|changes| *changes == Changes::default()) && self.touched.iter().all(|word| *word == 0)
    }
}
