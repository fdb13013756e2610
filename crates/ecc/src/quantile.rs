//! Number of errors of a codeword as a function of a quantile.
//!
//! Stored data keeps its place in the distribution: a codeword that is worse than 99 % of all codewords at one error
//! rate is so at another one, too. Its place is given as a standard normal value, to which a small normal disturbance
//! of each read can be added without changing the distribution.

use crate::binomial::{ln_probability, ln_tail_between};
use std::sync::OnceLock;

/// Returns the value below which a standard normal variable lies with probability `p`, within 1e-15 of the exact value
/// for 1e-300 to 1 - 1e-16 (Wichura 1988, algorithm AS 241, routine PPND16 \[recalled; the test compares it with the
/// integral\]).
#[inline]
pub fn normal_quantile(p: f64) -> f64 {
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180_625 - q * q;
        return q * ratio(r, &CENTRE);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let found = tail_quantile(libm::sqrt(-libm::log(tail)));
    if q < 0.0 { -found } else { found }
}

/// Returns the value that a standard normal variable exceeds with probability exp(`ln_p`), at most one half. Unlike
/// [`normal_quantile`] it does not lose digits in the upper tail.
pub fn normal_tail_quantile(ln_p: f64) -> f64 {
    // From this probability on, the middle of the distribution has its own coefficients.
    let p = libm::exp(ln_p);
    if p > 0.075 { -normal_quantile(p) } else { tail_quantile(libm::sqrt(-ln_p)) }
}

/// Returns the quantile of a tail whose probability is exp(-r^2).
fn tail_quantile(r: f64) -> f64 {
    if r <= 5.0 { ratio(r - 1.6, &MIDDLE) } else { ratio(r - 5.0, &FAR) }
}

/// Coefficients of numerator and denominator, lowest power first.
type Coefficients = ([f64; 8], [f64; 8]);

#[inline]
fn ratio(r: f64, (above, below): &Coefficients) -> f64 {
    let sum = |coefficients: &[f64; 8]| coefficients.iter().rev().fold(0.0, |sum, coefficient| sum * r + coefficient);
    sum(above) / sum(below)
}

const CENTRE: Coefficients = (
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
);
const MIDDLE: Coefficients = (
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        7.745_450_142_783_414e-4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        5.475_938_084_995_345e-4,
        1.050_750_071_644_416_9e-9,
    ],
);
const FAR: Coefficients = (
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        7.868_691_311_456_133e-4,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_8e-15,
    ],
);

/// Normal values by probability, interpolated: within 1e-7 of [`normal_quantile`], in a fraction of its time.
pub struct NormalTable {
    /// Coefficients of a cubic polynomial in the position within the cell, lowest power first, for each cell of the
    /// probability of the smaller tail. A factor of two is divided into [`CELLS_PER_OCTAVE`] equal cells.
    cells: Vec<[f64; 4]>,
}

/// Base-2 logarithm of the number of cells for a factor of two.
const OCTAVE_BITS: u32 = 5;
const CELLS_PER_OCTAVE: u32 = 1 << OCTAVE_BITS;
/// Bits of a number of type `f64` below those that tell the cell.
const POSITION_BITS: u32 = 52 - OCTAVE_BITS;
/// The lowest probability of the table, 2^-54, as the leading bits of its representation.
const LEAST: u64 = (1023 - 54) << OCTAVE_BITS;
/// Number of factors of two from there to one half.
const OCTAVES: u32 = 53;

