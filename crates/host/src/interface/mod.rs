//! Family: host interfaces. They transfer commands and their data between host and device.

pub mod ideal;
pub mod plain;

use kit::{Bytes, SimTime};

/// The contract of a host interface. A link serves transfers in the order of the calls, so that each returned instant
/// is final.
pub trait HostInterface: Send {
    /// Returns true if the interface neither limits nor delays any command.
    fn is_free(&self) -> bool;

    /// Returns the number of slots of the device queue.
    fn queue_depth(&self) -> u32;

    /// Sends a command that acquired a queue slot at `now`, with the data that it brings, over the link. Returns the
    /// instant of arrival.
    fn admit(&mut self, data: Bytes, now: SimTime) -> SimTime;

    /// Sends data that is ready at `now` over the link to the host. Returns the instant of arrival.
    fn deliver(&mut self, data: Bytes, now: SimTime) -> SimTime;
}

kit::family! {
    /// Transfer of commands and data between host and device.
    InterfaceConfig: () => dyn HostInterface {
        Ideal = ideal,
        Plain = plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conformance: nothing arrives before it is sent, and a later transfer does not arrive earlier.
    #[test]
    fn every_member_keeps_time() {
        for name in InterfaceConfig::NAMES {
            let mut link = InterfaceConfig::named(name).expect("listed").build(());
            assert!(link.queue_depth() > 0, "{name}: an empty device takes a command");
            let first = link.admit(Bytes(4096), SimTime(100));
            let second = link.admit(Bytes(4096), SimTime(100));
            assert!(first >= SimTime(100) && second >= first, "{name}");
            let out = link.deliver(Bytes(4096), SimTime(200));
            assert!(out >= SimTime(200) && link.deliver(Bytes(4096), SimTime(200)) >= out, "{name}");
            // A free interface takes no time and holds nothing back.
            assert!(!link.is_free() || (out, link.queue_depth()) == (SimTime(200), u32::MAX), "{name}");
        }
    }
}
