//! Release of the Python interpreter while the engine works, so that other Python threads can run.

use crate::errors::refuse;
use kit::Problems;
use pyo3::prelude::*;

/// Does `work` with the interpreter released. Problems in the input become an `InputError`.
pub fn without<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Problems> + Send) -> PyResult<T> {
    released(py, work).map_err(refuse)
}

/// Does `work` with the interpreter released. No other function releases it.
pub fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(work)
}
