//! Resolves the keys of a section into a job that fits the drive.

use super::options::{Distribution, Options, cut};
use super::value::Amount;
use crate::generator::{OpMix, Place as Spread, SizeMix, Strides};
use kit::{Op, Problems};

/// Position of a section, for messages.
pub struct Place<'a> {
    /// Name of the job file.
    pub file: &'a str,
    /// Name of the section.
    pub section: &'a str,
    /// Line number of its header.
    pub line: usize,
}

impl Place<'_> {
    fn of(&self, options: &Options, key: &str) -> String {
        format!("{}:{}: [{}]", self.file, options.line_of(key, self.line), self.section)
    }
}

/// Job with all values resolved; its clones (`numjobs`) share it.
pub struct Resolved {
    /// Name of the section.
    pub name: String,
    /// Values of the section's keys.
    pub options: Options,
    /// Maximum number of requests in flight.
    pub depth: u32,
    /// First byte of the region.
    pub offset: u64,
    /// Size of the region \[bytes\], a multiple of the smallest block.
    pub region_bytes: u64,
    /// Bytes to transfer; `None` with `time_based`.
    pub bytes_max: Option<u64>,
    /// Requests to submit; `None` with `time_based`, or without `number_ios`.
    pub requests_max: Option<u64>,
    /// Limit of simulated time \[ns\], including the ramp.
    pub runtime_ns: Option<u64>,
    /// Smallest block in use \[bytes\].
    pub unit: u64,
    /// Request lengths by operation: (bytes, percent).
    pub sizes: [Vec<(u64, f64)>; 3],
    /// Shares of reads, writes and trims.
    pub shares: [f64; 3],
    /// Distribution of the addresses.
    pub spread: Spread,
    /// Bandwidth cap of the whole job \[bytes/s\]; zero: none.
    pub bytes_per_second: u64,
    /// Minimum gap between submissions of the whole job \[ns\]; zero: none.
    pub gap_ns: u64,
    /// Mean time between two arrivals \[ns\], if they are a Poisson process.
    pub mean_gap_ns: Option<f64>,
    /// Zones, and the size of each \[bytes\].
    pub strides: Option<(Strides, u64)>,
    /// Number of the job's wave.
    pub wave: u32,
    /// Messages for the user.
    pub notes: Vec<String>,
}

impl Resolved {
    /// Returns the operation mix.
    pub fn ops(&self) -> OpMix {
        match self.options.rw.op {
            Some(op) => OpMix::only(op),
            None => OpMix::shares(self.shares[0], 0.0),
        }
    }

    /// Returns the mixes of request lengths by operation.
    pub fn size_mixes(&self) -> [SizeMix; 3] {
        self.sizes.each_ref().map(|parts| SizeMix::weighted(parts))
    }
}

/// Resolves one section. Adds its problems to `problems`, and returns `None` if there are any.
pub fn resolve(place: &Place<'_>, options: &Options, user_bytes: u64, wave: u32, problems: &mut Problems) -> Option<Resolved> {
    let before = problems.0.len();
    let mut notes = Vec::new();
    let shares = shares(options);
    let sizes = sizes(options);
    let active = || (0..3).filter(|&op| shares[op] > 0.0);
    let unit = active().flat_map(|op| sizes[op].iter().map(|(bytes, _)| *bytes)).min().unwrap_or(512);
    let largest = active().flat_map(|op| sizes[op].iter().map(|(bytes, _)| *bytes)).max().unwrap_or(512);
    let (offset, region_bytes) = region(place, options, unit, user_bytes, problems, &mut notes)?;
    if region_bytes < largest {
        problems.add(
            place.of(options, "size"),
            format!("the region of {region_bytes} bytes at offset {offset} does not hold one block of {largest} bytes"),
        );
        return None;
    }
    if options.time_based && options.runtime_ns.is_none() {
        problems.add(place.of(options, "time_based"), "time_based without runtime would never end: expected a runtime above 0");
    }
    let strides = strides(place, options, (unit, largest), region_bytes, problems);
    let spread = spread(place, options, strides.map_or(region_bytes, |(_, range)| range) / unit, problems);
    let mut caps = caps(place, options, &sizes, &shares, problems, &mut notes);
    let mean_gap_ns = if options.poisson { mean_gap_ns(options, &sizes, &shares) } else { None };
    if mean_gap_ns.is_some() {
        caps = (0, 0);
    }
    note_without_effect(place, options, mean_gap_ns, &mut notes);
    let depth = if options.synchronous() { 1 } else { options.iodepth };
    if depth < options.iodepth {
        notes.push(format!("{}: {} forces iodepth 1", place.of(options, "ioengine"), options.engine.unwrap_or("sync")));
    }
    let bytes_max = match options.io_size {
        None => region_bytes,
        Some(Amount::Bytes(bytes)) => bytes,
        Some(Amount::Percent(percent)) => {
            u64::try_from(u128::from(region_bytes) * u128::from(percent) / 100).unwrap_or(u64::MAX).max(1)
        }
    };
    let ends = !options.time_based;
    (problems.0.len() == before).then(|| Resolved {
        name: place.section.to_owned(),
        options: options.clone(),
        depth,
        offset,
        region_bytes,
        bytes_max: ends.then_some(bytes_max),
        requests_max: options.number_ios.filter(|_| ends),
        runtime_ns: options.runtime_ns.map(|ns| ns.saturating_add(options.ramp_ns)),
        unit,
        sizes,
        shares,
        spread,
        bytes_per_second: caps.0,
        gap_ns: caps.1,
        mean_gap_ns,
        strides,
        wave,
        notes,
    })
}

