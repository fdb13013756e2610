//! Family: host interfaces. They transfer commands and their data between host and device.

pub mod ideal;
pub mod plain;

use kit::Protocol;

/// The contract of a host interface.
pub trait HostInterface {
    /// Returns the number of slots of the device queue; `None` if it is not limited.
    fn queue_depth(&self) -> Option<u32>;

    /// Returns what crosses the link for a command. The link itself is a resource of the controller.
    fn protocol(&self) -> Protocol;
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

    #[test]
    fn an_empty_device_takes_a_command() {
        for name in InterfaceConfig::NAMES {
            let interface = InterfaceConfig::named(name).expect("listed").build(());
            assert!(interface.queue_depth().is_none_or(|depth| depth > 0), "{name}");
        }
    }
}
