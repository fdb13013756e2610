//! Parser of any table: walks the columns of a line once, and parses those that have a role.

use super::table::Table;
use super::{Codes, Column, Columns, Header, Separator, Words, moment};
use crate::Flags;
use crate::trace::fields::{self, Fault};
use crate::trace::format::block_layer::{Rwbs, operation};
use crate::trace::format::{Line, Parser, Raw};
use kit::Op;

/// Role of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The column is not used.
    Skip,
    /// Arrival: the power of ten that converts it to nanoseconds, and true if it is an integer.
    Time(u32, bool),
    /// Operation.
    Op,
    /// First byte, in units of this many bytes.
    Offset(u64),
    /// Length, in units of this many bytes.
    Size(u64),
    /// First of this many columns that make up the stream's name.
    Stream(usize),
    /// Arrival as an instant of the calendar or of the Unix clock.
    Moment,
    /// Column that distinguishes arrivals from other events, with its words.
    Event(Words),
    /// Column that makes the request a trim if it begins with a certain prefix.
    Trim,
}

/// Layout of a table's lines: separator, roles of the columns in order, codes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps {
    pub(super) separator: Separator,
    pub(super) roles: Vec<Role>,
    pub(super) columns_min: usize,
    pub(super) columns_max: usize,
    pub(super) codes: Codes,
    pub(super) trim_prefix: &'static str,
    /// True if values may be in quotes, and addresses and lengths may have units of their own (`4KiB`).
    pub(super) is_lenient: bool,
}

/// Parser of tables.
pub struct Engine {
    steps: Option<Steps>,
    format: Option<&'static Columns>,
    /// Table that the user describes, if there is no format.
    table: Option<Table>,
    first: bool,
}

impl Engine {
    /// Returns the parser of a table that the user describes. If it has a header, the first line is read as such;
    /// otherwise a first line that does not parse is a fault like any other.
    pub fn described(table: Table) -> Engine {
        Engine { steps: table.steps(&[]).ok(), format: None, table: Some(table), first: true }
    }

    /// Returns the parser of one of the known formats.
    pub fn of(format: &'static Columns) -> Engine {
        let steps = (format.header != Header::Names).then(|| {
            format.steps(|column| match column {
                Column::At(number) => Some(usize::from(number)),
                Column::Named(_) => None,
            })
        });
        let steps = steps.map(|steps| steps.expect("only a table with a header of names has named columns"));
        Engine { steps, format: Some(format), table: None, first: true }
    }

    /// Reads the first line; returns true if it is a header, false if it is a request like all other lines.
    #[cold]
    fn read_header(&mut self, line: &[u8]) -> Result<bool, Fault> {
        self.first = false;
        match self.format.map(|format| format.header) {
            Some(Header::Line(header)) => Ok(line.trim_ascii().eq_ignore_ascii_case(header.as_bytes())),
            Some(Header::Names) => {
                let format = self.format.expect("just matched");
                let Some(names) = line.strip_prefix(b"#") else {
                    return Err(Fault::new("header", line, "a line of column names that starts with `#`"));
                };
                let names: Vec<&[u8]> = names.split(|byte| *byte == b',').map(strip_type).collect();
                let steps = format.steps(|column| match column {
                    Column::At(number) => Some(usize::from(number)),
                    Column::Named(name) => names.iter().position(|found| *found == name.as_bytes()).map(|at| at + 1),
                });
                let mut steps = steps.map_err(|name| Fault::new("header", line, format!("a column called {name}")))?;
                (steps.columns_min, steps.columns_max) = (names.len(), names.len());
                self.steps = Some(steps);
                Ok(true)
            }
            Some(Header::None) => Ok(false),
            None => {
                let table = self.table.as_ref().expect("a parser has a format or a table");
                if table.has_header() {
                    let steps = table.steps(&table.names(line));
                    self.steps = Some(steps.map_err(|expected| Fault::new("header", line, expected))?);
                }
                Ok(table.has_header())
            }
        }
    }

    /// Returns true if a line that begins with `#` is the header of the table: all other such lines are comments.
    #[cold]
    fn is_header(&self, line: &[u8]) -> bool {
        self.first && self.table.as_ref().is_some_and(|table| table.has_header() && table.steps(&table.names(line)).is_ok())
    }