/// Returns the zones of `zonemode=strided` and the size of each; `blocks` are the smallest and the largest block.
fn strides(
    place: &Place<'_>,
    options: &Options,
    blocks: (u64, u64),
    region_bytes: u64,
    problems: &mut Problems,
) -> Option<(Strides, u64)> {
    if !options.strided {
        return None;
    }
    let Some(zone_bytes) = options.zone_bytes.filter(|bytes| *bytes > 0) else {
        problems.add(place.of(options, "zonemode"), "zonemode=strided needs a zonesize above 0");
        return None;
    };
    let range = options.zone_range.unwrap_or(zone_bytes);
    if range < blocks.1 || !range.is_multiple_of(blocks.0) || range > region_bytes {
        let key = if options.zone_range.is_some() { "zonerange" } else { "zonesize" };
        problems.add(
            place.of(options, key),
            format!(
                "a zone of {range} bytes: expected a multiple of the smallest block of {}, from one block of {} up to the region of {region_bytes}",
                blocks.0, blocks.1
            ),
        );
        return None;
    }
    if options.rw.random && options.distribution != Distribution::Random {
        problems.add(
            place.of(options, "random_distribution"),
            "zonemode=strided draws uniformly within its zones: expected random_distribution=random",
        );
    }
    Some((Strides { zone_bytes, distance: range.saturating_add(options.zone_skip), region_bytes }, range))
}

/// Returns the mean time between two arrivals of a Poisson process \[ns\] under which no direction exceeds its rate on
/// average; a rate in bytes counts blocks of the direction's smallest size, as fio does. `None` without a rate.
fn mean_gap_ns(options: &Options, sizes: &[Vec<(u64, f64)>; 3], shares: &[f64; 3]) -> Option<f64> {
    let smallest = |op: usize| sizes[op].iter().map(|(bytes, _)| *bytes).min().unwrap_or(kit::SECTOR_BYTES) as f64;
    let iops = |op: usize| match (options.rate_iops[op], options.rate[op]) {
        (0, 0) => None,
        (0, rate) => Some(rate as f64 / smallest(op)),
        (iops, _) => Some(iops as f64),
    };
    let caps = (0..3).filter(|&op| shares[op] > 0.0).filter_map(|op| iops(op).map(|iops| iops / shares[op]));
    caps.min_by(f64::total_cmp).map(|iops| 1e9 / iops)
}

/// Notes keys that are honoured but have no effect on this job.
fn note_without_effect(place: &Place<'_>, options: &Options, mean_gap_ns: Option<f64>, notes: &mut Vec<String>) {
    let mut note = |key: &str, why: &str| notes.push(format!("{}: {key} {why}", place.of(options, key)));
    if options.poisson && mean_gap_ns.is_none() {
        note("rate_process", "has no effect without rate or rate_iops");
    }
    if !options.rw.random && options.random_percent != [100; 3] {
        note("percentage_random", "has no effect on a sequential job");
    }
    if options.loops > 1 && options.time_based {
        note("loops", "has no effect with time_based");
    }
    for key in ["fsync", "fdatasync", "end_fsync"] {
        let given = match key {
            "fsync" => options.fsync > 0,
            "fdatasync" => options.fdatasync > 0,
            _ => options.end_fsync,
        };
        if given && !matches!(options.rw.op, None | Some(Op::Write)) {
            note(key, "has no effect on a job that does not write");
        }
    }
}

fn shares(options: &Options) -> [f64; 3] {
    let read = options.read_percent as f64 / 100.0;
    match options.rw.op {
        Some(Op::Read) => [1.0, 0.0, 0.0],
        Some(Op::Trim) => [0.0, 0.0, 1.0],
        Some(_) => [0.0, 1.0, 0.0],
        None => [read, 1.0 - read, 0.0],
    }
}

fn sizes(options: &Options) -> [Vec<(u64, f64)>; 3] {
    match &options.bssplit {
        Some(split) => split.clone(),
        None => options.bs.map(|bytes| vec![(bytes, 100.0)]),
    }
}

