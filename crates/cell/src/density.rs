//! Probability on an evenly spaced grid of voltages.
//!
//! A grid point holds the probability of its bin, from half a step below it to half a step above. Shapes are integrated
//! over bins, not sampled, so every density sums to one whatever the step. Probability beyond the ends of the grid is
//! added to the end bins. Convolution on bins widens a density by a uniform distribution of one step: an error of
//! `step^2 / 12` in variance, which falls to a quarter when the step is halved.

/// Evenly spaced grid of voltages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grid {
    /// Voltage of the first grid point \[V\].
    pub low: f64,
    /// Distance between grid points \[V\].
    pub step: f64,
    /// Number of grid points.
    pub count: usize,
}

impl Grid {
    /// Returns a grid from `low` to `high` \[V\] whose points are whole multiples of `step`, so that the position of a
    /// level relative to the grid points does not depend on `low`.
    pub fn over(low: f64, high: f64, step: f64) -> Grid {
        let low = (low / step).floor() * step;
        Grid { low, step, count: ((high - low) / step).ceil() as usize + 1 }
    }

    /// Returns the last grid point whose bin ends at or below a voltage, and the distance of the voltage beyond the end
    /// of that bin, in steps; `None` if the first bin ends above the voltage.
    pub fn between(&self, voltage: f64) -> (Option<usize>, f64) {
        let place = (voltage - self.low) / self.step - 0.5;
        let below = place.floor();
        if below < 0.0 { (None, 0.0) } else { (Some((below as usize).min(self.count - 1)), place - below) }
    }

    /// Returns the voltage of a grid point \[V\].
    pub fn at(&self, index: usize) -> f64 {
        self.low + self.step * index as f64
    }
}

/// Returns the distribution function of the standard normal distribution.
pub fn normal(z: f64) -> f64 {
    0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)
}

/// Returns the integral of [`normal`] from minus infinity to `z`: `z Phi(z) + phi(z)`.
fn normal_integral(z: f64) -> f64 {
    z * normal(z) + libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt()
}

/// Returns the distribution function of the sum of a normal variable and an independent uniform one of `width` centred
/// on zero, at a distance `x` from the mean.
pub fn normal_plus_uniform(x: f64, sigma: f64, width: f64) -> f64 {
    if width <= 0.0 {
        return if sigma <= 0.0 { f64::from(u8::from(x >= 0.0)) } else { normal(x / sigma) };
    }
    if sigma <= 1e-12 * width {
        return ((x + width / 2.0) / width).clamp(0.0, 1.0);
    }
    let (above, below) = ((x + width / 2.0) / sigma, (x - width / 2.0) / sigma);
    (sigma / width * (normal_integral(above) - normal_integral(below))).clamp(0.0, 1.0)
}

/// Returns the distribution function of the symmetric exponential (Laplace) distribution.
pub fn laplace(x: f64, lambda: f64) -> f64 {
    if x < 0.0 { 0.5 * libm::exp(x / lambda) } else { 1.0 - 0.5 * libm::exp(-x / lambda) }
}

/// Probability masses of an independent voltage shift, for convolution with a density.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Shift of the first mass, in grid steps.
    first: isize,
    mass: Vec<f64>,
}

impl Kernel {
    /// Returns the kernel of a shift with the given distribution function (of the shift \[V\]), cut off at `reach`
    /// \[V\] on either side of zero and normalised.
    pub fn of(step: f64, reach: f64, distribution: impl Fn(f64) -> f64) -> Kernel {
        Kernel::around(step, 0.0, reach, distribution)
    }

    /// Like [`Kernel::of`], but cut off at `reach` on either side of `centre` \[V\].
    pub fn around(step: f64, centre: f64, reach: f64, distribution: impl Fn(f64) -> f64) -> Kernel {
        let first = ((centre - reach) / step).floor() as isize;
        let last = ((centre + reach) / step).ceil() as isize;
        let edges: Vec<f64> = (first..=last + 1).map(|place| distribution((place as f64 - 0.5) * step)).collect();
        let mut mass: Vec<f64> = edges.windows(2).map(|pair| (pair[1] - pair[0]).max(0.0)).collect();
        let total: f64 = mass.iter().sum();
        mass.iter_mut().for_each(|m| *m /= total);
        Kernel { first, mass }
    }

    /// Returns the kernel of a normally distributed shift. The probability of a bin is taken as uniform over the bin.
    pub fn normal(step: f64, mean: f64, deviation: f64) -> Kernel {
        Kernel::around(step, mean, 9.0 * deviation + step, |x| normal_plus_uniform(x - mean, deviation, step))
    }

    /// Returns the kernel of the sum of two independent shifts.
    pub fn and(&self, other: &Kernel) -> Kernel {
        let mut mass = vec![0.0; self.mass.len() + other.mass.len() - 1];
        for (at, &mine) in self.mass.iter().enumerate() {
            for (further, &theirs) in other.mass.iter().enumerate() {
                mass[at + further] += mine * theirs;
            }
        }
        Kernel { first: self.first + other.first, mass }
    }
}

/// Probability distribution on a grid.
#[derive(Clone, Debug)]
pub struct Density {
    grid: Grid,
    mass: Vec<f64>,
}

