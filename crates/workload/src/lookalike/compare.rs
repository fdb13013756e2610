//! Compares a trace with its look-alike, measure by measure.

use super::fit::TRIM_BYTES_MAX;
use super::ranges::Ranges;
use super::recency::{Recency, Touch};
use crate::{Request, Source};
use kit::{Op, Problems};
use serde::Serialize;
use std::collections::BTreeMap;

/// Time scales of the index of dispersion \[ns\].
const SCALES_NS: [u64; 5] = [10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000, 100_000_000_000];
/// Minimum number of windows for an estimate of the variance.
const WINDOWS_MIN: u64 = 5;
const PAGE: u64 = 4096;

/// Statistics of two sources, measured in the same way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Statistics of the first source.
    pub a: Measures,
    /// Statistics of the second source.
    pub b: Measures,
}

/// Statistics of the first requests of a source. Shares are between 0 and 1; a statistic that cannot be measured is
/// absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Measures {
    /// Number of requests measured.
    pub requests: u64,
    /// Time from the first arrival to the last \[ns\].
    pub span_ns: u64,
    /// Requests per second.
    pub rate: Option<f64>,
    /// Share of reads.
    pub read_share: f64,
    /// Share of trims.
    pub trim_share: f64,
    /// Share of requests with the same operation as the previous request.
    pub same_op: f64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Quantiles of request sizes (10, 25, 50, 75, 90 %) \[bytes\].
    pub size_quantiles: [u64; 5],
    /// Footprint (distinct 4 KiB pages touched) \[bytes\] after an eighth, a quarter, a half and all of the requests.
    pub footprint_bytes: [u64; 4],
    /// Share of requests that begin where one of the last 8 requests of the same operation ended.
    pub sequential_share: f64,
    /// Share of the page writes that went to a page written before.
    pub overwrite_share: f64,
    /// Share of requests whose first page was the first page of an earlier request.
    pub reuse_share: f64,
    /// Quantiles (10, 25, 50, 75, 90 %) of the LRU stack distance of reads that return to the first page of an earlier
    /// read, in distinct first pages of reads.
    pub read_reuse: Option<[u64; 5]>,
    /// Like `read_reuse`, but for writes.
    pub write_reuse: Option<[u64; 5]>,
    /// Share of requests that start on a 4 KiB page.
    pub aligned_share: f64,
    /// Index of dispersion of counts (variance over mean) at 10 ms, 100 ms, 1 s, 10 s, 100 s; absent if fewer than five
    /// windows fit.
    pub dispersion: [Option<f64>; 5],
}

/// Measures the first `count` requests of both sources.
pub fn compare(a: &mut dyn Source, b: &mut dyn Source, count: u64) -> Result<Comparison, Problems> {
    Ok(Comparison { a: measure(a, count)?, b: measure(b, count)? })
}

fn measure(source: &mut dyn Source, count: u64) -> Result<Measures, Problems> {
    let mut gauge = Meter::default();
    let mut batch = Vec::new();
    let mut seen = 0;
    while seen < count {
        batch.clear();
        source.fill(&mut batch, (count - seen).min(4096) as usize)?;
        if batch.is_empty() {
            break;
        }
        for request in &batch {
            seen += 1;
            gauge.take(request);
            gauge.footprints.push(gauge.pages.touched);
        }
    }
    Ok(gauge.finish())
}

/// Touched and written pages.
#[derive(Default)]
struct Pages {
    all: Ranges,
    written: Ranges,
    touched: u64,
}

impl Pages {
    /// Marks the pages `first..=last`, and returns how many of them were written before.
    fn mark(&mut self, first: u64, last: u64, written: bool) -> u64 {
        self.touched += last - first + 1 - self.all.add(first, last);
        if written { self.written.add(first, last) } else { self.written.count(first, last) }
    }
}

#[derive(Default)]
struct Meter {
    times: Vec<u64>,
    ops: [u64; 4],
    same_op: u64,
    last_op: Option<Op>,
    bytes: [u64; 4],
    sizes: Vec<u64>,
    ends: [Vec<u64>; 4],
    sequential: u64,
    pages: Pages,
    footprints: Vec<u64>,
    written_pages: u64,
    overwritten_pages: u64,
    ids: BTreeMap<u64, u32>,
    stacks: Option<[Recency; 2]>,
    distances: [Vec<u64>; 2],
    reused: u64,
    aligned: u64,
}

