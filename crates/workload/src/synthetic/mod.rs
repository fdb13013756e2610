//! Synthetic workloads: jobs described in TOML by their pattern, mix, sizes, region, pacing and limits.
//!
//! ```toml
//! kind = "synthetic"
//!
//! [[job]]
//! name = "database"
//! pattern = { kind = "zipf", theta = 0.9 }   # or { kind = "hot_cold", ... } or a bare name:
//!                                            # "sequential", "random", "random_no_repeat"
//! read_share = 0.7                           # share of trims: trim_share; all other requests are writes
//! sizes = [{ size = "4KiB", weight = 3 }, { size = "16KiB", weight = 1 }]
//! region = "8GiB"                            # absent: from `offset` to the drive's end
//! arrival = { kind = "poisson", mean_gap = "50us" }   # open loop; or `depth = 32` for a closed loop
//! requests = 1_000_000                       # at least one of requests, bytes and runtime
//! ```

pub mod arrival;
pub mod form;
pub(crate) mod timed;

use crate::generator::{AtEnd, BlockPlan, BlockSource, OpMix, Place, SizeMix, Zone};
use crate::{Job, Limits, Pacing, Source, Workload};
use form::Form;
use kit::{Bytes, MIN_BLOCK_BYTES, Nanos, Problems, Rng, SECTOR_BYTES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use timed::Timed;

/// A synthetic workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// Always `synthetic`.
    pub kind: Kind,
    /// The jobs.
    #[schemars(length(min = 1))]
    pub job: Vec<JobDescription>,
}

/// Kind of a workload file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A synthetic workload.
    Synthetic,
}

/// Job of a synthetic workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JobDescription {
    /// Name of the job.
    pub name: String,
    /// Access pattern.
    pub pattern: Pattern,
    /// Share of reads, by number of requests.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub read_share: f64,
    /// Share of trims, by number of requests; requests that are neither reads nor trims are writes.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub trim_share: f64,
    /// Request sizes with weights; absent: 4 KiB.
    #[serde(default = "four_kib")]
    #[schemars(length(min = 1))]
    pub sizes: Vec<Size>,
    /// Sizes of writes; absent: `sizes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub write_sizes: Option<Vec<Size>>,
    /// First byte of the region.
    #[serde(default)]
    pub offset: Bytes,
    /// Length of the region; absent: from `offset` to the drive's end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<Bytes>,
    /// Closed loop: number of requests in flight. Absent, and without `arrival`: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_048_576))]
    pub depth: Option<u32>,
    /// Open loop: arrival process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<arrival::Config>,
    /// Number of requests after which the job ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub requests: Option<u64>,
    /// Number of bytes after which the job ends; the request that reaches it is submitted whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Simulated time after which the job ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Nanos>,
    /// Delay before the first request.
    #[serde(default)]
    pub start_delay: Nanos,
    /// Time after the start during which commands are left out of the statistics.
    #[serde(default)]
    pub ramp_time: Nanos,
    /// True: a write completes once its data is programmed, also if there is a write buffer (FUA).
    #[serde(default)]
    pub fua: bool,
    /// True: the job starts when all jobs above it have ended.
    #[serde(default)]
    pub after_previous: bool,
}

/// Request size with its relative frequency.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Size, a multiple of the drive's logical block: 512 or 256 bytes.
    pub size: Bytes,
    /// Weight of the size, relative to the weights of the other sizes.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0))]
    pub weight: f64,
}

/// Access pattern. Random addresses are aligned to the smallest size in use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Pattern {
    /// Each request starts at the end of the previous one of the same operation, beginning at the region's start.
    Sequential,
    /// Uniformly distributed and independent.
    Random,
    /// Each block once per pass, in a new random order for each pass.
    RandomNoRepeat,
    /// Zipf: the `k`-th most popular block is accessed with a probability proportional to `k^-theta`; the popular
    /// blocks are scattered over the region.
    Zipf {
        /// Exponent.
        #[schemars(range(min = 0.001, max = 100.0))]
        theta: f64,
    },
    /// Hot and cold data: the first part of the region is hot and receives its own share of the accesses; accesses are
    /// uniform within both parts.
    HotCold {
        /// Share of the region that is hot.
        #[schemars(range(min = 0.0, max = 1.0))]
        hot_fraction: f64,
        /// Share of the accesses that the hot part receives.
        #[schemars(range(min = 0.0, max = 1.0))]
        hot_share: f64,
    },
}

