//! Measures a trace and returns its description.

use super::history::{FRESH_JUMP, FRESH_RUN, History, RETURN, RUN, RUNS};
use super::model::{Arrival, Behaviour, Beyond, Description, Kind, Pace, Sizes};
use super::quantiles::{rounded, table};
use super::space::Space;
use super::{FitInput, cascade};
use crate::{Request, Source};
use kit::{Bytes, Nanos, Op, Problems};
use std::collections::BTreeMap;

/// Maximum number of requests that a fit holds in memory (48 bytes each).
pub const REQUESTS_MAX: usize = 4_000_000;
/// Longest trim that is fitted, that of the longest read or write of a trace \[bytes\].
pub const TRIM_BYTES_MAX: u64 = 4 << 30;
/// Largest region of a look-alike \[bytes\].
const REGION_BYTES_MAX: u64 = 16 << 40;
/// Number of extents beyond which they are made larger, to bound the memory: 9 bytes for each.
const EXTENTS_MAX: u64 = 1 << 26;
/// Number of age classes of requests: the last half of a trace, the quarter before it, and so on, each half as long as
/// the class after it; the last class holds all earlier requests.
pub const PROGRESS: usize = 8;
/// Number of sizes that are kept one by one; all other sizes are kept as [`REST_SIZES`] means.
const OWN_SIZES: usize = 8;
const REST_SIZES: usize = 3;
/// Maximum distance of a near jump from the end of the operation's last request \[bytes\].
const NEAR_BYTES: i64 = 4 << 20;

/// Reads at most [`REQUESTS_MAX`] requests.
pub fn collect(source: &mut dyn Source) -> Result<Vec<Request>, Problems> {
    let mut requests = Vec::new();
    loop {
        let before = requests.len();
        source.fill(&mut requests, 4096.min(REQUESTS_MAX - before))?;
        if requests.len() == before || requests.len() == REQUESTS_MAX {
            return Ok(requests);
        }
    }
}

/// Cuts longer trims to [`TRIM_BYTES_MAX`], and returns their number. A read or a write cannot be longer.
pub fn cut_trims(requests: &mut [Request]) -> u64 {
    let mut cut = 0;
    for request in requests.iter_mut().filter(|request| request.op == Op::Trim && request.length.0 > TRIM_BYTES_MAX) {
        request.length = Bytes(TRIM_BYTES_MAX);
        cut += 1;
    }
    cut
}

/// Returns the map of the touched addresses, with the size of an extent.
fn space_of(requests: &[Request], input: &FitInput) -> Result<(Space, u64), Problems> {
    let mut extent = extent_bytes(requests);
    let mut space = Space::new(requests, extent.max(64 << 10));
    while space.bytes() / extent > EXTENTS_MAX && extent < 1 << 20 {
        extent *= 2;
        space = Space::new(requests, extent.max(64 << 10));
    }
    if space.bytes() / 4 * 5 >= REGION_BYTES_MAX {
        let complaint = format!(
            "the trace touches {} bytes, and a look-alike has a region below 16 TiB, a fifth of it spare: expected a slice, or fewer streams",
            space.bytes()
        );
        return Err(Problems::one(&input.name, complaint));
    }
    Ok((space, extent))
}

/// Returns the description of `requests`, of which at least one must have a length above 0.
pub fn describe(requests: &[Request], input: &FitInput) -> Result<Description, Problems> {
    let (space, extent) = space_of(requests, input)?;
    let (packed, grain) = (space.bytes(), space.grain());
    // A quarter is spare space, so that new data finds gaps of its size until the end.
    let region = (packed + packed / 4).div_ceil(grain) * grain;
    let mut gauge = Counters::new(packed, extent, requests.len());
    for (index, request) in requests.iter().enumerate() {
        gauge.take(index, request, &space);
    }
    let mut times: Vec<u64> = requests.iter().map(|request| request.at.0).collect();
    times.sort_unstable();
    let span_known = times[0] < times[times.len() - 1];
    let even = Arrival { window: kit::Nanos(1_000_000_000), windows: vec![10_000], halves: vec![vec![0.0; 4]; 22] };
    let [read, write, trim] = gauge.ops.map(OpCounters::behaviour);
    Ok(Description {
        kind: Kind::Lookalike,
        name: input.name.clone(),
        fitted_requests: requests.len() as u64,
        offset: Bytes(0),
        region: Bytes(region),
        extent: Bytes(extent),
        speed: 1.0,
        replay: Pace::Open,
        address: Beyond::Error,
        requests: Some(requests.len() as u64),
        runtime: None,
        ramp_time: Nanos::ZERO,
        phases: gauge.phases.map(|count| rounded(count / gauge.phases.iter().sum::<f64>().max(1.0))).to_vec(),
        transitions: gauge.transitions.iter().map(|row| shares(row)).collect(),
        arrival: if span_known { cascade::fit(&times) } else { even },
        read,
        write,
        trim,
    })
}

