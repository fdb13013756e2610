//! The threshold-voltage model of the OFWAR paper (Wu and Zhang 2014, section 4.1, equations 1 to 8; device model of
//! Pan et al., FAST 2011).
//!
//! An erased cell has a normal distribution (1), a programmed cell a uniform one over `[V_p, V_p + step]` (2). Random
//! telegraph noise adds a symmetric exponential distribution that grows with wear (3, 6). Cell-to-cell interference
//! adds the part of the coupled shifts that post-compensation leaves (4, 5, 7). Retention subtracts a normal shift that
//! grows with wear, time and level (8). Parameters and their standing: FACTS 1.1. The number of levels is free, from
//! one to four bits per cell.

use crate::condition::Condition;
use crate::density::{Density, Grid, Kernel, laplace, normal, normal_plus_uniform};
use crate::read::{PageErrors, References, best_references, errors_at};
use kit::Nanos;

/// Voltage at which the factor `K_s (x - x_0)` of the retention shift is evaluated (section 4.1.2: *x is the initial
/// threshold voltage*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionAt {
    /// Centre of the level to which a cell was programmed: all cells of a level lose alike. Reproduces FACTS 1.3 within
    /// 5 %.
    Level,
    /// Voltage of the individual cell, noise and interference included. Higher cells of a level lose more, which
    /// narrows the level and pulls in its upper tail: 54 % fewer errors at 10 years and 10,000 cycles.
    Cell,
}

/// Neighbours that are programmed after a cell and therefore disturb it (assumed: FACTS 1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbourhood {
    /// All bit lines are programmed together: a cell is disturbed by one vertical and two diagonal neighbours, on the
    /// next wordline.
    AllBitLine,
    /// Even bit lines are programmed first, so an even cell is also disturbed by its two horizontal neighbours. Even
    /// pages are the worse ones and the ones modelled.
    EvenOdd,
}

/// Mean coupling ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Couplings {
    /// gamma_y, to the cell on the next wordline: 0.096, stated.
    pub vertical: f64,
    /// gamma_xy, to the two diagonal neighbours: 0.0072, stated.
    pub diagonal: f64,
    /// gamma_x, to the two neighbours on the same wordline: 0.07, recalled from the same group's other papers; used
    /// only with even and odd bit lines.
    pub horizontal: f64,
}

/// Constants of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct VoltageModel {
    /// Mean of the erased state \[V\], found; stated as x_0, the voltage at which nothing is lost.
    pub erased_mean: f64,
    /// Standard deviation of the erased state \[V\], found.
    pub erased_sigma: f64,
    /// Verify voltages of the programmed levels \[V\], derived (FACTS 1.2).
    pub verify: Vec<f64>,
    /// C_r \[V\] and A_r \[V\] of the telegraph noise lambda_r = C_r + A_r N^0.62, stated.
    pub telegraph: (f64, f64),
    /// A_t \[V\] and B_t \[V\] of the mean retention shift after ten years, mu_d = A_t N^0.62 + B_t N^0.3, stated.
    pub detrapping: (f64, f64),
    /// Exponents of wear, for interface traps and for oxide traps, stated. Telegraph noise uses the first.
    pub wear_exponents: (f64, f64),
    /// sigma_d / mu_d, stated.
    pub retention_spread: f64,
    /// K_s \[1/V\], stated.
    pub retention_slope: f64,
    /// t_0 of the time law ln(1 + t / t_0), found; that `detrapping` holds for ten years is assumed (FACTS 1.1).
    pub retention_unit: Nanos,
    /// Voltage at which the level factor of the retention shift is evaluated; our choice.
    pub retention_at: RetentionAt,
    /// Mean coupling ratios.
    pub couplings: Couplings,
    /// Neighbours that disturb a cell.
    pub neighbourhood: Neighbourhood,
    /// w_c / mu_c and sigma_c / mu_c of the bounded normal coupling, stated.
    pub coupling_spread: (f64, f64),
    /// True if the mean interference is subtracted, using a read of the neighbours.
    pub post_compensation: bool,
}

