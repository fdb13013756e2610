//! Integration tests of `drive`, one binary.

mod bad_input;
mod closed_forms;
mod common;
mod fuzz;
mod oracle;
mod figures;
mod golden;
mod ofwar;
mod timing;
mod write_amplification;
