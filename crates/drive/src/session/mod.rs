//! One run from request to results, for the command line and Python.

mod notes;

use crate::description::{Description, File, PreconditionMethod, no_file};
use crate::drive::{Drive, Identity};
use crate::failure::PowerFailureReport;
use crate::power_cut::PowerCut;
use crate::run_loop::{End, Part, RunLoop};
use crate::statistics::{CommandRow, TimelineRow};
use crate::steady::{SteadyState, WINDOW};
use crate::streams::{Outputs, Streams, WriteFailure};
use crate::summary::{self, RunFacts};
use ftl::policy::future::{Access, Future};
use ftl::policy::{Facts, ModePolicy, PolicyConfig, checked::Checked};
use ftl::{Precondition, Preconditioned, ScaleModels};
use kit::history::Digest;
use kit::{Lpn, Nanos, Op, Problem, Problems, Rng, SimTime, UNIT_BYTES};
pub(crate) use notes::worn_out;
use notes::{alike_note, idle_policy_note, power_notes, saved_partly_note, steady_notes, unmapped_note};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::sync::Arc;
use workload::{Input, Options, Workload};

/// The text of a drive's description, and the name that messages give it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveText {
    /// Name of a preset or path of a file.
    pub name: String,
    /// Text of the description.
    pub text: String,
}

/// A run as the command line and Python request it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The drive.
    pub drive: DriveText,
    /// `KEY=VALUE` overrides.
    #[serde(default)]
    pub set: Vec<String>,
    /// Policy, in place of the description's.
    #[serde(default)]
    pub policy: Option<String>,
    /// Seed of all random streams.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// Starting state, in place of the description's: `none`, `fill`, `random` or `steady`.
    #[serde(default)]
    pub precondition: Option<String>,
    /// Options of the workload.
    #[serde(default)]
    pub workload: Options,
    /// True if the digest of the physical history is requested.
    #[serde(default)]
    pub history: bool,
    /// Start of the timeline, such as `"10ms"`, relative to the start of the measurement; immediately if absent.
    #[serde(default)]
    pub timeline_from: Option<String>,
    /// Length of the timeline, such as `"1ms"`; to the end of the run if absent.
    #[serde(default)]
    pub timeline_for: Option<String>,
    /// True if the run continues until it is steady by the SNIA rule, and is then measured for five rounds.
    #[serde(default)]
    pub steady_state: bool,
    /// Length of a round of the SNIA rule, such as `"1s"`.
    #[serde(default)]
    pub steady_round: Option<String>,
    /// Time of the power failure, such as `"10s"`, relative to the start of the run.
    #[serde(default)]
    pub power_cut: Option<String>,
    /// Time without power, such as `"30d"`.
    #[serde(default)]
    pub power_down: Option<String>,
    /// Number of commands left out at the beginning of each job: the workload continues after them.
    #[serde(default)]
    pub skip_commands: u64,
    /// Number of commands of each job after which the host stops.
    #[serde(default)]
    pub stop_after: Option<u64>,
    /// Number of commands of each job after which the drive is brought to rest, as it would be to be saved, and
    /// continues. The measurement begins there.
    #[serde(default)]
    pub rest_after: Option<u64>,
}

impl RunRequest {
    /// Creates the request of a run with every option at its default.
    pub fn new(name: &str, text: &str) -> RunRequest {
        RunRequest {
            drive: DriveText { name: name.to_owned(), text: text.to_owned() },
            set: Vec::new(),
            policy: None,
            seed: first_seed(),
            precondition: None,
            workload: Options::default(),
            history: false,
            timeline_from: None,
            timeline_for: None,
            steady_state: false,
            steady_round: None,
            power_cut: None,
            power_down: None,
            skip_commands: 0,
            stop_after: None,
            rest_after: None,
        }
    }
}

fn first_seed() -> u64 {
    1
}

