//! Why a flash operation is done.

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// The reason of a flash operation; every count of reads, programs and erases is split by it.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[repr(u8)]
        pub enum Reason { $($(#[$doc])* $variant),+ }

        impl Reason {
            /// Every reason, in the order of the results.
            pub const ALL: &'static [Reason] = &[$(Reason::$variant),+];
            /// The name that results use.
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
    /// The rest of a mapping unit that a host write covers only in part.
    Rmw = "rmw",
    /// Garbage collection.
    Gc = "gc",
    /// Wear levelling.
    Wear = "wear",
    /// A policy's rewrite of data written in a short-lived mode.
    Rewrite = "rewrite",
    /// Data moved before the retention limit of its block.
    Reprogram = "reprogram",
    /// Scrubbing.
    Scrub = "scrub",
    /// Leaving a bad block.
    Evacuate = "evacuate",
    /// Mapping data.
    Map = "map",
    /// Parity.
    Parity = "parity",
    /// Units programmed empty to fill a programming unit.
    Padding = "padding",
}

/// How many reasons there are.
pub const REASON_COUNT: usize = Reason::ALL.len();
