//! The declarations: one field for each option.
//!
//! The first paragraph of a field's doc comment is the help of the command; the whole comment stands in the
//! documentation of the Python functions and in `docs/reference/options.md`. Entries of the schema refine
//! what the type says:
//!
//! - `x-value`: placeholder of the value in the help of the command.
//! - `x-panel`: heading in the help of the command.
//! - `x-short`: short form of the option of the command.
//! - `x-least`: least value that the command accepts.
//! - `x-file`: the option names a file, which is read (`input`) or written (`output`).
//! - `x-python`: type of the Python argument, where it accepts more than the schema.
//! - `x-separator`: separator of several values that the command takes as one text; without it the option is repeated.
//! - `x-for`: `python`, if the option does not exist on the command line; `argument`, if each command and each function
//!   declares it itself.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of the drive at the start of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Setup {
    /// Override of a field of the drive, such as `flash.channels=16`.
    ///
    /// `KEY=` removes a field that the drive's base gives. May be repeated; in Python a dictionary, such as
    /// `{"flash.channels": 16}`, or a list of such texts.
    #[schemars(extend("x-value" = "KEY=VALUE", "x-python" = "Settings"))]
    pub set: Vec<String>,
    /// Mode policy.
    ///
    /// A name, or a class in Python; absent: the drive's own.
    #[schemars(extend("x-for" = "argument"))]
    pub policy: Option<String>,
    /// Seed of all random streams.
    ///
    /// Equal inputs and seeds give equal results, byte for byte, except for `wall_s`.
    #[schemars(extend("x-value" = "N", "x-least" = 0))]
    pub seed: u64,
    /// Starting state: `none`, `fill`, `random` or `steady`; absent: the drive's own.
    #[schemars(extend("x-value" = "KIND", "x-panel" = "Starting state"))]
    pub precondition: Option<String>,
    /// Cap on the power of the flash, such as `3W`; absent: the drive's own (`power.cap`), if it has one.
    ///
    /// An operation whose current would exceed it waits (docs/models/power.md). The drive's description has a section
    /// `[power]`.
    #[schemars(extend("x-value" = "POWER"))]
    pub power_cap: Option<String>,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup { set: Vec::new(), policy: None, seed: 1, precondition: None, power_cap: None }
    }
}

/// Files of saved drives.
///
/// The caller of the engine opens them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SavedDrive {
    /// Saved drive to start from, which an earlier run wrote with `save`.
    ///
    /// Under the same description, policy and seed it goes on exactly where it was. Otherwise the saved state is
    /// adopted, and a note gives the reason (docs/guide/saving.md).
    #[schemars(extend("x-value" = "FILE", "x-panel" = "Starting state", "x-file" = "input"))]
    pub load: Option<String>,
    /// File to save the drive to at the end of the run.
    ///
    /// An existing file is replaced; the command requires `--force` for that.
    #[schemars(extend("x-value" = "FILE", "x-panel" = "Starting state", "x-file" = "output"))]
    pub save: Option<String>,
}

/// Options of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RunOptions {
    /// Run until the drive is steady by the SNIA rule, and then measure five rounds.
    #[schemars(extend("x-panel" = "Starting state"))]
    pub steady_state: bool,
    /// Length of a round of the SNIA rule, such as `1s`; requires `steady_state`.
    #[schemars(extend("x-value" = "TIME", "x-panel" = "Starting state"))]
    pub steady_round: Option<String>,
    /// Loss of power without warning: a time from the start of the run, such as `10s`, or `event:N`, after N steps of
    /// the simulation. With `,graceful` (`10s,graceful`) the host stops first (docs/models/power_failure.md).
    #[schemars(extend("x-value" = "POINT", "x-panel" = "Power failure"))]
    pub power_cut: Option<String>,
    /// Script of faults in TOML: programs, erases and reads that fail or are slow, dies and channels that are lost,
    /// errors of the host link, hangs of the controller, a loss of power (docs/models/faults.md).
    #[schemars(extend("x-value" = "FILE", "x-panel" = "Power failure", "x-file" = "input"))]
    pub faults: Option<String>,
    /// Time without power, such as `30d`, in which the drive's data ages: 1 s by default; requires `power_cut`.
    #[schemars(extend("x-value" = "TIME", "x-panel" = "Power failure"))]
    pub power_down: Option<String>,
    /// Number of commands left out at the beginning of each job, so that a workload continues on a loaded drive.
    #[schemars(range(max = 9_223_372_036_854_775_807u64))]
    #[schemars(extend("x-value" = "N", "x-panel" = "Starting state", "x-least" = 0))]
    pub skip_commands: u64,
    /// Number of commands of each job after which the host stops.
    #[schemars(range(max = 9_223_372_036_854_775_807u64))]
    #[schemars(extend("x-value" = "N", "x-panel" = "Starting state", "x-least" = 1))]
    pub stop_after: Option<u64>,
    /// Number of commands of each job after which the drive is brought to rest, as it would be to be saved, and
    /// continues; the measurement begins there.
    #[schemars(range(max = 9_223_372_036_854_775_807u64))]
    #[schemars(extend("x-value" = "N", "x-panel" = "Starting state", "x-least" = 1))]
    pub rest_after: Option<u64>,
    /// Number of batches of commands, 2 to 100, from which confidence intervals of means and percentiles follow;
    /// absent: no intervals. 20 suits most runs.
    ///
    /// The measured commands are divided into this number of batches, or up to twice as many, each of the same number
    /// of commands; the summary then has a section `intervals` (docs/guide/explore.md).
    #[schemars(extend("x-value" = "N", "x-panel" = "Output", "x-least" = 2))]
    pub batches: Option<u32>,
    /// Start of the timeline and of the recorded spans, such as `10ms`, from the start of the measurement; absent:
    /// immediately.
    #[schemars(extend("x-value" = "TIME", "x-panel" = "Output"))]
    pub timeline_from: Option<String>,
    /// Length of the timeline and of the recorded spans, such as `1ms`; absent: to the end of the run.
    #[schemars(extend("x-value" = "TIME", "x-panel" = "Output"))]
    pub timeline_for: Option<String>,
}

