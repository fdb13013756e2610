//! Profiles of diskspd (`diskspd -X`), with the meaning that its documentation and its `diskspd.xsd` give the elements.
//!
//! - Each thread of a target is a job: a closed loop of `RequestCount` requests. Time spans follow one another.
//! - A target is a region of the drive; targets with one path are one region. The regions follow one another in the
//!   order of the document.
//! - A sequential job has one position for reads and writes. The threads of a target with `InterlockedSequential` share
//!   it, so that they are one job.
//! - Random requests are independent, as in diskspd.

use super::reader::{Fields, Reader, reference as tables, text};
use super::region::{Course, Region};
use crate::fio::keys::{Key, honoured, ignored, off, refused};
use crate::pacing::{Cap, Rates, Think};
use crate::{Job, Limits, Pacing, Workload};
use kit::{Bytes, MIN_BLOCK_BYTES, Nanos, Problems, Rng};
use roxmltree::Node;
use serde::Serialize;

const HOST: &str = "it concerns the host, which has no file system here";
const REPORT: &str = "it concerns diskspd's report";
const CACHE: &str = "no cache of the host is simulated: every request reaches the drive";

/// Elements of `<Profile>`.
const PROFILE: &[Key] = &[
    honoured("TimeSpans", "The time spans, which follow one another."),
    ignored("Progress", REPORT),
    ignored("ResultFormat", REPORT),
    ignored("Verbose", REPORT),
    ignored("ETW", REPORT),
    ignored("PrecreateFiles", "the drive is the file"),
];
/// Elements of `<TimeSpan>`.
const SPAN: &[Key] = &[
    honoured("Targets", "The targets, which are accessed at the same time."),
    honoured("Duration", "Measured time \\[s\\]; 10 by default."),
    honoured("Warmup", "Time before it whose commands are left out of the statistics \\[s\\]; 5 by default."),
    honoured("RandSeed", "Seed of the random numbers; takes precedence over `--seed`, unless it is 0, the default."),
    honoured("ThreadCount", "Number of threads, each of which accesses all targets; 0: each target has its `ThreadsPerFile`."),
    off("Cooldown", &["0"], "no commands after the measured time are left out"),
    off("RequestCount", &["0"], "a thread has its requests in flight on each target (`RequestCount` of the target)"),
    ignored("CompletionRoutines", HOST),
    ignored("GroupAffinity", HOST),
    ignored("Affinity", HOST),
    ignored("DisableAffinity", HOST),
    ignored("MeasureLatency", REPORT),
    ignored("CalculateIopsStdDev", REPORT),
    ignored("IoBucketDuration", REPORT),
];
/// Elements of `<Target>`.
const TARGET: &[Key] = &[
    honoured("Path", "Name of the target; targets of one path are one region of the drive."),
    honoured("FileSize", "Size of the target \\[B\\]. One target may do without it: it has the rest of the drive."),
    honoured("MaxFileSize", "Bytes of the target that are accessed, from its start; 0, the default: all."),
    honoured("BaseFileOffset", "First byte that is accessed."),
    honoured("BlockSize", "Length of a request \\[B\\]; 65536 by default."),
    honoured(
        "StrideSize",
        "Distance of the starts of two requests of a thread \\[B\\]; the block by default. Random requests have none.",
    ),
    honoured("ThreadStride", "Distance of the starts of the first requests of two threads \\[B\\]; 0 by default."),
    honoured("InterlockedSequential", "The threads of the target share their position: they are one job."),
    honoured("Random", "Random requests that begin at multiples of this \\[B\\]; 0, the default: sequential ones."),
    honoured("RandomRatio", "Percentage of random requests; each other one follows the one of its operation before it."),
    honoured("RequestCount", "Requests of a thread in flight; 2 by default."),
    honoured("ThreadsPerFile", "Number of threads; 1 by default."),
    honoured("WriteRatio", "Percentage of writes; 0 by default."),
    honoured("WriteThrough", "Writes are durable when they complete (FUA)."),
    honoured("DisableAllCache", "The same as `WriteThrough`; the cache of the host that it turns off, too, is not simulated."),
    honoured("Throughput", "Limit of a thread \\[bytes/ms, or requests/s with `unit=\"IOPS\"`\\]; 0, the default: none."),
    honoured("BurstSize", "Requests that a thread submits before it pauses; with `ThinkTime`."),
    honoured(
        "ThinkTime",
        "Pause once all requests of a burst are complete \\[ms\\]; with `BurstSize`. diskspd counts it from the last request of the burst.",
    ),
    off("ParallelAsyncIO", &["false", "0"], "the requests of a thread in flight have places of their own"),
    off("MemoryMappedIo", &["false", "0"], "files are not mapped into memory"),
    refused("ThreadTargets", "threads do not differ in their targets: write a time span with other targets"),
    refused("Distribution", "random requests are uniform: a fio job has `random_distribution=zoned:...`"),
    ignored("Weight", "it acts only together with an element that is refused"),
    ignored("SequentialScan", HOST),
    ignored("RandomAccess", HOST),
    ignored("TemporaryFile", HOST),
    ignored("UseLargePages", HOST),
    ignored("IOPriority", "commands have no priorities"),
    ignored("DisableOSCache", CACHE),
    ignored("DisableLocalCache", CACHE),
    ignored("WriteBufferContent", "commands carry no data here"),
];