impl NormalTable {
    /// Returns the table of the process: constants, computed at their first use.
    pub fn get() -> &'static NormalTable {
        static TABLE: OnceLock<NormalTable> = OnceLock::new();
        TABLE.get_or_init(NormalTable::new)
    }

    fn new() -> NormalTable {
        let probability = |cell: u64| f64::from_bits((LEAST + cell) << POSITION_BITS);
        let cell = |cell: u64| {
            let (from, to) = (probability(cell), probability(cell + 1));
            let (here, there) = (normal_quantile(from), normal_quantile(to));
            // The derivative is the reciprocal of the density.
            let slope = |z: f64| (to - from) * libm::exp(0.5 * z * z) * libm::sqrt(2.0 * std::f64::consts::PI);
            let (begins, ends, rises) = (slope(here), slope(there), there - here);
            [here, begins, 3.0 * rises - 2.0 * begins - ends, begins + ends - 2.0 * rises]
        };
        NormalTable { cells: (0..u64::from(OCTAVES * CELLS_PER_OCTAVE)).map(cell).collect() }
    }

    /// Returns the value below which a standard normal variable lies with probability `p`, from 2^-54 to 1 - 2^-53
    /// except one half.
    #[inline]
    pub fn quantile(&self, p: f64) -> f64 {
        let tail = p.min(1.0 - p).to_bits();
        let cell = &self.cells[((tail >> POSITION_BITS) - LEAST) as usize];
        // The bits of the position within the cell, as a number from 1 to 2.
        let at = f64::from_bits((1023 << 52) | (tail & ((1 << POSITION_BITS) - 1)) << OCTAVE_BITS) - 1.0;
        let z = cell[0] + at * (cell[1] + at * (cell[2] + at * cell[3]));
        z.abs().copysign(p - 0.5)
    }
}

/// Distribution of the number of errors in a codeword at one error rate, by quantile: exactly binomial.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantiles {
    /// Normal values up to which a codeword has `first`, `first + 1`, ... errors, ascending. Beyond the last one, it
    /// has one error more than for the last.
    up_to: Box<[f32]>,
    /// Number of errors of the lowest quantile.
    first: u32,
    /// The lowest of the values, and intervals per unit.
    low: f32,
    scale: f32,
    /// Change of the values, at the mean number of errors, with the logarithm of the error rate; negative.
    slope: f32,
    /// For each of [`CELLS`] equal intervals from the lowest of the values to the highest, the number of values below
    /// the interval.
    guide: [u16; CELLS],
}

/// Number of intervals in which the search for a number of errors begins.
const CELLS: usize = 64;

/// Logarithm of the probability below which a number of errors does not occur: that of the outermost of 2^53 quantiles,
/// with a margin.
const LN_RARE: f64 = -41.0;

impl Quantiles {
    /// Returns the distribution for `bits` bits, each wrong with probability `rate`. Numbers above `most` are not told
    /// apart: they count as `most + 1`.
    pub fn new(bits: u64, rate: f64, most: u64) -> Quantiles {
        let mode = (((bits + 1) as f64 * rate) as u64).min(bits);
        let mut first = mode;
        while first > 0 && ln_probability(bits, first - 1, rate) > LN_RARE {
            first -= 1;
        }
        let mut end = mode;
        while end < bits && ln_probability(bits, end, rate) > LN_RARE {
            end += 1;
        }
        let probabilities: Vec<f64> = (first..=end).map(|k| libm::exp(ln_probability(bits, k, rate))).collect();
        // The upper tails are summed from their ends, so that they keep their digits.
        let mut above = vec![0.0; probabilities.len()];
        for at in (0..probabilities.len() - 1).rev() {
            above[at] = above[at + 1] + probabilities[at + 1];
        }
        let mut below = 0.0;
        let mut up_to = Vec::new();
        for (at, probability) in probabilities.iter().enumerate() {
            below += probability;
            if first + at as u64 > most || above[at] <= 0.0 {
                break;
            }
            up_to.push(if below < 0.5 { normal_quantile(below) } else { normal_tail_quantile(libm::log(above[at])) });
        }
        let first = u32::try_from(first.min(most + 1)).unwrap_or(u32::MAX);
        let up_to: Box<[f32]> = up_to.into_iter().map(|bound| bound as f32).collect();
        let (low, span) = match up_to[..] {
            [low, .., high] => (low, high - low),
            [only] => (only, 1.0),
            [] => (f32::INFINITY, 1.0),
        };
        let guide = std::array::from_fn(|cell| {
            let edge = low + span * cell as f32 / CELLS as f32;
            up_to.partition_point(|&bound| bound < edge).saturating_sub(1) as u16
        });
        // Near its mean, the number of errors is normal: its deviation is the square root of its mean.
        let slope = -libm::sqrt(bits as f64 * rate) as f32;
        Quantiles { up_to, first, low, scale: CELLS as f32 / span, slope, guide }
    }

