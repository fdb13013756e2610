//! The window budget of a cell: its division, and each of five quantities solved from the other four.

use super::{seconds, warn};
use crate::question::{Question, ResolvedQuestion, no_step};
use cell::Condition;
use cell::budget::{Budget, Unknown, close, closes, spending};
use cell::solve::LONGEST;
use ecc::{Bch, BlockCode};
use kit::{Nanos, Problem, Problems};
use serde_json::{Map, Value, json};

/// Names of the five quantities.
const UNKNOWNS: [(&str, Unknown); 5] = [
    ("step", Unknown::Step),
    ("erase", Unknown::Erase),
    ("retention", Unknown::Retention),
    ("code", Unknown::Code),
    ("wear", Unknown::Wear),
];

/// Returns the division of the window and whether the budget closes; if `solve` names one of the five quantities, also
/// the largest value it may have.
pub(super) fn answer(question: &Question) -> Result<Value, Problems> {
    let setting = question.setting()?;
    if question.references.as_ref().is_some_and(|kind| kind != "optimal") {
        return Err(Problems::one("references", "a budget places levels for the best references: expected `optimal`"));
    }
    let retention = match setting.retention.as_slice() {
        [] => setting.part.device.age_at(Nanos::YEAR, setting.celsius),
        given => ResolvedQuestion::single("retention", given)?,
    };
    let condition = setting.condition(
        ResolvedQuestion::single("pe", &setting.pe)?,
        retention,
        ResolvedQuestion::single("step", &setting.step)?,
    );
    let mut budget = Budget { condition, limit: setting.bearable() };
    let mut answer = Map::new();
    if let Some(name) = &question.solve {
        let Some((_, unknown)) = UNKNOWNS.iter().find(|(known, _)| known == name) else {
            return Err(Problem::unknown("solve", "quantity", name, UNKNOWNS.map(|(known, _)| known)).into());
        };
        let technology = &setting.part.device.technology;
        if *unknown == Unknown::Step && technology.widest_step().is_none() {
            return Err(Problems::one("solve", no_step(&setting.part)));
        }
        if *unknown == Unknown::Erase && technology.shallowest_erase().is_none() {
            return Err(Problems::one("solve", format!("cell {} has no erase depth", setting.part.name)));
        }
        answer.insert("solve".to_owned(), json!(name));
        match close(&setting.part.device, &budget, *unknown) {
            Some(closed) => {
                answer.insert("solved".to_owned(), solved(*unknown, &closed, &setting));
                budget = closed;
            }
            None => {
                answer.insert("solved".to_owned(), Value::Null);
            }
        }
    }
    let device = &setting.part.device;
    answer.insert("unit".to_owned(), json!(device.technology.step_unit()));
    let heat = device.heat(setting.celsius);
    let Condition { pe_cycles, step, age, erase_shift, .. } = budget.condition;
    answer.insert(
        "asked".to_owned(),
        json!({ "pe_cycles": pe_cycles, "step": step, "retention_s": seconds(age) / heat, "erase_shift": erase_shift, "limit": budget.limit }),
    );
    answer.insert("closes".to_owned(), json!(closes(device, &budget)));
    match spending(device, &budget) {
        Some(spending) => {
            let shares: Vec<Value> =
                spending.shares.iter().map(|share| json!({ "who": share.who, "volts": share.volts })).collect();
            answer.insert("window".to_owned(), json!(spending.window));
            answer.insert("shares".to_owned(), shares.into());
            answer.insert("free".to_owned(), json!(spending.free));
            answer.insert("code_gives".to_owned(), json!(spending.code_gives));
        }
        None => {
            let why = if device.technology.widest_step().is_some() {
                "the levels cannot be placed: errors from reads, wear or age exceed the limit of the code"
            } else {
                "this part's levels are not known"
            };
            answer.insert("window".to_owned(), Value::Null);
            answer.insert("unknown".to_owned(), json!(why));
        }
    }
    warn(&mut answer, [setting.notes(), device.estimate(&budget.condition).outside].concat());
    Ok(answer.into())
}

/// Returns the value found, in the unit of the question; for a code also the number of errors t of an equally strong
/// BCH code over 4 KiB.
fn solved(unknown: Unknown, closed: &Budget, setting: &ResolvedQuestion) -> Value {
    let condition = &closed.condition;
    match unknown {
        Unknown::Step => json!({
            "step": condition.step,
            "program_time_ns": setting.part.program_time(condition.step).map(|time| time.0),
        }),
        Unknown::Erase => json!({ "erase_shift": condition.erase_shift }),
        Unknown::Retention => {
            let heat = setting.part.device.heat(setting.celsius);
            json!({ "retention_s": seconds(condition.age) / heat, "at_least": condition.age >= Nanos(LONGEST.0 - LONGEST.0 / 1_000_000) })
        }
        Unknown::Wear => json!({ "pe_cycles": condition.pe_cycles }),
        Unknown::Code => {
            let strong = |t: &u64| Bch { data_bits: 32_768, t: *t }.limit(0, 1e-15) >= closed.limit;
            json!({ "limit": closed.limit, "bch_t_per_4kib": (1..=2000).find(strong) })
        }
    }
}
