//! One run from request to results, for the command line and Python.

use crate::description::{Description, File, Foreseen, PreconditionMethod, no_file};
use crate::failure::Toll;
use crate::power_cut::PowerCut;
use crate::router::Drive;
use crate::run_loop::{End, RunLoop};
use crate::statistics::{CommandRow, TimelineRow};
use crate::steady::{SteadyState, WINDOW};
use crate::streams::{Outputs, Streams, Unwritten};
use crate::summary::{self, RunFacts};
use ftl::policy::future::{Access, Future};
use ftl::policy::{Facts, ModePolicy, PolicyConfig, checked::Checked};
use ftl::{Precondition, Preconditioned};
use kit::history::Digest;
use kit::{Lpn, Nanos, Op, Problem, Problems, Rng, SimTime, UNIT_BYTES};
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::sync::Arc;
use workload::{Input, Options, Workload};

/// A drive's text and what messages call it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DriveText {
    /// A preset's name or a file's path.
    pub name: String,
    /// The description.
    pub text: String,
}

/// A run, as the command line and Python ask for it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunRequest {
    /// The drive.
    pub drive: DriveText,
    /// `KEY=VALUE` overrides.
    #[serde(default)]
    pub set: Vec<String>,
    /// The policy, in place of the description's.
    #[serde(default)]
    pub policy: Option<String>,
    /// Seed of all random streams.
    #[serde(default = "first_seed")]
    pub seed: u64,
    /// The starting state, in place of the description's: `none`, `fill`, `random` or `steady`.
    #[serde(default)]
    pub precondition: Option<String>,
    /// Options of the workload.
    #[serde(default)]
    pub workload: Options,
    /// Whether the digest of the physical history is wanted.
    #[serde(default)]
    pub history: bool,
    /// When the timeline begins, such as `"10ms"` after the start of what is measured; at once when absent.
    #[serde(default)]
    pub timeline_from: Option<String>,
    /// For how long it goes on, such as `"1ms"`; to the end when absent.
    #[serde(default)]
    pub timeline_for: Option<String>,
    /// Run until steady by the SNIA rule, then measure for five rounds.
    #[serde(default)]
    pub steady_state: bool,
    /// Length of a round of the SNIA rule, such as `"1s"`.
    #[serde(default)]
    pub steady_round: Option<String>,
    /// When power fails, such as `"10s"` after the start of the run.
    #[serde(default)]
    pub power_cut: Option<String>,
    /// For how long, such as `"30d"`.
    #[serde(default)]
    pub power_down: Option<String>,
}

impl RunRequest {
    /// A run of a drive with every option at its default.
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
        }
    }
}

fn first_seed() -> u64 {
    1
}

/// A saved drive to begin with, and where to save it in the end.
#[derive(Default)]
pub struct Files<'a> {
    /// A saved drive, with its name for messages.
    pub load: Option<(String, Box<dyn Read + 'a>)>,
    /// Where the drive is saved after the run.
    pub save: Option<&'a mut dyn Write>,
    /// Gives the text of a file that the description names. Absent: none can be read.
    pub named: Option<File<'a>>,
    /// Where rows go while the run goes on.
    pub outputs: Outputs<'a>,
}

/// Makes a policy from the facts of the drive that it is to run, and a stream of random numbers of its own.
pub type MakePolicy<'a> = Box<dyn FnOnce(&Facts, Rng) -> Result<Box<dyn ModePolicy>, Problems> + Send + 'a>;

/// A policy that is no member of the family. Its answers are checked.
pub struct Guest<'a> {
    /// What results call it, and its saved state goes by.
    pub name: String,
    /// Makes it, before time 0.
    pub make: MakePolicy<'a>,
}

