//! First pass over a trace: checks every line and counts the contents.

use super::detect::{self, Chosen};
use super::footprint::{Footprint, PAGE_BYTES};
use super::groups::{Groups, REGION_BYTES};
use super::options::{Address, Layout, Plan};
use super::reader::{Record, Skipped};
use super::select::Selection;
use crate::{Flags, Input};
use kit::{Nanos, Op, Problem, Problems};
use serde::Serialize;

/// Summary of a trace: of the part that the options select, after every line of the file has been checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TraceInfo {
    /// Format in which the trace was read.
    pub format: String,
    /// Other formats that fit.
    pub format_candidates: Vec<String>,
    /// Reads and writes.
    pub requests: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Requests of each modifier.
    pub modifiers: Modifiers,
    /// Lines of the file that are not requests.
    pub skipped: Skipped,
    /// Records of the file that came after a record of a later time.
    pub reordered: u64,
    /// Settings of the recording clock, in the file, for which times were corrected.
    pub clock_sets: u64,
    /// Records of the file that were widened to whole sectors.
    pub widened: u64,
    /// Lines of the file.
    pub lines: u64,
    /// Time from the first arrival to the last \[ns\], including trims and flushes.
    pub span_ns: u64,
    /// Longest time between two arrivals \[ns\].
    pub longest_gap_ns: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Bytes trimmed.
    pub trim_bytes: u64,
    /// Distinct 4 KiB pages read or written, times 4096; each stream has its own address space.
    pub footprint_bytes: u64,
    /// Streams (devices, volumes, files).
    pub streams: u64,
    /// First byte past the largest address of any stream.
    pub max_address_bytes: u64,
    /// Size of the address space of all streams together in the chosen layout \[bytes\].
    pub extent_bytes: u64,
    /// Mean length of a read \[bytes\]; absent without reads.
    pub mean_read_bytes: Option<f64>,
    /// Mean length of a write \[bytes\]; absent without writes.
    pub mean_write_bytes: Option<f64>,
    /// Share of reads and writes whose start or end is not a multiple of 4 KiB.
    pub unaligned_share: Option<f64>,
    /// Summaries of the streams, in the order of first appearance.
    pub by_stream: Vec<StreamInfo>,
    /// Messages for the user about how the trace was read.
    pub notes: Vec<String>,
}

/// Numbers of requests that have a modifier, in formats that record them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Modifiers {
    /// Writes that complete once they are programmed (FUA).
    pub fua: u64,
    /// Writes before which a flush comes.
    pub flush_before: u64,
    /// Requests that a process waits for.
    pub sync: u64,
    /// Requests that move metadata of a file system.
    pub metadata: u64,
    /// Reads ahead.
    pub read_ahead: u64,
}

impl Modifiers {
    #[cold]
    fn add(&mut self, record: &Record) {
        let writes = record.op == Op::Write;
        for (count, flag, counts) in [
            (&mut self.fua, Flags::FUA, writes),
            (&mut self.flush_before, Flags::FLUSH_BEFORE, writes),
            (&mut self.sync, Flags::SYNC, true),
            (&mut self.metadata, Flags::METADATA, true),
            (&mut self.read_ahead, Flags::AHEAD, true),
        ] {
            *count += u64::from(counts && record.flags.contains(flag));
        }
    }
}

/// Summary of one stream of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StreamInfo {
    /// Label of the stream.
    pub stream: String,
    /// Reads and writes.
    pub requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Distinct 4 KiB pages read or written, times 4096.
    pub footprint_bytes: u64,
    /// First byte past its largest address.
    pub max_address_bytes: u64,
}

/// Result of scanning a trace.
pub struct Scan {
    /// Summary of the trace.
    pub info: TraceInfo,
    /// Format and parser of the trace.
    pub chosen: Chosen,
    /// Number of selected records, of any operation.
    pub records: u64,
    /// First byte of each stream in the layout.
    pub bases: Vec<u64>,
    /// Groups of the regions touched, if addresses are compacted; each stream is its own address space unless the
    /// streams are overlaid.
    pub groups: Groups,
}

/// Number of arrivals per distinct instant from which a clock is reported as coarse.
const COARSE: u64 = 32;

#[derive(Default)]
struct Tally {
    ops: [u64; Op::COUNT],
    bytes: [u64; Op::COUNT],
    first_ns: Option<u64>,
    last_ns: u64,
    longest_gap_ns: u64,
    /// Number of distinct arrival times.
    instants: u64,
    unaligned: u64,
    modifiers: Modifiers,
    streams: Vec<(StreamInfo, Footprint)>,
    groups: Option<Groups>,
    overlay: bool,
}

