//! Runs: requested in JSON, monitored by a Python function, and returned as texts and columns.

use crate::columns::Columns;
use crate::drives::named_file;
use crate::errors::{raised_in_policy, refuse, refuse_at, refuse_policy};
use crate::interpreter::{listen, released, take_signal};
use crate::memory::{Meter, limited};
use crate::policy::{self, Raised};
use crate::sessions::{Session, shared};
use crate::traces::file;
use drive::Span;
use drive::export::CompressedWriter;
use drive::lifetime::LifetimeRequest;
use drive::session::{self, CustomPolicy, Ended, Files, Progress, RunRequest};
use drive::streams::{Outputs, WriteFailure};
use drive::summary::View;
use drive::{CommandRow, LatencyRow, PowerRow, TimelineRow};
use kit::{Cause, Op, Problems, Status};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::cell::Cell;
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use workload::Input;

/// Results of a run.
#[pyclass(frozen, get_all)]
pub struct Outcome {
    /// The text of `summary.json`.
    summary_json: String,
    /// Description of the drive with every field resolved (TOML).
    drive_toml: String,
    /// Workload with every option resolved (TOML).
    workload_toml: String,
    /// Text of a fio job file with its variables and includes in their places, if it has any.
    standalone: Option<String>,
    /// Notes for the user, one line each.
    notes: Vec<String>,
    /// True if Ctrl-C ended the run.
    interrupted: bool,
    /// Wall time of the set-up, in seconds.
    setup_s: f64,
    /// Latency histogram, as columns.
    latency: Py<PyDict>,
    /// Latency histogram of each stream, as columns; `None` for a workload of one stream.
    stream_latency: Option<Py<PyDict>>,
    /// Totals over time, one row for each interval, as columns.
    timeline: Py<PyDict>,
    /// Power over time, as columns; `None` if power is not computed.
    power: Option<Py<PyDict>>,
    /// Files that could not be written: the option, the error number of the operating system, and its message.
    unwritten: Vec<NotWritten>,
    /// Digest of the physical history (number of entries, hash), or `None` if it was not requested.
    history: Option<(u64, String)>,
}

/// Files that a run reads and writes; a Python dictionary with these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Paths {
    /// Path of the workload.
    workload: Option<String>,
    /// Text of the workload, if it is not a file.
    text: Option<String>,
    /// Name of the text in messages and results; absent: `text`.
    #[pyo3(default)]
    text_name: Option<String>,
    /// Path of a saved drive to start from.
    load: Option<String>,
    /// Path to save the drive to.
    save: Option<String>,
    /// Path to write the timeline to, and the final name of the file, which decides on its compression.
    #[pyo3(default)]
    timeline: Option<(String, String)>,
    /// Path to write the physical history to, and the final name of the file, which decides on its compression.
    #[pyo3(default)]
    history: Option<(String, String)>,
    /// Path to write the firmware trace to, and the final name of the file.
    #[pyo3(default)]
    record_firmware: Option<(String, String)>,
}

/// Python functions that are called during a run; a Python dictionary with these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Hooks {
    /// Receives the progress, and returns true if the run is to go on.
    progress: Option<Py<PyAny>>,
    /// Is asked for each sample of the drive at work, and receives it.
    #[pyo3(default)]
    live: Option<Py<PyAny>>,
    /// Receives every measured command, as columns.
    commands: Option<Py<PyAny>>,
    /// Receives the activities of channels and dies, as columns.
    spans: Option<Py<PyAny>>,
}

/// Results of a lifetime run.
#[pyclass(frozen, get_all)]
pub struct LifetimeOutcome {
    /// The text of `lifetime.json`.
    report_json: String,
    /// Description of the drive with every field resolved (TOML).
    drive_toml: String,
    /// Workload with every option resolved (TOML).
    workload_toml: String,
    /// Notes for the user, one line each.
    notes: Vec<String>,
    /// True if Ctrl-C ended the run.
    interrupted: bool,
    /// Wall time of the set-up, in seconds.
    setup_s: f64,
    /// Files that could not be written, as in `Outcome`.
    unwritten: Vec<NotWritten>,
}

