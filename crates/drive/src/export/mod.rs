//! Files written during a run: its physical history, and the timeline of dies and channels.

pub mod history;
pub mod timeline;

use flate2::write::GzEncoder;
use std::io::{Result, Write};

/// Output file, compressed according to its name: `.gz` (RFC 1952), `.zst` (RFC 8878), any other name uncompressed.
/// Equal content gives equal bytes.
pub enum CompressedWriter<W: Write> {
    /// Not compressed.
    Plain(W),
    /// Compressed by gzip.
    Gzip(Box<GzEncoder<W>>),
    /// Compressed by Zstandard.
    Zstandard(Box<zstd::Encoder<'static, W>>),
}

impl<W: Write> CompressedWriter<W> {
    /// Creates a writer that compresses into `to` as the file name `name` requires.
    pub fn new(name: &str, to: W) -> Result<CompressedWriter<W>> {
        Ok(if name.ends_with(".gz") {
            CompressedWriter::Gzip(Box::new(GzEncoder::new(to, flate2::Compression::fast())))
        } else if name.ends_with(".zst") {
            let mut encoder = zstd::Encoder::new(to, 3)?;
            encoder.include_checksum(true)?;
            CompressedWriter::Zstandard(Box::new(encoder))
        } else {
            CompressedWriter::Plain(to)
        })
    }

    /// Finishes the file: writes the end of the compressed stream and flushes.
    pub fn finish(self) -> Result<()> {
        match self {
            CompressedWriter::Plain(mut to) => to.flush(),
            CompressedWriter::Gzip(encoder) => encoder.finish()?.flush(),
            CompressedWriter::Zstandard(encoder) => encoder.finish()?.flush(),
        }
    }
}

impl<W: Write> Write for CompressedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        match self {
            CompressedWriter::Plain(to) => to.write(bytes),
            CompressedWriter::Gzip(encoder) => encoder.write(bytes),
            CompressedWriter::Zstandard(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> Result<()> {
        match self {
            CompressedWriter::Plain(to) => to.flush(),
            CompressedWriter::Gzip(encoder) => encoder.flush(),
            CompressedWriter::Zstandard(encoder) => encoder.flush(),
        }
    }
}