fn four_kib() -> Vec<Size> {
    vec![Size { size: Bytes(4096), weight: 1.0 }]
}

fn one() -> f64 {
    1.0
}

/// Reads a synthetic workload for a drive of `user_bytes`. `name` is its name in messages, `seed` the seed of the run.
pub fn open(name: &str, text: &str, user_bytes: u64, seed: u64) -> Result<Workload, Problems> {
    let form: Form<Description> = form::read(name, text)?;
    let mut problems = Problems::default();
    let plans: Vec<Option<BlockPlan>> =
        (0..form.value.job.len()).map(|index| plan(&form, index, user_bytes, &mut problems)).collect();
    problems.or(())?;
    let mut wave = 0;
    let mut jobs = Vec::new();
    for (index, (job, plan)) in form.value.job.iter().zip(plans.into_iter().flatten()).enumerate() {
        wave += u32::from(job.after_previous && index > 0);
        jobs.push(make(job, plan, seed, index, wave));
    }
    let resolved = toml::to_string(&form.value).expect("a description of plain values is TOML");
    let resolved = format!("# Seed {seed}, user capacity {}\n{resolved}", Bytes(user_bytes));
    Ok(Workload { jobs, streams: Vec::new(), resolved, notes: Vec::new(), period: None, is_endless: false, standalone: None })
}

fn make(job: &JobDescription, plan: BlockPlan, seed: u64, index: usize, wave: u32) -> Job {
    let streams = format!("synthetic.{index}");
    let (bytes, requests) = (plan.bytes_max, plan.requests_max);
    let write_sizes = job.write_sizes.as_ref().unwrap_or(&job.sizes);
    let all = used_sizes(job, write_sizes).iter().fold(plan.offset, |all, bytes| all | bytes);
    let overwrites_in_passes = matches!(plan.place, Place::OncePerPass) && job.read_share + job.trim_share < 1.0;
    let blocks = BlockSource::new(plan, seed, &streams);
    let (source, pacing): (Box<dyn Source>, Pacing) = match &job.arrival {
        Some(arrival) => {
            let arrivals = arrival.build(Rng::stream(seed, &format!("{streams}.arrival")));
            (Box::new(Timed::new(blocks, arrivals)), Pacing::Open)
        }
        None => (Box::new(blocks), Pacing::Closed { depth: job.depth.unwrap_or(1) }),
    };
    Job {
        name: job.name.clone(),
        grain: 1 << all.trailing_zeros().min(63),
        source,
        pacing,
        overwrites_in_passes,
        limits: Limits { requests, bytes, runtime: job.runtime },
        think: None,
        rates: None,
        flow: None,
        waits_for: Vec::new(),
        start_delay: job.start_delay,
        ramp_time: job.ramp_time,
        fua: job.fua,
        is_trace: false,
        wave,
    }
}

