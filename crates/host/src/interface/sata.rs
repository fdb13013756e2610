//! Serial ATA with native command queuing.

use super::HostInterface;
use crate::queues::QueueConfig;
use kit::{Hop, Nanos, Op, Problems, Protocol, Rate, Service, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Serial ATA with native command queuing. What crosses the link is counted frame by frame (FIS); one frame at a time
/// has the link, in either direction, and frames of different commands may alternate.
///
/// A queued command is a host-to-device register FIS (20 B) and the answer that releases the bus, a device-to-host
/// register FIS (20 B). Its data is announced by a DMA set-up FIS (28 B), for each part of a read that is ready, and
/// once for a write; it crosses in data FIS of at most 8 KiB behind a word of header. Each data FIS of a write needs a
/// DMA activate FIS (4 B); with auto-activate, not the first. The completion is a set-device-bits FIS (8 B). Each FIS
/// has four bytes each for its begin, its checksum and its end, and the primitives of its handshake. Commands complete
/// in any order. A flush or a trim is not queued: it waits until the device is empty, and is alone in it; its
/// completion is a device-to-host register FIS, the ranges of a trim are a data FIS of 512 B.
///
/// Sources: Serial ATA Specification (frames, rates, 8b/10b encoding; recalled \[R\]). One word of 4 B for each of five
/// handshake primitives (X_RDY, R_RDY, WTRM, R_OK, SYNC) is assumed \[A\]; the time of the answers is that of these
/// words, and `handshake_time` beside them. With five words a read of 4 KiB takes 1,084 words: 283 MB/s on SATA II. A
/// handshake of 34 words reproduces a figure of the SSDExplorer thesis \[D\]; as a time, the same handshake does not
/// depend on the generation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Generation: SATA I, II or III, with 1.5, 3 or 6 Gb/s.
    #[schemars(range(min = 1, max = 3))]
    pub generation: u32,
    /// Commands that the device queue holds: its tags.
    #[schemars(range(min = 1, max = 32))]
    pub queue_depth: u32,
    /// Words of 4 B on the link for the handshake of a FIS.
    #[schemars(range(min = 0, max = 1000))]
    pub handshake_words: u32,
    /// Time for which the handshake of a FIS occupies the link beside its words, in either direction: the round trip of
    /// R_RDY and R_OK through the PHYs of both sides. 0 ns to 1 ms; default 0 ns \[A\].
    #[serde(skip_serializing_if = "is_zero")]
    pub handshake_time: Nanos,
    /// True: the DMA set-up of a write activates its first data FIS.
    pub auto_activate: bool,
}

impl Default for Params {
    fn default() -> Self {
        Params { generation: 3, queue_depth: 32, handshake_words: 5, handshake_time: Nanos::ZERO, auto_activate: true }
    }
}

// The signature is serde's.
#[expect(clippy::trivially_copy_pass_by_ref)]
fn is_zero(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}

/// Longest handshake of a FIS.
const HANDSHAKE_MAX: Nanos = Nanos(1_000_000);

/// Mapping units in a data FIS of 8 KiB.
const UNITS_IN_FIS: u32 = 2;

/// Builds the interface.
pub fn build(params: &Params, (): ()) -> Box<dyn HostInterface> {
    Box::new(params.clone())
}

impl Params {
    fn rate(&self) -> Rate {
        // 1.5 Gb/s, ten bits for a byte.
        Rate(150_000_000 << (self.generation - 1))
    }

    /// Returns the words that a FIS has beside its content: begin, checksum, end and handshake.
    fn frame(&self) -> u64 {
        3 + u64::from(self.handshake_words)
    }

    /// Returns the transfer of FIS with these numbers of words.
    fn fis(&self, words: &[u64]) -> Service {
        let amount = words.iter().map(|words| 4 * (words + self.frame())).sum();
        let fixed = self.handshake_time * words.len() as u64;
        Service { fixed, amount, rate: self.rate(), ..Service::default() }
    }

    /// Returns the transfer of data in data FIS.
    fn data(&self) -> Service {
        let packet = u64::from(UNITS_IN_FIS) * kit::UNIT_BYTES;
        let (per_packet, packet_time) = (4 * (1 + self.frame()), self.handshake_time);
        Service { packet, per_packet, packet_time, per_byte: 1, rate: self.rate(), ..Service::default() }
    }
}

impl HostInterface for Params {
    fn queues(&self) -> Option<QueueConfig> {
        let alone = Op::ALL.map(|op| matches!(op, Op::Trim | Op::Flush));
        Some(QueueConfig { depth: Some(self.queue_depth), alone, ..QueueConfig::default() })
    }

    fn protocol(&self) -> Protocol {
        let register = self.fis(&[5]);
        let queued = vec![Hop::ToDevice(register), Hop::ToHost(register)];
        let (setup, activate) = (self.fis(&[7]), self.fis(&[1]));
        let first = if self.auto_activate { setup } else { self.fis(&[7, 1]) };
        let ranges = vec![Hop::ToHost(activate), Hop::ToDevice(self.fis(&[1 + 128]))];
        let is_queued = |op: Op| matches!(op, Op::Read | Op::Write);
        Protocol {
            half_duplex: true,
            command: Op::ALL.map(|op| if is_queued(op) { queued.clone() } else { vec![Hop::ToDevice(register)] }),
            list: ranges,
            trim_list: 512,
            take: vec![Hop::ToHost(first), Hop::ToDevice(self.data())],
            take_more: vec![Hop::ToHost(activate), Hop::ToDevice(self.data())],
            take_units: UNITS_IN_FIS,
            deliver: vec![Hop::ToHost(setup), Hop::ToHost(self.data())],
            complete: Op::ALL.map(|op| vec![Hop::ToHost(if is_queued(op) { self.fis(&[2]) } else { register })]),
            ..Protocol::default()
        }
    }

    fn carries_zones(&self) -> bool {
        false
    }

    fn in_words(&self) -> Vec<String> {
        let generation = "I".repeat(self.generation as usize);
        let time =
            if self.handshake_time > Nanos::ZERO { format!(" and {}", words::time(self.handshake_time)) } else { String::new() };
        vec![
            format!("SATA {generation}, {}, one direction at a time", words::rate(self.rate())),
            format!("handshake of {}{time} for each FIS", words::count(self.handshake_words, "word")),
        ]
    }

    fn problems(&self, problems: &mut Problems) {
        if self.handshake_time > HANDSHAKE_MAX {
            let what = format!("{}: expected at most {HANDSHAKE_MAX}", self.handshake_time);
            problems.add("host.interface.handshake_time", what);
        }
    }
}
