//! What a trace says about the policies of the source works: how long data lives, who reads what is written, how close
//! writes come. Each analysis is one walk over the trace (`access`: two), with a word of memory for each page touched.

mod access;
mod gaps;
mod lifetimes;
mod pages;
mod retention;

pub use access::{Access, ClassShares, WINDOW_MAX, Window, access};
pub use gaps::{GapBin, Gaps, GapsQuestion, gaps};
pub use lifetimes::{Counts, Estimate};
pub use retention::{Class, Mark, Octave, Point, Retention, RetentionQuestion, retention};

use crate::Input;
use crate::trace::Options;
use kit::{Problem, Problems};
use serde::Deserialize;
use serde_json::Value;

/// An analysis about which there is nothing to ask.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct NoQuestion {}

/// The analysis called `what` (`retention`, `access` or `gaps`) of the trace `input`, asked and answered in JSON.
pub fn ask(what: &str, input: &Input, options: &Options, question_json: &str) -> Result<Value, Problems> {
    match what {
        "retention" => answered(retention(input, options, &asked(question_json)?)?),
        "access" => {
            asked::<NoQuestion>(question_json)?;
            answered(access(input, options)?)
        }
        "gaps" => answered(gaps(input, options, &asked(question_json)?)?),
        other => Err(Problem::unknown("analysis", "analysis", other, ["retention", "access", "gaps"]).into()),
    }
}

fn asked<'a, T: Deserialize<'a>>(question_json: &'a str) -> Result<T, Problems> {
    serde_json::from_str(question_json).map_err(|error| Problems::one("question", error.to_string()))
}

fn answered(answer: impl serde::Serialize) -> Result<Value, Problems> {
    serde_json::to_value(answer).map_err(|error| Problems::one("answer", error.to_string()))
}

/// `part` of `whole`, if there is a whole.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
