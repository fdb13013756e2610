//! Values of the honoured keys of one section, with fio's defaults.

use super::parse::Entry;
use super::value::{self, Amount, Split};
use crate::generator::{Every, Zone};
use kit::{Op, Problem, Problems};

/// Value of the `rw` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Canonical name of the pattern.
    pub name: &'static str,
    /// Operation; `None` for a mix of reads and writes.
    pub op: Option<Op>,
    /// True for random addresses, false for sequential ones.
    pub random: bool,
    /// True if each trim is followed by a write of its range.
    pub pairs: bool,
}

const fn pattern_of(name: &'static str, op: Option<Op>, random: bool) -> Pattern {
    Pattern { name, op, random, pairs: false }
}

const fn pairs_of(name: &'static str, random: bool) -> Pattern {
    Pattern { name, op: Some(Op::Trim), random, pairs: true }
}

/// Values of `rw` (HOWTO, "I/O type"); `readwrite` is a synonym of `rw`.
pub const PATTERNS: &[(&str, Pattern)] = &[
    ("read", pattern_of("read", Some(Op::Read), false)),
    ("write", pattern_of("write", Some(Op::Write), false)),
    ("randread", pattern_of("randread", Some(Op::Read), true)),
    ("randwrite", pattern_of("randwrite", Some(Op::Write), true)),
    ("rw", pattern_of("rw", None, false)),
    ("readwrite", pattern_of("rw", None, false)),
    ("randrw", pattern_of("randrw", None, true)),
    ("trim", pattern_of("trim", Some(Op::Trim), false)),
    ("randtrim", pattern_of("randtrim", Some(Op::Trim), true)),
    ("trimwrite", pairs_of("trimwrite", false)),
    ("randtrimwrite", pairs_of("randtrimwrite", true)),
];

/// Accepted engines: first the asynchronous ones, which can have several requests in flight, then the synchronous ones.
const ENGINES: &[&str] = &[
    "libaio",
    "io_uring",
    "io_uring_cmd",
    "posixaio",
    "windowsaio",
    "solarisaio",
    "null",
    "sg",
    "xnvme",
    "libblkio",
    "guasi",
    "libcufile",
    "sync",
    "psync",
    "vsync",
    "pvsync",
    "pvsync2",
    "mmap",
    "splice",
];

/// Engines that are refused, with what they do.
const OTHER_ENGINES: &[(&[&str], &str)] = &[
    (&["cpuio", "exec"], "it uses the processor, and accesses no drive"),
    (
        &[
            "filecreate",
            "fileopen",
            "filestat",
            "filedelete",
            "dircreate",
            "dirstat",
            "dirdelete",
            "falloc",
            "ftruncate",
            "e4defrag",
        ],
        "it measures a file system, which a drive does not have",
    ),
    (
        &["net", "netsplice", "rdma", "librpma_apm_client", "librpma_apm_server", "librpma_gpspm_client", "librpma_gpspm_server"],
        "it transfers data over a network, and accesses no drive",
    ),
    (
        &[
            "http",
            "nfs",
            "rbd",
            "rados",
            "gfapi",
            "gfapi_async",
            "glusterfs",
            "libhdfs",
            "libiscsi",
            "nbd",
            "dfs",
            "ime_psync",
            "ime_psyncv",
            "ime_aio",
        ],
        "it accesses a service over a network, not a drive",
    ),
    (&["pmemblk", "libpmem", "dev-dax", "libzbc", "mtd"], "it accesses another kind of memory than an SSD with blocks"),
    (&["cpp_null", "external"], "it is a program of its own, which is not run here"),
];

/// Value of the `random_distribution` key (HOWTO, "I/O type").
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Uniform.
    Random,
    /// Zipf with this exponent.
    Zipf(f64),
    /// Self-similar with this skew.
    Pareto(f64),
    /// Normal with this standard deviation, percent of the region.
    Normal(f64),
    /// Zones by operation, each as (percentage of the accesses, percentage of the region).
    Zoned([Vec<(f64, u64)>; 3]),
}

