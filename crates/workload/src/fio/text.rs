//! Text of a job file: its lines, those of the files that it includes, and `${VARIABLES}` in their place.

use kit::Problems;
use std::collections::BTreeMap;

/// Surroundings of a job file: files beside it, and variables.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// Keys to leave out (`--ignore`).
    pub ignore: &'a [String],
    /// Variables as `NAME=VALUE` (`--var`); they take precedence over the environment.
    pub variables: &'a [String],
    /// Function that returns the value of an environment variable.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// Function that returns the text of a file named by `include`, or why it cannot be read.
    pub include: &'a dyn Fn(&str) -> Result<String, String>,
}

impl Surroundings<'static> {
    /// Surroundings of a job file that stands alone.
    pub const NONE: Surroundings<'static> = Surroundings {
        ignore: &[],
        variables: &[],
        environment: &|_| None,
        include: &|_| Err("the job file is no file on disk, beside which it could lie".to_owned()),
    };
}

/// Line of a job file, without comment.
#[derive(Clone, Debug)]
pub struct Line {
    /// `FILE:LINE`, for messages.
    pub place: String,
    /// Text of the line; never empty.
    pub code: String,
}

/// Most files that a job file may include, one inside the other or one after the other.
const INCLUDES_MAX: usize = 64;

/// Reader of a job file and its includes.
pub struct Reader<'a> {
    surroundings: Surroundings<'a>,
    variables: BTreeMap<&'a str, &'a str>,
    lines: Vec<Line>,
    /// Text with everything put in, and true if anything was.
    standalone: (String, bool),
    /// Files included so far.
    included: usize,
    /// Variables taken from the environment, with their values.
    pub from_environment: BTreeMap<String, String>,
    /// Names of the variables that occur.
    used: Vec<String>,
}

impl<'a> Reader<'a> {
    /// Returns a reader; a variable that is no `NAME=VALUE` is added to `problems`.
    pub fn new(surroundings: Surroundings<'a>, problems: &mut Problems) -> Reader<'a> {
        let mut variables = BTreeMap::new();
        for given in surroundings.variables {
            match given.split_once('=') {
                Some((name, value)) if is_name(name) => {
                    variables.insert(name, value);
                }
                _ => problems.add("var", format!("`{given}`: expected NAME=VALUE, such as BS=4k")),
            }
        }
        let from_environment = BTreeMap::new();
        let standalone = (String::new(), false);
        Reader { surroundings, variables, lines: Vec::new(), standalone, included: 0, from_environment, used: Vec::new() }
    }

    /// Returns the lines of the job file called `name`, with those of its includes in their place.
    pub fn read(&mut self, name: &str, text: &str, problems: &mut Problems) -> Vec<Line> {
        self.add(name, text, false, problems);
        for name in self.variables.keys().filter(|name| !self.used.iter().any(|used| used == *name)) {
            problems.add("var", format!("`{name}` does not occur in the job file: expected the name of a `${{VARIABLE}}` in it"));
        }
        std::mem::take(&mut self.lines)
    }

    fn add(&mut self, name: &str, text: &str, is_included: bool, problems: &mut Problems) {
        for (index, raw) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
            let code = without_comment(raw);
            if code.is_empty() {
                self.keep(raw);
                continue;
            }
            let place = format!("{name}:{}", index + 1);
            if let Some(file) = code.strip_prefix("include ").map(str::trim) {
                if self.surroundings.ignore.iter().any(|key| key == "include") {
                    self.keep(raw);
                } else {
                    self.standalone.1 = true;
                    self.include(&place, file, problems);
                }
                continue;
            }
            if is_included && code.starts_with('[') {
                let what = format!(
                    "`{code}`: an included file has no sections: expected keys alone, which belong to the section that includes it"
                );
                problems.add(place, what);
                continue;
            }
            let expanded = self.expanded(&place, code, problems);
            let is_expanded = expanded != code;
            self.standalone.1 |= is_expanded;
            self.keep(if is_expanded { &expanded } else { raw });
            let code = expanded;
            self.lines.push(Line { place, code });
        }
    }

    fn include(&mut self, place: &str, file: &str, problems: &mut Problems) {
        self.included += 1;
        if self.included > INCLUDES_MAX {
            if self.included == INCLUDES_MAX + 1 {
                problems.add(place, format!("include: more than {INCLUDES_MAX} files: expected no file that includes itself"));
            }
            return;
        }
        match (self.surroundings.include)(file) {
            Ok(text) => self.add(file, &text, true, problems),
            Err(why) => {
                problems.add(place, format!("include: `{file}` cannot be read: {why}: expected a file beside the job file"));
            }
        }
    }

    /// Returns a line with the values of its variables, as fio puts them in: to the right of `=` only.
    fn expanded(&mut self, place: &str, code: &str, problems: &mut Problems) -> String {
        let Some((key, value)) = code.split_once('=').filter(|(_, value)| value.contains("${")) else {
            return code.to_owned();
        };
        let (mut out, mut rest) = (format!("{key}="), value);
        while let Some((before, after)) = rest.split_once("${") {
            out += before;
            let Some((name, after)) = after.split_once('}') else {
                problems.add(place, format!("`${{{after}` has no end: expected `${{NAME}}`"));
                return out;
            };
            match self.value(name) {
                // In fio, too, a comment has been left out before.
                Some(value) if value.contains([';', '#', '\n', '\r']) => problems.add(
                    place,
                    format!("variable `{name}` has the value `{}`: expected no comment and one line", value.escape_debug()),
                ),
                Some(value) => out += &value,
                None => problems.add(
                    place,
                    format!("variable `{name}` has no value: expected `--var {name}=VALUE`, or `{name}` in the environment"),
                ),
            }
            rest = after;
        }
        out + rest
    }

    fn keep(&mut self, line: &str) {
        self.standalone.0 += line;
        self.standalone.0.push('\n');
    }

    /// Returns the text of the job file with variables and includes in their places; `None` if it has none of them.
    pub fn standalone(self) -> Option<String> {
        let (text, is_changed) = self.standalone;
        is_changed.then_some(text)
    }

    fn value(&mut self, name: &str) -> Option<String> {
        if !self.used.iter().any(|used| used == name) {
            self.used.push(name.to_owned());
        }
        if let Some(value) = self.variables.get(name) {
            return Some((*value).to_owned());
        }
        let value = (self.surroundings.environment)(name).filter(|value| !value.is_empty() && is_name(name))?;
        self.from_environment.insert(name.to_owned(), value.clone());
        Some(value)
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Removes a comment (`;` or `#`, anywhere in the line, as fio does) and surrounding blanks.
fn without_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or("").trim()
}
