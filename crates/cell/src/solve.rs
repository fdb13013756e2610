//! What a limit on the error rate allows: the longest retention of a step, the widest step for a retention.

use crate::ofwar::{VoltageModel, Writing};
use crate::read::page_errors;
use kit::Nanos;
use kit::bisect::last_holding;

/// Grid on which limits are sought \[V\]: halving it changes error rates by less than 0.3 %.
const RESOLUTION: f64 = 0.004;
/// Halvings of the interval in which an answer lies.
const HALVINGS: u32 = 40;
/// The longest retention that is asked about: a hundred years.
const LONGEST: Nanos = Nanos(100 * 8766 * 3_600_000_000_000);
/// The widest step that is asked about \[V\].
const WIDEST: f64 = 1.5;

/// The error rate of the worst page.
fn worst(model: &VoltageModel, writing: &Writing) -> f64 {
    page_errors(&model.levels(writing, RESOLUTION)).worst()
}

/// How long data written with this step on blocks of this wear stays within `limit`: none if not even fresh data does; at most a hundred years.
pub fn longest_retention(model: &VoltageModel, step: f64, pe_cycles: f64, limit: f64) -> Option<Nanos> {
    let holds = |age: Nanos| worst(model, &Writing { step, pe_cycles, age }) <= limit;
    if !holds(Nanos::ZERO) {
        return None;
    }
    if holds(LONGEST) {
        return Some(LONGEST);
    }
    // Loss goes with the logarithm of time: halved in that scale, to a nanosecond where it is short and a part in 10^9 where it is long.
    let age = |power: f64| Nanos(libm::exp(power) as u64);
    Some(age(last_holding(0.0, libm::log(LONGEST.0 as f64), HALVINGS, |power| holds(age(power)))))
}

/// The widest program step \[V\] whose data stays within `limit` for `retention` on blocks of this wear; none if the narrowest does not.
pub fn widest_step(model: &VoltageModel, retention: Nanos, pe_cycles: f64, limit: f64) -> Option<f64> {
    let holds = |step: f64| worst(model, &Writing { step, pe_cycles, age: retention }) <= limit;
    if !holds(RESOLUTION) {
        return None;
    }
    if holds(WIDEST) {
        return Some(WIDEST);
    }
    Some(last_holding(RESOLUTION, WIDEST, HALVINGS / 2, holds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ofwar::nominal;

    const HOUR: u64 = 3_600_000_000_000;
    /// BCH (34528, 32768, t = 110) at a page failure rate of 1e-15: FACTS 1.1, derived.
    const LIMIT: f64 = 1.35e-3;

    /// Section 4.1 of the paper: the step doubles when retention drops from ten years to four days, so programming takes half as long.
    #[test]
    fn the_step_doubles_from_ten_years_to_four_days() {
        let step =
            |hours: u64| widest_step(&nominal(), Nanos(hours * HOUR), 10_000.0, LIMIT).expect("the code corrects fresh data");
        let (long, short) = (step(87_660), step(96));
        assert!((short / long - 1.99).abs() < 0.03, "{short} V for four days, {long} V for ten years");
        assert!((long - 0.20).abs() < 0.01, "{long}");
    }

    /// FACTS 1.3: the honest finding. The trade of retention for speed bites only near the end of life.
    #[test]
    fn at_half_the_endurance_a_fast_write_keeps_its_data_ten_years() {
        let kept = |pe_cycles: f64| longest_retention(&nominal(), 0.4, pe_cycles, LIMIT).expect("fresh data is correctable");
        assert!(kept(5_000.0) > Nanos(87_660 * HOUR), "{:?}", kept(5_000.0));
        let worn = kept(10_000.0);
        assert!(worn > Nanos(48 * HOUR) && worn < Nanos(20 * 24 * HOUR), "about four days: {worn:?}");
        assert_eq!(longest_retention(&nominal(), 0.4, 40_000.0, LIMIT), None, "nothing holds on a block that is worn out");
        assert_eq!(widest_step(&nominal(), Nanos(HOUR), 40_000.0, LIMIT), None);
    }
}
