//! Scenarios of MQSim: flows of synthetic requests, with the meaning that MQSim gives their parameters.
//!
//! - Each flow is a job. The flows share the addresses of the drive in equal parts, one after another, and a flow
//!   accesses the first `Working_Set_Percentage` of its part.
//! - Hot and cold: `Percentage_of_Hot_Region` of the addresses, h %, have (100 - h) % of the requests.
//! - `BANDWIDTH` is an open loop whose gaps are exponential; `QUEUE_DEPTH` a closed one.
//! - Streams of requests have one position for reads and writes.

use super::reader::{Fields, Reader, reference as tables};
use super::region::{Course, Region};
use crate::fio::keys::{Key, honoured, ignored, off, refused};
use crate::synthetic::arrival::poisson;
use crate::synthetic::timed::Timed;
use crate::{Job, Limits, Pacing, Source, Workload};
use kit::{Bytes, Nanos, Problems, Rng, SECTOR_BYTES};
use roxmltree::Node;
use serde::Serialize;

const DRIVE: &str = "it belongs to the drive: `ssdlab import` lists it";
const PARTS: &str = "all flows have the whole flash";

/// Elements of `<IO_Scenario>`.
const SCENARIO: &[Key] = &[
    honoured("IO_Flow_Parameter_Set_Synthetic", "A flow; the flows run at the same time."),
    refused(
        "IO_Flow_Parameter_Set_Trace_Based",
        "the trace is a workload itself: `ssdlab run DRIVE FILE --format ssdsim --layout overlay --address wrap`, \
         as MQSim takes its addresses",
    ),
];
/// Elements of `<IO_Flow_Parameter_Set_Synthetic>`.
const FLOW: &[Key] = &[
    honoured("Working_Set_Percentage", "Share of the flow's addresses that is accessed, from 1 to 100; 85 by default."),
    honoured("Synthetic_Generator_Type", "`QUEUE_DEPTH`, the default, or `BANDWIDTH`."),
    honoured("Read_Percentage", "Percentage of reads; 100 by default."),
    honoured("Address_Distribution", "`STREAMING`, `RANDOM_UNIFORM`, the default, or `RANDOM_HOTCOLD`."),
    honoured("Percentage_of_Hot_Region", "Percentage h of the addresses that have (100 - h) % of the requests."),
    honoured("Generated_Aligned_Addresses", "Addresses are multiples of the alignment unit; false: of a sector."),
    honoured("Address_Alignment_Unit", "Alignment unit \\[sectors\\]; 16 by default."),
    honoured("Average_Request_Size", "Length of a request \\[sectors\\]; 8 by default."),
    honoured("Seed", "Seed of the flow; takes precedence over `--seed`."),
    honoured("Average_No_of_Reqs_in_Queue", "Requests in flight, with `QUEUE_DEPTH`; 2 by default."),
    honoured("Bandwidth", "Mean rate \\[B/s\\], with `BANDWIDTH`; 262144 by default."),
    honoured("Stop_Time", "Time at which the flow ends \\[ns\\]; 0: `Total_Requests_To_Generate` ends it."),
    honoured("Total_Requests_To_Generate", "Number of requests, if `Stop_Time` is 0."),
    off("Request_Size_Distribution", &["FIXED"], "requests have one length: a synthetic workload has `sizes` with weights"),
    ignored("Variance_Request_Size", "requests have one length"),
    ignored("Priority_Class", "the drive has the arbitration: `host.interface.arbitration`"),
    ignored("Device_Level_Data_Caching_Mode", DRIVE),
    ignored("Channel_IDs", PARTS),
    ignored("Chip_IDs", PARTS),
    ignored("Die_IDs", PARTS),
    ignored("Plane_IDs", PARTS),
    ignored("Initial_Occupancy_Percentage", "the starting state is an option of a run, `--precondition`"),
    ignored("Intensity", "a name of an earlier version, without effect beside `Average_No_of_Reqs_in_Queue`"),
    ignored("Type", "the name of the element says it"),
];

/// Returns the tables of all elements, in Markdown.
pub fn reference() -> String {
    tables(&[("IO_Scenario", SCENARIO), ("IO_Flow_Parameter_Set_Synthetic", FLOW)])
}

/// Content of `workload.toml`.
#[derive(Serialize)]
struct Record {
    kind: &'static str,
    user_capacity: Bytes,
    job: Vec<JobRecord>,
}

