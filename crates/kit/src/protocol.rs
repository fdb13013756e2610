//! The protocol of a host interface: what crosses the link for a command, as data.

use crate::service::Service;

/// A use of the link between host and device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hop {
    /// A transfer to the device.
    ToDevice(Service),
    /// A transfer to the host.
    ToHost(Service),
}

/// The transfers over the link for a command, in this order. Each list is worked through from its beginning; between
/// its entries, other transfers may have the link.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Protocol {
    /// True if both directions share the wire.
    pub half_duplex: bool,
    /// The command, and the data that it brings.
    pub command: Vec<Hop>,
    /// Data of a read, on its way to the host.
    pub deliver: Vec<Hop>,
}
