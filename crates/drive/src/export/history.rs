//! The physical history as a text table, and the first difference between two histories.

use crate::description::Description;
use kit::history::{Entry, EntryKind};
use kit::{ModeId, OperationKind, Problems, Reason};
use std::collections::VecDeque;
use std::io::{BufRead, Result, Write};

/// The columns: time \[ns\]; event; die; first byte of a host command, or first mapping unit of a flash operation;
/// write, erase or read mode; reason of a flash operation; number of the job whose command completed.
pub const COLUMNS: &str = "time_ns,event,die,place,mode,reason,job";
/// Number of equal lines shown before the first difference, and number of lines of each history shown from there on.
const NEIGHBOURS: usize = 3;

/// Longest line that is read \[bytes\]: one that is written has less than a hundred, and the names of two modes.
const LINE_MAX: u64 = 64 << 10;

/// Names of a drive's modes.
#[derive(Clone, Debug, Default)]
pub struct ModeNames {
    write: Vec<String>,
    erase: Vec<String>,
    read: Vec<String>,
}

impl ModeNames {
    /// Returns the mode names of a description.
    pub fn of(description: &Description) -> ModeNames {
        ModeNames {
            write: description.flash.write_modes.iter().map(|mode| mode.name.clone()).collect(),
            erase: description.flash.erase_mode_names(),
            read: description.flash.read_mode_names(),
        }
    }

    fn name(&self, kind: OperationKind, mode: ModeId) -> &str {
        let names = match kind {
            OperationKind::Read => &self.read,
            OperationKind::Program | OperationKind::Copyback => &self.write,
            OperationKind::Erase | OperationKind::LazyErase => &self.erase,
        };
        names.get(mode.index()).map_or("", String::as_str)
    }
}

/// Writes entries as lines of comma-separated values.
pub struct HistoryWriter<W: Write> {
    to: W,
    names: ModeNames,
    line: Vec<u8>,
}

impl<W: Write> HistoryWriter<W> {
    /// Creates a writer and writes the header.
    pub fn new(mut to: W, names: ModeNames) -> Result<HistoryWriter<W>> {
        writeln!(to, "{COLUMNS}")?;
        Ok(HistoryWriter { to, names, line: Vec::with_capacity(128) })
    }

    /// Writes entries.
    pub fn write(&mut self, entries: &[Entry]) -> Result<()> {
        for entry in entries {
            self.line.clear();
            self.write_one(entry)?;
            self.to.write_all(&self.line)?;
        }
        Ok(())
    }

    fn write_one(&mut self, entry: &Entry) -> Result<()> {
        let line = &mut self.line;
        let (what, end, kind) = match entry.kind() {
            EntryKind::Completed(op) => (op.name(), "completed", None),
            EntryKind::Started(kind) => (kind.name(), "started", Some(kind)),
            EntryKind::Ended(kind) => (kind.name(), "ended", Some(kind)),
        };
        write!(line, "{},{what} {end},", entry.time.0)?;
        if let Some(die) = entry.die() {
            write!(line, "{}", die.0)?;
        }
        line.push(b',');
        if let Some(place) = entry.place() {
            write!(line, "{place}")?;
        }
        match (kind, entry.mode()) {
            (Some(kind), Some(mode)) => {
                writeln!(line, ",{},{},", self.names.name(kind, mode), Reason::ALL[entry.tag() as usize].name())
            }
            _ => writeln!(line, ",,,{}", entry.tag()),
        }
    }

    /// Returns the underlying writer.
    pub fn into_inner(self) -> W {
        self.to
    }
}

/// The first difference between two histories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Line number of the first entry that differs, counted from 1; the header is line 1.
    pub line: u64,
    /// The last equal lines before it.
    pub before: Vec<String>,
    /// Lines of the first history from there on; empty if it ends there.
    pub first: Vec<String>,
    /// Lines of the second history from there on; empty if it ends there.
    pub second: Vec<String>,
}

/// A history to be read: its name, and its text.
pub struct Text<'a> {
    /// File name, for error messages.
    pub name: &'a str,
    /// Reader of the uncompressed text.
    pub from: &'a mut dyn BufRead,
}

/// Compares two histories line by line. Returns the number of equal entries before the end or the first difference, and
/// that difference.
pub fn compare(mut first: Text<'_>, mut second: Text<'_>) -> std::result::Result<(u64, Option<Difference>), Problems> {
    first.begin()?;
    second.begin()?;
    let mut before: VecDeque<String> = VecDeque::from([COLUMNS.to_owned()]);
    let mut line = 1u64;
    loop {
        let (one, other) = (first.next_line()?, second.next_line()?);
        line += 1;
        match (one, other) {
            (None, None) => return Ok((line - 2, None)),
            (Some(one), Some(other)) if one == other => {
                if before.len() == NEIGHBOURS {
                    before.pop_front();
                }
                before.push_back(one);
            }
            (one, other) => {
                let difference = Difference { line, before: before.into(), first: first.rest(one)?, second: second.rest(other)? };
                return Ok((line - 2, Some(difference)));
            }
        }
    }
}

