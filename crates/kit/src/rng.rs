//! Named random streams. Adding a stream leaves the numbers of all other streams unchanged.

use rand_core::{Rng as _, SeedableRng, TryRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Deserializer, Serialize, de};

/// A stream of random numbers, the same on every machine for one seed and name.
#[derive(Clone, Debug, Serialize)]
pub struct Rng(Pcg64Mcg);

/// The state of the generator is odd. At zero it would yield zeroes for ever, and [`Rng::below`] would not return.
impl<'de> Deserialize<'de> for Rng {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Rng, D::Error> {
        #[derive(Deserialize)]
        struct State {
            state: u128,
        }
        let State { state } = State::deserialize(from)?;
        if state % 2 == 0 {
            return Err(de::Error::custom("the state of a random stream is odd"));
        }
        Ok(Rng(Pcg64Mcg::new(state)))
    }
}

impl Rng {
    /// Returns the stream called `name` (such as `"ftl.gc"`) for the run's `seed`.
    pub fn stream(seed: u64, name: &str) -> Rng {
        // FNV-1a over the name, then SplitMix64 steps: distinct names give unrelated generators.
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let mut state = seed ^ hash.rotate_left(32);
        let mut bytes = [0u8; 16];
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&split_mix(&mut state).to_le_bytes());
        }
        Rng(Pcg64Mcg::from_seed(bytes))
    }

    /// Returns a uniformly distributed 64-bit number.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniform integer in `0..bound`, without bias (Lemire's multiplication with rejection). `bound` must be
    /// at least 1.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound >= 1);
        let mut product = u128::from(self.next_u64()) * u128::from(bound);
        if (product as u64) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u64) < threshold {
                product = u128::from(self.next_u64()) * u128::from(bound);
            }
        }
        (product >> 64) as u64
    }

    /// Returns a uniform double in `[0, 1)` with 53 random bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Returns true with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Returns an exponential variate with the given mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(1.0 - self.unit())
    }

    /// Returns a standard normal variate (Box-Muller; the second variate of the pair is discarded).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.unit()));
        radius * libm::cos(2.0 * std::f64::consts::PI * self.unit())
    }
}

/// Lets the distributions of other crates draw from the stream.
impl TryRng for Rng {
    type Error = std::convert::Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        self.0.try_next_u32()
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.0.try_next_u64()
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        self.0.try_fill_bytes(bytes)
    }
}

/// Advances `state` by one step of SplitMix64 and returns the mixed value. States that differ by one give unrelated
/// values.
pub fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At an even state, such as zero, the generator would yield zeroes, and a bounded number would be drawn for ever.
    #[test]
    fn a_stream_with_an_even_state_is_not_loaded() {
        for (state, is_one) in [(0u128, false), (2, false), (1, true), (u128::MAX, true)] {
            let saved = postcard::to_stdvec(&state).expect("memory");
            assert_eq!(postcard::from_bytes::<Rng>(&saved).is_ok(), is_one, "{state}");
        }
    }

    #[test]
    fn streams_are_reproducible_and_apart() {
        let first: Vec<u64> = {
            let mut r = Rng::stream(1, "ftl.gc");
            (0..4).map(|_| r.next_u64()).collect()
        };
        let again: Vec<u64> = {
            let mut r = Rng::stream(1, "ftl.gc");
            (0..4).map(|_| r.next_u64()).collect()
        };
        let other: Vec<u64> = {
            let mut r = Rng::stream(1, "ftl.wear");
            (0..4).map(|_| r.next_u64()).collect()
        };
        assert_eq!(first, again);
        assert_ne!(first, other);
    }

    #[test]
    fn variates_have_their_moments() {
        let mut rng = Rng::stream(7, "test");
        let n = 200_000;
        let mean = (0..n).map(|_| rng.exponential(3.0)).sum::<f64>() / f64::from(n);
        assert!((mean - 3.0).abs() < 0.05, "{mean}");
        let counts = (0..n).fold([0u32; 6], |mut c, _| {
            c[rng.below(6) as usize] += 1;
            c
        });
        assert!(counts.iter().all(|&c| (c as f64 - 33_333.0).abs() < 900.0), "{counts:?}");
        let spread = (0..n).map(|_| rng.normal().powi(2)).sum::<f64>() / f64::from(n);
        assert!((spread - 1.0).abs() < 0.03, "{spread}");
    }
}
