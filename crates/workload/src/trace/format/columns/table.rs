//! Tables that the user describes: `time=1:us,op=4,offset=5:B,size=6:B`.

use super::engine::{Engine, Role, Steps};
use super::{Codes, Separator};
use kit::Op;

/// Units of time, each with the power of ten that converts it to nanoseconds.
const TIMES: &[(&str, u32)] = &[("s", 9), ("ms", 6), ("us", 3), ("ns", 0), ("100ns", 2), ("filetime", 2)];
/// Units of addresses \[bytes\].
const ADDRESSES: &[(&str, u64)] = &[("B", 1), ("sector", 512), ("page", 4096), ("KiB", 1024)];
/// Operations by name.
const OPS: &[(&str, Op)] = &[("read", Op::Read), ("write", Op::Write), ("trim", Op::Trim), ("flush", Op::Flush)];
/// Codes that are accepted if the user defines none. Here 1 is a write; in SSDsim, DiskSim and similar formats 1 is a
/// read.
const GUESSED: &[(&str, Op)] = &[
    ("R", Op::Read),
    ("W", Op::Write),
    ("r", Op::Read),
    ("w", Op::Write),
    ("Read", Op::Read),
    ("Write", Op::Write),
    ("read", Op::Read),
    ("write", Op::Write),
    ("READ", Op::Read),
    ("WRITE", Op::Write),
    ("0", Op::Read),
    ("1", Op::Write),
    ("D", Op::Trim),
    ("trim", Op::Trim),
    ("discard", Op::Trim),
    ("F", Op::Flush),
    ("flush", Op::Flush),
];

/// Table as the user describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    steps: Steps,
    /// True if the first line is a header to be skipped.
    header: bool,
}

impl Table {
    /// Parses a description: items separated by commas, `ROLE=COLUMN` or `ROLE=COLUMN:UNIT`, with columns counted from
    /// 1.
    ///
    /// Roles: `time` (unit `s`, `ms`, `us`, `ns`, `100ns` or `filetime`), `op`, `offset` and `size` (unit `B`,
    /// `sector`, `page` of 4 KiB or `KiB`), optionally `stream`, `sep` (`,` by default; one character, `tab` or
    /// `blank`) and `header` (`yes`: the first line is a header). `op` accepts R, W, r, w, Read, Write, read, write,
    /// READ, WRITE, 0 (read), 1 (write), D, trim, discard, F and flush; `op=5:1=read,0=write` defines other codes
    /// instead (`/` separates them as well).
    pub fn parse(text: &str) -> Result<Table, String> {
        let mut table = Table {
            steps: Steps {
                separator: Separator::Byte(b','),
                roles: Vec::new(),
                columns_min: 0,
                columns_max: usize::MAX,
                codes: Codes::Known(GUESSED),
                events: &[],
                trim_prefix: "",
            },
            header: false,
        };
        for item in items(text) {
            table.item(item).map_err(|why| format!("`{item}`: {why}"))?;
        }
        for (role, found) in [
            ("time", table.has(|role| matches!(role, Role::Time(..)))),
            ("op", table.has(|role| matches!(role, Role::Op))),
            ("offset", table.has(|role| matches!(role, Role::Offset(_)))),
            ("size", table.has(|role| matches!(role, Role::Size(_)))),
        ] {
            if !found {
                return Err(format!("`{text}` names no column for {role}: expected such as time=1:us,op=4,offset=5:B,size=6:B"));
            }
        }
        table.steps.columns_min = table.steps.roles.len();
        Ok(table)
    }

    /// Returns a parser of the table.
    pub fn parser(&self) -> Engine {
        Engine::described(self.steps.clone(), self.header)
    }

    fn has(&self, test: impl Fn(&Role) -> bool) -> bool {
        self.steps.roles.iter().any(test)
    }

    fn item(&mut self, item: &str) -> Result<(), String> {
        let (role, value) = item.split_once('=').ok_or("expected ROLE=COLUMN")?;
        let (column, unit) = value.split_once(':').map_or((value, None), |(column, unit)| (column, Some(unit)));
        match role {
            "sep" => self.steps.separator = separator(value)?,
            "header" => {
                self.header = match value {
                    "yes" => true,
                    "no" => false,
                    _ => return Err("expected yes or no".to_owned()),
                }
            }
            "time" => self.place(column, Role::Time(look_up(unit, TIMES)?, false))?,
            "offset" => self.place(column, Role::Offset(look_up(unit, ADDRESSES)?))?,
            "size" => self.place(column, Role::Size(look_up(unit, ADDRESSES)?))?,
            "stream" => self.place(column, Role::Stream(1))?,
            "op" => {
                self.place(column, Role::Op)?;
                if let Some(codes) = unit {
                    self.steps.codes = Codes::Said(codes.split(['/', ',']).map(code).collect::<Result<_, _>>()?);
                }
            }
            _ => return Err(format!("unknown role `{role}`: expected time, op, offset, size, stream, sep or header")),
        }
        Ok(())
    }

