//! Lookup table of error rates over wear and age, built once for a device and a condition of writing.
//!
//! Between grid points the logarithm of the error rate is linear in the square root of the wear and in ln(1 + age / 1
//! h). Errors added by reads are stored separately, because they do not depend on age. A lookup costs about as much as
//! two logarithms and reads four neighbouring entries.

use crate::condition::Condition;
use crate::device::{Device, Technology};
use kit::Nanos;

/// Grid points over wear and over age, where each point requires the distributions of threshold voltages.
const VOLTAGE_POINTS: (usize, usize) = (33, 11);
/// Grid points over wear and over age, where each point requires a formula only.
const FORMULA_POINTS: (usize, usize) = (65, 129);
const HOUR_NS: f64 = 3.6e12;
/// Smallest error rate stored, so that logarithms stay finite.
const LEAST: f64 = 1e-18;

/// Error rates of data written with one program step and erase depth.
#[derive(Clone, Debug)]
pub struct ErrorTable {
    page_types: usize,
    wear_points: usize,
    age_points: usize,
    max_wear: f64,
    /// Grid points per unit of the square root of wear, and per unit of the logarithm of age.
    wear_scale: f64,
    age_scale: f64,
    /// Factor on ages before the lookup, for temperature.
    age_factor: f64,
    /// Logarithms of error rates without reads, by page type, wear and age.
    ln_rates: Vec<f64>,
    /// Error rate added by one read, by wear; `read_exponent` is the exponent of the number of reads.
    read: Vec<f64>,
    read_exponent: f64,
}

impl ErrorTable {
    /// Builds the table for data written with the step and erase depth of `written`, up to `max_wear` cycles and the
    /// age `oldest`, kept at `celsius`.
    pub fn build(device: &Device, written: &Condition, max_wear: f64, oldest: Nanos, celsius: f64) -> ErrorTable {
        let (wear_points, age_points) = match device.technology {
            Technology::Voltage(_) => VOLTAGE_POINTS,
            _ => FORMULA_POINTS,
        };
        let max_wear = max_wear.max(1.0);
        let span = libm::log1p(device.age_at(oldest, celsius).0 as f64 / HOUR_NS).max(1e-3);
        let wear = |point: usize| {
            let root = libm::sqrt(max_wear) * point as f64 / (wear_points - 1) as f64;
            root * root
        };
        let age = |point: usize| Nanos((libm::expm1(span * point as f64 / (age_points - 1) as f64) * HOUR_NS) as u64);
        let page_types = device.technology.page_types();
        let mut ln_rates = vec![0.0; page_types * wear_points * age_points];
        for wear_point in 0..wear_points {
            let aging = device.aging(&Condition { pe_cycles: wear(wear_point), reads: 0.0, ..*written });
            for age_point in 0..age_points {
                for (page, rate) in aging.at(age(age_point)).pages.iter().enumerate() {
                    ln_rates[(page * wear_points + wear_point) * age_points + age_point] = libm::log(rate.max(LEAST));
                }
            }
        }
        ErrorTable {
            page_types,
            wear_points,
            age_points,
            max_wear,
            wear_scale: (wear_points - 1) as f64 / libm::sqrt(max_wear),
            age_scale: (age_points - 1) as f64 / span,
            age_factor: device.heat(celsius),
            ln_rates,
            read: (0..wear_points).map(|point| device.read_term(wear(point)).0).collect(),
            read_exponent: device.read_term(max_wear).1,
        }
    }

    /// Returns the error rate of a page. Beyond the last grid point of wear or age, the value at the last point is
    /// returned.
    pub fn rate(&self, page_type: usize, pe_cycles: f64, age: Nanos, reads: f64) -> f64 {
        libm::exp(self.ln_rate(page_type, pe_cycles, age, reads))
    }

