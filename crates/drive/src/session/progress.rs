//! Progress of a run.

use crate::run_loop::Reached;
use crate::summary::View;

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Stage of the run: `foresee` (the future accesses are recorded for a policy that needs them), `precondition`,
    /// `run`, `lifetime`, `shutdown` or `save`; `end` is no stage, but the moment at which the measurement is over.
    pub stage: &'static str,
    /// Simulated time \[ns\].
    pub simulated_ns: u64,
    /// Commands completed.
    pub commands: u64,
    /// Completed share of the stage, where it is known.
    pub fraction: Option<f64>,
    /// The drive at work, in the stage `run` and at its `end`.
    pub drive: Option<View<'a>>,
}

/// Calls the progress callback about ten times per second of wall time, and keeps its answer whether to go on.
pub(crate) struct ProgressMeter<'a> {
    progress: &'a mut dyn FnMut(&Progress<'_>) -> bool,
    clock: crate::wall::Clock,
    told_s: f64,
    go_on: bool,
}

impl<'a> ProgressMeter<'a> {
    pub fn new(progress: &'a mut dyn FnMut(&Progress<'_>) -> bool) -> ProgressMeter<'a> {
        ProgressMeter { progress, clock: crate::wall::Clock::start(), told_s: 0.0, go_on: true }
    }

    pub fn seconds(&self) -> f64 {
        self.clock.seconds()
    }

    pub fn tell(&mut self, stage: &'static str, simulated_ns: u64, commands: u64, fraction: Option<f64>) -> bool {
        self.pass_on(&Progress { stage, simulated_ns, commands, fraction, drive: None })
    }

    /// Tells how far a replay on a drive is.
    pub fn tell_of(&mut self, drive: View<'_>, reached: Reached) -> bool {
        self.pass_on(&of_drive("run", drive, reached))
    }

    /// Tells that the measurement of a drive is over. Nothing depends on the answer.
    pub fn tell_end(&mut self, drive: View<'_>, reached: Reached) {
        (self.progress)(&of_drive("end", drive, reached));
    }

    fn pass_on(&mut self, progress: &Progress<'_>) -> bool {
        let now = self.seconds();
        if now - self.told_s >= 0.1 {
            self.told_s = now;
            self.go_on = (self.progress)(progress);
        }
        self.go_on
    }
}

/// Returns the progress of a replay on a drive.
fn of_drive<'a>(stage: &'static str, drive: View<'a>, reached: Reached) -> Progress<'a> {
    let Reached { commands, share } = reached;
    Progress { stage, simulated_ns: drive.now().0, commands, fraction: share, drive: Some(drive) }
}
