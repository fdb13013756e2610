//! A die: one operation at a time, and the reads that wait for it.

use kit::clock::Reading;
use kit::{Nanos, SimTime, WorkClock};

/// "No operation": the end of a list, or a die at rest.
pub(crate) const NONE: u32 = u32::MAX;

/// Where a die stands in its operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// No operation.
    #[default]
    Rest,
    /// Waiting for the channel, or using it, for the command (and a program's data).
    Command,
    /// The command of a program or erase that may be suspended is on its way.
    Loading,
    /// The array works.
    Array,
    /// Waiting for the channel, or using it, for a read's data.
    Data,
    /// The array works, and a suspend command waits for the channel.
    SuspendAsked,
    /// The suspend command is on its way.
    Suspending,
    /// The resume command is on its way.
    Resuming,
}

/// A first-in, first-out list through the slots of operations.
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

/// A program or erase that gave way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Suspended {
    pub op: u32,
    pub remaining: Nanos,
    pub since: Reading,
}

/// A die.
#[derive(Clone, Debug, Default)]
pub(crate) struct Die {
    pub clock: WorkClock,
    pub channel: u32,
    /// Counts the events scheduled for this die: only the latest is valid.
    pub generation: u32,
    pub running: u32,
    pub phase: Phase,
    pub suspended: Option<Suspended>,
    pub host_reads: List,
    pub relocation_reads: List,
    /// A program that was pulled for this die and is being encoded, or is encoded and waits for reads to leave the die.
    pub awaited: u32,
    /// It is encoded.
    pub encoded: bool,
    /// When the running operation took the die.
    pub started: SimTime,
    /// When the running array phase ends.
    pub array_end: SimTime,
}