    /// Returns the logarithm of the error rate of a page ([`ErrorTable::rate`]).
    #[inline]
    pub fn ln_rate(&self, page_type: usize, pe_cycles: f64, age: Nanos, reads: f64) -> f64 {
        let (wear, wear_share) = split(pe_cycles.clamp(0.0, self.max_wear).sqrt() * self.wear_scale, self.wear_points);
        let aged = libm::log1p(age.0 as f64 * self.age_factor * (1.0 / HOUR_NS));
        let (age, age_share) = split(aged * self.age_scale, self.age_points);
        let at = ((page_type % self.page_types) * self.wear_points + wear) * self.age_points + age;
        let between = |low: f64, high: f64, share: f64| low + (high - low) * share;
        let fresh = between(self.ln_rates[at], self.ln_rates[at + 1], age_share);
        let worn = between(self.ln_rates[at + self.age_points], self.ln_rates[at + self.age_points + 1], age_share);
        let rate = between(fresh, worn, wear_share);
        if reads <= 0.0 {
            return rate;
        }
        let each = between(self.read[wear], self.read[wear + 1], wear_share);
        let times = if self.read_exponent == 1.0 { reads } else { libm::pow(reads, self.read_exponent) };
        libm::log((libm::exp(rate) + each * times).min(0.5))
    }
}

/// Returns the grid point at or below a position on an axis, and the distance of the position from it, in grid points.
#[inline]
fn split(place: f64, points: usize) -> (usize, f64) {
    let place = place.clamp(0.0, (points - 1) as f64);
    let below = (place as usize).min(points - 2);
    (below, place - below as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::tests::ofwar;
    use crate::voltage::VoltageModel;
    use kit::Rng;

    const DAY: u64 = 86_400_000_000_000;

    /// From a tenth of the wear on and after the first hour, a lookup is within 3 % of the exact value.
    #[test]
    fn a_look_is_near_what_is_computed() {
        let mlc = ofwar();
        let tlc = VoltageModel { verify: vec![2.649, 3.040, 3.482, 3.856, 4.326, 4.774, 5.287], ..crate::voltage::nominal() };
        let law = |name: &str| Technology::Law(crate::laws::find(name).expect("a law"));
        let bell = crate::relaxation::BellLevels::nominal();
        let cases = [
            (mlc.clone(), 0.2, 20_000.0),
            (mlc.clone(), 0.4, 15_000.0),
            (Device { technology: Technology::Voltage(tlc), ..mlc.clone() }, 0.1, 4_500.0),
            (Device { technology: Technology::Bell(bell), ..mlc.clone() }, 0.25, 4_500.0),
            (Device { technology: law("mlc-2y"), disturb: None, ..mlc.clone() }, 0.0, 10_000.0),
            (Device { technology: law("tlc-72l"), disturb: None, ..mlc.clone() }, 0.0, 4_500.0),
        ];
        for (device, step, max_wear) in cases {
            let written = Condition { step, ..Condition::default() };
            let table = ErrorTable::build(&device, &written, max_wear, Nanos(3_653 * DAY), 40.0);
            let mut rng = Rng::stream(1, "table");
            for _ in 0..40 {
                let condition = Condition {
                    pe_cycles: (0.1 + 0.9 * rng.unit()) * max_wear,
                    age: Nanos((libm::exp(rng.unit() * libm::log(3_653.0 * 24.0)) * HOUR_NS) as u64),
                    reads: rng.unit() * 1e3,
                    ..written
                };
                let exact = device.estimate(&condition);
                for (page, exact) in exact.pages.iter().enumerate() {
                    let found = table.rate(page, condition.pe_cycles, condition.age, condition.reads);
                    assert!((found / exact - 1.0).abs() < 0.03, "{condition:?} page {page}: {found:e}, not {exact:e}");
                }
            }
        }
        let table = ErrorTable::build(&mlc, &Condition { step: 0.3, ..Condition::default() }, 20_000.0, Nanos(3_653 * DAY), 40.0);
        assert_eq!(table.rate(0, 1e9, Nanos(u64::MAX), 0.0), table.rate(0, 20_000.0, Nanos(3_653 * DAY), 0.0));
    }

    #[test]
    fn heat_is_in_the_table() {
        let device = ofwar();
        let written = Condition { step: 0.3, ..Condition::default() };
        let hot = ErrorTable::build(&device, &written, 20_000.0, Nanos(365 * DAY), 70.0);
        let exact =
            device.estimate(&Condition { pe_cycles: 8_000.0, age: device.age_at(Nanos(9 * DAY), 70.0), ..written }).worst();
        let found = hot.rate(0, 8_000.0, Nanos(9 * DAY), 0.0).max(hot.rate(1, 8_000.0, Nanos(9 * DAY), 0.0));
        assert!((found / exact - 1.0).abs() < 0.03, "{found:e} {exact:e}");
    }
}