/// Value of the `zonemode` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneMode {
    /// No zones.
    None,
    /// Zones that the job visits one after the other.
    Strided,
    /// The zones of the drive.
    Zbd,
}

/// Values of all honoured keys.
#[derive(Clone, Debug)]
pub struct Options {
    /// `rw`; fio's default is `read`.
    pub rw: Pattern,
    /// Suffix of `rw` of a random job: the requests from one random address to the next.
    pub random_every: u64,
    /// `rw_sequencer`: true if the requests between random ones repeat the address, false if they follow it.
    pub repeats: bool,
    /// Suffix of `rw` of a sequential job: bytes from the end of a request to the start of the next.
    pub step: i64,
    /// `randrepeat`: false if each pass over the region has other random numbers.
    pub randrepeat: bool,
    /// `bs` by operation \[bytes\].
    pub bs: [u64; 3],
    /// `bssplit` by operation: sizes with percentages.
    pub bssplit: Option<[Vec<(u64, f64)>; 3]>,
    /// `iodepth`.
    pub iodepth: u32,
    /// `numjobs`.
    pub numjobs: u32,
    /// `size`; `None`: the drive's capacity beyond `offset`.
    pub size: Option<Amount>,
    /// `io_size`; `None`: `size`.
    pub io_size: Option<Amount>,
    /// `number_ios`.
    pub number_ios: Option<u64>,
    /// `offset`.
    pub offset: Amount,
    /// `runtime` \[ns\].
    pub runtime_ns: Option<u64>,
    /// `time_based`.
    pub time_based: bool,
    /// `ramp_time` \[ns\].
    pub ramp_ns: u64,
    /// `rwmixread`, or 100 minus `rwmixwrite`: the later line takes precedence.
    pub read_percent: u64,
    /// `random_distribution`.
    pub distribution: Distribution,
    /// `norandommap`.
    pub norandommap: bool,
    /// `writefua`.
    pub fua: bool,
    /// `randseed`.
    pub randseed: Option<u64>,
    /// `rate` by operation \[bytes/s\]; zero: unlimited.
    pub rate: [u64; 3],
    /// `rate_iops` by operation; zero: unlimited.
    pub rate_iops: [u64; 3],
    /// `blockalign` by operation \[bytes\].
    pub align: Option<[u64; 3]>,
    /// `offset_align` \[bytes\]; zero: the smallest block.
    pub offset_align: u64,
    /// `offset_increment`.
    pub offset_step: Amount,
    /// `thinktime` \[ns\].
    pub think_ns: u64,
    /// `thinktime_blocks`, if given.
    pub think_blocks: Option<u64>,
    /// True for `thinktime_blocks_type=issue`.
    pub think_issued: bool,
    /// `thinktime_iotime` \[ns\]; zero: none.
    pub think_every_ns: u64,
    /// True for `io_submit_mode=offload`.
    pub offload: bool,
    /// `flow`: weight of the job.
    pub flow: Option<u64>,
    /// `flow_id`.
    pub flow_id: u64,
    /// `flow_sleep` \[ns\].
    pub flow_sleep_ns: u64,
    /// `wait_for`: name of the job that must have ended.
    pub wait_for: Option<String>,
    /// Lower and upper bound of `startdelay` \[ns\].
    pub delay_ns: (u64, u64),
    /// `stonewall`.
    pub stonewall: bool,
    /// `loops`.
    pub loops: u64,
    /// `percentage_random` by operation.
    pub random_percent: [u64; 3],
    /// `fsync`: number of writes after which a flush follows; zero: none.
    pub fsync: u64,
    /// `fdatasync`, as `fsync`.
    pub fdatasync: u64,
    /// `end_fsync`.
    pub end_fsync: bool,
    /// True for `rate_process=poisson`.
    pub poisson: bool,
    /// `zonemode`.
    pub zones: ZoneMode,
    /// `zonesize` \[bytes\].
    pub zone_bytes: Option<u64>,
    /// `zonerange` \[bytes\].
    pub zone_range: Option<u64>,
    /// `zoneskip` \[bytes\].
    pub zone_skip: u64,
    /// `ioengine`, if given.
    pub engine: Option<&'static str>,
    /// Keys with their places, for messages about the resolved job: (key, `FILE:LINE`).
    places: Vec<(&'static str, String)>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            rw: PATTERNS[0].1,
            random_every: 1,
            repeats: false,
            step: 0,
            randrepeat: true,
            bs: [4096; 3],
            bssplit: None,
            iodepth: 1,
            numjobs: 1,
            size: None,
            io_size: None,
            number_ios: None,
            offset: Amount::Bytes(0),
            runtime_ns: None,
            time_based: false,
            ramp_ns: 0,
            read_percent: 50,
            distribution: Distribution::Random,
            norandommap: false,
            fua: false,
            randseed: None,
            rate: [0; 3],
            rate_iops: [0; 3],
            align: None,
            offset_align: 0,
            offset_step: Amount::Bytes(0),
            think_ns: 0,
            think_blocks: None,
            think_issued: false,
            think_every_ns: 0,
            offload: false,
            flow: None,
            flow_id: 0,
            flow_sleep_ns: 0,
            wait_for: None,
            delay_ns: (0, 0),
            stonewall: false,
            loops: 1,
            random_percent: [100; 3],
            fsync: 0,
            fdatasync: 0,
            end_fsync: false,
            poisson: false,
            zones: ZoneMode::None,
            zone_bytes: None,
            zone_range: None,
            zone_skip: 0,
            engine: None,
            places: Vec::new(),
        }
    }
}

