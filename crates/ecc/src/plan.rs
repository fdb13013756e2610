//! Recovery of a read whose decoding fails, and its average cost.

use crate::block_code::BlockCode;
use crate::regulator::{Regulator, transfers};
use kit::{Nanos, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest number of steps or levels of a plan.
const MAX_STEPS: u32 = 64;
/// Longest time of a sensing, or of the setting of read levels.
const LONGEST_STEP: Nanos = Nanos(1_000_000_000);

/// One attempt at a read: sensing, transfers and decoding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attempt {
    /// Number of times that the page is sensed, which occupies the die.
    pub senses: u32,
    /// Number of read commands that this takes.
    pub commands: u32,
    /// Time of one sensing; `None` for the read time of the flash.
    pub sense_time: Option<Nanos>,
    /// Number of times that the page's data is transferred over the channel.
    pub transfers: u32,
    /// Number of data phases in which the transfers are made. Each requests the channel for itself, so that transfers
    /// of other dies may come between.
    pub data_phases: u32,
    /// Factor on the time of one sensing.
    pub sense_scale: f64,
    /// True if a command that sets the read levels (SET FEATURES) precedes the read.
    pub sets_levels: bool,
    /// Additional time of the attempt in the die, such as for setting the read levels.
    pub extra_time: Nanos,
    /// Factor on the error rate, relative to the first read.
    pub error_rate_factor: f64,
    /// Soft levels available to the decoder, those of earlier attempts included.
    pub soft_levels: u32,
    /// Shift of the read voltages \[mV\], if the plan gives one.
    pub shift_mv: Option<i32>,
}

impl Attempt {
    /// A plain read with a hard decision.
    pub const PLAIN: Attempt = Attempt {
        senses: 1,
        commands: 1,
        sense_time: None,
        transfers: 1,
        data_phases: 1,
        sense_scale: 1.0,
        sets_levels: false,
        extra_time: Nanos::ZERO,
        error_rate_factor: 1.0,
        soft_levels: 0,
        shift_mv: None,
    };
}

/// Read retry: the page is read again, repeatedly, with shifted read voltages (thesis, section 2.3.1). Each step
/// multiplies the error rate by 1 - 0.20: found (FACTS 6.2, in a published 176-layer QLC model). That model sets no
/// floor on the error rate, so the number of steps bounds the improvement. Up to 20 steps: assumed, of the order of the
/// number recalled for the end of life (FACTS 6.2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReadRetry {
    /// Largest number of steps.
    #[schemars(range(min = 1, max = 64))]
    pub steps: u32,
    /// Steps that the flash takes, one after another, before it delivers the data of one further read.
    #[schemars(range(min = 1, max = 64))]
    pub steps_per_read: u32,
    /// Fraction of the errors that each step removes.
    #[schemars(range(min = 0.0, max = 0.99))]
    pub reduction: f64,
    /// Additional time of a step in the die, besides sensing: for setting the read levels, tFEAT, at most 1 us
    /// \[recalled\].
    pub step_time: Nanos,
    /// Factor on the sensing time of a step (thesis, fig. 2.18: a step senses for longer). 1: assumed.
    #[schemars(range(min = 0.001, max = 1000.0))]
    pub sense_scale: f64,
    /// Shift of the read voltages at each step \[mV\], one for each step; none by default. The error rate follows
    /// `reduction` whatever the shifts.
    pub shifts_mv: Vec<i32>,
}

impl Default for ReadRetry {
    fn default() -> Self {
        ReadRetry {
            steps: 20,
            steps_per_read: 1,
            reduction: 0.20,
            step_time: Nanos::ZERO,
            sense_scale: 1.0,
            shifts_mv: Vec::new(),
        }
    }
}

/// Soft decision, level by level: each level senses the page twice, at references on either side of the hard one.
/// Stated (thesis, section 2.3.2, table 2.5); two levels as in its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Soft {
    /// Largest number of levels.
    #[schemars(range(min = 1, max = 64))]
    pub levels: u32,
}

