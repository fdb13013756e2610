//! Input of the laboratory: one set of fields for all questions, validated in one place.

use crate::part::Part;
use crate::parts;
use cell::dpes::{ERASE_MODES, Entry, EraseSpeed, INTERVALS};
use cell::measured::{Measured, Row};
use cell::stress::Variation;
use cell::voltage::Neighbourhood;
use cell::{Condition, Device, References, Technology};
use ecc::{Bch, Code, Ldpc};
use kit::{Bytes, Nanos, Problem, Problems};
use serde::Deserialize;

/// One value or a list of values, each of which is evaluated.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(untagged, expecting = "expected one value or a list of them, numbers as numbers and times as strings with a unit")]
pub enum Values<T> {
    /// A single value.
    One(T),
    /// A list of values.
    Many(Vec<T>),
}

impl<T> Values<T> {
    /// Returns all values.
    pub fn all(&self) -> &[T] {
        match self {
            Values::One(value) => std::slice::from_ref(value),
            Values::Many(values) => values,
        }
    }
}

/// A question as received. An absent field has a default that depends on the part.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Question {
    /// Name of a part; with `measurements`, the name that messages use for them.
    pub cell: String,
    /// Table of measured error rates (CSV) with the columns `pe_cycles`, `days`, and one for each page type.
    pub measurements: Option<String>,
    /// Program and erase cycles.
    pub pe: Option<Values<f64>>,
    /// Ages of the data.
    pub age: Option<Values<String>>,
    /// Program steps, in volts; in pitches for bell-shaped levels.
    pub step: Option<Values<f64>>,
    /// Promised retention times.
    pub retention: Option<Values<String>>,
    /// Reads of the block.
    pub reads: f64,
    /// Temperature at which data ages \[degrees Celsius\].
    pub temperature: Option<f64>,
    /// Voltage by which the block was erased shallower than nominal \[V\].
    pub erase_shift: f64,
    /// Entries that replace those of the part's table of effective wear.
    pub erase_wear: Vec<EraseWear>,
    /// Number of a block, whose error rates differ from the mean by the part's variation; combined with `layer` if both
    /// are given.
    pub block: Option<u64>,
    /// Number of a layer, whose error rates differ from the mean by the part's variation.
    pub layer: Option<u64>,
    /// Number of blocks over which the spread of error rates is computed.
    pub blocks: u64,
    /// Verify voltages that replace those of the part \[V\], in ascending order.
    pub verify: Option<Vec<f64>>,
    /// Size of the page that a code protects.
    pub page_size: Option<String>,
    /// Choice of the read references: `fixed`, `tracked` or `optimal`.
    pub references: Option<String>,
    /// Neighbours that disturb a cell: `all_bit_line` or `even_odd`.
    pub neighbourhood: Option<String>,
    /// True if the mean interference is compensated; the part's own setting if absent.
    pub compensation: Option<bool>,
    /// Code, such as `bch-110/4KiB` (errors corrected / data) or `ldpc-448B/4KiB` (parity / data).
    pub code: Option<String>,
    /// Measurement of a code: the text of a file written by `cell code`.
    pub measured_code: Option<String>,
    /// Number of soft levels available to the decoder.
    pub soft_levels: u32,
    /// Correctable error rate, in place of the one that follows from the code.
    pub limit: Option<f64>,
    /// Quantity to solve a budget for: `step`, `erase`, `retention`, `code` or `wear`.
    pub solve: Option<String>,
    /// Number of cells to draw.
    pub cells: u64,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Index of the piece of work (`monte_carlo`), or of the first chunk to count (`code_count`).
    pub chunk: u64,
    /// Number of chunks to count (`code_count`).
    pub chunks: u64,
    /// Error rates of two normal levels, used in place of the cell's channel.
    pub rber: Option<Values<f64>>,
    /// Regions of a channel: for each region the probability of a zero and of a one.
    pub regions: Vec<[f64; 2]>,
    /// Page type on which a code is measured; the worst one if absent.
    pub page: Option<String>,
}

/// Entry of the table of effective wear.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EraseWear {
    /// Erase mode, `EV0` to `EV4`.
    pub mode: String,
    /// Erase speed, `fast` or `slow`.
    pub speed: String,
    /// Interval of summed wear, 500 nominal erases each, from 0.
    pub interval: usize,
    /// Wear of one erase, in nominal erases.
    pub wear: f64,
}

