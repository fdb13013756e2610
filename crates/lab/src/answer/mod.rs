//! What the laboratory answers: one file for each question, one line here.

mod budget;
pub mod code;
mod endurance;
mod limits;
mod modes;
mod monte_carlo;
mod parts;
mod protection;
mod rber;
mod vth;

use crate::question::{Question, Setting};
use kit::{Nanos, Problem, Problems};
use serde_json::{Map, Value};

type Answer = fn(&Question) -> Result<Value, Problems>;

/// Every question by its name.
const ANSWERS: [(&str, Answer); 14] = [
    ("parts", parts::answer),
    ("vth", vth::answer),
    ("rber", rber::answer),
    ("modes", modes::answer),
    ("program", modes::program),
    ("limits", limits::answer),
    ("endurance", endurance::answer),
    ("budget", budget::answer),
    ("monte_carlo", monte_carlo::answer),
    ("protection", protection::answer),
    ("regulator", protection::regulator),
    ("code_plan", code::plan),
    ("code_count", code::count),
    ("code_summary", code::summary),
];

/// The answer to a question, both as JSON.
///
/// # Errors
/// Everything that is wrong with the question.
pub fn ask(what: &str, question: &str) -> Result<Value, Problems> {
    let names = || ANSWERS.iter().map(|(name, _)| *name);
    let Some((_, answer)) = ANSWERS.iter().find(|(name, _)| *name == what) else {
        return Err(Problem::unknown("question", "question", what, names()).into());
    };
    answer(&Question::read(question)?)
}

/// A time in seconds.
fn seconds(time: Nanos) -> f64 {
    time.as_secs_f64()
}

/// Adds warnings to an answer, if there are any, each once.
fn warn(answer: &mut Map<String, Value>, warnings: Vec<String>) {
    let mut distinct: Vec<String> = Vec::new();
    for warning in warnings {
        if !distinct.contains(&warning) {
            distinct.push(warning);
        }
    }
    if !distinct.is_empty() {
        answer.insert("warnings".to_owned(), distinct.into());
    }
}

/// The ages of a table: none, an hour, a day, four days, two weeks, a year, ten years.
fn usual_ages() -> Vec<Nanos> {
    const HOUR: u64 = 3_600_000_000_000;
    [0, 1, 24, 96, 336, 8_760, 87_600].map(|hours| Nanos(hours * HOUR)).to_vec()
}

/// The wear of a table: fresh to one and a half times rated.
fn usual_wear(setting: &Setting) -> Vec<f64> {
    let rated = f64::from(setting.part.device.rated_pe_cycles);
    [0.0, 0.1, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5].map(|share| (share * rated).round()).to_vec()
}

/// The steps of a table: the nominal one to two and a half times as wide, as far as the technology goes.
fn usual_steps(setting: &Setting) -> Vec<f64> {
    let Some(widest) = setting.part.device.technology.widest_step() else { return setting.step.clone() };
    let nominal = setting.part.device.nominal_step;
    [0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5]
        .map(|share| (share * nominal * 1e6).round() / 1e6)
        .into_iter()
        .filter(|step| *step <= widest)
        .collect()
}