/// Returns the tables of all elements, in Markdown.
pub fn reference() -> String {
    tables(&[("Profile", PROFILE), ("TimeSpan", SPAN), ("Target", TARGET)])
}

/// Target of a time span.
struct Target<'a> {
    node: Node<'a, 'a>,
    path: String,
    file_bytes: Option<u64>,
    used_bytes: u64,
    base: u64,
    block: u64,
    stride: u64,
    thread_stride: u64,
    is_interlocked: bool,
    random: u64,
    random_percent: u64,
    depth: u64,
    threads: u64,
    write_percent: u64,
    fua: bool,
    bytes_per_second: u64,
    think: Option<Think>,
}

/// Time span.
struct Span<'a> {
    runtime: Nanos,
    ramp: Nanos,
    seed: u64,
    targets: Vec<Target<'a>>,
}

/// Jobs, and the record of their values.
struct Made {
    jobs: Vec<Job>,
    record: Record,
}

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
    offset: Bytes,
    size: Bytes,
    block: Bytes,
    course: String,
    write_percent: u64,
    depth: u32,
    fua: bool,
    bytes_per_second: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    think_time: Option<Nanos>,
    ramp_time: Nanos,
    runtime_with_ramp: Nanos,
    // Text, because a TOML integer has 63 bits.
    seed: String,
    seed_streams: String,
}

/// Reads a profile and builds its jobs.
pub(super) fn open<'a>(reader: &mut Reader<'a>, root: Node<'a, 'a>, user_bytes: u64, seed: u64) -> Result<Workload, Problems> {
    let profile = reader.fields(root, PROFILE);
    let mut spans = Vec::new();
    match profile.get("TimeSpans") {
        None => reader.lack(&profile, "TimeSpans"),
        Some(list) => {
            for node in members(reader, list, "TimeSpan") {
                spans.push(span(reader, node, seed));
            }
        }
    }
    let notes = reader.notes();
    std::mem::take(&mut reader.problems).or(())?;
    let starts = layout(reader, &spans, user_bytes);
    let record = Record { kind: "diskspd", user_capacity: Bytes(user_bytes), job: Vec::new() };
    let mut made = Made { jobs: Vec::new(), record };
    for (span, wave) in spans.iter().zip(0..) {
        for target in &span.targets {
            let Some((_, start, bytes)) = starts.iter().find(|(path, _, _)| *path == target.path) else { continue };
            threads(reader, span, target, (*start, *bytes), wave, &mut made);
        }
    }
    std::mem::take(&mut reader.problems).or(())?;
    let resolved = toml::to_string(&made.record).expect("a record of plain values is TOML");
    Ok(Workload { jobs: made.jobs, streams: Vec::new(), resolved, notes, period: None, is_endless: false, standalone: None })
}