/// A validated question, with names resolved and defaults filled in.
#[derive(Clone, Debug)]
pub struct ResolvedQuestion {
    /// The part, with the changes that the question makes to it.
    pub part: Part,
    /// Wear; the rated cycles if none was given.
    pub pe: Vec<f64>,
    /// Ages converted to the reference temperature; empty if none were given.
    pub age: Vec<Nanos>,
    /// Ages as given.
    pub age_given: Vec<Nanos>,
    /// Program steps; the nominal one if none was given.
    pub step: Vec<f64>,
    /// Promised retention times converted to the reference temperature.
    pub retention: Vec<Nanos>,
    /// Promised retention times as given.
    pub retention_given: Vec<Nanos>,
    /// True if wear, age, step or retention was given as a list, so that the answer is a table.
    pub table: bool,
    /// Fields that were given explicitly.
    pub given: Given,
    /// Reads of the block.
    pub reads: f64,
    /// Voltage by which the block was erased shallower than nominal \[V\].
    pub erase_shift: f64,
    /// Temperature at which data ages \[degrees Celsius\].
    pub celsius: f64,
    /// Correctable error rate.
    pub limit: f64,
    /// Factor on the mean error rate for the block and layer in question.
    pub factor: f64,
    /// True if the limit follows from a measured code.
    pub measured: bool,
}

/// Flags of the fields with defaults that were given explicitly.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    /// True if wear was given.
    pub pe: bool,
    /// True if ages were given.
    pub age: bool,
    /// True if program steps were given.
    pub step: bool,
    /// True if retention times were given.
    pub retention: bool,
}

impl ResolvedQuestion {
    /// Returns the condition of one page.
    pub fn condition(&self, pe_cycles: f64, age: Nanos, step: f64) -> Condition {
        Condition { step, erase_shift: self.erase_shift, pe_cycles, age, reads: self.reads }
    }

    /// Returns the notes that accompany every answer.
    pub fn notes(&self) -> Vec<String> {
        let text = "the limit of the measured code is extrapolated to far lower failure rates than were counted, assuming no error floor";
        if self.measured { vec![text.to_owned()] } else { Vec::new() }
    }

    /// Returns the mean error rate at which the block and layer in question are just correctable.
    pub fn bearable(&self) -> f64 {
        self.limit / self.factor
    }

    /// Returns the only value of a list, for questions that take a single value.
    ///
    /// # Errors
    /// An error if there is not exactly one value.
    pub fn single<T: Copy>(place: &str, values: &[T]) -> Result<T, Problems> {
        match values {
            [value] => Ok(*value),
            _ => Err(Problems::one(place, format!("{} values: expected one here", values.len()))),
        }
    }
}

/// Largest wear and number of reads accepted, and the range of temperatures.
const MOST_WEAR: f64 = 1e7;
const MOST_READS: f64 = 1e12;
const TEMPERATURES: (f64, f64) = (-40.0, 150.0);

impl Question {
    /// Parses a question.
    ///
    /// # Errors
    /// An error if the JSON is invalid or has an unknown field.
    pub fn read(json: &str) -> Result<Question, Problems> {
        serde_json::from_str(json).map_err(|error| Problems::one("question", error.to_string()))
    }

    /// Validates the question and resolves its names.
    ///
    /// # Errors
    /// All values out of range and all unknown names; an unknown part is reported alone.
    pub fn setting(&self) -> Result<ResolvedQuestion, Problems> {
        let mut problems = Problems::default();
        let mut part = self.part()?;
        self.adjust(&mut part, &mut problems);
        let celsius = self.temperature.unwrap_or(part.device.reference_celsius);
        within(&mut problems, "temperature", celsius, TEMPERATURES.0, TEMPERATURES.1);
        within(&mut problems, "reads", self.reads, 0.0, MOST_READS);
        let shallowest = part.device.technology.shallowest_erase();
        if self.erase_shift != 0.0 {
            match shallowest {
                Some(most) => within(&mut problems, "erase_shift", self.erase_shift, 0.0, most),
                None => problems.add("erase_shift", format!("cell {} has no erase depth: omit `erase_shift`", part.name)),
            }
        }
        let pe = numbers(self.pe.as_ref(), f64::from(part.device.rated_pe_cycles));
        pe.iter().for_each(|pe| within(&mut problems, "pe", *pe, 0.0, MOST_WEAR));
        let step = self.steps(&part, &mut problems);
        let age_given = times(self.age.as_ref(), "age", &mut problems);
        let retention_given = times(self.retention.as_ref(), "retention", &mut problems);
        let limit = self.limit.unwrap_or_else(|| part.limit(self.soft_levels));
        if !(limit > 0.0 && limit <= 0.5) {
            problems.add("limit", format!("{limit}: expected an error rate above 0, at most 0.5"));
        }
        let at_reference = |times: &[Nanos]| times.iter().map(|time| part.device.age_at(*time, celsius)).collect();
        let variation = &part.device.variation;
        let factor = match (self.block, self.layer) {
            (None, None) => 1.0,
            (Some(block), None) => Variation { layer_sigma: 0.0, ..*variation }.factor(self.seed, block, 0),
            (None, Some(layer)) => Variation { block_sigma: 0.0, ..*variation }.factor(self.seed, 0, layer),
            (Some(block), Some(layer)) => variation.factor(self.seed, block, layer),
        };
        let table = matches!(self.pe, Some(Values::Many(_)))
            || matches!(self.age, Some(Values::Many(_)))
            || matches!(self.step, Some(Values::Many(_)))
            || matches!(self.retention, Some(Values::Many(_)));
        let given = Given {
            pe: self.pe.is_some(),
            age: self.age.is_some(),
            step: self.step.is_some(),
            retention: self.retention.is_some(),
        };
        problems.or(())?;
        Ok(ResolvedQuestion {
            pe,
            age: at_reference(&age_given),
            age_given,
            step,
            retention: at_reference(&retention_given),
            retention_given,
            table,
            given,
            reads: self.reads,
            erase_shift: self.erase_shift,
            celsius,
            limit,
            factor,
            measured: self.measured_code.is_some() && self.limit.is_none(),
            part,
        })
    }

