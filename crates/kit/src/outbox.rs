//! The outbox: the parts of a drive's state to which its stages write beside their own.

use crate::event::Events;
use crate::history::History;
use crate::journal::Journal;
use crate::operation::Operation;
use crate::operations::Operations;
use crate::ready::ReadyDies;
use crate::signals::Signals;
use crate::tray::Tray;

/// The parts of a drive's state to which stages write beside their own. A stage writes here instead of calling another
/// stage. A function that needs one of the parts takes that part alone.
#[derive(Default)]
pub struct Outbox {
    /// Pending events.
    pub events: Events,
    /// Dies that the router must dispatch to.
    pub ready: ReadyDies,
    /// Flash operations, from request to completion.
    pub operations: Operations,
    /// Items that the router passes on to another stage.
    pub tray: Tray,
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
        Outbox { ready: ReadyDies::new(die_count), signals: Signals::new(die_count, channel_count), ..Outbox::default() }
    }

    /// Adds a read and lists it in the tray.
    #[inline(always)]
    pub fn read(&mut self, operation: Operation) {
        let slot = self.operations.add(operation);
        self.tray.reads.push(slot);
    }
}
