//! A keyed bijection of `0..n`: every number once, in an order that looks random, without a table.

use crate::rng::split_mix;

/// A pseudo-random bijection of `0..n`: a four-round Feistel network over a rectangle of about `sqrt(n)` by `sqrt(n)`, walked
/// until it lands inside the range. The rectangle exceeds the range by less than one row, so walks are rare.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    count: u64,
    rows: u64,
    columns: u64,
    keys: [u64; 4],
}

impl Permutation {
    /// The bijection of `0..count` that belongs to `key`; `count` must be at least 1 and below 2^62.
    pub fn new(count: u64, key: u64) -> Permutation {
        assert!((1..1 << 62).contains(&count), "a permutation needs 1 to 2^62 elements");
        let columns = (libm::sqrt(count as f64) as u64).max(1);
        let mut state = key;
        Permutation { count, rows: count.div_ceil(columns), columns, keys: [(); 4].map(|()| split_mix(&mut state)) }
    }

    /// How many numbers it permutes.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The image of `index`, which must be below the count.
    #[inline]
    pub fn at(&self, index: u64) -> u64 {
        debug_assert!(index < self.count);
        let mut value = self.rounds(index);
        while value >= self.count {
            value = self.rounds(value);
        }
        value
    }

    #[inline]
    fn rounds(&self, value: u64) -> u64 {
        let (mut row, mut column) = (value / self.columns, value % self.columns);
        for pair in self.keys.chunks_exact(2) {
            row = add_mod(row, spread(column ^ pair[0], self.rows), self.rows);
            column = add_mod(column, spread(row ^ pair[1], self.columns), self.columns);
        }
        row * self.columns + column
    }
}

#[inline]
fn add_mod(left: u64, right: u64, modulus: u64) -> u64 {
    let sum = left + right;
    if sum >= modulus { sum - modulus } else { sum }
}

/// A hash of `value`, spread over `0..bound` (below 2^32).
#[inline]
fn spread(value: u64, bound: u64) -> u64 {
    let mixed = value.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    ((mixed >> 32) * bound) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_once() {
        for count in [1u64, 2, 3, 4, 5, 17, 1000, 4096, 65_537] {
            let permutation = Permutation::new(count, 42);
            let mut seen = vec![false; count as usize];
            for index in 0..count {
                let image = permutation.at(index) as usize;
                assert!(!std::mem::replace(&mut seen[image], true), "{image} twice in 0..{count}");
            }
        }
    }

    #[test]
    fn neighbours_part_and_keys_differ() {
        let (one, two) = (Permutation::new(1 << 20, 1), Permutation::new(1 << 20, 2));
        let adjacent = (0..10_000).filter(|&i| one.at(i).abs_diff(one.at(i + 1)) < 1000).count();
        assert!(adjacent < 60, "{adjacent} of 10,000 neighbours stay close; chance says about 19");
        assert!((0..1000).filter(|&i| one.at(i) == two.at(i)).count() < 5);
    }
}
