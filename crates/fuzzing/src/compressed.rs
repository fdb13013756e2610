//! Traces wrapped in gzip and Zstandard, whole and damaged.

use crate::text;
use arbitrary::Arbitrary;
use std::io::{Read, Write};
use workload::trace::{self, Options};
use workload::{Input, decompressed};

/// Content that is compressed, and then damaged.
#[derive(Arbitrary, Debug)]
struct Wrapped {
    zstd: bool,
    /// Two members in a row.
    twice: bool,
    /// Place and new value of bytes.
    damage: Vec<(u16, u8)>,
    cut: Option<u16>,
    content: Vec<u8>,
}

/// Most bytes that are decompressed: small inputs can have a content without end.
const CONTENT_MAX: u64 = 4 << 20;

/// Checks a compressed input, or one that is compressed here.
pub fn check(input: &[u8]) {
    let Some(wrapped) = text::typed::<Wrapped>(input) else { return check_bytes(input) };
    let mut bytes = compress(&wrapped);
    let is_whole = wrapped.damage.is_empty() && wrapped.cut.is_none();
    if is_whole {
        let (mut reader, _) = decompressed(&Input::text("f", bytes.clone())).expect("memory");
        let (mut found, times) = (Vec::new(), if wrapped.twice { 2 } else { 1 });
        reader.read_to_end(&mut found).expect("it was just compressed");
        assert_eq!(found, wrapped.content.repeat(times), "it is read as it was written");
    }
    for (at, value) in &wrapped.damage {
        let at = usize::from(*at) % bytes.len();
        bytes[at] = *value;
    }
    if let Some(cut) = wrapped.cut {
        bytes.truncate(usize::from(cut) % bytes.len());
    }
    check_bytes(&bytes);
}

fn compress(wrapped: &Wrapped) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..if wrapped.twice { 2 } else { 1 } {
        if wrapped.zstd {
            let mut writer = zstd::Encoder::new(&mut bytes, 1).expect("a valid level");
            writer.include_checksum(true).expect("a valid parameter");
            writer.write_all(&wrapped.content).expect("memory");
            writer.finish().expect("memory");
        } else {
            let mut writer = flate2::write::GzEncoder::new(&mut bytes, flate2::Compression::fast());
            writer.write_all(&wrapped.content).expect("memory");
            writer.finish().expect("memory");
        }
    }
    bytes
}

fn check_bytes(bytes: &[u8]) {
    let input = Input::text("f", bytes);
    // Damaged data end in an error of the reader, or differ.
    if let Ok((reader, _)) = decompressed(&input) {
        let mut content = Vec::new();
        let _ = reader.take(CONTENT_MAX).read_to_end(&mut content);
        if content.len() as u64 == CONTENT_MAX {
            return;
        }
    }
    if let Err(problems) = trace::info(&input, &Options::default()) {
        text::assert_told(&problems);
    }
}
