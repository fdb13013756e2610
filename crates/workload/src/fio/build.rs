//! Builds sources from resolved jobs, and the text that records them.

use super::options::Distribution;
use super::resolve::Resolved;
use super::stages::{FlushRule, Flushes, Loops};
use crate::generator::{BlockPlan, BlockSource, Stretches};
use crate::synthetic::arrival::poisson;
use crate::synthetic::timed::Timed;
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
    startdelay: Nanos,
    bytes_per_second: u64,
    submission_gap: Nanos,
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
    poisson_mean_gap_ns: Option<f64>,
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
    let mut jobs = Vec::new();
    let mut record = Record { kind: "fio", user_capacity: Bytes(user_bytes), job: Vec::new() };
    for job in resolved {
        for clone in 0..job.options.numjobs {
            let index = jobs.len();
            let stream = u16::try_from(index).expect("the number of jobs was checked");
            let (seed, streams) = match job.options.randseed {
                Some(own) => (own, format!("fio.clone.{clone}")),
                None => (seed, format!("fio.job.{index}")),
            };
            let name = if job.options.numjobs == 1 { job.name.clone() } else { format!("{}.{clone}", job.name) };
            let made = make(job, name, stream, seed, &streams);
            record.job.push(describe(job, &made, stream, seed, streams));
            jobs.push(made);
        }
    }
    let resolved = toml::to_string(&record).expect("a record of plain values is TOML");
    Workload { jobs, streams: Vec::new(), resolved, notes, period: None, is_endless: false }
}

/// Returns the largest power of two that divides every offset and length of a job.
fn grain(job: &Resolved) -> u64 {
    let sizes = (0..3).filter(|&op| job.shares[op] > 0.0).flat_map(|op| &job.sizes[op]).filter(|(_, percent)| *percent > 0.0);
    let zones = job.strides.as_ref().map_or(0, |(strides, _)| strides.zone_bytes | strides.distance);
    let all = sizes.fold(job.offset | zones, |all, (bytes, _)| all | bytes);
    1 << all.trailing_zeros().min(63)
}

fn make(job: &Resolved, name: String, stream: u16, seed: u64, streams: &str) -> Job {
    let plan = BlockPlan {
        offset: job.offset,
        region_bytes: job.strides.map_or(job.region_bytes, |(_, range)| range),
        unit: job.unit,
        ops: job.ops(),
        sizes: job.size_mixes(),
        place: job.spread.clone(),
        stream,
        requests_max: job.requests_max,
        bytes_max: job.bytes_max,
    };
    let (low, high) = job.options.delay_ns;
    let delay = if low == high {
        low
    } else {
        low + Rng::stream(seed, &format!("{streams}.delay")).below((high - low).saturating_add(1))
    };
    // With flushes and repetitions, only the source can count what the limits mean.
    let counts = job.options.loops == 1 && !flush_rule(job).inserts_any();
    Job {
        name,
        grain: grain(job),
        source: source(job, plan, seed, streams),
        pacing: match job.mean_gap_ns {
            Some(_) => Pacing::Timed { depth: job.depth },
            None => Pacing::Closed { depth: job.depth },
        },
        overwrites_in_passes: overwrites_in_passes(job),
        limits: Limits {
            requests: job.requests_max.filter(|_| counts),
            bytes: job.bytes_max.filter(|_| counts),
            runtime: job.runtime_ns.map(Nanos),
        },
        think_time: Nanos(job.options.think_ns),
        submission_gap: Nanos(job.gap_ns),
        burst: 1,
        bytes_per_second: job.bytes_per_second,
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

/// Returns the requests of a job: its blocks, repeated, at their arrivals, with flushes.
fn source(job: &Resolved, plan: BlockPlan, seed: u64, streams: &str) -> Box<dyn Source> {
    let stretches = job.options.rw.random && job.options.random_percent != [100; 3];
    let (percent, strides, name) = (job.options.random_percent, job.strides, streams.to_owned());
    let make = move || {
        let mut blocks = BlockSource::new(plan.clone(), seed, &name);
        if stretches {
            blocks = blocks.with_stretches(Stretches::new(percent, Rng::stream(seed, &format!("{name}.random"))));
        }
        if let Some((strides, _)) = strides {
            blocks = blocks.with_strides(strides);
        }
        blocks
    };
    let arrivals = |gap_ns: f64| poisson::with_mean_ns(gap_ns, Rng::stream(seed, &format!("{streams}.arrival")));
    let looped = job.options.loops > 1 && !job.options.time_based;
    let source: Box<dyn Source> = match (looped, job.mean_gap_ns) {
        (false, None) => Box::new(make()),
        (false, Some(gap_ns)) => Box::new(Timed::new(make(), arrivals(gap_ns))),
        (true, None) => Box::new(Loops::new(make, job.options.loops)),
        (true, Some(gap_ns)) => Box::new(Timed::new(Loops::new(make, job.options.loops), arrivals(gap_ns))),
    };
    let rule = flush_rule(job);
    if rule.inserts_any() { Box::new(Flushes::new(source, rule)) } else { source }
}

/// Returns true if the job writes every block of its region once before it writes any block again.
fn overwrites_in_passes(job: &Resolved) -> bool {
    let whole_loops = job.requests_max.is_none() && job.bytes_max.is_none_or(|bytes| bytes.is_multiple_of(job.region_bytes));
    has_random_map(job)
        && job.shares[1] > 0.0
        && job.options.random_percent == [100; 3]
        && job.strides.is_none()
        && (job.options.loops == 1 || whole_loops)
}

/// Returns true if the job accesses random blocks, each once per pass.
fn has_random_map(job: &Resolved) -> bool {
    job.options.rw.random && job.options.distribution == Distribution::Random && !job.options.norandommap
}

fn describe(job: &Resolved, made: &Job, stream: u16, seed: u64, seed_streams: String) -> JobRecord {
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
        random_map: has_random_map(job),
        iodepth: job.depth,
        ioengine: job.options.engine.unwrap_or("asynchronous").to_owned(),
        offset: Bytes(job.offset),
        size: Bytes(job.region_bytes),
        io_size: job.bytes_max.map(Bytes),
        number_ios: job.requests_max,
        time_based: job.options.time_based,
        runtime_with_ramp: job.runtime_ns.map(Nanos),
        ramp_time: made.ramp_time,
        writefua: made.fua,
        thinktime: made.think_time,
        startdelay: made.start_delay,
        bytes_per_second: made.bytes_per_second,
        submission_gap: made.submission_gap,
        loops: Some(job.options.loops).filter(|count| *count > 1 && !job.options.time_based),
        percentage_random: Some(job.options.random_percent).filter(|percent| random && *percent != [100; 3]),
        fsync: job.options.fsync,
        fdatasync: job.options.fdatasync,
        end_fsync: job.options.end_fsync,
        poisson_mean_gap_ns: job.mean_gap_ns,
        zonesize: job.strides.map(|(strides, _)| Bytes(strides.zone_bytes)),
        zonerange: job.strides.map(|(_, range)| Bytes(range)),
        zoneskip: job.strides.map(|(strides, range)| Bytes(strides.distance - range)),
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
