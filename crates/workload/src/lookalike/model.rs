//! Fields of a look-alike description: the measured statistics, as a few kilobytes of TOML.

use kit::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Look-alike of a measured trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Always `lookalike`.
    pub kind: Kind,
    /// Name of the trace to which the look-alike was fitted.
    pub name: String,
    /// Number of requests to which the look-alike was fitted.
    #[schemars(range(min = 1))]
    pub fitted_requests: u64,
    /// First byte of the region on the drive; it may be changed freely.
    #[serde(default)]
    pub offset: Bytes,
    /// Size of the region that requests stay in: the trace's touched grains packed together, plus a quarter of spare
    /// space. Increase it for a larger data set.
    pub region: Bytes,
    /// Treatment of a region that does not fit the drive: `error` (when absent), or `wrap` for addresses modulo the
    /// drive's capacity.
    #[serde(default, skip_serializing_if = "is_error")]
    pub address: Beyond,
    /// Granularity of reuse distances, a power of two from 4 KiB to 1 MiB.
    pub extent: Bytes,
    /// Factor by which arrivals are faster than measured; absent: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1e-9, max = 1e9))]
    pub speed: f64,
    /// Pacing: `open` (when absent), or `gaps`. With `gaps`, each request is submitted at its gap after the previous
    /// submission, so that a request that the drive cannot accept delays all later ones.
    #[serde(default, skip_serializing_if = "is_open")]
    pub replay: Pace,
    /// Number of requests after which the job ends; the generator itself is endless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub requests: Option<u64>,
    /// Simulated time after which the job ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Nanos>,
    /// Time after the start during which commands are left out of the statistics.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ramp_time: Nanos,
    /// Relative frequencies of jumps that start at sector 0, 1, ... 7 of a 4 KiB page.
    pub phases: Vec<f64>,
    /// Probability of each operation (read, write, trim, flush) after each operation: one row per previous operation,
    /// in the same order.
    pub transitions: Vec<Vec<f64>>,
    /// Arrival process.
    pub arrival: Arrival,
    /// Behaviour of reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Behaviour>,
    /// Behaviour of writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Behaviour>,
    /// Behaviour of trims.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Behaviour>,
}

/// Pacing of a look-alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// At their generated times, whatever the drive does.
    #[default]
    Open,
    /// At their gaps after the previous submission; a request that the drive cannot accept delays all later ones.
    Gaps,
}

/// Treatment of a region that does not fit the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// The look-alike is refused.
    #[default]
    Error,
    /// Addresses are taken modulo the drive's capacity.
    Wrap,
}

fn is_error(beyond: &Beyond) -> bool {
    *beyond == Beyond::Error
}

fn is_open(pace: &Pace) -> bool {
    *pace == Pace::Open
}

fn is_zero(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}

/// Kind of a workload file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A look-alike.
    Lookalike,
}

/// Cascade of counts: windows with a number of requests each, halved repeatedly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// Width of the widest windows.
    pub window: Nanos,
    /// Number of requests in each of the trace's widest windows. Each pass uses every window once, in random order.
    #[schemars(length(min = 1))]
    pub windows: Vec<u64>,
    /// Correlations: one row for each halving, from the widest window down, with one value each for halved windows of
    /// 2-3, 4-15, 16-127 and 128 or more requests. A value is the correlation between the halves into which two
    /// requests of a window fall: 0 is Poisson, 1 puts all requests into one half, negative values are more even than
    /// chance.
    pub halves: Vec<Vec<f64>>,
}

/// Behaviour of one operation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Behaviour {
    /// Probability of each kind of request after each kind: one row per previous kind, in the order jump to untouched
    /// data, return to touched data, continuation of a run through untouched data, continuation of another run.
    pub kinds: Vec<Vec<f64>>,
    /// Factors on the share of jumps to untouched data, by age: in the last half of the fitted requests, in the quarter
    /// before it, and so on.
    pub growth: Vec<f64>,
    /// Probability that a run whose last extent was untouched before enters another untouched extent; by age as in
    /// `growth`.
    pub fresh_stays: Vec<f64>,
    /// Probability that a run whose last extent was touched before enters an untouched extent; by age as in `growth`.
    pub fresh_begins: Vec<f64>,
    /// Quantiles of the lengths of runs through untouched data \[KiB\]: the untouched space that a jump to untouched
    /// data looks for.
    pub room: Vec<f64>,
    /// Relative frequencies of the run that is continued, among runs through untouched data, by recency of their ends.
    pub fresh_runs: Vec<f64>,
    /// Relative frequencies of the run that is continued, among all other runs, by recency of their ends.
    pub runs: Vec<f64>,
    /// Sizes of requests that jump to untouched data.
    #[serde(default)]
    pub fresh_jump_sizes: Sizes,
    /// Sizes of requests that return to touched data.
    #[serde(default)]
    pub return_sizes: Sizes,
    /// Sizes of requests that continue a run through untouched data.
    #[serde(default)]
    pub fresh_run_sizes: Sizes,
    /// Sizes of requests that continue a run through touched data.
    #[serde(default)]
    pub run_sizes: Sizes,
    /// Share of returns (jumps to data touched before) that go to written data; all other returns go to read data.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub to_written: f64,
    /// Quantiles of the stack distance of returns to written data: distinct extents written since.
    pub written_distances: Vec<f64>,
    /// Quantiles of the stack distance of returns to read data: distinct extents read since.
    pub read_distances: Vec<f64>,
    /// Share of returns to extents in which a request began at their last touch.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub at_start: f64,
    /// Share of returns that start at the sector at which the last request in the extent began, among returns to
    /// extents in which one began.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub same_start: f64,
    /// Probability that a request that begins where an earlier one began has the same size.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub same_size: f64,
    /// Share of jumps to untouched data that stay near the end of the operation's last request.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub near: f64,
    /// Quantiles of the distances of such near jumps \[KiB, signed\].
    pub near_jumps: Vec<f64>,
    /// Quantiles of the targets of all other jumps to untouched data, as shares of the region.
    pub places: Vec<f64>,
}

/// Request sizes with relative frequencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Sizes.
    pub bytes: Vec<Bytes>,
    /// Relative frequencies of the sizes, in the same order.
    pub weights: Vec<f64>,
}

fn one() -> f64 {
    1.0
}
