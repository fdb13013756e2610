//! The `[ecc]` section of a drive's description: errors of stored data, their decoding, and the recovery of reads whose
//! decoding fails.

use ecc::{Decoder, Engine, Hold, Plan, RetryPlace};
use kit::{Nanos, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `[ecc]` section.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EccConfig {
    /// Source of the raw bit error rates. Absent: stored data has no errors, and reads do not fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorSource>,
    /// The decoders. They work only where stored data has errors.
    pub decoder: DecoderConfig,
    /// Recovery of a read whose decoding fails.
    pub plan: Plan,
    /// Choice of the read mode of the first attempt.
    pub read_levels: ReadLevels,
    /// True: the controller keeps the read levels of the last successful read of each block, and reads the block with
    /// them from then on (`plan = "read_retry"` only).
    pub calibration: bool,
    /// Parts of the flash that no other operation may use from the first repetition of a read until the read is
    /// corrected or given up.
    pub retries_hold: Hold,
    /// Place of an attempt to repeat a read among the reads that wait for its die, where the die is not held for it.
    pub retry_place: RetryPlace,
    /// Order in which the data of the host reads of a die is delivered; reads of units that were never written are not
    /// delayed.
    pub delivery: Delivery,
}

/// Order in which the data of the host reads of a die is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// Once it is decoded.
    #[default]
    AsDecoded,
    /// In the order of the first attempts: data waits (cause `order`) for that of earlier reads of its die.
    InOrder,
}

/// Choice of the read mode of the first attempt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReadLevels {
    /// The read mode that the write mode of the data names, or the policy chooses.
    #[default]
    ByWriteMode,
    /// The fastest read mode that corrects the expected error rate at the wear, age and reads of the block.
    ByErrorRate,
    /// The fastest read mode; each failure is followed by the next slower one, and then by the plan.
    Progressive,
}

/// Source of the raw bit error rates of stored data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
// For a variant without a comment, the schema uses the comment of its parameters.
#[allow(missing_docs)]
pub enum ErrorSource {
    /// Stored data has no errors; the other fields of the section have no effect.
    None,
    Cell(CellErrors),
    Constant(ConstantErrors),
    Table(TableErrors),
}

impl ErrorSource {
    /// Returns the share of read noise in the spread of errors.
    pub fn read_noise(&self) -> f64 {
        match self {
            ErrorSource::None => 0.0,
            ErrorSource::Cell(CellErrors { read_noise, .. })
            | ErrorSource::Constant(ConstantErrors { read_noise, .. })
            | ErrorSource::Table(TableErrors { read_noise, .. }) => *read_noise,
        }
    }
}

/// Share of read noise: of the standard normal value that determines the errors of a codeword, the part that each read
/// draws anew. 0.1 is assumed.
fn tenth() -> f64 {
    0.1
}

/// A model of the cell: physics, or a law fitted to measurements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CellErrors {
    /// Name of the model; `ssdlab cell parts` lists the models. Absent: `flash.cell_model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Temperature at which data ages \[degrees Celsius\]. Absent: the temperature of the write mode's derivation, or
    /// the one for which the model is given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -40.0, max = 150.0))]
    pub temperature: Option<f64>,
    /// True: error rates vary between blocks and between layers as the model states.
    pub variation: bool,
    /// Share of the spread that each read draws anew, from 0 (a repeated read has the same errors) to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub read_noise: f64,
}

impl Default for CellErrors {
    fn default() -> Self {
        CellErrors { model: None, temperature: None, variation: true, read_noise: tenth() }
    }
}

/// The same error rate for all data, whatever its wear and age.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConstantErrors {
    /// Raw bit error rates: one for all page types, or one for each.
    pub rates: Vec<f64>,
    /// Share of the spread that each read draws anew, from 0 (a repeated read has the same errors) to 1.
    #[serde(default = "tenth")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub read_noise: f64,
}

/// Measured error rates, complete over wear and age.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TableErrors {
    /// CSV file with the columns `pe_cycles`, `days` and one error rate for each page type (or one for all), in place
    /// of `rows`. The path is relative to the folder of the description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The measurements.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<MeasuredErrors>,
    /// Share of the spread that each read draws anew, from 0 (a repeated read has the same errors) to 1.
    #[serde(default = "tenth")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub read_noise: f64,
}

/// One measurement: error rates at a wear and an age.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasuredErrors {
    /// Program and erase cycles.
    #[schemars(range(min = 0.0, max = 1e9))]
    pub pe_cycles: f64,
    /// Age of the data \[days\].
    #[schemars(range(min = 0.0, max = 1e6))]
    pub days: f64,
    /// Raw bit error rates by page type, LSB first, or one for all.
    pub rates: Vec<f64>,
}

/// Channels that a group of decoders serves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sharing {
    /// Each channel has decoders of its own. A codeword is decoded as it arrives.
    #[default]
    Channel,
    /// All channels share the decoders. A codeword waits in a buffer of its channel until it has arrived completely.
    Drive,
}

/// The decoders of the drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
// For a variant without a comment, the schema uses the comment of its parameters.
#[allow(missing_docs)]
pub enum DecoderConfig {
    /// Decoding takes no time.
    #[default]
    Ideal,
    Fixed(FixedDecoder),
    Engines(EngineDecoder),
}

