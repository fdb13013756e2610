//! Zipf ranks in constant time and memory, for any exponent and any number of items.

use kit::Rng;

/// Draws ranks `0..count` with probability proportional to `1 / (rank + 1)^theta`.
///
/// Rejection-inversion (Hoermann and Derflinger, "Rejection-inversion to generate variates from monotone discrete
/// distributions", ACM TOMACS 6(3), 1996): the exact distribution, no table, about 1.1 tries per rank.
#[derive(Clone, Copy, Debug)]
pub struct Zipf {
    count: f64,
    theta: f64,
    area_first: f64,
    area_last: f64,
    shortcut: f64,
}

impl Zipf {
    /// Returns the distribution over `count` items (at least 1) with exponent `theta` (above 0; 1 is allowed).
    pub fn new(count: u64, theta: f64) -> Zipf {
        assert!(count >= 1 && theta > 0.0 && theta.is_finite(), "Zipf needs an item and a positive exponent");
        let mut zipf = Zipf { count: count as f64, theta, area_first: 0.0, area_last: 0.0, shortcut: 0.0 };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_last = zipf.area(zipf.count + 0.5);
        zipf.shortcut = 2.0 - zipf.area_inverse(zipf.area(2.5) - zipf.height(2.0));
        zipf
    }

    /// Draws the next rank; 0 is the most likely.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.area_last + rng.unit() * (self.area_first - self.area_last);
            let x = self.area_inverse(area);
            let rank = libm::floor(x + 0.5).clamp(1.0, self.count);
            if rank - x <= self.shortcut || area >= self.area(rank + 0.5) - self.height(rank) {
                return rank as u64 - 1;
            }
        }
    }

    /// Returns the weight of rank `x` (counted from 1).
    fn height(&self, x: f64) -> f64 {
        libm::exp(-self.theta * libm::log(x))
    }

    /// Returns the integral of the weight from 1 to `x`, in a form that is continuous at an exponent of 1.
    fn area(&self, x: f64) -> f64 {
        let log = libm::log(x);
        let t = (1.0 - self.theta) * log;
        let factor = if t.abs() > 1e-8 { libm::expm1(t) / t } else { 1.0 + t / 2.0 };
        factor * log
    }

    fn area_inverse(&self, area: f64) -> f64 {
        let t = (area * (1.0 - self.theta)).max(-1.0);
        let factor = if t.abs() > 1e-8 { libm::log1p(t) / t } else { 1.0 - t / 2.0 };
        libm::exp(factor * area)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_follow_the_law() {
        for (theta, count) in [(0.5, 1000u64), (0.9, 50), (1.0, 1000), (1.2, 100_000), (2.5, 10)] {
            let zipf = Zipf::new(count, theta);
            let norm: f64 = (1..=count).map(|k| libm::pow(k as f64, -theta)).sum();
            let mut rng = Rng::stream(5, "zipf");
            let draws = 200_000;
            let mut seen = [0u64; 3];
            for _ in 0..draws {
                let rank = zipf.draw(&mut rng);
                assert!(rank < count);
                if rank < 3 {
                    seen[rank as usize] += 1;
                }
            }
            for (rank, &hits) in seen.iter().enumerate() {
                let expected = libm::pow(rank as f64 + 1.0, -theta) / norm;
                let found = hits as f64 / f64::from(draws);
                let sigma = libm::sqrt(expected * (1.0 - expected) / f64::from(draws));
                assert!((found - expected).abs() < 5.0 * sigma + 1e-9, "theta {theta}, rank {rank}: {found} against {expected}");
            }
        }
    }

    #[test]
    fn one_item_is_always_drawn() {
        let (zipf, mut rng) = (Zipf::new(1, 1.2), Rng::stream(1, "zipf"));
        assert!((0..100).all(|_| zipf.draw(&mut rng) == 0));
    }
}
