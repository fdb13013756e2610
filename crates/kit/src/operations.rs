//! The flash operations of a drive between their request and their completion, and their accounts.

use crate::account::Account;
use crate::operation::Operation;
use crate::slab::Slab;

/// Flash operations, by slot. The requester writes an operation here once; afterwards only its slot is passed on.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    slab: Slab<Operation>,
    /// The account of each operation. The flash opens it when it takes the operation.
    accounts: Vec<Account>,
}

impl Operations {
    /// Adds an operation and returns its slot.
    // Copied field by field, so that the operation is built in its final place. Copied as a whole, it would be read
    // with wide loads right after the narrow stores of its fields, which stalls.
    #[inline(always)]
    pub fn add(&mut self, operation: Operation) -> u32 {
        let slot = self.slab.take();
        if slot as usize >= self.accounts.len() {
            self.add_account();
        }
        let Operation { kind, reason, die, first, units, pages, page_type, mode, encode, skipped, owner } = operation;
        let place = &mut self.slab[slot];
        place.kind = kind;
        place.reason = reason;
        place.die = die;
        place.first = first;
        place.units = units;
        place.pages = pages;
        place.page_type = page_type;
        place.mode = mode;
        place.encode = encode;
        place.skipped = skipped;
        place.owner = owner;
        slot
    }

    #[cold]
    fn add_account(&mut self) {
        self.accounts.push(Account::default());
    }

    /// Returns the account of an operation. It keeps its content until the slot is used again.
    #[inline]
    pub fn account(&self, slot: u32) -> &Account {
        &self.accounts[slot as usize]
    }

    /// Returns the account of an operation, for charges.
    #[inline]
    pub fn account_mut(&mut self, slot: u32) -> &mut Account {
        &mut self.accounts[slot as usize]
    }

    /// Returns an operation and its account.
    #[inline]
    pub fn with_account(&mut self, slot: u32) -> (&Operation, &mut Account) {
        (&self.slab[slot], &mut self.accounts[slot as usize])
    }

    /// Removes an operation that is done.
    #[inline]
    pub fn release(&mut self, slot: u32) {
        self.slab.release(slot);
    }

    /// Returns the number of operations that wait or run.
    pub fn in_use(&self) -> usize {
        self.slab.in_use()
    }
}

impl std::ops::Index<u32> for Operations {
    type Output = Operation;
    #[inline]
    fn index(&self, slot: u32) -> &Operation {
        &self.slab[slot]
    }
}

impl std::ops::IndexMut<u32> for Operations {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Operation {
        &mut self.slab[slot]
    }
}
