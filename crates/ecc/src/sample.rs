//! Random numbers of errors in a codeword.

use crate::binomial::ln_probability;
use kit::Rng;

/// Distribution of the number of errors in `n` bits of error rate `p`, from which numbers are drawn: exactly binomial
/// up to rounding, in a time that does not grow with `n`.
///
/// By inversion for a mean below ten, otherwise by transformed rejection with a squeeze (BTRS, W. Hörmann 1993, "The
/// generation of binomial random variates", with the exact ratio of probabilities for the second test \[recalled\]; the
/// tests here compare with exact probabilities). A draw uses 53 random bits, so events rarer than 1e-16 never occur:
/// failure rates that low must be computed, not drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binomial {
    n: u64,
    /// True if `p` is above a half: then the correct bits are drawn instead of the errors.
    mirrored: bool,
    method: Method,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Method {
    /// Always zero.
    Never,
    Inversion {
        odds: f64,
        none: f64,
    },
    Rejection(Rejection),
}

/// Constants of BTRS, with the names of the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rejection {
    p: f64,
    a: f64,
    b: f64,
    c: f64,
    alpha: f64,
    v_r: f64,
    ln_mode: f64,
}

/// Mean from which rejection is used; below it BTRS is not valid.
const MIN_MEAN: f64 = 10.0;

impl Binomial {
    /// Returns the distribution of the number of errors among `n` bits, each wrong with probability `p`. A `p` below
    /// zero counts as zero, above one or NaN as one.
    pub fn new(n: u64, p: f64) -> Binomial {
        let p = if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) };
        let mirrored = p > 0.5;
        let p = if mirrored { 1.0 - p } else { p };
        let mean = n as f64 * p;
        let method = if mean <= 0.0 {
            Method::Never
        } else if mean < MIN_MEAN {
            Method::Inversion { odds: p / (1.0 - p), none: libm::exp(n as f64 * libm::log1p(-p)) }
        } else {
            Method::Rejection(Rejection::new(n, p))
        };
        Binomial { n, mirrored, method }
    }

    /// Draws a number of errors.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let few = match self.method {
            Method::Never => 0,
            Method::Inversion { odds, none } => invert(self.n, odds, none, rng.unit()),
            Method::Rejection(rejection) => rejection.draw(self.n, rng),
        };
        if self.mirrored { self.n - few } else { few }
    }
}

/// Returns the smallest number whose cumulative probability exceeds `u`.
fn invert(n: u64, odds: f64, none: f64, u: f64) -> u64 {
    let (mut left, mut probability, mut k) = (u, none, 0);
    // Rounding may leave a remainder of `u` after all probability is used up; then the loop ends.
    while left >= probability && k < n && probability > 0.0 {
        left -= probability;
        probability *= (n - k) as f64 / (k + 1) as f64 * odds;
        k += 1;
    }
    k
}

impl Rejection {
    fn new(n: u64, p: f64) -> Rejection {
        let deviation = libm::sqrt(n as f64 * p * (1.0 - p));
        let b = 1.15 + 2.53 * deviation;
        let mode = libm::floor((n as f64 + 1.0) * p) as u64;
        Rejection {
            p,
            a: -0.0873 + 0.0248 * b + 0.01 * p,
            b,
            c: n as f64 * p + 0.5,
            alpha: (2.83 + 5.1 / b) * deviation,
            v_r: 0.92 - 4.2 / b,
            ln_mode: ln_probability(n, mode, p),
        }
    }

    fn draw(&self, n: u64, rng: &mut Rng) -> u64 {
        // More than four in five rounds are accepted, so ten thousand rejections in a row do not occur.
        for _ in 0..10_000 {
            let (u, v) = (rng.unit() - 0.5, rng.unit());
            let edge = 0.5 - libm::fabs(u);
            let k = libm::floor((2.0 * self.a / edge + self.b) * u + self.c);
            if !(0.0..=n as f64).contains(&k) {
                continue;
            }
            // Nearly all draws end inside the squeeze, without a logarithm.
            if edge >= 0.07 && v <= self.v_r {
                return k as u64;
            }
            if self.ln_height(v, edge) <= ln_probability(n, k as u64, self.p) - self.ln_mode {
                return k as u64;
            }
        }
        unreachable!("rejection with an acceptance above one half")
    }

