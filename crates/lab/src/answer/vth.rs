//! Distributions of threshold voltages.

use super::warn;
use crate::part::page_names;
use crate::question::{Question, ResolvedQuestion};
use kit::{Nanos, Problems};
use serde_json::{Map, Value, json};

/// Number of points of a curve: enough for a figure, few enough for a report.
const POINTS: usize = 1_000;

/// Returns the probability density of each level over voltage \[1/V\], the references, and the resulting error rates.
pub(super) fn answer(question: &Question) -> Result<Value, Problems> {
    let setting = question.setting()?;
    let device = &setting.part.device;
    let pe = ResolvedQuestion::single("pe", &setting.pe)?;
    let step = ResolvedQuestion::single("step", &setting.step)?;
    let age = if setting.age.is_empty() { Nanos::ZERO } else { ResolvedQuestion::single("age", &setting.age)? };
    let condition = setting.condition(pe, age, step);
    let Some((levels, references)) = device.levels(&condition, cell::device::RESOLUTION) else {
        return Err(Problems::one(
            "cell",
            format!("{} has no threshold-voltage model, only error rates: ask `rber`", setting.part.name),
        ));
    };
    let grid = levels[0].grid();
    // The range from the start of the lowest level to the end of the highest.
    let matters = |mass: &f64| *mass > 1e-12;
    let first = levels.iter().filter_map(|level| level.mass().iter().position(matters)).min().unwrap_or(0);
    let last = levels.iter().filter_map(|level| level.mass().iter().rposition(matters)).max().unwrap_or(grid.count - 1);
    let stride = ((last - first) / POINTS).max(1);
    let places: Vec<usize> = (first..=last).step_by(stride).collect();
    let curves: Map<String, Value> = levels
        .iter()
        .enumerate()
        .map(|(level, density)| {
            let name = if level == 0 { "er".to_owned() } else { format!("p{level}") };
            let curve: Vec<f64> = places.iter().map(|place| density.mass()[*place] / grid.step).collect();
            (name, json!(curve))
        })
        .collect();
    let estimate = device.estimate(&condition);
    let names = page_names(device.technology.page_types());
    let pages: Map<String, Value> =
        names.iter().zip(&estimate.pages).map(|(name, rate)| ((*name).to_owned(), json!(rate))).collect();
    let mut answer = Map::new();
    answer.insert("unit".to_owned(), json!(device.technology.step_unit()));
    answer.insert("voltage".to_owned(), places.iter().map(|place| json!(grid.at(*place))).collect());
    answer.insert("levels".to_owned(), curves.into());
    answer.insert("references".to_owned(), json!(references));
    answer.insert("pages".to_owned(), pages.into());
    answer.insert("limit".to_owned(), json!(setting.limit));
    warn(&mut answer, [setting.notes(), estimate.outside].concat());
    Ok(answer.into())
}