    /// Returns the number of errors of the codeword at a normal value.
    #[inline]
    pub fn errors(&self, z: f64) -> u32 {
        let z = z as f32;
        if z <= self.low {
            return self.first;
        }
        let cell = ((z - self.low) * self.scale) as usize;
        let mut at = usize::from(self.guide[cell.min(CELLS - 1)]);
        while at < self.up_to.len() && self.up_to[at] < z {
            at += 1;
        }
        self.first + at as u32
    }

    /// Returns the number of errors of the codeword at a normal value, at an error rate whose logarithm is greater by
    /// `more`, a small number: to first order around the mean number of errors.
    #[inline]
    pub fn errors_at(&self, z: f64, more: f64) -> u32 {
        self.errors(z - more * f64::from(self.slope))
    }
}

/// Returns the normal value beyond which a codeword has more than `correctable` errors; infinite if none has. For a
/// fractional number, the logarithm of the probability is interpolated between the neighbouring integers.
pub fn failure_quantile(bits: u64, correctable: f64, rate: f64) -> f64 {
    let ln_p = ln_tail_between(bits, correctable, rate);
    if ln_p < -700.0 {
        return f64::INFINITY;
    }
    if ln_p >= 0.0 { f64::NEG_INFINITY } else { normal_tail_quantile(ln_p) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binomial::ln_tail;

    /// Upper tail of the standard normal distribution, by the complementary error function.
    fn tail(z: f64) -> f64 {
        0.5 * libm::erfc(z / std::f64::consts::SQRT_2)
    }

    #[test]
    fn quantiles_invert_the_integral() {
        for step in 1..4_000 {
            let z = f64::from(step - 2_000) / 250.0;
            let p = tail(-z);
            // Near one, a probability has too few digits to tell neighbouring values apart.
            let rounding = if z > 0.0 { f64::EPSILON / libm::exp(-0.5 * z * z) } else { 0.0 };
            assert!((normal_quantile(p) - z).abs() < 1e-12 + 4.0 * rounding, "{z}: {}", normal_quantile(p));
            let found = normal_tail_quantile(libm::log(tail(z.abs())));
            assert!((found - z.abs()).abs() < 1e-10, "{z}: {found}");
        }
        assert!((normal_tail_quantile(-200.0) - 19.803).abs() < 1e-2, "{}", normal_tail_quantile(-200.0));
        assert_eq!(normal_quantile(0.5), 0.0);
    }

    #[test]
    fn the_table_gives_the_quantiles() {
        let table = NormalTable::get();
        let mut worst = 0.0f64;
        let mut check = |p: f64| worst = worst.max((table.quantile(p) - normal_quantile(p)).abs());
        for octave in 2..54 {
            for part in 0..4_000 {
                let tail = (1.0 + f64::from(part) / 4_000.0) * libm::exp2(-f64::from(octave));
                check(tail);
                if octave < 50 {
                    check(1.0 - tail);
                }
            }
        }
        let nearest = 0.5 / (1u64 << 52) as f64;
        for p in [nearest, 1.0 - nearest, 0.5 - nearest, 0.5 + nearest, 0.25, 0.75] {
            check(p);
        }
        assert!(worst < 1e-7, "{worst:e}");
    }

    /// The distribution at a slightly greater error rate has the mean of that rate.
    #[test]
    fn a_shifted_distribution_has_the_mean_of_its_rate() {
        for (bits, rate) in [(34_528u64, 1e-3), (36_352, 3e-3), (36_352, 1e-2)] {
            let quantiles = Quantiles::new(bits, rate, u64::MAX - 1);
            for more in [-1.0 / 128.0, 0.0, 1.0 / 128.0] {
                let count = 200_000;
                let z = |draw: u32| normal_quantile((f64::from(draw) + 0.5) / f64::from(count));
                let mean = (0..count).map(|draw| f64::from(quantiles.errors_at(z(draw), more))).sum::<f64>() / f64::from(count);
                let expected = bits as f64 * rate * libm::exp(more);
                assert!((mean / expected - 1.0).abs() < 3e-4, "{bits} {rate} {more}: {mean}, not {expected}");
            }
        }
    }

    /// The number of errors is the number of values below the quantile, wherever the search begins.
    #[test]
    fn every_quantile_is_found() {
        for (bits, rate, most) in
            [(34_528, 1e-7, 110), (34_528, 1e-4, 110), (36_352, 1e-2, 400), (36_352, 1e-2, 340), (20, 0.5, 20)]
        {
            let quantiles = Quantiles::new(bits, rate, most);
            for step in -9_000..9_000 {
                let z = f64::from(step) / 1_000.0;
                let below = quantiles.up_to.iter().filter(|&&bound| bound < z as f32).count() as u32;
                assert_eq!(quantiles.errors(z), quantiles.first + below, "{bits} {rate} {most} at {z}");
            }
        }
    }

    /// Each number of errors has the probability of the normal interval that is mapped to it.
    #[test]
    fn intervals_have_the_binomial_probabilities() {
        let cases = [(34_528, 1e-7), (34_528, 1e-4), (36_352, 3e-3), (36_352, 1e-2), (20, 0.5), (100, 0.97), (8, 0.0)];
        for (bits, rate) in cases {
            let quantiles = Quantiles::new(bits, rate, u64::MAX - 1);
            let (mut total, mut from) = (0.0, f64::NEG_INFINITY);
            for (at, bound) in quantiles.up_to.iter().map(|&bound| f64::from(bound)).enumerate() {
                let k = u64::from(quantiles.first) + at as u64;
                let share = if from > 0.0 { tail(from) - tail(bound) } else { tail(-bound) - tail(-from) };
                let exact = libm::exp(ln_probability(bits, k, rate));
                assert!((share - exact).abs() < 1e-12 + 2e-5 * exact, "{bits} {rate} {k}: {share:e}, not {exact:e}");
                assert_eq!((quantiles.errors(bound), quantiles.errors(bound + 1e-5 * bound.abs())), (k as u32, k as u32 + 1));
                (total, from) = (total + share, bound);
            }
            let last = u64::from(quantiles.first) + quantiles.up_to.len() as u64;
            let rest = libm::exp(ln_probability(bits, last, rate));
            assert!((total + rest - 1.0).abs() < 1e-5, "{bits} {rate}: {total} and {rest}");
        }
    }

    /// A codeword fails exactly if its number of errors is above a whole number that is correctable.
    #[test]
    fn failures_are_numbers_above_the_correctable_one() {
        for (bits, rate, most) in [(34_528, 3.2e-3, 110), (34_528, 2e-3, 110), (36_352, 1e-2, 400), (100, 0.0, 3), (100, 1.0, 3)]
        {
            let (quantiles, fails) = (Quantiles::new(bits, rate, most), failure_quantile(bits, most as f64, rate));
            for step in -8_000..8_000 {
                let z = f64::from(step) / 1_000.0;
                // At the boundary itself, rounding decides.
                if (z - fails).abs() > 1e-6 {
                    assert_eq!(quantiles.errors(z) > most as u32, z > fails, "{bits} {rate} {most} at {z}, boundary {fails}");
                }
            }
            if fails.is_finite() && fails > 0.0 {
                let exact = libm::exp(ln_tail(bits, most, rate));
                assert!((tail(fails) / exact - 1.0).abs() < 1e-8);
            }
        }
        // Between whole numbers, the failure probability is interpolated.
        let [less, between, more] = [100.0, 100.4, 101.0].map(|k| failure_quantile(34_528, k, 2e-3));
        assert!(less < between && between < more);
    }
}