    /// Returns the logarithm of the height of a point below the hat, relative to the probability of the mode.
    fn ln_height(&self, v: f64, edge: f64) -> f64 {
        libm::log(v * self.alpha / (self.a / (edge * edge) + self.b))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binomial::ln_tail;

    const DRAWS: u32 = 200_000;

    fn counts(n: u64, p: f64, name: &str) -> Vec<u32> {
        let (binomial, mut rng) = (Binomial::new(n, p), Rng::stream(11, name));
        let mut counts = vec![0; n as usize + 1];
        for _ in 0..DRAWS {
            counts[binomial.draw(&mut rng) as usize] += 1;
        }
        counts
    }

    /// Returns Pearson's statistic and its degrees of freedom. Neighbouring numbers are merged until at least twenty
    /// draws are expected in a bin.
    fn chi_square(counts: &[u32], n: u64, p: f64) -> (f64, f64) {
        let (mut statistic, mut bins, mut expected, mut found, mut rest) = (0.0, 0, 0.0, 0.0, 1.0);
        for k in 0..=n {
            let probability = libm::exp(ln_probability(n, k, p));
            expected += probability * f64::from(DRAWS);
            rest -= probability;
            found += f64::from(counts[k as usize]);
            // The last bin takes the whole remaining tail, so that no bin is too small.
            if expected >= 20.0 && rest * f64::from(DRAWS) >= 20.0 {
                statistic += (found - expected) * (found - expected) / expected;
                (bins, expected, found) = (bins + 1, 0.0, 0.0);
            }
        }
        (statistic + (found - expected) * (found - expected) / expected, f64::from(bins))
    }

    #[test]
    fn draws_have_the_exact_probabilities() {
        let cases = [
            (34_528, 1e-5),
            (34_528, 1e-4),
            (36_352, 2.7e-4),
            (36_352, 2.8e-4),
            (34_528, 2e-3),
            (36_352, 1e-2),
            (20, 0.6),
            (100, 0.5),
        ];
        for (n, p) in cases.into_iter().chain([(40, 0.9), (1000, 0.97), (1, 0.3)]) {
            let (statistic, freedom) = chi_square(&counts(n, p, "chi"), n, p);
            // A chi-square distribution has its degrees of freedom as mean and twice that as variance: four standard
            // deviations.
            assert!(statistic < freedom + 4.0 * libm::sqrt(2.0 * freedom) + 8.0, "{n} {p}: {statistic} over {freedom}");
        }
    }

    /// Conditions on the constants of BTRS: the hat is nowhere below the probabilities, nor the squeeze above them.
    #[test]
    fn the_hat_is_above_and_the_squeeze_below() {
        for (n, p) in [(20, 0.5), (100, 0.11), (34_528, 3e-4), (34_528, 2e-3), (36_352, 1e-2), (36_352, 0.1), (36_352, 0.5)] {
            let rejection = Rejection::new(n, p);
            for step in 1..20_000 {
                let u = f64::from(step) / 20_000.0 - 0.5;
                let edge = 0.5 - libm::fabs(u);
                let k = libm::floor((2.0 * rejection.a / edge + rejection.b) * u + rejection.c);
                if !(0.0..=n as f64).contains(&k) {
                    assert!(edge < 0.07, "{n} {p}: the squeeze reaches no further than the numbers");
                    continue;
                }
                let probability = ln_probability(n, k as u64, p) - rejection.ln_mode;
                assert!(probability <= rejection.ln_height(1.0, edge) + 1e-9, "{n} {p}: hat at {u}, {k}");
                assert!(edge < 0.07 || rejection.ln_height(rejection.v_r, edge) <= probability, "{n} {p}: squeeze at {u}, {k}");
            }
        }
    }

    #[test]
    fn moments_and_tails_are_exact() {
        for (n, p) in [(34_528, 1e-4), (34_528, 2e-3), (36_352, 1e-2)] {
            let counts = counts(n, p, "moments");
            let draws = f64::from(DRAWS);
            let moment =
                |f: &dyn Fn(f64) -> f64| counts.iter().enumerate().map(|(k, &c)| f(k as f64) * f64::from(c)).sum::<f64>() / draws;
            let (mean, variance) = (n as f64 * p, n as f64 * p * (1.0 - p));
            let (mean_found, variance_found) = (moment(&|k| k), moment(&|k| (k - mean) * (k - mean)));
            assert!(libm::fabs(mean_found - mean) < 4.0 * libm::sqrt(variance / draws), "{mean_found}, not {mean}");
            assert!(
                libm::fabs(variance_found / variance - 1.0) < 4.0 * libm::sqrt(3.0 / draws),
                "{variance_found}, not {variance}"
            );
            // Beyond about three standard deviations.
            let k = (mean + 3.0 * libm::sqrt(variance)) as u64;
            let expected = libm::exp(ln_tail(n, k, p)) * draws;
            let found: f64 = counts[k as usize + 1..].iter().map(|&c| f64::from(c)).sum();
            assert!(libm::fabs(found - expected) < 4.0 * libm::sqrt(expected), "{found} beyond {k}, not {expected}");
        }
    }

    #[test]
    fn extremes_are_drawn_too() {
        let mut rng = Rng::stream(3, "extremes");
        for n in [0, 1, 5, 34_528, u64::MAX] {
            for p in [f64::NAN, -1.0, 0.0, 1e-300, 0.5, 1.0, 7.0, f64::INFINITY] {
                assert!(Binomial::new(n, p).draw(&mut rng) <= n);
            }
            assert_eq!((Binomial::new(n, 0.0).draw(&mut rng), Binomial::new(n, 1.0).draw(&mut rng)), (0, n));
            assert_eq!(Binomial::new(n, f64::NAN).draw(&mut rng), n, "what is not a number is the worst");
        }
        assert_eq!((invert(5, 0.1, 0.5, 0.0), invert(5, 0.1, 0.5, 0.499), invert(5, 0.0, 1.0 - 1e-10, 1.0 - 1e-16)), (0, 0, 1));
    }
}
