//! Names of things, as small integers that cannot be mixed up.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $int);

        impl $name {
            /// The id as an index into a table.
            #[inline]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(
    /// A logical page: the index of a mapping unit in the address space the host sees.
    Lpn(u32)
);
id!(
    /// A physical place of one mapping unit: `block x units_per_block + unit`, dense over the drive.
    Ppn(u32)
);
id!(
    /// An erase unit of the FTL: the blocks with one index in the planes that are programmed together, dense over the
    /// drive.
    BlockId(u32)
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
    /// A host command in flight: a slot of the router's slab.
    CommandId(u32)
);
id!(
    /// A row of a table of modes (write or erase).
    ModeId(u8)
);
