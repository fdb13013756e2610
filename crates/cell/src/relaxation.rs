//! Error-rate model of retention relaxation (Liu, Yang, Wu, FAST 2012): bell-shaped levels whose lower side widens with
//! time so that error rates follow a power law of time.
//!
//! A level is flat over the program step, with a normal shoulder on either side (shape: recalled; FACTS 2). The upper
//! shoulder keeps its width; the lower shoulder has, at each age, the width that gives the error rate of the law.
//! Voltages are in units of the pitch between levels; references are half-way between levels.

use crate::condition::{Condition, Estimate};
use crate::density::{Density, Grid};
use kit::Nanos;
use kit::bisect::bisect_last_true;
use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// Wrong cells for each unit of tail probability: three of four levels have a lower neighbour, and three an upper one.
/// The law's error rates are per bit, but its constants were derived with this number (FACTS 2): the levels cross their
/// references twice as often as those rates say. The effect: `docs/models/retention_relaxation.md`, *Known error*.
const CELLS_PER_TAIL: f64 = 0.75;
const HALVINGS: u32 = 60;
/// Bits per cell, for four levels.
const BITS: usize = 2;

/// Error rate of data of age t: `written + lost (t / 1 year)^exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    /// BER_W, the error rate right after writing.
    pub written: f64,
    /// BER_R, the error rate added in a year.
    pub lost: f64,
    /// m; 1.25 is recalled, and agrees with the slides (FACTS 2).
    pub exponent: f64,
}

impl PowerLaw {
    /// Returns the law of a cell that reaches the limit of BCH 24 bits / 1080 B (4.5e-4 at UBER 1e-16) after a year;
    /// `rr_speed` trades this retention for a wider step. Derived.
    pub fn within_bch() -> PowerLaw {
        PowerLaw { written: 9e-6, lost: 4.41e-4, exponent: 1.25 }
    }

    /// Returns the law of a cell that needs LDPC (2.2e-2) to last a year and lasts two weeks with BCH alone; `rr_ecc`
    /// trades this retention for a simpler code. Derived from the slides.
    pub fn needs_ldpc() -> PowerLaw {
        PowerLaw { written: 7.7e-5, lost: 2.2e-2 - 7.7e-5, exponent: 1.25 }
    }

    /// Returns the law for blocks at the fraction `share` of the wear for which this law holds. Loss proportional to
    /// `(cycles x time)^exponent` agrees with the guarantee of ten years after a tenth of the cycles and of one year
    /// after all of them (slides, from JESD47): derived.
    pub fn worn(&self, share: f64) -> PowerLaw {
        PowerLaw { lost: self.lost * libm::pow(share, self.exponent), ..*self }
    }

    /// Returns the error rate at an age.
    pub fn at(&self, age: Nanos) -> f64 {
        self.written + self.lost * libm::pow(age.as_years_f64(), self.exponent)
    }

    /// Returns the time for which data stays within `limit`; `None` if even fresh data does not.
    pub fn longest(&self, limit: f64) -> Option<Nanos> {
        (limit >= self.written)
            .then(|| Nanos((libm::pow((limit - self.written) / self.lost, 1.0 / self.exponent) * Nanos::YEAR.0 as f64) as u64))
    }
}

/// Bell-shaped levels with a flat top.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BellLevels {
    /// The program step at which `law` holds, in pitches. Derived; one of a family (FACTS 2).
    pub step: f64,
    /// Standard deviation of the upper shoulder, in pitches. Derived.
    pub upper_sigma: f64,
    /// Error rate by age at that step, after the rated cycles.
    pub law: PowerLaw,
    /// Rated cycles; assumed, since the slides give none.
    pub rated_pe_cycles: f64,
}

impl BellLevels {
    /// Returns the default of FACTS 2.
    pub fn nominal() -> BellLevels {
        BellLevels { step: 0.15, upper_sigma: 0.0994, law: PowerLaw::within_bch(), rated_pe_cycles: 3_000.0 }
    }

    /// Returns the error rate for a program step and a width of the lower shoulder.
    pub fn error_rate(&self, step: f64, lower_sigma: f64) -> f64 {
        self.error_rate_in(1.0, step, lower_sigma)
    }

    /// Like [`BellLevels::error_rate`], but with levels `pitch` nominal pitches apart.
    pub fn error_rate_in(&self, pitch: f64, step: f64, lower_sigma: f64) -> f64 {
        let area = |sigma: f64| sigma * (2.0 * PI).sqrt();
        let height = 1.0 / (step + 0.5 * area(lower_sigma) + 0.5 * area(self.upper_sigma));
        let room = 0.5 * (pitch - step);
        let tail = |sigma: f64| height * area(sigma) * 0.5 * libm::erfc(room / sigma * FRAC_1_SQRT_2);
        CELLS_PER_TAIL * (tail(lower_sigma) + tail(self.upper_sigma))
    }

    /// Returns the error rates at a condition, the same for all page types.
    pub fn estimate(&self, condition: &Condition) -> Estimate {
        let rate = self.error_rate(condition.step, self.lower_sigma(condition.pe_cycles, condition.age));
        Estimate { pages: vec![rate.min(0.5); BITS], outside: Vec::new() }
    }

