//! Which build of the engine this is.

/// The version, and a hash of the engine's sources: `0.1.0+3f2a9c5d1e07`. Builds of equal sources have the same.
pub const BUILD: &str = env!("SSDLAB_BUILD");
