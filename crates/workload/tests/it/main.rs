//! Integration tests of `workload`, one binary.

mod fio;
mod synthetic;
mod trace;
mod trace_files;
mod lookalike;
