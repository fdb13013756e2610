//! Output of `biosnoop` (BCC and libbpf-tools): `TIME(s) COMM PID DISK T SECTOR BYTES [QUE(ms)] LAT(ms)`, as a header
//! says.
//!
//! TIME is that of the completion, LAT counts from the issue to the device, and QUE (option `-Q`) from the queue to the
//! issue. The arrival is therefore TIME - LAT - QUE (queued), or TIME - LAT (issued). T is a letter or the flags of
//! RWBS. A command's name may have blanks: columns are counted from the end of the line. Each disk is its own stream.

use super::block_layer::{operation, sectors};
use super::{Format, Line, Parser, Raw, Reading};
use crate::trace::fields::{self, Fault};
use crate::trace::options::ArrivalEvent;
use kit::Op::{self, Flush, Read, Write};

/// The format of biosnoop.
pub struct Biosnoop;

/// Time of the clock at which the trace begins, so that the first requests can have arrived before \[ns\]: a day.
const START_NS: u64 = 86_400_000_000_000;
/// Names of the columns that are used.
const NAMES: [&[u8]; 6] = [b"DISK", b"T", b"SECTOR", b"BYTES", b"LAT(ms)", b"QUE(ms)"];
/// Largest number of columns.
const COLUMNS_MAX: usize = 16;

struct Text {
    arrival: Option<ArrivalEvent>,
    /// Number of columns after the command's name, and the places among them of those that are used.
    columns: Option<(usize, [Option<usize>; NAMES.len()])>,
}

impl Text {
    fn header(&mut self, line: &[u8]) -> Result<Line, Fault> {
        let names: Vec<&[u8]> = line.split(u8::is_ascii_whitespace).filter(|name| !name.is_empty()).skip(2).collect();
        let places = NAMES.map(|name| names.iter().position(|found| *found == name));
        if let Some(missing) = places[..5].iter().position(Option::is_none) {
            let name = String::from_utf8_lossy(NAMES[missing]);
            return Err(Fault::new("header", line, format!("a column {name}")));
        }
        if self.arrival == Some(ArrivalEvent::Queued) && places[5].is_none() {
            return Err(Fault::new("header", line, "a column QUE(ms), as `biosnoop -Q` writes it, for arrivals when queued"));
        }
        if names.len() > COLUMNS_MAX {
            return Err(Fault::new("header", line, format!("at most {COLUMNS_MAX} columns after TIME(s) and COMM")));
        }
        self.columns = Some((names.len(), places));
        Ok(Line::Text)
    }
}

impl Parser for Text {
    fn line(&mut self, line: &[u8], raw: &mut Raw) -> Result<Line, Fault> {
        if line.trim_ascii_start().starts_with(b"TIME(s)") {
            return self.header(line);
        }
        let Some((count, places)) = self.columns else {
            return Err(Fault::new("header", line, "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)"));
        };
        let text = line.trim_ascii_start();
        let time = text.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        let completed_ns = fields::decimal(time, 9).ok_or_else(|| Fault::new("time", time, "seconds"))?;
        let mut columns = [(0, 0); COLUMNS_MAX];
        let mut end = line.len();
        for place in (0..count).rev() {
            end = line[..end].iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |last| last + 1);
            let start = line[..end].iter().rposition(u8::is_ascii_whitespace).map_or(0, |blank| blank + 1);
            columns[place] = (start, end);
            end = start;
        }
        if line[..end].trim_ascii().len() < time.len() {
            return Err(Fault::new("line", line, format!("a time, a command and {count} columns")));
        }
        let of = |name: usize| places[name].map_or(&[][..], |place| &line[columns[place].0..columns[place].1]);
        let number = |name: usize, what: &'static str| {
            fields::integer(of(name)).ok_or_else(|| Fault::new(what, of(name), "an unsigned integer"))
        };
        let span = |name: usize, what: &'static str| {
            fields::decimal(of(name), 6).ok_or_else(|| Fault::new(what, of(name), "milliseconds"))
        };
        let queued = places[5].is_some() && self.arrival != Some(ArrivalEvent::Issued);
        let before = span(4, "latency")?.saturating_add(if queued { span(5, "time in the queue")? } else { 0 });
        let at_ns = START_NS.checked_add(completed_ns).and_then(|at| at.checked_sub(before));
        raw.at_ns = at_ns.ok_or_else(|| Fault::new("latency", of(4), "less than a day before the trace"))?;
        raw.stream = places[0].map_or((0, 0), |place| columns[place]);
        let rwbs = operation(of(1))?;
        raw.length = number(3, "bytes")?;
        let offset = if rwbs.flush && raw.length == 0 { Some(0) } else { sectors(of(2)) };
        raw.offset = offset.ok_or_else(|| Fault::new("sector", of(2), "a sector number"))?;
        Ok(rwbs.complete(raw))
    }

    fn restart(&self) -> Box<dyn Parser> {
        Box::new(Text { arrival: self.arrival, columns: None })
    }
}