/// The saved drive that a run starts from, and the files that it reads and writes.
#[derive(Default)]
pub struct Files<'a> {
    /// Saved drive, with its name for messages.
    pub load: Option<(String, Box<dyn Read + 'a>)>,
    /// Destination of the drive saved after the run.
    pub save: Option<&'a mut dyn Write>,
    /// Callback that returns the text of a file named in the description. Absent: no file can be read.
    pub named: Option<File<'a>>,
    /// Destinations of rows that are handed out during the run.
    pub outputs: Outputs<'a>,
}

/// Callback that makes a policy from the facts of the drive that it will run and a random stream of its own.
pub type MakePolicy<'a> = Box<dyn FnOnce(&Facts, Rng) -> Result<Box<dyn ModePolicy>, Problems> + Send + 'a>;

/// A policy from outside the policy family. Its answers are checked.
pub struct CustomPolicy<'a> {
    /// Name of the policy in results and in saved drives.
    pub name: String,
    /// Makes the policy, before time 0.
    pub make: MakePolicy<'a>,
}

/// Reason why a run has no results.
#[derive(Clone, Debug)]
pub enum Ended {
    /// An error in the input.
    Input(Problems),
    /// A failure of the policy, which comes from outside the policy family.
    Policy(Problems),
}

impl From<Problems> for Ended {
    fn from(problems: Problems) -> Ended {
        Ended::Input(problems)
    }
}

impl From<Ended> for Problems {
    fn from(ended: Ended) -> Problems {
        let (Ended::Input(problems) | Ended::Policy(problems)) = ended;
        problems
    }
}

/// Progress of a run.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Stage of the run: `set_future`, `precondition`, `run`, `lifetime`, `shutdown` or `save`.
    pub stage: &'static str,
    /// Simulated time \[ns\].
    pub simulated_ns: u64,
    /// Commands completed.
    pub commands: u64,
    /// Completed share of the stage, where it is known.
    pub fraction: Option<f64>,
}

/// All results of a run.
pub struct Outcome {
    /// `summary.json`.
    pub summary: Value,
    /// `drive.toml`: the description, every field resolved.
    pub drive_toml: String,
    /// `workload.toml`: the workload, every option resolved.
    pub workload_toml: String,
    /// Notes for the user, one line each.
    pub notes: Vec<String>,
    /// Latency histogram: operation, low edge, high edge, count.
    pub latency: Vec<(Op, u64, u64, u64)>,
    /// Timeline rows with the start of each \[ns\], from the start of the measurement.
    pub timeline: Vec<(u64, TimelineRow)>,
    /// Width of a timeline row \[ns\].
    pub timeline_width_ns: u64,
    /// Digest of the physical history, if requested.
    pub history: Option<Digest>,
    /// Files that could not be written.
    pub unwritten: Vec<WriteFailure>,
    /// Wall time of the set-up \[s\].
    pub setup_s: f64,
}

/// Name of the random stream of a guest policy.
const POLICY_STREAM: &str = "policy";

/// Reads the requested description and applies the request's overrides; `file` returns the text of a file that the
/// description names.
pub fn description(request: &RunRequest, file: File<'_>) -> Result<Description, Problems> {
    let mut sets = request.set.clone();
    if let Some(policy) = &request.policy {
        let names = ftl::PolicyConfig::NAMES;
        if !names.contains(&policy.as_str()) {
            return Err(Problem::unknown("--policy", "policy", policy, names.iter().copied()).into());
        }
        if sets.iter().any(|set| set.split('=').next().is_some_and(|key| key.trim() == "policy.kind")) {
            return Err(Problems::one("--policy", "the policy is also set by `policy.kind`: expected only one of the two"));
        }
        sets.push(format!("policy.kind={policy}"));
    }
    let mut description = Description::read_with(&request.drive.name, &request.drive.text, &sets, file)?;
    if let Some(method) = &request.precondition {
        let known = [
            ("none", PreconditionMethod::None),
            ("fill", PreconditionMethod::Fill),
            ("random", PreconditionMethod::Random),
            ("steady", PreconditionMethod::Steady),
        ];
        let Some((_, method)) = known.iter().find(|(name, _)| name == method) else {
            return Err(Problem::unknown("--precondition", "starting state", method, known.iter().map(|(name, _)| *name)).into());
        };
        description.state.precondition = *method;
    }
    Ok(description)
}

