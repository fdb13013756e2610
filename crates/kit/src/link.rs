//! The contract of a link between host and device.

use crate::units::{Bytes, SimTime};

/// A link between host and device. It serves transfers in the order of the calls, so that each returned instant is
/// final.
pub trait Link: Send {
    /// Sends a command that acquired a queue slot at `now`, with the data that it brings, to the device. Returns the
    /// instant of arrival.
    fn admit(&mut self, data: Bytes, now: SimTime) -> SimTime;

    /// Sends data that is ready at `now` to the host. Returns the instant of arrival.
    fn deliver(&mut self, data: Bytes, now: SimTime) -> SimTime;
}
