//! The wall clock. It is read only for `wall_s` and for the pace of progress reports; no simulation result depends on
//! it.

#[expect(clippy::disallowed_types, reason = "the one place that reads the wall clock")]
use std::time::Instant;

/// Stopwatch that counts seconds of wall time from its start.
pub(crate) struct Clock(#[expect(clippy::disallowed_types, reason = "the one place that reads the wall clock")] Instant);

impl Clock {
    pub fn start() -> Clock {
        #[expect(clippy::disallowed_types, reason = "the one place that reads the wall clock")]
        Clock(Instant::now())
    }

    pub fn seconds(&self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}
