//! The error-rate model of retention relaxation (Liu, Yang, Wu, FAST 2012): bell-shaped levels whose lower side widens with time, and a power law of time.
//!
//! A level is flat over the program step with a normal shoulder on either side (shape: recalled; FACTS 2). The upper shoulder keeps its width, the lower
//! one has at each age the width that gives the law's error rate. Voltages are in units of the pitch between levels; references lie half-way.

use kit::Nanos;
use kit::bisect::last_holding;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// A year of 365.25 days \[ns\].
const YEAR_NS: f64 = 8766.0 * 3.6e12;
/// Wrong bits for each cell beyond a reference: of four levels three have a lower neighbour and three an upper one.
const BITS_PER_TAIL: f64 = 0.75;
const HALVINGS: u32 = 60;

/// The error rate of data of an age: `written + lost (t / 1 year)^exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    /// BER_W, right after writing.
    pub written: f64,
    /// BER_R, what is added in a year.
    pub lost: f64,
    /// m; 1.25 is recalled, and agrees with the slides (FACTS 2).
    pub exponent: f64,
}

impl PowerLaw {
    /// A cell that reaches the limit of BCH 24 bits / 1080 B (4.5e-4 at UBER 1e-16) after a year: what `rr_speed` trades for a wider step. Derived.
    pub fn within_bch() -> PowerLaw {
        PowerLaw { written: 9e-6, lost: 4.41e-4, exponent: 1.25 }
    }

    /// A cell that needs LDPC (2.2e-2) to last a year, and BCH alone for two weeks: what `rr_ecc` trades. Derived from the slides.
    pub fn needs_ldpc() -> PowerLaw {
        PowerLaw { written: 7.7e-5, lost: 2.2e-2 - 7.7e-5, exponent: 1.25 }
    }

    /// The error rate at an age.
    pub fn at(&self, age: Nanos) -> f64 {
        self.written + self.lost * libm::pow(age.0 as f64 / YEAR_NS, self.exponent)
    }

    /// How long data stays within `limit`; none if not even fresh data does.
    pub fn longest(&self, limit: f64) -> Option<Nanos> {
        (limit >= self.written)
            .then(|| Nanos((libm::pow((limit - self.written) / self.lost, 1.0 / self.exponent) * YEAR_NS) as u64))
    }
}

/// Levels of this shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BellLevels {
    /// The program step at which `law` holds, in pitches. Derived; one of a family (FACTS 2).
    pub step: f64,
    /// Deviation of the upper shoulder, in pitches. Derived.
    pub upper_sigma: f64,
    /// The error rate with age at that step.
    pub law: PowerLaw,
}

impl BellLevels {
    /// The default of FACTS 2.
    pub fn nominal() -> BellLevels {
        BellLevels { step: 0.15, upper_sigma: 0.0994, law: PowerLaw::within_bch() }
    }

    /// The error rate with a program step and a width of the lower shoulder.
    pub fn error_rate(&self, step: f64, lower_sigma: f64) -> f64 {
        let area = |sigma: f64| sigma * (2.0 * PI).sqrt();
        let height = 1.0 / (step + 0.5 * area(lower_sigma) + 0.5 * area(self.upper_sigma));
        let room = 0.5 * (1.0 - step);
        let tail = |sigma: f64| height * area(sigma) * 0.5 * libm::erfc(room / sigma * FRAC_1_SQRT_2);
        BITS_PER_TAIL * (tail(lower_sigma) + tail(self.upper_sigma))
    }

    /// The deviation of the lower shoulder at an age, in pitches.
    pub fn lower_sigma(&self, age: Nanos) -> f64 {
        let wanted = self.law.at(age);
        last_holding(0.01, 0.5, HALVINGS, |sigma| self.error_rate(self.step, sigma) <= wanted)
    }

    /// How many times wider the step may be than the one for a year if data is to last `retention` within `limit`. Program time goes with its inverse.
    pub fn speed_up(&self, retention: Nanos, limit: f64) -> f64 {
        let sigma = self.lower_sigma(retention);
        last_holding(1e-3, 0.999, HALVINGS, |step| self.error_rate(step, sigma) <= limit) / self.step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn years(years: f64) -> Nanos {
        Nanos((years * YEAR_NS) as u64)
    }

    const TWO_WEEKS: f64 = 14.0 / 365.25;
    const BCH: f64 = 4.5e-4;

    #[test]
    fn speed_ups_are_those_of_the_slides() {
        let levels = BellLevels::nominal();
        assert!(
            (levels.error_rate(levels.step, levels.upper_sigma) / levels.law.written - 1.0).abs() < 0.02,
            "fresh levels are symmetric"
        );
        assert!((levels.lower_sigma(years(1.0)) - 0.1344).abs() < 0.0005, "{}", levels.lower_sigma(years(1.0)));
        for (age, expected) in [(1.0, 1.00), (0.1, 2.12), (TWO_WEEKS, 2.31), (0.01, 2.42)] {
            let found = levels.speed_up(years(age), BCH);
            assert!((found - expected).abs() < 0.02, "{age} years: {found}, not {expected}");
        }
    }

    #[test]
    fn bch_lasts_two_weeks_where_ldpc_lasts_a_year() {
        let law = PowerLaw::needs_ldpc();
        let weeks = |limit: f64| law.longest(limit).expect("fresh data is correctable").0 as f64 / YEAR_NS * 365.25 / 7.0;
        assert!((weeks(BCH) - 2.0).abs() < 0.05, "{}", weeks(BCH));
        assert!((weeks(2.2e-2) - 365.25 / 7.0).abs() < 0.01);
        assert_eq!(law.longest(1e-5), None);
        assert!((law.at(years(1.0)) - 2.2e-2).abs() < 1e-12);
    }

    #[test]
    fn error_rates_rise_with_step_width_and_age() {
        let levels = BellLevels::nominal();
        let by_step: Vec<f64> = (1..90).map(|step| levels.error_rate(f64::from(step) / 100.0, 0.1)).collect();
        assert!(by_step.windows(2).all(|pair| pair[1] >= pair[0]));
        let by_age: Vec<f64> = (0..20).map(|tenth| levels.lower_sigma(years(f64::from(tenth) / 10.0))).collect();
        assert!(by_age.windows(2).all(|pair| pair[1] >= pair[0]), "{by_age:?}");
    }
}
