//! Numbers the streams of a trace by name, in the order of first appearance.

use std::collections::BTreeMap;

/// Number of slots of the cache in front of the map; a power of two.
const SLOTS: usize = 1024;
/// Maximum number of streams of a trace: requests carry a 16-bit number.
pub const STREAMS_MAX: usize = 1 << 16;
/// Longest name of a stream \[bytes\]: that of a file.
const NAME_BYTES_MAX: usize = 4096;

/// Streams of one trace.
pub struct Streams {
    /// Name of each stream as written in the trace.
    names: Vec<Box<[u8]>>,
    numbers: BTreeMap<Box<[u8]>, u16>,
    cache: Vec<u16>,
    /// Stream of the previous request; most requests belong to the same stream as the previous one.
    last: usize,
    /// Labels of the selected streams; empty: all.
    wanted: Vec<String>,
    /// Number of each stream among the selected ones; `None`: not selected.
    ranks: Vec<Option<u16>>,
    labels: Vec<String>,
}

/// Returns the label of the stream that the trace writes as `name`: characters that separate columns become points.
pub(super) fn label(name: &[u8]) -> String {
    let text = String::from_utf8_lossy(name);
    let text = text
        .split(|c: char| c.is_whitespace() || c == ',' || c == ';')
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(".");
    let text: String =
        text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] }).collect();
    if text.is_empty() { "0".to_owned() } else { text }
}

impl Streams {
    /// Returns an empty list of streams; of the streams to come, those with a label in `wanted` are selected (all, if
    /// it is empty).
    pub fn new(wanted: &[String]) -> Streams {
        Streams {
            names: Vec::new(),
            numbers: BTreeMap::new(),
            cache: vec![0; SLOTS],
            last: 0,
            wanted: wanted.to_vec(),
            ranks: Vec::new(),
            labels: Vec::new(),
        }
    }

    /// Returns the labels of the selected streams seen so far, by number.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Returns the labels of all streams seen so far, selected or not.
    pub fn all_labels(&self) -> impl Iterator<Item = String> {
        self.names.iter().map(|name| label(name))
    }

    /// Returns the number of the stream written as `name` among the selected streams; `None` if it is not selected, an
    /// error if there are too many streams.
    #[inline]
    pub fn number(&mut self, name: &[u8]) -> Result<Option<u16>, ()> {
        if let Some(last) = self.names.get(self.last)
            && **last == *name
        {
            return Ok(self.ranks[self.last]);
        }
        self.look_up(name)
    }

    fn look_up(&mut self, name: &[u8]) -> Result<Option<u16>, ()> {
        let slot = hash(name) as usize % SLOTS;
        let cached = usize::from(self.cache[slot]);
        let found = if self.names.get(cached).is_some_and(|known| **known == *name) {
            cached
        } else {
            match self.numbers.get(name) {
                Some(number) => usize::from(*number),
                None => self.add(name)?,
            }
        };
        self.cache[slot] = u16::try_from(found).map_err(drop)?;
        self.last = found;
        Ok(self.ranks[found])
    }

    #[cold]
    fn add(&mut self, name: &[u8]) -> Result<usize, ()> {
        let number = self.names.len();
        if name.len() > NAME_BYTES_MAX {
            return Err(());
        }
        self.numbers.insert(name.into(), u16::try_from(number).map_err(drop)?);
        self.names.push(name.into());
        let label = label(name);
        let rank = (self.wanted.is_empty() || self.wanted.contains(&label)).then(|| u16::try_from(self.labels.len()));
        if rank.is_some() {
            self.labels.push(label);
        }
        self.ranks.push(rank.transpose().map_err(drop)?);
        Ok(number)
    }
}

/// Returns the FNV-1a hash of `name`, with its upper half folded into the lower one.
fn hash(name: &[u8]) -> u32 {
    let mixed = name.iter().fold(0x811c_9dc5u32, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193));
    mixed ^ mixed >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_first_appearance() {
        let mut streams = Streams::new(&[]);
        let numbers: Vec<_> = ["hm,0", "hm,1", "hm,0", "6 0"].iter().map(|name| streams.number(name.as_bytes())).collect();
        assert_eq!(numbers, [Ok(Some(0)), Ok(Some(1)), Ok(Some(0)), Ok(Some(2))]);
        assert_eq!(streams.labels(), ["hm.0", "hm.1", "6.0"]);
    }

    #[test]
    fn only_wanted_streams_have_numbers() {
        let mut streams = Streams::new(&["7".to_owned(), "9".to_owned()]);
        let numbers: Vec<_> = ["8", "9", "7", "8"].iter().map(|name| streams.number(name.as_bytes())).collect();
        assert_eq!(numbers, [Ok(None), Ok(Some(0)), Ok(Some(1)), Ok(None)]);
        assert_eq!(streams.all_labels().count(), 3);
    }

    #[test]
    fn many_streams_and_then_too_many() {
        let mut streams = Streams::new(&[]);
        for number in 0..STREAMS_MAX {
            assert_eq!(streams.number(number.to_string().as_bytes()), Ok(Some(u16::try_from(number).expect("16 bits"))));
        }
        assert_eq!(streams.number(b"4711"), Ok(Some(4711)));
        assert_eq!(streams.number(b"one more"), Err(()));
    }
}