/// Returns the power of two at or above the median size, from 4 KiB to 1 MiB.
fn extent_bytes(requests: &[Request]) -> u64 {
    let mut sizes: Vec<u64> = requests.iter().map(|request| request.length.0).filter(|length| *length > 0).collect();
    sizes.sort_unstable();
    sizes.get(sizes.len() / 2).copied().unwrap_or(4096).next_power_of_two().clamp(4 << 10, 1 << 20)
}

fn shares(counts: &[f64]) -> Vec<f64> {
    let total: f64 = counts.iter().sum();
    counts.iter().map(|count| if total > 0.0 { rounded(count / total) } else { 0.0 }).collect()
}

/// Returns the shares without the zeroes at the end.
fn short(counts: &[f64]) -> Vec<f64> {
    let mut list = shares(counts);
    list.truncate(list.iter().rposition(|share| *share > 0.0).map_or(0, |last| last + 1));
    list
}

/// Returns the age class of request `index` of `count`: 0 in the last half, 1 in the quarter before it, and so on.
pub fn progress(index: u64, count: u64) -> usize {
    let mut class = 0;
    while class + 1 < PROGRESS && index < count >> (class + 1) {
        class += 1;
    }
    class
}

/// Counters of a trace.
struct Counters {
    history: History,
    count: usize,
    last_op: Option<Op>,
    transitions: [[f64; 4]; 4],
    phases: [f64; 8],
    ops: [OpCounters; 3],
}

/// Counters of one operation.
#[derive(Default)]
struct OpCounters {
    requests: f64,
    kinds: [[f64; 4]; 4],
    last_kind: Option<usize>,
    /// Entries of runs into another extent, by whether the extent before it had been untouched (index 0) or touched
    /// (1), and by age class: all entries, and those into untouched extents.
    entries: [[[f64; 2]; PROGRESS]; 2],
    /// Lengths of the ended runs through untouched data \[KiB\].
    fresh_run_kib: Vec<f64>,
    /// Starts of the runs through untouched data that have not ended, keyed by their present ends.
    growing: BTreeMap<u64, u64>,
    run_index: [[f64; RUNS]; 2],
    /// Number of requests of each size, by kind of request.
    sizes: [BTreeMap<u64, u64>; 4],
    /// By age class: all jumps, and jumps to untouched data.
    fresh: [[f64; 2]; PROGRESS],
    distances: [Vec<f64>; 2],
    /// Returns to extents in which a request began, and those of them that begin at the same sector.
    starts: [f64; 2],
    /// Requests that begin where an earlier one began, and those of them that have the same size.
    same_size: [f64; 2],
    near: Vec<f64>,
    places: Vec<f64>,
}

impl Counters {
    fn new(region: u64, extent: u64, count: usize) -> Counters {
        Counters {
            history: History::new(region, extent),
            count,
            last_op: None,
            transitions: [[0.0; 4]; 4],
            phases: [0.0; 8],
            ops: Default::default(),
        }
    }

    fn take(&mut self, index: usize, request: &Request, space: &Space) {
        let op = request.op;
        if let Some(last) = self.last_op {
            self.transitions[last as usize][op as usize] += 1.0;
        }
        self.last_op = Some(op);
        let length = request.length.0;
        if op == Op::Flush || length == 0 {
            return;
        }
        let start = space.place(request.offset.0);
        let run = self.history.run_at(op, start);
        let found = self.history.find(op, start);
        let gauge = &mut self.ops[op as usize];
        gauge.requests += 1.0;
        if let Some((_, touch, _)) =
            found.filter(|(_, touch, _)| touch.sectors > 0 && sector_in(start, &self.history) == touch.sector)
        {
            gauge.same_size[0] += 1.0;
            gauge.same_size[1] += f64::from(u8::from(u64::from(touch.sectors) * kit::SECTOR_BYTES == length));
        }
        let class = progress(index as u64, self.count as u64);
        let kind = match run {
            Some((kind, index)) => {
                gauge.run_index[kind - FRESH_RUN][index] += 1.0;
                gauge.enter(&self.history, kind, start, length, class);
                kind
            }
            None => {
                self.phases[(start % 4096 / 512) as usize] += 1.0;
                gauge.jump(&self.history, op, start, class, space.bytes())
            }
        };
        *gauge.sizes[kind].entry(length).or_default() += 1;
        gauge.grow(kind, start, length);
        if let Some(last) = gauge.last_kind {
            gauge.kinds[last][kind] += 1.0;
        }
        gauge.last_kind = Some(kind);
        self.history.record(op, start, length, run);
    }
}

