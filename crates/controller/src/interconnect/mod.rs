//! Family: the interconnect of the controller, between the host interface, the memories and the channel controllers.

pub mod ahb;
pub mod axi;
pub mod ideal;
pub mod multi_layer_ahb;
pub mod ocp;
pub mod point_to_point;

use kit::{Frequency, Problems, Rate, Service, words};

/// Ports of the interconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ports {
    /// Memories.
    pub buffers: u32,
    /// Channel controllers.
    pub channels: u32,
}

/// A transfer of data over the interconnect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leg {
    /// From the host interface to a memory.
    HostToMemory,
    /// From a memory to the host interface.
    MemoryToHost,
    /// From a memory to a channel controller.
    MemoryToChannel,
    /// From a channel controller to a memory.
    ChannelToMemory,
}

impl Leg {
    /// All legs.
    pub const ALL: [Leg; 4] = [Leg::HostToMemory, Leg::MemoryToHost, Leg::MemoryToChannel, Leg::ChannelToMemory];

    /// Returns true if a channel controller is at one end.
    pub fn has_channel(self) -> bool {
        matches!(self, Leg::MemoryToChannel | Leg::ChannelToMemory)
    }
}

/// A group of servers of an interconnect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// Names of the servers.
    pub names: Vec<String>,
}

/// A step of a transfer: one of the servers of a group works on the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The group.
    pub group: usize,
    /// The server in the group.
    pub choice: Choice,
    /// Its service.
    pub service: Service,
    /// The time after which the transfer goes on, for the only server of a group; `None` if it goes on once the service
    /// is done.
    pub lead: Option<Service>,
}

/// The server of a group that a transfer takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first one that is free.
    Free,
    /// The one at this position, plus the number of the channel and of the memory, each times its factor.
    At {
        /// Position for the first channel and the first memory.
        first: u32,
        /// Factor of the channel.
        by_channel: u32,
        /// Factor of the memory.
        by_buffer: u32,
    },
}

impl Choice {
    /// The only server of a group.
    pub const ONLY: Choice = Choice::At { first: 0, by_channel: 0, by_buffer: 0 };
}

/// Servers of an interconnect, and the steps of each transfer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fabric {
    /// Groups of servers.
    pub groups: Vec<Layers>,
    /// Steps of each leg, in the order of [`Leg::ALL`].
    pub legs: [Vec<Hold>; 4],
}

/// The contract of an interconnect.
pub trait Interconnect {
    /// Returns its servers and the steps of its transfers.
    fn fabric(&self, ports: Ports) -> Fabric;

    /// Returns its widths and rates in words for drawings, in lines; none if it takes no time.
    fn in_words(&self) -> Vec<String>;

    /// Adds the inconsistencies of its parameters to `problems`.
    fn problems(&self, _problems: &mut Problems) {}
}

kit::family! {
    /// The interconnect of the controller.
    InterconnectConfig: () => dyn Interconnect {
        Ideal = ideal,
        Ahb = ahb,
        MultiLayerAhb = multi_layer_ahb,
        Axi = axi,
        Ocp = ocp,
        PointToPoint = point_to_point,
    }
}

/// Returns a group of servers called `name`, with their numbers if there are several.
fn layers(name: &str, count: u32) -> Layers {
    let names = if count == 1 { vec![name.to_owned()] } else { (0..count).map(|at| format!("{name}_{at}")).collect() };
    Layers { names }
}

/// Returns the time of data on a bus of `width_bits`, in bursts of `beats` with `address_cycles` before each.
fn bursts(clock: Frequency, width_bits: u32, beats: u32, address_cycles: u32) -> Service {
    let width = u64::from(width_bits / 8);
    // The unit of work is a byte's share of a beat.
    Service {
        packet: width * u64::from(beats),
        per_packet: width * u64::from(address_cycles),
        per_byte: 1,
        rate: Rate(clock.0 * width),
        ..Service::default()
    }
}

/// Returns width, clock and data rate of a layer in words.
fn layer_in_words(clock: Frequency, width_bits: u32) -> String {
    let rate = Rate(clock.0 * u64::from(width_bits / 8));
    format!("{width_bits} bits, {}, {}", words::frequency(clock), words::rate(rate))
}

/// Returns bursts and their addresses in words.
fn bursts_in_words(beats: u32, address_cycles: u32) -> String {
    format!("bursts of {}, {} before each", words::count(beats, "beat"), words::count(address_cycles, "cycle"))
}

/// Adds the problems of a clock and a width to `problems`.
fn check(clock: Frequency, width_bits: u32, problems: &mut Problems) {
    if !(1_000_000..=10_000_000_000).contains(&clock.0) {
        problems.add("controller.interconnect.clock", format!("{clock}: expected 1MHz to 10GHz"));
    }
    if ![8, 16, 32, 64, 128, 256, 512, 1024].contains(&width_bits) {
        problems.add("controller.interconnect.width_bits", format!("{width_bits}: expected a power of two from 8 to 1024"));
    }
}