    /// Adds to a fault in the first line of a table that it looks like a header, and how to say so.
    #[cold]
    fn suspect_header(&self, fault: Fault, line: &[u8]) -> Fault {
        match &self.table {
            Some(table) if table.looks_like_header(line) => {
                let expected = format!(
                    "{} (if this line is a header, add header=yes, or name the columns as it does, such as time=Timestamp:us)",
                    fault.expected
                );
                Fault { expected, ..fault }
            }
            _ => fault,
        }
    }
}

/// Returns a column's name without the suffix that gives its type (`ELAPSED_USECS.D`).
fn strip_type(name: &[u8]) -> &[u8] {
    let name = name.trim_ascii();
    name.strip_suffix(b".I").or_else(|| name.strip_suffix(b".D")).or_else(|| name.strip_suffix(b".S")).unwrap_or(name)
}

impl Parser for Engine {
    #[inline]
    fn line(&mut self, line: &[u8], raw: &mut Raw) -> Result<Line, Fault> {
        if self.table.is_some() && line.trim_ascii_start().first() == Some(&b'#') && !self.is_header(line) {
            return Ok(Line::Text);
        }
        if self.first {
            if self.read_header(line)? {
                return Ok(Line::Text);
            }
            if self.table.is_some() {
                return self.parse(line, raw).map_err(|fault| self.suspect_header(fault, line));
            }
        }
        self.parse(line, raw)
    }

    fn restart(&self) -> Box<dyn Parser> {
        Box::new(match (self.format, &self.table) {
            (Some(format), _) => Engine::of(format),
            (None, table) => Engine::described(table.clone().expect("a parser has a format or a table")),
        })
    }
}

impl Engine {
    /// Parses a line that is not a header.
    #[inline(always)]
    fn parse(&self, line: &[u8], raw: &mut Raw) -> Result<Line, Fault> {
        let Some(steps) = &self.steps else {
            return Err(Fault::new("line", line, "a header of column names before it"));
        };
        match steps.separator {
            Separator::Byte(byte) => steps.line(Byte(byte), line, raw),
            Separator::Blanks => steps.line(Blanks, line, raw),
        }
    }
}

/// Separator of columns. It is a type, so that the inner loop is compiled for each separator.
trait Part: Copy {
    /// Returns the start of the first column.
    fn start(self, line: &[u8]) -> usize;
    /// Returns the end of the column that starts at `from`.
    fn end(self, line: &[u8], from: usize) -> usize;
    /// Returns true if this byte ends a column.
    fn parts(self, byte: u8) -> bool;
    /// Returns the start of the column after the one that ends at `end`; past the end of the line if there is none.
    fn next(self, line: &[u8], end: usize) -> usize;
}

#[derive(Clone, Copy)]
struct Byte(u8);

impl Part for Byte {
    #[inline(always)]
    fn start(self, _: &[u8]) -> usize {
        0
    }
    #[inline(always)]
    fn end(self, line: &[u8], from: usize) -> usize {
        fields::find(self.0, &line[from..]).map_or(line.len(), |at| from + at)
    }
    #[inline(always)]
    fn parts(self, byte: u8) -> bool {
        byte == self.0
    }
    #[inline(always)]
    fn next(self, _: &[u8], end: usize) -> usize {
        end + 1
    }
}

#[derive(Clone, Copy)]
struct Blanks;

impl Blanks {
    #[inline(always)]
    fn skip(self, line: &[u8], mut at: usize) -> usize {
        while at < line.len() && self.parts(line[at]) {
            at += 1;
        }
        at
    }
}

impl Part for Blanks {
    #[inline(always)]
    fn start(self, line: &[u8]) -> usize {
        self.skip(line, 0)
    }
    #[inline(always)]
    fn end(self, line: &[u8], from: usize) -> usize {
        line[from..].iter().position(|byte| self.parts(*byte)).map_or(line.len(), |at| from + at)
    }
    #[inline(always)]
    fn parts(self, byte: u8) -> bool {
        byte == b' ' || byte == b'\t'
    }
    #[inline(always)]
    fn next(self, line: &[u8], end: usize) -> usize {
        let at = self.skip(line, end);
        if at == line.len() { at + 1 } else { at }
    }
}

/// Properties of a line found so far, beside the fields of the request.
struct Seen {
    arrival: bool,
    trim: bool,
    other_code: bool,
    /// True if the operation is an RWBS word.
    rwbs: bool,
    /// True if that word requests a flush.
    flush: bool,
}

