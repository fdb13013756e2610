//! Inputs of workloads: files or texts, told apart by their first lines.

use std::io::Read;
use std::sync::Arc;

/// Function that returns a new reader of an input, positioned at its first byte.
pub type Opener = Arc<dyn Fn() -> std::io::Result<Box<dyn Read + Send>> + Send + Sync>;

/// Input of a workload: a name for messages and a way to open it again (traces are read twice: scanned, then replayed).
#[derive(Clone)]
pub struct Input {
    /// Name used in messages: a file's path as the user gave it.
    pub name: String,
    /// Function that opens the input at its first byte.
    pub open: Opener,
    /// Surroundings that the input may refer to; `None`: none.
    pub surroundings: Option<Arc<dyn Surroundings>>,
}

/// Things outside a job file that it may refer to.
pub trait Surroundings: Send + Sync {
    /// Returns the value of an environment variable.
    fn variable(&self, name: &str) -> Option<String>;

    /// Returns the text of a file that lies beside the input.
    fn file(&self, name: &str) -> std::io::Result<String>;
}

impl Input {
    /// Returns an input held in memory.
    pub fn text(name: impl Into<String>, text: impl Into<Vec<u8>>) -> Input {
        let bytes: Arc<[u8]> = text.into().into();
        Input {
            name: name.into(),
            open: Arc::new(move || Ok(Box::new(std::io::Cursor::new(Arc::clone(&bytes))))),
            surroundings: None,
        }
    }
}

/// Kind of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A fio job file: a `[section]` comes before any `kind` key.
    Fio,
    /// A workload TOML of this `kind`; empty if no kind was found.
    Model(String),
    /// An XML document: a profile of diskspd, or scenarios of MQSim.
    Xml,
    /// Anything else.
    Trace,
}

/// Names the kind of an input with these first lines; `None` if it is a trace.
pub(crate) fn other_than_trace(lines: &[Vec<u8>]) -> Option<&'static str> {
    match kind(lines) {
        Kind::Fio => Some("a fio job file"),
        Kind::Model(_) => Some("a workload description"),
        Kind::Xml => Some("an XML document"),
        Kind::Trace => None,
    }
}

/// Determines the kind of an input from its first lines. No trace format has lines like `[name]` or `kind = "..."`.
pub(crate) fn kind(lines: &[Vec<u8>]) -> Kind {
    let mut section = false;
    for line in lines {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
        if is_xml(line) {
            return Kind::Xml;
        }
        if line.is_empty() || line[0] == b'#' || line[0] == b';' {
            continue;
        }
        let key = line.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii();
        if key == b"kind" && key.len() < line.len() {
            let value = String::from_utf8_lossy(&line[key.len()..]);
            return Kind::Model(value.split(['"', '\'']).nth(1).unwrap_or_default().to_owned());
        }
        if line.starts_with(b"[[") {
            return Kind::Model(String::new());
        }
        section |= line[0] == b'[' && line.contains(&b']');
        // In a workload TOML, `kind` precedes the first table; in a fio job file, a section precedes the first key.
        if section {
            return Kind::Fio;
        }
        let is_key = key.len() < line.len() && key.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        if !is_key {
            return Kind::Trace;
        }
    }
    Kind::Trace
}

/// Returns true if a line begins an XML document: with its declaration, a comment, a document type or an element.
fn is_xml(line: &[u8]) -> bool {
    line.first() == Some(&b'<') && line.get(1).is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'?' | b'!'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(text: &str) -> Kind {
        kind(&text.lines().map(|line| line.as_bytes().to_vec()).collect::<Vec<_>>())
    }

    #[test]
    fn inputs_are_told_apart_by_their_first_lines() {
        assert_eq!(kind_of("; a job\n\n[global]\nrw=randread\n"), Kind::Fio);
        assert_eq!(kind_of("# a job\n[job1]\nrw=randread\n"), Kind::Fio);
        assert_eq!(kind_of("# a model\nkind = \"synthetic\"\n[[job]]\n"), Kind::Model("synthetic".into()));
        assert_eq!(kind_of("[[job]]\n"), Kind::Model(String::new()));
        assert_eq!(kind_of("name = \"x\"\nkind=\"lookalike\"\n"), Kind::Model("lookalike".into()));
        assert_eq!(kind_of("\n<?xml version=\"1.0\"?>\n<Profile>\n"), Kind::Xml);
        assert_eq!(kind_of("\u{feff}<Profile>\n"), Kind::Xml);
        assert_eq!(kind_of("<1> 0 100 8 1\n"), Kind::Trace);
        assert_eq!(kind_of("0 0 100 8 1\n"), Kind::Trace);
        assert_eq!(kind_of("#A.I,B.D\n1,2\n"), Kind::Trace);
        assert_eq!(kind_of(""), Kind::Trace);
    }
}
