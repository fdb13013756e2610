//! What stages leave for the router.

use crate::cause::Ledger;
use crate::event::Event;
use crate::history::History;
use crate::ids::{CommandId, DieId};
use crate::journal::Journal;
use crate::operation::{Encoding, Operation};
use crate::queue::EventQueue;
use crate::signals::Signals;
use crate::slab::Slab;

/// A part of a host command that is done, with where its time went since the command was admitted.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The command.
    pub command: CommandId,
    /// Where the part's time went.
    pub ledger: Ledger,
    /// Units of data that go to the host with it.
    pub units: u32,
}

impl Default for Part {
    fn default() -> Self {
        Part { command: CommandId(0), ledger: Ledger::default(), units: 0 }
    }
}

/// The router's in-tray: every stage writes here, and none calls another. Vectors are reused; nothing is allocated once they have
/// grown to the size a run needs.
#[derive(Default)]
pub struct Outbox {
    /// Pending events.
    pub events: EventQueue<Event>,
    /// Dies that may have something to do, each at most once.
    pub ready: Vec<DieId>,
    is_ready: Vec<bool>,
    /// Flash operations from the time they are asked for until they are done. They are written here once, by whoever asks; what is handed on are their slots.
    pub operations: Slab<Operation>,
    /// Flash reads to push to their dies.
    pub reads: Vec<u32>,
    /// What collections have encoded before they program it.
    pub encodings: Vec<Encoding>,
    /// Flash operations that are done.
    pub done: Vec<u32>,
    /// Parts of commands that are done.
    pub parts: Vec<Part>,
    /// Units that left the write buffer.
    pub buffer_released: u32,
    /// Readings that stages share.
    pub signals: Signals,
    /// Records for those who watch.
    pub journal: Journal,
    /// What happened, for those who compare runs.
    pub history: History,
}

impl Outbox {
    /// An empty tray for a drive with so many dies and channels.
    pub fn new(die_count: usize, channel_count: usize) -> Outbox {
        Outbox { is_ready: vec![false; die_count], signals: Signals::new(die_count, channel_count), ..Outbox::default() }
    }

    /// Adds an operation; its slot.
    // Field by field, so that it is built where it stays: copied as a whole it would be read in wide words before its narrow fields have been stored.
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

    /// Adds a read and leaves it for its die.
    #[inline(always)]
    pub fn read(&mut self, operation: Operation) {
        let slot = self.add(operation);
        self.reads.push(slot);
    }

    /// Marks a die as one that may have something to do.
    #[inline]
    pub fn mark_ready(&mut self, die: DieId) {
        if !std::mem::replace(&mut self.is_ready[die.index()], true) {
            self.ready.push(die);
        }
    }

    /// Takes the mark off again, before the die is asked.
    #[inline]
    pub fn unmark_ready(&mut self, die: DieId) {
        self.is_ready[die.index()] = false;
    }
}
