//! Identification of this build of the engine.

/// Version and hash of the engine's sources, such as `0.2.0+3f2a9c5d1e07`. Builds of equal sources have equal values.
pub const BUILD: &str = env!("SSDLAB_BUILD");
