//! Family: host interfaces. They transfer commands and their data between host and device.

pub mod ideal;
pub mod nvme;
pub mod plain;
pub mod sata;

use crate::queues::QueueConfig;
use kit::{Problems, Protocol};

/// The contract of a host interface.
pub trait HostInterface {
    /// Returns its submission queues; `None` if a command is in the device at once.
    fn queues(&self) -> Option<QueueConfig>;

    /// Returns what crosses the link for a command. The link itself is a resource of the controller.
    fn protocol(&self) -> Protocol;

    /// Returns its rates in words for drawings, in lines; none if it takes no time.
    fn in_words(&self) -> Vec<String>;

    /// Returns true if it has the commands of drives with zones.
    fn carries_zones(&self) -> bool {
        true
    }

    /// Adds the inconsistencies of its parameters to `problems`.
    fn problems(&self, _problems: &mut Problems) {}
}

kit::family! {
    /// Transfer of commands and data between host and device.
    InterfaceConfig: () => dyn HostInterface {
        Ideal = ideal,
        Plain = plain,
        Sata = sata,
        Nvme = nvme,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_whose_link_takes_time_has_words() {
        for name in InterfaceConfig::NAMES {
            let interface = InterfaceConfig::named(name).expect("listed").build(());
            let hops = interface.protocol().lists().map(Vec::len).sum::<usize>();
            assert_eq!(interface.in_words().is_empty(), hops == 0, "{name}");
        }
    }

    #[test]
    fn an_empty_device_takes_a_command() {
        for name in InterfaceConfig::NAMES {
            let interface = InterfaceConfig::named(name).expect("listed").build(());
            let takes_one = |queues: QueueConfig| queues.count > 0 && queues.depth != Some(0) && queues.in_device != Some(0);
            assert!(interface.queues().is_none_or(takes_one), "{name}");
        }
    }
}
