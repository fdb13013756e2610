//! Incremental step pulse programming (ISPP): pulses that rise by the program step, each followed by verifies, until
//! every cell has passed.

use kit::Nanos;

/// One programming pass over the cells of a wordline, which programs one page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    /// Threshold voltage of the slowest cell after the first pulse, minus one step \[V\].
    pub start: f64,
    /// Threshold voltage that the slowest cell must reach \[V\].
    pub end: f64,
    /// Step of this pass as a multiple of the program step; a coarse first pass may use wider steps.
    pub coarseness: f64,
    /// Number of levels verified after each pulse.
    pub verifies: u32,
}

/// Timing and passes of programming a wordline.
#[derive(Clone, Debug, PartialEq)]
pub struct Ispp {
    /// Time of one program pulse.
    pub pulse: Nanos,
    /// Time of one verify.
    pub verify: Nanos,
    /// Time of a pass besides pulses and verifies. Zero if doubling the step is to halve the program time.
    pub fixed: Nanos,
    /// Passes by page type, LSB first.
    pub passes: Vec<Pass>,
}

impl Ispp {
    /// Returns the mean number of pulses of a pass over wordlines. The starting voltage of the slowest cell is spread
    /// evenly over one step, so a single pass takes a whole number of pulses and this number on average.
    pub fn loops(&self, page: usize, step: f64) -> f64 {
        let pass = &self.passes[page % self.passes.len()];
        (pass.end - pass.start) / (step * pass.coarseness)
    }

    /// Returns the mean program time of a page type.
    pub fn time(&self, page: usize, step: f64) -> Nanos {
        self.after(page, self.loops(page, step))
    }

    /// Returns the mean program time over all page types.
    pub fn mean_time(&self, step: f64) -> Nanos {
        let sum: u64 = (0..self.passes.len()).map(|page| self.time(page, step).0).sum();
        Nanos((sum as f64 / self.passes.len() as f64).round() as u64)
    }

    /// Returns the program times that occur for a page type, each with its probability.
    pub fn times(&self, page: usize, step: f64) -> Vec<(Nanos, f64)> {
        let loops = self.loops(page, step);
        let (fewer, share) = (libm::floor(loops), loops - libm::floor(loops));
        let all = [(self.after(page, fewer), 1.0 - share), (self.after(page, fewer + 1.0), share)];
        all.into_iter().filter(|(_, probability)| *probability > 0.0).collect()
    }

    fn after(&self, page: usize, loops: f64) -> Nanos {
        let pass = &self.passes[page % self.passes.len()];
        let each = self.pulse.0 as f64 + f64::from(pass.verifies) * self.verify.0 as f64;
        Nanos(self.fixed.0 + (loops * each).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Ispp {
        let pass = |end, coarseness, verifies| Pass { start: 0.2, end, coarseness, verifies };
        Ispp {
            pulse: Nanos(15_000),
            verify: Nanos(5_000),
            fixed: Nanos(40_000),
            passes: vec![pass(3.2, 2.0, 1), pass(5.0, 1.0, 3)],
        }
    }

    #[test]
    fn time_is_pulses_and_verifies() {
        let ispp = example();
        // LSB: 3.0 V in steps of 0.5 V take 6 pulses of 20 us; MSB: 4.8 V in steps of 0.25 V take 19.2 pulses of 30 us.
        assert_eq!(ispp.time(0, 0.25), Nanos(40_000 + 6 * 20_000));
        assert_eq!(ispp.time(1, 0.25), Nanos(40_000 + 576_000));
        assert_eq!(ispp.mean_time(0.25), Nanos((160_000 + 616_000) / 2));
    }

    #[test]
    fn times_have_the_mean_and_whole_pulses() {
        let ispp = example();
        for step in [0.13, 0.25, 0.4] {
            for page in [0, 1] {
                let times = ispp.times(page, step);
                let mean: f64 = times.iter().map(|(time, probability)| time.0 as f64 * probability).sum();
                assert!((mean - ispp.time(page, step).0 as f64).abs() < 2.0 && times.len() <= 2, "{step} {page} {times:?}");
                assert!((times.iter().map(|(_, probability)| probability).sum::<f64>() - 1.0).abs() < 1e-12);
            }
        }
        assert_eq!(ispp.times(0, 0.25), [(Nanos(160_000), 1.0)]);
    }
}
