//! Resolves the keys of a section into a job that fits the drive.

use super::options::{Distribution, Options, ZoneMode, cut};
use super::value::Amount;
use crate::Target;
use crate::generator::{OpMix, Place as Spread, SizeMix, Strides};
use crate::pacing::{Cap, Flow, Think};
use kit::{Nanos, Op, Problems};

/// Position of a section, for messages.
pub struct Place<'a> {
    /// Name of the section.
    pub section: &'a str,
    /// `FILE:LINE` of its header.
    pub place: &'a str,
}

impl Place<'_> {
    fn of(&self, options: &Options, key: &str) -> String {
        format!("{}: [{}]", options.place_of(key, self.place), self.section)
    }
}

/// Region of one clone of a job (`numjobs`).
pub struct Region {
    /// First byte.
    pub offset: u64,
    /// Size \[bytes\]; requests begin inside it.
    pub bytes: u64,
    /// Bytes to the drive's end, up to which the last request of a sequence may go.
    pub room: u64,
    /// Bytes that each loop submits; `None` with `time_based`.
    pub bytes_max: Option<u64>,
    /// Value of `io_size` in bytes.
    pub io_bytes: Option<u64>,
    /// Distribution of the addresses.
    pub spread: Spread,
    /// Zones, and the size of each \[bytes\].
    pub strides: Option<(Strides, u64)>,
}

/// Job with all values resolved; its clones (`numjobs`) share it.
pub struct Resolved {
    /// Name of the section.
    pub name: String,
    /// Values of the section's keys.
    pub options: Options,
    /// Maximum number of requests in flight.
    pub depth: u32,
    /// Region of each clone.
    pub regions: Vec<Region>,
    /// Requests to submit; `None` with `time_based`, or without `number_ios`.
    pub requests_max: Option<u64>,
    /// Limit of simulated time \[ns\], including the ramp.
    pub runtime_ns: Option<u64>,
    /// Grid of random addresses \[bytes\]: the smallest alignment in use.
    pub unit: u64,
    /// Alignment of random addresses by operation \[bytes\].
    pub align: [u64; 3],
    /// True if the job accesses random blocks, each once per pass.
    pub has_random_map: bool,
    /// Length of the largest block of all operations \[bytes\].
    pub block_max: u64,
    /// Request lengths by operation: (bytes, percent).
    pub sizes: [Vec<(u64, f64)>; 3],
    /// Shares of reads, writes and trims.
    pub shares: [f64; 3],
    /// Limits of the rates by direction.
    pub caps: [Option<Cap>; 3],
    /// Pauses.
    pub think: Option<Think>,
    /// Share in a flow.
    pub flow: Option<Flow>,
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

    /// Returns true if reads and writes are both drawn.
    pub fn is_mixed(&self) -> bool {
        self.shares[0] > 0.0 && self.shares[1] > 0.0
    }
}

/// Block sizes of a job.
struct Blocks {
    /// Request lengths by operation: (bytes, percent).
    sizes: [Vec<(u64, f64)>; 3],
    /// Smallest and largest length in use \[bytes\].
    least: u64,
    largest: u64,
    /// The same of all operations, also of those that do not occur \[bytes\].
    of_all: (u64, u64),
    /// True if `blockalign` differs from a smallest block, which switches the random map off.
    is_realigned: bool,
    /// Alignment of random addresses by operation \[bytes\].
    align: [u64; 3],
    /// Smallest alignment in use \[bytes\].
    unit: u64,
}

impl Blocks {
    fn of(options: &Options, shares: &[f64; 3]) -> Blocks {
        let sizes = match &options.bssplit {
            Some(split) => split.clone(),
            None => options.bs.map(|bytes| vec![(bytes, 100.0)]),
        };
        let used = |op: usize| sizes[op].iter().filter(|(_, percent)| *percent > 0.0).map(|(bytes, _)| *bytes);
        let active = || (0..3).filter(|&op| shares[op] > 0.0);
        let least = active().flat_map(used).min().unwrap_or(512);
        let largest = active().flat_map(used).max().unwrap_or(512);
        let align = [0, 1, 2].map(|op| match options.align {
            Some(align) if align[op] > 0 => align[op],
            _ => used(op).min().unwrap_or(least),
        });
        let unit = active().map(|op| align[op]).min().unwrap_or(least);
        let of_all = ((0..3).flat_map(used).min().unwrap_or(least), (0..3).flat_map(used).max().unwrap_or(largest));
        let is_realigned = (0..3).any(|op| used(op).min().is_some_and(|smallest| smallest != align[op]));
        Blocks { sizes, least, largest, of_all, is_realigned, align, unit }
    }
}

