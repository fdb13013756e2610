//! Course of a job through its region: stretches of sequential requests between random ones, and zones.

use super::place::{Bounds, Placer};
use kit::{Op, Rng};

/// Mix of random requests with requests that follow their predecessor.
#[derive(Clone, Debug)]
pub struct Stretches {
    /// Percentage of random requests by operation (read, write, trim).
    pub random_percent: [u64; 3],
    /// Rule by which only every so many-th request may be random.
    every: Every,
    rng: Rng,
    /// Start and end of the last request of each operation \[bytes from the region's start\].
    last: [u64; Op::COUNT],
    next: [u64; Op::COUNT],
}

/// Rule of a suffix of `rw` (fio `rw=randread:8`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Every {
    /// Requests from one that may be random to the next; 1: all may.
    pub count: u64,
    /// True if the others repeat the address of the one before, false if they follow it (fio `rw_sequencer`).
    pub repeats: bool,
    /// Requests until the next that may be random, that one included.
    pub left: u64,
}

impl Every {
    /// Every request may be random.
    pub const ONE: Every = Every { count: 1, repeats: false, left: 1 };
}

impl Stretches {
    /// Returns the mix that draws from `rng`.
    pub fn new(random_percent: [u64; 3], rng: Rng) -> Stretches {
        Stretches { random_percent, every: Every::ONE, rng, last: [0; Op::COUNT], next: [0; Op::COUNT] }
    }

    /// Returns the mix in which only some requests may be random.
    pub fn with_every(mut self, every: Every) -> Stretches {
        self.every = every;
        self
    }

    /// Returns the requests until the next that may be random, that one included.
    pub(super) fn left(&self) -> u64 {
        self.every.left
    }

    /// Counts a request; returns true if it may be random.
    pub(super) fn turn(&mut self) -> bool {
        self.every.left -= 1;
        if self.every.left == 0 {
            self.every.left = self.every.count;
        }
        self.every.left == self.every.count
    }

    /// Returns the start of a request of at least `least` bytes within `bounds`; `placer` places random ones. A request
    /// that would follow one at the end of the reach is random, too, as in fio.
    pub(super) fn place(&mut self, placer: &mut impl Placer, op: Op, least: u64, bounds: &Bounds) -> Option<u64> {
        let next = bounds.resumed(self.next[op as usize]);
        let may_be_random = self.turn();
        if may_be_random && self.rng.below(100) < self.random_percent[(op as usize).min(2)] {
            return placer.place(op, least);
        }
        if !may_be_random && self.every.repeats {
            return Some(self.last[op as usize]);
        }
        if next >= bounds.reach { placer.place(op, least) } else { bounds.fitting(next, least) }
    }

    pub(super) fn placed(&mut self, op: Op, start: u64, end: u64) {
        self.last[op as usize] = start;
        self.next[op as usize] = end;
    }

    pub(super) fn restart(&mut self) {
        self.last = [0; Op::COUNT];
        self.next = [0; Op::COUNT];
    }
}

/// Zones that a job visits one after the other (fio `zonemode=strided`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides {
    /// Bytes moved in one zone.
    pub zone_bytes: u64,
    /// Distance of the starts of two zones \[bytes\]: the zone's range and the bytes skipped.
    pub distance: u64,
    /// Size of the region that has the zones \[bytes\].
    pub region_bytes: u64,
    /// End of requests whose operation has several lengths \[bytes from the region's start\].
    pub inside_bytes: u64,
    /// True if a zone that the end of the region cuts is entered, and ends the job there, as in fio; false if each zone
    /// lies in the region whole.
    pub enters_cut: bool,
}

/// Place of a job in its zones.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    strides: Strides,
    /// Start of the zone \[bytes from the region's start\].
    pub start: u64,
    moved: u64,
}

impl Position {
    pub(super) fn new(strides: Strides) -> Position {
        Position { strides, start: 0, moved: 0 }
    }

    /// Returns true if the next request begins a new zone, which lasts `range` bytes, or a new pass over one.
    pub(super) fn advance(&mut self, range: u64) -> bool {
        if self.moved < self.strides.zone_bytes {
            return self.moved > 0 && self.moved.is_multiple_of(range);
        }
        self.moved = 0;
        let next = self.start.saturating_add(self.strides.distance);
        let last = next.saturating_add(if self.strides.enters_cut { 1 } else { range });
        self.start = if last <= self.strides.region_bytes { next } else { 0 };
        true
    }

    pub(super) fn count(&mut self, bytes: u64) {
        self.moved += bytes;
    }
}
