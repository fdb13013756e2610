//! Problems of an input. Each states its place, what was found there and what is accepted.

use std::fmt;
use strsim::osa_distance;

/// One problem of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Place of the problem: a file and line, a field, an option.
    pub place: String,
    /// Clause that says what was found there and what is accepted.
    pub complaint: String,
    /// Nearest valid name, if the problem is an unknown name.
    pub nearest: Option<String>,
}

impl Problem {
    /// Returns a problem at `place`.
    pub fn new(place: impl Into<String>, complaint: impl Into<String>) -> Problem {
        Problem { place: place.into(), complaint: complaint.into(), nearest: None }
    }

    /// Returns the problem of an unknown `name` at `place`, with the nearest of the `valid` names. Up to 40 valid names
    /// are listed.
    pub fn unknown<'a>(place: impl Into<String>, what: &str, name: &str, valid: impl IntoIterator<Item = &'a str>) -> Problem {
        let valid: Vec<&str> = valid.into_iter().collect();
        let list = if valid.len() <= 40 { format!(": expected one of {}", valid.join(", ")) } else { String::new() };
        Problem {
            place: place.into(),
            complaint: format!("unknown {what} `{name}`{list}"),
            nearest: nearest(name, valid).map(str::to_owned),
        }
    }

    /// Returns the complaint with the nearest name but without the place, for messages that state the place themselves.
    pub fn detail(&self) -> String {
        match &self.nearest {
            Some(name) => format!("{} (did you mean `{name}`?)", self.complaint),
            None => self.complaint.clone(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.detail())
    }
}

/// All problems of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// Returns a single problem at `place`.
    pub fn one(place: impl Into<String>, complaint: impl Into<String>) -> Problems {
        Problems(vec![Problem::new(place, complaint)])
    }

    /// Adds a problem at `place`.
    pub fn add(&mut self, place: impl Into<String>, complaint: impl Into<String>) {
        self.0.push(Problem::new(place, complaint));
    }

    /// Returns `value` if there is no problem, and the problems otherwise.
    pub fn or<T>(self, value: T) -> Result<T, Problems> {
        if self.0.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Problems {
        Problems(vec![problem])
    }
}

/// Returns the name in `valid` that is closest to `name`, if their edit distance (insertions, deletions, replacements
/// and swaps of neighbours) is at most a third of the characters of `name` (or 2, if that is more).
pub fn nearest<'a>(name: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = name.chars().count();
    let limit = (length / 3).max(2);
    valid
        .into_iter()
        // Names that differ in length by more are that far apart. A name may be as long as its file.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= limit)
        .map(|candidate| (osa_distance(name, candidate), candidate))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, c)| c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        let fields = ["channels", "chips_per_channel", "page_size", "read_time"];
        assert_eq!(nearest("channles", fields), Some("channels"));
        assert_eq!(nearest("pagesize", fields), Some("page_size"));
        assert_eq!(nearest("flux_capacitor", fields), None);
        assert_eq!(nearest("channelschan", fields), Some("channels"), "four letters more, of twelve");
        assert_eq!(nearest(&"x".repeat(16 << 20), std::iter::repeat_n("channels", 1000)), None, "at once");
    }

    #[test]
    fn a_problem_says_where_what_and_what_would_be_right() {
        let problem = Problem::unknown("drive.toml:3: flash", "field", "channles", ["channels", "cell"]);
        assert_eq!(
            problem.to_string(),
            "drive.toml:3: flash: unknown field `channles`: expected one of channels, cell (did you mean `channels`?)"
        );
    }
}
