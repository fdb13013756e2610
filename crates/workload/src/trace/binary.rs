//! Binary traces, turned into text while they are read: one line for each record, so that a record has the number of
//! its line.
//!
//! A binary blktrace begins with a magic number. Records of vSCSI have a version. Those of oracleGeneral have neither:
//! they are recognised by what no text and hardly any other data have, times that never decrease and, in each record, a
//! number of the next access to the object that can be one. A trace of this format may also be named.

use super::blktrace;
use std::io::{Cursor, Error, ErrorKind, Read, Result};

/// Number of bytes from which a binary trace is recognised: 200 records of oracleGeneral, 120 of vSCSI.
const HEAD_BYTES: u64 = 4800;
/// Numbers of requests up to which one is believed. Eight characters of a text are above it, as a number.
const REQUESTS_MAX: u64 = 1 << 48;

/// Binary format whose records have one length.
#[derive(Debug)]
struct Kind {
    name: &'static str,
    /// Length of a record \[bytes\].
    size: usize,
    /// Function that appends the text of a record; it returns false if the record cannot be one.
    write: fn(&[u8], &mut Vec<u8>) -> bool,
    /// Expected record, for messages.
    expected: &'static str,
}

/// Formats of libCacheSim.
static KINDS: [Kind; 3] = [
    Kind {
        name: "vSCSI trace of version 2",
        size: 40,
        write: |record, out| u16_at(record, 2) >> 8 == 2 && vscsi(out, record, 0, 8, 16),
        expected: "version 2 and an operation code of SCSI",
    },
    Kind {
        name: "vSCSI trace of version 1",
        size: 32,
        write: |record, out| u16_at(record, 14) >> 8 == 1 && vscsi(out, record, 12, 4, 16),
        expected: "version 1 and an operation code of SCSI",
    },
    Kind { name: "oracleGeneral trace", size: 24, write: oracle, expected: "24 bytes" },
];

fn u16_at(record: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(record[at..at + 2].try_into().expect("2 bytes"))
}

fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(record[at..at + 4].try_into().expect("4 bytes"))
}

fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(record[at..at + 8].try_into().expect("8 bytes"))
}

/// Appends a record of vSCSI as a line of the CSV that CloudPhysics publishes; the numbers are the places of the
/// operation code (16 bits), the length \[bytes\] (32 bits), and the block and the time \[us\] (64 bits each).
fn vscsi(out: &mut Vec<u8>, record: &[u8], code: usize, length: usize, block: usize) -> bool {
    let (code, length) = (u16_at(record, code), u32_at(record, length));
    let (block, time) = (u64_at(record, block), u64_at(record, block + 8));
    put(out, format_args!("1,{time},{code:x},{length},{block}"));
    code <= 0xff
}

/// Appends a record of oracleGeneral: time \[s\], object, size \[bytes\], number of the next request for it.
fn oracle(record: &[u8], out: &mut Vec<u8>) -> bool {
    let (time, object, size, next) = (u32_at(record, 0), u64_at(record, 4), u32_at(record, 12), u64_at(record, 16) as i64);
    put(out, format_args!("{} {time} {object} {size} {next}", super::format::ORACLE_GENERAL));
    true
}

fn put(out: &mut Vec<u8>, line: std::fmt::Arguments<'_>) {
    use std::io::Write;
    writeln!(out, "{line}").expect("memory takes any text");
}

/// Returns the format of fixed records in which these first bytes of a trace are. `named` is the format that the user
/// names.
fn kind_of(head: &[u8], named: Option<&str>) -> Option<&'static Kind> {
    let [two, one, general] = &KINDS;
    let is_vscsi = |kind: &&Kind| {
        let mut records = head.chunks_exact(kind.size).take(2);
        records.len() > 0 && records.all(|record| (kind.write)(record, &mut Vec::new()))
    };
    if let Some(kind) = [two, one].into_iter().find(is_vscsi) {
        return Some(kind);
    }
    let is_named = named.is_some_and(|name| super::format::named(name).is_some_and(|format| format.has_objects()));
    let is_text = head.starts_with(super::format::ORACLE_GENERAL.as_bytes());
    (!is_text && (is_named || is_oracle(head))).then_some(general)
}

