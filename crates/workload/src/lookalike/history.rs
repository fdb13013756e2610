//! State of the past requests on which the address of the next one depends; used both for fitting and for generating.

use super::recency::{Recency, Touch};
use kit::{Op, SECTOR_BYTES};

/// Kind of a request with respect to those before it: a jump to an untouched extent.
pub const FRESH_JUMP: usize = 0;
/// Kind of a request: a jump to a touched extent.
pub const RETURN: usize = 1;
/// Kind of a request: the continuation of a run whose last extent was untouched when the run entered it.
pub const FRESH_RUN: usize = 2;
/// Kind of a request: the continuation of any other run.
pub const RUN: usize = 3;
/// Maximum number of runs whose ends are remembered, per operation and freshness.
pub const RUNS: usize = 8;
/// Maximum number of extents that one request touches on the stacks; a larger request touches only its first ones.
const TOUCHES_MAX: u64 = 64;
/// Maximum number of words of the bitmap of touched extents that one search examines.
const SEARCH_MAX: usize = 1 << 10;

/// Sequential run, represented by its end.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// First byte past the run.
    pub end: u64,
    /// True if the extent that the run entered last was untouched before.
    pub fresh: bool,
}

/// Ends of runs, recency stacks, and the set of touched extents.
pub struct History {
    extent_bytes: u64,
    extents: usize,
    /// Runs by operation and freshness (fresh ones first), the most recent run first.
    runs: [[Vec<Run>; 2]; 4],
    last_end: [Option<u64>; 4],
    /// Extents in the order of their last read (0), and of their last write or trim (1).
    pub stacks: [Recency; 2],
    touched: Vec<u64>,
    untouched: usize,
    clock: u64,
}

impl History {
    /// Returns an empty history for a region of `region_bytes`.
    pub fn new(region_bytes: u64, extent_bytes: u64) -> History {
        let extents = region_bytes.div_ceil(extent_bytes) as usize;
        History {
            extent_bytes,
            extents,
            runs: Default::default(),
            last_end: [None; 4],
            stacks: [Recency::new(extents), Recency::new(extents)],
            touched: vec![0; extents.div_ceil(64)],
            untouched: extents,
            clock: 0,
        }
    }

    /// Returns the granularity of the stacks \[bytes\].
    pub fn extent_bytes(&self) -> u64 {
        self.extent_bytes
    }

    /// Returns the run of `op` that a request at `start` continues: its kind ([`FRESH_RUN`] or [`RUN`]) and its index
    /// among the runs of that kind.
    pub fn run_at(&self, op: Op, start: u64) -> Option<(usize, usize)> {
        [FRESH_RUN, RUN].into_iter().find_map(|kind| {
            let runs = &self.runs[op as usize][kind - FRESH_RUN];
            runs.iter().position(|run| run.end == start).map(|index| (kind, index))
        })
    }

    /// Returns the run of `op` with this kind and index.
    pub fn run(&self, op: Op, run: (usize, usize)) -> Option<Run> {
        self.runs[op as usize][run.0 - FRESH_RUN].get(run.1).copied()
    }

    /// Returns the end of the last request of `op`.
    pub fn last_end(&self, op: Op) -> Option<u64> {
        self.last_end[op as usize]
    }

    /// Returns the first byte of the first extent that a request enters when it continues a run that ended at `start`;
    /// `None` if it enters no other extent.
    pub fn entered(&self, start: u64, length: u64) -> Option<u64> {
        let next = start.div_ceil(self.extent_bytes) * self.extent_bytes;
        (next < start + length).then_some(next)
    }

