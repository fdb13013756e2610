//! Temperature of the flash by a first-order model, and the throttling that follows from it.
//!
//! The flash heats a body of one temperature, which loses heat to its surroundings through one resistance:
//! `c_th dT/dt = P - (T - ambient) / r_th`. The power is averaged over steps of equal length, in which the equation is
//! solved exactly: the temperature goes to `ambient + r_th P` by `exp(-step / (r_th c_th))`. Known error: a real drive
//! has several bodies, and the temperature of a junction follows its power within milliseconds.

use kit::archive::MAX_COUNTED;
use kit::{Nanos, Power, Problems, SimTime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Temperatures that a description may state \[degrees Celsius\].
const RANGE: std::ops::RangeInclusive<f64> = -100.0..=500.0;
/// Steps of the model.
const STEPS: std::ops::RangeInclusive<Nanos> = Nanos(10_000)..=Nanos(10_000_000_000);
/// Largest part of the time constant that a step may be.
const STEP_SHARE: f64 = 0.1;
/// Difference from its limit at which a temperature has reached it \[K\].
const REACHED: f64 = 1e-9;
/// Rows of the temperature over time.
const ROWS: usize = 4096;

/// Thermal model of the flash, with a lower cap on its power while it is hot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ThermalConfig {
    /// Temperature of the surroundings \[degrees Celsius\].
    pub ambient: f64,
    /// Thermal resistance between the flash and its surroundings \[K/W\].
    pub r_th: f64,
    /// Heat capacity of the flash and what is as warm \[J/K\].
    pub c_th: f64,
    /// Temperature at which the flash is hot \[degrees Celsius\].
    pub throttle_at: f64,
    /// Temperature under which it is no longer hot \[degrees Celsius\].
    pub release_at: f64,
    /// Cap on the power of the flash while it is hot. Operations in progress go on.
    pub cap: Power,
    /// Constant power of other parts that heat the same body.
    #[serde(default)]
    pub other: Power,
    /// Temperature at the beginning. Absent: that of the surroundings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<f64>,
    /// Length of the steps over which the power is averaged.
    #[serde(default = "step")]
    pub step: Nanos,
}

fn step() -> Nanos {
    Nanos(10_000_000)
}

impl ThermalConfig {
    /// Adds what is wrong with the model.
    pub(super) fn problems(&self, problems: &mut Problems) {
        let mut temperature = |field: &str, value: f64| {
            if !RANGE.contains(&value) {
                let what = format!("{value}: expected {} to {} degrees Celsius", RANGE.start(), RANGE.end());
                problems.add(format!("power.thermal.{field}"), what);
            }
        };
        temperature("ambient", self.ambient);
        temperature("throttle_at", self.throttle_at);
        temperature("release_at", self.release_at);
        temperature("initial", self.initial.unwrap_or(self.ambient));
        for (field, value, unit) in [("r_th", self.r_th, "K/W"), ("c_th", self.c_th, "J/K")] {
            if !(value > 0.0 && value <= 1e6) {
                problems.add(format!("power.thermal.{field}"), format!("{value}: expected more than 0 and at most 1e6 {unit}"));
            }
        }
        if self.release_at >= self.throttle_at {
            let what = format!("{}: expected less than throttle_at = {}", self.release_at, self.throttle_at);
            problems.add("power.thermal.release_at", what);
        }
        if self.release_at <= self.ambient {
            let what =
                format!("{}: expected more than ambient = {}, which the flash never falls under", self.release_at, self.ambient);
            problems.add("power.thermal.release_at", what);
        }
        let most = self.r_th * self.c_th * STEP_SHARE;
        if !STEPS.contains(&self.step) {
            problems.add("power.thermal.step", format!("{}: expected {} to {}", self.step, STEPS.start(), STEPS.end()));
        } else if self.step.0 as f64 > most * 1e9 {
            let what = format!("{}: expected at most a tenth of the time constant r_th x c_th, {most} s", self.step);
            problems.add("power.thermal.step", what);
        }
    }
}

