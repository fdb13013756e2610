//! Text of the block events of Linux tracepoints, as `ftrace` (`/sys/kernel/tracing/trace`), `trace-cmd report` and
//! `perf script` write it: `task-pid [cpu] flags seconds: event: fields`; perf has `block:` before the event's name.
//!
//! The fields are those of `include/trace/events/block.h`: `major,minor RWBS [bytes] (command) sector + sectors`, from
//! Linux 6.10 on with a priority behind them. `block_bio_queue` is the event that blktrace calls Q, `block_rq_issue` is
//! D. All other events are later ones of the same request, or no requests. Each device is its own stream.

use super::block_layer::{Arrival, EventParser, EventText, operation, remapped_from, sectors, words};
use super::{Format, Line, Parser, Raw, Reading};
use crate::trace::fields::{self, Fault};
use kit::Op::{self, Flush, Read, Write};

/// The format of ftrace and perf.
pub struct Ftrace;

/// Beginnings of lines that are no events: comments, and those of `trace-cmd report`.
const TEXTS: [&[u8]; 4] = [b"#", b"cpus=", b"CPU", b"version ="];

/// Names of events, each with the action of blktrace.
const EVENTS: [(&[u8], u8); 4] =
    [(b"block_bio_queue", b'Q'), (b"block_rq_issue", b'D'), (b"block_rq_complete", b'C'), (b"block_bio_remap", b'A')];

/// Classes of priority, as Linux numbers them.
const PRIORITIES: [(&[u8], u8); 3] = [(b"rt", 1), (b"be", 2), (b"idle", 3)];

/// Returns the time \[ns\], the name of the event and the start of its fields. The name follows the first word that is
/// a time with a colon.
fn event(line: &[u8]) -> Option<(u64, &[u8], usize)> {
    let mut time = None;
    for (start, end) in words(line, 0) {
        let word = line[start..end].strip_suffix(b":");
        if let (Some(at_ns), Some(name)) = (time, word) {
            return Some((at_ns, name.strip_prefix(b"block:").unwrap_or(name), end));
        }
        time = word.filter(|word| word.contains(&b'.')).and_then(|word| fields::decimal(word, 9));
    }
    None
}

fn action(name: &[u8]) -> Option<u8> {
    EVENTS.iter().find(|(known, _)| *known == name).map(|(_, action)| *action)
}

impl EventText for Ftrace {
    const ONLY_ISSUED: &'static str =
        "the trace has no block_bio_queue events: arrivals are the block_rq_issue events (issue to the device)";

    fn line(state: &mut Arrival, line: &[u8], raw: &mut Raw) -> Result<Line, Fault> {
        let text = line.trim_ascii();
        if text.is_empty() || TEXTS.iter().any(|start| text.starts_with(start)) {
            return Ok(Line::Text);
        }
        let Some((at_ns, name, from)) = event(line) else {
            return Err(Fault::new("line", line, "TASK-PID [CPU] SECONDS: EVENT: and its fields"));
        };
        let Some(action) = action(name) else { return Ok(Line::Other) };
        raw.at_ns = at_ns;
        let is_arrival = state.counts(action);
        if !is_arrival && action != b'A' {
            return Ok(Line::Other);
        }
        let mut words = words(line, from);
        let device = words.next().unwrap_or((line.len(), line.len()));
        if action == b'A' {
            if let Some(origin) = remapped_from(&line[from..]) {
                state.remapped(origin, &line[device.0..device.1]);
            }
            return Ok(Line::Other);
        }
        raw.stream = device;
        fields_of(line, words, raw)
    }
}

