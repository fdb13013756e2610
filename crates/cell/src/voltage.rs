//! The threshold-voltage model of the OFWAR paper (Wu and Zhang 2014, section 4.1, equations 1 to 8; device model of Pan et al., FAST 2011).
//!
//! An erased cell is normal (1); a programmed one uniform over `[V_p, V_p + step]` (2); random telegraph noise adds a symmetric exponential (3, 6) that
//! grows with wear; cell-to-cell interference adds what post-compensation leaves of the coupled shifts (4, 5, 7); retention takes away a
//! normal shift that grows with wear, time and level (8). Parameters and their standing: FACTS 1.1. Any number of levels: one bit a cell to four.

use crate::condition::Condition;
use crate::density::{Density, Grid, Kernel, laplace, normal, normal_plus_uniform};
use crate::read::{PageErrors, References, best_references, errors_at};
use kit::Nanos;

/// Where the factor `K_s (x - x_0)` of the retention shift is taken (section 4.1.2: *x is the initial threshold voltage*).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetentionAt {
    /// At the centre of the level a cell was programmed to: all its cells lose alike. Reproduces FACTS 1.3 within 5 %.
    Level,
    /// At each cell's own voltage, noise and interference included. Higher cells of a level lose more, which narrows it and pulls its upper tail in: at 10 years and
    /// 10,000 cycles 54 % fewer errors.
    Cell,
}

/// Which neighbours are programmed after a cell, and so disturb it (assumed: FACTS 1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbourhood {
    /// All bit lines are programmed together: one vertical and two diagonal neighbours, on the next wordline.
    AllBitLine,
    /// Even bit lines first: an even cell sees its two horizontal neighbours as well. The even pages are the worse ones, and the ones modelled.
    EvenOdd,
}

/// Mean coupling ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Couplings {
    /// gamma_y, to the cell above: 0.096, stated.
    pub vertical: f64,
    /// gamma_xy, to the two beside that: 0.0072, stated.
    pub diagonal: f64,
    /// gamma_x, to the two beside the cell: 0.07, recalled from the same group's other papers; only with even and odd bit lines.
    pub horizontal: f64,
}

/// Constants of the model.
#[derive(Clone, Debug, PartialEq)]
pub struct VoltageModel {
    /// Mean of the erased state \[V\], found; as x_0 stated.
    pub erased_mean: f64,
    /// Deviation of the erased state \[V\], found.
    pub erased_sigma: f64,
    /// Verify voltages of the programmed levels \[V\], derived (FACTS 1.2).
    pub verify: Vec<f64>,
    /// C_r \[V\] and A_r \[V\], stated: lambda_r = C_r + A_r N^0.62.
    pub telegraph: (f64, f64),
    /// A_t and B_t \[V\] of the mean retention shift after ten years, stated: mu_d = A_t N^0.62 + B_t N^0.3.
    pub detrapping: (f64, f64),
    /// The exponents of wear, of interface traps and of oxide traps, stated.
    pub wear_exponents: (f64, f64),
    /// sigma_d / mu_d, stated.
    pub retention_spread: f64,
    /// K_s \[1/V\], stated.
    pub retention_slope: f64,
    /// t_0 of the time law ln(1 + t / t_0), found; that the constants are those after ten years is assumed (FACTS 1.1).
    pub retention_unit: Nanos,
    /// Where the level factor of the retention shift is taken, a choice of ours.
    pub retention_at: RetentionAt,
    /// Mean coupling ratios.
    pub couplings: Couplings,
    /// Which neighbours couple.
    pub neighbourhood: Neighbourhood,
    /// w_c / mu_c and sigma_c / mu_c of the bounded normal coupling, stated.
    pub coupling_spread: (f64, f64),
    /// The read-back of the neighbours is used to take the mean interference away.
    pub post_compensation: bool,
}

