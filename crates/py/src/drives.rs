//! Drives: presets, policies, and what is said of a description.

use crate::errors::refuse;
use drive::{Description, facts, presets as known};
use kit::Problems;
use pyo3::prelude::*;
use std::path::Path;

/// The version, and a hash of the engine's sources.
#[pyfunction]
pub fn build() -> &'static str {
    drive::BUILD
}

/// Name, title and text of every preset.
#[pyfunction]
pub fn presets() -> Vec<(&'static str, &'static str, &'static str)> {
    known::PRESETS.iter().map(|preset| (preset.name, preset.title(), preset.text)).collect()
}

/// Name and summary of every mode policy.
#[pyfunction]
pub fn policies() -> Vec<(&'static str, &'static str)> {
    ftl::policy::PolicyConfig::summaries()
}

/// The JSON Schema of a drive's description.
#[pyfunction]
pub fn schema() -> String {
    Description::schema().to_string()
}

/// The reference page of a description's fields (Markdown).
#[pyfunction]
pub fn reference() -> String {
    Description::reference()
}

/// A description with every field resolved (TOML).
#[pyfunction]
pub fn check(name: &str, text: &str, sets: Vec<String>) -> PyResult<String> {
    read(name, text, &sets).map(|description| description.to_toml()).map_err(refuse)
}

/// What follows from a description, as JSON.
#[pyfunction]
pub fn describe(name: &str, text: &str, sets: Vec<String>) -> PyResult<String> {
    read(name, text, &sets).map(|description| facts(name, &description).to_string()).map_err(refuse)
}

fn read(name: &str, text: &str, sets: &[String]) -> Result<Description, Problems> {
    Description::read_with(name, text, sets, &|path| named_file(name, path))
}

/// The text of a file that the description called `description` names: relative to its folder.
pub fn named_file(description: &str, path: &str) -> Result<String, String> {
    let folder = Path::new(description).parent().unwrap_or(Path::new(""));
    std::fs::read_to_string(folder.join(path)).map_err(|error| error.to_string())
}