impl Tally {
    #[inline]
    fn add(&mut self, record: &Record) {
        let op = record.op as usize;
        self.ops[op] += 1;
        self.bytes[op] = self.bytes[op].saturating_add(record.length);
        if record.flags != Flags::NONE {
            self.modifiers.add(record);
        }
        if self.first_ns.is_some() {
            self.longest_gap_ns = self.longest_gap_ns.max(record.at_ns - self.last_ns);
            self.instants += u64::from(record.at_ns > self.last_ns);
        } else {
            self.first_ns = Some(record.at_ns);
            self.instants = 1;
        }
        self.last_ns = record.at_ns;
        let stream = usize::from(record.stream);
        if self.streams.len() <= stream {
            self.streams.resize_with(stream + 1, Default::default);
        }
        let (info, footprint) = &mut self.streams[stream];
        if record.op == Op::Flush {
            return;
        }
        info.max_address_bytes = info.max_address_bytes.max(record.offset + record.length);
        if record.op != Op::Trim {
            info.requests += 1;
            *(if record.op == Op::Read { &mut info.read_bytes } else { &mut info.write_bytes }) += record.length;
            self.unaligned += u64::from(!(record.offset | record.length).is_multiple_of(PAGE_BYTES));
            footprint.touch(record.offset, record.length);
        }
        if let Some(groups) = &mut self.groups {
            groups.touch(if self.overlay { 0 } else { record.stream }, record.offset, record.length);
        }
    }
}

/// Observer of the records of a scan.
pub trait RecordObserver {
    /// Forgets all records so far: they were misread, and all of them will be shown again.
    fn restart(&mut self);
    /// Observes the next selected record.
    fn record(&mut self, record: &Record) -> Result<(), Problems>;
}

/// Observer that does nothing.
struct NoObserver;

impl RecordObserver for NoObserver {
    fn restart(&mut self) {}

    #[inline(always)]
    fn record(&mut self, _: &Record) -> Result<(), Problems> {
        Ok(())
    }
}

/// Scans `input`.
pub fn scan(input: &Input, named: Option<&str>, plan: &Plan) -> Result<Scan, Problems> {
    scan_observed(input, named, plan, &mut NoObserver)
}

/// Scans `input` and shows each selected record to `look`.
pub fn scan_observed(input: &Input, named: Option<&str>, plan: &Plan, look: &mut impl RecordObserver) -> Result<Scan, Problems> {
    let mut chosen = detect::choose(input, named, plan)?;
    let (mut selection, mut tally) = pass(input, &chosen, plan, look)?;
    if selection.reorder().reader().parser().misread() {
        chosen.parser = selection.reorder().reader().parser().restart();
        look.restart();
        (selection, tally) = pass(input, &chosen, plan, look)?;
    }
    chosen.parser = selection.reorder().reader().parser().restart();
    check_streams(&selection, plan)?;
    let records: u64 = tally.ops.iter().sum();
    if records == 0 {
        let complaint = if selection.any() {
            "the slice selects no requests: expected at least one"
        } else {
            "the trace has no requests: expected at least one"
        };
        return Err(Problems::one(&input.name, complaint));
    }
    Ok(summary(chosen, &selection, tally, plan))
}

/// Reads the whole trace once.
fn pass(input: &Input, chosen: &Chosen, plan: &Plan, look: &mut impl RecordObserver) -> Result<(Selection, Tally), Problems> {
    let mut selection = Selection::open(input, chosen, plan)?;
    let mut tally = Tally { overlay: plan.layout == Layout::Overlay, ..Tally::default() };
    if plan.address == Address::Compact {
        tally.groups = Some(Groups::default());
    }
    while let Some(record) = selection.next()? {
        tally.add(&record);
        look.record(&record)?;
    }
    selection.check_rest()?;
    Ok((selection, tally))
}

/// Refuses names of streams that the trace does not have.
fn check_streams(selection: &Selection, plan: &Plan) -> Result<(), Problems> {
    let streams = selection.reorder().reader().streams();
    let mut problems = Problems::default();
    for name in plan.streams.iter().filter(|name| !streams.labels().contains(name)) {
        let all: Vec<String> = streams.all_labels().collect();
        problems.0.push(Problem::unknown("streams", "stream", name, all.iter().map(String::as_str)));
    }
    problems.or(())
}

