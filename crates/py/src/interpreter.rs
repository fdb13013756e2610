//! Release of the Python interpreter while the engine works, so that other Python threads can run.

use crate::errors::refuse;
use crate::memory::{self, Meter};
use kit::Problems;
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// Time between two looks at the signals.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

thread_local! {
    /// Set once the work of this thread is to stop.
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
    /// True while the readers of this thread look for signals between two reads. They do in any case while they wait.
    static LISTENS: Cell<bool> = const { Cell::new(false) };
    /// Exception of a signal, or of too much memory, that a reader of this thread has seen.
    static SIGNAL: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Number of bytes after which a reader looks for signals.
const BYTES_PER_LOOK: usize = 1 << 20;

/// Does `work` with the interpreter released. Problems in the input become an `InputError`. A signal stops the work at
/// its next reading, and becomes the exception of its handler.
pub fn without<T: Send>(py: Python<'_>, work: impl FnOnce() -> std::result::Result<T, Problems> + Send) -> PyResult<T> {
    within(py, None, work)
}

/// Does `work` like [`without()`]. Memory above `most` bytes stops it like a signal, and becomes an `InputError`.
pub fn within<T: Send>(
    py: Python<'_>,
    most: Option<u64>,
    work: impl FnOnce() -> std::result::Result<T, Problems> + Send,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut signal = None;
    let meter = Meter::new(most);
    let done = released(py, || {
        std::thread::scope(|scope| {
            let main = std::thread::current();
            let own = Arc::clone(&stop);
            let worker = scope.spawn(move || {
                STOP.set(Some(own));
                let done = work();
                main.unpark();
                done
            });
            while !worker.is_finished() {
                std::thread::park_timeout(SIGNALS_EVERY);
                if signal.is_none() {
                    signal = signal_now().or_else(|| meter.as_ref().and_then(Meter::complaint));
                    stop.store(signal.is_some(), Ordering::Relaxed);
                }
            }
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    });
    match signal {
        Some(signal) => Err(signal),
        None => done.map_err(refuse),
    }
}

/// Returns the exception of a signal that has arrived. Never returns once the interpreter ends: a command that was
/// interrupted leaves this thread behind, and the process ends with it.
pub fn signal_now() -> Option<PyErr> {
    match Python::try_attach(|py| py.check_signals()) {
        Some(checked) => checked.err(),
        None => loop {
            std::thread::park();
        },
    }
}

/// Does `work` with the interpreter released. No other function releases it.
pub fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(work)
}

/// Decides whether readers of this thread look for signals between two reads: the thread calls the engine without a
/// thread aside.
pub fn listen(listens: bool) {
    LISTENS.set(listens);
}

/// Returns the exception of a signal, or of too much memory, that a reader of this thread has seen.
pub fn take_signal() -> Option<PyErr> {
    SIGNAL.take()
}

/// Opens a file. Its reader fails once the work of this thread is to stop.
pub fn interruptible(path: &Path) -> Result<Box<dyn Read + Send>> {
    let from = if std::fs::metadata(path)?.is_file() { Source::File(File::open(path)?) } else { Source::Aside(aside(path)) };
    Ok(Box::new(Interruptible { from, stop: STOP.with_borrow(Clone::clone), unlooked: BYTES_PER_LOOK }))
}

/// Bytes of a file that is read by this thread, or by one aside.
enum Source {
    File(File),
    Aside(Aside),
}

/// Bytes of a pipe or a device, which may not come. A thread aside waits for them: a signal that arrives just before a
/// read would not end it.
struct Aside {
    parts: Receiver<Result<Vec<u8>>>,
    part: std::io::Cursor<Vec<u8>>,
}

/// Begins to read a pipe or a device on a thread aside. If it is not read to its end, the thread waits for its next
/// bytes, and ends with them, or with the process.
fn aside(path: &Path) -> Aside {
    let (to, parts) = std::sync::mpsc::sync_channel(1);
    let path = path.to_owned();
    std::thread::spawn(move || {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) => return drop(to.send(Err(error))),
        };
        let mut into = vec![0; BYTES_PER_LOOK];
        loop {
            let part = file.read(&mut into).map(|count| into[..count].to_vec());
            let is_last = part.as_ref().map_or_else(|error| error.kind() != ErrorKind::Interrupted, Vec::is_empty);
            if to.send(part).is_err() || is_last {
                return;
            }
        }
    });
    Aside { parts, part: std::io::Cursor::default() }
}

struct Interruptible {
    from: Source,
    stop: Option<Arc<AtomicBool>>,
    /// Bytes read since the last look for signals.
    unlooked: usize,
}

impl Interruptible {
    /// Returns true if the work is to stop. `waits`: the reader waits for bytes.
    fn is_to_stop(&mut self, waits: bool) -> bool {
        if let Some(stop) = &self.stop {
            return stop.load(Ordering::Relaxed);
        }
        if let Some(complaint) = memory::complaint() {
            SIGNAL.set(Some(complaint));
            return true;
        }
        if !waits && (!LISTENS.get() || self.unlooked < BYTES_PER_LOOK) {
            return false;
        }
        self.unlooked = 0;
        let signal = signal_now();
        let is_signal = signal.is_some();
        SIGNAL.with_borrow_mut(|kept| *kept = signal.or(kept.take()));
        is_signal
    }
}

impl Read for Interruptible {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        let mut waits = false;
        loop {
            if self.is_to_stop(waits) {
                return Err(Error::other("interrupted"));
            }
            let aside = match &mut self.from {
                Source::File(file) => {
                    let count = file.read(into)?;
                    self.unlooked += count;
                    return Ok(count);
                }
                Source::Aside(aside) => aside,
            };
            let count = aside.part.read(into)?;
            if count > 0 {
                self.unlooked += count;
                return Ok(count);
            }
            match aside.parts.recv_timeout(SIGNALS_EVERY) {
                Ok(part) => {
                    aside.part = std::io::Cursor::new(part?);
                    if aside.part.get_ref().is_empty() {
                        return Ok(0);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) => waits = true,
            }
        }
    }
}
