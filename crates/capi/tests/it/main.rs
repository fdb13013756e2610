//! Tests of the C interface, by calls as a program in C makes them.

mod calls;
mod contents;
mod door;
mod errors;
// The names of the libraries, and how a program finds them, differ elsewhere.
#[cfg(target_os = "linux")]
mod examples;
mod header;
mod same_results;
