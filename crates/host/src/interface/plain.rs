//! An interface with a command queue, a time per command and a bandwidth.

use super::HostInterface;
use crate::queues::QueueConfig;
use kit::{Hop, Nanos, Op, Protocol, Rate, Service, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The plain interface: a device queue of `queue_depth` commands, `command_time` on the link for each command, and data
/// at `bandwidth`. Commands cross the link one after another; a write's data follows its command. The parts of a read
/// are transferred as they become ready.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Commands that the device queue holds; further commands wait at the host (cause `host_queue`).
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub queue_depth: u32,
    /// Time on the link for each command.
    pub command_time: Nanos,
    /// Data rate of the link in each direction. At 0 B/s, data takes no time.
    pub bandwidth: Rate,
    /// True: both directions transfer at the same time (PCIe). False: one at a time (SATA).
    pub full_duplex: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { queue_depth: 1024, command_time: Nanos(500), bandwidth: Rate(7_000_000_000), full_duplex: true }
    }
}

/// Builds the interface.
pub fn build(params: &Params, (): ()) -> Box<dyn HostInterface> {
    Box::new(params.clone())
}

impl HostInterface for Params {
    fn queues(&self) -> Option<QueueConfig> {
        Some(QueueConfig { depth: Some(self.queue_depth), ..QueueConfig::default() })
    }

    fn protocol(&self) -> Protocol {
        let data = Service::data(self.bandwidth);
        Protocol {
            half_duplex: !self.full_duplex,
            command: Op::ALL.map(|_| vec![Hop::ToDevice(Service { fixed: self.command_time, ..data })]),
            deliver: vec![Hop::ToHost(data)],
            ..Protocol::default()
        }
    }

    fn in_words(&self) -> Vec<String> {
        let rate = if self.bandwidth.0 > 0 { words::rate(self.bandwidth) } else { "data takes no time".to_owned() };
        let directions = if self.full_duplex { "each direction" } else { "one direction at a time" };
        vec![format!("{rate}, {directions}"), format!("{} for each command", words::time(self.command_time))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Bytes;

    #[test]
    fn without_a_bandwidth_only_commands_take_time() {
        let params = Params { queue_depth: 3, bandwidth: Rate(0), ..Params::default() };
        assert_eq!(params.queues().and_then(|queues| queues.depth), Some(3));
        let Protocol { command: [command, ..], deliver, .. } = params.protocol();
        let (&[Hop::ToDevice(command)], &[Hop::ToHost(deliver)]) = (&command[..], &deliver[..]) else { panic!("one hop each") };
        assert_eq!([command, deliver].map(|service| service.time(Bytes(1 << 30))), [Nanos(500), Nanos(0)]);
    }
}
