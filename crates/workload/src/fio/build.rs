//! Builds sources from resolved jobs, and the text that records them.

use super::options::Distribution;
use super::resolve::{Region, Resolved};
use super::stages::{FlushRule, Flushes, PassRule, Passes};
use crate::generator::{AtEnd, BlockPlan, BlockSource, Stretches};
use crate::pacing::{Cap, Rates};
use crate::{Job, Limits, Pacing, Source, Workload};
use kit::{Bytes, Nanos, Rng};
use serde::Serialize;

/// Content of `workload.toml`.
#[derive(Serialize)]
struct Record {
    kind: &'static str,
    user_capacity: Bytes,
    job: Vec<JobRecord>,
}

/// All values of one job, with defaults applied.
#[derive(Serialize)]
struct JobRecord {
    name: String,
    stream: u16,
    wave: u32,
    rw: &'static str,
    read_share: f64,
    write_share: f64,
    trim_share: f64,
    random_distribution: String,
    random_map: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    random_every: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rw_sequencer: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    randrepeat: Option<bool>,
    iodepth: u32,
    ioengine: String,
    offset: Bytes,
    size: Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    io_size: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    number_ios: Option<u64>,
    time_based: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime_with_ramp: Option<Nanos>,
    ramp_time: Nanos,
    writefua: bool,
    thinktime: Nanos,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinktime_blocks: Option<u64>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    thinktime_blocks_issued: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinktime_iotime: Option<Nanos>,
    startdelay: Nanos,
    #[serde(skip_serializing_if = "Option::is_none")]
    rates: Option<RateRecord>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waits_for: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<FlowRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    blockalign: Option<[u64; 3]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loops: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    percentage_random: Option<[u64; 3]>,
    #[serde(skip_serializing_if = "is_zero")]
    fsync: u64,
    #[serde(skip_serializing_if = "is_zero")]
    fdatasync: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    end_fsync: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    zonesize: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zonerange: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zoneskip: Option<Bytes>,
    // Text, because a TOML integer has 63 bits.
    seed: String,
    seed_streams: String,
    block: Vec<BlockRecord>,
}

/// Rates of a job; a direction without one is absent.
#[derive(Serialize)]
struct RateRecord {
    process: &'static str,
    /// True if the job completes its requests in flight before it waits.
    drains: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    read: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    write: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trim: Option<f64>,
}

impl RateRecord {
    fn of(job: &Resolved) -> Option<RateRecord> {
        let value = |op: usize| {
            job.caps[op].map(|cap| match cap {
                Cap::Bytes(rate) => rate as f64,
                Cap::Poisson(mean_ns) => mean_ns,
            })
        };
        job.caps.iter().any(Option::is_some).then(|| RateRecord {
            process: if job.options.poisson { "poisson, mean gaps in ns" } else { "linear, bytes per second" },
            drains: !job.options.offload,
            read: value(0),
            write: value(1),
            trim: value(2),
        })
    }
}

