//! fio job files, with included files and variables.

use crate::Number;
use crate::text;
use crate::workload_checks::{Reach, assert_requests};
use arbitrary::Arbitrary;
use workload::Target;
use workload::fio::{self, keys, text::Surroundings};

const MIB: u64 = 1 << 20;

#[derive(Arbitrary, Debug)]
struct JobFile {
    zoned: bool,
    capacity: u8,
    ignored: Option<u8>,
    global: Vec<Entry>,
    sections: Vec<Vec<Entry>>,
}

#[derive(Arbitrary, Debug)]
struct Entry {
    key: u8,
    value: Value,
}

#[derive(Arbitrary, Debug)]
enum Value {
    None,
    Number(Number, u8),
    Two(Number, u8, Number, u8, u8),
    Word(u8),
    /// A word, a colon, and a number.
    Of(u8, Number, u8),
    /// Sizes or accesses with shares.
    Split(Vec<(Number, u8, Number)>, u8),
    Variable(bool),
}

const SUFFIXES: [&str; 16] = ["", "k", "m", "g", "t", "KiB", "kb", "z", "%", "s", "ms", "us", "d", "b", "p", "KB"];
const WORDS: [&str; 29] = [
    "read",
    "write",
    "randread",
    "randwrite",
    "rw",
    "randrw",
    "trim",
    "randtrim",
    "trimwrite",
    "zipf",
    "pareto",
    "normal",
    "zoned",
    "zoned_abs",
    "random",
    "strided",
    "zbd",
    "sequential",
    "identical",
    "poisson",
    "linear",
    "complete",
    "issue",
    "inline",
    "offload",
    "job0",
    "job1",
    "psync",
    "1",
];
const JOINS: [&str; 5] = [",", ":", "-", "/", "."];

impl Value {
    fn text(&self) -> String {
        let suffix = |index: &u8| SUFFIXES[usize::from(*index) % SUFFIXES.len()];
        let word = |index: &u8| WORDS[usize::from(*index) % WORDS.len()];
        match self {
            Value::None => String::new(),
            Value::Number(number, unit) => format!("={number}{}", suffix(unit)),
            Value::Two(first, one, second, other, join) => {
                let join = JOINS[usize::from(*join) % JOINS.len()];
                format!("={first}{}{join}{second}{}", suffix(one), suffix(other))
            }
            Value::Word(index) => format!("={}", word(index)),
            Value::Of(index, number, unit) => format!("={}:{number}{}", word(index), suffix(unit)),
            Value::Split(parts, kind) => {
                let part = |(size, unit, share): &(Number, u8, Number)| format!("{size}{}/{share}", suffix(unit));
                let kind = ["", "zoned:", "zoned_abs:", ","][usize::from(*kind) % 4];
                format!("={kind}{}", parts.iter().map(part).collect::<Vec<_>>().join(":"))
            }
            Value::Variable(known) => format!("=${{{}}}", if *known { "SIZE" } else { "OTHER" }),
        }
    }
}

fn key(index: u8) -> &'static str {
    let count = keys::honoured_names().count();
    // The last numbers are names that are refused or ignored.
    let index = usize::from(index);
    if index < 240 {
        return keys::honoured_names().nth(index % count).expect("it is below their number");
    }
    keys::names().nth(index * 7 % keys::names().count()).expect("it is below their number")
}

/// Checks a job file: in a text, the lines behind a line `---` are the file that it may include.
pub fn check(input: &[u8]) {
    if let Some(file) = text::typed::<JobFile>(input) {
        let entries = |entries: &[Entry]| -> String {
            entries.iter().map(|entry| format!("{}{}\n", key(entry.key), entry.value.text())).collect()
        };
        let mut whole = format!("[global]\n{}", entries(&file.global));
        for (index, section) in file.sections.iter().enumerate() {
            whole += &format!("[job{index}]\n{}", entries(section));
        }
        let ignored: Vec<String> = file.ignored.map(|index| key(index).to_owned()).into_iter().collect();
        let user_bytes = MIB << (file.capacity % 24);
        let zone_bytes = file.zoned.then(|| (user_bytes / 8).max(1 << 16));
        check_file(&whole, "size=1m\n", &Target { user_bytes, zone_bytes }, &ignored);
    } else if let Some(text) = text::plain(input) {
        let (whole, included) = text.split_once("\n---\n").unwrap_or((text, ""));
        for zone_bytes in [None, Some(8 * MIB)] {
            check_file(whole, included, &Target { user_bytes: 64 * MIB, zone_bytes }, &[]);
        }
    }
}

fn check_file(text: &str, included: &str, drive: &Target, ignore: &[String]) {
    let surroundings = Surroundings {
        ignore,
        variables: &["SIZE=64k".to_owned()],
        environment: &|_| None,
        include: &|_| Ok(included.to_owned()),
    };
    match fio::open_in("f", text, drive, 1, surroundings) {
        Ok(workload) => {
            if let Some(alone) = &workload.standalone {
                let again = fio::open_in("f", alone, drive, 1, Surroundings { ignore, ..Surroundings::NONE });
                assert!(again.is_ok(), "the file with everything in its place: {}", again.err().unwrap_or_default());
            }
            assert_requests(workload, &Reach { user_bytes: drive.user_bytes, requests: 48 });
        }
        Err(problems) => text::assert_told(&problems),
    }
}
