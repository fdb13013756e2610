//! The place of a unit, computed: striping over dies, an optional permutation within a die, and start-gap.

use kit::archive::{Archive, Archived, require};
use kit::{DieId, Divisor, Geometry, Lpn, Ppn, Rng};
use serde::{Deserialize, Serialize};

/// Places of the units of a drive.
///
/// Unit `n` is line `n / dies` of die number `n % dies` in allocation order. The lines of a die are spread over its
/// regions: line `i` is line `i / regions` of region `i % regions`. Within a region, start-gap gives the place.
#[derive(Clone, Debug)]
pub(super) struct Placement {
    by_dies: Divisor,
    by_regions: Divisor,
    by_places: Divisor,
    by_region_places: Divisor,
    /// Die of each position of the allocation order, and the position of each die.
    die_at: Vec<DieId>,
    rank_of: Vec<u32>,
    regions: Vec<Region>,
    shuffle: Option<Feistel>,
}

/// Registers of start-gap of a region: `lines` logical lines on `lines + 1` places.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Region {
    start: u32,
    gap: u32,
    /// Writes since the gap moved last.
    writes: u32,
}

/// A move of a line into the gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Move {
    pub region: u32,
    pub from: Ppn,
    pub to: Ppn,
    pub lpn: Lpn,
}

impl Placement {
    /// Returns the places of a drive whose gaps are at their ends. A region has `region_places` places, which divide
    /// those of a die; `key` is the key of the permutation, if there is one.
    pub fn new(geometry: &Geometry, die_at: Vec<DieId>, region_places: u32, key: Option<u64>) -> Placement {
        let places = places_per_die(geometry);
        let regions = places / region_places;
        let mut rank_of = vec![0; die_at.len()];
        for (rank, die) in (0..).zip(&die_at) {
            rank_of[die.index()] = rank;
        }
        let lines = region_places - 1;
        Placement {
            by_dies: Divisor::new(geometry.die_count),
            by_regions: Divisor::new(regions),
            by_places: Divisor::new(places),
            by_region_places: Divisor::new(region_places),
            die_at,
            rank_of,
            regions: vec![Region { start: 0, gap: lines, writes: 0 }; (geometry.die_count * regions) as usize],
            shuffle: key.map(|key| Feistel::new(regions * lines, key)),
        }
    }

    /// Saves, or loads and checks, the registers of the regions. A gap moves after `interval` writes.
    pub fn state(&mut self, archive: &mut Archive<'_>, interval: u32) -> Archived {
        archive.list(&mut self.regions, "regions")?;
        let lines = self.lines();
        let odd = self.regions.iter().position(|one| one.start >= lines || one.gap > lines || one.writes >= interval);
        require(odd.is_none(), || format!("region {odd:?} has registers that cannot be"))
    }

    /// Returns the die of a region; `None` if there is no such region.
    pub fn die_of_region(&self, region: u32) -> Option<DieId> {
        ((region as usize) < self.regions.len()).then(|| DieId(region / self.by_regions.value()))
    }

    fn lines(&self) -> u32 {
        self.by_region_places.value() - 1
    }

    /// Returns the die of a unit.
    #[inline]
    pub fn die_of(&self, lpn: Lpn) -> DieId {
        self.die_at[self.by_dies.split(lpn.0).1 as usize]
    }

    /// Returns the place of a unit.
    #[inline]
    pub fn place_of(&self, lpn: Lpn) -> Ppn {
        let (line, rank) = self.by_dies.split(lpn.0);
        let line = self.shuffle.as_ref().map_or(line, |shuffle| shuffle.at(line));
        let (line, region) = self.by_regions.split(line);
        let first = self.by_places.value() * self.die_at[rank as usize].0 + region * self.by_region_places.value();
        let region = &self.regions[self.region_at(first) as usize];
        // Both terms are below the number of lines, which has 31 bits at most.
        let mut at = line + region.start;
        if at >= self.lines() {
            at -= self.lines();
        }
        Ppn(first + at + u32::from(at >= region.gap))
    }

