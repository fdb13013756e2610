//! Answers of the laboratory: one file for each question, one line here.

mod budget;
mod code;
mod endurance;
mod limits;
mod modes;
mod monte_carlo;
mod parts;
mod protection;
mod rber;
mod vth;

use crate::question::{Question, ResolvedQuestion};
use kit::{Nanos, Problem, Problems};
use serde_json::{Map, Value};

type Answer = fn(&Question) -> Result<Value, Problems>;

/// Name and function of every question, and the fields of [`Question::optional`] that bear on its answer.
const ANSWERS: [(&str, Answer, &[&str]); 14] = [
    ("parts", parts::answer, &[]),
    ("vth", vth::answer, &["age", "reads"]),
    ("rber", rber::answer, &["age", "reads", "block", "layer", "blocks"]),
    ("modes", modes::answer, &["retention", "reads", "block", "layer"]),
    ("program", modes::program, &[]),
    ("limits", limits::answer, &["reads", "block", "layer"]),
    ("endurance", endurance::answer, &["retention", "reads", "block", "layer"]),
    ("budget", budget::answer, &["retention", "reads", "block", "layer"]),
    ("monte_carlo", monte_carlo::answer, &["age"]),
    ("protection", protection::answer, &[]),
    ("regulator", protection::regulator, &[]),
    ("code_plan", code::plan, &["age"]),
    ("code_count", code::count, &[]),
    ("code_summary", code::summary, &[]),
];

/// Answers the question named `what`; question and answer are JSON.
///
/// # Errors
/// All problems of the question, and fields that would not change its answer.
pub fn ask(what: &str, question: &str) -> Result<Value, Problems> {
    let names = || ANSWERS.iter().map(|(name, ..)| *name);
    let Some((_, answer, used)) = ANSWERS.iter().find(|(name, ..)| *name == what) else {
        return Err(Problem::unknown("question", "question", what, names()).into());
    };
    let question = Question::read(question)?;
    let mut problems = Problems::default();
    for field in question.optional().into_iter().filter(|field| !used.contains(field)) {
        let others: Vec<&str> = ANSWERS.iter().filter(|(.., used)| used.contains(&field)).map(|(name, ..)| *name).collect();
        let others = others.join(", ");
        problems.add(field, format!("does not bear on the answer of `{what}`: expected only in the questions {others}"));
    }
    problems.or(())?;
    answer(&question)
}

/// Converts a time to seconds.
fn seconds(time: Nanos) -> f64 {
    time.as_secs_f64()
}

/// Adds distinct warnings to an answer; without warnings the field is left out.
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

/// Fills in the retention times of a table for which none were given: the usual ages except zero.
fn usual_retentions(setting: &mut ResolvedQuestion) {
    let (ages, given) = usual_ages_at(setting);
    (setting.retention, setting.retention_given) = (ages[1..].to_vec(), given[1..].to_vec());
}

/// Returns the usual ages of a table, at the reference temperature and as given.
fn usual_ages_at(setting: &ResolvedQuestion) -> (Vec<Nanos>, Vec<Nanos>) {
    let given = usual_ages();
    let at_reference = given.iter().map(|age| setting.part.device.age_at(*age, setting.celsius)).collect();
    (at_reference, given)
}

/// Returns the usual ages of a table: zero, an hour, a day, four days, two weeks, a year, ten years.
fn usual_ages() -> Vec<Nanos> {
    const HOUR: u64 = 3_600_000_000_000;
    [0, 1, 24, 96, 336, 8_766, 87_660].map(|hours| Nanos(hours * HOUR)).to_vec()
}

/// Returns the usual wear values of a table: from fresh to one and a half times the rated cycles.
fn usual_wear(setting: &ResolvedQuestion) -> Vec<f64> {
    let rated = f64::from(setting.part.device.rated_pe_cycles);
    [0.0, 0.1, 0.3, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5].map(|share| (share * rated).round()).to_vec()
}

