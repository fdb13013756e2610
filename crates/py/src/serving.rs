//! Servers: a drive with contents as a network block device.

use crate::drives::named_file;
use crate::errors::{InputError, refuse_at};
use crate::interpreter::{released, signal_now};
use drive::embed::{Builder, EmbedError, EmbeddedDrive};
use kit::Nanos;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use serve::server::address;
use serve::{Clock, Ended, Options, serve};
use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

/// A drive and its starting state; a Python dictionary with these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Made {
    /// Name of the description in messages.
    pub name: String,
    /// Description (TOML).
    pub text: String,
    /// Overrides `KEY=VALUE`.
    pub sets: Vec<String>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Policy in place of the description's.
    pub policy: Option<String>,
    /// Starting state in place of the description's.
    pub precondition: Option<String>,
    /// Saved drive with contents to start from.
    pub load: Option<PathBuf>,
    /// Limit of the contents \[bytes\].
    pub limit: u64,
    /// Folder of a file for the contents; absent: they are in memory.
    pub contents_folder: Option<PathBuf>,
}

impl Made {
    /// Returns the builder of the drive, without its saved state.
    pub fn builder(&self) -> Builder {
        let builder = Builder::new(&self.name, &self.text).seed(self.seed).contents(self.limit).power_losses();
        let builder = self.sets.iter().fold(builder, |builder, set| builder.set(set));
        let builder = self.contents_folder.iter().fold(builder, |builder, folder| builder.contents_folder(folder));
        let builder = self.policy.iter().fold(builder, |builder, policy| builder.policy(policy));
        self.precondition.iter().fold(builder, |builder, precondition| builder.precondition(precondition))
    }

    /// Makes the drive in its starting state.
    pub fn drive(&self, builder: &Builder) -> Result<EmbeddedDrive, String> {
        let file = |path: &str| named_file(&self.name, path);
        let in_words = |error: EmbedError| error.text;
        let Some(path) = &self.load else { return builder.build_with(&file).map_err(in_words) };
        let shown = path.display().to_string();
        let from = File::open(path).map_err(|error| format!("{shown}: {error}"))?;
        builder.load(&shown, &mut BufReader::with_capacity(1 << 20, from), &file).map_err(in_words)
    }
}

/// Sockets, clock and files of a server; a Python dictionary with these keys.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Serving {
    /// Path of the socket.
    socket: PathBuf,
    /// Address of the loopback, or a port, at which the server listens, too.
    tcp: Option<String>,
    /// Clock: `simulated` or `dilated:N`.
    clock: String,
    /// Time from the reading of a request to its arrival.
    think: Option<String>,
    /// Requests for which the simulated clock waits.
    depth: Option<u64>,
    /// File of the record.
    record: Option<PathBuf>,
    /// File to which the drive and its contents are saved at the end.
    save: Option<PathBuf>,
}

impl Serving {
    fn clock(&self) -> PyResult<Clock> {
        let clock = Clock::read(&self.clock).map_err(|complaint| refuse_at("--clock", complaint))?;
        let Clock::Simulated { .. } = clock else {
            let other = [(self.think.is_some(), "--think"), (self.depth.is_some(), "--depth")];
            if let Some((_, option)) = other.iter().find(|(is_given, _)| *is_given) {
                return Err(refuse_at(option, "the clients' own time passes under a dilated clock: expected --clock simulated"));
            }
            return Ok(clock);
        };
        let think = self.think.as_deref().map_or(Ok(Nanos::ZERO), str::parse);
        let think = think.map_err(|complaint| refuse_at("--think", complaint))?;
        match self.depth.unwrap_or(1) {
            depth @ 1..=256 => Ok(Clock::Simulated { think, depth }),
            depth => Err(refuse_at("--depth", format!("{depth}: expected 1 to 256 requests"))),
        }
    }
}

/// The program around a server: it looks for signals, and passes remarks on.
struct Around {
    remark: Py<PyAny>,
    signal: Option<PyErr>,
}

impl serve::server::Host for Around {
    fn goes_on(&mut self) -> bool {
        self.signal = self.signal.take().or_else(signal_now);
        self.signal.is_none()
    }

    fn remark(&mut self, text: &str) {
        if let Err(error) = Python::attach(|py| self.remark.call1(py, (text,)).map(drop)) {
            self.signal.get_or_insert(error);
        }
    }
}

/// The end of a server.
#[pyclass(frozen, get_all)]
pub struct Served {
    /// The text of the summary.
    summary_json: String,
    /// True if Ctrl-C ended it.
    interrupted: bool,
    /// Notes for the user, one line each.
    notes: Vec<String>,
    /// Digest of the physical history (number of entries, hash), with a record.
    history: Option<(u64, String)>,
    /// Files that could not be written: the option and the message.
    unwritten: Vec<(&'static str, String)>,
}

/// Serves a drive until Ctrl-C, or a request for control, ends that. `remark` takes texts for people.
#[pyfunction]
#[pyo3(name = "serve")]
pub fn serve_drive(py: Python<'_>, made: Made, serving: Serving, remark: Py<PyAny>) -> PyResult<Served> {
    let clock = serving.clock()?;
    let tcp = serving.tcp.as_deref().map(address).transpose().map_err(|complaint| refuse_at("--tcp", complaint))?;
    let mut around = Around { remark, signal: None };
    let served = released(py, || {
        let mut builder = made.builder().host("clients");
        if serving.record.is_some() {
            builder = builder.history();
        }
        let drive = made.drive(&builder)?;
        if serving.save.is_some() {
            drive.can_be_saved().map_err(|error| error.text)?;
        }
        let notes = drive.notes();
        let create = |path: &PathBuf| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
        let record = serving.record.as_ref().map(create).transpose()?;
        let name = made.name.clone();
        let load = Box::new(move |saved: &str, from: &mut dyn Read| builder.load(saved, from, &|path| named_file(&name, path)));
        let options = Options { socket: serving.socket.clone(), tcp, clock, record, load };
        serve(drive, options, &mut around).map(|ended| (ended, notes))
    });
    let (ended, notes) = served.map_err(InputError::new_err)?;
    let Ended { summary, mut drive, was_interrupted, complaint, unrecorded } = ended;
    if let Some(signal) = around.signal.filter(|signal| !signal.is_instance_of::<PyKeyboardInterrupt>(py)) {
        return Err(signal);
    }
    let history = drive.history().map(|digest| (digest.entries, format!("{:016x}", digest.hash)));
    let mut unwritten: Vec<_> = unrecorded.map(|error| ("--record", error.to_string())).into_iter().collect();
    if let Some(complaint) = complaint {
        return Err(InputError::new_err(complaint));
    }
    if let Some(path) = &serving.save {
        let saved = released(py, || save(&mut drive, path));
        unwritten.extend(saved.err().map(|complaint| ("--save", complaint)));
    }
    Ok(Served { summary_json: summary.to_string(), interrupted: was_interrupted, notes, history, unwritten })
}

/// Saves a drive with its contents.
pub fn save(drive: &mut EmbeddedDrive, path: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut to = BufWriter::with_capacity(1 << 20, File::create(path).map_err(failed)?);
    drive.save(&mut to).map_err(|error| error.text)?;
    to.flush().map_err(failed)
}