/// Complaint about a starting state that is requested together with a saved drive.
pub(crate) const LOADED: &str =
    "the drive's state is that of the file that is loaded: expected only one of --load, --precondition";

/// State shared by several runs: expensive results that follow from a drive's description and seed alone. Runs of
/// different sessions share nothing.
#[derive(Default)]
pub struct Session {
    /// Scale models of steady states.
    pub(crate) models: ScaleModels,
}

/// Runs a workload on a drive, in a session of its own. `progress` is called about ten times per second of wall time;
/// if it returns false, the run ends cleanly with partial results. Errors in the input are reported before time 0.
pub fn run(
    request: &RunRequest,
    input: &Input,
    files: Files<'_>,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, Problems> {
    Session::default().run(request, input, files, None, progress).map_err(Problems::from)
}

impl Session {
    /// Runs a workload on a drive, under the policy of its description or under a guest policy. If the guest fails, the
    /// run fails.
    pub fn run(
        &self,
        request: &RunRequest,
        input: &Input,
        mut files: Files<'_>,
        guest: Option<CustomPolicy<'_>>,
        progress: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<Outcome, Ended> {
        let custom_policy_name = guest.as_ref().map(|guest| guest.name.clone());
        let description = description_for(request, custom_policy_name.is_some(), files.named.unwrap_or(&no_file))?;
        let asked = RunPlan::of(request, &files, &description)?;
        let workload = asked.workload(input, &description)?;
        let (mut notes, workload_toml) = (workload.notes.clone(), workload.resolved.clone());

        let mut watch = ProgressMeter::new(progress);
        let mut drive = drive(request, &description, guest)?;
        let identity = Identity::of(&description, custom_policy_name.as_ref().unwrap_or(&description.policy.kind), request.seed);
        let start = prepare(&mut drive, &description, &identity, &mut files, &self.models, &mut watch)?;
        notes.extend(start.notes.iter().cloned());
        if !start.is_loaded && description.state.precondition == PreconditionMethod::Steady {
            notes.extend(steady_notes(&description, &workload));
        }
        notes.extend(alike_note(&description, &drive));
        start.begin(&mut drive);
        failure(&drive)?;
        let mut run = Run { asked: &asked, description: &description, input, drive, watch };
        let goes_on = run.first_part()?;
        let setup_s = run.watch.seconds();
        let mut streams = Streams::new(std::mem::take(&mut files.outputs), &description, request.history);
        streams.begin(&mut run.drive, asked.timeline_from, asked.timeline_for);
        let played = run.play(workload, goes_on, &mut streams)?;

        let Run { mut drive, mut watch, .. } = run;
        notes.extend(power_notes(asked.power_cut, played.power_failure.as_ref(), played.end, &drive));
        notes.extend(worn_out(&drive));
        notes.extend(played.search.as_ref().and_then(Search::note));
        notes.extend(idle_policy_note(&description, custom_policy_name.as_deref(), &drive));
        notes.extend(unmapped_note(&drive));
        let facts = RunFacts {
            drive_name: &request.drive.name,
            workload_name: &input.name,
            policy_name: custom_policy_name.as_ref().unwrap_or(&description.policy.kind),
            seed: request.seed,
            complete: played.complete,
            wall_s: played.wall_s,
            rejected: played.run_loop.rejected,
            saturated: played.run_loop.is_saturated(),
            most_in_flight: played.run_loop.most_in_flight,
            steady: played.search.as_ref().map(|search| &search.state),
            starting_state: start.facts,
            workload_end: played.workload_end,
            utilisation: played.utilisation,
            shutdown_ns: played.shutdown_ns,
            power_failure: played.power_failure.as_ref(),
        };
        let mut outcome = Outcome {
            summary: summary::summary(&facts, &description, &drive),
            drive_toml: drive_toml(&description, custom_policy_name.as_deref()),
            workload_toml,
            notes,
            latency: summary::latency_rows(&drive.statistics),
            timeline: drive.statistics.timeline.rows().map(|(at, row)| (at, *row)).collect(),
            timeline_width_ns: drive.statistics.timeline.width_ns(),
            history: None,
            unwritten: Vec::new(),
            setup_s,
        };
        // The summary was the last to ask the policy, for its statistics: a failure there counts, too.
        failure(&drive)?;
        if let Some(to) = files.save {
            watch.tell("save", drive.now().0, 0, None);
            outcome.notes.extend(saved_partly_note(&drive, custom_policy_name.as_deref()));
            outcome.unwritten.extend(save(&mut drive, &identity, to));
        }
        let (history, unwritten) = streams.finish(&mut drive);
        outcome.history = history;
        outcome.unwritten.extend(unwritten);
        Ok(outcome)
    }
}

/// The options of a request, checked and parsed.
struct RunPlan<'a> {
    request: &'a RunRequest,
    options: Options,
    round: Option<u64>,
    power_cut: Option<PowerCut>,
    timeline_from: Nanos,
    timeline_for: Option<Nanos>,
}

