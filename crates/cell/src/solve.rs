//! Program step, erase depth, retention and wear that an error-rate limit allows, each with the others given.

use crate::condition::Condition;
use crate::device::{Device, Technology};
use kit::Nanos;
use kit::bisect::find_root;

/// Tolerance of an answer: its error rate is below the limit by at most this fraction.
const NEAR: f64 = 1e-7;
/// Floor of error rates; lower ones are replaced by this value.
const LEAST: f64 = 1e-18;
/// Longest retention considered: a hundred years.
pub const LONGEST: Nanos = Nanos(100 * Nanos::YEAR.0);
/// Ratio of successive steps in the search for the widest one.
const STRIDE: f64 = 0.8;
/// Narrowest step considered, as a fraction of the widest.
const NARROWEST: f64 = 1e-3;

/// Returns the time for which data stays within `limit`, at most a hundred years; `None` if even fresh data does not.
/// The age in `condition` is not used.
pub fn longest_retention(device: &Device, condition: &Condition, limit: f64) -> Option<Nanos> {
    let aging = device.aging(condition);
    let over = |age: Nanos| excess(aging.at(age).worst(), limit);
    if over(Nanos::ZERO) > 0.0 {
        return None;
    }
    if over(LONGEST) <= 0.0 {
        return Some(LONGEST);
    }
    // Loss grows with the logarithm of time, so the search uses that scale.
    let age = |power: f64| Nanos(libm::exp(power) as u64);
    Some(age(find_root(0.0, libm::log(LONGEST.0 as f64), NEAR, |power| over(age(power)))))
}

/// Returns the widest program step with which data stays within `limit` for the age in `condition`; `None` if no step
/// does, or if the technology has no program step. A narrow step can do worse than a wider one, which brings levels
/// higher, so steps are tried from the widest down.
pub fn widest_step(device: &Device, condition: &Condition, limit: f64) -> Option<f64> {
    let widest = device.technology.widest_step()?;
    let over = |step: f64| excess(device.estimate(&Condition { step, ..*condition }).worst(), limit);
    let mut wider = widest;
    if over(widest) <= 0.0 {
        return Some(widest);
    }
    while wider > NARROWEST * widest {
        let step = wider * STRIDE;
        if over(step) <= 0.0 {
            return Some(find_root(step, wider, NEAR, over));
        }
        wider = step;
    }
    None
}

/// Returns the largest voltage by which a block may be erased shallower than nominal \[V\]; `None` if even a nominal
/// erase does not meet the limit, or if the technology has no erase depth.
pub fn shallowest_erase(device: &Device, condition: &Condition, limit: f64) -> Option<f64> {
    let most = device.technology.shallowest_erase()?;
    answer(0.0, most, |erase_shift| excess(device.estimate(&Condition { erase_shift, ..*condition }).worst(), limit))
}

/// Returns the largest number of cycles considered: a hundred times the rated number, but no more than a law is fitted
/// for or a table was measured to.
pub fn max_sought(device: &Device) -> f64 {
    let most = 100.0 * f64::from(device.rated_pe_cycles);
    match &device.technology {
        Technology::Law(law) => most.min(law.valid.0),
        Technology::Measured(table) => most.min(table.extent().0.max(1.0)),
        _ => most,
    }
}

/// Returns the largest number of cycles after which data stays within `limit` for the age in `condition`, up to
/// [`max_sought`]; `None` if even a fresh block does not meet the limit.
pub fn max_cycles(device: &Device, condition: &Condition, limit: f64) -> Option<f64> {
    answer(0.0, max_sought(device), |pe_cycles| excess(device.estimate(&Condition { pe_cycles, ..*condition }).worst(), limit))
}

/// Returns the logarithm of the ratio of an error rate to the limit; above zero the limit is exceeded.
fn excess(rate: f64, limit: f64) -> f64 {
    libm::log(rate.max(LEAST) / limit)
}

