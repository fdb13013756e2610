//! Reads records of a trace in the order of the file: parses lines, widens requests to whole sectors, and corrects
//! times after the recording clock was set.

use super::fields::{Fault, quoted};
use super::format::{Line, Parser, Raw};
use super::lines::Lines;
use super::streams::{STREAMS_MAX, Streams};
use crate::Flags;
use kit::{Op, Problems, SECTOR_BYTES};
use serde::Serialize;

/// Largest address that is accepted: 1 EiB. A larger one indicates a misread column.
pub(super) const ADDRESS_MAX: u64 = 1 << 60;
/// Longest read or write that is accepted: 4 GiB, well above any host command (NVMe transfers at most 65,536 blocks).
const LENGTH_MAX: u64 = 1 << 32;

/// Request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Arrival on the trace's clock \[ns\].
    pub at_ns: u64,
    /// Number of its line, from 1; also orders records of the same time.
    pub line: u64,
    /// First byte, a multiple of 512.
    pub offset: u64,
    /// Length, a multiple of 512 bytes; zero for a flush.
    pub length: u64,
    /// Number of its stream.
    pub stream: u16,
    /// Operation.
    pub op: Op,
    /// Modifiers.
    pub flags: Flags,
    /// Number of the record among those of the selected streams, in the order of time; set once they are in order.
    pub index: u64,
}

/// Numbers of lines that are not requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Reads, writes and trims of zero length.
    pub zero_length: u64,
    /// Events that are not arrivals (completions, merges) or move no data.
    pub other_action: u64,
}

/// Counters of a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines that are not requests.
    pub skipped: Skipped,
    /// Requests that were widened to whole sectors.
    pub widened: u64,
    /// Steps of the clock that were taken for a setting of the clock.
    pub clock_sets: u64,
}

/// Part of a trace between two settings of its clock.
struct Era {
    /// Last recorded time of the era \[ns\].
    last_ns: u64,
    /// Correction that is added to its times \[ns\].
    shift_ns: i128,
}

/// Reader of records.
pub struct Reader {
    name: String,
    lines: Lines,
    parser: Box<dyn Parser>,
    streams: Streams,
    clock_set_ns: Option<u64>,
    strict_time: bool,
    eras: Vec<Era>,
    era: usize,
    counts: Counts,
    raw: Raw,
}

impl Reader {
    /// Returns a reader of `lines` of the trace called `name`. A step of the clock of more than `clock_set_ns` is taken
    /// for a setting of the clock; with `strict_time` it is an error.
    pub fn new(
        name: &str,
        lines: Lines,
        parser: Box<dyn Parser>,
        streams: Streams,
        clock_set_ns: Option<u64>,
        strict_time: bool,
    ) -> Reader {
        let (eras, counts, raw) = (Vec::new(), Counts::default(), Raw::default());
        Reader { name: name.to_owned(), lines, parser, streams, clock_set_ns, strict_time, eras, era: 0, counts, raw }
    }

    /// Returns the next record of a selected stream.
    #[inline(always)]
    pub fn next(&mut self) -> Result<Option<Record>, Problems> {
        loop {
            let Some(line) = self.lines.next()? else { return Ok(None) };
            if line.is_empty() {
                continue;
            }
            match self.parser.line(line, &mut self.raw) {
                Ok(Line::Request) => {}
                Ok(Line::Other) => {
                    self.counts.skipped.other_action += 1;
                    continue;
                }
                Ok(Line::Text) => continue,
                Err(fault) => {
                    let blank = line.iter().all(u8::is_ascii_whitespace);
                    if blank {
                        continue;
                    }
                    return Err(self.fault(&fault));
                }
            }
            let stream = self.streams.number(&line[self.raw.stream.0..self.raw.stream.1]);
            let number = self.lines.number();
            let Ok(stream) = stream else {
                let complaint =
                    format!("more than {STREAMS_MAX} streams, or a name of more than 4096 bytes: expected fewer, and shorter");
                return Err(self.problem(complaint));
            };
            let Some(stream) = stream else { continue };
            if let Some(record) = self.checked(number, stream)? {
                return Ok(Some(record));
            }
        }
    }

