//! Who asks: the host link and its queue, and the write buffer.
//!
//! Detailed links (SATA, NVMe), DRAM, interconnect and firmware are further members of the same families.

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