    fn part(&self) -> Result<Part, Problems> {
        match &self.measurements {
            Some(text) => measured_part(&self.cell, text),
            None => Ok(parts::find("cell", &self.cell)?),
        }
    }

    /// Applies the changes of the question to the part.
    fn adjust(&self, part: &mut Part, problems: &mut Problems) {
        if let Some(kind) = &self.references {
            match kind.as_str() {
                "fixed" => part.device.references = References::Fixed,
                "tracked" => part.device.references = References::Tracked,
                "optimal" => part.device.references = References::Optimal,
                other => problems.0.push(Problem::unknown("references", "kind", other, ["fixed", "tracked", "optimal"])),
            }
            self.needs_voltages(part, "references", problems);
        }
        if let Some(kind) = &self.neighbourhood {
            let found = match kind.as_str() {
                "all_bit_line" => Some(Neighbourhood::AllBitLine),
                "even_odd" => Some(Neighbourhood::EvenOdd),
                other => {
                    problems.0.push(Problem::unknown("neighbourhood", "kind", other, ["all_bit_line", "even_odd"]));
                    None
                }
            };
            if let (Some(found), Technology::Voltage(model)) = (found, &mut part.device.technology) {
                model.neighbourhood = found;
            }
            self.needs_voltages(part, "neighbourhood", problems);
        }
        if let Some(verify) = &self.verify {
            self.needs_voltages(part, "verify", problems);
            if let Technology::Voltage(model) = &mut part.device.technology {
                let (count, lowest) = (model.verify.len(), model.erased_mean);
                let rising = verify.windows(2).all(|pair| pair[0] < pair[1]);
                if verify.len() != count || !rising || verify.iter().any(|volts| !(*volts > lowest && *volts < 20.0)) {
                    problems.add("verify", format!("{verify:?}: expected {count} rising voltages from {lowest} to 20"));
                } else {
                    model.verify.clone_from(verify);
                }
            }
        }
        self.replace_wear(part, problems);
        if let Some(on) = self.compensation {
            if let Technology::Voltage(model) = &mut part.device.technology {
                model.post_compensation = on;
            }
            self.needs_voltages(part, "compensation", problems);
        }
        if self.code.is_some() && self.measured_code.is_some() {
            problems.add("code", "both a code and a file of measurements: expected one of them");
        }
        if let Some(text) = &self.code {
            match parse_code(text) {
                Ok(code) => {
                    code.problems("code", problems);
                    part.protect(code);
                }
                Err(complaint) => problems.add("code", complaint),
            }
        }
        if let Some(text) = &self.measured_code {
            match crate::answer::code::limits_of(text) {
                Ok(code) => part.protect(code),
                Err(complaint) => problems.add("code", complaint),
            }
        }
    }

