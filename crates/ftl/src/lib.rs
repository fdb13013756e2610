//! Flash translation layer: logical-to-physical map, write allocation, relocation, victim choice, wear levelling and
//! mode policies.
//!
//! [`Ftl`] is one stage of the drive. It receives host commands one mapping unit at a time. Reads are answered with
//! flash operations, which are pushed to the flash stage. Programs and erases are *pulled*: the router calls
//! [`Ftl::next`] for an idle die, and only then are block, page and mode bound. The map entry of data that goes to
//! flash changes at that instant, not when the program completes. A relocation tests again at that instant whether its
//! data is still valid. A block is erased only when it holds no valid unit and no pin.

mod config;
mod counters;
mod declared;
pub mod firmware;
pub mod layer;
mod map;
mod map_cache;
mod map_journal;
mod medium;
mod paired;
mod parameters;
pub mod policy;
mod queue;
mod read_cache;
mod starting;
pub mod victim;
pub mod wear;

pub use config::{CollectionStart, FractionOf, PartialWrite, PlaneChoice, RainConfig, ReadInFlight, UnmappedRead};
pub use counters::FtlCounters;
pub use layer::mapping::{DieState, MapCacheReport};
pub use layer::page_map::endurance::max_streams_per_die;
pub use layer::page_map::executed::{Asks, CoreWork, CoresConfig, FirmwareProfile, Split, Work};
pub use layer::page_map::ftl::{Defect, Ftl, Health, Loaded, StartingState};
pub use layer::page_map::precondition::{ScaleModels, StartingKey};
pub use layer::page_map::recovery::{Forgery, Recovered, Remains, RowsRead};
pub use layer::{FtlConfig, LoadedLayer, Mapping, Pulled, Translation, TranslationConfig, Translator};
pub use map_cache::{MapCacheConfig, MapCounters, MapMemory};
pub use map_journal::JournalConfig;
pub use medium::{BlockRecord, BlockState, Medium};
pub use paired::PairedPages;
pub use parameters::{Load, Parameters};
pub use policy::PolicyConfig;
pub use queue::order::{AllocationOrder, WriteAllocation};
pub use queue::{Buffered, Buffering, Drain};
pub use read_cache::ReadCacheConfig;
pub use starting::{Precondition, Preconditioned};
pub use victim::VictimConfig;
pub use wear::WearConfig;
