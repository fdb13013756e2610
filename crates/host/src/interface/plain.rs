//! An interface with a command queue, a time per command and a bandwidth.

use super::HostInterface;
use kit::{Bytes, Nanos, Rate, SimTime};
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

struct Plain {
    params: Params,
    inbound_free: SimTime,
    outbound_free: SimTime,
}

/// Builds the interface.
pub fn build(params: &Params, (): ()) -> Box<dyn HostInterface> {
    Box::new(Plain { params: params.clone(), inbound_free: SimTime::ZERO, outbound_free: SimTime::ZERO })
}

impl HostInterface for Plain {
    fn is_free(&self) -> bool {
        false
    }

    fn queue_depth(&self) -> u32 {
        self.params.queue_depth
    }

    fn admit(&mut self, data: Bytes, now: SimTime) -> SimTime {
        self.inbound_free = now.max(self.inbound_free) + self.params.command_time + self.params.bandwidth.time_for(data);
        if !self.params.full_duplex {
            self.outbound_free = self.inbound_free;
        }
        self.inbound_free
    }

    fn deliver(&mut self, data: Bytes, now: SimTime) -> SimTime {
        self.outbound_free = now.max(self.outbound_free) + self.params.bandwidth.time_for(data);
        if !self.params.full_duplex {
            self.inbound_free = self.outbound_free;
        }
        self.outbound_free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(full_duplex: bool) -> Box<dyn HostInterface> {
        build(&Params { queue_depth: 2, command_time: Nanos(100), bandwidth: Rate(1_000_000_000), full_duplex }, ())
    }

    #[test]
    fn directions_share_or_do_not_share_the_link() {
        let (mut full, mut half) = (link(true), link(false));
        assert_eq!(full.admit(Bytes(4096), SimTime(0)), SimTime(4196));
        assert_eq!(full.deliver(Bytes(1000), SimTime(0)), SimTime(1000));
        assert_eq!(half.admit(Bytes(4096), SimTime(0)), SimTime(4196));
        assert_eq!(half.deliver(Bytes(1000), SimTime(0)), SimTime(5196));
    }
}
