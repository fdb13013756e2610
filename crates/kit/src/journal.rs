//! What happened inside, for those who watch: the shadow oracle of the tests and the timeline export.

use crate::command::ReadSource;
use crate::ids::{BlockId, ChannelId, CommandId, DieId, Lpn, ModeId, Ppn};
use crate::operation::Owner;
use crate::reason::Reason;
use crate::units::SimTime;

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// A unit of a host write entered the controller.
    WriteAccepted {
        /// The command.
        command: CommandId,
        /// The unit.
        lpn: Lpn,
    },
    /// A unit of a host write was bound to a place; from now on the map points there.
    Bound {
        /// The unit.
        lpn: Lpn,
        /// Its place.
        ppn: Ppn,
        /// The command whose data it is.
        command: CommandId,
        /// The write mode.
        mode: ModeId,
    },
    /// A unit that the buffer held was bound to a place.
    BoundFromBuffer {
        /// The buffer's slot.
        slot: u32,
        /// The unit.
        lpn: Lpn,
        /// Its place.
        ppn: Ppn,
        /// The write mode.
        mode: ModeId,
    },
    /// A unit's data moved: the map points to `to` if it pointed to `from`.
    Relocated {
        /// The unit.
        lpn: Lpn,
        /// The old place.
        from: Ppn,
        /// The new place.
        to: Ppn,
        /// Why.
        reason: Reason,
        /// The write mode.
        mode: ModeId,
    },
    /// A unit of a host write was taken into a buffer slot.
    Buffered {
        /// The command.
        command: CommandId,
        /// The unit.
        lpn: Lpn,
        /// The slot.
        slot: u32,
    },
    /// Units `first..first + count` of a block became durable.
    Programmed {
        /// The block.
        block: BlockId,
        /// First unit of the program.
        first: Ppn,
        /// Units programmed.
        count: u32,
    },
    /// A block was erased.
    Erased {
        /// The block.
        block: BlockId,
    },
    /// A unit of a host read was looked up and will be answered from here.
    ReadResolved {
        /// The command.
        command: CommandId,
        /// The unit.
        lpn: Lpn,
        /// Where its data is.
        source: ReadSource,
    },
    /// A flash read has delivered the data of this place.
    ReadSensed {
        /// The place.
        ppn: Ppn,
        /// Who wanted it.
        owner: Owner,
    },
    /// A unit was deallocated.
    Trimmed {
        /// The unit.
        lpn: Lpn,
    },
    /// A die was occupied.
    DieSpan {
        /// The die.
        die: DieId,
        /// What it did: `read`, `program`, `erase`, ...
        name: &'static str,
        /// Why.
        reason: Reason,
        /// From.
        begin: SimTime,
        /// To.
        end: SimTime,
    },
    /// A channel was occupied.
    BusSpan {
        /// The channel.
        channel: ChannelId,
        /// The die at the other end.
        die: DieId,
        /// What crossed it.
        name: &'static str,
        /// From.
        begin: SimTime,
        /// To.
        end: SimTime,
    },
}

/// Records of what happened since it was last drained; empty and free of cost unless enabled.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    enabled: bool,
    /// The records, oldest first.
    pub records: Vec<Record>,
}

impl Journal {
    /// Starts or stops recording.
    pub fn enable(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    /// Adds a record, made only when somebody watches.
    #[inline]
    pub fn note(&mut self, record: impl FnOnce() -> Record) {
        if self.enabled {
            self.records.push(record());
        }
    }
}
