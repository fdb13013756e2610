//! Moving single pages for a policy: read where the page is, program wherever a die is idle.

use crate::policy::PageMove;
use kit::{SimTime, Slab};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Page moves under way: being read, or read and waiting for a die.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PageMoves {
    slots: Slab<Option<Move>>,
    /// Read; waiting for a die, oldest first.
    pub ready: VecDeque<u32>,
    /// Begun because the policy said it could not wait.
    pub urgent: u64,
    /// Past their deadline.
    pub overdue: u64,
    /// Moves being read or programmed.
    pub in_flight: u64,
}

/// A move under way.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Move {
    pub page: PageMove,
    /// The policy said it could not wait.
    pub urgent: bool,
    /// Its deadline has passed.
    pub overdue: bool,
}

impl PageMoves {
    pub fn new() -> PageMoves {
        PageMoves { slots: Slab::with_capacity(64), ready: VecDeque::with_capacity(64), urgent: 0, overdue: 0, in_flight: 0 }
    }

    pub fn begin(&mut self, page: PageMove, urgent: bool) -> u32 {
        let slot = self.slots.put(Some(Move { page, urgent, overdue: false }));
        self.urgent += u64::from(urgent);
        self.in_flight += 1;
        slot
    }

    /// A move under way.
    pub fn get(&self, slot: u32) -> Move {
        self.slots[slot].expect("a move under way")
    }

    /// The page has been read: it waits for a die, behind the others of its kind.
    pub fn is_read(&mut self, slot: u32) {
        if self.get(slot).overdue { self.ready.push_front(slot) } else { self.ready.push_back(slot) }
    }

    /// A deadline comes round. False if it was that of a move that has ended: the slot's move is in time.
    pub fn is_due(&mut self, slot: u32, now: SimTime) -> bool {
        let Some(one) = &mut self.slots[slot] else { return false };
        if one.overdue || one.page.deadline.is_none_or(|deadline| deadline > now) {
            return false;
        }
        one.overdue = true;
        self.overdue += 1;
        if let Some(at) = self.ready.iter().position(|&ready| ready == slot) {
            self.ready.remove(at);
            self.ready.push_front(slot);
        }
        true
    }

    pub fn end(&mut self, slot: u32) {
        let Move { urgent, overdue, .. } = self.get(slot);
        self.urgent -= u64::from(urgent);
        self.overdue -= u64::from(overdue);
        self.slots[slot] = None;
        self.slots.release(slot);
        self.in_flight -= 1;
    }
}