/// All values of one flow, with defaults applied.
#[derive(Serialize)]
struct JobRecord {
    name: String,
    stream: u16,
    offset: Bytes,
    size: Bytes,
    block: Bytes,
    read_percent: u64,
    course: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    poisson_mean_gap_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime: Option<Nanos>,
    // Text, because a TOML integer has 63 bits.
    seed: String,
    seed_streams: String,
}

/// Returns the scenario with a number, or the only one.
fn scenario<'a>(reader: &Reader<'a>, root: Node<'a, 'a>, number: Option<u32>) -> Result<Node<'a, 'a>, Problems> {
    let scenarios: Vec<_> = root.children().filter(Node::is_element).collect();
    let found = scenarios.len();
    let chosen = match (number, found) {
        (Some(number), _) => (number as usize).checked_sub(1).and_then(|index| scenarios.get(index)),
        (None, 1) => scenarios.first(),
        (None, _) => None,
    };
    if let Some(other) = scenarios.iter().find(|scenario| !scenario.has_tag_name("IO_Scenario")) {
        let name = other.tag_name().name();
        return Err(Problems::one(reader.place(*other), format!("<{name}>: expected <IO_Scenario>")));
    }
    chosen.copied().ok_or_else(|| match (number, found) {
        (_, 0) => Problems::one(reader.place(root), "empty: expected an <IO_Scenario>"),
        (Some(number), _) => Problems::one("scenario", format!("{number}: expected 1..={found}")),
        (None, _) => Problems::one(
            reader.place(root),
            format!("{found} scenarios, of which each is a run of its own: expected --scenario N, with N from 1 to {found}"),
        ),
    })
}

/// Reads a document and builds the jobs of the chosen scenario.
pub(super) fn open<'a>(
    reader: &mut Reader<'a>,
    root: Node<'a, 'a>,
    user_bytes: u64,
    (number, seed): (Option<u32>, u64),
) -> Result<Workload, Problems> {
    let scenario = scenario(reader, root, number)?;
    let nodes: Vec<_> = scenario.children().filter(Node::is_element).collect();
    let mut flows = Vec::new();
    for node in nodes {
        if node.has_tag_name("IO_Flow_Parameter_Set_Synthetic") {
            flows.push((node, reader.fields(node, FLOW)));
        } else {
            reader.only(node, SCENARIO);
        }
    }
    if flows.is_empty() && reader.problems.0.is_empty() {
        reader.complain(scenario, "empty: expected at least one <IO_Flow_Parameter_Set_Synthetic>");
    }
    let part = user_bytes / (flows.len().max(1) as u64) / 4096 * 4096;
    let mut record = Record { kind: "mqsim", user_capacity: Bytes(user_bytes), job: Vec::new() };
    let mut jobs = Vec::new();
    for (index, (node, fields)) in flows.iter().enumerate() {
        let Ok(stream) = u16::try_from(index) else { break };
        jobs.extend(flow(reader, *node, fields, (part * index as u64, part), (stream, seed), &mut record));
    }
    let notes = reader.notes();
    std::mem::take(&mut reader.problems).or(())?;
    let resolved = toml::to_string(&record).expect("a record of plain values is TOML");
    Ok(Workload { jobs, streams: Vec::new(), resolved, notes, period: None, is_endless: false, standalone: None })
}

