//! List of parts, and all parameters of a part.

use crate::parts::{find, names};
use crate::question::Question;
use ecc::BlockCode;
use kit::Problems;
use serde_json::{Value, json};

/// Returns all parts; if the question names one, that part with its parameters.
pub(super) fn answer(question: &Question) -> Result<Value, Problems> {
    if !question.cell.is_empty() {
        let part = find("cell", &question.cell)?;
        return Ok(json!({
            "name": part.name,
            "summary": part.summary,
            "code": crate::notation::written(&part.code),
            "step_unit": part.device.technology.step_unit(),
            "limit": part.limit(question.soft_levels),
            "codeword_bits": part.code.codeword_bits(),
            "parity_bits": part.code.parity_bits(),
            "parameters": part.parameters,
        }));
    }
    let mut rows = Vec::new();
    for name in names() {
        let part = find("cell", name)?;
        rows.push(json!({
            "name": name,
            "summary": part.summary,
            "page_types": part.device.technology.page_types(),
            "rated_pe_cycles": part.device.rated_pe_cycles,
            "nominal_step": part.device.technology.widest_step().map(|_| part.device.nominal_step),
            "step_unit": part.device.technology.step_unit(),
            "program_time_ns": part.program_time(part.device.nominal_step).map(|time| time.0),
            "code": crate::notation::written(&part.code),
            "limit": part.limit(0),
        }));
    }
    Ok(json!({ "parts": rows }))
}
