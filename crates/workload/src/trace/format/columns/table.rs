//! Tables that the user describes: `time=1:us,op=4,offset=5:B,size=6:B`, or by the names of a header:
//! `time=Timestamp:iso,op=Type,offset=Offset:B,size=Size:B`.

use super::engine::{Engine, Role, Steps, unquoted};
use super::{Codes, Separator};
use kit::Op;

/// Units of time, each with the power of ten that converts it to nanoseconds.
const TIMES: &[(&str, u32)] = &[("s", 9), ("ms", 6), ("us", 3), ("µs", 3), ("μs", 3), ("ns", 0), ("100ns", 2), ("filetime", 2)];
/// Unit of times that are instants of the calendar, or of the Unix clock with a zone.
const ISO: &str = "iso";
/// Units of addresses \[bytes\].
const ADDRESSES: &[(&str, u64)] = &[("B", 1), ("sector", 512), ("page", 4096), ("KiB", 1024)];
/// Operations by name.
const OPS: &[(&str, Op)] = &[("read", Op::Read), ("write", Op::Write), ("trim", Op::Trim), ("flush", Op::Flush)];
/// Codes that are accepted, in upper or lower case, if the user defines none. Here 1 is a write; in SSDsim, DiskSim and
/// similar formats 1 is a read.
const GUESSED: &[(&str, Op)] = &[
    ("R", Op::Read),
    ("W", Op::Write),
    ("read", Op::Read),
    ("write", Op::Write),
    ("0", Op::Read),
    ("1", Op::Write),
    ("D", Op::Trim),
    ("trim", Op::Trim),
    ("discard", Op::Trim),
    ("unmap", Op::Trim),
    ("F", Op::Flush),
    ("flush", Op::Flush),
];

/// Reference to a column.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Reference {
    /// By number, from 1.
    At(usize),
    /// By its name in the header.
    Named(String),
}

/// Table as the user describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    separator: Separator,
    codes: Codes,
    places: Vec<(Reference, Role)>,
    /// True if the first line is a header, false if it is not; `None`: if columns are referred to by name.
    header: Option<bool>,
}

impl Table {
    /// Parses a description: items separated by commas, `ROLE=COLUMN` or `ROLE=COLUMN:UNIT`, with columns counted from
    /// 1, or by their names in the header.
    ///
    /// Roles: `time` (unit `s`, `ms`, `us`, `ns`, `100ns`, `filetime` or `iso`), `op`, `offset` and `size` (unit `B`,
    /// `sector`, `page` of 4 KiB or `KiB`; a value with a unit of its own, such as `4KiB`, keeps it), optionally
    /// `stream`, `sep` (`,` by default; one character, `tab` or `blank`) and `header` (`yes`: the first line is a
    /// header). `op` accepts, in upper or lower case, R, W, read, write, 0 (read), 1 (write), D, trim, discard, unmap,
    /// F and flush; `op=5:1=read,0=write` defines other codes instead (`/` separates them as well).
    pub fn parse(text: &str) -> Result<Table, String> {
        let mut table =
            Table { separator: Separator::Byte(b','), codes: Codes::AnyCase(GUESSED), places: Vec::new(), header: None };
        for item in items(text) {
            table.item(item).map_err(|why| format!("`{item}`: {why}"))?;
        }
        for (role, found) in [
            ("time", table.has(|role| matches!(role, Role::Time(..) | Role::Moment))),
            ("op", table.has(|role| matches!(role, Role::Op))),
            ("offset", table.has(|role| matches!(role, Role::Offset(_)))),
            ("size", table.has(|role| matches!(role, Role::Size(_)))),
        ] {
            if !found {
                return Err(format!("`{text}` names no column for {role}: expected such as time=1:us,op=4,offset=5:B,size=6:B"));
            }
        }
        if let (Some(false), Some(name)) = (table.header, table.names_used().next()) {
            return Err(format!("header=no, and `{name}` is the name of a column: expected header=yes, or numbers of columns"));
        }
        Ok(table)
    }

    /// Returns the unit of the times \[ns\], if the values do not show it.
    pub fn unit_ns(&self) -> Option<u64> {
        self.places.iter().find_map(|(_, role)| match role {
            Role::Time(power, _) => Some(10u64.pow(*power)),
            _ => None,
        })
    }

    /// Returns a parser of the table.
    pub fn parser(&self) -> Engine {
        Engine::described(self.clone())
    }

    /// Returns true if the first line is a header.
    pub(super) fn has_header(&self) -> bool {
        self.header.unwrap_or_else(|| self.names_used().next().is_some())
    }

