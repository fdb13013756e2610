//! Write modes: the widest step for a promised retention, and its program time.

use super::{seconds, usual_retentions, usual_wear, warn};
use crate::part::page_names;
use crate::question::{Question, ResolvedQuestion, no_step};
use cell::solve::widest_step;
use kit::{Nanos, Problems};
use serde_json::{Map, Value, json};

/// Returns the mode for one retention at one wear, or a table of both; null if no step is narrow enough.
pub(super) fn answer(question: &Question) -> Result<Value, Problems> {
    let mut setting = question.setting()?;
    if setting.part.device.technology.widest_step().is_none() {
        return Err(Problems::one("cell", no_step(&setting.part)));
    }
    let mut table = setting.table;
    if !setting.given.retention {
        usual_retentions(&mut setting);
        table = true;
        if !setting.given.pe {
            setting.pe = usual_wear(&setting);
        }
    }
    let found = |pe: f64, age: Nanos| widest_step(&setting.part.device, &setting.condition(pe, age, 0.0), setting.bearable());
    let time = |step: Option<f64>| step.and_then(|step| setting.part.program_time(step)).map(|time| time.0);
    let mut answer = Map::new();
    if table {
        let steps: Vec<Vec<Option<f64>>> =
            setting.pe.iter().map(|pe| setting.retention.iter().map(|age| found(*pe, *age)).collect()).collect();
        let times: Vec<Vec<Option<u64>>> = steps.iter().map(|row| row.iter().map(|step| time(*step)).collect()).collect();
        answer.insert("pe".to_owned(), json!(setting.pe));
        answer.insert("retention_s".to_owned(), setting.retention_given.iter().map(|age| seconds(*age)).collect());
        answer.insert("step".to_owned(), json!(steps));
        answer.insert("program_time_ns".to_owned(), json!(times));
    } else {
        let step = found(setting.pe[0], setting.retention[0]);
        answer.insert("step".to_owned(), json!(step));
        answer.insert("program_time_ns".to_owned(), json!(time(step)));
    }
    warn(&mut answer, setting.notes());
    Ok(answer.into())
}

/// Returns the program time with a step, by page type: the mean number of pulses, the mean time, and the times that
/// occur with their probabilities.
pub(super) fn program(question: &Question) -> Result<Value, Problems> {
    let setting = question.setting()?;
    let step = ResolvedQuestion::single("step", &setting.step)?;
    let Some(ispp) = &setting.part.device.ispp else {
        return Err(Problems::one("cell", no_step(&setting.part)));
    };
    let names = page_names(setting.part.device.technology.page_types());
    let pages: Map<String, Value> = names
        .iter()
        .enumerate()
        .map(|(page, name)| {
            let times: Vec<Value> = ispp
                .times(page, step)
                .into_iter()
                .map(|(time, probability)| json!({ "time_ns": time.0, "probability": probability }))
                .collect();
            let one = json!({ "pulses": ispp.loops(page, step), "mean_ns": ispp.time(page, step).0, "times": times });
            ((*name).to_owned(), one)
        })
        .collect();
    Ok(json!({ "step": step, "mean_ns": ispp.mean_time(step).0, "pages": pages }))
}
