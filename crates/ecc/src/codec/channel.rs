//! Result of a flash read for a stored bit: the region, one of a few voltage intervals, in which its cell lies.

use kit::Rng;

/// Bound on the log-likelihood ratio of a region: even a region that one bit value never reaches counts as no stronger
/// evidence than this (a probability of 1e-13).
pub const MAX_RATIO: f64 = 30.0;

/// Largest fraction of bits away from the most common value for which a word is drawn by the gaps between them; beyond
/// it, bit by bit.
const RARE: f64 = 0.1;

/// A region of voltage, with the probabilities that a stored bit is read in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// P(region | bit 0).
    pub zero: f64,
    /// P(region | bit 1).
    pub one: f64,
}

impl Region {
    /// Returns ln(P(region | 0) / P(region | 1)), within [`MAX_RATIO`]; zero for a region that no bit reaches.
    pub fn ratio(&self) -> f64 {
        if self.zero == self.one {
            return 0.0;
        }
        (libm::log(self.zero) - libm::log(self.one)).clamp(-MAX_RATIO, MAX_RATIO)
    }
}

/// A memoryless channel from a bit to a region.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel {
    regions: Vec<Region>,
}

impl Channel {
    /// Builds a channel from its regions. Fails unless the probabilities of each bit value add up to one within 1e-6.
    pub fn of(regions: &[Region]) -> Result<Channel, String> {
        for (index, region) in regions.iter().enumerate() {
            let sound = |p: f64| p.is_finite() && p >= 0.0;
            if !sound(region.zero) || !sound(region.one) {
                return Err(format!("region {index} of the channel has {region:?}: expected finite probabilities from zero"));
            }
        }
        let (zero, one) = regions.iter().fold((0.0, 0.0), |(zero, one), region| (zero + region.zero, one + region.one));
        for (bit, sum) in [(0, zero), (1, one)] {
            if (sum - 1.0f64).abs() > 1e-6 {
                return Err(format!("the regions' probabilities for bit {bit} add up to {sum}: expected 1"));
            }
        }
        Ok(Channel { regions: regions.to_vec() })
    }

    /// Builds the channel of a single reference, with the same error rate for both bit values.
    pub fn hard(error_rate: f64) -> Result<Channel, String> {
        let right = 1.0 - error_rate;
        Channel::of(&[Region { zero: right, one: error_rate }, Region { zero: error_rate, one: right }])
    }

    /// Returns the regions.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// Returns the fraction of wrong bits if each bit is taken as the more likely value in its region; in a region
    /// where both are equally likely, half of the bits are wrong.
    pub fn error_rate(&self) -> f64 {
        self.regions.iter().map(|region| 0.5 * region.zero.min(region.one)).sum()
    }

    /// Returns the mutual information of bit and region, with equally likely bits \[bit\].
    pub fn capacity(&self) -> f64 {
        let part = |p: f64, mean: f64| if p > 0.0 { 0.5 * p * libm::log2(p / mean) } else { 0.0 };
        let of = |region: &Region| {
            let mean = 0.5 * (region.zero + region.one);
            part(region.zero, mean) + part(region.one, mean)
        };
        self.regions.iter().map(of).sum()
    }

    /// Returns a source of random received words.
    pub fn sampler(&self) -> Sampler {
        Sampler::of(self)
    }
}

/// Source of received words, as a decoder sees them if the all-zero codeword is sent.
///
/// A read treats zeros and ones differently, so zeros alone would not represent all codewords. Therefore each bit is
/// drawn at random and sent, and the sign of its ratio is flipped if it was a one: the i.i.d. channel adapter of Hou,
/// Siegel, Milstein and Pfister ("Capacity-approaching bandwidth-efficient coded modulation schemes based on
/// low-density parity-check codes", IEEE Trans. Inf. Theory 49(9), 2003). Averaged over codewords, this equals a random
/// coset of the code on the channel itself.
#[derive(Clone, Debug)]
pub struct Sampler {
    /// Ratios with their cumulative probabilities, the most common ratio first.
    outcomes: Vec<(f64, f32)>,
    error_rate: f64,
}

