//! Integration tests of `drive`, one binary.

mod allocation;
mod bad_input;
mod clairvoyant;
mod closed_forms;
mod codes;
mod combined;
mod common;
mod conservation;
mod contract;
mod deadlines;
mod derive;
mod figures;
mod fuzz;
mod golden;
mod guests;
mod lifetime;
mod margin;
mod notes;
mod ofwar;
mod oracle;
mod power;
mod reference;
mod regulated;
mod relaxed;
mod timing;
mod write_amplification;
