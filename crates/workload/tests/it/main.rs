//! Integration tests of `workload`, one binary.

mod analysis;
mod fio;
mod lookalike;
mod synthetic;
mod trace;
mod trace_files;
mod xml;