impl Sampler {
    fn of(channel: &Channel) -> Sampler {
        let mut shares: Vec<(f32, f64)> = Vec::new();
        for region in &channel.regions {
            let ratio = region.ratio() as f32;
            for (seen, share) in [(ratio, 0.5 * region.zero), (-ratio, 0.5 * region.one)] {
                // Compared by their bits, so that 0.0 and -0.0 stay apart: the negative one counts as an error, which
                // an erasure is in half of the cases.
                match shares.iter_mut().find(|(other, _)| other.to_bits() == seen.to_bits()) {
                    Some((_, sum)) => *sum += share,
                    None => shares.push((seen, share)),
                }
            }
        }
        shares.retain(|(_, share)| *share > 0.0);
        shares.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.total_cmp(&a.0)));
        let mut sum = 0.0;
        let outcomes = shares.into_iter().map(|(ratio, share)| {
            sum += share;
            (sum, ratio)
        });
        Sampler { outcomes: outcomes.collect(), error_rate: channel.error_rate() }
    }

    /// Fills a word with the ratios of an all-zero codeword, and returns the number of ratios with the wrong sign.
    pub fn ratios(&self, rng: &mut Rng, word: &mut [f32]) -> u64 {
        let (common, ratio) = self.outcomes[0];
        let rare = 1.0 - common;
        let mut errors = 0;
        if rare > RARE {
            for seen in word {
                *seen = self.outcome(rng.unit());
                errors += u64::from(seen.is_sign_negative());
            }
            return errors;
        }
        word.fill(ratio);
        let mut gaps = Gaps::new(rare, word.len());
        while let Some(place) = gaps.draw(rng) {
            word[place] = self.outcome(common + rare * rng.unit());
            errors += u64::from(word[place].is_sign_negative());
        }
        errors
    }

    /// Draws the positions of the errors in a word of `bits` bits, in ascending order.
    pub fn errors(&self, rng: &mut Rng, bits: u64, places: &mut Vec<u32>) {
        places.clear();
        let mut gaps = Gaps::new(self.error_rate, bits as usize);
        while let Some(place) = gaps.draw(rng) {
            places.push(place as u32);
        }
    }

    fn outcome(&self, at: f64) -> f32 {
        let found = self.outcomes.iter().find(|(below, _)| at < *below);
        // By rounding, the last cumulative probability may fall short of one.
        found.or(self.outcomes.last()).expect("a channel has an outcome").1
    }
}

/// Positions of rare events in a sequence of trials, by geometric gaps: one random number per event.
struct Gaps {
    /// ln(1 - p); `None` if p is zero.
    ln_miss: Option<f64>,
    next: usize,
    end: usize,
}

impl Gaps {
    fn new(probability: f64, trials: usize) -> Gaps {
        Gaps { ln_miss: (probability > 0.0).then(|| libm::log1p(-probability)), next: 0, end: trials }
    }

    /// Returns the next position; `None` after the last one.
    fn draw(&mut self, rng: &mut Rng) -> Option<usize> {
        let gap = libm::log(1.0 - rng.unit()) / self.ln_miss?;
        // The cast saturates, so a gap far beyond the end becomes the largest integer.
        let place = self.next.saturating_add(gap as usize);
        self.next = place.saturating_add(1);
        (place < self.end).then_some(place)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use kit::bisect::bisect_last_true;

    /// Returns the probability that a normal variate is more than `x` standard deviations above its mean.
    fn above(x: f64) -> f64 {
        0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2)
    }

    /// Returns the channel of two normal levels, 2 apart, read with references at these offsets from the middle; a
    /// single reference in the middle has the given error rate.
    pub(crate) fn gaussian(error_rate: f64, offsets: &[f64]) -> Channel {
        let steps = bisect_last_true(0.0, 40.0, 100, |steps| above(steps) >= error_rate);
        // Zeros are stored as the upper level.
        let beyond = |mean: f64, reference: f64| above((reference - mean) * steps);
        let edges: Vec<f64> = [f64::NEG_INFINITY].into_iter().chain(offsets.iter().copied()).chain([f64::INFINITY]).collect();
        let share = |mean, pair: &[f64]| beyond(mean, pair[0]) - beyond(mean, pair[1]);
        let regions: Vec<Region> =
            edges.windows(2).map(|pair| Region { zero: share(1.0, pair), one: share(-1.0, pair) }).collect();
        Channel::of(&regions).expect("the regions cover all voltages")
    }