impl Format for Biosnoop {
    fn name(&self) -> &'static str {
        "biosnoop"
    }
    fn aliases(&self) -> &'static [&'static str] {
        &[]
    }
    fn about(&self) -> &'static str {
        "Output of biosnoop (BCC, libbpf-tools): times of completion, from which LAT(ms) and QUE(ms) are taken off; T in letters."
    }
    fn has_arrivals(&self) -> bool {
        true
    }
    fn is_named_by(&self, line: &[u8]) -> bool {
        line.trim_ascii_start().starts_with(b"TIME(s)")
    }
    fn parser(&self, _head: &[Vec<u8>], reading: Reading) -> Box<dyn Parser> {
        Box::new(Text { arrival: reading.arrival, columns: None })
    }
    fn sample(&self) -> &'static str {
        "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  QUE(ms) LAT(ms)\n\
         0.000000    supervise      1950    xvda1     W 13092560   4096      0.10    0.74\n\
         0.000500    Web Content    2121    nvme0n1   RA 80         16384     0.04    0.30\n\
         0.002000    jbd2/sda1-8    330     xvda1     FF 0          0         0.00    0.50\n"
    }
    fn expected(&self) -> &'static [(u64, Op, u64, u64, &'static str)] {
        &[
            (0, Write, 6_703_390_720, 4096, "xvda1"),
            (1_000_000, Read, 40_960, 16_384, "nvme0n1"),
            (2_340_000, Flush, 0, 0, "xvda1"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_are_before_the_completion() {
        let times = |arrival, header: &str, line: &str| {
            let (mut parser, mut raw) = (Biosnoop.parser(&[], Reading { arrival, ..Reading::default() }), Raw::default());
            parser.line(header.as_bytes(), &mut raw).and_then(|_| parser.line(line.as_bytes(), &mut raw)).map(|_| raw.at_ns)
        };
        let (plain, queue) =
            ("TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)", "TIME(s) COMM PID DISK T SECTOR BYTES QUE(ms) LAT(ms)");
        let (one, two) = ("1.0 a b 7 sda W 8 512 2.5", "1.0 a b 7 sda W 8 512 1.5 2.5");
        let at = |ms: f64| Ok(START_NS + 1_000_000_000 - (ms * 1e6) as u64);
        assert_eq!(times(None, plain, one), at(2.5));
        assert_eq!(times(Some(ArrivalEvent::Issued), queue, two), at(2.5));
        assert_eq!((times(None, queue, two), times(Some(ArrivalEvent::Queued), queue, two)), (at(4.0), at(4.0)));
        let fault = times(Some(ArrivalEvent::Queued), plain, one).expect_err("no such column");
        assert!(fault.complaint().contains("a column QUE(ms)"), "{}", fault.complaint());
        assert!(times(None, plain, "1.0 a sda W 8").is_err() && times(None, plain, "1.0 a b 7 sda W 8 512 90000000").is_err());
    }
}
