//! Binary traces of `blktrace` (`blktrace -d`, `blkparse -d`), turned into the text of blkparse while they are read.
//!
//! A record is a header of 48 bytes (`struct blk_io_trace` of `linux/blktrace_api.h`) and its payload. Numbers have the
//! byte order of the machine that wrote the trace, which the magic number shows. `blktrace` writes a file for each CPU;
//! [`merged`] reads several of them as one trace, in the order of time.

use super::binary::fill;
use std::io::{Error, ErrorKind, Read, Result};

/// Length of the header of a record \[bytes\].
const HEADER: usize = 48;
/// Magic number of a record, without its last byte, the version.
const MAGIC: u32 = 0x6561_7400;
/// Version of the format.
const VERSION: u32 = 7;
/// Actions that blkparse shows, by the lower bits of `action`, from 1 (`__BLK_TA_QUEUE`).
const ACTIONS: &[u8; 15] = b"QMFGSRDCPUTIXBA";
/// Bit of the lower half of `action`: the payload begins with the number of a control group, 8 bytes.
const CGROUP: u32 = 1 << 8;
/// Bits of the upper half of `action`: categories.
const WRITE: u32 = 1 << 17;
const FLUSH: u32 = 1 << 18;
const SYNC: u32 = 1 << 19;
const NOTIFY: u32 = 1 << 26;
const AHEAD: u32 = 1 << 27;
const METADATA: u32 = 1 << 28;
const DISCARD: u32 = 1 << 29;
const DRIVER_DATA: u32 = 1 << 30;
const FUA: u32 = 1 << 31;

/// Returns true if these first bytes are those of a binary trace.
pub fn is_binary(head: &[u8]) -> bool {
    let Some(magic) = head.first_chunk::<4>() else { return false };
    [u32::from_le_bytes(*magic), u32::from_be_bytes(*magic)].contains(&(MAGIC | VERSION))
}

/// Record of a trace.
struct Record {
    at_ns: u64,
    action: u32,
    sector: u64,
    bytes: u32,
    pid: u32,
    device: u32,
    cpu: u32,
    sequence: u32,
    /// Device that a remap comes from, and the sector there.
    from: Option<(u32, u64)>,
}

/// Reader of the records of one file.
struct Records<R> {
    reader: R,
    /// Number of the record read last, from 1.
    number: u64,
    payload: Vec<u8>,
}

fn broken(number: u64, what: &str) -> Error {
    Error::new(ErrorKind::InvalidData, format!("record {number} of the binary blktrace: {what}"))
}

impl<R: Read> Records<R> {
    /// Returns the next record; `None` at the end.
    fn next(&mut self) -> Result<Option<Record>> {
        let mut header = [0; HEADER];
        self.number += 1;
        let count = fill(&mut self.reader, &mut header)?;
        if count == 0 {
            return Ok(None);
        }
        if count < HEADER {
            return Err(broken(self.number, "cut off, expected 48 bytes"));
        }
        let magic = u32::from_le_bytes(header[..4].try_into().expect("4 bytes"));
        let big = magic != MAGIC | VERSION;
        if big && magic.swap_bytes() != MAGIC | VERSION {
            let complaint =
                format!("found the magic number {magic:#010x}, expected {:#010x} in either byte order", MAGIC | VERSION);
            return Err(broken(self.number, &complaint));
        }
        let u16_at = |at: usize| number(&header[at..at + 2], big) as u16;
        let u32_at = |at: usize| number(&header[at..at + 4], big) as u32;
        let mut record = Record {
            at_ns: number(&header[8..16], big),
            action: u32_at(28),
            sector: number(&header[16..24], big),
            bytes: u32_at(24),
            pid: u32_at(32),
            device: u32_at(36),
            cpu: u32_at(40),
            sequence: u32_at(4),
            from: None,
        };
        self.payload.resize(usize::from(u16_at(46)), 0);
        if fill(&mut self.reader, &mut self.payload)? < self.payload.len() {
            return Err(broken(self.number, "its payload is cut off"));
        }
        // A remap's payload is in big-endian order on every machine: device from, device to, sector from.
        let skip = if record.action & CGROUP != 0 { 8 } else { 0 };
        if let Some(remap) = self.payload.get(skip..skip + 16).filter(|_| record.action & 0xff == 15) {
            record.from = Some((number(&remap[..4], true) as u32, number(&remap[8..], true)));
        }
        Ok(Some(record))
    }
}