/// Decoders that take the same time for every codeword.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FixedDecoder {
    /// Time to decode a codeword, once it has arrived.
    pub time: Nanos,
    /// Number of decoders for the drive or for each channel.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1024))]
    pub decoders: u32,
    /// Channels that the decoders serve.
    #[serde(default)]
    pub shared: Sharing,
}

fn one() -> u32 {
    1
}

/// Decoders whose time depends on the errors of the codeword.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EngineDecoder {
    /// Number of decoders for the drive or for each channel.
    #[schemars(range(min = 1, max = 1024))]
    pub decoders: u32,
    /// Number of codewords that a decoder holds at once.
    #[schemars(range(min = 1, max = 16))]
    pub threads: u32,
    /// Channels that the decoders serve.
    pub shared: Sharing,
    /// Kind and parameters of each decoder. Absent: a decoder with default parameters for the code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decoder: Option<Decoder>,
}

impl Default for EngineDecoder {
    fn default() -> Self {
        let Engine { decoders, threads, .. } = Engine::default();
        EngineDecoder { decoders, threads, shared: Sharing::Channel, decoder: None }
    }
}

impl EccConfig {
    /// Returns the source of errors; `None` if stored data has no errors.
    pub fn source(&self) -> Option<&ErrorSource> {
        self.errors.as_ref().filter(|source| **source != ErrorSource::None)
    }

    /// Adds every invalid parameter to `problems`. `page_types` is the number of page types of the flash, `read_modes`
    /// the number of its read modes.
    pub fn problems(&self, page_types: usize, read_modes: usize, problems: &mut Problems) {
        self.plan.problems("ecc.plan", problems);
        match &self.decoder {
            DecoderConfig::Engines(EngineDecoder { decoder: Some(decoder), .. }) => {
                decoder.problems("ecc.decoder.decoder", problems);
            }
            DecoderConfig::Fixed(FixedDecoder { time, .. }) if time.0 > 1_000_000_000 => {
                problems.add("ecc.decoder.time", format!("{time}: expected at most 1s"));
            }
            _ => {}
        }
        match &self.errors {
            Some(ErrorSource::Constant(ConstantErrors { rates, .. })) => {
                rate_problems("ecc.errors.rates", rates, 0.0, page_types, problems);
            }
            Some(ErrorSource::Table(TableErrors { rows, file, .. })) => {
                if rows.is_empty() == file.is_none() {
                    problems.add("ecc.errors", "expected either `rows` or a `file` of measurements");
                }
                for (index, row) in rows.iter().enumerate() {
                    rate_problems(
                        &format!("ecc.errors.rows[{index}].rates"),
                        &row.rates,
                        f64::MIN_POSITIVE,
                        page_types,
                        problems,
                    );
                }
            }
            Some(ErrorSource::Cell(_) | ErrorSource::None) => {}
            None => self.problems_without_errors(problems),
        }
        let modes = read_modes * self.plan.attempts().len();
        if modes > 256 {
            problems.add(
                "ecc.plan",
                format!(
                    "{modes} kinds of read, {read_modes} read modes with {} attempts each: expected at most 256",
                    modes / read_modes
                ),
            );
        }
        let repeats = self.plan.attempts().len() > 1 || self.read_levels == ReadLevels::Progressive;
        if self.errors.is_some() && self.retries_hold != Hold::Nothing && !repeats {
            problems.add("ecc.retries_hold", "no read is repeated: expected a plan in ecc.plan");
        }
        if self.errors.is_some() && self.retry_place != RetryPlace::Age && (!repeats || self.retries_hold != Hold::Nothing) {
            let what = "no repetition of a read waits: expected a plan in ecc.plan, and ecc.retries_hold = \"nothing\"";
            problems.add("ecc.retry_place", what);
        }
        if self.errors.is_some() && self.calibration && !matches!(self.plan, Plan::ReadRetry(_)) {
            problems.add("ecc.calibration", "the plan has no read levels to keep: expected plan = \"read_retry\"");
        }
    }

    /// Adds the fields that have no effect on a drive whose data has no errors.
    fn problems_without_errors(&self, problems: &mut Problems) {
        let idle = [
            ("ecc.plan", self.plan != Plan::None),
            ("ecc.read_levels", self.read_levels != ReadLevels::ByWriteMode),
            ("ecc.calibration", self.calibration),
            ("ecc.retries_hold", self.retries_hold != Hold::Nothing),
            ("ecc.retry_place", self.retry_place != RetryPlace::Age),
            ("ecc.delivery", self.delivery != Delivery::AsDecoded),
            ("ecc.decoder", self.decoder != DecoderConfig::Ideal),
        ];
        for (field, _) in idle.into_iter().filter(|(_, given)| *given) {
            problems.add(field, "has no effect without errors: expected a source in ecc.errors, such as \"cell\"");
        }
    }
}

fn rate_problems(place: &str, rates: &[f64], least: f64, page_types: usize, problems: &mut Problems) {
    if rates.len() != 1 && rates.len() != page_types {
        problems.add(place, format!("{} error rates: expected one, or {page_types}, one for each page type", rates.len()));
    }
    if let Some(rate) = rates.iter().find(|rate| !(least..=0.5).contains(*rate)) {
        problems.add(
            place,
            format!("{rate}: expected an error rate {}, at most 0.5", if least > 0.0 { "above 0" } else { "from 0" }),
        );
    }
}
