//! Physics of the cell: where threshold voltages are, and how often a read takes them for something else.
//!
//! [`density`] holds probability on a grid of voltages, [`ofwar`] is the threshold-voltage model of the OFWAR paper (section 4.1), [`read`] turns
//! levels into error rates of pages, [`solve`] finds what a limit on them allows, and [`monte_carlo`] draws the same cells one by one.
//! [`relaxation`] and [`dpes`] are the models of retention relaxation and of dynamic program and erase scaling; [`laws`] are error rates that
//! others have fitted to measurements.

pub mod density;
pub mod dpes;
pub mod laws;
pub mod monte_carlo;
pub mod ofwar;
pub mod read;
pub mod relaxation;
pub mod solve;

pub use density::{Density, Grid, Kernel};
pub use ofwar::{RetentionAt, VoltageModel, Writing};
pub use read::{PageErrors, page_errors};
