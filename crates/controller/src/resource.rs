//! Resources that serve in the order of asking: a direction of the link, an encoder.
//!
//! Such a resource answers at once with the instant at which it is done. Events are handled in time order, so that the
//! order of asking is the order of arrival, and the answer never changes.

use crate::usage::PartOfDrive;
use kit::{Bytes, Nanos, Service, SimTime};

/// A resource that does one piece of work at a time, in the order of asking.
#[derive(Clone, Debug)]
pub struct Server {
    /// Name in reports.
    pub name: String,
    /// Index of the first server of its group: servers of a kind that share the work.
    pub group: u16,
    /// The part of the drive to which it belongs.
    pub part: PartOfDrive,
    /// Bytes of data that it has accepted, without those that a service does not carry.
    bytes: u64,
    free_at: SimTime,
    busy: Nanos,
}

impl Server {
    /// Returns an idle server of the group that begins with the server at index `group`.
    pub fn new(name: &str, group: u16, part: PartOfDrive) -> Server {
        Server { name: name.to_owned(), group, part, bytes: 0, free_at: SimTime::ZERO, busy: Nanos::ZERO }
    }

    /// Accepts work that takes `time`. Returns the instants at which it begins and is done.
    #[inline]
    pub fn accept(&mut self, time: Nanos, now: SimTime) -> (SimTime, SimTime) {
        let begins = self.free_at.max(now);
        self.free_at = begins + time;
        self.busy += time;
        (begins, self.free_at)
    }

    /// Counts data of accepted work.
    #[inline]
    pub fn count(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Returns the bytes of data that it has accepted.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the instant from which it has no more work.
    #[inline]
    pub fn free_at(&self) -> SimTime {
        self.free_at
    }

    /// Takes over what another server had done until `now`, at which it lost power.
    pub fn take_measurements(&mut self, other: &Server, now: SimTime) {
        (self.bytes, self.busy) = (other.bytes, other.busy(now));
    }

    /// Keeps an idle server busy until an instant; the time does not count as its own work.
    pub fn occupy_until(&mut self, at: SimTime) {
        self.free_at = at;
    }

    /// Returns the time for which it has been busy until `now`: that of all accepted work, less what remains to be
    /// done. Known error: work that is accepted before it is due (behind a lead) counts its lead as work to be done, so
    /// that between both instants the time is too short by the rest of the lead, a few nanoseconds.
    pub fn busy(&self, now: SimTime) -> Nanos {
        Nanos(self.busy.0 - self.free_at.0.saturating_sub(now.0).min(self.busy.0))
    }
}

/// A service with the time of the last amount of data: most transfers are of the same size.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timed {
    service: Service,
    data: Bytes,
    time: Nanos,
    /// All bits set if the service carries data; none if its time does not depend on each byte.
    carried: u64,
}

impl Timed {
    /// Returns the service, with the time for no data.
    pub fn new(service: Service) -> Timed {
        let carried = if service.per_byte > 0 { u64::MAX } else { 0 };
        Timed { service, data: Bytes(0), time: service.time(Bytes(0)), carried }
    }

    /// Returns the time for `data`.
    #[inline]
    pub fn time(&mut self, data: Bytes) -> Nanos {
        if data != self.data {
            (self.data, self.time) = (data, self.service.time(data));
        }
        self.time
    }

    /// Returns the service.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Returns the bytes that are carried of `data`.
    #[inline]
    pub fn carried(&self, data: Bytes) -> u64 {
        data.0 & self.carried
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// Every sequence of five requests, each of one of three times after one of four gaps, against a queue that is
    /// worked off nanosecond by nanosecond: the server is idle only when nothing waits, serves in the order of asking,
    /// and an instant that was returned is not changed by a later request.
    #[test]
    fn every_short_sequence_is_served_in_order() {
        const GAPS: [u64; 4] = [0, 1, 3, 9];
        const TIMES: [u64; 3] = [1, 2, 5];
        for sequence in 0..12usize.pow(5) {
            let mut server = Server::new("server", 0, PartOfDrive::Host);
            let (mut now, mut busy, mut waiting, mut done) = (0, 0, VecDeque::new(), Vec::new());
            let mut answers = Vec::new();
            for number in 0..5 {
                let choice = sequence / 12usize.pow(number) % 12;
                for _ in 0..GAPS[choice / 3] {
                    tick(&mut now, &mut busy, &mut waiting, &mut done);
                }
                assert_eq!(server.busy(SimTime(now)), Nanos(busy), "{sequence}: request {number}");
                let (begins, ends) = server.accept(Nanos(TIMES[choice % 3]), SimTime(now));
                assert!(begins >= SimTime(now) && ends == begins + Nanos(TIMES[choice % 3]), "{sequence}");
                answers.push(ends.0);
                waiting.push_back(TIMES[choice % 3]);
            }
            while !waiting.is_empty() {
                tick(&mut now, &mut busy, &mut waiting, &mut done);
            }
            assert_eq!(answers, done, "{sequence}");
        }
    }

    /// Works for a nanosecond on the first of the pieces of work that wait.
    fn tick(now: &mut u64, busy: &mut u64, waiting: &mut VecDeque<u64>, done: &mut Vec<u64>) {
        *now += 1;
        let Some(left) = waiting.front_mut() else { return };
        (*left, *busy) = (*left - 1, *busy + 1);
        if *left == 0 {
            waiting.pop_front();
            done.push(*now);
        }
    }

    #[test]
    fn the_time_of_another_amount_of_data_is_computed_anew() {
        let mut timed = Timed::new(Service { fixed: Nanos(3), ..Service::data(kit::Rate(1_000_000_000)) });
        assert_eq!([0, 5, 5, 7, 0].map(|bytes| timed.time(Bytes(bytes)).0), [3, 8, 8, 10, 3]);
    }
}
