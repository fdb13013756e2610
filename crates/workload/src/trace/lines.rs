//! Numbered lines of an input, which is decompressed while it is read, in large chunks.

use super::{binary, fields};
use crate::Input;
use flate2::bufread::GzDecoder;
use kit::Problems;
use std::io::{BufRead, BufReader, Cursor, Error, ErrorKind, Read};

/// Number of bytes requested per read: large enough that the cost of the calls is negligible, small enough for a
/// second-level cache.
const CHUNK_BYTES: usize = 256 * 1024;
/// Maximum length of a line of text \[bytes\]. The longest known lines (FIU, with a hash for each sector) have some 64
/// KiB.
const LINE_BYTES_MAX: usize = 1 << 20;
/// Magic numbers of RFC 1952 (gzip) and RFC 8878 (Zstandard).
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// U+FEFF in UTF-8, which some tools write before the first line.
const BYTE_ORDER_MARK: &[u8] = &[0xef, 0xbb, 0xbf];

/// Opens `input` and decompresses gzip and Zstandard, which are recognised by their magic numbers. Returns the content,
/// and the name of the compression (empty: none).
pub fn decompressed(input: &Input) -> std::io::Result<(Box<dyn Read + Send>, &'static str)> {
    let mut reader = (input.open)()?;
    let mut magic = [0u8; 4];
    let mut count = 0;
    while count < magic.len() {
        match reader.read(&mut magic[count..]) {
            Ok(0) => break,
            Ok(read) => count += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let whole = Cursor::new(magic[..count].to_vec()).chain(reader);
    Ok(if magic[..count].starts_with(GZIP) {
        (Box::new(GzipMembers(Some(GzDecoder::new(BufReader::new(whole))))), "gzip")
    } else if magic[..count].starts_with(ZSTD) {
        (Box::new(zstd::Decoder::new(whole)?), "Zstandard")
    } else {
        (Box::new(whole), "")
    })
}

/// Decoder of a gzip file of one member or several. What follows the last one must be another one: a decoder of flate2
/// takes other bytes there for a member that is cut short.
struct GzipMembers<R: BufRead>(Option<GzDecoder<R>>);

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let count = member.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            let mut rest = self.0.take().expect("it was just read").into_inner();
            let first = loop {
                match rest.fill_buf() {
                    Ok(bytes) => break bytes.first().copied(),
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => return Err(error),
                }
            };
            match first {
                None => return Ok(0),
                Some(byte) if byte == GZIP[0] => self.0 = Some(GzDecoder::new(rest)),
                Some(_) => return Err(Error::new(ErrorKind::InvalidData, "other bytes follow their end")),
            }
        }
        Ok(0)
    }
}

/// Reader of numbered lines.
pub struct Lines {
    name: String,
    reader: Box<dyn Read + Send>,
    compression: &'static str,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    number: u64,
    ended: bool,
}

impl Lines {
    /// Opens `input` at its first line. `named` is the format that the user names, if any.
    pub fn open(input: &Input, named: Option<&str>) -> Result<Lines, Problems> {
        let unreadable = |error: std::io::Error| Problems::one(&input.name, format!("cannot be read: {error}"));
        let (reader, compression) = decompressed(input).map_err(unreadable)?;
        let (reader, peeked) = binary::text(reader, named);
        let name = input.name.clone();
        let lines = Lines { name, reader, compression, buffer: vec![0; CHUNK_BYTES], start: 0, end: 0, number: 0, ended: false };
        match peeked {
            Ok(()) => Ok(lines),
            Err(error) => Err(lines.broken(&error)),
        }
    }

    /// Returns the number of the line that [`Lines::next`] returned last, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the next line, without its line end (`\n` or `\r\n`).
    #[inline]
    pub fn next(&mut self) -> Result<Option<&[u8]>, Problems> {
        let mut searched = 0;
        let length = loop {
            let rest = &self.buffer[self.start + searched..self.end];
            if let Some(at) = fields::find(b'\n', rest) {
                break searched + at;
            }
            searched = self.end - self.start;
            if searched > LINE_BYTES_MAX {
                return Err(self.problem("a line of more than 1 MiB: expected a text file with one request a line"));
            }
            if self.ended {
                if searched == 0 {
                    return Ok(None);
                }
                break searched;
            }
            self.refill()?;
        };
        let from = self.start;
        self.start = (from + length + 1).min(self.end);
        self.number += 1;
        let mut line = &self.buffer[from..from + length];
        if self.number == 1 {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Moves the unread bytes to the front of the buffer and reads more bytes behind them.
    #[cold]
    fn refill(&mut self) -> Result<(), Problems> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if self.buffer.len() - self.end < CHUNK_BYTES / 2 {
            self.buffer.resize(self.end + CHUNK_BYTES, 0);
        }
        loop {
            match self.reader.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(self.broken(&error)),
            }
            return Ok(());
        }
    }