impl Steps {
    #[inline(always)]
    fn line<P: Part>(&self, part: P, line: &[u8], raw: &mut Raw) -> Result<Line, Fault> {
        let mut at = part.start(line);
        let mut seen = Seen { arrival: true, trim: false, other_code: false, rwbs: false, flush: false };
        raw.flags = Flags::NONE;
        let mut stream_left = 0;
        raw.stream = (0, 0);
        for role in &self.roles {
            if at > line.len() {
                return Err(self.miscounted(part, line));
            }
            let end = match *role {
                Role::Offset(unit) => {
                    let (bytes, end) = self.extent(part, line, at, unit, "offset")?;
                    raw.offset = bytes;
                    end
                }
                Role::Size(unit) => {
                    let (bytes, end) = self.extent(part, line, at, unit, "size")?;
                    raw.length = bytes;
                    end
                }
                Role::Time(power, whole) => time(part, line, at, power, whole, raw)?,
                Role::Moment => {
                    let end = part.end(line, at);
                    raw.at_ns = instant(line[at..end].trim_ascii())?;
                    end
                }
                Role::Skip => part.end(line, at),
                Role::Op | Role::Event(_) | Role::Trim => {
                    let end = part.end(line, at);
                    let field = line[at..end].trim_ascii();
                    self.word(*role, if self.is_lenient { unquoted(field) } else { field }, raw, &mut seen)?;
                    end
                }
                Role::Stream(columns) => {
                    raw.stream.0 = at;
                    stream_left = columns;
                    part.end(line, at)
                }
            };
            if stream_left > 0 {
                raw.stream.1 = end;
                stream_left -= 1;
            }
            at = part.next(line, end);
        }
        self.count_rest(part, line, at)?;
        if seen.trim {
            raw.op = Op::Trim;
        }
        if seen.rwbs && (raw.op == Op::Flush || seen.flush && raw.length == 0) {
            (raw.op, raw.flags, raw.offset, raw.length) = (Op::Flush, Flags::NONE, 0, 0);
        }
        Ok(if seen.arrival && !seen.other_code { Line::Request } else { Line::Other })
    }

    /// Parses an address or a length in units of `unit` bytes in the column that starts at `at`; returns the bytes, and
    /// the column's end.
    #[inline(always)]
    fn extent<P: Part>(&self, part: P, line: &[u8], at: usize, unit: u64, what: &'static str) -> Result<(u64, usize), Fault> {
        let (value, count) = fields::digits(&line[at..]);
        let end = at + count;
        if (1..=19).contains(&count) && (end == line.len() || part.parts(line[end])) {
            return Ok((scaled(value, unit, what, &line[at..end])?, end));
        }
        if self.is_lenient {
            return quantity(part, line, at, unit, what);
        }
        let (value, end) = padded_number(part, line, at, what)?;
        Ok((scaled(value, unit, what, &line[at..end])?, end))
    }

    /// Checks the number of columns, counting those after the last one used.
    #[inline(always)]
    fn count_rest<P: Part>(&self, part: P, line: &[u8], mut at: usize) -> Result<(), Fault> {
        if self.columns_max == usize::MAX && self.columns_min <= self.roles.len() {
            return Ok(());
        }
        let mut count = self.roles.len();
        while at <= line.len() {
            count += 1;
            at = part.next(line, part.end(line, at));
        }
        // A separator after the last column is accepted: some tools write one.
        let spare = usize::from(count == self.columns_max + 1 && line.last().is_some_and(|byte| part.parts(*byte)));
        if count - spare < self.columns_min || count - spare > self.columns_max {
            Err(self.miscounted(part, line))
        } else {
            Ok(())
        }
    }

    #[cold]
    fn miscounted<P: Part>(&self, part: P, line: &[u8]) -> Fault {
        let mut count = 0;
        let mut at = part.start(line);
        while at <= line.len() && !line.is_empty() {
            count += 1;
            at = part.next(line, part.end(line, at));
        }
        let expected = if self.columns_max == self.columns_min {
            self.columns_min.to_string()
        } else {
            format!("at least {}", self.columns_min.max(self.roles.len()))
        };
        Fault::new("line", line, format!("{expected} columns instead of {count}"))
    }

    /// Interprets an RWBS word.
    #[cold]
    fn rwbs(&self, field: &[u8], raw: &mut Raw, seen: &mut Seen) -> Result<(), Fault> {
        let Rwbs { op, flags, flush } = operation(field)?;
        seen.rwbs = true;
        seen.flush = flush;
        match op {
            Some(op) => (raw.op, raw.flags) = (op, flags),
            None if flush => raw.op = Op::Flush,
            None => seen.other_code = true,
        }
        Ok(())
    }

