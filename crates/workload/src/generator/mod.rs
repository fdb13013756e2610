//! Generators shared by fio jobs, synthetic workloads and look-alikes: where a request lands, how long it is, what it does.
//!
//! Each draws from its own random streams, so that changing the operation mix moves no address, and none depends on how
//! its output is cut into batches.

mod blocks;
mod mix;
mod place;
mod zipf;

pub use blocks::{BlockPlan, BlockSource};
pub use mix::{OpMix, SizeMix};
pub use place::{Place, Zone};
pub use zipf::Zipf;
