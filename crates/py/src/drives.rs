//! Drives: presets, policies, and the resolved form and facts of a description.

use crate::interpreter::without;
use drive::{Description, diagram as diagram_of, facts, mock_up, presets as known};
use ftl::policy;
use kit::{Bytes, Problems};
use pyo3::prelude::*;
use std::cell::RefCell;
use std::path::Path;

/// Returns the version of the engine and a hash of its sources.
#[pyfunction]
pub fn build() -> &'static str {
    drive::BUILD
}

/// Returns the name, title and text of every preset.
#[pyfunction]
pub fn presets() -> Vec<(&'static str, &'static str, &'static str)> {
    known::PRESETS.iter().map(|preset| (preset.name, preset.title(), preset.text)).collect()
}

/// Returns the name and summary of every mode policy.
#[pyfunction]
pub fn policies() -> Vec<(&'static str, &'static str)> {
    policy::PolicyConfig::summaries()
}

/// Returns the JSON Schema of a drive's description, or of a workload in TOML (`of`: `drive` or `workload`).
#[pyfunction]
pub fn schema(of: &str) -> String {
    let schema = if of == "workload" { workload::schema() } else { Description::editor_schema() };
    schema.to_string()
}

/// Returns the reference page of a description's fields (Markdown).
#[pyfunction]
pub fn reference() -> String {
    Description::reference()
}

/// Returns the declarations of the options of runs and lives, in groups, as JSON.
#[pyfunction]
pub fn options() -> String {
    serde_json::to_string(&drive::options::groups()).expect("plain values")
}

/// Returns the definitions of the names in results, as JSON: causes, reasons, keys, statistics of policies, columns.
#[pyfunction]
pub fn definitions() -> String {
    drive::definitions::all().to_string()
}

/// Returns the page of the names in results (Markdown).
#[pyfunction]
pub fn results_reference() -> String {
    drive::definitions::reference()
}

/// Returns what a policy exchanges with the engine, as JSON: names, types in Python and documentation.
#[pyfunction]
pub fn policy_contract() -> String {
    crate::policy::contract().to_string()
}

/// Returns a description with every field resolved (TOML). `sets` are `KEY=VALUE` overrides; files that the description
/// names are relative to the folder of `name`.
#[pyfunction]
pub fn check(py: Python<'_>, name: &str, text: &str, sets: Vec<String>) -> PyResult<String> {
    without(py, || read(name, text, &sets).map(|description| description.to_toml()))
}

/// Returns the facts that follow from a description, such as capacities and bounds, as JSON.
#[pyfunction]
pub fn describe(py: Python<'_>, name: &str, text: &str, sets: Vec<String>) -> PyResult<String> {
    without(py, || read(name, text, &sets).map(|description| facts(name, &description).to_string()))
}

/// Returns the diagram of a drive, as JSON: its parts from the host to the cells, and the flows between them.
#[pyfunction]
pub fn diagram(py: Python<'_>, name: &str, text: &str, sets: Vec<String>) -> PyResult<String> {
    let diagram = without(py, || read(name, text, &sets).map(|description| diagram_of(name, &description)))?;
    Ok(serde_json::to_string(&diagram).expect("plain values"))
}

/// Path of a field, its value on the whole drive and on the mock-up, and the reason for the change.
type Change = (String, String, String, String);

/// Returns the description of a drive (TOML) with the dies and planes of another one and about `to` of user capacity,
/// and what was changed. `base` is the name by which the description can refer to the other drive, and the file that it
/// is meant for; without it, or where a field would have to be removed, the description is complete.
#[pyfunction]
#[pyo3(signature = (name, text, sets, to, base))]
pub fn shrink(
    py: Python<'_>,
    name: &str,
    text: &str,
    sets: Vec<String>,
    to: &str,
    base: Option<(&str, &str)>,
) -> PyResult<(String, Vec<Change>)> {
    without(py, || {
        let size = to.parse::<Bytes>().map_err(|complaint| Problems::one("--to", complaint))?;
        let mock = mock_up(&read(name, text, &sets)?, size)?;
        let over = base.and_then(|(base, beside)| {
            let over = mock.over(base, &read(name, text, &[]).ok()?)?;
            let is_same = read(beside, &over, &[]).is_ok_and(|again| again == mock.description);
            is_same.then_some(over)
        });
        let changes = mock.changes.into_iter().map(|change| (change.field, change.from, change.to, change.why)).collect();
        Ok((over.unwrap_or_else(|| mock.description.to_toml()), changes))
    })
}

fn read(name: &str, text: &str, sets: &[String]) -> Result<Description, Problems> {
    Description::read_with(name, text, sets, &|path| named_file(name, path))
}

/// Returns the files that a description names and that can be read: its bases, and tables of any kind. Those before the
/// first problem, if it has one.
#[pyfunction]
pub fn files_of(name: &str, text: &str, sets: Vec<String>) -> Vec<String> {
    let found = RefCell::new(Vec::new());
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    let reading = |path: &str| {
        let text = named_file(name, path)?;
        found.borrow_mut().push(folder.join(path).display().to_string());
        Ok(text)
    };
    // Only the files are wanted here; the run that uses the description reports its errors.
    let _ = Description::read_with(name, text, &sets, &reading);
    found.into_inner()
}

/// Returns the content of a file that a description names ([`kit::capped::read_named`]). `path` is relative to the
/// folder of the description's own file, `description`.
pub fn named_file(description: &str, path: &str) -> Result<String, String> {
    let folder = Path::new(description).parent().unwrap_or(Path::new(""));
    std::fs::File::open(folder.join(path)).and_then(kit::capped::read_named).map_err(|error| error.to_string())
}
