//! A link of its own between each two ports.

use super::{Choice, Fabric, Hold, Interconnect, Ports, bursts, layers};
use kit::{Frequency, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A link of its own, for both directions, between each memory and the host interface and between each memory and each
/// channel controller. Data crosses without addresses.
///
/// 32 bits at 200 MHz are assumed \[A\].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Clock of the bus.
    pub clock: Frequency,
    /// Width of its data: a power of two from 8 to 1024.
    pub width_bits: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { clock: Frequency(200_000_000), width_bits: 32 }
    }
}

/// Builds the interconnect.
pub fn build(params: &Params, (): ()) -> Box<dyn Interconnect> {
    Box::new(params.clone())
}

impl Interconnect for Params {
    fn fabric(&self, ports: Ports) -> Fabric {
        let service = bursts(self.clock, self.width_bits, 1, 0);
        let link = |group: usize, by_channel: u32, by_buffer: u32| {
            vec![Hold { group, choice: Choice::At { first: 0, by_channel, by_buffer }, service, lead: None }]
        };
        let (host, channel) = (link(0, 0, 1), link(1, ports.buffers, 1));
        let groups = vec![layers("wire_host", ports.buffers), layers("wire_channel", ports.channels * ports.buffers)];
        Fabric { groups, legs: [host.clone(), host, channel.clone(), channel] }
    }

    fn in_words(&self) -> Vec<String> {
        let layer = super::layer_in_words(self.clock, self.width_bits);
        vec![format!("{layer}; between each memory and the host, and each channel")]
    }

    fn problems(&self, problems: &mut Problems) {
        super::check(self.clock, self.width_bits, problems);
    }
}