impl Default for Soft {
    fn default() -> Self {
        Soft { levels: 2 }
    }
}

/// Sensing with an increasing number of reference voltages (AGCR, FAST'16): each attempt senses the page again with all
/// its references \[assumed\]. A single number describes a read whose class is known in advance. N references are the
/// hard one and (N - 1) / 2 pairs around it, one pair for each soft level: 0, 1 and 3 levels for N = 1, 3 and 7. The
/// error rates that these correct are the limits of the code, for AGCR 2e-3, 6e-3 and 1.1e-2 \[assumed, FACTS 3\].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sensing {
    /// Number of reference voltages of each attempt, in ascending order.
    pub references: Vec<u32>,
    /// Time to sense the page with one reference.
    pub alpha: Nanos,
    /// Time of one transfer, for the cost of a read as defined in the source; a simulated drive uses the time of its
    /// own channel.
    pub beta: Nanos,
}

impl Default for Sensing {
    fn default() -> Self {
        let Regulator { alpha, beta, .. } = Regulator::default();
        Sensing { references: vec![1, 3, 7], alpha, beta }
    }
}

/// Parts of the flash that no other operation may use from the first repetition of a read until the read is corrected
/// or given up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hold {
    /// Other operations come between the attempts.
    #[default]
    Nothing,
    /// The die of the read.
    Die,
    /// The die of the read and its channel.
    Channel,
}

/// Place of an attempt to repeat a read among the reads that wait for its die.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryPlace {
    /// By the age of the first attempt: before the reads that were queued after that.
    #[default]
    Age,
    /// Behind all that wait, as a read that arrives now.
    Back,
}

/// Recovery of a read whose decoding fails.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
// For a variant without a comment, the schema uses the comment of its parameters.
#[allow(missing_docs)]
pub enum Plan {
    /// No recovery: the page is lost.
    #[default]
    None,
    ReadRetry(ReadRetry),
    /// Soft decision with both sensings of a level transferred: 2n reads and 2n transfers for n levels (SD).
    Soft(Soft),
    /// Soft decision with both sensings of a level combined in the flash: 2n reads and n transfers for n levels (NASD).
    Nasd(Soft),
    Sensing(Sensing),
}

impl Plan {
    /// Returns the attempts of a read in order, the first read included. Steps beyond their bound are left out.
    pub fn attempts(&self) -> Vec<Attempt> {
        let mut attempts = vec![Attempt::PLAIN];
        match self {
            Plan::None => {}
            Plan::ReadRetry(retry) => attempts.extend(retry.attempts()),
            Plan::Soft(soft) => attempts.extend(soft.attempts(2)),
            Plan::Nasd(soft) => attempts.extend(soft.attempts(1)),
            Plan::Sensing(sensing) => attempts = sensing.attempts(),
        }
        attempts
    }

    /// Returns the numbers of sensings and transfers after the first attempt, if all attempts are made.
    pub fn totals(&self) -> (u64, u64) {
        let sum = |(senses, transfers), attempt: &Attempt| {
            (senses + u64::from(attempt.senses), transfers + u64::from(attempt.transfers))
        };
        self.attempts().iter().skip(1).fold((0, 0), sum)
    }

    /// Adds every invalid parameter to `problems`, with paths that begin with `place`.
    pub fn problems(&self, place: &str, problems: &mut Problems) {
        let mut bounded = |field: &str, value: u32| {
            if !(1..=MAX_STEPS).contains(&value) {
                problems.add(format!("{place}.{field}"), format!("{value}: expected 1..={MAX_STEPS}"));
            }
        };
        match self {
            Plan::None => {}
            Plan::ReadRetry(retry) => {
                bounded("steps", retry.steps);
                bounded("steps_per_read", retry.steps_per_read);
                retry.problems(place, problems);
            }
            Plan::Soft(soft) | Plan::Nasd(soft) => bounded("levels", soft.levels),
            Plan::Sensing(sensing) => sensing.problems(place, problems),
        }
    }
}