/// Why a run has no results.
#[derive(Clone, Debug)]
pub enum Ended {
    /// Something is wrong with the input.
    Input(Problems),
    /// Something went wrong in the policy, which is no member of the family.
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

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// `foresee`, `precondition`, `run`, `lifetime`, `shutdown` or `save`.
    pub stage: &'static str,
    /// Simulated time \[ns\].
    pub simulated_ns: u64,
    /// Commands completed.
    pub commands: u64,
    /// The share that is done, where it is known.
    pub fraction: Option<f64>,
}

/// Everything a run leaves.
pub struct Outcome {
    /// `summary.json`.
    pub summary: Value,
    /// `drive.toml`: the description, every field resolved.
    pub drive_toml: String,
    /// `workload.toml`: the workload, every option resolved.
    pub workload_toml: String,
    /// What the user should know, one line each.
    pub notes: Vec<String>,
    /// Latency histogram: operation, low edge, high edge, count.
    pub latency: Vec<(Op, u64, u64, u64)>,
    /// Timeline rows with the start of each \[ns\].
    pub timeline: Vec<(u64, TimelineRow)>,
    /// Width of a timeline row \[ns\].
    pub timeline_width_ns: u64,
    /// The digest of the physical history, if asked for.
    pub history: Option<Digest>,
    /// Files that could not be written.
    pub unwritten: Vec<Unwritten>,
    /// Seconds of wall time that the set-up took.
    pub setup_s: f64,
}

/// The random stream of a policy that is no member of the family.
const POLICY_STREAM: &str = "policy";

