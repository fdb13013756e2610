//! Conversion of a trace to another format.

use super::format::{self, Format, Raw, Writer};
use super::options::{Address, Options};
use super::place::Placement;
use super::replay::Replay;
use super::scan::{TraceInfo, scan};
use crate::{Flags, Input, Source};
use kit::{Op, Problem, Problems};
use std::io::Write;

/// Number of requests read and written at a time.
const BATCH: usize = 4096;

/// Reads `input` and writes the requests that the options select to `out` in `target_format`. Filter, slice, time scale
/// and repetition apply. Of the options for addresses, only `compact` does, because there is no drive. If the format
/// records streams and addresses are not compacted, each stream keeps its own address space; otherwise the streams are
/// placed according to the layout. Streams are written as numbers, in the order of first appearance. Trims and flushes
/// are left out, with a note, if the format has no code for them.
pub fn convert(input: &Input, options: &Options, target_format: &str, out: &mut dyn Write) -> Result<TraceInfo, Problems> {
    let target = format::named(target_format).ok_or_else(|| {
        Problem::unknown(
            "format",
            "trace format",
            target_format,
            format::all().filter(|format| writable(*format)).map(Format::name),
        )
    })?;
    let Writer::Lines { line, streams, ops, header } = target.writer() else {
        let names: Vec<&str> = format::all().filter(|format| writable(*format)).map(Format::name).collect();
        return Err(Problems::one(
            "format",
            format!("`{}` can be read but not written: expected one of {}", target.name(), names.join(", ")),
        ));
    };
    let plan = options.plan()?;
    if matches!(plan.address, Address::Wrap | Address::Scale) {
        return Err(Problems::one(
            "address",
            format!("`{}` needs a drive: expected `error` or `compact` for a conversion", options.address),
        ));
    }
    let scan = scan(input, options.format.as_deref(), &plan)?;
    let placement = Placement::unbounded(&scan, &plan, *streams)?;
    let mut info = scan.info.clone();
    let mut source = Replay::new(input, scan, &plan, placement)?;
    let (mut requests, mut text) = (Vec::with_capacity(BATCH), Vec::new());
    let mut left_out = [0u64; Op::COUNT];
    header(&mut text, info.by_stream.len());
    loop {
        requests.clear();
        source.fill(&mut requests, BATCH)?;
        for request in &requests {
            if !ops.contains(&request.op) {
                left_out[request.op as usize] += 1;
                continue;
            }
            if request.flags.contains(Flags::FLUSH_BEFORE) && request.op == Op::Write && ops.contains(&Op::Flush) {
                let flush = Raw { at_ns: request.at.0, op: Op::Flush, ..Raw::default() };
                line(&mut text, &flush, request.stream);
            }
            let (at_ns, op, flags) = (request.at.0, request.op, request.flags);
            let raw = Raw { at_ns, op, flags, offset: request.offset.0, length: request.length.0, stream: (0, 0) };
            line(&mut text, &raw, request.stream);
        }
        out.write_all(&text).map_err(|error| Problems::one("out", format!("cannot be written: {error}")))?;
        text.clear();
        if requests.is_empty() {
            break;
        }
    }
    note_losses(&mut info, target, ops, &left_out);
    Ok(info)
}

/// Notes what the written format could not express.
fn note_losses(info: &mut TraceInfo, target: &dyn Format, ops: &[Op], left_out: &[u64; Op::COUNT]) {
    for op in Op::ALL {
        let count = left_out[op as usize];
        if count > 0 {
            info.notes.push(format!(
                "{count} requests of kind {} were left out: {} has no code for them",
                op.name(),
                target.name()
            ));
        }
    }
    let (fua, before) = (info.modifiers.fua, info.modifiers.flush_before);
    if fua > 0 {
        info.notes.push(format!("{fua} writes lost their FUA: {} has no code for it", target.name()));
    }
    if before > 0 && !ops.contains(&Op::Flush) {
        info.notes.push(format!("{before} flushes before writes were left out: {} has no code for them", target.name()));
    }
}

fn writable(format: &dyn Format) -> bool {
    matches!(format.writer(), Writer::Lines { .. })
}
