//! The cell laboratory: a question in JSON, an answer in JSON.

use crate::interpreter::without;
use pyo3::prelude::*;

/// The laboratory's answer to a question.
#[pyfunction]
pub fn lab(py: Python<'_>, what: &str, question_json: &str) -> PyResult<String> {
    without(py, || ::lab::ask(what, question_json).map(|answer| answer.to_string()))
}
