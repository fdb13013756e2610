//! The host stage: the host link, the device's command queue, and the space of the write buffer.
//!
//! Not modelled: the protocols of SATA and NVMe, controller DRAM, on-chip interconnect and firmware time. A detailed
//! link would be a further member of [`interface`].

pub mod buffer;
pub mod interface;

pub use buffer::{Buffer, BufferConfig, BufferPolicy};
pub use interface::{HostInterface, InterfaceConfig};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `[host]` section of a drive's description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostConfig {
    /// The host interface.
    pub interface: InterfaceConfig,
}
