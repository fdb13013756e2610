//! A keyed bijection of `0..n`: every number once, in an order that looks random, without a table.

use crate::rng::split_mix;

/// A pseudo-random bijection of `0..n`. A four-round Feistel network over the next even power of two, walked until it
/// lands inside the range (at most four steps on average).
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    count: u64,
    half_bits: u32,
    keys: [u64; 4],
}

impl Permutation {
    /// The bijection of `0..count` that belongs to `key`; `count` must be at least 1.
    pub fn new(count: u64, key: u64) -> Permutation {
        assert!(count >= 1, "a permutation needs at least one element");
        let bits = 64 - (count - 1).leading_zeros();
        let mut state = key;
        Permutation { count, half_bits: bits.div_ceil(2).max(1), keys: [(); 4].map(|()| split_mix(&mut state)) }
    }

    /// How many numbers it permutes.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The image of `index`, which must be below the count.
    #[inline]
    pub fn at(&self, index: u64) -> u64 {
        debug_assert!(index < self.count);
        let mut value = self.round_trip(index);
        while value >= self.count {
            value = self.round_trip(value);
        }
        value
    }

    #[inline]
    fn round_trip(&self, value: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (left, right) = (right, left ^ ((mixed >> 32) & mask));
        }
        left << self.half_bits | right
    }
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
