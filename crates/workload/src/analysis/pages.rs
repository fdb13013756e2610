//! Keeps a 64-bit word for each 4 KiB page that a trace touches, found without hashing.
//!
//! A page is found in three steps: its region of 16 MiB by an index, its chunk of 16 pages by another index within the
//! region, and the page by its position in the chunk. A request finds each chunk once, however many of its pages it
//! touches. A page costs 8 bytes if its neighbours are touched too, 128 bytes if it is alone in its chunk, and 1156
//! bytes if it is alone in its region.

use crate::trace::regions::{REGION_BITS, Regions};

/// Binary logarithm of the number of pages in a chunk: 64 KiB.
const CHUNK_BITS: u32 = 4;
const CHUNK: usize = 1 << CHUNK_BITS;
/// Number of chunks in a region.
const CHUNKS: usize = 1 << (REGION_BITS - CHUNK_BITS);

/// Words of pages, by address space and page number. A word of 0 means that nothing is known of the page.
#[derive(Default)]
pub struct Pages {
    /// Numbers of regions, by address space.
    spaces: Vec<Regions>,
    regions: Vec<Region>,
    chunks: Vec<[u64; CHUNK]>,
}

struct Region {
    /// Index of each chunk plus 1; 0: chunk not touched.
    chunks: [u32; CHUNKS],
    /// Number of pages whose word is not 0.
    known: u32,
}

impl Pages {
    /// Calls `change` with the number and the word of each page of `first..=last`, in order.
    #[inline]
    pub fn update(&mut self, space: u16, first: u64, last: u64, mut change: impl FnMut(u64, &mut u64)) {
        let mut page = first;
        while page <= last {
            let region = self.region(space, page >> REGION_BITS);
            let end = last.min(page | ((1 << REGION_BITS) - 1));
            while page <= end {
                let chunk_end = end.min(page | ((1 << CHUNK_BITS) - 1));
                let region = &mut self.regions[region];
                let number = &mut region.chunks[(page >> CHUNK_BITS) as usize % CHUNKS];
                if *number == 0 {
                    self.chunks.push([0; CHUNK]);
                    *number = u32::try_from(self.chunks.len()).expect("a trace touches less than 256 TiB in chunks of 64 KiB");
                }
                let chunk = &mut self.chunks[*number as usize - 1];
                region.known = change_words(chunk, region.known, page, chunk_end, &mut change);
                page = chunk_end + 1;
            }
        }
    }

    /// Like [`Pages::update`], but only for pages of `first..=last` near a page touched before: of the pages whose word
    /// is 0, `change` is called for some and not for others. The time taken does not grow with the untouched part of
    /// the range.
    pub fn update_known(&mut self, space: u16, first: u64, last: u64, mut change: impl FnMut(u64, &mut u64)) {
        let Some(found) = self.spaces.get(usize::from(space)) else { return };
        for (number, region) in found.among(first >> REGION_BITS, last >> REGION_BITS) {
            let region = &mut self.regions[region];
            if region.known == 0 {
                continue;
            }
            let base = number << REGION_BITS;
            let (start, end) = (first.max(base), last.min(base | ((1 << REGION_BITS) - 1)));
            for chunk in start >> CHUNK_BITS..=end >> CHUNK_BITS {
                let number = region.chunks[chunk as usize % CHUNKS];
                if number > 0 {
                    let page = start.max(chunk << CHUNK_BITS);
                    let words = &mut self.chunks[number as usize - 1];
                    let chunk_end = end.min(page | ((1 << CHUNK_BITS) - 1));
                    region.known = change_words(words, region.known, page, chunk_end, &mut change);
                }
            }
        }
    }

    /// Returns the word of a page; 0 if nothing is known of it.
    #[inline]
    pub fn word(&self, space: u16, page: u64) -> u64 {
        self.chunk(space, page).map_or(0, |chunk| chunk[page as usize % CHUNK])
    }

    /// Returns the chunk of a page, if one of the chunk's pages was touched.
    #[inline]
    fn chunk(&self, space: u16, page: u64) -> Option<&[u64; CHUNK]> {
        let space = self.spaces.get(usize::from(space))?;
        let region = &self.regions[space.find(page >> REGION_BITS)?];
        let number = region.chunks[(page >> CHUNK_BITS) as usize % CHUNKS];
        Some(&self.chunks[(number as usize).checked_sub(1)?])
    }