/// Returns the elements of a list, which has no others.
fn members<'a>(reader: &mut Reader<'a>, list: Node<'a, 'a>, name: &str) -> Vec<Node<'a, 'a>> {
    let (good, others): (Vec<_>, Vec<_>) =
        list.children().filter(Node::is_element).partition(|node| node.tag_name().name() == name);
    for other in others {
        reader.complain(other, format!("expected <{name}> only"));
    }
    if good.is_empty() {
        reader.complain(list, format!("empty: expected at least one <{name}>"));
    }
    good
}

fn span<'a>(reader: &mut Reader<'a>, node: Node<'a, 'a>, seed: u64) -> Span<'a> {
    const LONGEST: u64 = 1_000_000_000;
    let fields = reader.fields(node, SPAN);
    let duration = reader.number(&fields, "Duration", 10, (1, LONGEST));
    let ramp = reader.number(&fields, "Warmup", 5, (0, LONGEST));
    let own = reader.number(&fields, "RandSeed", 0, (0, u64::from(u32::MAX)));
    let threads = reader.number(&fields, "ThreadCount", 0, (0, 10_000));
    let mut targets = Vec::new();
    match fields.get("Targets") {
        None => reader.lack(&fields, "Targets"),
        Some(list) => {
            for node in members(reader, list, "Target") {
                targets.extend(target(reader, node, threads));
            }
        }
    }
    let seconds = |count: u64| Nanos(count * 1_000_000_000);
    Span { runtime: seconds(ramp + duration), ramp: seconds(ramp), seed: if own == 0 { seed } else { own }, targets }
}

/// Reads a target; `None` if it has a problem.
fn target<'a>(reader: &mut Reader<'a>, node: Node<'a, 'a>, threads: u64) -> Option<Target<'a>> {
    let before = reader.problems.0.len();
    let fields = reader.fields(node, TARGET);
    let any = (0, 1 << 60);
    let path: String = fields.get("Path").map_or("", text).chars().filter(|letter| !letter.is_control()).collect();
    if path.is_empty() {
        reader.lack(&fields, "Path");
    }
    let block = bytes(reader, &fields, "BlockSize", 65536, MIN_BLOCK_BYTES, 1 << 32);
    let stride = bytes(reader, &fields, "StrideSize", block, MIN_BLOCK_BYTES, 1 << 60);
    let own_threads = reader.number(&fields, "ThreadsPerFile", 1, (1, 10_000));
    let bytes_per_second = throughput(reader, &fields, block);
    let burst = reader.number(&fields, "BurstSize", 0, (0, 1 << 32));
    let think_ms = reader.number(&fields, "ThinkTime", 0, (0, 1_000_000_000));
    if (burst > 0) != (think_ms > 0) {
        reader.complain(node, "expected <BurstSize> and <ThinkTime> together, both above 0");
    }
    let pause = Think { time: Nanos(think_ms * 1_000_000), blocks: Some(burst), counts_issued: true, every: None };
    let max = reader.number(&fields, "MaxFileSize", 0, any);
    let file = Some(reader.number(&fields, "FileSize", 0, any)).filter(|size| *size > 0);
    let file_bytes = file.or(Some(max).filter(|size| *size > 0));
    let target = Target {
        node,
        path,
        file_bytes,
        used_bytes: if max == 0 { u64::MAX } else { max },
        base: bytes(reader, &fields, "BaseFileOffset", 0, 0, 1 << 60),
        block,
        stride,
        thread_stride: bytes(reader, &fields, "ThreadStride", 0, 0, 1 << 60),
        is_interlocked: reader.flag(&fields, "InterlockedSequential"),
        random: bytes(reader, &fields, "Random", 0, 0, 1 << 60),
        random_percent: reader.number(&fields, "RandomRatio", 100, (0, 100)),
        depth: reader.number(&fields, "RequestCount", 2, (1, 1 << 20)),
        threads: if threads > 0 { threads } else { own_threads },
        write_percent: reader.number(&fields, "WriteRatio", 0, (0, 100)),
        fua: reader.flag(&fields, "WriteThrough") | reader.flag(&fields, "DisableAllCache"),
        bytes_per_second,
        think: Some(pause).filter(|_| burst > 0),
    };
    (reader.problems.0.len() == before).then_some(target)
}