fn sector_in(start: u64, history: &History) -> u16 {
    (start % history.extent_bytes() / kit::SECTOR_BYTES) as u16
}

impl OpCounters {
    /// Counts the entry of a request that continues a run into another extent.
    fn enter(&mut self, history: &History, kind: usize, start: u64, length: u64, class: usize) {
        if let Some(entered) = history.entered(start, length) {
            let entries = &mut self.entries[kind - FRESH_RUN][class];
            entries[0] += 1.0;
            entries[1] += f64::from(u8::from(!history.touched(entered)));
        }
    }

    /// Tracks the lengths of runs through untouched data. To bound the memory, all open runs are taken as ended when
    /// there are too many.
    fn grow(&mut self, kind: usize, start: u64, length: u64) {
        let begin = match kind {
            FRESH_JUMP => start,
            FRESH_RUN => self.growing.remove(&start).unwrap_or(start),
            _ => return,
        };
        if self.growing.len() > 1024 {
            self.fresh_run_kib.extend(std::mem::take(&mut self.growing).iter().map(|(end, begin)| (end - begin) as f64 / 1024.0));
        }
        self.growing.insert(start + length, begin);
    }

    /// Counts a request that jumps, and returns its kind.
    fn jump(&mut self, history: &History, op: Op, start: u64, class: usize, region: u64) -> usize {
        self.fresh[class][0] += 1.0;
        match history.find(op, start) {
            Some((written, touch, distance)) => {
                self.distances[usize::from(written)].push(distance as f64);
                if touch.sectors > 0 {
                    self.starts[0] += 1.0;
                    self.starts[1] += f64::from(u8::from(touch.sector == sector_in(start, history)));
                }
                RETURN
            }
            None => {
                self.fresh[class][1] += 1.0;
                let gap = history.last_end(op).map_or(i64::MAX, |end| start as i64 - end as i64);
                if gap.abs() <= NEAR_BYTES {
                    self.near.push(gap as f64 / 1024.0);
                } else {
                    self.places.push(start as f64 / region as f64);
                }
                FRESH_JUMP
            }
        }
    }

    fn behaviour(mut self) -> Option<Behaviour> {
        if self.requests == 0.0 {
            return None;
        }
        let part = |part: f64, all: f64| if all > 0.0 { rounded(part / all) } else { 0.0 };
        let returns = (self.distances[0].len() + self.distances[1].len()) as f64;
        let (near, far) = (self.near.len() as f64, self.places.len() as f64);
        self.fresh_run_kib.extend(self.growing.iter().map(|(end, begin)| (end - begin) as f64 / 1024.0));
        // A class with fewer than 10 cases gets the mean over all classes.
        let by_class = |classes: &[[f64; 2]; PROGRESS]| -> Vec<f64> {
            let (all, hits) = classes.iter().fold((0.0, 0.0), |sum, class| (sum.0 + class[0], sum.1 + class[1]));
            let shares = classes.iter().map(|class| if class[0] >= 10.0 { part(class[1], class[0]) } else { part(hits, all) });
            let mut shares: Vec<f64> = shares.collect();
            // With fewer than 10 cases in all, every class has the same mean, and one entry suffices.
            shares.dedup_by(|later, earlier| all < 10.0 && later == earlier);
            shares
        };
        let (jumps, fresh) = self.fresh.iter().fold((0.0, 0.0), |sum, class| (sum.0 + class[0], sum.1 + class[1]));
        // A rare operation gets shorter tables.
        let levels = if self.requests < 2000.0 { 9 } else { 25 };
        let growth = by_class(&self.fresh).iter().map(|share| part(share * jumps, fresh)).collect();
        Some(Behaviour {
            kinds: self.kinds.iter().map(|row| shares(row)).collect(),
            growth,
            fresh_stays: by_class(&self.entries[0]),
            fresh_begins: by_class(&self.entries[1]),
            room: table(&mut self.fresh_run_kib, levels / 2 + 1),
            fresh_runs: short(&self.run_index[0]),
            runs: short(&self.run_index[1]),
            fresh_jump_sizes: sizes(&self.sizes[FRESH_JUMP]),
            return_sizes: sizes(&self.sizes[RETURN]),
            fresh_run_sizes: sizes(&self.sizes[FRESH_RUN]),
            run_sizes: sizes(&self.sizes[RUN]),
            to_written: part(self.distances[1].len() as f64, returns),
            written_distances: table(&mut self.distances[1], levels),
            read_distances: table(&mut self.distances[0], levels),
            at_start: part(self.starts[0], returns),
            same_start: part(self.starts[1], self.starts[0]),
            same_size: part(self.same_size[1], self.same_size[0]),
            near: part(near, near + far),
            near_jumps: table(&mut self.near, levels / 2 + 1),
            places: table(&mut self.places, levels),
        })
    }
}

