//! The events of a run, all in one small enumeration.

use crate::ids::{ChannelId, CommandId, DieId};

/// Something that happens at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A phase of the operation on a die ends; stale if the die's generation has moved on (the operation was suspended).
    Die {
        /// The die.
        die: DieId,
        /// The die's generation when this was scheduled.
        generation: u32,
    },
    /// A channel becomes free and somebody waits for it.
    Bus(ChannelId),
    /// A command arrives at the device.
    Arrival(CommandId),
    /// A command, and for a write its data, has crossed the host link.
    Admitted(CommandId),
    /// A flash operation's data has crossed the host link.
    Delivered(u32),
    /// The data of the program that waits for this die is encoded.
    Encoded(DieId),
    /// What this die's collection has gathered is encoded.
    CollectionEncoded(DieId),
    /// A timer of the FTL.
    Timer(Timer),
}

impl Default for Event {
    fn default() -> Self {
        Event::Timer(Timer::Policy)
    }
}

/// The FTL's timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// The earliest retention deadline.
    Retention,
    /// A die has been idle long enough for background work.
    Idle(DieId),
    /// The policy asked to be woken.
    Policy,
    /// The deadline of a page move (its slot); stale if the move has ended.
    Move(u32),
    /// The write buffer has been idle: program what it holds.
    Flush,
}