impl Density {
    /// Returns the density of a distribution function.
    pub fn of(grid: Grid, distribution: impl Fn(f64) -> f64) -> Density {
        let mut below = 0.0;
        let mut mass = Vec::with_capacity(grid.count);
        for index in 0..grid.count {
            let up_to = if index + 1 == grid.count { 1.0 } else { distribution(grid.at(index) + grid.step / 2.0) };
            mass.push((up_to - below).max(0.0));
            below = up_to;
        }
        Density { grid, mass }
    }

    /// Returns the grid.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Returns the probability of each bin.
    pub fn mass(&self) -> &[f64] {
        &self.mass
    }

    /// Returns the sum of all probability: one, except for rounding.
    pub fn total(&self) -> f64 {
        self.mass.iter().sum()
    }

    /// Returns the mean \[V\].
    pub fn mean(&self) -> f64 {
        self.mass.iter().enumerate().map(|(index, mass)| mass * self.grid.at(index)).sum()
    }

    /// Returns the density after an independent shift of every cell.
    pub fn plus(&self, kernel: &Kernel) -> Density {
        let mut mass = vec![0.0; self.grid.count];
        let last = self.grid.count as isize - 1;
        for (index, &mine) in self.mass.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
            let first = index as isize + kernel.first;
            if first >= 0 && first + kernel.mass.len() as isize <= last + 1 {
                let to = &mut mass[first as usize..][..kernel.mass.len()];
                to.iter_mut().zip(&kernel.mass).for_each(|(sum, theirs)| *sum += mine * theirs);
            } else {
                for (further, theirs) in kernel.mass.iter().enumerate() {
                    mass[(first + further as isize).clamp(0, last) as usize] += mine * theirs;
                }
            }
        }
        Density { grid: self.grid, mass }
    }

    /// Returns the density after every cell has moved by a normally distributed shift whose mean and standard deviation
    /// \[V\] depend on the voltage it had.
    pub fn moved(&self, shift: impl Fn(f64) -> (f64, f64)) -> Density {
        let mut mass = vec![0.0; self.grid.count];
        let step = self.grid.step;
        for (index, &mine) in self.mass.iter().enumerate().filter(|(_, mass)| **mass > 0.0) {
            let (mean, deviation) = shift(self.grid.at(index));
            let centre = self.grid.at(index) + mean;
            let place =
                |voltage: f64| ((voltage - self.grid.low) / step).round().clamp(0.0, (self.grid.count - 1) as f64) as usize;
            let (first, last) = (place(centre - 9.0 * deviation - step), place(centre + 9.0 * deviation + step));
            // The probability of a bin is taken as uniform over the bin.
            let mut below = 0.0;
            for (at, sum) in mass.iter_mut().enumerate().take(last + 1).skip(first) {
                let edge = self.grid.at(at) + step / 2.0 - centre;
                let up_to = if at == last { 1.0 } else { normal_plus_uniform(edge, deviation, step) };
                *sum += mine * (up_to - below);
                below = up_to;
            }
        }
        Density { grid: self.grid, mass }
    }

    /// Returns, for each grid point, the probability in its bin and all below, and the probability in all bins above.
    pub fn tails(&self) -> (Vec<f64>, Vec<f64>) {
        let mut at_most = self.mass.clone();
        for index in 1..at_most.len() {
            at_most[index] += at_most[index - 1];
        }
        // Summed from the far end, so that small tails are not lost in a sum near one.
        let mut more = vec![0.0; self.mass.len()];
        for index in (1..more.len()).rev() {
            more[index - 1] = more[index] + self.mass[index];
        }
        (at_most, more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn densities_and_kernels_hold_all_probability() {
        let grid = Grid::over(-1.0, 7.0, 0.004);
        let normal_at = Density::of(grid, |x| normal((x - 1.4) / 0.35));
        assert!((normal_at.total() - 1.0).abs() < 1e-12 && (normal_at.mean() - 1.4).abs() < 1e-6);
        let kernel = Kernel::of(grid.step, 2.0, |x| laplace(x, 0.05));
        let moved = normal_at.plus(&kernel).moved(|x| (-0.05 * (x - 1.4).max(0.0), 0.02 * (x - 1.4).max(0.0)));
        assert!((moved.total() - 1.0).abs() < 1e-9, "{}", moved.total());
        let both = kernel.and(&Kernel::of(grid.step, 0.1, |x| normal_plus_uniform(x, 0.01, 0.03)));
        assert!((both.mass.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_sum_of_normal_and_uniform_has_their_variance() {
        let kernel = Kernel::of(0.001, 0.5, |x| normal_plus_uniform(x, 0.03, 0.1));
        let variance: f64 =
            kernel.mass.iter().enumerate().map(|(i, m)| m * ((i as f64 + kernel.first as f64) * 0.001).powi(2)).sum();
        assert!((variance / (0.03f64.powi(2) + 0.01 / 12.0) - 1.0).abs() < 1e-3, "{variance}");
        assert_eq!(normal_plus_uniform(0.2, 0.0, 0.4), 1.0);
        assert_eq!(normal_plus_uniform(-0.1, 0.0, 0.4), 0.25);
    }

    #[test]
    fn tails_add_up_at_every_place() {
        let density = Density::of(Grid::over(0.0, 1.0, 0.01), |x| x.clamp(0.0, 1.0));
        let (at_most, more) = density.tails();
        assert!(at_most.iter().zip(&more).all(|(below, above)| (below + above - 1.0).abs() < 1e-12));
    }
}
