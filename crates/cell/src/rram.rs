//! Resistive memory in a crosspoint array behind a flash interface (SSDExplorer thesis, chapter 3).
//!
//! A read of a page of 256 bytes takes 1 us, and planes work together to emulate pages of up to 4 KiB: stated. No erase
//! precedes a write, since a cell is set or reset in place. The thesis gives no write time, endurance or error rates;
//! the values here are assumed and marked so.

use crate::condition::{Condition, Estimate};
use kit::{Bytes, Nanos};

/// Constants of the memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rram {
    /// Size of a native page: 256 bytes, stated.
    pub native_page: Bytes,
    /// Planes of a chip: 16, stated.
    pub planes: u32,
    /// Time to read one native page, or one in each of several planes together; stated.
    pub read_time: Nanos,
    /// Time to write native pages in the same way, without erase; assumed.
    pub write_time: Nanos,
    /// Bit error rate of a fresh cell; assumed.
    pub fresh: f64,
    /// Bit error rate added after the rated number of writes; assumed.
    pub worn: f64,
    /// Rated number of writes of a cell; assumed.
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
    /// Returns the number of planes that emulate a page of `bytes` together; `None` if `bytes` is no whole number of
    /// native pages, or more than the planes hold.
    pub fn planes_for(&self, bytes: Bytes) -> Option<u32> {
        let planes = bytes.0 / self.native_page.0;
        (bytes.0.is_multiple_of(self.native_page.0) && planes >= 1 && planes <= u64::from(self.planes)).then_some(planes as u32)
    }

    /// Returns the error rate, which grows with writes. Retention has no effect (assumed).
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
