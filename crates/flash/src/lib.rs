//! The chips and what the controller does to them.
//!
//! [`FlashConfig`] describes them; [`Flash`] is their state: dies that carry out one operation at a time, channels that their dies share, and
//! a transaction scheduler (a family) that chooses what goes first. Reads are pushed to their die and wait there; programs and
//! erases are pulled by the router from the FTL when a die has nothing better to do.

mod channel;
mod config;
mod counters;
mod die;
mod encoder;
mod engine;
mod modes;
mod per_wear;
pub mod scheduler;
mod timing;

pub use config::{CellType, FlashConfig, Interface, PerPageType, Suspension, TimeDistribution};
pub use counters::{Counters, Utilisation};
pub use engine::{Dispatch, Flash, Snapshot};
pub use modes::{
    DeriveErase, DeriveRead, DeriveWrite, DpesMode, EncoderConfig, EraseModeConfig, Levels, ReadModeConfig, WriteDerivation,
    WriteModeConfig,
};
pub use per_wear::{EraseWear, PerWear};
pub use scheduler::SchedulerConfig;
pub use timing::{Phases, Timing};
