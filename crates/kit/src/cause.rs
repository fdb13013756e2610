//! Causes of latency. Every nanosecond of a command's latency is charged to exactly one [`Cause`].

use crate::units::Nanos;

macro_rules! causes {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $words:literal;)+) => {
        /// A named part of a command's latency.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Cause { $($(#[doc = $doc])+ $variant),+ }

        impl Cause {
            /// Every cause, in the order of the results.
            pub const ALL: &'static [Cause] = &[$(Cause::$variant),+];
            /// Returns the name used in results.
            pub const fn name(self) -> &'static str {
                match self { $(Cause::$variant => $name),+ }
            }
            /// Returns the cause in words, for tables and charts. A wait begins with `waiting: `.
            pub fn words(self) -> &'static str {
                match self { $(Cause::$variant => $words),+ }
            }
            /// Returns the definition: the text of the declaration.
            pub fn definition(self) -> &'static str {
                match self { $(Cause::$variant => concat!($($doc),+).trim_ascii()),+ }
            }
        }
    };
}

causes! {
    /// The host's processor: submission, interrupts or polling, and completion, with their waits. Of a command that is
    /// submitted again after a reset of the controller, the time until then, too.
    Host = "host", "work of the host's processor";
    /// Waiting for a place in a submission queue, and in it until the device fetches the command.
    HostQueue = "host_queue", "waiting: a place in a submission queue";
    /// Waiting in a submission queue while a die has more reads than the threshold of its queue.
    QueueBlocked = "queue_blocked", "waiting: a die with a full queue";
    /// Waiting until the drive has left a power state that serves no commands (`power.state`).
    Wake = "wake", "waiting: leaving a power state";
    /// Command, data and completion on the host link, including the wait for the link and for host memory.
    Link = "link", "transfer on the host link";
    /// Waiting for a core of the controller.
    CoreWait = "core_wait", "waiting: a controller core";
    /// Work of the firmware on a core; and the wait of a command that is done while the controller hangs.
    Firmware = "firmware", "firmware";
    /// Waiting for the interconnect of the controller.
    InterconnectWait = "interconnect_wait", "waiting: the interconnect";
    /// Data on the interconnect of the controller.
    Interconnect = "interconnect", "transfer on the interconnect";
    /// Waiting for the memory of the controller.
    DramWait = "dram_wait", "waiting: the controller's memory";
    /// Accesses to the memory of the controller.
    Dram = "dram", "access to the controller's memory";
    /// Commands and data between a translation layer and a card of flash, and the work of the card's processor, with
    /// their waits.
    Card = "card", "a card: its link and processor";
    /// Waiting for space in the write buffer.
    BufferFull = "buffer_full", "waiting: space in the write buffer";
    /// Wait of a write while no die has a free block for host data.
    FreeSpace = "free_space", "waiting: a free block";
    /// Waiting in the I/O sequencer, while the die has reads outstanding or older reads go first.
    Sequencer = "sequencer", "waiting: the I/O sequencer";
    /// Waiting for a die that executes host reads.
    DieHostRead = "die_host_read", "waiting: other host reads";
    /// Waiting for a die that executes host programs.
    DieHostProgram = "die_host_program", "waiting: other host writes";
    /// Waiting for a die that reads or programs for a relocation.
    DieRelocation = "die_relocation", "waiting: relocations";
    /// Waiting for a die that erases; of a reset, for its own erase, too.
    DieErase = "die_erase", "waiting: erases";
    /// Waiting for a die that is suspending, suspended or resuming, or held for the next attempt at a read, or while a
    /// policy holds back other work.
    DieHeld = "die_held", "waiting: a held die";
    /// Waiting for a page buffer of the channel's controller: of a read, for its data; of a write, while a die waits
    /// for one before it takes a program.
    PageBuffer = "page_buffer", "waiting: a page buffer";
    /// Waiting, with the command on the die, until the power of the flash leaves room under the cap (`power.cap`), or
    /// in a suspension window of the program (`power.suspend`), or suspended for the power of reads on other dies
    /// (`power.cap_suspends`); and waiting for a die that does.
    PowerWait = "power_wait", "waiting: power under the cap";
    /// Waiting for the flash channel.
    BusWait = "bus_wait", "waiting: the channel";
    /// Command and address cycles and their gaps on the flash channel.
    BusCommand = "bus_command", "commands on the channel";
    /// The array read, tR, at the first attempt, and the move of the page to the cache register (`flash.cache_read`).
    Sense = "sense", "reading the cells";
    /// The array program, tPROG.
    Program = "program", "programming the cells";
    /// Data on the flash channel.
    Transfer = "transfer", "transfer on the channel";
    /// Waiting for a decoder; of a write: waiting for an encoder, and encoding.
    EccWait = "ecc_wait", "waiting: decoders and encoders";
    /// Decoding at the first attempt at a read, beyond the transfer of the data.
    Decode = "decode", "decoding";
    /// Attempts at a read after the first one, their waits and decoding included; programs that have failed, and the
    /// wait until they are repeated.
    Retry = "retry", "repeating reads";
    /// Reading the mapping unit that a write covers only in part, before the unit is written.
    Rmw = "rmw", "completing partial writes";
    /// Wait for a page of the map that is not in memory, and of a read for data that is being read ahead.
    Map = "map", "waiting: pages of the map";
    /// Wait for what comes before in a given order: of a flush for earlier writes to become durable, of data for that
    /// of earlier reads (`ecc.delivery`).
    Order = "order", "waiting: earlier commands";
}

/// Number of causes.
pub const CAUSE_COUNT: usize = Cause::ALL.len();

/// Nanoseconds per cause: the parts of one command's latency, or their sums over many commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ledger(pub [u64; CAUSE_COUNT]);

impl Default for Ledger {
    #[inline]
    fn default() -> Self {
        Ledger([0; CAUSE_COUNT])
    }
}

impl Ledger {
    /// Takes out the first part of the time of a program, whose causes by `part` follow each other: space and data, the
    /// die, the channel, the program itself.
    #[cold]
    pub fn take_first(&mut self, part: &Ledger, span: Nanos) {
        let last = [Cause::EccWait, Cause::BusWait, Cause::BusCommand, Cause::Transfer, Cause::Program];
        let is_last = |cause: &&Cause| last.contains(cause);
        let first = Cause::ALL.iter().filter(|cause| !is_last(cause));
        let mut left = span.0;
        for cause in first.chain(&last) {
            let taken = left.min(part.get(*cause).0);
            self.0[*cause as usize] -= taken;
            left -= taken;
        }
        assert!(left == 0, "no more is taken out than there is");
    }

    /// Adds `span` to `cause`.
    #[inline]
    pub fn charge(&mut self, cause: Cause, span: Nanos) {
        self.0[cause as usize] += span.0;
    }

    /// Returns the time charged to `cause`.
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

    /// Returns the sum of all parts.
    #[inline]
    pub fn total(&self) -> Nanos {
        Nanos(self.0.iter().sum())
    }
}
