//! Memory that the work of a call may take: the limit, and the look at it while the work goes on.

use crate::errors::refuse_at;
use kit::{Bytes, words};
use pyo3::prelude::*;
use std::cell::RefCell;

/// Name of the option in messages.
const OPTION: &str = "--max-memory";
/// Number of reads after which a reader looks: 256 KiB of compressed data, while the system's figure takes some 20 us.
const READS_PER_LOOK: u32 = 8;

thread_local! {
    /// Limit of the call that this thread works for.
    static METER: RefCell<Option<Meter>> = const { RefCell::new(None) };
}

/// Returns the limit in a text, a size or a share of the memory that is free \[bytes\]; `None`: the default share.
#[pyfunction]
#[pyo3(signature = (text, free))]
pub fn memory_limit(text: Option<&str>, free: u64) -> PyResult<u64> {
    let text = text.unwrap_or("90%").trim();
    let refused = |complaint: &dyn std::fmt::Display| refuse_at(OPTION, format!("`{text}`: {complaint}"));
    let limit = if let Some(share) = text.strip_suffix('%') {
        let share = share.trim().parse::<f64>().ok().filter(|share| (0.0..=1000.0).contains(share));
        let share = share.ok_or_else(|| refused(&"expected a share of the free memory, such as 50%, or a size, such as 4GiB"))?;
        (free as f64 * share / 100.0) as u64
    } else {
        text.parse::<Bytes>().map_err(|complaint| refused(&complaint))?.0
    };
    if limit == 0 { Err(refused(&"expected more than nothing")) } else { Ok(limit) }
}

/// The limit of a call, and the memory at its start.
pub struct Meter {
    begin: u64,
    most: u64,
    /// Reads since the last look.
    reads: u32,
}

impl Meter {
    /// Returns the meter of a call that begins; `None` without a limit, or where the system does not tell the memory of
    /// a process.
    pub fn new(most: Option<u64>) -> Option<Meter> {
        Some(Meter { begin: resident()?, most: most?, reads: 0 })
    }

    /// Returns the complaint if the call has come to take more than its limit.
    pub fn complaint(&self) -> Option<PyErr> {
        let taken = resident()?.saturating_sub(self.begin);
        if taken <= self.most {
            return None;
        }
        let [most, taken] = [self.most, taken].map(|bytes| words::size(Bytes(bytes)));
        let what = format!("{taken} are in use, and the limit is {most}: expected a smaller drive or load, or a higher limit");
        Some(refuse_at(OPTION, what))
    }
}

/// Does `work` with a limit that the readers of this thread look at.
pub fn limited<T>(most: Option<u64>, work: impl FnOnce() -> T) -> T {
    METER.set(Meter::new(most));
    let done = work();
    METER.set(None);
    done
}

/// Returns the complaint if the call that this thread works for has come to take more than its limit. For a reader
/// before each read: few of them look.
pub fn complaint() -> Option<PyErr> {
    METER.with_borrow_mut(|meter| {
        let meter = meter.as_mut()?;
        meter.reads = (meter.reads + 1) % READS_PER_LOOK;
        if meter.reads == 0 { meter.complaint() } else { None }
    })
}

/// Returns the memory that this process takes \[bytes\]; `None` if the system does not tell (all but Linux).
fn resident() -> Option<u64> {
    let told = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = told.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
