//! Placement of levels: the lowest verify voltages at which every page just meets an error-rate limit, starting from
//! the erased state.
//!
//! The method of FACTS 1.2: the erased state is given, and each further level is placed as low as its lower boundary
//! allows. The boundaries of a page share its limit evenly. The upper end of the highest level is then the window
//! required by the step, wear, age and limit.

use crate::condition::Condition;
use crate::density::Density;
use crate::read::{best_reference, page_of, references_of};
use crate::voltage::VoltageModel;
use kit::bisect::bisect_last_true;

/// Rounds of placing all levels. Several are needed because interference depends on the voltages of all levels.
const ROUNDS: usize = 3;
/// Bisection steps in the search for the voltage of one level.
const HALVINGS: u32 = 22;
/// Largest distance between neighbouring levels in the search \[V\].
const FARTHEST: f64 = 6.0;

/// Returns the model with its levels placed as low as `limit` allows at `condition`; `None` if some level cannot be
/// placed.
pub fn placed(model: &VoltageModel, condition: &Condition, limit: f64, resolution: f64) -> Option<VoltageModel> {
    let mut model = model.clone();
    for _ in 0..ROUNDS {
        let noise = model.noise(condition, resolution);
        let level = |model: &VoltageModel, level: usize, grid| {
            let disturbed = model.disturbed_level(level, condition, grid, &noise);
            let centre = model.centre(level, condition.step, condition.erase_shift);
            model.aged(&disturbed, centre, condition.pe_cycles, condition.age)
        };
        for boundary in 0..model.verify.len() {
            let below = if boundary == 0 { model.erased(condition.erase_shift) } else { model.verify[boundary - 1] };
            let share = limit * (model.verify.len() + 1) as f64 / references_of(page_of(boundary, model.bits())) as f64;
            // Levels above this one do not matter here, but the grid must hold the level that is being placed.
            let mut trial = VoltageModel { verify: model.verify[..=boundary].to_vec(), ..model.clone() };
            trial.verify[boundary] = below + FARTHEST;
            let grid = trial.grid(condition, resolution);
            let lower: Density = level(&trial, boundary, grid);
            let fails = |distance: f64| {
                let mut here = trial.clone();
                here.verify[boundary] = below + distance;
                best_reference(&lower, &level(&here, boundary + 1, grid)).1 > share
            };
            if fails(FARTHEST) {
                return None;
            }
            model.verify[boundary] = below + bisect_last_true(0.0, FARTHEST, HALVINGS, fails);
        }
    }
    Some(model)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::voltage::nominal;
    use kit::Nanos;

    const HOUR: u64 = 3_600_000_000_000;

    /// FACTS 1.2: 10,000 cycles, ten years, a step of 0.199 V and the limit of BCH 110 bits / 4 KiB give 2.944, 3.776,
    /// 4.794 V.
    #[test]
    fn levels_stand_where_the_derivation_put_them() {
        let condition = Condition { step: 0.199, pe_cycles: 10_000.0, age: Nanos(87_660 * HOUR), ..Condition::default() };
        let found = placed(&nominal(), &condition, 1.35e-3, 0.004).expect("there is room");
        for (found, expected) in found.verify.iter().zip([2.944, 3.776, 4.794]) {
            assert!((found - expected).abs() < 0.01, "{:?}", found);
        }
    }

    #[test]
    fn what_asks_for_more_room_gets_it() {
        let base = Condition { step: 0.2, pe_cycles: 5_000.0, age: Nanos(1000 * HOUR), ..Condition::default() };
        let top = |condition: Condition, limit: f64| {
            placed(&nominal(), &condition, limit, 0.01).expect("there is room").top(condition.step)
        };
        let nominal_top = top(base, 1e-3);
        for (condition, limit) in [
            (Condition { step: 0.3, ..base }, 1e-3),
            (Condition { pe_cycles: 8_000.0, ..base }, 1e-3),
            (Condition { age: Nanos(50_000 * HOUR), ..base }, 1e-3),
            (Condition { erase_shift: 0.2, ..base }, 1e-3),
            (base, 1e-4),
        ] {
            assert!(top(condition, limit) > nominal_top + 0.02, "{condition:?} {limit}");
        }
    }
}
