//! The whole drive.
//!
//! [`Drive`] composes the stages and passes the output of each on to the next. Its interface is `submit`, `next_event`
//! and `advance`, which returns the completions. [`description`] reads a drive's description, [`run_loop`] replays a
//! workload, [`summary`] builds the results, and [`streams`] hands out data that is too large to be kept. [`session`]
//! combines these for the command line and Python; [`lifetime`] does so for a workload that is repeated until the drive
//! is worn out; [`embed`] is the drive inside another simulator.

mod batches;
mod build;
pub mod definitions;
pub mod description;
mod diagram;
mod drive;
pub mod embed;
mod energy;
pub mod export;
mod facts;
mod failure;
pub mod fault_script;
pub mod lifetime;
mod memory;
pub mod options;
mod power_cut;
pub mod presets;
mod run_loop;
pub mod session;
mod shrink;
mod span;
mod statistics;
mod steady;
pub mod streams;
pub mod summary;
mod totals;
mod wall;

pub use build::BUILD;
pub use description::{Description, PowerLossConfig};
pub use diagram::{Diagram, Edge, Node, Stage, diagram};
pub use drive::{Drive, HangCounts, Identity, PowerFailure, PowerLoss, Resumed};
pub use energy::{EnergyReport, PowerRow};
pub use facts::facts;
pub use run_loop::{End, Part, Reached, RunLoop};
pub use shrink::{Change, MockUp, mock_up, shrink};
pub use span::{Span, SpanPurpose};
pub use statistics::{CommandRow, Statistics, Timeline, TimelineRow};
pub use totals::{LatencyRow, StreamTotals, Totals};
