//! Files written during a run: its physical history, and the timeline of dies and channels.

pub mod history;
pub mod timeline;

use flate2::write::GzEncoder;
use std::io::{Result, Write};

/// Output file, compressed according to its name: `.gz` (RFC 1952), `.zst` (RFC 8878), any other name uncompressed.
/// Equal content gives equal bytes.
pub enum Packed<W: Write> {
    /// Not compressed.
    Plain(W),
    /// Compressed by gzip.
    Gzip(Box<GzEncoder<W>>),
    /// Compressed by Zstandard.
    Zstandard(Box<zstd::Encoder<'static, W>>),
}

impl<W: Write> Packed<W> {
    /// Creates a writer that compresses into `to` as the file name `name` requires.
    pub fn new(name: &str, to: W) -> Result<Packed<W>> {
        Ok(if name.ends_with(".gz") {
            Packed::Gzip(Box::new(GzEncoder::new(to, flate2::Compression::fast())))
        } else if name.ends_with(".zst") {
            let mut encoder = zstd::Encoder::new(to, 3)?;
            encoder.include_checksum(true)?;
            Packed::Zstandard(Box::new(encoder))
        } else {
            Packed::Plain(to)
        })
    }

    /// Finishes the file: writes the end of the compressed stream and flushes.
    pub fn finish(self) -> Result<()> {
        match self {
            Packed::Plain(mut to) => to.flush(),
            Packed::Gzip(encoder) => encoder.finish()?.flush(),
            Packed::Zstandard(encoder) => encoder.finish()?.flush(),
        }
    }
}

impl<W: Write> Write for Packed<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            Packed::Plain(to) => to.write(bytes),
            Packed::Gzip(encoder) => encoder.write(bytes),
            Packed::Zstandard(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            Packed::Plain(to) => to.flush(),
            Packed::Gzip(encoder) => encoder.flush(),
            Packed::Zstandard(encoder) => encoder.flush(),
        }
    }
}
