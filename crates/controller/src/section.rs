//! The `[controller]` section of a drive's description.

use crate::cards::Cards;
use crate::dma::DmaConfig;
use crate::firmware::FirmwareConfig;
use crate::firmware::ideal as ideal_firmware;
use crate::interconnect::{InterconnectConfig, ideal as ideal_interconnect};
use crate::memory::{MemoryConfig, ideal as ideal_memory};
use crate::page_buffers::PageBufferConfig;
use crate::sequencer::SequencerConfig;
use crate::target_queues::TargetQueueConfig;
use kit::{Bytes, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `[controller]` section: the parts between host interface and flash channels. Each part is ideal unless it is
/// described: it takes no time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ControllerSection {
    /// The firmware.
    pub firmware: FirmwareConfig,
    /// The interconnect between the host interface, the memories and the channel controllers.
    pub interconnect: InterconnectConfig,
    /// The DMA controller, whose channels data takes on its way over the interconnect. Absent: data needs none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dma: Option<DmaConfig>,
    /// The memory through which data passes between host and flash, and which holds the map. With several data buffers
    /// (`buffer.buffers`), each has a memory of its own.
    pub dram: MemoryConfig,
    /// Cards of flash below the translation layer, each behind a link of its own. Absent: the flash channels belong to
    /// the controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cards: Option<Cards>,
    /// Page buffers of the channel controllers. Absent: there are always enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_buffers: Option<PageBufferConfig>,
    /// The I/O sequencer. Absent: host reads go to the queues of their dies at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequencer: Option<SequencerConfig>,
    /// Queues of the targets. Absent: commands are fetched however many reads wait at a die.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_queues: Option<TargetQueueConfig>,
}

impl Default for ControllerSection {
    fn default() -> Self {
        ControllerSection {
            firmware: FirmwareConfig::Ideal(ideal_firmware::Params::default()),
            interconnect: InterconnectConfig::Ideal(ideal_interconnect::Params::default()),
            dma: None,
            dram: MemoryConfig::Ideal(ideal_memory::Params::default()),
            cards: None,
            page_buffers: None,
            sequencer: None,
            target_queues: None,
        }
    }
}

impl ControllerSection {
    /// Adds the section's inconsistencies to `problems`. All memories together hold `tables`: the map and the buffers.
    pub fn problems(&self, tables: Bytes, (buffers, channels): (u32, u32), problems: &mut Problems) {
        self.firmware.build(()).problems(problems);
        self.interconnect.build(()).problems(problems);
        self.dma.iter().for_each(|dma| dma.problems(problems));
        if let Some(cards) = &self.cards {
            cards.problems(channels, self.firmware.build(()).cores().is_some(), problems);
        }
        if let Some(sequencer) = &self.sequencer {
            sequencer.problems(problems);
        }
        let memory = self.dram.build(());
        memory.problems(problems);
        if let Some(size) = memory.size()
            && size.0 * u64::from(buffers) < tables.0
        {
            let what =
                format!("{size}: expected at least {}B for the map and the data buffers", tables.0.div_ceil(u64::from(buffers)));
            problems.add("controller.dram.size", what);
        }
    }
}
