//! Relocation of single pages for a policy: a page is read on the die that holds it and programmed on any die that is
//! idle.

use crate::policy::PageMove;
use kit::{SimTime, Slab};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Page moves in flight, from the start of the read until the new copy is bound.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PageMoves {
    slots: Slab<Option<Move>>,
    /// Moves whose page has been read and that wait for a die: overdue moves first, otherwise oldest first.
    pub ready: VecDeque<u32>,
    /// Number of urgent moves in flight (requested through [`ModePolicy::urgent`](crate::policy::ModePolicy::urgent)).
    pub urgent: u64,
    /// Number of moves in flight whose deadline has passed.
    pub overdue: u64,
    /// Number of moves in flight.
    pub in_flight: u64,
}

/// A page move in flight.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Move {
    pub page: PageMove,
    /// True if the policy requires it before any other operation starts.
    pub urgent: bool,
    /// True once its deadline has passed.
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

    /// Returns the move in a slot, which must be in flight.
    pub fn get(&self, slot: u32) -> Move {
        self.slots[slot].expect("a move under way")
    }

    /// Puts a move whose page has been read into the ready queue: at the front if it is overdue, at the back otherwise.
    pub fn is_read(&mut self, slot: u32) {
        if self.get(slot).overdue { self.ready.push_front(slot) } else { self.ready.push_back(slot) }
    }

    /// Marks a move as overdue when its deadline timer fires. Returns false if the timer belonged to a move that has
    /// ended: the slot is then free, or holds another move that is not due yet or already marked.
    pub fn mark_overdue(&mut self, slot: u32, now: SimTime) -> bool {
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
