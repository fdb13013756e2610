//! Saved state as bytes: small values by serde (postcard's wire format), large tables as they lie in memory.
//!
//! Numbers keep every bit, so that what is read back is what was written.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{Read, Result, Write};

/// What an archive is for.
enum Direction<'a> {
    Save(Vec<u8>),
    Load(&'a [u8]),
}

/// State on its way to a file or back: one list of values, visited by the same code in both directions, so that the two cannot disagree.
pub struct Archive<'a>(Direction<'a>);

/// What came of visiting a value: what is wrong with the saved bytes.
pub type Archived = std::result::Result<(), String>;

impl<'a> Archive<'a> {
    /// An archive that values are saved to.
    pub fn saving() -> Archive<'a> {
        Archive(Direction::Save(Vec::new()))
    }

    /// An archive that values are loaded from.
    pub fn loading(bytes: &'a [u8]) -> Archive<'a> {
        Archive(Direction::Load(bytes))
    }

    /// Saves a value, or loads it in place of what it was.
    pub fn value<T: Serialize + DeserializeOwned>(&mut self, value: &mut T) -> Archived {
        match &mut self.0 {
            Direction::Save(bytes) => {
                *bytes = postcard::to_extend(value, std::mem::take(bytes)).map_err(|error| error.to_string())?;
            }
            Direction::Load(bytes) => {
                let (loaded, rest) = postcard::take_from_bytes(bytes).map_err(|error| format!("damaged state: {error}"))?;
                (*value, *bytes) = (loaded, rest);
            }
        }
        Ok(())
    }

    /// Ends it: the bytes that were saved; of an archive that was loaded from, nothing, if all of it was read.
    pub fn finish(self) -> std::result::Result<Vec<u8>, String> {
        match self.0 {
            Direction::Save(bytes) => Ok(bytes),
            Direction::Load([]) => Ok(Vec::new()),
            Direction::Load(rest) => Err(format!("damaged state: {} bytes too many", rest.len())),
        }
    }
}

/// Writes a value behind its length.
pub fn write_value<T: Serialize>(value: &T, to: &mut dyn Write) -> Result<()> {
    let bytes = postcard::to_stdvec(value).map_err(std::io::Error::other)?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(&bytes)
}

/// Reads a value that [`write_value`] wrote.
pub fn read_value<T: DeserializeOwned>(from: &mut dyn Read) -> Result<T> {
    let mut length = [0u8; 8];
    from.read_exact(&mut length)?;
    let length = u64::from_le_bytes(length);
    // Grown as it is read: a damaged length must not ask for memory that is not there.
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&bytes).map_err(std::io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;
    use std::collections::VecDeque;

    #[derive(Clone, Debug, PartialEq)]
    struct Kept {
        queue: VecDeque<(u32, i64)>,
        share: f64,
        name: Option<String>,
    }

    impl Kept {
        fn state(&mut self, archive: &mut Archive<'_>) -> Archived {
            archive.value(&mut self.queue)?;
            archive.value(&mut self.share)?;
            archive.value(&mut self.name)
        }
    }

    #[test]
    fn what_is_saved_is_loaded_bit_by_bit() {
        let mut kept = Kept { queue: [(7, -1), (u32::MAX, i64::MIN)].into(), share: 0.1 + 0.2, name: Some("x".to_owned()) };
        let mut saving = Archive::saving();
        kept.state(&mut saving).expect("memory");
        let bytes = saving.finish().expect("memory");
        let mut other = Kept { queue: VecDeque::new(), share: f64::NAN, name: None };
        let mut loading = Archive::loading(&bytes);
        other.state(&mut loading).expect("it was just saved");
        loading.finish().expect("all of it was read");
        assert_eq!(other, kept);
        for cut in 0..bytes.len() {
            assert!(other.state(&mut Archive::loading(&bytes[..cut])).is_err(), "cut at {cut}");
        }
        let longer = [&bytes[..], &[0]].concat();
        let mut loading = Archive::loading(&longer);
        other.state(&mut loading).expect("what comes first is whole");
        assert!(loading.finish().is_err());
    }

    #[test]
    fn a_random_stream_goes_on_where_it_was() {
        let mut rng = Rng::stream(5, "archive");
        (0..1000).for_each(|_| _ = rng.next_u64());
        let mut file = Vec::new();
        write_value(&rng, &mut file).expect("memory");
        let mut other: Rng = read_value(&mut &file[..]).expect("it was just written");
        assert_eq!((0..10).map(|_| rng.next_u64()).collect::<Vec<_>>(), (0..10).map(|_| other.next_u64()).collect::<Vec<_>>());
        assert!(read_value::<Rng>(&mut &file[..file.len() - 1]).is_err());
    }
}
