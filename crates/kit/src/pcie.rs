//! PCI Express: what packets cost on a link.

use crate::service::Service;
use crate::units::{Bytes, Rate};

/// Overhead of a packet with its framing: header of four words, sequence number, checksum; recalled \[R\].
pub const PACKET: u64 = 24;
/// Overhead of a completion with data: header of three words; recalled \[R\].
pub const COMPLETION: u64 = 20;

/// A link of PCI Express, with independent directions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pcie {
    /// Generation, 1 to 5: 2.5, 5, 8, 16 or 32 GT/s on each lane.
    pub generation: u32,
    /// Number of lanes.
    pub lanes: u32,
    /// Largest payload of a packet.
    pub max_payload: Bytes,
    /// Share of the link for packets of the data link layer.
    pub link_layer_share: f64,
}

impl Pcie {
    /// Returns the bytes that cross the link in one direction in a second, packet overhead included.
    pub fn rate(&self) -> Rate {
        const MEGATRANSFERS: [u64; 5] = [2500, 5000, 8000, 16_000, 32_000];
        let transfers = MEGATRANSFERS[self.generation as usize - 1] * 1_000_000 * u64::from(self.lanes);
        // Ten bits for a byte up to generation 2, 130 for 16 from generation 3 on.
        let bytes = if self.generation <= 2 { transfers / 10 } else { transfers * 16 / 130 };
        Rate((bytes as f64 * (1.0 - self.link_layer_share)) as u64)
    }

    /// Returns the transfer of a packet with `payload` bytes.
    pub fn message(&self, payload: u64) -> Service {
        Service { amount: PACKET + payload, rate: self.rate(), ..Service::default() }
    }

    /// Returns the transfer of data in packets with this overhead.
    pub fn packets(&self, overhead: u64) -> Service {
        Service { packet: self.max_payload.0, per_packet: overhead, per_byte: 1, rate: self.rate(), ..Service::default() }
    }
}
