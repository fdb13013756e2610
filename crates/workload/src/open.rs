//! Opens any workload; its kind is recognised from its content.

pub use crate::trace::Options;
use crate::{Workload, fio, lookalike, synthetic, trace};
use kit::{Problem, Problems};
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
}

impl Input {
    /// Returns an input held in memory.
    pub fn text(name: impl Into<String>, text: impl Into<Vec<u8>>) -> Input {
        let bytes: Arc<[u8]> = text.into().into();
        Input { name: name.into(), open: Arc::new(move || Ok(Box::new(std::io::Cursor::new(Arc::clone(&bytes))))) }
    }
}

/// Kind of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// A fio job file: a `[section]` comes before any `kind` key.
    Fio,
    /// A workload TOML of this `kind`; empty if no kind was found.
    Model(String),
    /// Anything else.
    Trace,
}

/// Names the kind of an input with these first lines; `None` if it is a trace.
pub(crate) fn other_than_trace(lines: &[Vec<u8>]) -> Option<&'static str> {
    match kind(lines) {
        Kind::Fio => Some("a fio job file"),
        Kind::Model(_) => Some("a workload description"),
        Kind::Trace => None,
    }
}

/// Determines the kind of an input from its first lines. No trace format has lines like `[name]` or `kind = "..."`.
fn kind(lines: &[Vec<u8>]) -> Kind {
    let mut section = false;
    for line in lines {
        let line = line.trim_ascii();
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

/// Opens a workload for a drive of `user_bytes`: a fio job file, a workload TOML (`kind = "..."`) or a trace.
///
/// fio jobs and models use only the seed of `options`; for them, options that apply to traces only are errors.
pub fn open(input: &Input, user_bytes: u64, options: &Options) -> Result<Workload, Problems> {
    let head = trace::Head::of(input)?;
    let kind = if options.format.is_some() || options.columns.is_some() { Kind::Trace } else { kind(&head.lines) };
    if kind == Kind::Trace {
        return trace::open(input, user_bytes, options);
    }
    let text = text(input)?;
    refuse_trace_options(input, options)?;
    match kind {
        Kind::Model(kind) => model(&kind, input, &text, user_bytes, options.seed),
        _ => fio::open(&input.name, &text, user_bytes, options.seed),
    }
}

/// Opens a workload description by its kind.
fn model(kind: &str, input: &Input, text: &str, user_bytes: u64, seed: u64) -> Result<Workload, Problems> {
    match kind {
        "lookalike" => lookalike::open(&input.name, text, user_bytes, seed),
        "synthetic" => synthetic::open(&input.name, text, user_bytes, seed),
        "trace" => Err(Problems::one(&input.name, "describes how a trace was replayed: expected the trace file itself")),
        other => Err(Problem::unknown(&input.name, "kind of workload", other, ["synthetic", "lookalike"]).into()),
    }
}

/// Reads the whole input as text: descriptions are small.
fn text(input: &Input) -> Result<String, Problems> {
    /// Maximum size of a job file or description \[bytes\]; real ones are far smaller.
    const BYTES_MAX: u64 = 16 << 20;
    let unreadable = |error: std::io::Error| Problems::one(&input.name, format!("cannot be read: {error}"));
    let mut bytes = Vec::new();
    (input.open)().map_err(unreadable)?.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(Problems::one(&input.name, "more than 16 MiB: expected a job file or description"));
    }
    String::from_utf8(bytes).map_err(|error| Problems::one(&input.name, format!("not UTF-8 text: {error}")))
}

/// Refuses options that apply to traces only: if they were ignored silently, a user would believe that they took
/// effect.
fn refuse_trace_options(input: &Input, options: &Options) -> Result<(), Problems> {
    let plain = Options { seed: options.seed, ..Options::default() };
    let mut problems = Problems::default();
    let mut check = |name: &str, given: bool| {
        if given {
            problems.add(name, format!("applies to traces only, and {} is not one: leave it out", input.name));
        }
    };
    check("address", options.address != plain.address);
    check("layout", options.layout != plain.layout);
    check("streams", !options.streams.is_empty());
    check("time_scale", options.time_scale != plain.time_scale);
    check("repeat", options.repeat != plain.repeat);
    check("slice", options.slice.is_some());
    check("replay", options.replay.is_some());
    check("strict_time", options.strict_time);
    check("max_requests", options.max_requests.is_some());
    if options.ramp_time.is_some() {
        problems.add("ramp_time", format!("applies to traces: expected `ramp_time` in {}", input.name));
    }
    problems.or(())
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
        assert_eq!(kind_of("0 0 100 8 1\n"), Kind::Trace);
        assert_eq!(kind_of("#A.I,B.D\n1,2\n"), Kind::Trace);
        assert_eq!(kind_of(""), Kind::Trace);
    }

    #[test]
    fn options_for_traces_are_refused_elsewhere() {
        let options = Options { repeat: 2, address: "wrap".into(), ..Options::default() };
        let text =
            open(&Input::text("a.fio", "[a]\nrw=read\n"), 1 << 30, &options).map(drop).expect_err("two options").to_string();
        assert_eq!(text.lines().count(), 2, "{text}");
    }
}
