//! Currents that a die draws during an operation, as steps over time.

use kit::{Current, Nanos, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Largest number of steps of a waveform.
const STEPS_MAX: usize = 4096;
/// Largest current of a step.
pub(super) const CURRENT_MAX: Current = Current(10_000_000);

/// Current drawn from the supply of the flash during the array phase of an operation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
// For a variant without a comment, the schema uses the comment of its parameters.
#[allow(missing_docs)]
pub enum Waveform {
    Constant(Constant),
    Pulses(Pulses),
    Steps(Steps),
    File(WaveformFile),
}

/// A constant current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// The current.
    pub current: Current,
}

/// Pulses that repeat for as long as the operation takes, such as those of ISPP: a longer operation has more of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pulses {
    /// Current between the pulses.
    pub base: Current,
    /// Current of a pulse.
    pub peak: Current,
    /// Length of a pulse.
    pub width: Nanos,
    /// Time from the start of a pulse to that of the next. The first pulse begins with the operation.
    pub period: Nanos,
}

/// Steps, stretched to the time that the array phase takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    /// Start of each step and its current, which lasts until the next step.
    pub steps: Vec<Step>,
    /// Length of the waveform; its last step ends there.
    pub length: Nanos,
}

/// A step of a current.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Start of the step.
    pub at: Nanos,
    /// Current from there on.
    pub current: Current,
}

/// Steps in a file, stretched like those of `steps`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WaveformFile {
    /// Path of a CSV file with the columns `time_us` and `current_ma`, one row for each step. The last row ends the
    /// waveform; its current does not count.
    pub file: String,
}

/// One waveform for all page types of a cell, or one for each (LSB first).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Waveforms {
    /// One for all page types.
    One(Waveform),
    /// One for each page type.
    Each(Vec<Waveform>),
}

impl Waveforms {
    /// Returns the waveform of a page type.
    pub fn of(&self, page_type: u32) -> &Waveform {
        match self {
            Waveforms::One(waveform) => waveform,
            Waveforms::Each(all) => &all[page_type as usize % all.len()],
        }
    }

    fn all_mut(&mut self) -> &mut [Waveform] {
        match self {
            Waveforms::One(waveform) => std::slice::from_mut(waveform),
            Waveforms::Each(all) => all,
        }
    }

    /// Returns true if a waveform is in a file that has not been read.
    pub(super) fn names_file(&self) -> bool {
        self.all().iter().any(|waveform| matches!(waveform, Waveform::File(_)))
    }

    pub(super) fn all(&self) -> &[Waveform] {
        match self {
            Waveforms::One(waveform) => std::slice::from_ref(waveform),
            Waveforms::Each(all) => all,
        }
    }

    /// Replaces files by the steps that they hold; `file` returns the text of a file.
    pub(super) fn read(&mut self, place: &str, file: &dyn Fn(&str) -> Result<String, String>) -> Result<(), Problems> {
        for waveform in self.all_mut() {
            if let Waveform::File(WaveformFile { file: path }) = waveform {
                let text = file(path).map_err(|why| Problems::one(place, format!("{path}: {why}")))?;
                let steps = Steps::parse(&text).map_err(|(line, why)| Problems::one(place, format!("{path}:{line}: {why}")))?;
                *waveform = Waveform::Steps(steps);
            }
        }
        Ok(())
    }

    /// Adds what is wrong with the waveforms of the field `place`; `page_types` is their number in the cell.
    pub(super) fn problems(&self, place: &str, page_types: u32, problems: &mut Problems) {
        if let Waveforms::Each(all) = self
            && all.len() != page_types as usize
        {
            problems.add(place, format!("{} waveforms: expected one, or one for each of {page_types} page types", all.len()));
        }
        self.all().iter().for_each(|waveform| waveform.problems(place, problems));
    }
}

impl Waveform {
    fn problems(&self, place: &str, problems: &mut Problems) {
        let mut check = |current: Current| {
            if current > CURRENT_MAX {
                problems.add(place, format!("{current}: expected at most {CURRENT_MAX}"));
            }
        };
        match self {
            Waveform::Constant(Constant { current }) => check(*current),
            Waveform::Steps(Steps { steps, length }) => {
                steps.iter().for_each(|step| check(step.current));
                if let Err(why) = ordered(steps, *length) {
                    problems.add(place, why);
                }
            }
            Waveform::Pulses(Pulses { base, peak, width, period }) => {
                check(*base);
                check(*peak);
                if width.0 == 0 || width >= period || period.0 < 1_000 {
                    let what = format!("pulses of {width} every {period}: expected 1us or more, and shorter pulses");
                    problems.add(place, what);
                }
            }
            Waveform::File(_) => {}
        }
    }

    /// Returns the greatest current; none of a waveform in a file that has not been read.
    pub(super) fn greatest(&self) -> Current {
        match self {
            Waveform::Constant(Constant { current }) => *current,
            Waveform::Pulses(Pulses { base, peak, .. }) => *base.max(peak),
            Waveform::Steps(Steps { steps, .. }) => steps.iter().map(|step| step.current).max().unwrap_or_default(),
            Waveform::File(_) => Current::default(),
        }
    }