/// Resolves one section. Adds its problems to `problems`, and returns `None` if there are any.
pub fn resolve(place: &Place<'_>, options: &Options, drive: &Target, wave: u32, problems: &mut Problems) -> Option<Resolved> {
    let before = problems.0.len();
    let mut notes = Vec::new();
    let shares = shares(options);
    let blocks = Blocks::of(options, &shares);
    check_words(place, options, drive, &blocks, problems);
    let caps = caps(place, options, &blocks.sizes, &shares, problems, &mut notes);
    note_without_effect(place, options, &caps, &mut notes);
    let depth = if options.synchronous() { 1 } else { options.iodepth };
    if depth < options.iodepth {
        notes.push(format!("{}: {} forces iodepth 1", place.of(options, "ioengine"), options.engine.unwrap_or("sync")));
    }
    let mut regions = Vec::new();
    for clone in 0..options.numjobs {
        regions.push(region_of(place, options, &blocks, (drive, clone), problems, &mut notes)?);
    }
    let ends = !options.time_based;
    let twice = 1 + u64::from(options.rw.pairs);
    (problems.0.len() == before).then(|| Resolved {
        name: place.section.to_owned(),
        options: options.clone(),
        depth,
        regions,
        requests_max: options.number_ios.filter(|_| ends).map(|count| count.saturating_mul(twice)),
        runtime_ns: options.runtime_ns.map(|ns| ns.saturating_add(options.ramp_ns)),
        unit: blocks.unit,
        align: blocks.align,
        has_random_map: has_random_map(options, &blocks),
        block_max: blocks.of_all.1,
        sizes: blocks.sizes,
        shares,
        caps,
        think: think(options),
        flow: options.flow.map(|weight| Flow { id: options.flow_id, weight, sleep: Nanos(options.flow_sleep_ns) }),
        wave,
        notes,
    })
}

/// Checks the keys that exclude each other, or that the drive lacks.
fn check_words(place: &Place<'_>, options: &Options, drive: &Target, blocks: &Blocks, problems: &mut Problems) {
    if options.time_based && options.runtime_ns.is_none() {
        problems.add(place.of(options, "time_based"), "time_based without runtime would never end: expected a runtime above 0");
    }
    if options.rw.pairs && blocks.sizes[1] != blocks.sizes[2] {
        let what = format!("rw={} writes the blocks that it trims: expected one block size for both", options.rw.name);
        problems.add(place.of(options, "bs"), what);
    }
    if options.rw.random && (0..3).any(|op| !blocks.align[op].is_multiple_of(blocks.unit) && !blocks.sizes[op].is_empty()) {
        // Operations that do not occur have alignments, too, and need not fit.
        let uneven = (0..3).filter(|&op| shares(options)[op] > 0.0).find(|&op| !blocks.align[op].is_multiple_of(blocks.unit));
        if let Some(op) = uneven {
            let what = format!(
                "random addresses of {} and {} bytes: expected alignments of which each is a multiple of the smallest",
                blocks.unit, blocks.align[op]
            );
            problems.add(place.of(options, if options.align.is_some() { "blockalign" } else { "bs" }), what);
        }
    }
    if options.zones == ZoneMode::Zbd {
        check_zbd(place, options, drive, problems);
    }
}

