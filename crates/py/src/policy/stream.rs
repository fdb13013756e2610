//! A stream of random numbers for a policy.

use kit::Rng;
use pyo3::prelude::*;

/// A stream of random numbers, the same on every machine for one seed.
#[pyclass(module = "ssdlab")]
pub struct Stream(Rng);

impl Stream {
    /// The numbers of `rng`.
    pub fn new(rng: Rng) -> Stream {
        Stream(rng)
    }
}

#[pymethods]
impl Stream {
    /// A uniform 64-bit number.
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A uniform double in `[0, 1)`.
    fn unit(&mut self) -> f64 {
        self.0.unit()
    }
}