    /// Returns the last touch of the extent at `start`, as a return would find it: true if it is on the stack of
    /// written data (false: of read data), the touch, and its stack distance. Writes prefer the written data, because
    /// overwrites wear a drive; other operations take the more recent touch.
    pub fn find(&self, op: Op, start: u64) -> Option<(bool, Touch, usize)> {
        let extent = (start / self.extent_bytes) as usize;
        let read = self.stacks[0].find(extent);
        let written = self.stacks[1].find(extent);
        match (read, written) {
            (Some((touch, distance)), None) => Some((false, touch, distance)),
            (Some((r, distance)), Some((w, _))) if op != Op::Write && r.when > w.when => Some((false, r, distance)),
            (_, Some((touch, distance))) => Some((true, touch, distance)),
            (None, None) => None,
        }
    }

    /// Returns true if the extent at `start` was touched.
    pub fn touched(&self, start: u64) -> bool {
        let extent = (start / self.extent_bytes) as usize;
        self.touched[extent / 64] >> (extent % 64) & 1 == 1
    }

    /// Returns the start of the first untouched extent at or after that of `start`, wrapping around at the region's
    /// end; `None` if there is none, or if the search examines too many words.
    pub fn untouched_after(&self, start: u64) -> Option<u64> {
        let first = (start / self.extent_bytes) as usize;
        if self.untouched == 0 {
            return None;
        }
        let words = self.touched.len();
        let mut word = first / 64;
        let mut free = !self.touched[word] & (u64::MAX << (first % 64));
        for _ in 0..=words.min(SEARCH_MAX) {
            let extent = word * 64 + free.trailing_zeros() as usize;
            if free != 0 && extent < self.extents {
                return Some(extent as u64 * self.extent_bytes);
            }
            word = (word + 1) % words;
            free = !self.touched[word];
        }
        None
    }

    /// Returns the number of consecutive untouched extents from that of `start`, at most `most`.
    pub fn room(&self, start: u64, most: u64) -> u64 {
        let first = (start / self.extent_bytes) as usize;
        let end = first.saturating_add(most as usize).min(self.extents);
        let mut extent = first;
        while extent < end {
            let taken = self.touched[extent / 64] >> (extent % 64);
            if taken != 0 {
                return ((extent + taken.trailing_zeros() as usize).min(end) - first) as u64;
            }
            extent = (extent / 64 + 1) * 64;
        }
        (end - first) as u64
    }

    /// Records a request; `run` is the run that it continues, if any.
    pub fn record(&mut self, op: Op, start: u64, length: u64, run: Option<(usize, usize)>) {
        self.clock += 1;
        let runs = &mut self.runs[op as usize];
        let before = run.map(|(kind, index)| runs[kind - FRESH_RUN].remove(index));
        let fresh = match before {
            Some(before) => self.entered(start, length).map_or(before.fresh, |entered| !self.touched(entered)),
            None => !self.touched(start),
        };
        let runs = &mut self.runs[op as usize][usize::from(!fresh)];
        runs.insert(0, Run { end: start + length, fresh });
        runs.truncate(RUNS);
        self.last_end[op as usize] = Some(start + length);
        let first = start / self.extent_bytes;
        let last = (start + length.max(1) - 1) / self.extent_bytes;
        for index in first / 64..=last / 64 {
            let (low, high) = (first.max(index * 64) % 64, last.min(index * 64 + 63) % 64);
            let bits = (u64::MAX << low) & (u64::MAX >> (63 - high));
            let word = &mut self.touched[index as usize];
            self.untouched -= (bits & !*word).count_ones() as usize;
            *word |= bits;
        }
        let stack = &mut self.stacks[usize::from(op != Op::Read)];
        // In reverse order, so that the extent of the start ends up on top.
        for extent in (first + 1..=last.min(first + TOUCHES_MAX - 1)).rev() {
            stack.touch(Touch { extent: extent as u32, sector: 0, sectors: 0, when: self.clock });
        }
        let sector = (start % self.extent_bytes / SECTOR_BYTES) as u16;
        let sectors = (length / SECTOR_BYTES).min(u64::from(u32::MAX)) as u32;
        stack.touch(Touch { extent: first as u32, sector, sectors, when: self.clock });
    }
}
