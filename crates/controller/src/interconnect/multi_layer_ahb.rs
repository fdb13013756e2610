//! Multi-layer AHB: a bus for each slave.

use super::{Choice, Fabric, Hold, Interconnect, Ports, bursts, layers};
use kit::{Frequency, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A bus for each slave: the host interface, each memory and each channel controller. A transfer has the bus of the
/// slave to which the data goes; transfers to different slaves do not wait for each other (AMBA multi-layer AHB).
///
/// The numbers of a layer are those of `ahb` \[A\].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Clock of the bus.
    pub clock: Frequency,
    /// Width of its data: a power of two from 8 to 1024.
    pub width_bits: u32,
    /// Beats in a burst.
    #[schemars(range(min = 1, max = 256))]
    pub burst_beats: u32,
    /// Cycles before the data of each burst: address and arbitration.
    #[schemars(range(min = 0, max = 64))]
    pub address_cycles: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { clock: Frequency(200_000_000), width_bits: 32, burst_beats: 16, address_cycles: 1 }
    }
}

/// Builds the interconnect.
pub fn build(params: &Params, (): ()) -> Box<dyn Interconnect> {
    Box::new(params.clone())
}

impl Interconnect for Params {
    fn fabric(&self, ports: Ports) -> Fabric {
        let service = bursts(self.clock, self.width_bits, self.burst_beats, self.address_cycles);
        let to = |group: usize, by_channel: u32, by_buffer: u32| {
            vec![Hold { group, choice: Choice::At { first: 0, by_channel, by_buffer }, service, lead: None }]
        };
        let groups = vec![layers("ahb_host", 1), layers("ahb_dram", ports.buffers), layers("ahb_channel", ports.channels)];
        Fabric { groups, legs: [to(1, 0, 1), to(0, 0, 0), to(2, 1, 0), to(1, 0, 1)] }
    }

    fn in_words(&self) -> Vec<String> {
        vec![
            format!(
                "{}, {}",
                super::layer_in_words(self.clock, self.width_bits),
                "a layer for each slave: host, memories, channels"
            ),
            super::bursts_in_words(self.burst_beats, self.address_cycles),
        ]
    }

    fn problems(&self, problems: &mut Problems) {
        super::check(self.clock, self.width_bits, problems);
    }
}