    /// Returns the names of columns in a header.
    pub(super) fn names<'a>(&self, line: &'a [u8]) -> Vec<&'a [u8]> {
        let line = line.strip_prefix(b"#").unwrap_or(line);
        match self.separator {
            Separator::Byte(byte) => line.split(|found| *found == byte).map(|name| unquoted(name.trim_ascii())).collect(),
            Separator::Blanks => {
                line.split(|found| matches!(found, b' ' | b'\t')).filter(|name| !name.is_empty()).map(unquoted).collect()
            }
        }
    }

    /// Returns true if no column that should hold a number begins with a digit.
    pub(super) fn looks_like_header(&self, line: &[u8]) -> bool {
        let names = self.names(line);
        self.header.is_none()
            && self.places.iter().filter(|(_, role)| !matches!(role, Role::Op | Role::Stream(_))).all(|(reference, _)| {
                let Reference::At(number) = reference else { return false };
                names.get(number - 1).is_some_and(|field| field.first().is_some_and(u8::is_ascii_alphabetic))
            })
    }

    /// Returns the roles of the columns in order, given the names in the header; the error says what was expected of
    /// the header.
    pub(super) fn steps(&self, header: &[&[u8]]) -> Result<Steps, String> {
        let mut roles = Vec::new();
        for (reference, role) in &self.places {
            let number = match reference {
                Reference::At(number) => *number,
                Reference::Named(name) => column_of(name, header)?,
            };
            if roles.len() < number {
                roles.resize(number, Role::Skip);
            }
            if roles[number - 1] != Role::Skip {
                return Err(format!("one role for each column, and column {number} has two"));
            }
            roles[number - 1] = *role;
        }
        Ok(Steps {
            separator: self.separator,
            columns_min: roles.len(),
            roles,
            columns_max: usize::MAX,
            codes: self.codes.clone(),
            trim_prefix: "",
            is_lenient: true,
        })
    }

    fn names_used(&self) -> impl Iterator<Item = &str> {
        self.places.iter().filter_map(|(reference, _)| match reference {
            Reference::Named(name) => Some(name.as_str()),
            Reference::At(_) => None,
        })
    }

    fn has(&self, test: impl Fn(&Role) -> bool) -> bool {
        self.places.iter().any(|(_, role)| test(role))
    }

    fn item(&mut self, item: &str) -> Result<(), String> {
        let (role, value) = item.split_once('=').ok_or("expected ROLE=COLUMN")?;
        let (column, unit) = value.split_once(':').map_or((value, None), |(column, unit)| (column, Some(unit)));
        match role {
            "sep" => self.separator = separator(value)?,
            "header" => {
                self.header = match value {
                    "yes" => Some(true),
                    "no" => Some(false),
                    _ => return Err("expected yes or no".to_owned()),
                }
            }
            "time" if unit.is_some_and(|unit| unit.eq_ignore_ascii_case(ISO)) => self.place(column, Role::Moment)?,
            "time" => self.place(column, Role::Time(look_up(unit, TIMES, &[ISO])?, false))?,
            "offset" => self.place(column, Role::Offset(look_up(unit, ADDRESSES, &[])?))?,
            "size" => self.place(column, Role::Size(look_up(unit, ADDRESSES, &[])?))?,
            "stream" => self.place(column, Role::Stream(1))?,
            "op" => {
                self.place(column, Role::Op)?;
                if let Some(codes) = unit {
                    self.codes = Codes::Said(codes.split(['/', ',']).map(code).collect::<Result<_, _>>()?);
                }
            }
            _ => return Err(format!("unknown role `{role}`: expected time, op, offset, size, stream, sep or header")),
        }
        Ok(())
    }

    fn place(&mut self, column: &str, role: Role) -> Result<(), String> {
        let reference = match column.parse::<usize>() {
            Ok(number) if (1..=255).contains(&number) => Reference::At(number),
            Ok(number) => return Err(format!("column {number}: expected 1 to 255")),
            Err(_) if column.trim().is_empty() || column.bytes().all(|byte| byte.is_ascii_digit()) => {
                return Err(format!("`{column}` is not a column: expected 1 to 255, or a name in the header"));
            }
            Err(_) => Reference::Named(column.trim().to_owned()),
        };
        let is_time = |role: &Role| matches!(role, Role::Time(..) | Role::Moment);
        let alike =
            |other: &Role| std::mem::discriminant(other) == std::mem::discriminant(&role) || (is_time(other) && is_time(&role));
        if self.places.iter().any(|(known, other)| *known == reference || alike(other)) {
            return Err("said twice".to_owned());
        }
        self.places.push((reference, role));
        Ok(())
    }
}

