//! Windows ETW disk events as `xperf` dumps them (Kavalanekar et al., IISWC 2008: Microsoft production servers).
//!
//! A block from `BeginHeader` to `EndHeader` names the columns of every kind of event. It is followed by one event per
//! line, with columns separated by commas and padded with blanks. `DiskRead`, `DiskWrite` and `DiskFlush` are requests:
//! TimeStamp is in microseconds, ByteOffset and IOSize are in bytes, hexadecimal; each DiskNum is its own stream.

use super::{Format, Line, Parser, Raw, Reading};
use crate::trace::fields::{self, Fault};
use kit::Op::{self, Flush, Read, Write};
use std::collections::BTreeSet;

/// The ETW format.
pub struct Etw;

/// Events that are requests.
const REQUESTS: [(&[u8], Op); 3] = [(b"DiskRead", Read), (b"DiskWrite", Write), (b"DiskFlush", Flush)];

/// Number of kinds of events that a header may name; real ones name some hundred.
const EVENTS_MAX: usize = 10_000;

/// Numbers of the columns of an event that are used.
#[derive(Clone, Copy, Default)]
struct Places {
    time: Option<usize>,
    offset: Option<usize>,
    size: Option<usize>,
    disk: Option<usize>,
}

#[derive(Default)]
struct Dump {
    started: bool,
    ended: bool,
    events: BTreeSet<Vec<u8>>,
    places: [Places; 3],
}

impl Dump {
    fn header(&mut self, line: &[u8]) -> Result<Line, Fault> {
        match line.trim_ascii() {
            b"BeginHeader" if !self.started => self.started = true,
            _ if !self.started => return Err(Fault::new("header", line, "`BeginHeader`")),
            b"EndHeader" => self.ended = true,
            _ => {
                let mut columns = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
                let event = columns.next().unwrap_or_default();
                let request = REQUESTS.iter().position(|(name, _)| *name == event);
                if let Some(request) = request {
                    let names: Vec<&[u8]> = columns.collect();
                    let find = |name: &[u8]| names.iter().position(|found| *found == name).map(|at| at + 1);
                    self.places[request] = Places {
                        time: find(b"TimeStamp"),
                        offset: find(b"ByteOffset"),
                        size: find(b"IOSize"),
                        disk: find(b"DiskNum"),
                    };
                }
                self.events.insert(event.to_vec());
                if self.events.len() > EVENTS_MAX {
                    return Err(Fault::new("header", line, "`EndHeader` after at most 10,000 kinds of events"));
                }
            }
        }
        Ok(Line::Text)
    }
}

/// Returns the start and end of column `place` of `line`, trimmed; a column that the header does not name, or that the
/// line lacks, is a fault.
fn column(line: &[u8], place: Option<usize>, name: &'static str) -> Result<(usize, usize), Fault> {
    let missing = || Fault::new("line", line, format!("a column {name}, as named in the header"));
    let mut start = 0;
    for _ in 0..place.ok_or_else(missing)? {
        start += fields::find(b',', &line[start..]).ok_or_else(missing)? + 1;
    }
    let mut end = start + fields::find(b',', &line[start..]).unwrap_or(line.len() - start);
    while start < end && line[start] == b' ' {
        start += 1;
    }
    while start < end && line[end - 1] == b' ' {
        end -= 1;
    }
    Ok((start, end))
}

impl Parser for Dump {
    fn line(&mut self, line: &[u8], raw: &mut Raw) -> Result<Line, Fault> {
        if !self.ended {
            return self.header(line);
        }
        let event = line.split(|byte| *byte == b',').next().unwrap_or_default().trim_ascii();
        let Some(request) = REQUESTS.iter().position(|(name, _)| *name == event) else {
            let known = self.events.contains(event) || event.starts_with(b"OS Version");
            return if known { Ok(Line::Other) } else { Err(Fault::new("event", event, "an event that the header names")) };
        };
        let places = self.places[request];
        let of = |(start, end): (usize, usize)| &line[start..end];
        let time = of(column(line, places.time, "TimeStamp")?);
        let at_ns = fields::integer(time).and_then(|us| us.checked_mul(1000));
        raw.at_ns = at_ns.ok_or_else(|| Fault::new("TimeStamp", time, "microseconds"))?;
        raw.stream = column(line, places.disk, "DiskNum")?;
        raw.op = REQUESTS[request].1;
        (raw.offset, raw.length) = (0, 0);
        if raw.op != Flush {
            let offset = of(column(line, places.offset, "ByteOffset")?);
            raw.offset = fields::hexadecimal(offset).ok_or_else(|| Fault::new("ByteOffset", offset, "hexadecimal bytes"))?;
            let size = of(column(line, places.size, "IOSize")?);
            raw.length = fields::hexadecimal(size).ok_or_else(|| Fault::new("IOSize", size, "hexadecimal bytes"))?;
        }
        Ok(Line::Request)
    }

    fn restart(&self) -> Box<dyn Parser> {
        Box::<Dump>::default()
    }
}

impl Format for Etw {
    fn name(&self) -> &'static str {
        "etw"
    }
    fn aliases(&self) -> &'static [&'static str] {
        &["xperf"]
    }
    fn is_named_by(&self, line: &[u8]) -> bool {
        line.trim_ascii() == b"BeginHeader"
    }
    fn about(&self) -> &'static str {
        "Windows ETW disk events as xperf dumps them (Kavalanekar et al., IISWC 2008): DiskRead, DiskWrite and DiskFlush are the requests."
    }
    fn parser(&self, _head: &[Vec<u8>], _reading: Reading) -> Box<dyn Parser> {
        Box::<Dump>::default()
    }
    fn sample(&self) -> &'static str {
        "BeginHeader\r\n    T-Start,  TimeStamp, Process Name ( PID),   ThreadID\r\n\
         \x20  DiskRead,  TimeStamp, Process Name ( PID),   ThreadID,   IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum\r\n\
         \x20 DiskWrite,  TimeStamp, Process Name ( PID),   ThreadID,   IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum\r\n\
         EndHeader\r\n\
         \x20  DiskRead,     260959, p0 (2004),       9700, 0xff, 0x13690de000, 0x00002000,        3738,        4\r\n\
         \x20   T-Start,     260960, p0 (2004),       9700\r\n\
         \x20 DiskWrite,     261233, p0 (2004),       3348, 0xfe, 0x0ea84e4000, 0x00004000,        3788,        5\r\n"
    }
    fn expected(&self) -> &'static [(u64, Op, u64, u64, &'static str)] {
        &[(0, Read, 0x13_690d_e000, 0x2000, "4"), (274_000, Write, 0x0e_a84e_4000, 0x4000, "5")]
    }
}