/// A file that could not be written: the option, the error number of the operating system, and its message.
type NotWritten = (&'static str, Option<i32>, String);

fn not_written(all: impl IntoIterator<Item = WriteFailure>) -> Vec<NotWritten> {
    all.into_iter().map(|one| (one.option, one.error.raw_os_error(), one.error.to_string())).collect()
}

/// Runs a workload on a drive, under the policy of the request or description, or under `guest`: the name of a Python
/// policy, and the object whose `begin` the engine calls.
#[pyfunction]
#[pyo3(signature = (request_json, paths, hooks, guest=None, session=None))]
pub fn run(
    py: Python<'_>,
    request_json: &str,
    paths: Paths,
    hooks: Hooks,
    guest: Option<(String, Py<PyAny>)>,
    session: Option<Py<Session>>,
) -> PyResult<Outcome> {
    let request: RunRequest = serde_json::from_str(request_json).map_err(|error| refuse_at("request", error))?;
    let Hooks { progress, live, commands, spans } = hooks;
    let watch = ProgressMeter { progress, live, raised: Raised::default(), held: guest.is_some(), most: request.max_memory };
    let (outcome, interrupted) = watched(py, &request.drive.name, &paths, &watch, |input, files, on_progress| {
        let guest = guest.as_ref().map(|guest| custom(guest, &watch.raised));
        let (mut timeline, mut history) = (Written::new(&paths.timeline), Written::new(&paths.history));
        let mut firmware = Written::new(&paths.record_firmware);
        // Rows that were not taken; `None`: all were.
        let refused = Cell::new(None);
        let refuse_rows = |is_taken: bool, count: usize| {
            if !is_taken {
                refused.set(Some(refused.get().unwrap_or(0) + count));
            }
        };
        let mut take_commands = |rows: &[CommandRow], streams: &[String]| {
            let is_taken = hand_over(commands.as_ref(), &watch.raised, |py| command_columns(py, rows, streams));
            refuse_rows(is_taken, rows.len());
        };
        let mut take_spans = |rows: &[Span]| {
            let is_taken = hand_over(spans.as_ref(), &watch.raised, |py| span_columns(py, rows));
            refuse_rows(is_taken, rows.len());
        };
        let outputs = Outputs {
            commands: commands.is_some().then_some(&mut take_commands),
            spans: spans.is_some().then_some(&mut take_spans),
            timeline: timeline.as_mut().map(|file| file as &mut dyn Write),
            history: history.as_mut().map(|file| file as &mut dyn Write),
            firmware: firmware.as_mut().map(|file| file as &mut dyn Write),
        };
        let Files { load, save, named, .. } = files;
        // Trait objects that live as long as the outputs: `Files` has one lifetime.
        let files = Files {
            load: load.map(|(name, file)| (name, file as Box<dyn Read>)),
            save: save.map(|file| file as &mut dyn Write),
            named,
            outputs,
        };
        let mut outcome = shared(session.as_ref()).run(&request, input, files, guest, on_progress)?;
        for (option, file) in [("--timeline", timeline), ("--history", history), ("--record-firmware", firmware)] {
            let ended = file.map_or(Ok(()), Written::finish);
            outcome.unwritten.extend(ended.err().map(|error| WriteFailure { option, error }));
        }
        // Rows that were handed over in vain are missing in an output of the run, however far it went.
        if let Some(count) = refused.get() {
            outcome.summary["status"] = "partial".into();
            outcome.notes.push(format!("the function that receives rows was interrupted: {count} rows are missing"));
        }
        Ok(outcome)
    })?;
    convert(py, outcome, interrupted.is_some())
}

/// Returns a hash of everything that decides the starting state of a run, without running it: runs with equal hashes
/// begin with the same state. `None`: the drive is loaded from a file, or its translation layer has no map. `guest`: as
/// for `run`.
#[pyfunction]
#[pyo3(signature = (request_json, paths, guest=None))]
pub fn starting_state_key(
    py: Python<'_>,
    request_json: &str,
    paths: Paths,
    guest: Option<(String, Py<PyAny>)>,
) -> PyResult<Option<String>> {
    let request: RunRequest = serde_json::from_str(request_json).map_err(|error| refuse_at("request", error))?;
    let watch = ProgressMeter { progress: None, live: None, raised: Raised::default(), held: guest.is_some(), most: None };
    let (key, interrupted) = watched(py, &request.drive.name, &paths, &watch, |_, files, _| {
        session::starting_state_key(&request, &files, guest.as_ref().map(|guest| custom(guest, &watch.raised)))
    })?;
    // A key says nothing of an interruption, which would be lost.
    interrupted.map_or(Ok(key), Err)
}

/// Returns the policy of a guest: its name, and the object whose `begin` the engine calls.
fn custom<'a>((name, python): &'a (String, Py<PyAny>), raised: &'a Raised) -> CustomPolicy<'a> {
    CustomPolicy { name: name.clone(), make: Box::new(move |facts, rng| policy::make(python, facts, rng, raised)) }
}

/// A file that a run writes: its path and its final name. It is opened when the first byte is written, so that a
/// failure to open it is reported as a failure to write it.
enum Written<'a> {
    Named(&'a str, &'a str),
    Open(CompressedWriter<BufWriter<File>>),
    Failed,
}

