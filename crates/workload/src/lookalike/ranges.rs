//! Set of whole numbers, kept as ranges.

use std::collections::BTreeMap;

/// Set of whole numbers. Its size, and the time of an addition, follow the number of ranges that were added, not their
/// lengths.
#[derive(Default)]
pub struct Ranges {
    /// Last number of each range, by the first. The ranges neither overlap nor touch.
    last: BTreeMap<u64, u64>,
}

impl Ranges {
    /// Adds `first..=last`, and returns how many of its numbers were in the set.
    pub fn add(&mut self, first: u64, last: u64) -> u64 {
        let (mut from, mut to, mut known) = (first, last, 0);
        while let Some((&start, &end)) = self.last.range(..=last.saturating_add(1)).next_back() {
            if end.saturating_add(1) < first {
                break;
            }
            known += (end.min(last) + 1).saturating_sub(start.max(first));
            if start <= first && last <= end {
                return known;
            }
            (from, to) = (from.min(start), to.max(end));
            self.last.remove(&start);
        }
        self.last.insert(from, to);
        known
    }

    /// Returns how many numbers of `first..=last` are in the set.
    pub fn count(&self, first: u64, last: u64) -> u64 {
        let before = self.last.range(..first).next_back();
        let ranges = before.into_iter().chain(self.last.range(first..=last));
        ranges.map(|(start, end)| (end.min(&last) + 1).saturating_sub(*start.max(&first))).sum()
    }

    /// Iterates over the ranges in order, as (first, last) number.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> {
        self.last.iter().map(|(first, last)| (*first, *last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn ranges_are_those_of_a_set() {
        let mut rng = kit::Rng::stream(1, "ranges");
        let (mut ranges, mut set) = (Ranges::default(), BTreeSet::new());
        for _ in 0..3000 {
            let first = rng.below(4000);
            let most = [3, 60][rng.below(2) as usize];
            let last = first + rng.below(most);
            let expected = (first..=last).filter(|number| set.contains(number)).count() as u64;
            assert_eq!(ranges.count(first, last), expected);
            if rng.chance(0.2) {
                assert_eq!(ranges.add(first, last), expected);
                set.extend(first..=last);
            }
            if rng.chance(0.01) {
                (ranges, set) = Default::default();
            }
        }
        let listed: Vec<u64> = ranges.iter().flat_map(|(first, last)| first..=last).collect();
        assert_eq!(listed, set.into_iter().collect::<Vec<u64>>());
        assert!(ranges.iter().zip(ranges.iter().skip(1)).all(|(one, next)| one.1 + 1 < next.0));
    }
}
