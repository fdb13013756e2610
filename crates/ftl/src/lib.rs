//! Flash translation layer: logical-to-physical map, write allocation, relocation, victim choice, wear levelling and
//! mode policies.
//!
//! [`Ftl`] is one stage of the drive. It receives host commands one mapping unit at a time. Reads are answered with
//! flash operations, which are pushed to the flash stage. Programs and erases are *pulled*: the router calls
//! [`Ftl::next`] for an idle die, and only then are block, page and mode bound. The map entry of data that goes to
//! flash changes at that instant, not when the program completes. A relocation tests again at that instant whether its
//! data is still valid. A block is erased only when it holds no valid unit and no pin.

mod audit;
mod collector;
mod config;
mod declared;
mod endurance;
pub mod firmware;
mod ftl;
mod idle;
mod map;
mod map_cache;
mod medium;
mod moves;
pub mod policy;
mod precondition;
mod read_cache;
mod retention;
pub mod translation;
pub mod victim;
pub mod wear;
mod writes;

pub use audit::DieState;
pub use config::{AllocationOrder, FractionOf, FtlConfig, PartialWrite, ReadInFlight, UnmappedRead, WriteAllocation};
pub use endurance::max_streams_per_die;
pub use ftl::{Ftl, FtlCounters, Load, Loaded, MapCacheReport, Parameters, Pulled, StartingState};
pub use map::Store;
pub use map_cache::{MapCacheConfig, MapCounters, MapMemory};
pub use medium::{BlockRecord, BlockState, Medium};
pub use policy::PolicyConfig;
pub use precondition::{Precondition, Preconditioned, ScaleModels, StartingKey};
pub use read_cache::ReadCacheConfig;
pub use translation::{Translation, TranslationConfig, Translator};
pub use victim::VictimConfig;
pub use wear::WearConfig;
pub use writes::Buffering;
