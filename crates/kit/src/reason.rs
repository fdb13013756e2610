//! Reasons of flash operations.

macro_rules! reasons {
    ($(#[doc = $first_doc:literal])+ $first:ident = $first_name:literal,
     $($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+) => {
        /// Reason of a flash operation. The counts of units read, units programmed and blocks erased are split by it.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[repr(u8)]
        pub enum Reason {
            $(#[doc = $first_doc])+ #[default] $first,
            $($(#[doc = $doc])+ $variant),+
        }

        impl Reason {
            /// Every reason, in the order of the results.
            pub const ALL: &'static [Reason] = &[Reason::$first, $(Reason::$variant),+];
            /// Returns the name used in results.
            pub fn name(self) -> &'static str {
                match self { Reason::$first => $first_name, $(Reason::$variant => $name),+ }
            }
            /// Returns the definition: the text of the declaration.
            pub fn definition(self) -> &'static str {
                match self {
                    Reason::$first => concat!($($first_doc),+).trim_ascii(),
                    $(Reason::$variant => concat!($($doc),+).trim_ascii()),+
                }
            }
        }
    };
}

impl Reason {
    /// Returns true if data of the user is moved for this reason.
    pub fn is_of_moves(self) -> bool {
        use Reason::{Evacuate, Gc, Reprogram, Rewrite, Scrub, Wear};
        matches!(self, Gc | Wear | Rewrite | Reprogram | Scrub | Evacuate)
    }
}

// The first one is the default.
reasons! {
    /// Data that the host reads or writes.
    Host = "host",
    /// The rest of a mapping unit that a host write covers only in part (read-modify-write).
    Rmw = "rmw",
    /// Garbage collection: relocation of valid data, and the erase, for free space.
    Gc = "gc",
    /// Wear levelling: relocation of data, and the erase, so that blocks wear evenly.
    Wear = "wear",
    /// Relocation into another mode by the choice of a policy.
    Rewrite = "rewrite",
    /// Relocation from a block that nears its retention limit.
    Reprogram = "reprogram",
    /// Scrubbing by a policy.
    Scrub = "scrub",
    /// Evacuation of a bad block by a policy.
    Evacuate = "evacuate",
    /// Pages of the map, on a drive whose memory does not hold all of it.
    Map = "map",
    /// Parity of the data of other dies (RAIN).
    Parity = "parity",
    /// Padding: units without data that fill up a program unit.
    Padding = "padding",
    /// The journal of changes of the map, and its checkpoints.
    Journal = "journal",
    /// Copies of earlier pages of a wordline, before a later one is programmed (`ftl.paired_pages`), and the moves of
    /// copies that a recovery has taken.
    Backup = "backup",
}

/// Number of reasons.
pub const REASON_COUNT: usize = Reason::ALL.len();