    fn place(&mut self, column: &str, role: Role) -> Result<(), String> {
        let number: usize = column.parse().map_err(|_| format!("`{column}` is not a column: expected 1 to 255"))?;
        if !(1..=255).contains(&number) {
            return Err(format!("column {number}: expected 1 to 255"));
        }
        let roles = &mut self.steps.roles;
        if roles.len() < number {
            roles.resize(number, Role::Skip);
        }
        if roles[number - 1] != Role::Skip
            || roles.iter().any(|other| std::mem::discriminant(other) == std::mem::discriminant(&role))
        {
            return Err("said twice".to_owned());
        }
        roles[number - 1] = role;
        Ok(())
    }
}

/// Splits a description into its items. A comma separates items, except in `sep=,` and before a further operation code.
fn items(text: &str) -> Vec<&str> {
    let mut items = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let skip = if rest.starts_with("sep=,") { "sep=,".len() } else { 0 };
        let mut end = rest[skip..].find(',').map_or(rest.len(), |at| skip + at);
        if rest.starts_with("op=") {
            // `op=4:1=read,0=write,offset=...`: the text after a comma is a code if it ends in the name of an
            // operation.
            while let Some(next) = rest.get(end + 1..).map(|tail| tail.split(',').next().unwrap_or_default()) {
                if code(next).is_err() || !rest[..end].contains(':') {
                    break;
                }
                end += 1 + next.len();
            }
        }
        items.push(rest[..end].trim());
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    items
}

fn separator(text: &str) -> Result<Separator, String> {
    match text {
        "tab" | "\t" => Ok(Separator::Byte(b'\t')),
        "blank" | "space" | " " => Ok(Separator::Blanks),
        _ if text.len() == 1 && !text.as_bytes()[0].is_ascii_digit() => Ok(Separator::Byte(text.as_bytes()[0])),
        _ => Err("expected one character, `tab` or `blank`".to_owned()),
    }
}

fn code(text: &str) -> Result<(String, Op), String> {
    let (word, op) = text.rsplit_once('=').ok_or("expected CODE=read, CODE=write, CODE=trim or CODE=flush")?;
    let op = OPS
        .iter()
        .find(|(name, _)| *name == op)
        .ok_or_else(|| format!("unknown operation `{op}`: expected read, write, trim or flush"))?;
    Ok((word.to_owned(), op.1))
}

fn look_up<T: Copy>(unit: Option<&str>, units: &[(&str, T)]) -> Result<T, String> {
    let names = || units.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let unit = unit.ok_or_else(|| format!("no unit: expected one of {}", names()))?;
    let found = units.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    found.map(|(_, value)| *value).ok_or_else(|| format!("unknown unit `{unit}`: expected one of {}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::format::{Line, Parser, Raw};

    fn read(description: &str, line: &str) -> Result<Raw, String> {
        let mut raw = Raw::default();
        let table = Table::parse(description)?;
        let kind = table.parser().line(line.as_bytes(), &mut raw).map_err(|fault| fault.complaint())?;
        assert_eq!(kind, Line::Request);
        Ok(raw)
    }

    #[test]
    fn a_described_table_is_read() {
        let raw = read("time=1:us,op=4,offset=5:B,size=6:B", "1.5,a,b,W,4096,512,rest").expect("reads");
        assert_eq!((raw.at_ns, raw.op, raw.offset, raw.length), (1500, Op::Write, 4096, 512));
        let raw = read("op=1:rd=read,wr=write,time=2:filetime,offset=3:sector,size=4:page,stream=5,sep=;", "wr;7;8;2;vol9")
            .expect("reads");
        assert_eq!((raw.at_ns, raw.op, raw.offset, raw.length, raw.stream), (700, Op::Write, 4096, 8192, (9, 13)));
        let raw = read("sep=,,time=4:ns,offset=1:KiB,size=2:B,op=3:1=read/0=write", "1,2,1,9").expect("reads");
        assert_eq!((raw.at_ns, raw.op, raw.offset, raw.length), (9, Op::Read, 1024, 2));
        let raw = read("sep=blank,time=1:s,op=2,offset=3:B,size=4:B", "  1   r 2\t3").expect("reads");
        assert_eq!((raw.at_ns, raw.op, raw.offset, raw.length), (1_000_000_000, Op::Read, 2, 3));
    }

    #[test]
    fn wrong_descriptions_are_refused_with_the_reason() {
        for (text, reason) in [
            ("time=1:us,op=4,offset=5:B", "no column for size"),
            ("time=1,op=2,offset=3:B,size=4:B", "no unit"),
            ("time=1:parsec,op=2,offset=3:B,size=4:B", "unknown unit `parsec`"),
            ("time=0:us", "expected 1 to 255"),
            ("time=1:us,op=1", "said twice"),
            ("time=1:us,time=2:us", "said twice"),
            ("tiem=1:us", "unknown role `tiem`"),
            ("op=1:x=fly", "unknown operation `fly`"),
            ("sep=xy", "one character"),
            ("", "no column for time"),
        ] {
            let message = Table::parse(text).expect_err(text);
            assert!(message.contains(reason), "{text}: {message}");
        }
    }
}
