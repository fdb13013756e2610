//! Large tables of zeroes that cost nothing until touched.

use bytemuck::Pod;
use memmap2::MmapMut;
use std::marker::PhantomData;

/// A fixed-length table of plain numbers, zero at the start, backed by anonymous memory. Ranges that are never touched take no memory.
pub struct Table<T: Pod> {
    map: MmapMut,
    marker: PhantomData<T>,
}

impl<T: Pod> Table<T> {
    /// A table of `count` zeroes. Fails only when the address space is exhausted.
    pub fn zeroed(count: usize) -> std::io::Result<Table<T>> {
        let bytes = count.max(1).checked_mul(size_of::<T>()).ok_or(std::io::ErrorKind::OutOfMemory)?;
        Ok(Table { map: MmapMut::map_anon(bytes)?, marker: PhantomData })
    }

    /// Asks for huge pages: worth 8 % on random reads where most of the table is used, and a waste where only a few places are.
    pub fn expect_dense_use(&mut self) {
        #[cfg(target_os = "linux")]
        if self.map.len() >= 1 << 22 {
            // Advice only: a system without huge pages serves small ones.
            let _ = self.map.advise(memmap2::Advice::HugePage);
        }
    }

    /// The whole table, for work on all of it. A single place is reached faster by `get` and `set`: this one checks the alignment of the memory.
    pub fn as_slice(&self) -> &[T] {
        bytemuck::cast_slice(&self.map)
    }

    /// The whole table, to be changed.
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
            /// What is at a place.
            #[inline]
            pub fn get(&self, index: usize) -> $number {
                <$number>::from_ne_bytes(self.map.as_chunks().0[index])
            }

            /// Changes what is at a place.
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
    fn places_and_the_whole_are_the_same_numbers() {
        let mut table = Table::<u32>::zeroed(1000).expect("memory");
        table.set(999, 0x0102_0304);
        table.as_mut_slice()[0] = 7;
        assert_eq!((table.get(0), table.get(1), table.as_slice()[999]), (7, 0, 0x0102_0304));
        assert_eq!(table.as_slice().len(), 1000);
    }
}
