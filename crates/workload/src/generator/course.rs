//! Course of a job through its region: stretches of sequential requests between random ones, and zones.

use super::place::Placer;
use kit::{Op, Rng};

/// Mix of random requests with requests that follow their predecessor.
#[derive(Clone, Debug)]
pub struct Stretches {
    /// Percentage of random requests by operation (read, write, trim).
    pub random_percent: [u64; 3],
    rng: Rng,
    /// End of the last request of each operation \[bytes from the region's start\].
    next: [u64; Op::COUNT],
}

impl Stretches {
    /// Returns the mix that draws from `rng`.
    pub fn new(random_percent: [u64; 3], rng: Rng) -> Stretches {
        Stretches { random_percent, rng, next: [0; Op::COUNT] }
    }

    /// Returns the start of a request of at least `least` bytes in a region of `region_bytes`; `placer` places random
    /// ones.
    pub(super) fn place(&mut self, placer: &mut impl Placer, op: Op, least: u64, region_bytes: u64) -> u64 {
        let next = self.next[op as usize];
        let is_random = self.rng.below(100) < self.random_percent[(op as usize).min(2)];
        match next.checked_add(least) {
            _ if is_random => placer.place(op, least),
            Some(end) if end <= region_bytes => next,
            _ => 0,
        }
    }

    pub(super) fn ends_at(&mut self, op: Op, end: u64) {
        self.next[op as usize] = end;
    }

    pub(super) fn restart(&mut self) {
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
    /// Size of the region that has the zones \[bytes\]; each zone lies in it whole.
    pub region_bytes: u64,
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

    /// Returns true if the next request begins a new zone, which lasts `range` bytes.
    pub(super) fn advance(&mut self, range: u64) -> bool {
        if self.moved < self.strides.zone_bytes {
            return false;
        }
        self.moved = 0;
        let next = self.start.saturating_add(self.strides.distance);
        self.start = if next.saturating_add(range) <= self.strides.region_bytes { next } else { 0 };
        true
    }

    pub(super) fn count(&mut self, bytes: u64) {
        self.moved += bytes;
    }
}
