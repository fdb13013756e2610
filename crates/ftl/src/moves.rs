//! Moving single pages for a policy: read where the page is, program wherever a die is idle.

use crate::policy::PageMove;
use kit::Slab;
use std::collections::VecDeque;

/// Page moves under way: being read, or read and waiting for a die.
pub(crate) struct PageMoves {
    slots: Slab<Option<(PageMove, bool)>>,
    /// Read; waiting for a die, oldest first.
    pub ready: VecDeque<u32>,
    /// Begun because the policy said it could not wait.
    pub urgent: u64,
    /// Moves being read or programmed.
    pub in_flight: u64,
}

impl PageMoves {
    pub fn new() -> PageMoves {
        PageMoves { slots: Slab::with_capacity(64), ready: VecDeque::with_capacity(64), urgent: 0, in_flight: 0 }
    }

    pub fn begin(&mut self, page_move: PageMove, urgent: bool) -> u32 {
        let slot = self.slots.take();
        self.slots[slot] = Some((page_move, urgent));
        self.in_flight += 1;
        slot
    }

    /// A move under way, and whether it is urgent.
    pub fn get(&self, slot: u32) -> (PageMove, bool) {
        self.slots[slot].expect("a move under way")
    }

    pub fn end(&mut self, slot: u32) {
        self.slots[slot] = None;
        self.slots.release(slot);
        self.in_flight -= 1;
    }
}
