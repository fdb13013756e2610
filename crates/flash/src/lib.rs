//! The flash stage: dies, channels, and the controller's scheduler and encoders.
//!
//! [`FlashConfig`] is the description; [`Flash`] is the state: dies that execute one operation at a time, channels that
//! their dies share, and a transaction scheduler (a family) that chooses the next operation. Reads are pushed to their
//! die and wait there. Other operations are pulled by the router from the FTL when a die is free and none of its
//! waiting reads goes first.

mod channel;
mod config;
mod counters;
mod die;
mod engine;
pub mod faults;
mod interface;
mod modes;
mod page_buffers;
mod per_page_type;
mod per_wear;
pub mod power;
pub mod scheduler;
pub mod slow;
mod timing;

pub use config::{CellType, FlashConfig, Suspension, TimeDistribution};
pub use counters::{Counters, Utilisation};
pub use engine::{Dispatch, Flash, Snapshot};
pub use interface::{Interface, Phases};
pub use modes::{
    DeriveErase, DeriveRead, DeriveWrite, DpesMode, EncoderConfig, EraseModeConfig, Levels, ReadModeConfig, WriteDerivation,
    WriteModeConfig,
};
pub use per_page_type::PerPageType;
pub use per_wear::{EraseWear, PerWear};
pub use scheduler::SchedulerConfig;
pub use timing::Timing;
