//! Python exceptions for problems in the input or in a policy.

use kit::Problems;
use pyo3::exceptions::PyValueError;
use pyo3::{PyErr, Python};

pyo3::create_exception!(
    ssdlab,
    InputError,
    PyValueError,
    "Error in the input: one line for each problem, with its place and the expected value."
);

pyo3::create_exception!(
    ssdlab,
    PolicyError,
    InputError,
    "Error in a policy in Python, with file and line; an exception that the policy raised is the cause."
);

/// Returns the exception for problems in a policy's declarations or answers. Its argument is a list of pairs (call,
/// problem).
pub fn refuse_policy(problems: Problems) -> PyErr {
    let pairs: Vec<(String, String)> = problems.0.iter().map(|problem| (problem.place.clone(), problem.detail())).collect();
    PolicyError::new_err((pairs,))
}

/// Returns the `PolicyError` whose cause is an exception that a policy raised.
pub fn raised_in_policy(py: Python<'_>, raised: PyErr) -> PyErr {
    let error = PolicyError::new_err((Vec::<(String, String)>::new(),));
    error.set_cause(py, Some(raised));
    error
}

/// Returns the `InputError` for `problems`.
pub fn refuse(problems: Problems) -> PyErr {
    InputError::new_err(problems.to_string())
}

/// Returns the `InputError` for a single problem at `place`.
pub fn refuse_at(place: &str, complaint: impl ToString) -> PyErr {
    refuse(Problems::one(place, complaint.to_string()))
}
