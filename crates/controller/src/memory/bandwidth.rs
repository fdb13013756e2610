//! A memory with a data rate and a latency.

use super::{Memory, Model};
use kit::{Bytes, Nanos, Problems, Rate, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Has a data rate and a latency: accesses follow each other on its bus in the order of asking, whatever their
/// addresses. Banks, rows, turnarounds and refresh are not modelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Data rate of reads and writes together.
    pub rate: Rate,
    /// Time of an access beside its data, in which others may have the bus.
    pub latency: Nanos,
    /// Size. Absent: not limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
}

impl Default for Params {
    fn default() -> Self {
        Params { rate: Rate(3_200_000_000), latency: Nanos(50), size: None }
    }
}

/// Builds the memory.
pub fn build(params: &Params, (): ()) -> Box<dyn Memory> {
    Box::new(params.clone())
}

impl Memory for Params {
    fn model(&self) -> Model {
        Model::Bandwidth { rate: self.rate, latency: self.latency }
    }

    fn size(&self) -> Option<Bytes> {
        self.size
    }

    fn in_words(&self) -> Vec<String> {
        let size = self.size.map(|size| format!(", {}", words::size(size))).unwrap_or_default();
        vec![format!("{}, latency {}{size}", words::rate(self.rate), words::time(self.latency))]
    }

    fn problems(&self, problems: &mut Problems) {
        if self.rate.0 < 1_000_000 {
            problems.add("controller.dram.rate", format!("{}: expected at least 1MB/s", self.rate));
        }
    }
}
