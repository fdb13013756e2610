//! Descriptions of tables (`--columns`), and tables that are read by them.

use crate::text;
use crate::traces::assert_parsed;
use crate::{Number, text::Change};
use arbitrary::Arbitrary;
use workload::Input;
use workload::trace::format::columns::Table;
use workload::trace::{self, Options};

/// Items of a description, and lines of a table.
#[derive(Arbitrary, Debug)]
struct Described {
    items: Vec<Item>,
    lines: Vec<Vec<Cell>>,
}

#[derive(Arbitrary, Debug)]
enum Item {
    Role { role: u8, column: Column, unit: Option<u8> },
    Codes(Column, Vec<(u8, u8)>),
    Separator(u8),
    Header(bool),
}

#[derive(Arbitrary, Debug)]
enum Column {
    /// The number under which a whole description has the role.
    Usual,
    At(u8),
    Named(u8),
    Any(Number),
}

#[derive(Arbitrary, Debug)]
enum Cell {
    Number(Number),
    /// A number with a unit.
    Size(Number, u8),
    Word(u8),
    Moment(u8, Vec<Change>),
}

const ROLES: [&str; 5] = ["time", "op", "offset", "size", "stream"];
const UNITS: [&str; 13] = ["s", "ms", "us", "ns", "100ns", "filetime", "iso", "B", "sector", "page", "KiB", "µs", "x"];
const WORDS: [&str; 14] =
    ["R", "W", "read", "Write", "trim", "flush", "Time", "Type", "Offset", "Size", "\"quoted\"", "WS", "", "4KiB"];
const SEPARATORS: [&str; 6] = [",", "tab", "blank", ";", " ", "|"];
const MOMENTS: [&str; 6] = [
    "2020-02-29T23:59:60.123456789Z",
    "1970-01-01 00:00:00",
    "2024-12-31T12:00:00+05:30",
    "1398405332.080820638 +0200",
    "2021-06-01 10:11:12,345",
    "2021-06-01T10:11:12",
];

/// Checks a description, and the table that it describes: in a text, the first line is the description.
pub fn check(input: &[u8]) {
    if let Some(described) = text::typed::<Described>(input) {
        let items: Vec<String> = described.items.iter().map(Item::text).collect();
        let separator = described.items.iter().rev().find_map(|item| match item {
            Item::Separator(index) => Some(SEPARATORS[usize::from(*index) % SEPARATORS.len()]),
            _ => None,
        });
        let separator = match separator {
            Some("tab") => "\t",
            Some("blank") => " ",
            Some(other) => other,
            None => ",",
        };
        let line = |cells: &Vec<Cell>| cells.iter().map(Cell::text).collect::<Vec<_>>().join(separator);
        check_table(&items.join(","), described.lines.iter().map(line).collect::<Vec<_>>().join("\n").as_bytes());
    } else if let Some(text) = text::plain(input) {
        let (description, table) = text.split_once('\n').unwrap_or((text, ""));
        check_table(description, table.as_bytes());
    }
}

impl Item {
    fn text(&self) -> String {
        match self {
            Item::Role { role, column, unit } => {
                let role = usize::from(*role) % ROLES.len();
                let unit = unit.map_or_else(String::new, |unit| format!(":{}", UNITS[usize::from(unit) % UNITS.len()]));
                format!("{}={}{unit}", ROLES[role], column.text(role))
            }
            Item::Codes(column, codes) => {
                let codes: Vec<String> = codes.iter().map(|(word, op)| code(*word, *op)).collect();
                format!("op={}:{}", column.text(1), codes.join("/"))
            }
            Item::Separator(index) => format!("sep={}", SEPARATORS[usize::from(*index) % SEPARATORS.len()]),
            Item::Header(yes) => format!("header={}", if *yes { "yes" } else { "no" }),
        }
    }
}

fn code(word: u8, op: u8) -> String {
    let word = WORDS[usize::from(word) % WORDS.len()];
    format!("{word}={}", ["read", "write", "trim", "flush"][usize::from(op) % 4])
}

impl Column {
    fn text(&self, role: usize) -> String {
        match self {
            Column::Usual => (role + 1).to_string(),
            Column::At(number) => number.to_string(),
            Column::Named(index) => WORDS[usize::from(*index) % WORDS.len()].to_owned(),
            Column::Any(number) => number.to_string(),
        }
    }
}

impl Cell {
    fn text(&self) -> String {
        match self {
            Cell::Number(number) => number.to_string(),
            Cell::Size(number, unit) => format!("{number}{}", ["B", "KiB", "MB", "GiB", " B"][usize::from(*unit) % 5]),
            Cell::Word(index) => WORDS[usize::from(*index) % WORDS.len()].to_owned(),
            Cell::Moment(index, changes) => text::renumbered(MOMENTS[usize::from(*index) % MOMENTS.len()], changes),
        }
    }
}

fn check_table(description: &str, table: &[u8]) {
    match Table::parse(description) {
        Ok(read) => {
            assert!(read.unit_ns().is_none_or(|unit| (1..=1_000_000_000).contains(&unit)), "{description}");
            let lines: Vec<&[u8]> = table.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
            assert_parsed(&mut read.parser(), &lines);
            assert_eq!(Table::parse(description), Ok(read), "{description}: it is read alike twice");
        }
        Err(why) => assert!(why.contains("expected") || why.contains("said twice"), "{description}: {why}"),
    }
    if table.len() < 64 || table.len().is_multiple_of(16) {
        let options = Options { columns: Some(description.to_owned()), ..Options::default() };
        if let Err(problems) = trace::info(&Input::text("f", table), &options) {
            text::assert_told(&problems);
        }
    }
}