impl ReadRetry {
    fn attempts(&self) -> impl Iterator<Item = Attempt> {
        let kept = if self.reduction.is_nan() { 1.0 } else { 1.0 - self.reduction.clamp(0.0, 1.0) };
        let (steps, each) = (self.steps.min(MAX_STEPS), self.steps_per_read.clamp(1, MAX_STEPS));
        (0..steps).step_by(each as usize).map(move |before| {
            let taken = each.min(steps - before);
            let step = before + taken;
            Attempt {
                senses: taken,
                error_rate_factor: libm::pow(kept, f64::from(step)),
                extra_time: Nanos(self.step_time.0 * u64::from(taken)),
                sense_scale: self.sense_scale,
                sets_levels: true,
                shift_mv: self.shifts_mv.get(step as usize - 1).copied(),
                ..Attempt::PLAIN
            }
        })
    }

    fn problems(&self, place: &str, problems: &mut Problems) {
        if !(0.0..=0.99).contains(&self.reduction) {
            problems.add(format!("{place}.reduction"), format!("{}: expected 0..=0.99", self.reduction));
        }
        if !(0.001..=1000.0).contains(&self.sense_scale) {
            problems.add(format!("{place}.sense_scale"), format!("{}: expected 0.001..=1000", self.sense_scale));
        }
        if self.step_time > LONGEST_STEP {
            problems.add(format!("{place}.step_time"), format!("{}: expected at most 1s", self.step_time));
        }
        let shifts = self.shifts_mv.len();
        if shifts != 0 && shifts != self.steps as usize {
            problems.add(
                format!("{place}.shifts_mv"),
                format!("{shifts} shifts: expected one for each of {} steps, or none", self.steps),
            );
        }
    }
}

impl Soft {
    /// Returns one attempt for each level, with two sensings and `transfers` transfers.
    fn attempts(self, transfers: u32) -> impl Iterator<Item = Attempt> {
        (1..=self.levels.min(MAX_STEPS)).map(move |level| Attempt {
            senses: 2,
            commands: 2,
            transfers,
            data_phases: transfers,
            soft_levels: level,
            ..Attempt::PLAIN
        })
    }
}

impl Sensing {
    /// Returns the regulator with the `alpha` and `beta` of this plan.
    pub fn regulator(&self) -> Regulator {
        Regulator { alpha: self.alpha, beta: self.beta, ..Regulator::default() }
    }

    fn attempts(&self) -> Vec<Attempt> {
        let attempt = |&references: &u32| Attempt {
            senses: references,
            sense_time: Some(self.alpha),
            transfers: transfers(references),
            // The hard reference, and pairs around it.
            soft_levels: references.saturating_sub(1) / 2,
            ..Attempt::PLAIN
        };
        self.references.iter().take(MAX_STEPS as usize).map(attempt).collect()
    }

    fn problems(&self, place: &str, problems: &mut Problems) {
        let found = &self.references;
        let within = found.len() <= MAX_STEPS as usize && found.iter().all(|references| (1..=255).contains(references));
        if found.is_empty() || !within || found.windows(2).any(|pair| pair[1] <= pair[0]) {
            let wanted = "expected one to 64 numbers of 1..=255, each above the one before";
            problems.add(format!("{place}.references"), format!("{found:?}: {wanted}"));
        }
        if self.alpha == Nanos::ZERO {
            problems.add(format!("{place}.alpha"), "0ns: expected a time above zero");
        } else if self.alpha > LONGEST_STEP {
            problems.add(format!("{place}.alpha"), format!("{}: expected at most 1s", self.alpha));
        }
    }
}