/// Records of a run: files that are written during the run, and rows that are kept in memory.
///
/// The caller of the engine opens the files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Records {
    /// Keep a row for each command in memory: `Result.command_table`.
    #[schemars(extend("x-for" = "python"))]
    pub record_commands: bool,
    /// Keep the activities of channels and dies in memory: `Result.span_table`.
    #[schemars(extend("x-for" = "python"))]
    pub record_spans: bool,
    /// File for a row for each command with its causes: `.parquet`, `.csv` or `.csv.gz`.
    ///
    /// `ssdlab.read_commands` reads it.
    #[schemars(extend("x-value" = "FILE", "x-panel" = "Output", "x-file" = "output"))]
    pub log_commands: Option<String>,
    /// File for the activities of channels and dies, for Perfetto; compressed if its name ends in `.gz` or `.zst`.
    ///
    /// `ssdlab.read_timeline` reads it.
    #[schemars(extend("x-value" = "FILE", "x-panel" = "Output", "x-file" = "output"))]
    pub timeline: Option<String>,
    /// File for the physical history, every completion and every start and end of a flash operation: `.csv`, `.csv.gz`
    /// or `.csv.zst`.
    ///
    /// `ssdlab.read_history` reads it, `ssdlab.compare_histories` compares two of them.
    #[schemars(extend("x-value" = "FILE", "x-panel" = "Output", "x-file" = "output"))]
    pub history: Option<String>,
    /// File for the firmware trace: the flash operations of the translation layer, which `ftl.translation = "replay"`
    /// replays (docs/reference/firmware_trace.md).
    #[schemars(extend("x-value" = "FILE", "x-panel" = "Output", "x-file" = "output"))]
    pub record_firmware: Option<String>,
}

/// Options of a life.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct LifeOptions {
    /// Criterion that ends the drive's life: `mean_wear`, `first_block`, `error_rate` or `spare`.
    ///
    /// `mean_wear`: the mean wear of the blocks reaches the limit. `first_block`: the wear of the first block does.
    /// `error_rate`: in the first block the code no longer corrects data that was kept for `retention`. `spare`:
    /// worn-out blocks are retired, and a die can spare no more.
    #[schemars(extend("x-value" = "END", "x-panel" = "Life"))]
    pub until: String,
    /// Method: `full`, every erase is simulated, or `extrapolate`, a steady round is simulated in each interval of wear
    /// and stands for it.
    #[schemars(extend("x-value" = "HOW", "x-panel" = "Life"))]
    pub method: String,
    /// Effective wear at which a block is worn out, in nominal erases; absent: the rated cycles.
    #[schemars(extend("x-value" = "CYCLES", "x-panel" = "Life"))]
    pub wear_limit: Option<f64>,
    /// Time for which data must stay correctable, such as `1y`, for `error_rate`; absent: the time that the mode
    /// `normal` promises.
    #[schemars(extend("x-value" = "TIME", "x-panel" = "Life"))]
    pub retention: Option<String>,
    /// Largest number of passes of a full run.
    #[schemars(extend("x-value" = "N", "x-panel" = "Life"))]
    pub max_passes: Option<i64>,
    /// Number of equal intervals of the rated endurance; absent: six.
    ///
    /// Results are stated for each interval, and extrapolation adds them up.
    #[schemars(extend("x-value" = "N", "x-panel" = "Life"))]
    pub intervals: Option<i64>,
    /// Least mean number of cycles per block in a round of extrapolation; absent: four, or as many as make 4,096 erases
    /// in total.
    #[schemars(extend("x-value" = "X", "x-panel" = "Life"))]
    pub round_cycles: Option<f64>,
    /// Relative difference in wear per erase and in write amplification up to which two consecutive rounds of
    /// extrapolation count as steady; absent: 0.01.
    #[schemars(extend("x-value" = "SHARE", "x-panel" = "Life"))]
    pub agreement: Option<f64>,
}

impl Default for LifeOptions {
    fn default() -> LifeOptions {
        LifeOptions {
            until: "mean_wear".to_owned(),
            method: "full".to_owned(),
            wear_limit: None,
            retention: None,
            max_passes: None,
            intervals: None,
            round_cycles: None,
            agreement: None,
        }
    }
}

/// Limits of what a run may take.
///
/// The caller of the engine knows the machine; the engine gets bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Most memory, such as `4GiB`, or a share of what is free at the start, such as `50%`; absent: `90%`.
    ///
    /// A drive whose tables take more in the starting state is refused. A run that comes to take more ends with an
    /// error, and nothing is written. In Python also a number of bytes.
    #[schemars(extend("x-value" = "SIZE|PERCENT", "x-python" = "str | int"))]
    pub max_memory: Option<String>,
}

/// Output of the command.
///
/// In Python the result is an object with methods for these.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CommandOutput {
    /// Write the result folder; absent: no folder is written.
    #[schemars(extend("x-value" = "DIR", "x-panel" = "Output", "x-file" = "output"))]
    pub out: Option<String>,
    /// Replace existing files, and folders that ssdlab wrote.
    #[schemars(extend("x-panel" = "Output"))]
    pub force: bool,
    /// Print one JSON document and nothing else.
    #[schemars(extend("x-panel" = "Output"))]
    pub json: bool,
    /// Print no progress and no remarks.
    #[schemars(extend("x-panel" = "Output", "x-short" = "-q"))]
    pub quiet: bool,
}
