//! A run: asked for in JSON, watched by a Python function, handed back as texts and columns.

use crate::columns::Columns;
use crate::drives::named_file;
use crate::errors::{raised_in_policy, refuse, refuse_at, refuse_policy};
use crate::interpreter::released;
use crate::policy::{self, Raised};
use crate::traces::file;
use drive::lifetime::LifetimeRequest;
use drive::session::{self, Ended, Files, Guest, Progress, RunRequest, Span};
use drive::{CommandRow, TimelineRow};
use kit::{Cause, Op, Problems};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use workload::Input;

/// What a run hands back.
#[pyclass(frozen, get_all)]
pub struct Outcome {
    /// The text of `summary.json`.
    summary_json: String,
    /// The drive's complete description (TOML).
    drive_toml: String,
    /// The workload as it was resolved (TOML).
    workload_toml: String,
    /// What the user should know.
    notes: Vec<String>,
    /// Whether Ctrl-C ended the run.
    interrupted: bool,
    /// Seconds of wall time that the set-up took.
    setup_s: f64,
    /// The latency histogram.
    latency: Py<PyDict>,
    /// How things went over time.
    timeline: Py<PyDict>,
    /// Every command, if asked for.
    commands: Option<Py<PyDict>>,
    /// What channels and dies did, if asked for.
    spans: Option<Py<PyDict>>,
    /// Of the physical history the number of entries and a hash, if asked for.
    history: Option<(u64, String)>,
}

/// What a run reads and writes, as a Python dictionary names it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Paths {
    /// The workload's file.
    workload: Option<String>,
    /// The workload's text, where it is no file.
    text: Option<String>,
    /// A saved drive to begin with.
    load: Option<String>,
    /// Where to save the drive.
    save: Option<String>,
}

/// What a lifetime run hands back.
#[pyclass(frozen, get_all)]
pub struct Lived {
    /// The text of `lifetime.json`.
    report_json: String,
    /// The drive's complete description (TOML).
    drive_toml: String,
    /// The workload as it was resolved (TOML).
    workload_toml: String,
    /// What the user should know.
    notes: Vec<String>,
    /// Whether Ctrl-C ended the run.
    interrupted: bool,
    /// Seconds of wall time that the set-up took.
    setup_s: f64,
}

/// Runs a workload on a drive, under a policy of the list or a `guest`: its name, and what [`policy::make`] takes.
#[pyfunction]
#[pyo3(signature = (request_json, paths, progress, guest=None))]
pub fn run(
    py: Python<'_>,
    request_json: &str,
    paths: Paths,
    progress: Option<Py<PyAny>>,
    guest: Option<(String, Py<PyAny>)>,
) -> PyResult<Outcome> {
    let request: RunRequest = serde_json::from_str(request_json).map_err(|error| refuse_at("request", error))?;
    let watch = Watch { progress, of_policy: Raised::default(), held: guest.is_some() };
    let (outcome, interrupted) = watched(py, &request.drive.name, &paths, &watch, |input, files, on_progress| {
        let guest = guest.as_ref().map(|(name, python)| Guest {
            name: name.clone(),
            make: Box::new(|facts, rng| policy::make(python, facts, rng, &watch.of_policy)),
        });
        session::run_by(&request, input, files, guest, on_progress)
    })?;
    convert(py, outcome, interrupted)
}

/// Runs a workload on a drive again and again until the drive is worn out.
#[pyfunction]
pub fn lifetime(py: Python<'_>, request_json: &str, paths: Paths, progress: Option<Py<PyAny>>) -> PyResult<Lived> {
    let request: LifetimeRequest = serde_json::from_str(request_json).map_err(|error| refuse_at("request", error))?;
    let watch = Watch { progress, of_policy: Raised::default(), held: false };
    let (outcome, interrupted) = watched(py, &request.drive.name, &paths, &watch, |input, files, on_progress| {
        drive::lifetime::lifetime(&request, input, files, on_progress).map_err(Ended::from)
    })?;
    Ok(Lived {
        report_json: format!("{:#}\n", outcome.report),
        drive_toml: outcome.drive_toml,
        workload_toml: outcome.workload_toml,
        notes: outcome.notes,
        interrupted,
        setup_s: outcome.setup_s,
    })
}

