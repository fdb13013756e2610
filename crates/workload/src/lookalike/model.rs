//! The fields of a look-alike description: what was measured, as a few kilobytes of TOML.

use kit::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A look-alike of a measured trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Always `lookalike`.
    pub kind: Kind,
    /// The trace that it was fitted to.
    pub name: String,
    /// Requests that the fit has seen.
    #[schemars(range(min = 1))]
    pub fitted_requests: u64,
    /// First byte of the region on the drive; change it freely.
    #[serde(default)]
    pub offset: Bytes,
    /// The region that requests stay in: the trace's touched grains packed together, and a quarter to spare.
    /// Raise it for a larger data set.
    pub region: Bytes,
    /// What is done where the region does not fit the drive: `error` (absent), or `wrap`, addresses modulo the drive's capacity.
    #[serde(default, skip_serializing_if = "is_error")]
    pub address: Beyond,
    /// The grain of reuse distances, a power of two from 4 KiB to 1 MiB.
    pub extent: Bytes,
    /// How many times faster than measured; absent: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1e-9, max = 1e9))]
    pub speed: f64,
    /// `open` (absent), or `gaps`: each request its gap after the one before was taken, so that a full drive delays all that follow.
    #[serde(default, skip_serializing_if = "is_open")]
    pub replay: Pace,
    /// Ends after this many requests; the generator itself is endless.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub requests: Option<u64>,
    /// Ends after this simulated time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Nanos>,
    /// Time after the start that statistics leave out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub ramp_time: Nanos,
    /// Relative frequency of starts at sector 0 to 7 of a 4 KiB page.
    pub phases: Vec<f64>,
    /// Probability of each operation (read, write, trim, flush) after each, in the same order.
    pub transitions: Vec<Vec<f64>>,
    /// When requests arrive.
    pub arrival: Arrival,
    /// What reads do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Behaviour>,
    /// What writes do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<Behaviour>,
    /// What trims do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<Behaviour>,
}

/// When the requests of a look-alike are submitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    /// At their times, whatever the drive does.
    #[default]
    Open,
    /// At their gap after the one before; a drive that cannot take one delays all that follow.
    Gaps,
}

/// What is done with a region that does not fit the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// It is refused.
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

/// The word that says what a workload file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A look-alike.
    Lookalike,
}

/// A cascade of counts: windows with a number of requests each, halved again and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrival {
    /// The widest window.
    pub window: Nanos,
    /// Requests in each of the trace's widest windows. Each pass uses every window once, in a random order.
    #[schemars(length(min = 1))]
    pub windows: Vec<u64>,
    /// For each halving, from the widest window down, and for parents of 2-3, 4-15, 16-127 and 128 or more requests: the
    /// correlation of the sides on which two requests of a parent fall. 0 is Poisson, 1 puts all on one side, negative values
    /// are more even than chance.
    pub halves: Vec<Vec<f64>>,
}

/// What one operation does.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Behaviour {
    /// Probability of each kind of request after each: a jump to untouched data, a return to touched data, the continuation
    /// of a run through untouched data, that of another run.
    pub kinds: Vec<Vec<f64>>,
    /// Factors on the share of jumps to untouched data: in the last half of the fitted requests, the quarter before it, ...
    pub growth: Vec<f64>,
    /// Probability that a run whose last extent was untouched before finds the next one untouched too; by age as in `growth`.
    pub fresh_stays: Vec<f64>,
    /// Probability that a run whose last extent was touched before finds the next one untouched; by age as in `growth`.
    pub fresh_begins: Vec<f64>,
    /// Quantiles of the lengths of runs through untouched data \[KiB\]: the room that a fresh jump looks for.
    pub room: Vec<f64>,
    /// Which run through untouched data is continued, by recency of its end: relative frequencies.
    pub fresh_runs: Vec<f64>,
    /// Which other run is continued.
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
    /// Share of returns (jumps to data touched before) whose distance is one in written data; the rest, in read data.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub to_written: f64,
    /// Quantiles of the distance of returns to written data: distinct extents written since.
    pub written_distances: Vec<f64>,
    /// Quantiles of the distance of returns to read data: distinct extents read since.
    pub read_distances: Vec<f64>,
    /// Share of returns to extents in which a request began when they were touched last.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub at_start: f64,
    /// Share of returns to the very sector where the last request there began, if one began there.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub same_start: f64,
    /// Probability that a request which begins where an earlier one began has its size.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub same_size: f64,
    /// Share of fresh jumps that stay near the end of the operation's last request.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub near: f64,
    /// Quantiles of near jumps \[KiB, signed\].
    pub near_jumps: Vec<f64>,
    /// Quantiles of the other fresh jumps' targets, as shares of the region.
    pub places: Vec<f64>,
}

/// Sizes with relative frequencies.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// The sizes.
    pub bytes: Vec<Bytes>,
    /// Their frequencies.
    pub weights: Vec<f64>,
}

fn one() -> f64 {
    1.0
}