/// Returns the offset and the size of the region. Percentages refer to the drive's capacity; an offset in percent is
/// rounded up to a block (as fio does), the size is rounded down. Without `size`, the region extends from the offset to
/// the drive's end.
fn region(
    place: &Place<'_>,
    options: &Options,
    unit: u64,
    user_bytes: u64,
    problems: &mut Problems,
    notes: &mut Vec<String>,
) -> Option<(u64, u64)> {
    let percent = |percent: u64| (u128::from(user_bytes) * u128::from(percent) / 100) as u64;
    let offset = match options.offset {
        Amount::Bytes(bytes) => bytes,
        Amount::Percent(p) => percent(p).div_ceil(unit) * unit,
    };
    let size = match options.size {
        None => user_bytes.saturating_sub(offset),
        Some(Amount::Bytes(bytes)) => bytes,
        // Rounding the offset up may move the region's end past the drive's end, although the percentages fit.
        Some(Amount::Percent(p)) if matches!(options.offset, Amount::Percent(q) if p + q <= 100) => {
            percent(p).min(user_bytes.saturating_sub(offset))
        }
        Some(Amount::Percent(p)) => percent(p),
    };
    if offset.checked_add(size).is_none_or(|end| end > user_bytes) || offset >= user_bytes {
        problems.add(
            place.of(options, if options.size.is_some() { "size" } else { "offset" }),
            format!("offset {offset} + size {size} bytes do not fit the drive's {user_bytes} bytes: lower one of them"),
        );
        return None;
    }
    let whole = size / unit * unit;
    if whole < size && whole > 0 {
        notes.push(format!(
            "{}: {size} bytes are no multiple of the block of {unit}: the region is {whole} bytes",
            place.of(options, "size")
        ));
    }
    Some((offset, whole))
}

fn spread(place: &Place<'_>, options: &Options, blocks: u64, problems: &mut Problems) -> Spread {
    if !options.rw.random {
        return Spread::Sequential;
    }
    match &options.distribution {
        Distribution::Random if options.norandommap => Spread::Uniform,
        Distribution::Random => Spread::OncePerPass,
        Distribution::Zipf(theta) => Spread::Zipf { theta: *theta },
        Distribution::Pareto(h) => Spread::SelfSimilar { h: *h },
        Distribution::Normal(percent) => Spread::Normal { deviation: percent / 100.0 },
        Distribution::Zoned(lists) => {
            let zones = lists.each_ref().map(|list| cut(list, blocks));
            if zones.iter().any(Option::is_none) {
                problems.add(
                    place.of(options, "random_distribution"),
                    format!("the region of {blocks} blocks is too small: every zone needs at least one block"),
                );
            }
            Spread::Zoned { zones: zones.map(Option::unwrap_or_default) }
        }
    }
}

/// Returns the caps of the whole job under which no direction exceeds its own cap: bytes per second, and the minimum
/// gap between submissions \[ns\].
fn caps(
    place: &Place<'_>,
    options: &Options,
    sizes: &[Vec<(u64, f64)>; 3],
    shares: &[f64; 3],
    problems: &mut Problems,
    notes: &mut Vec<String>,
) -> (u64, u64) {
    let mean = |op: usize| {
        let total: f64 = sizes[op].iter().map(|(_, percent)| percent).sum();
        sizes[op].iter().map(|(bytes, percent)| *bytes as f64 * percent).sum::<f64>() / total
    };
    let bytes: Vec<f64> = (0..3).map(|op| shares[op] * mean(op)).collect();
    let all: f64 = bytes.iter().sum();
    let cap = |limits: &[u64; 3], part: &dyn Fn(usize) -> f64| {
        let held = (0..3).filter(|&op| limits[op] > 0 && part(op) > 0.0);
        held.map(|op| if part(op) >= 1.0 { limits[op] as f64 } else { limits[op] as f64 / part(op) }).min_by(f64::total_cmp)
    };
    let rate = cap(&options.rate, &|op| bytes[op] / all);
    let iops = cap(&options.rate_iops, &|op| shares[op]);
    if rate.is_some() && iops.is_some() {
        problems.add(place.of(options, "rate_iops"), "rate and rate_iops exclude each other, as in fio: expected one of them");
    }
    if options.rw.op.is_none() && (rate.is_some() || iops.is_some()) {
        let key = if rate.is_some() { "rate" } else { "rate_iops" };
        notes.push(format!("{}: {key} of a mixed job limits the job as a whole and keeps its mix", place.of(options, key)));
    }
    let gap = iops.map_or(0, |iops| libm::ceil(1e9 / iops) as u64);
    (rate.map_or(0, |rate| (rate as u64).max(1)), gap)
}
