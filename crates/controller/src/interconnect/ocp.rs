//! OCP: a socket for each channel controller and for the host interface.

use super::{Choice, Fabric, Hold, Interconnect, Ports, bursts, layers};
use kit::{Frequency, Problems, Service, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A socket at each channel controller and at the host interface, with a request and a response side: transfers through
/// different sockets, or in different directions, do not wait for each other (Open Core Protocol). The addresses of a
/// burst overlap its data; `address_cycles` are spent once for a transfer.
///
/// 64 bits at 200 MHz are assumed \[A\].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Clock of the bus.
    pub clock: Frequency,
    /// Width of its data: a power of two from 8 to 1024.
    pub width_bits: u32,
    /// Cycles before the data of a transfer: request and acceptance.
    #[schemars(range(min = 0, max = 64))]
    pub address_cycles: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params { clock: Frequency(200_000_000), width_bits: 64, address_cycles: 2 }
    }
}

/// Builds the interconnect.
pub fn build(params: &Params, (): ()) -> Box<dyn Interconnect> {
    Box::new(params.clone())
}

impl Interconnect for Params {
    fn fabric(&self, ports: Ports) -> Fabric {
        let width = u64::from(self.width_bits / 8);
        let service = Service { amount: width * u64::from(self.address_cycles), ..bursts(self.clock, self.width_bits, 1, 0) };
        let through = |group: usize, by_channel: u32| {
            vec![Hold { group, choice: Choice::At { first: 0, by_channel, by_buffer: 0 }, service, lead: None }]
        };
        let groups = vec![
            layers("ocp_host_in", 1),
            layers("ocp_host_out", 1),
            layers("ocp_channel_out", ports.channels),
            layers("ocp_channel_in", ports.channels),
        ];
        Fabric { groups, legs: [through(0, 0), through(1, 0), through(2, 1), through(3, 1)] }
    }

    fn in_words(&self) -> Vec<String> {
        let layer = super::layer_in_words(self.clock, self.width_bits);
        vec![
            format!("{layer}; in and out at the host and at each channel"),
            format!("{} before each transfer", words::count(self.address_cycles, "cycle")),
        ]
    }

    fn problems(&self, problems: &mut Problems) {
        super::check(self.clock, self.width_bits, problems);
    }
}
