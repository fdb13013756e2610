//! Changes of the current in the next windows, as a ring.

/// Changes of the current within one window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Charge that they add to the window itself \[uA ns\].
    pub charge: i64,
    /// Their sum \[uA\].
    pub current: i64,
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
const EXACT: u64 = 1 << 44;

impl Width {
    /// Creates a length of at most 1 ms.
    pub fn new(ns: u64) -> Width {
        Width { ns, reciprocal: u64::MAX / ns + 1 }
    }

    /// Returns the number of windows in a time, rounded down.
    #[inline]
    pub fn windows_in(self, time: u64) -> u64 {
        if time < EXACT { self.quotient(time) } else { time / self.ns }
    }

    /// Returns the number of windows in a time below [`EXACT`].
    #[inline]
    fn quotient(self, time: u64) -> u64 {
        // With c = ceil(2^64 / d), floor(c n / 2^64) = floor(n / d) for all n below 2^64 / d (Lemire, Kaser, Kurz 2019).
        ((u128::from(time) * u128::from(self.reciprocal)) >> 64) as u64
    }
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

    /// Adds changes of the current after `start`, which is a time after the start of the window `base`. Their times
    /// rise, and the ring reaches beyond them.
    #[inline]
    pub fn add(&mut self, width: Width, base: u64, start: u64, edges: &[Edge]) {
        let (changes, touched) = (self.changes.as_mut_slice(), self.touched.as_mut_slice());
        let mask = changes.len() - 1;
        assert!(touched.len() == changes.len() / 64, "a bit for each window");
        let mut add = |at: u64, change: i64, ahead: u64| {
            let place = (base + ahead) as usize & mask;
            touched[place / 64] |= 1 << (place % 64);
            let changes = &mut changes[place];
            changes.charge += change * ((ahead + 1) * width.ns - at) as i64;
            changes.current += change;
        };
        if edges.last().is_some_and(|last| start + last.at < EXACT) {
            edges.iter().for_each(|edge| add(start + edge.at, edge.change, width.quotient(start + edge.at)));
        } else {
            edges.iter().for_each(|edge| add(start + edge.at, edge.change, (start + edge.at) / width.ns));
        }
    }

    /// Returns true if the current changes in a window from `from` to `to`, which are in one word.
    #[inline]
    pub fn is_touched(&self, from: u64, to: u64) -> bool {
        let word = self.touched[(from / 64) as usize & (self.touched.len() - 1)];
        (word >> (from % 64)) & (u64::MAX >> (64 - (to - from))) != 0
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
