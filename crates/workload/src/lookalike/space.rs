//! Packs the touched parts of a trace's address space together, in their order.

use super::ranges::Ranges;
use crate::Request;

/// Map from grains of the trace's addresses to grains of a dense region. Its size follows the number of requests, not
/// their lengths.
pub struct Space {
    grain: u64,
    /// Runs of touched grains in order: first grain, and its place in the dense region.
    runs: Vec<(u64, u64)>,
    grains: u64,
}

impl Space {
    /// Returns the map of the grains, of `grain` bytes each, that `requests` touch.
    pub fn new(requests: &[Request], grain: u64) -> Space {
        let mut touched = Ranges::default();
        for request in requests.iter().filter(|request| request.length.0 > 0) {
            touched.add(request.offset.0 / grain, (request.offset.0 + request.length.0 - 1) / grain);
        }
        let (mut runs, mut grains) = (Vec::new(), 0);
        for (first, last) in touched.iter() {
            runs.push((first, grains));
            grains += last - first + 1;
        }
        Space { grain, runs, grains }
    }

    /// Returns the size of a grain \[bytes\].
    pub fn grain(&self) -> u64 {
        self.grain
    }

    /// Returns the size of the dense region \[bytes\], at least one grain.
    pub fn bytes(&self) -> u64 {
        self.grains.max(1) * self.grain
    }

    /// Returns the address in the dense region of `offset`, which must lie in a touched grain. A request's grains stay
    /// adjacent.
    pub fn place(&self, offset: u64) -> u64 {
        let grain = offset / self.grain;
        let run = self.runs.partition_point(|(first, _)| *first <= grain);
        let (first, place) = self.runs[run.checked_sub(1).expect("the grain of a request is touched")];
        (place + grain - first) * self.grain + offset % self.grain
    }
}