    /// Returns the words of all pages of which something is known.
    pub fn words(&mut self) -> impl Iterator<Item = &mut u64> {
        self.chunks.iter_mut().flatten().filter(|word| **word != 0)
    }

    /// Returns the memory in use \[bytes\], without the map of regions beyond the index.
    pub fn bytes(&self) -> u64 {
        let indices: usize = self.spaces.iter().map(Regions::bytes).sum();
        (indices + size_of_val(&self.regions[..]) + size_of_val(&self.chunks[..])) as u64
    }

    /// Returns the index of a region, which is created at its first touch.
    #[inline]
    fn region(&mut self, space: u16, region: u64) -> usize {
        let space = usize::from(space);
        if space >= self.spaces.len() {
            self.spaces.resize_with(space + 1, Regions::default);
        }
        let regions = &mut self.regions;
        self.spaces[space].number(region, || {
            regions.push(Region { chunks: [0; CHUNKS], known: 0 });
            u32::try_from(regions.len() - 1).expect("a trace touches fewer than 2^32 regions of 16 MiB")
        })
    }
}

/// Changes the words of pages `first..=last`, all in one chunk; returns how many words of the region are not 0
/// afterwards.
#[inline]
fn change_words(chunk: &mut [u64; CHUNK], known: u32, first: u64, last: u64, change: &mut impl FnMut(u64, &mut u64)) -> u32 {
    let (mut gone, mut come) = (0, 0);
    for page in first..=last {
        let word = &mut chunk[page as usize % CHUNK];
        gone += u32::from(*word != 0);
        change(page, word);
        come += u32::from(*word != 0);
    }
    known + come - gone
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::regions::DIRECT;
    use kit::Rng;
    use std::collections::BTreeMap;

    /// Draws a range: near, far and sparse addresses, and ranges across chunks and regions.
    fn range(rng: &mut Rng) -> (u16, u64, u64) {
        let base = [0, 1 << 20, (DIRECT << REGION_BITS) - 40, 1 << 45][rng.below(4) as usize];
        let (within, most) = ([100, 20_000][rng.below(2) as usize], [9000, 20, 20, 20][rng.below(4) as usize]);
        let first = base + rng.below(within);
        let last = first + rng.below(most);
        (rng.below(3) as u16, first, last)
    }

    #[test]
    fn words_are_those_of_a_map() {
        let (mut pages, mut map) = (Pages::default(), BTreeMap::new());
        let mut rng = Rng::stream(1, "pages");
        for round in 1..2000u64 {
            let (space, first, last) = range(&mut rng);
            if rng.chance(0.3) {
                pages.update_known(space, first, last, |_, word| *word = 0);
                map.retain(|(other, page), _| *other != space || !(first..=last).contains(page));
            } else {
                pages.update(space, first, last, |page, word| *word += round + page);
                for page in first..=last {
                    *map.entry((space, page)).or_insert(0) += round + page;
                }
            }
        }
        let known: u64 = pages.regions.iter().map(|region| u64::from(region.known)).sum();
        assert_eq!(known, map.len() as u64);
        let mut words: Vec<u64> = pages.words().map(|word| *word).collect();
        let mut expected: Vec<u64> = map.values().copied().collect();
        words.sort_unstable();
        expected.sort_unstable();
        assert_eq!(words, expected);
        for ((space, page), value) in map {
            assert_eq!(pages.word(space, page), value, "{space} {page}");
        }
    }

    #[test]
    fn a_range_of_an_exbibyte_takes_no_time() {
        let mut pages = Pages::default();
        pages.update(0, 1 << 40, 1 << 40, |_, word| *word = 7);
        let mut seen = Vec::new();
        for _ in 0..1000 {
            pages.update_known(0, 0, 1 << 48, |page, word| seen.extend((*word > 0).then_some(page)));
        }
        assert_eq!(seen, vec![1 << 40; 1000]);
        pages.update_known(9, 0, 1 << 48, |_, _| panic!("nothing was touched there"));
    }
}
