//! Service times: how long a resource works on a piece of data.

use crate::units::{Bytes, Nanos, Rate};

/// The time of a resource for a piece of data: a fixed span, and an amount of work (bytes on a wire, cycles of a clock)
/// at a rate. The work is a fixed amount, an amount for each packet into which the data is cut, and an amount for each
/// byte. A packet may take a span of its own, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// Time whatever the data.
    pub fixed: Nanos,
    /// Amount of work whatever the data.
    pub amount: u64,
    /// Largest number of bytes in a packet; 0 if data is not cut into packets.
    pub packet: u64,
    /// Amount of work for each packet, also for one that is not full.
    pub per_packet: u64,
    /// Time for each packet beside its work.
    pub packet_time: Nanos,
    /// Amount of work for each byte.
    pub per_byte: u64,
    /// Amount of work in a second; at 0, work takes no time.
    pub rate: Rate,
}

impl Service {
    /// Returns a service of this time, whatever the data.
    pub fn fixed(time: Nanos) -> Service {
        Service { fixed: time, ..Service::default() }
    }

    /// Returns the transfer of data at a rate.
    pub fn data(rate: Rate) -> Service {
        Service { per_byte: 1, rate, ..Service::default() }
    }

    /// Returns the time for `data`. The work is rounded up to a whole nanosecond once.
    pub fn time(&self, data: Bytes) -> Nanos {
        let packets = if self.packet > 0 { data.0.div_ceil(self.packet) } else { 0 };
        let work = Bytes(self.amount + packets * self.per_packet + data.0 * self.per_byte);
        self.fixed + self.packet_time * packets + self.rate.time_for(work)
    }

    /// Returns the time of a full packet, rounded up to a whole nanosecond.
    pub fn time_of_packet(&self) -> Nanos {
        self.time_of_one(self.packet)
    }

    /// Returns the time of a packet with `bytes` of data, rounded up to a whole nanosecond.
    pub fn time_of_one(&self, bytes: u64) -> Nanos {
        self.packet_time + self.rate.time_for(Bytes(self.per_packet + bytes * self.per_byte))
    }

    /// Returns true if no data takes any time.
    pub fn is_free(&self) -> bool {
        let has_work = self.rate.0 > 0 && self.amount + self.per_packet + self.per_byte > 0;
        self.fixed + self.packet_time == Nanos::ZERO && !has_work
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_and_bytes_are_added_up_and_rounded_up_once() {
        // Three amounts in a nanosecond: packets of 10 bytes with 4 amounts more each, and 5 in any case.
        let rate = Rate(3_000_000_000);
        let (fixed, packet_time) = (Nanos(7), Nanos(11));
        let service = Service { fixed, amount: 5, packet: 10, per_packet: 4, packet_time, per_byte: 2, rate };
        let work = |bytes: u64, packets: u64| 7 + 11 * packets + (5u64 + 4 * packets + 2 * bytes).div_ceil(3);
        assert_eq!(service.time_of_packet(), Nanos(11 + 8));
        for (bytes, packets) in [(0, 0), (1, 1), (10, 1), (11, 2), (4096, 410)] {
            assert_eq!(service.time(Bytes(bytes)), Nanos(work(bytes, packets)), "{bytes} bytes");
        }
        assert_eq!(Service::data(Rate(4_000_000_000)).time(Bytes(4096)), Nanos(1024));
        assert_eq!(Service::fixed(Nanos(9)).time(Bytes(1 << 40)), Nanos(9));
    }

    #[test]
    fn a_service_is_free_if_no_data_takes_time() {
        let rate = Rate(1);
        assert!(Service::default().is_free() && Service::data(Rate(0)).is_free());
        assert!(Service { rate, ..Service::default() }.is_free());
        for one in [
            Service::fixed(Nanos(1)),
            Service::data(rate),
            Service { amount: 1, rate, ..Service::default() },
            Service { per_packet: 1, packet: 1, rate, ..Service::default() },
            Service { packet_time: Nanos(1), packet: 1, ..Service::default() },
        ] {
            assert!(!one.is_free(), "{one:?}");
        }
    }
}