/// Returns the number of the column called `name`, exactly or but for upper and lower case.
fn column_of(name: &str, header: &[&[u8]]) -> Result<usize, String> {
    let exact = header.iter().position(|found| *found == name.as_bytes());
    let found = exact.or_else(|| header.iter().position(|found| found.eq_ignore_ascii_case(name.as_bytes())));
    found.map(|at| at + 1).ok_or_else(|| {
        let names: Vec<_> = header.iter().map(|found| String::from_utf8_lossy(found)).collect();
        let nearest = kit::problem::nearest(name, names.iter().map(AsRef::as_ref));
        let hint = nearest.map_or_else(String::new, |nearest| format!(" (did you mean `{nearest}`?)"));
        format!("a header with a column called `{name}`{hint}")
    })
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

/// Returns the value of a unit; `others` are further names that the error lists.
fn look_up<T: Copy>(unit: Option<&str>, units: &[(&str, T)], others: &[&str]) -> Result<T, String> {
    let known = || units.iter().map(|(name, _)| *name).filter(|name| name.is_ascii());
    let names = || known().chain(others.iter().copied()).collect::<Vec<_>>().join(", ");
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

    /// Reads the lines after the first with a table of which the first is the header.
    fn read_all(description: &str, text: &str) -> Result<Vec<Raw>, String> {
        let mut parser = Table::parse(description)?.parser();
        let mut out = Vec::new();
        for line in text.lines() {
            let mut raw = Raw::default();
            if parser.line(line.as_bytes(), &mut raw).map_err(|fault| fault.complaint())? == Line::Request {
                out.push(raw);
            }
        }
        Ok(out)
    }

    #[test]
    fn columns_are_found_by_their_names() {
        let text = "Disk,Type,Timestamp,\"Length\",OFFSET\n7,READ,1.5,4KiB,1 MiB\n7,wRITE,2,\"512\",8\n7,Unmap,3, 64 KiB ,0\n";
        let requests = read_all("time=Timestamp:μs,op=type,offset=offset:sector,size=Length:B,stream=Disk", text).expect("reads");
        let found: Vec<_> = requests.iter().map(|raw| (raw.at_ns, raw.op, raw.offset, raw.length, raw.stream)).collect();
        assert_eq!(
            found,
            [(1500, Op::Read, 1 << 20, 4096, (0, 1)), (2000, Op::Write, 4096, 512, (0, 1)), (3000, Op::Trim, 0, 65_536, (0, 1))]
        );
        let blanks = read_all("sep=blank,time=t:s,op=o,offset=a:B,size=n:B", "# t o a n\n1 r 0 512\n").expect("reads");
        assert_eq!((blanks.len(), blanks[0].at_ns), (1, 1_000_000_000));
        let message = read_all("time=Timestmp:us,op=Type,offset=OFFSET:B,size=Length:B", text).expect_err("misspelt");
        assert!(message.contains("a column called `Timestmp` (did you mean `Timestamp`?)"), "{message}");
        let message = read_all("time=Timestamp:us,op=Type,offset=OFFSET:B,size=Disk:B,stream=1", text).expect_err("two roles");
        assert!(message.contains("column 1 has two"), "{message}");
        let message = read_all("time=3:us,op=2,offset=5:B,size=4:B", text).expect_err("a header");
        assert!(message.contains("add header=yes, or name the columns"), "{message}");
        let message = read_all("time=3:us,op=2,offset=5:B,size=4:B", "7,x,1.5,1,1\n").expect_err("no header");
        assert!(message.contains("`flush` in upper or lower case") && !message.contains("header=yes"), "{message}");
        assert!(read_all("time=3:us,op=2,offset=5:B,size=4:B", "7,w,1,4parsec,1\n").expect_err("a unit").contains("4KiB"));
    }

    #[test]
    fn times_of_the_calendar_are_read() {
        let text =
            "when,op,at,n\n2024-05-01T12:00:00.25Z,r,0,512\n2024-05-01 14:00:01+02:00,r,0,512\n1714564802.5 +0200,r,0,512\n";
        let times: Vec<u64> =
            read_all("time=when:iso,op=op,offset=at:B,size=n:B", text).expect("reads").iter().map(|raw| raw.at_ns).collect();
        assert_eq!(times.iter().map(|at| at - times[0]).collect::<Vec<_>>(), [0, 750_000_000, 2_250_000_000]);
        let message = read_all("time=1:iso,op=2,offset=3:B,size=4:B", "5 May,r,0,512\n").expect_err("no time");
        assert!(message.contains("found `5 May`, expected an ISO time such as 2024-05-01T12:00:00.25Z"), "{message}");
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
            ("time=1:us,time=2:iso", "said twice"),
            ("time=:us", "not a column"),
            ("header=no,time=T:us,op=2,offset=3:B,size=4:B", "header=no, and `T` is the name"),
            ("", "no column for time"),
        ] {
            let message = Table::parse(text).expect_err(text);
            assert!(message.contains(reason), "{text}: {message}");
        }
    }
}
