//! A die: one operation in progress, and the reads that wait for the die.

use kit::clock::Reading;
use kit::{DieClock, Nanos, SimTime};

/// Slot number for no operation: the end of a list, or a die at rest.
pub(crate) const NONE: u32 = u32::MAX;

/// Slot number of a die that is held for the next attempt at a read.
pub(crate) const HELD: u32 = u32::MAX - 1;

/// Phase of a die's operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No operation.
    #[default]
    Rest,
    /// Waiting for the channel, to transfer the command (and a program's data).
    Command,
    /// Transferring the command (and a program's data) of an operation other than a read; entered only where suspension
    /// is enabled, to learn of the start of the array phase.
    Loading,
    /// The array is busy. For operations that skip [`Phase::Loading`], the phase includes the transfer of the command.
    Array,
    /// Waiting for a page buffer for a read's data, which is in the die's register.
    Buffer,
    /// Waiting for the channel, or using it, to transfer a read's data, or the last part of it.
    Data,
    /// Waiting for the channel, or using it, to transfer a part of a read's data that is not the last one.
    DataPart,
    /// The array is busy, and a suspend command waits for the channel.
    SuspendRequested,
    /// Transferring the suspend command, then suspending.
    Suspending,
    /// Waiting for the channel for the resume command, transferring it, then resuming.
    Resuming,
    /// The operation waits for power to begin its array phase, or to go on with it after a suspension window.
    PowerWait,
    /// In a suspension window of the program.
    Window,
    /// The data of a read is in the page register, and waits until that of the read before has left the cache register.
    PageRegister,
    /// The data of a read moves from the page register to the cache register.
    ToCache,
    /// No operation; the die is held for the next attempt at a read.
    Held,
}

/// A first-in, first-out list of operations, linked through their slots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct List {
    pub head: u32,
    pub tail: u32,
}

impl Default for List {
    fn default() -> Self {
        List { head: NONE, tail: NONE }
    }
}

/// A suspended program or erase.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspended {
    pub op: u32,
    pub remaining: Nanos,
    pub since: Reading,
    /// Instant at which the operation occupied the die.
    pub started: SimTime,
}

/// A die.
#[derive(Clone, Debug, Default)]
pub(crate) struct Die {
    pub clock: DieClock,
    pub channel: u32,
    /// Number of the latest event scheduled for this die. Events with an older number are stale; the end of an
    /// operation advances it, too.
    pub generation: u32,
    /// Slot of the operation in progress; [`NONE`] or [`HELD`] if there is none.
    pub running: u32,
    pub phase: Phase,
    pub suspended: Option<Suspended>,
    pub host_reads: List,
    pub relocation_reads: List,
    /// A program that was pulled for this die and whose data is on its way, or has arrived and waits for the read in
    /// progress on the die to end.
    pub pending_program: u32,
    /// Recovery for whose next attempt the die is held.
    pub recovery: u32,
    /// True if the pending program's data has arrived.
    pub staged: bool,
    /// True if a page buffer has been taken for the data of the read on the die before that requests it; or, of a die
    /// that is held, of the next attempt.
    pub has_buffer: bool,
    /// True if the last turn of the die, which has an urgent move, went to its reads, so that the next one goes to the
    /// move.
    pub last_turn_was_read: bool,
    /// Instant at which the operation in progress occupied the die.
    pub started: SimTime,
    /// Instant at which the current array phase ends.
    pub array_end: SimTime,
}

impl Die {
    /// Returns true if an operation may be pulled for the die: it has none in progress, pending or suspended.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.running == NONE && self.pending_program == NONE && self.suspended.is_none()
    }
}
