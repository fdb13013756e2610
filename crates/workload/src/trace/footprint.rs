//! Set of the 4 KiB pages touched: a bitmap for each region of 16 MiB, created at the first touch.

use super::regions::{REGION_BITS, Regions};

/// Size of a page \[bytes\], the granularity of the footprint.
pub const PAGE_BYTES: u64 = 4096;
const WORDS: usize = 1 << (REGION_BITS - 6);
/// Pages touched by one stream.
#[derive(Default)]
pub struct Footprint {
    /// Numbers of the bitmaps.
    regions: Regions,
    bitmaps: Vec<[u64; WORDS]>,
    pages: u64,
    /// Ranges touched and not yet marked: (first page, last page). Ranges are marked in batches, so that their cache
    /// misses overlap.
    pending: Vec<(u64, u64)>,
    sink: u64,
}

/// Number of ranges marked in a batch.
const BATCH: usize = 32;

impl Footprint {
    /// Marks the pages that `length` bytes from `offset` touch; `length` is at least 1.
    #[inline]
    pub fn touch(&mut self, offset: u64, length: u64) {
        self.pending.push((offset / PAGE_BYTES, (offset + length - 1) / PAGE_BYTES));
        if self.pending.len() == BATCH {
            self.settle();
        }
    }

    fn settle(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        for &(page, _) in &pending {
            let bitmap = self.bitmap(page >> REGION_BITS);
            self.sink ^= self.bitmaps[bitmap][page as usize % (WORDS * 64) / 64];
        }
        for (page, last) in pending.drain(..) {
            self.mark_pages(page, last);
        }
        self.pending = pending;
    }

    #[inline]
    fn mark_pages(&mut self, mut page: u64, last: u64) {
        while page <= last {
            let region = page >> REGION_BITS;
            let end = last.min((region << REGION_BITS) | ((1 << REGION_BITS) - 1));
            let bitmap = self.bitmap(region);
            self.pages += mark(&mut self.bitmaps[bitmap], page as usize % (WORDS * 64), end as usize % (WORDS * 64));
            page = end + 1;
        }
    }

    #[inline]
    fn bitmap(&mut self, region: u64) -> usize {
        let bitmaps = &mut self.bitmaps;
        self.regions.number(region, || {
            bitmaps.push([0; WORDS]);
            bitmaps.len() as u32 - 1
        })
    }

    /// Returns the size of the footprint \[bytes\]: touched pages times 4096.
    pub fn bytes(mut self) -> u64 {
        self.settle();
        self.pages * PAGE_BYTES
    }
}

/// Sets bits `first..=last`, and returns how many of them were clear.
#[inline]
fn mark(bitmap: &mut [u64; WORDS], first: usize, last: usize) -> u64 {
    let mut added = 0;
    for (index, word) in bitmap.iter_mut().enumerate().take(last / 64 + 1).skip(first / 64) {
        let from = if index == first / 64 { first % 64 } else { 0 };
        let to = if index == last / 64 { last % 64 } else { 63 };
        let bits = (u64::MAX << from) & (u64::MAX >> (63 - to));
        added += u64::from((bits & !*word).count_ones());
        *word |= bits;
    }
    added
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn counts_what_a_set_of_pages_counts() {
        let (mut footprint, mut set) = (Footprint::default(), BTreeSet::new());
        let mut state = 1u64;
        for round in 0..2000u64 {
            let random = kit::Rng::stream(round, "footprint").next_u64();
            state = state.wrapping_add(random);
            let base = [0, 1 << 30, 9 << 40][(state % 3) as usize];
            let (offset, length) = (base + state % (40 << 20), 1 + random % (if round % 50 == 0 { 40 << 20 } else { 70_000 }));
            footprint.touch(offset, length);
            set.extend(offset / 4096..=(offset + length - 1) / 4096);
        }
        assert_eq!(footprint.bytes(), set.len() as u64 * 4096);
    }
}
