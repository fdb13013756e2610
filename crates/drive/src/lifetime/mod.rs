//! Lifetime of a drive. A workload is repeated, pass after pass on the same drive, until the drive is worn out; or a
//! steady round is measured in each interval of wear, and the whole life is extrapolated from these.
//!
//! A full run simulates every erase. Extrapolation uses the fact that, between two points at which something changes
//! with wear, one pass is like the next. For each interval of wear (by default a sixth of the rated endurance, as in
//! the tables of effective wear), the drive's blocks are set to a wear in the interval and the workload is repeated
//! until two rounds agree. The last round stands for the interval: cycles = sum over intervals of (interval / mean wear
//! of an erase).

mod history;
pub mod keys;
mod limit;
mod passes;
mod report;
mod steady;

use crate::description::{Description, no_file};
use crate::drive::{Drive, Identity};
use crate::options::{LifeOptions, Setup};
use crate::session::{self, DriveText, Files, Progress, ProgressMeter, Session};
use crate::streams::WriteFailure;
use kit::{BlockId, Nanos, Problem, Problems};
use limit::{Limit, Until};
use passes::{Passes, Tally};
use serde::Deserialize;
use serde_json::Value;
use workload::{Input, Options};

/// Number of intervals of the rated endurance, as in the tables of effective wear (autoFTL, section 3.5).
const INTERVALS: i64 = 6;
/// Least mean number of cycles per block, and least number of erases, in a round of extrapolation. The mean wear of
/// 4,096 erases is known to about half a per cent, even if a policy chooses at random between two wears that differ by
/// a factor of two.
const ROUND_CYCLES: f64 = 4.0;
const ROUND_ERASES: f64 = 4096.0;
/// Relative difference up to which two rounds agree, unless the request gives another.
const AGREEMENT: f64 = 0.01;

/// A lifetime run as the command line and Python request it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LifetimeRequest {
    /// The drive.
    pub drive: DriveText,
    /// Options of the drive at the start of its life. Pass `n` (from 0) of a job file or a model is drawn with the seed
    /// plus `n`.
    #[serde(default)]
    pub setup: Setup,
    /// Options of the workload.
    #[serde(default)]
    pub workload: Options,
    /// Options of the life.
    #[serde(default)]
    pub life: LifeOptions,
    /// Most memory that the drive may take in its starting state \[bytes\]; `None`: any.
    #[serde(default)]
    pub max_memory: Option<u64>,
}

/// All results of a lifetime run.
pub struct LifetimeOutcome {
    /// `lifetime.json`.
    pub report: Value,
    /// `drive.toml`: the description, every field resolved.
    pub drive_toml: String,
    /// `workload.toml`: the workload of the first pass, every option resolved.
    pub workload_toml: String,
    /// Notes for the user, one line each.
    pub notes: Vec<String>,
    /// Wall time of the set-up \[s\].
    pub setup_s: f64,
    /// Error in writing the saved drive, if there was one.
    pub unwritten: Option<WriteFailure>,
}

/// Method by which the lifetime is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Full,
    Extrapolate,
}

/// The options of a request, checked.
struct Plan {
    method: Method,
    limit: Limit,
    max_passes: Option<u64>,
    /// Bounds of the intervals of mean effective wear \[nominal erases\], ascending; the last one is the limit.
    edges: Vec<f64>,
    round_cycles: f64,
    /// Relative difference in wear per erase and in write amplification up to which two rounds agree.
    agreement: f64,
}

/// A description, and a function that makes an empty drive of it.
pub struct Drives<'a> {
    /// Description of the drives, before the wear limit is set in it.
    pub description: Description,
    /// Makes an empty drive.
    pub make: &'a dyn Fn(&Description) -> std::io::Result<Drive>,
}

