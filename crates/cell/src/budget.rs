//! The window budget of a cell: program steps, erase depth, retention, error correction and wear share one voltage
//! window. Computes each share and the remainder.
//!
//! Levels are free to move here: each is placed as low as its lower boundary allows ([`crate::place`]), and the budget
//! closes if the highest level still ends within the window. The unit is volts; for bell-shaped levels, pitches.

use crate::condition::Condition;
use crate::device::{Device, RESOLUTION, Technology};
use crate::place::placed;
use crate::relaxation::BellLevels;
use crate::solve::{LONGEST, max_sought};
use crate::voltage::{Couplings, VoltageModel};
use kit::Nanos;
use kit::bisect::{bisect_last_true, find_root};

/// Tolerance to which a budget is closed \[V\].
const NEAR: f64 = 1e-6;
/// Bisection steps of a search where the technology has no window.
const HALVINGS: u32 = 24;
/// Smallest step used \[V\]: with a step of zero no level could be placed.
const NO_STEP: f64 = 1e-3;
/// Range of error rates in which the limit of a code is searched.
const LIMITS: (f64, f64) = (1e-9, 0.3);

/// Known quantities of a budget: `condition` holds step, erase depth, wear and retention, `limit` the error rate that
/// the code corrects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// Program step, erase depth and wear, and the promised retention as its age.
    pub condition: Condition,
    /// Error rate that the code corrects with the given sensing.
    pub limit: f64,
}

/// Quantity to solve for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Widest program step.
    Step,
    /// Shallowest erase.
    Erase,
    /// Longest retention.
    Retention,
    /// Weakest code: the lowest error rate that it must correct.
    Code,
    /// Largest number of cycles.
    Wear,
}

/// Part of the window used by one effect.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Name of the effect.
    pub who: &'static str,
    /// Size of the part, in the unit of the window.
    pub volts: f64,
}

/// Division of the window among its uses.
#[derive(Clone, Debug, PartialEq)]
pub struct Division {
    /// Size of the whole window.
    pub window: f64,
    /// Part used by each effect, in the order in which the effects are added; each is computed with all earlier ones
    /// present. Together with `free` they add up to `window`.
    pub shares: Vec<Share>,
    /// Unused part of the window; below zero the budget does not close.
    pub free: f64,
    /// Part of the window that error correction saves: the additional use if the code corrected only an error rate of
    /// 1e-9 instead of the limit. `None` if levels could not be placed at all then.
    pub code_gives: Option<f64>,
}

/// Overdraft reported if levels cannot be placed at all.
const OVERDRAFT: f64 = -100.0;

/// Returns the unused part of the window; below zero the budget does not close. `None` if the technology has only error
/// rates and no window.
pub fn free(device: &Device, budget: &Budget) -> Option<f64> {
    let condition = &budget.condition;
    // Errors added by reads use up part of the error rate that the code corrects.
    let limit = &(budget.limit - read_errors(device, condition));
    if *limit <= 0.0 {
        return device.technology.widest_step().map(|_| OVERDRAFT);
    }
    match &device.technology {
        Technology::Voltage(model) => Some(model.top(device.nominal_step) - top(model, condition, *limit)),
        Technology::Bell(model) => Some(1.0 - pitch(model, condition, *limit)),
        Technology::Scaled(cell) => {
            let allowed = (limit / cell.limit - cell.fresh_share) / (1.0 - cell.fresh_share);
            Some(allowed * cell.scaling.saved.1 - cell.spent(condition))
        }
        Technology::Law(_) | Technology::Measured(_) | Technology::Rram(_) => None,
    }
}

fn read_errors(device: &Device, condition: &Condition) -> f64 {
    let (each, exponent) = device.read_term(condition.pe_cycles);
    each * libm::pow(condition.reads, exponent)
}

/// Returns true if the budget closes: data is correctable to the end of its retention.
pub fn closes(device: &Device, budget: &Budget) -> bool {
    free(device, budget).map_or_else(|| device.estimate(&budget.condition).worst() <= budget.limit, |free| free >= 0.0)
}

