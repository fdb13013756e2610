//! Transactions: commands and data on their way through the controller.

use kit::{AccountId, Bytes, CommandId, DieId, ModeId, SimTime};

/// The way of a transaction, which determines its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A command on its way to the device.
    ToDevice {
        /// The data that it brings.
        data: Bytes,
    },
    /// Mapping units to be written, from the controller's memory to a die.
    Written {
        /// Write mode, whose code the data receives.
        mode: ModeId,
        /// Number of mapping units.
        units: u32,
    },
    /// Data that is being read, whose codewords arrive one after another at decoders that all channels share.
    Arriving {
        /// Number of the arrival.
        arrival: u32,
    },
    /// Data that has been read, from a channel to the controller's memory.
    Read {
        /// Instant at which the decoders that have accepted it are done with it.
        until: SimTime,
    },
    /// Data on its way to the host.
    ToHost {
        /// The data.
        data: Bytes,
    },
}

impl Way {
    /// Returns the number of mapping units to be written.
    pub fn units(self) -> u32 {
        match self {
            Way::Written { units, .. } => units,
            Way::ToDevice { .. } | Way::Arriving { .. } | Way::Read { .. } | Way::ToHost { .. } => 0,
        }
    }

    /// Returns the instant at which data that has been read is decoded; `now` for other data.
    pub fn decoded_at(self, now: SimTime) -> SimTime {
        match self {
            Way::ToDevice { .. } | Way::Written { .. } | Way::Arriving { .. } | Way::ToHost { .. } => now,
            Way::Read { until } => until,
        }
    }

    /// Returns the data that crosses the link.
    pub fn data(self) -> Bytes {
        match self {
            Way::ToDevice { data } | Way::ToHost { data } => data,
            Way::Written { .. } | Way::Arriving { .. } | Way::Read { .. } => Bytes(0),
        }
    }
}

/// The action that follows the last step of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The command is in the device.
    Admitted(CommandId),
    /// The program that was pulled for this die may take the die and its channel.
    Staged(DieId),
    /// The units that this die's collection gathered are encoded.
    CollectionEncoded(DieId),
    /// The data of a read has passed the decoders.
    Decoded {
        /// Slot of the operation.
        slot: u32,
        /// The recovery of the read, if it repeats another one or cannot be corrected.
        recovery: Option<u32>,
    },
    /// The data of a part of a read is with the host.
    Delivered {
        /// The command.
        command: CommandId,
        /// The account of the part.
        account: AccountId,
    },
}

/// A command or data on its way through a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The way.
    pub way: Way,
    /// Position of the current step in the routes.
    pub step: u32,
    /// The action after the last step.
    pub then: Then,
    /// The account to which the steps are charged; `None` if they delay neither an operation nor a command.
    pub account: Option<AccountId>,
}

impl Default for Transaction {
    fn default() -> Self {
        let way = Way::Written { mode: ModeId(0), units: 0 };
        Transaction { way, step: 0, then: Then::Staged(DieId(0)), account: None }
    }
}

// A cache line at most: the table is read and written by every step.
const _: () = assert!(size_of::<Transaction>() <= 64);
