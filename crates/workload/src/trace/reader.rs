//! Records of a trace, in the order of the file: lines parsed, rounded to sectors, clocks that were set put right.

use super::fields::{Fault, quoted};
use super::format::{Line, Parser, Raw};
use super::lines::Lines;
use super::streams::{STREAMS_MAX, Streams};
use kit::{Op, Problems, SECTOR_BYTES};
use serde::Serialize;

/// The largest address that is believed: 1 EiB. Larger ones are a misread column.
const ADDRESS_MAX: u64 = 1 << 60;
/// The longest read or write that is believed: 4 GiB, ten times more than any host command (NVMe moves at most 65,536 blocks).
const LENGTH_MAX: u64 = 1 << 32;

/// One request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Arrival \[ns\], on the trace's clock.
    pub at_ns: u64,
    /// The line it came from, from 1; also its place among records of the same time.
    pub line: u64,
    /// First byte, a multiple of 512.
    pub offset: u64,
    /// Length, a multiple of 512 bytes; zero for a flush.
    pub length: u64,
    /// Its stream, by number.
    pub stream: u16,
    /// Operation.
    pub op: Op,
}

/// Lines that are no request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Reads, writes and trims of no bytes.
    pub zero_length: u64,
    /// Events that are not arrivals (completions, merges) or move no data.
    pub other_action: u64,
}

/// What a reader counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Lines that are no request.
    pub skipped: Skipped,
    /// Requests that were not whole sectors and were widened.
    pub widened: u64,
    /// Steps of the clock taken for the clock being set.
    pub clock_sets: u64,
}

/// A stretch of a trace between two settings of its clock.
struct Era {
    /// The last recorded time of the era \[ns\].
    last_ns: u64,
    /// What is added to its times \[ns\].
    shift_ns: i128,
}

/// Reads records.
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
    /// A reader of `lines`, the trace called `name`. Steps of the clock beyond `clock_set_ns` are taken for the clock being
    /// set; where `strict_time` they are errors.
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

    /// The next record of a wanted stream.
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
                return Err(self.problem(format!("more than {STREAMS_MAX} streams: expected fewer")));
            };
            let Some(stream) = stream else { continue };
            if let Some(record) = self.checked(number, stream)? {
                return Ok(Some(record));
            }
        }
    }

    /// The request just parsed, with its bounds checked and rounded outward to sectors; `None`: no bytes.
    #[inline(always)]
    fn checked(&mut self, line: u64, stream: u16) -> Result<Option<Record>, Problems> {
        let Raw { at_ns, op, offset, length, .. } = self.raw;
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
        let mut record = Record { at_ns, line, offset, length, stream, op };
        if (offset | length) % SECTOR_BYTES != 0 {
            let end = (offset + length).next_multiple_of(SECTOR_BYTES);
            record.offset = offset - offset % SECTOR_BYTES;
            record.length = end - record.offset;
            self.counts.widened += 1;
        }
        if let Some(limit_ns) = self.clock_set_ns {
            record.at_ns = self.put_right(at_ns, limit_ns)?;
        }
        Ok(Some(record))
    }

    /// A recorded time on the clock of the first era. A step of more than `limit_ns` is the clock being set: back to an
    /// era already seen, or into a new one, which continues where the latest had come to.
    #[inline(never)]
    fn put_right(&mut self, at_ns: u64, limit_ns: u64) -> Result<u64, Problems> {
        let near = |era: &Era| at_ns.abs_diff(era.last_ns) <= limit_ns;
        if !self.eras.get(self.era).is_some_and(near) {
            match self.eras.iter().position(near) {
                Some(known) => self.era = known,
                None => self.open_era(at_ns)?,
            }
        }
        let era = &mut self.eras[self.era];
        era.last_ns = at_ns;
        u64::try_from(i128::from(at_ns) + era.shift_ns).map_err(|_| self.problem("a time that does not fit 584 years".to_owned()))
    }

    #[cold]
    fn open_era(&mut self, at_ns: u64) -> Result<(), Problems> {
        let latest_ns = self.eras.iter().map(|era| i128::from(era.last_ns) + era.shift_ns).max();
        if latest_ns.is_some() {
            self.counts.clock_sets += 1;
            if self.strict_time {
                return Err(self.problem(format!(
                    "the clock is set here, to {}.{:09} s: refused by `strict_time`",
                    at_ns / 1_000_000_000,
                    at_ns % 1_000_000_000
                )));
            }
        }
        let shift_ns = latest_ns.map_or(0, |latest| latest - i128::from(at_ns));
        self.era = self.eras.len();
        self.eras.push(Era { last_ns: at_ns, shift_ns });
        // A trace whose clock is set more often than this is not a trace.
        if self.eras.len() > 1000 {
            return Err(self.problem("the clock is set for the 1000th time: expected times in order".to_owned()));
        }
        Ok(())
    }

    /// What was counted so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The streams seen so far.
    pub fn streams(&self) -> &Streams {
        &self.streams
    }

    /// The parser, with what it has learnt.
    pub fn parser(&self) -> &dyn Parser {
        &*self.parser
    }

    /// Lines read so far.
    pub fn line_count(&self) -> u64 {
        self.lines.number()
    }

    /// A problem at the line read last.
    #[cold]
    fn problem(&self, complaint: String) -> Problems {
        Problems::one(format!("{}:{}", self.name, self.lines.number()), complaint)
    }

    #[cold]
    fn fault(&self, fault: &Fault) -> Problems {
        self.problem(fault.complaint())
    }
}

/// A line for a message about a file that is not understood.
pub fn first_line(lines: &[Vec<u8>]) -> String {
    lines.iter().find(|line| !line.trim_ascii().is_empty()).map_or_else(|| "nothing".to_owned(), |line| quoted(line))
}
