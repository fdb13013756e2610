//! Clocks: what an instant of real time is for the drive.

use kit::{Nanos, SimTime};
use std::time::Duration;
#[expect(clippy::disallowed_types, reason = "a server waits in real time; the engine reads no clock")]
use std::time::Instant;

/// Real time.
pub struct Wall(#[expect(clippy::disallowed_types, reason = "a server waits in real time")] Instant);

impl Wall {
    /// Returns the present instant.
    #[must_use]
    pub fn now() -> Wall {
        #[expect(clippy::disallowed_types, reason = "a server waits in real time")]
        Wall(Instant::now())
    }

    /// Returns the time since then.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Clock of the drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clock {
    /// The simulated clock stands still while no request is in flight, and otherwise goes on from completion to
    /// completion as fast as the machine computes.
    Simulated {
        /// Time from the instant at which a request is read to its arrival at the drive.
        think: Nanos,
        /// Number of requests for which the clock waits before it goes on; 1: it does not wait.
        depth: u64,
    },
    /// A simulated second takes `factor` real ones.
    Dilated {
        /// Factor, above 0.
        factor: f64,
    },
}

impl Clock {
    /// Returns a clock by its name: `simulated`, or `dilated:N`. The error says what was expected.
    pub fn read(text: &str) -> Result<Clock, String> {
        if text == "simulated" {
            return Ok(Clock::Simulated { think: Nanos::ZERO, depth: 1 });
        }
        let factor = text.strip_prefix("dilated:").and_then(|factor| factor.parse::<f64>().ok());
        let factor = factor.filter(|factor| (1e-3..=1e9).contains(factor));
        factor
            .map(|factor| Clock::Dilated { factor })
            .ok_or_else(|| format!("`{text}`: expected simulated or dilated:N, N from 0.001 to 1000000000"))
    }
}

/// Requests between two looks at how late the replies are.
const WINDOW: u64 = 1000;
/// Windows in a row whose replies are later than their latency, until the clock is given up.
const PATIENCE: u32 = 3;

/// Real time of a dilated clock, from its first request on.
pub struct Dilation {
    factor: f64,
    begin: Option<(Wall, SimTime)>,
    replies: u64,
    late_ns: u128,
    late_ns_max: u64,
    window: Window,
    late_windows: u32,
}

/// Sums over the replies of a window \[ns of real time\].
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    replies: u64,
    late_ns: u64,
    latency_ns: u64,
}

impl Dilation {
    /// Returns a clock that has not begun.
    #[must_use]
    pub fn new(factor: f64) -> Dilation {
        let window = Window::default();
        Dilation { factor, begin: None, replies: 0, late_ns: 0, late_ns_max: 0, window, late_windows: 0 }
    }

    /// Begins, unless it has begun: `now` is the simulated instant of the present.
    pub fn begin(&mut self, now: SimTime) {
        self.begin.get_or_insert((Wall::now(), now));
    }

    /// Returns the simulated instant of the present; `None` before the first request.
    #[must_use]
    pub fn now(&self) -> Option<SimTime> {
        let (wall, from) = self.begin.as_ref()?;
        let passed = wall.elapsed().as_nanos() as f64 / self.factor;
        Some(SimTime(from.0.saturating_add(passed as u64)))
    }

    /// Returns the real time until a simulated instant: zero, if it is over.
    #[must_use]
    pub fn until(&self, at: SimTime) -> Duration {
        let Some((wall, from)) = &self.begin else { return Duration::ZERO };
        let due = Duration::from_nanos((at.since(*from).0 as f64 * self.factor) as u64);
        due.saturating_sub(wall.elapsed())
    }

    /// Notes a reply that is sent now for a command that was completed at an instant, after a latency. Returns the
    /// smallest factor that would have been kept, if the machine does not keep up.
    pub fn note(&mut self, completed: SimTime, latency: Nanos) -> Option<f64> {
        let late = self.now().map_or(0, |now| now.0.saturating_sub(completed.0));
        let late_ns = (late as f64 * self.factor) as u64;
        self.replies += 1;
        self.late_ns += u128::from(late_ns);
        self.late_ns_max = self.late_ns_max.max(late_ns);
        self.window.replies += 1;
        self.window.late_ns += late_ns;
        self.window.latency_ns += (latency.0 as f64 * self.factor) as u64;
        if self.window.replies < WINDOW {
            return None;
        }
        let Window { late_ns, latency_ns, .. } = std::mem::take(&mut self.window);
        self.late_windows = if late_ns > latency_ns { self.late_windows + 1 } else { 0 };
        (self.late_windows >= PATIENCE).then(|| (self.factor * late_ns as f64 / latency_ns.max(1) as f64).ceil())
    }

    /// Returns the replies so far, and by how much they were late on average and at most \[ns of real time\].
    #[must_use]
    pub fn lateness(&self) -> (u64, u64, u64) {
        let mean = self.late_ns.checked_div(u128::from(self.replies)).unwrap_or(0);
        (self.replies, mean as u64, self.late_ns_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_read_by_their_names() {
        assert_eq!(Clock::read("dilated:2.5"), Ok(Clock::Dilated { factor: 2.5 }));
        assert_eq!(Clock::read("simulated"), Ok(Clock::Simulated { think: Nanos::ZERO, depth: 1 }));
        for wrong in ["dilated:0", "dilated:", "dilated:-1", "dilated:nan", "real", ""] {
            assert!(Clock::read(wrong).unwrap_err().contains("expected simulated or dilated:N"), "{wrong}");
        }
    }

    #[test]
    fn a_machine_that_does_not_keep_up_is_noticed_after_three_windows() {
        let mut clock = Dilation::new(1000.0);
        clock.begin(SimTime(1_000_000_000_000));
        // Completed before the clock began: at least 1,000 s of real time late, at latencies of 1 s.
        let (long_ago, latency) = (SimTime(999_000_000_000), Nanos(1_000_000));
        for _ in 1..PATIENCE as u64 * WINDOW {
            assert_eq!(clock.note(long_ago, latency), None);
        }
        let kept = clock.note(long_ago, latency).expect("the third window is over");
        assert!(kept >= 1_000_000.0, "{kept}");
        assert!(clock.lateness().1 >= 1_000_000_000_000);
    }

    #[test]
    fn replies_in_time_never_give_a_clock_up() {
        let mut clock = Dilation::new(1.0);
        clock.begin(SimTime::ZERO);
        for _ in 0..5 * WINDOW {
            assert_eq!(clock.note(SimTime::LAST, Nanos(1)), None);
        }
        assert_eq!(clock.lateness(), (5 * WINDOW, 0, 0));
    }
}
