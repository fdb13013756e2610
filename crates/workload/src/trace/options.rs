//! Options of reading and replaying a trace, as the user gives them and as checked values.

use super::format::Reading;
use super::format::columns::Table;
use kit::{Nanos, Problem, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of a workload: how a trace is read and replayed.
///
/// [`Options::plan`] checks the keywords and reports all problems at once. fio jobs use [`Options::seed`] and
/// [`Options::ignore`] only, models [`Options::seed`]. As for the options of a run, this is the only declaration;
/// `drive::options` describes the entries of the schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Format of the trace; absent: recognised from its content.
    #[schemars(extend("x-value" = "NAME", "x-panel" = "Workload"))]
    pub format: Option<String>,
    /// Columns of a table of any format, such as `time=1:us,op=4,offset=5:B,size=6:B`, counted from 1, or by their
    /// names in its header, such as `time=Timestamp:iso,op=Type,offset=Offset:B,size=Size:B`.
    ///
    /// docs/reference/workloads.md has all units and roles.
    #[schemars(extend("x-value" = "SPEC", "x-panel" = "Workload"))]
    pub columns: Option<String>,
    /// Event that is the arrival of a request, where a trace records several: `queued` (the block layer has it) or
    /// `issued` (the device has it).
    ///
    /// Absent: `queued` where the trace has such events, otherwise `issued`. Formats: `blkparse`, `most`, `ftrace` and
    /// `biosnoop`.
    #[schemars(extend("x-value" = "EVENT", "x-panel" = "Workload"))]
    pub arrival: Option<String>,
    /// Meaning of the number of an object in a trace of a cache: an address in units of a `sector` (512 B), a `page` (4
    /// KiB) or a `byte`, or a `name`, whose object lies behind those that were requested before it.
    ///
    /// Absent: `sector`. Format: `oraclegeneral`.
    #[schemars(extend("x-value" = "WHAT", "x-panel" = "Workload"))]
    pub object_id: Option<String>,
    /// Treatment of addresses past the drive's end: `error`, `wrap`, `scale` or `compact`.
    #[schemars(extend("x-value" = "HOW", "x-panel" = "Workload"))]
    pub address: String,
    /// Placement of the devices of one trace: `stack`, one after the other, or `overlay`, all from byte 0.
    ///
    /// Stacked devices begin at multiples of 1 MiB.
    #[schemars(extend("x-value" = "HOW", "x-panel" = "Workload"))]
    pub layout: String,
    /// Labels of the streams (devices, volumes) to keep; absent: all.
    #[schemars(extend("x-value" = "LIST", "x-panel" = "Workload", "x-separator" = ","))]
    pub streams: Vec<String>,
    /// Factor by which recorded times are divided: 2 replays twice as fast as recorded.
    #[schemars(extend("x-value" = "X", "x-panel" = "Workload"))]
    pub time_scale: f64,
    /// Number of times that the trace is played.
    ///
    /// A repetition starts one mean gap after the last arrival of the previous one, and has the same addresses.
    #[schemars(extend("x-value" = "N", "x-panel" = "Workload"))]
    pub repeat: u32,
    /// Part of the trace that is played: requests (`0..1000`) or times (`10s..20s`), without the end.
    ///
    /// Requests count from 0, including trims and flushes; times count from the first request. Either bound may be left
    /// out.
    #[schemars(extend("x-value" = "A..B", "x-panel" = "Workload"))]
    pub slice: Option<String>,
    /// Pacing of a trace: `open` (at recorded times), `gaps` (at recorded gaps after the previous submission) or
    /// `closed:DEPTH`.
    ///
    /// Absent: `open`, or `closed:1` for a trace without times.
    #[schemars(extend("x-value" = "HOW", "x-panel" = "Workload"))]
    pub replay: Option<String>,
    /// Treat any step back in time as an error.
    #[schemars(extend("x-panel" = "Workload"))]
    pub strict_time: bool,
    /// Maximum number of requests of one pass, after `streams` and `slice`.
    #[schemars(extend("x-value" = "N", "x-panel" = "Workload", "x-least" = 1))]
    pub max_requests: Option<u64>,
    /// Time from the start whose commands are left out of the statistics, such as `2w`.
    #[schemars(extend("x-value" = "TIME", "x-panel" = "Workload"))]
    pub ramp_time: Option<Nanos>,
    /// Keys of a fio job (`verify,sync`) or elements of an XML profile to leave out, even if they would take effect.
    #[schemars(extend("x-value" = "KEYS", "x-panel" = "Workload", "x-separator" = ","))]
    pub ignore: Vec<String>,
    /// Values of the `${VARIABLES}` of a fio job file, as NAME=VALUE; others are taken from the environment.
    #[schemars(extend("x-value" = "NAME=VALUE", "x-panel" = "Workload"))]
    pub var: Vec<String>,
    /// Number of the scenario of an MQSim file that is run, from 1; absent: the file has one.
    #[schemars(extend("x-value" = "N", "x-panel" = "Workload", "x-least" = 1))]
    pub scenario: Option<u32>,
    /// Seed of the run. Traces do not use it.
    #[schemars(skip)]
    pub seed: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            format: None,
            columns: None,
            arrival: None,
            object_id: None,
            address: "error".to_owned(),
            layout: "stack".to_owned(),
            streams: Vec::new(),
            time_scale: 1.0,
            repeat: 1,
            slice: None,
            replay: None,
            strict_time: false,
            max_requests: None,
            ramp_time: None,
            ignore: Vec::new(),
            var: Vec::new(),
            scenario: None,
            seed: 1,
        }
    }
}

