//! Failure rates of a codec on a channel: counted, with confidence intervals.

use super::channel::{Channel, Sampler};
use super::{BchCodec, LdpcCodec, Outcome};
use crate::binomial::ln_tail;
use kit::Rng;
use kit::bisect::bisect_last_true;
use std::ops::{Add, AddAssign};

/// Codewords in a chunk of [`chunks`].
pub const CHUNK_FRAMES: u64 = 64;

/// A code whose failure rate can be measured.
#[derive(Clone, Debug)]
pub enum Codec {
    /// A BCH code; it receives hard decisions only.
    Bch(BchCodec),
    /// An LDPC code; it receives log-likelihood ratios.
    Ldpc(LdpcCodec),
}

impl Codec {
    /// Returns the bits of a codeword.
    pub fn codeword_bits(&self) -> u64 {
        match self {
            Codec::Bch(codec) => codec.codeword_bits(),
            Codec::Ldpc(codec) => codec.codeword_bits(),
        }
    }

    /// Returns the data bits of a codeword.
    pub fn data_bits(&self) -> u64 {
        match self {
            Codec::Bch(codec) => codec.code().data_bits,
            Codec::Ldpc(codec) => codec.shape().data_bits,
        }
    }
}

/// Counts of a measurement. The counts of different chunks can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Number of codewords sent.
    pub frames: u64,
    /// Number of codewords that were not decoded to the codeword sent, whether detected or not.
    pub failed: u64,
    /// Number of failed codewords that were decoded to another codeword, so that the error is not detected.
    pub undetected: u64,
    /// Iterations of the decoder summed over all codewords; zero for BCH codes.
    pub iterations: u64,
    /// Number of bits that a hard decision had wrong before decoding.
    pub errors: u64,
}

impl Counted {
    /// Returns the fraction of codewords that failed; NaN if none was sent.
    pub fn failure_rate(&self) -> f64 {
        self.failed as f64 / self.frames as f64
    }

    fn enter(&mut self, outcome: Outcome, errors: u64) {
        self.frames += 1;
        self.failed += u64::from(outcome != Outcome::Corrected);
        self.undetected += u64::from(outcome == Outcome::Wrong);
        self.errors += errors;
    }
}

impl Add for Counted {
    type Output = Counted;

    fn add(self, other: Counted) -> Counted {
        Counted {
            frames: self.frames + other.frames,
            failed: self.failed + other.failed,
            undetected: self.undetected + other.undetected,
            iterations: self.iterations + other.iterations,
            errors: self.errors + other.errors,
        }
    }
}

