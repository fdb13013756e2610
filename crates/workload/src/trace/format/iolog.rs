//! The I/O logs of fio, versions 2 and 3 (fio HOWTO, "Trace file format"; `iolog.c`).
//!
//! The first line is `fio version N iolog`. The lines after it are `FILE add|open|close` and
//! `FILE read|write|trim|sync|datasync OFFSET LENGTH`, in bytes. Version 3 puts a time in front, in microseconds since
//! the start. Version 2 has no times except `FILE wait MICROSECONDS`, counted from the previous wait. Each file is its
//! own stream.

use super::columns::put;
use super::{Format, Line, Parser, Raw, Reading, Writer};
use crate::trace::fields::{self, Fault};
use kit::Op::{self, Flush, Read, Trim, Write};

/// The fio I/O log, version 2.
pub struct V2;
/// The fio I/O log, version 3.
pub struct V3;

struct Log {
    version: u8,
    started: bool,
    /// Sum of the waits so far \[ns\]; version 2 only.
    waited_ns: u64,
}

impl Log {
    fn parser(version: u8) -> Box<dyn Parser> {
        Box::new(Log { version, started: false, waited_ns: 0 })
    }

    /// Reads `ACTION [OFFSET LENGTH]`, which follows the file's name.
    fn action(&mut self, line: &[u8], words: &[&[u8]], raw: &mut Raw) -> Result<Line, Fault> {
        let op = match words[0] {
            b"add" | b"open" | b"close" if words.len() == 1 => return Ok(Line::Text),
            b"read" => Read,
            b"write" => Write,
            b"trim" => Trim,
            b"sync" | b"datasync" => Flush,
            b"wait" if self.version == 2 => {
                let word = words.get(1).copied().unwrap_or_default();
                let gap = fields::integer(word).and_then(|us| us.checked_mul(1000)).and_then(|ns| self.waited_ns.checked_add(ns));
                self.waited_ns = gap.ok_or_else(|| Fault::new("wait", word, "microseconds, as in FILE wait MICROSECONDS"))?;
                return Ok(Line::Text);
            }
            b"add" | b"open" | b"close" => {
                return Err(Fault::new("line", line, "FILE add, FILE open or FILE close, and nothing after it"));
            }
            other if self.version == 2 => {
                return Err(Fault::new("action", other, "add, open, close, read, write, trim, sync, datasync or wait"));
            }
            other => return Err(Fault::new("action", other, "add, open, close, read, write, trim, sync or datasync")),
        };
        raw.op = op;
        (raw.offset, raw.length) = (0, 0);
        match words {
            [_, offset, length] => {
                let offset = fields::integer(offset).ok_or_else(|| Fault::new("offset", offset, "a number of bytes"))?;
                let length = fields::integer(length).ok_or_else(|| Fault::new("length", length, "a number of bytes"))?;
                if op != Flush {
                    (raw.offset, raw.length) = (offset, length);
                }
            }
            [_] if op == Flush => {}
            _ => return Err(Fault::new("line", line, "FILE ACTION OFFSET LENGTH")),
        }
        Ok(Line::Request)
    }
}

impl Parser for Log {
    fn line(&mut self, line: &[u8], raw: &mut Raw) -> Result<Line, Fault> {
        // fio appends to a log: a log of several jobs has the header several times.
        let header = if self.version == 2 { b"fio version 2 iolog" } else { b"fio version 3 iolog" };
        let is_header = line.trim_ascii() == header;
        if !std::mem::replace(&mut self.started, true) && !is_header {
            return Err(Fault::new("header", line, "`fio version 2 iolog` or `fio version 3 iolog`"));
        }
        if is_header {
            return Ok(Line::Text);
        }
        let mut words: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).collect();
        raw.at_ns = self.waited_ns;
        if self.version == 3 {
            let time = words.first().copied().unwrap_or_default();
            let us = fields::integer(time).and_then(|us| us.checked_mul(1000));
            raw.at_ns = us.ok_or_else(|| Fault::new("time", time, "microseconds"))?;
            words.remove(0);
        }
        if words.len() < 2 {
            let expected = if self.version == 2 { "FILE ACTION OFFSET LENGTH" } else { "TIME FILE ACTION OFFSET LENGTH" };
            return Err(Fault::new("line", line, expected));
        }
        raw.stream = file(line, self.version == 3);
        self.action(line, &words[1..], raw)
    }

    fn restart(&self) -> Box<dyn Parser> {
        Log::parser(self.version)
    }
}