/// Returns the usual steps of a table: from half the nominal step to two and a half times it, as far as the technology
/// allows.
fn usual_steps(setting: &ResolvedQuestion) -> Vec<f64> {
    let Some(widest) = setting.part.device.technology.widest_step() else { return setting.step.clone() };
    let nominal = setting.part.device.nominal_step;
    [0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.25, 2.5]
        .map(|share| (share * nominal * 1e6).round() / 1e6)
        .into_iter()
        .filter(|step| *step <= widest)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(what: &str, question: &str, field: &str) -> f64 {
        let answer = ask(what, question).unwrap_or_else(|problems| panic!("{problems}"));
        answer[field].as_f64().unwrap_or_else(|| panic!("{answer}"))
    }

    /// Single answers have exactly the pinned keys.
    #[test]
    fn single_answers_have_the_pinned_keys() {
        let keys = |what: &str, question: &str| -> Vec<String> {
            let answer = ask(what, question).unwrap_or_else(|problems| panic!("{problems}"));
            answer.as_object().expect("an object").keys().cloned().collect()
        };
        let at = r#"{"cell": "ofwar-mlc", "pe": 10000, "age": "4d", "step": 0.4}"#;
        assert_eq!(keys("rber", at), ["pages", "worst", "limit"]);
        assert_eq!(
            ask("rber", at).expect("an answer")["pages"].as_object().expect("pages").keys().collect::<Vec<_>>(),
            ["lsb", "msb"]
        );
        assert_eq!(keys("limits", r#"{"cell": "ofwar-mlc", "pe": 10000, "step": 0.4}"#), ["retention_s"]);
        let modes = r#"{"cell": "ofwar-mlc", "pe": 10000, "retention": "4d"}"#;
        assert_eq!(keys("modes", modes), ["step", "program_time_ns"]);
        assert!((number("modes", modes, "program_time_ns") / 301_700.0 - 1.0).abs() < 0.01);
    }

    /// Questions are consistent: the retention limit of a step is the retention for which that step is the widest.
    #[test]
    fn questions_agree_with_each_other() {
        let limit = number("limits", r#"{"cell": "ofwar-mlc", "pe": 9000, "step": 0.37}"#, "retention_s");
        let hours = (limit / 3600.0).round();
        let step = number("modes", &format!(r#"{{"cell": "ofwar-mlc", "pe": 9000, "retention": "{hours}h"}}"#), "step");
        assert!((step / 0.37 - 1.0).abs() < 0.005, "{step}");
        let most =
            number("endurance", &format!(r#"{{"cell": "ofwar-mlc", "step": 0.37, "retention": "{hours}h"}}"#), "pe_cycles");
        assert!((most / 9000.0 - 1.0).abs() < 0.005, "{most}");
    }

    #[test]
    fn blocks_differ_by_their_factor_and_heat_shortens_limits() {
        let at = |more: &str| format!(r#"{{"cell": "ofwar-mlc", "pe": 9000, "step": 0.4 {more}}}"#);
        let mean = number("rber", &at(""), "worst");
        let factors: Vec<f64> =
            (0..40).map(|block| number("rber", &at(&format!(r#", "block": {block}, "seed": 1"#)), "worst") / mean).collect();
        assert!(factors.iter().any(|factor| *factor > 1.15) && factors.iter().any(|factor| *factor < 0.85), "{factors:?}");
        let worst = (0..40).max_by(|a, b| factors[*a as usize].total_cmp(&factors[*b as usize])).expect("some");
        let limit = |more: &str| number("limits", &at(more), "retention_s");
        assert!(limit(&format!(r#", "block": {worst}, "seed": 1"#)) < 0.5 * limit(""));
        assert!((limit(r#", "temperature": 55"#) * 6.4 / limit("") - 1.0).abs() < 0.02);
        let spread = ask("rber", &at(r#", "blocks": 200, "seed": 1"#)).expect("an answer");
        let of = |field: &str| spread["blocks"][field].as_f64().expect("a number");
        assert!(
            of("least") < of("median") && of("median") < of("p99") && of("p99") <= of("most") && of("most") < 10.0,
            "{spread}"
        );
    }

    /// A field that is given either changes the answer or is refused: nothing is ignored in silence.
    #[test]
    fn a_field_that_changes_nothing_is_refused() {
        let given =
            [("age", "\"300d\""), ("retention", "\"5d\""), ("reads", "200000"), ("block", "7"), ("layer", "3"), ("blocks", "40")];
        let asked = |what: &str, more: &str| {
            let more = if what == "monte_carlo" { format!(r#""cells": 20000 {more}"#) } else { format!(r#""seed": 1 {more}"#) };
            ask(what, &format!(r#"{{"cell": "ofwar-mlc", "pe": 9000, {more}}}"#))
        };
        for (what, ..) in ANSWERS.iter().filter(|(what, ..)| !["code_count", "code_summary"].contains(what)) {
            let plain = asked(what, "").unwrap_or_else(|problems| panic!("{what}: {problems}"));
            for (field, value) in given {
                match asked(what, &format!(r#", "{field}": {value}"#)) {
                    Ok(answer) => assert_ne!(answer, plain, "{what} ignores {field}"),
                    Err(problems) => {
                        let text = problems.to_string();
                        assert!(text.contains(&format!("{field}: does not bear on the answer of `{what}`")), "{what}: {text}");
                    }
                }
            }
        }
        let drawn = asked("monte_carlo", r#", "block": 7"#).expect_err("draws the mean block").to_string();
        assert!(drawn.contains("expected only in the questions rber, modes, limits, endurance, budget"), "{drawn}");
    }

    /// A condition outside a law's range is answered with a warning.
    #[test]
    fn warnings_stand_beside_the_answer() {
        let answer = ask("rber", r#"{"cell": "mlc-2y", "pe": 10000, "age": "1y"}"#).expect("an answer");
        assert!(answer["warnings"][0].as_str().expect("a text").contains("fitted up to 100"), "{answer}");
        let fine = ask("rber", r#"{"cell": "mlc-2y", "pe": 3000, "age": "30d"}"#).expect("an answer");
        assert!(fine.get("warnings").is_none());
        let unknown = ask("rbr", "{}").expect_err("no such question");
        assert!(unknown.to_string().contains("did you mean `rber`?"));
    }

    /// RR: a step 2.3 times as wide for two weeks as for a year; two weeks with BCH where LDPC lasts a year. DPES: all
    /// erase modes. RRAM: no retention limit.
    #[test]
    fn other_parts_answer_too() {
        let year = number("modes", r#"{"cell": "rr-mlc", "pe": 3000, "retention": "8766h"}"#, "step");
        let weeks = number("modes", r#"{"cell": "rr-mlc", "pe": 3000, "retention": "2w"}"#, "step");
        assert!((weeks / year - 2.31).abs() < 0.03, "{weeks} {year}");
        let bch = number("limits", r#"{"cell": "rr-mlc-ldpc", "pe": 3000}"#, "retention_s");
        assert!((bch / (14.0 * 86_400.0) - 1.0).abs() < 0.03, "{bch}");
        let endurance = ask("endurance", r#"{"cell": "dpes-mlc"}"#).expect("an answer");
        assert_eq!(endurance["erase_modes"].as_array().map(Vec::len), Some(10));
        let replaced = r#"{"cell": "dpes-mlc", "erase_wear": [{"mode": "EV0", "speed": "fast", "interval": 5, "wear": 0.9}]}"#;
        assert_eq!(ask("endurance", replaced).expect("an answer")["erase_modes"][0]["effective_wear"][5], 0.9);
        let wrong = replaced.replace("EV0", "EV9");
        assert!(ask("endurance", &wrong).expect_err("no such mode").to_string().contains("erase_wear[0]: EV9"));
        let rram = ask("limits", r#"{"cell": "rram", "pe": 1000}"#).expect("an answer");
        assert_eq!(rram["at_least"], true);
        for part in crate::parts::names() {
            let question = format!(r#"{{"cell": "{part}", "pe": 500, "age": "1d"}}"#);
            assert!(number("rber", &question, "worst") < number("rber", &question, "limit"), "{part}");
        }
    }

    #[test]
    fn a_budget_names_who_spends() {
        let budget = ask("budget", r#"{"cell": "ofwar-mlc", "retention": "10y"}"#).expect("an answer");
        let shares = budget["shares"].as_array().expect("a list");
        let sum: f64 = shares.iter().filter_map(|share| share["volts"].as_f64()).sum();
        assert!((sum + budget["free"].as_f64().expect("a number") - 3.594).abs() < 1e-6, "{budget}");
        let solved =
            ask("budget", r#"{"cell": "ofwar-mlc", "pe": 6000, "retention": "1y", "solve": "code"}"#).expect("an answer");
        assert!(solved["solved"]["bch_t_per_4kib"].as_u64().is_some_and(|t| (20..60).contains(&t)), "{solved}");
        let never = ask("budget", r#"{"cell": "ofwar-mlc", "pe": 60000, "step": 0.6, "solve": "retention"}"#).expect("an answer");
        assert!(never["solved"].is_null() && never["closes"] == false, "{never}");
    }
}
