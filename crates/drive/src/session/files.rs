//! The files that a run reads and writes, and its results.

use crate::description::File;
use crate::drive::{Drive, Identity};
use crate::energy::PowerRow;
use crate::statistics::TimelineRow;
use crate::streams::{Outputs, WriteFailure};
use crate::totals::LatencyRow;
use kit::history::Digest;
use serde_json::Value;
use std::io::{Read, Write};

/// The saved drive that a run starts from, and the files that it reads and writes.
#[derive(Default)]
pub struct Files<'a> {
    /// Saved drive, with its name for messages.
    pub load: Option<(String, Box<dyn Read + 'a>)>,
    /// Destination of the drive saved after the run.
    pub save: Option<&'a mut dyn Write>,
    /// Callback that returns the text of a file named in the description. Absent: no file can be read.
    pub named: Option<File<'a>>,
    /// Destinations of rows that are handed out during the run.
    pub outputs: Outputs<'a>,
}

/// All results of a run.
pub struct Outcome {
    /// `summary.json`.
    pub summary: Value,
    /// `drive.toml`: the description, every field resolved.
    pub drive_toml: String,
    /// `workload.toml`: the workload, every option resolved.
    pub workload_toml: String,
    /// Text of a fio job file with its variables and includes in their places, if it has any.
    pub standalone: Option<String>,
    /// Notes for the user, one line each.
    pub notes: Vec<String>,
    /// Latency histogram.
    pub latency: Vec<LatencyRow>,
    /// Names of the streams and their latency histograms; empty for a workload of one stream.
    pub stream_latency: Vec<(String, Vec<LatencyRow>)>,
    /// Timeline rows with the start of each \[ns\], from the start of the measurement.
    pub timeline: Vec<(u64, TimelineRow)>,
    /// Power over time; `None` if power is not computed.
    pub power: Option<Vec<PowerRow>>,
    /// Width of a timeline row \[ns\].
    pub timeline_width_ns: u64,
    /// Digest of the physical history, if requested.
    pub history: Option<Digest>,
    /// Files that could not be written.
    pub unwritten: Vec<WriteFailure>,
    /// Wall time of the set-up \[s\].
    pub setup_s: f64,
}

/// Completes the commands in flight and saves the drive at rest. Returns the error, if there was one.
pub(crate) fn save(drive: &mut Drive, identity: &Identity, to: &mut dyn Write) -> Option<WriteFailure> {
    let saved = if drive.complete_commands() {
        drive.rest();
        drive.save(identity, to)
    } else {
        Err(std::io::Error::other("commands are in flight that a worn-out drive cannot complete"))
    };
    saved.err().map(|error| WriteFailure { option: "--save", error })
}
