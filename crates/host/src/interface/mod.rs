//! Family: host interfaces. They transfer commands and their data between host and device.

pub mod ideal;
pub mod plain;

use kit::{Bytes, SimTime};

/// The contract of a host interface. A link serves transfers in the order of the calls, so that each returned instant
/// is final.
pub trait HostInterface: Send {
    /// Tries to acquire a queue slot of the device for one command; returns true on success.
    fn try_acquire_slot(&mut self) -> bool;

    /// Releases the queue slot of a command that leaves the device.
    fn release_slot(&mut self);

    /// Sends a command that acquired a slot at `now`, with the data it brings, over the link. Returns the instant of
    /// arrival.
    fn admit(&mut self, brings: Bytes, now: SimTime) -> SimTime;

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
            assert!(link.try_acquire_slot(), "{name}: an empty device takes a command");
            let first = link.admit(Bytes(4096), SimTime(100));
            let second = link.admit(Bytes(4096), SimTime(100));
            assert!(first >= SimTime(100) && second >= first, "{name}");
            let out = link.deliver(Bytes(4096), SimTime(200));
            assert!(out >= SimTime(200) && link.deliver(Bytes(4096), SimTime(200)) >= out, "{name}");
            link.release_slot();
        }
    }
}
