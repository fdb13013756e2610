//! Readers of the files that a run writes while it is in progress: timelines and physical histories.

use crate::columns::Columns;
use crate::interpreter::without;
use crate::traces::file;
use drive::export::history::{self, Difference, Text};
use drive::export::timeline::{SpanRead, TimelineReader};
use kit::Problems;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io::{BufReader, Read};

/// Result of a comparison of two histories: number of equal entries, and the first difference, if there is one: its
/// line number, equal lines before it, and lines of the first and of the second history from there on.
type Compared = (u64, Option<(u64, Vec<String>, Vec<String>, Vec<String>)>);

/// Largest number of spans of a timeline that is read into memory, where each takes about 200 bytes.
const SPANS_MAX: u64 = 10_000_000;

/// Reads the spans of a timeline file: columns `track`, `name`, `reason`, `begin_ns` and `end_ns`.
#[pyfunction]
pub fn read_timeline(py: Python<'_>, path: &str) -> PyResult<Py<PyDict>> {
    let spans = without(py, || {
        let read = || {
            let mut reader = TimelineReader::new(BufReader::with_capacity(1 << 18, opened(path)?), SPANS_MAX);
            std::iter::from_fn(|| reader.next_span().transpose()).collect::<std::io::Result<Vec<SpanRead>>>()
        };
        read().map_err(|error| Problems::one(path, error.to_string()))
    })?;
    let columns = Columns::new(py);
    columns.strings("track", spans.iter().map(|span| span.track.clone()))?;
    columns.strings("name", spans.iter().map(|span| span.name.clone()))?;
    columns.strings("reason", spans.iter().map(|span| span.reason.clone()))?;
    columns.u64("begin_ns", spans.iter().map(|span| span.begin_ns))?;
    columns.u64("end_ns", spans.iter().map(|span| span.end_ns))?;
    Ok(columns.0.unbind())
}

/// Compares two history files entry by entry. Returns the number of equal entries and the first difference, or `None`
/// if there is none: its line number, equal lines before it, and the lines of each file from there on.
#[pyfunction]
pub fn compare_histories(py: Python<'_>, first: &str, second: &str) -> PyResult<Compared> {
    let (entries, difference) = without(py, || {
        let open = |path| opened(path).map(BufReader::new).map_err(|error| Problems::one(path, error.to_string()));
        let (mut one, mut other) = (open(first)?, open(second)?);
        history::compare(Text { name: first, from: &mut one }, Text { name: second, from: &mut other })
    })?;
    Ok((entries, difference.map(|Difference { line, before, first, second }| (line, before, first, second))))
}

fn opened(path: &str) -> std::io::Result<Box<dyn Read + Send>> {
    Ok(workload::decompressed(&file(path))?.0)
}