impl<'a> RunPlan<'a> {
    fn of(request: &'a RunRequest, files: &Files<'_>, description: &Description) -> Result<RunPlan<'a>, Problems> {
        if files.load.is_some() && request.precondition.is_some() {
            return Err(Problems::one("--precondition", LOADED));
        }
        for (option, count) in [("--stop-after", request.stop_after), ("--rest-after", request.rest_after)] {
            if count == Some(0) {
                return Err(Problems::one(option, "0: expected 1 or more commands"));
            }
        }
        let [timeline_from, timeline_for] = timeline_window(request)?;
        Ok(RunPlan {
            request,
            options: Options { seed: request.seed, ..request.workload.clone() },
            round: steady_round(request)?,
            power_cut: PowerCut::of(
                request.power_cut.as_deref(),
                request.power_down.as_deref(),
                request.steady_state,
                description,
            )?,
            timeline_from: timeline_from.unwrap_or_default(),
            timeline_for,
        })
    }

    fn workload(&self, input: &Input, description: &Description) -> Result<Workload, Problems> {
        workload::open(input, description.user_bytes(), &self.options)
    }

    /// Returns the part of the workload that is replayed before the drive is brought to rest, if that is requested.
    fn first_part(&self) -> Option<Part> {
        self.request.rest_after.map(|count| Part { skip: self.request.skip_commands, stop_after: Some(count) })
    }

    /// Returns the part of the workload that is measured.
    fn main_part(&self) -> Part {
        let RunRequest { skip_commands, rest_after, stop_after, .. } = self.request;
        Part { skip: skip_commands + rest_after.unwrap_or(0), stop_after: *stop_after }
    }
}

/// A run in progress.
struct Run<'a, 'w> {
    asked: &'a RunPlan<'a>,
    description: &'a Description,
    input: &'a Input,
    drive: Drive,
    watch: ProgressMeter<'w>,
}

/// Results of the measured part of a run.
struct Measured {
    run_loop: RunLoop,
    search: Option<Search>,
    end: End,
    complete: bool,
    power_failure: Option<PowerFailureReport>,
    workload_end: SimTime,
    utilisation: flash::Utilisation,
    shutdown_ns: Option<u64>,
    wall_s: f64,
}

