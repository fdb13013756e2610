//! An interface with a command queue, a time per command and a bandwidth.

use super::HostInterface;
use kit::{Bytes, Link, Nanos, Rate, SimTime};
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
    fn queue_depth(&self) -> Option<u32> {
        Some(self.queue_depth)
    }

    fn link(&self) -> Option<Box<dyn Link>> {
        Some(Box::new(PlainLink { params: self.clone(), inbound_free: SimTime::ZERO, outbound_free: SimTime::ZERO }))
    }
}

struct PlainLink {
    params: Params,
    inbound_free: SimTime,
    outbound_free: SimTime,
}

impl Link for PlainLink {
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
    use crate::interface::tests::{Transfer, every_sequence};
    use std::collections::VecDeque;

    const COMMAND: u64 = 2;

    /// Returns a link that transfers a byte in a nanosecond.
    fn link(full_duplex: bool) -> Box<dyn Link> {
        let params = Params { queue_depth: 3, command_time: Nanos(COMMAND), bandwidth: Rate(1_000_000_000), full_duplex };
        params.link().expect("a plain interface has a link")
    }

    /// Returns the instants of arrival of a sequence, by a model that moves on nanosecond by nanosecond: a wire for
    /// each direction, or one for both, with a queue of transfers and the time that each still needs on the wire.
    fn model(sequence: &[Transfer], full_duplex: bool) -> Vec<u64> {
        let mut wires = [VecDeque::new(), VecDeque::new()];
        let mut arrivals = vec![0; sequence.len()];
        let (mut now, mut next, mut sent_at) = (0, 0, sequence[0].gap);
        while next < sequence.len() || wires.iter().any(|wire| !wire.is_empty()) {
            while next < sequence.len() && sent_at == now {
                let Transfer { inbound, bytes, .. } = sequence[next];
                let wire = usize::from(full_duplex && !inbound);
                wires[wire].push_back((next, if inbound { COMMAND + bytes } else { bytes }));
                next += 1;
                sent_at += sequence.get(next).map_or(0, |transfer| transfer.gap);
            }
            now += 1;
            for wire in &mut wires {
                let Some((transfer, left)) = wire.front_mut() else { continue };
                *left -= 1;
                if *left == 0 {
                    arrivals[*transfer] = now;
                    wire.pop_front();
                }
            }
        }
        arrivals
    }

    /// Every sequence of five transfers, against the model: a wire is idle only when nothing waits for it, serves in
    /// the order of the calls, and an instant that was returned is not changed by a later call.
    #[test]
    fn every_short_sequence_arrives_when_a_wire_has_carried_it() {
        for full_duplex in [false, true] {
            every_sequence(5, &[0, 1, 4], &[(true, 0), (true, 3), (false, 2)], |sequence| {
                let mut link = link(full_duplex);
                let mut now = 0;
                let sends = sequence.iter().map(|transfer| {
                    now += transfer.gap;
                    transfer.send(&mut *link, now)
                });
                let arrivals: Vec<u64> = sends.collect();
                assert_eq!(arrivals, model(sequence, full_duplex), "full duplex: {full_duplex}, {sequence:?}");
            });
        }
    }

    #[test]
    fn without_a_bandwidth_only_commands_take_time() {
        let params = Params { queue_depth: 3, bandwidth: Rate(0), ..Params::default() };
        assert_eq!(params.queue_depth(), Some(3));
        let mut link = params.link().expect("a plain interface has a link");
        assert_eq!(link.deliver(Bytes(1 << 30), SimTime(7)), SimTime(7));
        assert_eq!(link.admit(Bytes(1 << 30), SimTime(7)), SimTime(507));
    }
}
