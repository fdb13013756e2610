//! Errors of the host link: packets that are damaged, and sent again.
//!
//! A packet is the unit into which the interface cuts data: the payload of a PCI Express packet, a data frame of Serial
//! ATA. A transfer that is not cut (a command, a completion, data of the plain interface) is one packet. The receiver
//! finds the damage by the packet's checksum and asks for the packet again; until it comes, the link carries nothing
//! else. PCI Express repeats a packet that is not acknowledged together with those sent after it; Serial ATA answers
//! R_ERR to a frame, and leaves the repetition of data to the host. Both are one time here, the replay, followed by the
//! packet alone \[A\].
//!
//! Known errors: data that is interrupted between its packets may be interrupted while it is sent again, too; a link
//! that gives up and retrains after several errors is not modelled.

use kit::{Bytes, Nanos, Rng, Service};
use serde::{Deserialize, Serialize};

/// Errors of the host link, as a description gives them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkErrorConfig {
    /// Probability that a packet is damaged.
    pub probability: f64,
    /// Time from the end of a damaged packet until it is sent again.
    pub replay: Nanos,
    /// Seed of the random numbers.
    pub seed: u64,
}

/// State of the errors that affects the packets to come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LinkState {
    rng: Rng,
    /// Packets so far, each counted once.
    packets: u64,
    /// Packets that were sent again, as often as they were.
    repeated: u64,
    /// Numbers of the packets that a script damages, the last ones first.
    scripted: Vec<u64>,
}

/// Decides which packets are damaged.
#[derive(Clone, Debug)]
pub struct LinkErrors {
    config: LinkErrorConfig,
    /// Servers of the two directions; twice the same one if they share the wire.
    servers: [u16; 2],
    state: LinkState,
}

impl LinkErrors {
    /// Creates the errors of a link with these servers.
    pub fn new(config: &LinkErrorConfig, servers: [u16; 2]) -> LinkErrors {
        let rng = Rng::stream(config.seed, "faults.link");
        LinkErrors { config: *config, servers, state: LinkState { rng, packets: 0, repeated: 0, scripted: Vec::new() } }
    }

    /// Damages packets by their numbers, counted from 1 in both directions together from now on. A number that is given
    /// twice damages the repetition, too.
    pub fn script(&mut self, packets: &[u64]) {
        let scripted = &mut self.state.scripted;
        scripted.extend(packets.iter().map(|number| number + self.state.packets));
        scripted.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// Returns the time that a transfer at a server takes longer, since packets of it are sent again.
    // Out of line: most drives have no such errors, and the steps of a transaction stay small.
    #[cold]
    #[inline(never)]
    pub fn delay(&mut self, server: u16, service: &Service, data: Bytes) -> Nanos {
        if !self.servers.contains(&server) {
            return Nanos::ZERO;
        }
        let mut delay = Nanos::ZERO;
        if service.packet == 0 {
            return (service.time(data) + self.config.replay) * self.errors_of_next();
        }
        for begin in (0..data.0).step_by(service.packet as usize) {
            let errors = self.errors_of_next();
            if errors > 0 {
                let bytes = service.packet.min(data.0 - begin);
                delay += (service.time_of_one(bytes) + self.config.replay) * errors;
            }
        }
        delay
    }

    /// Returns how often the next packet is sent again.
    fn errors_of_next(&mut self) -> u64 {
        let LinkState { rng, packets, repeated, scripted } = &mut self.state;
        *packets += 1;
        let mut errors = 0;
        while scripted.pop_if(|number| *number == *packets).is_some() {
            errors += 1;
        }
        let probability = self.config.probability;
        while probability > 0.0 && rng.chance(probability) {
            errors += 1;
        }
        *repeated += errors;
        errors
    }

    /// Returns the number of packets that were sent again, as often as they were.
    pub fn repeated(&self) -> u64 {
        self.state.repeated
    }

    /// Returns the number of scripted errors that have not come yet.
    pub fn pending(&self) -> usize {
        self.state.scripted.len()
    }

    /// Returns the state, for saving.
    pub fn state(&self) -> &LinkState {
        &self.state
    }

    /// Goes on from a state of the same drive; `same_seed`: with its random numbers, too.
    pub fn go_on(&mut self, state: LinkState, same_seed: bool) {
        let rng = self.state.rng.clone();
        self.state = if same_seed { state } else { LinkState { rng, ..state } };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kit::Rate;

    fn errors(probability: f64) -> LinkErrors {
        LinkErrors::new(&LinkErrorConfig { probability, replay: Nanos(100), seed: 1 }, [2, 3])
    }

    /// Packets of 10 bytes with 4 more each, a byte in a nanosecond; the last packet of 25 bytes has 5.
    const PACKETS: Service = Service {
        fixed: Nanos(7),
        amount: 0,
        packet: 10,
        per_packet: 4,
        packet_time: Nanos::ZERO,
        per_byte: 1,
        rate: Rate(1_000_000_000),
    };

    /// A packet takes its own time and the replay again, and a transfer that is not cut all of its time.
    #[test]
    fn scripted_packets_are_sent_again() {
        let mut errors = errors(0.0);
        errors.script(&[3, 5, 1, 5]);
        assert_eq!(errors.delay(1, &PACKETS, Bytes(25)), Nanos(0), "it is not the link");
        assert_eq!(errors.delay(2, &PACKETS, Bytes(25)), Nanos(100 + 14 + 100 + 9), "packets 1 to 3");
        assert_eq!(errors.delay(3, &Service::fixed(Nanos(50)), Bytes(0)), Nanos(0), "packet 4");
        assert_eq!(errors.delay(3, &Service::fixed(Nanos(50)), Bytes(0)), Nanos(2 * 150), "packet 5, twice");
        assert_eq!(errors.delay(2, &PACKETS, Bytes(0)), Nanos(0), "no packet");
        assert_eq!(errors.repeated(), 4);
        // A packet that is sent again has its own time again.
        errors.script(&[1]);
        let slow = Service { packet_time: Nanos(30), ..PACKETS };
        assert_eq!(errors.delay(2, &slow, Bytes(10)), Nanos(100 + 14 + 30));
        // A further script counts from now on.
        errors.script(&[2]);
        assert_eq!([0; 3].map(|_| errors.delay(2, &Service::fixed(Nanos(1)), Bytes(0)).0), [0, 101, 0]);
    }

    /// Packets are damaged with their probability, repetitions included: p / (1 - p) of them within four standard
    /// deviations.
    #[test]
    fn packets_are_damaged_with_their_probability() {
        for p in [0.001, 0.05, 0.5] {
            let mut errors = errors(p);
            let delay: u64 = (0..10_000).map(|_| errors.delay(2, &PACKETS, Bytes(50)).0).sum();
            let (mean, deviation) = (50_000.0 * p / (1.0 - p), (50_000.0 * p).sqrt() / (1.0 - p));
            assert!((errors.repeated() as f64 - mean).abs() < 4.0 * deviation, "{p}: {} of {mean}", errors.repeated());
            assert_eq!(delay, errors.repeated() * 114);
        }
    }
}