    fn replace_wear(&self, part: &mut Part, problems: &mut Problems) {
        for (index, entry) in self.erase_wear.iter().enumerate() {
            let place = format!("erase_wear[{index}]");
            let Technology::Scaled(cell) = &mut part.device.technology else {
                problems.add(place, format!("{} has no erase modes: dpes-mlc has", part.name));
                return;
            };
            let mode = (0..ERASE_MODES).find(|mode| entry.mode == format!("EV{mode}"));
            let speed = match entry.speed.as_str() {
                "fast" => Some(EraseSpeed::Fast),
                "slow" => Some(EraseSpeed::Slow),
                _ => None,
            };
            match (mode, speed) {
                (Some(mode), Some(speed)) if entry.interval < INTERVALS && entry.wear > 0.0 && entry.wear <= 10.0 => {
                    cell.scaling.replaced.push(Entry { mode, speed, interval: entry.interval, wear: entry.wear });
                }
                _ => problems.add(
                    place,
                    format!(
                        "{}, {}, interval {}, wear {}: expected EV0 to EV4, fast or slow, an interval below {INTERVALS}, and a wear above 0, at most 10",
                        entry.mode, entry.speed, entry.interval, entry.wear
                    ),
                ),
            }
        }
    }

    fn needs_voltages(&self, part: &Part, place: &str, problems: &mut Problems) {
        if !matches!(part.device.technology, Technology::Voltage(_)) {
            problems.add(place, format!("cell {} has no model of threshold voltages that this could change", part.name));
        }
    }

    fn steps(&self, part: &Part, problems: &mut Problems) -> Vec<f64> {
        let steps = numbers(self.step.as_ref(), part.device.nominal_step);
        match (part.device.technology.widest_step(), &self.step) {
            (Some(widest), _) => {
                let unit = part.device.technology.step_unit();
                for step in steps.iter().filter(|step| !(**step > 0.0 && **step <= widest)) {
                    problems.add("step", format!("{step}: expected a program step above 0, at most {widest} {unit}"));
                }
            }
            (None, Some(_)) => problems.add("step", no_step(part)),
            (None, None) => {}
        }
        steps
    }
}

/// Returns the reason why a part cannot answer questions about a program step.
pub(crate) fn no_step(part: &Part) -> String {
    format!(
        "{} gives error rates at one program step only: it cannot say what another would do; `limits` says how long its own lasts",
        part.name
    )
}

fn within(problems: &mut Problems, place: &str, value: f64, low: f64, high: f64) {
    if !(value >= low && value <= high) {
        problems.add(place, format!("{value}: expected {low} to {high}"));
    }
}

fn numbers(values: Option<&Values<f64>>, default: f64) -> Vec<f64> {
    values.map_or_else(|| vec![default], |values| values.all().to_vec())
}

fn times(values: Option<&Values<String>>, place: &str, problems: &mut Problems) -> Vec<Nanos> {
    let texts = values.map_or(&[][..], Values::all);
    let mut found = Vec::with_capacity(texts.len());
    for text in texts {
        // Zero needs no unit.
        let parsed = if text == "0" { Ok(Nanos::ZERO) } else { text.parse() };
        match parsed {
            Ok(time) => found.push(time),
            Err(complaint) => problems.add(place, format!("\"{text}\": {complaint}")),
        }
    }
    found
}

/// Parses a code written as `bch-110/4KiB` or `ldpc-448B/4KiB`.
pub fn parse_code(text: &str) -> Result<Code, String> {
    let expected =
        || format!("`{text}`: expected a code such as bch-110/4KiB (errors corrected / data) or ldpc-448B/4KiB (parity / data)");
    let (kind, rest) = text.split_once('-').ok_or_else(expected)?;
    let (strength, data) = rest.split_once('/').ok_or_else(expected)?;
    let data_bits = data.parse::<Bytes>().map_err(|complaint| format!("`{data}`: {complaint}"))?.0.saturating_mul(8);
    match kind {
        "bch" => Ok(Code::Bch(Bch { data_bits, t: strength.parse().map_err(|_| expected())? })),
        "ldpc" => {
            let parity_bits =
                strength.parse::<Bytes>().map_err(|complaint| format!("`{strength}`: {complaint}"))?.0.saturating_mul(8);
            Ok(Code::Ldpc(Ldpc { data_bits, parity_bits, ..Ldpc::default() }))
        }
        _ => Err(expected()),
    }
}

/// Builds a part from a user's measurements.
fn measured_part(name: &str, text: &str) -> Result<Part, Problems> {
    let rows = measurements(name, text)?;
    let table = Measured::of(name, &rows)?;
    let (most_wear, _) = table.extent();
    let code = Code::Bch(Bch { data_bits: 32_768, t: 110 });
    Ok(Part {
        name: name.to_owned(),
        summary: "your measurements",
        device: Device::of(Technology::Measured(table), most_wear.max(1.0) as u32),
        code,
        target: crate::part::Target::Failure(1e-15),
        own_limit: None,
        read_time: None,
        program_time: None,
        erase_time: None,
        parameters: Vec::new(),
    })
}

