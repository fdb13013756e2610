//! Gives the requests of a source their arrival times.

use super::arrival::Arrivals;
use crate::{Request, Source};
use kit::{Problems, SimTime};

/// Gaps drawn at once: one call through the pointer serves as many requests.
const BATCH: usize = 64;

/// A source whose requests arrive as a process says.
pub struct Timed<S> {
    inner: S,
    arrivals: Box<dyn Arrivals>,
    gaps_ns: [u64; BATCH],
    used: usize,
    now: SimTime,
}

impl<S: Source> Timed<S> {
    /// `inner`, timed by `arrivals`; the first request arrives one gap after the start.
    pub fn new(inner: S, arrivals: Box<dyn Arrivals>) -> Timed<S> {
        Timed { inner, arrivals, gaps_ns: [0; BATCH], used: BATCH, now: SimTime::ZERO }
    }
}

impl<S: Source> Source for Timed<S> {
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