/// Average cost of a read, and the probability that it fails.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Expected {
    /// Mean number of attempts.
    pub attempts: f64,
    /// Mean number of sensings.
    pub senses: f64,
    /// Mean number of transfers.
    pub transfers: f64,
    /// Mean time besides sensing, transfers and decoding \[ns\].
    pub extra_nanos: f64,
    /// Probability that the last attempt also fails, so that the page is lost.
    pub failure: f64,
}

/// Returns the average cost of a read, given the probability of failure of each attempt by itself.
///
/// An attempt is made if all before it fail. Failures are taken as fully correlated: a word that a stronger attempt
/// cannot correct would have failed in every weaker one, because both see the errors of the same cells. This is exact
/// for soft levels with a fixed number of correctable errors, and the worst case for read retry \[assumed\]; with
/// independent attempts fewer reads would fail. A read without attempts fails; a probability of NaN counts as one.
pub fn expected_of(attempts: &[Attempt], failures: impl IntoIterator<Item = f64>) -> Expected {
    let mut found = Expected { failure: 1.0, ..Expected::default() };
    for (attempt, failure) in attempts.iter().zip(failures) {
        // At this point `found.failure` is the probability that all earlier attempts failed, so that this one is made.
        found.attempts += found.failure;
        found.senses += found.failure * f64::from(attempt.senses);
        found.transfers += found.failure * f64::from(attempt.transfers);
        found.extra_nanos += found.failure * attempt.extra_time.0 as f64;
        found.failure = found.failure.min(if failure.is_nan() { 1.0 } else { failure.max(0.0) });
    }
    found
}