/// Returns the number in these bytes.
fn number(bytes: &[u8], big: bool) -> u64 {
    let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
    if big { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) }
}

impl Record {
    /// Returns the letters of the operation and its modifiers.
    fn rwbs(&self) -> String {
        let is = |bit: u32| self.action & bit != 0;
        let op = match () {
            () if is(DISCARD) => 'D',
            () if is(WRITE) => 'W',
            () if self.bytes > 0 => 'R',
            () => 'N',
        };
        let letters = [(is(FLUSH), 'F'), (true, op), (is(FUA), 'F'), (is(AHEAD), 'A'), (is(SYNC), 'S'), (is(METADATA), 'M')];
        letters.iter().filter(|(is_set, _)| *is_set).map(|(_, letter)| *letter).collect()
    }

    /// Appends the line that blkparse would print; nothing for a notification.
    fn write(&self, out: &mut Vec<u8>) {
        use std::io::Write;
        let code = (self.action & 0xff) as usize;
        if self.action & (NOTIFY | DRIVER_DATA) != 0 || code == 0 || code > ACTIONS.len() {
            return;
        }
        let device = |device: u32| format!("{},{}", device >> 20, device & 0xf_ffff);
        let (action, rwbs) = (char::from(ACTIONS[code - 1]), self.rwbs());
        let (seconds, fraction) = (self.at_ns / 1_000_000_000, self.at_ns % 1_000_000_000);
        let (device_text, sequence) = (device(self.device), self.sequence);
        let mut line = format!("{device_text} {} {sequence} {seconds}.{fraction:09} {} {action} {rwbs}", self.cpu, self.pid);
        if self.bytes > 0 || !rwbs.contains('F') {
            line += &format!(" {} + {}", self.sector, self.bytes.div_ceil(512));
        }
        if let Some((from, sector)) = self.from {
            line += &format!(" <- ({}) {sector}", device(from));
        }
        writeln!(out, "{line}").expect("memory takes any text");
    }
}

/// Binary traces as one text, in the order of time.
struct Text<R> {
    files: Vec<(Records<R>, Option<Record>)>,
    started: bool,
    line: Vec<u8>,
    at: usize,
}