    /// Returns the number of the region of a place: regions are numbered in the order of their places.
    #[inline]
    fn region_at(&self, place: u32) -> u32 {
        self.by_region_places.quotient(place)
    }

    /// Returns the unit whose place this is; `None` for a gap. A unit may be beyond the user capacity.
    pub fn unit_at(&self, place: Ppn) -> Option<Lpn> {
        let (number, at) = self.by_region_places.split(place.0);
        let region = &self.regions[number as usize];
        if at == region.gap {
            return None;
        }
        let at = at - u32::from(at > region.gap);
        let line = if at >= region.start { at - region.start } else { at + self.lines() - region.start };
        let die = self.by_places.quotient(place.0);
        let line = line * self.by_regions.value() + (number - die * self.by_regions.value());
        let line = self.shuffle.as_ref().map_or(line, |shuffle| shuffle.back(line));
        Some(Lpn(line * self.by_dies.value() + self.rank_of[die as usize]))
    }

    /// Counts a write to a place. Returns its region if that owes a move: after each `interval` writes.
    #[inline]
    pub fn written(&mut self, place: Ppn, interval: u32) -> Option<u32> {
        let number = self.region_at(place.0);
        let region = &mut self.regions[number as usize];
        region.writes += 1;
        if region.writes < interval {
            return None;
        }
        region.writes = 0;
        Some(number)
    }

    /// Returns the next move of a region.
    pub fn next_move(&self, region: u32) -> Move {
        let gap = self.regions[region as usize].gap;
        let first = region * self.by_region_places.value();
        let from = Ppn(first + if gap == 0 { self.lines() } else { gap - 1 });
        let lpn = self.unit_at(from).expect("a region has one gap, and the source is not it");
        Move { region, from, to: Ppn(first + gap), lpn }
    }

    /// Makes the move that [`Placement::next_move`] has returned.
    pub fn moved(&mut self, region: u32) {
        let lines = self.lines();
        let region = &mut self.regions[region as usize];
        if region.gap > 0 {
            region.gap -= 1;
            return;
        }
        region.gap = lines;
        region.start = if region.start + 1 == lines { 0 } else { region.start + 1 };
    }
}

/// Returns the places of a die.
pub(super) fn places_per_die(geometry: &Geometry) -> u32 {
    geometry.blocks_per_die * geometry.units_per_block
}

/// A keyed bijection of `0..count` with an inverse: a Feistel network of four rounds on an even number of bits, walked
/// until the image lies in the range.
#[derive(Clone, Debug)]
struct Feistel {
    count: u32,
    half: u32,
    keys: [u32; 4],
}

impl Feistel {
    fn new(count: u32, key: u64) -> Feistel {
        let bits = (32 - count.saturating_sub(1).leading_zeros()).max(2);
        let mut rng = Rng::stream(key, "ftl.in_place");
        Feistel { count, half: bits.div_ceil(2), keys: [(); 4].map(|()| rng.next_u64() as u32) }
    }

    fn round(&self, value: u32, key: u32) -> u32 {
        let mixed = (value ^ key).wrapping_mul(0x9E37_79B1);
        (mixed ^ mixed >> 15).wrapping_mul(0x85EB_CA77) >> (32 - self.half)
    }

    fn walk(&self, index: u32, step: impl Fn(u32) -> u32) -> u32 {
        let mut value = step(index);
        while value >= self.count {
            value = step(value);
        }
        value
    }

    fn at(&self, index: u32) -> u32 {
        let mask = (1u32 << self.half) - 1;
        self.walk(index, |value| {
            let halves = (value >> self.half, value & mask);
            let (left, right) = self.keys.iter().fold(halves, |(left, right), key| (right, left ^ self.round(right, *key)));
            left << self.half | right
        })
    }