/// Returns the average cost of reading a page at an error rate of `rate`: `codewords` codewords, all of which must be
/// decoded.
pub fn expected(plan: &Plan, code: &impl BlockCode, rate: f64, codewords: u64) -> Expected {
    let attempts = plan.attempts();
    let failures =
        attempts.iter().map(|attempt| code.page_failure(rate * attempt.error_rate_factor, attempt.soft_levels, codewords));
    expected_of(&attempts, failures)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Bch, Ldpc, Prepared};
    use kit::bisect::bisect_last_true;

    fn plans() -> [Plan; 5] {
        [
            Plan::None,
            Plan::ReadRetry(ReadRetry::default()),
            Plan::Soft(Soft::default()),
            Plan::Nasd(Soft::default()),
            Plan::Sensing(Sensing::default()),
        ]
    }

    /// Values of table 2.5 of the thesis.
    #[test]
    fn soft_levels_sense_and_transfer_what_the_table_says() {
        for n in 1..=4 {
            assert_eq!(Plan::Soft(Soft { levels: n }).totals(), (2 * u64::from(n), 2 * u64::from(n)));
            assert_eq!(Plan::Nasd(Soft { levels: n }).totals(), (2 * u64::from(n), u64::from(n)));
        }
        assert_eq!(Plan::None.totals(), (0, 0));
        assert_eq!(Plan::Soft(Soft { levels: u32::MAX }).totals(), (128, 128), "bounded");
        let levels: Vec<u32> = Plan::Nasd(Soft { levels: 2 }).attempts().iter().map(|attempt| attempt.soft_levels).collect();
        assert_eq!(levels, [0, 1, 2]);
    }

    #[test]
    fn retries_lower_the_error_rate_step_by_step() {
        let retry = ReadRetry { steps: 3, shifts_mv: vec![-20, -40, 20], step_time: Nanos(5000), ..ReadRetry::default() };
        let attempts = Plan::ReadRetry(retry).attempts();
        let factors: Vec<f64> = attempts.iter().map(|attempt| attempt.error_rate_factor).collect();
        for (found, expected) in factors.iter().zip([1.0, 0.8, 0.64, 0.512]) {
            assert!((found - expected).abs() < 1e-12, "{factors:?}");
        }
        assert_eq!(
            attempts[2],
            Attempt {
                shift_mv: Some(-40),
                extra_time: Nanos(5000),
                error_rate_factor: factors[2],
                sets_levels: true,
                ..Attempt::PLAIN
            }
        );
        // At three times the limit for 1e-2, the first read and two steps (2.4 and 1.92 times the limit) fail; the
        // third (1.54) fails nearly always, the fourth (1.23) often, the fifth (0.98) hardly ever.
        let code = Bch::default();
        let limit = code.limit(0, 1e-2);
        let found = expected(&Plan::ReadRetry(ReadRetry::default()), &code, 3.0 * limit, 1);
        let by_hand = 4.0 + [1.536, 1.2288, 0.98304].map(|times| code.failure(times * limit, 0)).iter().sum::<f64>();
        assert!((found.attempts - by_hand).abs() < 1e-4 && (5.3..5.5).contains(&by_hand), "{found:?}, by hand {by_hand}");
        assert!(found.senses == found.attempts && found.failure < 1e-100, "{found:?}");
    }

    #[test]
    fn sensing_costs_what_the_regulator_says() {
        let sensing = Sensing::default();
        let costs = sensing.attempts().into_iter().map(|attempt| {
            let senses = attempt.sense_time.expect("its own").0 * u64::from(attempt.senses);
            Nanos(senses + sensing.beta.0 * u64::from(attempt.transfers))
        });
        assert!(costs.eq([1, 3, 7].map(|references| sensing.regulator().cost(references))));
        let levels: Vec<u32> = sensing.attempts().iter().map(|attempt| attempt.soft_levels).collect();
        assert_eq!(levels, [0, 1, 3]);
    }

    /// FACTS 5.2: mean number of soft levels of a read, and the gain of NASD over SD in a drive limited by its
    /// channels: (1 + 2s) / (1 + s) - 1.
    const GAINS: [(f64, f64); 4] = [(0.25, 0.20), (0.06, 0.056), (0.98, 0.50), (0.94, 0.49)];

    #[test]
    fn nasd_gains_what_its_transfers_save() {
        let transfers = |plan: &Plan, failures: &[f64]| expected_of(&plan.attempts(), failures.iter().copied()).transfers;
        for (levels, gain) in GAINS {
            // The mean number of levels, divided between the first and the second level in two ways.
            for first in [0.6, 0.9] {
                let failures = [first * levels, (1.0 - first) * levels, 0.0];
                let (soft, nasd) = (transfers(&plans()[2], &failures), transfers(&plans()[3], &failures));
                assert!((soft - (1.0 + 2.0 * levels)).abs() < 1e-12 && (nasd - (1.0 + levels)).abs() < 1e-12);
                assert!((soft / nasd - 1.0 - gain).abs() < 0.006, "{levels}: {}", soft / nasd - 1.0);
            }
        }
    }

    /// Like `nasd_gains_what_its_transfers_save`, but at the error rate that gives the mean number of levels.
    #[test]
    fn nasd_gains_the_same_from_an_error_rate() {
        let code = Prepared::new(&Ldpc::default(), 2);
        for (levels, gain) in GAINS {
            let soft = |rate: f64| expected(&plans()[2], &code, rate, 1);
            let rate = bisect_last_true(1e-3, 2e-2, 60, |rate| soft(rate).attempts - 1.0 <= levels);
            let nasd = expected(&plans()[3], &code, rate, 1);
            assert!((nasd.attempts - 1.0 - levels).abs() < 1e-6 && nasd.senses == soft(rate).senses);
            assert!((soft(rate).transfers / nasd.transfers - 1.0 - gain).abs() < 0.006, "{levels} at {rate}");
            // Above the limit of the hard decision, and below that of the second soft level.
            assert!((4e-3..1e-2).contains(&rate) && nasd.failure < 1e-11, "{rate} {nasd:?}");
        }
    }

    #[test]
    fn expectations_by_hand() {
        let attempts = Plan::Nasd(Soft { levels: 2 }).attempts();
        let found = expected_of(&attempts, [0.5, 0.25, 0.125]);
        let by_hand = Expected { attempts: 1.75, senses: 2.5, transfers: 1.75, extra_nanos: 0.0, failure: 0.125 };
        assert_eq!(found, by_hand);
        // An attempt that fails more often than the one before brings no improvement.
        assert_eq!(expected_of(&attempts, [0.5, 0.75, 0.5]).failure, 0.5);
        assert_eq!(expected_of(&[], [0.5]), Expected { failure: 1.0, ..Expected::default() });
        assert_eq!(expected_of(&attempts, [f64::NAN, f64::NAN, f64::NAN]).failure, 1.0);
    }

    #[test]
    fn reads_cost_more_and_end_worse_the_higher_the_rate() {
        let codes = [Prepared::new(&Ldpc::default(), 3), Prepared::new(&Bch::default(), 0)];
        for code in &codes {
            for plan in plans() {
                let grid = (0..=100).map(|step| expected(&plan, code, libm::pow(10.0, -5.0 + 0.05 * f64::from(step)), 4));
                let grid: Vec<Expected> = grid.collect();
                let rising = |of: fn(&Expected) -> f64| grid.windows(2).all(|pair| of(&pair[1]) >= of(&pair[0]) * (1.0 - 1e-9));
                assert!(
                    rising(|e| e.attempts) && rising(|e| e.senses) && rising(|e| e.transfers) && rising(|e| e.failure),
                    "{plan:?}"
                );
                assert!(grid.iter().all(|e| e.attempts >= 1.0 && e.failure <= 1.0) && grid[100].failure == 1.0, "{plan:?}");
                let none = (0..=100).map(|step| expected(&Plan::None, code, libm::pow(10.0, -5.0 + 0.05 * f64::from(step)), 4));
                assert!(none.zip(&grid).all(|(none, found)| found.failure <= none.failure), "{plan:?} makes nothing worse");
                for rate in [f64::NAN, -1.0, 0.0, 1.0, f64::INFINITY] {
                    let Expected { attempts, senses, transfers, extra_nanos, failure } = expected(&plan, code, rate, 4);
                    assert!(
                        [attempts, senses, transfers, extra_nanos, failure].iter().all(|value| value.is_finite()),
                        "{plan:?} {rate}"
                    );
                }
            }
        }
    }

    #[derive(Deserialize, Serialize)]
    struct Section {
        plan: Plan,
    }

    #[test]
    fn a_description_gives_a_plan() {
        let read = |plan: &str| toml::from_str::<Section>(&format!("plan = {plan}")).map(|section| section.plan);
        for (text, plan) in ["none", "read_retry", "soft", "nasd", "sensing"].into_iter().zip(plans()) {
            assert_eq!(read(&format!(r#"{{ kind = "{text}" }}"#)).as_ref(), Ok(&plan), "{text}");
            let written = toml::to_string(&Section { plan: plan.clone() }).expect("can be written");
            assert_eq!(toml::from_str::<Section>(&written).map(|section| section.plan).as_ref(), Ok(&plan), "{written}");
            let mut problems = Problems::default();
            plan.problems("ecc.plan", &mut problems);
            assert_eq!(problems, Problems::default());
        }
        assert!(read(r#"{ kind = "soft", steps = 3 }"#).is_err(), "a field of another plan");
        let odd = [
            Plan::Soft(Soft { levels: 0 }),
            Plan::ReadRetry(ReadRetry { reduction: f64::NAN, ..ReadRetry::default() }),
            Plan::ReadRetry(ReadRetry { shifts_mv: vec![1], ..ReadRetry::default() }),
            Plan::Sensing(Sensing { references: vec![3, 1], ..Sensing::default() }),
            Plan::Sensing(Sensing { references: vec![], ..Sensing::default() }),
        ];
        for plan in odd {
            let mut problems = Problems::default();
            plan.problems("ecc.plan", &mut problems);
            assert_eq!(problems.0.len(), 1, "{plan:?}");
            assert!(expected(&plan, &Bch::default(), 1e-3, 1).failure.is_finite());
        }
    }
}
