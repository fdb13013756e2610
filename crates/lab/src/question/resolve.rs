//! Validation of a question: names are resolved, defaults filled in.

use super::{Question, Values};
use crate::part::Part;
use cell::Condition;
use cell::stress::Variation;
use kit::{Nanos, Problems};

/// A validated question, with names resolved and defaults filled in.
#[derive(Clone, Debug)]
pub struct ResolvedQuestion {
    /// The part, with the changes that the question makes to it.
    pub part: Part,
    /// Wear; the rated cycles if none was given.
    pub pe: Vec<f64>,
    /// Ages converted to the reference temperature; empty if none were given.
    pub age: Vec<Nanos>,
    /// Ages as given.
    pub age_given: Vec<Nanos>,
    /// Program steps; the nominal one if none was given.
    pub step: Vec<f64>,
    /// Promised retention times converted to the reference temperature.
    pub retention: Vec<Nanos>,
    /// Promised retention times as given.
    pub retention_given: Vec<Nanos>,
    /// True if wear, age, step or retention was given as a list, so that the answer is a table.
    pub table: bool,
    /// Fields that were given explicitly.
    pub given: Given,
    /// Reads of the block.
    pub reads: f64,
    /// Voltage by which the block was erased shallower than nominal \[V\].
    pub erase_shift: f64,
    /// Temperature at which data ages \[degrees Celsius\].
    pub celsius: f64,
    /// Correctable error rate.
    pub limit: f64,
    /// Factor on the mean error rate for the block and layer in question.
    pub factor: f64,
    /// True if the limit follows from a measured code.
    pub measured: bool,
}

/// Flags of the fields with defaults that were given explicitly.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    /// True if wear was given.
    pub pe: bool,
    /// True if ages were given.
    pub age: bool,
    /// True if program steps were given.
    pub step: bool,
    /// True if retention times were given.
    pub retention: bool,
}

impl ResolvedQuestion {
    /// Returns the condition of one page.
    pub fn condition(&self, pe_cycles: f64, age: Nanos, step: f64) -> Condition {
        Condition { step, erase_shift: self.erase_shift, pe_cycles, age, reads: self.reads }
    }

    /// Returns the notes that accompany every answer.
    pub fn notes(&self) -> Vec<String> {
        let text = "the limit of the measured code is extrapolated to far lower failure rates than were counted, assuming no error floor";
        if self.measured { vec![text.to_owned()] } else { Vec::new() }
    }

    /// Returns the mean error rate at which the block and layer in question are just correctable.
    pub fn bearable(&self) -> f64 {
        self.limit / self.factor
    }

    /// Returns the only value of a list, for questions that take a single value.
    ///
    /// # Errors
    /// An error if there is not exactly one value.
    pub fn single<T: Copy>(place: &str, values: &[T]) -> Result<T, Problems> {
        match values {
            [value] => Ok(*value),
            _ => Err(Problems::one(place, format!("{} values: expected one here", values.len()))),
        }
    }
}

/// Largest wear and number of reads accepted, and the range of temperatures.
const MAX_WEAR: f64 = 1e7;
const MAX_READS: f64 = 1e12;
const TEMPERATURES: (f64, f64) = (-40.0, 150.0);

