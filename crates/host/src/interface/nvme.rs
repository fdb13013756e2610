//! NVMe over PCI Express.

use super::HostInterface;
use crate::queues::{Arbitration, Priority, QueueConfig};
use kit::pcie::{COMPLETION, PACKET, Pcie};
use kit::{Bytes, Hop, HostMemory, Nanos, Op, Problems, Protocol, Service, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// NVMe over PCI Express. What crosses the link is counted packet by packet. A write to the other side's memory is
/// *posted*: one or several packets with data. A read of host memory is a request of the device, a wait for host
/// memory, and packets with the data in the other direction; each request occupies a tag until its data has arrived.
///
/// A command costs a doorbell write; a read of its submission queue entry (64 B), together with others of its queue; a
/// read of the list of its pages, if it has more than two; its data, posted (a read) or read in requests (a write); its
/// completion queue entry (16 B); an interrupt message; and a doorbell write after the completion, for which nobody
/// waits. The data of a write crosses the link once the write buffer has space for it.
///
/// Packets of control (doorbells, requests for host memory, entries and lists that are read, completions, interrupts)
/// go before data, between two of its packets, and keep their order among themselves \[A\]. The specification leaves
/// this to the sender: its ordering rules (*Transaction Ordering*: a request or a completion must not pass a posted
/// write) bind packets that have been handed to the link, not those that a device or a host has not sent yet, and let
/// the completions of different requests pass each other. A sender that has one queue for all packets would be slower.
///
/// Sources: PCI Express Base Specification (rates, encodings, packets), NVM Express Base Specification (queues,
/// arbitration, interrupt coalescing). 24 B of overhead for each packet, with framing, and 20 B for a completion with
/// data, are recalled \[R\]; the wait for host memory, the share of link-layer packets and the numbers of tags and
/// fetches are assumed \[A\]. Not modelled: flow-control stalls, link power states, the controller memory
/// buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Generation of PCI Express: 2.5, 5, 8, 16 or 32 GT/s on each lane.
    #[schemars(range(min = 1, max = 5))]
    pub generation: u32,
    /// Number of lanes: 1, 2, 4, 8 or 16.
    #[schemars(range(min = 1, max = 16))]
    pub lanes: u32,
    /// Largest payload of a packet: 128, 256, 512, 1024, 2048 or 4096 B.
    pub max_payload: Bytes,
    /// Largest data of a request for host memory: 128 B to 4096 B, a power of two.
    pub read_request: Bytes,
    /// Requests for host memory that may be outstanding, each with its tag.
    #[schemars(range(min = 1, max = 1024))]
    pub read_tags: u32,
    /// Time from the end of a request to the beginning of its data: host memory and the way there.
    pub host_memory_time: Nanos,
    /// Share of the link for packets of the data link layer (acknowledgements, flow control).
    #[schemars(range(min = 0.0, max = 0.5))]
    pub link_layer_share: f64,
    /// Number of pairs of submission and completion queues. Job or stream `n` of the workload uses queue `n`, modulo
    /// this number.
    #[schemars(range(min = 1, max = 65_535))]
    pub queues: u32,
    /// Entries of a submission queue. One entry stays empty: a queue of 65,536 entries holds 65,535 commands.
    #[schemars(range(min = 2, max = 65_536))]
    pub queue_depth: u32,
    /// Commands that the device holds at a time, from the fetch to the completion. Absent: not limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 4_194_304))]
    pub commands: Option<u32>,
    /// Commands fetched by one read of a submission queue.
    #[schemars(range(min = 1, max = 64))]
    pub fetch_batch: u32,
    /// Reads of submission queues that may be outstanding.
    #[schemars(range(min = 1, max = 256))]
    pub fetches: u32,
    /// Choice between the queues.
    pub arbitration: Arbitration,
    /// Arbitration burst: commands that are fetched from a queue before it is the turn of the next one.
    #[schemars(range(min = 1, max = 256))]
    pub burst: u32,
    /// Completions of a queue that are announced by one interrupt; 1: each has its own.
    #[schemars(range(min = 1, max = 256))]
    pub coalesced: u32,
    /// Time after which fewer completions are announced. Needed if `coalesced` is above 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coalescing_time: Option<Nanos>,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            generation: 4,
            lanes: 4,
            max_payload: Bytes(256),
            read_request: Bytes(512),
            read_tags: 64,
            host_memory_time: Nanos(500),
            link_layer_share: 0.02,
            queues: 1,
            queue_depth: 1024,
            commands: None,
            fetch_batch: 8,
            fetches: 4,
            arbitration: Arbitration::RoundRobin,
            burst: 8,
            coalesced: 1,
            coalescing_time: None,
        }
    }
}

/// Bytes of the map that one read of a host memory buffer brings: a cache line.
const ENTRIES: u64 = 64;

/// Builds the interface.
pub fn build(params: &Params, (): ()) -> Box<dyn HostInterface> {
    Box::new(params.clone())
}

