//! Family: host interfaces. How commands and their data get to the device and back.

pub mod ideal;
pub mod plain;

use kit::{Bytes, SimTime};

/// The contract of a host interface. Links are served in the order of asking, so every answer is an instant that never changes.
pub trait HostInterface: Send {
    /// Whether the device can take one more command; if so it does.
    fn try_acquire_slot(&mut self) -> bool;

    /// A command leaves the device.
    fn release_slot(&mut self);

    /// When a command that was taken at `now`, and the data it brings, have crossed the link.
    fn admit(&mut self, brings: Bytes, now: SimTime) -> SimTime;

    /// When data that is ready at `now` has crossed the link to the host.
    fn deliver(&mut self, data: Bytes, now: SimTime) -> SimTime;
}

kit::family! {
    /// How commands and data get to the device and back.
    InterfaceConfig: () => dyn HostInterface {
        Ideal = ideal,
        Plain = plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Conformance: nothing arrives before it was sent, and a later transfer is not done earlier.
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