/// Reads the fields of an arrival after its device.
fn fields_of(line: &[u8], mut words: impl Iterator<Item = (usize, usize)>, raw: &mut Raw) -> Result<Line, Fault> {
    let mut next = || words.next().map_or(&[][..], |(start, end)| &line[start..end]);
    let mut rwbs = operation(next())?;
    let (mut sector, mut word) = (&[][..], next());
    while word != b"+" {
        if word.is_empty() {
            return Err(Fault::new("line", line, "SECTOR + SECTORS after the device and the RWBS flags"));
        }
        (sector, word) = (word, next());
    }
    let count = next();
    raw.length = sectors(count).ok_or_else(|| Fault::new("length", count, "a number of sectors"))?;
    // The sector of a flush without data means nothing: it may be 2^64 - 1.
    let offset = if rwbs.flush && raw.length == 0 { Some(0) } else { sectors(sector) };
    raw.offset = offset.ok_or_else(|| Fault::new("sector", sector, "a sector number"))?;
    let class = next().split(|byte| *byte == b',').next().unwrap_or_default();
    let class = PRIORITIES.iter().find(|(name, _)| *name == class).map_or(0, |(_, class)| *class);
    rwbs.flags = rwbs.flags.with_priority(class);
    Ok(rwbs.complete(raw))
}

impl Format for Ftrace {
    fn name(&self) -> &'static str {
        "ftrace"
    }
    fn aliases(&self) -> &'static [&'static str] {
        &["perf", "trace-cmd"]
    }
    fn about(&self) -> &'static str {
        "Block events of Linux as ftrace, trace-cmd and perf write them: block_bio_queue, or block_rq_issue where there is none."
    }
    fn has_arrivals(&self) -> bool {
        true
    }
    fn is_named_by(&self, line: &[u8]) -> bool {
        line.starts_with(b"# tracer:")
    }
    fn parser(&self, head: &[Vec<u8>], reading: Reading) -> Box<dyn Parser> {
        let actions = head.iter().filter_map(|line| action(event(line)?.1));
        EventParser::<Ftrace>::boxed(Arrival::guessed(reading.arrival, actions))
    }
    fn sample(&self) -> &'static str {
        "# tracer: nop\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n\
         \x20            fio-1834    [001] d..1.   100.000100: block_rq_issue: 8,0 WS 4096 () 2048 + 8 be,4,0 [fio]\n\
         \x20         <idle>-0       [001] dNh1.   100.000190: block_rq_complete: 8,0 WS () 2048 + 8 be,4,0 [0]\n\
         \x20  kworker/1:1H-99      [001] .....   100.000200: block_rq_issue: 8,0 FF 0 () 0 + 0 [kworker/1:1H]\n\
         Web Content  2121 [003]   100.000350:   block:block_rq_issue: 259,0 RA 131072 () 80 + 256 [Web Content]\n\
         swapper     0 [003]   100.000400:   sched:sched_switch: prev_comm=swapper\n"
    }
    fn expected(&self) -> &'static [(u64, Op, u64, u64, &'static str)] {
        &[(0, Write, 1_048_576, 4096, "8.0"), (100_000, Flush, 0, 0, "8.0"), (250_000, Read, 40_960, 131_072, "259.0")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flags;
    use crate::trace::options::ArrivalEvent;

    #[test]
    fn priorities_and_modifiers_are_read() {
        let mut parser = Ftrace.parser(&[], Reading { arrival: Some(ArrivalEvent::Issued), ..Reading::default() });
        let mut raw = Raw::default();
        let line = b"x-1 [0] 1.5: block_rq_issue: 8,0 FWFSM 4096 () 8 + 8 rt,0,0 [x]";
        assert_eq!(parser.line(line, &mut raw), Ok(Line::Request));
        let modifiers = Flags::FUA.with(Flags::FLUSH_BEFORE).with(Flags::SYNC).with(Flags::METADATA);
        assert!(raw.flags.contains(modifiers) && raw.flags.priority() == 1, "{:?}", raw.flags);
        for bad in
            ["x [0] 1.5: block_rq_issue: 8,0 W 4096 () 8", "x [0] 1.5 block_rq_issue 8,0", "x 1.5: block_rq_issue: 8,0 Q 1 + 1"]
        {
            assert!(parser.line(bad.as_bytes(), &mut raw).is_err(), "{bad}");
        }
    }
}
