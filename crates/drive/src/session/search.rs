//! Search for the steady state during a run.

use crate::drive::Drive;
use crate::steady::{SteadyState, WINDOW};
use kit::{Nanos, SimTime};

/// Search for the steady state during a run.
pub(super) struct Search {
    pub state: SteadyState,
    next: u64,
    counted: u64,
    measure_until: Option<u64>,
}

impl Search {
    pub fn new(round_ns: u64, start: SimTime) -> Search {
        Search { state: SteadyState::new(round_ns), next: start.0 + round_ns, counted: 0, measure_until: None }
    }

    /// Returns a note for the user if no steady state was reached.
    pub fn note(&self) -> Option<String> {
        (!self.state.reached).then(|| {
            format!(
                "the steady state was not reached in {} rounds of {} (range within 20 %, slope within 10 % over {WINDOW} rounds)",
                self.state.rounds,
                Nanos(self.state.round_ns)
            )
        })
    }

    /// Adds a round to the search if one has ended; returns true once the measurement after the steady state is over.
    pub fn is_over(&mut self, drive: &mut Drive) -> bool {
        let now = drive.now().0;
        if let Some(until) = self.measure_until {
            return now >= until;
        }
        if now < self.next {
            return false;
        }
        let total: u64 = drive.statistics.totals.count();
        let rounds = (now - self.next) / self.state.round_ns + 1;
        let iops = (total - self.counted) as f64 * 1e9 / (rounds * self.state.round_ns) as f64;
        self.counted = total;
        self.next += rounds * self.state.round_ns;
        if self.state.add(iops) {
            drive.restart_measurement();
            self.measure_until = Some(now + WINDOW as u64 * self.state.round_ns);
        }
        false
    }
}