/// Returns the model with the constants adopted in FACTS 1.1 and 1.2.
pub fn nominal() -> VoltageModel {
    VoltageModel {
        erased_mean: 1.4,
        erased_sigma: 0.35,
        verify: vec![2.944, 3.776, 4.794],
        telegraph: (1.26e-3, 1.80e-4),
        detrapping: (7e-4, 4.76e-3),
        wear_exponents: (0.62, 0.3),
        retention_spread: 0.3,
        retention_slope: 0.38,
        retention_unit: Nanos(HOUR_NS),
        retention_at: RetentionAt::Level,
        couplings: Couplings { vertical: 0.096, diagonal: 0.0072, horizontal: 0.07 },
        neighbourhood: Neighbourhood::AllBitLine,
        coupling_spread: (0.1, 0.4),
        post_compensation: true,
    }
}

const HOUR_NS: u64 = 3_600_000_000_000;
const TEN_YEARS_NS: f64 = 10.0 * Nanos::YEAR.0 as f64;
/// Nodes and weights of five-point Gauss-Legendre quadrature over a coupling ratio within its bound; the integrand is
/// smooth there.
const COUPLING_POINTS: [(f64, f64); 5] = [
    (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
    (-0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
    (0.0, 0.568_888_888_888_888_9),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
    (0.906_179_845_938_664, 0.236_926_885_056_189_1),
];
/// Distance to which telegraph noise is represented, in units of lambda. The probability beyond it is about 1e-14 and
/// is dropped; the kernel is normalised.
const NOISE_REACH: f64 = 32.0;
/// Largest number of grid points that noise may span on either side of a level; reached at about 23,500 cycles with the
/// usual resolution.
const MAX_PLACES: f64 = 750.0;
/// Margin of the grid above the highest level, for interference \[V\].
const HEADROOM: f64 = 0.6;

/// Distributions of levels right after a page and its neighbours have been programmed, before retention.
#[derive(Clone, Debug)]
pub struct Disturbed {
    levels: Vec<Density>,
    /// Centre of each level as programmed \[V\].
    centres: Vec<f64>,
    pe_cycles: f64,
}

impl Disturbed {
    /// Returns the distributions of levels at an age.
    pub fn aged(&self, model: &VoltageModel, age: Nanos) -> Vec<Density> {
        self.levels.iter().zip(&self.centres).map(|(level, centre)| model.aged(level, *centre, self.pe_cycles, age)).collect()
    }
}

impl VoltageModel {
    /// Returns the number of bits per cell.
    pub fn bits(&self) -> usize {
        (self.verify.len() + 1).trailing_zeros() as usize
    }

    /// Returns lambda_r of the telegraph noise \[V\].
    pub fn telegraph_lambda(&self, pe_cycles: f64) -> f64 {
        self.telegraph.0 + self.telegraph.1 * libm::pow(pe_cycles, self.wear_exponents.0)
    }

    /// Returns mu_d before the level factor \[V\]: the ten-year shift times ln(1 + t / t_0) / ln(1 + 10 y / t_0).
    pub fn retention_mean(&self, pe_cycles: f64, age: Nanos) -> f64 {
        let (interface, oxide) = self.wear_exponents;
        let ten_years = self.detrapping.0 * libm::pow(pe_cycles, interface) + self.detrapping.1 * libm::pow(pe_cycles, oxide);
        let unit = self.retention_unit.0 as f64;
        ten_years * libm::log1p(age.0 as f64 / unit) / libm::log1p(TEN_YEARS_NS / unit)
    }

    /// Returns mean and standard deviation of the retention shift of a cell at `voltage` \[V\]. `mean` is the shift
    /// before the level factor; the result is negative, since charge is lost.
    pub fn loss(&self, mean: f64, voltage: f64) -> (f64, f64) {
        let shift = mean * self.retention_slope * (voltage - self.erased_mean).max(0.0);
        (-shift, self.retention_spread * shift)
    }

    /// Returns the mean of the erased state of a block erased shallower by `erase_shift` \[V\].
    pub(crate) fn erased(&self, erase_shift: f64) -> f64 {
        self.erased_mean + erase_shift
    }

    /// Returns the centre of a level as programmed \[V\].
    pub(crate) fn centre(&self, level: usize, step: f64, erase_shift: f64) -> f64 {
        if level == 0 { self.erased(erase_shift) } else { self.verify[level - 1] + step / 2.0 }
    }

    /// Returns the upper end of the highest level as programmed \[V\].
    pub fn top(&self, step: f64) -> f64 {
        self.verify.last().map_or(self.erased_mean, |verify| verify + step)
    }

    /// Returns the neighbours programmed later, as pairs of mean coupling ratio and number of neighbours.
    pub(crate) fn neighbours(&self) -> Vec<(f64, u32)> {
        let mut found = vec![(self.couplings.vertical, 1), (self.couplings.diagonal, 2)];
        if self.neighbourhood == Neighbourhood::EvenOdd {
            found.push((self.couplings.horizontal, 2));
        }
        found.retain(|(mean, _)| *mean > 0.0);
        found
    }

    /// Returns `resolution`, made coarser where extreme wear spreads the noise so far that the number of grid points
    /// must be bounded.
    fn bounded(&self, condition: &Condition, resolution: f64) -> f64 {
        resolution.max(NOISE_REACH * self.telegraph_lambda(condition.pe_cycles) / MAX_PLACES)
    }

    /// Returns a grid that holds all levels, with a margin for noise.
    pub(crate) fn grid(&self, condition: &Condition, resolution: f64) -> Grid {
        let resolution = self.bounded(condition, resolution);
        let noise = NOISE_REACH * self.telegraph_lambda(condition.pe_cycles) + 0.1;
        let low = self.erased_mean - 8.0 * self.erased_sigma - noise;
        let high = self.top(condition.step).max(self.erased(condition.erase_shift) + 8.0 * self.erased_sigma) + noise + HEADROOM;
        Grid::over(low, high, resolution)
    }

    /// Returns the distribution of random telegraph noise and interference, which are added to every cell.
    pub(crate) fn noise(&self, condition: &Condition, resolution: f64) -> Kernel {
        let resolution = self.bounded(condition, resolution);
        let lambda = self.telegraph_lambda(condition.pe_cycles);
        let telegraph = Kernel::of(resolution, NOISE_REACH * lambda, |x| laplace(x, lambda));
        telegraph.and(&self.interference(condition.step, condition.erase_shift, resolution))
    }

    /// Returns the distribution of one level after programming and disturbance by its neighbours.
    pub(crate) fn disturbed_level(&self, level: usize, condition: &Condition, grid: Grid, noise: &Kernel) -> Density {
        let centre = self.centre(level, condition.step, condition.erase_shift);
        let written = Density::of(grid, |x| match level {
            0 => normal((x - centre) / self.erased_sigma),
            _ => normal_plus_uniform(x - centre, 0.0, condition.step),
        });
        written.plus(noise)
    }

    /// Returns the distribution of a level after retention.
    pub(crate) fn aged(&self, level: &Density, centre: f64, pe_cycles: f64, age: Nanos) -> Density {
        let mean = self.retention_mean(pe_cycles, age);
        match self.retention_at {
            RetentionAt::Level => {
                let (shift, deviation) = self.loss(mean, centre);
                if shift == 0.0 { level.clone() } else { level.plus(&Kernel::normal(level.grid().step, shift, deviation)) }
            }
            RetentionAt::Cell => level.moved(|voltage| self.loss(mean, voltage)),
        }
    }

    /// Returns the distribution of every level before retention, lowest first, on a grid of `resolution` \[V\].
    pub fn disturbed(&self, condition: &Condition, resolution: f64) -> Disturbed {
        let grid = self.grid(condition, resolution);
        let noise = self.noise(condition, resolution);
        let levels = 0..=self.verify.len();
        Disturbed {
            levels: levels.clone().map(|level| self.disturbed_level(level, condition, grid, &noise)).collect(),
            centres: levels.map(|level| self.centre(level, condition.step, condition.erase_shift)).collect(),
            pe_cycles: condition.pe_cycles,
        }
    }

    /// Returns the distribution of each level, lowest first, on a grid of `resolution` \[V\].
    pub fn levels(&self, condition: &Condition, resolution: f64) -> Vec<Density> {
        self.disturbed(condition, resolution).aged(self, condition.age)
    }

    /// Returns the error rates of pages at references of this kind.
    pub fn page_errors(&self, condition: &Condition, kind: References, resolution: f64) -> PageErrors {
        let levels = self.levels(condition, resolution);
        let references = self.references(condition, kind, &levels, resolution);
        errors_at(&levels, references)
    }

    /// Returns the references of this kind; `levels` are the distributions at `condition`.
    pub fn references(&self, condition: &Condition, kind: References, levels: &[Density], resolution: f64) -> Vec<f64> {
        if kind == References::Optimal {
            return best_references(levels);
        }
        let known = match kind {
            References::Fixed => Condition { pe_cycles: 0.0, age: Nanos::ZERO, ..*condition },
            _ => Condition { age: Nanos(condition.age.0 / 2), ..*condition },
        };
        best_references(&self.levels(&known, resolution))
    }

    /// Returns the distribution of the interference that remains: for each neighbour programmed later a mixture over
    /// its levels of `gamma dV`, minus its mean if that is compensated.
    fn interference(&self, step: f64, erase_shift: f64, resolution: f64) -> Kernel {
        let widest = self.top(step) - self.erased(erase_shift) + 8.0 * self.erased_sigma;
        let mut sum = Kernel::of(resolution, 0.0, |x| f64::from(u8::from(x >= 0.0)));
        for (mean, count) in self.neighbours() {
            let (bound, sigma) = (self.coupling_spread.0 * mean, self.coupling_spread.1 * mean);
            let reach = (mean + bound) * widest;
            let shifts: Vec<f64> =
                (1..=self.verify.len()).map(|level| self.centre(level, step, erase_shift) - self.erased(erase_shift)).collect();
            let one = Kernel::of(resolution, reach, |x| self.interference_below(x, (mean, bound, sigma), &shifts, step));
            for _ in 0..count {
                sum = sum.and(&one);
            }
        }
        sum
    }

    /// Returns the distribution function of the interference from one neighbour, given mean, bound and standard
    /// deviation of its coupling and the shift of each of its levels.
    fn interference_below(&self, x: f64, (mean, bound, sigma): (f64, f64, f64), shifts: &[f64], step: f64) -> f64 {
        // A neighbour that stays erased causes no shift.
        let mut sum = f64::from(u8::from(x >= 0.0));
        for shift in shifts {
            let kept = if self.post_compensation { mean * shift } else { 0.0 };
            let (mut weights, mut below) = (0.0, 0.0);
            for (place, width) in COUPLING_POINTS {
                let gamma = mean + bound * place;
                let weight = width * libm::exp(-0.5 * ((gamma - mean) / sigma) * ((gamma - mean) / sigma));
                weights += weight;
                below += weight * normal_plus_uniform(x - gamma * shift + kept, gamma * self.erased_sigma, gamma * step);
            }
            sum += below / weights;
        }
        sum / (shifts.len() + 1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::page_errors;

    const DAY: u64 = 24 * HOUR_NS;
    const YEAR: u64 = 8766 * HOUR_NS;

    fn rounded() -> VoltageModel {
        VoltageModel { verify: vec![2.95, 3.80, 4.80], ..nominal() }
    }

    fn at(step: f64, pe_cycles: f64, age: u64) -> Condition {
        Condition { step, pe_cycles, age: Nanos(age), ..Condition::default() }
    }

    fn worst(model: &VoltageModel, step: f64, pe_cycles: f64, age: u64) -> f64 {
        page_errors(&model.levels(&at(step, pe_cycles, age), 0.004)).worst()
    }

    /// Error rates of the worst page in FACTS 1.3, within 5 %.
    #[test]
    fn error_rates_are_those_of_the_derivation() {
        let ages = [0, DAY, 4 * DAY, 14 * DAY, YEAR, 10 * YEAR];
        let table = [
            (0.20, 3_000.0, [3.2e-5, 4.0e-5, 4.5e-5, 5.0e-5, 6.6e-5, 8.1e-5]),
            (0.20, 10_000.0, [2.5e-4, 3.5e-4, 4.2e-4, 5.0e-4, 8.7e-4, 1.5e-3]),
            (0.40, 3_000.0, [2.8e-5, 3.7e-5, 4.2e-5, 4.7e-5, 6.6e-5, 9.0e-5]),
            (0.40, 10_000.0, [7.5e-4, 1.0e-3, 1.2e-3, 1.4e-3, 2.5e-3, 3.9e-3]),
        ];
        for (step, pe_cycles, expected) in table {
            for (age, expected) in ages.into_iter().zip(expected) {
                let found = worst(&rounded(), step, pe_cycles, age);
                assert!(
                    (found / expected - 1.0).abs() < 0.05,
                    "step {step}, {pe_cycles} cycles, {age} ns: {found:.3e}, not {expected:.1e}"
                );
            }
        }
    }

    #[test]
    fn levels_hold_all_probability_and_errors_grow_with_wear_and_age() {
        let model = nominal();
        let mut before = 0.0;
        for pe_cycles in [0.0, 500.0, 3_000.0, 10_000.0, 20_000.0] {
            let levels = model.levels(&at(0.2, pe_cycles, 4 * DAY), 0.004);
            assert!(levels.iter().all(|level| (level.total() - 1.0).abs() < 1e-9));
            let errors = page_errors(&levels).worst();
            assert!(errors >= before && errors.is_finite(), "{pe_cycles}: {errors} after {before}");
            before = errors;
        }
        let by_age = [0, HOUR_NS, DAY, YEAR, 10 * YEAR].map(|age| worst(&model, 0.2, 10_000.0, age));
        assert!(by_age.windows(2).all(|pair| pair[1] > pair[0]), "{by_age:?}");
    }

    #[test]
    fn a_finer_grid_changes_little() {
        let errors = |resolution: f64| page_errors(&nominal().levels(&at(0.2, 10_000.0, YEAR), resolution)).worst();
        let (coarse, fine) = (errors(0.004), errors(0.002));
        assert!((coarse / fine - 1.0).abs() < 0.003, "{coarse} against {fine}");
    }

    /// Fixed references lose most of the margin after ten years (FACTS 1.1).
    #[test]
    fn references_that_follow_the_loss_are_near_the_best() {
        let errors = |kind: References, age: u64| nominal().page_errors(&at(0.2, 10_000.0, age), kind, 0.004).worst();
        let [fixed, tracked, optimal] =
            [References::Fixed, References::Tracked, References::Optimal].map(|kind| errors(kind, 10 * YEAR));
        assert!(optimal < tracked && tracked < 1.2 * optimal && fixed > 10.0 * optimal, "{fixed} {tracked} {optimal}");
        assert!(errors(References::Fixed, 0) > errors(References::Optimal, 0));
    }

    #[test]
    fn even_bit_lines_are_disturbed_more() {
        let even = VoltageModel { neighbourhood: Neighbourhood::EvenOdd, ..nominal() };
        assert!(worst(&even, 0.2, 10_000.0, DAY) > worst(&nominal(), 0.2, 10_000.0, DAY));
        let blind = VoltageModel { post_compensation: false, ..nominal() };
        assert!(worst(&blind, 0.2, 10_000.0, DAY) > 1.5 * worst(&nominal(), 0.2, 10_000.0, DAY));
    }

    #[test]
    fn loss_by_cell_narrows_levels() {
        let by_cell = VoltageModel { retention_at: RetentionAt::Cell, ..rounded() };
        let (cell, level) = (worst(&by_cell, 0.2, 10_000.0, 10 * YEAR), worst(&rounded(), 0.2, 10_000.0, 10 * YEAR));
        assert!((cell / level - 0.46).abs() < 0.01, "{cell} against {level}");
    }
}
