//! The events of a run, all in one small enumeration.

use crate::ids::{ChannelId, CommandId, DieId};
use serde::{Deserialize, Serialize};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timer {
    /// The earliest retention deadline.
    Retention,
    /// A die may have been idle for so long that it is asked for work again.
    Idle {
        /// The die.
        die: DieId,
        /// Which of the two delays this is.
        delay: IdleDelay,
    },
    /// The policy asked to be woken.
    Policy,
    /// The deadline of a page move (its slot); stale if the move has ended.
    Move(u32),
    /// The write buffer has been idle: program what it holds.
    Flush,
}

/// The delays after which an idle die is asked for work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum IdleDelay {
    /// Until it collects in the background (`ftl.gc_idle_after`).
    Collection = 0,
    /// Until the policy is asked what it wants moved.
    Policy = 1,
}

impl IdleDelay {
    /// Both.
    pub const ALL: [IdleDelay; 2] = [IdleDelay::Collection, IdleDelay::Policy];
}