impl Options {
    /// Returns the rule of the suffix of a random job, of which `left` requests are left until one may be random.
    pub fn every(&self, left: Option<u64>) -> Every {
        Every { count: self.random_every, repeats: self.repeats, left: left.unwrap_or(1) }
    }

    /// Returns true if the engine submits one request at a time.
    pub fn synchronous(&self) -> bool {
        self.engine.is_some_and(|engine| engine.ends_with("sync") || ["pvsync2", "mmap", "splice"].contains(&engine))
    }

    /// Returns the place of the last line that set `key`; `otherwise` if there is none.
    pub fn place_of<'a>(&'a self, key: &str, otherwise: &'a str) -> &'a str {
        self.places.iter().rev().find(|(name, _)| *name == key).map_or(otherwise, |(_, place)| place)
    }

    /// Applies one line; an invalid value is added to `problems` at the line's place.
    pub fn apply(&mut self, entry: &Entry<'_>, problems: &mut Problems) {
        self.places.push((entry.key, entry.place.to_owned()));
        if let Err(problem) = self.set(entry.place, entry.key, entry.value) {
            problems.0.push(problem);
        }
    }

    fn set(&mut self, place: &str, key: &str, value: Option<&str>) -> Result<(), Problem> {
        let text = value.unwrap_or("");
        let named = |why: String| Problem::new(place, format!("{key}: {why}"));
        match key {
            "rw" => (self.rw, self.random_every, self.step) = pattern(place, text)?,
            "ioengine" => self.engine = Some(engine(place, text)?),
            "bs" => self.bs = value::by_operation(text, &4096, block_bytes).map_err(named)?,
            "bssplit" => self.bssplit = Some(value::by_operation(text, &vec![(4096, 100.0)], block_split).map_err(named)?),
            "iodepth" => self.iodepth = value::within(text, 1, 1 << 20).map_err(named)? as u32,
            "numjobs" => self.numjobs = value::within(text, 1, 65_535).map_err(named)? as u32,
            "size" => self.size = Some(share(text, 100).map_err(named)?),
            "io_size" => self.io_size = Some(share(text, 1_000_000).map_err(named)?),
            "number_ios" => self.number_ios = Some(value::within(text, 1, u64::MAX).map_err(named)?),
            "offset" => self.offset = offset(text, 99).map_err(named)?,
            "runtime" => {
                let found = value::time(text, 1_000_000_000).map_err(named);
                // An invalid one is not reported as missing, too.
                self.runtime_ns = Some(found.as_ref().map_or(u64::MAX, |ns| *ns)).filter(|ns| *ns > 0);
                found?;
            }
            "ramp_time" => self.ramp_ns = value::time(text, 1_000_000_000).map_err(named)?,
            "startdelay" => self.delay_ns = value::time_range(text, 1_000_000_000).map_err(named)?,
            "rwmixread" => self.read_percent = value::within(text, 0, 100).map_err(named)?,
            "rwmixwrite" => self.read_percent = 100 - value::within(text, 0, 100).map_err(named)?,
            "random_distribution" => self.distribution = distribution(text).map_err(named)?,
            "randseed" => self.randseed = Some(value::integer(text).map_err(named)?),
            "rate" => self.rate = value::by_operation(text, &0, value::integer).map_err(named)?,
            "rate_iops" => self.rate_iops = value::by_operation(text, &0, value::integer).map_err(named)?,
            "time_based" => self.time_based = value::flag(value).map_err(named)?,
            "norandommap" => self.norandommap = value::flag(value).map_err(named)?,
            "writefua" => self.fua = value::flag(value).map_err(named)?,
            "stonewall" => self.stonewall = value::flag(value).map_err(named)?,
            _ => return self.set_more(place, key, value),
        }
        Ok(())
    }

