//! Monte Carlo error rates of cells, next to those from the densities.

use crate::part::page_names;
use crate::question::{Question, ResolvedQuestion};
use cell::read::errors_at;
use cell::{Technology, monte_carlo};
use kit::{Nanos, Problems, Rng};
use serde_json::{Map, Value, json};

/// Largest number of cells drawn for one piece of work: a few seconds.
const MAX_CELLS: u64 = 100_000_000;

/// Returns the wrong bits of each page type among the cells drawn for one piece of work, and the error rates that the
/// densities give at the same references.
pub(super) fn answer(question: &Question) -> Result<Value, Problems> {
    let setting = question.setting()?;
    let Technology::Voltage(model) = &setting.part.device.technology else {
        return Err(Problems::one("cell", format!("{} has no threshold voltages to draw", setting.part.name)));
    };
    if question.cells == 0 || question.cells > MAX_CELLS {
        return Err(Problems::one("cells", format!("{}: expected 1 to {MAX_CELLS}", question.cells)));
    }
    let age = if setting.age.is_empty() { Nanos::ZERO } else { ResolvedQuestion::single("age", &setting.age)? };
    let condition =
        setting.condition(ResolvedQuestion::single("pe", &setting.pe)?, age, ResolvedQuestion::single("step", &setting.step)?);
    // A finer grid than usual, since counting that many cells resolves a relative difference of a thousandth.
    let resolution = cell::device::RESOLUTION / 4.0;
    let levels = model.levels(&condition, resolution);
    let references = model.references(&condition, setting.part.device.references, &levels, resolution);
    let expected = errors_at(&levels, references);
    let mut rng = Rng::stream(question.seed, &format!("cell.monte_carlo.{}", question.chunk));
    let counted = monte_carlo::count(model, &condition, &expected.references, question.cells, &mut rng);
    let names = page_names(model.bits());
    let by_page = |value: &dyn Fn(usize) -> Value| -> Map<String, Value> {
        names.iter().enumerate().map(|(page, name)| ((*name).to_owned(), value(page))).collect()
    };
    Ok(json!({
        "cells": counted.cells,
        "wrong": by_page(&|page| json!(counted.wrong[page])),
        "expected": by_page(&|page| json!(expected.pages[page])),
        "references": expected.references,
    }))
}
