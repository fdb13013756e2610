//! Identifiers as small integers of distinct types, so that they cannot be confused.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $int);

        impl $name {
            /// Returns the id as an index into a table.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// Number of a logical mapping unit in the host's address space.
    Lpn(u32)
);
id!(
    /// Number of the physical place of one mapping unit: `block x units_per_block + unit`, dense over the drive.
    Ppn(u32)
);
id!(
    /// A block of the FTL, its unit of erase: the flash blocks with one index in the planes that are programmed
    /// together, times the superblock factor. Dense over the drive.
    BlockId(u32)
);
id!(
    /// A transaction of the controller, by its slot.
    TransactionId(u32)
);
id!(
    /// A die (ONFI: LUN), dense over the drive, channel by channel.
    DieId(u32)
);
id!(
    /// A chip (ONFI: target), dense over the drive, channel by channel.
    ChipId(u32)
);
id!(
    /// A flash channel.
    ChannelId(u32)
);
id!(
    /// A host command in flight: its slot in the router's slab.
    CommandId(u32)
);
id!(
    /// Row number in a table of modes (write, erase or read).
    ModeId(u8)
);

/// Name of the write mode that every drive has: programs without a trade-off.
pub const NORMAL_MODE: &str = "normal";
