//! Assigns arrival times to the requests of a source.

use super::arrival::Arrivals;
use crate::{Request, Source};
use kit::{Problems, SimTime};

/// Number of gaps drawn at once, so that many requests share one indirect call.
const BATCH: usize = 64;

/// Source whose requests arrive according to an arrival process.
pub struct Timed<S> {
    inner: S,
    arrivals: Box<dyn Arrivals>,
    gaps_ns: [u64; BATCH],
    used: usize,
    now: SimTime,
}

impl<S: Source> Timed<S> {
    /// Returns `inner` with the arrival times of `arrivals`; the first request arrives one gap after the start.
    pub fn new(inner: S, arrivals: Box<dyn Arrivals>) -> Timed<S> {
        Timed { inner, arrivals, gaps_ns: [0; BATCH], used: BATCH, now: SimTime::ZERO }
    }
}

impl<S: Source> Source for Timed<S> {
    fn requests(&self) -> Option<u64> {
        self.inner.requests()
    }

    fn fill(&mut self, out: &mut Vec<Request>, limit: usize) -> Result<(), Problems> {
        let from = out.len();
        self.inner.fill(out, limit)?;
        for request in &mut out[from..] {
            if self.used == BATCH {
                self.arrivals.fill(&mut self.gaps_ns);
                self.used = 0;
            }
            self.now = SimTime(self.now.0.saturating_add(self.gaps_ns[self.used]));
            self.used += 1;
            request.at = self.now;
        }
        Ok(())
    }
}
