//! A set of numbers in the order of their last use.

/// End of a chain, and an empty place of the table.
const NONE: u32 = u32::MAX;

/// A number with its neighbours in the order of use.
#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u32,
    older: u32,
    newer: u32,
}

/// A set of at most a fixed number of different numbers. A number that is added to a full set takes the place of the
/// one that was used least recently. Each operation takes a constant time on average.
#[derive(Clone, Debug)]
pub struct Lru {
    entries: Vec<Entry>,
    capacity: usize,
    oldest: u32,
    newest: u32,
    /// Slots of `entries`, each in the first free place from that of its number's hash on.
    table: Vec<u32>,
    /// Number of bits by which a hash is shifted for its place in the table.
    shift: u32,
    free: Vec<u32>,
}

impl Lru {
    /// Returns an empty set of at most `capacity` numbers.
    ///
    /// # Panics
    /// If `capacity` is zero, or 2^31 or more.
    pub fn new(capacity: u32) -> Lru {
        assert!(capacity > 0 && capacity < 1 << 31, "a set has room");
        // Half full at most, so that the searches are short.
        let places = (capacity as usize * 2).next_power_of_two().max(2);
        Lru {
            entries: Vec::new(),
            capacity: capacity as usize,
            oldest: NONE,
            newest: NONE,
            table: vec![NONE; places],
            shift: 64 - places.trailing_zeros(),
            free: Vec::new(),
        }
    }

    /// Returns the largest number of numbers that the set holds.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the number of numbers in the set.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Returns true if the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if a number is in the set. Its use does not change.
    #[inline]
    pub fn contains(&self, key: u32) -> bool {
        self.table[self.find(key)] != NONE
    }

    /// Uses a number. Returns true if it is in the set.
    #[inline]
    pub fn touch(&mut self, key: u32) -> bool {
        let slot = self.table[self.find(key)];
        if slot == NONE {
            return false;
        }
        self.unlink(slot);
        self.link(slot);
        true
    }

    /// Uses a number, and adds it if it is not in the set. Returns the number that had to leave for it.
    pub fn insert(&mut self, key: u32) -> Option<u32> {
        if self.touch(key) {
            return None;
        }
        let evicted = if self.len() == self.capacity { self.oldest() } else { None };
        if let Some(oldest) = evicted {
            self.remove(oldest);
        }
        let slot = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Entry { key, older: NONE, newer: NONE });
            self.entries.len() as u32 - 1
        });
        self.entries[slot as usize].key = key;
        self.link(slot);
        let at = self.find(key);
        self.table[at] = slot;
        evicted
    }

    /// Adds a number if it is not in the set; the use of one that is does not change.
    ///
    /// # Panics
    /// If the set is full and does not have the number.
    pub fn add(&mut self, key: u32) {
        if !self.contains(key) {
            assert!(self.insert(key).is_none(), "the set has room");
        }
    }

    /// Removes a number. Returns true if it was in the set.
    pub fn remove(&mut self, key: u32) -> bool {
        let mut hole = self.find(key);
        let slot = self.table[hole];
        if slot == NONE {
            return false;
        }
        self.unlink(slot);
        self.free.push(slot);
        // Later numbers of the same run move up, as far as their own places allow.
        let mask = self.table.len() - 1;
        let mut at = hole;
        loop {
            at = (at + 1) & mask;
            let moved = self.table[at];
            if moved == NONE {
                break;
            }
            let home = self.home(self.entries[moved as usize].key);
            if at.wrapping_sub(home) & mask >= at.wrapping_sub(hole) & mask {
                self.table[hole] = moved;
                hole = at;
            }
        }
        self.table[hole] = NONE;
        true
    }

    /// Returns the number that was used least recently.
    pub fn oldest(&self) -> Option<u32> {
        (self.oldest != NONE).then(|| self.entries[self.oldest as usize].key)
    }

    /// Removes all numbers.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.free.clear();
        self.table.fill(NONE);
        (self.oldest, self.newest) = (NONE, NONE);
    }

    /// Returns the numbers, the one that was used least recently first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let next = |slot: u32| (slot != NONE).then_some(slot);
        let slots = std::iter::successors(next(self.oldest), move |&slot| next(self.entries[slot as usize].newer));
        slots.map(|slot| self.entries[slot as usize].key)
    }

    /// Returns the place in the table from which a number is searched.
    #[inline]
    fn home(&self, key: u32) -> usize {
        // Multiplicative hashing (Knuth, volume 3, section 6.4): neighbouring numbers are spread evenly.
        (u64::from(key).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
    }

    /// Returns the place of a number in the table, or the free place where it would be.
    #[inline]
    fn find(&self, key: u32) -> usize {
        let mask = self.table.len() - 1;
        let mut at = self.home(key);
        while self.table[at] != NONE && self.entries[self.table[at] as usize].key != key {
            at = (at + 1) & mask;
        }
        at
    }

    fn link(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        (entry.older, entry.newer) = (self.newest, NONE);
        match self.newest {
            NONE => self.oldest = slot,
            newest => self.entries[newest as usize].newer = slot,
        }
        self.newest = slot;
    }

    fn unlink(&mut self, slot: u32) {
        let Entry { older, newer, .. } = self.entries[slot as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rng;

    /// Random uses, additions and removals, against a plain list in the order of use.
    #[test]
    fn the_least_recently_used_number_leaves_first() {
        for capacity in [1, 2, 3, 7, 64] {
            let (mut set, mut model) = (Lru::new(capacity), Vec::<u32>::new());
            let mut rng = Rng::stream(u64::from(capacity), "lru");
            for step in 0..20_000 {
                let key = rng.below(u64::from(capacity) * 2 + 1) as u32 * 1024;
                let at = model.iter().position(|known| *known == key);
                assert_eq!(set.contains(key), at.is_some());
                match rng.below(8) {
                    0..3 => {
                        assert_eq!(set.touch(key), at.is_some());
                        model.retain(|known| *known != key);
                        model.extend(at.map(|_| key));
                    }
                    3..6 => {
                        model.retain(|known| *known != key);
                        let evicted = (model.len() == capacity as usize).then(|| model.remove(0));
                        model.push(key);
                        assert_eq!(set.insert(key), evicted, "step {step}");
                    }
                    6 => {
                        model.retain(|known| *known != key);
                        assert_eq!(set.remove(key), at.is_some());
                    }
                    _ if rng.below(500) == 0 => {
                        model.clear();
                        set.clear();
                    }
                    _ => {}
                }
                assert!(set.iter().eq(model.iter().copied()), "step {step}: {model:?}");
                assert_eq!((set.len(), set.is_empty(), set.oldest()), (model.len(), model.is_empty(), model.first().copied()));
            }
        }
    }
}
