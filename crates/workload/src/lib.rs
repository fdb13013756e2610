//! Workloads: streams of host requests from trace files, fio jobs and synthetic models.

pub mod analysis;
pub mod fio;
pub mod generator;
mod input;
pub mod lookalike;
pub mod open;
pub mod pacing;
pub mod request;
mod schema;
pub mod synthetic;
pub mod trace;
pub mod xml;

pub use input::{Input, Opener, Surroundings};
pub use open::{Options, Target, open, open_on};
pub use request::{Flags, Job, Limits, Origin, Pacing, Request, Source, Workload};
pub use schema::schema;
pub use trace::lines::decompressed;
