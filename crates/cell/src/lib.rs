//! Physics of the cell: where threshold voltages are, and how often a read takes them for something else.
//!
//! [`density`] holds probability on a grid of voltages, [`voltage`] is the threshold-voltage model of the OFWAR paper (section 4.1), [`read`] turns
//! levels into error rates of pages, [`solve`] finds what a limit on them allows, and [`monte_carlo`] draws the same cells one by one.
//! [`relaxation`] and [`dpes`] are the models of retention relaxation and of dynamic program and erase scaling; [`laws`] are error rates that
//! others have fitted to measurements.

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
