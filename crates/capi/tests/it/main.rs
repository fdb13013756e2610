//! Tests of the C interface, by calls as a program in C makes them.

mod calls;
mod door;
mod errors;
mod examples;
mod header;
mod same_results;
