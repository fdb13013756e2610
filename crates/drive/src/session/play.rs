//! A run in progress.

use super::custom::{Ended, failure};
use super::future::future_accesses;
use super::plan::{RunPlan, in_script};
use super::progress::ProgressMeter;
use super::request::RunRequest;
use super::search::Search;
use super::start::too_large;
use crate::description::Description;
use crate::drive::Drive;
use crate::energy::EnergyReport;
use crate::failure::{Failure, PowerFailureReport};
use crate::run_loop::{End, Part, Reached, RunLoop};
use crate::statistics::Utilisation;
use crate::streams::Streams;
use crate::summary::{RunFacts, View};
use ftl::policy::Interruption;
use kit::{Nanos, Problems, SimTime};
use serde_json::Value;
use std::sync::Arc;
use workload::{Input, Workload};

/// A run in progress.
pub(super) struct Run<'a, 'w> {
    pub plan: &'a RunPlan<'a>,
    pub description: &'a Description,
    pub input: &'a Input,
    pub drive: Drive,
    pub watch: ProgressMeter<'w>,
}

/// Results of the measured part of a run.
pub(super) struct Measured {
    pub run_loop: RunLoop,
    pub search: Option<Search>,
    pub end: End,
    pub complete: bool,
    pub power_failure: Option<PowerFailureReport>,
    pub workload_end: SimTime,
    pub utilisation: Utilisation,
    pub energy: Option<EnergyReport>,
    pub shutdown_ns: Option<u64>,
    pub wall_s: f64,
}

impl Measured {
    /// Returns the facts of the run for the summary.
    pub fn facts<'a>(
        &'a self,
        request: &'a RunRequest,
        input: &'a Input,
        policy: &'a str,
        starting_state: Value,
    ) -> RunFacts<'a> {
        RunFacts {
            drive_name: &request.drive.name,
            workload_name: &input.name,
            policy_name: policy,
            seed: request.setup.seed,
            complete: self.complete,
            wall_s: self.wall_s,
            rejected: self.run_loop.rejected,
            saturated: self.run_loop.is_saturated(),
            max_in_flight: self.run_loop.max_in_flight,
            steady: self.search.as_ref().map(|search| &search.state),
            starting_state,
            workload_end: self.workload_end,
            utilisation: self.utilisation.clone(),
            energy: self.energy.clone(),
            shutdown_ns: self.shutdown_ns,
            power_failure: self.power_failure.as_ref(),
        }
    }
}

impl Run<'_, '_> {
    /// Replays the commands before `rest_after`, if it is given, and brings the drive to rest. Returns true if the run
    /// goes on.
    pub fn first_part(&mut self) -> Result<bool, Ended> {
        let Some(part) = self.plan.first_part() else { return Ok(true) };
        self.set_future(part)?;
        let mut run_loop = RunLoop::of(self.plan.workload(self.input, self.description)?, part)?;
        let (watch, description) = (&mut self.watch, self.description);
        let end = run_loop.run(&mut self.drive, &mut |drive, reached| {
            may_go_on(drive) && watch.tell_of(View::new(drive, description), reached)
        })?;
        failure(&self.drive)?;
        in_time(end)?;
        if end != End::Complete || interruption(&self.drive).is_some() {
            return Ok(false);
        }
        self.shut_down();
        self.drive.rest();
        self.drive.go_on();
        self.drive.restart_measurement();
        Ok(true)
    }

    /// Gives a policy that needs it the future accesses of a part of the workload.
    fn set_future(&mut self, part: Part) -> Result<(), Problems> {
        if self.drive.translator().map().is_some_and(|map| map.policy().wants_future()) {
            let workload = self.plan.workload(self.input, self.description)?;
            let future =
                future_accesses(self.description, RunLoop::of(workload, part)?, self.plan.request.setup.seed, &mut self.watch)?;
            self.drive.set_future(&Arc::new(future));
        }
        Ok(())
    }

    /// Shuts the drive down, if its description requests that at the end of a run; returns the time that it took
    /// \[ns\].
    fn shut_down(&mut self) -> Option<u64> {
        let from = self.drive.now();
        self.description.state.graceful_shutdown.then(|| {
            let watch = &mut self.watch;
            self.drive.shut_down(&mut |now| watch.tell("shutdown", now.0, 0, None));
            self.drive.now().since(from).0
        })
    }

