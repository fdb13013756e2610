//! What requests did so far, as far as the next one's place depends on it; the same for fitting and generating.

use super::recency::{Recency, Touch};
use kit::{Op, SECTOR_BYTES};

/// What a request is with respect to those before: a jump to an untouched extent.
pub const FRESH_JUMP: usize = 0;
/// A jump to a touched extent.
pub const RETURN: usize = 1;
/// It continues a run whose last extent was untouched before.
pub const FRESH_RUN: usize = 2;
/// It continues another run.
pub const RUN: usize = 3;
/// Runs whose ends are remembered, per operation and freshness.
pub const RUNS: usize = 8;
/// Most extents that one request touches on the stacks; larger requests touch their first ones.
const TOUCHES_MAX: u64 = 64;
/// Most words of the map of touched extents that one search looks at.
const SEARCH_MAX: usize = 1 << 10;

/// A sequential run, by its end.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The byte after it.
    pub end: u64,
    /// Whether the extent that it entered last was untouched before.
    pub fresh: bool,
}

/// Run ends, recency stacks, and which extents were touched.
pub struct History {
    extent_bytes: u64,
    extents: usize,
    /// Runs by operation and freshness (fresh ones first), the latest first.
    runs: [[Vec<Run>; 2]; 4],
    last_end: [Option<u64>; 4],
    /// Extents by last read (0) and by last write (1).
    pub stacks: [Recency; 2],
    touched: Vec<u64>,
    untouched: usize,
    clock: u64,
}

impl History {
    /// Nothing yet, for a region of `region_bytes`.
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

    /// The grain of the stacks \[bytes\].
    pub fn extent_bytes(&self) -> u64 {
        self.extent_bytes
    }

    /// The run of `op` that a request at `start` continues: its kind ([`FRESH_RUN`] or [`RUN`]) and its index there.
    pub fn run_at(&self, op: Op, start: u64) -> Option<(usize, usize)> {
        [FRESH_RUN, RUN].into_iter().find_map(|kind| {
            let runs = &self.runs[op as usize][kind - FRESH_RUN];
            runs.iter().position(|run| run.end == start).map(|index| (kind, index))
        })
    }

    /// Run `index` of a kind of `op`.
    pub fn run(&self, op: Op, run: (usize, usize)) -> Option<Run> {
        self.runs[op as usize][run.0 - FRESH_RUN].get(run.1).copied()
    }

    /// Where the last request of `op` ended.
    pub fn last_end(&self, op: Op) -> Option<u64> {
        self.last_end[op as usize]
    }

    /// The first byte of the first extent that a request enters when it continues a run that ended at `start`.
    pub fn entered(&self, start: u64, length: u64) -> Option<u64> {
        let next = start.div_ceil(self.extent_bytes) * self.extent_bytes;
        (next < start + length).then_some(next)
    }

    /// Where a return to `start` would be found: the touch and its distance, in the written (true) or read data. Writes ask
    /// the written data first, for overwriting is what wears a drive; others ask for the later touch.
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

    /// True if the extent at `start` was touched.
    pub fn touched(&self, start: u64) -> bool {
        let extent = (start / self.extent_bytes) as usize;
        self.touched[extent / 64] >> (extent % 64) & 1 == 1
    }

    /// The first untouched extent at or after that of `start`, around the region's end; none where a long search finds none.
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

    /// Untouched extents in a row from that of `start`, counted up to `most`.
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

    /// Takes a request in.
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
        for extent in first..=last {
            let (word, bit) = (&mut self.touched[extent as usize / 64], 1u64 << (extent % 64));
            self.untouched -= usize::from(*word & bit == 0);
            *word |= bit;
        }
        let stack = &mut self.stacks[usize::from(op != Op::Read)];
        // From the end, so that the extent of the start is on top.
        for extent in (first + 1..=last.min(first + TOUCHES_MAX - 1)).rev() {
            stack.touch(Touch { extent: extent as u32, sector: 0, sectors: 0, when: self.clock });
        }
        let sector = (start % self.extent_bytes / SECTOR_BYTES) as u16;
        let sectors = (length / SECTOR_BYTES).min(u64::from(u32::MAX)) as u32;
        stack.touch(Touch { extent: first as u32, sector, sectors, when: self.clock });
    }
}