/// Parses the rows of a table of measurements.
fn measurements(name: &str, text: &str) -> Result<Vec<Row>, Problems> {
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| Problems::one(name, error.to_string()))?.clone();
    let wanted = "expected the columns pe_cycles, days, and one error rate for each page type, such as lsb, msb";
    let column = |title: &str| headers.iter().position(|header| header == title);
    let (Some(wear), Some(days)) = (column("pe_cycles"), column("days")) else {
        return Err(Problems::one(format!("{name}:1"), wanted));
    };
    if headers.len() < 3 {
        return Err(Problems::one(format!("{name}:1"), wanted));
    }
    let mut problems = Problems::default();
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let line = error.position().map_or(0, csv::Position::line);
                problems.add(format!("{name}:{line}"), error.to_string());
                continue;
            }
        };
        let line = record.position().map_or(0, csv::Position::line);
        let fields: Vec<Option<f64>> = record.iter().map(|field| field.parse().ok()).collect();
        if let Some(bad) = fields.iter().position(Option::is_none) {
            problems.add(format!("{name}:{line}"), format!("{} = \"{}\": expected a number", &headers[bad], &record[bad]));
            continue;
        }
        let numbers: Vec<f64> = fields.into_iter().flatten().collect();
        let pages = numbers.iter().enumerate().filter(|(at, _)| *at != wear && *at != days).map(|(_, rate)| *rate).collect();
        rows.push(Row { pe_cycles: numbers[wear], days: numbers[days], pages });
    }
    problems.or(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(json: &str) -> String {
        Question::read(json).and_then(|question| question.setting()).map(|_| ()).expect_err("must be refused").to_string()
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let text = problems(
            r#"{"cell": "ofwar-mlc", "pe": -5, "age": "4 parsecs", "step": 9.0, "reads": -1, "temperature": 900,
                "references": "magic", "verify": [3.0, 2.0], "code": "bch-110", "erase_shift": 7.0, "limit": 2.0}"#,
        );
        for part in [
            "pe: -5",
            "age: \"4 parsecs\"",
            "step: 9",
            "reads: -1",
            "temperature: 900",
            "references",
            "code",
            "erase_shift: 7",
            "limit: 2",
        ] {
            assert!(text.contains(part), "{part} in:\n{text}");
        }
        assert!(problems(r#"{"cell": "ofwar-mcl"}"#).contains("did you mean `ofwar-mlc`?"));
        assert!(problems(r#"{"cell": "mlc-2y", "step": 0.2}"#).contains("one program step only"));
        assert!(problems(r#"{"cell": "rr-mlc", "neighbourhood": "even_odd"}"#).contains("no model of threshold voltages"));
        assert!(problems(r#"{"cell": "rr-mlc", "colour": 3}"#).contains("colour"));
        assert!(problems(r#"{"cell": "ofwar-mlc", "age": "4"}"#).contains("without a unit"));
    }

    #[test]
    fn codes_are_read_as_they_are_written() {
        assert_eq!(parse_code("bch-110/4KiB"), Ok(Code::Bch(Bch { data_bits: 32_768, t: 110 })));
        assert!(matches!(parse_code("ldpc-448B/4KiB"), Ok(Code::Ldpc(code)) if code.parity_bits == 3584));
        for bad in ["", "bch", "bch-x/4KiB", "bch-3/4", "turbo-3/4KiB", "ldpc-4/4KiB"] {
            assert!(parse_code(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn measurements_become_a_part() {
        let csv = "# of my chips\npe_cycles, days, lsb, msb\n0, 0, 1e-5, 2e-5\n0, 30, 2e-5, 3e-5\n1000, 0, 1e-4, 2e-4\n1000, 30, 3e-4, 5e-4\n";
        let part = measured_part("mine.csv", csv).expect("a full table");
        assert_eq!((part.device.technology.page_types(), part.device.rated_pe_cycles), (2, 1000));
        let bad =
            measured_part("mine.csv", "pe_cycles,days,lsb\n0,0,1e-5\n0,x,1e-5\n0,1\n").expect_err("two bad lines").to_string();
        assert!(bad.contains("mine.csv:3: days = \"x\"") && bad.contains("mine.csv:4"), "{bad}");
        assert!(
            measured_part("mine.csv", "cycles,lsb\n1,2\n").expect_err("no such columns").to_string().contains("pe_cycles, days")
        );
    }
}