impl<'a> Written<'a> {
    /// Creates the file from its path and its final name, if it is requested.
    fn new(asked: &'a Option<(String, String)>) -> Option<Written<'a>> {
        asked.as_ref().map(|(path, name)| Written::Named(path, name))
    }

    fn open(&mut self) -> std::io::Result<&mut CompressedWriter<BufWriter<File>>> {
        if let Written::Named(path, name) = *self {
            *self = Written::Failed;
            *self = Written::Open(CompressedWriter::new(name, BufWriter::new(File::create(path)?))?);
        }
        match self {
            Written::Open(file) => Ok(file),
            _ => Err(std::io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn finish(self) -> std::io::Result<()> {
        match self {
            Written::Open(file) => file.finish(),
            Written::Named(..) | Written::Failed => Ok(()),
        }
    }
}

impl Write for Written<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.open()?.write(bytes);
        if written.is_err() {
            *self = Written::Failed;
        }
        written
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.open()?.flush()
    }
}

/// Passes rows to a Python function; returns false if it did not take them. After an error the function is not called
/// again, and the run ends. When Ctrl-C interrupts the run, the function still receives all rows up to the end.
///
/// The function is called in a thread of its own: Python handles signals in the main thread only, and there the
/// exception of a signal could leave a batch half written.
fn hand_over(
    taker: Option<&Py<PyAny>>,
    raised: &Raised,
    columns: impl FnOnce(Python<'_>) -> PyResult<Py<PyDict>> + Send,
) -> bool {
    let Some(taker) = taker else { return true };
    let take = || {
        Python::attach(|py| {
            let is_error = |error: &PyErr| !error.is_instance_of::<PyKeyboardInterrupt>(py);
            if raised.lock().expect("nobody panics while it is held").as_ref().is_some_and(is_error) {
                return false;
            }
            let taken = columns(py).and_then(|columns| taker.call1(py, (columns,)).map(drop));
            let is_taken = taken.is_ok();
            if let Err(error) = taken {
                raised.lock().expect("nobody panics while it is held").replace(error);
            }
            is_taken
        })
    };
    Python::attach(|py| released(py, || std::thread::scope(|scope| scope.spawn(take).join())))
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Repeats a workload on a drive until the drive is worn out.
#[pyfunction]
#[pyo3(signature = (request_json, paths, progress, session=None))]
pub fn lifetime(
    py: Python<'_>,
    request_json: &str,
    paths: Paths,
    progress: Option<Py<PyAny>>,
    session: Option<Py<Session>>,
) -> PyResult<LifetimeOutcome> {
    let request: LifetimeRequest = serde_json::from_str(request_json).map_err(|error| refuse_at("request", error))?;
    let watch = ProgressMeter { progress, live: None, raised: Raised::default(), held: false, most: request.max_memory };
    let (outcome, interrupted) = watched(py, &request.drive.name, &paths, &watch, |input, files, on_progress| {
        drive::lifetime::lifetime(&shared(session.as_ref()), &request, input, files, on_progress).map_err(Ended::from)
    })?;
    Ok(LifetimeOutcome {
        report_json: format!("{:#}\n", outcome.report),
        drive_toml: outcome.drive_toml,
        workload_toml: outcome.workload_toml,
        notes: outcome.notes,
        interrupted: interrupted.is_some(),
        setup_s: outcome.setup_s,
        unwritten: not_written(outcome.unwritten),
    })
}

/// Callback that receives the progress from time to time and returns true if the run is to go on.
type OnProgress<'a> = &'a mut dyn FnMut(&Progress<'_>) -> bool;

/// Observer of a run: progress callback, and exceptions raised by Python code during the run.
struct ProgressMeter {
    /// Python function that receives the progress.
    progress: Option<Py<PyAny>>,
    /// Python function that receives samples of the drive.
    live: Option<Py<PyAny>>,
    /// Exception raised by a policy in Python, or by a function that receives rows.
    raised: Raised,
    /// True if the interpreter is not released during the run: a policy in Python is called so often that acquiring the
    /// interpreter for each call would cost too much.
    held: bool,
    /// Most memory that the run may take \[bytes\]; `None`: any.
    most: Option<u64>,
}

/// Does `work` on the files in `paths`, with progress reported to Python. Returns the result of `work`, and the
/// exception of Ctrl-C if that interrupted it.
fn watched<T: Send>(
    py: Python<'_>,
    drive: &str,
    paths: &Paths,
    watch: &ProgressMeter,
    work: impl FnOnce(&Input, Files<'_>, OnProgress<'_>) -> Result<T, Ended> + Send,
) -> PyResult<(T, Option<PyErr>)> {
    let input = match &paths.workload {
        Some(path) => file(path),
        None => Input::text(paths.text_name.as_deref().unwrap_or("text"), paths.text.clone().unwrap_or_default()),
    };
    let mut raised = None;
    let meter = Meter::new(watch.most);
    let run = || {
        // From the first command on, a signal ends the run with results: the progress looks for it, not the reader.
        listen(true);
        let mut on_progress = |now: &Progress| {
            listen(["foresee", "precondition"].contains(&now.stage));
            // Remember the answer: the callback is still called while the run ends.
            if raised.is_none() {
                raised = Python::attach(|py| watch.report(py, now)).transpose();
                raised = raised.take().or_else(|| meter.as_ref().and_then(Meter::complaint).map(Err));
            }
            raised.is_none() && !policy::has_raised(&watch.raised)
        };
        // With an empty name the file is not compressed, whatever its path ends in.
        let mut save = paths.save.as_ref().map(|path| Written::Named(path, ""));
        let load = paths.load.as_ref().map(|path| File::open(path).map(BufReader::new)).transpose().map_err(unreadable)?;
        let named = |path: &str| named_file(drive, path);
        let files = Files {
            load: paths.load.clone().zip(load).map(|(path, file)| (path, Box::new(file) as Box<dyn Read>)),
            save: save.as_mut().map(|file| file as &mut dyn Write),
            named: Some(&named),
            ..Files::default()
        };
        work(&input, files, &mut on_progress)
    };
    let limited = || limited(watch.most, run);
    let ended = if watch.held { limited() } else { released(py, limited) };
    listen(false);
    let raised = raised.and_then(Result::err).or_else(take_signal);
    // A signal that arrived after the last call of `on_progress`.
    let late = if ended.is_ok() { py.check_signals().err() } else { None };
    settled(py, ended, raised.or_else(|| policy::take(&watch.raised)).or(late))
}

/// Returns the result of a run, and the exception of Ctrl-C if that interrupted it; or the exception for which there is
/// no result.
fn settled<T>(py: Python<'_>, ended: Result<T, Ended>, raised: Option<PyErr>) -> PyResult<(T, Option<PyErr>)> {
    let is_interrupt = |error: &PyErr| error.is_instance_of::<PyKeyboardInterrupt>(py);
    match (ended, raised) {
        (Ok(outcome), Some(error)) if is_interrupt(&error) => Ok((outcome, Some(error))),
        (Err(Ended::Policy(_)), Some(error)) if !is_interrupt(&error) => Err(raised_in_policy(py, error)),
        (_, Some(error)) => Err(error),
        (Err(Ended::Policy(problems)), None) => Err(refuse_policy(problems)),
        (Err(Ended::Input(problems)), None) => Err(refuse(problems)),
        (Ok(outcome), None) => Ok((outcome, None)),
    }
}

impl ProgressMeter {
    /// Reports the progress to Python. `None`: go on; `Some`: stop as the callback requests. An exception also stops
    /// the run.
    fn report(&self, py: Python<'_>, now: &Progress<'_>) -> PyResult<Option<()>> {
        py.check_signals()?;
        if let (Some(live), Some(drive)) = (&self.live, now.drive) {
            show(py, live, drive, now)?;
        }
        // Nothing is left to be stopped at the end.
        let Some(progress) = self.progress.as_ref().filter(|_| now.stage != "end") else { return Ok(None) };
        let fields = PyDict::new(py);
        fields.set_item("stage", now.stage)?;
        fields.set_item("simulated_ns", now.simulated_ns)?;
        fields.set_item("commands", now.commands)?;
        fields.set_item("fraction", now.fraction)?;
        Ok((!progress.call1(py, (fields,))?.extract::<bool>(py)?).then_some(()))
    }
}

/// Asks a Python function whether it wants a sample of a drive (`None`: it does not; true: with the map of the wear),
/// and passes it on as JSON.
fn show(py: Python<'_>, live: &Py<PyAny>, drive: View<'_>, now: &Progress<'_>) -> PyResult<()> {
    let Some(wear) = live.call1(py, (now.stage, now.fraction))?.extract::<Option<bool>>(py)? else { return Ok(()) };
    live.call1(py, (now.stage, now.fraction, drive.sample(wear).to_string())).map(drop)
}

fn convert(py: Python<'_>, outcome: session::Outcome, interrupted: bool) -> PyResult<Outcome> {
    Ok(Outcome {
        summary_json: format!("{:#}\n", outcome.summary),
        drive_toml: outcome.drive_toml,
        workload_toml: outcome.workload_toml,
        standalone: outcome.standalone,
        notes: outcome.notes,
        interrupted,
        setup_s: outcome.setup_s,
        latency: latency(py, &outcome.latency)?,
        stream_latency: stream_latency(py, &outcome.stream_latency)?,
        timeline: timeline(py, &outcome.timeline, outcome.timeline_width_ns)?,
        power: outcome.power.map(|rows| power(py, &rows)).transpose()?,
        unwritten: not_written(outcome.unwritten),
        history: outcome.history.map(|digest| (digest.entries, format!("{:016x}", digest.hash))),
    })
}

fn latency(py: Python<'_>, rows: &[LatencyRow]) -> PyResult<Py<PyDict>> {
    let columns = Columns::new(py);
    add_latency(&columns, || rows.iter())?;
    Ok(columns.0.unbind())
}

fn stream_latency(py: Python<'_>, streams: &[(String, Vec<LatencyRow>)]) -> PyResult<Option<Py<PyDict>>> {
    if streams.is_empty() {
        return Ok(None);
    }
    let columns = Columns::new(py);
    let numbers = (0u32..).zip(streams).flat_map(|(number, (_, rows))| rows.iter().map(move |_| number));
    columns.codes("stream", numbers, streams.iter().map(|(name, _)| name.clone()).collect())?;
    add_latency(&columns, || streams.iter().flat_map(|(_, rows)| rows))?;
    Ok(Some(columns.0.unbind()))
}

/// Adds the columns of a latency histogram.
fn add_latency<'a, Rows: Iterator<Item = &'a LatencyRow>>(columns: &Columns<'_>, rows: impl Fn() -> Rows) -> PyResult<()> {
    columns.codes("op", rows().map(|row| row.0 as u32), op_names())?;
    columns.u64("low_ns", rows().map(|row| row.1.low))?;
    columns.u64("high_ns", rows().map(|row| row.1.high))?;
    columns.u64("count", rows().map(|row| row.1.count))
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
    if rows.iter().any(|(_, row)| row.free_blocks.is_some()) || rows.is_empty() {
        add("free_blocks", |row| row.free_blocks.unwrap_or(0))?;
    } else {
        columns.unknown("free_blocks", rows.len())?;
    }
    add("write_queue", |row| row.write_queue)?;
    // Little's law: sum of the latencies of the commands completed in an interval, divided by its width.
    columns.f64("queue_depth", rows.iter().map(|row| row.1.latency_ns as f64 / width_ns as f64))?;
    Ok(columns.0.unbind())
}

fn power(py: Python<'_>, rows: &[PowerRow]) -> PyResult<Py<PyDict>> {
    let columns = Columns::new(py);
    columns.u64("time_ns", rows.iter().map(|row| row.0))?;
    columns.f64("mean_w", rows.iter().map(|row| row.1))?;
    columns.f64("peak_w", rows.iter().map(|row| row.2))?;
    if rows.iter().any(|row| row.3.is_none()) || rows.is_empty() {
        columns.unknown_f64("temperature_c", rows.len())?;
    } else {
        columns.f64("temperature_c", rows.iter().filter_map(|row| row.3))?;
    }
    Ok(columns.0.unbind())
}

fn command_columns(py: Python<'_>, rows: &[CommandRow], streams: &[String]) -> PyResult<Py<PyDict>> {
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
    columns.u64("queue", rows.iter().map(|row| u64::from(row.queue)))?;
    columns.u64("stream", rows.iter().map(|row| u64::from(row.stream)))?;
    columns.u64("flags", rows.iter().map(|row| u64::from(row.flags.bits())))?;
    columns.bool("media_error", rows.iter().map(CommandRow::media_error))?;
    columns.codes("status", rows.iter().map(|row| row.status as u32), status_names())?;
    columns.some_u64("request", rows.iter().map(|row| row.origin.request))?;
    columns.some_u64("trace_offset", rows.iter().map(|row| row.origin.trace_offset))?;
    columns.codes("stream_name", rows.iter().map(|row| u32::from(row.stream)), streams.to_vec())?;
    Ok(columns.0.unbind())
}

fn span_columns(py: Python<'_>, rows: &[Span]) -> PyResult<Py<PyDict>> {
    let columns = Columns::new(py);
    columns.strings("track", rows.iter().map(|row| row.track_name()))?;
    columns.strings("name", rows.iter().map(|row| row.name.to_owned()))?;
    columns.strings("reason", rows.iter().map(Span::reason_name))?;
    columns.u64("begin_ns", rows.iter().map(|row| row.begin.0))?;
    columns.u64("end_ns", rows.iter().map(|row| row.end.0))?;
    Ok(columns.0.unbind())
}

fn op_names() -> Vec<String> {
    Op::ALL.iter().map(|op| op.name().to_owned()).collect()
}

fn status_names() -> Vec<String> {
    Status::ALL.iter().map(|status| status.name().to_owned()).collect()
}

fn unreadable(error: std::io::Error) -> Problems {
    Problems::one("--load", format!("the file cannot be read: {error}"))
}
