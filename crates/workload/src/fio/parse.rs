//! Lines of a job file: sections, keys, comments.

use super::keys::{self, Key, Standing};
use super::text::Line;
use kit::{Problem, Problems};

/// Line `key = value`.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// `FILE:LINE`, for messages.
    pub place: &'a str,
    /// Key that is honoured or ignored, by its name in [`keys`].
    pub key: &'static str,
    /// Value, if any.
    pub value: Option<&'a str>,
}

/// Section of a job file, `[name]`.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// Name of the section.
    pub name: &'a str,
    /// `FILE:LINE` of its header.
    pub place: &'a str,
    /// Its `key = value` lines.
    pub entries: Vec<Entry<'a>>,
}

/// Parsed job file.
#[derive(Debug, Default)]
pub struct File<'a> {
    /// Sections in the order of the file, including `[global]`.
    pub sections: Vec<Section<'a>>,
    /// Ignored keys that occur, in the order of the table.
    pub ignored: Vec<&'static str>,
    /// Keys that occur and are left out because the user asked for it, in the order of the file.
    pub left_out: Vec<&'a str>,
}

/// Parses the lines of the job file called `name`; each refused key is reported as a separate problem. Keys in `ignore`
/// are left out.
pub fn parse<'a>(name: &str, lines: &'a [Line], ignore: &[String], problems: &mut Problems) -> File<'a> {
    let mut file = File::default();
    let mut refused = false;
    for Line { place, code } in lines {
        if let Some(rest) = code.strip_prefix('[') {
            match rest.strip_suffix(']').map(str::trim) {
                Some(title) if !title.is_empty() => file.sections.push(Section { name: title, place, entries: Vec::new() }),
                _ => problems.add(place, format!("`{code}` is not a section header: expected one such as `[job]`")),
            }
            continue;
        }
        let (written, value) = match code.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (code.as_str(), None),
        };
        if is_left_out(written, ignore) {
            if !file.left_out.contains(&written) {
                file.left_out.push(written);
            }
            continue;
        }
        match check_key(place, written, value) {
            Err(fault) => {
                refused |= fault.is_refusal;
                problems.0.push(fault.problem);
            }
            Ok(key) => match file.sections.last_mut() {
                Some(section) => section.entries.push(Entry { place, key, value }),
                None => problems
                    .add(place, format!("`{written}` stands before the first section: expected `[global]` or `[job]` above it")),
            },
        }
    }
    if refused {
        let honoured: Vec<&str> = keys::honoured_names().collect();
        problems.add(
            name,
            format!(
                "keys that are honoured: {}; docs/reference/workloads.md lists all keys; `--ignore KEY,...` leaves keys out",
                honoured.join(", ")
            ),
        );
    }
    check_ignore(name, ignore, &file, problems);
    let used = |key: &&'static str| file.sections.iter().any(|section| section.entries.iter().any(|entry| entry.key == *key));
    let silent = |key: &&'static str| !keys::honoured_names().any(|name| name == *key);
    let mut ignored: Vec<&'static str> = keys::names().filter(silent).filter(used).collect();
    ignored.dedup();
    file.ignored = ignored;
    file
}

/// Returns true if the user asked to leave the key out, under any of its names.
fn is_left_out(written: &str, ignore: &[String]) -> bool {
    let canonical = |name: &str| keys::find(name).map(|key| key.name);
    ignore.iter().any(|name| name == written || canonical(name).is_some_and(|key| canonical(written) == Some(key)))
}

/// Refuses names in `ignore` that are neither keys of fio nor in the file: they are misspelt.
fn check_ignore(name: &str, ignore: &[String], file: &File<'_>, problems: &mut Problems) {
    for key in ignore.iter().filter(|key| keys::find(key).is_none() && !file.left_out.contains(&key.as_str())) {
        let mut problem =
            Problem::new("ignore", format!("`{key}` is no key of fio and not in {name}: expected keys of the job file"));
        problem.nearest = kit::problem::nearest(key, keys::names()).map(str::to_owned);
        problems.0.push(problem);
    }
}

/// Fault of a key.
struct Fault {
    problem: Problem,
    /// True if the key or its value is refused, false if the value is missing.
    is_refusal: bool,
}

/// Returns the name in the table of the key that the file calls `written`, if it may stand there with this value.
fn check_key(place: &str, written: &str, value: Option<&str>) -> Result<&'static str, Fault> {
    let Some(key) = keys::find(written) else {
        let mut problem = Problem::new(
            place,
            format!("fio key `{written}` is refused: it is not known here: expected a key of docs/reference/workloads.md"),
        );
        problem.nearest = kit::problem::nearest(written, keys::names()).map(str::to_owned);
        return Err(Fault { problem, is_refusal: true });
    };
    match key.standing {
        Standing::Refused(reason) => Err(refusal(place, written, &key, reason)),
        Standing::Off(values, reason) if !value.is_some_and(|value| values.contains(&value)) => {
            Err(refusal(place, written, &key, &format!("{reason} (expected: {written}={})", values.join(" or "))))
        }
        Standing::Ignored(_) | Standing::Off(..) => Ok(key.name),
        Standing::Honoured(_) => {
            let complaint = match value {
                None if !key.is_flag => format!("`{written}` has no value: expected `{written}=VALUE`"),
                Some("") => format!("`{written}` has an empty value: expected `{written}=VALUE`"),
                _ => return Ok(key.name),
            };
            Err(Fault { problem: Problem::new(place, complaint), is_refusal: false })
        }
    }
}

fn refusal(place: &str, written: &str, key: &Key, reason: &str) -> Fault {
    let mut problem = Problem::new(place, format!("fio key `{written}` is refused: {reason}"));
    problem.nearest = (!key.instead.is_empty()).then(|| key.instead.to_owned());
    Fault { problem, is_refusal: true }
}
