//! Files that runs wrote while they went on, read again.

use crate::columns::Columns;
use crate::errors::{refuse, refuse_at};
use crate::interpreter::released;
use crate::traces::file;
use drive::export::history::{self, Difference, Text};
use drive::export::timeline::{SpanRead, TimelineReader};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::io::{BufReader, Read};

/// Equal entries, and the first difference between the histories: the line, equal lines before it, those of each from there on.
type Compared = (u64, Option<(u64, Vec<String>, Vec<String>, Vec<String>)>);

/// The spans of a timeline.
#[pyfunction]
pub fn read_timeline(py: Python<'_>, path: &str) -> PyResult<Py<PyDict>> {
    let spans = released(py, || {
        let mut reader = TimelineReader::new(BufReader::with_capacity(1 << 18, opened(path)?));
        std::iter::from_fn(|| reader.next_span().transpose()).collect::<std::io::Result<Vec<SpanRead>>>()
    })
    .map_err(|error| refuse_at(path, error))?;
    let columns = Columns::new(py);
    columns.strings("track", spans.iter().map(|span| span.track.clone()))?;
    columns.strings("name", spans.iter().map(|span| span.name.clone()))?;
    columns.strings("reason", spans.iter().map(|span| span.reason.clone()))?;
    columns.u64("begin_ns", spans.iter().map(|span| span.begin_ns))?;
    columns.u64("end_ns", spans.iter().map(|span| span.end_ns))?;
    Ok(columns.0.unbind())
}

/// Compares two histories entry by entry.
#[pyfunction]
pub fn compare_histories(py: Python<'_>, first: &str, second: &str) -> PyResult<Compared> {
    let open = |path| opened(path).map(BufReader::new).map_err(|error| refuse_at(path, error));
    let (mut one, mut other) = (open(first)?, open(second)?);
    let compared =
        released(py, || history::compare(Text { name: first, from: &mut one }, Text { name: second, from: &mut other }));
    let (entries, difference) = compared.map_err(refuse)?;
    Ok((entries, difference.map(|Difference { line, before, first, second }| (line, before, first, second))))
}

fn opened(path: &str) -> std::io::Result<Box<dyn Read + Send>> {
    Ok(workload::decompressed(&file(path))?.0)
}