/// Resolves the fields of job `index` for this drive, and checks the conditions that the schema cannot express; `None`
/// if one of them is violated.
fn plan(form: &Form<Description>, index: usize, user_bytes: u64, problems: &mut Problems) -> Option<BlockPlan> {
    let before = problems.0.len();
    let job = &form.value.job[index];
    let place = |field: &str| form.place(&format!("job[{index}].{field}"));
    let write_sizes = job.write_sizes.as_ref().unwrap_or(&job.sizes);
    check_sizes(&job.sizes, &place("sizes"), problems);
    check_sizes(write_sizes, &place("write_sizes"), problems);
    if job.read_share + job.trim_share > 1.0 {
        problems.add(place("trim_share"), format!("{} and read_share = {} exceed 1 together", job.trim_share, job.read_share));
    }
    if job.depth.is_some() && job.arrival.is_some() {
        problems.add(place("depth"), "given together with `arrival`: expected a closed loop (depth) or an open one (arrival)");
    }
    if job.requests.is_none() && job.bytes.is_none() && job.runtime.is_none() {
        problems.add(place("name"), format!("the job `{}` has no limit: expected requests, bytes or runtime", job.name));
    }
    let used = used_sizes(job, write_sizes);
    let (unit, largest) =
        (used.iter().min().copied().unwrap_or(SECTOR_BYTES), used.iter().max().copied().unwrap_or(SECTOR_BYTES));
    let region = job.region.map_or(user_bytes.saturating_sub(job.offset.0), |region| region.0);
    if !job.offset.0.is_multiple_of(MIN_BLOCK_BYTES) {
        problems.add(place("offset"), format!("{}: expected a multiple of {MIN_BLOCK_BYTES} bytes", job.offset));
    }
    if job.offset.0.checked_add(region).is_none_or(|end| end > user_bytes) || region < largest.max(1) {
        let what = format!("offset {} + region {}", job.offset, Bytes(region));
        problems.add(
            place("region"),
            format!("{what} must hold a request of {largest} bytes and end within the drive's {}", Bytes(user_bytes)),
        );
    }
    if problems.0.len() > before {
        return None;
    }
    let weights = |sizes: &[Size]| SizeMix::weighted(&sizes.iter().map(|s| (s.size.0, s.weight)).collect::<Vec<_>>());
    let stream = u16::try_from(index).ok()?;
    Some(BlockPlan {
        offset: job.offset.0,
        region_bytes: region / unit * unit,
        reach_bytes: region / unit * unit,
        at_end: AtEnd::Wraps,
        step: 0,
        unit,
        align: [unit; 3],
        writes_after_trims: false,
        ops: OpMix::shares(job.read_share, job.trim_share),
        sizes: [weights(&job.sizes), weights(write_sizes), weights(&job.sizes)],
        place: spread(&job.pattern, region / unit),
        stream,
        requests_max: job.requests,
        bytes_max: job.bytes.map(|bytes| bytes.0),
    })
}

/// Returns the sizes that occur: those of positive weight, for the operations of positive share.
fn used_sizes(job: &JobDescription, write_sizes: &[Size]) -> Vec<u64> {
    let writes = job.read_share + job.trim_share < 1.0;
    let others = job.read_share + job.trim_share > 0.0;
    let lists = job.sizes.iter().filter(|_| others).chain(write_sizes.iter().filter(|_| writes));
    lists.filter(|size| size.weight > 0.0).map(|size| size.size.0).collect()
}

fn check_sizes(sizes: &[Size], place: &str, problems: &mut Problems) {
    for size in sizes.iter().filter(|size| size.size.0 == 0 || !size.size.0.is_multiple_of(MIN_BLOCK_BYTES)) {
        problems.add(place, format!("{}: expected a multiple of {MIN_BLOCK_BYTES} bytes", size.size));
    }
    if sizes.iter().all(|size| size.weight <= 0.0) {
        problems.add(place, "all weights are zero: expected at least one above");
    }
}

fn spread(pattern: &Pattern, blocks: u64) -> Place {
    match *pattern {
        Pattern::Sequential => Place::Sequential,
        Pattern::Random => Place::Uniform,
        Pattern::RandomNoRepeat => Place::OncePerPass,
        Pattern::Zipf { theta } => Place::Zipf { theta },
        Pattern::HotCold { hot_fraction, hot_share } => {
            let hot = libm::round(hot_fraction * blocks as f64) as u64;
            let hot = hot.clamp(1, blocks.saturating_sub(1).max(1));
            let mut zones = vec![Zone { weight: hot_share, first: 0, blocks: hot }];
            if blocks > hot {
                zones.push(Zone { weight: 1.0 - hot_share, first: hot, blocks: blocks - hot });
            } else {
                zones[0].weight = 1.0;
            }
            Place::Zoned { zones: [zones.clone(), zones.clone(), zones] }
        }
    }
}
