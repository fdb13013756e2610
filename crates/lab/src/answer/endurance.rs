//! Endurance of blocks: the largest number of cycles at which data meets its retention, and the gain from gentler
//! erases.

use super::{seconds, usual_retentions, warn};
use crate::question::Question;
use cell::dpes::{ERASE_MODES, EraseSpeed, INTERVALS, Scaling};
use cell::solve::{max_cycles, max_sought};
use cell::{Condition, Technology};
use kit::{Nanos, Problems};
use serde_json::{Map, Value, json};

/// Returns the endurance for one step and one retention, or a table of both; for a cell with erase modes also their
/// wear.
pub(super) fn answer(question: &Question) -> Result<Value, Problems> {
    let mut setting = question.setting()?;
    let mut table = setting.table;
    if !setting.given.retention {
        usual_retentions(&mut setting);
        table = true;
        if !setting.given.step {
            setting.step = super::usual_steps(&setting);
        }
    }
    let mut warnings = setting.notes();
    let mut found = |step: f64, age: Nanos| {
        let condition = setting.condition(0.0, age, step);
        let most = max_cycles(&setting.part.device, &condition, setting.bearable());
        if let Some(pe_cycles) = most {
            warnings.extend(setting.part.device.estimate(&Condition { pe_cycles, ..condition }).outside);
        }
        most
    };
    let mut answer = Map::new();
    if table {
        answer.insert("step".to_owned(), json!(setting.step));
        answer.insert("retention_s".to_owned(), setting.retention_given.iter().map(|age| seconds(*age)).collect());
        let rows: Vec<Vec<Option<f64>>> =
            setting.step.iter().map(|step| setting.retention.iter().map(|age| found(*step, *age)).collect()).collect();
        answer.insert("pe_cycles".to_owned(), json!(rows));
    } else {
        let most = found(setting.step[0], setting.retention[0]);
        answer.insert("pe_cycles".to_owned(), json!(most));
        if most.is_some_and(|most| most >= max_sought(&setting.part.device)) {
            answer.insert("at_least".to_owned(), json!(true));
        }
    }
    answer.insert("most_pe_cycles".to_owned(), json!(max_sought(&setting.part.device)));
    answer.insert("rated_pe_cycles".to_owned(), json!(setting.part.device.rated_pe_cycles));
    if let Technology::Scaled(cell) = &setting.part.device.technology {
        answer.insert("erase_modes".to_owned(), erase_modes(&cell.scaling));
        answer.insert("lazy_erase_time".to_owned(), json!(cell.scaling.lazy_time));
    }
    warn(&mut answer, warnings);
    Ok(answer.into())
}

/// Returns, for every erase mode, its wear by interval of summed wear, the lifetime if the mode could be kept for life,
/// and the program time that it requires.
fn erase_modes(scaling: &Scaling) -> Value {
    let mut rows = Vec::new();
    for mode in 0..ERASE_MODES {
        for (speed, name) in [(EraseSpeed::Fast, "fast"), (EraseSpeed::Slow, "slow")] {
            let wear: Vec<f64> = (0..INTERVALS).map(|interval| scaling.effective_wear(mode, speed, interval)).collect();
            let saved: Vec<f64> = (0..INTERVALS).map(|interval| scaling.saved_volts(mode, interval)).collect();
            rows.push(json!({
                "mode": format!("EV{mode}"),
                "speed": name,
                "saved_volts": saved,
                "effective_wear": wear,
                "lifetime": scaling.lifetime(mode, speed),
                "program_scale": scaling.program_scale(mode),
            }));
        }
    }
    rows.into()
}
