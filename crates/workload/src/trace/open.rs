//! A trace as a workload of one job.

use super::options::{Address, Layout, Options, Plan, Replay as Pace};
use super::place::Placement;
use super::replay::Replay;
use super::scan::{Scan, TraceInfo, scan};
use crate::{Input, Job, Limits, Pacing, Workload};
use kit::{Nanos, Problems};
use serde::Serialize;

/// Content of `workload.toml`: the resolved options and the summary of the trace. It is the same for the same input and
/// options.
#[derive(Serialize)]
struct Resolved<'a> {
    kind: &'a str,
    name: &'a str,
    format: &'a str,
    format_candidates: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    columns: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arrival: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    object_id: Option<&'a str>,
    address: &'a str,
    layout: &'a str,
    streams: Vec<&'a str>,
    time_scale: f64,
    repeat: u32,
    slice: &'a str,
    replay: String,
    strict_time: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_requests: Option<u64>,
    seed: toml::Value,
    user_bytes: u64,
    scan: &'a TraceInfo,
}

const UNTIMED: &str = "the trace has no times: replayed as a closed loop of depth 1 (closed:1) \
                       (choose with --replay closed:DEPTH)";
const WRAPPED: &str = "addresses past the drive's end wrap around; a request that would cross the end is moved back to end there";
const SCALED: &str = "addresses are scaled down to the drive; requests keep their size, so neighbours may overlap";

/// Opens the trace `input` for a drive of `user_bytes`.
pub fn open(input: &Input, user_bytes: u64, options: &Options) -> Result<Workload, Problems> {
    let plan = options.plan()?;
    let scan = scan(input, options.format.as_deref(), &plan)?;
    let placement = Placement::new(&scan, &plan, user_bytes)?;
    let mut notes = scan.info.notes.clone();
    let pacing = pacing(&scan, &plan, &mut notes)?;
    note_placement(&scan, &plan, user_bytes, &mut notes);
    let resolved = resolved(input, options, &scan.info, pacing, user_bytes)?;
    let streams = scan.info.by_stream.iter().map(|stream| stream.stream.clone()).collect();
    let source = Replay::new(input, scan, &plan, placement)?;
    let period = Some(source.period()).filter(|_| !matches!(pacing, Pacing::Closed { .. }));
    let job = Job {
        name: input.name.clone(),
        grain: kit::SECTOR_BYTES,
        source: Box::new(source),
        pacing,
        overwrites_in_passes: false,
        limits: Limits::default(),
        think: None,
        rates: None,
        flow: None,
        waits_for: Vec::new(),
        start_delay: Nanos::ZERO,
        ramp_time: options.ramp_time.unwrap_or_default(),
        fua: false,
        is_trace: true,
        wave: 0,
    };
    Ok(Workload { jobs: vec![job], streams, resolved, notes, period, is_endless: false, standalone: None })
}

fn pacing(scan: &Scan, plan: &Plan, notes: &mut Vec<String>) -> Result<Pacing, Problems> {
    let timed = scan.chosen.timed || scan.info.span_ns > 0;
    match plan.replay {
        Some(Pace::Closed(depth)) => Ok(Pacing::Closed { depth }),
        Some(_) if !timed => Err(Problems::one(
            "replay",
            format!("the trace has no times ({} records none): expected closed:DEPTH", scan.chosen.name),
        )),
        Some(Pace::Gaps) => Ok(Pacing::Gaps),
        Some(Pace::Open) => Ok(Pacing::Open),
        None if timed => Ok(Pacing::Open),
        None => {
            notes.push(UNTIMED.to_owned());
            Ok(Pacing::Closed { depth: 1 })
        }
    }
}

fn note_placement(scan: &Scan, plan: &Plan, user_bytes: u64, notes: &mut Vec<String>) {
    let info = &scan.info;
    let moved = info.extent_bytes > user_bytes;
    match plan.address {
        Address::Wrap if moved => notes.push(WRAPPED.to_owned()),
        Address::Scale if moved => notes.push(SCALED.to_owned()),
        Address::Compact => notes.push(format!(
            "addresses are compacted to {} regions of 1 MiB, in the order of first touch; regions that one request touches stay together",
            scan.groups.count()
        )),
        _ => {}
    }
    if info.streams > 1 {
        notes.push(match plan.layout {
            Layout::Stack => format!("{} streams lie one after the other ({} bytes)", info.streams, info.extent_bytes),
            Layout::Overlay => format!("{} streams share one address space", info.streams),
        });
    }
}

fn resolved(input: &Input, options: &Options, info: &TraceInfo, pacing: Pacing, user_bytes: u64) -> Result<String, Problems> {
    let replay = match pacing {
        Pacing::Open => "open".to_owned(),
        Pacing::Gaps => "gaps".to_owned(),
        Pacing::Closed { depth } => format!("closed:{depth}"),
    };
    let resolved = Resolved {
        kind: "trace",
        name: &input.name,
        format: &info.format,
        format_candidates: &info.format_candidates,
        columns: options.columns.as_deref(),
        arrival: options.arrival.as_deref(),
        object_id: options.object_id.as_deref(),
        address: &options.address,
        layout: &options.layout,
        streams: info.by_stream.iter().map(|stream| stream.stream.as_str()).collect(),
        time_scale: options.time_scale,
        repeat: options.repeat,
        slice: options.slice.as_deref().unwrap_or("0.."),
        replay,
        strict_time: options.strict_time,
        max_requests: options.max_requests.filter(|count| i64::try_from(*count).is_ok()),
        // TOML integers have 63 bits.
        seed: i64::try_from(options.seed).map_or_else(|_| options.seed.to_string().into(), toml::Value::Integer),
        user_bytes,
        scan: info,
    };
    toml::to_string(&resolved).map_err(|error| Problems::one(&input.name, format!("cannot be described: {error}")))
}
