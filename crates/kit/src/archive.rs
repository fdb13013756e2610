//! Saved state as bytes. Values are serialised by serde in postcard's wire format. The large tables of the FTL are
//! saved as raw memory, outside this module.
//!
//! Numbers, floating point included, are stored bit by bit, so that a loaded value is identical to the saved one.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{Read, Result, Write};

/// Direction of an archive: into saved bytes, or from them.
enum Direction<'a> {
    Save(Vec<u8>),
    Load(&'a [u8]),
}

/// A sequence of values being saved or loaded. The same code visits the values in both directions, so that saving and
/// loading cannot disagree.
pub struct Archive<'a>(Direction<'a>);

/// Result of saving or loading a value. The error says what failed; for loading, how the saved bytes are damaged.
pub type Archived = std::result::Result<(), String>;

impl<'a> Archive<'a> {
    /// Returns an empty archive to save values into.
    pub fn saving() -> Archive<'a> {
        Archive(Direction::Save(Vec::new()))
    }

    /// Returns an archive that loads values from `bytes`.
    pub fn loading(bytes: &'a [u8]) -> Archive<'a> {
        Archive(Direction::Load(bytes))
    }

    /// Saves `value`, or replaces it with the loaded value.
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

    /// Saves the elements of `list`, or replaces them with as many loaded ones. `what` names them in the error.
    pub fn list<T: Serialize + DeserializeOwned>(&mut self, list: &mut Vec<T>, what: &str) -> Archived {
        let count = list.len();
        self.value(list)?;
        require(list.len() == count, || format!("it has {} {what}, and this drive has {count}", list.len()))
    }

    /// Returns true if values are loaded.
    pub fn is_loading(&self) -> bool {
        matches!(self.0, Direction::Load(_))
    }

    /// Ends the archive and returns the saved bytes. For loading, returns no bytes, or an error if some were left
    /// unread.
    pub fn finish(self) -> std::result::Result<Vec<u8>, String> {
        match self.0 {
            Direction::Save(bytes) => Ok(bytes),
            Direction::Load([]) => Ok(Vec::new()),
            Direction::Load(rest) => Err(format!("damaged state: {} unread bytes at the end", rest.len())),
        }
    }
}

/// Returns the complaint about a file that could not be read.
pub fn unreadable(error: std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::InvalidData => format!("a part of it is not of the form that a drive is saved in ({error})"),
        _ => format!("the file ends early or cannot be read ({error})"),
    }
}

/// Returns an error unless `holds`: two claims of a saved drive contradict each other, and `complaint` names both.
#[inline]
pub fn require(holds: bool, complaint: impl FnOnce() -> String) -> Archived {
    if holds { Ok(()) } else { Err(complaint()) }
}

/// Largest number of events that a saved counter may state: more than any drive counts, and far from the largest that
/// it can hold, so that a loaded drive can go on counting.
pub const MAX_COUNTED: u64 = 1 << 60;

/// Writes a value preceded by its length in bytes (64 bits, little-endian).
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
    // The buffer grows as data arrives, because a damaged length must not cause a huge allocation.
    let mut bytes = Vec::new();
    from.take(length).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != length {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    postcard::from_bytes(&bytes).map_err(|error| std::io::Error::new(std::io::ErrorKind::InvalidData, error))
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
