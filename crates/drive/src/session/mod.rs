//! One run from request to results, for the command line and Python.

mod custom;
mod files;
mod future;
mod notes;
mod plan;
mod play;
mod progress;
mod request;
mod search;
mod start;
mod states;

use crate::batches::Batches;
use crate::description::{Description, no_file};
use crate::drive::{Drive, Identity};
use crate::energy::EnergyReport;
use crate::fault_script::FaultScript;
use crate::streams::Streams;
use crate::{summary, totals};
use custom::failure;
use ftl::ScaleModels;
use kit::Problems;
use notes::{closing_notes, interruption_note, opening_notes, saved_partly_note, unmeasured_note};
use plan::RunPlan;
use play::{Run, interruption};
use request::description_for;
use states::KeptStates;
use workload::Input;

pub use custom::{CustomPolicy, Ended, MakePolicy};
pub(crate) use files::save;
pub use files::{Files, Outcome};
pub(crate) use notes::worn_out;
pub(crate) use plan::{LOADED, open_workload};
pub use progress::Progress;
pub(crate) use progress::ProgressMeter;
pub use request::{DriveText, RunRequest, description};
pub use start::starting_state_key;
pub(crate) use start::{Start, UNREAD, prepare, too_large};
pub use states::{Claim, KeepShared, SharedStates, StatesReport};

/// State shared by several runs: expensive results that follow from a drive's description and seed alone. Runs of
/// different sessions share nothing.
#[derive(Default)]
pub struct Session {
    /// Scale models of steady states.
    pub(crate) models: ScaleModels,
    /// Starting states. A session made by `default` keeps none, so that a single run does not pay for a copy.
    pub(crate) states: KeptStates,
    /// Starting states that other processes make or need, too.
    pub(crate) shared: Option<Box<dyn SharedStates>>,
}

