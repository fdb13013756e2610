//! Exact division of `u32` by a divisor fixed at set-up, with one multiplication.

/// A divisor fixed at set-up. `n / d` costs a 64-bit multiplication instead of a division.
#[derive(Clone, Copy, Debug)]
pub struct Divisor {
    value: u32,
    reciprocal: u64,
}

impl Divisor {
    /// Returns the divisor `value`, which must be at least 1.
    pub fn new(value: u32) -> Divisor {
        assert!(value >= 1, "a divisor is at least 1");
        // Lemire, Kaser, Kurz 2019: with c = ceil(2^64 / d), floor(c n / 2^64) = floor(n / d) for all 32-bit n.
        Divisor { value, reciprocal: (u64::MAX / u64::from(value)).wrapping_add(1) }
    }

    /// Returns the value of the divisor.
    #[inline]
    pub fn value(self) -> u32 {
        self.value
    }

    /// Returns `n / d`, rounded down.
    #[inline]
    pub fn quotient(self, n: u32) -> u32 {
        if self.value == 1 {
            return n;
        }
        ((u128::from(self.reciprocal) * u128::from(n)) >> 64) as u32
    }

    /// Returns `(n / d, n % d)`.
    #[inline]
    pub fn split(self, n: u32) -> (u32, u32) {
        let quotient = self.quotient(n);
        (quotient, n - quotient * self.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_hardware_division() {
        for d in [1, 2, 3, 5, 7, 64, 192, 255, 256, 257, 2304, 65535, 65536, 1_000_003, u32::MAX] {
            let divisor = Divisor::new(d);
            let edges = (0..40u32)
                .flat_map(|k| [d.wrapping_mul(k).wrapping_sub(1), d.wrapping_mul(k), d.wrapping_mul(k).wrapping_add(1)]);
            for n in edges.chain([0, 1, u32::MAX, u32::MAX - 1, 1 << 31]) {
                assert_eq!(divisor.split(n), (n / d, n % d), "{n} / {d}");
            }
        }
    }
}
