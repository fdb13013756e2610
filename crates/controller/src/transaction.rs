//! Transactions: commands and data on their way through the controller.

use kit::{AccountId, Bytes, CommandId, DieId};

/// The action that follows the last step of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Continuation {
    /// Data that is being read arrives at decoders that all channels share, one codeword after another. Each step is
    /// the arrival of one.
    Codeword {
        /// Number of the arrival.
        arrival: u32,
    },
    /// The command is announced to the device.
    Submitted(CommandId),
    /// The commands that were fetched together are in the device.
    Fetched {
        /// The first of them.
        first: CommandId,
        /// Number of commands.
        count: u32,
    },
    /// The command is in the device, with all that belongs to it.
    Admitted(CommandId),
    /// The firmware has decoded the command and looked up its units.
    Decoded(CommandId),
    /// A piece of the data of a write is in the controller's memory.
    Taken {
        /// The command.
        command: CommandId,
        /// Index of its first mapping unit within the command's range.
        index: u32,
        /// Number of mapping units.
        count: u32,
    },
    /// The completion of the command is with the host; an interrupt will announce it with others.
    CompletionPosted(CommandId),
    /// The host has noticed the completions of a queue that an interrupt announced.
    HostInterrupted {
        /// The queue.
        queue: u32,
        /// Number of completions.
        count: u32,
    },
    /// The command is complete.
    HostNotified(CommandId),
    /// The data of the program in this slot is at its encoder.
    AtEncoder(u32),
    /// The read in this slot is at its die.
    AtDie(u32),
    /// A read that repeats another is at its die.
    AgainAtDie {
        /// Slot of the read that failed first.
        operation: u32,
        /// Slot of the read that repeats it.
        retry: u32,
    },
    /// Nothing.
    Nothing,
    /// The operation that was pulled for this die may take the die and its channel.
    Staged(DieId),
    /// The units that this die's collection gathered are encoded.
    CollectionEncoded(DieId),
    /// The data of a read has passed the decoders, and is in the controller's memory.
    TransferDone {
        /// Slot of the operation.
        slot: u32,
        /// The recovery of the read, if it repeats another one or cannot be corrected.
        recovery: Option<u32>,
    },
    /// The data of a part of a read is with the host.
    PartDelivered {
        /// The command.
        command: CommandId,
        /// The account of the part.
        account: AccountId,
    },
}

/// Place of a command or of data: it selects among several cores, layers of the interconnect and memories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The first mapping unit.
    pub unit: u32,
    /// The submission queue.
    pub queue: u16,
    /// The flash channel.
    pub channel: u16,
}

/// A command or data that is sent along a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The data.
    pub data: Bytes,
    /// Its place.
    pub place: Place,
    /// The action at the end of the route.
    pub continuation: Continuation,
    /// The account to which the route is charged; `None` if it delays neither an operation nor a command.
    pub account: Option<AccountId>,
}

/// A command or data on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Position of the current step in the routes.
    pub step: u32,
    /// The action after the last step.
    pub continuation: Continuation,
    /// The data.
    pub data: Bytes,
    /// Its place.
    pub place: Place,
    /// The account to which the steps are charged; `None` if they delay neither an operation nor a command.
    pub account: Option<AccountId>,
    /// First server of the pool that has its work, at a step with a precedence.
    pub pool: u16,
}

impl Default for Transaction {
    fn default() -> Self {
        Transaction {
            step: 0,
            continuation: Continuation::Staged(DieId(0)),
            data: Bytes(0),
            place: Place::default(),
            account: None,
            pool: 0,
        }
    }
}

// Less than a cache line: the table is read and written by every step.
const _: () = assert!(size_of::<Transaction>() <= 48);
