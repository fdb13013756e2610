//! A keyed pseudo-random permutation of `0..n`. It needs no table and takes a few nanoseconds per number.

use crate::rng::split_mix;

/// A pseudo-random bijection of `0..count`.
///
/// One step applies three rounds to a number of `b` bits, the least width that holds `count - 1`: multiplication by an
/// odd number, then folding of the upper half onto the lower. Both are bijections of the `b`-bit numbers. Steps are
/// repeated until the image lies in the range (cycle walking): one step if `count` is a power of two, fewer than two on
/// average otherwise.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    count: u64,
    mask: u64,
    fold: u32,
    add: u64,
    factors: [u64; 3],
    /// Inverses of the factors, modulo 2^64.
    inverses: [u64; 3],
}

impl Permutation {
    /// Returns the bijection of `0..count` that belongs to `key`. `count` must be at least 1.
    pub fn new(count: u64, key: u64) -> Permutation {
        assert!(count >= 1, "a permutation needs at least one element");
        let bits = (64 - (count - 1).leading_zeros()).max(1);
        let mut state = key;
        let add = split_mix(&mut state);
        let factors = [(); 3].map(|()| split_mix(&mut state) | 1);
        let inverses = factors.map(inverse);
        Permutation { count, mask: u64::MAX >> (64 - bits), fold: bits.div_ceil(2), add, factors, inverses }
    }

    /// Returns the number of elements.
    #[inline]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the image of `index`, which must be below the count.
    #[inline]
    pub fn at(&self, index: u64) -> u64 {
        debug_assert!(index < self.count);
        let mut value = self.step(index);
        while value >= self.count {
            value = self.step(value);
        }
        value
    }

    /// Returns the index whose image is `value`, which must be below the count.
    #[inline]
    pub fn index_of(&self, value: u64) -> u64 {
        debug_assert!(value < self.count);
        let mut index = self.step_back(value);
        while index >= self.count {
            index = self.step_back(index);
        }
        index
    }

    #[inline]
    fn step_back(&self, value: u64) -> u64 {
        let mut value = value;
        for inverse in self.inverses.into_iter().rev() {
            // The fold is at least half the width: it is its own inverse.
            value ^= value >> self.fold;
            value = value.wrapping_mul(inverse) & self.mask;
        }
        value.wrapping_sub(self.add) & self.mask
    }

    #[inline]
    fn step(&self, value: u64) -> u64 {
        let mut value = value.wrapping_add(self.add) & self.mask;
        for factor in self.factors {
            value = value.wrapping_mul(factor) & self.mask;
            value ^= value >> self.fold;
        }
        value
    }
}

/// Returns the inverse of an odd number modulo 2^64. Each step of Newton's method doubles the number of right bits; an
/// odd number is its own inverse modulo 8.
fn inverse(odd: u64) -> u64 {
    (0..5).fold(odd, |inverse, _| inverse.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_once() {
        for count in [1u64, 2, 3, 4, 5, 17, 1000, 4096, 65_537] {
            for key in 0..4 {
                let permutation = Permutation::new(count, key);
                let mut seen = vec![false; count as usize];
                for index in 0..count {
                    let image = permutation.at(index);
                    assert!(!std::mem::replace(&mut seen[image as usize], true), "twice in 0..{count}");
                    assert_eq!(permutation.index_of(image), index, "{image} in 0..{count} under key {key}");
                }
            }
        }
    }

    #[test]
    fn keys_differ() {
        let (one, two) = (Permutation::new(1 << 20, 1), Permutation::new(1 << 20, 2));
        assert!((0..1000).filter(|&i| one.at(i) == two.at(i)).count() < 5);
    }

    #[test]
    fn it_looks_random() {
        let count = 1u64 << 20;
        for key in 0..20 {
            let permutation = Permutation::new(count, key);
            let close = (0..10_000).filter(|&i| permutation.at(i).abs_diff(permutation.at(i + 1)) < 1000).count();
            assert!(close < 60, "key {key}: {close} of 10,000 neighbours stay close; chance says about 19");
            // Differences of neighbours must not repeat: a multiplication alone would give one value throughout.
            let mut steps: Vec<u64> =
                (0..1000).map(|i| permutation.at(i + 1).wrapping_sub(permutation.at(i)) & (count - 1)).collect();
            steps.sort_unstable();
            steps.dedup();
            assert!(steps.len() > 950, "key {key}: only {} distinct steps of 1000", steps.len());
            // A stretch of the pass spreads evenly over 64 zones: chi-squared with 63 degrees of freedom, 5 sigma.
            let mut zones = [0u32; 64];
            (0..64_000).for_each(|i| zones[(permutation.at(i) >> 14) as usize] += 1);
            let chi: f64 = zones.iter().map(|&n| (f64::from(n) - 1000.0).powi(2) / 1000.0).sum();
            assert!(chi < 63.0 + 5.0 * 11.2, "key {key}: chi-squared {chi}");
        }
    }
}
