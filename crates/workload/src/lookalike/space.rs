//! Packs the touched parts of a trace's address space together, in their order.

use crate::Request;
use std::collections::BTreeMap;

/// Map from grains of the trace's addresses to grains of a dense region.
pub struct Space {
    grain: u64,
    packed: BTreeMap<u64, u64>,
}

impl Space {
    /// Returns the map of the grains, of `grain` bytes each, that `requests` touch.
    pub fn new(requests: &[Request], grain: u64) -> Space {
        let mut packed = BTreeMap::new();
        for request in requests.iter().filter(|request| request.length.0 > 0) {
            let last = (request.offset.0 + request.length.0 - 1) / grain;
            for touched in request.offset.0 / grain..=last {
                packed.insert(touched, 0);
            }
        }
        packed.values_mut().enumerate().for_each(|(index, place)| *place = index as u64);
        Space { grain, packed }
    }

    /// Returns the size of a grain \[bytes\].
    pub fn grain(&self) -> u64 {
        self.grain
    }

    /// Returns the size of the dense region \[bytes\], at least one grain.
    pub fn bytes(&self) -> u64 {
        self.packed.len().max(1) as u64 * self.grain
    }

    /// Returns the address in the dense region of `offset`, which must lie in a touched grain. A request's grains stay
    /// adjacent.
    pub fn place(&self, offset: u64) -> u64 {
        self.packed.get(&(offset / self.grain)).expect("the grain of a request is touched") * self.grain + offset % self.grain
    }
}