/// Returns the most frequent sizes one by one, and the other sizes as the means of a few groups, so that the mean size
/// is kept.
fn sizes(counts: &BTreeMap<u64, u64>) -> Sizes {
    let total: u64 = counts.values().sum();
    let mut by_count: Vec<(u64, u64)> = counts.iter().map(|(bytes, count)| (*bytes, *count)).collect();
    by_count.sort_by_key(|(bytes, count)| (std::cmp::Reverse(*count), *bytes));
    let mut rest = by_count.split_off(by_count.len().min(OWN_SIZES));
    rest.sort_unstable();
    let rest_total: u64 = rest.iter().map(|(_, count)| count).sum();
    // The means are rounded to the alignment that all grouped sizes share, at most a page.
    let grain = rest.iter().fold(4096, |grain, (bytes, _)| grain.min(1u64 << bytes.trailing_zeros())).max(512);
    let mut groups = vec![(0u128, 0u64); REST_SIZES];
    let mut seen = 0;
    for (bytes, count) in rest {
        let group = &mut groups[(seen * REST_SIZES as u64 / rest_total.max(1)) as usize];
        *group = (group.0 + u128::from(bytes) * u128::from(count), group.1 + count);
        seen += count;
    }
    for (bytes, count) in groups.into_iter().filter(|(_, count)| *count > 0) {
        let mean = (bytes / u128::from(count)) as u64;
        by_count.push((((mean + grain / 2) / grain).max(1) * grain, count));
    }
    by_count.sort_unstable();
    Sizes {
        bytes: by_count.iter().map(|(bytes, _)| Bytes(*bytes)).collect(),
        weights: by_count.iter().map(|(_, count)| rounded(*count as f64 / total as f64)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_halves_from_the_end() {
        let classes: Vec<usize> = [1000, 500, 499, 250, 249, 125, 7, 0].map(|index| progress(index, 1000)).to_vec();
        assert_eq!(classes, [0, 0, 1, 1, 2, 2, 6, 7]);
        assert_eq!(progress(5000, 1000), 0, "beyond the fitted requests the last class goes on");
    }

    #[test]
    fn rare_sizes_keep_their_mean_and_alignment() {
        let counts: BTreeMap<u64, u64> = (1..=40u64).map(|i| (i * 1024, if i <= 5 { 100 } else { 1 })).collect();
        let sizes = sizes(&counts);
        assert!(sizes.bytes.len() <= OWN_SIZES + REST_SIZES);
        let mean =
            |pairs: Vec<(f64, f64)>| pairs.iter().map(|(b, w)| b * w).sum::<f64>() / pairs.iter().map(|(_, w)| w).sum::<f64>();
        let all = mean(counts.iter().map(|(bytes, count)| (*bytes as f64, *count as f64)).collect());
        let kept = mean(sizes.bytes.iter().zip(&sizes.weights).map(|(bytes, weight)| (bytes.0 as f64, *weight)).collect());
        assert!((kept / all - 1.0).abs() < 0.02, "{kept} against {all}");
        assert!(sizes.bytes.iter().all(|bytes| bytes.0.is_multiple_of(1024)));
    }
}