/// Reads the description that a request names, with its overrides; `file` gives the text of a file that the description names.
pub fn description(request: &RunRequest, file: File<'_>) -> Result<Description, Problems> {
    let mut sets = request.set.clone();
    if let Some(policy) = &request.policy {
        let names = ftl::PolicyConfig::NAMES;
        if !names.contains(&policy.as_str()) {
            return Err(Problem::unknown("--policy", "policy", policy, names.iter().copied()).into());
        }
        if sets.iter().any(|set| set.split('=').next().is_some_and(|key| key.trim() == "policy.kind")) {
            return Err(Problems::one("--policy", "a policy is set by `policy.kind`, too: expected only one of them"));
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

/// Why a starting state is refused beside a saved drive.
pub(crate) const LOADED: &str =
    "the drive's state is that of the file that is loaded: expected only one of --load, --precondition";

/// Runs a workload on a drive. `progress` is asked about ten times a second of wall time whether to go on; if it says no, the run ends cleanly with
/// partial results. Bad input is reported before time 0.
pub fn run(
    request: &RunRequest,
    input: &Input,
    files: Files<'_>,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, Problems> {
    run_by(request, input, files, None, progress).map_err(Problems::from)
}

/// The same, the drive run by a policy that is no member of the family. If it fails, so does the run.
pub fn run_by(
    request: &RunRequest,
    input: &Input,
    mut files: Files<'_>,
    guest: Option<Guest<'_>>,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Outcome, Ended> {
    if files.load.is_some() && request.precondition.is_some() {
        return Err(Problems::one("--precondition", LOADED).into());
    }
    let guest_name = guest.as_ref().map(|guest| guest.name.clone());
    let mut description = description_for(request, guest_name.is_some(), files.named.unwrap_or(&no_file))?;
    let round = steady_round(request)?;
    let [timeline_from, timeline_for] = timeline_window(request)?;
    let power_cut = PowerCut::of(request, &description)?;
    let mut options = request.workload.clone();
    options.seed = request.seed;
    if description.policy.kind == "clairvoyant" {
        description.future = foresee(&description, input, &options, progress)?;
    }
    let workload = workload::open(input, description.user_bytes(), &options)?;
    let (mut notes, workload_toml) = (workload.notes.clone(), workload.resolved.clone());

    let mut watch = Watch::new(progress);
    let mut drive = drive(request, &description, guest)?;
    let starting_state = prepare(&mut drive, &description, &mut files, &mut watch)?;
    if files.load.is_none() && description.state.precondition == PreconditionMethod::Steady {
        notes.extend(steady_notes(&description, &workload));
    }
    notes.extend(alike_note(&description, &drive));
    drive.adopt();
    failure(&drive)?;
    let setup_s = watch.seconds();

    let mut streams = Streams::new(std::mem::take(&mut files.outputs), &description, request.history);
    streams.begin(&mut drive, timeline_from.unwrap_or_default(), timeline_for);
    let mut run_loop = RunLoop::new(workload);
    run_loop.round = round.map(Nanos);
    run_loop.power_fails = power_cut.map_or(SimTime::FOREVER, |cut| drive.now() + cut.after);
    let mut search = round.map(Search::new);
    let loop_start = watch.seconds();
    let mut stopped_early = false;
    let mut go_on = |drive: &mut Drive, completed: u64| {
        streams.hand_out(drive);
        if search.as_mut().is_some_and(|search| search.is_over(drive)) {
            stopped_early = true;
            return false;
        }
        let ftl = drive.ftl();
        let goes_on = ftl.worn_out_die().is_none() && ftl.policy_failure().is_none() && !ftl.policy_is_stopped();
        goes_on && watch.tell("run", drive.now().0, completed, None)
    };
    let mut end = run_loop.run(&mut drive, &mut go_on)?;
    let toll = match power_cut.filter(|_| end == End::PowerFails) {
        Some(cut) => {
            let stopped = run_loop.power_fails;
            let toll = Toll::of(drive.fail_power(cut.down), stopped, &description, &drive, request.seed);
            end = run_loop.resume(&mut drive, &mut go_on)?;
            Some(toll)
        }
        None => None,
    };
    failure(&drive)?;
    notes.extend(power_notes(power_cut, toll.as_ref(), end, &drive));
    notes.extend(worn_out(&drive));
    let workload_end = drive.now();
    let utilisation = drive.flash().utilisation(workload_end, drive.statistics.busy_at_start());
    let wall_s = watch.seconds() - loop_start;
    let complete = end == End::Complete || stopped_early;
    let shutdown_ns = (description.state.graceful_shutdown && complete).then(|| {
        drive.shut_down(&mut |now| watch.tell("shutdown", now.0, 0, None));
        drive.now().since(workload_end).0
    });
    failure(&drive)?;
    if let Some(search) = search.as_ref().filter(|search| !search.state.reached) {
        notes.push(format!(
            "the steady state was not reached in {} rounds of {} (range within 20 %, slope within 10 % over {WINDOW} rounds)",
            search.state.rounds,
            Nanos(search.state.round_ns)
        ));
    }
    notes.extend(idle_policy_note(&description, guest_name.as_deref(), &drive));
    let unmapped = drive.ftl().counters.unmapped_reads;
    if unmapped > 0 {
        notes.push(format!(
            "{unmapped} units were read that were never written: they cost no flash operation (--precondition fill gives every address data)"
        ));
    }
    let facts = RunFacts {
        drive_name: &request.drive.name,
        workload_name: &input.name,
        policy_name: guest_name.as_ref().unwrap_or(&description.policy.kind),
        seed: request.seed,
        complete,
        wall_s,
        rejected: run_loop.rejected,
        saturated: run_loop.is_saturated(),
        most_in_flight: run_loop.most_in_flight,
        steady: search.as_ref().map(|search| &search.state),
        starting_state,
        workload_end,
        utilisation,
        shutdown_ns,
        toll: toll.as_ref(),
    };
    let (history, unwritten) = streams.finish(&mut drive);
    let mut outcome = Outcome {
        summary: summary::summary(&facts, &description, &drive),
        drive_toml: drive_toml(&description, guest_name.as_deref()),
        workload_toml,
        notes,
        latency: summary::latency_rows(&drive.statistics),
        timeline: drive.statistics.timeline.rows().map(|(at, row)| (at, *row)).collect(),
        timeline_width_ns: drive.statistics.timeline.width_ns(),
        history,
        unwritten,
        setup_s,
    };
    // Its numbers were asked for last.
    failure(&drive)?;
    if let Some(to) = files.save {
        watch.tell("save", drive.now().0, 0, None);
        outcome.unwritten.extend(save(&mut drive, to));
    }
    Ok(outcome)
}

pub(crate) fn too_large(drive: &str, error: &std::io::Error) -> Problems {
    Problems::one(drive, format!("its tables do not fit into memory: {error}"))
}

/// Saves a drive as it is once what it does has been finished; what went wrong with the file.
pub(crate) fn save(drive: &mut Drive, to: &mut dyn Write) -> Option<Unwritten> {
    drive.program_buffer();
    drive.quiesce();
    let saved = drive.ftl().save(drive.now(), to);
    saved.err().map(|error| Unwritten { option: "--save", error })
}

/// The description that a request names; what it says of its policy does not matter to a guest.
fn description_for(request: &RunRequest, guest: bool, file: File<'_>) -> Result<Description, Problems> {
    if !guest {
        return description(request, file);
    }
    description(&RunRequest { policy: Some("baseline".to_owned()), ..request.clone() }, file)
}

/// The resolved description. No description names a guest: a comment does.
fn drive_toml(description: &Description, guest: Option<&str>) -> String {
    let comment = guest.map_or_else(String::new, |name| {
        format!("# The run's policy was `{name}`, which no description names, in place of `policy.kind`.\n")
    });
    comment + &description.to_toml()
}

/// What is wrong with a guest's name: results and their folders go by it, and a saved drive.
fn name_problems(name: &str) -> Problems {
    let mut problems = Problems::default();
    let is_plain = name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)) && !name.starts_with('.');
    if !is_plain || name.is_empty() || name.len() > usize::from(u8::MAX) {
        problems.add("name", format!("`{name}`: expected 1 to 255 bytes of letters, digits, `_`, `-` and `.`, no dot first"));
    } else if PolicyConfig::NAMES.contains(&name) {
        problems.add("name", format!("`{name}`: expected one that no policy of the list has"));
    }
    problems
}

/// The drive of a description, run by its own policy or by a guest.
fn drive(request: &RunRequest, description: &Description, guest: Option<Guest<'_>>) -> Result<Drive, Ended> {
    let too_large = |error: std::io::Error| Ended::from(too_large(&request.drive.name, &error));
    let Some(Guest { name, make }) = guest else { return Drive::new(description, request.seed).map_err(too_large) };
    name_problems(&name).or(()).map_err(Ended::Policy)?;
    let facts = description.policy_facts();
    let made = make(&facts, Rng::stream(request.seed, POLICY_STREAM)).map_err(Ended::Policy)?;
    let policy = Checked::new(made, &facts).map_err(Ended::Policy)?;
    description.background_problems(&policy).or(()).map_err(Ended::Policy)?;
    description.problems_under(&name, &policy).or(())?;
    let ftl = description.build_ftl_with(&name, Box::new(policy), request.seed).map_err(too_large)?;
    Ok(Drive::with_ftl(description, ftl, request.seed))
}

/// What went wrong in the policy, if it cannot go on.
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

/// When the timeline begins and how long it is, where that is said.
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

/// What the user should know of the power failure that was asked for.
fn power_notes(cut: Option<PowerCut>, toll: Option<&Toll>, end: End, drive: &Drive) -> Vec<String> {
    match (cut, toll) {
        (_, Some(toll)) => toll.notes(),
        (Some(cut), None) if end == End::Complete => {
            let ended = Nanos(drive.now().0).as_secs_f64();
            vec![format!("power did not fail: the workload ended after {ended:.3} s, before --power-cut {}", cut.after)]
        }
        _ => Vec::new(),
    }
}

/// What is to come: the accesses of a run of the workload under `baseline`, on a drive that was filled once.
fn foresee(
    description: &Description,
    input: &Input,
    options: &Options,
    progress: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Foreseen, Problems> {
    let mut description = description.clone();
    description.policy.kind = "baseline".to_owned();
    let workload = workload::open(input, description.user_bytes(), options)?;
    let does_not_fit =
        |error| Problems::one("clairvoyant", format!("the run that is recorded does not fit into memory: {error}"));
    let mut drive = Drive::new(&description, options.seed).map_err(does_not_fit)?;
    let filled =
        Preconditioned { method: Precondition::Fill, age: description.state.age, pe_cycles: description.state.pe_cycles };
    drive.ftl_mut().precondition(&filled, &mut |_| true).map_err(does_not_fit)?;
    drive.adopt();
    drive.statistics.log = Some(Vec::new());
    let mut watch = Watch::new(progress);
    RunLoop::new(workload).run(&mut drive, &mut |drive, completed| watch.tell("foresee", drive.now().0, completed, None))?;
    let mut rows = drive.statistics.log.take().unwrap_or_default();
    rows.sort_by_key(|row| row.submitted);
    let access = |row: &CommandRow| {
        let first = row.offset / UNIT_BYTES;
        let units = (row.offset + row.length).div_ceil(UNIT_BYTES) - first;
        Access { at: row.submitted, first: Lpn(first as u32), units: units as u32, writes: row.op != Op::Read }
    };
    let accesses: Vec<Access> = rows.iter().filter(|row| row.op != Op::Flush).map(access).collect();
    Ok(Foreseen(Arc::new(Future::new(description.user_bytes() / UNIT_BYTES, &accesses))))
}

/// Brings the drive to its starting state, and says what that is.
pub(crate) fn prepare(
    drive: &mut Drive,
    description: &Description,
    files: &mut Files<'_>,
    watch: &mut Watch<'_>,
) -> Result<Value, Problems> {
    let state = &description.state;
    if let Some((name, from)) = &mut files.load {
        drive.ftl_mut().load(from).map_err(|complaint| Problems::one(name.clone(), complaint))?;
        return Ok(json!({"method": "load", "file": name}));
    }
    let method = match state.precondition {
        PreconditionMethod::None => Precondition::None,
        PreconditionMethod::Fill => Precondition::Fill,
        PreconditionMethod::Random => Precondition::Random { passes: state.overwrite_passes },
        PreconditionMethod::Steady => Precondition::Steady,
    };
    let how = Preconditioned { method, age: state.age, pe_cycles: state.pe_cycles };
    let done = drive
        .ftl_mut()
        .precondition(&how, &mut |share| watch.tell("precondition", 0, 0, Some(share)))
        .map_err(|error| Problems::one("--precondition", format!("the scale model does not fit into memory: {error}")))?;
    if !done {
        return Err(Problems::one("interrupted", "while the drive was brought to its starting state"));
    }
    let old_mode = &description.flash.write_modes[drive.ftl().mode_of_old_data().index()].name;
    let passes = (state.precondition == PreconditionMethod::Random).then_some(state.overwrite_passes);
    Ok(json!({
        "method": state.precondition,
        "overwrite_passes": passes,
        "mapped_units": drive.ftl().mapped_units(),
        "free_blocks": drive.ftl().free_blocks(),
        "write_mode_of_old_data": old_mode,
        "age_of_old_data_ns": state.age.0,
        "pe_cycles": state.pe_cycles,
        "access_history": "none",
    }))
}

/// What a user should know of a drive that is at its end.
pub(crate) fn worn_out(drive: &Drive) -> Option<String> {
    let die = drive.ftl().worn_out_die()?;
    let (retired, blocks) = (drive.ftl().retired_blocks(die), drive.ftl().store.geometry.blocks_per_die);
    Some(format!(
        "die {} can spare no more blocks: {retired} of its {blocks} are worn out and retired, and it needs the others for its share of the data, its \
         write frontiers and its reserve; the drive is worn out",
        die.0
    ))
}

/// What a user should know who expects the drive to be in *this* workload's steady state.
fn steady_notes(description: &Description, workload: &Workload) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(job) = workload.jobs.iter().find(|job| job.overwrites_in_passes) {
        notes.push(format!(
            "job `{}` overwrites every block once per pass: write amplification will drift from that of uniform random overwrites, in whose steady \
             state the drive begins (fio: norandommap=1)",
            job.name
        ));
    }
    let geometry = description.geometry();
    let (critical, low) = description.ftl.thresholds(&geometry);
    if low > description.ftl.gc_low_blocks {
        let rested = u64::from(low - critical) * u64::from(geometry.die_count);
        notes.push(format!(
            "the steady state is that of a rested drive (ftl.gc_spare_fraction = {}): a sustained load first uses up about {rested} free blocks, \
             and write amplification is lower until then",
            description.ftl.gc_spare_fraction
        ));
    }
    let target = description.ftl.gc_idle_target_blocks;
    if description.ftl.gc_idle_after.is_some() && target > low {
        let more = u64::from(target - low) * u64::from(geometry.die_count);
        notes.push(format!(
            "a load with idle times first makes up to {more} more blocks free (ftl.gc_idle_target_blocks = {target}), \
             and write amplification is higher until then"
        ));
    }
    notes
}

/// What a user should know whose policy had nothing to choose: results are those of `baseline`.
fn idle_policy_note(description: &Description, guest: Option<&str>, drive: &Drive) -> Option<String> {
    let kind = guest.unwrap_or(&description.policy.kind);
    let normal = description.flash.write_modes.iter().position(|mode| mode.name == "normal").unwrap_or(0);
    let (flash, ftl) = drive.statistics.since_start(drive.flash(), drive.ftl());
    let written = ftl.units_by_mode;
    let of_others = |counts: &[u64], own: usize| counts.iter().enumerate().any(|(mode, &count)| mode != own && count > 0);
    let chose = of_others(&written, normal) || of_others(&flash.erase_modes, 0);
    (written[normal] > 0 && !chose && !["baseline", "separate"].contains(&kind)).then(|| {
        format!(
            "policy `{kind}` wrote all data in the normal mode and erased in the first one, as `baseline` does: the load gave it no occasion for \
             others, or the drive lacks what it chooses among (ssdlab presets)"
        )
    })
}

/// What a user should know whose policy chooses a write mode for each page for the reads that it leaves, where all are read alike.
fn alike_note(description: &Description, drive: &Drive) -> Option<String> {
    let mode_of = |name: &String| description.flash.write_modes.iter().find(|mode| mode.name == *name);
    let modes = description.policy.modes();
    let mut read = modes.iter().filter_map(|(_, name)| mode_of(name)).map(|mode| description.flash.read_mode_of(mode));
    let first = read.next()?;
    (drive.ftl().keeps_modes_by_page() && read.all(|mode| mode == first)).then(|| {
        let names: Vec<&str> = modes.iter().map(|(_, name)| name.as_str()).collect();
        format!(
            "policy `{}` chooses among the write modes {} by what reads of their data cost, and all are read alike: give each its \
             flash.write_mode.read_mode, as the preset agcr-64g does",
            description.policy.kind,
            names.join(", ")
        )
    })
}

/// Steady-state search while a run goes on.
struct Search {
    state: SteadyState,
    next: u64,
    counted: u64,
    measure_until: Option<u64>,
}

impl Search {
    fn new(round_ns: u64) -> Search {
        Search { state: SteadyState::new(round_ns), next: round_ns, counted: 0, measure_until: None }
    }

    /// Looks at the clock; true when the measurement after the steady state is over.
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

/// Asks the caller whether to go on, about ten times a second.
pub(crate) struct Watch<'a> {
    progress: &'a mut dyn FnMut(&Progress) -> bool,
    clock: crate::wall::Clock,
    told_s: f64,
    go_on: bool,
}

impl<'a> Watch<'a> {
    pub fn new(progress: &'a mut dyn FnMut(&Progress) -> bool) -> Watch<'a> {
        Watch { progress, clock: crate::wall::Clock::start(), told_s: 0.0, go_on: true }
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