/// Returns true if these first bytes can be records of oracleGeneral, at least two of them.
fn is_oracle(head: &[u8]) -> bool {
    let mut last = 0;
    let records = head.chunks_exact(24);
    records.len() >= 2
        && records.enumerate().all(|(index, record)| {
            let (time, next) = (u32_at(record, 0), u64_at(record, 16));
            let credible = next == u64::MAX || next == i64::MAX as u64 || (index as u64..REQUESTS_MAX).contains(&next);
            credible && time >= std::mem::replace(&mut last, time)
        })
}

/// Records of one length, as text.
struct Records<R> {
    reader: R,
    kind: &'static Kind,
    number: u64,
    line: Vec<u8>,
    at: usize,
}

impl<R: Read> Read for Records<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        if self.at == self.line.len() {
            self.line.clear();
            self.at = 0;
            self.number += 1;
            let mut record = [0; 40];
            let record = &mut record[..self.kind.size];
            let count = fill(&mut self.reader, record)?;
            let broken = |found: String| {
                let (number, name, expected) = (self.number, self.kind.name, self.kind.expected);
                Error::new(ErrorKind::InvalidData, format!("record {number} of the {name}: {found}, expected {expected}"))
            };
            if count > 0 && count < record.len() {
                return Err(broken(format!("cut off after {count} of {} bytes", record.len())));
            }
            if count > 0 && !(self.kind.write)(record, &mut self.line) {
                return Err(broken(format!("found {}", self.line.trim_ascii().escape_ascii())));
            }
        }
        let count = into.len().min(self.line.len() - self.at);
        into[..count].copy_from_slice(&self.line[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Reads until `into` is full or the input ends; returns the number of bytes.
pub fn fill(reader: &mut impl Read, into: &mut [u8]) -> Result<usize> {
    let mut count = 0;
    while count < into.len() {
        match reader.read(&mut into[count..]) {
            Ok(0) => break,
            Ok(read) => count += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(count)
}

/// Returns the text of `reader`, which may hold a binary trace. `named` is the format that the user names.
pub fn text(mut reader: Box<dyn Read + Send>, named: Option<&str>) -> (Box<dyn Read + Send>, Result<()>) {
    let mut head = Vec::new();
    let peeked = reader.by_ref().take(HEAD_BYTES).read_to_end(&mut head).map(drop);
    let (is_blktrace, kind) = (blktrace::is_binary(&head), kind_of(&head, named));
    let reader = Cursor::new(head).chain(reader);
    let text: Box<dyn Read + Send> = match kind {
        _ if is_blktrace => blktrace::merged(vec![reader]),
        Some(kind) => Box::new(Records { reader, kind, number: 0, line: Vec::new(), at: 0 }),
        None => Box::new(reader),
    };
    (text, peeked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_other_data_are_no_records() {
        let records = |next: &[u64]| -> Vec<u8> {
            let record = |next: &u64| [&[1, 0, 0, 0][..], &[9; 8], &[0, 16, 0, 0], &next.to_le_bytes()].concat();
            next.iter().flat_map(record).collect()
        };
        assert!(is_oracle(&records(&[u64::MAX, 7])) && is_oracle(&records(&[i64::MAX as u64, 1])));
        assert!(!is_oracle(&records(&[5])), "one record says nothing");
        assert!(!is_oracle(&records(&[5, 0])), "the next access is not before this one");
        assert!(!is_oracle(&records(&[5, 1 << 60])), "more requests than any trace has");
        assert_eq!(kind_of(&records(&[5]), Some("oracleGeneral")).map(|kind| kind.size), Some(24));
        assert!(kind_of(&records(&[5]), Some("msr")).is_none());
        for text in ["0 0 1 8 1\n".repeat(50), "\n".repeat(99), " ".repeat(99), String::new()] {
            assert!(kind_of(text.as_bytes(), None).is_none(), "{text:?}");
        }
        let mut rng = kit::Rng::stream(1, "binary");
        for _ in 0..10_000 {
            let noise: Vec<u8> = (0..96).map(|_| rng.below(256) as u8).collect();
            assert!(kind_of(&noise, None).is_none(), "{noise:?}");
        }
    }
}
