//! The outbox: the parts of a drive's state to which its stages write beside their own.

use crate::account::{Account, AccountId};
use crate::event::Events;
use crate::handoff::Handoff;
use crate::history::History;
use crate::journal::Journal;
use crate::operation::Operation;
use crate::operations::Operations;
use crate::ready::ReadyDies;
use crate::signals::Signals;
use crate::slab::Slab;

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
    /// Accounts of commands, and of parts of commands, that are not those of a flash operation.
    pub accounts: Slab<Account>,
    /// Items that the router passes on to another stage.
    pub handoff: Handoff,
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

    /// Returns an account.
    #[inline]
    pub fn account(&self, id: AccountId) -> &Account {
        match id {
            AccountId::Operation(slot) => self.operations.account(slot),
            AccountId::Host(slot) => &self.accounts[slot],
        }
    }

    /// Returns an account, for charges.
    #[inline]
    pub fn account_mut(&mut self, id: AccountId) -> &mut Account {
        match id {
            AccountId::Operation(slot) => self.operations.account_mut(slot),
            AccountId::Host(slot) => &mut self.accounts[slot],
        }
    }

    /// Adds the time of a command's account to that of its last part.
    pub fn add_account(&mut self, command: u32, part: AccountId) {
        // For the account of an operation without a copy.
        if let AccountId::Operation(slot) = part {
            self.operations.account_mut(slot).ledger_mut().add(self.accounts[command].ledger());
        } else {
            let ledger = *self.accounts[command].ledger();
            self.account_mut(part).ledger_mut().add(&ledger);
        }
    }

    /// Closes an account; it keeps its content until its slot is used again. The account of a flash operation is
    /// closed with the operation itself.
    #[inline]
    pub fn close(&mut self, id: AccountId) {
        match id {
            AccountId::Operation(slot) => self.operations.release(slot),
            AccountId::Host(slot) => self.accounts.release(slot),
        }
    }

    /// Adds a read and lists it in the handoff.
    #[inline(always)]
    pub fn read(&mut self, operation: Operation) {
        let slot = self.operations.add(operation);
        self.handoff.reads.push(slot);
    }
}
