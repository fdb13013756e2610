//! The DMA controller: the channels that move data between the host interface, the memories and the channel
//! controllers.

use kit::{Nanos, Problems, Rate, Service, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Longest time to program a descriptor.
const SETUP_MAX: Nanos = Nanos(1_000_000);

/// Least data rate of a channel.
const RATE_MIN: Rate = Rate(1_000_000);

/// A DMA controller. Each movement of data between the host interface and a memory, or between a memory and a channel
/// controller, first takes a DMA channel, the first that is free, in the order of asking: for the time to program its
/// descriptor, and for its data at the rate of the channel. Then it goes over the interconnect, if that takes time. A
/// movement is the data that a route carries at once: a piece of a command at the host, the data of a program or of a
/// read at a channel controller; it has one descriptor.
///
/// The wait for a channel is charged to `interconnect_wait` and its work to `interconnect`, the causes of the way
/// between these parts; `utilisation.dma_N` says which of both limits a drive. The energy of the DMA controller is not
/// modelled.
///
/// Source: the SSDExplorer thesis (section 1.2.2) lists an external DMA controller among the parts of an SSD, without
/// figures; channels, times and rates are assumed \[A\]. Known error: a channel is free again once its own work is
/// done, and not held during the transfer on the interconnect, which overlaps it in hardware; the sum of both is an
/// upper bound for one transfer. Lists of descriptors that are programmed together are not modelled.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DmaConfig {
    /// Number of DMA channels.
    #[schemars(range(min = 1, max = 256))]
    pub channels: u32,
    /// Time to program the descriptor of a movement, in which it has its channel: 0 ns to 1 ms.
    pub setup: Nanos,
    /// Data rate of one channel, 1 MB/s or more. Absent: not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

impl DmaConfig {
    /// Returns the work of a channel for a movement of data.
    pub fn service(&self) -> Service {
        Service { fixed: self.setup, ..Service::data(self.rate.unwrap_or_default()) }
    }

    /// Returns the names of the channels, with their numbers if there are several.
    pub fn names(&self) -> Vec<String> {
        if self.channels == 1 { vec!["dma".to_owned()] } else { (0..self.channels).map(|at| format!("dma_{at}")).collect() }
    }

    /// Returns channels, times and rates in words for drawings, in lines; none if they take no time.
    pub fn in_words(&self) -> Vec<String> {
        if self.service().is_free() {
            return Vec::new();
        }
        let rate = self.rate.map(|rate| format!(", {}", words::rate(rate))).unwrap_or_default();
        let each = if self.channels > 1 && self.rate.is_some() { " each" } else { "" };
        let setup = format!("{} for each descriptor", words::time(self.setup));
        vec![words::count(self.channels, "channel") + &rate + each, setup]
    }

    /// Adds the inconsistencies to `problems`.
    pub fn problems(&self, problems: &mut Problems) {
        if self.setup > SETUP_MAX {
            problems.add("controller.dma.setup", format!("{}: expected at most {SETUP_MAX}", self.setup));
        }
        if let Some(rate) = self.rate.filter(|rate| *rate < RATE_MIN) {
            problems.add("controller.dma.rate", format!("{rate}: expected at least 1MB/s"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Bytes;

    #[test]
    fn a_channel_works_for_its_descriptor_and_its_data() {
        let dma = |setup: u64, rate: Option<u64>| DmaConfig { channels: 2, setup: Nanos(setup), rate: rate.map(Rate) };
        assert_eq!(dma(300, Some(800_000_000)).service().time(Bytes(4096)), Nanos(300 + 5120));
        assert_eq!(dma(300, None).service().time(Bytes(1 << 30)), Nanos(300));
        let words = |setup: u64, rate: Option<u64>| dma(setup, rate).in_words();
        assert_eq!(words(0, None), [""; 0]);
        assert_eq!(words(300, None), ["2 channels", "300 ns for each descriptor"]);
        assert_eq!(words(0, Some(800_000_000)), ["2 channels, 800 MB/s each", "0 ns for each descriptor"]);
        assert_eq!(dma(0, None).names(), ["dma_0", "dma_1"]);
        assert_eq!(DmaConfig { channels: 1, ..dma(0, None) }.names(), ["dma"]);
    }
}