/// Builds the job of a flow; `None` if it has a problem.
fn flow(
    reader: &mut Reader<'_>,
    node: Node<'_, '_>,
    fields: &Fields<'_>,
    (start, part): (u64, u64),
    (stream, seed): (u16, u64),
    record: &mut Record,
) -> Option<Job> {
    let before = reader.problems.0.len();
    let region = region(reader, node, fields, (start, part));
    let is_closed = reader.choice(fields, "Synthetic_Generator_Type", &[("QUEUE_DEPTH", true), ("BANDWIDTH", false)], true);
    let depth = reader.number(fields, "Average_No_of_Reqs_in_Queue", 2, (1, 1 << 20)) as u32;
    let bandwidth = reader.number(fields, "Bandwidth", 262_144, (1, 1 << 50));
    let own = fields.get("Seed").map(|_| reader.number(fields, "Seed", 0, (0, u64::from(u32::MAX))));
    let stop = reader.number(fields, "Stop_Time", 0, (0, 1 << 62));
    let total = reader.number(fields, "Total_Requests_To_Generate", 0, (0, 1 << 60));
    if stop == 0 && total == 0 {
        reader.complain(node, "the flow has no end: expected <Stop_Time> or <Total_Requests_To_Generate> above 0");
    }
    let region = region.filter(|_| reader.problems.0.len() == before)?;
    let (requests, runtime) = if stop > 0 { (None, Some(Nanos(stop))) } else { (Some(total), None) };
    let region = Region { requests_max: requests, ..region };
    let (seed, streams) = match own {
        Some(own) => (own, "mqsim.flow".to_owned()),
        None => (seed, format!("mqsim.flow.{stream}")),
    };
    let gap_ns = (!is_closed).then(|| region.block as f64 * 1e9 / bandwidth as f64);
    let blocks = region.source(stream, seed, &streams);
    let source: Box<dyn Source> = match gap_ns {
        None => Box::new(blocks),
        Some(gap_ns) => {
            Box::new(Timed::new(blocks, poisson::with_mean_ns(gap_ns, Rng::stream(seed, &format!("{streams}.arrival")))))
        }
    };
    let name = format!("flow {stream}");
    record.job.push(JobRecord {
        name: name.clone(),
        stream,
        offset: Bytes(region.offset),
        size: Bytes(region.bytes),
        block: Bytes(region.block),
        read_percent: libm::round(region.read_share * 100.0) as u64,
        course: format!("{:?}", region.course),
        depth: is_closed.then_some(depth),
        poisson_mean_gap_ns: gap_ns,
        requests,
        runtime,
        seed: seed.to_string(),
        seed_streams: streams,
    });
    Some(Job {
        name,
        grain: region.grain(),
        source,
        pacing: if is_closed { Pacing::Closed { depth } } else { Pacing::Open },
        overwrites_in_passes: false,
        limits: Limits { requests, bytes: None, runtime },
        think: None,
        rates: None,
        flow: None,
        waits_for: Vec::new(),
        start_delay: Nanos::ZERO,
        ramp_time: Nanos::ZERO,
        fua: false,
        is_trace: false,
        wave: 0,
    })
}

/// Reads the addresses of a flow; `None` if its part of the drive has no room for a request.
fn region(reader: &mut Reader<'_>, node: Node<'_, '_>, fields: &Fields<'_>, (start, part): (u64, u64)) -> Option<Region> {
    #[derive(Clone, Copy)]
    enum Kind {
        Streaming,
        Uniform,
        HotCold,
    }
    let percent = reader.number(fields, "Working_Set_Percentage", 85, (1, 100));
    let block = reader.number(fields, "Average_Request_Size", 8, (1, 1 << 23)) * SECTOR_BYTES;
    let reads = reader.number(fields, "Read_Percentage", 100, (0, 100));
    let kinds = [
        ("STREAMING", Kind::Streaming),
        ("RANDOM_UNIFORM", Kind::Uniform),
        ("UNIFORM_RANDOM", Kind::Uniform),
        ("RANDOM_HOTCOLD", Kind::HotCold),
        ("HOTCOLD_RANDOM", Kind::HotCold),
    ];
    let kind = reader.choice(fields, "Address_Distribution", &kinds, Kind::Uniform);
    let hot = reader.number(fields, "Percentage_of_Hot_Region", 0, (0, 100)) as f64 / 100.0;
    let is_aligned = fields.get("Generated_Aligned_Addresses").is_none() || reader.flag(fields, "Generated_Aligned_Addresses");
    let unit = reader.number(fields, "Address_Alignment_Unit", 16, (1, 1 << 32)) * SECTOR_BYTES;
    let grain = if is_aligned { unit } else { SECTOR_BYTES };
    let bytes = u64::try_from(u128::from(part) * u128::from(percent) / 100).unwrap_or(u64::MAX) / grain * grain;
    if bytes < block {
        reader.complain(node, format!("{bytes} bytes of the drive are the flow's: expected room for a request of {block}"));
        return None;
    }
    let random = |hot| Course::Random { grain, percent: 100, hot };
    let course = match kind {
        Kind::Streaming => Course::Sequential { distance: if is_aligned { block.div_ceil(grain) * grain } else { block } },
        Kind::Uniform => random(None),
        Kind::HotCold => random(Some((hot, 1.0 - hot))),
    };
    Some(Region { offset: start, bytes, block, read_share: reads as f64 / 100.0, course, requests_max: None })
}