/// Share of a job in a flow.
#[derive(Serialize)]
struct FlowRecord {
    id: u64,
    weight: u64,
    sleep: Nanos,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Block size of one operation.
#[derive(Serialize)]
struct BlockRecord {
    op: &'static str,
    size: Bytes,
    percent: f64,
}

/// Builds the jobs, one for each clone, and the record of their values.
pub fn build(resolved: &[Resolved], user_bytes: u64, seed: u64, notes: Vec<String>) -> Workload {
    let mut jobs: Vec<Job> = Vec::new();
    let mut record = Record { kind: "fio", user_capacity: Bytes(user_bytes), job: Vec::new() };
    // Numbers of the jobs of each section.
    let mut sections: Vec<std::ops::Range<u32>> = Vec::new();
    for job in resolved {
        let first = jobs.len() as u32;
        let waited = job.options.wait_for.as_ref();
        let waits_for = waited.and_then(|name| resolved[..sections.len()].iter().position(|other| other.name == *name));
        let waits_for: Vec<u32> = waits_for.map_or_else(Vec::new, |section| sections[section].clone().collect());
        for (clone, region) in job.regions.iter().enumerate() {
            let index = jobs.len();
            let stream = u16::try_from(index).expect("the number of jobs was checked");
            let (seed, streams) = match job.options.randseed {
                Some(own) => (own, format!("fio.clone.{clone}")),
                None => (seed, format!("fio.job.{index}")),
            };
            let name = if job.options.numjobs == 1 { job.name.clone() } else { format!("{}.{clone}", job.name) };
            let mut made = make(job, region, name, stream, (seed, &streams));
            made.waits_for.clone_from(&waits_for);
            record.job.push(describe(job, region, &made, stream, (seed, streams)));
            jobs.push(made);
        }
        sections.push(first..jobs.len() as u32);
    }
    let resolved = toml::to_string(&record).expect("a record of plain values is TOML");
    Workload { jobs, streams: Vec::new(), resolved, standalone: None, notes, period: None, is_endless: false }
}

/// Returns the largest power of two that divides every offset and length of a job.
fn grain(job: &Resolved, region: &Region) -> u64 {
    let active = (0..3).filter(|&op| job.shares[op] > 0.0);
    let sizes = active.flat_map(|op| &job.sizes[op]).filter(|(_, percent)| *percent > 0.0).map(|(bytes, _)| *bytes);
    let zones = region.strides.as_ref().map_or(0, |(strides, _)| strides.zone_bytes | strides.distance);
    let aligned = if job.options.rw.random { job.unit } else { 0 };
    // Backwards, a job begins anew at the region's end.
    let steps = job.options.step.unsigned_abs() | if job.options.step < 0 { region.bytes } else { 0 };
    let all = sizes.fold(region.offset | zones | aligned | steps, |all, bytes| all | bytes);
    1 << all.trailing_zeros().min(63)
}

fn make(job: &Resolved, region: &Region, name: String, stream: u16, (seed, streams): (u64, &str)) -> Job {
    let plan = BlockPlan {
        offset: region.offset,
        region_bytes: region.strides.map_or(region.bytes, |(_, range)| range),
        reach_bytes: region.room,
        at_end: if job.options.time_based { AtEnd::Wraps } else { AtEnd::Ends },
        step: job.options.step,
        unit: job.unit,
        align: if job.options.rw.random { job.align } else { [job.unit; 3] },
        writes_after_trims: job.options.rw.pairs,
        ops: job.ops(),
        sizes: job.size_mixes(),
        place: region.spread.clone(),
        stream,
        requests_max: None,
        bytes_max: None,
    };
    let (low, high) = job.options.delay_ns;
    let delay = if low == high {
        low
    } else {
        low + Rng::stream(seed, &format!("{streams}.delay")).below((high - low).saturating_add(1))
    };
    // With flushes and repetitions, only the source can count what the limits mean.
    let counts = job.options.loops == 1 && !flush_rule(job).inserts_any();
    let arrivals = ["read", "write", "trim"].map(|op| Rng::stream(seed, &format!("{streams}.arrival.{op}")));
    let rates = Rates::new(job.caps, job.is_mixed(), job.options.rw.pairs, !job.options.offload, arrivals);
    Job {
        name,
        grain: grain(job, region),
        source: source(job, region, plan, seed, streams),
        pacing: Pacing::Closed { depth: job.depth },
        overwrites_in_passes: overwrites_in_passes(job, region),
        limits: Limits {
            requests: job.requests_max.filter(|_| counts),
            bytes: region.bytes_max.filter(|_| counts),
            runtime: job.runtime_ns.map(Nanos),
        },
        think: job.think,
        rates,
        flow: job.flow,
        waits_for: Vec::new(),
        start_delay: Nanos(delay),
        ramp_time: Nanos(job.options.ramp_ns),
        fua: job.options.fua,
        is_trace: false,
        wave: job.wave,
    }
}

fn flush_rule(job: &Resolved) -> FlushRule {
    FlushRule { every: [job.options.fsync, job.options.fdatasync], at_end: job.options.end_fsync }
}

/// Returns the requests of a job: its blocks, repeated, with flushes.
fn source(job: &Resolved, region: &Region, plan: BlockPlan, seed: u64, streams: &str) -> Box<dyn Source> {
    let options = job.options.clone();
    let stretches = options.rw.random && (options.random_percent != [100; 3] || options.random_every > 1);
    let (strides, streams) = (region.strides, streams.to_owned());
    let make = move |pass: u64, turns_left: Option<u64>| {
        // As in fio with `randrepeat=1`, each pass has the same random numbers.
        let name = if pass == 0 || options.randrepeat { streams.clone() } else { format!("{streams}.pass.{pass}") };
        let mut blocks = BlockSource::new(plan.clone(), seed, &name);
        if stretches {
            let mix = Stretches::new(options.random_percent, Rng::stream(seed, &format!("{name}.random")));
            blocks = blocks.with_stretches(mix.with_every(options.every(turns_left)));
        }
        if let Some((strides, _)) = strides {
            blocks = blocks.with_strides(strides);
        }
        blocks
    };
    let loops = if job.options.time_based { 1 } else { job.options.loops };
    let passes = PassRule {
        loops,
        bytes_max: region.bytes_max.map(|bytes| bytes.saturating_mul(loops)),
        requests_max: job.requests_max.map(|requests| requests.saturating_mul(loops)),
        io_bytes: region.io_bytes,
        block_max: job.block_max,
        is_endless: job.options.time_based,
    };
    let passes = Passes::new(passes, Box::new(make));
    let rule = flush_rule(job);
    if rule.inserts_any() { Box::new(Flushes::new(passes, rule)) } else { Box::new(passes) }
}

/// Returns true if the job writes every block of its region once before it writes any block again.
fn overwrites_in_passes(job: &Resolved, region: &Region) -> bool {
    let is_uniform = (0..3).filter(|&op| job.shares[op] > 0.0).all(|op| job.align[op] == job.unit);
    job.has_random_map
        && is_uniform
        && job.shares[1] > 0.0
        && job.options.random_percent == [100; 3]
        && job.options.random_every == 1
        && region.strides.is_none()
}

fn describe(job: &Resolved, region: &Region, made: &Job, stream: u16, (seed, seed_streams): (u64, String)) -> JobRecord {
    let ops = ["read", "write", "trim"];
    let blocks = (0..3).filter(|&op| job.shares[op] > 0.0).flat_map(|op| {
        job.sizes[op].iter().map(move |(bytes, percent)| BlockRecord { op: ops[op], size: Bytes(*bytes), percent: *percent })
    });
    let random = job.options.rw.random;
    JobRecord {
        name: made.name.clone(),
        stream,
        wave: job.wave,
        rw: job.options.rw.name,
        read_share: job.shares[0],
        write_share: job.shares[1],
        trim_share: job.shares[2],
        random_distribution: if random { distribution(&job.options.distribution) } else { "none".to_owned() },
        random_map: job.has_random_map,
        random_every: Some(job.options.random_every).filter(|count| *count > 1),
        rw_sequencer: (job.options.random_every > 1).then_some(if job.options.repeats { "identical" } else { "sequential" }),
        step: Some(job.options.step).filter(|step| *step != 0),
        randrepeat: (!job.options.randrepeat).then_some(false),
        iodepth: job.depth,
        ioengine: job.options.engine.unwrap_or("asynchronous").to_owned(),
        offset: Bytes(region.offset),
        size: Bytes(region.bytes),
        io_size: region.bytes_max.map(Bytes),
        number_ios: job.requests_max,
        time_based: job.options.time_based,
        runtime_with_ramp: job.runtime_ns.map(Nanos),
        ramp_time: made.ramp_time,
        writefua: made.fua,
        thinktime: job.think.map_or(Nanos::ZERO, |think| think.time),
        thinktime_blocks: job.think.and_then(|think| think.blocks),
        thinktime_blocks_issued: job.think.is_some_and(|think| think.counts_issued),
        thinktime_iotime: job.think.and_then(|think| think.every),
        startdelay: made.start_delay,
        rates: RateRecord::of(job),
        waits_for: made.waits_for.clone(),
        flow: job.flow.map(|flow| FlowRecord { id: flow.id, weight: flow.weight, sleep: flow.sleep }),
        blockalign: job.options.align.filter(|_| random).map(|_| job.align),
        loops: Some(job.options.loops).filter(|count| *count > 1 && !job.options.time_based),
        percentage_random: Some(job.options.random_percent).filter(|percent| random && *percent != [100; 3]),
        fsync: job.options.fsync,
        fdatasync: job.options.fdatasync,
        end_fsync: job.options.end_fsync,
        zonesize: region.strides.map(|(strides, _)| Bytes(strides.zone_bytes)),
        zonerange: region.strides.map(|(_, range)| Bytes(range)),
        zoneskip: region.strides.map(|(strides, range)| Bytes(strides.distance - range)),
        seed: seed.to_string(),
        seed_streams,
        block: blocks.collect(),
    }
}

fn distribution(distribution: &Distribution) -> String {
    match distribution {
        Distribution::Random => "random".to_owned(),
        Distribution::Zipf(theta) => format!("zipf:{theta}"),
        Distribution::Pareto(h) => format!("pareto:{h}"),
        Distribution::Normal(percent) => format!("normal:{percent}"),
        Distribution::Zoned(lists) => {
            let one = |list: &Vec<(f64, u64)>| list.iter().map(|(a, s)| format!("{a}/{s}")).collect::<Vec<_>>().join(":");
            format!("zoned:{}", lists.iter().map(one).collect::<Vec<_>>().join(","))
        }
    }
}