/// What is asked now and then whether to go on.
type OnProgress<'a> = &'a mut dyn FnMut(&Progress) -> bool;

/// Who watches a run.
struct Watch {
    /// A Python function that is told how far it is.
    progress: Option<Py<PyAny>>,
    /// What a policy in Python raised.
    of_policy: Raised,
    /// The interpreter is kept: a policy in Python is called more often than it could be taken back.
    held: bool,
}

/// Does `work` on the files that `paths` names, watched from Python; what it gives, and whether Ctrl-C cut it short.
fn watched<T: Send>(
    py: Python<'_>,
    drive: &str,
    paths: &Paths,
    watch: &Watch,
    work: impl FnOnce(&Input, Files<'_>, OnProgress<'_>) -> Result<T, Ended> + Send,
) -> PyResult<(T, bool)> {
    let input = match &paths.workload {
        Some(path) => file(path),
        None => Input::text("text", paths.text.clone().unwrap_or_default()),
    };
    let mut raised = None;
    let run = || {
        let mut on_progress = |now: &Progress| {
            // Once stopped it stays stopped: the run still asks while it ends.
            if raised.is_none() {
                raised = Python::attach(|py| report(py, watch.progress.as_ref(), now)).transpose();
            }
            raised.is_none() && !policy::has_raised(&watch.of_policy)
        };
        let mut save = paths.save.as_ref().map(|path| File::create(path).map(BufWriter::new)).transpose().map_err(unwritable)?;
        let load = paths.load.as_ref().map(|path| File::open(path).map(BufReader::new)).transpose().map_err(unreadable)?;
        let named = |path: &str| named_file(drive, path);
        let files = Files {
            load: paths.load.clone().zip(load).map(|(path, file)| (path, Box::new(file) as Box<dyn Read>)),
            save: save.as_mut().map(|file| file as &mut dyn Write),
            named: Some(&named),
        };
        let outcome = work(&input, files, &mut on_progress)?;
        save.map_or(Ok(()), |mut file| file.flush()).map_err(unwritable)?;
        Ok(outcome)
    };
    let ended = if watch.held { run() } else { released(py, run) };
    settled(py, ended, raised.and_then(Result::err).or_else(|| policy::take(&watch.of_policy)))
}

/// What a run gave and whether Ctrl-C cut it short, or why there is nothing.
fn settled<T>(py: Python<'_>, ended: Result<T, Ended>, raised: Option<PyErr>) -> PyResult<(T, bool)> {
    let is_interrupt = |error: &PyErr| error.is_instance_of::<PyKeyboardInterrupt>(py);
    match (ended, raised) {
        (Ok(outcome), Some(error)) if is_interrupt(&error) => Ok((outcome, true)),
        (Err(Ended::Policy(_)), Some(error)) if !is_interrupt(&error) => Err(raised_in_policy(py, error)),
        (_, Some(error)) => Err(error),
        (Err(Ended::Policy(problems)), None) => Err(refuse_policy(problems)),
        (Err(Ended::Input(problems)), None) => Err(refuse(problems)),
        (Ok(outcome), None) => Ok((outcome, false)),
    }
}

/// Tells Python how far the run is. `None`: go on; a value: stop, because of an error or because it was asked for.
fn report(py: Python<'_>, progress: Option<&Py<PyAny>>, now: &Progress) -> PyResult<Option<()>> {
    py.check_signals()?;
    let Some(progress) = progress else { return Ok(None) };
    let fields = PyDict::new(py);
    fields.set_item("stage", now.stage)?;
    fields.set_item("simulated_ns", now.simulated_ns)?;
    fields.set_item("commands", now.commands)?;
    fields.set_item("fraction", now.fraction)?;
    Ok((!progress.call1(py, (fields,))?.extract::<bool>(py)?).then_some(()))
}

