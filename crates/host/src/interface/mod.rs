//! Family: host interfaces. They transfer commands and their data between host and device.

pub mod ideal;
pub mod plain;

use kit::Link;

/// The contract of a host interface.
pub trait HostInterface {
    /// Returns the number of slots of the device queue; `None` if it is not limited.
    fn queue_depth(&self) -> Option<u32>;

    /// Returns a new link of this interface; `None` if transfers take no time.
    fn link(&self) -> Option<Box<dyn Link>>;
}

kit::family! {
    /// Transfer of commands and data between host and device.
    InterfaceConfig: () => dyn HostInterface {
        Ideal = ideal,
        Plain = plain,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use kit::{Bytes, SimTime};

    /// A transfer of a test sequence.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Transfer {
        /// Time since the transfer before.
        pub gap: u64,
        /// True for a command on its way to the device; false for data on its way to the host.
        pub inbound: bool,
        pub bytes: u64,
    }

    impl Transfer {
        /// Requests the transfer. Returns the instant of arrival.
        pub(crate) fn send(&self, link: &mut dyn Link, now: u64) -> u64 {
            let send = if self.inbound { Link::admit } else { Link::deliver };
            send(link, Bytes(self.bytes), SimTime(now)).0
        }
    }

    /// Calls `check` with every sequence of `length` transfers: each of `kinds` (inbound or not, and bytes) after each
    /// of `gaps`.
    pub(crate) fn every_sequence(length: u32, gaps: &[u64], kinds: &[(bool, u64)], mut check: impl FnMut(&[Transfer])) {
        let choices = gaps.len() * kinds.len();
        let choice = |index: usize| {
            let (inbound, bytes) = kinds[index / gaps.len()];
            Transfer { gap: gaps[index % gaps.len()], inbound, bytes }
        };
        for number in 0..choices.pow(length) {
            let sequence: Vec<Transfer> = (0..length).map(|step| choice(number / choices.pow(step) % choices)).collect();
            check(&sequence);
        }
    }

    /// Returns the instants of arrival of a sequence that begins at `start`, on a link that was not used before.
    fn arrivals(interface: &dyn HostInterface, sequence: &[Transfer], start: u64) -> Vec<u64> {
        let mut link = interface.link().expect("only interfaces with a link are asked");
        let mut now = start;
        let sends = sequence.iter().map(|transfer| {
            now += transfer.gap;
            transfer.send(&mut *link, now)
        });
        sends.collect()
    }

    /// Conformance, over every sequence of four transfers: nothing arrives before it is sent; the transfers of one
    /// direction arrive in the order in which they are sent; arrivals depend on the sequence alone, and not on the
    /// instant at which it begins.
    #[test]
    fn every_member_keeps_time_and_order() {
        const START: u64 = 1 << 40;
        for name in InterfaceConfig::NAMES {
            let interface = InterfaceConfig::named(name).expect("listed").build(());
            assert!(interface.queue_depth().is_none_or(|depth| depth > 0), "{name}: an empty device takes a command");
            if interface.link().is_none() {
                continue;
            }
            every_sequence(4, &[0, 400, 100_000], &[(true, 0), (true, 4096), (false, 4096)], |sequence| {
                let arrived = arrivals(&*interface, sequence, 0);
                let (mut now, mut last) = (0, [0, 0]);
                for (transfer, &at) in sequence.iter().zip(&arrived) {
                    now += transfer.gap;
                    let last = &mut last[usize::from(transfer.inbound)];
                    assert!(at >= now.max(*last), "{name}: {sequence:?} arrive at {arrived:?}");
                    *last = at;
                }
                let later: Vec<u64> = arrivals(&*interface, sequence, START).iter().map(|at| at - START).collect();
                assert_eq!(later, arrived, "{name}: {sequence:?} at another time");
            });
        }
    }
}
