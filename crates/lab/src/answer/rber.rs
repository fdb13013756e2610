//! Error rates of page types.

use super::{seconds, usual_ages, warn};
use crate::part::page_names;
use crate::question::{Question, Setting};
use kit::{Nanos, Problems};
use serde_json::{Map, Value, json};

/// Error rates at one condition, or at all of a table of wear, age and step (nested in this order). Without an age: fresh data.
pub(super) fn answer(question: &Question) -> Result<Value, Problems> {
    let mut setting = question.setting()?;
    if !setting.given.age {
        (setting.age, setting.age_given) =
            if setting.table { (usual_ages(), usual_ages()) } else { (vec![Nanos::ZERO], vec![Nanos::ZERO]) };
    }
    let names = page_names(setting.part.device.technology.page_types());
    let mut warnings = Vec::new();
    let mut rates = Rates::new(names.len());
    for &pe in &setting.pe {
        let agings: Vec<_> =
            setting.step.iter().map(|step| setting.part.device.aging(&setting.condition(pe, Nanos::ZERO, *step))).collect();
        for &age in &setting.age {
            for aging in &agings {
                let estimate = aging.at(age);
                warnings.extend(estimate.outside.iter().cloned());
                rates.add(&estimate.pages);
            }
        }
    }
    Ok(Value::Object(if setting.table { rates.table(&setting, names, warnings) } else { rates.one(&setting, names, warnings) }))
}

/// Error rates by page type, and the worst of each condition.
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

    fn one(&self, setting: &Setting, names: &[&str], warnings: Vec<String>) -> Map<String, Value> {
        let mut answer = Map::new();
        let pages: Map<String, Value> =
            names.iter().zip(&self.pages).map(|(name, all)| ((*name).to_owned(), json!(all[0]))).collect();
        answer.insert("pages".to_owned(), pages.into());
        answer.insert("worst".to_owned(), json!(self.worst[0]));
        answer.insert("limit".to_owned(), json!(setting.limit));
        warn(&mut answer, warnings);
        answer
    }

    fn table(&self, setting: &Setting, names: &[&str], warnings: Vec<String>) -> Map<String, Value> {
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