impl Run<'_, '_> {
    /// Replays the commands before `rest_after`, if it is given, and brings the drive to rest. Returns true if the run
    /// goes on.
    fn first_part(&mut self) -> Result<bool, Ended> {
        let Some(part) = self.asked.first_part() else { return Ok(true) };
        self.set_future(part)?;
        let mut run_loop = RunLoop::of(self.asked.workload(self.input, self.description)?, part)?;
        let watch = &mut self.watch;
        let end = run_loop.run(&mut self.drive, &mut |drive, completed| {
            may_go_on(drive) && watch.tell("run", drive.now().0, completed, None)
        })?;
        failure(&self.drive)?;
        in_time(end)?;
        if end != End::Complete {
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
        if self.drive.ftl().wants_future() {
            let workload = self.asked.workload(self.input, self.description)?;
            let future = set_future(self.description, RunLoop::of(workload, part)?, self.asked.request.seed, &mut self.watch)?;
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
    fn play(&mut self, workload: Workload, goes_on: bool, streams: &mut Streams<'_>) -> Result<Measured, Ended> {
        let asked = self.asked;
        self.set_future(asked.main_part())?;
        let mut run_loop = RunLoop::of(workload, asked.main_part())?;
        run_loop.round = asked.round.map(Nanos);
        run_loop.power_fails = asked.power_cut.map_or(Ok(SimTime::FOREVER), |cut| cut.instant(self.drive.now()))?;
        let mut search = asked.round.map(|round| Search::new(round, self.drive.now()));
        let loop_start = self.watch.seconds();
        let mut stopped_early = false;
        let (drive, watch) = (&mut self.drive, &mut self.watch);
        let mut go_on = |drive: &mut Drive, completed: u64| {
            streams.flush_batches(drive);
            if search.as_mut().is_some_and(|search| search.is_over(drive)) {
                stopped_early = true;
                return false;
            }
            may_go_on(drive) && watch.tell("run", drive.now().0, completed, None)
        };
        let mut end = if goes_on { run_loop.run(drive, &mut go_on)? } else { End::Stopped };
        let power_failure = match asked.power_cut.filter(|_| end == End::PowerFails) {
            Some(cut) => {
                let stopped = run_loop.power_fails;
                let power_failure =
                    PowerFailureReport::of(drive.fail_power(cut.down), stopped, self.description, drive, asked.request.seed);
                end = run_loop.resume(drive, &mut go_on)?;
                Some(power_failure)
            }
            None => None,
        };
        failure(drive)?;
        in_time(end)?;
        let workload_end = drive.now();
        let utilisation = drive.flash().utilisation(workload_end, drive.statistics.busy_at_start());
        let wall_s = watch.seconds() - loop_start;
        let complete = end == End::Complete || stopped_early;
        let shutdown_ns = if complete { self.shut_down() } else { None };
        failure(&self.drive)?;
        Ok(Measured { run_loop, search, end, complete, power_failure, workload_end, utilisation, shutdown_ns, wall_s })
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

/// Returns true if nothing in the drive ends the run: no worn-out die, no failure or stop of the policy.
fn may_go_on(drive: &Drive) -> bool {
    let ftl = drive.ftl();
    ftl.worn_out_die().is_none() && ftl.policy_failure().is_none() && !ftl.policy_is_stopped()
}

pub(crate) fn too_large(drive: &str, error: &std::io::Error) -> Problems {
    Problems::one(drive, format!("its tables do not fit into memory: {error}"))
}

/// Completes the commands in flight and saves the drive at rest. Returns the error, if there was one.
pub(crate) fn save(drive: &mut Drive, identity: &Identity, to: &mut dyn Write) -> Option<WriteFailure> {
    let saved = if drive.complete_commands() {
        drive.rest();
        drive.save(identity, to)
    } else {
        Err(std::io::Error::other("commands are in flight that a worn-out drive cannot complete"))
    };
    saved.err().map(|error| WriteFailure { option: "--save", error })
}

/// Reads the requested description. A guest replaces the description's policy, which is therefore set to `baseline`.
fn description_for(request: &RunRequest, guest: bool, file: File<'_>) -> Result<Description, Problems> {
    if !guest {
        return description(request, file);
    }
    description(&RunRequest { policy: Some("baseline".to_owned()), ..request.clone() }, file)
}

/// Returns the resolved description as TOML. A description cannot name a guest policy, so a comment does.
fn drive_toml(description: &Description, guest: Option<&str>) -> String {
    let comment = guest.map_or_else(String::new, |name| {
        format!("# The run's policy was `{name}`, which no description names, in place of `policy.kind`.\n")
    });
    comment + &description.to_toml()
}

/// Returns the problems of a guest's name, which names results, their folders and saved drives.
fn name_problems(name: &str) -> Problems {
    let mut problems = Problems::default();
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)) && !name.starts_with('.');
    if !is_plain || name.is_empty() || name.len() > usize::from(u8::MAX) {
        problems.add("name", format!("`{name}`: expected 1 to 255 bytes of letters, digits, `_`, `-` and `.`, no dot first"));
    } else if PolicyConfig::NAMES.contains(&name) {
        problems.add("name", format!("`{name}`: is the name of a built-in policy: expected another"));
    }
    problems
}

/// Builds the drive of a description, under its own policy or a guest.
fn drive(request: &RunRequest, description: &Description, guest: Option<CustomPolicy<'_>>) -> Result<Drive, Ended> {
    let too_large = |error: std::io::Error| Ended::from(too_large(&request.drive.name, &error));
    let Some(CustomPolicy { name, make }) = guest else { return Drive::new(description, request.seed).map_err(too_large) };
    name_problems(&name).or(()).map_err(Ended::Policy)?;
    let facts = description.policy_facts();
    let made = make(&facts, Rng::stream(request.seed, POLICY_STREAM)).map_err(Ended::Policy)?;
    let policy = Checked::new(made, &facts).map_err(Ended::Policy)?;
    description.background_problems(&policy).or(()).map_err(Ended::Policy)?;
    description.problems_under(&name, &policy).or(())?;
    let ftl = description.build_ftl_with(&name, Box::new(policy), request.seed).map_err(too_large)?;
    Ok(Drive::with_ftl(description, ftl, request.seed))
}

/// Returns the failure of the policy as an error, if it cannot go on.
fn failure(drive: &Drive) -> Result<(), Ended> {
    drive.ftl().policy_failure().map_or(Ok(()), |problem| Err(Ended::Policy(problem.into())))
}

fn steady_round(request: &RunRequest) -> Result<Option<u64>, Problems> {
    if !request.steady_state {
        return Ok(None);
    }
    let text = request.steady_round.as_deref().unwrap_or("1s");
    match text.parse::<Nanos>() {
        Ok(round) if round > Nanos::ZERO => Ok(Some(round.0)),
        Ok(_) => Err(Problems::one("--steady-round", "0: expected a duration above zero")),
        Err(complaint) => Err(Problems::one("--steady-round", complaint)),
    }
}

/// Returns the start of the timeline and its length, where they are given.
fn timeline_window(request: &RunRequest) -> Result<[Option<Nanos>; 2], Problems> {
    let mut problems = Problems::default();
    let asked = [("--timeline-from", &request.timeline_from), ("--timeline-for", &request.timeline_for)];
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

/// Returns the future accesses for a policy that foresees them: those of a run of the workload under `baseline`, from
/// its start, on a drive that was filled once.
fn set_future(
    description: &Description,
    mut run_loop: RunLoop,
    seed: u64,
    watch: &mut ProgressMeter<'_>,
) -> Result<Future, Problems> {
    let mut description = description.clone();
    description.policy.kind = "baseline".to_owned();
    let does_not_fit =
        |error| Problems::one("clairvoyant", format!("the run that is recorded does not fit into memory: {error}"));
    let mut drive = Drive::new(&description, seed).map_err(does_not_fit)?;
    let filled = Preconditioned { method: Precondition::Fill, ..description.state.preconditioned() };
    drive.ftl_mut().precondition(&filled, &ScaleModels::default(), &mut |_| true).map_err(does_not_fit)?;
    drive.adopt();
    drive.statistics.log = Some(Vec::new());
    run_loop.run(&mut drive, &mut |drive, completed| watch.tell("foresee", drive.now().0, completed, None))?;
    let mut rows = drive.statistics.log.take().unwrap_or_default();
    rows.sort_by_key(|row| row.submitted);
    let access = |row: &CommandRow| {
        let first = row.offset / UNIT_BYTES;
        let units = (row.offset + row.length).div_ceil(UNIT_BYTES) - first;
        Access { at: row.submitted, first: Lpn(first as u32), units: units as u32, writes: row.op != Op::Read }
    };
    let accesses: Vec<Access> = rows.iter().filter(|row| row.op != Op::Flush).map(access).collect();
    Ok(Future::new(description.user_bytes() / UNIT_BYTES, &accesses))
}

/// The state in which a drive begins.
pub(crate) struct Start {
    /// Facts about the starting state, for the results.
    pub facts: Value,
    /// Notes for the user.
    pub notes: Vec<String>,
    is_loaded: bool,
    /// True if the policy's state was restored with the saved drive, so that the policy need not adopt the drive.
    is_exact: bool,
}

impl Start {
    /// Starts the drive: lets the policy adopt it unless the policy's state was restored, and wakes the dies of a
    /// loaded drive.
    pub fn begin(&self, drive: &mut Drive) {
        if self.is_exact {
            drive.restart_measurement();
        } else {
            drive.adopt();
        }
        if self.is_loaded {
            drive.go_on();
        }
    }
}

/// Brings the drive to its starting state.
pub(crate) fn prepare(
    drive: &mut Drive,
    description: &Description,
    identity: &Identity,
    files: &mut Files<'_>,
    models: &ScaleModels,
    watch: &mut ProgressMeter<'_>,
) -> Result<Start, Problems> {
    let state = &description.state;
    if let Some((name, from)) = &mut files.load {
        let resumed = drive.load(identity, from).map_err(|complaint| Problems::one(name.clone(), complaint))?;
        let notes = resumed.notes.iter().map(|note| format!("{name}: {note}")).collect();
        let facts = json!({"method": "load", "file": name, "exact": resumed.exact});
        return Ok(Start { facts, notes, is_loaded: true, is_exact: resumed.keeps_policy });
    }
    let done = drive
        .ftl_mut()
        .precondition(&state.preconditioned(), models, &mut |share| watch.tell("precondition", 0, 0, Some(share)))
        .map_err(|error| Problems::one("--precondition", format!("the scale model does not fit into memory: {error}")))?;
    if !done {
        return Err(Problems::one("interrupted", "while the drive was brought to its starting state"));
    }
    let old_mode = &description.flash.write_modes[drive.ftl().mode_of_old_data().index()].name;
    let passes = (state.precondition == PreconditionMethod::Random).then_some(state.overwrite_passes);
    let facts = json!({
        "method": state.precondition,
        "overwrite_passes": passes,
        "mapped_units": drive.ftl().mapped_units(),
        "free_blocks": drive.ftl().free_blocks(),
        "write_mode_of_old_data": old_mode,
        "age_of_old_data_ns": state.age.0,
        "pe_cycles": state.pe_cycles,
        "access_history": "none",
    });
    Ok(Start { facts, notes: Vec::new(), is_loaded: false, is_exact: false })
}

/// Search for the steady state during a run.
struct Search {
    state: SteadyState,
    next: u64,
    counted: u64,
    measure_until: Option<u64>,
}

impl Search {
    fn new(round_ns: u64, start: SimTime) -> Search {
        Search { state: SteadyState::new(round_ns), next: start.0 + round_ns, counted: 0, measure_until: None }
    }

    /// Returns a note for the user if no steady state was reached.
    fn note(&self) -> Option<String> {
        (!self.state.reached).then(|| {
            format!(
                "the steady state was not reached in {} rounds of {} (range within 20 %, slope within 10 % over {WINDOW} rounds)",
                self.state.rounds,
                Nanos(self.state.round_ns)
            )
        })
    }

    /// Adds a round to the search if one has ended; returns true once the measurement after the steady state is over.
    fn is_over(&mut self, drive: &mut Drive) -> bool {
        let now = drive.now().0;
        if let Some(until) = self.measure_until {
            return now >= until;
        }
        if now < self.next {
            return false;
        }
        let total: u64 = drive.statistics.sums.iter().map(kit::Sums::count).sum();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_share_scale_models_within_their_session_and_nowhere_else() {
        let (shared, other) = (Session::default(), Session::default());
        let run = |session: &Session, policy: &str, seed: u64| {
            let request = RunRequest {
                policy: Some(policy.to_owned()),
                precondition: Some("steady".to_owned()),
                seed,
                ..RunRequest::new("tiny", "base = \"tiny\"")
            };
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
