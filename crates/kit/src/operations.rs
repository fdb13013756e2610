//! The flash operations of a drive between their request and their completion.

use crate::operation::Operation;
use crate::slab::Slab;

/// Flash operations, by slot. The requester writes an operation here once; afterwards only its slot is passed on.
#[derive(Clone, Debug, Default)]
pub struct Operations(Slab<Operation>);

impl Operations {
    /// Adds an operation and returns its slot.
    // Copied field by field, so that the operation is built in its final place. Copied as a whole, it would be read
    // with wide loads right after the narrow stores of its fields, which stalls.
    #[inline(always)]
    pub fn add(&mut self, operation: Operation) -> u32 {
        let slot = self.0.take();
        let Operation { kind, reason, die, first, units, pages, page_type, mode, encode, owner } = operation;
        let place = &mut self.0[slot];
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

    /// Removes an operation that is done.
    #[inline]
    pub fn release(&mut self, slot: u32) {
        self.0.release(slot);
    }

    /// Returns the number of operations that wait or run.
    pub fn in_use(&self) -> usize {
        self.0.in_use()
    }
}

impl std::ops::Index<u32> for Operations {
    type Output = Operation;
    #[inline]
    fn index(&self, slot: u32) -> &Operation {
        &self.0[slot]
    }
}

impl std::ops::IndexMut<u32> for Operations {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut Operation {
        &mut self.0[slot]
    }
}
