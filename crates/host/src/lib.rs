//! The host stage: commands from their submission to their completion.
//!
//! [`Host`] holds the table of commands, the device queue and the write buffer without its contents, which wait in the
//! FTL's write queue. The host interface is a family; commands and data cross its link as steps of their way through
//! the controller.
//!
//! Not modelled: the protocols of SATA and NVMe, controller DRAM, on-chip interconnect and firmware time. A detailed
//! link would be a further member of [`interface`].

mod buffer;
mod commands;
pub mod interface;
mod queue;
mod stage;

pub use buffer::{Buffer, BufferConfig, BufferImage, BufferPolicy, TakenUnit};
pub use commands::{Command, UnitRange};
pub use interface::{HostInterface, InterfaceConfig};
pub use stage::{Host, Request};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `[host]` section of a drive's description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostConfig {
    /// The host interface.
    pub interface: InterfaceConfig,
}