    /// Applies the keys that change the course of a whole job, not its single requests.
    fn set_more(&mut self, place: &str, key: &str, value: Option<&str>) -> Result<(), Problem> {
        let text = value.unwrap_or("");
        let named = |why: String| Problem::new(place, format!("{key}: {why}"));
        match key {
            "loops" => self.loops = value::within(text, 1, 1 << 32).map_err(named)?,
            "percentage_random" => {
                self.random_percent = value::by_operation(text, &100, |part| value::within(part, 0, 100)).map_err(named)?;
            }
            "fsync" => self.fsync = value::integer(text).map_err(named)?,
            "fdatasync" => self.fdatasync = value::integer(text).map_err(named)?,
            "end_fsync" => self.end_fsync = value::flag(value).map_err(named)?,
            "rate_process" => self.poisson = word(place, key, text, &[("linear", false), ("poisson", true)])?,
            "zonemode" => {
                let modes = [("none", ZoneMode::None), ("strided", ZoneMode::Strided), ("zbd", ZoneMode::Zbd)];
                self.zones = word(place, key, text, &modes)?;
            }
            "rw_sequencer" => self.repeats = word(place, key, text, &[("sequential", false), ("identical", true)])?,
            "randrepeat" => self.randrepeat = value::flag(value).map_err(named)?,
            "zonesize" => self.zone_bytes = Some(zone_bytes(text).map_err(named)?),
            "zonerange" => self.zone_range = Some(zone_bytes(text).map_err(named)?),
            "zoneskip" => self.zone_skip = zone_bytes(text).map_err(named)?,
            "blockalign" => self.align = Some(value::by_operation(text, &0, block_bytes).map_err(named)?),
            "offset_align" => self.offset_align = zone_bytes(text).map_err(named)?,
            "offset_increment" => self.offset_step = offset(text, 100).map_err(named)?,
            _ => return self.set_course(place, key, value),
        }
        Ok(())
    }

    /// Applies the keys that pace a job, also against other jobs.
    fn set_course(&mut self, place: &str, key: &str, value: Option<&str>) -> Result<(), Problem> {
        let text = value.unwrap_or("");
        let named = |why: String| Problem::new(place, format!("{key}: {why}"));
        match key {
            "thinktime" => self.think_ns = value::time(text, 1_000).map_err(named)?,
            "thinktime_blocks" => self.think_blocks = Some(value::within(text, 1, u64::MAX).map_err(named)?),
            "thinktime_blocks_type" => self.think_issued = word(place, key, text, &[("complete", false), ("issue", true)])?,
            "thinktime_iotime" => self.think_every_ns = value::time(text, 1_000_000_000).map_err(named)?,
            "io_submit_mode" => self.offload = word(place, key, text, &[("inline", false), ("offload", true)])?,
            "flow" => self.flow = Some(value::within(text, 1, 1 << 32).map_err(named)?),
            "flow_id" => self.flow_id = value::integer(text).map_err(named)?,
            "flow_sleep" => self.flow_sleep_ns = value::time(text, 1_000).map_err(named)?,
            "wait_for" => self.wait_for = Some(text.to_owned()),
            "filename" => return one_drive(text).map_err(named),
            _ => {}
        }
        Ok(())
    }
}

