//! Monte Carlo version of [`crate::voltage`]: every cell is drawn, together with the neighbours that disturb it. Slow,
//! and independent of the densities with which it is compared.

use crate::condition::Condition;
use crate::read::differs;
use crate::voltage::{RetentionAt, VoltageModel};
use kit::Rng;
use rand_distr::{Distribution, Exp1, StandardNormal};

/// Number of cells drawn and of wrong bits by page type (LSB first).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Number of wrong bits of each page type.
    pub wrong: Vec<u64>,
    /// Number of cells drawn.
    pub cells: u64,
}

impl Counted {
    /// Returns the error rate of a page type.
    pub fn rate(&self, page: usize) -> f64 {
        self.wrong[page] as f64 / self.cells.max(1) as f64
    }

    /// Returns half the width of an interval of `deviations` standard deviations around the error rate.
    pub fn margin(&self, page: usize, deviations: f64) -> f64 {
        deviations * (self.wrong[page].max(1) as f64).sqrt() / self.cells.max(1) as f64
    }

    /// Adds the counts of another batch of cells.
    pub fn add(&mut self, other: &Counted) {
        self.wrong.resize(self.wrong.len().max(other.wrong.len()), 0);
        self.wrong.iter_mut().zip(&other.wrong).for_each(|(sum, more)| *sum += more);
        self.cells += other.cells;
    }
}

/// Bounded normal coupling ratio to one neighbour.
struct Coupling {
    mean: f64,
    bound: f64,
    /// `1 / (2 sigma^2)`.
    sharpness: f64,
}

/// Quantities that are the same for every cell.
struct Sampler<'a> {
    model: &'a VoltageModel,
    condition: &'a Condition,
    lambda: f64,
    /// Mean retention shift before the level factor \[V\].
    loss: f64,
    centres: Vec<f64>,
    neighbours: Vec<Coupling>,
}

/// Draws `cells` cells and reads them at `references` \[V\], which must be in ascending order.
pub fn count(model: &VoltageModel, condition: &Condition, references: &[f64], cells: u64, rng: &mut Rng) -> Counted {
    let bits = model.bits();
    let sampler = Sampler::new(model, condition);
    let mut wrong = vec![0u64; bits];
    for _ in 0..cells {
        let (level, voltage) = sampler.cell(rng);
        let read = references.iter().filter(|reference| voltage > **reference).count();
        if read != level {
            wrong.iter_mut().enumerate().for_each(|(page, wrong)| *wrong += u64::from(differs(level, read, page, bits)));
        }
    }
    Counted { wrong, cells }
}

impl<'a> Sampler<'a> {
    fn new(model: &'a VoltageModel, condition: &'a Condition) -> Sampler<'a> {
        let neighbours = model
            .neighbours()
            .into_iter()
            .flat_map(|(mean, count)| (0..count).map(move |_| mean))
            .map(|mean| {
                let sigma = model.coupling_spread.1 * mean;
                Coupling { mean, bound: model.coupling_spread.0 * mean, sharpness: 0.5 / (sigma * sigma) }
            })
            .collect();
        Sampler {
            model,
            condition,
            lambda: model.telegraph_lambda(condition.pe_cycles),
            loss: model.retention_mean(condition.pe_cycles, condition.age),
            centres: (0..=model.verify.len()).map(|level| model.centre(level, condition.step, condition.erase_shift)).collect(),
            neighbours,
        }
    }

    /// Draws a cell and returns its level and its voltage.
    #[inline]
    fn cell(&self, rng: &mut Rng) -> (usize, f64) {
        let level = self.level(rng);
        let mut voltage = self.written(level, rng);
        let telegraph: f64 = Exp1.sample(rng);
        voltage += if rng.next_u64() >> 63 == 0 { self.lambda * telegraph } else { -self.lambda * telegraph };
        for coupling in &self.neighbours {
            voltage += self.disturbance(coupling, rng);
        }
        let origin = match self.model.retention_at {
            RetentionAt::Level => self.centres[level],
            RetentionAt::Cell => voltage,
        };
        let (shift, deviation) = self.model.loss(self.loss, origin);
        (level, voltage + shift + deviation * normal(rng))
    }

    fn level(&self, rng: &mut Rng) -> usize {
        rng.below(self.centres.len() as u64) as usize
    }

    fn written(&self, level: usize, rng: &mut Rng) -> f64 {
        match level {
            0 => self.centres[0] + self.model.erased_sigma * normal(rng),
            _ => self.model.verify[level - 1] + self.condition.step * rng.unit(),
        }
    }

    /// Draws the shift caused by one neighbour programmed later, after compensation.
    fn disturbance(&self, coupling: &Coupling, rng: &mut Rng) -> f64 {
        let level = self.level(rng);
        if level == 0 {
            return 0.0;
        }
        let shift = self.written(level, rng) - self.written(0, rng);
        let known = self.centres[level] - self.centres[0];
        coupling.draw(rng) * shift - if self.model.post_compensation { coupling.mean * known } else { 0.0 }
    }
}