impl Params {
    fn link(&self) -> Pcie {
        let Params { generation, lanes, max_payload, link_layer_share, .. } = *self;
        Pcie { generation, lanes, max_payload, link_layer_share }
    }

    /// Returns the hops by which the device reads host memory: `arrival` is the transfer of what is read.
    fn read_host_memory(&self, arrival: fn(Service) -> Hop) -> Vec<Hop> {
        let Bytes(packet) = self.read_request;
        let requests = Service { packet, per_packet: PACKET, rate: self.link().rate(), ..Service::default() };
        vec![
            Hop::TakeTags,
            Hop::FirstToHost(requests),
            Hop::Wait(self.host_memory_time),
            arrival(self.link().packets(COMPLETION)),
            Hop::ReturnTags,
        ]
    }
}

impl HostInterface for Params {
    fn queues(&self) -> Option<QueueConfig> {
        Some(QueueConfig {
            count: self.queues,
            depth: Some(self.queue_depth - 1),
            arbitration: self.arbitration.clone(),
            burst: self.burst,
            batch: self.fetch_batch,
            fetches: Some(self.fetches),
            in_device: self.commands,
            alone: [false; Op::COUNT],
            coalescing: self.coalescing_time.filter(|_| self.coalesced > 1).map(|time| (self.coalesced, time)),
        })
    }

    fn protocol(&self) -> Protocol {
        let (doorbell, interrupt) = (self.link().message(4), self.link().message(4));
        let (entries, data) = (self.read_host_memory(Hop::FirstToDevice), self.read_host_memory(Hop::ToDevice));
        Protocol {
            half_duplex: false,
            read_tags: self.read_tags,
            read_request: self.read_request,
            submit: vec![Hop::FirstToDevice(doorbell)],
            command: Op::ALL.map(|_| entries.clone()),
            command_bytes: 64,
            list: entries,
            page_list: 8,
            trim_list: 16,
            take: data.clone(),
            take_more: data,
            take_units: 1,
            deliver: vec![Hop::ToHost(self.link().packets(PACKET))],
            complete: Op::ALL.map(|_| vec![Hop::FirstToHost(self.link().message(16))]),
            interrupt: vec![Hop::FirstToHost(interrupt)],
            acknowledge: vec![Hop::FirstToDevice(doorbell)],
            host_memory: Some(HostMemory {
                // A request and its completion with a few entries, which a tag of its own serves.
                read_entry: vec![
                    Hop::FirstToHost(self.link().message(0)),
                    Hop::Wait(self.host_memory_time),
                    Hop::FirstToDevice(Service { amount: COMPLETION + ENTRIES, rate: self.link().rate(), ..Service::default() }),
                ],
                write_entry: vec![Hop::FirstToHost(self.link().message(8))],
                read_page: self.read_host_memory(Hop::ToDevice),
                write_page: vec![Hop::ToHost(self.link().packets(PACKET))],
            }),
            ..Protocol::default()
        }
    }

    fn in_words(&self) -> Vec<String> {
        let Params { generation, lanes, .. } = self;
        vec![
            format!("PCIe {generation}.0 x{lanes}, {} each direction", words::rate(self.link().rate())),
            format!(
                "payload {}, requests of {} with {}",
                words::size(self.max_payload),
                words::size(self.read_request),
                words::count(self.read_tags, "tag")
            ),
        ]
    }

    fn problems(&self, problems: &mut Problems) {
        let mut expect = |holds: bool, field: &str, complaint: String| {
            if !holds {
                problems.add(format!("host.interface.{field}"), complaint);
            }
        };
        let is_size = |bytes: Bytes| bytes.0.is_power_of_two() && (128..=4096).contains(&bytes.0);
        expect(self.lanes.is_power_of_two(), "lanes", format!("{}: expected 1, 2, 4, 8 or 16", self.lanes));
        for (field, bytes) in [("max_payload", self.max_payload), ("read_request", self.read_request)] {
            expect(is_size(bytes), field, format!("{bytes}: expected a power of two from 128B to 4096B"));
        }
        expect(
            self.coalesced == 1 || self.coalescing_time.is_some(),
            "coalescing_time",
            format!("missing: {} completions are announced together; expected for example \"100us\"", self.coalesced),
        );
        if let Arbitration::Weighted { weights, priorities } = &self.arbitration {
            expect(
                weights.iter().all(|weight| *weight > 0),
                "arbitration.weights",
                format!("{weights:?}: expected 1 to 255 each"),
            );
            expect(
                !priorities.is_empty() && priorities.len() <= self.queues as usize,
                "arbitration.priorities",
                format!("{} entries: expected one for each of {} queues, or fewer", priorities.len(), self.queues),
            );
            let is_used = |class: Priority| priorities.contains(&class);
            expect(
                priorities.is_empty() || !is_used(Priority::Urgent) || priorities.iter().any(|class| *class != Priority::Urgent),
                "arbitration.priorities",
                "all queues are urgent: expected another class for some of them, or arbitration = \"round_robin\"".to_owned(),
            );
        }
    }
}
