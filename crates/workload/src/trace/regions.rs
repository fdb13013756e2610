//! Index of the regions of 16 MiB that are touched in an address space: a vector for the first of them, a map beyond.

use std::collections::BTreeMap;

/// Binary logarithm of the number of pages of 4 KiB in a region: 16 MiB.
pub const REGION_BITS: u32 = 12;
/// Largest number of regions found in the vector: those of the first 8 TiB.
pub const DIRECT: u64 = 1 << 19;
/// Length of the vector for each region touched.
const WIDTH: u64 = 16;

/// Numbers of regions, in the order of first touch.
#[derive(Default)]
pub struct Regions {
    /// Number of each region plus 1; 0: region not touched.
    direct: Vec<u32>,
    /// Regions beyond the vector.
    far: BTreeMap<u64, u32>,
    /// Number of regions touched.
    touched: u64,
}

impl Regions {
    /// Returns the number of `region`, which is that of `new` at its first touch. Numbers are below 2^32 - 1.
    #[inline]
    pub fn number(&mut self, region: u64, new: impl FnOnce() -> u32) -> usize {
        let indexed = region < self.direct.len() as u64 || self.grows_to(region);
        let number = if indexed { &mut self.direct[region as usize] } else { self.far.entry(region).or_default() };
        if *number == 0 {
            self.touched += 1;
            *number = new() + 1;
        }
        *number as usize - 1
    }

    /// Returns the number of `region`, if it was touched.
    #[inline]
    pub fn find(&self, region: u64) -> Option<usize> {
        let number = self.direct.get(region as usize).or_else(|| self.far.get(&region));
        (*number? as usize).checked_sub(1)
    }

    /// Returns the touched regions of `from..=to` and their numbers, in order.
    pub fn among(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, usize)> {
        let edge = self.direct.len() as u64;
        let direct = (from..=to).take_while(move |region| *region < edge);
        let near = direct.map(|region| (region, self.direct[region as usize]));
        let far = self.far.range(from.max(edge)..=to.max(edge)).map(|(region, number)| (*region, *number));
        near.chain(far)
            .filter(move |(region, number)| *number > 0 && *region <= to)
            .map(|(region, number)| (region, number as usize - 1))
    }

    /// Returns the memory of the vector \[bytes\].
    pub fn bytes(&self) -> usize {
        size_of_val(&self.direct[..])
    }

    /// Extends the vector to `region`, if it is in proportion to the number of regions touched: a space that is touched
    /// once, anywhere, has no vector. Returns false if it is not.
    #[cold]
    fn grows_to(&mut self, region: u64) -> bool {
        let wide = (self.touched + 1).saturating_mul(WIDTH).min(DIRECT);
        if region >= wide {
            return false;
        }
        self.direct.resize(wide as usize, 0);
        let beyond = self.far.split_off(&wide);
        for (region, number) in std::mem::replace(&mut self.far, beyond) {
            self.direct[region as usize] = number;
        }
        true
    }
}
