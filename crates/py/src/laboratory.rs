//! The cell laboratory: questions and answers in JSON.

use crate::interpreter::without;
use pyo3::prelude::*;

/// Returns the cell laboratory's answer to a question. `what` is the kind of question; question and answer are JSON.
#[pyfunction]
pub fn lab(py: Python<'_>, what: &str, question_json: &str) -> PyResult<String> {
    without(py, || ::lab::ask(what, question_json).map(|answer| answer.to_string()))
}
