//! Leaving the interpreter to others while the engine works.

use crate::errors::refuse;
use kit::Problems;
use pyo3::prelude::*;

/// Does `work` with the interpreter released; what is wrong with the input is an exception.
pub fn without<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Problems> + Send) -> PyResult<T> {
    released(py, work).map_err(refuse)
}

/// Does `work` with the interpreter released. The only place that releases it.
pub fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(work)
}
