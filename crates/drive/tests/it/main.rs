//! Integration tests of `drive`, one binary.

mod closed_forms;
mod common;
