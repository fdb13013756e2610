//! Sessions: what several runs share.

use crate::errors::refuse_at;
use drive::session::{self, Claim, KeepShared, SharedStates};
use kit::Bytes;
use pyo3::prelude::*;
use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// Limit of kept states where the system does not tell its available memory.
const UNKNOWN_MEMORY: u64 = 1 << 30;

/// Size of the buffer of a file with a starting state.
const BUFFER: usize = 1 << 20;

/// State that runs share if they are given the same session: aged scale models of steady states, and starting states.
#[pyclass(frozen)]
pub struct Session(pub Arc<session::Session>);

#[pymethods]
impl Session {
    #[new]
    #[pyo3(signature = (limit=None, shared=None))]
    fn new(limit: Option<&str>, shared: Option<Py<PyAny>>) -> PyResult<Session> {
        let limit = match limit {
            Some(text) => text.parse::<Bytes>().map_err(|complaint| refuse_at("limit", complaint))?.0,
            None => available_memory().map_or(UNKNOWN_MEMORY, |bytes| bytes / 4),
        };
        let session = session::Session::keeping(limit);
        Ok(Session(Arc::new(match shared {
            Some(folder) => session.sharing(Box::new(Shared(folder))),
            None => session,
        })))
    }

    /// Figures of the starting states that are kept: their number, the runs that began with one, the sum of their sizes
    /// in bytes, and its limit.
    #[getter]
    fn states(&self) -> (u64, u64, u64, u64) {
        let session::StatesReport { count, hits, bytes, limit } = self.0.states();
        (count, hits, bytes, limit)
    }
}

/// Starting states in a folder that a Python object looks after (`ssdlab.explore.states.SharedStates`).
struct Shared(Py<PyAny>);

/// The right to write a state to a file.
struct Writing {
    folder: Py<PyAny>,
    key: String,
    path: PathBuf,
    is_kept: bool,
}

impl SharedStates for Shared {
    fn claim(&self, key: &str) -> Result<Claim, String> {
        let claimed = Python::attach(|py| {
            let claimed = self.0.bind(py).call_method1("claim", (key,))?;
            claimed.extract::<Option<(PathBuf, bool)>>()
        });
        match claimed.map_err(|error| error.to_string())? {
            None => Ok(Claim::Alone),
            Some((path, true)) => {
                let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
                Ok(Claim::Saved(Box::new(BufReader::with_capacity(BUFFER, file))))
            }
            Some((path, false)) => {
                let folder = Python::attach(|py| self.0.clone_ref(py));
                Ok(Claim::Make(Box::new(Writing { folder, key: key.to_owned(), path, is_kept: false })))
            }
        }
    }
}

impl KeepShared for Writing {
    fn keep(&mut self, write: &mut dyn FnMut(&mut dyn Write) -> std::io::Result<()>) {
        let file = File::create(&self.path).map(|file| BufWriter::with_capacity(BUFFER, file));
        self.is_kept = file.and_then(|mut file| write(&mut file).and_then(|()| file.flush())).is_ok();
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        // An error here has no run to fail: the others make the state themselves once this process has ended.
        let _ = Python::attach(|py| self.folder.bind(py).call_method1("done", (self.key.as_str(), self.is_kept)).map(drop));
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