    /// Replays the measured part, if `goes_on` is true.
    pub fn play(&mut self, workload: Workload, goes_on: bool, streams: &mut Streams<'_>) -> Result<Measured, Ended> {
        let plan = self.plan;
        self.set_future(plan.main_part())?;
        let mut run_loop = RunLoop::of(workload, plan.main_part())?;
        run_loop.round = plan.round.map(Nanos);
        let power_fails = plan.power_cut.map_or(Ok(SimTime::FOREVER), |cut| cut.instant(self.drive.now()));
        run_loop.power_fails = power_fails.map_err(|problems| in_script(problems, plan.script.as_ref()))?;
        run_loop.loses_power = plan.power_cut.is_some_and(|cut| !cut.is_graceful);
        if let Some(steps) = plan.power_cut.and_then(|cut| cut.steps()) {
            self.drive.lose_power_after(steps);
        }
        if let Some(script) = &plan.script {
            self.drive.script_faults(script);
        }
        let mut search = plan.round.map(|round| Search::new(round, self.drive.now()));
        let loop_start = self.watch.seconds();
        let mut stopped_early = false;
        let (drive, watch, description) = (&mut self.drive, &mut self.watch, self.description);
        let mut go_on = |drive: &mut Drive, reached: Reached| {
            streams.flush_batches(drive);
            if search.as_mut().is_some_and(|search| search.is_over(drive)) {
                stopped_early = true;
                return false;
            }
            may_go_on(drive) && watch.tell_of(View::new(drive, description), reached)
        };
        let mut end = if goes_on { run_loop.run(drive, &mut go_on)? } else { End::Stopped };
        let mut power_failure = None;
        if let Some(cut) = plan.power_cut.filter(|_| matches!(end, End::PowerFails | End::PowerLost)) {
            let (seed, stopped) = (plan.request.setup.seed, run_loop.power_fails);
            let failure = if end == End::PowerFails {
                Failure::Graceful(drive.fail_power(cut.down))
            } else {
                let too_large = |error| too_large(&plan.request.drive.name, &error);
                let anew = Drive::new(self.description, seed).map_err(too_large)?;
                let capacitors = self.description.power_loss;
                let held_up = capacitors.map(|capacitors| drive.hold_up(capacitors.hold_up()));
                let loss = drive.lose_power(anew, cut.down).map_err(too_large)?;
                run_loop.power_was_lost(&loss.lost_commands);
                Failure::Abrupt(loss, cut.steps(), held_up)
            };
            power_failure = Some(PowerFailureReport::of(failure, stopped, self.description, drive, seed));
            end = run_loop.resume(drive, &mut go_on)?;
        }
        failure(drive)?;
        in_time(end)?;
        let workload_end = drive.now();
        let reached = Reached { commands: drive.statistics.totals.count(), share: Some(1.0).filter(|_| end == End::Complete) };
        watch.tell_end(View::new(drive, description), reached);
        let utilisation = drive.statistics.utilisation(workload_end, drive.controller(), drive.flash());
        let energy = drive.energy();
        let wall_s = watch.seconds() - loop_start;
        let complete = end == End::Complete || stopped_early;
        let shutdown_ns = if complete { self.shut_down() } else { None };
        failure(&self.drive)?;
        Ok(Measured { run_loop, search, end, complete, power_failure, workload_end, utilisation, energy, shutdown_ns, wall_s })
    }
}

/// Refuses a workload that outlasts the drive's clock.
fn in_time(end: End) -> Result<(), Problems> {
    if end != End::OutOfTime {
        return Ok(());
    }
    let complaint = format!(
        "it goes on more than {} years after the drive's time 0, the range of the simulated clock: expected shorter delays or think times, \
         or a limit (runtime, number_ios)",
        SimTime::LAST.years()
    );
    Err(Problems::one("workload", complaint))
}

/// Returns the call of the policy that was interrupted and did not return, if there is one.
pub(super) fn interruption(drive: &Drive) -> Option<Interruption> {
    drive.translator().map().and_then(|map| map.policy().interruption())
}

/// Returns true if nothing in the drive ends the run: no worn-out die, no failure or stop of the policy.
fn may_go_on(drive: &Drive) -> bool {
    if drive.translator().failure().is_some() {
        return false;
    }
    let Some(map) = drive.translator().map() else { return true };
    map.worn_out_die().is_none() && map.policy().failure().is_none() && map.policy().interruption().is_none()
}
