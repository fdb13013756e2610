//! Columns of a table, as Python takes them: a type and bytes.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::BTreeMap;

/// Columns of one table, by name.
pub struct Columns<'py>(pub Bound<'py, PyDict>);

impl<'py> Columns<'py> {
    /// No columns yet.
    pub fn new(py: Python<'py>) -> Columns<'py> {
        Columns(PyDict::new(py))
    }

    /// Adds a column of integers.
    pub fn u64(&self, name: &str, values: impl Iterator<Item = u64>) -> PyResult<()> {
        let bytes: Vec<u8> = values.flat_map(u64::to_le_bytes).collect();
        self.0.set_item(name, ("u64", PyBytes::new(self.0.py(), &bytes)))
    }

    /// Adds a column of doubles.
    pub fn f64(&self, name: &str, values: impl Iterator<Item = f64>) -> PyResult<()> {
        let bytes: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
        self.0.set_item(name, ("f64", PyBytes::new(self.0.py(), &bytes)))
    }

    /// Adds a column of codes, with the names that they stand for.
    pub fn codes(&self, name: &str, values: impl Iterator<Item = u32>, names: Vec<String>) -> PyResult<()> {
        let bytes: Vec<u8> = values.flat_map(u32::to_le_bytes).collect();
        self.0.set_item(name, ("u32", PyBytes::new(self.0.py(), &bytes), names))
    }

    /// Adds a column of strings that repeat, as codes in the order of first appearance.
    pub fn strings(&self, name: &str, values: impl Iterator<Item = String>) -> PyResult<()> {
        let mut known: BTreeMap<String, u32> = BTreeMap::new();
        let mut names = Vec::new();
        let codes: Vec<u32> = values
            .map(|value| {
                *known.entry(value).or_insert_with_key(|value| {
                    names.push(value.clone());
                    names.len() as u32 - 1
                })
            })
            .collect();
        self.codes(name, codes.into_iter(), names)
    }
}
