//! Release of the Python interpreter while the engine works, so that other Python threads can run.

use crate::errors::refuse;
use kit::Problems;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::io::{Error, Read, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time between two looks at the signals.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

thread_local! {
    /// Set once the work of this thread is to stop.
    static STOP: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

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

/// Returns a reader of `from` that fails once the work of this thread is to stop.
pub fn interruptible(from: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    match STOP.with_borrow(Clone::clone) {
        Some(stop) => Box::new(Interruptible { from, stop }),
        None => Box::new(from),
    }
}

struct Interruptible<R> {
    from: R,
    stop: Arc<AtomicBool>,
}

impl<R: Read> Read for Interruptible<R> {
    fn read(&mut self, into: &mut [u8]) -> Result<usize> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(Error::other("interrupted"));
        }
        self.from.read(into)
    }
}
