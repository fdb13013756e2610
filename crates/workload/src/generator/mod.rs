//! Generators of the address, length and operation of requests, shared by fio jobs, synthetic workloads and
//! look-alikes.
//!
//! Each generator draws from random streams of its own, so that a change of the operation mix changes no address. The
//! requests do not depend on the sizes of the batches.

mod blocks;
mod course;
mod mix;
mod place;
mod zipf;

pub use blocks::{BlockPlan, BlockSource};
pub use course::{Every, Stretches, Strides};
pub use mix::{OpMix, SizeMix};
pub use place::{AtEnd, Place, Zone};
pub use zipf::Zipf;