impl Question {
    /// Validates the question and resolves its names.
    ///
    /// # Errors
    /// All values out of range and all unknown names; an unknown part is reported alone.
    pub fn setting(&self) -> Result<ResolvedQuestion, Problems> {
        let mut problems = Problems::default();
        let mut part = self.part()?;
        self.adjust(&mut part, &mut problems);
        let celsius = self.temperature.unwrap_or(part.device.reference_celsius);
        within(&mut problems, "temperature", celsius, TEMPERATURES.0, TEMPERATURES.1);
        within(&mut problems, "reads", self.reads, 0.0, MAX_READS);
        let shallowest = part.device.technology.shallowest_erase();
        if self.erase_shift != 0.0 {
            match shallowest {
                Some(most) => within(&mut problems, "erase_shift", self.erase_shift, 0.0, most),
                None => problems.add("erase_shift", format!("cell {} has no erase depth: omit `erase_shift`", part.name)),
            }
        }
        self.check_lists(&mut problems);
        let pe = numbers(self.pe.as_ref(), f64::from(part.device.rated_pe_cycles));
        pe.iter().for_each(|pe| within(&mut problems, "pe", *pe, 0.0, MAX_WEAR));
        let step = self.steps(&part, &mut problems);
        let age_given = times(self.age.as_ref(), "age", &mut problems);
        let retention_given = times(self.retention.as_ref(), "retention", &mut problems);
        let limit = self.limit.unwrap_or_else(|| part.limit(self.soft_levels));
        if !(limit > 0.0 && limit <= 0.5) {
            problems.add("limit", format!("{limit}: expected an error rate above 0, at most 0.5"));
        }
        let at_reference = |times: &[Nanos]| times.iter().map(|time| part.device.age_at(*time, celsius)).collect();
        let variation = &part.device.variation;
        let factor = match (self.block, self.layer) {
            (None, None) => 1.0,
            (Some(block), None) => Variation { layer_sigma: 0.0, ..*variation }.factor(self.seed, block, 0),
            (None, Some(layer)) => Variation { block_sigma: 0.0, ..*variation }.factor(self.seed, 0, layer),
            (Some(block), Some(layer)) => variation.factor(self.seed, block, layer),
        };
        let table = matches!(self.pe, Some(Values::Many(_)))
            || matches!(self.age, Some(Values::Many(_)))
            || matches!(self.step, Some(Values::Many(_)))
            || matches!(self.retention, Some(Values::Many(_)));
        let given = Given {
            pe: self.pe.is_some(),
            age: self.age.is_some(),
            step: self.step.is_some(),
            retention: self.retention.is_some(),
        };
        problems.or(())?;
        Ok(ResolvedQuestion {
            pe,
            age: at_reference(&age_given),
            age_given,
            step,
            retention: at_reference(&retention_given),
            retention_given,
            table,
            given,
            reads: self.reads,
            erase_shift: self.erase_shift,
            celsius,
            limit,
            factor,
            measured: self.measured_code.is_some() && self.limit.is_none(),
            part,
        })
    }

    /// Adds a problem for each list without a value: its table would have no rows.
    fn check_lists(&self, problems: &mut Problems) {
        let is_empty = |values: Option<&Values<f64>>| values.is_some_and(|values| values.all().is_empty());
        let has_no_time = |values: Option<&Values<String>>| values.is_some_and(|values| values.all().is_empty());
        for (place, is_empty) in [
            ("pe", is_empty(self.pe.as_ref())),
            ("age", has_no_time(self.age.as_ref())),
            ("step", is_empty(self.step.as_ref())),
            ("retention", has_no_time(self.retention.as_ref())),
        ] {
            if is_empty {
                problems.add(place, "an empty list: expected one value at least");
            }
        }
    }

    fn steps(&self, part: &Part, problems: &mut Problems) -> Vec<f64> {
        let steps = numbers(self.step.as_ref(), part.device.nominal_step);
        match (part.device.technology.widest_step(), &self.step) {
            (Some(widest), _) => {
                let unit = part.device.technology.step_unit();
                for step in steps.iter().filter(|step| !(**step > 0.0 && **step <= widest)) {
                    problems.add("step", format!("{step}: expected a program step above 0, at most {widest} {unit}"));
                }
            }
            (None, Some(_)) => problems.add("step", no_step(part)),
            (None, None) => {}
        }
        steps
    }
}

/// Returns the reason why a part cannot answer questions about a program step.
pub(crate) fn no_step(part: &Part) -> String {
    format!(
        "{} gives error rates at one program step only: it cannot say what another would do; `limits` says how long its own lasts",
        part.name
    )
}

fn within(problems: &mut Problems, place: &str, value: f64, low: f64, high: f64) {
    if !(value >= low && value <= high) {
        problems.add(place, format!("{value}: expected {low} to {high}"));
    }
}

fn numbers(values: Option<&Values<f64>>, default: f64) -> Vec<f64> {
    values.map_or_else(|| vec![default], |values| values.all().to_vec())
}

fn times(values: Option<&Values<String>>, place: &str, problems: &mut Problems) -> Vec<Nanos> {
    let texts = values.map_or(&[][..], Values::all);
    let mut found = Vec::with_capacity(texts.len());
    for text in texts {
        // Zero needs no unit.
        let parsed = if text == "0" { Ok(Nanos::ZERO) } else { text.parse() };
        match parsed {
            Ok(time) => found.push(time),
            Err(complaint) => problems.add(place, format!("\"{text}\": {complaint}")),
        }
    }
    found
}