/// Returns the start and end of the file's name: the first word, or the second if the first is a time.
fn file(line: &[u8], timed: bool) -> (usize, usize) {
    let blank = |at: &usize| line[*at].is_ascii_whitespace();
    let word = |from: usize| {
        let start = (from..line.len()).find(|at| !blank(at)).unwrap_or(line.len());
        (start, (start..line.len()).find(blank).unwrap_or(line.len()))
    };
    let first = word(0);
    if timed { word(first.1) } else { first }
}

fn action(raw: &Raw) -> &'static str {
    if raw.op == Flush { "sync" } else { raw.op.name() }
}

static WRITE_2: Writer = Writer::Lines {
    line: |out, raw, stream| put(out, format_args!("stream{stream} {} {} {}\n", action(raw), raw.offset, raw.length)),
    streams: true,
    ops: &Op::COMMON,
    header: |out, streams| {
        put(out, format_args!("fio version 2 iolog\n"));
        (0..streams).for_each(|stream| put(out, format_args!("stream{stream} add\nstream{stream} open\n")));
    },
};

static WRITE_3: Writer = Writer::Lines {
    line: |out, raw, stream| {
        let at_us = (raw.at_ns + 500) / 1000;
        put(out, format_args!("{at_us} stream{stream} {} {} {}\n", action(raw), raw.offset, raw.length));
    },
    streams: true,
    ops: &Op::COMMON,
    header: |out, streams| {
        put(out, format_args!("fio version 3 iolog\n"));
        (0..streams).for_each(|stream| put(out, format_args!("0 stream{stream} add\n0 stream{stream} open\n")));
    },
};

impl Format for V2 {
    fn name(&self) -> &'static str {
        "iolog2"
    }
    fn aliases(&self) -> &'static [&'static str] {
        &["iolog"]
    }
    fn about(&self) -> &'static str {
        "fio I/O log, version 2: bytes, no times (replayed closed:1 unless told otherwise)."
    }
    fn timed(&self) -> bool {
        false
    }
    fn is_named_by(&self, line: &[u8]) -> bool {
        // A version that is not known is refused by the parser.
        line.starts_with(b"fio version ") && !V3.is_named_by(line)
    }
    fn parser(&self, _head: &[Vec<u8>], _reading: Reading) -> Box<dyn Parser> {
        Log::parser(2)
    }
    fn writer(&self) -> &Writer {
        &WRITE_2
    }
    fn sample(&self) -> &'static str {
        "fio version 2 iolog\n/dev/sdb add\n/dev/sdb open\n/dev/sdb write 64757760 4096\n/dev/sdb sync 0 0\n\
         /dev/sdb read 0 8192\n/dev/sdb trim 4096 1048576\n/dev/sdb close\n"
    }
    fn expected(&self) -> &'static [(u64, Op, u64, u64, &'static str)] {
        const FILE: &str = "/dev/sdb";
        &[(0, Write, 64_757_760, 4096, FILE), (0, Flush, 0, 0, FILE), (0, Read, 0, 8192, FILE), (0, Trim, 4096, 1_048_576, FILE)]
    }
}

impl Format for V3 {
    fn name(&self) -> &'static str {
        "iolog3"
    }
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }
    fn about(&self) -> &'static str {
        "fio I/O log, version 3: microseconds, bytes."
    }
    fn is_named_by(&self, line: &[u8]) -> bool {
        line.trim_ascii() == b"fio version 3 iolog"
    }
    fn parser(&self, _head: &[Vec<u8>], _reading: Reading) -> Box<dyn Parser> {
        Log::parser(3)
    }
    fn writer(&self) -> &Writer {
        &WRITE_3
    }
    fn sample(&self) -> &'static str {
        "fio version 3 iolog\n0 /dev/sda add\n0 /dev/sda open\n120 /dev/sda write 8192 4096\n155 /dev/sda read 0 512\n200 /dev/sda close\n"
    }
    fn expected(&self) -> &'static [(u64, Op, u64, u64, &'static str)] {
        &[(0, Write, 8192, 4096, "/dev/sda"), (35_000, Read, 0, 512, "/dev/sda")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_the_clock_of_version_2() {
        let mut log = Log::parser(2);
        let mut raw = Raw::default();
        let mut times = Vec::new();
        for line in ["fio version 2 iolog", "f wait 100 0", "f write 0 512", "f wait 50 0", "f write 0 512", "f sync"] {
            if log.line(line.as_bytes(), &mut raw) == Ok(Line::Request) {
                times.push(raw.at_ns);
            }
        }
        assert_eq!(times, [100_000, 150_000, 150_000]);
    }
}
