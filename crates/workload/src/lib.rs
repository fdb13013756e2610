//! Workloads: trace files, fio jobs and synthetic models become streams of host requests.

pub mod request;

pub use request::{Job, Limits, Pacing, Request, Source, Workload};