impl<R: Read> Read for Text<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        if !std::mem::replace(&mut self.started, true) {
            for (records, next) in &mut self.files {
                *next = records.next()?;
            }
        }
        while self.at == self.line.len() {
            self.line.clear();
            self.at = 0;
            let earliest = self.files.iter_mut().filter(|(_, next)| next.is_some());
            let earliest = earliest.min_by_key(|(_, next)| next.as_ref().map(|record| record.at_ns));
            let Some((records, next)) = earliest else { return Ok(0) };
            if let Some(record) = next.take() {
                record.write(&mut self.line);
            }
            *next = records.next()?;
        }
        let count = into.len().min(self.line.len() - self.at);
        into[..count].copy_from_slice(&self.line[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Returns binary traces as one text of blkparse, in the order of time: the files of a trace, one for each CPU.
pub fn merged<R: Read + Send + 'static>(files: Vec<R>) -> Box<dyn Read + Send> {
    let files = files.into_iter().map(|reader| (Records { reader, number: 0, payload: Vec::new() }, None)).collect();
    Box::new(Text { files, started: false, line: Vec::new(), at: 0 })
}

/// Returns the names of the files of a trace of which `path` is one: `NAME.blktrace.0`, `NAME.blktrace.1` and so on,
/// one for each CPU, all with the same ending (`.gz`, `.zst`) or none; nothing if it is no such file. `is_file` says
/// which there are.
pub fn cpu_files(path: &str, is_file: impl Fn(&str) -> bool) -> Vec<String> {
    let Some((stem, rest)) = path.rsplit_once(".blktrace.") else { return Vec::new() };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let ending = &rest[digits..];
    if digits == 0 || !["", ".gz", ".zst"].contains(&ending) {
        return Vec::new();
    }
    let files = (0..).map(|cpu| format!("{stem}.blktrace.{cpu}{ending}"));
    files.take_while(|file| is_file(file)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_names_those_of_all_cpus() {
        let there = ["a.blktrace.0", "a.blktrace.1", "a.blktrace.3", "a.blktrace.0.gz", "a.blktrace.1.gz", "b.blktrace.x"];
        let files = |path: &str| cpu_files(path, |file| there.contains(&file));
        assert_eq!(files("a.blktrace.0"), ["a.blktrace.0", "a.blktrace.1"]);
        assert_eq!(files("a.blktrace.1.gz"), ["a.blktrace.0.gz", "a.blktrace.1.gz"]);
        for other in ["b.blktrace.x", "b.blktrace.", "a.blktrace", "a.blktrace.0.txt", "c.blktrace.0"] {
            assert!(files(other).is_empty(), "{other}");
        }
    }

    /// Appends a record in the byte order of a machine.
    fn record(out: &mut Vec<u8>, big: bool, at_ns: u64, action: u32, (sector, bytes): (u64, u32), payload: &[u8]) {
        let order = |value: u64, size: usize| {
            let mut bytes = value.to_be_bytes()[8 - size..].to_vec();
            if !big {
                bytes.reverse();
            }
            bytes
        };
        let device = 8 << 20 | 16;
        for (value, size) in [
            (u64::from(MAGIC | VERSION), 4),
            (7, 4),
            (at_ns, 8),
            (sector, 8),
            (u64::from(bytes), 4),
            (u64::from(action), 4),
            (99, 4),
            (device, 4),
            (2, 4),
            (0, 2),
            (payload.len() as u64, 2),
        ] {
            out.extend(order(value, size));
        }
        out.extend(payload);
    }

    fn text(files: Vec<Vec<u8>>) -> Result<String> {
        let mut out = String::new();
        merged(files.into_iter().map(std::io::Cursor::new).collect()).read_to_string(&mut out).map(|_| out)
    }

    const FS: u32 = 1 << 24;

    #[test]
    fn records_become_the_lines_of_blkparse() {
        for big in [false, true] {
            let mut bytes = Vec::new();
            record(&mut bytes, big, 5, NOTIFY, (0, 0), b"fio\0");
            record(&mut bytes, big, 1_000_000_100, 1 | WRITE | SYNC | FLUSH | FUA | FS, (2048, 4096), &[]);
            record(&mut bytes, big, 1_000_000_200, 7 | FS | METADATA | AHEAD, (80, 1000), &[]);
            record(&mut bytes, big, 1_000_000_300, 1 | WRITE | SYNC | FLUSH | FS, (0, 0), &[]);
            record(&mut bytes, big, 1_000_000_400, 1 | WRITE | DISCARD | FS, (8, 1 << 20), &[]);
            let remap = [&(253u32 << 20).to_be_bytes()[..], &[0; 4], &77u64.to_be_bytes()].concat();
            record(&mut bytes, big, 2_000_000_000, 15 | WRITE | FS, (9, 512), &remap);
            record(&mut bytes, big, 2_000_000_001, 15 | CGROUP | WRITE | FS, (9, 512), &[&[1; 8], &remap[..]].concat());
            let lines = text(vec![bytes.clone()]).expect("a trace");
            let expected = "8,16 2 7 1.000000100 99 Q FWFS 2048 + 8\n8,16 2 7 1.000000200 99 D RAM 80 + 2\n8,16 2 7 1.000000300 99 Q FWS\n\
                8,16 2 7 1.000000400 99 Q D 8 + 2048\n8,16 2 7 2.000000000 99 A W 9 + 1 <- (253,0) 77\n\
                8,16 2 7 2.000000001 99 A W 9 + 1 <- (253,0) 77\n";
            assert_eq!(lines, expected, "{big}");
            assert!(is_binary(&bytes) && !is_binary(b"8,16 2") && !is_binary(b""));
            for cut in [bytes.len() - 1, 50] {
                let message = text(vec![bytes[..cut].to_vec()]).expect_err("cut off").to_string();
                assert!(message.contains("cut off"), "{message}");
            }
        }
    }

    #[test]
    fn files_of_several_cpus_are_merged_by_time() {
        let file = |times: &[u64]| {
            let mut bytes = Vec::new();
            times.iter().for_each(|at| record(&mut bytes, false, *at, 1 | WRITE, (*at, 512), &[]));
            bytes
        };
        let lines = text(vec![file(&[1, 4, 6]), file(&[]), file(&[2, 3, 7])]).expect("a trace");
        let times: Vec<&str> = lines.lines().map(|line| line.split(' ').nth(3).expect("a time")).collect();
        assert_eq!(times.len(), 6);
        assert!(times.is_sorted(), "{times:?}");
    }
}
