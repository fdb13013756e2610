//! The whole drive.
//!
//! [`Drive`] composes the stages and routes what they leave for each other; it is driven through one door: `submit`, `next_event`,
//! `advance` and the completions that come out. [`description`] reads a drive's description, [`run_loop`] replays a workload, [`summary`] states the
//! results, [`streams`] hands out what is too much to be kept, and [`session`] does all of it for the command line and Python, as [`lifetime`] does for a
//! workload that is repeated until the drive is worn out.

mod build;
pub mod description;
pub mod export;
mod facts;
mod failure;
pub mod lifetime;
mod power_cut;
pub mod presets;
mod router;
mod run_loop;
pub mod session;
mod statistics;
mod steady;
pub mod streams;
pub mod summary;
mod wall;

pub use build::BUILD;
pub use description::Description;
pub use facts::facts;
pub use router::{Drive, Identity, PowerFailure, Resumed};
pub use run_loop::{End, Part, RunLoop};
pub use statistics::{CommandRow, Statistics, Timeline, TimelineRow};