    #[test]
    fn a_hard_channel_is_that_of_the_textbook() {
        let channel = Channel::hard(0.11).expect("a probability");
        let entropy = -0.11 * libm::log2(0.11) - 0.89 * libm::log2(0.89);
        assert!((channel.capacity() - (1.0 - entropy)).abs() < 1e-12 && (channel.error_rate() - 0.11).abs() < 1e-15);
        assert!((channel.regions()[0].ratio() - libm::log(0.89 / 0.11)).abs() < 1e-12);
        assert!((Channel::hard(0.5).expect("a probability").capacity()).abs() < 1e-15);
        assert_eq!(Channel::hard(0.0).expect("a probability").capacity(), 1.0);
    }

    #[test]
    fn more_references_tell_more_and_are_wrong_as_often() {
        let channels = [&[0.0][..], &[-0.15, 0.0, 0.15], &[-0.25, -0.1, 0.0, 0.1, 0.25]].map(|offsets| gaussian(8e-3, offsets));
        assert!(channels.iter().all(|channel| (channel.error_rate() / 8e-3 - 1.0).abs() < 1e-9));
        assert!(channels.windows(2).all(|pair| pair[0].capacity() + 1e-3 < pair[1].capacity()));
    }

    #[test]
    fn what_is_no_channel_is_refused() {
        let of = |pairs: &[(f64, f64)]| Channel::of(&pairs.iter().map(|&(zero, one)| Region { zero, one }).collect::<Vec<_>>());
        assert!(of(&[(0.9, 0.2), (0.1, 0.8)]).is_ok());
        for bad in [&[(0.9, 0.2), (0.1, 0.7)][..], &[(1.1, 0.2), (-0.1, 0.8)], &[(f64::NAN, 0.2), (0.1, 0.8)], &[]] {
            assert!(of(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn ratios_are_bounded_and_zero_where_nothing_is_known() {
        let ratio = |zero, one| Region { zero, one }.ratio();
        assert_eq!([ratio(0.5, 0.0), ratio(0.0, 0.5), ratio(0.0, 0.0), ratio(0.2, 0.2)], [MAX_RATIO, -MAX_RATIO, 0.0, 0.0]);
    }

    /// Every outcome has the right frequency: for channels drawn by gaps and bit by bit, with an erasure, and with
    /// different probabilities of the two bit values.
    #[test]
    fn words_are_drawn_as_the_channel_is() {
        let erasure = Region { zero: 0.02, one: 0.02 };
        let unlike = [Region { zero: 0.97, one: 0.002 }, erasure, Region { zero: 0.01, one: 0.978 }];
        let channels = [Channel::hard(0.01), Channel::hard(0.3), Ok(gaussian(0.02, &[-0.2, 0.0, 0.2])), Channel::of(&unlike)]
            .map(|c| c.expect("a channel"));
        let mut rng = Rng::stream(1, "channel");
        let mut word = vec![0.0; 200_000];
        for channel in channels {
            let sampler = channel.sampler();
            let errors = sampler.ratios(&mut rng, &mut word);
            assert_eq!(errors, word.iter().filter(|ratio| ratio.is_sign_negative()).count() as u64);
            let mut places = Vec::new();
            sampler.errors(&mut rng, word.len() as u64, &mut places);
            assert!(places.windows(2).all(|pair| pair[0] < pair[1]));
            let mut below = 0.0;
            let mut checks = vec![(errors as f64, channel.error_rate()), (places.len() as f64, channel.error_rate())];
            for &(sum, ratio) in &sampler.outcomes {
                checks.push((word.iter().filter(|seen| seen.to_bits() == ratio.to_bits()).count() as f64, sum - below));
                below = sum;
            }
            for (found, share) in checks {
                let (mean, deviation) = (share * word.len() as f64, libm::sqrt(share * word.len() as f64));
                assert!((found - mean).abs() < 5.0 * deviation + 1.0, "{found}, not {mean} of {channel:?}");
            }
        }
    }

    #[test]
    fn a_channel_without_errors_makes_none() {
        let (sampler, mut rng) = (Channel::hard(0.0).expect("a probability").sampler(), Rng::stream(1, "channel"));
        let (mut word, mut places) = (vec![0.0; 100], vec![7]);
        sampler.errors(&mut rng, 100, &mut places);
        assert_eq!((sampler.ratios(&mut rng, &mut word), places.len()), (0, 0));
        assert!(word.iter().all(|&ratio| ratio == MAX_RATIO as f32));
    }
}
