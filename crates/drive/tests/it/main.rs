//! Integration tests of `drive`, one binary.

mod closed_forms;
mod common;
mod fuzz;
mod oracle;
mod figures;
mod ofwar;
mod timing;
mod write_amplification;
