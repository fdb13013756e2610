//! Where the time of a command goes. Every nanosecond is charged to exactly one [`Cause`].

use crate::units::Nanos;

macro_rules! causes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),+ $(,)?) => {
        /// A named part of a command's latency.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Cause { $($(#[$doc])* $variant),+ }

        impl Cause {
            /// Every cause, in the order of the results.
            pub const ALL: &'static [Cause] = &[$(Cause::$variant),+];
            /// The name that results use.
            pub fn name(self) -> &'static str {
                match self { $(Cause::$variant => $name),+ }
            }
        }
    };
}

causes! {
    /// Waiting for a place in the device's command queue.
    HostQueue = "host_queue",
    /// Command and data on the host link, waiting for it included.
    Link = "link",
    /// Firmware work on the command.
    Firmware = "firmware",
    /// On-chip interconnect.
    Interconnect = "interconnect",
    /// Controller DRAM.
    Dram = "dram",
    /// Waiting for space in the write buffer.
    BufferFull = "buffer_full",
    /// A write waiting because no die has a free block to give.
    FreeSpace = "free_space",
    /// Waiting for a die that serves host reads.
    DieHostRead = "die_host_read",
    /// Waiting for a die that serves host programs.
    DieHostProgram = "die_host_program",
    /// Waiting for a die that moves data for the FTL.
    DieRelocation = "die_relocation",
    /// Waiting for a die that erases.
    DieErase = "die_erase",
    /// Waiting for a die that is held: suspending, resuming, or by a policy.
    DieHeld = "die_held",
    /// Waiting for the flash channel.
    BusWait = "bus_wait",
    /// Command and address cycles and their gaps on the flash channel.
    BusCommand = "bus_command",
    /// The array read, tR.
    Sense = "sense",
    /// The array program, tPROG.
    Program = "program",
    /// Data on the flash channel.
    Transfer = "transfer",
    /// Waiting for an ECC engine.
    EccWait = "ecc_wait",
    /// Decoding.
    Decode = "decode",
    /// Read retry.
    Retry = "retry",
    /// Reading the rest of a mapping unit before a partial write.
    Rmw = "rmw",
    /// Looking the address up, and answering from memory.
    Map = "map",
    /// Waiting for earlier commands that must come first.
    Order = "order",
}

/// How many causes there are.
pub const CAUSE_COUNT: usize = Cause::ALL.len();

/// Nanoseconds per cause. The parts of a command's latency, or their sums over many commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ledger(pub [u64; CAUSE_COUNT]);

impl Default for Ledger {
    #[inline]
    fn default() -> Self {
        Ledger([0; CAUSE_COUNT])
    }
}

impl Ledger {
    /// Adds `span` to `cause`.
    #[inline]
    pub fn charge(&mut self, cause: Cause, span: Nanos) {
        self.0[cause as usize] += span.0;
    }

    /// What `cause` holds.
    #[inline]
    pub fn get(&self, cause: Cause) -> Nanos {
        Nanos(self.0[cause as usize])
    }

    /// Adds every part of `other`.
    #[inline]
    pub fn add(&mut self, other: &Ledger) {
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine += theirs;
        }
    }

    /// The sum of all parts.
    #[inline]
    pub fn total(&self) -> Nanos {
        Nanos(self.0.iter().sum())
    }
}
