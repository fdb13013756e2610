//! Formats whose lines are plain columns: the table of the known ones, and tables that the user describes.
//!
//! A new format is one entry of [`COLUMN_FORMATS`]: separator, the columns with a role (counted from 1, or by the name
//! in the header), their units, and the codes of the operations. Units were checked against the published files.

mod engine;
mod known;
mod moment;
mod table;

pub use engine::{Engine, Role, Steps};
pub use known::COLUMN_FORMATS;
pub use table::Table;

use super::{Format, Parser, Raw, Reading, Writer};
use kit::Op;
use std::fmt;

/// Separator of two columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Separator {
    /// This byte; two in a row enclose an empty column.
    Byte(u8),
    /// Any run of blanks and TABs.
    Blanks,
}

/// Reference to a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// By number, from 1.
    At(u8),
    /// By its name in the header.
    Named(&'static str),
}

/// Header of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// No header.
    None,
    /// This line, which may be missing.
    Line(&'static str),
    /// A line of column names after `#`.
    Names,
}

/// Unit of time, as the power of ten that converts it to nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The unit is `10^power` ns.
    pub power: u32,
    /// True if times are integers.
    pub whole: bool,
}

/// Codes of the operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Codes {
    /// Known words.
    Known(&'static [(&'static str, Op)]),
    /// Known words; any other word is an event that is not an I/O.
    Among(&'static [(&'static str, Op)]),
    /// Known words, and words for events that are not an I/O.
    Beside(&'static [(&'static str, Op)], &'static [&'static str]),
    /// Known words, in upper or lower case.
    AnyCase(&'static [(&'static str, Op)]),
    /// Bit 0 of a number: the operation if it is set, and if it is clear.
    Bit(Op, Op),
    /// Words that the user defines.
    Said(Vec<(String, Op)>),
}

impl Codes {
    /// Returns the operation of `field`; `Some(None)` if it is not an I/O, `None` if it is a fault.
    #[inline(always)]
    fn op(&self, field: &[u8]) -> Option<Option<Op>> {
        match self {
            Codes::Known(words) => words.iter().find(|(word, _)| same(word.as_bytes(), field)).map(|(_, op)| Some(*op)),
            Codes::Among(words) => Some(words.iter().find(|(word, _)| same(word.as_bytes(), field)).map(|(_, op)| *op)),
            Codes::Beside(words, others) => {
                let op = words.iter().find(|(word, _)| same(word.as_bytes(), field)).map(|(_, op)| Some(*op));
                op.or_else(|| others.iter().any(|word| same(word.as_bytes(), field)).then_some(None))
            }
            Codes::AnyCase(words) => of_any_case(words.iter().map(|(word, op)| (*word, *op)), field).map(Some),
            Codes::Bit(set, clear) => {
                super::super::fields::integer(field).map(|bits| Some(if bits & 1 == 1 { *set } else { *clear }))
            }
            // A word in the user's own case takes precedence: `r` and `R` may mean different operations.
            Codes::Said(words) => {
                let exact = words.iter().find(|(word, _)| same(word.as_bytes(), field)).map(|(_, op)| *op);
                exact.or_else(|| of_any_case(words.iter().map(|(word, op)| (word.as_str(), *op)), field)).map(Some)
            }
        }
    }

    fn expected(&self) -> String {
        match self {
            Codes::Known(words) | Codes::Among(words) | Codes::Beside(words, _) => {
                engine::one_of(words.iter().map(|(word, _)| *word))
            }
            Codes::AnyCase(words) => format!(
                "{} in upper or lower case, RWBS flags such as WS or FWFS, or codes of your own, as in op=COL:RD=read/WR=write",
                engine::one_of(words.iter().map(|(word, _)| *word))
            ),
            Codes::Bit(..) => "an unsigned integer".to_owned(),
            Codes::Said(words) => engine::one_of(words.iter().map(|(word, _)| word.as_str())),
        }
    }
}

/// Returns the operation of the word that is `field` in upper or lower case.
fn of_any_case<'a>(mut words: impl Iterator<Item = (&'a str, Op)>, field: &[u8]) -> Option<Op> {
    words.find(|(word, _)| word.as_bytes().eq_ignore_ascii_case(field)).map(|(_, op)| op)
}

/// Compares short words for equality: the length and the first byte settle nearly all comparisons without a call.
#[inline(always)]
fn same(word: &[u8], field: &[u8]) -> bool {
    word.len() == field.len() && word.first() == field.first() && word.iter().zip(field).all(|(left, right)| left == right)
}