/// The constants of FACTS 1.1 and 1.2, as adopted there.
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
/// Places and weights of the integration over a coupling ratio within its bound (Gauss and Legendre, five points): what is integrated is smooth there.
const COUPLING_POINTS: [(f64, f64); 5] = [
    (-0.906_179_845_938_664, 0.236_926_885_056_189_1),
    (-0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
    (0.0, 0.568_888_888_888_888_9),
    (0.538_469_310_105_683_1, 0.478_628_670_499_366_5),
    (0.906_179_845_938_664, 0.236_926_885_056_189_1),
];
/// Noise is followed to so many of its lambdas: what lies beyond has a probability of 1e-14, and is put into the last place.
const NOISE_REACH: f64 = 32.0;
/// Places that noise may take on either side of a level: reached at about 23,500 cycles and the usual resolution.
const MOST_PLACES: f64 = 750.0;
/// Room of the grid above the highest level, for interference \[V\].
const HEADROOM: f64 = 0.6;

/// Levels as they are right after programming and the programming of the neighbours: what ages from there on.
#[derive(Clone, Debug)]
pub struct Disturbed {
    levels: Vec<Density>,
    /// The centres at which levels were programmed \[V\].
    centres: Vec<f64>,
    pe_cycles: f64,
}

impl Disturbed {
    /// The levels at an age.
    pub fn aged(&self, model: &VoltageModel, age: Nanos) -> Vec<Density> {
        self.levels.iter().zip(&self.centres).map(|(level, centre)| model.aged(level, *centre, self.pe_cycles, age)).collect()
    }
}

impl VoltageModel {
    /// Bits in a cell.
    pub fn bits(&self) -> usize {
        (self.verify.len() + 1).trailing_zeros() as usize
    }

    /// lambda_r \[V\].
    pub fn telegraph_lambda(&self, pe_cycles: f64) -> f64 {
        self.telegraph.0 + self.telegraph.1 * libm::pow(pe_cycles, self.wear_exponents.0)
    }

    /// mu_d \[V\] before the level factor: the ten-year shift times ln(1 + t / t_0) / ln(1 + 10 y / t_0).
    pub fn retention_mean(&self, pe_cycles: f64, age: Nanos) -> f64 {
        let (interface, oxide) = self.wear_exponents;
        let ten_years = self.detrapping.0 * libm::pow(pe_cycles, interface) + self.detrapping.1 * libm::pow(pe_cycles, oxide);
        let unit = self.retention_unit.0 as f64;
        ten_years * libm::log1p(age.0 as f64 / unit) / libm::log1p(TEN_YEARS_NS / unit)
    }

    /// Mean and deviation of what retention takes from a cell at a voltage, `mean` being the shift before the level factor \[V\].
    pub fn loss(&self, mean: f64, voltage: f64) -> (f64, f64) {
        let shift = mean * self.retention_slope * (voltage - self.erased_mean).max(0.0);
        (-shift, self.retention_spread * shift)
    }

    /// The mean of the erased state of a block that was erased by less \[V\].
    pub(crate) fn erased(&self, erase_shift: f64) -> f64 {
        self.erased_mean + erase_shift
    }

    /// The centre of each level as programmed \[V\].
    pub(crate) fn centre(&self, level: usize, step: f64, erase_shift: f64) -> f64 {
        if level == 0 { self.erased(erase_shift) } else { self.verify[level - 1] + step / 2.0 }
    }

    /// The highest voltage that programming aims at \[V\].
    pub fn top(&self, step: f64) -> f64 {
        self.verify.last().map_or(self.erased_mean, |verify| verify + step)
    }

    /// Neighbours that are programmed later: a mean coupling ratio, and how many there are.
    pub(crate) fn neighbours(&self) -> Vec<(f64, u32)> {
        let mut found = vec![(self.couplings.vertical, 1), (self.couplings.diagonal, 2)];
        if self.neighbourhood == Neighbourhood::EvenOdd {
            found.push((self.couplings.horizontal, 2));
        }
        found.retain(|(mean, _)| *mean > 0.0);
        found
    }

    /// A resolution as coarse as noise allows where a block is worn far beyond any use: the number of places stays bounded.
    fn bounded(&self, condition: &Condition, resolution: f64) -> f64 {
        resolution.max(NOISE_REACH * self.telegraph_lambda(condition.pe_cycles) / MOST_PLACES)
    }

    /// A grid that holds all levels, with room for noise.
    pub(crate) fn grid(&self, condition: &Condition, resolution: f64) -> Grid {
        let resolution = self.bounded(condition, resolution);
        let noise = NOISE_REACH * self.telegraph_lambda(condition.pe_cycles) + 0.1;
        let low = self.erased_mean - 8.0 * self.erased_sigma - noise;
        let high = self.top(condition.step).max(self.erased(condition.erase_shift) + 8.0 * self.erased_sigma) + noise + HEADROOM;
        Grid::over(low, high, resolution)
    }

    /// What random telegraph noise and interference add to every cell.
    pub(crate) fn noise(&self, condition: &Condition, resolution: f64) -> Kernel {
        let resolution = self.bounded(condition, resolution);
        let lambda = self.telegraph_lambda(condition.pe_cycles);
        let telegraph = Kernel::of(resolution, NOISE_REACH * lambda, |x| laplace(x, lambda));
        telegraph.and(&self.interference(condition.step, condition.erase_shift, resolution))
    }

    /// One level as programmed and disturbed.
    pub(crate) fn disturbed_level(&self, level: usize, condition: &Condition, grid: Grid, noise: &Kernel) -> Density {
        let centre = self.centre(level, condition.step, condition.erase_shift);
        let written = Density::of(grid, |x| match level {
            0 => normal((x - centre) / self.erased_sigma),
            _ => normal_plus_uniform(x - centre, 0.0, condition.step),
        });
        written.plus(noise)
    }

    /// A level after retention.
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

    /// Every level before retention, lowest first, on a grid of `resolution` \[V\].
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

    /// The distribution of each level, lowest first, on a grid of `resolution` \[V\].
    pub fn levels(&self, condition: &Condition, resolution: f64) -> Vec<Density> {
        self.disturbed(condition, resolution).aged(self, condition.age)
    }

    /// Error rates of pages, read at references of this kind.
    pub fn page_errors(&self, condition: &Condition, kind: References, resolution: f64) -> PageErrors {
        let levels = self.levels(condition, resolution);
        let references = self.references(condition, kind, &levels, resolution);
        errors_at(&levels, references)
    }

    /// The references of this kind, `levels` being the distributions at `condition`.
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

    /// What interference leaves: for each later neighbour a mixture over its levels of `gamma dV`, less its mean where that is compensated.
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

    /// The distribution function of what one neighbour leaves, whose coupling has this mean, bound and deviation and whose levels moved by `shifts`.
    fn interference_below(&self, x: f64, (mean, bound, sigma): (f64, f64, f64), shifts: &[f64], step: f64) -> f64 {
        // A neighbour that stays erased does not move.
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

    /// FACTS 1.3: error rates of the worst page, within 5 %.
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

    /// References that nobody moves lose most of the margin after ten years (FACTS 1.1).
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
