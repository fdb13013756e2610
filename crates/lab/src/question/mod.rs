//! Input of the laboratory: one set of fields for all questions, validated in one place.

mod part;
mod resolve;

pub(crate) use resolve::no_step;
pub use resolve::{Given, ResolvedQuestion};

use kit::Problems;
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

impl Question {
    /// Parses a question.
    ///
    /// # Errors
    /// An error if the JSON is invalid or has an unknown field.
    pub fn read(json: &str) -> Result<Question, Problems> {
        serde_json::from_str(json).map_err(|error| Problems::one("question", error.to_string()))
    }

    /// Returns the names of the given fields on the age, the reads and the place of the data, which do not bear on
    /// every answer.
    pub(crate) fn optional(&self) -> Vec<&'static str> {
        let given = [
            ("age", self.age.is_some()),
            ("retention", self.retention.is_some()),
            ("reads", self.reads != 0.0),
            ("block", self.block.is_some()),
            ("layer", self.layer.is_some()),
            ("blocks", self.blocks > 0),
        ];
        given.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect()
    }
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
        for field in ["pe", "age", "step", "retention"] {
            let text = problems(&format!(r#"{{"cell": "ofwar-mlc", "{field}": []}}"#));
            assert!(text.contains(&format!("{field}: an empty list")), "{text}");
        }
        assert!(problems(r#"{"cell": "rr-mlc", "neighbourhood": "even_odd"}"#).contains("no model of threshold voltages"));
        assert!(problems(r#"{"cell": "rr-mlc", "colour": 3}"#).contains("colour"));
        assert!(problems(r#"{"cell": "ofwar-mlc", "age": "4"}"#).contains("without a unit"));
    }
}