/// Words of a column, each with true if it means an arrival.
pub type Words = &'static [(&'static str, bool)];

/// One format, an entry of the table.
pub struct Columns {
    name: &'static str,
    aliases: &'static [&'static str],
    about: &'static str,
    separator: Separator,
    header: Header,
    /// Number of columns of a line.
    count: usize,
    time: (Column, Clock),
    op: (Column, Codes),
    /// Column and unit \[bytes\].
    offset: (Column, u64),
    /// Column and unit \[bytes\].
    size: (Column, u64),
    /// First and last column of the stream's name.
    stream: Option<(Column, Column)>,
    /// Columns that distinguish arrivals from other events, each with its words: true for an arrival.
    events: &'static [(Column, Words)],
    /// Column, and the prefix in it that makes a request a trim.
    trim: Option<(Column, &'static str)>,
    clock_set_ns: Option<u64>,
    fits: fn(&[Vec<u8>]) -> bool,
    plausible: fn(&[Raw]) -> bool,
    writer: Writer,
    sample: &'static str,
    expected: &'static [(u64, Op, u64, u64, &'static str)],
}

/// Appends formatted text.
pub(super) fn put(out: &mut Vec<u8>, text: fmt::Arguments<'_>) {
    std::io::Write::write_fmt(out, text).expect("memory takes any text");
}

impl Columns {
    /// Returns the roles of the columns, in order. `number` returns the number of a column, from 1; the name of a
    /// column that it does not know is the error.
    fn steps(&self, number: impl Fn(Column) -> Option<usize>) -> Result<Steps, &'static str> {
        let mut used = vec![
            (self.time.0, Role::Time(self.time.1.power, self.time.1.whole)),
            (self.op.0, Role::Op),
            (self.offset.0, Role::Offset(self.offset.1)),
            (self.size.0, Role::Size(self.size.1)),
        ];
        if let Some((first, last)) = self.stream {
            let columns = match (first, last) {
                (Column::At(first), Column::At(last)) => usize::from(last - first) + 1,
                _ => 1,
            };
            used.push((first, Role::Stream(columns)));
        }
        used.extend(self.events.iter().map(|(column, words)| (*column, Role::Event(words))));
        used.extend(self.trim.map(|(column, _)| (column, Role::Trim)));
        let mut roles = Vec::new();
        for (column, role) in used {
            let number = number(column).ok_or(match column {
                Column::Named(name) => name,
                Column::At(_) => "",
            })?;
            let last = if let Role::Stream(columns) = role { number + columns - 1 } else { number };
            if roles.len() < last {
                roles.resize(last, Role::Skip);
            }
            assert!(roles[number - 1] == Role::Skip, "{}: column {number} has two roles", self.name);
            roles[number - 1] = role;
        }
        Ok(Steps {
            separator: self.separator,
            roles,
            columns_min: self.count,
            columns_max: self.count,
            codes: self.op.1.clone(),
            trim_prefix: self.trim.map_or("", |(_, prefix)| prefix),
            is_lenient: false,
        })
    }
}

impl Format for Columns {
    fn name(&self) -> &'static str {
        self.name
    }
    fn aliases(&self) -> &'static [&'static str] {
        self.aliases
    }
    fn about(&self) -> &'static str {
        self.about
    }
    fn clock_set_ns(&self) -> Option<u64> {
        self.clock_set_ns
    }
    fn parser(&self, _head: &[Vec<u8>], _reading: Reading) -> Box<dyn Parser> {
        let this = COLUMN_FORMATS.iter().find(|format| format.name == self.name).expect("formats live in the table");
        Box::new(Engine::of(this))
    }
    fn is_named_by(&self, line: &[u8]) -> bool {
        matches!(self.header, Header::Line(header) if line.trim_ascii().eq_ignore_ascii_case(header.as_bytes()))
    }
    fn unit_ns(&self) -> Option<u64> {
        // A Windows filetime shows its unit: it counts from the year 1601.
        (self.time.1.power != 2).then(|| 10u64.pow(self.time.1.power))
    }
    fn fits(&self, head: &[Vec<u8>]) -> bool {
        (self.fits)(head)
    }
    fn plausible(&self, parsed: &[Raw]) -> bool {
        (self.plausible)(parsed)
    }
    fn writer(&self) -> &Writer {
        &self.writer
    }
    fn sample(&self) -> &'static str {
        self.sample
    }
    fn expected(&self) -> &'static [(u64, Op, u64, u64, &'static str)] {
        self.expected
    }
}