/// Refuses a list of files: whatever the name, the drive is the one file of a job.
fn one_drive(text: &str) -> Result<(), String> {
    let count = text.replace("\\:", "").split(':').count();
    if count == 1 { Ok(()) } else { Err(format!("`{text}` names {count} files: expected one, which stands for the drive")) }
}

/// Returns the pattern that `rw` names, the requests from one random address to the next, and the bytes between two
/// sequential requests.
fn pattern(place: &str, text: &str) -> Result<(Pattern, u64, i64), Problem> {
    let (head, suffix) = text.split_once(':').map_or((text, None), |(head, suffix)| (head.trim(), Some(suffix.trim())));
    let found = PATTERNS.iter().find(|(name, _)| *name == head).map(|(_, pattern)| *pattern);
    let pattern = found.ok_or_else(|| Problem::unknown(place, "value of rw", head, PATTERNS.iter().map(|(name, _)| *name)))?;
    let named = |why: String| Problem::new(place, format!("rw: suffix of `{text}`: {why}"));
    match suffix {
        None => Ok((pattern, 1, 0)),
        Some(count) if pattern.random => {
            // fio reads the digits alone: `8k` are eight requests.
            let plain = count.parse().ok().filter(|count| (1..=1 << 32).contains(count));
            let count =
                plain.ok_or_else(|| named(format!("`{count}`: expected a number of requests of 1 or more, without a unit")))?;
            Ok((pattern, count, 0))
        }
        Some(step) => {
            let (digits, sign) = step.strip_prefix('-').map_or((step, 1), |digits| (digits, -1));
            let bytes = zone_bytes(digits).map_err(named)?;
            let bytes = i64::try_from(bytes).map_err(|_| named(format!("{bytes} bytes: expected less than 2^63")))?;
            Ok((pattern, 1, sign * bytes))
        }
    }
}

/// Returns the value of a key that is one of a few words.
fn word<T: Copy>(place: &str, key: &str, text: &str, words: &[(&str, T)]) -> Result<T, Problem> {
    let found = words.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    found.ok_or_else(|| Problem::unknown(place, &format!("value of {key}"), text, words.iter().map(|(name, _)| *name)))
}

fn zone_bytes(text: &str) -> Result<u64, String> {
    let bytes = value::integer(text)?;
    if bytes.is_multiple_of(kit::MIN_BLOCK_BYTES) {
        Ok(bytes)
    } else {
        Err(format!("{bytes} bytes: expected a multiple of {}", kit::MIN_BLOCK_BYTES))
    }
}

fn engine(place: &str, text: &str) -> Result<&'static str, Problem> {
    if let Some((_, why)) = OTHER_ENGINES.iter().find(|(names, _)| names.contains(&text.split(':').next().unwrap_or(text))) {
        let what =
            format!("ioengine: `{text}` is refused: {why}: expected an engine that accesses a block device, such as libaio");
        return Err(Problem::new(place, what));
    }
    let found = ENGINES.iter().copied().find(|name| *name == text);
    found.ok_or_else(|| Problem::unknown(place, "ioengine", text, ENGINES.iter().copied()))
}

fn block_bytes(text: &str) -> Result<u64, String> {
    let bytes = value::integer(text)?;
    if bytes == 0 || !bytes.is_multiple_of(kit::MIN_BLOCK_BYTES) || bytes > 1 << 32 {
        return Err(format!("`{}` is {bytes} bytes: expected a multiple of {} up to 4g", text.trim(), kit::MIN_BLOCK_BYTES));
    }
    Ok(bytes)
}

fn block_split(text: &str) -> Result<Vec<(u64, f64)>, String> {
    let parts: Split = value::split(text, block_bytes)?;
    let percents = value::percentages(&parts.iter().map(|(_, percent)| *percent).collect::<Vec<_>>())?;
    Ok(parts.iter().zip(percents).map(|((bytes, _), percent)| (*bytes, percent)).collect())
}