/// Checks a job on the zones of the drive.
fn check_zbd(place: &Place<'_>, options: &Options, drive: &Target, problems: &mut Problems) {
    let Some(zone) = drive.zone_bytes else {
        let what =
            "zonemode=zbd: the drive has no zones: expected a drive with zones (ftl.translation = \"zns\"), or zonemode=strided";
        problems.add(place.of(options, "zonemode"), what);
        return;
    };
    for (key, value) in [("zonesize", options.zone_bytes), ("zonerange", options.zone_range)] {
        if let Some(bytes) = value.filter(|bytes| *bytes > 0 && *bytes != zone) {
            let what = format!("{key}: {bytes} bytes: expected the size of the drive's zones, {zone} bytes, or no {key}");
            problems.add(place.of(options, key), what);
        }
    }
    if options.zone_skip > 0 {
        problems.add(place.of(options, "zoneskip"), "zoneskip: expected 0 with zonemode=zbd, as in fio");
    }
    if options.rw.op == Some(Op::Trim) {
        problems.add(
            place.of(options, "rw"),
            "trims of a drive with zones are resets in fio, which are not generated: expected reads or writes",
        );
    }
}

/// Returns the pauses of a job.
fn think(options: &Options) -> Option<Think> {
    let every = Some(Nanos(options.think_every_ns)).filter(|span| *span > Nanos::ZERO);
    // With a time and without a number, only the time counts, as in fio.
    let blocks = options.think_blocks.or(if every.is_some() { None } else { Some(1) });
    (options.think_ns > 0).then_some(Think { time: Nanos(options.think_ns), blocks, counts_issued: options.think_issued, every })
}

/// Resolves the region of one clone; `None`, with a problem, if it does not fit the drive.
fn region_of(
    place: &Place<'_>,
    options: &Options,
    blocks: &Blocks,
    (drive, clone): (&Target, u32),
    problems: &mut Problems,
    notes: &mut Vec<String>,
) -> Option<Region> {
    let (offset, bytes) = region(place, options, blocks, (drive, clone), problems, notes)?;
    let room = drive.user_bytes - offset;
    if bytes < blocks.largest {
        problems.add(
            place.of(options, "size"),
            format!(
                "the region of {bytes} bytes at offset {offset} does not hold one block of {} bytes: expected a larger region",
                blocks.largest
            ),
        );
        return None;
    }
    if options.step < 0 && !bytes.is_multiple_of(kit::MIN_BLOCK_BYTES) {
        let what = format!("rw: backwards through {bytes} bytes: expected a size that is a multiple of {}", kit::MIN_BLOCK_BYTES);
        problems.add(place.of(options, "rw"), what);
    }
    let strides = strides(place, options, (blocks.least, blocks.largest), (bytes, room), problems);
    let spread = spread(place, options, blocks, strides.map_or(bytes, |(_, range)| range) / blocks.unit, problems);
    let (moved, io_bytes) = match options.io_size {
        None => (bytes, None),
        Some(Amount::Bytes(bytes)) => (bytes, Some(bytes)),
        Some(Amount::Percent(percent)) => {
            let moved = u64::try_from(u128::from(bytes) * u128::from(percent) / 100).unwrap_or(u64::MAX);
            // fio refuses more than 100 %, which act as bytes here.
            (moved, Some(moved).filter(|_| percent > 100))
        }
        Some(Amount::Zones(zones)) => {
            let bytes = in_zones(place, options, "io_size", zones, drive, problems)?;
            (bytes, Some(bytes))
        }
    };
    if moved < blocks.of_all.0 && io_bytes.is_none() {
        let what = format!("io_size: {moved} bytes: expected at least the smallest block of {}, as in fio", blocks.of_all.0);
        problems.add(place.of(options, "io_size"), what);
    }
    // Of a pair of trim and write, both move the bytes of one.
    let moved = if options.rw.pairs { moved.div_ceil(blocks.least).saturating_mul(2 * blocks.least) } else { moved };
    Some(Region { offset, bytes, room, bytes_max: (!options.time_based).then_some(moved), io_bytes, spread, strides })
}

/// Returns the size of some zones of the drive \[bytes\]; `None`, with a problem, if it has none.
fn in_zones(place: &Place<'_>, options: &Options, key: &str, zones: u64, drive: &Target, problems: &mut Problems) -> Option<u64> {
    let bytes = drive.zone_bytes.map(|bytes| zones.saturating_mul(bytes));
    if bytes.is_none() {
        let what = format!("{key}={zones}z: the drive has no zones: expected bytes or percent");
        problems.add(place.of(options, key), what);
    }
    bytes
}