    /// Returns the distribution of each level, lowest first; the levels are centred at 0, 1, 2 and 3 pitches.
    pub fn levels(&self, condition: &Condition, resolution: f64) -> Vec<Density> {
        let grid = Grid::over(-2.0, BITS as f64 * 2.0 + 1.0, resolution);
        let sigma = self.lower_sigma(condition.pe_cycles, condition.age);
        (0..1 << BITS).map(|level| Density::of(grid, |x| self.below(x - f64::from(level), condition.step, sigma))).collect()
    }

    /// Returns the references, half-way between levels.
    pub fn references(&self) -> Vec<f64> {
        (1..1 << BITS).map(|level| f64::from(level) - 0.5).collect()
    }

    /// Returns the fraction of a level that lies below `x`, a distance from its centre.
    fn below(&self, x: f64, step: f64, lower_sigma: f64) -> f64 {
        let area = |sigma: f64| 0.5 * sigma * (2.0 * PI).sqrt();
        let whole = step + area(lower_sigma) + area(self.upper_sigma);
        let (lower, upper) = (-0.5 * step, 0.5 * step);
        // A shoulder is half a normal density, as high as the flat top.
        let shoulder = |away: f64, sigma: f64| area(sigma) * libm::erfc(away / sigma * FRAC_1_SQRT_2);
        if x < lower {
            shoulder(lower - x, lower_sigma) / whole
        } else if x <= upper {
            (area(lower_sigma) + x - lower) / whole
        } else {
            1.0 - shoulder(x - upper, self.upper_sigma) / whole
        }
    }

    /// Returns the standard deviation of the lower shoulder at a wear and age, in pitches.
    pub fn lower_sigma(&self, pe_cycles: f64, age: Nanos) -> f64 {
        let wanted = self.law.worn(pe_cycles / self.rated_pe_cycles).at(age);
        bisect_last_true(0.01, 0.5, HALVINGS, |sigma| self.error_rate(self.step, sigma) <= wanted)
    }

    /// Returns the widest step at which data lasts `retention` within `limit`, relative to the step for one year.
    /// Program time is proportional to the inverse of the step.
    pub fn speed_up(&self, retention: Nanos, limit: f64) -> f64 {
        let sigma = self.lower_sigma(self.rated_pe_cycles, retention);
        bisect_last_true(1e-3, 0.999, HALVINGS, |step| self.error_rate(step, sigma) <= limit) / self.step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn years(years: f64) -> Nanos {
        Nanos((years * Nanos::YEAR.0 as f64) as u64)
    }

    const TWO_WEEKS: f64 = 14.0 / 365.25;
    const BCH: f64 = 4.5e-4;
    const RATED: f64 = 3_000.0;

    #[test]
    fn speed_ups_are_those_of_the_slides() {
        let levels = BellLevels::nominal();
        assert!(
            (levels.error_rate(levels.step, levels.upper_sigma) / levels.law.written - 1.0).abs() < 0.02,
            "fresh levels are symmetric"
        );
        assert!((levels.lower_sigma(RATED, years(1.0)) - 0.1344).abs() < 0.0005, "{}", levels.lower_sigma(RATED, years(1.0)));
        for (age, expected) in [(1.0, 1.00), (0.1, 2.12), (TWO_WEEKS, 2.31), (0.01, 2.42)] {
            let found = levels.speed_up(years(age), BCH);
            assert!((found - expected).abs() < 0.02, "{age} years: {found}, not {expected}");
        }
    }

    #[test]
    fn bch_lasts_two_weeks_where_ldpc_lasts_a_year() {
        let law = PowerLaw::needs_ldpc();
        let weeks = |limit: f64| law.longest(limit).expect("fresh data is correctable").as_years_f64() * 365.25 / 7.0;
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
        let by_age: Vec<f64> = (0..20).map(|tenth| levels.lower_sigma(RATED, years(f64::from(tenth) / 10.0))).collect();
        assert!(by_age.windows(2).all(|pair| pair[1] >= pair[0]), "{by_age:?}");
    }

    #[test]
    fn distributions_have_the_tails_of_the_error_rate() {
        let model = BellLevels::nominal();
        let condition = Condition { step: 0.3, pe_cycles: RATED, age: years(0.1), ..Condition::default() };
        let levels = model.levels(&condition, 0.002);
        assert!(levels.iter().all(|level| (level.total() - 1.0).abs() < 1e-9));
        let read = crate::read::intervals(&levels, &model.references());
        let crossed: f64 = (0..4).map(|level| 1.0 - read[level][level]).sum::<f64>() / 4.0;
        let expected = model.estimate(&condition).pages[0];
        // A reference falls between grid points.
        assert!((crossed / expected - 1.0).abs() < 0.02, "{crossed} {expected}");
    }

    /// The law meets both ends of the guarantee: ten years after a tenth of the cycles, one year after all of them.
    #[test]
    fn the_guarantee_of_the_standard_holds_at_both_ends() {
        let law = PowerLaw::within_bch();
        let years = |share: f64| law.worn(share).longest(BCH).expect("fresh data is correctable").as_years_f64();
        assert!((years(1.0) - 1.0).abs() < 0.01 && (years(0.1) - 10.0).abs() < 0.1, "{} {}", years(1.0), years(0.1));
    }
}
