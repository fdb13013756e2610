//! Where data lives: the map, write allocation, relocation, victim choice, wear levelling and mode policies.
//!
//! [`Ftl`] is one stage of the drive. Host commands come in unit by unit; reads are answered with flash operations to push; programs and erases are
//! *pulled*: the router asks [`Ftl::next`] what an idle die should do, and only then are block, page and mode bound. All changes of the map happen at
//! that instant. Relocations re-test validity then, and a block is erased only when nothing pins it.

mod audit;
mod collector;
mod config;
mod endurance;
mod ftl;
mod index;
mod map;
mod moves;
pub mod policy;
mod precondition;
mod retention;
mod space;
pub mod victim;
pub mod wear;
mod writes;

pub use config::{AllocationOrder, FtlConfig, PartialWrite, ReadInFlight, UnmappedRead, WriteAllocation};
pub use endurance::most_streams;
pub use ftl::{Ftl, FtlCounters, HostUnit, Loaded, Parameters};
pub use map::{BlockRecord, BlockState, Store};
pub use policy::PolicyConfig;
pub use precondition::{Precondition, Preconditioned, ScaleModels};
pub use victim::VictimConfig;
pub use wear::WearConfig;
