//! The events of a run, in one small enumeration.

use crate::ids::{ChannelId, CommandId, DieId, TransactionId};
use crate::queue::EventQueue;
use serde::{Deserialize, Serialize};

/// Something that happens at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A phase of the operation on a die ends. Stale if the die's generation has changed since: the operation was
    /// suspended.
    Die {
        /// The die.
        die: DieId,
        /// The die's generation when the event was scheduled.
        generation: u32,
    },
    /// The array phase of the operation on a die is due, on a drive where power may delay it. Stale if the die's
    /// generation has changed since.
    ArrayDue {
        /// The die.
        die: DieId,
        /// The die's generation when the event was scheduled.
        generation: u32,
    },
    /// The last data phase of the read in this slot begins now, on a drive where that matters.
    TransferBegins(u32),
    /// The data in the cache register of a die, or a part of it, has crossed the channel.
    CacheRegister(DieId),
    /// The data of a program has crossed this channel, so that its page buffer is free.
    PageBufferFree(ChannelId),
    /// A channel for which dies wait becomes free.
    ChannelFree(ChannelId),
    /// A command arrives at the device.
    Arrival(CommandId),
    /// A step of a transaction in the controller is done.
    Step(TransactionId),
    /// A server of the controller may take work that waits for it; the number is that of the first server of its pool.
    Server(u16),
    /// A memory of the controller grants a piece of an access.
    Memory(u8),
    /// An interrupt for the completions of a queue is due, unless there was one since.
    Interrupt {
        /// The queue.
        queue: u32,
        /// Number of the interrupt.
        number: u32,
    },
    /// A timer of the FTL or of the write buffer.
    Timer(Timer),
}

// The event queue copies events from bucket to bucket.
const _: () = assert!(size_of::<Event>() <= 12);

impl Default for Event {
    fn default() -> Self {
        Event::Timer(Timer::Policy)
    }
}

/// The pending events of a drive.
pub type Events = EventQueue<Event>;

/// Timers of the FTL, and of the write buffer in the host stage. Those of a drive at rest are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Timer {
    /// The earliest retention deadline is due.
    Retention,
    /// An idle delay of a die may be over. If so, the die is offered background work.
    Idle {
        /// The die.
        die: DieId,
        /// The delay.
        delay: IdleDelay,
    },
    /// The policy requested to be called at this instant.
    Policy,
    /// The deadline of the page move in this slot is due; stale if the move has ended.
    Move(u32),
    /// The processing time of the next operation of a die may be over, in the replay of a firmware trace.
    Replay(DieId),
    /// The core that executes firmware accesses a register.
    Core,
    /// A group of dies may rebuild the next of its sets of blocks that have lost one.
    Rebuild(u32),
    /// A die is lost, as a script of faults says. Belongs to the run, and is not saved with a drive.
    DieFails(DieId),
    /// The write buffer may have been without a write for the flush delay. If so, all that it holds is programmed. The
    /// only timer of the host stage.
    Flush,
    /// A change of the drive's power state may be due.
    PowerState,
    /// A hang of the controller, its end, or a step of the host against it may be due. Belongs to the run, and is not
    /// saved with a drive.
    Hang,
}

/// Delays after which an idle die is offered background work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[repr(u8)]
pub enum IdleDelay {
    /// Before background collection (`ftl.gc_idle_after`).
    Collection = 0,
    /// Before the policy is asked for data to move.
    Policy = 1,
}

impl IdleDelay {
    /// Both delays.
    pub const ALL: [IdleDelay; 2] = [IdleDelay::Collection, IdleDelay::Policy];
}
