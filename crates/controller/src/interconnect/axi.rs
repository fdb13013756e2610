//! AMBA AXI: an address lane and several data lanes.

use super::{Choice, Fabric, Hold, Interconnect, Ports, bursts, layers};
use kit::{Frequency, Problems, Service, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One address lane, and several data lanes: the address of each burst crosses the address lane, the data takes the
/// first lane that is free (AMBA AXI with outstanding transactions). The addresses of a transfer follow each other on
/// their lane, and all but the first overlap its data, which waits for addresses only if they take longer than bursts.
/// Addresses of two transfers do not alternate: those of the second come after all of the first.
///
/// 128 bits at 250 MHz are those of SimpleSSD's configuration; two data lanes, one for reads and one for writes, are
/// assumed \[A\].
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
    /// Data lanes.
    #[schemars(range(min = 1, max = 64))]
    pub data_lanes: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { clock: Frequency(250_000_000), width_bits: 128, burst_beats: 16, address_cycles: 1, data_lanes: 2 }
    }
}

/// Builds the interconnect.
pub fn build(params: &Params, (): ()) -> Box<dyn Interconnect> {
    Box::new(params.clone())
}

impl Interconnect for Params {
    fn fabric(&self, _: Ports) -> Fabric {
        let address = Service { per_byte: 0, ..bursts(self.clock, self.width_bits, self.burst_beats, self.address_cycles) };
        let data = bursts(self.clock, self.width_bits, self.burst_beats, 0);
        // The data, which is not interrupted, begins so that no burst comes before its address: one address ahead or,
        // where addresses take longer than full bursts, by as much more as all bursts but the last fall behind.
        let ahead = address.per_packet.min(address.packet);
        let lead = Service { amount: ahead, per_packet: address.per_packet - ahead, ..address };
        let step = vec![
            Hold { group: 0, choice: Choice::ONLY, service: address, lead: Some(lead) },
            Hold { group: 1, choice: Choice::Free, service: data, lead: None },
        ];
        let groups = vec![layers("axi_address", 1), layers("axi_data", self.data_lanes)];
        Fabric { groups, legs: std::array::from_fn(|_| step.clone()) }
    }

    fn in_words(&self) -> Vec<String> {
        let lanes = words::count(self.data_lanes, "data lane");
        vec![
            format!("{lanes} of {}; an address lane", super::layer_in_words(self.clock, self.width_bits)),
            super::bursts_in_words(self.burst_beats, self.address_cycles),
        ]
    }

    fn problems(&self, problems: &mut Problems) {
        super::check(self.clock, self.width_bits, problems);
    }
}
