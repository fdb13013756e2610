//! The host stage: commands from their submission to their completion.
//!
//! [`Host`] holds the table of commands, the submission queues and the write buffer without its contents, which wait in
//! the FTL's write queue. The host interface is a family; commands and data cross its link, and the host's processor
//! works on them, as steps of their way through the controller.

mod buffer;
mod commands;
mod cpu;
pub mod interface;
mod interrupts;
mod queues;
mod stage;

pub use buffer::{Buffer, BufferConfig, BufferImage, BufferPolicy, FlushOrder, PartialFlush, Piece, Rewritten, TakenUnit};
pub use commands::{Command, UnitRange};
pub use cpu::{CpuConfig, Notice};
pub use interface::{HostInterface, InterfaceConfig};
pub use interrupts::Posted;
pub use queues::{Arbitration, ArbitrationImage, Priority, QueueConfig};
pub use stage::{Host, Request};

use kit::{Bytes, MIN_BLOCK_BYTES, Problems, Protocol, SECTOR_BYTES};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `[host]` section of a drive's description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostConfig {
    /// The host interface.
    pub interface: InterfaceConfig,
    /// The processor of the host. Absent: its work takes no time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<CpuConfig>,
    /// Logical block: the grain of addresses and lengths of commands. Smaller than 512 bytes only where the mapping
    /// unit is, on a drive with the translation layer `in_place`. Absent: 512 bytes.
    #[serde(default = "sector", skip_serializing_if = "is_sector")]
    pub logical_block: Bytes,
}

fn sector() -> Bytes {
    Bytes(SECTOR_BYTES)
}

fn is_sector(bytes: &Bytes) -> bool {
    *bytes == sector()
}

impl HostConfig {
    /// Returns the protocol between host and device: that of the interface, with the work of the host's processor.
    pub fn protocol(&self) -> Protocol {
        let mut protocol = self.interface.build(()).protocol();
        if let Some(cpu) = &self.cpu {
            cpu.extend(&mut protocol);
        }
        protocol.gathers_completions = self.queues().is_some_and(|queues| queues.coalescing.is_some());
        protocol
    }

    /// Returns the submission queues; `None` if a command is in the device at once.
    pub fn queues(&self) -> Option<QueueConfig> {
        let queues = self.interface.build(()).queues();
        if self.cpu.is_some() { Some(queues.unwrap_or_default()) } else { queues }
    }

    /// Adds the section's inconsistencies to `problems`.
    pub fn problems(&self, problems: &mut Problems) {
        self.interface.build(()).problems(problems);
        if ![MIN_BLOCK_BYTES, SECTOR_BYTES].contains(&self.logical_block.0) {
            problems.add("host.logical_block", format!("{}: expected \"512B\" or \"256B\"", self.logical_block));
        }
        let Some(cpu) = &self.cpu else { return };
        cpu.problems(problems);
        if cpu.notice == Notice::Polling && self.queues().is_some_and(|queues| queues.coalescing.is_some()) {
            let what =
                "\"polling\": completions are announced together (host.interface.coalesced), expected notice = \"interrupt\"";
            problems.add("host.cpu.notice", what);
        }
    }
}