/// Returns the first byte of each stream, and the size of the address space of all streams together.
fn lay_out(ends: impl Iterator<Item = u64>, layout: Layout) -> (Vec<u64>, u64) {
    let mut bases = Vec::new();
    let mut extent = 0u64;
    for end in ends {
        match layout {
            Layout::Overlay => {
                bases.push(0);
                extent = extent.max(end);
            }
            Layout::Stack => {
                // Where the sum does not fit, no drive is large enough.
                let base = extent.checked_next_multiple_of(REGION_BYTES).unwrap_or(u64::MAX);
                bases.push(base);
                extent = base.saturating_add(end);
            }
        }
    }
    (bases, extent)
}

fn summary(chosen: Chosen, selection: &Selection, mut tally: Tally, plan: &Plan) -> Scan {
    let reorder = selection.reorder();
    let reader = reorder.reader();
    let labels = reader.streams().labels();
    // Streams that occur only outside the selection have a label but no tally; they are left out.
    let by_stream: Vec<StreamInfo> = std::mem::take(&mut tally.streams)
        .into_iter()
        .zip(labels)
        .map(|((info, footprint), label)| StreamInfo { stream: label.clone(), footprint_bytes: footprint.bytes(), ..info })
        .collect();
    let (bases, extent_bytes) = lay_out(by_stream.iter().map(|stream| stream.max_address_bytes), plan.layout);
    let [reads, writes, trims, flushes, ..] = tally.ops;
    let [read_bytes, write_bytes, trim_bytes, ..] = tally.bytes;
    let mean = |bytes: u64, count: u64| (count > 0).then(|| bytes as f64 / count as f64);
    let counts = reader.counts();
    let mut info = TraceInfo {
        format: chosen.name.to_owned(),
        format_candidates: chosen.candidates.iter().map(|name| (*name).to_owned()).collect(),
        requests: reads + writes,
        reads,
        writes,
        trims,
        flushes,
        modifiers: tally.modifiers,
        skipped: counts.skipped,
        reordered: reorder.reordered(),
        clock_sets: counts.clock_sets,
        widened: counts.widened,
        lines: reader.line_count(),
        span_ns: tally.last_ns - tally.first_ns.unwrap_or(0),
        longest_gap_ns: tally.longest_gap_ns,
        read_bytes,
        write_bytes,
        trim_bytes,
        footprint_bytes: by_stream.iter().map(|stream| stream.footprint_bytes).sum(),
        streams: by_stream.len() as u64,
        max_address_bytes: by_stream.iter().map(|stream| stream.max_address_bytes).max().unwrap_or(0),
        extent_bytes,
        mean_read_bytes: mean(read_bytes, reads),
        mean_write_bytes: mean(write_bytes, writes),
        unaligned_share: mean(tally.unaligned, reads + writes),
        by_stream,
        notes: Vec::new(),
    };
    info.notes = notes(&info, tally.instants, &chosen, reader.parser().note());
    info.notes.extend(copies_note(&info, &reader.parser().copies()));
    info.notes.extend(unit_note(info.requests + info.trims + info.flushes, info.span_ns, chosen.unit_ns));
    Scan { info, chosen, records: reads + writes + trims + flushes, bases, groups: tally.groups.unwrap_or_default() }
}

fn notes(info: &TraceInfo, instants: u64, chosen: &Chosen, parser: Option<String>) -> Vec<String> {
    let mut notes = Vec::new();
    if !info.format_candidates.is_empty() {
        let others = info.format_candidates.join(", ");
        notes.push(format!("read as {}; {others} would fit as well (choose one with --format)", chosen.name));
    }
    notes.extend(parser);
    let mut count = |number: u64, text: &str| {
        if number > 0 {
            notes.push(format!("{number} {text}"));
        }
    };
    count(info.skipped.zero_length, "zero-length requests were left out");
    count(info.widened, "requests were widened to whole sectors of 512 bytes");
    count(info.reordered, "records were out of time order and were sorted");
    count(info.clock_sets, "jumps of the recording clock were corrected: time continues from the latest time before the jump");
    let arrivals = info.requests + info.trims + info.flushes;
    if info.span_ns > 0 && arrivals >= instants.saturating_mul(COARSE) {
        notes.push(format!(
            "{arrivals} requests arrive at {instants} instants: the trace's clock is coarse, and latencies at recorded speed are dominated by these bursts"
        ));
    }
    if info.longest_gap_ns > 600_000_000_000 {
        let seconds = Nanos(info.longest_gap_ns / 1_000_000_000 * 1_000_000_000);
        notes.push(format!("the longest gap between arrivals is {seconds}"));
    }
    notes
}

