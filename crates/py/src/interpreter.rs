//! Release of the Python interpreter while the engine works, so that other Python threads can run.

use crate::errors::refuse;
use kit::Problems;
use pyo3::prelude::*;
use std::cell::{Cell, RefCell};
use std::io::{Error, Read, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time between two looks at the signals.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

thread_local! {
    /// Set once the work of this thread is to stop.
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
    /// True while the readers of this thread look for signals.
    static LISTENS: Cell<bool> = const { Cell::new(false) };
    /// Exception of a signal that a reader of this thread has seen.
    static SIGNAL: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Number of bytes after which a reader looks for signals.
const BYTES_PER_LOOK: usize = 1 << 20;

/// Does `work` with the interpreter released. Problems in the input become an `InputError`. A signal stops the work at
/// its next reading, and becomes the exception of its handler.
pub fn without<T: Send>(py: Python<'_>, work: impl FnOnce() -> std::result::Result<T, Problems> + Send) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let mut signal = None;
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
                    signal = Python::attach(|py| py.check_signals()).err();
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

/// Does `work` with the interpreter released. No other function releases it.
pub fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(work)
}

/// Decides whether readers of this thread look for signals: the thread calls the engine without a thread aside.
pub fn listen(listens: bool) {
    LISTENS.set(listens);
}

/// Returns the exception of a signal that a reader of this thread has seen.
pub fn take_signal() -> Option<PyErr> {
    SIGNAL.take()
}

/// Returns a reader of `from` that fails once the work of this thread is to stop.
pub fn interruptible(from: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    Box::new(Interruptible { from, stop: STOP.with_borrow(Clone::clone), unlooked: BYTES_PER_LOOK })
}

struct Interruptible<R> {
    from: R,
    stop: Option<Arc<AtomicBool>>,
    /// Bytes read since the last look for signals.
    unlooked: usize,
}

impl<R> Interruptible<R> {
    fn is_to_stop(&mut self) -> bool {
        if let Some(stop) = &self.stop {
            return stop.load(Ordering::Relaxed);
        }
        if !LISTENS.get() || self.unlooked < BYTES_PER_LOOK {
            return false;
        }
        self.unlooked = 0;
        let signal = Python::attach(|py| py.check_signals()).err();
        let is_signal = signal.is_some();
        SIGNAL.with_borrow_mut(|kept| *kept = signal.or(kept.take()));
        is_signal
    }
}

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        if self.is_to_stop() {
            return Err(Error::other("interrupted"));
        }
        let count = self.from.read(into)?;
        self.unlooked += count;
        Ok(count)
    }
}