/// Solves the budget for `unknown`, as far as it can go; `None` if no value closes the budget or the technology does
/// not have that quantity.
pub fn close(device: &Device, budget: &Budget, unknown: Unknown) -> Option<Budget> {
    let with = |value: f64| -> Budget {
        let mut budget = *budget;
        match unknown {
            Unknown::Step => budget.condition.step = value,
            Unknown::Erase => budget.condition.erase_shift = value,
            Unknown::Retention => budget.condition.age = Nanos(libm::exp(value) as u64),
            Unknown::Code => budget.limit = libm::exp(-value),
            Unknown::Wear => budget.condition.pe_cycles = value,
        }
        budget
    };
    let (low, high) = match unknown {
        Unknown::Step => {
            let widest = device.technology.widest_step()?;
            (NO_STEP * widest, widest)
        }
        Unknown::Erase => (0.0, device.technology.shallowest_erase()?),
        Unknown::Retention => (0.0, libm::log(LONGEST.0 as f64)),
        Unknown::Code => (-libm::log(LIMITS.1), -libm::log(LIMITS.0)),
        Unknown::Wear => (0.0, max_sought(device)),
    };
    let holds = |value: f64| closes(device, &with(value));
    if !holds(low) {
        return None;
    }
    if holds(high) {
        return Some(with(high));
    }
    let value = match free(device, &with(low)) {
        Some(_) => find_root(low, high, NEAR, |value| -free(device, &with(value)).unwrap_or(OVERDRAFT)),
        None => bisect_last_true(low, high, HALVINGS, holds),
    };
    Some(with(value))
}

/// Returns the division of the window; `None` if the technology has no window or the levels cannot be placed.
pub fn spending(device: &Device, budget: &Budget) -> Option<Division> {
    let limit = budget.limit - read_errors(device, &budget.condition);
    if limit <= 0.0 {
        return None;
    }
    let quiet = Budget { condition: Condition { reads: 0.0, ..budget.condition }, limit };
    let shares = match &device.technology {
        Technology::Voltage(model) => volts(model, &quiet),
        Technology::Bell(model) => pitches(model, &quiet),
        Technology::Scaled(cell) => {
            let Condition { step, pe_cycles, age, erase_shift, .. } = budget.condition;
            let (by_step, margin) = cell.scaling.saved;
            let used = cell.margin_used(pe_cycles, age);
            vec![
                Share { who: "program steps", volts: by_step * 2.0 - cell.scaling.room(step / cell.nominal_step, 1.0) },
                Share { who: "retention at this wear", volts: margin * used },
                Share { who: "shallow erase", volts: erase_shift },
            ]
        }
        Technology::Law(_) | Technology::Measured(_) | Technology::Rram(_) => return None,
    };
    let free_now = free(device, budget)?;
    if free_now <= 0.5 * OVERDRAFT {
        return None;
    }
    let without_code = free(device, &Budget { limit: LIMITS.0, ..quiet })?;
    let window = shares.iter().map(|share| share.volts).sum::<f64>() + free_now;
    Some(Division {
        window,
        shares,
        free: free_now,
        code_gives: (without_code > 0.5 * OVERDRAFT).then_some(free_now - without_code),
    })
}

/// Returns the upper end of the highest level if all levels are placed as low as the limit allows \[V\].
fn top(model: &VoltageModel, condition: &Condition, limit: f64) -> f64 {
    let placed = placed(model, condition, limit, 2.0 * RESOLUTION);
    placed.map_or(model.top(condition.step) - OVERDRAFT, |placed| placed.top(condition.step))
}

fn volts(model: &VoltageModel, budget: &Budget) -> Vec<Share> {
    let Budget { condition, limit } = *budget;
    let quiet = VoltageModel { couplings: Couplings { vertical: 0.0, diagonal: 0.0, horizontal: 0.0 }, ..model.clone() };
    let bare = Condition { step: NO_STEP, ..Condition::default() };
    let stepped = Condition { step: condition.step, ..bare };
    let worn = Condition { pe_cycles: condition.pe_cycles, ..stepped };
    let aged = Condition { age: condition.age, ..worn };
    let tops = [
        ("erased state", top(&quiet, &bare, limit)),
        ("program steps", top(&quiet, &stepped, limit)),
        ("interference", top(model, &stepped, limit)),
        ("wear (random telegraph noise)", top(model, &worn, limit)),
        ("retention", top(model, &aged, limit)),
        ("shallow erase", top(model, &condition, limit)),
    ];
    let mut before = model.erased_mean;
    tops.into_iter()
        .map(|(who, top)| {
            let share = Share { who, volts: top - before };
            before = top;
            share
        })
        .collect()
}

/// Returns the pitch at which levels with this step and age just meet the limit, in nominal pitches.
fn pitch(model: &BellLevels, condition: &Condition, limit: f64) -> f64 {
    let sigma = model.lower_sigma(condition.pe_cycles, condition.age);
    pitch_of(model, condition.step, sigma, limit)
}

fn pitch_of(model: &BellLevels, step: f64, lower_sigma: f64, limit: f64) -> f64 {
    // The error rate falls as the pitch grows, since both shoulders get more room; ten pitches are always enough.
    bisect_last_true(0.0, 10.0, 40, |pitch| model.error_rate_in(pitch, step, lower_sigma) > limit)
}