fn convert(py: Python<'_>, outcome: session::Outcome, interrupted: bool) -> PyResult<Outcome> {
    Ok(Outcome {
        summary_json: format!("{:#}\n", outcome.summary),
        drive_toml: outcome.drive_toml,
        workload_toml: outcome.workload_toml,
        notes: outcome.notes,
        interrupted,
        setup_s: outcome.setup_s,
        latency: latency(py, &outcome.latency)?,
        timeline: timeline(py, &outcome.timeline, outcome.timeline_width_ns)?,
        commands: outcome.commands.map(|rows| commands(py, &rows)).transpose()?,
        spans: outcome.spans.map(|rows| spans(py, &rows)).transpose()?,
        history: outcome.history.map(|digest| (digest.entries, format!("{:016x}", digest.hash))),
    })
}

fn latency(py: Python<'_>, rows: &[(Op, u64, u64, u64)]) -> PyResult<Py<PyDict>> {
    let columns = Columns::new(py);
    columns.codes("op", rows.iter().map(|row| row.0 as u32), op_names())?;
    columns.u64("low_ns", rows.iter().map(|row| row.1))?;
    columns.u64("high_ns", rows.iter().map(|row| row.2))?;
    columns.u64("count", rows.iter().map(|row| row.3))?;
    Ok(columns.0.unbind())
}

fn timeline(py: Python<'_>, rows: &[(u64, TimelineRow)], width_ns: u64) -> PyResult<Py<PyDict>> {
    let columns = Columns::new(py);
    let add = |name: &str, number: fn(&TimelineRow) -> u64| columns.u64(name, rows.iter().map(|row| number(&row.1)));
    columns.u64("time_ns", rows.iter().map(|row| row.0))?;
    add("reads", |row| row.reads)?;
    add("writes", |row| row.writes)?;
    add("read_bytes", |row| row.read_bytes)?;
    add("write_bytes", |row| row.write_bytes)?;
    add("latency_max_ns", |row| row.latency_ns_max)?;
    add("units_programmed", |row| row.units_programmed)?;
    add("host_units", |row| row.host_units)?;
    add("free_blocks", |row| row.free_blocks)?;
    add("write_queue", |row| row.write_queue)?;
    // Little's law: the latencies of what was completed in a span, over the span.
    columns.f64("queue_depth", rows.iter().map(|row| row.1.latency_ns as f64 / width_ns as f64))?;
    Ok(columns.0.unbind())
}

fn commands(py: Python<'_>, rows: &[CommandRow]) -> PyResult<Py<PyDict>> {
    let columns = Columns::new(py);
    columns.codes("op", rows.iter().map(|row| row.op as u32), op_names())?;
    columns.u64("job", rows.iter().map(|row| u64::from(row.tag)))?;
    columns.u64("offset", rows.iter().map(|row| row.offset))?;
    columns.u64("length", rows.iter().map(|row| row.length))?;
    columns.u64("submitted_ns", rows.iter().map(|row| row.submitted.0))?;
    columns.u64("completed_ns", rows.iter().map(|row| row.completed.0))?;
    for &cause in Cause::ALL {
        columns.u64(&format!("{}_ns", cause.name()), rows.iter().map(|row| row.causes.get(cause).0))?;
    }
    Ok(columns.0.unbind())
}

fn spans(py: Python<'_>, rows: &[Span]) -> PyResult<Py<PyDict>> {
    let columns = Columns::new(py);
    columns.strings("track", rows.iter().map(|row| track(row.track)))?;
    columns.strings("name", rows.iter().map(|row| row.name.to_owned()))?;
    columns.strings("reason", rows.iter().map(|row| row.reason.clone()))?;
    columns.u64("begin_ns", rows.iter().map(|row| row.begin.0))?;
    columns.u64("end_ns", rows.iter().map(|row| row.end.0))?;
    Ok(columns.0.unbind())
}

fn track((is_channel, number): (bool, u32)) -> String {
    format!("{} {number}", if is_channel { "channel" } else { "die" })
}

fn op_names() -> Vec<String> {
    Op::ALL.iter().map(|op| op.name().to_owned()).collect()
}

fn unwritable(error: std::io::Error) -> Problems {
    Problems::one("--save", format!("the file cannot be written: {error}"))
}

fn unreadable(error: std::io::Error) -> Problems {
    Problems::one("--load", format!("the file cannot be read: {error}"))
}
