//! A table of numbers by line or place: memory follows those that are in it, not those of the drive.

use kit::archive::{Archived, require};
use serde::{Deserialize, Serialize};

/// Key of an entry that is free.
const FREE: u32 = u32::MAX;
/// Entries of a new table.
const FIRST_ENTRIES: usize = 64;

/// A table from `u32` to `u32` with open addressing, at most half full: 16 to 32 bytes for each number in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Counts {
    entries: Vec<(u32, u32)>,
    len: usize,
}

impl Counts {
    pub fn new() -> Counts {
        Counts { entries: vec![(FREE, 0); FIRST_ENTRIES], len: 0 }
    }

    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns the values, in no particular order.
    pub fn values(&self) -> impl Iterator<Item = u32> + '_ {
        self.entries.iter().filter(|(key, _)| *key != FREE).map(|(_, value)| *value)
    }

    /// Checks a loaded table, whose keys are to be below `end`.
    pub fn check(&self, end: u64) -> Archived {
        let size = self.entries.len();
        let is_sized = size.is_power_of_two() && size >= FIRST_ENTRIES && 2 * self.len <= size;
        require(is_sized, || format!("a table of {size} entries for {} numbers cannot be", self.len))?;
        let taken = || self.entries.iter().enumerate().filter(|(_, (key, _))| *key != FREE);
        require(taken().count() == self.len, || {
            format!("{} entries of a table are taken, and it claims {}", taken().count(), self.len)
        })?;
        let strange = taken().find(|(at, (key, _))| u64::from(*key) >= end || self.find(*key) != *at);
        require(strange.is_none(), || format!("an entry of a table is not where it belongs: {strange:?}"))
    }

    fn home(&self, key: u32) -> usize {
        // Fibonacci hashing: successive keys are spread over the table.
        let bits = self.entries.len().trailing_zeros();
        (u64::from(key).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits)) as usize
    }

    /// Returns the index of a key, or of the free entry at which the search for it ends.
    fn find(&self, key: u32) -> usize {
        let mask = self.entries.len() - 1;
        let mut at = self.home(key);
        while self.entries[at].0 != FREE && self.entries[at].0 != key {
            at = (at + 1) & mask;
        }
        at
    }

    pub fn get(&self, key: u32) -> Option<u32> {
        let (found, value) = self.entries[self.find(key)];
        (found != FREE).then_some(value)
    }

    /// Returns the value of a key for modification; a new key has 0.
    pub fn entry(&mut self, key: u32) -> &mut u32 {
        debug_assert!(key != FREE, "no line has this number");
        if 2 * (self.len + 1) > self.entries.len() {
            self.grow();
        }
        let at = self.find(key);
        if self.entries[at].0 == FREE {
            self.entries[at] = (key, 0);
            self.len += 1;
        }
        &mut self.entries[at].1
    }

    fn grow(&mut self) {
        let larger = vec![(FREE, 0); 2 * self.entries.len()];
        let old = std::mem::replace(&mut self.entries, larger);
        for (key, value) in old.into_iter().filter(|(key, _)| *key != FREE) {
            let at = self.find(key);
            self.entries[at] = (key, value);
        }
    }

    /// Removes a key, if it is there.
    pub fn remove(&mut self, key: u32) {
        let mut hole = self.find(key);
        if self.entries[hole].0 == FREE {
            return;
        }
        self.len -= 1;
        let mask = self.entries.len() - 1;
        // Entries behind the hole move up, unless that takes them before their home.
        let mut at = (hole + 1) & mask;
        while self.entries[at].0 != FREE {
            let home = self.home(self.entries[at].0);
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.entries[hole] = self.entries[at];
                hole = at;
            }
            at = (at + 1) & mask;
        }
        self.entries[hole] = (FREE, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Rng;
    use std::collections::BTreeMap;

    #[test]
    fn agrees_with_an_ordered_map_under_random_steps() {
        let (mut table, mut model, mut rng) = (Counts::new(), BTreeMap::new(), Rng::stream(1, "counts"));
        for step in 0..200_000u32 {
            let key = rng.below(if step < 100_000 { 300 } else { 100_000 }) as u32;
            match rng.below(3) {
                0 => {
                    table.remove(key);
                    model.remove(&key);
                }
                1 => {
                    *table.entry(key) += 1;
                    *model.entry(key).or_insert(0) += 1;
                }
                _ => assert_eq!(table.get(key), model.get(&key).copied(), "{key}"),
            }
        }
        let mut values: Vec<u32> = table.values().collect();
        let mut expected: Vec<u32> = model.values().copied().collect();
        values.sort_unstable();
        expected.sort_unstable();
        assert!(table.len() == model.len() && values == expected);
        assert!(model.iter().all(|(key, value)| table.get(*key) == Some(*value)));
    }
}