    /// Checks the bounds of the request just parsed and widens it to whole sectors; `None` if its length is zero.
    #[inline(always)]
    fn checked(&mut self, line: u64, stream: u16) -> Result<Option<Record>, Problems> {
        let Raw { at_ns, op, flags, .. } = self.raw;
        // Tables and logs may give a flush an address, which means nothing.
        let (offset, length) = if op == Op::Flush { (0, 0) } else { (self.raw.offset, self.raw.length) };
        if length == 0 && op != Op::Flush {
            self.counts.skipped.zero_length += 1;
            return Ok(None);
        }
        let believed = offset <= ADDRESS_MAX && length <= ADDRESS_MAX && (length <= LENGTH_MAX || op == Op::Trim);
        if !believed {
            return Err(self.problem(format!(
                "a {} of {length} bytes at byte {offset}: expected addresses below 1 EiB and lengths up to 4 GiB (is a unit wrong?)",
                op.name()
            )));
        }
        let mut record = Record { at_ns, line, offset, length, stream, op, flags, index: 0 };
        if (offset | length) % SECTOR_BYTES != 0 {
            let end = (offset + length).next_multiple_of(SECTOR_BYTES);
            record.offset = offset - offset % SECTOR_BYTES;
            record.length = end - record.offset;
            self.counts.widened += 1;
        }
        if let Some(limit_ns) = self.clock_set_ns {
            record.at_ns = self.correct_clock(at_ns, limit_ns)?;
        }
        Ok(Some(record))
    }

    /// Converts a recorded time to the clock of the first era. A step of more than `limit_ns` means that the clock was
    /// set: either back to an era already seen, or into a new era, which continues from the latest time reached.
    #[inline(never)]
    fn correct_clock(&mut self, at_ns: u64, limit_ns: u64) -> Result<u64, Problems> {
        let near = |era: &Era| at_ns.abs_diff(era.last_ns) <= limit_ns;
        if !self.eras.get(self.era).is_some_and(near) {
            match self.eras.iter().position(near) {
                Some(known) => self.era = known,
                None => self.open_era(at_ns)?,
            }
        }
        let era = &mut self.eras[self.era];
        era.last_ns = at_ns;
        u64::try_from(i128::from(at_ns) + era.shift_ns)
            .map_err(|_| self.problem("the time exceeds the range of 584 years".to_owned()))
    }

    #[cold]
    fn open_era(&mut self, at_ns: u64) -> Result<(), Problems> {
        let latest_ns = self.eras.iter().map(|era| i128::from(era.last_ns) + era.shift_ns).max();
        if latest_ns.is_some() {
            self.counts.clock_sets += 1;
            if self.strict_time {
                return Err(self.problem(format!(
                    "the recording clock jumps here, to {}.{:09} s: refused by `strict_time`",
                    at_ns / 1_000_000_000,
                    at_ns % 1_000_000_000
                )));
            }
        }
        let shift_ns = latest_ns.map_or(0, |latest| latest - i128::from(at_ns));
        self.era = self.eras.len();
        self.eras.push(Era { last_ns: at_ns, shift_ns });
        // More settings than these mean that the column does not hold times.
        if self.eras.len() > 1000 {
            return Err(self.problem("the recording clock jumps for the 1000th time: expected times in order".to_owned()));
        }
        Ok(())
    }

    /// Returns the counters so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Returns the streams seen so far.
    pub fn streams(&self) -> &Streams {
        &self.streams
    }

    /// Returns the parser, with the state that it has reached.
    pub fn parser(&self) -> &dyn Parser {
        &*self.parser
    }

    /// Returns the number of lines read so far.
    pub fn line_count(&self) -> u64 {
        self.lines.number()
    }

    /// Returns a problem at the line read last.
    #[cold]
    fn problem(&self, complaint: String) -> Problems {
        Problems::one(format!("{}:{}", self.name, self.lines.number()), complaint)
    }

    #[cold]
    fn fault(&self, fault: &Fault) -> Problems {
        self.problem(fault.complaint())
    }
}

/// Returns the first line that is not blank, quoted for a message about an unrecognised file.
pub fn first_line(lines: &[Vec<u8>]) -> String {
    lines.iter().find(|line| !line.trim_ascii().is_empty()).map_or_else(|| "nothing".to_owned(), |line| quoted(line))
}