/// Temperatures that a saved flash may claim: absolute zero, and more than any chip bears \[degrees Celsius\].
const COLDEST: f64 = -273.15;
const HOTTEST: f64 = 1e6;

/// The state of the model at rest, for a saved drive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThermalImage {
    temperature: f64,
    is_hot: bool,
    /// Instant of the next step, and the charge since the last one \[uA ns\].
    next: SimTime,
    charge: u64,
}

/// Temperature in a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct ThermalReport {
    /// Temperature at the start \[degrees Celsius\].
    pub first: f64,
    /// Mean over the steps; `None` before the first.
    pub mean: Option<f64>,
    /// Greatest temperature at a step, or at the beginning.
    pub peak: f64,
    /// Temperature at the last step.
    pub last: f64,
    /// Time from a step at which the flash was hot to the next \[ns\], in sum.
    pub throttled_ns: u64,
    /// Number of times that it became hot.
    pub throttles: u64,
    /// Rows of equal length \[ns\] since the first step of the measurement: temperature at their last step.
    pub rows: Vec<f64>,
    /// Length of a row.
    pub row_ns: u64,
    /// Time from the start of the measurement to its first step \[ns\].
    pub first_ns: u64,
    /// Length of a step \[ns\].
    pub step_ns: u64,
}

impl ThermalReport {
    /// Returns the temperature at the end of the last row up to a time since the start of the measurement; before the
    /// first step, that at the start.
    pub fn at(&self, time: u64) -> f64 {
        // The first step ends a row if rows are steps.
        let rows = (time + self.step_ns).saturating_sub(self.first_ns) / self.row_ns;
        let last = rows.min(self.rows.len() as u64).checked_sub(1);
        last.map_or(self.first, |row| self.rows[row as usize])
    }
}

/// The thermal model.
#[derive(Clone, Debug)]
pub(super) struct Thermal {
    ambient: f64,
    r_th: f64,
    /// Watts of other parts, and watts for an average current of 1 uA.
    other: f64,
    watts: f64,
    throttle_at: f64,
    release_at: f64,
    step: u64,
    /// Part of a difference that is left after a step.
    decay: f64,
    /// Time constant \[ns\].
    tau: f64,
    temperature: f64,
    is_hot: bool,
    next: SimTime,
    /// Charge of the measurement at the last step \[uA ns\]; negative if that was before the measurement.
    counted: i128,
    start_next: SimTime,
    start: SimTime,
    first: f64,
    sum: f64,
    steps: u64,
    peak: f64,
    throttled_ns: u64,
    throttles: u64,
    /// Temperature at the last step of each row that is complete.
    rows: Vec<f64>,
    /// Steps in the row that is not complete; a row has `1 << shift`.
    in_row: u64,
    shift: u32,
}

impl Thermal {
    /// Returns the model of a flash with a supply of `millivolts`.
    pub fn new(config: &ThermalConfig, millivolts: u64) -> Thermal {
        let tau = config.r_th * config.c_th * 1e9;
        let temperature = config.initial.unwrap_or(config.ambient);
        Thermal {
            ambient: config.ambient,
            r_th: config.r_th,
            other: config.other.0 as f64 * 1e-9,
            watts: millivolts as f64 * 1e-9,
            throttle_at: config.throttle_at,
            release_at: config.release_at,
            step: config.step.0,
            decay: libm::exp(-(config.step.0 as f64) / tau),
            tau,
            temperature,
            is_hot: temperature >= config.throttle_at,
            next: SimTime(config.step.0),
            counted: 0,
            start_next: SimTime(config.step.0),
            start: SimTime::ZERO,
            first: temperature,
            sum: 0.0,
            steps: 0,
            peak: temperature,
            throttled_ns: 0,
            throttles: 0,
            rows: Vec::with_capacity(ROWS),
            in_row: 0,
            shift: 0,
        }
    }