/// Treatment of addresses past the drive's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// The trace is refused.
    Error,
    /// Addresses are taken modulo the drive's capacity.
    Wrap,
    /// Addresses are scaled linearly, so that the largest becomes the drive's end.
    Scale,
    /// The regions of 1 MiB that are touched are renumbered in the order of first touch.
    Compact,
}

/// Event that is the arrival of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalEvent {
    /// The block layer receives the request (`Q` of blktrace).
    Queued,
    /// The device receives the request (`D` of blktrace).
    Issued,
}

/// Meaning of the number of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectId {
    /// Address in units of so many bytes.
    Of(u64),
    /// Name, which says nothing of an address.
    Name,
}

/// Placement of several streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One after the other.
    Stack,
    /// All start at byte 0.
    Overlay,
}

/// Pacing of the replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replay {
    /// At recorded arrivals.
    Open,
    /// At recorded gaps after the previous submission.
    Gaps,
    /// Closed loop, with at most this many requests in flight.
    Closed(u32),
}

/// Part of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slice {
    /// All of it.
    All,
    /// Requests by index, from 0, end excluded.
    Requests(u64, u64),
    /// Times since the first request \[ns\], end excluded.
    Times(u64, u64),
}

/// [`Options`] as checked values.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Table described by the user, if any.
    pub table: Option<Table>,
    /// Choices about what the trace says.
    pub reading: Reading,
    /// Treatment of addresses past the drive's end.
    pub address: Address,
    /// Placement of several streams.
    pub layout: Layout,
    /// Part of the trace to replay.
    pub slice: Slice,
    /// Pacing, if given.
    pub replay: Option<Replay>,
    /// Labels of the streams to replay; empty: all.
    pub streams: Vec<String>,
    /// True if any step back in time is an error.
    pub strict_time: bool,
    /// Maximum number of requests of a pass.
    pub max_requests: u64,
    /// Number of passes.
    pub repeat: u32,
    /// Factor by which recorded times are divided.
    pub time_scale: f64,
}

const ADDRESSES: &[(&str, Address)] =
    &[("error", Address::Error), ("wrap", Address::Wrap), ("scale", Address::Scale), ("compact", Address::Compact)];
const ARRIVALS: &[(&str, ArrivalEvent)] = &[("queued", ArrivalEvent::Queued), ("issued", ArrivalEvent::Issued)];
const OBJECT_IDS: &[(&str, ObjectId)] = &[
    ("sector", ObjectId::Of(kit::SECTOR_BYTES)),
    ("page", ObjectId::Of(4096)),
    ("byte", ObjectId::Of(1)),
    ("name", ObjectId::Name),
];
const LAYOUTS: &[(&str, Layout)] = &[("stack", Layout::Stack), ("overlay", Layout::Overlay)];