/// Returns a size that is a multiple of the smallest logical block.
fn bytes(reader: &mut Reader<'_>, fields: &Fields<'_>, name: &str, default: u64, least: u64, most: u64) -> u64 {
    let found = reader.number(fields, name, default, (least, most));
    if let Some(node) = fields.get(name).filter(|_| !found.is_multiple_of(MIN_BLOCK_BYTES)) {
        reader.complain(node, format!("{found} bytes: expected a multiple of {MIN_BLOCK_BYTES}"));
    }
    found
}

/// Returns the limit of a thread \[bytes/s\]; 0: none.
fn throughput(reader: &mut Reader<'_>, fields: &Fields<'_>, block: u64) -> u64 {
    let limit = reader.number(fields, "Throughput", 0, (0, 1_000_000_000_000));
    match fields.get("Throughput").and_then(|node| Some((node, node.attribute("unit")?))) {
        Some((_, unit)) if unit.eq_ignore_ascii_case("IOPS") => limit.saturating_mul(block),
        Some((node, unit)) if !unit.eq_ignore_ascii_case("BPMS") => {
            reader.complain(node, format!("unit=`{}`: expected IOPS, or no unit", unit.escape_debug()));
            0
        }
        _ => limit * 1000,
    }
}

/// Returns the rates of a job with `share` threads: the limit is divided between reads and writes like the requests.
fn rates(target: &Target<'_>, share: u64, seed: u64, streams: &str) -> Option<Rates> {
    let total = target.bytes_per_second.saturating_mul(share);
    let part = |percent: u64| {
        let bytes = u64::try_from(u128::from(total) * u128::from(percent) / 100).unwrap_or(u64::MAX);
        Some(Cap::Bytes(bytes)).filter(|_| bytes > 0)
    };
    let caps = [part(100 - target.write_percent), part(target.write_percent), None];
    let rngs = ["read", "write", "trim"].map(|op| Rng::stream(seed, &format!("{streams}.arrival.{op}")));
    Rates::new(caps, false, false, false, rngs)
}