    fn back(&self, image: u32) -> u32 {
        let mask = (1u32 << self.half) - 1;
        self.walk(image, |value| {
            let halves = (value >> self.half, value & mask);
            let (left, right) = self.keys.iter().rev().fold(halves, |(left, right), key| (right ^ self.round(left, *key), left));
            left << self.half | right
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Shape;

    fn geometry(channels: u32, chips: u32, blocks: u32, pages: u32) -> Geometry {
        Geometry::new(Shape {
            channels,
            chips_per_channel: chips,
            dies_per_chip: 1,
            planes_per_die: 1,
            blocks_per_plane: blocks,
            pages_per_block: pages,
            page_bytes: 256,
            unit: kit::UnitSize::of(256),
            bits_per_cell: 1,
            planes_per_program: 1,
            pages_per_program: 1,
            superblock: 1,
        })
    }

    #[test]
    fn the_network_is_a_bijection_with_an_inverse() {
        for count in [1, 2, 3, 5, 16, 17, 1000, 4095, 65_537] {
            let network = Feistel::new(count, 7);
            let mut seen = vec![false; count as usize];
            for index in 0..count {
                let image = network.at(index);
                assert!(!std::mem::replace(&mut seen[image as usize], true), "{index} of {count}");
                assert_eq!(network.back(image), index);
            }
        }
        let moved = |key| (0..1000).filter(|&index| Feistel::new(1000, key).at(index) != index).count();
        assert!(moved(1) > 950 && (0..1000).any(|index| Feistel::new(1000, 1).at(index) != Feistel::new(1000, 2).at(index)));
    }

    /// Moves the gaps of every region through two whole turns, and compares with a plain model: an array of what each
    /// place holds, in which the line before the gap is copied into it.
    #[test]
    fn start_gap_moves_as_a_plain_array_does() {
        for (region_places, key) in [(8, None), (32, None), (16, Some(3)), (2, None), (32, Some(9))] {
            let geometry = geometry(2, 2, 4, 8);
            let dies = geometry.die_count;
            let mut placement = Placement::new(&geometry, (0..dies).map(DieId).collect(), region_places, key);
            let (regions, lines) = (dies * 32 / region_places, region_places - 1);
            let units = regions * lines;
            let mut array: Vec<Option<Lpn>> = vec![None; geometry.unit_count() as usize];
            for lpn in (0..units).map(Lpn) {
                assert!(array[placement.place_of(lpn).index()].replace(lpn).is_none(), "two units share a place");
                assert_eq!(placement.die_of(lpn).0, lpn.0 % dies);
            }
            let mut gaps: Vec<usize> = (0..regions).map(|region| (region * region_places + lines) as usize).collect();
            for turn in 0..2 * lines * region_places {
                for region in 0..regions {
                    let first = (region * region_places) as usize;
                    let gap = &mut gaps[region as usize];
                    let source = if *gap == first { first + lines as usize } else { *gap - 1 };
                    let next = placement.next_move(region);
                    assert_eq!((next.from.index(), next.to.index(), Some(next.lpn)), (source, *gap, array[source]));
                    array.swap(source, *gap);
                    *gap = source;
                    placement.moved(region);
                }
                let held = (0..).map(Ppn).zip(&array);
                held.for_each(|(place, unit)| assert_eq!(placement.unit_at(place), *unit, "move {turn} at {place:?}"));
                (0..units).map(Lpn).for_each(|lpn| assert_eq!(array[placement.place_of(lpn).index()], Some(lpn)));
            }
        }
    }

    /// The writes of one address, with a move after each eight of them, reach every place of the region alike.
    #[test]
    fn one_address_wears_the_whole_region() {
        let geometry = geometry(1, 1, 4, 8);
        let mut placement = Placement::new(&geometry, vec![DieId(0)], 32, None);
        let mut wear = [0u32; 32];
        // A whole turn of the start register: each of 31 lines moves 32 times.
        for _ in 0..31 * 32 * 8 {
            let place = placement.place_of(Lpn(5));
            wear[place.index()] += 1;
            if let Some(region) = placement.written(place, 8) {
                placement.moved(region);
            }
        }
        let (least, most) = (wear.iter().min().expect("32 places"), wear.iter().max().expect("32 places"));
        assert!(*least > 0 && most - least <= 8, "{wear:?}");
    }
}