impl Options {
    /// Returns the options as checked values, or all their problems.
    pub fn plan(&self) -> Result<Plan, Problems> {
        let mut problems = Problems::default();
        let address = word("address", &self.address, ADDRESSES, &mut problems).unwrap_or(Address::Error);
        let arrival = self.arrival.as_deref().and_then(|name| word("arrival", name, ARRIVALS, &mut problems));
        let object_id = self.object_id.as_deref().and_then(|name| word("object_id", name, OBJECT_IDS, &mut problems));
        let layout = word("layout", &self.layout, LAYOUTS, &mut problems).unwrap_or(Layout::Stack);
        if !(self.time_scale.is_finite() && self.time_scale > 0.0) {
            problems.add(
                "time_scale",
                format!("{} is not a factor: expected a number above 0, such as 2 (twice as fast)", self.time_scale),
            );
        }
        if self.repeat == 0 {
            problems.add("repeat", "0: expected 1 or more");
        }
        if self.max_requests == Some(0) {
            problems.add("max_requests", "0: expected 1 or more");
        }
        let mut keep = |result: Result<(), Problem>| problems.0.extend(result.err());
        let slice = self.slice.as_deref().map_or(Ok(Slice::All), parse_slice);
        keep(slice.as_ref().map(drop).map_err(Clone::clone));
        let replay = self.replay.as_deref().map(parse_replay).transpose();
        keep(replay.as_ref().map(drop).map_err(Clone::clone));
        let table = self.columns.as_deref().map(Table::parse).transpose();
        keep(table.as_ref().map(drop).map_err(|why| Problem::new("columns", why.clone())));
        if self.columns.is_some() && self.format.is_some() {
            problems.add("columns", "given together with `format`: expected one of the two");
        }
        problems.or(())?;
        Ok(Plan {
            table: table.unwrap_or_default(),
            reading: Reading { arrival, object_id },
            address,
            layout,
            slice: slice.unwrap_or(Slice::All),
            replay: replay.unwrap_or_default(),
            streams: self.streams.clone(),
            strict_time: self.strict_time,
            max_requests: self.max_requests.unwrap_or(u64::MAX),
            repeat: self.repeat,
            time_scale: self.time_scale,
        })
    }
}

fn word<T: Copy>(place: &str, name: &str, words: &[(&str, T)], problems: &mut Problems) -> Option<T> {
    let found = words.iter().find(|(word, _)| *word == name).map(|(_, value)| *value);
    if found.is_none() {
        problems.0.push(Problem::unknown(place, "value", name, words.iter().map(|(word, _)| *word)));
    }
    found
}

fn parse_slice(text: &str) -> Result<Slice, Problem> {
    let complaint = |why: String| {
        Problem::new("slice", format!("`{text}`: {why}: expected requests such as 1000..2000 or times such as 10s..20s"))
    };
    let (from, to) = text.split_once("..").ok_or_else(|| complaint("no `..`".to_owned()))?;
    let (from, to) = (from.trim(), to.trim());
    let is_count = |side: &str| side.bytes().all(|b| b.is_ascii_digit() || b == b'_');
    let counts = is_count(from) && is_count(to);
    let side = |side: &str, absent: u64| -> Result<u64, Problem> {
        match (side, counts) {
            ("", _) => Ok(absent),
            (side, true) => side.replace('_', "").parse().map_err(|_| complaint(format!("`{side}` is not a number that fits"))),
            (side, false) => side.parse::<Nanos>().map(|span| span.0).map_err(complaint),
        }
    };
    let (from, to) = (side(from, 0)?, side(to, u64::MAX)?);
    if from >= to {
        return Err(complaint("empty".to_owned()));
    }
    Ok(if counts { Slice::Requests(from, to) } else { Slice::Times(from, to) })
}

fn parse_replay(text: &str) -> Result<Replay, Problem> {
    match (text, text.strip_prefix("closed:").map(str::parse::<u32>)) {
        ("open", _) => Ok(Replay::Open),
        ("gaps", _) => Ok(Replay::Gaps),
        (_, Some(Ok(depth))) if depth >= 1 => Ok(Replay::Closed(depth)),
        (_, Some(_)) => Err(Problem::new("replay", format!("`{text}`: expected a depth of 1 or more, such as closed:32"))),
        _ => Err(Problem::unknown("replay", "value", text, ["open", "gaps", "closed:DEPTH"])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_are_requests_or_times() {
        assert_eq!(parse_slice("10..20").ok(), Some(Slice::Requests(10, 20)));
        assert_eq!(parse_slice("..2_000").ok(), Some(Slice::Requests(0, 2000)));
        assert_eq!(parse_slice("10s..20s").ok(), Some(Slice::Times(10_000_000_000, 20_000_000_000)));
        assert_eq!(parse_slice("500ms..").ok(), Some(Slice::Times(500_000_000, u64::MAX)));
        for bad in ["10", "20..10", "5..5", "10s..20", "a..b", "1..99999999999999999999"] {
            assert!(parse_slice(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let options = Options {
            address: "warp".into(),
            layout: "stak".into(),
            time_scale: -1.0,
            repeat: 0,
            slice: Some("x".into()),
            replay: Some("closed:0".into()),
            columns: Some("time=0".into()),
            ..Options::default()
        };
        let text = options.plan().expect_err("seven problems").to_string();
        assert_eq!(text.lines().count(), 7, "{text}");
        assert!(text.contains("did you mean `wrap`?"), "{text}");
    }
}