    /// Returns the instant of the next step.
    #[inline]
    pub fn next(&self) -> SimTime {
        self.next
    }

    /// Returns the length of a step \[ns\].
    pub fn step_ns(&self) -> u64 {
        self.step
    }

    /// Returns true if the flash is hot.
    #[inline]
    pub fn is_hot(&self) -> bool {
        self.is_hot
    }

    /// Begins a new measurement at `now`, when its charge would have been `charge`.
    pub fn restart(&mut self, now: SimTime, charge: u128) {
        self.counted -= charge as i128;
        (self.start, self.start_next) = (now, self.next);
        (self.sum, self.steps, self.throttled_ns, self.throttles) = (0.0, 0, 0, 0);
        (self.first, self.peak) = (self.temperature, self.temperature);
        self.rows.clear();
        (self.in_row, self.shift) = (0, 0);
    }

    /// Makes the next step, at which the charge of the measurement is `charge`.
    pub fn step(&mut self, charge: u128) {
        let current = (charge as i128 - self.counted) as f64 / self.step as f64;
        self.counted = charge as i128;
        self.go_on(self.limit(current));
    }

    /// Makes `count` steps in which the same current flows \[uA\].
    pub fn steps(&mut self, count: u64, current: u64) {
        let limit = self.limit(current as f64);
        self.counted += i128::from(current) * i128::from(self.step) * i128::from(count);
        for done in 0..count {
            if self.temperature == limit && self.is_hot == self.is_hot_at(limit) {
                return self.stay(limit, count - done);
            }
            self.go_on(limit);
        }
    }

    /// Returns the temperature that an average current \[uA\] leads to.
    fn limit(&self, current: f64) -> f64 {
        self.ambient + self.r_th * (self.other + current * self.watts)
    }

    /// Makes a step towards a limit.
    fn go_on(&mut self, limit: f64) {
        self.throttled_ns += if self.is_hot { self.step } else { 0 };
        self.temperature = limit + (self.temperature - limit) * self.decay;
        // So that many steps at once are as one by one.
        if (self.temperature - limit).abs() < REACHED {
            self.temperature = limit;
        }
        let was_hot = self.is_hot;
        self.is_hot = self.is_hot_at(self.temperature);
        self.throttles += u64::from(self.is_hot && !was_hot);
        self.peak = self.peak.max(self.temperature);
        self.sum += self.temperature;
        self.steps += 1;
        self.next = self.next + Nanos(self.step);
        self.record(1);
    }

    /// Makes steps at a temperature that does not change any more.
    fn stay(&mut self, limit: f64, count: u64) {
        self.throttled_ns += if self.is_hot { self.step * count } else { 0 };
        self.sum += limit * count as f64;
        self.steps += count;
        self.next = self.next + Nanos(self.step * count);
        self.record(count);
    }

    fn is_hot_at(&self, temperature: f64) -> bool {
        temperature >= self.throttle_at || self.is_hot && temperature >= self.release_at
    }

    /// Adds steps at the temperature to the rows.
    fn record(&mut self, mut count: u64) {
        while count > 0 {
            let room = (1u64 << self.shift) - self.in_row;
            let taken = count.min(room);
            (self.in_row, count) = (self.in_row + taken, count - taken);
            if taken == room {
                self.rows.push(self.temperature);
                self.in_row = 0;
                if self.rows.len() == ROWS {
                    self.merge_rows();
                }
            }
        }
    }

    fn merge_rows(&mut self) {
        for index in 0..ROWS / 2 {
            self.rows[index] = self.rows[2 * index + 1];
        }
        self.rows.truncate(ROWS / 2);
        self.shift += 1;
    }