/// Runs a workload on a drive until the end of the drive's life. `progress` is called about ten times per second of
/// wall time; if it returns false, the run ends cleanly with partial results. Errors in the input are reported before
/// time 0.
pub fn lifetime(
    shared: &Session,
    request: &LifetimeRequest,
    input: &Input,
    files: Files<'_>,
    progress: &mut dyn FnMut(&Progress<'_>) -> bool,
) -> Result<LifetimeOutcome, Problems> {
    let description = session::description(&request.drive, &request.setup, files.named.unwrap_or(&no_file))?;
    if let Some(kind) = description.policy.needs_future() {
        let complaint = format!("{kind} knows the future of one pass only, and a life has many: expected another policy");
        return Err(Problems::one("policy.kind", complaint));
    }
    let seed = request.setup.seed;
    let drives = Drives { description, make: &|description| Drive::new(description, seed) };
    lifetime_of(shared, request, drives, input, files, progress)
}

/// Runs like [`lifetime()`], but on drives with a given description and constructor.
pub fn lifetime_of(
    shared: &Session,
    request: &LifetimeRequest,
    drives: Drives<'_>,
    input: &Input,
    mut files: Files<'_>,
    progress: &mut dyn FnMut(&Progress<'_>) -> bool,
) -> Result<LifetimeOutcome, Problems> {
    let Drives { mut description, make } = drives;
    if let Some(problem) = description.lacks_map(&request.drive.name, "a life") {
        return Err(problem.into());
    }
    if description.ftl.journal.is_some() {
        let what = "the journal of the map is not kept over the passes of a life: expected a description without";
        return Err(Problems::one("ftl.journal", what));
    }
    if description.ftl.paired_pages != Default::default() {
        let what = "copies and wordlines of paired pages are not kept over the passes of a life: expected a description without";
        return Err(Problems::one("ftl.paired_pages", what));
    }
    if files.load.is_some() && request.setup.precondition.is_some() {
        return Err(Problems::one("--precondition", session::LOADED));
    }
    description.check_memory(&request.drive.name, request.max_memory)?;
    let mut plan = Plan::of(&request.life, &mut description)?;
    if plan.method == Method::Extrapolate && files.save.is_some() {
        return Err(Problems::one("--save", "an extrapolated run has no worn-out drive to save: expected --method full"));
    }
    let mut passes = Passes::new(input, &request.workload, &description, request.setup.seed);
    let first = passes.open()?;
    if plan.method == Method::Extrapolate && first.is_endless {
        return Err(Problems::one(
            &input.name,
            "it has no end, so that no pass over it can be measured: expected a limit, or --method full",
        ));
    }
    let mut notes = first.notes.clone();
    let workload_toml = first.resolved.clone();

    let mut watch = ProgressMeter::new(progress);
    let fresh = || make(&description).map_err(|error| session::too_large(&request.drive.name, &error));
    let mut drive = fresh()?;
    let identity = Identity::of(&description, &description.policy.kind, request.setup.seed);
    let state = session::prepare(&mut drive, &description, &identity, &mut files, shared, &mut watch)?;
    notes.extend(state.notes.iter().cloned());
    plan.start_at(&drive, &request.drive.name)?;
    state.begin(&mut drive);
    let setup_s = watch.seconds();
    notes.extend(plan.limit.notes.iter().cloned());

    let start = report::Start::of(&drive);
    let life = match plan.method {
        Method::Full => history::full(&plan, drive, &mut passes, &mut watch)?,
        Method::Extrapolate => steady::extrapolate(&plan, drive, (&fresh, &identity), &mut passes, &mut watch)?,
    };
    notes.extend(life.notes.iter().cloned());
    let facts = report::Facts { request, input, description: &description, plan: &plan, start, starting_state: state.facts };
    let report = report::report(&facts, &life, watch.seconds() - setup_s);
    let drive_toml = description.to_toml();
    let mut unwritten = None;
    if let (Some(to), Some(mut drive)) = (files.save, life.drive) {
        watch.tell("save", drive.now().0, 0, None);
        unwritten = session::save(&mut drive, &identity, to);
    }
    Ok(LifetimeOutcome { report, drive_toml, workload_toml, notes, setup_s, unwritten })
}

/// Result of a lifetime run.
struct Life {
    /// Drive at the end of the run, if it was simulated in full.
    drive: Option<Drive>,
    /// Criterion that ended the life; none if the run was stopped.
    ended_by: Option<&'static str>,
    /// Number of passes over the workload that were begun.
    passes: u64,
    intervals: Vec<Interval>,
    /// Passes of a full run, one or several per row.
    rows: Vec<history::Row>,
    notes: Vec<String>,
}

/// Totals while the mean effective wear rises from `from` to `to`.
struct Interval {
    from: f64,
    to: f64,
    /// Mean number of cycles per block.
    cycles: f64,
    tally: Tally,
    /// For an extrapolated interval: passes of the round that stands for it, number of rounds run, and true if the last
    /// two agreed.
    measured: Option<(u64, u32, bool)>,
}

impl Plan {
    fn of(life: &LifeOptions, description: &mut Description) -> Result<Plan, Problems> {
        let mut problems = Problems::default();
        let methods = [("full", Method::Full), ("extrapolate", Method::Extrapolate)];
        let method = named("--method", "method", &life.method, &methods, &mut problems).unwrap_or(Method::Full);
        let until = named("--until", "end of a life", &life.until, &Until::ALL, &mut problems).unwrap_or(Until::MeanWear);
        if method == Method::Extrapolate && matches!(until, Until::FirstBlock | Until::Spare) {
            problems.add(
                "--method",
                format!(
                    "extrapolate: how unevenly blocks wear, which decides when --until {} is reached, does not show in steady passes: expected \
                     --method full, or --until mean_wear",
                    life.until
                ),
            );
        }
        if let Some(cycles) = life.round_cycles.filter(|cycles| !(0.1..=1e6).contains(cycles)) {
            problems.add("--round-cycles", format!("{cycles}: expected 0.1..=1000000"));
        }
        if let Some(share) = life.agreement.filter(|share| !(1e-4..=0.5).contains(share)) {
            problems.add("--agreement", format!("{share}: expected 0.0001..=0.5, such as 0.01 for one per cent"));
        }
        let intervals = life.intervals.unwrap_or(INTERVALS);
        if !(1..=1000).contains(&intervals) {
            problems.add("--intervals", format!("{intervals}: expected 1..=1000"));
        }
        let max_passes = life.max_passes.map(|most| u64::try_from(most).unwrap_or(0));
        if let (Some(0), Some(most)) = (max_passes, life.max_passes) {
            problems.add("--max-passes", format!("{most}: expected 1 or more"));
        }
        if life.max_passes.is_some() && method == Method::Extrapolate {
            problems.add("--max-passes", "ends a full run: expected --method full");
        }
        for (option, given) in [("--round-cycles", life.round_cycles), ("--agreement", life.agreement)] {
            if given.is_some() && method == Method::Full {
                problems.add(option, "rounds are those of extrapolation: expected --method extrapolate");
            }
        }
        problems.or(())?;
        if let (Method::Extrapolate, Some(cycles)) = (method, description.ftl.retire_at_cycles) {
            return Err(Problems::one(
                "ftl.retire_at_cycles",
                format!("{cycles}: extrapolation does not model retired blocks: expected --method full, or none"),
            ));
        }
        let limit = Limit::of(life, until, description)?;
        let rated = f64::from(description.flash.rated_pe_cycles);
        let parts = (1..=intervals).map(|part| rated * part as f64 / intervals as f64);
        let mut edges: Vec<f64> = parts.filter(|edge| *edge < limit.wear).collect();
        edges.push(limit.wear);
        let blocks = f64::from(description.geometry().block_count);
        let shortest = edges.iter().scan(0.0, |from, to| Some(to - std::mem::replace(from, *to))).fold(f64::INFINITY, f64::min);
        if let Some(cycles) = life.round_cycles.filter(|cycles| *cycles > shortest) {
            let expected = "a part of the shortest interval of wear, which is";
            return Err(Problems::one("--round-cycles", format!("{cycles}: expected {expected} {shortest:.0} (--intervals)")));
        }
        let round_cycles = life.round_cycles.unwrap_or(ROUND_CYCLES.max(ROUND_ERASES / blocks));
        Ok(Plan { method, limit, max_passes, edges, round_cycles, agreement: life.agreement.unwrap_or(AGREEMENT) })
    }

    /// Makes the first interval begin at the wear of the drive.
    fn start_at(&mut self, drive: &Drive, name: &str) -> Result<(), Problems> {
        let wear = mean_wear_of(drive);
        if let Some(how) = self.limit.reached(drive) {
            return Err(Problems::one(
                name,
                format!(
                    "the drive is already at the end of its life ({how}): its blocks have {wear:.0} of {:.0} nominal erases behind them",
                    self.limit.wear
                ),
            ));
        }
        self.edges.retain(|edge| *edge > wear);
        self.edges.insert(0, wear);
        Ok(())
    }
}

/// Returns the value of a name, or adds a problem that lists the known names.
fn named<T: Copy>(place: &str, what: &str, name: &str, known: &[(&'static str, T)], problems: &mut Problems) -> Option<T> {
    let found = known.iter().find(|(known, _)| *known == name);
    if found.is_none() {
        problems.0.push(Problem::unknown(place, what, name, known.iter().map(|(name, _)| *name)));
    }
    found.map(|(_, value)| *value)
}

/// Returns the mean effective wear of the blocks of a drive that age \[nominal erases\].
fn mean_wear_of(drive: &Drive) -> f64 {
    let (thousandths, blocks) = total_wear_of(drive);
    thousandths as f64 / 1000.0 / blocks
}

/// Returns the sum of the effective wear of the blocks of a drive that age, in thousandths of a nominal erase, and
/// their number: blocks that were bad from the beginning are never erased.
fn total_wear_of(drive: &Drive) -> (u64, f64) {
    let medium = drive.medium();
    let unused: u64 = medium.factory_bad().iter().map(|&block| u64::from(medium.wear_thousandths(block))).sum();
    (medium.wear_total() - unused, f64::from(medium.geometry.block_count) - medium.factory_bad().len() as f64)
}

/// Returns the blocks of a drive that age.
fn ageing_blocks(drive: &Drive) -> impl Iterator<Item = BlockId> + Clone + '_ {
    let medium = drive.medium();
    (0..medium.geometry.block_count).map(BlockId).filter(|block| !medium.factory_bad().contains(block))
}

/// Parses a duration from the command line.
fn duration(place: &str, text: &str) -> Result<Nanos, Problems> {
    match text.parse::<Nanos>() {
        Ok(Nanos::ZERO) => Err(Problems::one(place, "0: expected a duration above zero")),
        Ok(duration) => Ok(duration),
        Err(complaint) => Err(Problems::one(place, complaint)),
    }
}
