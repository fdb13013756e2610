//! Large zero-initialised tables that take no memory until they are used.

use bytemuck::Pod;
use memmap2::MmapMut;
use std::io::{Read, Write};
use std::marker::PhantomData;

/// Bytes that [`Table::copy_to`] copies or leaves out together: small enough that they are still in the cache when they
/// have been compared with zero.
const PART: usize = 1 << 16;
/// Largest size of a table that has huge pages: the reverse map of a drive of 512 GiB takes 656 MiB.
#[cfg(target_os = "linux")]
const MAX_HUGE: usize = 768 << 20;
static ZEROES: [u8; PART] = [0; PART];

fn is_zero(part: &[u8]) -> bool {
    *part == ZEROES[..part.len()]
}

/// A table of plain numbers of fixed length, initially zero, backed by anonymous memory. Pages that are never accessed
/// take no memory.
pub struct Table<T: Pod> {
    map: MmapMut,
    marker: PhantomData<T>,
}

impl<T: Pod> Table<T> {
    /// Returns a table of `count` zeroes. Fails only if the address space is exhausted.
    pub fn zeroed(count: usize) -> std::io::Result<Table<T>> {
        let bytes = count.max(1).checked_mul(size_of::<T>()).ok_or(std::io::ErrorKind::OutOfMemory)?;
        Ok(Table { map: MmapMut::map_anon(bytes)?, marker: PhantomData })
    }

    /// Requests huge pages. They gain 8 % on random reads if most of the table is used. In the largest tables few runs
    /// use most of it: there, small pages keep the memory to what is touched.
    pub fn expect_dense_use(&mut self) {
        #[cfg(target_os = "linux")]
        if (1 << 22..=MAX_HUGE).contains(&self.map.len()) {
            // Only advice: a system without huge pages provides small ones.
            let _ = self.map.advise(memmap2::Advice::HugePage);
        }
    }

    /// Copies the table into a new one of the same length, whose entries are all still zero. Parts without any number
    /// are left out, so that pages that take no memory here take none there.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn copy_to(&self, new: &mut Table<T>) {
        assert_eq!(self.map.len(), new.map.len(), "a table is copied into one of its length");
        for (part, to) in self.map.chunks(PART).zip(new.map.chunks_mut(PART)) {
            if !is_zero(part) {
                to.copy_from_slice(part);
            }
        }
    }

    /// Writes the table without its parts that are zero: a bit for each part, and then the others.
    pub fn save(&self, to: &mut dyn Write) -> std::io::Result<()> {
        let parts = || self.map.chunks(PART);
        let mut kept = vec![0u8; parts().len().div_ceil(8)];
        for (index, _) in parts().enumerate().filter(|(_, part)| !is_zero(part)) {
            kept[index / 8] |= 1 << (index % 8);
        }
        to.write_all(&kept)?;
        let is_kept = |index: usize| kept[index / 8] >> (index % 8) & 1 == 1;
        parts().enumerate().filter(|(index, _)| is_kept(*index)).try_for_each(|(_, part)| to.write_all(part))
    }

    /// Reads a table that was saved into a new one of the same length, whose entries are all still zero.
    pub fn load(&mut self, from: &mut dyn Read) -> std::io::Result<()> {
        let mut kept = vec![0u8; self.map.chunks(PART).len().div_ceil(8)];
        from.read_exact(&mut kept)?;
        let is_kept = |index: usize| kept[index / 8] >> (index % 8) & 1 == 1;
        self.map.chunks_mut(PART).enumerate().filter(|(index, _)| is_kept(*index)).try_for_each(|(_, part)| from.read_exact(part))
    }

    /// Returns the size of the table in bytes.
    pub fn bytes(&self) -> u64 {
        self.map.len() as u64
    }

    /// Returns the whole table. A single entry is accessed faster by `get` and `set`, because this function checks the
    /// alignment of the memory.
    pub fn as_slice(&self) -> &[T] {
        bytemuck::cast_slice(&self.map)
    }

    /// Returns the whole table for modification.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        bytemuck::cast_slice_mut(&mut self.map)
    }
}

impl<T: Pod> std::ops::Index<usize> for Table<T> {
    type Output = T;
    #[inline]
    fn index(&self, index: usize) -> &T {
        &self.as_slice()[index]
    }
}

impl<T: Pod> std::ops::IndexMut<usize> for Table<T> {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut T {
        &mut self.as_mut_slice()[index]
    }
}

macro_rules! places {
    ($($number:ty),+) => { $(
        impl Table<$number> {
            /// Returns the entry at `index`.
            #[inline]
            pub fn get(&self, index: usize) -> $number {
                <$number>::from_ne_bytes(self.map.as_chunks().0[index])
            }

            /// Sets the entry at `index` to `value`.
            #[inline]
            pub fn set(&mut self, index: usize, value: $number) {
                self.map.as_chunks_mut().0[index] = value.to_ne_bytes();
            }
        }
    )+ };
}

places!(u32, u64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_same_numbers() {
        let count = 5 * PART / 8 + 3;
        let (mut table, mut copy) = (Table::<u64>::zeroed(count).expect("memory"), Table::zeroed(count).expect("memory"));
        for (place, number) in [(0, 1), (PART / 8 - 1, 2), (2 * PART / 8, 3), (count - 1, u64::MAX)] {
            table.set(place, number);
        }
        table.copy_to(&mut copy);
        assert_eq!(table.as_slice(), copy.as_slice());
        assert_eq!(table.bytes(), 8 * count as u64);
        let mut saved = Vec::new();
        table.save(&mut saved).expect("memory");
        // A bit for each of the six parts, and the three that have a number; the last is short.
        assert_eq!(saved.len(), 1 + 2 * PART + 3 * 8);
        let mut loaded = Table::<u64>::zeroed(count).expect("memory");
        loaded.load(&mut &saved[..]).expect("it is whole");
        assert_eq!(loaded.as_slice(), table.as_slice());
        assert!(Table::<u64>::zeroed(count).expect("memory").load(&mut &saved[..saved.len() - 1]).is_err());
    }

    #[test]
    fn places_and_the_whole_are_the_same_numbers() {
        let mut table = Table::<u32>::zeroed(1000).expect("memory");
        table.set(999, 0x0102_0304);
        table.as_mut_slice()[0] = 7;
        assert_eq!((table.get(0), table.get(1), table.as_slice()[999]), (7, 0, 0x0102_0304));
        assert_eq!(table.as_slice().len(), 1000);
    }
}
