//! Groups of the regions of 1 MiB that requests touch: regions touched by the same request belong to the same group.

use std::collections::BTreeMap;

/// Granularity of layout and compaction: 1 MiB.
pub const REGION_BYTES: u64 = 1 << 20;

/// Groups of regions of each address space.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Groups {
    /// Last region of each group, keyed by address space and first region. Groups do not overlap.
    last: BTreeMap<(u16, u64), u64>,
}

impl Groups {
    /// Merges the regions that `length` bytes from `offset` touch in address space `space` into one group; `length` is
    /// at least 1.
    pub fn touch(&mut self, space: u16, offset: u64, length: u64) {
        let (mut first, mut last) = (offset / REGION_BYTES, (offset + length - 1) / REGION_BYTES);
        while let Some((start, end)) = self.overlapping(space, first, last) {
            if start <= first && last <= end {
                return;
            }
            self.last.remove(&(space, start));
            (first, last) = (first.min(start), last.max(end));
        }
        self.last.insert((space, first), last);
    }

    /// Returns a group that overlaps the regions `first..=last`, as (first, last) region.
    fn overlapping(&self, space: u16, first: u64, last: u64) -> Option<(u64, u64)> {
        let (key, end) = self.last.range((space, 0)..=(space, last)).next_back()?;
        (*end >= first).then_some((key.1, *end))
    }

    /// Returns the number of regions in all groups.
    pub fn count(&self) -> u64 {
        self.last.iter().map(|((_, first), last)| last - first + 1).sum()
    }

    /// Iterates over the groups in order: address space, first region, number of regions.
    pub fn iter(&self) -> impl Iterator<Item = (u16, u64, u64)> {
        self.last.iter().map(|((space, first), last)| (*space, *first, last - first + 1))
    }
}

/// New locations of groups, assigned in the order of first touch.
pub struct Compaction {
    /// Number of regions of each group, and its new first region once one is assigned; keyed by first region.
    places: BTreeMap<u64, (u64, Option<u64>)>,
    given: u64,
}

impl Compaction {
    /// Returns the compaction of `groups` (first region, number of regions), with no location assigned yet.
    pub fn of(groups: impl Iterator<Item = (u64, u64)>) -> Compaction {
        Compaction { places: groups.map(|(first, count)| (first, (count, None))).collect(), given: 0 }
    }

    /// Returns the new address of byte `offset`, and assigns a location to its group at the first touch; `None` if the
    /// byte is in none of the groups.
    pub fn place(&mut self, offset: u64) -> Option<u64> {
        let region = offset / REGION_BYTES;
        let (first, (count, place)) = self.places.range_mut(..=region).next_back()?;
        if region - first >= *count {
            return None;
        }
        let place = *place.get_or_insert_with(|| {
            self.given += *count;
            self.given - *count
        });
        Some((place + region - first) * REGION_BYTES + offset % REGION_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = REGION_BYTES;

    #[test]
    fn requests_join_the_regions_they_touch() {
        let mut groups = Groups::default();
        for (offset, length) in [(9 * MIB + 512, 512), (3 * MIB, 2 * MIB), (5 * MIB, 512), (9 * MIB - 512, 1024), (4 * MIB, 4096)]
        {
            groups.touch(0, offset, length);
        }
        groups.touch(1, 5 * MIB - 512, 1024);
        assert_eq!(groups.iter().collect::<Vec<_>>(), [(0, 3, 2), (0, 5, 1), (0, 8, 2), (1, 4, 2)]);
        groups.touch(0, 0, 20 * MIB);
        assert_eq!(groups.iter().collect::<Vec<_>>(), [(0, 0, 20), (1, 4, 2)]);
        assert_eq!(groups.count(), 22);
    }

    #[test]
    fn groups_get_places_in_the_order_of_first_touch() {
        let mut compaction = Compaction::of([(3, 2), (5, 1), (8, 2)].into_iter());
        assert_eq!(compaction.place(9 * MIB + 512), Some(MIB + 512));
        assert_eq!(compaction.place(5 * MIB), Some(2 * MIB));
        assert_eq!(compaction.place(8 * MIB + 1024), Some(1024));
        assert_eq!(compaction.place(3 * MIB), Some(3 * MIB));
        assert_eq!((compaction.place(0), compaction.place(6 * MIB), compaction.place(10 * MIB)), (None, None, None));
    }
}
