//! The options of a request, checked and parsed.

use super::files::Files;
use super::request::RunRequest;
use super::start::too_large;
use crate::description::Description;
use crate::drive::Drive;
use crate::fault_script::FaultScript;
use crate::options::RunOptions;
use crate::power_cut::PowerCut;
use crate::run_loop::Part;
use kit::{Bytes, Nanos, Problems};
use std::ops::RangeInclusive;
use workload::{Input, Options, Target, Workload};

/// Complaint about a starting state that is requested together with a saved drive.
pub(crate) const LOADED: &str =
    "the drive's state is that of the file that is loaded: expected only one of --load, --precondition";

/// Numbers of batches that can be requested. More batches would take memory, and make the interval hardly narrower.
const BATCHES: RangeInclusive<u32> = 2..=100;

/// The options of a request, checked and parsed.
pub(super) struct RunPlan<'a> {
    pub request: &'a RunRequest,
    options: Options,
    pub round: Option<u64>,
    pub power_cut: Option<PowerCut>,
    pub script: Option<FaultScript>,
    pub timeline_from: Nanos,
    pub timeline_for: Option<Nanos>,
}

impl<'a> RunPlan<'a> {
    /// `script`: the faults of the run. `is_custom`: the policy comes from outside the policy family.
    pub fn of(
        request: &'a RunRequest,
        files: &Files<'_>,
        description: &Description,
        script: Option<FaultScript>,
        is_custom: bool,
    ) -> Result<RunPlan<'a>, Problems> {
        if files.load.is_some() && request.setup.precondition.is_some() {
            return Err(Problems::one("--precondition", LOADED));
        }
        description.check_memory(&request.drive.name, request.max_memory)?;
        let run = &with_power(&request.run, script.as_ref())?;
        if let (true, Some(problem)) = (run.power_cut.is_some(), description.lacks_map("--power-cut", "a power failure")) {
            return Err(in_script(problem.into(), script.as_ref()));
        }
        executed_problem(run, files, description)?;
        let elsewhere = [
            ("--load", files.load.is_some()),
            ("--rest-after", run.rest_after.is_some()),
            ("--power-cut", run.power_cut.is_some()),
        ];
        if let (Some((option, _)), true) = (elsewhere.iter().find(|(_, is_given)| *is_given), files.outputs.firmware.is_some()) {
            let what = format!(
                "given with {option}: a firmware trace begins with the drive, and holds no interruption; expected one of the two"
            );
            return Err(in_script(Problems::one("--record-firmware", what), script.as_ref()));
        }
        if files.outputs.firmware.is_some() && description.ftl.rain.is_some() {
            let what = "a firmware trace has no parity across dies: expected a description without ftl.rain";
            return Err(Problems::one("--record-firmware", what));
        }
        for (option, _) in [("--load", files.load.is_some()), ("--save", files.save.is_some())].iter().filter(|(_, is)| *is) {
            if description.ftl.journal.is_some() {
                let what = "the journal of the map (ftl.journal) is in no saved drive yet: expected a description without";
                return Err(Problems::one(*option, what));
            }
            if description.ftl.paired_pages != Default::default() {
                let what = "paired pages (ftl.paired_pages) are protected in no saved drive yet: expected a description without";
                return Err(Problems::one(*option, what));
            }
        }
        let power_cut = PowerCut::of(run, description, is_custom).map_err(|problems| in_script(problems, script.as_ref()))?;
        let loses_power = power_cut.is_some_and(|cut| !cut.is_graceful);
        if loses_power && files.load.is_some() && description.ftl.rain.is_some() {
            let what = "a saved drive may be in the middle of the collection of a set of blocks (ftl.rain), and does not say \
                        where the data came from: expected `,graceful`, or no --load";
            return Err(Problems::one("--power-cut", what));
        }
        for (option, count) in [("--stop-after", run.stop_after), ("--rest-after", run.rest_after)] {
            if count == Some(0) {
                return Err(Problems::one(option, "0: expected 1 or more commands"));
            }
        }
        if let Some(count) = run.batches.filter(|count| !BATCHES.contains(count)) {
            let (least, most) = BATCHES.into_inner();
            return Err(Problems::one("--batches", format!("{count}: expected {least}..={most}")));
        }
        let [timeline_from, timeline_for] = timeline_window(run)?;
        Ok(RunPlan {
            request,
            options: Options { seed: request.setup.seed, ..request.workload.clone() },
            round: steady_round(run)?,
            power_cut,
            script,
            timeline_from: timeline_from.unwrap_or_default(),
            timeline_for,
        })
    }

    pub fn workload(&self, input: &Input, description: &Description) -> Result<Workload, Problems> {
        open_workload(input, &description.target(), description.host.logical_block, &self.options)
    }

    /// Prepares the new drive for a loss of power, if it will have one.
    pub fn prepare(&self, drive: &mut Drive) -> Result<(), Problems> {
        match self.power_cut {
            Some(cut) if !cut.is_graceful => drive.keep_metadata().map_err(|error| too_large(&self.request.drive.name, &error)),
            _ => Ok(()),
        }
    }

    /// Returns the part of the workload that is replayed before the drive is brought to rest, if that is requested.
    pub fn first_part(&self) -> Option<Part> {
        let RunOptions { skip_commands, rest_after, .. } = self.request.run;
        rest_after.map(|count| Part { skip: skip_commands, stop_after: Some(count) })
    }

    /// Returns the part of the workload that is measured.
    pub fn main_part(&self) -> Part {
        let RunOptions { skip_commands, rest_after, stop_after, .. } = self.request.run;
        Part { skip: skip_commands + rest_after.unwrap_or(0), stop_after }
    }
}