impl Coupling {
    /// Draws a coupling ratio by rejection: uniform within the bound, accepted in proportion to the normal density.
    fn draw(&self, rng: &mut Rng) -> f64 {
        loop {
            let away = self.bound * (2.0 * rng.unit() - 1.0);
            if rng.unit() <= libm::exp(-away * away * self.sharpness) {
                return self.mean + away;
            }
        }
    }
}

fn normal(rng: &mut Rng) -> f64 {
    StandardNormal.sample(rng)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::page_errors;
    use crate::voltage::{Neighbourhood, nominal};
    use kit::Nanos;

    const DAY: u64 = 86_400_000_000_000;

    #[test]
    fn cells_drawn_one_by_one_agree_with_the_densities() {
        let by_cell = VoltageModel { retention_at: RetentionAt::Cell, ..nominal() };
        let plain = VoltageModel { post_compensation: false, ..nominal() };
        let even = VoltageModel { neighbourhood: Neighbourhood::EvenOdd, ..nominal() };
        let slc = VoltageModel { verify: vec![2.6], ..nominal() };
        let tlc = VoltageModel { verify: vec![2.5, 2.9, 3.3, 3.7, 4.1, 4.5, 4.9], ..nominal() };
        let points = [
            (nominal(), 0.2, 0.0, 10_000.0, 0),
            (nominal(), 0.2, 0.0, 10_000.0, 3_652 * DAY),
            (nominal(), 0.4, 0.0, 10_000.0, 4 * DAY),
            (nominal(), 0.3, 0.2, 20_000.0, DAY),
            (by_cell, 0.4, 0.0, 15_000.0, 365 * DAY),
            (plain, 0.2, 0.0, 12_000.0, DAY),
            (even, 0.3, 0.0, 10_000.0, 30 * DAY),
            (slc, 0.4, 0.0, 30_000.0, 300 * DAY),
            (tlc, 0.1, 0.0, 3_000.0, 30 * DAY),
        ];
        for (index, (model, step, erase_shift, pe_cycles, age)) in points.into_iter().enumerate() {
            let condition = Condition { step, erase_shift, pe_cycles, age: Nanos(age), reads: 0.0 };
            let expected = page_errors(&model.levels(&condition, 0.002));
            let counted = count(&model, &condition, &expected.references, 400_000, &mut Rng::stream(index as u64, "cells"));
            for (page, expected) in expected.pages.iter().enumerate() {
                // Four standard deviations, and half a percent for the grid.
                let margin = counted.margin(page, 4.0) + 0.005 * expected;
                let found = counted.rate(page);
                assert!(
                    (found - expected).abs() < margin,
                    "point {index}, page {page}: {found:.3e}, not {expected:.3e} within {margin:.1e}"
                );
            }
        }
    }

    #[test]
    fn counts_add_up() {
        let mut sum = Counted::default();
        sum.add(&Counted { wrong: vec![1, 2], cells: 10 });
        sum.add(&Counted { wrong: vec![3, 0], cells: 10 });
        assert_eq!((sum.rate(0), sum.rate(1)), (0.2, 0.1));
    }
}