impl AddAssign for Counted {
    fn add_assign(&mut self, other: Counted) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Counted {
    fn sum<I: Iterator<Item = Counted>>(counts: I) -> Counted {
        counts.fold(Counted::default(), Add::add)
    }
}

/// Divides `frames` codewords into chunks, each given by its number and its codewords. The sum of the counts does not
/// depend on the order in which chunks are counted, nor on the thread.
pub fn chunks(frames: u64) -> impl Iterator<Item = (u64, u64)> {
    (0..frames.div_ceil(CHUNK_FRAMES)).map(move |chunk| (chunk, CHUNK_FRAMES.min(frames - chunk * CHUNK_FRAMES)))
}

/// Sends `frames` codewords over the channel, with the random numbers of one chunk of the seed.
pub fn count(codec: &Codec, channel: &Channel, frames: u64, seed: u64, chunk: u64) -> Counted {
    let (sampler, mut rng) = (channel.sampler(), Rng::stream(seed, &format!("codec.{chunk}")));
    match codec {
        Codec::Bch(codec) => count_bch(codec, &sampler, frames, &mut rng),
        Codec::Ldpc(codec) => count_ldpc(codec, &sampler, frames, &mut rng),
    }
}

/// Sends `frames` codewords over the channel, counting all [`chunks`] in turn.
pub fn count_all(codec: &Codec, channel: &Channel, frames: u64, seed: u64) -> Counted {
    chunks(frames).map(|(chunk, frames)| count(codec, channel, frames, seed, chunk)).sum()
}

fn count_bch(codec: &BchCodec, sampler: &Sampler, frames: u64, rng: &mut Rng) -> Counted {
    let (mut counted, mut places) = (Counted::default(), Vec::new());
    for _ in 0..frames {
        sampler.errors(rng, codec.codeword_bits(), &mut places);
        counted.enter(codec.decode_errors(&places), places.len() as u64);
    }
    counted
}

fn count_ldpc(codec: &LdpcCodec, sampler: &Sampler, frames: u64, rng: &mut Rng) -> Counted {
    let (mut counted, mut scratch) = (Counted::default(), codec.scratch());
    let mut ratios = vec![0.0; codec.codeword_bits() as usize];
    for _ in 0..frames {
        let errors = sampler.ratios(rng, &mut ratios);
        let decoded = codec.decode(&ratios, &mut scratch);
        counted.enter(judged(decoded.converged, scratch.word()), errors);
        counted.iterations += u64::from(decoded.iterations);
    }
    counted
}

/// Returns the outcome for an all-zero codeword.
fn judged(converged: bool, word: &[u128]) -> Outcome {
    match (converged, word.iter().all(|&bits| bits == 0)) {
        (false, _) => Outcome::Detected,
        (true, false) => Outcome::Wrong,
        (true, true) => Outcome::Corrected,
    }
}

/// Returns the interval of failure rates that is consistent with `failed` failures among `frames` codewords at this
/// confidence level: Clopper and Pearson, Biometrika 26 (1934), exact.
pub fn interval(failed: u64, frames: u64, confidence: f64) -> (f64, f64) {
    assert!(failed <= frames, "{failed} failures of {frames}");
    let tail = libm::log(0.5 * (1.0 - confidence));
    let low = match failed {
        0 => 0.0,
        _ => bisect_last_true(0.0, 1.0, 100, |rate| ln_tail(frames, failed - 1, rate) <= tail),
    };
    // At most `failed` failures means at least `frames - failed` successes.
    let high = match frames - failed {
        0 => 1.0,
        passed => bisect_last_true(0.0, 1.0, 100, |rate| ln_tail(frames, passed - 1, 1.0 - rate) >= tail),
    };
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::super::channel::tests::gaussian;
    use super::super::ldpc::LdpcShape;
    use super::*;

    fn bch(data_bits: u64, t: u64) -> Codec {
        Codec::Bch(BchCodec::new(data_bits, t).expect("a field of this size"))
    }

    fn ldpc() -> Codec {
        let shape = LdpcShape { data_bits: 8192, parity_bits: 896, ..LdpcShape::default() };
        Codec::Ldpc(LdpcCodec::new(shape).expect("a matrix was found"))
    }

    fn hard(error_rate: f64) -> Channel {
        Channel::hard(error_rate).expect("a probability")
    }

    /// Exact intervals of the binomial distribution, from tables; for no failure among n the upper end is 1 - (alpha /
    /// 2)^(1/n).
    #[test]
    fn intervals_are_those_of_clopper_and_pearson() {
        for (failed, frames, low, high) in [
            (0, 10, 0.0, 0.3085),
            (5, 10, 0.1871, 0.8129),
            (10, 10, 0.6915, 1.0),
            (1, 100, 2.5315e-4, 0.05446),
            (0, 1_000_000, 0.0, 3.6889e-6),
        ] {
            let found = interval(failed, frames, 0.95);
            let near = |found: f64, known: f64| (found - known).abs() <= 2e-4 * known;
            assert!(near(found.0, low) && near(found.1, high), "{failed} of {frames}: {found:?}");
        }
        assert_eq!(interval(0, 0, 0.95), (0.0, 1.0));
        let (wide, narrow) = (interval(20, 1000, 0.99), interval(20, 1000, 0.9));
        assert!(wide.0 < narrow.0 && narrow.0 < 0.02 && 0.02 < narrow.1 && narrow.1 < wide.1);
    }

    /// The real code fails as often as the binomial tail predicts: it corrects t errors and no more.
    #[test]
    fn a_bch_code_fails_as_the_binomial_tail_says() {
        let codec = bch(4096, 12);
        let rate = 1.9e-3;
        let exact = libm::exp(ln_tail(codec.codeword_bits(), 12, rate));
        assert!((0.05..0.2).contains(&exact), "{exact}");
        let counted = count_all(&codec, &hard(rate), 3000, 1);
        let (low, high) = interval(counted.failed, counted.frames, 0.999);
        assert!(low < exact && exact < high, "{counted:?}: {exact} is not in {low} to {high}");
        let mean = counted.errors as f64 / (3000.0 * codec.codeword_bits() as f64);
        assert!((mean / rate - 1.0).abs() < 0.05 && counted.iterations == 0 && counted.undetected == 0);
    }

    /// The Hamming code (7, 4) is perfect: with two or more errors it always decodes to another codeword.
    #[test]
    fn silent_errors_are_failures_too() {
        let codec = bch(4, 1);
        let counted = count_all(&codec, &hard(0.1), 20_000, 1);
        let (low, high) = interval(counted.failed, counted.frames, 0.999);
        let exact = libm::exp(ln_tail(7, 1, 0.1));
        assert!(low < exact && exact < high && counted.undetected == counted.failed, "{counted:?}");
        assert_eq!(
            [judged(false, &[0]), judged(true, &[0, 4]), judged(true, &[0])],
            [Outcome::Detected, Outcome::Wrong, Outcome::Corrected]
        );
    }

    #[test]
    fn an_ldpc_code_corrects_few_errors_and_not_many() {
        let codec = ldpc();
        let (few, many) = (count_all(&codec, &hard(3e-3), 40, 1), count_all(&codec, &hard(1.2e-2), 20, 1));
        assert_eq!((few.frames, few.failed, many.failed), (40, 0, 20));
        assert!(few.iterations <= 40 * 5 && many.iterations == 20 * 20, "{few:?} {many:?}");
    }

    #[test]
    fn soft_reads_save_what_hard_reads_lose() {
        let codec = ldpc();
        let failures = [&[0.0][..], &[-0.15, 0.0, 0.15], &[-0.25, -0.1, 0.0, 0.1, 0.25]]
            .map(|offsets| count_all(&codec, &gaussian(1.3e-2, offsets), 40, 1).failed);
        assert!(failures[0] == 40 && failures[1] < 20 && failures[2] <= failures[1], "{failures:?}");
    }

    /// Chunks are independent, so their order is free; one seed gives one result.
    #[test]
    fn chunks_add_up_to_the_whole() {
        for (codec, channel, frames) in [(bch(4096, 12), hard(2e-3), 150), (ldpc(), hard(6e-3), 70)] {
            let whole = count_all(&codec, &channel, frames, 9);
            let mut parts: Vec<(u64, u64)> = chunks(frames).collect();
            parts.reverse();
            let mut sum = Counted::default();
            for (chunk, frames) in parts {
                sum += count(&codec, &channel, frames, 9, chunk);
            }
            assert_eq!((sum, whole.frames), (whole, frames));
            assert_eq!(count_all(&codec, &channel, frames, 9), whole);
            assert_ne!(count_all(&codec, &channel, frames, 10), whole);
            assert_ne!(count(&codec, &channel, 64, 9, 0), count(&codec, &channel, 64, 9, 1));
        }
    }
}
