//! Samples of a drive at work: totals since the measurement began, of which an observer takes differences.
//!
//! A sample changes nothing in the drive. It costs some tenths of a millisecond; the map of the wear reads the erase
//! count of every block, and is made on request.

use super::{BEYOND, by_reason, medium, totals, utilisation};
use crate::description::Description;
use crate::drive::Drive;
use kit::{BlockId, Cause, DieId, Histogram, Op, SimTime, Sums};
use serde_json::{Map, Value, json};

/// Largest number of rows and of columns of the map of the wear.
const ROWS: u32 = 64;
const COLUMNS: u32 = 64;

/// A drive at work, of which samples can be taken.
#[derive(Clone, Copy)]
pub struct View<'a> {
    drive: &'a Drive,
    description: &'a Description,
}

impl std::fmt::Debug for View<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("View").field("now", &self.drive.now()).finish_non_exhaustive()
    }
}

impl<'a> View<'a> {
    /// Views a drive of this description.
    pub(crate) fn new(drive: &'a Drive, description: &'a Description) -> View<'a> {
        View { drive, description }
    }

    /// Returns the instant at which it is.
    pub fn now(&self) -> SimTime {
        self.drive.now()
    }

    /// Returns a sample, with the map of the wear if `wear` is true.
    pub fn sample(&self, wear: bool) -> Value {
        let View { drive, description } = *self;
        let (statistics, now) = (&drive.statistics, drive.now());
        let totals = &statistics.totals;
        let (flash, ftl) = statistics.since_start(drive.flash(), drive.translator());
        let busy = statistics.utilisation(now, drive.controller(), drive.flash());
        let read_or_write = |of: &dyn Fn(Op) -> Value| json!({"read": of(Op::Read), "write": of(Op::Write)});
        json!({
            "simulated_ns": now.since(statistics.start).0,
            "commands": totals::commands(totals),
            "bytes": read_or_write(&|op| json!(totals.bytes[op as usize])),
            "latency": read_or_write(&|op| latency(&totals.histograms[op as usize])),
            "causes": read_or_write(&|op| causes(&totals.sums[op as usize])),
            "host_units_written": ftl.host_units,
            "programs": by_reason(&ftl.units_programmed),
            "erases": flash.erases.iter().sum::<u64>(),
            "free_blocks": drive.translator().map().map(|map| map.free_blocks()),
            "utilisation": utilisation::section(description, &busy),
            "wear": wear.then(|| wear_map(drive)).flatten(),
        })
    }
}

/// Returns percentiles, as the summary has them, and the counts of the ranges of latencies: pairs of the largest
/// latency of a range \[ns\] and the number of commands in it. From 1 us on, a range is at most 1/64 wide.
fn latency(histogram: &Histogram) -> Value {
    let percentile = |fraction: f64| histogram.percentile(fraction, BEYOND);
    let ranges: Vec<(u64, u64)> = histogram.ranges().map(|(range, count)| (Histogram::end_of_range(range), count)).collect();
    json!({
        "p50_ns": percentile(0.5),
        "p99_ns": percentile(0.99),
        "p99_9_ns": percentile(0.999),
        "ranges": ranges,
    })
}

/// Returns the time charged to each cause \[ns\]; causes without any are left out.
fn causes(sums: &Sums) -> Value {
    let charged = Cause::ALL.iter().map(|cause| (cause.name(), sums.cause_ns(*cause as usize))).filter(|(_, ns)| *ns > 0);
    let saturated = |ns: u128| json!(u64::try_from(ns).unwrap_or(u64::MAX));
    charged.map(|(name, ns)| (name.to_owned(), saturated(ns))).collect::<Map<_, _>>().into()
}

/// Returns the mean erase counts of groups of blocks: a row for each die, or for several neighbouring ones. `None`
/// where no map of the data is kept.
fn wear_map(drive: &Drive) -> Option<Value> {
    let medium = medium(drive)?;
    let geometry = &medium.geometry;
    let (dies_per_row, blocks_per_column) = (geometry.die_count.div_ceil(ROWS), geometry.blocks_per_die.div_ceil(COLUMNS));
    let (mut least, mut most, mut total) = (u32::MAX, 0, 0u64);
    let (rows, columns) = (geometry.die_count.div_ceil(dies_per_row), geometry.blocks_per_die.div_ceil(blocks_per_column));
    let mut cells = vec![vec![(0u64, 0u64); columns as usize]; rows as usize];
    for die in 0..geometry.die_count {
        for (index, block) in geometry.blocks_of(DieId(die)).enumerate() {
            let count = medium.erase_count(BlockId(block));
            (least, most, total) = (least.min(count), most.max(count), total + u64::from(count));
            let cell = &mut cells[(die / dies_per_row) as usize][index / blocks_per_column as usize];
            *cell = (cell.0 + u64::from(count), cell.1 + 1);
        }
    }
    let hundredths = |(sum, blocks): &(u64, u64)| (*sum as f64 / *blocks as f64 * 100.0).round() / 100.0;
    let rows: Vec<Vec<f64>> = cells.iter().map(|row| row.iter().map(hundredths).collect()).collect();
    Some(json!({
        "dies_per_row": dies_per_row,
        "blocks_per_column": blocks_per_column,
        "dies": geometry.die_count,
        "blocks_per_die": geometry.blocks_per_die,
        "min": least,
        "max": most,
        "mean": total as f64 / f64::from(geometry.block_count),
        "rows": rows,
    }))
}
