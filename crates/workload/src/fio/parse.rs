//! Lines of a job file: sections, keys, comments, and the lists of honoured and ignored keys.

use kit::{Problem, Problems};

/// Keys that affect the generated requests.
pub const HONOURED: &[&str] = &[
    "rw",
    "bs",
    "blocksize",
    "bssplit",
    "iodepth",
    "numjobs",
    "size",
    "io_size",
    "number_ios",
    "offset",
    "runtime",
    "time_based",
    "ramp_time",
    "rwmixread",
    "rwmixwrite",
    "random_distribution",
    "norandommap",
    "writefua",
    "randseed",
    "rate",
    "rate_iops",
    "thinktime",
    "startdelay",
    "stonewall",
];

/// Keys that are accepted and ignored, because they have no meaning for a simulated drive; only `ioengine=sync` and
/// `ioengine=psync` have an effect (one request in flight).
pub const IGNORED: &[&str] = &[
    "ioengine",
    "filename",
    "direct",
    "group_reporting",
    "name",
    "description",
    "invalidate",
    "thread",
    "gtod_reduce",
    "cpus_allowed",
    "lat_percentiles",
];

/// Keys that need no value.
const BARE: &[&str] = &[
    "time_based",
    "norandommap",
    "stonewall",
    "group_reporting",
    "thread",
    "gtod_reduce",
    "direct",
    "invalidate",
    "lat_percentiles",
];

/// fio keys that are refused, each with the honoured key that the message suggests.
const ALIASES: &[(&str, &str)] = &[
    ("readwrite", "rw"),
    ("io_limit", "io_size"),
    ("start_delay", "startdelay"),
    ("wait_for_previous", "stonewall"),
    ("timeout", "runtime"),
    ("blocksize_range", "bssplit"),
    ("bsrange", "bssplit"),
];

/// Line `key = value`.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Line number, from 1.
    pub line: usize,
    /// Key, one of [`HONOURED`] or [`IGNORED`].
    pub key: &'a str,
    /// Value, if any.
    pub value: Option<&'a str>,
}

/// Section of a job file, `[name]`.
#[derive(Clone, Debug)]
pub struct Section<'a> {
    /// Name of the section.
    pub name: &'a str,
    /// Line number of its header.
    pub line: usize,
    /// Its `key = value` lines.
    pub entries: Vec<Entry<'a>>,
}

/// Parsed job file.
#[derive(Debug, Default)]
pub struct File<'a> {
    /// Sections in the order of the file, including `[global]`.
    pub sections: Vec<Section<'a>>,
    /// Ignored keys that occur, in the order of [`IGNORED`].
    pub ignored: Vec<&'static str>,
}

/// Parses the lines of `text`; each unknown key is reported as a separate problem.
pub fn parse<'a>(name: &str, text: &'a str, problems: &mut Problems) -> File<'a> {
    let mut file = File::default();
    let mut refused = false;
    for (index, raw) in text.lines().enumerate() {
        let (line, code) = (index + 1, without_comment(raw));
        if code.is_empty() {
            continue;
        }
        let place = format!("{name}:{line}");
        if let Some(rest) = code.strip_prefix('[') {
            match rest.strip_suffix(']').map(str::trim) {
                Some(title) if !title.is_empty() => file.sections.push(Section { name: title, line, entries: Vec::new() }),
                _ => problems.add(place, format!("`{code}` is not a section header such as `[job]`")),
            }
            continue;
        }
        let (key, value) = match code.split_once('=') {
            Some((key, value)) => (key.trim(), Some(value.trim())),
            None => (code, None),
        };
        match check_key(&place, key, value) {
            Err(problem) => {
                refused |= !HONOURED.contains(&key) && !IGNORED.contains(&key);
                problems.0.push(problem);
            }
            Ok(()) => match file.sections.last_mut() {
                Some(section) => section.entries.push(Entry { line, key, value }),
                None => problems
                    .add(place, format!("`{key}` stands before the first section: expected `[global]` or `[job]` above it")),
            },
        }
    }
    if refused {
        problems.add(name, format!("keys that are honoured: {}; read and ignored: {}", HONOURED.join(", "), IGNORED.join(", ")));
    }
    let used = |key: &&'static str| file.sections.iter().any(|section| section.entries.iter().any(|entry| entry.key == *key));
    file.ignored = IGNORED.iter().copied().filter(used).collect();
    file
}

/// Removes a comment (`;` or `#`, anywhere in the line, as fio does) and surrounding blanks.
fn without_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or("").trim()
}

fn check_key(place: &str, key: &str, value: Option<&str>) -> Result<(), Problem> {
    let known = HONOURED.contains(&key) || IGNORED.contains(&key);
    if known {
        return match value {
            None if !BARE.contains(&key) => Err(Problem::new(place, format!("`{key}` needs a value"))),
            Some("") => Err(Problem::new(place, format!("`{key}` has an empty value"))),
            _ => Ok(()),
        };
    }
    let nearest = ALIASES.iter().find(|(alias, _)| *alias == key).map(|(_, honoured)| *honoured);
    let nearest = nearest.or_else(|| kit::problem::nearest(key, HONOURED.iter().chain(IGNORED).copied()));
    let mut problem =
        Problem::new(place, format!("fio key `{key}` is refused: it would change the result, and is not supported"));
    problem.nearest = nearest.map(str::to_owned);
    Err(problem)
}
