//! Names of modes, reasons and block states, created once as Python strings: comparing identical objects is faster in
//! Python than comparing texts.

use ftl::BlockState;
use ftl::policy::Facts;
use kit::{ModeId, Problem, Reason};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString};

/// Names of the modes in one table.
pub struct Table {
    /// Word for an entry in messages, such as `write mode`.
    what: &'static str,
    names: Vec<Py<PyString>>,
    texts: Vec<String>,
}

/// Names that a policy receives in calls and may use in answers.
pub struct Names {
    /// Write modes.
    pub write: Table,
    /// Erase modes.
    pub erase: Table,
    /// Read modes.
    pub read: Table,
    reasons: Vec<Py<PyString>>,
    states: Vec<Py<PyString>>,
}

const STATES: [&str; 6] = ["free", "open", "closed", "victim", "erasing", "retired"];

fn interned<'a>(py: Python<'_>, texts: impl IntoIterator<Item = &'a str>) -> Vec<Py<PyString>> {
    texts.into_iter().map(|text| PyString::intern(py, text).unbind()).collect()
}

impl Table {
    fn new(py: Python<'_>, what: &'static str, texts: &[String]) -> Table {
        Table { what, names: interned(py, texts.iter().map(String::as_str)), texts: texts.to_vec() }
    }

    /// Returns the name of a mode of the table.
    #[inline]
    pub fn name(&self, py: Python<'_>, mode: u8) -> Py<PyString> {
        self.names[usize::from(mode)].clone_ref(py)
    }

    /// Returns the mode that a name or a number in the answer to `call` stands for, or the problem with that answer.
    pub fn mode(&self, call: &str, answer: &Bound<'_, PyAny>) -> Result<ModeId, Problem> {
        let same = self.names.iter().position(|name| name.is(answer));
        if let Some(index) = same {
            return Ok(ModeId(index as u8));
        }
        if let Ok(text) = answer.cast::<PyString>() {
            let text = text.to_string();
            let index = self.texts.iter().position(|known| *known == text);
            let unknown = || Problem::unknown(call, self.what, &text, self.texts.iter().map(String::as_str));
            return index.map(|index| ModeId(index as u8)).ok_or_else(unknown);
        }
        let count = self.texts.len();
        let number = if answer.is_instance_of::<PyBool>() { None } else { answer.extract::<i64>().ok() };
        if let Some(number) = number {
            let index = usize::try_from(number).ok().filter(|&index| index < count);
            let list = self.texts.join(", ");
            let out = || Problem::new(call, format!("{} {number}: expected 0..={} ({list})", self.what, count - 1));
            return index.map(|index| ModeId(index as u8)).ok_or_else(out);
        }
        let list = self.texts.join(", ");
        Err(Problem::new(call, format!("{}: expected the name or the number of a {} ({list})", shown(answer), self.what)))
    }
}

impl Names {
    /// Creates the names for a drive.
    pub fn new(py: Python<'_>, facts: &Facts) -> Names {
        Names {
            write: Table::new(py, "write mode", &facts.write_modes),
            erase: Table::new(py, "erase mode", &facts.erase_modes),
            read: Table::new(py, "read mode", &facts.read_modes),
            reasons: interned(py, Reason::ALL.iter().map(|reason| reason.name())),
            states: interned(py, STATES),
        }
    }

    /// Returns the name of a reason, by its number.
    #[inline]
    pub fn reason(&self, py: Python<'_>, reason: usize) -> Py<PyString> {
        self.reasons[reason].clone_ref(py)
    }

    /// Returns the name of a block state.
    pub fn state(&self, py: Python<'_>, state: BlockState) -> Py<PyString> {
        self.states[state as usize].clone_ref(py)
    }
}

/// Returns the `repr` of a Python value for a message, cut after 60 characters.
pub fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "a value".to_owned(), |text| text.to_string());
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