/// Notes the requests of the selected streams that the trace has twice, since one stream is mapped to another: a volume
/// and the disk below it.
fn copies_note(info: &TraceInfo, copies: &[(Vec<u8>, Vec<u8>, u64)]) -> Option<String> {
    let known = |name: &[u8]| {
        let label = super::streams::label(name);
        info.by_stream.iter().find(|stream| stream.stream == label && stream.requests > 0)
    };
    let twice = copies.iter().filter_map(|(from, to, count)| Some((known(from)?, known(to)?, *count)));
    let twice: Vec<String> = twice
        .map(|(from, to, count)| {
            let (lower, requests) = (&to.stream, to.requests);
            format!("{} of the {requests} requests of {lower} are those of {}", count.min(requests), from.stream)
        })
        .collect();
    let below = copies.iter().filter_map(|(from, to, _)| known(from).and(known(to))).map(|stream| stream.stream.as_str());
    let below: std::collections::BTreeSet<&str> = below.collect();
    let list = |wanted: &dyn Fn(&str) -> bool| {
        let all = info.by_stream.iter().map(|stream| stream.stream.as_str()).filter(|stream| wanted(stream));
        all.collect::<Vec<_>>().join(",")
    };
    let (lower, upper) = (list(&|stream| below.contains(stream)), list(&|stream| !below.contains(stream)));
    (!twice.is_empty()).then(|| {
        format!(
            "counted twice, mapped from one device to another: {}; choose the disks with --streams {lower}, or what uses them with --streams {upper}",
            twice.join(", ")
        )
    })
}

/// Fewest requests of which the rate says anything of the unit of time.
const RATED: u64 = 100;
/// Requests per second that no device of any trace serves.
const RATE_MAX: f64 = 2e6;
/// Mean time between two requests that no trace has whose device is used \[ns\].
const GAP_MAX_NS: f64 = 3600e9;

/// Notes that the unit of time is not plausible, with one that is.
fn unit_note(arrivals: u64, span_ns: u64, unit_ns: Option<u64>) -> Option<String> {
    const UNITS: [(&str, u64); 4] = [("ns", 1), ("us", 1000), ("ms", 1_000_000), ("s", 1_000_000_000)];
    let unit_ns = unit_ns?;
    if arrivals < RATED || span_ns == 0 {
        return None;
    }
    let rate = |factor: f64| (arrivals - 1) as f64 / (span_ns as f64 * 1e-9 * factor);
    let believed = |rate: f64| (1e9 / GAP_MAX_NS..=RATE_MAX).contains(&rate);
    if believed(rate(1.0)) {
        return None;
    }
    let factor = |other: u64| other as f64 / unit_ns as f64;
    // The unit nearest to the present one.
    let mut others: Vec<(&str, u64)> = UNITS.into_iter().filter(|(_, other)| believed(rate(factor(*other)))).collect();
    others.sort_by_key(|(_, other)| (*other).max(unit_ns) / (*other).min(unit_ns));
    let name = UNITS.iter().find(|(_, other)| *other == unit_ns).map_or("another unit", |(name, _)| name);
    let wanted = others.first().map_or_else(String::new, |(other, unit)| {
        format!(
            "; in {other} they would be {:.3} requests a second over {:.3} s",
            rate(factor(*unit)),
            span_ns as f64 * 1e-9 * factor(*unit)
        )
    });
    Some(format!(
        "the unit of time may be wrong: {arrivals} requests in {:.6} s are {:.3} requests a second, with times in {name}{wanted}",
        span_ns as f64 * 1e-9,
        rate(1.0)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_of_time_that_cannot_be_are_noted() {
        // 10,000 requests, one each 100 us, read as nanoseconds: 1 ms in all.
        let note = unit_note(10_000, 1_000_000, Some(1)).expect("ten million a millisecond");
        assert!(
            note.contains("times in ns") && note.contains("in us they would be 9999.000 requests a second over 1.000 s"),
            "{note}"
        );
        let note = unit_note(1000, 1_000_000_000_000_000, Some(1_000_000)).map(|_| ());
        assert_eq!(note, None, "a request each 17 minutes");
        let slow = unit_note(1000, 10_000_000_000_000_000, Some(1_000_000_000)).expect("a request each three hours");
        assert!(slow.contains("times in s") && slow.contains("in ms they would be"), "{slow}");
        assert_eq!(
            (unit_note(99, 1, Some(1)), unit_note(10_000, 1_000_000, None), unit_note(10_000, 0, Some(1))),
            (None, None, None)
        );
    }

    #[test]
    fn streams_are_stacked_at_whole_mebibytes() {
        let ends = [5000, 0, 3 << 20, 512];
        assert_eq!(lay_out(ends.into_iter(), Layout::Stack), (vec![0, 1 << 20, 1 << 20, 4 << 20], (4 << 20) + 512));
        assert_eq!(lay_out(ends.into_iter(), Layout::Overlay), (vec![0; 4], 3 << 20));
    }
}