    /// Interprets a column of words.
    #[inline(always)]
    fn word(&self, role: Role, field: &[u8], raw: &mut Raw, seen: &mut Seen) -> Result<(), Fault> {
        match role {
            Role::Op => match self.codes.op(field) {
                Some(Some(op)) => raw.op = op,
                Some(None) => seen.other_code = true,
                None if matches!(self.codes, Codes::AnyCase(_)) && operation(field).is_ok() => self.rwbs(field, raw, seen)?,
                None => return Err(Fault::new("operation", field, self.codes.expected())),
            },
            Role::Event(words) => match words.iter().find(|(name, _)| name.as_bytes() == field) {
                Some((_, arrival)) => seen.arrival &= *arrival,
                None => return Err(Fault::new("event", field, one_of(words.iter().map(|(name, _)| *name)))),
            },
            _ => seen.trim = field.starts_with(self.trim_prefix.as_bytes()),
        }
        Ok(())
    }
}

/// Formats a list as `a, b or c`, each word in backquotes.
pub(super) fn one_of<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<String> = words.map(|word| format!("`{word}`")).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// Parses a number of units, or a quantity with a unit of its own; returns the bytes, and the column's end.
#[cold]
fn quantity<P: Part>(part: P, line: &[u8], at: usize, unit: u64, what: &'static str) -> Result<(u64, usize), Fault> {
    let end = part.end(line, at);
    let field = unquoted(line[at..end].trim_ascii());
    if let Some(value) = fields::integer(field) {
        return Ok((scaled(value, unit, what, field)?, end));
    }
    let bytes = std::str::from_utf8(field).ok().and_then(|text| text.parse::<kit::Bytes>().ok());
    let bytes =
        bytes.ok_or_else(|| Fault::new(what, field, "an unsigned integer, or a size with its unit such as 4KiB or 512B"))?;
    Ok((bytes.0, end))
}

/// Parses an instant of the calendar or of the Unix clock \[ns\].
fn instant(field: &[u8]) -> Result<u64, Fault> {
    let field = unquoted(field);
    moment::nanoseconds(field)
        .ok_or_else(|| Fault::new("time", field, "an ISO time such as 2024-05-01T12:00:00.25Z, or seconds since 1970"))
}

/// Returns a field without the quotes around it.
pub(super) fn unquoted(field: &[u8]) -> &[u8] {
    field.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")).unwrap_or(field)
}

/// Parses the unsigned integer in the column that starts at `at`; returns it with the column's end.
#[inline(always)]
fn number<P: Part>(part: P, line: &[u8], at: usize, what: &'static str) -> Result<(u64, usize), Fault> {
    let (value, count) = fields::digits(&line[at..]);
    let end = at + count;
    if (1..=19).contains(&count) && (end == line.len() || part.parts(line[end])) {
        return Ok((value, end));
    }
    padded_number(part, line, at, what)
}

/// Like [`number`], but accepts blanks around the integer.
#[cold]
fn padded_number<P: Part>(part: P, line: &[u8], at: usize, what: &'static str) -> Result<(u64, usize), Fault> {
    let end = part.end(line, at);
    let field = line[at..end].trim_ascii();
    let value = fields::integer(field).ok_or_else(|| Fault::new(what, field, "an unsigned integer"))?;
    Ok((value, end))
}

#[inline(always)]
fn time<P: Part>(part: P, line: &[u8], at: usize, power: u32, whole: bool, raw: &mut Raw) -> Result<usize, Fault> {
    let end = if whole {
        let (value, end) = number(part, line, at, "time")?;
        match value.checked_mul(10u64.pow(power)) {
            Some(ns) => raw.at_ns = ns,
            None => return Err(Fault::new("time", &line[at..end], "a time of less than 584 years")),
        }
        end
    } else {
        let end = part.end(line, at);
        let field = line[at..end].trim_ascii();
        let Some(ns) = fields::decimal(field, power) else {
            return Err(Fault::new("time", field, "a non-negative number, less than 584 years"));
        };
        raw.at_ns = ns;
        end
    };
    Ok(end)
}

#[inline(always)]
fn scaled(value: u64, unit: u64, what: &'static str, field: &[u8]) -> Result<u64, Fault> {
    match value.checked_mul(unit) {
        Some(bytes) => Ok(bytes),
        None => Err(Fault::new(what, field, "a number of bytes below 2^64")),
    }
}