/// Runs a workload on a drive, in a session of its own. `progress` is called about ten times per second of wall time;
/// if it returns false, the run ends cleanly with partial results. Errors in the input are reported before time 0.
pub fn run(
    request: &RunRequest,
    input: &Input,
    files: Files<'_>,
    progress: &mut dyn FnMut(&Progress<'_>) -> bool,
) -> Result<Outcome, Problems> {
    Session::default().run(request, input, files, None, progress).map_err(Problems::from)
}

impl Session {
    /// Creates a session that keeps starting states of up to `limit` bytes in all.
    pub fn keeping(limit: u64) -> Session {
        Session { states: KeptStates::new(limit), ..Session::default() }
    }

    /// Lets the session share its starting states with those of other processes. Those that it keeps in memory are
    /// looked up first.
    #[must_use]
    pub fn sharing(self, shared: Box<dyn SharedStates>) -> Session {
        Session { shared: Some(shared), ..self }
    }

    /// Returns the figures of the starting states that are kept.
    pub fn states(&self) -> StatesReport {
        self.states.report()
    }

    /// Runs a workload on a drive, under the policy of its description or under a custom policy. If the custom policy
    /// fails, the run fails.
    pub fn run(
        &self,
        request: &RunRequest,
        input: &Input,
        mut files: Files<'_>,
        custom: Option<CustomPolicy<'_>>,
        progress: &mut dyn FnMut(&Progress<'_>) -> bool,
    ) -> Result<Outcome, Ended> {
        let custom_name = custom.as_ref().map(|custom| custom.name.clone());
        let (description, script) = described(request, custom_name.is_some(), &files)?;
        let policy_name = custom_name.as_ref().unwrap_or(&description.policy.kind);
        let plan = RunPlan::of(request, &files, &description, script, custom_name.is_some())?;
        let mut workload = plan.workload(input, &description)?;
        let (standalone, stream_names) = (workload.standalone.take(), workload.stream_names());
        let (workload_toml, has_ramp) = (workload.resolved.clone(), workload.has_ramp());
        let mut watch = ProgressMeter::new(progress);
        let mut drive = custom::drive(request, &description, custom)?;
        if files.outputs.firmware.is_some() {
            drive = recording_firmware(drive, &description)?;
        }
        plan.prepare(&mut drive)?;
        let identity = Identity::of(&description, policy_name, request.setup.seed);
        let start = prepare(&mut drive, &description, &identity, &mut files, self, &mut watch)?;
        let mut notes = opening_notes(&description, &workload, &start, &drive);
        start.begin(&mut drive);
        failure(&drive)?;
        let mut run = Run { plan: &plan, description: &description, input, drive, watch };
        let goes_on = run.first_part()?;
        let setup_s = run.watch.seconds();
        let mut streams = Streams::new(std::mem::take(&mut files.outputs), &description, request.history);
        streams.begin(&mut run.drive, &stream_names, plan.timeline_from, plan.timeline_for);
        run.drive.statistics.batches = request.run.batches.map(|count| Box::new(Batches::new(count as usize)));
        run.drive.statistics.streams = totals::Streams::of(stream_names);
        let measured = run.play(workload, goes_on, &mut streams)?;

        let Run { mut drive, mut watch, .. } = run;
        notes.extend(closing_notes(&plan, &measured, &start.facts, &description, custom_name.as_deref(), &drive));
        notes.extend(unmeasured_note(has_ramp, &drive));
        let facts = measured.facts(request, input, policy_name, start.facts);
        let mut outcome = Outcome {
            summary: summary::summary(&facts, &description, &drive),
            drive_toml: drive_toml(&description, custom_name.as_deref()),
            workload_toml,
            standalone,
            notes,
            latency: drive.statistics.totals.latency_rows().collect(),
            stream_latency: drive.statistics.stream_latency_rows(),
            timeline: drive.statistics.timeline.rows().map(|(at, row)| (at, *row)).collect(),
            power: measured.energy.as_ref().map(EnergyReport::rows),
            timeline_width_ns: drive.statistics.timeline.width_ns(),
            history: None,
            unwritten: Vec::new(),
            setup_s,
        };
        // The summary was the last to ask the policy, for its statistics: a failure or interruption there counts, too.
        failure(&drive)?;
        if let Some(interruption) = interruption(&drive) {
            outcome.summary["status"] = "partial".into();
            outcome.notes.push(interruption_note(policy_name, interruption));
        }
        if let Some(to) = files.save {
            watch.tell("save", drive.now().0, 0, None);
            outcome.notes.extend(saved_partly_note(&drive, custom_name.as_deref()));
            outcome.unwritten.extend(save(&mut drive, &identity, to));
        }
        let (history, unwritten) = streams.finish(&mut drive);
        outcome.history = history;
        outcome.unwritten.extend(unwritten);
        Ok(outcome)
    }
}

/// Returns the drive with a record of its firmware.
fn recording_firmware(drive: Drive, description: &Description) -> Result<Drive, Problems> {
    let moves_pages = drive.translator().map().is_some_and(|map| map.needs().moves);
    description.firmware_problem(moves_pages).map_or_else(|| Ok(drive.recording_firmware()), |problem| Err(problem.into()))
}

/// Returns the description of a request, and the script of its faults.
fn described(request: &RunRequest, is_custom: bool, files: &Files<'_>) -> Result<(Description, Option<FaultScript>), Problems> {
    let mut description = description_for(request, is_custom, files.named.unwrap_or(&no_file))?;
    let script = FaultScript::of(&request.run, &mut description)?;
    Ok((description, script))
}

/// Returns the resolved description as TOML. A description cannot name a custom policy, so a comment does.
fn drive_toml(description: &Description, custom: Option<&str>) -> String {
    let comment = custom.map_or_else(String::new, |name| {
        format!("# The run's policy was `{name}`, which no description names, in place of `policy.kind`.\n")
    });
    comment + &description.to_toml()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn runs_share_scale_models_within_their_session_and_nowhere_else() {
        let (shared, other) = (Session::default(), Session::default());
        let run = |session: &Session, policy: &str, seed: u64| {
            let request = RunRequest::new("tiny", "base = \"tiny\"").policy(policy).precondition("steady").seed(seed);
            let input = Input::text("job", "[job]\nrw=randwrite\nbs=4k\nnumber_ios=100\n");
            let outcome = session.run(&request, &input, Files::default(), None, &mut |_| true).map_err(Problems::from);
            let mut summary = outcome.unwrap_or_else(|problems| panic!("{problems}")).summary;
            summary["wall_s"] = Value::Null;
            summary
        };
        let first = run(&shared, "baseline", 1);
        run(&shared, "ofwar", 1);
        assert_eq!((shared.models.len(), other.models.len()), (1, 0), "one drive, one model");
        run(&shared, "baseline", 2);
        assert_eq!(shared.models.len(), 2, "another seed is another model");
        assert_eq!(run(&shared, "baseline", 1), first, "what is shared changes no result");
        assert_eq!(run(&other, "baseline", 1), first);
        assert_eq!(other.models.len(), 1);
    }
}
