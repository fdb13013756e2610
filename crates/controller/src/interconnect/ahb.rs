//! AMBA AHB: one bus.

use super::{Choice, Fabric, Hold, Interconnect, Ports, bursts, layers};
use kit::{Frequency, Problems};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One bus: one master has it at a time, whatever the slave (AMBA AHB). Data crosses in bursts, each after its address.
/// Split transactions and wait states of slaves are not modelled.
///
/// 32 bits at 166 to 200 MHz are assumed \[A\].
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
    fn fabric(&self, _: Ports) -> Fabric {
        let service = bursts(self.clock, self.width_bits, self.burst_beats, self.address_cycles);
        let step = vec![Hold { group: 0, choice: Choice::ONLY, service, lead: None }];
        Fabric { groups: vec![layers("ahb", 1)], legs: std::array::from_fn(|_| step.clone()) }
    }

    fn in_words(&self) -> Vec<String> {
        vec![
            format!("{}, {}", super::layer_in_words(self.clock, self.width_bits), "one transfer at a time"),
            super::bursts_in_words(self.burst_beats, self.address_cycles),
        ]
    }

    fn problems(&self, problems: &mut Problems) {
        super::check(self.clock, self.width_bits, problems);
    }
}