fn share(text: &str, percent_max: u64) -> Result<Amount, String> {
    match value::amount(text)? {
        Amount::Percent(percent) if percent == 0 || percent > percent_max => {
            Err(format!("{percent} %: expected 1..={percent_max} %"))
        }
        Amount::Zones(0) => Err("0 zones: expected at least one".to_owned()),
        Amount::Bytes(0) => Err("0 bytes: expected at least one block".to_owned()),
        good => Ok(good),
    }
}

fn offset(text: &str, percent_max: u64) -> Result<Amount, String> {
    match value::amount(text)? {
        Amount::Percent(percent) if percent > percent_max => Err(format!("{percent} %: expected 0..={percent_max} %")),
        Amount::Bytes(bytes) if !bytes.is_multiple_of(kit::MIN_BLOCK_BYTES) => {
            Err(format!("{bytes} bytes: expected a multiple of {}", kit::MIN_BLOCK_BYTES))
        }
        good => Ok(good),
    }
}

fn distribution(text: &str) -> Result<Distribution, String> {
    let (kind, parameters) = text.split_once(':').unwrap_or((text, ""));
    if kind == "zoned" {
        return value::by_operation(parameters, &vec![(100.0, 100)], zones).map(Distribution::Zoned);
    }
    if parameters.contains(':') {
        return Err(format!(
            "`{text}`: a centre is not supported: expected the value without `:{}`",
            parameters.split_once(':').map_or("", |(_, c)| c)
        ));
    }
    let number = |low: f64, high: f64, default: f64| match parameters.trim() {
        "" => Ok(default),
        digits => {
            let good = digits.parse::<f64>().ok().filter(|n| *n > low && *n < high);
            good.ok_or_else(|| format!("`{digits}`: expected a number between {low} and {high}"))
        }
    };
    match kind {
        "random" if parameters.is_empty() => Ok(Distribution::Random),
        "zipf" => number(0.0, 100.0, 1.1).map(Distribution::Zipf),
        "pareto" => number(0.0, 1.0, 0.2).map(Distribution::Pareto),
        "normal" => number(0.0, 100.0, f64::NAN).and_then(|deviation| {
            if deviation.is_nan() {
                Err("`normal` has no deviation: expected one, such as normal:20".to_owned())
            } else {
                Ok(Distribution::Normal(deviation))
            }
        }),
        _ => Err(format!("`{text}`: expected random, zipf:theta, pareto:h, normal:deviation or zoned:access/size:...")),
    }
}

fn zones(text: &str) -> Result<Vec<(f64, u64)>, String> {
    let parts = value::split(text, |access| value::within(access, 0, 100))?;
    let sizes: Vec<Option<u32>> = parts.iter().map(|(_, size)| *size).collect();
    let sizes = value::percentages(&sizes).map_err(|why| format!("sizes of the zones: {why}"))?;
    let access: u64 = parts.iter().map(|(access, _)| access).sum();
    if access != 100 {
        return Err(format!("shares of the accesses add up to {access}: expected 100"));
    }
    if sizes.iter().any(|size| *size < 1.0 || size.fract() != 0.0) {
        return Err("sizes of the zones: expected whole percentages of at least 1".to_owned());
    }
    Ok(parts.iter().zip(sizes).map(|((access, _), size)| (*access as f64, size as u64)).collect())
}

/// Divides `blocks` blocks into the zones of `list`; `None` if a zone would have no block.
pub fn cut(list: &[(f64, u64)], blocks: u64) -> Option<Vec<Zone>> {
    let mut percent = 0u64;
    let edge = |percent: u64| (u128::from(blocks) * u128::from(percent) / 100) as u64;
    list.iter()
        .map(|(weight, size)| {
            let first = edge(percent);
            percent += size;
            let blocks = edge(percent) - first;
            (blocks > 0).then_some(Zone { weight: *weight, first, blocks })
        })
        .collect()
}
