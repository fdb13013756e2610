//! Retention limit of each program step, against wear.

use super::{seconds, usual_steps, usual_wear, warn};
use crate::question::Question;
use cell::solve::{LONGEST, longest_retention};
use kit::{Nanos, Problems};
use serde_json::{Map, Value, json};

/// Returns the retention limit of one step at one wear, or a table of both; null if even fresh data is not correctable.
/// Limits are searched up to a hundred years. Without wear and step the answer is a table of usual values, which shows
/// at which wear a wide step begins to cost retention.
pub(super) fn answer(question: &Question) -> Result<Value, Problems> {
    let mut setting = question.setting()?;
    let mut table = setting.table;
    if !setting.given.pe && !setting.given.step {
        (setting.pe, setting.step, table) = (usual_wear(&setting), usual_steps(&setting), true);
    }
    let device = &setting.part.device;
    let heat = device.heat(setting.celsius);
    let mut warnings = setting.notes();
    let mut rows = Vec::new();
    for &pe in &setting.pe {
        let mut row = Vec::new();
        for &step in &setting.step {
            let condition = setting.condition(pe, Nanos::ZERO, step);
            let limit = longest_retention(device, &condition, setting.bearable());
            if let Some(age) = limit {
                warnings.extend(device.aging(&condition).at(age).outside);
            }
            row.push(limit);
        }
        rows.push(row);
    }
    let shown = |limit: &Option<Nanos>| limit.map(|limit| seconds(limit) / heat);
    let mut answer = Map::new();
    if table {
        answer.insert("pe".to_owned(), json!(setting.pe));
        answer.insert("step".to_owned(), json!(setting.step));
        let program: Vec<Option<u64>> =
            setting.step.iter().map(|step| setting.part.program_time(*step).map(|time| time.0)).collect();
        answer.insert("program_time_ns".to_owned(), json!(program));
        answer
            .insert("retention_s".to_owned(), rows.iter().map(|row| json!(row.iter().map(shown).collect::<Vec<_>>())).collect());
        answer.insert("longest_s".to_owned(), json!(seconds(LONGEST) / heat));
    } else {
        answer.insert("retention_s".to_owned(), json!(shown(&rows[0][0])));
        if rows[0][0] == Some(LONGEST) {
            answer.insert("at_least".to_owned(), json!(true));
        }
    }
    warn(&mut answer, warnings);
    Ok(answer.into())
}