    /// Leaves a time `off` without power out of the measurement; the flash cools down meanwhile.
    pub fn exclude(&mut self, off: Nanos) {
        self.temperature = self.ambient + (self.temperature - self.ambient) * libm::exp(-(off.0 as f64) / self.tau);
        self.is_hot = self.is_hot_at(self.temperature);
        (self.next, self.start, self.start_next) = (self.next + off, self.start + off, self.start_next + off);
    }

    /// Returns the state of a flash at rest, when the charge of the measurement is `charge`.
    pub fn image(&self, charge: u128) -> ThermalImage {
        let since = (charge as i128 - self.counted) as u64;
        ThermalImage { temperature: self.temperature, is_hot: self.is_hot, next: self.next, charge: since }
    }

    /// Restores the state of a saved flash, whose measurement begins anew at `now` with no charge. Returns false if it
    /// can be no state of this model: a step is due at once or within one, and the temperature is one that a flash has.
    pub fn restore(&mut self, image: &ThermalImage, now: SimTime) -> bool {
        (self.temperature, self.is_hot, self.next) = (image.temperature, image.is_hot, image.next);
        self.counted = -i128::from(image.charge);
        let due = image.next.0.checked_sub(now.0).is_some_and(|left| left <= self.step);
        due && (COLDEST..=HOTTEST).contains(&image.temperature) && image.charge <= MAX_COUNTED
    }