fn pitches(model: &BellLevels, budget: &Budget) -> Vec<Share> {
    let Budget { condition, limit } = *budget;
    let shoulders = pitch_of(model, NO_STEP, model.upper_sigma, limit);
    let stepped = pitch_of(model, condition.step, model.upper_sigma, limit);
    let aged = pitch(model, &condition, limit);
    vec![
        Share { who: "shoulders of fresh levels", volts: shoulders },
        Share { who: "program step", volts: stepped - shoulders },
        Share { who: "retention at this wear", volts: aged - stepped },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::tests::ofwar;

    const HOUR: u64 = 3_600_000_000_000;
    const LIMIT: f64 = 1.35e-3;

    fn nominal() -> Budget {
        let condition = Condition { step: 0.2, pe_cycles: 10_000.0, age: Nanos(87_660 * HOUR), ..Condition::default() };
        Budget { condition, limit: LIMIT }
    }

    /// The levels of FACTS 1.2 are those at which the budget just closes.
    #[test]
    fn the_nominal_budget_is_spent_to_the_last_hundredth_of_a_volt() {
        let spending = spending(&ofwar(), &nominal()).expect("a window");
        assert!(spending.free.abs() < 0.02, "{spending:?}");
        // Most of the window goes to three levels, each one step wide, and to the width of the erased state; the erase
        // is nominal.
        let volts: Vec<f64> = spending.shares.iter().map(|share| share.volts).collect();
        assert!((volts[1] / 0.6 - 1.0).abs() < 0.3 && volts[0] > 0.8 && volts[3] > 0.3 && volts[4] > 0.3, "{spending:?}");
        assert!(volts.iter().all(|volts| *volts > -0.005) && volts[5].abs() < 1e-9, "{spending:?}");
        let sum: f64 = spending.shares.iter().map(|share| share.volts).sum::<f64>() + spending.free;
        assert!((sum - spending.window).abs() < 1e-9 && (spending.window - (4.994 - 1.4)).abs() < 1e-9, "{spending:?}");
        assert!(spending.code_gives.is_some_and(|volts| volts > 0.3), "{spending:?}");
    }

    /// Each quantity solved from the other four closes the budget with nothing left.
    #[test]
    fn each_of_the_five_follows_from_the_others() {
        let device = ofwar();
        let eased = Budget {
            condition: Condition { step: 0.25, pe_cycles: 6_000.0, age: Nanos(8_766 * HOUR), ..Condition::default() },
            ..nominal()
        };
        assert!(closes(&device, &eased));
        for unknown in [Unknown::Step, Unknown::Erase, Unknown::Retention, Unknown::Code, Unknown::Wear] {
            let closed = close(&device, &eased, unknown).expect("there is room");
            if unknown == Unknown::Retention && closed.condition.age >= Nanos(LONGEST.0 - LONGEST.0 / 100) {
                continue;
            }
            let free = free(&device, &closed).expect("a window");
            assert!((0.0..0.01).contains(&free), "{unknown:?}: {closed:?} leaves {free}");
        }
        let hopeless = Budget { condition: Condition { pe_cycles: 60_000.0, step: 0.6, ..eased.condition }, ..eased };
        assert_eq!(close(&device, &hopeless, Unknown::Retention), None);
    }

    #[test]
    fn reads_spend_what_the_code_corrects() {
        let device = ofwar();
        let read = |reads: f64| Budget { condition: Condition { reads, pe_cycles: 8_000.0, ..nominal().condition }, ..nominal() };
        let free = |reads: f64| free(&device, &read(reads)).expect("a window");
        assert!(free(1e4) < free(0.0) && free(1e5) < free(1e4) && !closes(&device, &read(1e6)));
        assert_eq!(spending(&device, &read(1e6)), None);
    }

    /// OFWAR, retention relaxation and DPES draw on the same margin: the part used by one is not available to the
    /// others.
    #[test]
    fn what_one_work_takes_another_has_not() {
        let device = ofwar();
        let at = |step: f64, erase_shift: f64, hours: u64| Budget {
            condition: Condition { step, erase_shift, pe_cycles: 10_000.0, age: Nanos(hours * HOUR), reads: 0.0 },
            limit: LIMIT,
        };
        let fast = close(&device, &at(0.0, 0.0, 96), Unknown::Step).expect("room for a fast step").condition.step;
        assert!(closes(&device, &at(fast, 0.0, 96)) && closes(&device, &at(0.2, 0.2, 96)));
        assert!(!closes(&device, &at(fast, 0.2, 96)), "both at once");
    }
}
