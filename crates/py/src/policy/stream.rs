//! Random stream of a policy.

use kit::Rng;
use pyo3::prelude::*;

/// Stream of random numbers; equal seeds give equal numbers on every machine.
#[pyclass(module = "ssdlab")]
pub struct Stream(Rng);

impl Stream {
    /// Creates a stream that returns the numbers of `rng`.
    pub fn new(rng: Rng) -> Stream {
        Stream(rng)
    }
}

#[pymethods]
impl Stream {
    /// Returns a uniform 64-bit number.
    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a uniform double in `[0, 1)`.
    fn unit(&mut self) -> f64 {
        self.0.unit()
    }
}