impl Text<'_> {
    fn begin(&mut self) -> std::result::Result<(), Problems> {
        if self.next_line()?.as_deref() == Some(COLUMNS) {
            return Ok(());
        }
        Err(Problems::one(self.name, format!("not a history file: expected `{COLUMNS}` in its first line")))
    }

    fn next_line(&mut self) -> std::result::Result<Option<String>, Problems> {
        let mut line = String::new();
        let read = kit::capped::read_line(self.from, LINE_MAX, &mut line)
            .map_err(|error| Problems::one(self.name, format!("a line cannot be read: {error}")))?;
        if read > 0 && !line.ends_with('\n') {
            return Err(Problems::one(self.name, "its last line has no end: expected a whole history"));
        }
        line.truncate(line.trim_end_matches(['\n', '\r']).len());
        Ok((read > 0).then_some(line))
    }

    /// Returns a line and the lines after it, [`NEIGHBOURS`] in total.
    fn rest(&mut self, line: Option<String>) -> std::result::Result<Vec<String>, Problems> {
        let mut lines: Vec<String> = line.into_iter().collect();
        while !lines.is_empty() && lines.len() < NEIGHBOURS {
            let Some(next) = self.next_line()? else { break };
            lines.push(next);
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::{DieId, Op, Operation, Ppn, SimTime};

    fn written(entries: &[Entry]) -> String {
        let names = ModeNames { write: vec!["normal".to_owned(), "fast".to_owned()], ..ModeNames::default() };
        let mut writer = HistoryWriter::new(Vec::new(), names).expect("memory");
        writer.write(entries).expect("memory");
        String::from_utf8(writer.into_inner()).expect("text")
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let endless = || std::io::BufReader::new(std::io::repeat(b'x'));
        let (mut one, mut other) = (endless(), endless());
        let told = compare(Text { name: "a", from: &mut one }, Text { name: "b", from: &mut other });
        let told = told.map(|_| ()).expect_err("it has no end").to_string();
        assert!(told.starts_with("a: a line cannot be read: more than 64 KiB"), "{told}");
    }

    #[test]
    fn an_entry_is_a_line() {
        let program = Operation {
            kind: OperationKind::Program,
            die: DieId(3),
            first: Ppn(40),
            mode: ModeId(1),
            reason: Reason::Gc,
            ..Operation::default()
        };
        let text = written(&[
            Entry::operation(SimTime(5), EntryKind::Started(OperationKind::Program), &program),
            Entry::completed(SimTime(7), Op::Write, 8192, 2),
        ]);
        assert_eq!(text, format!("{COLUMNS}\n5,program started,3,40,fast,gc,\n7,write completed,,8192,,,2\n"));
    }

    #[test]
    fn two_histories_differ_at_the_first_line_that_differs() {
        let compared = |a: &str, b: &str| {
            let (a, b) = (a.replace("h\n", &format!("{COLUMNS}\n")), b.replace("h\n", &format!("{COLUMNS}\n")));
            compare(Text { name: "a", from: &mut a.as_bytes() }, Text { name: "b", from: &mut b.as_bytes() })
        };
        let part = |a: &str, b: &str| compared(a, b).expect("both are histories");
        assert_eq!(part("h\n1\n2\n", "h\n1\n2\n"), (2, None));
        let (entries, difference) = part("h\n1\n2\n3\n4\n5\n6\n7\n8\n", "h\n1\n2\n3\n4\nx\n6\n");
        let difference = difference.expect("they differ");
        assert_eq!((entries, difference.line), (4, 6));
        assert_eq!(
            (difference.before, difference.first, difference.second),
            (
                vec!["2".to_owned(), "3".to_owned(), "4".to_owned()],
                vec!["5".to_owned(), "6".to_owned(), "7".to_owned()],
                vec!["x".to_owned(), "6".to_owned()]
            )
        );
        let shorter = part("h\n1\n", "h\n1\n2\n").1.expect("one is shorter");
        assert_eq!((shorter.line, shorter.first.len(), shorter.second), (3, 0, vec!["2".to_owned()]));
        for (a, b, complaint) in [
            ("h\n", "", "b: not a history file"),
            ("x\n", "x\n", "a: not a history file"),
            ("h\n1\n2", "h\n1\n2", "a: its last line has no end"),
        ] {
            let told = compared(a, b).expect_err("one is no history").to_string();
            assert!(told.starts_with(complaint), "{told}");
        }
    }
}
