//! Progress of a run.

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Stage of the run: `foresee` (the future accesses are recorded for a policy that needs them), `precondition`,
    /// `run`, `lifetime`, `shutdown` or `save`.
    pub stage: &'static str,
    /// Simulated time \[ns\].
    pub simulated_ns: u64,
    /// Commands completed.
    pub commands: u64,
    /// Completed share of the stage, where it is known.
    pub fraction: Option<f64>,
}

/// Calls the progress callback about ten times per second of wall time, and keeps its answer whether to go on.
pub(crate) struct ProgressMeter<'a> {
    progress: &'a mut dyn FnMut(&Progress) -> bool,
    clock: crate::wall::Clock,
    told_s: f64,
    go_on: bool,
}

impl<'a> ProgressMeter<'a> {
    pub fn new(progress: &'a mut dyn FnMut(&Progress) -> bool) -> ProgressMeter<'a> {
        ProgressMeter { progress, clock: crate::wall::Clock::start(), told_s: 0.0, go_on: true }
    }

    pub fn seconds(&self) -> f64 {
        self.clock.seconds()
    }

    pub fn tell(&mut self, stage: &'static str, simulated_ns: u64, commands: u64, fraction: Option<f64>) -> bool {
        let now = self.seconds();
        if now - self.told_s >= 0.1 {
            self.told_s = now;
            self.go_on = (self.progress)(&Progress { stage, simulated_ns, commands, fraction });
        }
        self.go_on
    }
}
