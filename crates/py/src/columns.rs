//! Columns of a table in the form in which Python receives them: a type and the values as little-endian bytes.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::collections::BTreeMap;

/// Columns of one table, by name.
pub struct Columns<'py>(pub Bound<'py, PyDict>);

impl<'py> Columns<'py> {
    /// Creates a table without columns.
    pub fn new(py: Python<'py>) -> Columns<'py> {
        Columns(PyDict::new(py))
    }

    /// Adds a column of unsigned 64-bit integers.
    pub fn u64(&self, name: &str, values: impl Iterator<Item = u64>) -> PyResult<()> {
        let bytes: Vec<u8> = values.flat_map(u64::to_le_bytes).collect();
        self.0.set_item(name, ("u64", PyBytes::new(self.0.py(), &bytes)))
    }

    /// Adds a column of unsigned 64-bit integers of which some may be unknown: the values, and one byte for each, 1
    /// if it is known.
    pub fn some_u64(&self, name: &str, values: impl Iterator<Item = Option<u64>> + Clone) -> PyResult<()> {
        let bytes: Vec<u8> = values.clone().flat_map(|value| value.unwrap_or(0).to_le_bytes()).collect();
        let known: Vec<u8> = values.map(|value| u8::from(value.is_some())).collect();
        let (bytes, known) = (PyBytes::new(self.0.py(), &bytes), PyBytes::new(self.0.py(), &known));
        self.0.set_item(name, ("some_u64", bytes, known))
    }

    /// Adds a column of unsigned 64-bit integers of which none is known: one byte for each.
    pub fn unknown(&self, name: &str, rows: usize) -> PyResult<()> {
        self.0.set_item(name, ("null", PyBytes::new(self.0.py(), &vec![0; rows])))
    }

    /// Adds a column of doubles of which none is known: one byte for each.
    pub fn unknown_f64(&self, name: &str, rows: usize) -> PyResult<()> {
        self.0.set_item(name, ("null_f64", PyBytes::new(self.0.py(), &vec![0; rows])))
    }

    /// Adds a column of doubles.
    pub fn f64(&self, name: &str, values: impl Iterator<Item = f64>) -> PyResult<()> {
        let bytes: Vec<u8> = values.flat_map(f64::to_le_bytes).collect();
        self.0.set_item(name, ("f64", PyBytes::new(self.0.py(), &bytes)))
    }

    /// Adds a column of truth values, one byte each.
    pub fn bool(&self, name: &str, values: impl Iterator<Item = bool>) -> PyResult<()> {
        let bytes: Vec<u8> = values.map(u8::from).collect();
        self.0.set_item(name, ("bool", PyBytes::new(self.0.py(), &bytes)))
    }

    /// Adds a column of codes: each value is an index into `names`.
    pub fn codes(&self, name: &str, values: impl Iterator<Item = u32>, names: Vec<String>) -> PyResult<()> {
        let bytes: Vec<u8> = values.flat_map(u32::to_le_bytes).collect();
        self.0.set_item(name, ("u32", PyBytes::new(self.0.py(), &bytes), names))
    }

    /// Adds a column of repeating strings, stored as codes. Codes are numbered in the order in which the strings first
    /// appear.
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