/// Returns the zones of `zonemode=strided` and the size of each; `blocks` are the smallest and the largest block.
fn strides(
    place: &Place<'_>,
    options: &Options,
    blocks: (u64, u64),
    (region_bytes, room): (u64, u64),
    problems: &mut Problems,
) -> Option<(Strides, u64)> {
    if options.zones != ZoneMode::Strided {
        return None;
    }
    let Some(zone_bytes) = options.zone_bytes.filter(|bytes| *bytes > 0) else {
        problems.add(place.of(options, "zonemode"), "zonemode=strided has no zones: expected a zonesize above 0");
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
    // As in fio, zones follow one another up to the drive's end, whatever `size` is.
    let distance = range.saturating_add(options.zone_skip);
    Some((Strides { zone_bytes, distance, region_bytes: room, inside_bytes: region_bytes, enters_cut: true }, range))
}

/// Notes keys that are honoured but have no effect on this job.
fn note_without_effect(place: &Place<'_>, options: &Options, caps: &[Option<Cap>; 3], notes: &mut Vec<String>) {
    let mut note = |key: &str, why: &str| notes.push(format!("{}: {key} {why}", place.of(options, key)));
    for key in ["thinktime_blocks", "thinktime_iotime"] {
        let given = if key == "thinktime_blocks" { options.think_blocks.is_some() } else { options.think_every_ns > 0 };
        if given && options.think_ns == 0 {
            note(key, "has no effect without thinktime");
        }
    }
    if options.align.is_some() && !options.rw.random {
        note("blockalign", "has no effect on a sequential job");
    }
    if options.poisson && caps.iter().all(Option::is_none) {
        note("rate_process", "has no effect without rate or rate_iops");
    }
    if !options.rw.random && options.random_percent != [100; 3] {
        note("percentage_random", "has no effect on a sequential job");
    }
    if options.repeats && options.random_every == 1 {
        note("rw_sequencer", "has no effect without a suffix of rw of a random job, such as randread:8");
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
        Some(_) if options.rw.pairs => [0.0, 0.5, 0.5],
        Some(Op::Read) => [1.0, 0.0, 0.0],
        Some(Op::Trim) => [0.0, 0.0, 1.0],
        Some(_) => [0.0, 1.0, 0.0],
        None => [read, 1.0 - read, 0.0],
    }
}

/// Returns the offset and the size of the region of a clone. Percentages refer to the drive's capacity; an offset in
/// percent is rounded up to a block, or to `offset_align` (as fio does), the size is rounded down unless it is 100 %. A
/// size in percent ends at the drive's end at the latest, as does a region without `size`.
fn region(
    place: &Place<'_>,
    options: &Options,
    blocks: &Blocks,
    (drive, clone): (&Target, u32),
    problems: &mut Problems,
    notes: &mut Vec<String>,
) -> Option<(u64, u64)> {
    let user_bytes = drive.user_bytes;
    let percent = |percent: u64| u64::try_from(u128::from(user_bytes) * u128::from(percent) / 100).unwrap_or(u64::MAX);
    let mut bytes = |key: &str, amount: Amount| match amount {
        Amount::Bytes(bytes) => Some(bytes),
        Amount::Percent(share) => Some(percent(share)),
        Amount::Zones(zones) => in_zones(place, options, key, zones, drive, problems),
    };
    let base = bytes("offset", options.offset)?;
    let step = bytes("offset_increment", options.offset_step)?;
    let size = options.size.map(|size| bytes("size", size));
    let given = size.flatten();
    if size.is_some() && given.is_none() {
        return None;
    }
    let mut offset = base.saturating_add(step.saturating_mul(u64::from(clone)));
    if matches!(options.offset, Amount::Percent(1..)) || matches!(options.offset_step, Amount::Percent(1..)) {
        let align = if options.offset_align > 0 { options.offset_align } else { blocks.of_all.0 };
        offset = offset.div_ceil(align).saturating_mul(align);
    }
    let room = user_bytes.saturating_sub(offset);
    let size = match (options.size, given) {
        (Some(Amount::Percent(share)), Some(size)) => {
            // Rounding the offset up may cost less than a block, which is no surprise.
            if size > room && size - room >= blocks.least && clone == 0 {
                let what =
                    format!("{share} % of the drive from byte {offset} end past its end: the region ends there, as in fio");
                notes.push(format!("{}: {what}", place.of(options, "size")));
            }
            let size = size.min(room);
            if share == 100 { size } else { size / blocks.of_all.0 * blocks.of_all.0 }
        }
        (_, Some(size)) => size,
        (_, None) => room,
    };
    if offset.checked_add(size).is_none_or(|end| end > user_bytes) || offset >= user_bytes {
        let which = if options.numjobs > 1 { format!(" of clone {clone}") } else { String::new() };
        problems.add(
            place.of(options, if options.size.is_some() { "size" } else { "offset" }),
            format!(
                "offset {offset} + size {size} bytes{which} do not fit the drive's {user_bytes} bytes: expected a region within them"
            ),
        );
        return None;
    }
    if matches!(options.size, Some(Amount::Bytes(_))) && size > blocks.least && clone == 0 {
        let over = size % blocks.least;
        let what = if options.rw.random { "is not accessed" } else { "is accessed whole where the drive has room, as in fio" };
        if over > 0 {
            let least = blocks.least;
            notes.push(format!(
                "{}: {size} bytes are no multiple of the block of {least}: the last block {what}",
                place.of(options, "size")
            ));
        }
    }
    Some((offset, size))
}

fn has_random_map(options: &Options, blocks: &Blocks) -> bool {
    options.rw.random && options.distribution == Distribution::Random && !options.norandommap && !blocks.is_realigned
}

fn spread(place: &Place<'_>, options: &Options, sizes: &Blocks, blocks: u64, problems: &mut Problems) -> Spread {
    if !options.rw.random {
        return Spread::Sequential;
    }
    match &options.distribution {
        Distribution::Random if has_random_map(options, sizes) => Spread::OncePerPass,
        Distribution::Random => Spread::Uniform,
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

/// Returns the limits of the rates by direction. fio turns `rate_iops` into bytes of the direction's smallest block.
fn caps(
    place: &Place<'_>,
    options: &Options,
    sizes: &[Vec<(u64, f64)>; 3],
    shares: &[f64; 3],
    problems: &mut Problems,
    notes: &mut Vec<String>,
) -> [Option<Cap>; 3] {
    if options.rate.iter().any(|rate| *rate > 0) && options.rate_iops.iter().any(|rate| *rate > 0) {
        problems.add(place.of(options, "rate_iops"), "rate and rate_iops exclude each other, as in fio: expected one of them");
    }
    let smallest = |op: usize| sizes[op].iter().map(|(bytes, _)| *bytes).min().unwrap_or(kit::SECTOR_BYTES);
    let caps = [0, 1, 2].map(|op| {
        let bytes = match (options.rate_iops[op], options.rate[op]) {
            _ if shares[op] <= 0.0 => return None,
            (0, 0) => return None,
            (0, rate) => rate,
            (iops, _) => iops.saturating_mul(smallest(op)),
        };
        let mean_gap_ns = 1e9 * smallest(op) as f64 / bytes as f64;
        Some(if options.poisson { Cap::Poisson(mean_gap_ns) } else { Cap::Bytes(bytes) })
    });
    let is_mixed = shares[0] > 0.0 && shares[1] > 0.0;
    if is_mixed && caps[0].is_some() != caps[1].is_some() {
        let key = if options.rate_iops == [0; 3] { "rate" } else { "rate_iops" };
        let other = if caps[0].is_some() { "writes" } else { "reads" };
        notes.push(format!(
            "{}: {key} does not limit {other}, which go on as fast as they can, as in fio",
            place.of(options, key)
        ));
    }
    if options.rw.pairs && caps[1].is_none() && caps[2].is_some() {
        notes.push(format!(
            "{}: the rate of trims has no effect with {}: as in fio, that of writes counts",
            place.of(options, "rate"),
            options.rw.name
        ));
    }
    caps
}
