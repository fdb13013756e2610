//! What is wrong with an input, as a Python exception.

use kit::Problems;
use pyo3::PyErr;
use pyo3::exceptions::PyValueError;

pyo3::create_exception!(ssdlab, InputError, PyValueError, "Something is wrong with the input: one line for each thing.");

/// The exception for `problems`.
pub fn refuse(problems: Problems) -> PyErr {
    InputError::new_err(problems.to_string())
}

/// The exception for something wrong at `place`.
pub fn refuse_at(place: &str, complaint: impl ToString) -> PyErr {
    refuse(Problems::one(place, complaint.to_string()))
}
