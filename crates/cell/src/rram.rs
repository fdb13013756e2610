//! Resistive memory in a crosspoint array behind a flash interface (SSDExplorer thesis, chapter 3).
//!
//! Reads take 1 us a page of 256 bytes; planes work together to emulate pages of up to 4 KiB: stated. There is no erase before a write: a cell is set or
//! reset in place. The thesis gives neither write time nor endurance nor error rates: those here are assumed, and say so.

use crate::condition::{Condition, Estimate};
use kit::{Bytes, Nanos};

/// Constants of the memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rram {
    /// Native page, stated: 256 bytes.
    pub native_page: Bytes,
    /// Planes of a chip, stated: 16.
    pub planes: u32,
    /// Reading one native page, or as many as there are planes together; stated.
    pub read_time: Nanos,
    /// Writing likewise, without erase; assumed.
    pub write_time: Nanos,
    /// Bit error rate of a fresh cell; assumed.
    pub fresh: f64,
    /// What is added to it after the rated number of writes; assumed.
    pub worn: f64,
    /// Writes that a cell is rated for; assumed.
    pub rated_writes: f64,
}

impl Default for Rram {
    fn default() -> Self {
        Rram {
            native_page: Bytes(256),
            planes: 16,
            read_time: Nanos(1_000),
            write_time: Nanos(10_000),
            fresh: 1e-6,
            worn: 5e-5,
            rated_writes: 1e6,
        }
    }
}

impl Rram {
    /// Native pages that planes read together to emulate one of `bytes`; none if that is no whole number of them, or more than there are planes.
    pub fn planes_for(&self, bytes: Bytes) -> Option<u32> {
        let planes = bytes.0 / self.native_page.0;
        (bytes.0.is_multiple_of(self.native_page.0) && planes >= 1 && planes <= u64::from(self.planes)).then_some(planes as u32)
    }

    /// The error rate: it grows with writes. Retention is no limit within the ages asked about (assumed).
    pub fn estimate(&self, condition: &Condition) -> Estimate {
        let share = condition.pe_cycles / self.rated_writes;
        let outside = if share > 1.0 {
            vec![format!("rram: {:.0} writes, rated for {:.0}", condition.pe_cycles, self.rated_writes)]
        } else {
            Vec::new()
        };
        Estimate { pages: vec![(self.fresh + self.worn * share).min(0.5)], outside }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn planes_emulate_larger_pages() {
        let rram = Rram::default();
        let planes = [256, 512, 1024, 2048, 4096].map(|bytes| rram.planes_for(Bytes(bytes)));
        assert_eq!(planes, [Some(1), Some(2), Some(4), Some(8), Some(16)]);
        assert_eq!([100, 0, 8192, 300].map(|bytes| rram.planes_for(Bytes(bytes))), [None; 4]);
    }

    #[test]
    fn writes_wear_it_and_beyond_the_rating_it_is_said() {
        let rate = |pe_cycles| Rram::default().estimate(&Condition { pe_cycles, ..Condition::default() });
        assert!(rate(1e6).worst() > rate(10.0).worst() && rate(1e6).outside.is_empty());
        assert_eq!(rate(2e6).outside.len(), 1);
    }
}
