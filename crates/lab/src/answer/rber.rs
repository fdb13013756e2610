//! Error rates of page types.

use super::{seconds, usual_ages_at, warn};
use crate::part::page_names;
use crate::question::{Question, ResolvedQuestion};
use kit::{Nanos, Problems};
use serde_json::{Map, Value, json};

/// Returns error rates at one condition, or for a table of wear, age and step (nested in this order). Without an age:
/// of fresh data, or in a table at the usual ages.
pub(super) fn answer(question: &Question) -> Result<Value, Problems> {
    let mut setting = question.setting()?;
    if !setting.given.age {
        (setting.age, setting.age_given) =
            if setting.table { usual_ages_at(&setting) } else { (vec![Nanos::ZERO], vec![Nanos::ZERO]) };
    }
    let names = page_names(setting.part.device.technology.page_types());
    let mut warnings = setting.notes();
    let mut rates = Rates::new(names.len());
    for &pe in &setting.pe {
        let agings: Vec<_> =
            setting.step.iter().map(|step| setting.part.device.aging(&setting.condition(pe, Nanos::ZERO, *step))).collect();
        for &age in &setting.age {
            for aging in &agings {
                let estimate = aging.at(age);
                warnings.extend(estimate.outside.iter().cloned());
                let pages: Vec<f64> = estimate.pages.iter().map(|rate| (rate * setting.factor).min(0.5)).collect();
                rates.add(&pages);
            }
        }
    }
    let mut answer = if setting.table { rates.table(&setting, names, warnings) } else { rates.one(&setting, names, warnings) };
    if question.blocks > 0 {
        answer.insert("blocks".to_owned(), spread(question, &setting)?);
    }
    Ok(answer.into())
}

/// Number of layers of a block for which the spread is computed.
const LAYERS: u64 = 64;

/// Returns the spread of error rates over blocks and their layers: quantiles of their factor on the mean.
fn spread(question: &Question, setting: &ResolvedQuestion) -> Result<Value, Problems> {
    const MOST: u64 = 100_000;
    if question.blocks > MOST {
        return Err(Problems::one("blocks", format!("{}: expected at most {MOST}", question.blocks)));
    }
    let variation = &setting.part.device.variation;
    let mut factors: Vec<f64> = (0..question.blocks)
        .flat_map(|block| (0..LAYERS).map(move |layer| variation.factor(question.seed, block, layer)))
        .collect();
    factors.sort_by(f64::total_cmp);
    let at = |share: f64| factors[((factors.len() - 1) as f64 * share).round() as usize];
    Ok(json!({
        "count": question.blocks,
        "layers": LAYERS,
        "least": at(0.0),
        "median": at(0.5),
        "p99": at(0.99),
        "p99_99": at(0.9999),
        "most": at(1.0),
    }))
}

/// Error rates by page type, and the worst one, for each condition.
struct Rates {
    pages: Vec<Vec<f64>>,
    worst: Vec<f64>,
}

impl Rates {
    fn new(page_types: usize) -> Rates {
        Rates { pages: vec![Vec::new(); page_types], worst: Vec::new() }
    }

    fn add(&mut self, pages: &[f64]) {
        self.pages.iter_mut().zip(pages).for_each(|(all, rate)| all.push(*rate));
        self.worst.push(pages.iter().copied().fold(0.0, f64::max));
    }

    fn one(&self, setting: &ResolvedQuestion, names: &[&str], warnings: Vec<String>) -> Map<String, Value> {
        let mut answer = Map::new();
        let pages: Map<String, Value> =
            names.iter().zip(&self.pages).map(|(name, all)| ((*name).to_owned(), json!(all[0]))).collect();
        answer.insert("pages".to_owned(), pages.into());
        answer.insert("worst".to_owned(), json!(self.worst[0]));
        answer.insert("limit".to_owned(), json!(setting.limit));
        warn(&mut answer, warnings);
        answer
    }

    fn table(&self, setting: &ResolvedQuestion, names: &[&str], warnings: Vec<String>) -> Map<String, Value> {
        let (ages, steps) = (setting.age.len(), setting.step.len());
        let nested = |all: &[f64]| -> Value {
            all.chunks(ages * steps)
                .map(|rows| rows.chunks(steps).map(|row| json!(row)).collect::<Vec<_>>())
                .collect::<Vec<_>>()
                .into()
        };
        let mut answer = Map::new();
        answer.insert("pe".to_owned(), json!(setting.pe));
        answer.insert("age_s".to_owned(), setting.age_given.iter().map(|age| seconds(*age)).collect());
        answer.insert("step".to_owned(), json!(setting.step));
        let pages: Map<String, Value> =
            names.iter().zip(&self.pages).map(|(name, all)| ((*name).to_owned(), nested(all))).collect();
        answer.insert("pages".to_owned(), pages.into());
        answer.insert("worst".to_owned(), nested(&self.worst));
        answer.insert("limit".to_owned(), json!(setting.limit));
        warn(&mut answer, warnings);
        answer
    }
}