/// Refuses what needs the saved state of a drive whose firmware a core executes.
fn executed_problem(run: &RunOptions, files: &Files<'_>, description: &Description) -> Result<(), Problems> {
    let options =
        [("--load", files.load.is_some()), ("--save", files.save.is_some()), ("--rest-after", run.rest_after.is_some())];
    let given = options.iter().find(|(_, is_given)| *is_given && description.executes_firmware());
    let what = "a core executes the firmware, whose state is in no saved drive: expected another controller.firmware";
    given.map_or(Ok(()), |(option, _)| Err(Problems::one(*option, what)))
}

/// Returns problems of a power failure with its place in the script of faults, if that has it.
pub(super) fn in_script(mut problems: Problems, script: Option<&FaultScript>) -> Problems {
    let Some(script) = script.filter(|script| script.power.is_some()) else { return problems };
    for problem in &mut problems.0 {
        for (option, field) in [("--power-cut", "at"), ("--power-down", "down")] {
            if problem.place == option {
                problem.place = format!("{}: power_fails.{field}", script.name);
            }
        }
        problem.complaint = problem.complaint.replace("--power-cut", "power_fails");
    }
    problems
}

/// Returns the options of a run with the power failure of its script, if that has one.
fn with_power(run: &RunOptions, script: Option<&FaultScript>) -> Result<RunOptions, Problems> {
    let Some((cut, down)) = script.and_then(|script| script.power.as_ref()) else { return Ok(run.clone()) };
    if run.power_cut.is_some() || run.power_down.is_some() {
        let complaint = "power fails by the script of faults, too: expected only one of --power-cut, `power_fails` in --faults";
        return Err(Problems::one("--power-cut", complaint));
    }
    Ok(RunOptions { power_cut: Some(cut.clone()), power_down: down.clone(), ..run.clone() })
}

/// Opens a workload for a drive whose commands have ranges in multiples of `logical_block`.
pub(crate) fn open_workload(
    input: &Input,
    drive: &Target,
    logical_block: Bytes,
    options: &Options,
) -> Result<Workload, Problems> {
    let workload = workload::open_on(input, drive, options)?;
    let mut problems = Problems::default();
    for job in workload.jobs.iter().filter(|job| !job.grain.is_multiple_of(logical_block.0)) {
        let what = format!(
            "job `{}`: its block sizes and offsets are multiples of {} only: expected multiples of {logical_block}, the drive's \
             logical block (host.logical_block)",
            job.name,
            Bytes(job.grain)
        );
        problems.add(input.name.as_str(), what);
    }
    problems.or(workload)
}

/// Returns the length of a round of the search for the steady state \[ns\], if the search is requested.
fn steady_round(run: &RunOptions) -> Result<Option<u64>, Problems> {
    if !run.steady_state {
        return Ok(None);
    }
    let text = run.steady_round.as_deref().unwrap_or("1s");
    match text.parse::<Nanos>() {
        Ok(round) if round > Nanos::ZERO => Ok(Some(round.0)),
        Ok(_) => Err(Problems::one("--steady-round", "0: expected a duration above zero")),
        Err(complaint) => Err(Problems::one("--steady-round", complaint)),
    }
}

/// Returns the start of the timeline and its length, where they are given.
fn timeline_window(run: &RunOptions) -> Result<[Option<Nanos>; 2], Problems> {
    let mut problems = Problems::default();
    let asked = [("--timeline-from", &run.timeline_from), ("--timeline-for", &run.timeline_for)];
    let found = asked.map(|(option, text)| match text.as_deref()?.parse::<Nanos>() {
        Ok(Nanos::ZERO) if option == "--timeline-for" => {
            problems.add(option, "0: expected a duration above zero");
            None
        }
        Ok(span) => Some(span),
        Err(complaint) => {
            problems.add(option, complaint);
            None
        }
    });
    problems.or(found)
}