impl Meter {
    fn take(&mut self, request: &Request) {
        let (op, start) = (request.op, request.offset.0);
        let longest = if op == Op::Trim { TRIM_BYTES_MAX } else { u64::MAX };
        let length = request.length.0.min(longest);
        self.times.push(request.at.0);
        self.ops[op as usize] += 1;
        self.same_op += u64::from(self.last_op == Some(op));
        self.last_op = Some(op);
        if length == 0 {
            return;
        }
        self.bytes[op as usize] += length;
        self.sizes.push(length);
        self.aligned += u64::from(start.is_multiple_of(PAGE));
        let ends = &mut self.ends[op as usize];
        if let Some(index) = ends.iter().position(|end| *end == start) {
            self.sequential += 1;
            ends.remove(index);
        }
        ends.insert(0, start + length);
        ends.truncate(8);
        let (first, last) = (start / PAGE, (start + length - 1) / PAGE);
        let before = self.pages.mark(first, last, op == Op::Write);
        if op == Op::Write {
            self.written_pages += last - first + 1;
            self.overwritten_pages += before;
        }
        self.reuse(op, first);
    }

    fn reuse(&mut self, op: Op, page: u64) {
        let known = self.ids.len() as u32;
        let id = *self.ids.entry(page).or_insert(known);
        self.reused += u64::from(id != known);
        let side = match op {
            Op::Read => 0,
            Op::Write | Op::Append => 1,
            Op::Trim | Op::Flush | Op::Zone => return,
        };
        let stacks = self.stacks.get_or_insert_with(|| [Recency::new(0), Recency::new(0)]);
        let stack = &mut stacks[side];
        stack.make_room(id as usize + 1);
        if let Some((_, distance)) = stack.find(id as usize) {
            self.distances[side].push(distance as u64);
        }
        stack.touch(Touch { extent: id, sector: 0, sectors: 0, when: 0 });
    }

    fn finish(mut self) -> Measures {
        let requests = self.times.len() as u64;
        let all = (requests.max(1)) as f64;
        let moving = self.sizes.len().max(1) as f64;
        self.times.sort_unstable();
        let span_ns = self.times.last().zip(self.times.first()).map_or(0, |(last, first)| last - first);
        let footprint =
            |part: usize| self.footprints.get((self.footprints.len() / part).saturating_sub(1)).map_or(0, |pages| pages * PAGE);
        let [mut reads, mut writes] = self.distances;
        Measures {
            requests,
            span_ns,
            rate: (span_ns > 0).then(|| all / (span_ns as f64 / 1e9)),
            read_share: self.ops[Op::Read as usize] as f64 / all,
            trim_share: self.ops[Op::Trim as usize] as f64 / all,
            same_op: self.same_op as f64 / (all - 1.0).max(1.0),
            read_bytes: self.bytes[Op::Read as usize],
            write_bytes: self.bytes[Op::Write as usize],
            footprint_bytes: [8, 4, 2, 1].map(footprint),
            size_quantiles: quantiles(&mut self.sizes).unwrap_or_default(),
            sequential_share: self.sequential as f64 / moving,
            overwrite_share: self.overwritten_pages as f64 / self.written_pages.max(1) as f64,
            reuse_share: self.reused as f64 / moving,
            read_reuse: quantiles(&mut reads),
            write_reuse: quantiles(&mut writes),
            aligned_share: self.aligned as f64 / moving,
            dispersion: SCALES_NS.map(|scale| dispersion(&self.times, scale)),
        }
    }
}

fn quantiles(samples: &mut [u64]) -> Option<[u64; 5]> {
    samples.sort_unstable();
    let last = samples.len().checked_sub(1)?;
    Some([0.1, 0.25, 0.5, 0.75, 0.9].map(|level| samples[(level * last as f64) as usize]))
}

/// Returns the variance over the mean of the counts in whole windows of `scale`, from the first of the sorted `times`;
/// `None` if too few windows fit.
fn dispersion(times: &[u64], scale: u64) -> Option<f64> {
    let (first, last) = (*times.first()?, *times.last()?);
    let windows = (last - first) / scale;
    if windows < WINDOWS_MIN {
        return None;
    }
    let (mut sum, mut squares) = (0.0, 0.0);
    let mut rest = &times[..times.partition_point(|time| *time < first + windows * scale)];
    while let Some(time) = rest.first() {
        let end = first + ((time - first) / scale + 1) * scale;
        let count = rest.partition_point(|time| *time < end);
        sum += count as f64;
        squares += (count * count) as f64;
        rest = &rest[count..];
    }
    let mean = sum / windows as f64;
    Some((squares / windows as f64 - mean * mean) / mean)
}