    fn broken(&self, error: &std::io::Error) -> Problems {
        let complaint = match (self.compression, error.kind()) {
            ("", _) => format!("cannot be read further: {error}"),
            (kind, ErrorKind::UnexpectedEof) => format!("the {kind} data end too early ({error}): the file is truncated"),
            (kind, _) => format!("the {kind} data are damaged: {error}"),
        };
        Problems::one(format!("{}:{}", self.name, self.number + 1), complaint)
    }

    /// Returns a problem of the line being read.
    fn problem(&self, complaint: &str) -> Problems {
        Problems::one(format!("{}:{}", self.name, self.number + 1), complaint)
    }
}

/// First lines of an input, from which its kind and format are recognised.
pub struct Head {
    /// Lines of the first 64 KiB, the last one whole, without line ends.
    pub lines: Vec<Vec<u8>>,
    /// True if these are all lines of the input.
    pub whole: bool,
}

impl Head {
    /// Size of the head \[bytes\]. The longest header block (ETW) has 12 KiB.
    const BYTES: usize = 64 * 1024;

    /// Reads the head of `input`. `named` is the format that the user names, if any.
    pub fn of(input: &Input, named: Option<&str>) -> Result<Head, Problems> {
        let mut lines = Lines::open(input, named)?;
        let mut head = Head { lines: Vec::new(), whole: false };
        let mut bytes = 0;
        while bytes < Head::BYTES {
            let Some(line) = lines.next()? else {
                head.whole = true;
                break;
            };
            bytes += line.len() + 1;
            head.lines.push(line.to_vec());
        }
        Ok(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn all(input: &Input) -> Result<Vec<String>, Problems> {
        let mut lines = Lines::open(input, None)?;
        let mut out = Vec::new();
        while let Some(line) = lines.next()? {
            out.push(String::from_utf8_lossy(line).into_owned());
        }
        assert_eq!(lines.number(), out.len() as u64);
        Ok(out)
    }

    #[test]
    fn line_ends_of_all_kinds() {
        assert_eq!(all(&Input::text("x", "a\r\nb\n\nc")), Ok(vec!["a".into(), "b".into(), String::new(), "c".into()]));
        assert_eq!(all(&Input::text("x", "")), Ok(vec![]));
        assert_eq!(all(&Input::text("x", "\u{feff}a\n")), Ok(vec!["a".into()]));
    }

    #[test]
    fn lines_across_chunks_and_too_long_lines() {
        let long = "x".repeat(CHUNK_BYTES * 2);
        assert_eq!(all(&Input::text("x", format!("a\n{long}\nb\n"))), Ok(vec!["a".into(), long, "b".into()]));
        let text = all(&Input::text("x", "x".repeat(3 * LINE_BYTES_MAX))).expect_err("too long").to_string();
        assert!(text.starts_with("x:1: a line of more than 1 MiB"), "{text}");
    }

    #[test]
    fn compressed_inputs_read_alike_and_truncated_ones_say_so() {
        let text: String = (0..20_000).map(|n| format!("{},{}\n", n * 7919 % 10_007, n)).collect();
        let plain = all(&Input::text("x", text.clone())).expect("plain text");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        gzip.write_all(text.as_bytes()).expect("memory");
        let gzip = gzip.finish().expect("memory");
        let mut zstd = zstd::Encoder::new(Vec::new(), 1).expect("memory");
        zstd.include_checksum(true).expect("a valid parameter");
        zstd.write_all(text.as_bytes()).expect("memory");
        let zstd = zstd.finish().expect("memory");
        for (bytes, kind) in [(gzip, "gzip"), (zstd, "Zstandard")] {
            assert_eq!(all(&Input::text("x", bytes.clone())), Ok(plain.clone()));
            let twice = [bytes.clone(), bytes.clone()].concat();
            assert_eq!(all(&Input::text("x", twice)).map(|lines| lines.len()), Ok(2 * plain.len()), "{kind} members in a row");
            for more in [&b"x"[..], &b"more bytes than a header has"[..]] {
                let message = all(&Input::text("x", [&bytes, more].concat())).expect_err("more follows").to_string();
                assert!(
                    kind != "gzip" || message.ends_with("the gzip data are damaged: other bytes follow their end"),
                    "{message}"
                );
            }
            let message = all(&Input::text("x", bytes[..bytes.len() / 2].to_vec())).expect_err("cut").to_string();
            assert!(message.contains(&format!("the {kind} data end too early")) && message.starts_with("x:"), "{message}");
            let mut damaged = bytes.clone();
            let middle = damaged.len() / 2;
            damaged[middle..middle + 16].fill(0xaa);
            assert!(all(&Input::text("x", damaged)).is_err(), "{kind}");
        }
    }
}
