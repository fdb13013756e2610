//! The outbox, through which stages pass their output to the router.

use crate::cause::Ledger;
use crate::event::Event;
use crate::history::History;
use crate::ids::{CommandId, DieId};
use crate::journal::Journal;
use crate::operation::{Encoding, Operation};
use crate::queue::EventQueue;
use crate::signals::Signals;
use crate::slab::Slab;

/// A completed part of a host command, with its latency by cause since the command was admitted.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The command.
    pub command: CommandId,
    /// Time of the part by cause.
    pub ledger: Ledger,
    /// Mapping units of data that the part transfers to the host; 0 if none.
    pub units: u32,
}

impl Default for Part {
    fn default() -> Self {
        Part { command: CommandId(0), ledger: Ledger::default(), units: 0 }
    }
}

/// Output of all stages, emptied by the router. A stage writes here instead of calling another stage. Vectors are
/// reused; nothing is allocated once they have grown to the size that a run needs.
#[derive(Default)]
pub struct Outbox {
    /// Pending events.
    pub events: EventQueue<Event>,
    /// Dies that may have something to do, each at most once.
    pub ready: Vec<DieId>,
    is_ready: Vec<bool>,
    /// Flash operations, from request to completion. The requester writes an operation here once; afterwards only its
    /// slot is passed on.
    pub operations: Slab<Operation>,
    /// Slots of flash reads to push to their dies.
    pub reads: Vec<u32>,
    /// Units of collections that must be encoded before they are programmed.
    pub encodings: Vec<Encoding>,
    /// Slots of completed flash operations.
    pub done: Vec<u32>,
    /// Completed parts of commands.
    pub parts: Vec<Part>,
    /// Mapping units that left the write buffer.
    pub buffer_released: u32,
    /// Gauges shared between stages.
    pub signals: Signals,
    /// Journal for observers: the tests' oracle and the timeline export.
    pub journal: Journal,
    /// Physical history, by which runs are compared.
    pub history: History,
}

impl Outbox {
    /// Returns an empty outbox for a drive with `die_count` dies and `channel_count` channels.
    pub fn new(die_count: usize, channel_count: usize) -> Outbox {
        Outbox { is_ready: vec![false; die_count], signals: Signals::new(die_count, channel_count), ..Outbox::default() }
    }

    /// Adds an operation and returns its slot.
    // Copied field by field, so that the operation is built in its final place. Copied as a whole, it would be read
    // with wide loads right after the narrow stores of its fields, which stalls.
    #[inline(always)]
    pub fn add(&mut self, operation: Operation) -> u32 {
        let slot = self.operations.take();
        let Operation { kind, reason, die, first, units, pages, page_type, mode, encode, owner } = operation;
        let place = &mut self.operations[slot];
        place.kind = kind;
        place.reason = reason;
        place.die = die;
        place.first = first;
        place.units = units;
        place.pages = pages;
        place.page_type = page_type;
        place.mode = mode;
        place.encode = encode;
        place.owner = owner;
        slot
    }

    /// Adds a read and lists it in `reads`.
    #[inline(always)]
    pub fn read(&mut self, operation: Operation) {
        let slot = self.add(operation);
        self.reads.push(slot);
    }

    /// Marks a die as one that may have something to do; a marked die is not listed again.
    #[inline]
    pub fn mark_ready(&mut self, die: DieId) {
        if !std::mem::replace(&mut self.is_ready[die.index()], true) {
            self.ready.push(die);
        }
    }

    /// Removes the mark of a die, before the router dispatches to the die.
    #[inline]
    pub fn unmark_ready(&mut self, die: DieId) {
        self.is_ready[die.index()] = false;
    }
}
