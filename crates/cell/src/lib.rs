//! Physics of the cell: the distribution of threshold voltages and the error rates that follow from it.
//!
//! [`density`] holds probability on a grid of voltages, [`voltage`] is the threshold-voltage model of the OFWAR paper
//! (section 4.1), [`read`] derives the error rates of pages from distributions of levels, [`solve`] finds the step,
//! erase depth, retention and wear that an error-rate limit allows, and [`monte_carlo`] draws individual cells of the
//! same model. [`relaxation`] and [`dpes`] are the models of retention relaxation and of dynamic program and erase
//! scaling; [`laws`] are published error rates fitted to measurements.

pub mod budget;
pub mod condition;
pub mod density;
pub mod device;
pub mod dpes;
pub mod ispp;
pub mod laws;
pub mod measured;
pub mod monte_carlo;
pub mod place;
pub mod read;
pub mod relaxation;
pub mod rram;
pub mod solve;
pub mod stress;
pub mod table;
pub mod voltage;

pub use condition::{Condition, Estimate};
pub use density::{Density, Grid, Kernel};
pub use device::{Device, Technology};
pub use read::{PageErrors, References, page_errors};
pub use table::ErrorTable;
pub use voltage::{Neighbourhood, RetentionAt, VoltageModel};