/// Returns the largest value from `low` to `high` at which `over` is not above zero; `None` if it is above zero at
/// `low`.
fn answer(low: f64, high: f64, over: impl Fn(f64) -> f64) -> Option<f64> {
    if over(low) > 0.0 {
        return None;
    }
    if over(high) <= 0.0 {
        return Some(high);
    }
    Some(find_root(low, high, NEAR, over))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::stress::ReadDisturb;
    use crate::voltage::nominal;

    const HOUR: u64 = 3_600_000_000_000;
    /// BCH (34528, 32768, t = 110) at a page failure rate of 1e-15: FACTS 1.1, derived.
    const LIMIT: f64 = 1.35e-3;

    pub(crate) fn ofwar() -> Device {
        Device { disturb: Some(ReadDisturb::default()), nominal_step: 0.2, ..Device::of(Technology::Voltage(nominal()), 10_000) }
    }

    fn at(step: f64, pe_cycles: f64, hours: u64) -> Condition {
        Condition { step, pe_cycles, age: Nanos(hours * HOUR), ..Condition::default() }
    }

    /// Section 4.1 of the paper: the step doubles when the retention drops from ten years to four days, so programming
    /// takes half the time.
    #[test]
    fn the_step_doubles_from_ten_years_to_four_days() {
        let step = |hours: u64| widest_step(&ofwar(), &at(0.0, 10_000.0, hours), LIMIT).expect("the code corrects fresh data");
        let (long, short) = (step(87_660), step(96));
        assert!((short / long - 1.99).abs() < 0.03, "{short} V for four days, {long} V for ten years");
        assert!((long - 0.20).abs() < 0.01, "{long}");
    }

    /// FACTS 1.3: trading retention for speed costs retention only near the end of life.
    #[test]
    fn at_half_the_endurance_a_fast_write_keeps_its_data_ten_years() {
        let kept =
            |pe_cycles: f64| longest_retention(&ofwar(), &at(0.4, pe_cycles, 0), LIMIT).expect("fresh data is correctable");
        assert!(kept(5_000.0) > Nanos(87_660 * HOUR), "{:?}", kept(5_000.0));
        let worn = kept(10_000.0);
        assert!(worn > Nanos(48 * HOUR) && worn < Nanos(20 * 24 * HOUR), "about four days: {worn:?}");
        assert_eq!(longest_retention(&ofwar(), &at(0.4, 40_000.0, 0), LIMIT), None, "nothing holds on a block that is worn out");
        assert_eq!(widest_step(&ofwar(), &at(0.0, 40_000.0, 1), LIMIT), None);
    }

    #[test]
    fn each_answer_just_meets_the_limit() {
        let device = ofwar();
        let base = at(0.3, 6_000.0, 10_000);
        let worst = |condition: Condition| device.estimate(&condition).worst() / LIMIT;
        let erase_shift = shallowest_erase(&device, &base, LIMIT).expect("a nominal erase will do");
        assert!((worst(Condition { erase_shift, ..base }) - 1.0).abs() < 0.01 && erase_shift > 0.01, "{erase_shift}");
        let pe_cycles = max_cycles(&device, &base, LIMIT).expect("a fresh block will do");
        assert!((worst(Condition { pe_cycles, ..base }) - 1.0).abs() < 0.01 && pe_cycles > 6_000.0, "{pe_cycles}");
        let age =
            longest_retention(&device, &Condition { step: 0.4, pe_cycles: 10_000.0, ..base }, LIMIT).expect("fresh will do");
        assert!((worst(Condition { step: 0.4, pe_cycles: 10_000.0, age, ..base }) - 1.0).abs() < 0.01);
    }

    /// With a very narrow step the levels of a one-bit cell are too low to last a year; with a wider step they do.
    #[test]
    fn a_step_is_found_although_the_narrowest_will_not_do() {
        let model = crate::VoltageModel { verify: vec![3.499], ..nominal() };
        let slc = Device { technology: Technology::Voltage(model), nominal_step: 0.4, ..ofwar() };
        let year = at(0.0, 30_000.0, 8_760);
        assert!(slc.estimate(&Condition { step: 0.001, ..year }).worst() > LIMIT);
        let step = widest_step(&slc, &year, LIMIT).expect("0.4 V keeps a year");
        assert!(step > 0.4, "{step}");
        let long = at(0.0, 10_000.0, 14 * 8_760);
        let step = widest_step(&ofwar(), &long, LIMIT).expect("0.15 V keeps fourteen years");
        assert!(step > 0.14 && step < 0.2, "{step}");
        assert!(ofwar().estimate(&Condition { step, ..long }).worst() <= LIMIT);
    }

    #[test]
    fn reads_and_heat_take_from_retention() {
        let device = ofwar();
        let kept = |reads: f64| longest_retention(&device, &Condition { reads, ..at(0.4, 10_000.0, 0) }, LIMIT);
        assert!(kept(20_000.0) < kept(0.0));
        assert!(device.age_at(Nanos(HOUR), 55.0) > Nanos(6 * HOUR) && device.age_at(Nanos(HOUR), 40.0) == Nanos(HOUR));
    }
}