    /// Returns the steps of an operation of `total` ns: the start of each and its current \[uA\], without empty ones.
    pub(super) fn stretched(&self, total: u64) -> Vec<(u64, u64)> {
        match self {
            Waveform::Constant(Constant { current }) => vec![(0, current.0)],
            Waveform::Steps(Steps { steps, length }) => {
                let place = |at: Nanos| (u128::from(at.0) * u128::from(total) / u128::from(length.0.max(1))) as u64;
                let mut placed: Vec<(u64, u64)> = Vec::with_capacity(steps.len());
                for step in steps {
                    let at = place(step.at);
                    // Of steps that shrink to nothing, the last one counts.
                    placed.retain(|(before, _)| *before < at);
                    placed.push((at, step.current.0));
                }
                placed
            }
            Waveform::Pulses(Pulses { base, peak, width, period }) => {
                let pulse = |at: u64| [(at, peak.0), (at + width.0, base.0)];
                let pulses = (0..total).step_by(period.0 as usize).flat_map(pulse);
                pulses.take_while(|(at, _)| *at < total).collect()
            }
            Waveform::File(_) => unreachable!("files are read with the description"),
        }
    }

    /// Returns the steps without pulses.
    pub(super) fn without_pulses(&self, total: u64) -> Vec<(u64, u64)> {
        match self {
            Waveform::Pulses(Pulses { base, .. }) => vec![(0, base.0)],
            _ => self.stretched(total),
        }
    }
}

/// Checks that steps begin at 0, follow each other, and end with the waveform.
fn ordered(steps: &[Step], length: Nanos) -> Result<(), String> {
    if steps.is_empty() || steps.len() > STEPS_MAX {
        return Err(format!("{} steps: expected 1 to {STEPS_MAX}", steps.len()));
    }
    if steps[0].at != Nanos::ZERO {
        return Err(format!("the first step begins at {}: expected 0ns", steps[0].at));
    }
    for pair in steps.windows(2) {
        if pair[1].at <= pair[0].at {
            return Err(format!("a step at {} follows one at {}: expected later times", pair[1].at, pair[0].at));
        }
    }
    let last = steps[steps.len() - 1].at;
    if length <= last {
        return Err(format!("length {length}: expected more than the start of the last step, {last}"));
    }
    Ok(())
}

impl Steps {
    /// Parses the text of a CSV file of steps ([`WaveformFile`]); an error has the number of its line.
    pub fn parse(text: &str) -> Result<Steps, (usize, String)> {
        let mut steps = Vec::new();
        let mut length = None;
        let is_content = |line: &&str| !line.is_empty() && !line.starts_with('#');
        let mut lines =
            text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())).filter(|(_, line)| is_content(line));
        let header = lines.next().ok_or_else(|| (1, "an empty file: expected the header time_us,current_ma".to_owned()))?;
        if header.1.split(',').map(str::trim).ne(["time_us", "current_ma"]) {
            return Err((header.0, format!("`{}`: expected the header time_us,current_ma", header.1)));
        }
        for (number, line) in lines {
            let fields: Vec<&str> = line.split(',').map(str::trim).collect();
            let [time, current] = fields[..] else {
                return Err((number, format!("{} fields: expected a time and a current", fields.len())));
            };
            let at: Nanos = format!("{time}us").parse().map_err(|why| (number, format!("time `{time}`: {why}")))?;
            let current: Current =
                format!("{current}mA").parse().map_err(|why| (number, format!("current `{current}`: {why}")))?;
            steps.push(Step { at, current });
            length = Some((number, at));
        }
        steps.pop();
        let (number, length) = length.ok_or_else(|| (header.0, "no row follows the header".to_owned()))?;
        ordered(&steps, length).map_err(|why| (number, why))?;
        Ok(Steps { steps, length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_stretched_exactly_and_cover_the_whole_operation() {
        let steps = Steps::parse("# measured\ntime_us,current_ma\n0,5\n100,20\n200,2.5\n400,0\n").expect("a valid file");
        let waveform = Waveform::Steps(steps);
        assert_eq!(waveform.stretched(400_000), [(0, 5_000), (100_000, 20_000), (200_000, 2_500)]);
        assert_eq!(waveform.stretched(200_001), [(0, 5_000), (50_000, 20_000), (100_000, 2_500)]);
        assert_eq!(waveform.stretched(1), [(0, 2_500)], "what shrinks to nothing is left out");
    }

    #[test]
    fn a_longer_operation_has_more_pulses() {
        let (base, peak) = (Current(1), Current(9));
        let waveform = Waveform::Pulses(Pulses { base, peak, width: Nanos(3_000), period: Nanos(10_000) });
        assert_eq!(waveform.stretched(21_000), [(0, 9), (3_000, 1), (10_000, 9), (13_000, 1), (20_000, 9)]);
        assert_eq!(waveform.stretched(10_000), [(0, 9), (3_000, 1)]);
    }

    #[test]
    fn broken_files_are_refused_with_their_line() {
        for (text, line, why) in [
            ("", 1, "an empty file"),
            ("t,i\n0,1\n", 1, "expected the header"),
            ("time_us,current_ma\n", 1, "no row"),
            ("time_us,current_ma\n0,1\n-5,2\n9,0\n", 3, "negative"),
            ("time_us,current_ma\n0,1\n,2\n9,0\n", 3, "time ``"),
            ("time_us,current_ma\n0,1\n5\n9,0\n", 3, "1 fields"),
            ("time_us,current_ma\n0,1\n5,x\n9,0\n", 3, "current `x`"),
            ("time_us,current_ma\n1,1\n5,2\n", 3, "first step begins at 1us"),
            ("time_us,current_ma\n0,1\n5,2\n5,2\n9,0\n", 5, "expected later times"),
            ("time_us,current_ma\n0,1\n5,2\n5,0\n", 4, "length 5us"),
        ] {
            let (found, told) = Steps::parse(text).expect_err(text);
            assert!(found == line && told.contains(why), "{text}: {found}: {told}");
        }
    }
}