    /// Returns the report.
    pub fn report(&self) -> ThermalReport {
        let open = (self.in_row > 0).then_some(self.temperature);
        ThermalReport {
            first: self.first,
            mean: (self.steps > 0).then(|| self.sum / self.steps as f64),
            peak: self.peak,
            last: self.temperature,
            throttled_ns: self.throttled_ns,
            throttles: self.throttles,
            rows: self.rows.iter().copied().chain(open).collect(),
            row_ns: self.step << self.shift,
            first_ns: self.start_next.since(self.start).0,
            step_ns: self.step,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 K/W and 2 J/K: a time constant of 20 s. At 1 V, 3 A are 3 W, which lead to 30 K above the surroundings.
    const CURRENT: u64 = 3_000_000;

    fn model(step: u64) -> Thermal {
        let config = ThermalConfig {
            ambient: 25.0,
            r_th: 10.0,
            c_th: 2.0,
            throttle_at: 50.0,
            release_at: 40.0,
            cap: Power(1),
            other: Power(0),
            initial: None,
            step: Nanos(step),
        };
        let mut problems = Problems::default();
        config.problems(&mut problems);
        assert!(problems.0.is_empty(), "{problems}");
        Thermal::new(&config, 1_000)
    }

    /// Makes a step at the charge of a constant current.
    fn step(thermal: &mut Thermal, current: u64) {
        let charge = thermal.counted + i128::from(current * thermal.step);
        thermal.step(charge as u128);
    }

    #[test]
    fn constant_power_leads_exponentially_to_its_temperature() {
        for width in [10_000_000, 1_000_000_000] {
            let mut thermal = model(width);
            for count in 1..=60_000_000_000 / width {
                step(&mut thermal, CURRENT);
                let expected = 55.0 - 30.0 * (-((count * width) as f64) / 20e9).exp();
                assert!((thermal.temperature - expected).abs() < 1e-9, "{count} steps of {width} ns");
            }
            // Without power for 20 s, and for 20 s off: a factor of 1/e each.
            let above = thermal.temperature - 25.0;
            thermal.steps(20_000_000_000 / width, 0);
            thermal.exclude(Nanos(20_000_000_000));
            assert!((thermal.temperature - 25.0 - above * (-2.0f64).exp()).abs() < 1e-9);
        }
    }

    /// From 25 to 50 degrees it takes 20 s x ln 6, so that the flash is hot at the next step; from there to 40 degrees
    /// without power 20 s x ln of the ratio of the temperatures above the surroundings. In between it stays hot.
    #[test]
    fn the_flash_is_hot_between_both_temperatures() {
        let mut thermal = model(10_000_000);
        let becomes_hot = (20e9 * 6f64.ln() / 1e7).ceil() as u64;
        for count in 1..=becomes_hot {
            assert!(!thermal.is_hot());
            step(&mut thermal, CURRENT);
            assert_eq!(thermal.is_hot(), count == becomes_hot, "step {count}");
        }
        let cools = (20e9 * ((thermal.temperature - 25.0) / 15.0).ln() / 1e7).ceil() as u64;
        for _ in 0..cools {
            assert!(thermal.is_hot());
            step(&mut thermal, 0);
        }
        assert!(!thermal.is_hot());
        (0..100).for_each(|_| step(&mut thermal, 0));
        let report = thermal.report();
        assert_eq!((report.throttles, report.throttled_ns), (1, cools * 10_000_000));
        assert!(report.peak >= 50.0 && report.peak < 50.02);
    }

    #[test]
    fn many_steps_at_once_are_as_one_by_one() {
        for (current, count) in [(CURRENT, 3_584), (0, 5_000), (CURRENT / 2, 9_000), (0, 100_000)] {
            let (mut one, mut all) = (model(10_000_000), model(10_000_000));
            for thermal in [&mut one, &mut all] {
                (0..4_000).for_each(|_| step(thermal, CURRENT));
            }
            (0..count).for_each(|_| step(&mut one, current));
            all.steps(count, current);
            let (one, all) = (one.report(), all.report());
            assert_eq!(
                (one.throttles, one.throttled_ns, one.row_ns, one.rows.len()),
                (all.throttles, all.throttled_ns, all.row_ns, all.rows.len())
            );
            assert!(one.rows.iter().zip(&all.rows).all(|(one, all)| (one - all).abs() < 1e-8));
            assert!((one.mean.unwrap_or(0.0) - all.mean.unwrap_or(1.0)).abs() < 1e-8, "{count}");
        }
    }

    #[test]
    fn rows_have_the_temperature_at_their_ends() {
        let mut thermal = model(10_000_000);
        thermal.steps(10_000, CURRENT);
        let report = thermal.report();
        assert!(report.rows.len() < ROWS && report.row_ns == 4 * 10_000_000);
        for time in [0, 9_999_999, 40_000_000, 1_000_000_000, 99_960_000_000] {
            let rows = time / report.row_ns;
            let expected = 55.0 - 30.0 * (-((rows * report.row_ns) as f64) / 20e9).exp();
            assert!((report.at(time) - expected).abs() < 1e-9, "{time}");
        }
    }

    #[test]
    fn models_that_make_no_sense_are_refused() {
        let found = |change: fn(&mut ThermalConfig)| {
            let mut config = ThermalConfig {
                ambient: 25.0,
                r_th: 10.0,
                c_th: 2.0,
                throttle_at: 50.0,
                release_at: 40.0,
                cap: Power(1),
                other: Power(0),
                initial: None,
                step: super::step(),
            };
            change(&mut config);
            let mut problems = Problems::default();
            config.problems(&mut problems);
            problems.to_string()
        };
        assert_eq!(found(|_| ()), "");
        assert!(found(|config| config.r_th = -1.0).contains("power.thermal.r_th: -1: expected more than 0"));
        assert!(found(|config| config.c_th = f64::NAN).contains("power.thermal.c_th"));
        assert!(
            found(|config| config.release_at = 50.0).contains("power.thermal.release_at: 50: expected less than throttle_at")
        );
        assert!(found(|config| config.ambient = 45.0).contains("expected more than ambient = 45"));
        assert!(found(|config| config.throttle_at = f64::INFINITY).contains("power.thermal.throttle_at"));
        assert!(found(|config| config.c_th = 0.001).contains("power.thermal.step: 10ms: expected at most a tenth"));
        assert!(found(|config| config.step = Nanos(1)).contains("power.thermal.step"));
    }
}