/// Returns the region of each path: its first byte and its size.
fn layout(reader: &mut Reader<'_>, spans: &[Span<'_>], user_bytes: u64) -> Vec<(String, u64, u64)> {
    let mut sizes: Vec<(&Target<'_>, Option<u64>)> = Vec::new();
    for target in spans.iter().flat_map(|span| &span.targets) {
        match sizes.iter_mut().find(|(other, _)| other.path == target.path) {
            Some((_, size)) => *size = (*size).max(target.file_bytes),
            None => sizes.push((target, target.file_bytes)),
        }
    }
    let open: Vec<_> = sizes.iter().filter(|(_, size)| size.is_none()).collect();
    if let Some((second, _)) = open.get(1) {
        reader.complain(second.node, "no <FileSize>: expected it for all targets but one, which has the rest of the drive");
        return Vec::new();
    }
    let whole = |size: u64| size.div_ceil(4096).saturating_mul(4096);
    let known: u64 = sizes.iter().filter_map(|(_, size)| size.map(whole)).fold(0, u64::saturating_add);
    let Some(rest) = user_bytes.checked_sub(known).filter(|rest| open.is_empty() || *rest > 0) else {
        let last = sizes.last().map_or(reader.document_root(), |(target, _)| target.node);
        reader.complain(last, format!("the targets have {known} bytes together, and the drive {user_bytes}: lower <FileSize>"));
        return Vec::new();
    };
    let mut next = 0;
    let regions = sizes.into_iter().map(|(target, size)| {
        let (start, bytes) = (next, size.unwrap_or(rest));
        next += size.map_or(rest, whole);
        (target.path.clone(), start, bytes)
    });
    regions.collect()
}

/// Adds the jobs of a target: one for each thread.
fn threads(
    reader: &mut Reader<'_>,
    span: &Span<'_>,
    target: &Target<'_>,
    (start, bytes): (u64, u64),
    wave: u32,
    made: &mut Made,
) {
    let end = bytes.min(target.used_bytes);
    let is_one = target.random == 0 && target.is_interlocked;
    let (jobs, share) = if is_one { (1, target.threads) } else { (target.threads, 1) };
    let depth = u32::try_from(target.depth * share).unwrap_or(u32::MAX);
    for thread in 0..jobs {
        let base =
            if target.random > 0 { target.base } else { target.base.saturating_add(thread.saturating_mul(target.thread_stride)) };
        let course = match target.random {
            0 => Course::Sequential { distance: target.stride },
            grain => Course::Random { grain, percent: target.random_percent, hot: None },
        };
        if end.saturating_sub(base) < target.block {
            let what = format!(
                "the target has {end} bytes, and thread {thread} begins at {base}: expected room for a block of {}",
                target.block
            );
            return reader.complain(target.node, what);
        }
        let Ok(stream) = u16::try_from(made.jobs.len()) else {
            return reader.complain(target.node, format!("expected at most {} threads", u16::MAX));
        };
        let region = Region {
            offset: start + base,
            bytes: end - base,
            block: target.block,
            read_share: (100 - target.write_percent) as f64 / 100.0,
            course,
            requests_max: None,
        };
        let name = if jobs == 1 { target.path.clone() } else { format!("{}.{thread}", target.path) };
        let streams = format!("diskspd.{stream}");
        let job = Job {
            name,
            grain: region.grain(),
            source: Box::new(region.source(stream, span.seed, &streams)),
            pacing: Pacing::Closed { depth },
            overwrites_in_passes: false,
            limits: Limits { requests: None, bytes: None, runtime: Some(span.runtime) },
            think: target.think,
            rates: rates(target, share, span.seed, &streams),
            flow: None,
            waits_for: Vec::new(),
            start_delay: Nanos::ZERO,
            ramp_time: span.ramp,
            fua: target.fua,
            is_trace: false,
            wave,
        };
        made.record.job.push(describe(&job, &region, target, (depth, stream), (span.seed, streams)));
        made.jobs.push(job);
    }
}

fn describe(
    job: &Job,
    region: &Region,
    target: &Target<'_>,
    (depth, stream): (u32, u16),
    (seed, seed_streams): (u64, String),
) -> JobRecord {
    JobRecord {
        name: job.name.clone(),
        stream,
        wave: job.wave,
        offset: Bytes(region.offset),
        size: Bytes(region.bytes),
        block: Bytes(region.block),
        course: match region.course {
            Course::Sequential { distance } => format!("sequential, {distance} B apart"),
            Course::Random { grain, percent, .. } => format!("{percent} % random, multiples of {grain} B"),
        },
        write_percent: target.write_percent,
        depth,
        fua: job.fua,
        bytes_per_second: target.bytes_per_second,
        burst: target.think.and_then(|think| think.blocks),
        think_time: target.think.map(|think| think.time),
        ramp_time: job.ramp_time,
        runtime_with_ramp: job.limits.runtime.unwrap_or_default(),
        seed: seed.to_string(),
        seed_streams,
    }
}
