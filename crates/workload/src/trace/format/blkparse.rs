//! The default text of Linux `blkparse`: `major,minor cpu sequence seconds pid action RWBS sector + sectors [process]`.
//!
//! Lines of the arrival action ([`super::block_layer::Arrival`]) are requests; the other actions are later events of
//! the same requests. Messages (`m`), comments (`#`, such as a line of titles) and the summary at the end are text. An
//! arrival without `sector + sectors` is a flush if its flags say so; otherwise it moves no data (a plug, or a SCSI
//! command that is passed through). Each device is its own stream.

use super::block_layer::{Arrival, EventParser, EventText, operation, remapped_from, sectors, words};
use super::{Format, Line, Parser, Raw, Reading};
use crate::trace::fields::{self, Fault};
use kit::Op::{self, Flush, Read, Trim, Write};

/// The blkparse format.
pub struct Blkparse;

/// Beginnings of the lines of the summary (`blkparse.c`, `show_stats`).
const SUMMARY: &[&[u8]] = &[b"CPU", b"Total", b"Reads", b"Read", b"IO", b"PC", b"Throughput", b"Events", b"Skips", b"Input"];

/// Returns true if a word is a device, `major,minor`.
fn is_device(word: &[u8]) -> bool {
    let (_, major) = fields::digits(word);
    major > 0 && word.get(major) == Some(&b',') && fields::integer(&word[major + 1..]).is_some()
}

impl EventText for Blkparse {
    const ONLY_ISSUED: &'static str = "the trace has no Q lines: arrivals are the D lines (issue to the device)";

    fn line(state: &mut Arrival, line: &[u8], raw: &mut Raw) -> Result<Line, Fault> {
        let mut places = [(0, 0); 7];
        let mut count = 0;
        for (place, found) in places.iter_mut().zip(words(line, 0)) {
            *place = found;
            count += 1;
        }
        let of = |index: usize| &line[places[index].0..places[index].1];
        if !is_device(of(0)) {
            let text = line.trim_ascii();
            let summary = text.is_empty() || text[0] == b'#' || SUMMARY.iter().any(|start| text.starts_with(start));
            return if summary {
                Ok(Line::Text)
            } else {
                Err(Fault::new("device", of(0), "MAJOR,MINOR or a line of the summary"))
            };
        }
        if count < places.len() {
            return Err(Fault::new("line", line, "device, cpu, sequence, time, pid, action and RWBS"));
        }
        raw.at_ns = fields::decimal(of(3), 9).ok_or_else(|| Fault::new("time", of(3), "seconds"))?;
        raw.stream = places[0];
        let at = places[6].1;
        if of(5) == b"m" {
            return Ok(Line::Text);
        }
        if !state.is(of(5))? {
            if of(5) == b"A"
                && let Some(from) = remapped_from(&line[at..])
            {
                state.remapped(from, of(0));
            }
            return Ok(Line::Other);
        }
        arrival(line, of(6), at, raw)
    }
}

/// Reads an arrival: its operation from `flags`, and its range from the remainder of the line after `at`.
fn arrival(line: &[u8], flags: &[u8], at: usize, raw: &mut Raw) -> Result<Line, Fault> {
    let rwbs = operation(flags)?;
    let rest = line[at..].trim_ascii_start();
    if rest.is_empty() || rest[0] == b'[' {
        (raw.offset, raw.length) = (0, 0);
        return Ok(if rwbs.flush { rwbs.complete(raw) } else { Line::Other });
    }
    let mut parts = words(line, at).map(|(start, end)| &line[start..end]);
    let mut next = || parts.next().unwrap_or_default();
    let (first, second, third) = (next(), next(), next());
    let offset = sectors(first).ok_or_else(|| Fault::new("sector", first, "a sector number"))?;
    if second != b"+" {
        // `bytes (command descriptor block)`: a SCSI command that the block layer only passes through.
        let passed = second.starts_with(b"(") || rwbs.op.is_none();
        return if passed { Ok(Line::Other) } else { Err(Fault::new("length", second, "`+` and a number of sectors")) };
    }
    let length = sectors(third).ok_or_else(|| Fault::new("length", third, "a number of sectors"))?;
    (raw.offset, raw.length) = (offset, length);
    Ok(rwbs.complete(raw))
}

impl Format for Blkparse {
    fn name(&self) -> &'static str {
        "blkparse"
    }
    fn aliases(&self) -> &'static [&'static str] {
        &["blk", "blktrace"]
    }
    fn about(&self) -> &'static str {
        "Linux blkparse default text: Q lines are the requests, or D lines where there is no Q."
    }
    fn has_arrivals(&self) -> bool {
        true
    }
    fn parser(&self, head: &[Vec<u8>], reading: Reading) -> Box<dyn Parser> {
        let actions = head.iter().filter_map(|line| {
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            words.next().filter(|device| is_device(device))?;
            words.nth(4).filter(|action| action.len() == 1).map(|action| action[0])
        });
        EventParser::<Blkparse>::boxed(Arrival::guessed(reading.arrival, actions))
    }
    fn sample(&self) -> &'static str {
        "#Maj,Mn CPU Seq Time PID Action RWBS\n\
         \x20 8,16   5        1     0.000000000 18615  A   R 1444645666 + 256 <- (8,17) 1444645632\n\
         \x20 8,16   5        2     0.000001850 18615  Q   R 1444645666 + 256 [java]\n\
         \x20 8,16   5        3     0.000006438 18615  G   R 1444645666 + 256 [java]\n\
         \x20 8,16   5        0     0.000007000     0  m   N cfq224SN insert_request\n\
         \x20 8,16   5        4     0.000008750 18615  P   N [java]\n\
         \x20 8,0    5        5     0.000009850 18615  Q FWS [jbd2/sda5-8]\n\
         \x20 8,16   5        6     0.000011850 18615  Q  WS 80 + 8 [java]\n\
         \x20 8,16   5        7     0.000021850 18615  Q   D 160 + 2048 [java]\n\
         CPU0 (8,16):\n Reads Queued:           1,      128KiB\t Writes Queued:           1,        4KiB\n\n\
         Throughput (R/W): 878KiB/s / 214KiB/s\nEvents (8,16): 7 entries\nSkips: 0 forward (0 -   0.0%)\n"
    }
    fn expected(&self) -> &'static [(u64, Op, u64, u64, &'static str)] {
        &[
            (0, Read, 739_658_580_992, 131_072, "8.16"),
            (8000, Flush, 0, 0, "8.0"),
            (10_000, Write, 40_960, 4096, "8.16"),
            (20_000, Trim, 81_920, 1_048_576, "8.16"),
        ]
    }
}
