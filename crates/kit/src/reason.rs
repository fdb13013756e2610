//! Reasons of flash operations.

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// Reason of a flash operation. The counts of units read, units programmed and blocks erased are split by it.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[repr(u8)]
        pub enum Reason { $($(#[$doc])* $variant),+ }

        impl Reason {
            /// Every reason, in the order of the results.
            pub const ALL: &'static [Reason] = &[$(Reason::$variant),+];
            /// Returns the name used in results.
            pub fn name(self) -> &'static str {
                match self { $(Reason::$variant => $name),+ }
            }
        }
    };
}

reasons! {
    /// A host command.
    #[default]
    Host = "host",
    /// Read of a mapping unit that a host write covers only in part (read-modify-write).
    Rmw = "rmw",
    /// Garbage collection.
    Gc = "gc",
    /// Wear levelling.
    Wear = "wear",
    /// A policy's rewrite of data written in a short-lived mode.
    Rewrite = "rewrite",
    /// Data moved before the retention limit of its block.
    Reprogram = "reprogram",
    /// Scrubbing by a policy.
    Scrub = "scrub",
    /// Evacuation of a bad block by a policy.
    Evacuate = "evacuate",
    /// Pages of the map, on a drive whose memory does not hold all of it.
    Map = "map",
    /// Parity. Reserved: no operation has this reason.
    Parity = "parity",
    /// Padding: units without data that fill up a program unit.
    Padding = "padding",
    /// The journal of changes of the map, and its checkpoints.
    Journal = "journal",
}

/// Number of reasons.
pub const REASON_COUNT: usize = Reason::ALL.len();
