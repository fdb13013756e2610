//! Sessions: what several runs share.

use crate::errors::refuse_at;
use drive::session;
use kit::Bytes;
use pyo3::prelude::*;
use std::sync::Arc;

/// Limit of kept states where the system does not tell its available memory.
const UNKNOWN_MEMORY: u64 = 1 << 30;

/// State that runs share if they are given the same session: aged scale models of steady states, and starting states.
#[pyclass(frozen)]
pub struct Session(pub Arc<session::Session>);

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (limit=None))]
    fn new(limit: Option<&str>) -> PyResult<Session> {
        let limit = match limit {
            Some(text) => text.parse::<Bytes>().map_err(|complaint| refuse_at("limit", complaint))?.0,
            None => available_memory().map_or(UNKNOWN_MEMORY, |bytes| bytes / 4),
        };
        Ok(Session(Arc::new(session::Session::keeping(limit))))
    }

    /// Figures of the starting states that are kept: their number, the runs that began with one, the sum of their sizes
    /// in bytes, and its limit.
    #[getter]
    fn states(&self) -> (u64, u64, u64, u64) {
        let session::StatesReport { count, hits, bytes, limit } = self.0.states();
        (count, hits, bytes, limit)
    }
}

/// Returns the session of a run; a new session if none is given, which keeps no starting states.
pub fn shared(session: Option<&Py<Session>>) -> Arc<session::Session> {
    session.map(|session| Arc::clone(&session.get().0)).unwrap_or_default()
}

/// Returns the memory that programs can be given without swapping (Linux: `MemAvailable`), or what the limit of the
/// container leaves of it (control groups, version 2) \[bytes\]; `None` if the system does not tell.
fn available_memory() -> Option<u64> {
    let known = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = known.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let available = line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)?;
    let of_container = |file: &str| std::fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?.trim().parse::<u64>().ok();
    let left = of_container("memory.max").zip(of_container("memory.current")).map(|(most, used)| most.saturating_sub(used));
    Some(left.map_or(available, |left| left.min(available)))
}
