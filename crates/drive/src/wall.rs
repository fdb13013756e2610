//! The wall clock: read for `wall_s` and for the pace of progress reports, and by nothing that a result depends on.

#[expect(clippy::disallowed_types, reason = "the one place that reads the wall clock")]
use std::time::Instant;

/// Seconds since it was started.
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
