//! Traces: summary, analyses, conversion to another format, and fitting of a look-alike.

use crate::errors::refuse_at;
use crate::interpreter::{interruptible, within};
use kit::{Problem, Problems};
use pyo3::prelude::*;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Cursor, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use workload::{Input, Options, Surroundings, analysis, lookalike, trace};

/// Contents of standard input (`-`) and of pipes, by their names. A pipe can be read only once, and a trace is read
/// twice.
static PIPES: Mutex<BTreeMap<String, Arc<[u8]>>> = Mutex::new(BTreeMap::new());

/// Keeps the content of a pipe, which a workload of this name reads; `-` is standard input.
#[pyfunction]
pub fn keep_pipe(name: String, content: Vec<u8>) {
    PIPES.lock().expect("nobody panics while it is held").insert(name, content.into());
}

/// Surroundings of a job file: the environment, and the folder that it is in.
struct Beside {
    folder: PathBuf,
}

impl Surroundings for Beside {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn file(&self, name: &str) -> std::io::Result<String> {
        kit::capped::read_text(interruptible(&self.folder.join(name))?)
    }
}

/// Returns the workload in the file at `path`; `-` is the content of standard input.
pub fn file(path: &str) -> Input {
    let kept = PIPES.lock().expect("nobody panics while it is held").get(path).map(Arc::clone);
    if let Some(content) = kept.or_else(|| (path == "-").then(Arc::default)) {
        return Input {
            name: if path == "-" { "standard input".to_owned() } else { path.to_owned() },
            open: Arc::new(move || Ok(Box::new(Cursor::new(Arc::clone(&content))))),
            surroundings: Some(Arc::new(Beside { folder: PathBuf::new() })),
        };
    }
    let cpus = trace::blktrace::cpu_files(path, |file| std::path::Path::new(file).is_file());
    if cpus.len() > 1 {
        let open = move || {
            let single = |path: &String| workload::decompressed(&single_file(path)).map(|(reader, _)| reader);
            Ok(trace::blktrace::merged(cpus.iter().map(single).collect::<std::io::Result<Vec<_>>>()?))
        };
        return Input { name: path.to_owned(), open: Arc::new(open), surroundings: None };
    }
    single_file(path)
}

fn single_file(path: &str) -> Input {
    let owned = path.to_owned();
    let folder = Path::new(path).parent().map(PathBuf::from).unwrap_or_default();
    Input {
        name: path.to_owned(),
        open: Arc::new(move || interruptible(Path::new(&owned))),
        surroundings: Some(Arc::new(Beside { folder })),
    }
}

fn options(text: &str) -> PyResult<Options> {
    serde_json::from_str(text).map_err(|error| refuse_at("workload options", error))
}

/// Returns a summary of a trace as JSON. `max_memory`: the most that it may take \[bytes\]; absent: any.
#[pyfunction]
#[pyo3(signature = (path, options_json, max_memory=None))]
pub fn trace_info(py: Python<'_>, path: &str, options_json: &str, max_memory: Option<u64>) -> PyResult<String> {
    let options = options(options_json)?;
    let info = within(py, max_memory, || trace::info(&file(path), &options))?;
    Ok(json!(info).to_string())
}

/// Runs the analysis `what` on a trace. Question and answer are JSON. `max_memory`: as for `trace_info`.
#[pyfunction]
#[pyo3(signature = (what, path, options_json, question_json, max_memory=None))]
pub fn trace_analysis(
    py: Python<'_>,
    what: &str,
    path: &str,
    options_json: &str,
    question_json: &str,
    max_memory: Option<u64>,
) -> PyResult<String> {
    let options = options(options_json)?;
    let answer = within(py, max_memory, || analysis::ask(what, &file(path), &options, question_json))?;
    Ok(answer.to_string())
}

/// Writes a trace to `out_path` in another format. Returns the summary of the trace that was read, as JSON.
/// `max_memory`: as for `trace_info`.
#[pyfunction]
#[pyo3(signature = (path, format, out_path, options_json, max_memory=None))]
pub fn trace_convert(
    py: Python<'_>,
    path: &str,
    format: &str,
    out_path: &str,
    options_json: &str,
    max_memory: Option<u64>,
) -> PyResult<String> {
    let options = options(options_json)?;
    let refused = |error: std::io::Error| Problems::from(Problem::new(out_path, error.to_string()));
    let info = within(py, max_memory, || {
        let mut out = BufWriter::new(File::create(out_path).map_err(refused)?);
        let info = trace::convert(&file(path), &options, format, &mut out)?;
        out.flush().map_err(refused)?;
        Ok(info)
    })?;
    Ok(json!(info).to_string())
}

/// Fits a look-alike to a trace. Returns the look-alike as TOML, and as JSON the notes on the fit and the statistics of
/// trace and look-alike, measured in the same way. `max_memory`: as for `trace_info`.
#[pyfunction]
#[pyo3(signature = (path, options_json, max_memory=None))]
pub fn trace_fit(py: Python<'_>, path: &str, options_json: &str, max_memory: Option<u64>) -> PyResult<(String, String)> {
    let options = options(options_json)?;
    let input = file(path);
    let (text, notes, measured) = within(py, max_memory, || {
        let mut whole = trace::open(&input, u64::MAX, &options)?;
        let (text, fit) = lookalike::fit(&mut *whole.jobs[0].source, lookalike::FitInput { name: path.to_owned() })?;
        let mut original = trace::open(&input, u64::MAX, &options)?;
        let mut alike = lookalike::open(path, &text, u64::MAX, 1)?;
        let measured =
            lookalike::compare(&mut *original.jobs[0].source, &mut *alike.jobs[0].source, fit.description.fitted_requests)?;
        Ok((text, fit.notes, measured))
    })?;
    Ok((text, json!({ "notes": notes, "trace": measured.a, "look_alike": measured.b }).to_string()))
}
