//! Analyses of a trace for the assumptions of published policies: how long data lives, which pages are read and
//! written, and how close writes follow each other. Each analysis is one walk over the trace (`access`: two), and uses
//! one word of memory for each page touched.

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

/// Parameters of an analysis that has none.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct NoQuestion {}

/// Runs the analysis called `what` (`retention`, `access` or `gaps`) of the trace `input`; parameters and result are
/// JSON.
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

/// Returns `part` as a share of `whole`; `None` if `whole` is zero.
fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
