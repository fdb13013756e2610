//! The same model cell by cell: every cell is drawn, with the neighbours that disturb it. Slow, and independent of the densities it is compared with.

use crate::ofwar::{RetentionAt, VoltageModel, Writing};
use kit::Rng;

/// Cells that were read wrongly, by page type (LSB first), and how many were drawn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Wrong bits of each page type.
    pub wrong: Vec<u64>,
    /// Cells.
    pub cells: u64,
}

impl Counted {
    /// A page's error rate.
    pub fn rate(&self, page: usize) -> f64 {
        self.wrong[page] as f64 / self.cells as f64
    }

    /// Half the width of the interval of `deviations` standard deviations around it.
    pub fn margin(&self, page: usize, deviations: f64) -> f64 {
        deviations * (self.wrong[page].max(1) as f64).sqrt() / self.cells as f64
    }
}

/// Draws `cells` cells and reads them at `references` \[V\].
pub fn count(model: &VoltageModel, writing: &Writing, references: &[f64], cells: u64, rng: &mut Rng) -> Counted {
    let levels = model.verify.len() as u64 + 1;
    let bits = levels.trailing_zeros() as usize;
    let lambda = model.telegraph_lambda(writing.pe_cycles);
    let mean = model.retention_mean(writing.pe_cycles, writing.age);
    let mut wrong = vec![0u64; bits];
    for _ in 0..cells {
        let level = rng.below(levels);
        let mut voltage = written(model, level, writing.step, rng);
        let telegraph = rng.exponential(lambda);
        voltage += if rng.chance(0.5) { telegraph } else { -telegraph };
        for &(coupling, neighbours) in &model.couplings {
            for _ in 0..neighbours {
                voltage += disturbance(model, coupling, writing.step, rng);
            }
        }
        let origin = match model.retention_at {
            RetentionAt::Level => model.centre(level as usize, writing.step),
            RetentionAt::Cell => voltage,
        };
        let loss = mean * model.retention_slope * (origin - model.erased_mean).max(0.0);
        voltage -= loss * (1.0 + model.retention_spread * rng.normal());
        let read = references.iter().filter(|reference| voltage > **reference).count() as u64;
        let differs = gray(level) ^ gray(read);
        for (page, wrong) in wrong.iter_mut().enumerate() {
            *wrong += differs >> (bits - 1 - page) & 1;
        }
    }
    Counted { wrong, cells }
}

fn gray(level: u64) -> u64 {
    level ^ level >> 1
}

fn written(model: &VoltageModel, level: u64, step: f64, rng: &mut Rng) -> f64 {
    match level {
        0 => model.erased_mean + model.erased_sigma * rng.normal(),
        _ => model.verify[level as usize - 1] + step * rng.unit(),
    }
}

/// What one neighbour that is programmed later leaves after compensation.
fn disturbance(model: &VoltageModel, coupling: f64, step: f64, rng: &mut Rng) -> f64 {
    let level = rng.below(model.verify.len() as u64 + 1);
    if level == 0 {
        return 0.0;
    }
    let shift = written(model, level, step, rng) - written(model, 0, step, rng);
    let (bound, sigma) = (model.coupling_spread.0 * coupling, model.coupling_spread.1 * coupling);
    let gamma = loop {
        let away = sigma * rng.normal();
        if away.abs() <= bound {
            break coupling + away;
        }
    };
    let known = model.centre(level as usize, step) - model.erased_mean;
    gamma * shift - if model.post_compensation { coupling * known } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ofwar::nominal;
    use crate::read::page_errors;
    use kit::Nanos;

    const DAY: u64 = 86_400_000_000_000;

    #[test]
    fn cells_drawn_one_by_one_agree_with_the_densities() {
        let by_cell = VoltageModel { retention_at: RetentionAt::Cell, ..nominal() };
        let plain = VoltageModel { post_compensation: false, ..nominal() };
        let points = [
            (nominal(), 0.2, 10_000.0, 0),
            (nominal(), 0.2, 10_000.0, 3_652 * DAY),
            (nominal(), 0.4, 10_000.0, 4 * DAY),
            (nominal(), 0.3, 20_000.0, DAY),
            (by_cell, 0.4, 15_000.0, 365 * DAY),
            (plain, 0.2, 12_000.0, DAY),
        ];
        for (index, (model, step, pe_cycles, age)) in points.into_iter().enumerate() {
            let writing = Writing { step, pe_cycles, age: Nanos(age) };
            let expected = page_errors(&model.levels(&writing, 0.002));
            let counted = count(&model, &writing, &expected.references, 400_000, &mut Rng::stream(index as u64, "cells"));
            for (page, expected) in expected.pages.iter().enumerate() {
                // Four deviations, and a hundredth for cells that cross more than one boundary.
                let margin = counted.margin(page, 4.0) + 0.01 * expected;
                let found = counted.rate(page);
                assert!(
                    (found - expected).abs() < margin,
                    "point {index}, page {page}: {found:.3e}, not {expected:.3e} within {margin:.1e}"
                );
            }
        }
    }
}
